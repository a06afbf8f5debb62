// Ways through the dashboard, in chromium: Tools/browser-test.
import test from "node:test";
import assert from "node:assert/strict";
import http from "node:http";
import { readdirSync, statSync } from "node:fs";
import { Browser } from "./browser.mjs";
import { hostile, isFake, start } from "./world.mjs";

const shots = new URL("../../.build/screenshots/", import.meta.url).pathname;
const screens = ["data", "query", "subscriptions", "sessions", "access", "schema", "log", "health", "jobs"];
const flights = "Flight SORT(delay DESC) LIMIT(1000) TOTAL";
let browser, world, pages = [];

test.before(async () => {
  world = await start();
  browser = new Browser();
});
test.after(async () => {
  await browser.close();
  await (world.remove ?? world.stop)();
});

async function open(path, options) {
  const page = await browser.page(options);
  pages.push(page);
  await page.go(`${world.url}/_/${path}`);
  return page;
}
const data = (query, options) => open(`#/test/data?${new URLSearchParams({ q: query })}`, options);
const cell = (page, id, column) => page.run((id, column) => {
  const row = [...document.querySelectorAll(".grid .row")].find((each) => each.firstChild.textContent === id);
  return row && [...row.children].map((each) => each.textContent)[column];
}, id, column);
const until = (page, id, column, value) => page.until(`(() => { const row = [...document.querySelectorAll(".grid .row")].find((each) => each.firstChild.textContent === ${JSON.stringify(id)}); return row && row.children[${column}].textContent === ${JSON.stringify(value)}; })()`);
/** Another client, in another page. */
async function other() {
  const page = await open("#/test/schema");
  await page.run(`import("${world.url}/_/sluice.js").then(({ Sluice }) => { window.db = Sluice("${world.url.replace("http", "ws")}/test"); })`);
  return { page, write: (operation) => page.run(`(async () => { const start = performance.timeOrigin + performance.now(); await db.write(${JSON.stringify(operation)}); return start; })()`) };
}

test("the dashboard has at most 60 KB", () => {
  const folder = new URL("../../Web/dashboard/", import.meta.url);
  const size = readdirSync(folder).reduce((sum, name) => sum + statSync(new URL(name, folder)).size, 0);
  assert.ok(size <= 61_440, `${size} bytes`);
});

test("classes are counted, and a row that another client writes is marked", async () => {
  const page = await data("Flight SORT(id) LIMIT(50) TOTAL"), client = await other();
  await page.until(`document.querySelector(".facts").textContent.includes("50 of 1,000 rows")`);
  await page.until(`[...document.querySelectorAll(".classes a")].some((each) => each.textContent === "Airline16")`);
  const delays = [];
  for (let turn = 0; turn < 5; turn++) {
    const start = await client.write({ op: "update", class: "Flight", key: "F003", set: { gate: `X${turn}` } });
    await until(page, "F003", 2, `X${turn}`);
    const marked = await page.until(`+[...document.querySelectorAll(".grid .row")].find((each) => each.firstChild.textContent === "F003").children[2].dataset.changed`);
    delays.push(marked - start);
  }
  console.log(`# marked ${delays.map((delay) => delay.toFixed(0)).join(", ")} ms after another client began to write`);
  await page.until(`document.querySelector(".activity").textContent.includes("gate")`);
  await client.write({ op: "delete", class: "Flight", key: "F010" });
  await page.until(`document.querySelector(".activity").textContent.includes("left:")`);
  await client.write({ op: "insert", class: "Flight", set: { id: "F010", delay: 70, gate: "G10", carrier: "A10" } });
  await page.until(`document.querySelector(".facts").textContent.includes("of 1,000 rows")`);
  assert.deepEqual(page.faults, []);
});

test("a query that does not parse is marked under its byte, and completed words make one that does", async () => {
  const page = await data("Flight LIMIT(20)");
  await page.until(`document.querySelector(".grid .row")`);
  await page.press("/");
  await page.run(`document.activeElement.select()`);
  await page.type("Flight WHERE ");
  await page.type("de");
  await page.until(`document.querySelector("[role=option]")?.textContent === "delay"`);
  await page.press("ArrowDown");
  await page.press("Enter");
  assert.equal(await page.run(`document.activeElement.value`), "Flight WHERE delay ");
  await page.type("> ");
  await page.press("Enter");
  const message = await page.until(`document.querySelector(".query-fault").innerText`);
  assert.match(message, /Byte/);
  await page.screenshot(`${shots}/query-fault.png`);
  await page.type(" 290 SORT(id) TOTAL");
  await page.press("Enter");
  await page.until(`/\\d+ rows/.test(document.querySelector(".facts").textContent) && !document.querySelector(".query-fault").innerText`);
});

