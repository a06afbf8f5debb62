// A server of the JSON form in one process, without sockets, for tests of Web/sluice.js: it answers `open`, `sub`,
// `write` and `ask` as PROTOCOL.md says, keeps what it was sent to, and loses connections on demand. It knows queries of
// the form `Class [WHERE property OP literal] [GROUP(property) AGGREGATE(@count)] [SORT(property [DESC])] [LIMIT(n)]
// [TOTAL]`, and sends what rows link to where it is told to.

const compare = { "==": (a, b) => a === b, "!=": (a, b) => a !== b, ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b };

/** A string that orders as the value does. */
function sortText(value, isDescending) {
  const hex = (bytes) => [...bytes].map((byte) => (isDescending ? 255 - byte : byte).toString(16).padStart(2, "0")).join("");
  if (value === null || value === undefined) return hex([0]);
  if (typeof value === "number") {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value);
    return hex(value < 0 ? [1, ...bytes.map((byte) => 255 - byte)] : [1, bytes[0] | 128, ...bytes.slice(1)]);
  }
  return hex([1, ...new TextEncoder().encode(String(value)), 0]);
}

function parse(text) {
  const match = /^(\w+)(?: WHERE (\w+) (==|!=|>=|<=|>|<) ('[^']*'|-?[\d.]+|true|false))?(?: GROUP\((\w+)\) AGGREGATE\(@count\))?(?: SORT\(([@\w]+)(?: (ASC|DESC))?\))?(?: LIMIT\((\d+)\))?( TOTAL)?$/.exec(text.trim());
  if (!match) return null;
  const [, className, property, operator, literal, group, sort, direction, limit, total] = match;
  const value = literal?.startsWith("'") ? literal.slice(1, -1) : literal === undefined ? undefined : JSON.parse(literal);
  return { className, property, operator, value, group, sort, isDescending: direction === "DESC", limit: limit ? +limit : Infinity, total: !!total };
}

export class FakeServer {
  /** @param {{name: string, key: string|null, properties: {name: string, type: string}[]}[]} classes */
  constructor(classes) {
    this.classes = classes;
    this.v = 1;
    this.rows = new Map(classes.map((each) => [each.name, new Map()]));
    /** What each version changed. */
    this.log = [];
    /** The outcome of each write, by client. */
    this.clients = new Map();
    this.sessions = new Set();
    this.applied = [];
    this.nextID = 1;
    this.isDown = false;
    /** A message from the client that is answered by the loss of the connection: before or after its effect. */
    this.cutBefore = () => false;
    this.cutAfter = () => false;
    this.refuses = () => null;
    this.reports = {};
    const server = this;
    this.WebSocket = class {
      constructor(url, protocol) {
        this.url = url;
        this.protocol = protocol;
        this.isOpen = false;
        queueMicrotask(() => {
          if (server.isDown) return this.end();
          this.isOpen = true;
          this.session = server.accept((text) => queueMicrotask(() => this.isOpen && this.onmessage?.({ data: text })), () => this.end());
          this.onopen?.({});
        });
      }
      send(text) {
        if (this.isOpen) queueMicrotask(() => this.isOpen && this.session.receive(text));
      }
      close() {
        this.isOpen = false;
        if (this.session) server.sessions.delete(this.session);
      }
      end() {
        this.close();
        queueMicrotask(() => this.onclose?.({}));
      }
    };
  }

  /** A connection: what it sends goes to `send`; `drop` loses it. */
  accept(send, drop) {
    const session = new FakeSession(this, (message) => send(JSON.stringify(message)), drop);
    this.sessions.add(session);
    return session;
  }

  /** Loses every connection, as a killed server does. */
  kill() {
    for (const session of [...this.sessions]) session.drop();
  }

  schemaOf(name) { return this.classes.find((each) => each.name === name); }

  /** Applies one transaction. */
  apply(ops, author = { user: null, client: null }) {
    this.v++;
    const touched = [];
    for (const op of ops) {
      const table = this.rows.get(op.class), declared = this.schemaOf(op.class);
      if (!table) throw Object.assign(new Error(`there is no class '${op.class}'`), { code: "unknownName" });
      const key = op.key ?? op["@id"] ?? op.set?.[declared.key];
      const name = key === undefined ? `${this.nextID}` : String(key);
      const old = table.get(name);
      if (op.op === "delete") table.delete(name);
      else {
        if (!old && op.op === "update") throw Object.assign(new Error("there is no such object"), { code: "missing" });
        const row = { ...(old ?? { "@id": declared.key ? (this.nextID++).toString(16).padStart(32, "0") : name.padStart(32, "0") }), ...op.set };
        if (!old && !declared.key) this.nextID++;
        if (declared.key) row[declared.key] = row[declared.key] ?? key;
        for (const [property, amount] of Object.entries(op.add ?? {})) row[property] = (row[property] ?? 0) + amount;
        if (declared.key) table.set(name, row); else table.set(row["@id"], row);
      }
      touched.push({ class: op.class });
    }
    this.log.push({ v: this.v, author });
    for (const session of this.sessions) session.follow(author);
  }

  results(query) {
    const declared = this.schemaOf(query.className);
    let rows = [...this.rows.get(query.className).values()];
    if (query.property) rows = rows.filter((row) => row[query.property] !== null && row[query.property] !== undefined && compare[query.operator](row[query.property], query.value));
    if (query.group) {
      const counts = new Map();
      for (const row of rows) counts.set(row[query.group], (counts.get(row[query.group]) ?? 0) + 1);
      const groups = [...counts].map(([key, count]) => ({ "@key": [key], [query.group]: key, "@count": count }));
      for (const row of groups) row["@sort"] = (query.sort ? sortText(row[query.sort], query.isDescending) : "") + sortText(row[query.group]);
      return { rows: groups.sort((a, b) => (a["@sort"] < b["@sort"] ? -1 : 1)).slice(0, query.limit) };
    }
    const sorted = rows.map((row) => ({ "@class": query.className, ...(declared.key ? { "@key": row[declared.key] } : {}), ...row,
      "@sort": (query.sort ? sortText(row[query.sort], query.isDescending) : "") + row["@id"] }))
      .sort((a, b) => (a["@sort"] < b["@sort"] ? -1 : 1));
    return { total: sorted.length, rows: sorted.slice(0, query.limit) };
  }
}

const idOf = (row) => row["@id"] ?? JSON.stringify(row["@key"]);

class FakeSession {
  constructor(server, send, drop) {
    Object.assign(this, { server, send, drop, views: new Map(), client: null, isOpen: false });
  }

  receive(text) {
    const message = JSON.parse(text), { server } = this;
    if (server.cutBefore(message)) return this.drop();
    this[`on_${message.type}`]?.(message);
    if (server.cutAfter(message)) this.drop();
  }

  on_open({ client, acknowledged = 0, credentials }) {
    const { server } = this;
    server.credentials = credentials;
    const refusal = server.refusesLogin?.(credentials);
    if (refusal) {
      this.send({ type: "error", code: "authenticationFailed", message: refusal, action: "stop" });
      return setImmediate(() => this.drop());
    }
    let outcome = "resumed";
    if (!client || !server.clients.has(client)) {
      outcome = client ? "forgotten" : "created";
      client = `c${server.clients.size + 1}`;
      server.clients.set(client, { decided: 0, rejected: [] });
    }
    this.client = client;
    const record = server.clients.get(client);
    record.rejected = record.rejected.filter((each) => each.seq > acknowledged);
    this.isResumed = outcome === "resumed";
    this.user = credentials?.user ?? null;
    this.send({ type: "opened", client, outcome, user: this.user, database: "nyc", v: server.v, acknowledged: record.decided,
      rejected: record.rejected, schema: { classes: server.classes }, time: new Date(0).toISOString() });
  }

  on_sub({ id, q, since }) {
    const { server } = this, query = parse(q);
    if (!query) return this.send({ type: "error", id, code: "invalidQuery", message: "an operator is missing", position: q.length, action: "report" });
    if (!server.schemaOf(query.className)) return this.send({ type: "error", id, code: "unknownName", message: `there is no class '${query.className}'`, position: 0, action: "report" });
    const view = { query, q, sent: new Map(), total: undefined };
    this.views.set(id, view);
    const resumes = this.isResumed && since !== undefined && server.views?.get(this.client + q)?.v === since;
    if (resumes) {
      view.sent = server.views.get(this.client + q).sent;
      view.total = server.views.get(this.client + q).total;
      return this.bring(id, view, {});
    }
    const { rows } = server.results(query);
    const half = rows.slice(0, rows.length >> 1);
    this.send({ type: "change", ids: [id], v: server.v, state: "loading", reset: true, put: half });
    for (const row of half) view.sent.set(idOf(row), row);
    this.bring(id, view, {});
  }

  on_unsub({ id }) { this.views.delete(id); }

  on_write({ seq, ops }) {
    const { server } = this, record = server.clients.get(this.client);
    if (seq > record.decided) {
      record.decided = seq;
      let refusal = server.refuses(ops);
      try {
        if (!refusal) server.apply(ops, { user: this.user, client: this.client });
      } catch (error) { refusal = error.message; }
      if (refusal) {
        const rejected = { seq, code: "permissionDenied", message: refusal, objects: [] };
        record.rejected.push(rejected);
        this.send({ type: "rejected", ...rejected });
      } else server.applied.push(...ops);
    }
    this.send({ type: "ack", seq, v: server.v });
  }

  on_ask({ id, report, argument }) {
    const answer = this.server.reports[report];
    if (answer === undefined) return this.send({ type: "error", ask: id, code: "unknownReport", message: `there is no report '${report}'`, action: "report" });
    const value = typeof answer === "function" ? answer(argument, this) : answer;
    if (value?.code) return this.send({ type: "error", ask: id, ...value, action: "report" });
    this.send({ type: "answer", id, value });
  }

  on_renew({ credentials }) { this.server.credentials = credentials; }

  follow(author) {
    for (const [id, view] of this.views) this.bring(id, view, author);
  }

  bring(id, view, author) {
    const { server } = this, { rows, total } = server.results(view.query);
    const now = new Map(rows.map((row) => [idOf(row), row])), put = [], gone = [];
    for (const [key, row] of now) {
      const old = view.sent.get(key);
      if (!old) { put.push(row); continue; }
      const changed = Object.entries(row).filter(([name, value]) => JSON.stringify(old[name]) !== JSON.stringify(value));
      if (changed.length) put.push({ ...Object.fromEntries(["@class", "@key", "@id"].filter((name) => name in row).map((name) => [name, row[name]])), ...Object.fromEntries(changed) });
    }
    for (const [key, row] of view.sent) {
      if (now.has(key)) continue;
      if (!row["@class"]) { gone.push({ key: row["@key"], reason: "predicate" }); continue; }
      const isThere = [...server.rows.get(view.query.className).values()].some((each) => each["@id"] === key);
      gone.push({ class: row["@class"], ..."@key" in row ? { key: row["@key"] } : { "@id": key }, reason: isThere ? "predicate" : "deleted" });
    }
    const isNew = !view.wasComplete;
    view.wasComplete = true;
    if (!isNew && !put.length && !gone.length && view.total === total) return;
    view.sent = now;
    this.send({ type: "change", ids: [id], v: server.v, state: "complete", put, gone, ...(view.query.total && view.total !== total ? { total } : {}),
      at: new Date(1e12 + server.v * 1000).toISOString(), ...(author.client === undefined ? {} : { authors: [{ user: author.user, own: author.client === this.client, operations: ["set"] }] }) });
    view.total = total;
    // What a client that comes back may resume from.
    (server.views ??= new Map()).set(this.client + view.q, { v: server.v, sent: now, total });
  }
}
