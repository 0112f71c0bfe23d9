// Looks at the operators' page as a person would: opens it, signs in, runs programs beside it, reads what it shows.
// Chromium is driven over its DevTools pipe. Usage: node console.mjs PTC FOLDER; with `upstream` alone it is the MCP
// server that the programs call.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Browser, freePort, until } from "./browser.mjs";

const TOKEN = "console-test-0123456789abcdef0123456789";
const HOSTILE = "<img src=x onerror=alert(1)>";

/** A tool server: `rows` answers a lot after a while, `never` does not answer, `move` needs an approval. */
function upstream() {
  const tools = ["rows", "never", "move"].map((name) => ({ name, description: `The tool ${name}. ${HOSTILE}`, inputSchema: { type: "object" } }));
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const say = (body) => console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    if (method === "initialize") say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "rows", version: "1" } } });
    else if (method === "tools/list") say({ result: { tools } });
    else if (method !== "tools/call") say({ error: { code: -32601, message: "method not found" } });
    else if (params.name === "move") say({ result: { content: [{ type: "text", text: `moved ${params.arguments.from}` }] } });
    else if (params.name === "rows") setTimeout(() => say({ result: { content: [{ type: "text", text: "x".repeat(9000) }] } }), params.arguments.after ?? 40);
  });
}

