// The sign-in page of `ptc start --http --public-url` in a real browser: two callers sign in to one upstream, each with an account
// of their own, at a real authorization server; the console leads each of them there. Usage: node page.mjs PTC FOLDER-WITH-PACKAGES
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Browser, freePort, until } from "../browser.mjs";

const [ptc, packages] = process.argv.slice(2);
const TOKENS = { ann: "ann-0123456789abcdef0123456789abcdef", ben: "ben-0123456789abcdef0123456789abcdef" };
const children = [];

/** Starts a program that says first where it is. */
function peer(script, env) {
  const child = spawn(process.execPath, [join(packages, script)], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  return new Promise((resolve) => createInterface({ input: child.stdout }).on("line", (line) => {
    const facts = line.startsWith("{") ? JSON.parse(line) : { event: "" };
    if (!("event" in facts)) resolve(facts);
  }));
}

const scratch = mkdtempSync(join(tmpdir(), "ptc-sign-in-"));
let browser;
try {
  const { issuer } = await peer("as.mjs", { TTL: "300" });
  const { url } = await peer("resource.mjs", { ISSUER: issuer });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  writeFileSync(join(scratch, "tokens"), Object.entries(TOKENS).map(([name, token]) => `${name}:${token}\n`).join(""), { mode: 0o600 });
  const upstreams = { notes: { transport: "mcp_http", url, allow_insecure_http: true, auth: { type: "oauth" } } };
  writeFileSync(join(scratch, "upstreams.json"), JSON.stringify({ upstreams }));
  const flags = ["start", "--http", "--http-port", String(port), "--public-url", `${origin}/mcp`, "--questions", "client", "--http-auth-token-file", join(scratch, "tokens"), "--console",
    "--upstreams-config", join(scratch, "upstreams.json"), "--upstream-call-timeout-ms", "20000", "--program-timeout-ms", "30000", "--log-level", "warn"];
  const env = { PATH: process.env.PATH, HOME: scratch, XDG_STATE_HOME: join(scratch, "state") };
  const server = spawn(ptc, flags, { env, stdio: ["ignore", "inherit", "inherit"] });
  children.push(server);
  await until("the server is ready", () => fetch(`${origin}/ready`).then((answer) => answer.ok, () => false));
  await look(origin);
  console.log("1 passed, 0 failed");
} finally {
  await browser?.close();
  for (const child of children) child.kill("SIGTERM");
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

async function look(origin) {
  const whoami = async (token) => {
    const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} };
    const program = '(let [r (tool/call {:server "notes" :tool "whoami" :args {}})] (or (:message r) (:value r)))';
    const answer = await fetch(`${origin}/mcp`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "lisp_eval" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "lisp_eval", arguments: { program }, _meta: meta } }),
    });
    return (await answer.json()).result.content[0].text;
  };
  const link = `${origin}/oauth/start?upstream=notes`;
  assert.match(await whoami(TOKENS.ann), new RegExp(`not signed in to upstream 'notes'; a person must open: ${link.replaceAll(/[.?]/g, "\\$&")}`));

  const page = await fetch(link);
  assert.equal(page.status, 200);
  assert.match(page.headers.get("content-security-policy"), /^default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]+';/);
  assert.ok(!(await page.text()).includes("notes"), "the page holds nothing");

  for (const [caller, account] of [["ann", "anna"], ["ben", "benno"]]) {
    browser = new Browser(join(scratch, `profile-${caller}`));
    const complaints = [];
    browser.listeners.push(({ method, params }) => {
      if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    });
    await browser.open();
    await browser.send("Page.addScriptToEvaluateOnNewDocument", { source: "addEventListener('securitypolicyviolation', (event) => (window.violations ??= []).push(event.violatedDirective))" });
    // The console says what to do, and where.
    const upstreams = async () => {
      await browser.send("Page.navigate", { url: `${origin}/console` });
      await until("its form", () => browser.evaluate("document.readyState === 'complete' && document.getElementById('gate')?.hidden === false"));
      await browser.type(TOKENS[caller]);
      return until("its list", async () => (await browser.text("#upstreams")).includes("notes") && browser.text("#upstreams"));
    };
    assert.match(await upstreams(), /needs sign-in/);
    assert.equal(await browser.evaluate("document.querySelector('#upstreams a').href"), link);
    await browser.send("Page.navigate", { url: link });
    await until("the page names the upstream", async () => (await browser.text("h1")) === "Sign in to notes");
    if (caller === "ann") {
      await browser.type("wrong-token-wrong-token-wrong-token-wrong");
      await until("a wrong token is told", async () => /not valid/.test(await browser.text("#trouble")));
    }
    assert.deepEqual(await browser.evaluate("window.violations ?? []"), []);
    await browser.type(TOKENS[caller]);

    // At the authorization server: who, and whether.
    await until("its form", () => browser.evaluate("document.querySelector('input[name=login]') !== null"));
    await browser.evaluate(`document.querySelector("input[name=login]").value = ${JSON.stringify(account)};
      document.querySelector("input[name=password]").value = "any"; document.querySelector("form").submit()`);
    await until("its question", () => browser.evaluate("document.querySelector('input[name=prompt][value=consent]') !== null"));
    await browser.evaluate("document.querySelector('form').submit()");
    await until("the end", async () => (await browser.text("body")).trim() === "Signed in. You can close this window.");
    const back = await browser.evaluate("location.href");
    assert.ok(back.startsWith(`${origin}/oauth/callback?`), back);

    // The address alone, in another browser, is nothing: neither after the sign-in nor before.
    assert.equal((await fetch(back)).status, 400);
    assert.doesNotMatch(await upstreams(), /needs sign-in/);
    assert.deepEqual(await browser.evaluate("window.violations ?? []"), []);
    assert.deepEqual(complaints, []);
    await browser.close();
    browser = undefined;
    await until("the caller's own account", async () => (await whoami(TOKENS[caller])).includes(`"${account}"`));
    if (caller === "ann") assert.match(await whoami(TOKENS.ben), /not signed in to upstream 'notes'/);
  }
  assert.match(await whoami(TOKENS.ann), /"anna"/);
  console.log("ok   two callers come from the console to the page and sign in, each with an account of their own");
}
