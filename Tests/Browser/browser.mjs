// Debian's chromium without a window, driven through the pipe of its developer tools: no package is needed.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync, mkdirSync, existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const chromium = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));

export class Browser {
  constructor() {
    this.profile = mkdtempSync(join(tmpdir(), "sluice-browser-"));
    this.process = spawn(chromium, ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
      "--force-color-profile=srgb", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", `--user-data-dir=${this.profile}`, "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env: { ...process.env, LANG: "C.UTF-8" } });
    this.calls = new Map();
    this.listeners = new Set();
    this.lastID = 0;
    let rest = Buffer.alloc(0);
    this.process.stdio[4].on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let end; (end = rest.indexOf(0)) >= 0; rest = rest.subarray(end + 1)) this.receive(JSON.parse(rest.subarray(0, end).toString()));
    });
    this.process.stdio[3].on("error", () => {});
  }

  receive(message) {
    const call = this.calls.get(message.id);
    if (call) {
      this.calls.delete(message.id);
      message.error ? call.reject(new Error(message.error.message)) : call.resolve(message.result);
    } else for (const listener of this.listeners) listener(message);
  }

  send(method, params = {}, sessionId) {
    const id = ++this.lastID;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return new Promise((resolve, reject) => this.calls.set(id, { resolve, reject }));
  }

  /** A page, in a context of its own unless it shares one. */
  async page({ width = 1280, height = 800, dark = false, context } = {}) {
    const browserContextId = context ?? (await this.send("Target.createBrowserContext")).browserContextId;
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank", browserContextId, ...(context ? {} : { width, height }) });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId, browserContextId);
    await page.send("Page.enable");
    await page.send("Runtime.enable");
    await page.send("Log.enable");
    await page.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    await page.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
    await page.send("Emulation.setFocusEmulationEnabled", { enabled: true });
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    await Promise.race([this.send("Browser.close").catch(() => {}), ended]);
    await ended;
    rmSync(this.profile, { recursive: true, force: true });
  }
}

class Page {
  constructor(browser, sessionId, targetId, context) {
    Object.assign(this, { browser, sessionId, targetId, context, faults: [] });
    browser.listeners.add(({ method, params, sessionId }) => {
      if (sessionId !== this.sessionId) return;
      if (method === "Runtime.exceptionThrown") this.faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Log.entryAdded" && params.entry.level === "error" && params.entry.source !== "network") this.faults.push(params.entry.text);
    });
  }

  send(method, params) { return this.browser.send(method, params, this.sessionId); }

  async go(url) {
    const loaded = new Promise((resolve) => {
      const listener = ({ method, sessionId }) => {
        if (sessionId !== this.sessionId || method !== "Page.loadEventFired") return;
        this.browser.listeners.delete(listener);
        resolve();
      };
      this.browser.listeners.add(listener);
    });
    await this.send("Page.navigate", { url: "about:blank" });
    await loaded;
    await this.send("Page.navigate", { url });
  }

  /** The value of an expression or of a function's call, in the page. */
  async run(code, ...values) {
    const expression = typeof code === "function" ? `(${code})(${values.map((value) => JSON.stringify(value)).join()})` : code;
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression is true; the page looks in each frame. */
  async until(code, what = String(code)) {
    const expression = typeof code === "function" ? `(${code})()` : code;
    for (let turn = 0; turn < 3; turn++) {
      const found = await this.run(`new Promise((resolve) => { const end = performance.now() + 8000; (function look() {
        let value; try { value = ${expression}; } catch {} value || performance.now() > end ? resolve(value || null) : setTimeout(look, 8); })(); })`).catch(() => undefined); // the page may go elsewhere meanwhile
      if (found) return found;
      if (found === null) break;
    }
    throw new Error(`It never held: ${what}\n${await this.text().catch(() => "")}\n${this.faults.join("\n")}`);
  }

  text() { return this.run("document.body.innerText"); }

  async press(key, modifiers = 0) {
    const codes = { Enter: 13, Tab: 9, Escape: 27, ArrowDown: 40, ArrowUp: 38, ArrowLeft: 37, ArrowRight: 39, F2: 113, Home: 36, End: 35, PageDown: 34, " ": 32 };
    const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
    const shared = { key, code: key, windowsVirtualKeyCode: codes[key] ?? key.toUpperCase().charCodeAt(0), modifiers };
    await this.send("Input.dispatchKeyEvent", { type: text ? "keyDown" : "rawKeyDown", text, ...shared });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...shared });
  }

  type(text) { return this.send("Input.insertText", { text }); }

  async click(selector) {
    const { x, y } = await this.until(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); if (!e) return; e.scrollIntoView({ block: "nearest" }); const r = e.getBoundingClientRect(); return r.width && { x: r.x + r.width / 2, y: r.y + r.height / 2 }; })()`, selector);
    for (const type of ["mousePressed", "mouseReleased"]) await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
  }

  async screenshot(path) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
}
