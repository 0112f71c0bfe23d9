"use strict";
// Asks the server for its state every two seconds and draws it. Nothing is kept but the token, in memory; nothing that
// the server says is ever read as HTML.
(() => {
  const PERIOD = 2000;
  const byId = (id) => document.getElementById(id);
  let token = null;
  let timer = null;
  let paused = false;
  let catalogAsked = false;
  const opened = new Set();
  const drawn = new Map();

  // --- building blocks ---------------------------------------------------------------------------------------------
  const node = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === "class") element.className = value;
      else if (key === "click") element.addEventListener("click", value);
      else element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const shape = (name, attributes, ...children) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const pill = (text, kind) => node("span", { class: `pill ${kind || ""}` }, text);
  const empty = (text) => node("p", { class: "empty" }, text);
  const table = (caption, columns, rows) =>
    node("table", {},
      node("caption", {}, caption),
      node("thead", {}, node("tr", {}, ...columns.map(([name, kind]) => node("th", { scope: "col", class: kind || "" }, name)))),
      node("tbody", {}, ...rows));
  const cell = (content, kind) => node("td", { class: kind || "" }, content);

  const count = (number) => number.toLocaleString("en");
  const bytes = (number) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
    return `${unit === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${units[unit]}`;
  };
  const span = (ms) => {
    if (ms < 1) return `${Math.round(ms * 1000)} µs`;
    if (ms < 1000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(1) : Math.round(ms)} ms`;
    if (ms < 120000) return `${(ms / 1000).toFixed(1)} s`;
    if (ms < 7200000) return `${Math.round(ms / 60000)} min`;
    return `${(ms / 3600000).toFixed(1)} h`;
  };
  const clock = (instant) => instant.slice(11, 19);
  const program = (recorded) => {
    if (recorded === null || recorded === undefined) return null;
    if (typeof recorded === "string") return recorded;
    if (recorded.preview === undefined) return `sha256 ${recorded.sha256.slice(0, 12)}… (${bytes(recorded.bytes)})`;
    return recorded.preview + (recorded.bytes > new TextEncoder().encode(recorded.preview).length ? " …" : "");
  };

  // Draws a part again only if what it shows has changed, and gives the focus back to what had it.
  const draw = (id, data, make) => {
    const text = JSON.stringify(data);
    if (drawn.get(id) === text) return;
    drawn.set(id, text);
    const target = byId(id);
    const focused = target.contains(document.activeElement) ? document.activeElement.id : "";
    target.replaceChildren(...[].concat(make(data)));
    if (focused && byId(focused)) byId(focused).focus();
  };

  // --- parts -------------------------------------------------------------------------------------------------------
  const tiles = (state) => {
    const total = { calls: 0, errors: 0, fetched: 0, returned: 0 };
    for (const point of state.timeline.points) {
      total.calls += point.calls; total.errors += point.errors;
      total.fetched += point.fetched_bytes; total.returned += point.returned_bytes;
    }
    const minutes = Math.round((state.timeline.steps * state.timeline.step_seconds) / 60);
    const tile = (name, value, note) => node("div", {}, node("dt", {}, name), node("dd", {}, value), node("dd", {}, note));
    const server = state.server;
    const ratio = total.returned > 0 && total.fetched > 0 ? `${(total.fetched / total.returned).toFixed(1)} ×` : "–";
    const rate = total.calls ? `${((100 * total.errors) / total.calls).toFixed(1)} % failed` : "none yet";
    return [
      tile("Running now", count(state.live_count), `${count(server.permits_in_use)} of ${count(server.permits)} slots taken`),
      tile(`Calls in ${minutes} minutes`, count(total.calls), rate),
      tile("Payload reduction", ratio, `${bytes(total.fetched)} fetched, ${bytes(total.returned)} returned`),
      tile("Sessions", state.sessions === null ? "off" : count(state.sessions.length), `${count(server.http_sessions)} HTTP sessions`),
      server.memory_limit_bytes === undefined ? null
        : tile("Memory of programs", bytes(server.memory_bytes), `of ${bytes(server.memory_limit_bytes)}`),
    ].filter(Boolean);
  };

  const reduction = (timeline) => {
    const points = timeline.points.filter((point) => point.fetched_bytes > 0);
    if (points.length === 0) return empty("No program has fetched anything from an upstream in this window.");
    const width = 960, height = 170, base = height - 22, left = 64, step = (width - left) / timeline.steps;
    const most = Math.max(...points.map((point) => point.fetched_bytes));
    const minutes = (timeline.steps * timeline.step_seconds) / 60;
    const tall = (value) => (value > 0 ? Math.max(2, (value / most) * (base - 18)) : 0);
    const sum = (key) => points.reduce((all, point) => all + point[key], 0);
    const label = `${bytes(sum("fetched_bytes"))} fetched and ${bytes(sum("returned_bytes"))} returned within ${minutes} minutes`;
    const chart = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      shape("line", { class: "axis", x1: left, x2: width, y1: base, y2: base }),
      shape("line", { class: "axis", x1: left, x2: width, y1: base - tall(most), y2: base - tall(most) }));
    const put = (x, y, text, anchor) => {
      const words = shape("text", { x, y, "text-anchor": anchor });
      words.textContent = text;
      chart.append(words);
    };
    put(left - 8, base - tall(most) + 4, bytes(most), "end");
    put(left - 8, base + 4, "0", "end");
    put(left, height - 4, `${minutes} minutes ago`, "start");
    put(width, height - 4, "now", "end");
    for (const point of points) {
      const x = left + (timeline.steps - 1 - point.ago) * step;
      const title = shape("title", {});
      title.textContent = `${bytes(point.fetched_bytes)} fetched, ${bytes(point.returned_bytes)} returned by ${count(point.calls)} calls`;
      const bar = (kind, value) => shape("rect", { class: `bar ${kind}`, x: x + 0.5, width: Math.max(2, step - 1), y: base - tall(value), height: tall(value), rx: 1.5 });
      chart.append(shape("g", {}, title, bar("fetched", point.fetched_bytes), bar("returned", Math.min(point.returned_bytes, most))));
    }
    return chart;
  };

  const live = (calls) => {
    if (calls.length === 0) return empty("Nothing runs at this moment.");
    return table("Calls that run now", [["Tool"], ["Program"], ["Request"], ["Eval"], ["Since", "number"]], calls.map((call) =>
      node("tr", {}, cell(call.tool), cell(node("code", {}, program(call.program) || "–"), "program"),
        cell(node("code", {}, call.request_id)), cell(node("code", {}, call.eval_id)), cell(span(call.running_ms), "number"))));
  };

  const waterfall = (call) => {
    const rows = call.upstream_calls;
    const ends = rows.map((row) => row.offset_ms + row.duration_ms);
    const whole = Math.max(call.duration_ms, (call.run_us || 0) / 1000, ...ends, 1);
    const width = 960, left = 230, right = 190, line = 22;
    const scale = (ms) => (ms / whole) * (width - left - right);
    const chart = shape("svg", { viewBox: `0 0 ${width} ${line * (rows.length + 1) + 8}`, role: "img",
      "aria-label": `${rows.length} upstream calls within ${span(whole)}` });
    const put = (x, y, text, kind, anchor) => {
      const words = shape("text", { x, y, class: kind || "", "text-anchor": anchor || "start" });
      words.textContent = text;
      chart.append(words);
    };
    const bar = (row, from, length, kind) =>
      chart.append(shape("rect", { class: `bar ${kind}`, x: left + scale(from), y: row * line + 5, width: Math.max(3, scale(length)), height: 12, rx: 3 }));
    put(0, 15, "program", "strong");
    bar(0, 0, whole, "span");
    put(width, 15, span(whole), "", "end");
    rows.forEach((row, at) => {
      const y = (at + 1) * line;
      const name = `${row.server}/${row.tool}`;
      put(12, y + 15, name.length > 32 ? `${name.slice(0, 31)}…` : name, "strong");
      bar(at + 1, row.offset_ms, row.duration_ms, row.ok ? "ok" : "failed");
      const size = row.result_bytes === undefined ? "" : `, ${bytes(row.result_bytes)}`;
      put(width, y + 15, row.ok ? `${span(row.duration_ms)}${size}` : `${row.reason || "failed"}, ${span(row.duration_ms)}`, "", "end");
    });
    return chart;
  };

  const fact = (name, value) => (value === undefined || value === null ? null : node("div", {}, node("dt", {}, name), node("dd", {}, value)));
  const details = (call) => [
    node("dl", { class: "facts" },
      fact("request", call.request_id), fact("eval", call.eval_id),
      fact("steps", call.steps === undefined ? null : count(call.steps)),
      fact("memory", call.memory_peak_bytes === undefined ? null : bytes(call.memory_peak_bytes)),
      fact("program ran", call.run_us === undefined ? null : span(call.run_us / 1000)),
      fact("fetched", call.fetched_bytes === undefined ? null : bytes(call.fetched_bytes)),
      fact("result", call.result_bytes === undefined ? null : bytes(call.result_bytes)),
      fact("reduction", call.ratio === undefined || call.ratio === null ? null : `${call.ratio} ×`)),
    program(call.program) === null ? null : node("pre", {}, program(call.program)),
    call.upstream_calls.length > 0 ? waterfall(call) : empty("No upstream calls."),
  ];

  const recent = (calls) => {
    if (calls.length === 0) return empty("No call has ended yet.");
    const rows = [];
    calls.forEach((call) => {
      const key = `${call.eval_id || call.request_id} ${call.ts}`;
      const id = `call-${key.replace(/[^A-Za-z0-9_]/g, "-")}`;
      const open = opened.has(key);
      const detail = node("tr", { id: `${id}-detail` }, node("td", { class: "detail", colspan: "6" }));
      detail.hidden = !open;
      if (open) detail.firstChild.append(...details(call).filter(Boolean));
      const toggle = node("button", { id, type: "button", class: "link", "aria-expanded": String(open), "aria-controls": `${id}-detail`,
        click: () => {
          const show = detail.hidden;
          if (show) { opened.add(key); detail.firstChild.replaceChildren(...details(call).filter(Boolean)); }
          else opened.delete(key);
          detail.hidden = !show;
          toggle.setAttribute("aria-expanded", String(show));
        } }, clock(call.ts));
      rows.push(node("tr", {},
        cell(toggle), cell(call.tool),
        cell(call.status === "ok" ? pill("ok", "good") : pill(call.reason || "error", "bad")),
        cell(node("code", {}, program(call.program) || "–"), "program"),
        cell(call.upstream_calls.length > 0 ? count(call.upstream_calls.length) : "–", "number"),
        cell(call.run_us !== undefined ? span(call.run_us / 1000) : call.duration_ms === 0 ? "< 1 ms" : span(call.duration_ms), "number")), detail);
    });
    return table("Calls that have ended, the newest first", [["Ended (UTC)"], ["Tool"], ["Outcome"], ["Program"], ["Calls", "number"], ["Time", "number"]], rows);
  };

  // What a person does next, where the caller is not signed in to an upstream that wants it.
  const signInStep = (signIn) => {
    if (signIn === undefined || signIn.state === "signed_in") return null;
    if (signIn.error !== undefined) return node("div", { class: "muted" }, `sign-ins cannot be read: ${signIn.error}`);
    const why = signIn.last_error === null ? "" : ` (${signIn.last_error})`;
    const web = signIn.open !== undefined && ["http:", "https:"].includes(new URL(signIn.open).protocol);
    return node("div", {}, pill("needs sign-in", "warn"), `${why} `,
      web ? node("a", { href: signIn.open, rel: "noreferrer", target: "_blank" }, "sign in") : node("code", {}, signIn.run || signIn.open));
  };

  const upstreams = ([all, signIns]) => {
    if (all === null) return empty("No upstreams are configured.");
    const signIn = new Map(signIns.map((row) => [row.server, row]));
    const kinds = { started: "good", starting: "warn", recovery: "bad", stopped: "warn", closed: "bad" };
    return table("Upstream servers", [["Name"], ["State"], ["Transport"], ["Tools", "number"], ["In flight", "number"], ["Starts", "number"]],
      all.map((up) => node("tr", {},
        cell(node("span", {}, node("strong", {}, up.name), signInStep(signIn.get(up.name)), up.last_fault === null ? null : node("div", { class: "muted" }, `latest fault: ${up.last_fault}`),
          up.messages.length === 0 ? null : node("details", {}, node("summary", {}, `${up.messages.length} log messages`),
            node("ul", {}, ...up.messages.map((said) => node("li", {}, node("span", { class: "muted" }, `${said.ts} ${said.level} `), node("code", {}, said.text))))))),
        cell(pill(up.phase, kinds[up.phase])),
        cell(up.protocol_version === null ? up.transport : `${up.transport} ${up.protocol_version}`),
        cell(count(up.tools), "number"), cell(count(up.in_flight), "number"), cell(count(up.starts), "number"))));
  };

  const catalog = (servers) => {
    if (servers.length === 0) return empty("Nothing to list.");
    return servers.map((server) => node("details", {},
      node("summary", {}, node("strong", {}, server.name), ` ${server.loaded ? `${count(server.tools.length)} tools` : "not loaded"}`,
        server.description ? node("span", { class: "muted" }, ` ${server.description}`) : null),
      node("ul", {}, ...server.tools.map((tool) =>
        node("li", {}, node("code", {}, tool.name), tool.description ? node("span", { class: "muted" }, ` ${tool.description}`) : null)))));
  };

  const sessions = (all) => {
    if (all === null) return empty("Sessions are off (--sessions).");
    if (all.length === 0) return empty("No session is open.");
    return table("Open sessions, the latest used first", [["Session"], ["State"], ["Turn", "number"], ["Names", "number"], ["Size", "number"], ["Last used (UTC)", "number"]],
      all.map((session) => node("tr", {},
        cell(node("span", {}, session.title === null ? null : node("strong", {}, session.title), node("div", { class: "mono" }, session.session_id))),
        cell(session.eval_status === "running" ? pill("running", "good") : pill("idle")),
        cell(count(session.turn), "number"), cell(count(session.binding_count), "number"),
        cell(bytes(session.memory_bytes), "number"), cell(clock(session.updated_at), "number"))));
  };

  const show = (state, signIns) => {
    const server = state.server;
    byId("identity").textContent = `${server.instance} · version ${server.version} · up ${span(server.uptime_seconds * 1000)} · you are ${server.caller}`;
    draw("tiles", [state.live_count, state.timeline, server.permits_in_use, server.http_sessions, state.sessions, server.memory_bytes], () => tiles(state));
    draw("reduction", state.timeline, reduction);
    draw("live", state.live, live);
    byId("live-note").textContent = state.live_count > state.live.length ? `the oldest ${state.live.length} of ${count(state.live_count)}` : "";
    draw("recent", state.recent, recent);
    byId("recent-note").textContent = state.remembered > state.recent.length ? `${state.recent.length} of ${count(state.remembered)} remembered` : "";
    draw("upstreams", [state.upstreams, signIns], upstreams);
    draw("sessions", state.sessions, sessions);
    status(server.draining ? "stopping" : paused ? "paused" : "live", server.draining ? "warn" : paused ? "" : "good");
  };

  // --- asking ------------------------------------------------------------------------------------------------------
  const status = (text, kind) => {
    const target = byId("status");
    if (target.textContent !== text) target.textContent = text;
    target.className = `pill ${kind}`;
  };
  class Refused extends Error {}
  const ask = async (path) => {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const response = await fetch(path, { headers, cache: "no-store", credentials: "omit", redirect: "error" });
    if (response.status === 401) throw new Refused(token ? "This token is not valid here." : "This server asks for a token.");
    if (response.status === 429) throw new Refused(`Too many failed attempts. Try again in ${response.headers.get("retry-after") || "some"} seconds.`);
    if (response.status === 403) throw new Refused("The server does not admit this address (Host or Origin).");
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return response.json();
  };
  const leave = (why) => {
    clearTimeout(timer);
    token = null;
    catalogAsked = false;
    opened.clear();
    drawn.clear();
    for (const id of ["tiles", "reduction", "live", "recent", "upstreams", "catalog", "sessions"]) byId(id).replaceChildren();
    byId("identity").textContent = "";
    byId("board").hidden = true;
    byId("controls").hidden = true;
    byId("gate").hidden = false;
    byId("trouble").textContent = why;
    status("signed out", "");
    byId("token").focus();
  };
  const refresh = async () => {
    clearTimeout(timer);
    try {
      const state = await ask("/console/api/state");
      const signIns = state.upstreams === null ? [] : (await ask("/console/api/sign-ins")).sign_ins;
      if (byId("board").hidden) {
        byId("gate").hidden = true;
        byId("board").hidden = false;
        byId("controls").hidden = false;
        byId("token").value = "";
        byId("trouble").textContent = "";
      }
      show(state, signIns);
      if (!catalogAsked && state.upstreams !== null) {
        catalogAsked = true;
        draw("catalog", (await ask("/console/api/catalog")).servers, catalog);
      } else if (state.upstreams === null) draw("catalog", [], catalog);
    } catch (trouble) {
      if (trouble instanceof Refused) return leave(trouble.message);
      if (byId("board").hidden) return leave(`The server cannot be reached: ${trouble.message}.`);
      status("no answer", "bad");
    }
    if (!paused && !document.hidden) timer = setTimeout(refresh, PERIOD);
  };

  byId("login").addEventListener("submit", (event) => {
    event.preventDefault();
    token = byId("token").value.trim();
    status("connecting", "");
    refresh();
  });
  byId("leave").addEventListener("click", () => leave(""));
  byId("pause").addEventListener("click", () => {
    paused = !paused;
    byId("pause").setAttribute("aria-pressed", String(paused));
    byId("pause").textContent = paused ? "Resume" : "Pause";
    if (paused) { clearTimeout(timer); status("paused", ""); } else refresh();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !paused && !byId("board").hidden) refresh();
  });
  byId("token").focus();
})();
