//! Calls on the console: who finds whose, by what, and what is told of failures; and the trial of a tool.

use std::fs;
use std::sync::Arc;

use ptc_host::aggregator::Aggregator;
use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Value, json};

use ptc_test_support::in_process::{Listener, Response, assert_has, fake_upstream, fake_upstream_with};

const ALICE: &str = "alice-alice-alice-alice-alice-alice";
const BOB: &str = "bob-bob-bob-bob-bob-bob-bob-bob-bob";
const OPS: &str = "ops-ops-ops-ops-ops-ops-ops-ops-ops";

/// A server of two callers and an operator.
struct World {
    listener: Listener,
    upstreams: Arc<Aggregator>,
}

impl World {
    async fn new(upstreams: Arc<Aggregator>, redactor: &Redactor, more: &[&str]) -> World {
        let folder = tempfile::tempdir().unwrap();
        let (tokens, operators) = (folder.path().join("tokens"), folder.path().join("operators"));
        fs::write(&tokens, format!("alice:{ALICE}\nbob:{BOB}\n")).unwrap();
        fs::write(&operators, format!("ops:{OPS}\n")).unwrap();
        let flags = [
            "--http",
            "--console",
            "--http-auth-token-file",
            tokens.to_str().unwrap(),
            "--http-operator-token-file",
            operators.to_str().unwrap(),
        ];
        let listener = Listener::start(&[&flags[..], more].concat(), Some(&upstreams), redactor);
        World { listener, upstreams }
    }

    async fn fake(more: &[&str]) -> World {
        let redactor = Redactor::new();
        World::new(fake_upstream(&redactor).await, &redactor, more).await
    }

    async fn eval(&self, token: &str, program: &str) {
        self.listener.call(Some(token), "lisp_eval", json!({"program": program})).await;
    }

    async fn post(&self, token: &str, path: &str, body: &str) -> Response {
        let bearer = format!("Bearer {token}");
        self.listener.request("POST", path, &[("Authorization", &bearer)], body).await
    }

    async fn search(&self, token: &str, query: Value) -> Value {
        let found = self.post(token, "/console/api/calls", &query.to_string()).await;
        assert_eq!((found.status, found.header("cache-control")), (200, Some("no-store")), "{}", found.body);
        serde_json::from_str(&found.body).unwrap()
    }

    /// The programs that are found, the newest first.
    async fn programs(&self, token: &str, query: Value) -> Vec<String> {
        let found = self.search(token, query).await;
        let text = |call: &Value| call["program"]["preview"].as_str().unwrap().to_owned();
        found["calls"].as_array().unwrap().iter().map(text).collect()
    }

    async fn state(&self, token: &str) -> Value {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", &*bearer)];
        let answer = self.listener.request("GET", "/console/api/state", &headers, "").await;
        serde_json::from_str(&answer.body).unwrap()
    }

    async fn stop(self) {
        self.listener.stop().await;
        self.upstreams.shutdown().await;
    }
}

const REFUSED: &str = r#"(:ok (tool/call {:server "fake" :tool "refuse" :args {:secret "xyzzy"}}))"#;