async function main(ptc, folder) {
  const scratch = mkdtempSync(join(tmpdir(), "ptc-console-"));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const config = join(scratch, "upstreams.json");
  const tokens = join(scratch, "tokens");
  writeFileSync(tokens, `operator:${TOKEN}\nother:${TOKEN}-of-somebody-else\n`);
  writeFileSync(config, JSON.stringify({ upstreams: { rows: { transport: "mcp_stdio", command: process.execPath, args: [fileURLToPath(import.meta.url), "upstream"],
    approve_tools: ["move"], approve_level: "out_of_band" } } }));
  const server = spawn(ptc, ["start", "--http", "--http-port", String(port), "--http-auth-token-file", tokens, "--console",
    "--sessions", "--questions", "auto", "--upstreams-config", config, "--upstream-call-timeout-ms", "60000", "--program-timeout-ms", "60000", "--log-level", "warn"], { stdio: ["ignore", "inherit", "inherit"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  let browser;
  try {
    browser = new Browser(join(scratch, "profile"));
    await look(origin, browser, folder);
  } finally {
    await browser?.close();
    server.kill("SIGTERM");
    await ended;
    // Chromium's helpers may still be writing for a moment.
    rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function look(origin, browser, folder) {
  await until("the server is ready", () => fetch(`${origin}/ready`).then((answer) => answer.ok, () => false));
  const call = async (name, args, { token = TOKEN, signal } = {}) => {
    const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
    const answer = await fetch(`${origin}/mcp`, {
      method: "POST", signal,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": name },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, _meta: meta } }),
    });
    return (await answer.json()).result;
  };

  const requests = [], complaints = [];
  browser.listeners.push(({ method, params }) => {
    if (method === "Network.requestWillBeSent") requests.push(params.request.url);
    if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    // That a wrong token is refused is what the test wants to see.
    if (method === "Log.entryAdded" && !/status of 401/.test(params.entry.text)) complaints.push(params.entry.text);
  });
  await browser.open();
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false });
  await browser.send("Page.addScriptToEvaluateOnNewDocument", { source: "addEventListener('securitypolicyviolation', (event) => (window.violations ??= []).push(event.violatedDirective))" });

  // The page alone holds nothing and asks for nothing.
  const page = await fetch(`${origin}/console`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-security-policy"), /^default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]+';/);
  assert.equal((await fetch(`${origin}/console/api/state`)).status, 401);
  assert.equal((await fetch(`${origin}/console/api/catalog`)).status, 401);
  await browser.send("Page.navigate", { url: `${origin}/console` });
  await until("the form is there", () => browser.text("#login"));
  assert.equal(await browser.evaluate("document.getElementById('board').hidden"), true);
  assert.deepEqual(requests.filter((url) => url.includes("/api/")), []);
  await browser.picture(join(folder, "console-login.png"));

  // A wrong token is told so.
  await browser.type("wrong-token-wrong-token-wrong-token-wrong");
  await until("the refusal", async () => /not valid/.test(await browser.text("#trouble")));
  assert.equal(await browser.evaluate("document.getElementById('board').hidden"), true);

  // Something to see: a program with three calls at once, failures, a session, and one program that hangs.
  const rows = "(reduce + (map (fn [r] (count (:value r))) (pmap (fn [ms] (tool/call {:server \"rows\" :tool \"rows\" :args {:after ms}})) [30 60 90])))";
  const sum = await call("lisp_eval", { program: rows });
  assert.match(sum.content[0].text, /27000/);
  await call("lisp_eval", { program: "(/ 1 0)" });
  await call("lisp_eval", { program: `(count "${HOSTILE}")` });
  await call("lisp_eval", { program: "\"of somebody else\"" }, { token: `${TOKEN}-of-somebody-else` });
  const started = await call("lisp_session_start", { title: HOSTILE });
  await call("lisp_session_eval", { session_id: started.structuredContent.session_id, program: "(def answer 42)" });
  const hanging = new AbortController();
  const hangs = call("lisp_eval", { program: "(tool/call {:server \"rows\" :tool \"never\"})" }, { signal: hanging.signal }).catch(() => "gone");

  await browser.type(TOKEN);
  await until("the board", async () => !(await browser.evaluate("document.getElementById('board').hidden")));
  await until("the running call", async () => /tool\/call/.test(await browser.text("#live")));
  const recent = await until("recent calls", () => browser.text("#recent"));
  for (const shown of ["(pmap", "runtime_error", HOSTILE, "lisp_session_eval"]) assert.ok(recent.includes(shown), `${shown} in ${recent}`);
  assert.ok(!recent.includes("somebody else"), "only the caller's own calls");
  assert.match(await browser.text("#upstreams"), /rows[\s\S]*started/);
  assert.match(await until("the catalog", () => browser.text("#catalog")), /3 tools/);
  assert.match(await browser.text("#sessions"), /ptcs_/);
  assert.match(await browser.text("#tiles"), /Payload reduction\n[\d.]+ ×/);
  assert.ok((await browser.evaluate("document.querySelectorAll('#reduction rect').length")) >= 2);
  assert.match(await browser.text("#identity"), /you are operator/);

  // The waterfall of the call with three upstream calls; it stays open while the page goes on.
  await browser.evaluate("[...document.querySelectorAll('#recent tr')].find((row) => row.innerText.includes('pmap')).querySelector('button').click()");
  await until("the waterfall", async () => (await browser.evaluate("document.querySelectorAll('#recent .bar.ok').length")) === 3);
  assert.equal(await browser.evaluate("document.querySelectorAll('#recent [aria-expanded=true]').length"), 1);
  await browser.evaluate("document.querySelector('#catalog details').open = true");
  assert.match(await browser.text("#catalog"), /The tool never/);

  // What waits for people: nine calls behind one question, whole, and a form of every kind of field. An address leads to a run.
  assert.match(await browser.text("#waiting"), /No program waits for anybody/);
  const waits = async (program) => (await call("lisp_eval", { program })).content[0].text.match(/run_[\w-]{24}/)[0];
  const moves = `(pmap (fn [n] (:value (tool/call {:server "rows" :tool "move" :args {:from (str "f" n) :note "${HOSTILE}"}}))) (range 9))`;
  const form = await waits(`(:value (ask {:message "Where to? ${HOSTILE}" :schema {:type "object" :required ["name" "tags"] :properties {
    :name {:type "string" :maxLength 20 :description "${HOSTILE}"} :note {:type "string"} :count {:type "integer" :minimum 1 :maximum 9 :default 3} :ratio {:type "number"}
    :sure {:type "boolean"} :region {:type "string" :enum ["eu" "us"]}
    :plan {:type "string" :oneOf [{:const "a" :title "Plan A"} {:const "b" :title "Plan B"}] :default "b"}
    :tags {:type "array" :items {:type "string" :enum ["x" "y" "z"]}}}}}))`);
  const nine = await waits(moves);
  await browser.evaluate(`location.hash = "#q=${nine}"`);
  const inRun = (run, expression) => browser.evaluate(`(() => { const run = document.getElementById("run-${run}")?.closest(".run"); return ${expression}; })()`);
  const press = (run, text) => inRun(run, `[...run.querySelectorAll("button")].find((one) => one.innerText === ${JSON.stringify(text)}).click()`);
  await until("the run that the address names", () => inRun(nine, "run?.classList.contains('wanted')"));
  assert.equal(await inRun(nine, "document.activeElement === run.querySelector('h3')"), true);
  await until("the calls of the question", () => inRun(nine, "run.querySelector('.calls li pre') !== null"));
  const shown = await inRun(nine, "[...run.querySelectorAll('.calls li')].map((call) => call.innerText)");
  assert.equal(shown.length, 9);
  for (const [n, text] of shown.entries()) {
    assert.ok(text.includes(`from "f${n}"`) && text.includes(HOSTILE), text);
    assert.match(text, /SHA-256 v2:[0-9a-f]{64}$/);
  }
  assert.match(await inRun(nine, "run.innerText"), /Allow 9 call\(s\) of move at rows\?/);
  assert.match(await inRun(nine, "run.innerText"), /ends in \d+:\d\d/);
  assert.equal(await browser.evaluate("document.querySelectorAll('#waiting .run').length"), 2);
  assert.match(await browser.text("#waiting-note"), /2 open questions/);
  assert.match(await inRun(form, "run.innerText"), /at most 20 characters|onerror=alert/);

  // Everything that can be operated has a name, and the outline has one top.
  const unnamed = await browser.evaluate("[...document.querySelectorAll('button, input, select, svg[role=img]')].filter((e) => !(e.innerText?.trim() || e.getAttribute('aria-label') || e.labels?.length)).length");
  assert.equal(unnamed, 0);
  assert.equal(await browser.evaluate("document.querySelectorAll('h1').length"), 1);
  assert.equal(await browser.evaluate("[...document.querySelectorAll('table')].every((t) => t.caption && t.querySelector('th[scope=col]'))"), true);

  // Light and dark differ, and both can be read.
  for (const scheme of ["light", "dark"]) {
    await browser.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    const worst = await browser.evaluate(`(${contrast})()`);
    assert.ok(worst.ratio >= 4.5, `${scheme}: contrast ${worst.ratio} of ${worst.what}`);
    await browser.picture(join(folder, `console-${scheme}.png`));
  }

  // A small screen scrolls inside its parts, not as a whole.
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 400, height: 800, deviceScaleFactor: 1, mobile: true });
  assert.equal(await browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false });

  // One click allows all nine. The form is filled in, and not sent before it is whole.
  await press(nine, "Allow");
  await until("the nine are gone", async () => !(await inRun(nine, "run")));
  const moved = await call("lisp_resume", { run_id: nine, wait_ms: 20000 });
  for (let n = 0; n < 9; n += 1) assert.ok(moved.content[0].text.includes(`moved f${n}`), moved.content[0].text);
  const field = (label) => `[...run.querySelectorAll("label, legend")].find((one) => one.innerText.trim() === ${JSON.stringify(label)})`;
  await press(form, "Answer");
  assert.equal(await inRun(form, `${field("name (required)")}.control.matches(":invalid")`), true);
  assert.deepEqual(await inRun(form, `[${field("count")}.control.value, ${field("plan")}.control.selectedOptions[0].text, ${field("region")}.control.value]`), ["3", "Plan B", ""]);
  await inRun(form, `(${field("name (required)")}.control.value = ${JSON.stringify(HOSTILE.slice(0, 20))}, ${field("ratio")}.control.value = "2.5", ${field("sure")}.control.value = "1",
    ${field("region")}.control.value = "1", ${field("x")}.control.checked = true, ${field("z")}.control.checked = true, 0)`);
  // What was filled in stays, whatever else the page draws meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 2500));
  await press(form, "Answer");
  await until("the form is gone", async () => !(await inRun(form, "run")));
  const said = (await call("lisp_resume", { run_id: form, wait_ms: 20000 })).content[0].text;
  for (const part of [HOSTILE.slice(0, 20), '"count" 3', '"ratio" 2.5', '"sure" false', '"region" "us"', '"plan" "b"', '"tags" ["x" "z"]']) assert.ok(said.includes(part), `${part} in ${said}`);
  assert.ok(!said.includes('"note"'), said);
  assert.match(await browser.text("#waiting-note"), new RegExp(`${nine} does not wait any more`));

  // A run can be stopped, by a second press.
  const stopped = await waits('(ask {:message "Sure?"})');
  await until("the run", () => inRun(stopped, "run !== undefined && run !== null"));
  await press(stopped, "Stop");
  await press(stopped, "Stop it for good");
  await until("it is gone", async () => !(await inRun(stopped, "run")));

  // What ends is gone from the list of what runs.
  hanging.abort();
  assert.equal(await hangs, "gone");
  await until("nothing runs", async () => /Nothing runs/.test(await browser.text("#live")));
  await browser.evaluate("document.getElementById('leave').click()");
  assert.equal(await browser.evaluate("document.getElementById('board').hidden"), true);
  assert.equal(await browser.evaluate("document.getElementById('recent').childElementCount"), 0);
  assert.equal(await browser.evaluate("document.getElementById('waiting').childElementCount"), 0);
  assert.deepEqual(requests.filter((url) => url.includes(TOKEN) || url.includes("operator")), [], "tokens or names in addresses");

  assert.deepEqual(await browser.evaluate("window.violations ?? []"), [], "violations of the content security policy");
  assert.deepEqual(complaints, [], "complaints in the browser's log");
  const outside = requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:") && url !== "about:blank");
  assert.deepEqual(outside, [], "requests to elsewhere");
  console.log(`the console shows what happens, in ${requests.length} requests, none of them to elsewhere`);
  console.log("1 passed, 0 failed");
}

/** The worst contrast of visible text against the nearest ground behind it. Runs in the page. */
function contrast() {
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  let worst = { ratio: 21, what: "" };
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !element.getClientRects().length || element.closest("caption, noscript, script, style")) continue;
    const style = getComputedStyle(element);
    const ink = element instanceof SVGElement ? style.fill : style.color;
    const [a, b] = [light(parse(ink)), light(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst.ratio) worst = { ratio, what: `<${element.localName} class="${element.getAttribute("class") ?? ""}"> ${element.textContent.slice(0, 40)}` };
  }
  return worst;
}

if (process.argv[2] === "upstream") upstream();
else await main(...process.argv.slice(2));
