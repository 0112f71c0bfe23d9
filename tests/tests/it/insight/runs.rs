//! What kept programs wait for, on the console and for the webhook: who sees it, who answers it, and what that does.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ptc_host::aggregator::Aggregator;
use ptc_host::credentials::Redactor;
use ptc_host::state::Secret;
use ptc_mcp::json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use ptc_test_support::in_process::{Listener, Response, assert_has, fake_upstream_with};

const ALICE: &str = "alice-alice-alice-alice-alice-alice";
const BOB: &str = "bob-bob-bob-bob-bob-bob-bob-bob-bob";
const OPS: &str = "ops-ops-ops-ops-ops-ops-ops-ops-ops";

/// A program with nine calls that need an approval.
const NINE: &str = r#"(count (filter :ok (pmap (fn [n] (tool/call {:server "fake" :tool "echo" :args {:text (str "f" n)}})) (range 9))))"#;
const ASKS: &str = r#"(get (:value (ask {:message "Which region?" :schema {:type "object" :properties {:region {:type "string" :enum ["eu" "us"]}} :required ["region"]}})) "region")"#;
const ALLOW: &str = r#"{"action":"accept","content":{"decision":"allow"}}"#;

/// A server of three callers, one of them an operator, whose upstream needs approvals.
struct World {
    listener: Listener,
    upstreams: Arc<Aggregator>,
}

impl World {
    async fn new(folder: &Path, level: &str, more: &[&str]) -> World {
        let redactor = Redactor::new();
        let keys = json!({"approve_tools": ["echo"], "approve_level": level});
        let upstreams = fake_upstream_with(&redactor, keys).await;
        let (tokens, operators) = (folder.join("tokens"), folder.join("operators"));
        fs::write(&tokens, format!("alice:{ALICE}\nbob:{BOB}\n")).unwrap();
        fs::write(&operators, format!("ops:{OPS}\n")).unwrap();
        let flags = [
            "--http",
            "--response-profile",
            "structured",
            "--questions",
            "auto",
            "--http-auth-token-file",
            tokens.to_str().unwrap(),
            "--http-operator-token-file",
            operators.to_str().unwrap(),
        ];
        let listener = Listener::start(&[&flags[..], more].concat(), Some(&upstreams), &redactor);
        World { listener, upstreams }
    }

    /// A program of alice's that waits: its run's id.
    async fn begins(&self, program: &str) -> String {
        let waiting = self.listener.call(Some(ALICE), "lisp_eval", json!({"program": program})).await;
        let waiting = &waiting["structuredContent"];
        assert_eq!(waiting["status"], "waiting", "{waiting}");
        waiting["run_id"].as_str().unwrap().to_owned()
    }

    /// What it comes to.
    async fn end(&self, id: &str) -> Value {
        let arguments = json!({"run_id": id, "wait_ms": 20_000});
        let end = self.listener.call(Some(ALICE), "lisp_resume", arguments).await;
        end["structuredContent"].clone()
    }

    async fn runs(&self, token: &str) -> Value {
        let bearer = format!("Bearer {token}");
        let answer =
            self.listener.request("GET", "/console/api/runs", &[("Authorization", &bearer)], "").await;
        assert_eq!(
            (answer.status, answer.header("cache-control")),
            (200, Some("no-store")),
            "{}",
            answer.body
        );
        serde_json::from_str(&answer.body).unwrap()
    }

    async fn get(&self, token: &str, path: &str) -> Response {
        let bearer = format!("Bearer {token}");
        self.listener.request("GET", path, &[("Authorization", &bearer)], "").await
    }

    async fn post(&self, token: &str, path: &str, body: &str) -> Response {
        let bearer = format!("Bearer {token}");
        self.listener.request("POST", path, &[("Authorization", &bearer)], body).await
    }

    async fn stop(self) {
        self.listener.stop().await;
        self.upstreams.shutdown().await;
    }
}

fn place(id: &str, work: &str) -> String {
    format!("/console/api/runs/{id}/{work}")
}

fn body(answer: &Response) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {}", answer.body))
}