#[tokio::test]
async fn operators_find_the_calls_of_all_and_others_their_own_alone() {
    let world = World::fake(&[]).await;
    world.eval(ALICE, "(+ 1 2)").await;
    world.eval(BOB, REFUSED).await;
    world.eval(ALICE, "(/ 1 0)").await;
    world.eval(BOB, r#"(count "ÄPFEL \"quoted\"")"#).await;

    let all = world.search(OPS, json!({})).await;
    assert_has(&all, &json!({"operator": true, "next": null, "live": [], "payloads": "summary"}));
    let principals: Vec<&Value> =
        all["calls"].as_array().unwrap().iter().map(|call| &call["principal"]).collect();
    assert_eq!(principals, ["bob", "alice", "bob", "alice"]);
    for (query, found) in [
        (json!({"principal": "ALI"}), &["(/ 1 0)", "(+ 1 2)"][..]),
        (json!({"upstream": "fake"}), &[REFUSED]),
        (json!({"tool": "refuse"}), &[REFUSED]),
        (json!({"tool": "refuse", "principal": "alice"}), &[]),
        (json!({"outcome": "error"}), &["(/ 1 0)"]),
        (json!({"outcome": "runtime_error"}), &["(/ 1 0)"]),
        (json!({"outcome": "upstream_error"}), &[REFUSED]),
        (json!({"text": "äpfel \"Quoted"}), &[r#"(count "ÄPFEL \"quoted\"")"#][..0]),
        (json!({"text": "äpfel \\\"Quoted"}), &[r#"(count "ÄPFEL \"quoted\"")"#]),
        (json!({"text": "sha256"}), &[]),
        (json!({"outcome": "ok", "text": "1 2"}), &["(+ 1 2)"]),
    ] {
        assert_eq!(world.programs(OPS, query.clone()).await, found, "{query}");
    }

    // Nothing of others: no call, no number, no sum, whatever is asked for.
    for query in [json!({}), json!({"principal": "bob"}), json!({"text": "xyzzy"}), json!({"before": 100})] {
        let own = world.search(ALICE, query.clone()).await;
        assert!(!own.to_string().contains("bob") && !own.to_string().contains("xyzzy"), "{query}: {own}");
        assert_eq!(own["operator"], false);
    }
    let own = world.search(ALICE, json!({})).await;
    let numbers: Vec<&Value> = own["calls"].as_array().unwrap().iter().map(|call| &call["number"]).collect();
    assert_eq!(numbers, [&json!(1), &json!(0)], "they count the own calls");
    let (own, all) = (world.state(ALICE).await, world.state(OPS).await);
    assert_has(&own["saved"], &json!({"programs": 0, "upstream_calls": 0}));
    assert_has(&all["saved"], &json!({"programs": 1, "upstream_calls": 1}));
    assert!(!own["accounts"].to_string().contains("bob"), "{own}");
    world.stop().await;
}

#[tokio::test]
async fn operators_see_the_sessions_of_all_and_others_their_own_alone() {
    let world =
        World::fake(&["--sessions", "--max-sessions", "300", "--max-sessions-per-owner", "210"]).await;
    let start = async |token: &str, title: &str| {
        world.listener.call(Some(token), "lisp_session_start", json!({"title": title})).await;
    };
    start(ALICE, "hers").await;
    start(BOB, "his").await;
    let listed = async |token: &str| {
        let state = world.state(token).await;
        let sessions = state["sessions"].as_array().unwrap().clone();
        let named = |session: &Value| [&session["principal"], &session["title"]].map(|text| text.clone());
        (state["session_count"].clone(), sessions.iter().map(named).collect::<Vec<_>>())
    };
    assert_eq!(listed(ALICE).await, (json!(1), vec![[json!("alice"), json!("hers")]]));
    assert_eq!(listed(BOB).await, (json!(1), vec![[json!("bob"), json!("his")]]));
    let all = [[json!("bob"), json!("his")], [json!("alice"), json!("hers")]];
    assert_eq!(listed(OPS).await, (json!(2), all.to_vec()));
    for n in 0..200 {
        start(BOB, &format!("of bob {n}")).await;
    }
    let (count, latest) = listed(OPS).await;
    assert_eq!((count, latest.len(), &latest[0][1]), (json!(202), 200, &json!("of bob 199")));
    world.stop().await;
}

#[tokio::test]
async fn pages_of_calls_are_all_calls_once() {
    let world = World::fake(&[]).await;
    for n in 0..60 {
        world.eval([ALICE, BOB][n % 2], &format!("(+ {n} 0)")).await;
    }
    for (token, count, query) in
        [(OPS, 60, json!({})), (ALICE, 30, json!({})), (OPS, 30, json!({"principal": "bob"}))]
    {
        let (mut seen, mut before) = (Vec::new(), Value::Null);
        loop {
            let mut query = query.clone();
            query["before"] = before;
            let page = world.search(token, query).await;
            seen.extend(
                page["calls"].as_array().unwrap().iter().map(|call| call["number"].as_u64().unwrap()),
            );
            before = page["next"].clone();
            if before.is_null() {
                break;
            }
        }
        assert_eq!(seen.len(), count);
        assert!(seen.is_sorted_by(|a, b| a > b), "{seen:?}");
    }
    for (body, status) in [("{", 400), (r#"{"whose":"bob"}"#, 400), ("[]", 400), ("{}", 200)] {
        assert_eq!(world.post(ALICE, "/console/api/calls", body).await.status, status, "{body}");
    }
    let long = json!({"text": "x".repeat(201)}).to_string();
    assert_eq!(world.post(ALICE, "/console/api/calls", &long).await.status, 400);
    world.stop().await;
}

#[tokio::test]
async fn failures_of_upstreams_tell_as_much_as_the_policy_keeps() {
    for (policy, kept) in [
        ("full", json!({"error": "refused", "arguments": "{\"secret\":\"xyzzy\"}"})),
        ("summary", json!({"error": {"preview": "refused"}, "arguments": null})),
        ("none", json!({"error": {}, "arguments": null})),
    ] {
        let world = World::fake(&["--trace-payloads", policy]).await;
        world.eval(ALICE, REFUSED).await;
        let found = world.search(ALICE, json!({})).await;
        assert_eq!(found["payloads"], policy);
        let call = &found["calls"][0]["upstream_calls"][0];
        assert_has(call, &json!({"server": "fake", "tool": "refuse", "ok": false, "reason": "tool_error"}));
        assert_eq!(call["arguments"], kept["arguments"]);
        match &kept["error"] {
            Value::String(_) => assert!(call["error"].is_string(), "{call}"),
            Value::Object(kept) => {
                assert_eq!(call["error"].get("preview").is_some(), kept.contains_key("preview"), "{call}");
            }
            other => panic!("{other}"),
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn tools_are_tried_by_who_asks_and_those_that_may_change_something_after_a_confirmation() {
    let redactor = Redactor::new();
    let keys = json!({"approve_tools": ["bulk"], "approve_level": "out_of_band"});
    let more = ["--questions", "auto"];
    let world = World::new(fake_upstream_with(&redactor, keys).await, &redactor, &more).await;
    let path = "/console/api/trial";
    let body = |tool: &str, arguments: &str, confirmed: bool| {
        format!(r#"{{"upstream":"fake","tool":"{tool}","arguments":{arguments},"confirmed":{confirmed}}}"#)
    };
    let told = |answer: &Response| {
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()
    };
    let asked = world.post(BOB, path, &body("refuse", "{}", false)).await;
    assert_eq!(asked.status, 409, "{}", asked.body);
    assert!(asked.body.contains("\"needs_confirmation\":true"), "{}", asked.body);
    assert_eq!(world.search(OPS, json!({})).await["calls"], json!([]), "nothing was called");

    let answer = told(
        &world
            .post(BOB, path, &body("echo", r#"{"text":"over \"there\" 12345678901234567890"}"#, true))
            .await,
    );
    assert!(
        answer["is_error"] == false && answer["text"].as_str().unwrap().contains("12345678901234567890"),
        "{answer}"
    );
    let answer = told(&world.post(BOB, path, &body("bulk", r#"{"bytes":5}"#, true)).await);
    assert!(answer["text"].as_str().unwrap().contains("run_"), "it waits for an approval: {answer}");
    let calls = world.search(OPS, json!({})).await["calls"].clone();
    assert_has(&calls[0], &json!({"principal": "bob", "tool": "lisp_eval", "status": "waiting"}));
    assert_has(&calls[1], &json!({"principal": "bob", "tool": "lisp_eval", "status": "ok"}));
    assert_eq!(world.search(ALICE, json!({})).await["calls"], json!([]));

    let much = format!(r#"{{"text":"{}"}}"#, "x".repeat(65 << 10));
    for (sent, status) in [
        (body("absent", "{}", true), 404),
        (body("echo\\\"} (fail 1) \\\"", "{}", true), 404),
        (body("echo", "[]", true), 400),
        (body("echo", &much, true), 413),
        (r#"{"upstream":"fake","tool":"echo","as":"alice"}"#.to_owned(), 400),
    ] {
        let answer = world.post(BOB, path, &sent).await;
        assert_eq!(answer.status, status, "{}", answer.body);
    }
    // A page of another site cannot: neither by its origin nor by a form.
    let bearer = format!("Bearer {BOB}");
    let foreign = [("Authorization", &*bearer), ("Origin", "https://evil.example")];
    for path in [path, "/console/api/calls"] {
        assert_eq!(world.listener.request("POST", path, &foreign, "{}").await.status, 403);
        assert_eq!(world.listener.request("POST", path, &[], "{}").await.status, 401);
        let own = [("Authorization", &*bearer)];
        assert_eq!(world.listener.request("GET", path, &own, "").await.status, 405);
        let form = [("Authorization", &*bearer), ("Content-Type", "text/plain"), ("Content-Length", "0")];
        assert_eq!(world.listener.request("POST", path, &form, "").await.status, 415);
    }
    world.stop().await;
}
