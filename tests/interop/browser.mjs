// Chromium on its DevTools pipe, for pages that a person would look at, and two small helpers of such tests.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";

/** A port that was free a moment ago. */
export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Asks again until the answer is truthy; fails with what was waited for. */
export async function until(what, ask) {
  const patience = Date.now() + 30_000;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > patience) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Chromium on its DevTools pipe. */
export class Browser {
  constructor(profile) {
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
      "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"];
    this.child = spawn("chromium", flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.waiting = new Map();
    this.listeners = [];
    this.next = 1;
    let rest = "";
    this.child.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages.map((text) => JSON.parse(text))) {
        const call = this.waiting.get(message.id);
        if (!call) { this.listeners.forEach((listener) => listener(message)); continue; }
        this.waiting.delete(message.id);
        if (message.error) call.reject(new Error(message.error.message)); else call.resolve(message.result);
      }
    });
    this.child.on("exit", () => this.waiting.forEach(({ reject }) => reject(new Error("chromium ended"))));
  }

  send(method, params = {}, sessionId = this.session) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  async open() {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" }, undefined);
    this.session = (await this.send("Target.attachToTarget", { targetId, flatten: true }, undefined)).sessionId;
    for (const domain of ["Page", "Network", "Runtime", "Log"]) await this.send(`${domain}.enable`);
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.text} ${result.description ?? ""}`);
    return result.value;
  }

  /** Ends Chromium and all its processes. */
  async close() {
    const gone = new Promise((resolve) => this.child.once("exit", resolve));
    if (this.child.exitCode !== null) return;
    const late = setTimeout(() => this.child.kill("SIGKILL"), 5000);
    this.send("Browser.close", {}, undefined).catch(() => {});
    await gone;
    clearTimeout(late);
  }

  text(selector) {
    return this.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ""`);
  }

  async type(text) {
    await this.evaluate("document.getElementById('token').value = ''; document.getElementById('token').focus()");
    await this.send("Input.insertText", { text });
    for (const type of ["keyDown", "keyUp"]) {
      await this.send("Input.dispatchKeyEvent", { type, key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: type === "keyDown" ? "\r" : undefined });
    }
  }

  async picture(path, width = 1280) {
    const { cssContentSize } = await this.send("Page.getLayoutMetrics");
    const clip = { x: 0, y: 0, width, height: Math.ceil(cssContentSize.height), scale: 1 };
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: true, clip });
    writeFileSync(path, Buffer.from(data, "base64"));
  }
}
