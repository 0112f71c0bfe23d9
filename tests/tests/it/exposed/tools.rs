//! `--expose tools`: clients call the tools of upstreams as tools, through the binary, in both eras (server.md 4.8).

use super::{Client, fake, folder};
use ptc_mcp::json::{Value, json};
use ptc_test_support::wait_until;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A tool server made of a script, which lists these tools and answers each call with this result.
fn scripted(folder: &TempDir, name: &str, tools: &Value, result: &Value) -> Value {
    let script = folder.path().join(format!("{name}.py"));
    let text = format!(
        r#"
import json, sys
tools, result = json.loads({tools}), json.loads({result})
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {{"tools/list": {{"tools": tools}}, "tools/call": result}}.get(message["method"])
    if message["method"] == "initialize":
        answer = {{"protocolVersion": message["params"]["protocolVersion"], "capabilities": {{"tools": {{}}}},
                  "serverInfo": {{"name": "scripted", "version": "1"}}}}
    print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": answer or {{}}}}), flush=True)
"#,
        // A string of JSON is one of Python.
        tools = json!(tools.to_string()),
        result = json!(result.to_string()),
    );
    std::fs::write(&script, text).expect("written");
    json!({"transport": "mcp_stdio", "command": "python3", "args": [script]})
}

/// A client of a server that shows tools so, after its greeting.
fn greeted(folder: TempDir, upstreams: &Value, flags: &[&str], is_modern: bool) -> Client {
    let mut client = Client::of(folder, upstreams, flags, is_modern);
    client.greet();
    client
}

/// All tools, and how many pages they took.
fn listed(client: &mut Client) -> (Vec<Value>, usize) {
    client.pages("tools/list", "tools")
}

/// The same once there are `count`: an answer waits a second for upstreams, and some need longer on a busy machine.
fn all_listed(client: &mut Client, count: usize) -> (Vec<Value>, usize) {
    let mut all = Default::default();
    wait_until(&format!("{count} tools are listed"), || {
        all = listed(client);
        all.0.len() == count
    });
    all
}

/// Holds that the log has a text so often, once its lines are written.
fn is_told(home: &Path, text: &str, times: usize) {
    let log = || std::fs::read_to_string(home.join("log")).expect("a log");
    wait_until(text, || log().matches(text).count() >= times);
    assert_eq!(log().matches(text).count(), times, "{}", log());
}

fn names(tools: &[Value]) -> Vec<&str> {
    super::names(tools, "name")
}

fn tool<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools
        .iter()
        .find(|tool| tool["name"] == name)
        .unwrap_or_else(|| panic!("no {name} among {:?}", names(tools)))
}

