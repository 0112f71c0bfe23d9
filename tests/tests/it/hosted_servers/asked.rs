//! Who has not signed in is asked to, in each way in which clients are asked (waiting.md 3.1, 4.2, 4.3, 4.4).

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ptc_mcp::json::{Value, json};

use super::plain;
use super::server::{ANN, BEN, DAY_MS, Server};
use ptc_test_support::authorization_server::AuthorizationServer;
use ptc_test_support::{PATIENCE, wait_until};

/// A program of two fibers, which call the upstream both.
const TWICE: &str = "(pmap (fn [_] (let [r (tool/call {:server \"notes\" :tool \"whoami\" :args {}})] (or (:message r) (:value r)))) [1 2])";
/// What each of its fibers gets that has called it.
const TOLD: &str = "echoes Bearer [REDACTED]";
/// The reason that a call fails for.
const REASON: &str = "(:reason (tool/call {:server \"notes\" :tool \"whoami\" :args {}}))";

/// A server that waits for [`PAGE_STEP`] for what is done on a page, and for much longer for everything else.
const PAGE_WAIT: [&str; 8] = [
    "--log-level",
    "error",
    "--page-wait-ms",
    "10000",
    "--request-state-ttl-ms",
    DAY_MS,
    "--waiting-ttl-ms",
    DAY_MS,
];
const PAGE_STEP: Duration = Duration::from_secs(10);

/// A client that opens pages.
fn opens() -> Value {
    json!({"elicitation": {"url": {}}})
}

fn accept() -> Value {
    json!({"q1": {"action": "accept"}})
}

/// A modern client of `token`.
struct Modern<'s> {
    server: &'s Server,
    token: &'s str,
    capabilities: Value,
    program: &'s str,
}

impl<'s> Modern<'s> {
    fn new(server: &'s Server, token: &'s str, program: &'s str) -> Modern<'s> {
        Modern { server, token, capabilities: opens(), program }
    }

    fn evals(&self, more: &Value) -> Value {
        let mut params = json!({"name": "lisp_eval", "arguments": {"program": self.program}});
        for (key, value) in more.as_object().expect("members") {
            params[key] = value.clone();
        }
        let answer =
            self.server.post_as(&self.capabilities, self.token, "tools/call", Some("lisp_eval"), params);
        let message = answer.json();
        assert!(message.get("error").is_none(), "{message}");
        message["result"].clone()
    }

    /// Goes on with what was answered.
    fn retries(&self, asked: &Value, responses: &Value) -> Value {
        self.evals(&json!({"requestState": asked["requestState"], "inputResponses": responses}))
    }

    /// Says that the page was opened, on which nobody has signed in: the clock goes on until its time is over.
    fn retries_in_vain(&self, asked: &Value) -> Value {
        self.server.steps.advance_while(PAGE_STEP, || self.retries(asked, &accept()))
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn a_missing_sign_in_is_one_question_which_only_a_sign_in_of_the_caller_answers() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &[&PAGE_WAIT[..], &["--audit-log", "@audit"]].concat());
    let client = Modern::new(&server, ANN, TWICE);
    let asked = client.evals(&json!({}));
    let page = format!("{}/oauth/start?upstream=notes", server.origin());
    assert_eq!(
        (&asked["resultType"], &asked["inputRequests"]),
        (
            &json!("input_required"),
            &json!({"q1": {"method": "elicitation/create", "params": {
                "mode": "url", "url": page, "message": "Sign in to notes: a program calls it on your behalf."
            }}})
        )
    );
    // Somebody else's sign-in is not hers, and a page that was opened is no sign-in.
    server.signs_in(BEN);
    let again = client.retries_in_vain(&asked);
    assert_eq!(
        again["inputRequests"]["q1"]["params"]["message"],
        "nobody has signed in yet. Sign in to notes: a program calls it on your behalf."
    );
    server.visits_page(ANN);
    let done = client.retries(&again, &accept());
    assert_eq!(text(&done).matches(TOLD).count(), 2, "{done}");
    let hits = hosted.all_hits();
    // One a caller: a client that has just served the first is known to serve the second, to the replica that it served.
    let looked = hits.iter().filter(|hit| hit.path.ends_with("/authorize")).count();
    let most = if std::env::var_os("PTC_TEST_SERVER").is_some() { 3 } else { 2 };
    assert!((2..=most).contains(&looked), "{looked}");
    // The audit log tells of it, and has no secret.
    let mut lines = Vec::new();
    wait_until("the answer is in the log", || {
        let audit = std::fs::read_to_string(server.path("audit")).expect("a log");
        assert!(!audit.contains(ANN) && !audit.contains("Bearer"), "{audit}");
        let of_question = |line: &Value| line["kind"] == "question" || line["kind"] == "answer";
        lines = audit.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).collect();
        lines.retain(of_question);
        lines.iter().any(|line| line["kind"] == "answer")
    });
    assert_eq!(lines[0]["kind"], "question", "{lines:?}");
    for line in &lines {
        let told = ["principal", "question", "question_kind", "upstream"].map(|key| &line[key]);
        assert_eq!(told, ["ann", "q1", "sign_in", "notes"], "{line}");
    }
    let last = lines.last().expect("an answer");
    assert_eq!(
        (&last["action"], &last["by"]),
        (&json!("accept"), &json!({"channel": "client", "name": "ann"}))
    );
}

