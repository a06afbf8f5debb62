// Tests of Web/sluice.js with a server in the same process, on a clock of its own: node --test.
import test from "node:test";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Sluice } from "../../Web/sluice.js";
import { Clock } from "./clock.mjs";
import { FakeServer } from "./fake-server.mjs";

const classes = [{ name: "Car", key: "vin", properties: [{ name: "vin", type: "string" }, { name: "price", type: "int" }] }];
const turn = () => new Promise((resolve) => setImmediate(resolve));
const settle = async () => { for (let i = 0; i < 40; i++) await turn(); };

/** Time passes, and what it brings is done. */
async function pass(clock, seconds) {
  for (let i = 0; i < seconds * 2; i++) { clock.tick(500); await settle(); }
}

/** A storage as the browser's, with a limit of characters. */
class Memory {
  constructor(limit = Infinity) { this.items = new Map(); this.limit = limit; }
  getItem(key) { return this.items.get(key) ?? null; }
  setItem(key, value) {
    if (value.length > this.limit) throw new Error("QuotaExceededError");
    this.items.set(key, value);
  }
  removeItem(key) { this.items.delete(key); }
}

/** Locks as `navigator.locks` has them, for tabs in one process. */
class Locks {
  held = new Map();
  async request(name, options, use) {
    if (typeof options === "function") [options, use] = [{}, options];
    if (options.ifAvailable && this.held.has(name)) return use(null);
    while (this.held.has(name)) await this.held.get(name);
    const holding = (async () => { await null; return use({ name }); })();
    this.held.set(name, holding.catch(() => {}));
    try { return await holding; } finally { this.held.delete(name); }
  }
}

function world(t, cars = 0) {
  const server = new FakeServer(classes), opened = [];
  for (let i = 0; i < cars; i++) server.apply([{ op: "insert", class: "Car", key: `V${i}`, set: { price: i } }]);
  const open = (options = {}) => {
    const db = Sluice("ws://test/nyc", { WebSocket: server.WebSocket, locks: null, ...options });
    opened.push(db);
    return db;
  };
  t.after(() => opened.forEach((db) => db.close()));
  return { server, open };
}

const vins = (live) => live.rows.map((row) => row.vin);

test("the module has at most 11 KB", () => {
  assert.ok(readFileSync(new URL("../../Web/sluice.js", import.meta.url)).length <= 11_264);
});

test("rows come in their order and follow what is written", async (t) => {
  const { server, open } = world(t, 30);
  const live = open().live("Car WHERE price >= 10 SORT(price DESC) LIMIT(5) TOTAL");
  await settle();
  assert.deepEqual(vins(live), ["V29", "V28", "V27", "V26", "V25"]);
  assert.equal(live.state, "complete");
  assert.equal(live.total, 20);
  server.apply([{ op: "update", class: "Car", key: "V3", set: { price: 100 } }]);
  server.apply([{ op: "delete", class: "Car", key: "V28" }]);
  await settle();
  assert.deepEqual(vins(live), ["V3", "V29", "V27", "V26", "V25"]);
  assert.equal(live.total, 20);
});

test("a reader is told what came, what changed and what left, and why", async (t) => {
  const { server, open } = world(t, 3);
  const live = open().live("Car WHERE price >= 1 SORT(price)");
  const told = [];
  (async () => { for await (const change of live) told.push(...change.changes.map(({ old, row, reason }) => [old?.price, row?.price, reason])); })();
  await settle();
  assert.deepEqual(told.splice(0).sort(), [[undefined, 1, ""], [undefined, 2, ""]]);
  server.apply([{ op: "update", class: "Car", key: "V1", set: { price: 7 } }]);
  await settle();
  assert.deepEqual(told.splice(0), [[1, 7, ""]]);
  server.apply([{ op: "update", class: "Car", key: "V1", set: { price: 0 } }]);
  server.apply([{ op: "delete", class: "Car", key: "V2" }]);
  await settle();
  assert.deepEqual(told.splice(0), [[7, undefined, "predicate"], [2, undefined, "deleted"]]);
  live.stop();
  await settle();
  assert.equal(live.state, "stopped");
});

