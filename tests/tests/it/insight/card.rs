//! The forms that the description of `lisp_eval` shows a model are run against an upstream.

use ptc_host::credentials::Redactor;
use ptc_mcp::json::json;

use ptc_test_support::in_process::{Pipe, fake_upstream, service, settings};

/// The text of each form between parentheses, as it is written. What begins with a number is a remark: nobody calls one.
pub(super) fn forms(text: &str) -> Vec<&str> {
    let (mut found, mut depth, mut start, mut quoted) = (Vec::new(), 0, 0, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'(' if !quoted => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            b')' if !quoted => {
                depth -= 1;
                if depth == 0 && !text.as_bytes()[start + 1].is_ascii_digit() {
                    found.push(&text[start..=at]);
                }
            }
            _ => {}
        }
    }
    found
}

#[tokio::test]
async fn the_forms_of_the_description_work() {
    let redactor = Redactor::new();
    let upstream = fake_upstream(&redactor).await;
    let (service, _engine) = service(&settings(&["--response-profile", "debug"]), Some(&upstream), &redactor);
    let mut pipe = Pipe::open(service);
    pipe.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list"})).await;
    let listed: ptc_mcp::json::Value = serde_json::from_str(&pipe.line().await).unwrap();
    let description = listed["result"]["tools"][0]["description"].as_str().unwrap().to_owned();
    let (discovery, _) = description.split_once("\n\n").unwrap();
    // `server`, `tool`, `calls`, `r` and `...` stand for something: here for this.
    let result = "(let [r (tool/call {:server \"fake\" :tool \"echo\" :args {:a 1}})] FORM)";
    let failure = "(let [r (tool/call {:server \"fake\" :tool \"refuse\"})] FORM)";
    let calls = "(let [calls [{:server \"fake\" :tool \"echo\" :args {:a 1}}]] (map :ok FORM))";
    let meanings: [(&str, &str, &str); 12] = [
        ("(tool/servers)", "FORM", "fake"),
        ("(apropos \"text\" {:limit 8})", "FORM", "user=> "),
        ("(dir \"server\" {:limit 20})", "FORM", "echo"),
        ("(doc \"server\")", "FORM", "echo {}"),
        ("(doc \"server/tool\")", "FORM", "echo"),
        ("(meta \"server/tool\")", "FORM", "object"),
        ("(tool/call {:server \"s\" :tool \"t\" :args {...}})", "FORM", ":ok true"),
        ("(keys (:value r))", result, "[\"a\"]"),
        ("(pr-str (:value r))", result, "a"),
        ("(fail (:message r))", failure, "refused"),
        ("(map tool/call calls)", calls, "[true]"),
        ("(pmap tool/call calls)", calls, "[true]"),
    ];
    let mut shown = forms(discovery);
    // The text says `or pmap` behind the form with `map`.
    assert!(discovery.contains("(map tool/call calls) or pmap"), "{discovery}");
    shown.push("(pmap tool/call calls)");
    for form in shown {
        let (_, around, answer) = meanings
            .iter()
            .find(|(known, ..)| *known == form)
            .unwrap_or_else(|| panic!("a form that no test runs: {form}"));
        let form = form
            .replace("\"server\"", "\"fake\"")
            .replace("\"server/tool\"", "\"fake/echo\"")
            .replace("\"s\"", "\"fake\"")
            .replace("\"t\"", "\"echo\"")
            .replace("{...}", "{:a 1}");
        let told = pipe.eval(1, &around.replace("FORM", &form)).await;
        let is_error = told["isError"] == true;
        assert_eq!(is_error, form.starts_with("(fail"), "{form}: {told}");
        let text = told["content"][0]["text"].as_str().unwrap();
        let structured: ptc_mcp::json::Value = serde_json::from_str(text).unwrap();
        let shown = structured["result"].as_str().or(structured["message"].as_str()).unwrap_or_default();
        assert!(shown.contains(answer), "{form} gave {told}");
    }
    // What the text says of answers.
    for (program, answer) in [
        ("(keys (tool/call {:server \"fake\" :tool \"echo\" :args {}}))", "[:ok :value :value_kind]"),
        ("(keys (tool/call {:server \"fake\" :tool \"refuse\" :args {}}))", "[:message :ok :reason :sent]"),
    ] {
        let told = pipe.eval(2, program).await;
        assert!(told["structuredContent"]["result"].as_str().unwrap().contains(answer), "{told}");
    }
    upstream.shutdown().await;
}

/// What is told of progress says how many calls have ended, over a pipe as over HTTP.
#[tokio::test]
async fn progress_tells_of_calls_that_have_ended() {
    let redactor = Redactor::new();
    let upstream = fake_upstream(&redactor).await;
    let (service, _engine) = service(&settings(&[]), Some(&upstream), &redactor);
    let mut pipe = Pipe::open(service);
    // The first calls are answered, the last one never is.
    let program = "(pmap (fn [tool] (:ok (tool/call {:server \"fake\" :tool tool :args {}}))) [\"echo\" \"echo\" \"hang\"])";
    let params =
        json!({"name": "lisp_eval", "arguments": {"program": program}, "_meta": {"progressToken": "p"}});
    pipe.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})).await;
    let mut last = 0;
    loop {
        let note: ptc_mcp::json::Value = serde_json::from_str(&pipe.line().await).unwrap();
        assert_eq!(note["params"]["progressToken"], "p", "{note}");
        let number = note["params"]["progress"].as_u64().unwrap();
        assert!(number > last, "{note}");
        last = number;
        if note["params"]["message"].as_str().unwrap().starts_with("2 of 3 upstream calls have ended") {
            break;
        }
    }
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    pipe.send(&cancel).await;
    upstream.shutdown().await;
}
