//! `--expose tools` for callers with rights of their own, over HTTP in both eras (server.md 4.8, auth.md 14.3).

use ptc_mcp::json::{Value, json};
use ptc_test_support::process::{Answer, Http};
use ptc_test_support::wait_until;
use tempfile::TempDir;

use crate::callers::{ask, launched, of_kind, token};

/// Every caller may call one tool of its own, and a tool of both.
fn server(folder: &TempDir) -> Http {
    let rule = |who: &str, own: &str| {
        json!({"match": {"principal": who}, "upstreams": {"fake": {"allow": [own, "echo"]}},
               "limits": {"calls_per_minute": 3}})
    };
    let policy = json!({"rules": [rule("ann", "answer_record"), rule("bob", "gather")]});
    let files = [
        ("--http-auth-token-file", "tokens", format!("ann:{}\nbob:{}\n", token("a"), token("b"))),
        ("--policy", "policy.json", policy.to_string()),
        ("--http-operator-token-file", "operators", format!("olga:{}\n", token("o"))),
    ];
    let audit = folder.path().join("audit").to_str().expect("UTF-8").to_owned();
    let flags = ["--expose", "tools", "--expose-only", "--audit-log", &audit];
    let flags = flags.map(str::to_owned).to_vec();
    launched(folder.path(), flags, files)
}

/// What a caller asks in the era of the handshake.
fn ask_as_before(http: &Http, letter: &str, method: &str, params: &Value) -> Answer {
    let headers = format!(
        "Authorization: Bearer {}\r\nMCP-Protocol-Version: 2025-11-25\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n",
        token(letter)
    );
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    http.post(&headers, message.to_string().as_bytes())
}

fn names(list: &Answer) -> Vec<String> {
    let message = list.json();
    let tools = message["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list:?}"));
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn callers_see_and_call_the_tools_that_are_theirs_in_both_eras() {
    let folder = tempfile::tempdir().expect("a folder");
    let http = server(&folder);
    let callers =
        [("a", "fake__answer_record", "fake__gather"), ("b", "fake__gather", "fake__answer_record")];
    for (letter, own, foreign) in callers {
        wait_until("the upstream is listed", || {
            names(&ask(&http, letter, "tools/list", json!({}))).len() == 2
        });
        let before = |method: &str, params: &Value| ask_as_before(&http, letter, method, params);
        let of_both: Vec<Vec<String>> = vec![
            names(&before("tools/list", &json!({}))),
            names(&ask(&http, letter, "tools/list", json!({}))),
        ];
        for names in of_both {
            assert_eq!(names.len(), 2, "{names:?}");
            assert!(
                names.iter().any(|name| name == own) && names.iter().any(|name| name == "fake__echo"),
                "{names:?}"
            );
        }
        let answer = r#"{"content": [], "structuredContent": {"result": 1}}"#;
        let call = |name: &str| json!({"name": name, "arguments": {"result": answer}});
        // A foreign tool is not told from one that does not exist.
        let absent = "x".repeat(foreign.len());
        for asks in
            [&(|name: &str| before("tools/call", &call(name))) as &dyn Fn(&str) -> Answer, &|name: &str| {
                ask(&http, letter, "tools/call", call(name))
            }]
        {
            let told = asks(foreign).body;
            assert!(told.to_lowercase().contains(&format!("unknown tool: {foreign}")), "{told}");
            assert_eq!(told.replace(foreign, &absent), asks(&absent).body);
        }
        for answer in [before("tools/call", &call(own)), ask(&http, letter, "tools/call", call(own))] {
            assert_eq!(
                (answer.status, &answer.json()["result"]["isError"]),
                (200, &json!(false)),
                "{answer:?}"
            );
        }
    }
    // The third call of a minute is a caller's last, whichever era it is of.
    let echo = || json!({"name": "fake__echo", "arguments": {"n": 1}});
    assert_eq!(ask(&http, "a", "tools/call", echo()).json()["result"]["isError"], false);
    let refused = ask(&http, "a", "tools/call", echo());
    assert!(refused.body.contains("this caller may make 3 upstream calls a minute"), "{refused:?}");
    assert_eq!(ask(&http, "b", "tools/call", echo()).json()["result"]["isError"], false);
    drop(http);
    let audit = folder.path().join("audit");
    let denied: Vec<_> = of_kind(&audit, "denied")
        .iter()
        .map(|line| json!([line["principal"], line["upstream"], line["tool"], line["reason"]]))
        .collect();
    let of = |principal: &str, tool: &str| json!([principal, "fake", tool, "tool_hidden"]);
    let mut wanted = vec![of("ann", "gather"); 2];
    wanted.extend(vec![of("bob", "answer_record"); 2]);
    wanted.push(json!(["ann", "fake", "echo", "quota"]));
    assert_eq!(denied, wanted);
    let unknown = of_kind(&audit, "tool_call").into_iter().filter(|line| line["outcome"] == "unknown_tool");
    let unknown: Vec<_> =
        unknown.map(|line| json!([line["principal"], line["channel"], line["tool"]])).collect();
    let of = |principal: &str, length: usize| json!([principal, "http", "x".repeat(length)]);
    let (ann, bob) = (of("ann", "fake__gather".len()), of("bob", "fake__answer_record".len()));
    assert_eq!(unknown, [ann.clone(), ann, bob.clone(), bob]);
    let calls = of_kind(&folder.path().join("audit"), "upstream_call");
    let made = calls.iter().filter(|call| call["outcome"] == "ok").map(|call| {
        format!(
            "{} {}",
            call["principal"].as_str().unwrap_or_default(),
            call["tool"].as_str().unwrap_or_default()
        )
    });
    let mut made: Vec<String> = made.collect();
    made.sort();
    assert_eq!(
        made,
        ["ann answer_record", "ann answer_record", "ann echo", "bob echo", "bob gather", "bob gather"],
        "{calls:?}"
    );
}