test("the keyboard alone reaches a screen, a cell and its value, and the write is acknowledged", async () => {
  const page = await open("#/test/schema"), watcher = await data("Flight WHERE id == 'F001'");
  await page.until(`document.querySelector(".card")`);
  await page.press("g");
  await page.press("1");
  await page.until(`location.hash.includes("/data")`);
  await page.press("/");
  await page.type("Flight SORT(id) LIMIT(5)");
  await page.press("Escape");
  await page.press("Enter");
  await page.until(`document.querySelectorAll(".grid .row").length === 5`);
  for (let tab = 0; tab < 12 && !(await page.run(`document.activeElement.matches(".grid")`)); tab++) await page.press("Tab");
  assert.ok(await page.run(`document.activeElement.matches(".grid") && getComputedStyle(document.activeElement).outlineStyle !== "none"`), "the focus shows");
  await page.press("ArrowDown");
  await page.press("ArrowRight");
  await page.press("ArrowRight");
  await page.press("Enter");
  await page.until(`document.activeElement.matches(".cell input")`);
  await page.run(`document.activeElement.select()`);
  await page.type("Keyed");
  await page.press("Enter");
  await until(watcher, "F001", 2, "Keyed");
  await page.until(`document.querySelector(".toast.good")?.textContent.includes("on disk as version")`);
  assert.ok(await page.run(`document.activeElement.matches(".grid")`));
  await page.press("?");
  await page.until(`document.querySelector("dialog[open]")`);
  await page.press("Escape");
  await page.until(`!document.querySelector("dialog")`);
});

test("the focus stays where it is while lists and facts are renewed, and comes back after a change", async () => {
  const page = await data("Flight SORT(id) LIMIT(50) TOTAL"), client = await other(), focused = () => page.run(`document.activeElement.textContent`);
  await page.until(`[...document.querySelectorAll(".facts button")].some((each) => each.textContent === "Show more")`);
  await page.run(`[...document.querySelectorAll(".facts button")].find((each) => each.textContent === "Show more").focus()`);
  for (let turn = 0; turn < 3; turn++) {
    const before = await page.run(`document.querySelector(".facts").textContent`);
    await client.write({ op: "update", class: "Flight", key: "F004", set: { gate: `Y${turn}` } });
    await page.until(`document.querySelector(".facts").textContent !== ${JSON.stringify(before)}`);
    assert.equal(await focused(), "Show more");
  }
  // A value of the object that is shown beside the rows.
  await page.run(`document.querySelector(".grid .row .cell").click()`);
  await page.until(`document.querySelector(".inspector .value[title='Edit gate']")`);
  await page.run(`document.querySelector(".inspector .value[title='Edit gate']").click()`);
  await page.until(`document.activeElement.matches("textarea")`);
  await page.run(`document.activeElement.form.requestSubmit()`);
  await page.until(`document.activeElement.title === "Edit gate"`);
  // What is typed stays where the row goes.
  const row = await page.run(`document.querySelector(".grid .row").firstChild.textContent`);
  await page.run(`document.querySelector(".grid .row .cell").dispatchEvent(new MouseEvent("dblclick", { bubbles: true }))`);
  await page.until(`document.activeElement.matches(".cell input")`);
  await page.type("typed");
  await client.write({ op: "delete", class: "Flight", key: row });
  await page.until(`document.querySelector(".facts").textContent.includes("of 999 rows")`);
  assert.match(await page.run(`document.activeElement.value`), /typed/);
  await page.press("Enter");
  await page.until(`document.querySelector(".toast.bad")?.textContent.includes("refused")`);
  await client.write({ op: "insert", class: "Flight", set: { id: row, delay: 1, gate: "G", carrier: "A1" } });
  await page.go(`${world.url}/_/#/test/subscriptions`);
  await page.until(`document.querySelector("table a")`);
  const href = await page.run(`(document.querySelector("table a").focus(), document.activeElement.getAttribute("href"))`);
  await page.run(`window.list = document.querySelector("table")`);
  await page.until(`document.querySelector("table") !== window.list`);
  assert.equal(await page.run(`document.activeElement.getAttribute("href")`), href);
  await page.go(`${world.url}/_/#/test/constructor`);
  await page.until(`document.querySelector(".grid")`);
  assert.deepEqual(page.faults, []);
});