test("a reader that reads late gets one change, and holds no more than the rows", async (t) => {
  const { server, open } = world(t, 10);
  const live = open().live("Car SORT(price) LIMIT(3)");
  const reader = live[Symbol.asyncIterator]();
  await reader.next();
  await settle();
  for (let i = 0; i < 500; i++) {
    server.apply([{ op: "insert", class: "Car", key: `T${i}`, set: { price: -1 } }]);
    server.apply([{ op: "delete", class: "Car", key: `T${i}` }]);
  }
  server.apply([{ op: "update", class: "Car", key: "V1", set: { price: -5 } }]);
  await settle();
  const changes = (await reader.next()).value.changes;
  assert.ok(changes.length <= 3 + 3);
  assert.equal(changes.find(({ row }) => row?.vin === "V1").row.price, -5);
});

test("an update of a row that is here shows at once, and a new row with its acknowledgement", async (t) => {
  const { server, open } = world(t, 3);
  const db = open(), live = db.live("Car SORT(price)");
  await settle();
  server.cutBefore = (message) => message.type === "write";
  const first = db.write({ op: "update", class: "Car", key: "V1", set: { price: 50 }, add: {} });
  const second = db.write({ op: "update", class: "Car", key: "V2", add: { price: 5 } });
  const third = db.write([{ op: "delete", class: "Car", key: "V0" }, { op: "insert", class: "Car", key: "N", set: { price: 9 } }]);
  await turn();
  assert.deepEqual(live.rows.map(({ vin, price, "@pending": isPending }) => [vin, price, isPending]), [["V1", 50, true], ["V2", 7, true]]);
  server.cutBefore = () => false;
  await Promise.all([first, second, third]);
  assert.deepEqual(live.rows.map(({ vin, price, "@pending": isPending }) => [vin, price, isPending]), [["V2", 7, undefined], ["N", 9, undefined], ["V1", 50, undefined]]);
});

test("a refused write is reverted, and its promise says why", async (t) => {
  const { server, open } = world(t, 2);
  const db = open(), live = db.live("Car SORT(price)"), heard = [];
  db.onrejected = (error, ops) => heard.push([error.code, ops[0].key]);
  await settle();
  server.refuses = () => "only Ada may";
  const written = db.write({ op: "update", class: "Car", key: "V1", set: { price: 50 } });
  await assert.rejects(written, { code: "permissionDenied", message: "only Ada may" });
  assert.equal(live.rows[1].price, 1);
  assert.equal(live.rows[1]["@pending"], undefined);
  assert.deepEqual(heard, [["permissionDenied", "V1"]]);
});

test("groups are rows in their order, and no write to an object shows in them before it counts", async (t) => {
  const { server, open } = world(t, 6);
  for (let i = 0; i < 6; i++) server.apply([{ op: "update", class: "Car", key: `V${i}`, set: { price: i % 3 } }]);
  const db = open(), live = db.live("Car GROUP(price) AGGREGATE(@count) SORT(@count DESC)"), told = [];
  (async () => { for await (const { changes } of live) told.push(...changes.map(({ old, row, reason }) => [old?.["@count"], row?.["@count"], (row ?? old).price, reason])); })();
  await settle();
  const shown = () => live.rows.map((row) => [row.price, row["@count"]]);
  assert.deepEqual(shown(), [[0, 2], [1, 2], [2, 2]]);
  told.length = 0;
  const written = db.write([{ op: "update", class: "Car", key: "V0", set: { price: 2 } }, { op: "delete", class: "Car", key: "V3" }]);
  assert.deepEqual(shown(), [[0, 2], [1, 2], [2, 2]]);
  await written;
  await settle();
  assert.deepEqual(shown(), [[2, 3], [1, 2]]);
  assert.deepEqual(told.sort(), [[2, undefined, 0, "predicate"], [2, 3, 2, ""]]);
});

test("what rows link to is found by its key, and is no row", async (t) => {
  const { server, open } = world(t, 1), live = open().live("Car", { links: true });
  await settle();
  const [session] = server.sessions, id = [...session.views.keys()][0];
  const tell = async (change) => { session.send({ type: "change", ids: [id], v: ++server.v, state: "complete", ...change }); await settle(); };
  const linked = { "@class": "Dealer", "@key": 1, "@id": "d1", "@linked": true, id: 1, city: "Oslo" };
  await tell({ put: [linked, { "@class": "Garage", "@id": "g1", "@linked": true, place: "Ulm" }] });
  assert.deepEqual(vins(live), ["V0"]);
  assert.equal(live.get("Dealer", 1).city, "Oslo");
  assert.equal(live.get("Garage", "g1").place, "Ulm");
  assert.equal(live.get("Dealer", 2), undefined);
  // A result that something links to, and that ceases to be a result, keeps what is known of it; and the other way.
  const car = live.rows[0]["@id"];
  await tell({ gone: [{ class: "Car", key: "V0", reason: "filter" }], put: [{ "@class": "Car", "@key": "V0", "@id": car, "@linked": true }] });
  assert.deepEqual([live.rows, live.get("Car", "V0").price], [[], 0]);
  await tell({ put: [{ "@class": "Car", "@key": "V0", "@id": car, "@sort": "1" }] });
  assert.deepEqual(vins(live), ["V0"]);
  await tell({ gone: [{ class: "Car", key: "V0", reason: "filter", "@linked": true }, { class: "Dealer", key: 1, reason: "deleted", "@linked": true }] });
  assert.deepEqual([vins(live), live.get("Dealer", 1)], [["V0"], undefined]);
});

