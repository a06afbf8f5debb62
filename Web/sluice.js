// @ts-check
// Live queries and writes: docs/javascript.md.
/** @typedef {Record<string, any>} Row */

const text = JSON.stringify, fault = (message) => Object.assign(new Error(), message);
const keyOf = (row) => (row["@class"] ?? row.class) + text(row["@key"] ?? row.key ?? [row["@id"]]);

/** @param {string} url @param {Row} options see there */
export function Sluice(url, options = {}) {
	const { credentials, storage, variables, readonly, locks = globalThis.navigator?.locks } = options;
	const lives = new Map(), asks = new Map(), pending = new Map();
	let place = `sluice ${url} ${options.name} `, refused = [], lastID = 0, attempt = 0, silence = 0, at = url;
	/** @type {any} */ let head = { seq: 0, sent: 0, outbox: [] }, socket, release, retry, renewal, version;

	const db = {
		state: "connecting",
		/** @type {any} */ error: null,
		/** @type {any} */ session: {},
		onstate() {},
		onflushed() {},
		onrejected(error, operations) {},

		/** @param {string} q @param {Row} [options] args, links */
		live: (q, options) => follow({ q, ...options }),

		/** One transaction. @param {Row|Row[]} operations */
		async write(operations) {
			await ready;
			const json = text([operations].flat());
			if (json.length > 5e6) throw fault({ code: "limitExceeded", message: "The write is too long." });
			const seq = head.seq + 1, ops = JSON.parse(json), entry = { seq, ops };
			ops.forEach(keyOf);
			save({ seq, sent: db.state === "open" ? seq : head.sent, outbox: [...head.outbox, entry] }, true);
			send({ type: "write", seq, ops });
			refresh();
			return new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
		},

		ask: (report, argument) => new Promise((resolve, reject) => {
			const message = { type: "ask", id: ++lastID, report, argument };
			asks.set(lastID, { message, resolve, reject });
			send(message);
		}),

		close() {
			lives.forEach((live) => live.stop());
			leave("closed");
			clearInterval(timer);
			listen("remove");
			release?.();
		},
	};

	function follow(request) {
		const seen = new Map(), dirty = new Map();
		let base = new Map(), next = base, rows, isNew, isWhole, wake = (_) => {};
		const live = {
			state: "waiting",
			/** @type {any} */ error: null,
			v: 0,
			/** @type {any} */ total: null,
			authors: [],

			/** @returns {Row[]} */
			get rows() {
				return rows ??= [...base.keys()].map(visible).filter((row) => row && !row["@linked"]).sort((a, b) => a["@sort"] < b["@sort"] ? -1 : 1);
			},

			/** Also what rows link to. @returns {Row|undefined} */
			get: (name, key) => visible(name + text(key)) ?? visible(name + text([key])),

			/** For one reader. */
			async *[Symbol.asyncIterator]() {
				for (;;) {
					while (!isNew) {
						if (live.error) throw live.error;
						if (live.state === "stopped") return;
						await new Promise((resolve) => wake = resolve);
					}
					/** @type {{old?: Row, row?: Row, reason: string}[]} */ const changes = [];
					for (const [key, reason] of dirty) {
						const old = seen.get(key), row = visible(key);
						if (row === old) continue;
						row ? seen.set(key, row) : seen.delete(key);
						changes.push({ old, row, reason: row ? "" : reason || "pending" });
					}
					dirty.clear();
					isNew = false;
					yield { ...live, changes };
				}
			},

			stop() {
				if (lives.delete(live.id)) send({ type: "unsub", id: live.id });
				live.become({ state: "stopped" });
			},
			become: (news) => wake(isNew = !!Object.assign(live, news)),
			refresh() {
				for (const key of base.keys()) dirty.set(key, "");
				live.become(rows = null);
			},
			request, id: 0,
			apply({ reset, gone = [], put = [], ids, ...news }) {
				const left = new Map();
				if (reset) next = new Map();
				for (const row of gone) {
					const key = keyOf(row), known = next.get(key);
					if (known && row["@linked"] && !known["@linked"]) continue;
					left.set(key, known);
					next.delete(key);
					dirty[seen.has(key) ? "set" : "delete"](key, row.reason);
				}
				for (const row of put) {
					const key = keyOf(row), { "@linked": _, ...known } = next.get(key) ?? left.get(key) ?? {};
					next.set(key, { ...known, ...row });
					dirty.set(key, "");
				}
				const { state } = live;
				version = news.v;
				isWhole ||= news.state === "complete";
				request.since = news.state === "complete" ? news.v : undefined;
				if (!request.since && isWhole) return live.become({ state: news.state });
				if (base !== next) for (const key of seen.keys()) next.has(key) || dirty.set(key, "reset");
				base = next;
				rows = null;
				live.become({ authors: [], ...news });
				if (state !== live.state) refresh();
			},
		};

		function visible(key) {
			let row = base.get(key);
			for (const { op, set, add = {} } of row && pending.get(key) || []) {
				if (op === "delete") return;
				row = { ...row, ...set, "@pending": true };
				for (const name in add) if (typeof row[name] === "number") row[name] += add[name];
			}
			return row;
		}
		subscribe(live);
		return live;
	}

	/** Takes an outbox that no tab has, and empties those of closed tabs. */
	async function begin() {
		let mine = options.slot ?? 0;
		if (storage && locks && options.slot == null) {
			const take = () => new Promise((done) => locks.request(place + mine, { ifAvailable: true }, (lock) =>
				lock ? new Promise((end) => done(release = end)) : done(0)));
			while (!await take()) mine++;
			for (let slot = 0; storage.getItem(place + slot); slot++) if (slot !== mine) locks.request(place + slot, () => new Promise((done) => {
				const other = Sluice(url, { ...options, slot });
				other.onrejected = db.onrejected;
				other.onflushed = () => done(other.close());
			}));
		}
		place += mine;
		try { Object.assign(head, JSON.parse(storage?.getItem(place) ?? "{}")); } catch {}
		refresh();
	}

	function save(change, isNew = false) {
		const changed = { ...head, ...change };
		try { storage?.setItem(place, text(changed)); } catch (full) { if (isNew) throw full; }
		head = changed;
	}

	function refresh() {
		pending.clear();
		for (const { ops } of head.outbox) for (const op of ops) pending.set(keyOf(op), [...pending.get(keyOf(op)) ?? [], op]);
		lives.forEach((live) => live.refresh());
	}

	const proof = async () => typeof credentials === "function" ? credentials() : credentials;
	const become = (state) => { db.state = state; db.onstate(); };
	const send = (message) => { if (db.state === "open") socket.send(text(message)); };
	const listen = (how) => ["online", "visibilitychange"].map((name) => globalThis[how + "EventListener"]?.(name, beat));

	async function connect() {
		clearTimeout(retry);
		become("connecting");
		silence = 0;
		/** @type {any} */ let mine = socket = { close() {} };
		try {
			const credentials = await proof();
			if (mine !== socket) return;
			mine = socket = new (options.WebSocket ?? WebSocket)(at, "sluice.json.1");
			const { client, seq, outbox } = head, acknowledged = seq - outbox.length;
			mine.onopen = () => mine.send(text({ type: "open", client, v: version, credentials, variables, acknowledged, readonly }));
			mine.onmessage = ({ data }) => mine === socket && receive(JSON.parse(data));
			mine.onclose = mine.onerror = () => mine === socket && lost();
		} catch { mine === socket && lost(); }
	}

	function leave(state) {
		const old = socket;
		socket = [retry, renewal].forEach(clearTimeout);
		become(state);
		old?.close();
		for (const live of lives.values()) if (live.v) live.become({ state });
	}

	function lost(wait = 0) {
		leave("offline");
		if (attempt) at = url;
		retry = setTimeout(connect, Math.max(wait, Math.min(3e4, 250 * 2 ** attempt++) * (1 + Math.random()) / 2));
	}

	/** A silent connection is asked, then left. */
	function beat(wakeup) {
		if (!socket) wakeup && db.state === "offline" && connect();
		else if (++silence > 2) lost();
		else if (silence > 1) send({ type: "ask", id: ++lastID, report: "privileges", argument: {} });
	}

	function subscribe(live) {
		lives.delete(live.id);
		lives.set(live.id = ++lastID, live);
		send({ type: "sub", id: lastID, ...live.request });
	}

	function receive(message) {
		const { type, id, ask, ids, seq, v, action } = message;
		silence = 0;
		if (type === "opened") opened(message);
		if (type === "change") for (const id of ids) lives.get(id)?.apply(message);
		if (type === "rejected") refused.push(message);
		if (type === "ack") settle(seq, v), refresh(attempt = 0);
		if (type === "answer") asks.get(id)?.resolve(message.value, asks.delete(id));
		if (type === "context") save({ client: message.client });
		if (type === "schema") db.session.schema = message.schema;
		if (type === "moved") moved(message.url);
		const left = type === "login" && Date.parse(message.until) - Date.now();
		if (left > 0) renewal = setTimeout(async () => send({ type: "renew", credentials: await proof() }), Math.min(left * .8, 2e9));
		if (type !== "error") return;
		const error = fault(message);
		if (ask) return asks.get(ask)?.reject(error, asks.delete(ask));
		if (id) return lives.get(id)?.become({ state: "failed", error }, lives.delete(id));
		db.error = error;
		if (action === "reset") save({ client: version = undefined });
		if (action === "stop" && db.state !== "open") leave("refused");
		else if (action !== "report") lost(message.wait);
	}

	/** Goes on elsewhere, five times and no less safely; then, or where that fails, at home. */
	function moved(to) {
		const { protocol, pathname } = new URL(to), home = new URL(url);
		lost();
		if (attempt < 6 && pathname === home.pathname && protocol >= home.protocol) at = to;
	}

	function opened({ client, outcome, acknowledged, rejected = [], ...session }) {
		db.session = session;
		refused = rejected;
		if (outcome === "forgotten") {
			acknowledged = head.sent;
			refused = head.outbox.map(({ seq }) => ({ seq, code: outcome, message: "The server may have taken it." }));
		}
		settle(acknowledged, session.v);
		if (!head.outbox.length) attempt = 0;
		save({ client, sent: head.seq });
		become("open");
		for (const { seq, ops } of head.outbox) send({ type: "write", seq, ops });
		[...lives.values()].forEach(subscribe);
		for (const { message } of asks.values()) send(message);
	}

	function settle(upTo, v) {
		const done = head.outbox.filter(({ seq }) => seq <= upTo);
		save({ seq: Math.max(upTo, head.seq), outbox: head.outbox.slice(done.length) });
		for (const { seq, ops, resolve, reject } of done) {
			const refusal = refused.find((refusal) => refusal.seq === seq), error = fault(refusal);
			refusal ? reject?.(error, db.onrejected(error, ops)) : resolve?.({ v });
		}
		refused = [];
		if (!head.outbox.length) db.onflushed();
	}

	const ready = begin(), timer = setInterval(beat, 1e4);
	listen("add");
	ready.then(() => db.state === "closed" ? release?.() : connect());
	return db;
}