test("what a query computes is a table that follows writes, and of which nothing can be edited", async () => {
  const page = await data("Flight GROUP(carrier) AGGREGATE(@count) SORT(@count DESC)"), client = await other();
  await page.until(`document.querySelectorAll(".grid .row").length === 16`);
  assert.deepEqual(await page.run(`[...document.querySelectorAll(".grid .head .cell")].map((each) => each.title.trim())`), ["carrier", "@count"]);
  const before = +(await cell(page, "A3", 1));
  await client.write({ op: "update", class: "Flight", key: "F003", set: { carrier: "A4" } });
  await until(page, "A3", 1, String(before - 1));
  await page.until(`document.querySelector(".activity").textContent.includes("@count")`);
  await page.click(".grid .row .cell");
  await page.press("Enter");
  assert.equal(await page.run(`document.querySelectorAll(".cell input, .object").length`), 0);
  await client.write({ op: "update", class: "Flight", key: "F003", set: { carrier: "A3" } });
  await until(page, "A3", 1, String(before));
  assert.deepEqual(page.faults, []);
  await page.screenshot(`${shots}/groups.png`);
});

test("a write that the rules refuse is reverted, and the page says why", async () => {
  const page = await data("Flight WHERE id == 'F002'");
  await page.until(`document.querySelector(".grid .row")`);
  const before = await cell(page, "F002", 1);
  await page.run(`document.querySelector(".grid").focus()`);
  await page.press("ArrowRight");
  await page.press("F2");
  await page.run(`document.activeElement.select()`);
  await page.type("5000");
  await page.press("Enter");
  await page.until(`document.querySelector(".toast.bad")?.textContent.includes("refused, and reverted")`);
  await until(page, "F002", 1, before);
  await page.screenshot(`${shots}/refused.png`);
});

test("two browsers edit one object, and agree", async () => {
  const one = await data("Flight WHERE id == 'F005'"), two = await data("Flight WHERE id == 'F005'");
  for (const page of [one, two]) await page.until(`document.querySelector(".grid .row")`);
  const clients = [await other(), await other()];
  await Promise.all(clients.flatMap((client, index) => Array.from({ length: 10 }, (_, turn) => client.write({ op: "update", class: "Flight", key: "F005", add: { delay: 1 }, set: { gate: `${index}-${turn}` } }))));
  await until(one, "F005", 1, String(((5 * 37) % 300) + 20));
  await until(two, "F005", 1, String(((5 * 37) % 300) + 20));
  assert.equal(await cell(one, "F005", 2), await cell(two, "F005", 2));
});

test("markup, long texts, many columns and right-to-left are texts", async () => {
  const page = await data("Odd LIMIT(100)");
  await page.until(`document.querySelectorAll(".grid .row").length >= ${hostile.length}`);
  const texts = await page.run(`[...document.querySelectorAll(".grid .row")].map((row) => row.children[1].textContent)`);
  for (const text of hostile) assert.ok(texts.includes(text), text);
  assert.equal(await page.run(`typeof window.hacked`), "undefined");
  assert.equal(await page.run(`document.querySelectorAll("main img, main script").length`), 0);
  assert.ok(await page.run(`document.querySelectorAll(".grid-head, .head")[0].children.length <= 61`));
  assert.ok(await page.run(`document.querySelector("main").textContent.length < 200000`), "a megabyte is cut");
  for (let index = 0; index < 7; index++) {
    await page.run(`document.querySelectorAll(".grid .row")[${index}].children[1].click()`);
    await page.until(`document.querySelectorAll(".object dt").length === 82`);
  }
  await page.screenshot(`${shots}/hostile.png`);
  assert.equal(await page.run(`typeof window.hacked`), "undefined");
  assert.deepEqual(page.faults, []);
});

test("of a thousand rows only those in sight are in the document", async () => {
  const page = await data(flights);
  await page.until(`document.querySelector(".facts").textContent.includes("1,000 of 1,000")`);
  const most = await page.run(`(async () => { const grid = document.querySelector(".grid"); let most = 0, frames = 0, worst = 0, last = performance.now();
    while (grid.scrollTop + grid.clientHeight < grid.scrollHeight - 1) { grid.scrollTop += 240; await new Promise(requestAnimationFrame); const now = performance.now(); worst = Math.max(worst, now - last); last = now; frames++; most = Math.max(most, document.querySelectorAll(".grid .row").length); }
    return { most, frames, worst }; })()`);
  console.log(`# ${most.frames} frames, the longest ${most.worst.toFixed(1)} ms`);
  assert.ok(most.most < 80, `${most.most} rows`);
  await page.until(`[...document.querySelectorAll(".grid .row")].some((row) => row.getAttribute("aria-rowindex") === "1001")`);
});