#[test]
fn tools_are_listed_as_their_upstreams_describe_them() {
    let folder = folder();
    let described = json!({"name": "look", "title": "Look", "description": "Looks\u{202e}.",
        "inputSchema": {"type": "object", "properties": {"at": {"type": "string", "format": "uri"}}, "anyOf": [{"required": ["at"]}]},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
        "annotations": {"readOnlyHint": true, "somethingElse": 1}});
    let odd = json!({"name": "get.all", "description": "d", "inputSchema": {"properties": {}}});
    let bad = json!({"name": "bad", "inputSchema": {"type": "array"}});
    let upstream = scripted(&folder, "s", &json!([described, odd, bad]), &json!({}));
    let upstreams = json!({"s": upstream, "a": fake(&["--rows"])});
    let mut client =
        greeted(folder, &upstreams, &["--expose", "tools=s/*,a__picture", "--expose", "prompts"], false);
    let (tools, pages) = all_listed(&mut client, 4);
    assert_eq!(
        (names(&tools), pages),
        (vec!["lisp_eval", "a__picture", "s__get_all_90a78261", "s__look"], 1)
    );
    let look = tool(&tools, "s__look");
    assert_eq!((&look["title"], &look["annotations"]), (&json!("Look"), &described["annotations"]));
    assert_eq!(
        (&look["inputSchema"], &look["outputSchema"]),
        (&described["inputSchema"], &described["outputSchema"])
    );
    assert!(!look["description"].as_str().unwrap().contains('\u{202e}'), "{look}");
    let odd = tool(&tools, "s__get_all_90a78261");
    assert_eq!(
        (&odd["inputSchema"]["type"], &odd["_meta"]["ptc/tool"]),
        (&json!("object"), &json!("s/get.all"))
    );
    assert!(odd.get("title").is_none() && odd.get("annotations").is_none(), "{odd}");
    // What the client has as tools is not described to it twice.
    let card = tool(&tools, "lisp_eval")["description"].as_str().unwrap().to_owned();
    assert!(card.contains("Your tools SERVER__TOOL") && !card.contains("get.all"), "{card}");
    assert!(card.contains("echo"), "{card}");
    let doc = client.call("lisp_eval", &json!({"program": r#"(doc "s/get.all")"#}));
    assert!(doc["content"][0]["text"].as_str().unwrap().contains("s__get_all_90a78261"), "{doc}");
}

#[test]
fn a_client_that_takes_less_of_schemas_gets_an_adapted_one() {
    let folder = folder();
    let schema = json!({"type": "object", "properties": {"at": {"$ref": "#/$defs/at"}}, "$defs": {"at": {"type": "string"}},
        "anyOf": [{"required": ["at"]}]});
    let upstream = scripted(&folder, "s", &json!([{"name": "look", "inputSchema": schema}]), &json!({}));
    let flags = ["--expose", "tools", "--expose-only"];
    let mut client = Client::named("gemini-cli-mcp-client", folder, &json!({"s": upstream}), &flags, true);
    let (tools, _) = all_listed(&mut client, 1);
    let look = tool(&tools, "s__look");
    let adapted = json!({"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]});
    assert_eq!(look["inputSchema"], adapted);
    assert_eq!(look["_meta"]["ptc/inputSchema"], schema);
}

#[test]
fn what_schemas_hide_is_seen_and_the_tool_is_called_by_its_own_names() {
    let folder = folder();
    let properties = json!({"na\u{200b}me": {"type": "string", "description": "x\u{202e}y"}, "filter[id]": {"enum": ["a\u{feff}", "b"]},
        "plain": {"title": "t\u{e0041}"}});
    let schema = json!({"type": "object", "properties": properties, "required": ["na\u{200b}me"], "additionalProperties": false});
    let tool = json!({"name": "look", "inputSchema": schema, "annotations": {"title": "a\u{200b}b"},
        "outputSchema": {"type": "object", "properties": {"p": {"pattern": "(?i)a", "description": "\u{200b}"}}}});
    let upstream =
        scripted(&folder, "s", &json!([tool]), &json!({"content": null, "structuredContent": {"p": "A"}}));
    let flags = ["--expose", "tools", "--expose-only"];
    let mut client = Client::named("claude-code", folder, &json!({"s": upstream}), &flags, true);
    let (tools, _) = all_listed(&mut client, 1);
    let look = self::tool(&tools, "s__look");
    let hidden = ["\u{200b}", "\u{202e}", "\u{feff}", "\u{e0041}"];
    // What a client reads, after its parser has undone the escapes of JSON.
    fn texts<'v>(value: &'v Value, all: &mut Vec<&'v str>) {
        match value {
            Value::String(text) => all.push(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
            Value::Object(members) => members.iter().for_each(|(name, value)| {
                all.push(name);
                texts(value, all);
            }),
            _ => {}
        }
    }
    let mut all = Vec::new();
    texts(look, &mut all);
    assert!(!all.iter().any(|text| hidden.iter().any(|hidden| text.contains(hidden))), "{look}");
    assert_eq!(look["inputSchema"]["properties"], json!({"plain": {"title": "t\\udb40\\udc41"}}));
    let told = look["inputSchema"]["description"].as_str().unwrap();
    assert!(
        told.contains(r#""na\u200bme" (string, required): x\u202ey"#) && told.contains(r#""filter[id]""#),
        "{told}"
    );
    assert_eq!(look["outputSchema"]["properties"], json!({"p": {"description": "\\u200b"}}));
    let answer = client.call("s__look", &json!({"na\u{200b}me": "x", "filter[id]": "a\u{feff}"}));
    let text: Value = serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).expect("JSON");
    assert_eq!((&answer["isError"], text), (&json!(false), json!({"p": "A"})), "{answer}");
}

#[test]
fn results_pass_unchanged_and_failures_are_told() {
    for is_modern in [false, true] {
        let flags = ["--expose", "tools", "--expose-only"];
        let mut client = greeted(folder(), &json!({"a": fake(&["--rows"])}), &flags, is_modern);
        assert!(!names(&listed(&mut client).0).contains(&"lisp_eval"));
        let picture = client.call("a__picture", &json!({}));
        assert_eq!(picture["isError"], false);
        let blocks = json!([{"type": "text", "text": "A chart"},
            {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgouLi4u"}]);
        assert_eq!(picture["content"], blocks);
        let result = json!({"content": [{"type": "resource_link", "uri": "file:///x", "name": "x", "size": 7}],
            "structuredContent": {"total": 1.5}, "isError": false});
        let text = r#"{"content":[{"type":"resource_link","uri":"file:///x","name":"x","size":7}],"structuredContent":{"total":1.5}}"#;
        let answer = client.call("a__answer_record", &json!({"result": text}));
        for member in ["content", "structuredContent", "isError"] {
            assert_eq!(answer[member], result[member], "{answer}");
        }
        let failed = r#"{"content":[{"type":"text","text":"no such row"}],"isError":true,"structuredContent":{"code":7}}"#;
        let failed = client.call("a__answer", &json!({"result": failed}));
        assert_eq!((&failed["isError"], &failed["structuredContent"]), (&json!(true), &json!({"code": 7})));
        assert_eq!(failed["content"][0]["text"], "no such row");
        let echoed = client.call("a__echo", &json!({"a/b": [1, {"": null}], "wait_ms": "mine"}));
        assert_eq!(echoed["content"][0]["text"], r#"{"a/b":[1,{"":null}],"wait_ms":"mine"}"#);
        for (tool, arguments, text) in [
            ("a__echo", json!([1]), "arguments must be an object, got array"),
            ("a__die", json!({}), "upstream_unavailable: "),
        ] {
            let failed = client.call(tool, &arguments);
            assert_eq!(failed["isError"], true, "{failed}");
            assert!(failed["content"][0]["text"].as_str().unwrap().contains(text), "{failed}");
        }
        let unknown = client.ask("tools/call", json!({"name": "a__nothing", "arguments": {}}));
        assert!(unknown.to_string().to_lowercase().contains("unknown tool: a__nothing"), "{unknown}");
    }
}

#[test]
fn a_person_allows_calls_in_both_eras_and_the_record_names_the_tool() {
    for is_modern in [false, true] {
        let folder = folder();
        let audit = folder.path().join("audit.jsonl");
        let mut entry = fake(&[]);
        entry["approve_tools"] = json!(["echo"]);
        let flags = ["--expose", "tools", "--expose-only", "--audit-log", audit.to_str().unwrap()];
        let mut client = greeted(folder, &json!({"a": entry}), &flags, is_modern);
        client.says = vec!["accept"];
        let allowed = client.call("a__echo", &json!({"x": 1}));
        assert_eq!(allowed["content"][0]["text"], r#"{"x":1}"#, "{allowed}");
        client.says = vec!["decline"];
        let declined = client.call("a__echo", &json!({"x": 2}));
        assert_eq!(declined["isError"], true, "{declined}");
        assert!(declined["content"][0]["text"].as_str().unwrap().starts_with("declined: "), "{declined}");
        assert!(client.says.is_empty(), "each was asked");
        let count = |lines: &str, kind: &str, tool: &str| {
            let lines = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
            lines.filter(|line: &Value| line["kind"] == kind && line["tool"] == tool).count()
        };
        // They are written in the background.
        let mut lines = String::new();
        wait_until("the calls have lines", || {
            lines = std::fs::read_to_string(&audit).expect("a log");
            let whole = lines.rfind('\n').map_or("", |end| &lines[..end]);
            // In the modern era the request that is answered with a question is one, too.
            let requests = if is_modern { 4 } else { 2 };
            (count(whole, "upstream_call", "echo"), count(whole, "tool_call", "a__echo")) == (2, requests)
        });
        assert!(!lines.contains("tool/call"), "{lines}");
    }
}

#[test]
fn progress_and_cancellation_reach_the_upstream() {
    let mut client = greeted(folder(), &json!({"a": fake(&[])}), &["--expose", "tools"], false);
    let id = client.send(
        "tools/call",
        json!({"name": "a__talk", "arguments": {"say": "x", "ms": 300}, "_meta": {"progressToken": "p"}}),
    );
    client.answer(id);
    assert!(client.heard.iter().any(|told| told["method"] == "notifications/progress"), "{:?}", client.heard);
    let hangs = client.send("tools/call", json!({"name": "a__hang", "arguments": {}}));
    client.write(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": hangs}}),
    );
    // The upstream still answers, and the call that was cancelled has no answer.
    assert_eq!(client.call("a__echo", &json!({}))["isError"], false);
    assert!(!client.heard.iter().any(|told| told["id"] == hangs), "{:?}", client.heard);
}

#[test]
fn many_tools_are_listed_in_pages_and_wrong_cursors_refused() {
    let folder = folder();
    let tools = |count: usize| -> Value {
        (0..count).map(|at| json!({"name": format!("t{at:04}"), "description": "d".repeat(100), "inputSchema": {"type": "object"}})).collect()
    };
    let (a, b) =
        (scripted(&folder, "a", &tools(2000), &json!({})), scripted(&folder, "b", &tools(2001), &json!({})));
    let mut client = greeted(folder, &json!({"a": a, "b": b}), &["--expose", "tools"], false);
    let (tools, pages) = all_listed(&mut client, 4001);
    assert_eq!(pages, 21);
    let distinct: BTreeSet<&str> = names(&tools).into_iter().collect();
    assert_eq!(distinct.len(), 4001);
    assert!(!distinct.contains("b__t2000"), "the one that is too many");
    for cursor in [json!("x"), json!(7)] {
        let refused = client.ask("tools/list", json!({"cursor": cursor}));
        assert_eq!(refused["error"], json!({"code": -32602, "message": "Invalid params: unknown cursor"}));
    }
    for tool in (0..2000).map(|at| format!("a__t{at:04}")) {
        assert_eq!(client.call(&tool, &json!({}))["isError"], false, "{tool}");
    }
    assert_eq!(client.call("b__t1999", &json!({}))["isError"], false);
    let unknown = client.ask("tools/call", json!({"name": "b__t2000", "arguments": {}}));
    assert!(!unknown["error"].is_null() || unknown["result"]["isError"] == true, "{unknown}");
}

#[test]
fn no_tool_can_be_named_as_what_another_one_becomes() {
    let folder = folder();
    // The second server has a tool whose own name is what the digest makes of the other one's.
    let weird = json!([{"name": "c", "inputSchema": {"type": "object"}}]);
    let name = "b__c_a92700ce";
    let forged = json!([{"name": name, "inputSchema": {"type": "object"}}, {"name": "fine", "inputSchema": {"type": "object"}}]);
    let (a, ab) = (scripted(&folder, "a", &forged, &json!({})), scripted(&folder, "ab", &weird, &json!({})));
    let mut client =
        greeted(folder, &json!({"a": a, "a__b": ab}), &["--expose", "tools", "--expose-only"], false);
    let (tools, _) = all_listed(&mut client, 3);
    let meant: BTreeSet<&str> =
        tools.iter().map(|tool| tool["_meta"]["ptc/tool"].as_str().expect("a reference")).collect();
    assert_eq!(meant, BTreeSet::from(["a/b__c_a92700ce", "a/fine", "a__b/c"]));
    assert_eq!(names(&tools).into_iter().collect::<BTreeSet<_>>().len(), 3);
    for name in names(&tools) {
        assert_eq!(client.call(name, &json!({}))["isError"], false, "{name}");
    }
}

/// A tool whose name is cut: `number` is behind what stays.
fn cut_name(beginning: &str, number: u32) -> String {
    format!("{beginning}{}{number}", "t".repeat(60))
}

fn described(name: &str) -> Value {
    json!({"name": name, "description": "D.", "inputSchema": {"type": "object"}})
}

/// What the command says of these upstreams.
fn command(home: &Path, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(arguments).arg("--upstreams-config").arg(home.join("upstreams.json"));
    let output = command.env_clear().env("HOME", home).env("PATH", path).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8")).into()
}

#[test]
fn two_tools_of_one_upstream_with_one_name_are_tools_of_programs_only() {
    // The digests of both are e6e4a856.
    let (one, other) = (cut_name("", 26223), cut_name("", 53406));
    for tools in [[&*one, &*other, "fine"], ["fine", &*other, &*one]] {
        let folder = folder();
        let home = folder.path().to_owned();
        let log = std::fs::File::create(home.join("log")).expect("a file");
        let listing: Vec<Value> = tools.iter().map(|name| described(name)).collect();
        let upstream = scripted(&folder, "a", &json!(listing), &json!({"content": []}));
        let mut client = Client::logging(
            log,
            folder,
            &json!({"a": upstream}),
            &["--expose", "tools", "--log-level", "warn"],
        );
        client.greet();
        let (all, _) = all_listed(&mut client, 2);
        assert_eq!(names(&all), ["lisp_eval", "a__fine"]);
        let catalog = all[0].to_string();
        assert!(catalog.contains(&one) && catalog.contains(&other), "{catalog}");
        for name in [&one, &other] {
            let program = format!(r#"(:ok (tool/call {{:server "a" :tool "{name}"}}))"#);
            let value = client.call("lisp_eval", &json!({"program": program}));
            assert!(value.to_string().contains("true"), "{value}");
            let doc =
                client.call("lisp_eval", &json!({"program": format!("(doc \"a/{name}\")")})).to_string();
            assert!(!doc.contains("Also a tool of its own"), "{doc}");
        }
        let unknown = client.call(&format!("a__{}_e6e4a856", "t".repeat(52)), &json!({}));
        assert_eq!(unknown["isError"], true, "{unknown}");
        let why = "another tool of this upstream would have its name, a__";
        is_told(&home, why, 2);
        assert!(command(&home, &["check", "--expose", "tools"]).0.contains(why));
        assert!(!command(&home, &["check"]).0.contains(why), "nothing is exposed");
        let (shown, _) = command(&home, &["tools", &format!("a/{one}")]);
        assert!(shown.contains(&format!("As a tool of its own (--expose tools): none: {why}")), "{shown}");
    }
}

#[test]
fn tools_of_two_upstreams_with_one_name_are_tools_of_programs_only() {
    // The digests of both are 02593d98.
    let (one, other) = (cut_name("_", 274_653), cut_name("", 796));
    let folder = folder();
    let home = folder.path().to_owned();
    let log = std::fs::File::create(home.join("log")).expect("a file");
    let a = scripted(&folder, "one", &json!([described(&one), described("fine")]), &json!({"content": []}));
    let b = scripted(&folder, "two", &json!([described(&other)]), &json!({"content": []}));
    let upstreams = json!({"a": a, "a_": b});
    let mut client = Client::logging(log, folder, &upstreams, &["--expose", "tools", "--log-level", "warn"]);
    client.greet();
    for _ in 0..3 {
        let (all, _) = all_listed(&mut client, 2);
        assert_eq!(names(&all), ["lisp_eval", "a__fine"]);
        let catalog = all[0].to_string();
        assert!(catalog.contains(&one) && catalog.contains(&other), "{catalog}");
    }
    for (server, tool) in [("a", &one), ("a_", &other)] {
        let program = format!(r#"(:ok (tool/call {{:server "{server}" :tool "{tool}"}}))"#);
        assert!(client.call("lisp_eval", &json!({"program": program})).to_string().contains("true"));
    }
    let why = "a tool of another upstream would have its name, a___";
    is_told(&home, why, 2);
    assert!(command(&home, &["check", "--expose", "tools"]).0.contains(why));
    let (shown, _) = command(&home, &["tools", "--json", "--expose", "tools=a*/*"]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let of = |name: &str| {
        shown.as_array().expect("a list").iter().find(|tool| tool["tool"] == name).expect("it").clone()
    };
    assert_eq!(of("fine")["exposedAs"], "a__fine");
    assert!(
        of(&other)["exposedAs"].is_null() && of(&other)["notExposed"].as_str().expect("why").contains(why)
    );
}

#[test]
fn tools_that_clients_do_not_have_are_told_by_the_commands() {
    let folder = folder();
    let home = folder.path().to_owned();
    let odd = json!({"name": "odd", "inputSchema": {"type": "array"}});
    let a = scripted(&folder, "a", &json!([described("get"), odd]), &json!({}));
    let many: Vec<Value> = (0..2001).map(|at| described(&format!("t{at}"))).collect();
    let b = scripted(&folder, "b", &json!(&many[..2000]), &json!({}));
    let c = scripted(&folder, "c", &json!(many), &json!({}));
    std::fs::write(home.join("upstreams.json"), json!({"upstreams": {"a": a, "b": b, "c": c}}).to_string())
        .expect("written");
    let tool_line = "As a tool of its own (--expose tools): ";
    for (name, shown) in [("get", "a__get"), ("odd", "none: its input schema is not that of an object")] {
        let (text, _) = command(&home, &["tools", &format!("a/{name}")]);
        assert!(text.contains(&format!("{tool_line}{shown}\n")), "{text}");
    }
    let patterns = ["--expose", "tools=a/g*,a/set,b__t7", "--expose", "c/nothing*"];
    let (text, told) = command(&home, &[&["tools", "a/odd"][..], &patterns].concat());
    assert!(text.contains(&format!("{tool_line}none: no pattern of --expose fits it")), "{text}");
    assert_eq!(
        told, "ptc: --expose tools=a/set fits no tool of the upstreams\n",
        "others are not listed for it"
    );
    let (checked, _) = command(&home, &[&["check"][..], &patterns].concat());
    for pattern in ["a/set", "c/nothing*"] {
        assert!(checked.contains(&format!("--expose tools={pattern} fits no tool")), "{checked}");
    }
    assert_eq!(checked.matches("fits no tool of the upstreams").count(), 2, "{checked}");
    // A list that is as long as one may be is no fault.
    let too_long = "lists more than 2000 tools; those from number 2001 on are left out";
    assert!(checked.contains(&format!("upstream c {too_long}")), "{checked}");
    assert_eq!(checked.matches(too_long).count(), 1, "{checked}");
}

#[test]
fn patterns_that_fit_no_tool_are_told_at_the_start_and_calls_name_no_programs() {
    let folder = folder();
    let home = folder.path().to_owned();
    let log = std::fs::File::create(home.join("log")).expect("a file");
    let needs = json!({"name": "needs", "inputSchema": {"type": "object", "properties": {"x": {}}, "required": ["x"]}});
    let a = scripted(&folder, "a", &json!([needs]), &json!({}));
    let policy = home.join("policy.json");
    let rules = json!({"rules": [{"match": {"principal": "process"}, "upstreams": {"a": {"allow": ["*"],
        "args": {"needs": {"x": {"in": ["1"]}}, "creat*": {"x": {"in": ["1"]}}}}}}]});
    std::fs::write(&policy, rules.to_string()).expect("written");
    let flags = [
        "--expose",
        "tools=a/*,a/set,b/*",
        "--expose-only",
        "--log-level",
        "warn",
        "--policy",
        policy.to_str().expect("UTF-8"),
    ];
    let mut client = Client::logging(log, folder, &json!({"a": a}), &flags);
    let greeting = client.greet().to_string();
    assert!(!greeting.contains("lisp_eval") && !greeting.contains("(doc"), "{greeting}");
    assert_eq!(names(&all_listed(&mut client, 1).0), ["a__needs"]);
    let refused = client.call("a__needs", &json!({})).to_string();
    assert!(refused.contains("Missing required arg") && !refused.contains("(doc"), "{refused}");
    for pattern in ["a/set", "b/*"] {
        is_told(&home, &format!("--expose tools={pattern} fits no tool of the upstreams"), 1);
    }
    is_told(&home, "expose_names_no_tool", 2);
    is_told(
        &home,
        "the policy has rules on the arguments of 'creat*' of 'a', and no tool there has that name",
        1,
    );
    is_told(&home, "policy_names_no_tool", 1);
}

#[test]
fn a_changed_list_is_told_to_the_client() {
    let folder = folder();
    let grown = folder.path().join("grown");
    let upstream = fake(&[grown.to_str().expect("UTF-8")]);
    let flags = ["--expose", "tools", "--expose-only", "--catalog-snapshot-mode", "background"];
    let mut client = greeted(folder, &json!({"a": upstream}), &flags, false);
    while names(&listed(&mut client).0).is_empty() {}
    assert!(!names(&listed(&mut client).0).contains(&"a__fresh"));
    std::fs::write(&grown, "").expect("a file");
    client.call("a__announce", &json!({}));
    while !names(&listed(&mut client).0).contains(&"a__fresh") {}
    let told = |client: &Client| {
        client.heard.iter().filter(|told| told["method"] == "notifications/tools/list_changed").count()
    };
    while told(&client) == 0 {
        client.ask("ping", json!({}));
    }
    assert_eq!(client.call("a__fresh", &json!({}))["isError"], false);
    // The list is the same from now on, whatever the upstream says.
    let before = told(&client);
    for _ in 0..20 {
        client.call("a__announce", &json!({}));
    }
    assert!(told(&client) <= before + 1, "{:?}", client.heard);
}

#[test]
fn tools_that_nobody_accepted_are_not_listed_and_their_calls_say_why() {
    let folder = folder();
    let (home, grown) = (folder.path().to_owned(), folder.path().join("grown"));
    let mut entry = fake(&[grown.to_str().expect("UTF-8")]);
    entry["pin"] = json!("refuse");
    let upstreams = json!({"fake": entry});
    let config = home.join("upstreams.json");
    std::fs::write(&config, json!({"upstreams": upstreams}).to_string()).expect("written");
    let ptc = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
        let output = command.args(arguments).env_clear().env("HOME", &home).output().expect("it runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    let pin = ["pin", "--upstreams-config", config.to_str().expect("UTF-8")];
    ptc(&pin);
    let flags = ["--expose", "tools", "--expose-only", "--catalog-snapshot-mode", "live"];
    let mut client = greeted(folder, &upstreams, &flags, false);
    let has_echo = |client: &mut Client| names(&listed(client).0).contains(&"fake__echo");
    wait_until("the tools are listed", || has_echo(&mut client));
    assert_eq!(client.call("fake__echo", &json!({"y": "1"}))["isError"], false);

    // What it lists by now differs from what was accepted.
    std::fs::write(&grown, "").expect("written");
    client.call("fake__announce", &json!({}));
    wait_until("the change is known", || !has_echo(&mut client));
    let is_told = |client: &mut Client| {
        let heard = std::mem::take(&mut client.heard);
        heard.iter().any(|message| message["method"] == "notifications/tools/list_changed")
    };
    wait_until("the client is told", || {
        listed(&mut client);
        is_told(&mut client)
    });
    for tool in ["echo", "fresh"] {
        let refused = client.call(&format!("fake__{tool}"), &json!({"y": "1"}));
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(&format!("tool 'fake.{tool}' is not accepted: ")), "{text}");
        assert!(text.contains("accepts it with `ptc pin fake`"), "{text}");
    }

    ptc(&pin);
    ptc(&["reload"]);
    wait_until("what was accepted is listed", || has_echo(&mut client));
    wait_until("the client is told", || {
        listed(&mut client);
        is_told(&mut client)
    });
    assert!(names(&listed(&mut client).0).contains(&"fake__fresh"));
    assert_eq!(client.call("fake__echo", &json!({"y": "1"}))["isError"], false);
}