test("a query that does not parse fails with the byte, and alone", async (t) => {
  const { open } = world(t, 2);
  const db = open(), bad = db.live("Car WHERE"), good = db.live("Car");
  await settle();
  assert.equal(bad.state, "failed");
  assert.equal(bad.error.position, 9);
  await assert.rejects(async () => { for await (const _ of bad) ; }, { code: "invalidQuery" });
  assert.equal(good.rows.length, 2);
});

test("100 lost connections lose no change and apply every write once", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 20);
  const db = open({ storage: new Memory() }), live = db.live("Car SORT(price DESC) LIMIT(7)"), mirror = new Map();
  (async () => { for await (const { changes } of live) for (const { old, row } of changes) row ? mirror.set(row.vin, row.price) : mirror.delete(old.vin); })();
  await settle();
  let random = 7;
  const draw = (n) => (random = (random * 48271) % 2147483647) % n;
  const written = [];
  for (let i = 0; i < 100; i++) {
    const countdown = draw(4);
    let seen = 0;
    const cut = (message) => message.type !== "open" && seen++ === countdown;
    draw(2) ? (server.cutBefore = cut) : (server.cutAfter = cut);
    written.push(db.write({ op: "update", class: "Car", key: `V${draw(20)}`, add: { price: 1 } }));
    if (draw(2)) written.push(db.write({ op: "insert", class: "Car", key: `W${i}`, set: { price: draw(60) } }));
    server.apply([{ op: "update", class: "Car", key: `V${draw(20)}`, set: { price: draw(50) } }]);
    await settle();
    server.kill();
    server.apply([{ op: "update", class: "Car", key: `V${draw(20)}`, set: { price: draw(50) } }]);
    await settle();
    server.cutBefore = server.cutAfter = () => false;
    await pass(clock, 2);
  }
  await Promise.all(written);
  await settle();
  assert.equal(server.applied.length, written.length);
  const expected = server.results({ className: "Car", sort: "price", isDescending: true, limit: 7 }).rows;
  assert.deepEqual(live.rows.map((row) => row.vin), expected.map((row) => row.vin));
  assert.deepEqual(new Map(live.rows.map((row) => [row.vin, row.price])), new Map([...mirror].sort((a, b) => expected.findIndex((row) => row.vin === a[0]) - expected.findIndex((row) => row.vin === b[0]))));
});

test("what was written offline is sent by the page that comes next, once", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 1), storage = new Memory();
  const first = open({ storage });
  await settle();
  server.cutAfter = (message) => message.type === "write";
  first.write({ op: "update", class: "Car", key: "V0", add: { price: 1 } });
  await settle();
  server.isDown = true;
  first.write({ op: "update", class: "Car", key: "V0", add: { price: 1 } });
  await settle();
  first.close();
  server.isDown = false;
  server.cutAfter = () => false;
  const second = open({ storage });
  let flushed = 0;
  second.onflushed = () => flushed++;
  await settle();
  assert.equal(server.rows.get("Car").get("V0").price, 2);
  assert.equal(flushed, 1);
  assert.deepEqual(JSON.parse([...storage.items.values()][0]).outbox, []);
});

test("two tabs with one storage have an outbox each, and the next one empties that of a closed one", async (t) => {
  const { server, open } = world(t, 1), storage = new Memory(), locks = new Locks();
  const one = open({ storage, locks });
  await settle();
  const two = open({ storage, locks });
  await settle();
  await Promise.all([one, two].map((db) => db.write({ op: "update", class: "Car", key: "V0", add: { price: 1 } })));
  assert.equal(server.clients.size, 2);
  server.cutBefore = (message) => message.type === "write";
  one.write({ op: "update", class: "Car", key: "V0", add: { price: 10 } });
  two.write({ op: "update", class: "Car", key: "V0", add: { price: 100 } });
  await settle();
  one.close();
  two.close();
  server.cutBefore = () => false;
  await settle();
  open({ storage, locks });
  await settle();
  await settle();
  assert.equal(server.rows.get("Car").get("V0").price, 112);
  assert.equal(server.clients.size, 2);
});