test("a link leads to the object, and an object shows its links", async () => {
  const page = await data("Flight WHERE id == 'F007'");
  await page.until(`document.querySelector(".grid .row")`);
  await page.click(".grid .row .cell:nth-child(3)");
  await page.click(".inspector .chip");
  await page.until(`location.hash.includes("Airline") && document.querySelector(".grid .row")?.textContent.includes("Airline 7")`);
});

test("a server that is killed is told of, and followed again when it is back", async () => {
  const page = await data("Flight WHERE id == 'F009'");
  await page.until(`document.querySelector(".grid .row")`);
  await world.stop();
  await page.until(`document.getElementById("connection").dataset.state !== "open"`);
  await world.restart();
  await page.until(`document.getElementById("connection").dataset.state === "open"`);
  const client = await other();
  await client.write({ op: "update", class: "Flight", key: "F009", set: { gate: "Back" } });
  await until(page, "F009", 2, "Back");
});

test("what two tabs wrote offline counts once, sent by the one that is loaded anew", async () => {
  const one = await open("#/test/schema"), two = await open("#/test/schema", { context: one.context }), watcher = await data("Flight WHERE id == 'F020'");
  const begin = async (page) => {
    await page.run(`import("${world.url}/_/sluice.js").then(({ Sluice }) => { window.mine = Sluice("${world.url.replace("http", "ws")}/test", { storage: localStorage, name: "tabs" }); })`);
    await page.until("mine.state === 'open'");
  };
  await begin(one);
  await begin(two);
  const before = +(await watcher.until(`document.querySelector(".grid .row")?.children[1].textContent`));
  await world.stop();
  for (const page of [one, two]) {
    await page.until("mine.state !== 'open'");
    await page.run(`[1, 2, 3].forEach(() => mine.write({ op: "update", class: "Flight", key: "F020", add: { delay: 1 } }))`);
    await page.until(`Object.keys(localStorage).filter((key) => localStorage[key].includes('"add"')).length >= ${page === one ? 1 : 2}`);
  }
  await one.go("about:blank");
  await two.go(`${world.url}/_/#/test/schema`).catch(() => {});
  await world.restart();
  await two.go(`${world.url}/_/#/test/schema`);
  await two.until("document.querySelector('main')");
  await begin(two);
  await until(watcher, "F020", 1, String(before + 6));
  await two.until(`Object.values(localStorage).every((text) => !text.includes('"add"'))`);
});

test("rules are checked, told apart and deployed, and a verdict has its trace", async () => {
  const page = await open("#/test/access");
  await page.until(`document.querySelector("textarea.code")?.value`);
  const rules = await page.run(`document.querySelector("textarea.code").value`), press = (name) => page.run(`[...document.querySelectorAll("main button")].find((each) => each.textContent === ${JSON.stringify(name)}).click()`);
  const write = (text) => page.run(`(() => { const area = document.querySelector("textarea.code"); area.value = ${JSON.stringify(text)}; area.dispatchEvent(new Event("input")); })()`);
  await write("{ no rules");
  await press("Check");
  await page.until(`document.querySelector("main [role=status] .bad")?.textContent`);
  assert.ok(await page.run(`[...document.querySelectorAll("main button")].find((each) => each.textContent === "Deploy").disabled`));
  for (const text of [rules.replace("delay < 1000", "delay < 2000"), rules]) {
    const version = await page.run(`document.querySelector("main .hint").textContent`);
    await write(text);
    await press("Check");
    await page.until(`/^It would change.*classes.Flight.update/.test(document.querySelector("main [role=status]").textContent)`);
    await press("Deploy");
    await page.until(`document.querySelector("main [role=status]").textContent.startsWith("Version") && ${isFake} || document.querySelector("main .hint").textContent !== ${JSON.stringify(version)}`);
  }
  await page.run(`(() => { const [user, action, name, key] = document.querySelectorAll(".fields input, .fields select"); user.value = "bob"; action.value = "update"; name.value = "Flight"; key.value = "F001"; document.querySelector(".fields").requestSubmit(); })()`);
  await page.until(`document.querySelector(".big") && document.querySelector("main li code")`);
  await press("This must hold");
  await press("Run all");
  await page.until(`document.querySelector("table b.good")`);
});

test("without a database in the address the page lists what there is, or asks", async () => {
  const page = await open("");
  await page.until(`document.querySelector("main h1")?.textContent === "Which database?"`);
  if (!isFake) return; // only a development server tells everybody
  await page.click("main .card a");
  await page.until(`document.querySelectorAll(".classes a").length === 3`);
});

