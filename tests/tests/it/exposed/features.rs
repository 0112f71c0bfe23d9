//! `--expose`: clients reach the resources, prompts and completions of two upstreams, through the binary, in both eras
//! (server.md 4.6); and an image that a program attaches reaches the client.

use super::{Client, fake, folder, names};
use ptc_mcp::json::{Value, json};
use ptc_test_support::wait_until;
use std::time::Duration;

/// One that hides some of what it has.
fn filtered() -> Value {
    let mut entry = fake(&[]);
    entry["deny_resources"] = json!(["secret:*"]);
    entry["allow_prompts"] = json!([]);
    entry
}

fn start(flags: &[&str], is_modern: bool) -> Client {
    Client::of(folder(), &json!({"a": fake(&[]), "b c": filtered()}), flags, is_modern)
}

/// All items of a list.
fn all(client: &mut Client, method: &str, member: &str) -> Vec<Value> {
    client.pages(method, member).0
}

/// Runs a program that calls a tool of an upstream, and gives the text of its answer.
fn tool(client: &mut Client, server: &str, tool: &str, uri: &str) -> String {
    let program =
        format!("(:value (tool/call {{:server \"{server}\" :tool \"{tool}\" :args {{:uri \"{uri}\"}}}}))");
    let answer = client.ask("tools/call", json!({"name": "lisp_eval", "arguments": {"program": program}}));
    let text = answer["result"]["content"][0]["text"].as_str().expect("text");
    text.trim_start_matches("user=> ").to_owned()
}

#[test]
fn clients_reach_what_upstreams_have_in_both_eras() {
    for modern in [false, true] {
        let mut client = start(&["--expose", "resources,prompts"], modern);
        let greeting = client.greet();
        let capabilities = &greeting["result"]["capabilities"];
        for feature in ["resources", "prompts", "completions"] {
            assert!(capabilities[feature].is_object(), "{greeting}");
        }
        let resources = all(&mut client, "resources/list", "resources");
        assert_eq!(
            names(&resources, "uri"),
            [
                "ptc://a/text:[1]",
                "ptc://a/gone:",
                "ptc://a/secret:key",
                "ptc://a/blob:3",
                "ptc://b%20c/text:[1]",
                "ptc://b%20c/gone:",
                "ptc://b%20c/blob:3"
            ]
        );
        assert_eq!(resources[4]["name"], "b c/text:[1]");
        let templates = all(&mut client, "resources/templates/list", "resourceTemplates");
        assert_eq!(names(&templates, "uriTemplate"), ["ptc://a/text:{text}", "ptc://b%20c/text:{text}"]);
        let prompts = all(&mut client, "prompts/list", "prompts");
        assert_eq!(names(&prompts, "name"), ["a/greet"]);
        assert_eq!(prompts[0]["arguments"][0]["name"], "name");

        let read = client.ask("resources/read", json!({"uri": "ptc://b%20c/text:hello"}));
        assert_eq!(read["result"]["contents"], json!([{"uri": "ptc://b%20c/text:hello", "text": "hello"}]));
        assert_eq!(read["result"].get("resultType").is_some(), modern, "{read}");
        let blob = client.ask("resources/read", json!({"uri": "ptc://a/blob:3"}));
        assert_eq!(blob["result"]["contents"][0]["blob"], "AAAA");

        let prompt = client.ask("prompts/get", json!({"name": "a/greet", "arguments": {"name": "Ada"}}));
        assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Greet \"Ada\".");
        let asked = json!({"ref": {"type": "ref/prompt", "name": "a/greet"},
            "argument": {"name": "name", "value": "Al"}, "context": {"arguments": {"town": "Ur"}}});
        let completion = client.ask("completion/complete", asked);
        assert_eq!(completion["result"]["completion"], json!({"values": ["Alan of Ur"], "hasMore": true}));
    }
}

