use ptc_host::sync::Mutex;
use std::collections::HashSet;

use bytes::Bytes;
use ptc_host::engine::EngineOptions;
use ptc_host::questions::{ArgumentsDigest, AskedCall, Form, Level, Mode, PendingQuestion, Question};
use ptc_mcp::json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::*;
use crate::Status;

const SECRET: [u8; 32] = [b's'; 32];

fn secret() -> Secret {
    Secret::of(&[&SECRET]).unwrap()
}

/// A webhook without pauses between attempts.
fn webhook(port: u16) -> Webhook {
    let url = Url::parse(&format!("http://127.0.0.1:{port}/hook?key=1")).unwrap();
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let settings = settings::Webhook { url, secret: secret() };
    let made = Webhook::new(&settings, "https://ptc.example", Client::new(), engine, None).unwrap();
    Webhook { pauses: [Duration::ZERO; 3], ..made }
}

fn question(id: u32, kind: QuestionKind) -> PendingQuestion {
    let arguments = "{\"n\": 12345678901234567890}".into();
    let call = AskedCall { tool: "move_file".into(), arguments, digest: ArgumentsDigest::new([7; 32]) };
    let question = Question {
        kind,
        message: "Allow?".into(),
        mode: Mode::Form(Form::yes_or_no()),
        level: Level::OutOfBand,
        upstream: Some("fs".into()),
        calls: vec![call],
        policy_revision: "ab".into(),
        binding: [7; 32],
    };
    PendingQuestion::new(QuestionId::new(id), question)
}

fn run(id: &str, questions: Vec<PendingQuestion>) -> RunView {
    RunView {
        principal: "ada".into(),
        status: Status::Waiting,
        tool: "lisp_eval".into(),
        expires_at_ms: Some(1_000),
        questions,
        ..RunView::running(id.into())
    }
}

/// A server that answers each request with the next of its texts, then closes; it returns the requests.
struct Hook {
    listener: TcpListener,
    port: u16,
}

/// A request: its head in small letters, and its body.
type Request = (String, Vec<u8>);

impl Hook {
    async fn open() -> Hook {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        Hook { listener, port }
    }

    async fn request(&self) -> (Request, TcpStream) {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut bytes = Vec::new();
        loop {
            stream.read_buf(&mut bytes).await.unwrap();
            let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.unwrap().parse().unwrap();
            if bytes.len() == end + 4 + length {
                return ((head, bytes[end + 4..].to_vec()), stream);
            }
        }
    }

    async fn answer(&self, status: &str) -> Request {
        let (request, mut stream) = self.request().await;
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        request
    }
}

fn header(head: &str) -> HeaderValue {
    let line = head.lines().find_map(|line| line.strip_prefix("ptc-signature: ")).unwrap();
    HeaderValue::from_str(line).unwrap()
}

