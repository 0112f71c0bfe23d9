//! Two servers on one store, whose clocks differ by five minutes (state.md 2.3): what one has dated the other judges by the clock of the store.

use std::time::{Duration, Instant, SystemTime};

use ptc_mcp::json::{Value, json};

use super::client::Client;
use super::shared::Place;
use ptc_test_support::modern::{Modern, takes_tasks};
use ptc_test_support::other_clock::ahead;
use ptc_test_support::process::{Http, until};
use ptc_test_support::wait_until;

/// How far the clock of one of them is ahead: longer than anything here may live.
const AHEAD: u32 = 300;
/// How long a session may rest where that matters.
const IDLE: Duration = Duration::from_secs(4);
/// What is said of a session that somebody has taken.
const BUSY: &str = "an eval is already running for this session";

/// A server whose clock is ahead, and one whose clock is right; `None` where that cannot be had.
fn pair(place: &Place, flags: &[&str]) -> Option<[Http; 2]> {
    let variables = ahead(AHEAD)?;
    let settings: Vec<String> =
        variables.iter().map(|(name, value)| format!("export {name}={value}")).collect();
    let early = place.launch(flags).with_upstream().after(&settings.join(" && ")).on_http();
    wait_until("it is told that its clock is another one", || {
        early.server.launch.log().contains("state_store_clock_differs")
    });
    Some([early, place.launch(flags).with_upstream().on_http()])
}

/// Seconds between now and a time that a server tells of, if they are of the same day or of the next one.
fn seconds_from_now(told: &Value) -> u64 {
    const DAY: u64 = 86_400;
    let text = told.as_str().unwrap_or_else(|| panic!("{told}"));
    let time = text.split_once('T').map(|(_, time)| time).unwrap_or_else(|| panic!("{text}"));
    let parts: Vec<u64> = time[..8].split(':').map(|part| part.parse().unwrap()).collect();
    let told = parts[0] * 3600 + parts[1] * 60 + parts[2];
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() % DAY;
    let apart = told.abs_diff(now);
    apart.min(DAY - apart)
}

#[test]
fn conversations_and_sessions_live_as_long_at_both() {
    let Some(place) = Place::new() else { return };
    let rest = IDLE.as_millis().to_string();
    let flags =
        ["--http-session-ttl-ms", "120000", "--session-ttl-ms", "120000", "--session-idle-timeout-ms", &rest];
    let Some(servers) = pair(&place, &flags) else { return };
    for (begins, goes_on) in [(0, 1), (1, 0)] {
        let [here, there] = [&servers[begins], &servers[goes_on]];
        let client = Client::begin(&here.address);
        // The conversation is two minutes old at most, whatever the other clock says; and so is the session.
        let other = client.at(&there.address);
        let session = loop {
            let begun = Instant::now();
            let session = client.start();
            let inc = "(def n (inc n)) n";
            let told = [(&client, "(def n 1) n"), (&other, inc), (&client, inc)]
                .map(|(client, program)| client.eval_in(&session, program).unwrap().text());
            // On a machine that is busy for that long it has rested by now, and another one is begun.
            if begun.elapsed() < IDLE {
                let all = (1..=3).zip(&told).all(|(n, told)| told.starts_with(&format!("user=> {n}")));
                assert!(all, "{told:?}");
                break session;
            }
        };
        // Who rests for longer than a session may has lost it at both.
        let rested = Instant::now();
        wait_until("it has rested", || rested.elapsed() > IDLE + Duration::from_millis(500));
        for client in [&client, &other] {
            let late = client.eval_in(&session, "n").unwrap().text();
            assert!(late.contains("closed") || late.contains("not found"), "{late}");
        }
    }
}

#[test]
fn nobody_takes_a_session_on_which_a_program_of_the_other_runs() {
    let Some(place) = Place::new() else { return };
    let Some(servers) = pair(&place, &[]) else { return };
    let dir = tempfile::tempdir().unwrap();
    for (holds, wants) in [(0, 1), (1, 0)] {
        let client = Client::begin(&servers[holds].address);
        let session = client.start();
        let file = dir.path().join(holds.to_string());
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                loop {
                    let program = format!("(def kept {}) kept", until(&file));
                    let told = client.eval_in(&session, &program).unwrap().text();
                    // The other one may have had it for a moment.
                    if !told.contains(BUSY) {
                        break told;
                    }
                }
            });
            let other = client.at(&servers[wants].address);
            wait_until("the other one is told so", || {
                other.eval_in(&session, "1").unwrap().text().contains(BUSY)
            });
            for _ in 0..20 {
                let told = other.eval_in(&session, "1").unwrap().text();
                assert!(told.contains(BUSY), "{told}");
            }
            std::fs::write(&file, "").unwrap();
            let kept = running.join().unwrap();
            assert!(kept.contains("there it is"), "{kept}");
            assert!(other.eval_in(&session, "kept").unwrap().text().contains("there it is"));
        });
    }
}

#[test]
fn states_of_questions_are_good_at_the_other_one_and_once() {
    let Some(place) = Place::new() else { return };
    let flags = ["--request-state-ttl-ms", "120000"];
    let Some(servers) = pair(&place, &flags) else { return };
    let asks = r#"(:value (ask {:message "Which region?" :schema {:type "object" :properties {:region {:type "string"}} :required ["region"]}}))"#;
    for (asked, answers) in [(0, 1), (1, 0)] {
        let client = |at: usize| Modern::new(&servers[at].address, json!({"elicitation": {"form": {}}}));
        let call = json!({"name": "lisp_eval", "arguments": {"program": asks}});
        let waiting = client(asked).request("tools/call", &call);
        assert_eq!(waiting["resultType"], "input_required", "{waiting}");
        let mut retry = call.clone();
        retry["requestState"] = waiting["requestState"].clone();
        let question = waiting["inputRequests"].as_object().unwrap().keys().next().unwrap();
        retry["inputResponses"] = json!({question: {"action": "accept", "content": {"region": "eu"}}});
        let done = client(answers).request("tools/call", &retry);
        assert!(done["content"][0]["text"].as_str().unwrap().contains("eu"), "{done}");
        // What was spent there is spent here: the same retry has the same outcome, and another one none.
        retry["inputResponses"] = json!({question: {"action": "accept", "content": {"region": "us"}}});
        let (_, again) = client(asked).answer("tools/call", &retry, Some("lisp_eval"));
        assert!(!again.to_string().contains("us\\\"") && !again.to_string().contains("\"us\""), "{again}");
    }
}

#[test]
fn runs_are_dated_and_end_by_the_same_clock() {
    let Some(place) = Place::new() else { return };
    let flags = ["--long-runs", "--response-profile", "structured"];
    let Some(servers) = pair(&place, &flags) else { return };
    let dir = tempfile::tempdir().unwrap();
    for (begins, looks) in [(0, 1), (1, 0)] {
        let client = |at: usize| Modern::new(&servers[at].address, takes_tasks());
        let file = dir.path().join(begins.to_string());
        let program = json!({"program": format!("(def r {}) r", until(&file)), "wait_ms": 0});
        let task = client(begins).tool("lisp_eval", program);
        let id = task["taskId"].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
        for at in [begins, looks] {
            let seen = client(at).request("tasks/get", &json!({"taskId": id}));
            assert_eq!(seen["status"], "working", "{seen}");
            let apart = seconds_from_now(&seen["createdAt"]);
            assert!(apart < 120, "{apart} s: {seen}");
        }
        std::fs::write(&file, "").unwrap();
        wait_until("it has ended", || {
            client(looks).request("tasks/get", &json!({"taskId": id}))["status"] == "completed"
        });
    }
}
