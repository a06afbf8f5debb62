// How fast the dashboard is: another client's write to the marked cell, and scrolling 1,000 rows. It prints the times;
// make browser-bench.
import test from "node:test";
import assert from "node:assert/strict";
import { Browser } from "./browser.mjs";
import { start } from "./world.mjs";

const query = "Flight SORT(delay DESC) LIMIT(1000) TOTAL";
let browser, world;

test.before(async () => {
  world = await start();
  browser = new Browser();
});
test.after(async () => {
  await browser.close();
  await (world.remove ?? world.stop)();
});

let pages = [];
const open = async (path, options) => {
  const page = await browser.page(options);
  pages.push(page);
  await page.go(`${world.url}/_/${path}`);
  return page;
};
// Pages of the tests before would take processor time, too.
test.afterEach(async () => {
  for (const page of pages.splice(0)) await browser.send("Target.closeTarget", { targetId: page.targetId });
});
const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
const words = (times) => {
  const sorted = [...times].sort((a, b) => a - b);
  return `least ${sorted[0].toFixed(1)}, middle ${at(sorted, 0.5).toFixed(1)}, of a hundred the 95th ${at(sorted, 0.95).toFixed(1)}, longest ${sorted.at(-1).toFixed(1)} ms`;
};

/** Seconds of the main thread, and frames, that a piece of work takes. */
async function used(page, work) {
  await page.send("Performance.enable", { timeDomain: "threadTicks" });
  const read = async () => Object.fromEntries((await page.send("Performance.getMetrics")).metrics.map(({ name, value }) => [name, value]));
  const before = await read(), result = await work(), after = await read();
  const names = ["TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"];
  return { result, seconds: Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) };
}

/** Scrolls the table down and up, `step` pixels a frame, as a wheel does; the times between frames. */
const scroll = (page, step, most) => page.run(async (step, most) => {
  const grid = document.querySelector(".grid"), times = [], blank = [];
  let last = await new Promise(requestAnimationFrame), down = true;
  while (times.length < most) {
    grid.scrollTop += down ? step : -step;
    if (grid.scrollTop + grid.clientHeight >= grid.scrollHeight - 1 || grid.scrollTop <= 0) down = !down;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
    // What was shown: is each place in sight a row? The message comes after the frame is drawn.
    await new Promise((done) => { const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); });
    const { top, bottom, left } = grid.getBoundingClientRect();
    for (const y of [top + 60, (top + bottom) / 2, bottom - 20]) if (!document.elementFromPoint(left + 20, y)?.closest(".row")) blank.push(grid.scrollTop);
  }
  return { times, blank: blank.length };
}, step, most);

test("what another client writes is marked within 100 ms", async () => {
  const page = await open(`#/test/data?${new URLSearchParams({ q: query })}`), client = await open("#/test/schema");
  await page.until(`document.querySelector(".facts")?.textContent.includes("1,000 of 1,000")`);
  await client.run(`import("${world.url}/_/sluice.js").then(({ Sluice }) => { window.db = Sluice("${world.url.replace("http", "ws")}/test"); })`);
  await client.until("db.state === 'open'");
  const id = await page.run(`document.querySelector(".grid .row").firstChild.textContent`), delays = [];
  for (let turn = 0; turn < 60; turn++) {
    const begun = await client.run(`(async () => { const start = performance.timeOrigin + performance.now(); await db.write({ op: "update", class: "Flight", key: ${JSON.stringify(id)}, set: { gate: "M${turn}" } }); return start; })()`);
    await page.until(`[...document.querySelectorAll(".grid .row")].some((row) => row.firstChild.textContent === ${JSON.stringify(id)} && row.children[2].textContent === "M${turn}" && row.children[2].dataset.changed > ${begun})`);
    delays.push(await page.run(`+[...document.querySelectorAll(".grid .row")].find((row) => row.firstChild.textContent === ${JSON.stringify(id)}).children[2].dataset.changed`) - begun);
  }
  console.log(`# marked after: ${words(delays)}`);
});

test("what a change costs the page that shows 1,000 rows", async () => {
  const page = await open(`#/test/data?${new URLSearchParams({ q: query })}`), client = await open("#/test/schema");
  await page.until(`document.querySelector(".facts")?.textContent.includes("1,000 of 1,000")`);
  await client.run(`import("${world.url}/_/sluice.js").then(({ Sluice }) => { window.db = Sluice("${world.url.replace("http", "ws")}/test"); })`);
  await client.until("db.state === 'open'");
  await page.run(`(() => { window.longest = 0; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration); }).observe({ type: "longtask" }); })()`);
  const { seconds } = await used(page, () => client.run(`(async () => { for (let turn = 0; turn < 200; turn++) await db.write({ op: "update", class: "Flight", key: "F" + String(turn * 5 % 1000).padStart(3, "0"), set: { gate: "C" + turn } }); })()`));
  console.log(`# each of 200 changes: ${(seconds.TaskDuration / 200 * 1000).toFixed(2)} ms of the main thread (script ${(seconds.ScriptDuration / 200 * 1000).toFixed(2)}); longest task ${await page.run("longest")} ms (0: none above 50)`);
});

for (const isBusy of [false, true]) test(`1,000 rows scroll${isBusy ? " while 50 rows a second change" : ""}`, async () => {
  const page = await open(`#/test/data?${new URLSearchParams({ q: query })}`);
  await page.until(`document.querySelector(".facts")?.textContent.includes("1,000 of 1,000")`);
  let writer;
  if (isBusy) {
    writer = await open("#/test/schema");
    await writer.run(`import("${world.url}/_/sluice.js").then(({ Sluice }) => { window.db = Sluice("${world.url.replace("http", "ws")}/test"); let n = 0;
      window.timer = setInterval(() => { n++; db.write({ op: "update", class: "Flight", key: "F" + String((n * 7) % 1000).padStart(3, "0"), set: { gate: "S" + n } }).then(() => window.written = (window.written ?? 0) + 1); }, 20); })`);
    await writer.until("window.written > 20");
  }
  for (const step of [60, 240, 3000]) {
    const from = isBusy && await writer.run("window.written");
    const { result: { times, blank }, seconds } = await used(page, () => scroll(page, step, 300));
    const late = times.filter((time) => time > 25).length, perFrame = (seconds.TaskDuration / times.length) * 1000;
    console.log(`# ${step} px a frame${isBusy ? `, ${await writer.run("window.written") - from} writes` : ""}: ${times.length} frames, ${late} later than 25 ms, ${words(times)}; main thread ${perFrame.toFixed(2)} ms a frame (script ${(seconds.ScriptDuration / times.length * 1000).toFixed(2)}, layout ${(seconds.LayoutDuration / times.length * 1000).toFixed(2)}, style ${(seconds.RecalcStyleDuration / times.length * 1000).toFixed(2)}); empty places seen ${blank}`);
    assert.equal(blank, 0);
  }
  if (isBusy) await writer.run("clearInterval(timer)");
  assert.deepEqual(page.faults, []);
});