test("a storage that is full refuses the write, and the next one goes on", async (t) => {
  const { server, open } = world(t, 1);
  const db = open({ storage: new Memory(400) });
  await assert.rejects(db.write({ op: "update", class: "Car", key: "V0", set: { vin: "x".repeat(1000) } }), /QuotaExceeded/);
  await assert.rejects(db.write({ op: "update", class: "Car", key: "V0", set: { vin: "x".repeat(6e6) } }), { code: "limitExceeded" });
  await db.write({ op: "update", class: "Car", key: "V0", add: { price: 1 } });
  assert.equal(server.applied.length, 1);
});

test("a client that the server has forgotten hears that its sent writes are unknown, and sends the others", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 1), db = open({ storage: new Memory() });
  await settle();
  server.cutBefore = (message) => message.type === "write";
  const sent = db.write({ op: "update", class: "Car", key: "V0", add: { price: 1 } });
  const told = assert.rejects(sent, { code: "forgotten" });
  await settle();
  server.cutBefore = () => false;
  const kept = db.write({ op: "update", class: "Car", key: "V0", add: { price: 10 } });
  server.clients.clear();
  await pass(clock, 2);
  await told;
  await kept;
  assert.equal(server.rows.get("Car").get("V0").price, 10);
});

test("a connection that is dead without a word is left, and at once after a wake-up", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 1), db = open(), live = db.live("Car"), states = [];
  db.onstate = () => states.push(db.state);
  await settle();
  const session = [...server.sessions][0];
  session.receive = () => {};
  session.send = () => {};
  server.apply([{ op: "update", class: "Car", key: "V0", set: { price: 99 } }]);
  await pass(clock, 31);
  assert.deepEqual(states, ["connecting", "open", "offline", "connecting", "open"]);
  assert.equal(live.rows[0].price, 99);
});

test("a quiet connection is asked, and stays", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 1), db = open(), states = [];
  await settle();
  db.onstate = () => states.push(db.state);
  for (let i = 0; i < 360; i++) { clock.tick(10_000); await turn(); await turn(); }
  assert.deepEqual(states, []);
  assert.equal(server.sessions.size, 1);
});

test("back-off grows to half a minute at most", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t), db = open();
  server.isDown = true;
  let calls = 0;
  db.onstate = () => { calls += db.state === "connecting"; };
  for (let i = 0; i < 600; i++) { clock.tick(1_000); await settle(); }
  assert.ok(calls > 18 && calls < 50, `${calls} attempts in ten minutes`);
});

test("a login that the server refuses stops, and one that ends is renewed before", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 1);
  server.refusesLogin = (credentials) => (credentials?.token ? null : "log in");
  const refused = open();
  await settle();
  assert.equal(refused.state, "refused");
  assert.equal(refused.error.code, "authenticationFailed");
  let tokens = 0;
  const db = open({ credentials: async () => ({ token: `t${++tokens}` }) });
  await settle();
  assert.equal(db.state, "open");
  [...server.sessions][0].send({ type: "login", until: new Date(Date.now() + 100_000).toISOString() });
  await settle();
  await pass(clock, 82);
  await settle();
  assert.deepEqual(server.credentials, { token: "t2" });
});

test("a server that has moved is followed", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 1), urls = [];
  class Recorded extends server.WebSocket { constructor(...parts) { super(...parts); urls.push(this.url); } }
  const db = open({ WebSocket: Recorded }), live = db.live("Car");
  await settle();
  [...server.sessions][0].send({ type: "moved", url: "ws://other/nyc" });
  await settle();
  await pass(clock, 1);
  assert.deepEqual(urls, ["ws://test/nyc", "ws://other/nyc"]);
  assert.equal(live.state, "complete");
});

test("rows before a reset stay until those after it are complete", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 6), db = open(), live = db.live("Car SORT(price)"), counts = [], told = [];
  (async () => { for await (const { rows, changes } of live) { counts.push(rows.length); told.push(...changes); } })();
  await settle();
  counts.length = told.length = 0;
  server.views.clear();
  server.kill();
  server.apply([{ op: "delete", class: "Car", key: "V5" }]);
  await settle();
  clock.tick(1_000);
  await settle();
  assert.ok(counts.every((count) => count >= 5), String(counts));
  assert.deepEqual(told.map(({ old, row }) => [old?.vin, row?.vin]).filter(([, row]) => !row), [["V5", undefined]]);
});