#[test]
fn what_is_hidden_unknown_or_wrong_is_an_error() {
    let mut client = start(&["--expose", "resources", "--expose", "prompts"], false);
    client.greet();
    for (method, params, code, message) in [
        ("resources/read", json!({"uri": "file:///x"}), -32002, "Resource not found"),
        ("resources/read", json!({"uri": "ptc://a/"}), -32002, "Resource not found"),
        ("resources/read", json!({"uri": "ptc://a/gone:"}), -32000, "upstream 'a': Resource not found"),
        (
            "resources/read",
            json!({"uri": "ptc://b%20c/secret:key"}),
            -32000,
            "upstream 'b c': the configuration hides resource \"secret:key\" of upstream 'b c' \
             (allow_resources, deny_resources)",
        ),
        ("resources/read", json!({}), -32602, "Invalid params: uri must be a non-empty string"),
        ("resources/list", json!({"cursor": "x"}), -32602, "Invalid params: unknown cursor"),
        ("resources/list", json!({"cursor": "[\"z\",null]"}), -32602, "Invalid params: unknown cursor"),
        ("prompts/get", json!({"name": "z/greet"}), -32602, "Unknown prompt: z/greet"),
        (
            "prompts/get",
            json!({"name": "a/greet", "arguments": [1]}),
            -32602,
            "Invalid params: arguments must be an object",
        ),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/tool"}}),
            -32602,
            "Invalid params: ref must be a prompt or a resource that is offered",
        ),
        ("resources/subscribe", json!({"uri": 7}), -32602, "Invalid params: uri must be a non-empty string"),
    ] {
        let answer = client.ask(method, params);
        let error = &answer["error"];
        assert_eq!(
            (error["code"].as_i64(), error["message"].as_str()),
            (Some(code), Some(message)),
            "{answer}"
        );
    }
}

#[test]
fn requests_that_upstreams_are_not_sent_have_audit_lines() {
    let kept = folder();
    let log = kept.path().join("audit");
    let bare = fake(&["--only-tools"]);
    let gone = json!({"transport": "mcp_stdio", "command": "/nowhere/at/all", "required": false});
    let upstreams = json!({"bare": bare, "filtered": filtered(), "gone": gone});
    let flags = ["--expose", "resources,prompts", "--audit-log", log.to_str().expect("UTF-8")];
    let mut client = Client::of(folder(), &upstreams, &flags, false);
    client.greet();
    let complete = r#"(prompt/complete {:server "S" :name "p" :argument "a" :value "b"})"#;
    let mut wanted = Vec::new();
    for (server, form, method) in [
        ("bare", r#"(resource/list {:server "S"})"#, "resources/list"),
        ("bare", r#"(resource/templates {:server "S"})"#, "resources/templates/list"),
        ("bare", r#"(prompt/list {:server "S"})"#, "prompts/list"),
        ("bare", complete, "completion/complete"),
        ("filtered", complete, "completion/complete"),
        ("gone", complete, "completion/complete"),
        ("gone", r#"(resource/list {:server "S"})"#, "resources/list"),
    ] {
        let call = json!({"name": "lisp_eval", "arguments": {"program": form.replace('S', server)}});
        let answer = client.ask("tools/call", call);
        assert!(answer["result"]["isError"] != true, "{answer}");
        wanted.push((server.to_owned(), method.to_owned()));
    }
    let refused = client.ask("resources/read", json!({"uri": "ptc://filtered/secret:key"}));
    assert_eq!(refused["error"]["code"], -32000);
    wanted.push(("filtered".to_owned(), "resources/read".to_owned()));
    let lines = || -> Vec<Value> {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
        lines.filter(|line: &Value| line["kind"] == "upstream_call").collect()
    };
    wait_until("each request has its line", || lines().len() == wanted.len());
    for (line, (server, method)) in lines().iter().zip(&wanted) {
        assert_eq!((&line["upstream"], &line["tool"]), (&json!(server), &json!(method)));
        assert_ne!(line["outcome"], "ok", "{line}");
    }
}

#[test]
fn nothing_is_offered_unless_it_is_exposed() {
    let mut client = start(&["--expose", "prompts"], false);
    let greeting = client.greet();
    assert!(greeting["result"]["capabilities"].get("resources").is_none(), "{greeting}");
    assert_eq!(client.ask("resources/list", json!({}))["result"]["resources"], json!([]));
    assert_eq!(all(&mut client, "prompts/list", "prompts").len(), 1);
    let mut plain = start(&[], false);
    let greeting = plain.greet();
    let offered: Vec<&String> =
        greeting["result"]["capabilities"].as_object().expect("capabilities").keys().collect();
    assert_eq!(offered, ["tools", "logging"]);
    assert_eq!(plain.ask("resources/subscribe", json!({"uri": "ptc://a/x"}))["error"]["code"], -32601);
    assert_eq!(plain.ask("prompts/list", json!({}))["result"]["prompts"], json!([]));
    assert_eq!(plain.ask("prompts/get", json!({"name": "a/x"}))["error"]["code"], -32601);
}

#[test]
fn an_attached_image_reaches_the_client() {
    for modern in [false, true] {
        let mut client = start(&["--sessions"], modern);
        client.greet();
        let program = r#"(attach (:content (second (get-in (prompt/get {:server "a" :name "greet"}) [:value :messages]))))
                         (attach (:value (resource/read {:server "a" :uri "blob:5"}))) :done"#;
        let call = json!({"name": "lisp_eval", "arguments": {"program": program}});
        let answer = client.ask("tools/call", call);
        assert_eq!(
            answer["result"]["content"],
            json!([
                {"type": "text", "text": "user=> :done"},
                {"type": "image", "mimeType": "image/png", "data": "AAAA"},
                {"type": "resource", "resource": {"uri": "blob:5", "mimeType": "image/png", "blob": "AAAAAAA="}}
            ]),
            "{answer}"
        );
    }
}

#[test]
fn a_client_of_the_handshake_is_told_of_what_it_subscribed_to() {
    let mut client = start(&["--expose", "resources,prompts"], false);
    let greeting = client.greet();
    let told = json!({"subscribe": true, "listChanged": true});
    assert_eq!(greeting["result"]["capabilities"]["resources"], told);
    let uri = json!({"uri": "ptc://a/text:1"});
    assert_eq!(client.ask("resources/subscribe", uri.clone())["result"], json!({}));
    assert_eq!(tool(&mut client, "a", "touch", "text:1"), "[\"text:1\"]");
    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": uri});
    assert_eq!(client.told(), updated);
    // What nobody asked for, and another upstream's of the same name, is not told.
    tool(&mut client, "a", "touch", "text:2");
    tool(&mut client, "b c", "touch", "text:1");
    tool(&mut client, "a", "relist", "");
    for list in ["resources", "prompts"] {
        assert_eq!(client.told()["method"], format!("notifications/{list}/list_changed"));
    }
    assert_eq!(client.ask("resources/unsubscribe", uri)["result"], json!({}));
    assert_eq!(tool(&mut client, "a", "touch", "text:1"), "[]", "the upstream is not asked any more");
    // One that is hidden, one that is not there, one that is no URI of ours.
    let hidden = client.ask("resources/subscribe", json!({"uri": "ptc://b%20c/secret:x"}));
    assert!(hidden["error"]["message"].as_str().expect("refused").contains("hides"), "{hidden}");
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "text:1"}))["error"]["code"], -32002);
    // A server that was started anew is asked again, and what may have changed meanwhile is told.
    client.ask("resources/subscribe", json!({"uri": "ptc://a/text:3"}));
    tool(&mut client, "a", "die", "");
    let again = json!({"uri": "ptc://a/text:3"});
    wait_until("a change is told", || {
        // It is started again once it has rested for a while.
        client.steps.advance(Duration::from_secs(1));
        tool(&mut client, "a", "touch", "text:4");
        !client.heard.is_empty()
    });
    assert_eq!(client.told()["params"], again);
    assert_eq!(tool(&mut client, "a", "touch", "text:3"), "[\"text:3\"]");
}