#[test]
fn a_sign_in_needs_nobody_who_says_so_and_refusing_it_is_an_answer() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &PAGE_WAIT);
    // No is no, for all calls of the program.
    let program = "(mapv (fn [_] (let [r (tool/call {:server \"notes\" :tool \"whoami\" :args {}})] [(:reason r) (:message r)])) [1 2])";
    let client = Modern::new(&server, ANN, program);
    for (action, reason, said) in [
        ("decline", ":declined", "the question was declined"),
        ("cancel", ":cancelled", "the question was dismissed"),
    ] {
        let asked = client.evals(&json!({}));
        let refused = client.retries(&asked, &json!({"q1": {"action": action}}));
        assert_eq!(text(&refused).matches(&format!("[{reason} \"{said}")).count(), 2, "{refused}");
    }
    // Whoever only ever opens the page gets the fault in the end, which says what to do.
    let client =
        Modern::new(&server, ANN, "(:message (tool/call {:server \"notes\" :tool \"whoami\" :args {}}))");
    let mut asked = client.evals(&json!({}));
    for _ in 0..3 {
        asked = client.retries_in_vain(&asked);
        assert_eq!(asked["resultType"], "input_required", "{asked}");
    }
    let given_up = client.retries_in_vain(&asked);
    let link = format!("{}/oauth/start?upstream=notes", server.origin());
    let fault = format!("not signed in to upstream 'notes'; a person must open: {link}");
    assert!(text(&given_up).contains(&fault), "{given_up}");
    // A client that shows nothing any more is told so as well.
    let asked = client.evals(&json!({}));
    let silent = Modern { capabilities: json!({}), ..Modern::new(&server, ANN, client.program) };
    let told = silent.retries(&asked, &json!({}));
    assert!(text(&told).contains(&fault), "{told}");
    // Once she has signed in, nobody needs to say so.
    let client = Modern::new(&server, ANN, TWICE);
    let asked = client.evals(&json!({}));
    server.visits_page(ANN);
    let done = client.retries(&asked, &json!({}));
    assert_eq!(text(&done).matches(TOLD).count(), 2, "{done}");
}

/// What the upstream has besides tools, all at once.
const FEATURES: &str = "(pcalls (fn [] (let [r (resource/read {:server \"notes\" :uri \"note:1\"})] (or (:reason r) (:value r)))) \
    (fn [] (let [p (prompt/get {:server \"notes\" :name \"greet\"})] (or (:reason p) (:description (:value p))))) \
    (fn [] (mapv :uri (resource/list {:server \"notes\"}))))";

#[test]
fn resources_and_prompts_wait_for_a_sign_in_as_tools_do() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &PAGE_WAIT);
    let client = Modern::new(&server, ANN, FEATURES);
    let asked = client.evals(&json!({}));
    let questions = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}"));
    assert_eq!(questions.len(), 1, "{asked}");
    assert_eq!(questions["q1"]["params"]["message"], "Sign in to notes: a program calls it on your behalf.");
    // No is no, and a list is nothing then.
    let refused = client.retries(&asked, &json!({"q1": {"action": "decline"}}));
    assert!(text(&refused).contains("[:declined :declined []]"), "{refused}");
    let asked = client.evals(&json!({}));
    server.visits_page(ANN);
    let done = client.retries(&asked, &accept());
    let told = text(&done);
    assert!(told.contains("[\"family ") && told.contains("\"Greets.\" [\"note:1\"]]"), "{done}");
    // Nobody is asked who has signed in, and everybody has an own sign-in.
    let again = client.evals(&json!({}));
    assert!(text(&again).contains("[\"note:1\"]]"), "{again}");
    let ben = Modern::new(&server, BEN, FEATURES).evals(&json!({}));
    assert_eq!(ben["resultType"], "input_required", "{ben}");
}

