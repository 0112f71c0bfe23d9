//! Profiles (auth.md 14.5): a part of the upstreams for the client of a pipe, or at an address of its own.

use super::{tells_nothing, upstreams, write};
use ptc_mcp::json::{Value, json};
use ptc_test_support::process::{Http, Launch, call, post};
use tempfile::TempDir;

/// A server whose profile `part` shows `zq7visible` of `zq7seen` and nothing else.
fn launch(start: fn(&[&str]) -> Launch, flags: &[&str]) -> (Launch, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let seen = json!({"zq7seen": {"allow": ["zq7visible"], "resources": ["zq7:zq7visible*"], "prompts": ["zq7visible"]}});
    let entries = upstreams(env!("CARGO_BIN_EXE_fake-upstream"));
    let file = json!({"upstreams": entries, "profiles": {"part": {"upstreams": seen}, "all": {"upstreams": {"*": {}}}}});
    let config = write(&folder, "upstreams.json", &file.to_string());
    let flags = [&["--upstreams-config", &*config], flags].concat();
    (start(&flags), folder)
}

const LOOK: &str = r#"[(map :name (tool/servers)) (dir "zq7seen") (apropos "zq7")]"#;

/// A call of what the profile does not show.
const CALL: &str = r#"(tool/call {:server "zq7seen" :tool "zq7hidden" :args {}})"#;

#[test]
fn the_client_of_a_pipe_sees_its_profile() {
    let (launch, _folder) = launch(Launch::new, &["--profile", "part"]);
    let mut pipes = launch.on_pipes();
    let answer = pipes.request(&call(1, LOOK)).to_string();
    assert!(answer.contains("zq7visible"), "{answer}");
    tells_nothing("a program", &answer);
    let refused = pipes.request(&call(3, CALL)).to_string();
    assert!(refused.contains("no tool 'zq7hidden' in upstream 'zq7seen'"), "{refused}");
    let listed = pipes.request(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})).to_string();
    assert!(listed.contains("zq7visible"), "{listed}");
    tells_nothing("tools/list", &listed);
}

#[test]
fn a_profile_that_there_is_not_ends_the_start() {
    for (flags, text) in [
        (&["--profile", "prat"][..], "--profile / PTC_PROFILE: no profile \"prat\"; did you mean part?"),
        (
            &["--profile", "part", "--http", "--http-disable-auth"],
            "--profile / PTC_PROFILE is for a pipe: over HTTP the profile has an address of its own, /mcp/part",
        ),
    ] {
        let (launch, _folder) = launch(Launch::new, flags);
        let mut pipes = launch.on_pipes();
        assert!(!pipes.server.ended().success());
        let said = pipes.server.launch.log();
        assert!(said.contains(&json!(text).to_string().trim_matches('"').to_owned()), "{said}");
    }
}

/// The answer to a program at this path.
fn eval_at(server: &Http, path: &str, program: &str) -> (u16, String) {
    let request =
        String::from_utf8(post(program)).expect("text").replacen("POST /mcp ", &format!("POST {path} "), 1);
    let answer = server.exchange(request.as_bytes());
    (answer.status, answer.body)
}

#[test]
fn each_profile_has_an_address() {
    let (launch, _folder) = launch(Launch::new, &[]);
    let server = launch.on_http();
    for path in ["/mcp/part", "/mcp/part/"] {
        let (status, body) = eval_at(&server, path, LOOK);
        assert!(status == 200 && body.contains("zq7visible"), "{path}: {status} {body}");
        tells_nothing(path, &body);
        let (_, refused) = eval_at(&server, path, CALL);
        assert!(refused.contains("no tool 'zq7hidden' in upstream 'zq7seen'"), "{refused}");
    }
    for path in ["/mcp", "/mcp/all"] {
        let (status, body) = eval_at(&server, path, "(map :name (tool/servers))");
        assert!(status == 200 && body.contains("zq7hiddenhost"), "{path}: {status} {body}");
    }
    for path in ["/mcp/prat", "/mcp/part/x", "/mcp/", "/mcppart"] {
        let (status, _) = eval_at(&server, path, "1");
        assert_eq!(status, if path == "/mcp/" { 200 } else { 404 }, "{path}");
    }
}

#[test]
fn a_profile_is_a_resource_of_its_own() {
    let flags = ["--issuer", "http://127.0.0.1:9", "--public-url", "https://ptc.example/mcp"];
    let (launch, _folder) = launch(|flags| Launch::of(env!("CARGO_BIN_EXE_ptc-under-test"), flags), &flags);
    let server = launch.on_http();
    for (path, resource) in [("", "https://ptc.example/mcp"), ("/part", "https://ptc.example/mcp/part")] {
        let document: Value = server.get(&format!("/.well-known/oauth-protected-resource/mcp{path}")).json();
        assert_eq!(document["resource"], resource);
        let request =
            String::from_utf8(post("1")).expect("text").replacen("/mcp ", &format!("/mcp{path} "), 1);
        let answer = server.exchange(request.as_bytes());
        let challenge = answer.header("www-authenticate").unwrap_or_default().to_owned();
        let metadata = format!(
            "resource_metadata=\"https://ptc.example/.well-known/oauth-protected-resource/mcp{path}\""
        );
        assert!(answer.status == 401 && challenge.contains(&metadata), "{challenge}");
    }
    assert_eq!(server.get("/.well-known/oauth-protected-resource/mcp/prat").status, 404);
}