test("what was cut while it loaded is asked for anew, and not from before", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 6), db = open(), live = db.live("Car SORT(price)"), since = [];
  const session = () => [...server.sessions][0];
  await settle();
  server.cutBefore = (message) => { if (message.type === "sub") since.push(message.since); return false; };
  const change = { type: "change", ids: [...session().views.keys()], v: server.v + 1, state: "loading" };
  // The first page of a reset, and then the connection is lost.
  session().send({ ...change, reset: true, put: [{ "@class": "Car", "@key": "V0", "@sort": "x", vin: "V0" }] });
  await settle();
  assert.deepEqual([live.state, vins(live).length], ["loading", 6]);
  server.kill();
  await settle();
  await pass(clock, 1);
  assert.deepEqual(since, [undefined]);
  assert.deepEqual(vins(live), ["V0", "V1", "V2", "V3", "V4", "V5"]);
  // A part of what is new since, which a complete change would have taken back.
  session().send({ ...change, ids: [...session().views.keys()], put: [{ "@class": "Car", "@key": "X", "@sort": "x", vin: "X" }] });
  await settle();
  server.kill();
  await settle();
  await pass(clock, 1);
  assert.deepEqual(since, [undefined, undefined]);
  assert.deepEqual(vins(live), ["V0", "V1", "V2", "V3", "V4", "V5"]);
});

test("a server is followed to where it is as safe, and left where it does not answer", async (t) => {
  const clock = new Clock(t);
  const { server } = world(t, 1), urls = [];
  let isGone = false;
  class Recorded extends server.WebSocket {
    constructor(url, protocol) {
      super(url, protocol);
      urls.push(new URL(url).host);
      if (isGone && urls.at(-1) !== "home") this.end();
    }
  }
  const db = Sluice("wss://home/nyc", { WebSocket: Recorded, locks: null });
  t.after(() => db.close());
  const move = async (url) => {
    [...server.sessions].at(-1).send({ type: "moved", url });
    await settle();
    await pass(clock, 3);
    return urls.splice(0).join();
  };
  await settle();
  assert.equal(urls.splice(0).join(), "home");
  assert.equal(await move("wss://other/nyc"), "other");
  assert.equal(await move("ws://other/nyc"), "other", "stays where it is");
  assert.equal(await move("wss://third/boston"), "other");
  isGone = true;
  assert.equal(await move("wss://third/nyc"), "third,home");
  assert.equal(db.state, "open");
  isGone = false;
  server.refusesLogin = () => { setImmediate(() => [...server.sessions].at(-1)?.send({ type: "moved", url: "wss://next/nyc" })); return null; };
  assert.equal((await move("wss://next/nyc")).split(",")[0], "next");
});

test("a module that is closed at once stays closed, and gives its storage back", async (t) => {
  const { server } = world(t, 1), locks = new Locks(), storage = new Memory();
  const db = Sluice("ws://test/nyc", { WebSocket: server.WebSocket, locks, storage });
  db.close();
  await settle();
  assert.equal(server.sessions.size, 0);
  assert.equal(locks.held.size, 0);
});

test("a session opens where the storage is full or damaged, and refuses what it cannot keep", async (t) => {
  const { server, open } = world(t, 1);
  const storage = new Memory(), db = open({ storage });
  await settle();
  await db.write({ op: "update", class: "Car", key: "V0", set: { price: 5 } });
  db.close();
  storage.limit = 10;
  const full = open({ storage });
  await settle();
  assert.equal(full.state, "open");
  await assert.rejects(full.write({ op: "update", class: "Car", key: "V0", set: { price: 6 } }), /QuotaExceeded/);
  const damaged = new Memory();
  damaged.setItem("sluice ws://test/nyc undefined 0", "{no JSON");
  const again = open({ storage: damaged });
  await settle();
  assert.equal(again.state, "open");
  await assert.rejects(again.write([null]));
  await again.write({ op: "update", class: "Car", key: "V0", set: { price: 7 } });
});

test("a write that ends each session lets the module come back ever more rarely", async (t) => {
  const clock = new Clock(t);
  const { server, open } = world(t, 1), db = open();
  let count = 0;
  server.cutBefore = (message) => { if (message.type === "open") count++; return message.type === "write"; };
  await settle();
  db.write({ op: "update", class: "Car", key: "V0", set: { price: 5 } }).catch(() => {});
  await settle();
  await pass(clock, 60);
  assert.ok(count >= 3 && count <= 12, String(count));
});
