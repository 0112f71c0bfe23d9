//! What is good once is good once at all replicas together, also while they are killed (state.md 1; waiting.md 4.5, 5.4): states of
//! questions, and signatures of the webhook for approvals.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;

use ptc_mcp::json::{Value, json};
use ring::hmac;

use super::killed::{KILLS, Killed, Kills};
use ptc_test_support::PATIENCE;
use ptc_test_support::modern::Modern;
use ptc_test_support::process::Answer;

const EVAL: Option<&str> = Some("lisp_eval");

/// A call of the tool `note`, which says in a file that it was made.
fn note(path: &Path, text: &str) -> String {
    format!("(tool/call {{:server \"fake\" :tool \"note\" :args {{:path {path:?} :text {text}}}}})")
}

/// What the file says.
fn noted(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A call that asks for a region and notes it: with its client, or in the store if it is large.
fn asks(path: &Path, is_large: bool) -> Value {
    let asked = r#"(ask {:message "Which region?" :schema {:type "object" :properties {"region" {:type "string"}} :required ["region"]}})"#;
    let size = if is_large { 3000 } else { 3 };
    let program = format!(
        "(let [rows (mapv (fn [i] (* i 7919 i i)) (range {size})) region (get (:value {asked}) \"region\") noted {}] \
         [region (count rows)])",
        note(path, "region")
    );
    json!({"name": "lisp_eval", "arguments": {"program": program}})
}

/// The same call again, with its state and this answer.
fn retry(call: &Value, asked: &Value, region: &str) -> Value {
    let mut retry = call.clone();
    retry["requestState"] = asked["requestState"].clone();
    let question = asked["inputRequests"].as_object().and_then(|all| all.keys().next());
    let question = question.unwrap_or_else(|| panic!("{asked}"));
    retry["inputResponses"] = json!({question: {"action": "accept", "content": {"region": region}}});
    retry
}

/// The region that the program went on with; `None` if its state was used before.
fn outcome(answer: &Value) -> Option<String> {
    if answer["error"]["data"]["reason"] == "spent" {
        return None;
    }
    let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let text = text.strip_prefix("user=> [\"").and_then(|rest| rest.split('"').next());
    Some(text.unwrap_or_else(|| panic!("{answer}")).to_owned())
}

fn client(server: &Killed) -> Modern {
    Modern::new(&server.address, json!({"elicitation": {"form": {}}}))
}

/// States longer than this stay in the store.
const FLAGS: [&str; 2] = ["--max-request-state-bytes", "2000"];

#[test]
fn of_those_who_use_a_state_at_once_one_goes_on_and_later_ones_are_told_so() {
    let Some(server) = Killed::start(&FLAGS, json!({}), Kills::InLulls) else { return };
    let client = client(&server);
    let mut used = Vec::new();
    while server.kills() < KILLS {
        let path = server.path(&used.len().to_string());
        let call = asks(&path, used.len() % 2 == 1);
        let asked = client.request("tools/call", &call);
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let answers = std::thread::scope(|scope| {
            ["eu", "us", "eu", "us"]
                .map(|region| {
                    let retry = retry(&call, &asked, region);
                    scope.spawn(|| client.answer("tools/call", &{ retry }, EVAL).1)
                })
                .map(|answer| answer.join().unwrap())
        });
        let [first] = &noted(&path)[..] else { panic!("{:?}: {answers:?}", noted(&path)) };
        for (answer, region) in answers.iter().zip(["eu", "us", "eu", "us"]) {
            let wanted = (region == first).then(|| first.clone());
            assert_eq!(outcome(answer), wanted, "{region} after {first}: {answer}");
        }
        used.push((call, asked, first.clone()));
    }
    // Whichever of those that used them are dead.
    for (number, (call, asked, first)) in used.iter().enumerate() {
        for region in ["us", "eu"] {
            let answer = client.answer("tools/call", &retry(call, asked, region), EVAL).1;
            assert_eq!(outcome(&answer), (region == first).then(|| first.clone()), "{answer}");
        }
        assert_eq!(noted(&server.path(&number.to_string())).len(), 1);
    }
}

#[test]
fn a_state_whose_server_is_killed_meanwhile_is_good_once_all_the_same() {
    let Some(server) = Killed::start(&FLAGS, json!({}), Kills::Anytime) else { return };
    let client = client(&server);
    // Sent again until there is an answer.
    let answered = |params: &Value| loop {
        if let Ok((_, message)) = client.try_answer("tools/call", params, EVAL) {
            break message;
        }
    };
    std::thread::scope(|scope| {
        for caller in 0..6 {
            let (server, answered) = (&server, &answered);
            scope.spawn(move || {
                for number in 0.. {
                    if server.kills() >= KILLS {
                        break;
                    }
                    let path = server.path(&format!("{caller}-{number}"));
                    let call = asks(&path, number % 2 == 1);
                    let asked = answered(&call)["result"].take();
                    assert_eq!(asked["resultType"], "input_required", "{asked}");
                    let [eu, us] = ["eu", "us"].map(|region| retry(&call, &asked, region));
                    let outcomes = std::thread::scope(|scope| {
                        let other = scope.spawn(|| outcome(&answered(&us)));
                        [outcome(&answered(&eu)), other.join().unwrap()]
                    });
                    let noted = noted(&path);
                    assert!(noted.len() < 2, "{noted:?} {outcomes:?}");
                    // Who was killed between both has left no outcome, and perhaps no call.
                    for told in outcomes.iter().flatten() {
                        assert_eq!(noted.first(), Some(told), "{outcomes:?}");
                    }
                }
            });
        }
    });
}

/// Answers an approval as the webhook does: the status, and what came of it.
fn decides(server: &Killed, run: &str, body: &str, signature: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "POST /webhook/answers/{run}/q1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         PTC-Signature: {signature}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let answer = Answer::read(stream).unwrap();
    let told: Value = serde_json::from_str(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"));
    (answer.status, told["outcome"].clone())
}

/// The header of a body that is sent now.
fn signed(secret: &[u8], body: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    let tag = hmac::sign(&key, format!("{now}.{body}").as_bytes());
    let digits: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={now},v1={digits}")
}

#[test]
fn a_signature_of_the_webhook_answers_one_approval() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    ptc_tests::replicated::write_secret(&secret);
    let flags = [
        "--questions",
        "auto",
        "--response-profile",
        "structured",
        "--approval-webhook-url",
        "http://127.0.0.1:9/hook",
        "--approval-webhook-secret-file",
        secret.to_str().unwrap(),
    ];
    let keys = json!({"approve_tools": ["note"], "approve_level": "out_of_band"});
    let Some(server) = Killed::start(&flags, keys, Kills::InLulls) else { return };
    let key = std::fs::read_to_string(&secret).unwrap();
    let client = Modern::new(&server.address, json!({}));
    for round in 0.. {
        if server.kills() >= KILLS {
            break;
        }
        let path = server.path(&round.to_string());
        let waits = || {
            let waiting = client.tool("lisp_eval", json!({"program": note(&path, "\"done\"")}));
            let waiting = &waiting["structuredContent"];
            assert_eq!(waiting["status"], "waiting", "{waiting}");
            waiting["run_id"].as_str().unwrap().to_owned()
        };
        let runs = [waits(), waits()];
        // It does not say which of them it answers. Another one each round: the same in the same second would be the same signature.
        let body = json!({"decision": "allow", "by": format!("ada {round}")}).to_string();
        let signature = signed(key.trim().as_bytes(), &body);
        let told = std::thread::scope(|scope| {
            [0, 1, 0, 1]
                .map(|at| {
                    let (server, run, body, signature) = (&server, &runs[at], &body, &signature);
                    scope.spawn(move || decides(server, run, body, signature))
                })
                .map(|told| told.join().unwrap())
        });
        let counted: Vec<usize> = (0..4).filter(|at| told[*at] == (200, json!("counted"))).collect();
        let [counted] = counted[..] else { panic!("{told:?}") };
        for (at, (status, outcome)) in told.iter().enumerate() {
            // Its own run may have ended already. The other one still waits.
            let is_spent = (*status, outcome) == (409, &json!("spent"));
            let is_late = at % 2 == counted % 2 && *status == 404;
            assert!(at == counted || is_spent || is_late, "{told:?}");
        }
        // What names its approval is taken for it; whoever comes late is told so.
        let outcomes = runs.map(|run| {
            let body =
                json!({"decision": "refuse", "by": "ada", "run_id": run, "question_id": "q1"}).to_string();
            let told = decides(&server, &run, &body, &signed(key.trim().as_bytes(), &body));
            assert_eq!(decides(&server, &run, &body, &signed(key.trim().as_bytes(), &body)).0 / 100, 4);
            told.0
        });
        assert_eq!(outcomes.iter().filter(|status| **status == 200).count(), 1, "{outcomes:?}");
        // A program whose server was killed behind the answer has made no call, or one.
        assert!(noted(&path).len() < 2, "{:?}", noted(&path));
    }
}
