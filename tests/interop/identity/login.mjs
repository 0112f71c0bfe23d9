// People of an issuer sign in on the console and on the sign-in page (`--http-login-client`), in a real browser: with a real issuer, and
// each at a real upstream for itself. Usage: node login.mjs PTC FOLDER-WITH-PACKAGES
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Browser, freePort, until } from "../browser.mjs";

const [ptc, packages] = process.argv.slice(2);
const children = [];

/** Starts a program that says first where it is. */
function peer(script, env) {
  const child = spawn(process.execPath, [join(packages, script)], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  return new Promise((resolve) => createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line))));
}

const scratch = mkdtempSync(join(tmpdir(), "ptc-login-"));
const place = (name) => join(scratch, name);
let browser;
try {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const { issuer } = await peer("identity-provider.mjs", { FORMAT: "jwt", PAGES: `${origin}/oauth/login/callback` });
  const { issuer: protecting } = await peer("as.mjs", { TTL: "300" });
  const { url } = await peer("resource.mjs", { ISSUER: protecting });
  const notes = { transport: "mcp_http", url, allow_insecure_http: true, auth: { type: "oauth" } };
  writeFileSync(place("upstreams.json"), JSON.stringify({ upstreams: { notes } }));
  const rules = ["ann", "ben"].map((subject) => ({ match: { subject }, upstreams: { notes: { allow: ["*"] } } }));
  writeFileSync(place("policy.json"), JSON.stringify({ rules }));
  writeFileSync(place("client"), "pages:pages-secret-0123456789\n", { mode: 0o600 });
  const flags = ["start", "--http", "--http-port", String(port), "--public-url", `${origin}/mcp`, "--issuer", issuer, "--http-login-client", place("client"), "--console",
    "--upstreams-config", place("upstreams.json"), "--policy", place("policy.json"), "--log-level", "warn"];
  const env = { PATH: process.env.PATH, HOME: scratch, XDG_STATE_HOME: place("state") };
  children.push(spawn(ptc, flags, { env, stdio: ["ignore", "inherit", "inherit"] }));
  await until("the server is ready", () => fetch(`${origin}/ready`).then((answer) => answer.ok, () => false));
  const name = new URL(issuer).host;
  await byConsole(origin, name);
  await byPage(origin, name);
  console.log("ok   people of an issuer sign in on console and sign-in page, in a browser");
} finally {
  await browser?.close();
  for (const child of children) child.kill("SIGTERM");
  rmSync(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** A browser of one's own, and what its pages complain of. */
async function open(person) {
  browser = new Browser(place(`profile-${person}`));
  const complaints = [];
  browser.listeners.push(({ method, params }) => {
    if (method === "Runtime.exceptionThrown") complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
  });
  await browser.open();
  await browser.send("Page.addScriptToEvaluateOnNewDocument", { source: "addEventListener('securitypolicyviolation', (event) => (window.violations ??= []).push(event.violatedDirective))" });
  return complaints;
}

async function close(complaints) {
  assert.deepEqual(await browser.evaluate("window.violations ?? []"), []);
  assert.deepEqual(complaints, []);
  await browser.close();
  browser = undefined;
}

/** Says who one is at a provider, and agrees. */
async function consent(person) {
  await until("the provider's form", () => browser.evaluate("document.querySelector('input[name=login]') !== null"));
  await browser.evaluate(`document.querySelector("input[name=login]").value = ${JSON.stringify(person)};
    document.querySelector("input[name=password]").value = "any"; document.querySelector("form").submit()`);
  await until("the provider's question", () => browser.evaluate("document.querySelector('input[name=prompt][value=consent]') !== null"));
  await browser.evaluate("document.querySelector('form').submit()");
}

/** Follows the link to the issuer, which the page shows once it knows of it. */
async function follow(text) {
  await until("the link to the issuer", () => browser.evaluate("document.getElementById('issuer')?.hidden === false"));
  assert.equal(await browser.text("#issuer"), text);
  await browser.evaluate("document.getElementById('issuer').click()");
}

async function signInAtUpstream(account) {
  await browser.evaluate("document.querySelector('#door button').click()");
  await consent(account);
  await until("the end", async () => (await browser.text("body")).trim() === "Signed in. You can close this window.");
}

function board() {
  return until("the board", () => browser.evaluate("document.getElementById('board')?.hidden === false"));
}

function upstreams() {
  return until("the upstreams", async () => (await browser.text("#upstreams")).includes("notes") && browser.text("#upstreams"));
}

/** Whether the person of the browser is signed in at the upstream. The pages themselves may ask for no such thing. */
async function state(origin) {
  const { cookies } = await browser.send("Network.getAllCookies");
  const cookie = cookies.filter(({ name }) => name === "__Host-ptc-session").map(({ name, value }) => `${name}=${value}`).join("; ");
  const { sign_ins: [notes] } = await (await fetch(`${origin}/console/api/sign-ins`, { headers: { cookie } })).json();
  return notes.state;
}

/** From the console to the upstream and back, and out. */
async function byConsole(origin, issuer) {
  const complaints = await open("ann");
  await browser.send("Page.navigate", { url: `${origin}/console` });
  await follow(`Sign in with ${issuer}`);
  await consent("ann");
  await board();
  assert.equal(await browser.evaluate("location.pathname + location.search"), "/console", "the address says nothing of it");
  assert.match(await upstreams(), /needs sign-in/);
  const link = await browser.evaluate("document.querySelector('#upstreams a').href");
  assert.equal(link, `${origin}/oauth/start?upstream=notes`);
  await browser.send("Page.navigate", { url: link });
  await until("the page", async () => (await browser.text("h1")) === "Sign in to notes");
  // The session stands for a token.
  await signInAtUpstream("anna");
  await browser.send("Page.navigate", { url: `${origin}/console?signed-in` });
  await board();
  assert.doesNotMatch(await upstreams(), /needs sign-in/);
  await browser.evaluate("document.getElementById('leave').click()");
  await until("the gate", () => browser.evaluate("document.getElementById('gate').hidden === false"));
  await browser.send("Page.navigate", { url: `${origin}/console?signed-in` });
  await until("the gate again", () => browser.evaluate("document.readyState === 'complete' && document.getElementById('gate')?.hidden === false"));
  assert.equal(await browser.evaluate("fetch('/console/api/state').then((answer) => answer.status)"), 401, "whoever has left is nobody");
  await close(complaints);
}

/** From the sign-in page to the issuer, back to the page, and on to the upstream. */
async function byPage(origin, issuer) {
  const complaints = await open("ben");
  await browser.send("Page.navigate", { url: `${origin}/oauth/start?upstream=notes` });
  await follow(`Sign in here with ${issuer}`);
  await consent("ben");
  await until("the page knows", async () => (await browser.text("#trouble")) === "You are signed in here. Go on without a token.");
  assert.equal(await browser.text("h1"), "Sign in to notes");
  // Hers is not his.
  assert.equal(await state(origin), "sign_in_needed");
  await signInAtUpstream("benno");
  assert.equal(await state(origin), "signed_in");
  await close(complaints);
}