#[test]
fn a_client_that_shows_forms_alone_is_told_where_to_go() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &PAGE_WAIT);
    let mut client = Modern::new(&server, ANN, TWICE);
    client.capabilities = json!({"elicitation": {"form": {}}});
    let asked = client.evals(&json!({}));
    let form = &asked["inputRequests"]["q1"]["params"];
    let page = format!("{}/oauth/start?upstream=notes", server.origin());
    assert!(form["message"].as_str().expect("a text").contains(&page), "{asked}");
    assert_eq!(form["requestedSchema"], json!({"type": "object", "properties": {}}));
    server.visits_page(ANN);
    let done = client.retries(&asked, &json!({"q1": {"action": "accept", "content": {}}}));
    assert_eq!(text(&done).matches(TOLD).count(), 2, "{done}");
}

#[test]
fn an_answer_waits_for_its_page_without_a_permit() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let flags = ["--log-level", "error", "--page-wait-ms", "50000", "--max-concurrent-calls", "1"];
    let server = Server::start(&hosted, &flags);
    let client = Modern::new(&server, ANN, TWICE);
    let asked = client.evals(&json!({}));
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| client.retries(&asked, &accept()));
        // The only permit is free while it waits.
        for _ in 0..5 {
            assert!(server.evals(BEN, "(+ 1 2)").contains("3"));
            assert!(!waits.is_finished(), "nobody has signed in");
        }
        server.visits_page(ANN);
        let done = waits.join().expect("an answer");
        assert_eq!(text(&done).matches(TOLD).count(), 2, "{done}");
    });
}

#[test]
fn whoever_cannot_be_asked_waits_in_a_run_until_they_have_signed_in() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &[&PAGE_WAIT[..], &["--questions", "auto"]].concat());
    let waiting = server.evals(ANN, TWICE);
    let page = format!("{}/oauth/start?upstream=notes", server.origin());
    assert!(waiting.starts_with("waiting: 1 answer is needed") && waiting.contains(&page), "{waiting}");
    let id = waiting.split_whitespace().find(|word| word.starts_with("run_")).expect("an id").to_owned();
    let resumes = |answers: Value| {
        let mut arguments = json!({"run_id": id});
        if !answers.is_null() {
            arguments["answers"] = answers;
        }
        let message = server.call(ANN, "lisp_resume", arguments).json();
        text(&message["result"]).to_owned()
    };
    assert!(resumes(Value::Null).starts_with("waiting: 1 answer"));
    let opened = server.steps.advance_while(PAGE_STEP, || resumes(accept()));
    assert!(
        opened.starts_with("waiting: 1 answer") && opened.contains("nobody has signed in yet"),
        "{opened}"
    );
    server.visits_page(ANN);
    let done = resumes(Value::Null);
    assert_eq!(done.matches(TOLD).count(), 2, "{done}");
    // A program that is refused its sign-in ends with that.
    let waiting = server.evals(BEN, REASON);
    let id = waiting.split_whitespace().find(|word| word.starts_with("run_")).expect("an id").to_owned();
    let arguments = json!({"run_id": id, "answers": {"q1": {"action": "decline"}}});
    let refused = server.call(BEN, "lisp_resume", arguments).json();
    assert!(text(&refused["result"]).contains(":declined"), "{refused}");
}

#[test]
fn a_task_goes_on_when_its_caller_has_signed_in() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let flags = ["--log-level", "error", "--long-runs", "--answer-within-ms", "1"];
    let server = Server::start_beside_fake(&hosted, &flags);
    // It takes longer than its client waits.
    let gate = server.path("gate");
    let path = gate.to_str().expect("UTF-8");
    let program =
        format!("(do (tool/call {{:server \"fake\" :tool \"until\" :args {{:path {path:?}}}}}) {TWICE})");
    let mut client = Modern::new(&server, ANN, &program);
    client.capabilities =
        json!({"elicitation": {"url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let task = client.evals(&json!({}));
    let id = task["taskId"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
    std::fs::write(&gate, "").expect("written");
    let request = |method: &str, more: Value| {
        let mut params = json!({"taskId": id});
        for (key, value) in more.as_object().expect("members") {
            params[key] = value.clone();
        }
        let answer = server.post_as(&client.capabilities, ANN, method, Some(&id), params).json();
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    };
    let until = |status: &str| {
        let mut task = Value::Null;
        wait_until(status, || {
            task = request("tasks/get", json!({}));
            task["status"] == status
        });
        task
    };
    let asked = until("input_required");
    assert_eq!(asked["inputRequests"]["q1"]["params"]["mode"], "url", "{asked}");
    // That the page was opened is no answer, however often it is said.
    for _ in 0..5 {
        request("tasks/update", json!({"inputResponses": accept()}));
    }
    assert_eq!(request("tasks/get", json!({}))["status"], "input_required");
    server.visits_page(ANN);
    let done = until("completed");
    assert_eq!(text(&done["result"]).matches(TOLD).count(), 2, "{done}");
}

/// A client of 2025-11-25 with a session.
struct Handshake<'s> {
    server: &'s Server,
    session: String,
}

impl<'s> Handshake<'s> {
    fn greet(server: &'s Server, capabilities: &Value) -> Handshake<'s> {
        let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}});
        let bearer = format!("Bearer {ANN}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let answer = server.ask("POST", "/mcp", &headers, &greeting.to_string());
        let session = answer.header("mcp-session-id").unwrap_or_else(|| panic!("{answer:?}")).to_owned();
        let client = Handshake { server, session };
        client.says(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// Sends a message that has no answer of its own.
    fn says(&self, message: &Value) {
        let bearer = format!("Bearer {ANN}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2025-11-25"),
            ("Mcp-Session-Id", &self.session),
        ];
        let answer = self.server.ask("POST", "/mcp", &headers, &message.to_string());
        assert_eq!(answer.status, 202, "{}", answer.body);
    }

    /// Calls `lisp_eval`: what comes on the event stream.
    fn evals(&self, program: &str) -> impl Iterator<Item = Value> + use<> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "lisp_eval", "arguments": {"program": program}}})
        .to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.server.port)).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {ANN}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {}\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.server.port,
            self.session,
            body.len()
        )
        .expect("it reads");
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
    }

    fn replies(&self, request: &Value, result: &Value) {
        self.says(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }
}

