// The module beside a server that is killed again and again: node --experimental-websocket --test. OUTAGES says how often.
import test from "node:test";
import assert from "node:assert/strict";
import { Sluice } from "../../Web/sluice.js";
import { isFake, start } from "./world.mjs";

const outages = +(process.env.OUTAGES ?? 100);
const until = async (holds) => { while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2)); };

test(`a server that is killed ${outages} times loses no change and takes each write once`, { skip: isFake }, async () => {
  const world = await start(), items = new Map();
  const storage = { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value), removeItem: (key) => items.delete(key) };
  const db = Sluice(`${world.url.replace("http", "ws")}/test`, { storage }), live = db.live("Flight WHERE delay >= 0 SORT(gate ASC, id DESC) LIMIT(30)"), mirror = new Map();
  (async () => { for await (const { changes } of live) for (const { old, row } of changes) row ? mirror.set(row.id, row.gate) : mirror.delete(old.id); })();
  const written = [];
  for (let outage = 0; outage < outages; outage++) {
    await until(() => live.state === "complete");
    for (let turn = 0; turn < 5; turn++) {
      written.push(db.write({ op: "update", class: "Flight", key: "F000", add: { delay: 1 } }));
      written.push(db.write({ op: "update", class: "Flight", key: `F${String((outage * 5 + turn) % 1000).padStart(3, "0")}`, set: { gate: `A${(outage * 7 + turn * 13) % 90}` } }));
      if (turn === outage % 5) {
        await new Promise((resolve) => setTimeout(resolve, outage % 7));
        await world.stop();
      }
    }
    await world.restart();
    globalThis.dispatchEvent?.(new Event("online"));
  }
  await Promise.all(written);
  const other = Sluice(`${world.url.replace("http", "ws")}/test`, { readonly: true }), all = other.live("Flight SORT(gate ASC, id DESC) LIMIT(30)"), first = other.live("Flight WHERE id == 'F000'");
  await until(() => all.state === "complete" && first.state === "complete" && live.state === "complete" && live.v >= all.v - 1);
  assert.equal(first.rows[0].delay, outages * 5);
  assert.deepEqual(live.rows.map(({ id, gate }) => [id, gate]), all.rows.map(({ id, gate }) => [id, gate]));
  await until(() => mirror.size === 30);
  assert.deepEqual(new Map([...mirror].sort()), new Map(all.rows.map(({ id, gate }) => [id, gate]).sort()));
  db.close();
  other.close();
  await world.remove();
});