#[test]
fn a_modern_client_listens() {
    let mut client = start(&["--expose", "resources,prompts"], true);
    client.greet();
    let wanted = json!({
        "resourceSubscriptions": ["ptc://a/text:1", "ptc://b%20c/secret:x", "nonsense"],
        "promptsListChanged": true, "toolsListChanged": true
    });
    let channel = client.send("subscriptions/listen", json!({"notifications": wanted}));
    let meta = json!({"io.modelcontextprotocol/subscriptionId": channel});
    let acknowledged = client.told();
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    let offered = json!({"resourceSubscriptions": ["ptc://a/text:1"], "promptsListChanged": true, "toolsListChanged": true});
    assert_eq!(acknowledged["params"], json!({"notifications": offered, "_meta": meta}));
    tool(&mut client, "a", "touch", "text:1");
    assert_eq!(client.told()["params"], json!({"uri": "ptc://a/text:1", "_meta": meta}));
    tool(&mut client, "a", "relist", "");
    let told = client.told();
    assert_eq!(
        (&told["method"], &told["params"]["_meta"]),
        (&json!("notifications/prompts/list_changed"), &meta)
    );
    assert_eq!(client.ask("resources/subscribe", json!({"uri": "ptc://a/text:1"}))["error"]["code"], -32601);
}
