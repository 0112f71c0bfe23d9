//! What programs see of sign-ins, and what their readers see who look at the value alone.

use std::io::{BufRead as _, BufReader, Write as _};

use ptc_mcp::json::{Value, json};

use super::person::Person;
use super::server::{ANN, Server, entry};
use super::{APPLICATION, plain};
use ptc_test_support::authorization_server::{AuthorizationServer, Script};
use ptc_test_support::wait_until;

#[test]
fn a_program_that_looks_away_does_not_hide_the_sign_in() {
    let hosted = AuthorizationServer::start(plain("/mcp"));
    let server = Server::start(&hosted, &["--log-level", "error"]);
    let call = "(tool/call {:server \"notes\" :tool \"whoami\" :args {}})";
    let link = format!("{}/oauth/start?upstream=notes", server.origin());
    let told = format!(
        "notes.whoami auth_required (1); not signed in to upstream 'notes'; a person must open: {link}"
    );
    for program in [format!("(do {call} 42)"), format!("(count [{call}])"), format!("(:value {call})")] {
        let text = server.evals(ANN, &program);
        assert!(text.contains(&told), "{program}: {text}");
    }
    // Many calls are one question.
    let text = server.evals(ANN, &format!("(count (pmap (fn [_] {call}) (range 20)))"));
    assert_eq!(text.matches(&link).count(), 1, "{text}");
    assert!(text.contains("notes.whoami auth_required (20); not signed in"), "{text}");
    // A program that hands the message on needs no note.
    let text = server.evals(ANN, &format!("(:message {call})"));
    assert_eq!(text.matches(&link).count(), 1, "{text}");
}

#[test]
fn a_program_meets_a_scope_that_it_lacks_and_goes_on() {
    let needs = vec!["notes:write"];
    let hosted = AuthorizationServer::start(Script {
        write_needs: needs,
        challenged: Some("notes:read"),
        redirects: "http://",
        ..plain("/mcp")
    });
    let file = json!({"upstreams": {"notes": entry(&hosted, json!({"redirect": {"port": 0}}))}});
    let person = Person::new(&file, APPLICATION);
    person.signs_in("notes");
    // One process for all of it: nothing is restarted.
    let mut process = person.ptc(&[
        "eval",
        "--jsonl",
        "--program-timeout-ms",
        "60000",
        "--upstream-call-timeout-ms",
        "30000",
    ]);
    let mut input = process.stdin.take().expect("piped");
    let mut lines = BufReader::new(process.stdout.take().expect("piped")).lines();
    let call = |tool: &str| format!("(tool/call {{:server \"notes\" :tool \"{tool}\" :args {{}}}})");
    let program = format!(
        "(let [a {} b {} c {}] [(:ok a) (or (:message b) (:ok b)) (:reason b) (:ok c)])",
        call("whoami"),
        call("write"),
        call("whoami")
    );
    let mut eval = || -> Value {
        let line = json!({"id": 1, "program": program}).to_string();
        writeln!(input, "{line}").expect("it reads");
        let line = lines.next().expect("an answer").expect("text");
        serde_json::from_str::<Value>(&line).expect("JSON")["json"].clone()
    };
    let lacks =
        "upstream 'notes' needs the scope \"notes:write\" for this call; a person must run: ptc login notes";
    assert_eq!(eval(), json!([true, lacks, "auth_required", true]));
    assert_eq!(hosted.grants("refresh_token").len(), 0, "the token is good");
    // The next sign-in asks for all of it, without being told what.
    person.signs_in("notes");
    assert_eq!(hosted.hits("/authorize")[1].get("scope"), Some("notes:read notes:write"));
    wait_until("it is called", || eval() == json!([true, true, null, true]));
    drop(input);
    assert!(process.wait().expect("it ran").success());
}
