"use strict";
// Sends the typed token, gets the link to the upstream's own sign-in, and goes there. Nothing is kept, and nothing that the
// server or the address says is ever read as HTML.
(() => {
  const byId = (id) => document.getElementById(id);
  const upstream = new URLSearchParams(location.search).get("upstream") ?? "";
  const button = document.querySelector("button");
  const say = (text) => { byId("trouble").textContent = text; };
  if (upstream === "") {
    say("The address names no upstream: it ends in ?upstream=NAME.");
    button.disabled = true;
    return;
  }
  // The address is anybody's: what a reader does not see is written out.
  byId("upstream").textContent = upstream.replace(/[^ -~]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

  async function link() {
    const token = byId("token").value.trim();
    const answer = await fetch(`/oauth/start?upstream=${encodeURIComponent(upstream)}`, {
      method: "POST",
      headers: token === "" ? {} : { authorization: `Bearer ${token}` },
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
    });
    if (answer.status === 401) throw new Error("This token is not valid here.");
    if (answer.status === 429) throw new Error("Too many wrong tokens came from your address. Wait a minute and try again.");
    if (!answer.ok) throw new Error(await answer.text());
    const { url } = await answer.json();
    if (!["http:", "https:"].includes(new URL(url).protocol)) throw new Error("The upstream's sign-in has no address of the web.");
    return url;
  }

  byId("door").addEventListener("submit", async (event) => {
    event.preventDefault();
    say("");
    button.disabled = true;
    try {
      const url = await link();
      byId("token").value = "";
      location.assign(url);
    } catch (error) {
      say(error.message);
      button.disabled = false;
      byId("token").select();
    }
  });

  const signedIn = new URLSearchParams(location.search).has("signed-in");
  if (signedIn) say("You are signed in here. Go on without a token.");
  fetch(location.pathname, { method: "HEAD", cache: "no-store", credentials: "omit" }).then((answer) => {
    const issuer = answer.headers.get("ptc-login");
    if (issuer === null || signedIn) return;
    byId("issuer").textContent = `Sign in here with ${issuer}`;
    byId("issuer").href = `/oauth/login?upstream=${encodeURIComponent(upstream)}`;
    byId("issuer").hidden = false;
  }).catch(() => null);
})();