#[tokio::test]
async fn callers_see_and_answer_their_own_runs_and_operators_those_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), "out_of_band", &["--console"]).await;
    let id = world.begins(NINE).await;

    let own = world.runs(ALICE).await;
    assert_has(&own, &json!({"caller": "alice", "operator": false}));
    let run = &own["runs"][0];
    assert_has(run, &json!({"run_id": id, "principal": "alice", "status": "waiting", "tool": "lisp_eval"}));
    assert_eq!(run["program"]["preview"], NINE);
    assert!(run["expires_at"].as_str().unwrap() > own["now"].as_str().unwrap(), "{run}");
    let asked = &run["questions"][0];
    assert_has(
        asked,
        &json!({"id": "q1", "kind": "approval", "level": "out_of_band", "upstream": "fake", "answer": null}),
    );
    assert_eq!(asked["message"], "Allow 9 call(s) of echo at fake?");
    assert!(
        asked["calls"].as_array().unwrap().iter().all(|call| call["arguments"] == Value::Null),
        "{asked}"
    );
    let whole = world.get(ALICE, &place(&id, "questions/q1")).await;
    let calls = body(&whole)["calls"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 9);
    for (n, call) in calls.iter().enumerate() {
        assert_has(call, &json!({"tool": "echo", "arguments": {"text": format!("f{n}")}}));
        assert_eq!(call["arguments_text"], format!("{{\"text\":\"f{n}\"}}"));
        let digest = call["arguments_digest"].as_str().unwrap();
        assert!(digest.starts_with("v2:") && digest.len() == 67, "{digest}");
    }
    let all = world.runs(OPS).await;
    assert_has(&all, &json!({"caller": "ops", "operator": true}));
    assert_has(&all["runs"][0], &json!({"run_id": id, "principal": "alice"}));

    let question = place(&id, "questions/q1");
    assert_eq!(world.get(OPS, &question).await.body, whole.body);
    assert_eq!(world.get(ALICE, &place(&id, "questions/q2")).await.status, 404);

    // Whoever is neither hears of nothing, whatever is guessed.
    assert_eq!(world.runs(BOB).await["runs"], json!([]));
    let foreign = world.get(BOB, &question).await;
    let guessed = world.get(BOB, &place("run_000000000000000000000000", "questions/q1")).await;
    assert_eq!((foreign.status, &foreign.body), (404, &guessed.body));
    let unknown =
        world.post(BOB, &place("run_000000000000000000000000", "answers"), r#"{"answers":{}}"#).await;
    for said in [
        format!(r#"{{"answers":{{"q1":{ALLOW}}}}}"#),
        format!(r#"{{"principal":"alice","answers":{{"q1":{ALLOW}}}}}"#),
    ] {
        let refused = world.post(BOB, &place(&id, "answers"), &said).await;
        assert_eq!((refused.status, &refused.body), (404, &unknown.body));
    }
    for said in ["{}", r#"{"principal":"alice"}"#] {
        let refused = world.post(BOB, &place(&id, "cancel"), said).await;
        assert_eq!((refused.status, &refused.body), (404, &unknown.body));
    }

    // The model's word is not enough, whoever's token it has.
    let arguments =
        json!({"run_id": id, "answers": {"q1": {"action": "accept", "content": {"decision": "allow"}}}});
    let resumed = world.listener.call(Some(ALICE), "lisp_resume", arguments).await;
    assert_eq!(resumed["structuredContent"]["status"], "waiting", "{resumed}");

    let counted = world
        .post(OPS, &place(&id, "answers"), &format!(r#"{{"principal":"alice","answers":{{"q1":{ALLOW}}}}}"#))
        .await;
    assert_eq!((counted.status, body(&counted)["answers"]["q1"]["outcome"].clone()), (200, json!("counted")));
    assert_eq!(world.end(&id).await["result"], "user=> 9");
    let late = world.post(ALICE, &place(&id, "answers"), &format!(r#"{{"answers":{{"q1":{ALLOW}}}}}"#)).await;
    assert_eq!(body(&late)["answers"]["q1"]["outcome"], "already_answered");
    assert_eq!(world.runs(ALICE).await["runs"][0]["status"], "done");
    world.stop().await;
}

#[tokio::test]
async fn each_answer_is_told_what_became_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), "client", &["--console"]).await;
    let id = world.begins(ASKS).await;
    let said = r#"{"answers":{"q1":{"action":"accept","content":{"region":"mars"}},"q2":{"action":"cancel"},"x":{}}}"#;
    let told = body(&world.post(ALICE, &place(&id, "answers"), said).await);
    assert_eq!(told["run_id"], id);
    let fault = told["answers"]["q1"]["fault"].as_str().unwrap();
    assert!(fault.contains("region"), "{told}");
    assert_has(
        &told["answers"],
        &json!({"q1": {"outcome": "misfit"}, "q2": {"outcome": "not_open"}, "x": {"outcome": "not_open"}}),
    );
    assert_eq!(world.runs(ALICE).await["runs"][0]["questions"][0]["fault"], fault);
    for none in [
        r#"{"q1":{"action":"maybe"}}"#,
        r#"{"q1":{"action":"decline","action":"cancel"}}"#,
        r#"{"q1":{"action":"decline"},"q1":{"action":"cancel"}}"#,
        r#"{"q1":{"action":"accept","content":{"region":"eu","region":"us"}}}"#,
    ] {
        let said = format!(r#"{{"answers":{none}}}"#);
        let told = body(&world.post(ALICE, &place(&id, "answers"), &said).await);
        assert_eq!(told["answers"]["q1"]["outcome"], "no_answer", "{none}");
    }
    // An operator need not say whose it is.
    let eu = r#"{"answers":{"q1":{"action":"accept","content":{"region":"eu"}}}}"#;
    assert_eq!(
        body(&world.post(OPS, &place(&id, "answers"), eu).await)["answers"]["q1"]["outcome"],
        "counted"
    );
    assert_eq!(world.end(&id).await["result"], "user=> \"eu\"");

    // What is stopped has ended, and takes no answer.
    for (token, said) in [(ALICE, "{}"), (OPS, "{}"), (OPS, r#"{"principal":"alice"}"#)] {
        let id = world.begins(ASKS).await;
        let told = body(&world.post(token, &place(&id, "cancel"), said).await);
        assert_eq!(told, json!({"run_id": id, "status": "cancelled"}));
        let late = body(&world.post(ALICE, &place(&id, "answers"), eu).await);
        assert_ne!(late["answers"]["q1"]["outcome"], "counted");
    }
    world.stop().await;
}

#[tokio::test]
async fn requests_of_foreign_pages_and_bad_ones_do_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), "client", &["--console"]).await;
    let id = world.begins(ASKS).await;
    let (answers, eu) =
        (place(&id, "answers"), r#"{"answers":{"q1":{"action":"accept","content":{"region":"eu"}}}}"#);
    let bearer = format!("Bearer {ALICE}");
    let own = ("Authorization", bearer.as_str());
    let status = async |method: &str, path: &str, headers: &[(&str, &str)], said: &str| {
        world.listener.request(method, path, headers, said).await.status
    };
    assert_eq!(status("POST", &answers, &[], eu).await, 401);
    assert_eq!(status("POST", &answers, &[own, ("Origin", "https://evil.example")], eu).await, 403);
    assert_eq!(status("POST", &answers, &[own, ("Host", "evil.example")], eu).await, 403);
    // A page can send plain text anywhere without asking.
    let plain =
        [own, ("Content-Type", "text/plain"), ("Content-Length", "2"), ("Origin", "http://localhost")];
    assert_eq!(status("POST", &answers, &plain, "").await, 415);
    assert_eq!(status("GET", &answers, &[own], "").await, 405);
    assert_eq!(status("POST", "/console/api/runs", &[own], "{}").await, 405);
    assert_eq!(status("POST", &place(&id, "more"), &[own], "{}").await, 404);
    for bad in [
        "",
        "[]",
        "{}",
        r#"{"answers":[]}"#,
        r#"{"answers":{},"more":1}"#,
        r#"{"answers":{},"answers":{}}"#,
        r#"{"answers":{},"principal":7}"#,
    ] {
        let refused = world.listener.request("POST", &answers, &[own], bad).await;
        assert_eq!(refused.status, 400, "{bad}: {}", refused.body);
        assert!(body(&refused)["error"].is_string());
    }
    let long = format!(
        r#"{{"answers":{{"q1":{{"action":"accept","content":{{"region":"{}"}}}}}}}}"#,
        "x".repeat(300_000)
    );
    assert_eq!(status("POST", &answers, &[own], &long).await, 413);
    assert_eq!(world.runs(ALICE).await["runs"][0]["questions"][0]["answer"], Value::Null);
    world.stop().await;
}

/// What a webhook was sent: the body, once the request has come whole.
async fn told(hook: &TcpListener) -> Value {
    let (mut stream, _) = hook.accept().await.unwrap();
    let mut bytes = Vec::new();
    let body = loop {
        stream.read_buf(&mut bytes).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        if body.len() == length.parse::<usize>().unwrap() {
            break body.to_owned();
        }
    };
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await.unwrap();
    serde_json::from_str(&body).unwrap()
}

#[tokio::test]
async fn a_webhook_is_told_of_approvals_and_answers_them_without_a_console() {
    let folder = tempfile::tempdir().unwrap();
    let hook = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", hook.local_addr().unwrap());
    let (file, line) = (folder.path().join("secret"), "w".repeat(40));
    fs::write(&file, format!("{line}\n")).unwrap();
    private(&file);
    let more = ["--approval-webhook-url", &url, "--approval-webhook-secret-file", file.to_str().unwrap()];
    let world = World::new(folder.path(), "out_of_band", &more).await;
    let (id, told) = tokio::join!(world.begins(NINE), told(&hook));
    assert_has(
        &told,
        &json!({"type": "question", "run_id": id, "question_id": "q1", "principal": "alice", "upstream": "fake"}),
    );
    assert_eq!(told["calls"].as_array().unwrap().len(), 9);
    assert_eq!(told["calls"][8]["arguments"], json!({"text": "f8"}));
    let answer_url = told["answer_url"].as_str().unwrap();
    assert!(!answer_url.contains("alice"), "{answer_url}");
    let at = answer_url.find("/webhook/").unwrap();

    let secret = Secret::of(&[line.as_bytes()]).unwrap();
    let signed = |said: &str, age: u64| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let at = (now - age).to_string();
        let signature = secret.sign(&[at.as_bytes(), b".", said.as_bytes()]);
        format!("t={at},v1={}", ptc_host::digest::hex(&signature))
    };
    let say = async |path: &str, signature: &str, said: &str| {
        let answer = world.listener.request("POST", path, &[("ptc-signature", signature)], said).await;
        (answer.status, body(&answer)["outcome"].as_str().unwrap().to_owned())
    };
    let allow = r#"{"decision":"allow","by":"eve"}"#;
    let path = &answer_url[at..];
    assert_eq!(say(path, "", allow).await.0, 401);
    assert_eq!(say(path, &signed("{}", 0), allow).await.0, 401);
    assert_eq!(say(path, &signed(allow, 301), allow).await.0, 401);
    let always = r#"{"decision":"always","by":"eve"}"#;
    assert_eq!(say(path, &signed(always, 0), always).await, (400, "no_answer".to_owned()));
    let other = path.replace(&id, "run_000000000000000000000000");
    assert_eq!(say(&other, &signed(allow, 0), allow).await, (404, "not_open".to_owned()));
    let foreign = [("ptc-signature", signed(allow, 0)), ("Origin", "https://evil.example".to_owned())];
    let foreign = foreign.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(world.listener.request("POST", path, &foreign, allow).await.status, 403);
    assert_eq!(world.listener.request("GET", path, &[], "").await.status, 405);

    let signature = signed(allow, 1);
    assert_eq!(say(path, &signature, allow).await, (200, "counted".to_owned()));
    assert_eq!(world.end(&id).await["result"], "user=> 9");
    let again = say(path, &signature, allow).await;
    assert!(again.0 == 409 || again.0 == 404, "{again:?}");
    world.stop().await;
}

#[cfg(unix)]
fn private(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).unwrap();
}

#[tokio::test]
async fn without_anybody_to_answer_an_approval_of_that_level_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path(), "out_of_band", &[]).await;
    let arguments = json!({"program": r#"(:reason (tool/call {:server "fake" :tool "echo" :args {}}))"#});
    let answer = world.listener.call(Some(ALICE), "lisp_eval", arguments).await;
    assert_eq!(answer["structuredContent"]["result"], "user=> :unanswerable", "{answer}");
    for path in ["/console/api/runs", "/webhook/answers/run_a/q1"] {
        assert_eq!(world.listener.request("GET", path, &[], "").await.status, 404, "{path}");
    }
    world.stop().await;
}
