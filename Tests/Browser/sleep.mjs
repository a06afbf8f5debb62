// A browser that sleeps: make browser-bench. Its processes are stopped, as by a laptop's lid; meanwhile the server hangs up (it
// waits 180 s for a sign), and others write. SLEEP says for how many seconds; REACHABLE=no also loses the closing of the
// connection on its way, as NAT does.
import test from "node:test";
import assert from "node:assert/strict";
import net from "node:net";
import { readdirSync, readFileSync } from "node:fs";
import { Browser } from "./browser.mjs";
import { start, isFake } from "./world.mjs";

const seconds = +(process.env.SLEEP ?? 200);
const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));

/** A process and all that it has begun. */
function family(pid) {
  const parents = new Map(readdirSync("/proc").filter((each) => /^\d+$/.test(each)).map((each) => { try { return [+each, +readFileSync(`/proc/${each}/stat`, "utf8").split(") ")[1].split(" ")[1]]; } catch { return [+each, 0]; } }));
  const all = [pid];
  for (let index = 0; index < all.length; index++) for (const [child, parent] of parents) if (parent === all[index]) all.push(child);
  return all;
}

/** Between page and server: a way that can be cut without a word. */
function way(port) {
  const pairs = new Set(), server = net.createServer((one) => {
    const other = net.connect(port, "127.0.0.1"), pair = { one, other };
    pairs.add(pair);
    one.on("data", (data) => pair.isLost || other.write(data)).on("error", () => {}).on("close", () => pair.isLost || other.destroy());
    other.on("data", (data) => pair.isLost || one.write(data)).on("error", () => {}).on("close", () => pair.isLost || one.destroy());
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({ port: server.address().port, lose: () => pairs.forEach((pair) => { pair.isLost = true; }), close: () => server.close() })));
}

test(`a browser that sleeps for ${seconds} s loses nothing and doubles nothing`, { skip: isFake }, async () => {
  const world = await start(), sleeper = new Browser(), path = await way(+new URL(world.url).port), isLost = process.env.REACHABLE === "no";
  const url = `http://127.0.0.1:${path.port}`;
  const { Sluice } = await import("../../Web/sluice.js"), other = Sluice(`${world.url.replace("http", "ws")}/test`);
  try {
    const page = await sleeper.page();
    await page.go(`${url}/_/#/test/data?${new URLSearchParams({ q: "Flight SORT(id) LIMIT(1000) TOTAL" })}`);
    await page.until(`document.querySelector(".facts")?.textContent.includes("1,000 of 1,000")`);
    await page.run(`import("${url}/_/sluice.js").then(({ Sluice }) => { window.states = []; window.mine = Sluice("${url.replace("http", "ws")}/test", { storage: localStorage }); mine.onstate = () => states.push([mine.state, Date.now()]);
      window.live = mine.live("Flight WHERE delay >= 0 SORT(gate, id) LIMIT(30) TOTAL"); window.mirror = new Map(); window.news = 0;
      (async () => { for await (const { changes } of live) { news++; for (const { old, row } of changes) row ? mirror.set(row.id, row.gate) : mirror.delete(old.id); } })(); })`);
    await page.until("mine.state === 'open' && live.state === 'complete'");
    const before = (await page.run("live.total"));
    // Written just before it falls asleep: on its way, or not.
    await page.run(`(() => { window.written = [1, 2, 3].map(() => mine.write({ op: "update", class: "Flight", key: "F000", add: { delay: 1 } })); })()`);
    if (isLost) path.lose();
    const all = family(sleeper.process.pid);
    for (const pid of all) process.kill(pid, "SIGSTOP");
    const asleep = Date.now();
    let writes = 0;
    while (Date.now() - asleep < seconds * 1000) {
      await other.write({ op: "update", class: "Flight", key: `F${String(10 + (writes % 900)).padStart(3, "0")}`, set: { gate: `Z${writes++ % 50}` } });
      if (writes % 10 === 0) await other.write([{ op: "delete", class: "Flight", key: `F${String(990 - writes / 10 % 50)}` }]).catch(() => {});
      await wait(200);
    }
    const sessions = (await other.ask("sessions")).length;
    for (const pid of all) process.kill(pid, "SIGCONT");
    const awake = Date.now();
    await page.until("mine.state !== 'open' || live.v >= 0 && states.length > 0").catch(() => {});
    for (let turn = 0; turn < 20; turn++) if (await page.until(`mine.state === "open" && live.state === "complete" && !Object.values(localStorage).some((text) => text.includes('"add"'))`).catch(() => false)) break;
    await page.run("Promise.all(written)");
    const took = Date.now() - awake;
    const check = Sluice(`${world.url.replace("http", "ws")}/test`, { readonly: true }), right = check.live("Flight WHERE delay >= 0 SORT(gate, id) LIMIT(30) TOTAL"), first = check.live("Flight WHERE id == 'F000'");
    while (right.state !== "complete" || first.state !== "complete") await wait(5);
    await page.until(`live.v >= ${right.v - 1} && live.state === "complete"`);
    await wait(200);
    const rows = await page.run("live.rows.map(({ id, gate }) => [id, gate])"), mirror = await page.run("[...mirror].sort()");
    console.log(`# ${writes} writes meanwhile, ${sessions} sessions at the end of the sleep; right ${took} ms after waking; states ${JSON.stringify((await page.run("states")).map(([state, time]) => [state, time - awake]))}; dashboard: ${await page.run(`document.querySelector(".facts").textContent`)}`);
    assert.equal(first.rows[0].delay, 3, "each write counts once");
    assert.deepEqual(rows, right.rows.map(({ id, gate }) => [id, gate]));
    assert.deepEqual(mirror, rows.slice().sort());
    assert.equal(await page.run("live.total"), right.total);
    await page.until(`/live/.test(document.querySelector(".facts").textContent) && document.querySelector(".facts").textContent.includes("${right.total.toLocaleString("en-US")}")`);
    check.close();
  } finally {
    try { for (const pid of family(sleeper.process.pid)) process.kill(pid, "SIGCONT"); } catch {}
    other.close();
    path.close();
    await sleeper.close();
    await world.remove();
  }
});