#[tokio::test]
async fn approvals_are_told_whole_and_signed_and_nothing_else_is() {
    let hook = Hook::open().await;
    let webhook = Arc::new(webhook(hook.port));
    let mut answered = question(3, QuestionKind::Approval);
    answered.answer = Some(ptc_host::questions::Answer {
        action: ptc_host::questions::Action::Accept,
        content: None,
        by: AnsweredBy { channel: Channel::Console, name: None },
        at_ms: 0,
    });
    webhook.tell(&run(
        "run_a",
        vec![question(1, QuestionKind::Approval), question(2, QuestionKind::Ask), answered],
    ));
    webhook.tell(&run("run_b", vec![question(1, QuestionKind::Approval)]));
    let mut told = HashSet::new();
    for _ in 0..2 {
        let (head, body) = hook.answer("200 OK").await;
        assert!(head.starts_with("POST /hook?key=1 HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        signature::check(&secret(), Some(&header(&head)), &body, signature::now_s()).unwrap();
        let text = String::from_utf8(body).unwrap();
        assert!(text.contains("{\"n\": 12345678901234567890}"), "arguments go as they are: {text}");
        let told_of: Value = ptc_mcp::json::from_str(&text).unwrap();
        assert_eq!(told_of["calls"][0]["arguments_digest"], format!("v2:{}", "07".repeat(32)));
        assert_eq!(told_of["expires_at"], "1970-01-01T00:00:01.000000Z");
        let members = ["type", "question_id", "principal", "upstream", "policy_revision"]
            .map(|name| told_of[name].as_str().unwrap());
        assert_eq!(members, ["question", "q1", "ada", "fs", "ab"]);
        assert_eq!(told_of["calls"][0]["tool"], "move_file");
        told.insert((told_of["run_id"].to_string(), told_of["answer_url"].to_string()));
    }
    let of = |run: &str| (format!("\"{run}\""), format!("\"https://ptc.example/webhook/answers/{run}/q1\""));
    assert_eq!(told, HashSet::from([of("run_a"), of("run_b")]));
}

/// Delivers once to a server with these answers, and returns the number of requests.
async fn delivered(answers: &[&str]) -> usize {
    let hook = Hook::open().await;
    let webhook = Arc::new(webhook(hook.port));
    let asked = QuestionId::new(1);
    let mut count = 0;
    let served = async {
        for answer in answers {
            hook.answer(answer).await;
            count += 1;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = webhook.deliver(Bytes::from_static(b"{}"), "run_a", asked) => {}
        () = served => {}
    }
    count
}

#[tokio::test]
async fn what_may_pass_is_tried_three_times_more() {
    let busy = "503 Service Unavailable";
    assert_eq!(delivered(&["204 No Content", "200 OK"]).await, 1);
    assert_eq!(delivered(&[busy, "429 Too Many Requests", "200 OK", "200 OK"]).await, 3);
    assert_eq!(delivered(&[busy, busy, busy, busy, busy]).await, 4);
    assert_eq!(delivered(&["400 Bad Request", "200 OK"]).await, 1, "what is refused is not said again");
}

#[tokio::test]
async fn a_redirect_is_no_success_and_leads_nowhere() {
    let elsewhere = Hook::open().await;
    let status = format!("307 Temporary Redirect\r\nlocation: http://127.0.0.1:{}/", elsewhere.port);
    let answers = [status.as_str(), "200 OK"];
    tokio::select! {
        count = delivered(&answers) => assert_eq!(count, 1),
        _ = elsewhere.request() => panic!("the redirect was followed"),
    }
}

#[tokio::test]
async fn a_webhook_that_hangs_is_left() {
    let hook = Hook::open().await;
    let webhook = Webhook { patience: Duration::from_millis(20), ..webhook(hook.port) };
    let mut open = Vec::new();
    let hangs = async {
        loop {
            open.push(hook.request().await);
        }
    };
    tokio::select! {
        () = Arc::new(webhook).deliver(Bytes::from_static(b"{}"), "run_a", QuestionId::new(1)) => {}
        () = hangs => {}
    }
    assert!(open.len() <= 4, "it was asked {} times", open.len());
}

#[tokio::test]
async fn a_webhook_that_is_not_there_is_left() {
    let hook = Hook::open().await;
    let port = hook.port;
    drop(hook);
    Arc::new(webhook(port)).deliver(Bytes::from_static(b"{}"), "run_a", QuestionId::new(1)).await;
}

/// Runs that wait, and the answers to them.
struct Desk {
    runs: Vec<RunView>,
    said: Mutex<Vec<(String, String, AnsweredBy)>>,
}

impl WaitingRuns for Desk {
    fn all(&self) -> BoxFuture<'_, Result<Vec<RunView>, RunError>> {
        Box::pin(async { Ok(self.runs.clone()) })
    }

    fn answer<'a>(
        &'a self,
        owner: &'a str,
        run_id: &'a str,
        answers: String,
        by: AnsweredBy,
    ) -> BoxFuture<'a, Result<Vec<(QuestionId, Receipt)>, RunError>> {
        assert_eq!(owner, "ada");
        let (id, _) = answers.strip_prefix("{\"").unwrap().split_once('"').unwrap();
        let id = QuestionId::parse(id).unwrap();
        let mut said = self.said.lock();
        let known =
            said.iter().any(|(run, answered, _)| run == run_id && answered.contains(&format!("\"{id}\"")));
        said.push((run_id.to_owned(), answers, by));
        let took = if known { Receipt::AlreadyAnswered } else { Receipt::Counted };
        Box::pin(async move { Ok(vec![(id, took)]) })
    }
}

fn desk() -> Desk {
    let approvals = || {
        vec![
            question(1, QuestionKind::Approval),
            question(2, QuestionKind::Approval),
            question(3, QuestionKind::Ask),
        ]
    };
    Desk { runs: vec![run("run_a", approvals()), run("run_b", approvals())], said: Mutex::default() }
}

const ALLOW: &str = r#"{"decision":"allow","by":"eve"}"#;

async fn taken_at(webhook: &Webhook, desk: &Desk, place: (&str, &str), body: &str, at_s: i64) -> Taken {
    let header = HeaderValue::try_from(signature::signed(&secret(), at_s, body.as_bytes())).unwrap();
    webhook.take(desk, place.0, place.1, Some(&header), body.as_bytes()).await
}

async fn taken(webhook: &Webhook, desk: &Desk, place: (&str, &str), body: &str) -> Taken {
    taken_at(webhook, desk, place, body, signature::now_s()).await
}

