// A server for the browser tests: the program that SLUICE names, or the fake one with SLUICE=fake. Its database `test`
// has 16 airlines, 1,000 flights and odd objects, and rules that refuse delays of 1,000 minutes.
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeServer } from "./fake-server.mjs";
import http from "node:http";
import net from "node:net";
import { answer, classes, fakeReports, listen } from "./fake-http.mjs";

const program = process.env.SLUICE ?? ".build/debug/sluice";
export const isFake = program === "fake";
export const hostile = ["<img src=x onerror=\"window.hacked=1\">", "<script>window.hacked=1</script>", "\u202Eabc\u202C שלום", "'; alert(1); '", "{{7*7}}", "مرحبا بالعالم"];
export const long = "x".repeat(1 << 20);

/** The pages of the working tree in front of a server, for work on them without a build: SLUICE_PAGES=tree. */
function inFront(port) {
  const proxy = http.createServer(answer).on("upgrade", (request, socket) => {
    const own = `127.0.0.1:${port()}`, isOwn = !request.headers.origin || request.headers.origin === `http://${request.headers.host}`;
    const there = net.connect(port(), "127.0.0.1", () => {
      const headers = { ...request.headers, host: own, ...(isOwn && request.headers.origin ? { origin: `http://${own}` } : {}) };
      there.write(`GET ${request.url} HTTP/1.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
      there.pipe(socket).pipe(there);
    });
    for (const [one, other] of [[socket, there], [there, socket]]) one.on("error", () => other.destroy()).on("close", () => other.destroy());
  });
  return new Promise((resolve) => proxy.listen(0, "127.0.0.1", () => resolve(proxy)));
}

const airlines = Array.from({ length: 16 }, (_, index) => ({ carrier: `A${index}`, name: `Airline ${index}` }));
const flights = Array.from({ length: 1000 }, (_, index) => ({ id: `F${String(index).padStart(3, "0")}`, delay: (index * 37) % 300, gate: `G${index % 40}`, carrier: `A${index % 16}` }));
const odd = [...hostile, long].map((text, index) => ({ id: index < 2 ? text : `o${index}`, text, ...Object.fromEntries(Array.from({ length: 80 }, (_, column) => [`column${column}`, column])) }));

/** With `password` everybody logs in, as the user ada. Pages of the origin may connect. */
export async function start({ password, origin } = {}) {
  if (isFake) {
    const server = new FakeServer(classes);
    for (const [name, rows] of [["Airline", airlines], ["Flight", flights], ["Odd", odd]]) for (const row of rows) server.apply([{ op: "insert", class: name, set: row }]);
    server.reports = fakeReports(server);
    server.refuses = (ops) => (ops.some((op) => op.set?.delay >= 1000) ? "the rule update of Flight does not hold" : null);
    let listener = await listen(server);
    return { url: `http://127.0.0.1:${listener.port}`, stop: () => listener.close(), restart: async () => { listener = await listen(server, listener.port); } };
  }
  const folder = mkdtempSync(join(tmpdir(), "sluice-browser-test-"));
  const rule = { read: true, create: true, update: true, delete: true };
  writeFileSync(join(folder, "rules.json"), JSON.stringify({ database: { schema: "TRUEPREDICATE", reports: "TRUEPREDICATE", rules: "TRUEPREDICATE", jobs: "TRUEPREDICATE" }, classes: { Airline: rule, Flight: { ...rule, update: true, updateAfter: "delay < 1000" }, Odd: rule } }));
  const env = { ...process.env, ...(password && { SLUICE_PASSWORD: password }) };
  if (password) execFileSync(program, ["users", "add", `--data=${join(folder, "data")}`, "--name=ada"], { env, stdio: ["ignore", "ignore", "pipe"] });
  let child, port = 0;
  const run = async () => {
    child = spawn(program, ["serve", `--data=${join(folder, "data")}`, `--listen=127.0.0.1:${port}`, password ? "--users" : "--allow-anonymous", "--dashboard", `--rules=${join(folder, "rules.json")}`, "--log-level=info", ...(origin ? [`--allow-origin=${origin}`] : [])], { stdio: ["ignore", "pipe", "ignore"] });
    const line = await new Promise((resolve, reject) => { child.stdout.once("data", (data) => resolve(String(data))); child.once("exit", () => reject(new Error("the server ended"))); });
    port = +/:(\d+)/.exec(line)[1];
  };
  await run();
  const csv = (rows) => [Object.keys(rows[0]).join(), ...rows.map((row) => Object.values(row).map((value) => `"${String(value).replaceAll('"', '""')}"`).join())].join("\n");
  const load = (database, name, csv, ...more) => {
    writeFileSync(join(folder, `${name}.csv`), csv);
    execFileSync(program, ["import", `ws://127.0.0.1:${port}/${database}`, name, join(folder, `${name}.csv`), ...more, ...(password ? ["--user=ada"] : [])], { env, stdio: ["ignore", "ignore", "pipe"] });
  };
  load("test", "Airline", csv(airlines), "--key=carrier");
  load("test", "Flight", csv(flights), "--key=id", "--link=carrier:Airline");
  load("test", "Odd", csv(odd), "--key=id");
  const end = () => new Promise((resolve) => { child.once("exit", resolve); child.kill("SIGKILL"); });
  const proxy = process.env.SLUICE_PAGES === "tree" ? await inFront(() => port) : undefined;
  return { url: `http://127.0.0.1:${proxy?.address().port ?? port}`, port, load, stop: end, restart: run, remove: async () => { proxy?.close(); await end(); rmSync(folder, { recursive: true, force: true }); } };
}
