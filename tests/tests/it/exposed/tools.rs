//! `--expose tools`: clients call the tools of upstreams as tools, through the binary, in both eras (server.md 4.8).

use super::{Client, fake, folder};
use ptc_mcp::json::{Value, json};
use ptc_test_support::wait_until;
use std::collections::BTreeSet;
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
    let (tools, pages) = listed(&mut client);
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
    let (tools, _) = listed(&mut client);
    let look = tool(&tools, "s__look");
    assert_eq!(look["inputSchema"], json!({"type": "object", "properties": {"at": {"type": "string"}}}));
    assert_eq!(look["_meta"]["ptc/inputSchema"], schema);
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
    let (tools, pages) = listed(&mut client);
    assert_eq!((tools.len(), pages), (4001, 21));
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
fn two_tools_of_one_name_are_both_left_out() {
    let folder = folder();
    // The second server has a tool whose own name is what the digest makes of the other one's.
    let weird = json!([{"name": "c", "inputSchema": {"type": "object"}}]);
    let name = "b__c_a92700ce";
    let forged = json!([{"name": name, "inputSchema": {"type": "object"}}, {"name": "fine", "inputSchema": {"type": "object"}}]);
    let (a, ab) = (scripted(&folder, "a", &forged, &json!({})), scripted(&folder, "ab", &weird, &json!({})));
    let mut client =
        greeted(folder, &json!({"a": a, "a__b": ab}), &["--expose", "tools", "--expose-only"], false);
    assert_eq!(names(&listed(&mut client).0), ["a__fine"]);
    assert_eq!(client.call(&format!("a__{name}"), &json!({}))["isError"], true);
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
