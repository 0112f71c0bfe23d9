// Looks at the operators' page as a person would: opens it, signs in, runs programs beside it, reads what it shows.
// Chromium is driven over its DevTools pipe. Usage: node console.mjs PTC FOLDER; with `upstream` alone it is the MCP
// server that the programs call.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Browser, freePort, until } from "./browser.mjs";

const TOKEN = "console-test-0123456789abcdef0123456789";
const OLGA = "console-test-of-an-operator-0123456789abcdef";
const HOSTILE = "<img src=x onerror=alert(1)>";

/** A tool server: `rows` answers a lot after a while, `never` does not answer, `move` needs an approval, `break` fails, `peek` only
 * reads. */
function upstream() {
  const schema = { type: "object", required: ["where"], properties: { where: { type: "string", description: `A place. ${HOSTILE}` }, deep: { type: "array", items: { type: "integer" } } } };
  const tools = ["rows", "never", "move", "break", "peek"].map((name) => ({ name, description: `The tool ${name}. ${HOSTILE}`,
    inputSchema: name === "peek" || name === "break" ? schema : { type: "object" }, annotations: { readOnlyHint: name === "peek" } }));
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const say = (body) => console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    if (method === "initialize") say({ result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "rows", version: "1" } } });
    else if (method === "tools/list") say({ result: { tools } });
    else if (method !== "tools/call") say({ error: { code: -32601, message: "method not found" } });
    else if (params.name === "move") say({ result: { content: [{ type: "text", text: `moved ${params.arguments.from}` }] } });
    else if (params.name === "break") say({ result: { isError: true, content: [{ type: "text", text: `The disk of ${params.arguments.where} is full. ${HOSTILE}` }] } });
    else if (params.name === "peek") say({ result: { content: [{ type: "text", text: `seen ${params.arguments.where}` }] } });
    else if (params.name === "rows") setTimeout(() => say({ result: { content: [{ type: "text", text: "x".repeat(9000) }] } }), params.arguments.after ?? 40);
  });
}