test("a session is ended", async () => {
  await open("#/test/schema");
  const page = await open("#/test/sessions");
  await page.until(`document.querySelectorAll("tbody tr").length > 1`);
  await page.run(`document.querySelector("tbody tr button").click()`);
  await page.until(`document.querySelector(".toast.good")?.textContent.includes("has ended")`);
});

test("every screen works on a screen of 320 pixels, in the dark, and everything in it has a name", async () => {
  for (const screen of screens) {
    const page = await open(`#/test/${screen}`, { width: 320, height: 700, dark: true });
    await page.until(`document.querySelector("main").children.length && document.getElementById("connection").dataset.state === "open"`);
    if (screen !== "data") await page.until(`document.querySelector("main h1")`);
    await page.run(`new Promise((resolve) => setTimeout(resolve, 300))`);
    assert.ok((await page.run(`document.documentElement.scrollWidth`)) <= 320, `${screen} is as wide as the screen`);
    const [red] = await page.run(`getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)`);
    assert.ok(red < 60, `${screen} is dark`);
    const nameless = await page.run(`[...document.querySelectorAll("button, input, select, textarea, [role=grid], nav, progress")].filter((each) => !(each.innerText || each.getAttribute("aria-label") || each.labels?.length)).map((each) => each.outerHTML.slice(0, 80))`);
    assert.deepEqual(nameless, [], screen);
    await page.screenshot(`${shots}/narrow-${screen}.png`);
    assert.deepEqual(page.faults, [], screen);
  }
});

test("every screen is drawn", async () => {
  for (const dark of [false, true]) for (const screen of screens) {
    const query = screen === "data" ? `?${new URLSearchParams({ q: "Flight WHERE delay > 60 SORT(delay DESC) LIMIT(200) TOTAL" })}` : screen === "query" ? `?${new URLSearchParams({ q: "Flight WHERE delay > 60 SORT(delay DESC) LIMIT(20)" })}` : "";
    const page = await open(`#/test/${screen}${query}`, { dark });
    await page.until(screen === "data" ? `document.querySelector(".grid .row")` : `document.querySelector("main h1") && document.querySelector("main").innerText.length > 5`);
    await page.run(`new Promise((resolve) => setTimeout(resolve, 400))`);
    await page.screenshot(`${shots}/${screen}${dark ? "-dark" : ""}.png`);
    assert.deepEqual(page.faults, [], screen);
  }
});

test("where nobody is anonymous a form asks who one is", { skip: isFake }, async () => {
  const locked = await start({ password: "correct horse battery" }), page = await browser.page();
  try {
    await page.go(`${locked.url}/_/#/test/data?q=Airline`);
    await page.until(`document.querySelector("dialog[open]")`);
    await page.screenshot(`${shots}/login.png`);
    for (const password of ["wrong", "correct horse battery"]) {
      await page.until(`document.querySelector("dialog[open] input")`);
      await page.run(`document.querySelector("dialog input").focus()`);
      await page.type("ada");
      await page.press("Tab");
      await page.type(password);
      await page.press("Enter");
      if (password === "wrong") await page.until(`document.querySelector("dialog [role=alert]")?.textContent`);
    }
    await page.until(`document.querySelectorAll(".grid .row").length === 16`);
    assert.equal(await page.run(`document.getElementById("user").textContent`), "ada");
    await locked.stop();
    await page.until(`document.getElementById("connection").dataset.state !== "open"`);
    await locked.restart();
    await page.until(`document.getElementById("connection").dataset.state === "open"`);
    assert.equal(await page.run(`document.cookie + sessionStorage.length`), "0");
    assert.equal(await page.run(`JSON.stringify(localStorage).includes("horse")`), false);
  } finally { await locked.remove(); }
});

test("a page of another origin is refused", async () => {
  const server = http.createServer((_, response) => response.setHeader("content-type", "text/html").end("<title>Elsewhere</title>"));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const page = await browser.page();
  await page.go(`http://127.0.0.1:${server.address().port}/`);
  await page.until(`document.title === "Elsewhere"`);
  const outcome = await page.run(`new Promise((resolve) => { const socket = new WebSocket("${world.url.replace("http", "ws")}/test", "sluice.json.1"); socket.onopen = () => resolve("open"); socket.onerror = () => resolve("refused"); })`);
  assert.equal(outcome, "refused");
  server.close();
});

test("the pages come with a policy that runs nothing from elsewhere", async () => {
  const { headers } = await fetch(`${world.url}/_/`);
  const policy = headers.get("content-security-policy");
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) assert.ok(policy.includes(part), part);
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});
