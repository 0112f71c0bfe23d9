"use strict";
// Asks the server for its state every two seconds and draws it; sends what a person answers, seeks and tries. Nothing is kept but
// the token, in memory; nothing that the server says is ever read as HTML.
(() => {
  const PERIOD = 2000;
  const byId = (id) => document.getElementById(id);
  let token = null;
  let offered = false;
  let timer = null;
  let paused = false;
  let operator = false;
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
  // A table whose rows are cards on a small screen: `roles` keep what a change of `display` would take from it.
  const table = (caption, columns, rows) =>
    node("table", { role: "table" },
      node("caption", {}, caption),
      node("thead", { role: "rowgroup" }, node("tr", { role: "row" },
        ...columns.map(([name, kind]) => node("th", { scope: "col", role: "columnheader", class: kind || "" }, name)))),
      node("tbody", { role: "rowgroup" }, ...rows.map((cells) => row(columns, cells))));
  const row = (columns, cells) => node("tr", { role: "row" },
    ...cells.map((content, at) => node("td", { role: "cell", class: columns[at][1] || "", "data-label": columns[at][0] },
      ...[].concat(content))));

  const count = (number) => number.toLocaleString("en");
  const some = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const bytes = (number) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (number >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
    return `${unit === 0 || number >= 100 ? Math.round(number) : number.toFixed(1)} ${units[unit]}`;
  };
  const span = (ms) => {
    if (ms === 0) return "0 s";
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

  // --- at a glance -------------------------------------------------------------------------------------------------
  const tiles = (state) => {
    const total = { calls: 0, errors: 0 };
    for (const point of state.timeline.points) { total.calls += point.calls; total.errors += point.errors; }
    const minutes = Math.round((state.timeline.steps * state.timeline.step_seconds) / 60);
    const tile = (name, value, note) => node("div", {}, node("dt", {}, name), node("dd", {}, value), node("dd", {}, note));
    const { server, saved } = state;
    const ratio = saved.returned_bytes > 0 && saved.fetched_bytes > 0 ? `${(saved.fetched_bytes / saved.returned_bytes).toFixed(1)} ×` : "–";
    const rate = total.calls ? `${((100 * total.errors) / total.calls).toFixed(1)} % failed` : "none yet";
    const own = state.accounts.find((account) => account.principal === server.caller);
    const memory = server.memory_limit_bytes !== undefined ? ["Memory of programs", server.memory_bytes, `of ${bytes(server.memory_limit_bytes)}`]
      : own?.memory_bytes !== undefined ? ["Your memory", own.memory_bytes, "of programs and sessions"] : null;
    return [
      tile("Running now", count(state.live_count), `${count(server.permits_in_use)} of ${count(server.permits)} slots taken`),
      tile(`Calls in ${minutes} minutes`, count(total.calls), rate),
      tile("Payload reduction", ratio, `${bytes(saved.fetched_bytes)} fetched, ${bytes(saved.returned_bytes)} returned`),
      tile("Sessions", state.sessions === null ? "off" : count(state.session_count), `${count(server.http_sessions)} HTTP sessions`),
      memory === null ? null : tile(memory[0], bytes(memory[1]), memory[2]),
    ].filter(Boolean);
  };

  const savings = (saved) => {
    const figure = (name, value, note) => node("div", {}, node("dt", {}, name), node("dd", {}, value, note ? " " : null, note ? pill(note) : null));
    return node("dl", { class: "figures" },
      figure("Bytes kept from models", bytes(saved.bytes)),
      figure("Upstream calls by programs", `${count(saved.upstream_calls)} in ${some(saved.programs, "program")}`),
      figure("Tokens saved", `≈ ${count(saved.estimated_tokens)}`, "estimate"),
      figure("Model turns saved", `≈ ${count(saved.estimated_model_turns)}`, "estimate"));
  };

  const reduction = (timeline) => {
    const points = timeline.points.filter((point) => point.fetched_bytes > 0);
    if (points.length === 0) return empty("No program has fetched anything from an upstream in this window.");
    const most = Math.max(...points.map((point) => point.fetched_bytes));
    const minutes = (timeline.steps * timeline.step_seconds) / 60;
    const tall = (value) => (value > 0 ? Math.max(2, (value / most) * 100) : 0);
    const sum = (key) => points.reduce((all, point) => all + point[key], 0);
    const label = `${bytes(sum("fetched_bytes"))} fetched and ${bytes(sum("returned_bytes"))} returned within ${minutes} minutes`;
    const chart = shape("svg", { class: "chart", viewBox: `0 0 ${timeline.steps * 4} 100`, preserveAspectRatio: "none", role: "img", "aria-label": label });
    for (const point of points) {
      const x = (timeline.steps - 1 - point.ago) * 4;
      const title = shape("title", {});
      title.textContent = `${bytes(point.fetched_bytes)} fetched, ${bytes(point.returned_bytes)} returned by ${some(point.calls, "call")}`;
      const bar = (kind, value) => shape("rect", { class: `bar ${kind}`, x, width: 3, y: 100 - tall(value), height: tall(value) });
      chart.append(shape("g", {}, title, bar("fetched", point.fetched_bytes), bar("returned", Math.min(point.returned_bytes, most))));
    }
    return [node("p", { class: "muted" }, `up to ${bytes(most)} in ${timeline.step_seconds} seconds`), chart,
      node("p", { class: "axis muted" }, node("span", {}, `${minutes} minutes ago`), node("span", {}, "now"))];
  };

  // --- calls -------------------------------------------------------------------------------------------------------
  const waterfall = (call) => {
    const rows = call.upstream_calls;
    const whole = Math.max(call.duration_ms, (call.run_us || 0) / 1000, ...rows.map((row) => row.offset_ms + row.duration_ms), 1);
    const track = (kind, from, length) => {
      const bar = node("span", { class: `bar ${kind}` });
      bar.style.left = `${(from / whole) * 100}%`;
      bar.style.width = `${Math.max(0.5, (length / whole) * 100)}%`;
      return node("span", { class: "track", "aria-hidden": "true" }, bar);
    };
    const size = (row) => (row.result_bytes === undefined ? "" : `, ${bytes(row.result_bytes)}`);
    return node("ol", { class: "waterfall", "aria-label": `${some(rows.length, "upstream call")} within ${span(whole)}` },
      node("li", {}, node("span", { class: "name" }, "program"), node("span", { class: "figure" }, span(whole)), track("span", 0, whole)),
      ...rows.map((row) => node("li", {}, node("span", { class: "name" }, `${row.server}/${row.tool}`),
        node("span", { class: "figure" }, row.ok === null ? `${span(row.duration_ms)} so far` : row.ok ? `${span(row.duration_ms)}${size(row)}` : `${row.reason || "failed"}, ${span(row.duration_ms)}`),
        track(row.ok === null ? "span" : row.ok ? "ok" : "failed", row.offset_ms, row.duration_ms))));
  };

  // A message as far as it was recorded.
  const message = (error) => (error === undefined ? "" : typeof error === "string" ? error
    : error.preview === undefined ? `a message of ${bytes(error.bytes)}, which was not kept` : error.preview);
  const failure = (row) => node("div", { class: "failure" },
    node("p", {}, node("strong", {}, `${row.server}/${row.tool}`), " ", pill(row.reason || "failed", "bad"), " ", message(row.error)),
    row.arguments === undefined
      ? node("p", { class: "muted" }, "Its arguments were not kept; --trace-payloads full keeps those of up to 4 KiB.")
      : node("pre", {}, row.arguments));
  const fact = (name, value) => (value === undefined || value === null ? null : node("div", {}, node("dt", {}, name), node("dd", {}, value)));
  const details = (call) => [
    node("dl", { class: "facts" },
      fact("request", call.request_id), fact("eval", call.eval_id),
      fact("kept program", call.kept_program === undefined ? null : `${call.kept_program} (${call.program_digest.slice(0, 12)})`),
      fact("steps", call.steps === undefined ? null : count(call.steps)),
      fact("memory", call.memory_peak_bytes === undefined ? null : bytes(call.memory_peak_bytes)),
      fact("program ran", call.run_us === undefined ? null : span(call.run_us / 1000)),
      fact("fetched", call.fetched_bytes === undefined ? null : bytes(call.fetched_bytes)),
      fact("result", call.result_bytes === undefined ? null : bytes(call.result_bytes)),
      fact("reduction", call.ratio === undefined || call.ratio === null ? null : `${call.ratio} ×`)),
    program(call.program) === null ? null : node("pre", {}, program(call.program)),
    ...call.upstream_calls.filter((row) => !row.ok).map(failure),
    call.upstream_calls.length > 0 ? waterfall(call) : empty("No upstream calls."),
  ];

  const COLUMNS = () => [["Time (UTC)", "when"], ...(operator ? [["Caller", "who"]] : []), ["Tool", "tool"], ["Outcome", "outcome"], ["Program", "program"],
    ["Calls", "number"], ["Took", "number"]];
  const pillOf = (call) => call.status === "ok" ? pill("ok", "good") : call.status === "error" ? pill(call.reason || "error", "bad") : pill(call.status, "warn");
  const code = (call) => node("code", {}, program(call.program) || "–");
  // The rows that are shown, by what names their calls: what has ended does not change, and its row stays as it is.
  const ended = new Map();
  const running = new Map();
  const runningRow = (call) => {
    const took = node("span", {}), calls = node("span", {}), latest = node("span", {}), columns = COLUMNS(), id = `live-${call.eval_id}`;
    const detail = node("tr", { id: `${id}-detail`, role: "row", class: "details" }, node("td", { role: "cell", colspan: String(columns.length) }));
    detail.hidden = true;
    let shown = call;
    const look = () => detail.firstChild.replaceChildren(...(detail.hidden ? [] : [
      program(shown.program) === null ? null : node("pre", {}, program(shown.program)),
      shown.upstream_call_count > shown.upstream_calls.length ? node("p", { class: "muted" }, `The newest ${count(shown.upstream_calls.length)} of ${some(shown.upstream_call_count, "upstream call")}.`) : null,
      shown.upstream_calls.length > 0 ? waterfall({ duration_ms: shown.running_ms, upstream_calls: shown.upstream_calls }) : empty("No upstream calls so far."),
    ].filter(Boolean)));
    const toggle = node("button", { id, type: "button", class: "link", "aria-expanded": "false", "aria-controls": `${id}-detail`,
      "aria-label": `now, details of ${call.tool}`, click: () => {
        detail.hidden = !detail.hidden;
        toggle.setAttribute("aria-expanded", String(!detail.hidden));
        look();
      } }, "now");
    const tr = row(columns, [toggle, ...(operator ? [call.principal] : []), call.tool, pill("running", "warn"), [code(call), latest], calls, took]);
    return { parts: [tr, detail], update: (now) => {
      shown = now;
      took.textContent = span(now.running_ms);
      calls.textContent = now.upstream_call_count > 0 ? count(now.upstream_call_count) : "–";
      const open = now.upstream_calls.filter((one) => one.ok === null).at(-1);
      latest.textContent = open === undefined ? "" : ` waits for ${short(`${open.server}/${open.tool}`, 200)}`;
      look();
    } };
  };
  const endedRows = (call) => {
    const columns = COLUMNS(), id = `call-${call.number}`;
    const detail = node("tr", { id: `${id}-detail`, role: "row", class: "details" }, node("td", { role: "cell", colspan: String(columns.length) }));
    detail.hidden = true;
    const toggle = node("button", { id, type: "button", class: "link", "aria-expanded": "false", "aria-controls": `${id}-detail`,
      "aria-label": `${clock(call.ts)}, details of ${call.tool}`, click: () => {
        const show = detail.hidden;
        detail.firstChild.replaceChildren(...(show ? details(call).filter(Boolean) : []));
        detail.hidden = !show;
        toggle.setAttribute("aria-expanded", String(show));
      } }, clock(call.ts));
    const failed = call.upstream_calls.filter((one) => !one.ok);
    const told = failed.slice(0, 2).map((one) => node("span", { class: "failed" }, short(`${one.server}/${one.tool} ${one.reason || "failed"}: ${message(one.error) || "no message"}`, 200)));
    const more = failed.length > 2 ? [node("span", { class: "failed" }, `and ${count(failed.length - 2)} more`)] : [];
    const took = call.run_us !== undefined ? span(call.run_us / 1000) : call.duration_ms === 0 ? "< 1 ms" : span(call.duration_ms);
    const tr = row(columns, [toggle, ...(operator ? [call.principal] : []), call.tool, pillOf(call), [code(call), ...told, ...more],
      call.upstream_calls.length > 0 ? count(call.upstream_calls.length) : "–", took]);
    return [tr, detail];
  };
  // What was sought, and how many pages of it are shown.
  const sought = () => {
    const form = byId("search");
    const query = {};
    for (const name of ["principal", "upstream", "tool", "outcome", "text"]) {
      const value = form.elements[name].value.trim();
      if (value) query[name] = value;
    }
    return query;
  };
  let older = [];
  let following = null;
  const place = (body, rows) => {
    // Rows that are where they belong are not touched: the focus stays, and nothing moves.
    let at = body.firstChild;
    for (const tr of rows) {
      if (tr === at) at = at.nextSibling;
      else body.insertBefore(tr, at);
    }
    while (at !== null) { const next = at.nextSibling; at.remove(); at = next; }
  };
  const showCalls = (found) => {
    const head = byId("calls-head");
    if (head.childElementCount !== COLUMNS().length) {
      head.replaceChildren(...COLUMNS().map(([name, kind]) => node("th", { scope: "col", role: "columnheader", class: kind }, name)));
    }
    for (const call of found.live) {
      if (!running.has(call.eval_id)) running.set(call.eval_id, runningRow(call));
      running.get(call.eval_id).update(call);
    }
    const live = new Set(found.live.map((call) => call.eval_id));
    for (const id of running.keys()) if (!live.has(id)) running.delete(id);
    place(byId("live"), found.live.flatMap((call) => running.get(call.eval_id).parts));
    const calls = [...found.calls, ...older];
    const seen = new Set();
    const rows = [];
    for (const call of calls) {
      if (seen.has(call.number)) continue;
      seen.add(call.number);
      if (!ended.has(call.number)) ended.set(call.number, endedRows(call));
      rows.push(...ended.get(call.number));
    }
    for (const number of ended.keys()) if (!seen.has(number)) ended.delete(number);
    place(byId("recent"), rows);
    const filtered = Object.keys(sought()).length > 0;
    const none = found.live.length === 0 && seen.size === 0;
    byId("no-calls").textContent = !none ? "" : filtered ? "No call fits." : "No call yet.";
    byId("calls").hidden = none;
    if (older.length === 0) following = found.next;
    byId("older").hidden = following === null;
    const note = `${some(seen.size, "call")}${filtered ? (seen.size === 1 ? " fits" : " fit") : ""}${following === null ? "" : " so far"}${found.live_count > 0 ? `, ${count(found.live_count)} running` : ""}`;
    if (byId("calls-note").textContent !== note) byId("calls-note").textContent = note;
    byId("calls-policy").textContent = found.payloads === "none" ? "Programs, arguments and messages are not kept (--trace-payloads none)."
      : found.payloads === "summary" ? "Of programs and messages the first 256 characters are kept, arguments are not (--trace-payloads summary)." : "";
  };
  const forgetCalls = () => { older = []; following = null; };
  const seekCalls = async () => post("/console/api/calls", JSON.stringify(sought()));
  const moreCalls = async () => {
    if (byId("older").getAttribute("aria-busy") === "true") return;
    byId("older").setAttribute("aria-busy", "true");
    const asked = sought();
    try {
      const found = await post("/console/api/calls", JSON.stringify({ ...asked, before: following }));
      if (JSON.stringify(asked) === JSON.stringify(sought())) {
        // What is listed stays, although newer calls come.
        older = [...shownCalls, ...older, ...found.calls];
        following = found.next;
      }
    } catch (trouble) {
      byId("calls-note").textContent = `Not found: ${trouble.message}.`;
    }
    byId("older").removeAttribute("aria-busy");
    await refresh();
  };
  let shownCalls = [];

  // --- upstreams ---------------------------------------------------------------------------------------------------
  // What a person does next, where the caller is not signed in to an upstream that wants it.
  const signInStep = (signIn) => {
    if (signIn === undefined) return null;
    if (signIn.state === "signed_in") return node("p", { class: "muted" }, "You are signed in.");
    if (signIn.error !== undefined) return node("p", { class: "muted" }, `Sign-ins cannot be read: ${signIn.error}`);
    const why = signIn.last_error === null ? "" : ` (${signIn.last_error})`;
    const web = signIn.open !== undefined && ["http:", "https:"].includes(new URL(signIn.open).protocol);
    return node("p", {}, pill("needs sign-in", "warn"), `${why} `,
      web ? node("a", { href: signIn.open, rel: "noreferrer", target: "_blank" }, "sign in") : node("code", {}, signIn.run || signIn.open));
  };
  const KINDS = { started: "good", starting: "warn", recovery: "bad", stopped: "", closed: "bad" };
  const upstreamState = (up, signIn) => [
    node("div", { class: "head" }, node("h3", {}, up.name), pill(up.phase === "recovery" ? `failed, tried again in ${up.retry_in_seconds} s` : up.phase, KINDS[up.phase])),
    node("p", { class: "muted" }, [up.protocol_version === null ? up.transport : `${up.transport} ${up.protocol_version}`, `${count(up.in_flight)} in flight`, some(up.starts, "start")].join(" · ")),
    signInStep(signIn),
    up.granted ? null : node("p", { class: "muted" }, "Your rules do not show you its tools."),
    up.last_fault === null ? null : node("p", { class: "trouble" }, `Latest fault: ${up.last_fault}`),
    up.pins === null ? null : node("p", {}, pill("not as pinned", "warn"), ` ${up.pins}. To accept it: `, node("code", {}, `ptc pin ${up.name}`)),
    up.messages.length === 0 ? null : node("details", {}, node("summary", {}, some(up.messages.length, "log message")),
      node("ul", {}, ...up.messages.map((said) => node("li", {}, node("span", { class: "muted" }, `${said.ts} ${said.level} `), node("code", {}, said.text))))),
  ].filter(Boolean);

  // The arguments of a tool as its schema describes them.
  const typeOf = (schema) => {
    if (schema === true || schema === undefined || typeof schema !== "object") return "any";
    if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(" | ");
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.type === "array") return `array of ${typeOf(schema.items)}`;
    if (Array.isArray(schema.type)) return schema.type.join(" | ");
    return typeof schema.type === "string" ? schema.type : schema.anyOf || schema.oneOf ? "one of several" : "any";
  };
  const argumentsOf = (schema) => {
    const known = Object.entries(schema.properties || {});
    const required = Array.isArray(schema.required) ? schema.required : [];
    const columns = [["Argument"], ["Type"], ["Meaning"]];
    return [known.length === 0 ? node("p", { class: "muted" }, "It describes no arguments.")
      : table("Arguments", columns, known.map(([name, one]) => [node("span", {}, node("code", {}, name), required.includes(name) ? " (required)" : ""), node("code", {}, short(typeOf(one), 200)),
        one?.description === undefined ? "–" : String(one.description)])),
    node("details", {}, node("summary", {}, "Schema"), node("pre", {}, JSON.stringify(schema, null, 2)))];
  };
  const MOST_ARGUMENTS = 65536;
  let trials = 0;
  const trial = (server, tool) => {
    const id = `trial-${trials += 1}`;
    const required = Array.isArray(tool.input_schema.required) ? tool.input_schema.required : [];
    const given = node("textarea", { id, spellcheck: "false", autocomplete: "off", maxlength: String(MOST_ARGUMENTS), "aria-describedby": `${id}-trouble` });
    given.rows = 3;
    given.value = required.length === 0 ? "{}" : `{\n${required.map((name) => `  ${JSON.stringify(name)}: `).join(",\n")}\n}`;
    const trouble = node("p", { class: "trouble", id: `${id}-trouble`, role: "alert" });
    const result = node("div", { role: "status" });
    const actions = node("div", { class: "actions" });
    const call = node("button", { type: "submit" }, "Try it");
    const sure = node("button", { type: "button", class: "primary" }, "Call it");
    const no = node("button", { type: "button" }, "Cancel");
    const ask = node("p", {}, "This tool may change something. Call it as you?");
    const rest = () => { actions.replaceChildren(call); call.focus(); };
    // A button that is disabled would lose the focus.
    let calling = false;
    const send = async (confirmed) => {
      if (confirmed) rest();
      calling = true;
      result.replaceChildren(node("p", { class: "muted" }, "calling …"));
      try {
        const head = JSON.stringify({ upstream: server, tool: tool.name, confirmed });
        const said = await post("/console/api/trial", `${head.slice(0, -1)},"arguments":${given.value}}`);
        result.replaceChildren(node("p", {}, pill(said.is_error ? "failed" : "answered", said.is_error ? "bad" : "good")), node("pre", {}, said.text));
      } catch (why) {
        result.replaceChildren(node("p", { class: "trouble" }, `Not called: ${why.message}.`));
      }
      calling = false;
      refresh();
    };
    sure.addEventListener("click", () => send(true));
    no.addEventListener("click", rest);
    const form = node("form", { class: "trial" }, node("label", { for: id }, "Arguments, a JSON object"), given, trouble, actions, result);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (calling) return;
      let parsed = null;
      trouble.textContent = "";
      try { parsed = JSON.parse(given.value); } catch (why) { trouble.textContent = `This is no JSON: ${why.message}.`; }
      if (trouble.textContent === "" && (parsed === null || typeof parsed !== "object" || Array.isArray(parsed))) trouble.textContent = "Arguments are a JSON object: {…}.";
      if (trouble.textContent !== "") { given.focus(); return; }
      if (tool.only_reads) { send(false); return; }
      actions.replaceChildren(ask, sure, no);
      no.focus();
    });
    actions.append(call);
    return form;
  };
  // Parts that are folded are made when they are opened.
  const folded = (summary, make) => {
    const element = node("details", {}, node("summary", {}, ...summary));
    element.addEventListener("toggle", () => {
      if (element.open && element.childElementCount === 1) element.append(...[].concat(make()).filter(Boolean));
    });
    return element;
  };
  // How a tool differs from the lock, and what deserves a look in its texts: for the person who reads them.
  const remarksOn = (tool) => [
    tool.unaccepted === undefined ? null : node("p", { class: "trouble" }, `Not accepted: ${tool.unaccepted}.`),
    tool.diff === undefined ? null : node("pre", {}, tool.diff),
    ...(tool.marks ?? []).map((mark) => node("p", { class: "trouble" }, `Deserves a look, as it ${mark.finding}: `, node("code", {}, mark.excerpt))),
  ];
  const remarkPills = (tool) => [
    tool.unaccepted === undefined ? null : pill("not accepted", "warn"),
    tool.marks === undefined ? null : pill("deserves a look", "warn"),
  ];
  const withheldList = (server) => (server.withheld ?? []).length === 0 && (server.gone ?? []).length === 0 ? [] : [
    ...(server.withheld ?? []).map((tool) => folded([node("code", {}, tool.name), " ", pill("withheld", "bad"), ...remarkPills(tool).slice(1)].filter(Boolean), () => remarksOn(tool))),
    server.gone.length === 0 ? null : node("p", { class: "muted" }, `Gone since they were pinned: ${server.gone.join(", ")}.`),
  ].filter(Boolean);
  const toolList = (server) => {
    const items = server.tools.map((tool) => {
      const element = folded([node("code", {}, tool.name), " ", tool.only_reads ? pill("reads") : null, ...remarkPills(tool), node("span", { class: "muted" }, ` ${short(tool.description.split("\n")[0], 120)}`)].filter(Boolean), () => [
        ...remarksOn(tool),
        tool.description ? node("p", { class: "prose" }, tool.description) : null,
        ...argumentsOf(tool.input_schema),
        tool.callable ? trial(server.name, tool) : node("p", { class: "muted" }, tool.unaccepted === undefined ? "You may see this tool, and not call it." : "It is not called until somebody accepts it."),
      ]);
      return { tool, element: node("li", {}, element) };
    });
    const list = node("ul", { class: "tools" }, ...items.map((item) => item.element));
    if (items.length <= 12) return list;
    const find = node("input", { type: "search", "aria-label": `Find a tool of ${server.name}`, placeholder: "Find a tool", autocomplete: "off" });
    find.addEventListener("input", () => {
      const part = find.value.trim().toLowerCase();
      for (const { tool, element } of items) element.hidden = !`${tool.name} ${tool.description}`.toLowerCase().includes(part);
    });
    return [find, list];
  };
  const upstreamCards = new Map();
  let catalogKey = null;
  const showUpstreams = async (all, signIns) => {
    const target = byId("upstreams");
    if (all === null || all.length === 0) {
      draw("upstreams", "none", () => empty("No upstreams are configured."));
      return;
    }
    const signIn = new Map(signIns.map((one) => [one.server, one]));
    for (const up of all) {
      if (!upstreamCards.has(up.name)) {
        const card = { state: node("div", {}), tools: node("div", { class: "catalog" }), text: "", listed: "" };
        card.element = node("article", { class: "upstream" }, card.state, card.tools);
        upstreamCards.set(up.name, card);
      }
      const card = upstreamCards.get(up.name);
      const text = JSON.stringify([up, signIn.get(up.name)]);
      if (card.text !== text) {
        const open = card.state.querySelector("details")?.open === true;
        const focused = card.state.contains(document.activeElement) ? document.activeElement.localName : null;
        card.text = text;
        card.state.replaceChildren(...upstreamState(up, signIn.get(up.name)));
        if (open && card.state.querySelector("details")) card.state.querySelector("details").open = true;
        if (focused !== null) card.state.querySelector(focused)?.focus();
      }
    }
    const names = new Set(all.map((up) => up.name));
    for (const name of upstreamCards.keys()) if (!names.has(name)) upstreamCards.delete(name);
    place(target, all.map((up) => upstreamCards.get(up.name).element));
    const key = JSON.stringify(all.map((up) => [up.name, up.tools, up.starts, up.phase, up.pins]));
    if (key === catalogKey) return;
    const catalog = new Map((await ask("/console/api/catalog")).servers.map((server) => [server.name, server]));
    catalogKey = key;
    for (const [name, card] of upstreamCards) {
      const server = catalog.get(name);
      const listed = JSON.stringify(server ?? null);
      if (card.listed === listed) continue;
      card.listed = listed;
      card.tools.replaceChildren(...(server === undefined ? [] : [
        server.description ? node("p", { class: "muted prose" }, server.description) : null,
        ...withheldList(server),
        server.loaded ? folded([some(server.tools.length, "tool")], () => toolList(server)) : node("p", { class: "muted" }, "Its tools are not known yet."),
      ].filter(Boolean)));
    }
  };

  // --- sessions, accounts ------------------------------------------------------------------------------------------
  const sessions = ([all, total], ofStore) => {
    if (all === null) return empty("Sessions are off (--sessions).");
    if (all.length === 0) return empty(ofStore ? "This server has used no session of the store yet." : "No session is open.");
    const note = total > all.length ? [node("p", { class: "muted" }, `The ${count(all.length)} that were used last, of ${count(total)}.`)] : [];
    return [table(ofStore ? "Sessions of the store that this server has used last" : "Open sessions, the latest used first",
      [["Session"], ...(operator ? [["Caller"]] : []), ["State"], ["Turn", "number"], ["Names", "number"], ["Size", "number"], ["Last used (UTC)", "number"]],
      all.map((session) => [node("div", {}, session.title === null ? "" : node("strong", {}, session.title), node("div", { class: "mono" }, session.session_id)),
        ...(operator ? [session.principal] : []), session.eval_status === "running" ? pill("running", "good") : pill("idle"), count(session.turn), count(session.binding_count),
        bytes(session.memory_bytes), clock(session.updated_at)])), ...note];
  };
  const accounts = ([all, total]) => {
    if (all.length === 0) return empty("Nobody holds anything now.");
    const columns = [["Caller"], ...(all.some((one) => one.memory_bytes !== undefined) ? [["Memory", "number"]] : []), ["Running calls", "number"]];
    const cells = all.map((one, at) => [
      node("button", { id: `account-${at}`, type: "button", class: "link", "aria-label": `Calls of ${one.principal}`, click: () => {
        byId("search").elements.principal.value = one.principal;
        changed();
        byId("search").elements.principal.focus();
      } }, one.principal),
      ...(columns.length === 3 ? [bytes(one.memory_bytes || 0)] : []), count(one.running)]);
    const note = total > all.length ? [node("p", { class: "muted" }, `The ${count(all.length)} that hold most, of ${count(total)}.`)] : [];
    return [table("What callers hold, the largest first", columns, cells), ...note];
  };

  // --- what runs wait for --------------------------------------------------------------------------------------------
  // A question is drawn once and then only told what has changed, so that nobody loses what was filled in.
  const cards = new Map();
  let ahead = 0;
  let wantedRun = null;
  const seek = () => { wantedRun = new URLSearchParams(location.hash.slice(1)).get("q"); };
  const left = (ms) => {
    if (ms <= 0) return "its time is over";
    const seconds = Math.ceil(ms / 1000), pad = (number) => String(number).padStart(2, "0");
    const hours = Math.floor(seconds / 3600);
    return `ends in ${hours > 0 ? `${hours}:${pad(Math.floor(seconds / 60) % 60)}` : Math.floor(seconds / 60)}:${pad(seconds % 60)}`;
  };
  const tick = () => {
    for (const card of cards.values()) {
      if (card.expires !== null) card.deadline.textContent = left(card.expires - (Date.now() + ahead));
    }
  };

  // A field of a form: what is shown, and the JSON of what was filled in; `undefined` where nothing was.
  let fields = 0;
  // An argument of a call: a row, or folded where it is long.
  const argument = (row) => row.long
    ? node("details", { class: "argument" }, node("summary", {}, node("b", {}, row.key), ` ${[...row.text].length} characters`), node("pre", {}, row.text))
    : node("div", { class: "argument" }, node("b", {}, row.key), " ", node("code", {}, row.text));
  const field = (name, schema, required) => {
    const id = `field-${fields += 1}`;
    const about = [schema.description, bounds(schema)].filter(Boolean).join(" · ");
    const hint = about ? node("span", { class: "muted", id: `${id}-hint` }, about) : null;
    const title = `${schema.title || name}${required ? " (required)" : ""}`;
    const common = { id, ...(hint ? { "aria-describedby": `${id}-hint` } : {}), ...(required ? { required: "" } : {}) };
    const choices = schema.enum ? schema.enum.map((value) => ({ value, label: value }))
      : (schema.oneOf || []).map((one) => ({ value: one.const, label: one.title }));
    const labelled = (input, read) => ({ shown: node("div", {}, node("label", { for: id }, title), hint, input), read });
    const select = (options, chosen, read) => {
      const input = node("select", common, node("option", { value: "" }, "—"),
        ...options.map((option, at) => node("option", { value: String(at) }, option.label)));
      const at = options.findIndex((option) => option.value === chosen);
      if (at >= 0) input.value = String(at);
      return labelled(input, () => (input.value === "" ? undefined : read(options[Number(input.value)].value)));
    };
    if (schema.type === "array") {
      const items = schema.items.enum ? schema.items.enum.map((value) => ({ value, label: value }))
        : schema.items.anyOf.map((one) => ({ value: one.const, label: one.title }));
      const boxes = items.map((item) => {
        const box = node("input", { type: "checkbox" });
        box.checked = (schema.default || []).includes(item.value);
        return { box, item };
      });
      const shown = node("fieldset", hint ? { "aria-describedby": `${id}-hint` } : {}, node("legend", {}, title), hint,
        ...boxes.map(({ box, item }) => node("label", { class: "tick" }, box, item.label)));
      return { shown, read: () => {
        const picked = boxes.filter(({ box }) => box.checked).map(({ item }) => item.value);
        return picked.length === 0 && !required ? undefined : JSON.stringify(picked);
      } };
    }
    if (schema.type === "boolean") {
      return select([{ value: true, label: "Yes" }, { value: false, label: "No" }], schema.default, String);
    }
    if (choices.length > 0) return select(choices, schema.default, JSON.stringify);
    const number = schema.type === "number" || schema.type === "integer";
    const kinds = { email: "email", uri: "url", date: "date" };
    const input = node("input", { ...common, type: number ? "number" : kinds[schema.format] || "text", autocomplete: "off" });
    if (number) input.step = schema.type === "integer" ? "1" : "any";
    for (const [attribute, key] of [["min", "minimum"], ["max", "maximum"], ["minlength", "minLength"], ["maxlength", "maxLength"]]) {
      if (schema[key] !== undefined) input.setAttribute(attribute, String(schema[key]));
    }
    if (schema.default !== undefined) input.value = String(schema.default);
    return labelled(input, () => {
      if (input.value === "") return undefined;
      if (!number) return JSON.stringify(input.value);
      return /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(input.value) ? input.value : String(Number(input.value));
    });
  };
  const bounds = (schema) => {
    const range = (least, most, what) => (least !== undefined && most !== undefined ? `${least} to ${most}${what}`
      : least !== undefined ? `at least ${least}${what}` : most !== undefined ? `at most ${most}${what}` : "");
    if (schema.type === "array") return range(schema.minItems, schema.maxItems, " of these");
    if (schema.type === "string") {
      const form = schema.format === "date-time" ? "such as 2026-07-28T12:00:00Z" : "";
      return [range(schema.minLength, schema.maxLength, " characters"), form, schema.pattern ? `must match ${schema.pattern}` : ""].filter(Boolean).join(" · ");
    }
    return range(schema.minimum, schema.maximum, "");
  };

  const OUTCOMES = { counted: "Answered.", already_answered: "Somebody has answered that already.", not_open: "That is not asked any more.",
    not_here: "This is not answered here.", no_answer: "That is no answer." };
  const answerCard = (run, asked) => {
    const told = node("p", { class: "muted", role: "status" });
    const fault = node("p", { class: "trouble" });
    const actions = node("div", { class: "actions" });
    const content = [];
    let read = () => undefined;
    const send = async (answer) => {
      for (const button of actions.children) button.disabled = true;
      told.textContent = "sending …";
      try {
        const body = `{"principal":${JSON.stringify(run.principal)},"answers":{${JSON.stringify(asked.id)}:${answer}}}`;
        const became = (await post(`/console/api/runs/${run.run_id}/answers`, body)).answers[asked.id];
        told.textContent = became.outcome === "misfit" ? "" : OUTCOMES[became.outcome] || became.outcome;
        fault.textContent = became.outcome === "misfit" ? `The answer does not fit: ${became.fault}` : "";
      } catch (trouble) {
        told.textContent = `Not answered: ${trouble.message}.`;
      }
      for (const button of actions.children) button.disabled = false;
      refresh();
    };
    const button = (text, kind, click) => actions.append(node("button", { type: "button", class: kind, click }, text));
    const says = (action) => () => send(`{"action":"${action}"}`);
    if (asked.kind === "approval") {
      const calls = node("ol", { class: "calls" });
      content.push(node("h4", {}, asked.message), calls);
      // The list has no arguments; nobody allows what it does not show.
      const show = async () => {
        try {
          const whole = await ask(`/console/api/runs/${run.run_id}/questions/${asked.id}`);
          calls.replaceChildren(...whole.calls.map((call) => node("li", {}, ...call.rows.map(argument),
            node("details", {}, node("summary", { class: "muted" }, "as it is sent"), node("pre", {}, call.arguments_text)),
            node("span", { class: "muted digest" }, `SHA-256 ${call.arguments_digest}`))));
          for (const button of actions.children) button.disabled = false;
        } catch (trouble) {
          calls.replaceChildren(node("li", {}, node("button", { type: "button", click: show }, `The calls cannot be read (${trouble.message}). Try again`)));
        }
      };
      show();
      for (const [decision, text] of [["allow", "Allow"], ["refuse", "Refuse"]]) {
        button(text, decision === "allow" ? "primary" : "", () => send(`{"action":"accept","content":{"decision":"${decision}"}}`));
        actions.lastElementChild.disabled = true;
      }
    } else if (asked.url !== undefined) {
      const web = URL.canParse(asked.url) && ["http:", "https:"].includes(new URL(asked.url).protocol);
      content.push(node("h4", {}, asked.message),
        node("p", {}, web ? node("a", { href: asked.url, target: "_blank", rel: "noopener noreferrer" }, asked.url) : node("code", {}, asked.url)));
      button("I have been there", "primary", says("accept"));
      button("Decline", "", says("decline"));
      button("Dismiss", "", says("cancel"));
    } else {
      const required = asked.schema.required || [];
      const all = Object.entries(asked.schema.properties).map(([name, schema]) => ({ name, ...field(name, schema, required.includes(name)) }));
      const form = node("form", { class: "fields" }, ...all.map((one) => one.shown));
      read = () => {
        const members = all.map((one) => [one.name, one.read()]).filter(([, json]) => json !== undefined);
        return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
      };
      const fill = () => { if (form.reportValidity()) send(`{"action":"accept","content":${read()}}`); };
      form.addEventListener("submit", (event) => { event.preventDefault(); fill(); });
      content.push(node("h4", {}, asked.message), form);
      button(all.length > 0 ? "Answer" : "Accept", "primary", fill);
      button("Decline", "", says("decline"));
      button("Dismiss", "", says("cancel"));
    }
    const element = node("div", { class: "question", id: `question-${run.run_id}-${asked.id}` }, ...content, fault, actions, told);
    const update = (now) => {
      if (now.fault !== null) fault.textContent = `The answer does not fit: ${now.fault}`;
      if (now.answer === null) return;
      const said = now.answer.decision ? { allow: "Allowed", refuse: "Refused" }[now.answer.decision]
        : { accept: "Answered", decline: "Declined", cancel: "Dismissed" }[now.answer.action];
      actions.hidden = true;
      fault.textContent = "";
      told.textContent = `${said}${now.answer.name ? ` by ${now.answer.name}` : ""} (${now.answer.channel})`;
    };
    return { element, update };
  };

  const runCard = (run, caller) => {
    const deadline = node("span", {});
    const told = node("span", { class: "muted", role: "status" });
    let sure = false;
    const stop = node("button", { type: "button", click: async () => {
      if (!sure) {
        sure = true;
        stop.textContent = "Stop it for good";
        return;
      }
      stop.disabled = true;
      try {
        told.textContent = (await post(`/console/api/runs/${run.run_id}/cancel`, JSON.stringify({ principal: run.principal }))).status;
      } catch (trouble) {
        told.textContent = `Not stopped: ${trouble.message}.`;
        stop.disabled = false;
      }
      refresh();
    } }, "Stop");
    const status = node("span", {});
    const shown = program(run.program);
    const head = node("h3", { id: `run-${run.run_id}`, tabindex: "-1" }, `${run.tool} `, node("span", { class: "mono" }, run.run_id));
    const questions = node("div", {});
    const element = node("article", { class: "run", "aria-labelledby": `run-${run.run_id}` },
      node("div", { class: "head" }, head, node("span", { class: "actions" }, told, stop)),
      node("p", { class: "muted" }, run.principal === caller ? null : `of ${run.principal} · `, status, " · ", deadline),
      shown === null ? null : node("details", {}, node("summary", {}, "Program"), node("pre", {}, shown)),
      questions);
    const card = { element, head, deadline, expires: null, asked: new Map(), update: (now) => {
      status.textContent = `${now.status}, began at ${clock(now.began_at)} UTC, ${some(now.upstream_calls, "upstream call")}`;
      card.expires = now.expires_at === null ? null : Date.parse(now.expires_at);
      if (card.expires === null) deadline.textContent = "";
      for (const asked of now.questions) {
        if (!card.asked.has(asked.id)) {
          card.asked.set(asked.id, answerCard(now, asked));
          questions.append(card.asked.get(asked.id).element);
        }
        card.asked.get(asked.id).update(asked);
      }
      const open = new Set(now.questions.map((asked) => asked.id));
      for (const [id, asked] of card.asked) {
        if (!open.has(id)) { asked.element.remove(); card.asked.delete(id); }
      }
    } };
    return card;
  };

  const waiting = (told) => {
    const target = byId("waiting"), note = byId("waiting-note");
    if (told === null) {
      note.textContent = "The runs cannot be read just now.";
      return;
    }
    ahead = Date.parse(told.now) - Date.now();
    const open = told.runs.filter((run) => run.status === "waiting" || run.status === "running");
    const keys = new Set();
    for (const run of open) {
      const key = `${run.principal} ${run.run_id}`;
      keys.add(key);
      if (!cards.has(key)) cards.set(key, runCard(run, told.caller));
      const card = cards.get(key);
      card.update(run);
      if (card.element.parentNode !== target) target.append(card.element);
    }
    for (const [key, card] of cards) {
      if (!keys.has(key)) { card.element.remove(); cards.delete(key); }
    }
    const none = target.querySelector(".empty");
    if (open.length > 0 && none !== null) none.remove();
    if (open.length === 0 && none === null) target.append(empty("No program waits for anybody."));
    const questions = open.flatMap((run) => run.questions).filter((asked) => asked.answer === null).length;
    const gone = wantedRun !== null && !open.some((run) => run.run_id === wantedRun);
    document.title = questions === 0 ? "ptc console" : `(${questions}) ptc console`;
    note.textContent = gone ? `${wantedRun} does not wait any more, or is not yours.` : questions === 0 ? "" : some(questions, "open question");
    for (const run of open) {
      const card = cards.get(`${run.principal} ${run.run_id}`);
      const wanted = run.run_id === wantedRun;
      if (wanted && !card.element.classList.contains("wanted")) {
        card.element.classList.add("wanted");
        card.element.scrollIntoView({ block: "start" });
        card.head.focus({ preventScroll: true });
      } else if (!wanted) card.element.classList.remove("wanted");
    }
    tick();
  };

  // --- drafts of programs --------------------------------------------------------------------------------------------
  // What was opened of a draft stays as it is: approved and discarded is the text that a person has seen, by its digest.
  const draftCards = new Map();
  let draftsSaid = null;
  // The programs that call the former one, and are approved with that.
  const leftBehind = (of) => (of.no_longer_approved ?? []).length === 0 ? "" : `No longer approved: ${of.no_longer_approved.join("; ")}`;
  const draftBody = (draft, mayApprove) => {
    const told = node("p", { class: "muted", role: "status" }, "reading …");
    const body = node("div", {}, told);
    const name = JSON.stringify(draft.name), principal = JSON.stringify(draft.principal);
    const work = async (does, digest, done) => {
      told.textContent = "sending …";
      try {
        draftsSaid = `${draft.name}: ${done(await post(`/console/api/drafts/${does}`, `{"name":${name},"principal":${principal},"digest":${JSON.stringify(digest)}}`))}`;
        actions.hidden = true;
      } catch (trouble) {
        told.textContent = `Not done: ${trouble.message}.`;
      }
      refresh();
    };
    const actions = node("div", { class: "actions" });
    const button = (text, kind, click) => actions.append(node("button", { type: "button", class: kind, click }, text));
    const show = async () => {
      try {
        const whole = await post("/console/api/drafts/show", `{"name":${name},"principal":${principal}}`);
        const tests = whole.tests ?? [], fits = whole.fault === undefined && tests.every((one) => one.ok);
        const served = whole.served === null ? [] : [
          node("h4", {}, `What it changes of the program that is served (approved ${whole.served.at}${whole.served.by ? ` by ${whole.served.by}` : ""})`),
          whole.served.diff === "" ? node("p", { class: "muted" }, "Nothing.") : node("pre", {}, whole.served.diff)];
        told.textContent = "";
        body.replaceChildren(...[
          whole.fault === undefined ? null : node("p", { class: "trouble" }, `It cannot be approved: ${whole.fault}`),
          node("p", {}, "May call: ", (whole.tools ?? []).length === 0 ? "nothing" : node("code", {}, whole.tools.join(", "))),
          ...(whole.remarks ?? []).map((text) => node("p", { class: "trouble" }, text)),
          (whole.calls ?? []).length === 0 ? null : node("p", {}, "Calls the programs ", node("code", {}, whole.calls.join(", "))),
          tests.length === 0 ? node("p", {}, pill("no tests", "warn")) : node("ul", {}, ...tests.map((one) => node("li", {}, pill(one.ok ? "passed" : "failed", one.ok ? "good" : "bad"), ` ${one.test} ${one.failures.join("; ")}`))),
          leftBehind(whole) === "" ? null : node("p", { class: "trouble" }, leftBehind(whole)),
          node("pre", {}, whole.text), node("p", { class: "muted digest" }, `SHA-256 ${whole.digest}`), ...served, actions, told].filter(Boolean));
        if (mayApprove && fits) button("Approve", "primary", () => work("approve", whole.digest, (done) => [`approved, revision ${done.revision} in ${done.place}`, leftBehind(done)].filter(Boolean).join(". ")));
        button("Discard", "", () => work("discard", whole.digest, () => "discarded"));
      } catch (trouble) {
        told.textContent = `It cannot be read: ${trouble.message}.`;
      }
    };
    show();
    return body;
  };
  const drafts = (list) => {
    byId("drafts-card").hidden = list.drafts === null;
    if (list.drafts === null) return;
    const note = draftsSaid ?? (list.may_approve ? "" : "An operator approves them.");
    if (byId("drafts-note").textContent !== note) byId("drafts-note").textContent = note;
    const keys = new Map(list.drafts.map((draft) => [`${draft.digest} ${draft.name} ${draft.principal}`, draft]));
    for (const [key, draft] of keys) {
      if (draftCards.has(key)) continue;
      const about = `of ${draft.principal}, ${draft.at.slice(0, 16).replace("T", " ")} UTC, ${bytes(draft.bytes)}: `;
      draftCards.set(key, folded([node("code", {}, draft.name), " ", node("span", { class: "muted" }, about), short(draft.description, 120)],
        () => draftBody(draft, list.may_approve)));
    }
    for (const key of draftCards.keys()) if (!keys.has(key)) draftCards.delete(key);
    const remarks = [...list.unreadable.map((why) => `Left out: ${why}`), ...(list.is_part ? ["There are more than are shown."] : [])];
    if (keys.size === 0 && remarks.length === 0) remarks.push("No model has proposed a program.");
    place(byId("drafts"), [...draftCards.values()]);
    byId("drafts").append(...remarks.map((text) => node("p", { class: "muted" }, text)));
  };

  const show = (state) => {
    const server = state.server;
    byId("identity").textContent = `${server.instance} · version ${server.version} · up ${span(server.uptime_seconds * 1000)} · you are ${server.caller}${server.operator ? ", an operator" : ""}`;
    draw("tiles", [state.live_count, state.timeline, server.permits_in_use, server.http_sessions, state.sessions, server.memory_bytes, state.saved, state.accounts], () => tiles(state));
    byId("saved-note").textContent = state.saved.programs === 0 ? "" : `since ${state.saved.since.slice(0, 16).replace("T", " ")} UTC${server.operator ? ", all callers" : ""}`;
    draw("saved", state.saved, savings);
    draw("reduction", state.timeline, reduction);
    draw("sessions", [state.sessions, state.session_count], (found) => sessions(found, state.sessions_of_store === true));
    byId("accounts-card").hidden = !server.operator;
    if (server.operator) draw("accounts", [state.accounts, state.account_count], accounts);
    status(server.draining ? "stopping" : paused ? "paused" : "live", server.draining ? "warn" : paused ? "" : "good");
  };

  // --- asking ------------------------------------------------------------------------------------------------------
  const status = (text, kind) => {
    const target = byId("status");
    if (target.textContent !== text) target.textContent = text;
    target.className = `pill ${kind}`;
  };
  class Refused extends Error {}
  const authorized = () => (token ? { Authorization: `Bearer ${token}` } : {});
  const ask = async (path) => {
    const response = await fetch(path, { headers: authorized(), cache: "no-store", credentials: "same-origin", redirect: "error" });
    if (response.status === 401) throw new Refused(token ? "This token is not valid here." : "This server asks for a token.");
    if (response.status === 429) throw new Refused(`Too many failed attempts. Try again in ${response.headers.get("retry-after") || "some"} seconds.`);
    if (response.status === 403) throw new Refused("The server does not admit this address (Host or Origin).");
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    return response.json();
  };
  const post = async (path, body) => {
    const headers = { ...authorized(), "Content-Type": "application/json" };
    const response = await fetch(path, { method: "POST", headers, body, cache: "no-store", credentials: "same-origin", redirect: "error" });
    const said = await response.json().catch(() => ({}));
    if (response.status === 401) throw new Refused(token ? "This token is not valid here." : "This server asks for a token.");
    if (!response.ok) throw new Error(said.error || `the server answered ${response.status}`);
    return said;
  };
  const leave = (why) => {
    clearTimeout(timer);
    token = null;
    operator = false;
    catalogKey = null;
    shownCalls = [];
    forgetCalls();
    draftsSaid = null;
    for (const known of [drawn, cards, draftCards, ended, running, upstreamCards]) known.clear();
    byId("search").reset();
    byId("calls-note").textContent = "";
    byId("waiting-note").textContent = "";
    document.title = "ptc console";
    for (const id of ["tiles", "waiting", "drafts", "saved", "reduction", "live", "recent", "upstreams", "sessions", "accounts"]) byId(id).replaceChildren();
    byId("identity").textContent = "";
    byId("board").hidden = true;
    byId("controls").hidden = true;
    byId("gate").hidden = false;
    byId("trouble").textContent = why;
    status("signed out", "");
    byId("token").focus();
  };
  // All pages of a list that one look takes: what waits for answers comes first.
  const MOST_PAGES = 8;
  const kept = async () => {
    const told = await ask("/console/api/runs");
    let next = told.next;
    for (let page = 1; next !== null && page < MOST_PAGES; page += 1) {
      const more = await ask(`/console/api/runs?after=${next}`);
      told.runs.push(...more.runs);
      next = more.next;
    }
    return told;
  };
  let round = 0;
  const refresh = async () => {
    clearTimeout(timer);
    const own = round += 1;
    try {
      const state = await ask("/console/api/state");
      const runs = await kept().catch((trouble) => {
        if (trouble instanceof Refused) throw trouble;
        return null;
      });
      const asked = JSON.stringify(sought());
      const found = await seekCalls();
      const proposed = await ask("/console/api/drafts").catch((trouble) => {
        if (trouble instanceof Refused) throw trouble;
        return null;
      });
      const signIns = state.upstreams === null ? [] : (await ask("/console/api/sign-ins")).sign_ins;
      if (byId("board").hidden) {
        byId("gate").hidden = true;
        byId("board").hidden = false;
        byId("controls").hidden = false;
        byId("token").value = "";
        byId("trouble").textContent = "";
      }
      if (operator !== found.operator) {
        operator = found.operator;
        for (const known of [ended, running]) known.clear();
        byId("by-caller").hidden = !operator;
      }
      show(state);
      waiting(runs);
      if (proposed !== null) drafts(proposed);
      else byId("drafts-note").textContent = "The drafts cannot be read just now.";
      // What was sought meanwhile is on its way.
      if (asked === JSON.stringify(sought())) {
        shownCalls = found.calls;
        showCalls(found);
      }
      await showUpstreams(state.upstreams, signIns);
    } catch (trouble) {
      if (trouble instanceof Refused) return leave(trouble.message);
      if (byId("board").hidden) return leave(`The server cannot be reached: ${trouble.message}.`);
      status("no answer", "bad");
    }
    if (own === round && !paused && !document.hidden) timer = setTimeout(refresh, PERIOD);
  };

  // What is typed is sought when the typing pauses.
  let typing = null;
  const changed = () => {
    forgetCalls();
    clearTimeout(typing);
    typing = setTimeout(() => { if (!byId("board").hidden) refresh(); }, 250);
  };
  byId("search").addEventListener("input", changed);
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); changed(); });
  byId("search").addEventListener("reset", changed);
  byId("older").addEventListener("click", moreCalls);

  byId("login").addEventListener("submit", (event) => {
    event.preventDefault();
    token = byId("token").value.trim();
    status("connecting", "");
    refresh();
  });
  byId("leave").addEventListener("click", async () => {
    if (offered && !token) {
      await fetch("/oauth/logout", { method: "POST", cache: "no-store", credentials: "same-origin", redirect: "error" }).catch(() => null);
    }
    leave("");
  });
  byId("pause").addEventListener("click", () => {
    paused = !paused;
    byId("pause").setAttribute("aria-pressed", String(paused));
    byId("pause").textContent = paused ? "Resume" : "Pause";
    if (paused) { clearTimeout(timer); status("paused", ""); } else refresh();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && !paused && !byId("board").hidden) refresh();
  });
  window.addEventListener("hashchange", () => {
    seek();
    if (!byId("board").hidden) refresh();
  });
  setInterval(tick, 1000);
  seek();
  byId("token").focus();
  // Where people sign in, if they can: the page itself is the same for all servers.
  fetch(location.pathname, { method: "HEAD", cache: "no-store", credentials: "omit" }).then((answer) => {
    const issuer = answer.headers.get("ptc-login");
    if (issuer === null) return;
    offered = true;
    byId("issuer").textContent = `Sign in with ${issuer}`;
    byId("issuer").hidden = false;
    if (location.search === "?signed-in") {
      history.replaceState(null, "", location.pathname + location.hash);
      refresh();
    }
  }).catch(() => null);
})();