#[test]
fn a_client_of_the_handshake_era_is_told_when_its_user_has_signed_in() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &["--log-level", "error"]);
    let client = Handshake::greet(&server, &opens());
    let mut stream = client.evals(TWICE);
    let asked = stream.next().expect("a request");
    let page = format!("{}/oauth/start?upstream=notes", server.origin());
    assert_eq!((&asked["method"], &asked["params"]["mode"]), (&json!("elicitation/create"), &json!("url")));
    assert_eq!(asked["params"]["url"], page);
    let id = asked["params"]["elicitationId"].as_str().expect("an id").to_owned();
    // She says that she is on her way, and then signs in.
    client.replies(&asked, &json!({"action": "accept"}));
    server.visits_page(ANN);
    let rest: Vec<Value> = stream.collect();
    let [complete, result] = rest.as_slice() else { panic!("{rest:?}") };
    assert_eq!(
        complete,
        &json!({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": id}})
    );
    assert_eq!(text(&result["result"]).matches(TOLD).count(), 2, "{result}");
}

#[test]
fn a_sign_in_before_the_reply_is_enough() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &["--log-level", "error"]);
    let client = Handshake::greet(&server, &opens());
    let mut stream = client.evals(TWICE);
    let asked = stream.next().expect("a request");
    server.visits_page(ANN);
    let rest: Vec<Value> = stream.collect();
    let methods: Vec<&str> = rest.iter().filter_map(|message| message["method"].as_str()).collect();
    assert_eq!(methods, ["notifications/elicitation/complete", "notifications/cancelled"], "{rest:?}");
    assert_eq!(rest[1]["params"]["requestId"], asked["id"]);
    assert_eq!(text(&rest[2]["result"]).matches(TOLD).count(), 2, "{rest:?}");
}

/// A server whose questions are open for [`OPEN_STEP`], and whose conversations live for much longer.
const OPEN: [&str; 8] = [
    "--log-level",
    "error",
    "--question-open-ms",
    "60000",
    "--http-session-ttl-ms",
    DAY_MS,
    "--http-session-idle-timeout-ms",
    DAY_MS,
];
const OPEN_STEP: Duration = Duration::from_secs(60);

#[test]
fn a_client_of_the_handshake_era_refuses_to_sign_in() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    for (action, reason) in [("decline", ":declined"), ("cancel", ":cancelled")] {
        let server = Server::start(&hosted, &OPEN);
        let client = Handshake::greet(&server, &opens());
        let mut stream = client.evals(REASON);
        let asked = stream.next().expect("a request");
        client.replies(&asked, &json!({"action": action}));
        let rest: Vec<Value> = stream.collect();
        assert_eq!(rest.len(), 1, "{rest:?}");
        assert!(text(&rest[0]["result"]).contains(reason), "{action}: {rest:?}");
    }
}

/// A page that was only opened is waited for as long as a question is open.
#[test]
fn a_client_of_the_handshake_era_only_opens_the_page() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &OPEN);
    let client = Handshake::greet(&server, &opens());
    let mut stream = client.evals(REASON);
    let asked = stream.next().expect("a request");
    client.replies(&asked, &json!({"action": "accept"}));
    let rest: Vec<Value> = server.steps.advance_while(OPEN_STEP, || stream.collect());
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert!(text(&rest[0]["result"]).contains(":auth_required"), "{rest:?}");
}
