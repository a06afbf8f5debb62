// Makes the pictures of the guides: Tools/browser-test. They are left in .build/screenshots/pictures, or in the folder
// that PICTURES names: `make browser-test PICTURES=docs/images` renews those of the guides.
import test from "node:test";
import assert from "node:assert/strict";
import http from "node:http";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Browser } from "./browser.mjs";
import { read, withPalette } from "./picture.mjs";
import { isFake, start } from "./world.mjs";

const root = new URL("../../", import.meta.url).pathname, docs = join(root, "docs"), images = join(docs, "images");
const folder = process.env.PICTURES ? join(process.cwd(), process.env.PICTURES) : join(root, ".build/screenshots/pictures");
const made = new Map();
let browser, world, board;

/** Serves the board of Playground/BrowserBoard, as another program does. */
async function serveBoard() {
  const files = join(root, "Playground/BrowserBoard"), types = { html: "text/html", js: "text/javascript", css: "text/css" };
  const server = http.createServer(({ url }, response) => {
    const path = new URL(url, "http://x").pathname, name = path === "/" ? "index.html" : path.slice(1);
    if (!readdirSync(files).includes(name)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": types[name.split(".").pop()] }).end(readFileSync(join(files, name)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

test.before(async () => {
  if (isFake) return;
  board = await serveBoard();
  world = await start({ origin: `http://127.0.0.1:${board.address().port}` });
  const data = join(root, "Playground/DepartureBoard/Data");
  world.load("nyc", "Airline", readFileSync(join(data, "airlines.csv")), "--key=carrier");
  world.load("nyc", "Flight", readFileSync(join(data, "flights.csv")), "--link=carrier:Airline");
  browser = new Browser();
});
test.after(async () => {
  await browser?.close();
  await world?.remove();
  board?.closeAllConnections();
  board?.close();
});

async function open(path, query) {
  const page = await browser.page({ width: 1100, height: 640 });
  await page.go(`${world.url}/_/#/test/${path}${query ? `?${new URLSearchParams({ q: query })}` : ""}`);
  return page;
}

/** Makes the page's variable `db`. */
const connect = (page) => page.run(`import("${world.url}/_/sluice.js").then(({ Sluice }) => { window.db = new Sluice("${world.url.replace("http", "ws")}/test"); })`);

async function keep(page, name) {
  assert.deepEqual(page.faults, [], name);
  const path = join(folder, name);
  await page.screenshot(path);
  writeFileSync(path, withPalette(readFileSync(path)));
  made.set(name, path);
}

const press = (page, name) => page.run(`[...document.querySelectorAll("main button")].find((each) => each.textContent === ${JSON.stringify(name)}).click()`);

test("rows that another client changes, with the list of changes", { skip: isFake }, async () => {
  const page = await open("data", "Flight WHERE delay > 60 SORT(delay DESC) LIMIT(200) TOTAL"), client = await open("schema");
  await page.until(`document.querySelector(".grid .row")`);
  await connect(client);
  const keys = await page.run(`[2, 4, 5, 8, 12].map((index) => document.querySelectorAll(".grid .row")[index].firstChild.textContent)`);
  await client.run(`(async () => { await db.write({ op: "delete", class: "Flight", key: ${JSON.stringify(keys[4])} }); })()`);
  for (const [index, key] of keys.slice(0, 4).entries()) await client.run(`db.write({ op: "update", class: "Flight", key: ${JSON.stringify(key)}, add: { delay: 1 }, set: { gate: "X${index}" } })`);
  await page.until(`document.querySelectorAll(".grid .cell[data-changed]").length >= 8 || [...document.querySelectorAll(".grid .row")].filter((row) => /X[0-3]/.test(row.textContent)).length === 4`);
  await keep(page, "dashboard-data.png");
});

test("what a query costs", { skip: isFake }, async () => {
  const page = await open("query", "Flight WHERE delay > 60 SORT(delay DESC) LIMIT(20)");
  await page.until(`document.querySelector("main h1") && document.querySelector("main").innerText.includes("SCAN")`);
  await keep(page, "dashboard-query.png");
});

test("who can do what", { skip: isFake }, async () => {
  const page = await open("access");
  await page.until(`document.querySelector("textarea.code")?.value`);
  await page.run(`(() => { const [user, action, name, key] = document.querySelectorAll(".fields input, .fields select"); user.value = "bob"; action.value = "update"; name.value = "Flight"; key.value = "F001"; document.querySelector(".fields").requestSubmit(); })()`);
  await page.until(`document.querySelector(".big") && document.querySelector("main li code")`);
  await press(page, "This must hold");
  await press(page, "Run all");
  await page.until(`document.querySelector("table b.good")`);
  await keep(page, "dashboard-access.png");
});

test("the server's figures", { skip: isFake }, async () => {
  const page = await open("health"), client = await open("schema");
  await connect(client);
  await client.run(`void setInterval(() => { for (let count = Date.now() / 1500 % 9; count > 0; count--) db.write({ op: "update", class: "Flight", key: "F00" + Math.floor(count), add: { delay: 1 } }); }, 100)`);
  for (let count = 3; count <= 21; count += 3) await page.until(`[...document.querySelectorAll("main polyline")].some((each) => each.getAttribute("points").split(" ").length >= ${count})`);
  await keep(page, "dashboard-health.png");
});

test("a departure board in a browser, which two windows change", { skip: isFake }, async () => {
  const windows = [];
  for (let window = 0; window < 2; window++) {
    const page = await browser.page({ width: 880, height: 550 });
    await page.go(`http://127.0.0.1:${board.address().port}/?server=${new URL(world.url).host}`);
    await page.until(`document.querySelectorAll("tbody tr").length === 20 && document.getElementById("state").textContent === "live" && document.querySelector("tbody").innerText.includes("Inc.")`);
    windows.push(page);
  }
  const before = await windows[1].run(`document.querySelectorAll("tbody tr")[3].lastChild.textContent`);
  await windows[0].click("tbody tr:nth-child(4)");
  await windows[1].until(`/\\d+ min late/.test(document.querySelectorAll("tbody tr")[3].lastChild.textContent) && document.querySelectorAll("tbody tr")[3].lastChild.textContent !== ${JSON.stringify(before)}`);
  await keep(windows[1], "browser-board.png");
});

test("the guides show the pictures that are made here, and they are small", () => {
  const named = new Set();
  for (const name of ["../README.md", ...readdirSync(docs).filter((each) => each.endsWith(".md"))])
    for (const [, picture] of readFileSync(join(docs, name), "utf8").matchAll(/\]\((?:docs\/)?images\/([^)]+\.png)\)/g)) named.add(picture);
  assert.deepEqual([...named].sort(), readdirSync(images).filter((each) => each.endsWith(".png")).sort(), "each picture is in a guide, and each that a guide names is there");
  if (!isFake) assert.deepEqual([...made.keys()].sort(), [...named].sort(), "each is made here");
  for (const path of [...[...named].map((name) => join(images, name)), ...made.values()]) {
    const bytes = readFileSync(path), picture = read(bytes);
    assert.ok(bytes.length <= 64 << 10 && picture.hasPalette && picture.width <= 1280, `${path} has ${bytes.length} bytes`);
  }
});
