"use strict";
// Asks the server for its state every two seconds and draws it; sends what a person answers. Nothing is kept but the token, in
// memory; nothing that the server says is ever read as HTML.
(() => {
  const PERIOD = 2000;
  const byId = (id) => document.getElementById(id);
  let token = null;
  let offered = false;
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
  const some = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;
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
      "aria-label": `${some(rows.length, "upstream call")} within ${span(whole)}` });
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

  const sessions = (all, ofStore) => {
    if (all === null) return empty("Sessions are off (--sessions).");
    if (all.length === 0) return empty(ofStore ? "This server has used no session of the store yet." : "No session is open.");
    return table(ofStore ? "Sessions of the store that this server has used last" : "Open sessions, the latest used first", [["Session"], ["State"], ["Turn", "number"], ["Names", "number"], ["Size", "number"], ["Last used (UTC)", "number"]],
      all.map((session) => node("tr", {},
        cell(node("span", {}, session.title === null ? null : node("strong", {}, session.title), node("div", { class: "mono" }, session.session_id))),
        cell(session.eval_status === "running" ? pill("running", "good") : pill("idle")),
        cell(count(session.turn), "number"), cell(count(session.binding_count), "number"),
        cell(bytes(session.memory_bytes), "number"), cell(clock(session.updated_at), "number"))));
  };

  // --- what runs wait for --------------------------------------------------------------------------------------------
  // A question is drawn once and then only told what has changed, so that nobody loses what was filled in.
  const cards = new Map();
  let ahead = 0;
  let sought = null;
  const seek = () => { sought = new URLSearchParams(location.hash.slice(1)).get("q"); };
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
    const gone = sought !== null && !open.some((run) => run.run_id === sought);
    document.title = questions === 0 ? "ptc console" : `(${questions}) ptc console`;
    note.textContent = gone ? `${sought} does not wait any more, or is not yours.` : questions === 0 ? "" : some(questions, "open question");
    for (const run of open) {
      const card = cards.get(`${run.principal} ${run.run_id}`);
      const wanted = run.run_id === sought;
      if (wanted && !card.element.classList.contains("wanted")) {
        card.element.classList.add("wanted");
        card.element.scrollIntoView({ block: "start" });
        card.head.focus({ preventScroll: true });
      } else if (!wanted) card.element.classList.remove("wanted");
    }
    tick();
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
    draw("sessions", state.sessions, (all) => sessions(all, state.sessions_of_store === true));
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
    if (!response.ok) throw new Error(said.error || `the server answered ${response.status}`);
    return said;
  };
  const leave = (why) => {
    clearTimeout(timer);
    token = null;
    catalogAsked = false;
    opened.clear();
    drawn.clear();
    cards.clear();
    byId("waiting-note").textContent = "";
    document.title = "ptc console";
    for (const id of ["tiles", "waiting", "reduction", "live", "recent", "upstreams", "catalog", "sessions"]) byId(id).replaceChildren();
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
  const refresh = async () => {
    clearTimeout(timer);
    try {
      const state = await ask("/console/api/state");
      const runs = await kept().catch((trouble) => {
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
      show(state, signIns);
      waiting(runs);
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