async function main(ptc, folder) {
  const scratch = mkdtempSync(join(tmpdir(), "ptc-console-"));
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const config = join(scratch, "upstreams.json");
  const tokens = join(scratch, "tokens"), operators = join(scratch, "operators"), log = join(scratch, "audit");
  const programs = join(scratch, "programs");
  mkdirSync(programs);
  writeFileSync(operators, `olga:${OLGA}\n`);
  writeFileSync(tokens, `operator:${TOKEN}\nother:${TOKEN}-of-somebody-else\n`);
  writeFileSync(config, JSON.stringify({ upstreams: { rows: { transport: "mcp_stdio", command: process.execPath, args: [fileURLToPath(import.meta.url), "upstream"],
    approve_tools: ["move"], approve_level: "out_of_band" } } }));
  const server = spawn(ptc, ["start", "--http", "--http-port", String(port), "--http-auth-token-file", tokens, "--http-operator-token-file", operators, "--audit-log", log,
    "--console", "--trace-payloads", "full", "--programs", programs, "--program-drafts", "--state-dir", join(scratch, "state"),
    "--sessions", "--questions", "auto", "--upstreams-config", config, "--upstream-call-timeout-ms", "60000", "--program-timeout-ms", "60000", "--log-level", "warn"], { stdio: ["ignore", "inherit", "inherit"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  let browser;
  try {
    browser = new Browser(join(scratch, "profile"));
    await look(origin, browser, folder);
    const lines = readFileSync(log, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
    const uses = new Set(lines.filter((line) => line.kind === "operator").map((line) => `${line.principal} ${line.use}`));
    for (const use of ["see_calls", "see_accounts", "see_load", "see_sessions", "see_upstreams", "see_drafts", "see_draft", "approve_program"]) assert.ok(uses.has(`olga ${use}`), `${use} in ${[...uses]}`);
    const tried = lines.filter((line) => line.kind === "upstream_call" && ["peek", "break"].includes(line.tool) && line.principal === "olga");
    assert.deepEqual(tried.map((line) => line.tool), ["peek", "break"], "who tries is who calls");
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
  await call("lisp_eval", { program: '(:ok (tool/call {:server "rows" :tool "break" :args {:where "cellar"}}))' });
  await call("lisp_eval", { program: "\"of somebody else\"" }, { token: `${TOKEN}-of-somebody-else` });
  const started = await call("lisp_session_start", { title: HOSTILE });
  await call("lisp_session_eval", { session_id: started.structuredContent.session_id, program: "(def answer 42)" });
  const hanging = new AbortController();
  const hangs = call("lisp_eval", { program: "(tool/call {:server \"rows\" :tool \"never\"})" }, { signal: hanging.signal }).catch(() => "gone");

  await browser.type(TOKEN);
  await until("the board", async () => !(await browser.evaluate("document.getElementById('board').hidden")));
  await until("the running call", async () => /tool\/call/.test(await browser.text("#live")));
  await until("what it waits for", async () => /waits for rows\/never/.test(await browser.text("#live")));
  await browser.evaluate("document.querySelector('#live button').click()");
  await until("its upstream calls so far", async () => /rows\/never[\s\S]*so far/.test(await browser.text("#live .waterfall")));
  const recent = await until("recent calls", () => browser.text("#recent"));
  for (const shown of ["(pmap", "runtime_error", HOSTILE, "lisp_session_eval"]) assert.ok(recent.includes(shown), `${shown} in ${recent}`);
  assert.ok(!recent.includes("somebody else"), "only the caller's own calls");
  assert.match(await browser.text("#upstreams"), /rows[\s\S]*started/);
  await until("the catalog", async () => /5 tools/.test(await browser.text("#upstreams")));
  assert.match(await browser.text("#sessions"), /ptcs_/);
  assert.match(await browser.text("#tiles"), /Payload reduction\n[\d.]+ ×/);
  assert.ok((await browser.evaluate("document.querySelectorAll('#reduction rect').length")) >= 2);
  assert.match(await browser.text("#identity"), /you are operator/);

  // The waterfall of the call with three upstream calls; it stays open while the page goes on.
  await browser.evaluate("[...document.querySelectorAll('#recent tr')].find((row) => row.innerText.includes('pmap')).querySelector('button').click()");
  await until("the waterfall", async () => (await browser.evaluate("document.querySelectorAll('#recent .bar.ok').length")) === 3);
  assert.equal(await browser.evaluate("document.querySelectorAll('#recent [aria-expanded=true]').length"), 1);
  await browser.evaluate("document.querySelector('.catalog details').open = true");
  await until("the tools", async () => /The tool never/.test(await browser.text(".catalog")));

  // A failed upstream call tells in its row what failed, and below it with which arguments.
  const rowOf = (part) => `[...document.querySelectorAll('#recent tr:not(.details)')].find((row) => row.innerText.includes(${JSON.stringify(part)}))`;
  assert.match(await browser.evaluate(`${rowOf(':tool "break"')}.innerText`), /rows\/break tool_error: The disk of cellar is full/);
  await browser.evaluate(`${rowOf(':tool "break"')}.querySelector('button').click()`);
  assert.match(await browser.evaluate(`${rowOf(':tool "break"')}.nextElementSibling.innerText`), /"where":\s?"cellar"/);
  await browser.evaluate(`${rowOf(':tool "break"')}.querySelector('button').click()`);

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
  assert.match(await browser.evaluate("[...document.querySelectorAll('#recent tr')].map((row) => row.innerText).join()"), /waiting/, "what waits is no success");

  // A small screen shows cards, and nothing has to be scrolled sideways: neither the page nor a part of it.
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 400, height: 800, deviceScaleFactor: 1, mobile: true });
  await browser.evaluate(`${rowOf("pmap")}.scrollIntoView()`);
  const wide = await browser.evaluate(`[...document.querySelectorAll("body *")].filter((one) => one.getClientRects().length && !one.closest("caption, thead, pre, textarea, code")
    && (one.getBoundingClientRect().right > innerWidth + 1 || one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === "auto")).map((one) => one.outerHTML.slice(0, 80))`);
  assert.deepEqual(wide, []);
  assert.equal(await browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
  assert.equal(await browser.evaluate(`getComputedStyle(${rowOf("pmap")}.querySelector(".number"), "::before").content`), '"Calls"');
  // The run that the address names is not hidden behind the head of the page, and its buttons are large enough for fingers.
  await browser.evaluate(`document.getElementById("run-${nine}").scrollIntoView()`);
  assert.equal(await inRun(nine, "(({ top, left }) => run.contains(document.elementFromPoint(left + 5, top + 5)))(run.querySelector('h3').getBoundingClientRect())"), true);
  assert.equal(await browser.evaluate("[...document.querySelectorAll('button')].filter((one) => one.getClientRects().length).every((one) => one.getBoundingClientRect().height >= 39)"), true);
  assert.equal(await browser.evaluate("[...document.querySelectorAll('body *')].filter((one) => one.getClientRects().length && one.innerText?.trim()).every((one) => parseFloat(getComputedStyle(one).fontSize) >= 11)"), true);
  for (const scheme of ["light", "dark"]) {
    await browser.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    await browser.picture(join(folder, `console-small-${scheme}.png`), 400);
  }
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
  await until("nothing runs", async () => (await browser.evaluate("document.getElementById('live').childElementCount")) === 0);
  const leave = async () => {
    await browser.evaluate("document.getElementById('leave').click()");
    await until("the form", async () => !(await browser.evaluate("document.getElementById('gate').hidden")));
  };
  assert.equal(await browser.evaluate("document.getElementById('by-caller').getClientRects().length + document.getElementById('accounts-card').getClientRects().length"), 0, "nobody but operators chooses among callers");
  await leave();
  assert.equal(await browser.evaluate("document.getElementById('board').hidden"), true);
  assert.equal(await browser.evaluate("document.getElementById('recent').childElementCount"), 0);
  assert.equal(await browser.evaluate("document.getElementById('waiting').childElementCount"), 0);
  await call("lisp_eval", { program: "(+ 1 data/n)", context: { n: 1 }, record: true });
  await call("lisp_keep", { name: "next-number", description: `Says the next number. ${HOSTILE}` });
  await operate(origin, browser, folder, rowOf, leave);
  assert.deepEqual(requests.filter((url) => url.includes(TOKEN) || url.includes("operator")), [], "tokens or names in addresses");

  assert.deepEqual(await browser.evaluate("window.violations ?? []"), [], "violations of the content security policy");
  assert.deepEqual(complaints, [], "complaints in the browser's log");
  const outside = requests.filter((url) => !url.startsWith(`${origin}/`) && !url.startsWith("data:") && url !== "about:blank");
  assert.deepEqual(outside, [], "requests to elsewhere");
  console.log(`the console shows what happens, in ${requests.length} requests, none of them to elsewhere`);
  console.log("1 passed, 0 failed");
}

/** An operator finds the failing tool of one caller and tries it, by keyboard alone. */
async function operate(origin, browser, folder, rowOf, leave) {
  const KEYS = { Tab: 9, Enter: 13, " ": 32, ArrowDown: 40, End: 35 };
  const key = async (name, modifiers = 0) => {
    const text = name === "Enter" ? "\r" : name === " " ? " " : undefined;
    for (const type of ["keyDown", "keyUp"]) {
      await browser.send("Input.dispatchKeyEvent", { type, key: name, code: name === " " ? "Space" : name, windowsVirtualKeyCode: KEYS[name], modifiers, text: type === "keyDown" ? text : undefined });
    }
  };
  const focused = (expression) => browser.evaluate(`(() => { const it = document.activeElement; return ${expression}; })()`);
  /** Presses Tab until what has the focus is this. */
  const tabTo = async (what, expression) => {
    for (let presses = 0; presses < 200; presses += 1) {
      if (await focused(expression)) return;
      await key("Tab");
    }
    throw new Error(`not reached by keyboard: ${what}`);
  };
  const write = async (text) => {
    await focused("it.select?.()");
    await browser.send("Input.insertText", { text });
  };
  await browser.evaluate("location.hash = ''");
  await browser.type(OLGA);
  await until("the board", async () => !(await browser.evaluate("document.getElementById('board').hidden")));
  await until("the calls of all", async () => /somebody else/.test(await browser.text("#recent")));
  assert.match(await browser.text("#accounts"), /other|operator|Nobody/);
  assert.match(await browser.text("#sessions"), /Caller[\s\S]*operator/);

  // A draft of another caller is seen whole, and then approved.
  await until("the draft", async () => /next-number of operator/.test(await browser.text("#drafts")));
  await browser.evaluate("document.querySelector('#drafts summary').click()");
  await until("its text", async () => /passed[\s\S]*\(\+ 1 data\/n\)[\s\S]*SHA-256/.test(await browser.text("#drafts")));
  assert.ok((await browser.text("#drafts")).includes(HOSTILE), "what a model wrote is text");
  await browser.picture(join(folder, "console-draft.png"));
  await browser.evaluate("[...document.querySelectorAll('#drafts button')].find((one) => one.innerText === 'Approve').click()");
  await until("what became of it", async () => /next-number: approved, revision 1 in /.test(await browser.text("#drafts-note")));
  await until("it is no draft any more", async () => /No model has proposed/.test(await browser.text("#drafts")));

  // From the top of the page on, the focus goes in the order of reading, and can be seen everywhere.
  await browser.evaluate("document.activeElement.blur(); scrollTo(0, 0)");
  const places = [];
  await key("Tab");
  for (let presses = 0; presses < 60 && !(await focused("it === document.body")); presses += 1) {
    places.push(await focused("[it.getBoundingClientRect().top + scrollY, it.getBoundingClientRect().left, getComputedStyle(it).outlineStyle, it.id || it.name || it.innerText.slice(0, 20)]"));
    await key("Tab");
  }
  assert.ok(places.length > 10, `${places.length} places`);
  for (const [at, [top, , outline, name]] of places.entries()) {
    assert.notEqual(outline, "none", `the focus on ${name} is seen`);
    if (at > 0) assert.ok(top >= places[at - 1][0] - 60, `${name} comes after ${places[at - 1][3]}`);
  }

  await browser.evaluate("document.activeElement.blur(); document.getElementById('pause').focus()");
  await tabTo("the caller", "it.name === 'principal'");
  await write("OTHER");
  await until("the calls of one caller", async () => !/pmap/.test(await browser.text("#recent")) && /somebody else/.test(await browser.text("#recent")));
  assert.equal(await focused("it.name"), "principal", "the focus stays");
  await write("operator");
  await tabTo("the upstream", "it.name === 'upstream'");
  await write("rows");
  await tabTo("the outcome", "it.name === 'outcome'");
  for (let n = 0; n < 3; n += 1) await key("ArrowDown");
  await until("the failed call alone", async () => (await browser.evaluate("document.querySelectorAll('#recent tr:not(.details)').length")) === 1 && /break/.test(await browser.text("#recent")));
  assert.match(await browser.text("#calls-note"), /1 call fits/);
  await tabTo("the row", "it.id.startsWith('call-')");
  await key("Enter");
  await until("its arguments", async () => /"where":\s?"cellar"/.test(await browser.text("#recent .failure")));
  // What is shown stays where it is while the page goes on.
  const before = await browser.evaluate("JSON.stringify(document.querySelector('#recent .failure').getBoundingClientRect())");
  await new Promise((resolve) => setTimeout(resolve, 2500));
  assert.equal(await browser.evaluate("JSON.stringify(document.querySelector('#recent .failure').getBoundingClientRect())"), before);
  assert.equal(await focused("it.id.startsWith('call-')"), true);
  await browser.picture(join(folder, "console-operator.png"));

  // It tries a tool that only reads, and one that may not: that is asked for once more.
  await tabTo("the tools", "it.localName === 'summary' && /5 tools/.test(it.innerText)");
  await key("Enter");
  await until("the tools", () => focused("it.parentNode.querySelector('.tools') !== null"));
  await tabTo("peek", "it.localName === 'summary' && /^peek/.test(it.innerText)");
  await key("Enter");
  await until("its form", () => focused("it.parentNode.querySelector('textarea') !== null"));
  await tabTo("its arguments", "it.localName === 'textarea'");
  await write('{"where": ');
  await tabTo("the button", "it.innerText === 'Try it'");
  await key("Enter");
  await until("the complaint", async () => /This is no JSON/.test(await browser.text(".trial .trouble")));
  assert.equal(await focused("it.localName"), "textarea");
  await write('{"where": "attic"}');
  await tabTo("the button", "it.innerText === 'Try it'");
  await key("Enter");
  await until("the answer", async () => /seen attic/.test(await browser.text(".trial")));
  await browser.evaluate("[...document.querySelectorAll('.tools summary')].find((one) => /^break/.test(one.innerText)).focus()");
  await key("Enter");
  await until("its form", () => focused("it.parentNode.querySelector('textarea') !== null"));
  await tabTo("its arguments", "it.localName === 'textarea'");
  await write('{"where": "roof"}');
  await tabTo("the button", "it.innerText === 'Try it'");
  await key("Enter");
  await until("the question", async () => /may change something/.test(await browser.evaluate("document.activeElement.closest('form').innerText")));
  assert.equal(await focused("it.innerText"), "Cancel", "nothing is called by a second press of the same key");
  await key("Tab", 8);
  assert.equal(await focused("it.innerText"), "Call it");
  await key("Enter");
  await until("the failure", async () => /disk of roof is full/.test(await browser.evaluate("[...document.querySelectorAll('.trial')].map((one) => one.innerText).join()")));
  await browser.evaluate("document.getElementById('search').reset()");
  await until("all calls", async () => /somebody else/.test(await browser.text("#recent")));
  for (const scheme of ["light", "dark"]) {
    await browser.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
    const worst = await browser.evaluate(`(${contrast})()`);
    assert.ok(worst.ratio >= 4.5, `${scheme}: contrast ${worst.ratio} of ${worst.what}`);
    await browser.picture(join(folder, `console-operator-${scheme}.png`));
  }
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 400, height: 800, deviceScaleFactor: 1, mobile: true });
  assert.equal(await browser.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
  await browser.picture(join(folder, "console-operator-small.png"), 400);
  await browser.send("Emulation.setDeviceMetricsOverride", { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false });
  await leave();
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
