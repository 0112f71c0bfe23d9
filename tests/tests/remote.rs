//! `ptc repl --connect` and `ptc health` as processes, against a listener of this one.

#[path = "support/in_process.rs"]
#[expect(dead_code, reason = "shared with other tests, which need more of it")]
mod support;

use ptc_host::credentials::Redactor;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use support::Listener;

const TOKEN: &str = "a-token-that-is-long-enough-to-be-accepted-0001";

/// Runs `ptc` with these arguments and this input, while the listener of this thread's runtime serves.
async fn ptc(arguments: &[&str], input: &'static str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"));
    command.args(arguments).env_remove("PTC_HTTP_AUTH_TOKEN").env_remove("PTC_RUNNER_MCP_HTTP_AUTH_TOKEN");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("ptc starts");
    let run = tokio::task::spawn_blocking(move || {
        let mut stdin = child.stdin.take().expect("piped");
        // A process that ends without reading is judged by what it says.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("it ends")
    });
    run.await.expect("no panic")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_the_server_keeps_definitions() {
    let flags = ["--http", "--sessions", "--http-auth-token", TOKEN, "--response-profile", "slim"];
    let listener = Listener::start(&flags, None, &Redactor::new());
    let url = format!("http://{}", listener.address);
    let connect = ["repl", "--connect", &url, "--token", TOKEN];

    let got =
        ptc(&connect, "(def x\n 41)\n(+ x 1)\n(/ 1 0)\n:mode\n:display json\n:nonsense\n(+ x 2)\n").await;
    let out = text(&got.stdout);
    for shown in [
        "[stored: x]",
        "user=> 42\n",
        "Error:\n",
        "division by zero",
        "Mode: session-backed lisp_session_eval (session_id=ptcs_",
        "Unknown command. Available: :help, :mode, :display, :tools, :quit\n",
        "\"text\":\"user=> 43\"",
    ] {
        assert!(out.contains(shown), "no {shown} in {out}");
    }
    assert!(out.ends_with("Goodbye.\n") && got.status.success(), "{out}");

    // What it left is closed: no session is there any more.
    let list = listener.call(Some(TOKEN), "lisp_session_list", ptc_mcp::json::json!({})).await;
    assert!(list["content"][0]["text"].as_str().expect("text").contains("\"count\":0"), "{list}");

    let once = ptc(&[&connect[..], &["--stateless", "-e", "(def y 1)", "-e", "y"]].concat(), "").await;
    assert_eq!(once.status.code(), Some(1), "definitions of stateless programs are gone");
    assert!(text(&once.stdout).contains("#'y") && text(&once.stderr).contains("Undefined variable: y"));

    let refused = ptc(&["repl", "--connect", &url, "-e", "1"], "").await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("401") && text(&refused.stderr).contains("--token"));
    listener.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_an_exit_status() {
    let listener = Listener::start(&["--http"], None, &Redactor::new());
    let port = listener.address.port().to_string();
    for more in [&[][..], &["--ready"]] {
        let well = ptc(&[&["health", "--port", &port], more].concat(), "").await;
        assert!(well.status.success(), "{}", text(&well.stderr));
    }
    let no_sessions = ptc(&["repl", "--connect", &format!("http://127.0.0.1:{port}"), "--session"], "").await;
    assert!(text(&no_sessions.stderr).contains("--sessions"), "{}", text(&no_sessions.stderr));
    listener.stop().await;
    // A process that the other test is just starting holds a copy of the listening socket until it runs its own program.
    let gone = loop {
        let gone = ptc(&["health", "--port", &port], "").await;
        assert_eq!(gone.status.code(), Some(1));
        if !text(&gone.stderr).contains("connection closed") {
            break gone;
        }
    };
    assert!(text(&gone.stderr).contains("connection refused"), "{}", text(&gone.stderr));
}