#[tokio::test]
async fn an_answer_that_is_signed_counts() {
    let (webhook, desk) = (webhook(9), desk());
    assert_eq!(taken(&webhook, &desk, ("run_a", "q1"), ALLOW).await, Taken::Counted);
    let refuse = r#"{"decision":"refuse","by":"mallory"}"#;
    assert_eq!(taken(&webhook, &desk, ("run_b", "q2"), refuse).await, Taken::Counted);
    let said = desk.said.lock();
    let said: Vec<_> = said
        .iter()
        .map(|(run, answers, by)| (run.as_str(), answers.as_str(), by.channel, by.name.as_deref().unwrap()))
        .collect();
    assert_eq!(
        said,
        [
            (
                "run_a",
                r#"{"q1":{"action":"accept","content":{"decision":"allow"}}}"#,
                Channel::Webhook,
                "eve"
            ),
            (
                "run_b",
                r#"{"q2":{"action":"accept","content":{"decision":"refuse"}}}"#,
                Channel::Webhook,
                "mallory"
            ),
        ]
    );
}

#[tokio::test]
async fn an_answer_that_lies_counts_for_nothing() {
    let (webhook, desk) = (webhook(9), desk());
    let now = signature::now_s();
    let untrusted = |taken| matches!(taken, Taken::NotTrusted(_));
    assert!(untrusted(webhook.take(&desk, "run_a", "q1", None, ALLOW.as_bytes()).await));
    let other = Secret::of(&[&[b'x'; 32]]).unwrap();
    let header = HeaderValue::try_from(signature::signed(&other, now, ALLOW.as_bytes())).unwrap();
    assert!(untrusted(webhook.take(&desk, "run_a", "q1", Some(&header), ALLOW.as_bytes()).await));
    let header = HeaderValue::try_from(signature::signed(&secret(), now, b"{}")).unwrap();
    assert!(untrusted(webhook.take(&desk, "run_a", "q1", Some(&header), ALLOW.as_bytes()).await));
    for at in [now - 3_600, now + 3_600] {
        assert!(untrusted(taken_at(&webhook, &desk, ("run_a", "q1"), ALLOW, at).await));
    }
    let always = r#"{"decision":"always","by":"eve"}"#;
    assert!(matches!(taken(&webhook, &desk, ("run_a", "q1"), always).await, Taken::NotAnAnswer(_)));
    for place in [("run_c", "q1"), ("run_a", "q4"), ("run_a", "q3"), ("run_a", "1"), ("", "q1")] {
        assert_eq!(taken(&webhook, &desk, place, ALLOW).await, Taken::NotOpen, "{place:?}");
    }
    let elsewhere = r#"{"decision":"allow","by":"eve","run_id":"run_b","question_id":"q1"}"#;
    assert_eq!(taken(&webhook, &desk, ("run_a", "q1"), elsewhere).await, Taken::Elsewhere);
    assert!(desk.said.lock().is_empty());
}

#[tokio::test]
async fn an_answer_counts_once() {
    let (webhook, desk) = (webhook(9), desk());
    let at = signature::now_s() - 1;
    assert_eq!(taken_at(&webhook, &desk, ("run_a", "q1"), ALLOW, at).await, Taken::Counted);
    // An eavesdropper replays it, for this question and for others.
    for place in [("run_a", "q1"), ("run_a", "q2"), ("run_b", "q1")] {
        assert_eq!(taken_at(&webhook, &desk, place, ALLOW, at).await, Taken::Spent, "{place:?}");
    }
    assert_eq!(taken_at(&webhook, &desk, ("run_a", "q1"), ALLOW, at + 1).await, Taken::AlreadyAnswered);
    assert_eq!(desk.said.lock().len(), 2);

    // An answer that names its question may be repeated, and fits no other one.
    let named = r#"{"decision":"allow","by":"eve","run_id":"run_a","question_id":"q2"}"#;
    assert_eq!(taken_at(&webhook, &desk, ("run_a", "q2"), named, at).await, Taken::Counted);
    assert_eq!(taken_at(&webhook, &desk, ("run_a", "q2"), named, at).await, Taken::AlreadyAnswered);
    assert_eq!(taken_at(&webhook, &desk, ("run_b", "q2"), named, at).await, Taken::Elsewhere);
}

#[test]
fn neither_secret_nor_place_is_in_debug_output() {
    let url = Url::parse("https://hooks.example/T0K3N?key=1").unwrap();
    let shown = format!("{:?}", settings::Webhook { url, secret: secret() });
    assert!(
        shown.contains("hooks.example") && !shown.contains("T0K3N") && !shown.contains("ssss"),
        "{shown}"
    );
}
