// The pages and a fake server behind HTTP, so that the dashboard can be looked at and tested without a build:
// `node fake-http.mjs 9280`. Its answers to reports are invented.
import http from "node:http";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { FakeServer } from "./fake-server.mjs";

export const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'";
const web = new URL("../../Web/", import.meta.url), types = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css" };

const property = (name, type = "string") => ({ name, type, optional: type.endsWith("?") });
export const classes = [
  { name: "Airline", key: "carrier", properties: [property("carrier"), property("name")] },
  { name: "Flight", key: "id", properties: [property("id"), property("delay", "int"), property("gate", "string?"), property("carrier", "Link<Airline>?")] },
  { name: "Odd", key: "id", properties: [property("id"), property("text"), ...Array.from({ length: 80 }, (_, index) => property(`column${index}`, "int"))] },
];

export function fakeReports(server) {
  const at = () => new Date().toISOString();
  let work = 0;
  return {
    privileges: {}, databases: ["test", "shop"], endSession: {}, retry: {}, discard: {},
    schema: { classes: classes.map(({ name, key }) => ({ name, key, count: server.rows.get(name).size })), properties: classes.flatMap((each) => each.properties.map((property) => ({ ...property, class: each.name, index: "", was: "" }))) },
    explain: (query) => ({ query, hash: "a", plan: { sql: "SELECT …", steps: ["SCAN o", "USE TEMP B-TREE FOR ORDER BY"], indexes: [], parameters: [] }, view: { method: "range", condition: "delay > 60", holdsMembers: true, windowCapacity: 40 },
      writes: [{ className: "Flight", property: "delay", effects: ["evaluatesPredicate", "movesInWindow", "sendsValue"] }, { className: "Flight", property: "gate", effects: ["sendsValue"] }], wantedIndexes: [{ className: "Flight", properties: ["delay DESC"] }], wantedIndexRemark: "it is made once clients have observed the query for 10 s" }),
    explainAs: (argument) => server.reports.explain(argument.query),
    top: () => ({ queries: [["Flight WHERE delay > 60 SORT(delay DESC) LIMIT(20)", 12, 900], ["Airline", 2, 90]].map(([query, subscribers, cost]) => ({ query, hash: query, rows: 20, subscribers, found: 30, changed: 10, sentBytes: 91234, applyingMicroseconds: cost + (work += 40) })) }),
    sessions: () => [...server.sessions].map((each, index) => ({ session: `${index + 1}.1`, database: "test", user: each.user, login: "anonymous", address: "127.0.0.1:51234", since: at(), subscriptions: each.views.size, incomplete: 0, versionLag: 0, waitingBytes: 0 })),
    rules: { version: 1, file: JSON.stringify({ classes: { Flight: { read: true, update: "delay < 1000" } } }) },
    deploy: ({ rules, trial }) => { try { JSON.parse(rules); } catch (error) { return { code: "invalidRules", message: error.message }; } return { version: 1, isNew: !trial, mayDeploy: true, warnings: [], changes: [{ place: "classes.Flight.update", before: "delay < 1000", after: "true" }] }; },
    verdict: (question) => ({ ...question, verdict: question.user === "ada" ? "allowed" : "denied", reason: "the rule update of Flight does not hold", roles: ["crew"], hints: [], rules: [{ rule: "update", condition: "$role.crew OR delay < 10", outcome: "fails", parts: [{ condition: "$role.crew", outcome: "fails" }, { condition: "delay < 10", outcome: "depends" }] }] }),
    log: ({ after }) => Array.from({ length: after ? 1 : 30 }, (_, index) => ({ number: after + index + 1, time: at(), level: index % 9 === 3 ? "warning" : "info", domain: "login", message: "a session was opened", details: { user: "ada", address: `127.0.0.1 port ${51000 + index}` } })),
    health: { ready: true, live: true }, metrics: () => ["sessions", "subscriptions", "views", "commits_total", "sent_bytes_total", "received_bytes_total", "waiting_bytes", "database_bytes"].map((name) => ({ name: `sluice_server_${name}`, labels: {}, value: name.endsWith("total") ? (work += 97) : 10 + (work % 7) })),
    consumers: [{ name: "alerts", query: "Flight WHERE delay > 60", lag: 0, handled: 1200, dead: 2, committedAt: at() }], queues: [{ name: "mail", claims: 3, dead: 1 }],
    dead: [{ class: "Flight", key: "F1", attempts: 3, time: at(), error: "the mail server said 550" }],
  };
}

/** Answers with a page of the working tree. */
export function answer(request, response) {
  const path = new URL(request.url, "http://x").pathname, name = path === "/_/" ? "index.html" : path.slice(3);
  try {
    const content = readFileSync(new URL(name === "sluice.js" ? name : `dashboard/${name}`, web));
    response.writeHead(200, { "content-type": types[name.split(".").pop()], "content-security-policy": policy, "x-content-type-options": "nosniff" }).end(content);
  } catch { response.writeHead(404).end(); }
}

/** Listens; what it returns can be closed and opened again with what it has. */
export function listen(server, port = 0) {
  const sockets = new Set();
  const listener = http.createServer((request, response) => {
    answer(request, response);
  });
  listener.on("connection", (socket) => { sockets.add(socket); socket.on("close", () => sockets.delete(socket)); });
  listener.on("upgrade", (request, socket) => {
    if (request.headers.origin && request.headers.origin !== `http://${request.headers.host}`) return socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const accept = createHash("sha1").update(request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: sluice.json.1\r\n\r\n`);
    const session = server.accept((text) => {
      const data = Buffer.from(text), length = data.length, head = Buffer.alloc(length < 126 ? 2 : length < 65536 ? 4 : 10);
      head[0] = 0x81;
      head[1] = length < 126 ? length : length < 65536 ? 126 : 127;
      if (head.length === 4) head.writeUInt16BE(length, 2);
      if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
      socket.write(Buffer.concat([head, data]));
    }, () => socket.destroy());
    let rest = Buffer.alloc(0);
    socket.on("error", () => {});
    socket.on("close", () => server.sessions.delete(session));
    socket.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 2) {
        const short = rest[1] & 127, start = short === 127 ? 14 : short === 126 ? 8 : 6;
        if (rest.length < start) return;
        const length = short === 127 ? Number(rest.readBigUInt64BE(2)) : short === 126 ? rest.readUInt16BE(2) : short;
        if (rest.length < start + length) return;
        const text = Buffer.from(rest.subarray(start, start + length)).map((byte, index) => byte ^ rest[start - 4 + (index & 3)]), kind = rest[0] & 15;
        rest = rest.subarray(start + length);
        if (kind === 8) return socket.end();
        if (kind === 1) session.receive(Buffer.from(text).toString());
      }
    });
  });
  return new Promise((resolve) => listener.listen(port, "127.0.0.1", () => resolve({ port: listener.address().port,
    close: () => new Promise((done) => { for (const socket of sockets) socket.destroy(); listener.close(done); }) })));
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const server = new FakeServer(classes);
  server.reports = fakeReports(server);
  for (let index = 0; index < 1000; index++) server.apply([{ op: "insert", class: "Flight", key: `F${index}`, set: { delay: (index * 37) % 300, gate: null, carrier: "UA" } }]);
  server.apply([{ op: "insert", class: "Airline", key: "UA", set: { name: "United" } }]);
  console.log((await listen(server, +process.argv[2])).port);
}
