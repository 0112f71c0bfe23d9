//! `ptc repl --connect` and `ptc health` as processes, against a listener of this one.

use ptc_host::credentials::Redactor;
use ptc_test_support::in_process::Listener;
use std::io::Write;
use std::process::{Command, Output, Stdio};

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
    assert!(!out.contains("Goodbye."), "a pipe takes no farewell: {out}");
    assert_eq!(got.status.code(), Some(1), "a program failed: {out}");

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

#[tokio::test(flavor = "multi_thread")]
async fn the_programs_that_a_server_keeps_are_listed_shown_and_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tokens, operators) = (folder.path().join("tokens"), folder.path().join("operators"));
    std::fs::write(&tokens, format!("alice:{TOKEN}\nbob:{TOKEN}-bob\n")).expect("written");
    std::fs::write(&operators, format!("{TOKEN}-ops\n")).expect("written");
    let bobs = folder.path().join("bob");
    std::fs::write(&bobs, format!("{TOKEN}-bob\n")).expect("written");
    let [tokens, operators, bobs] =
        [&tokens, &operators, &bobs].map(|path| path.to_str().expect("UTF-8").to_owned());
    let files = ["--http-auth-token-file", &tokens, "--http-operator-token-file", &operators];
    let flags = ["--http", "--console", "--questions", "auto", "--response-profile", "structured"];
    let listener = Listener::start(&[&flags[..], &files].concat(), None, &Redactor::new());
    let port = listener.address.port().to_string();
    let runs = async |file: &str, more: &[&str]| {
        ptc(&[&["runs", "--port", &port, "--token-file", file], more].concat(), "").await
    };
    let none = runs(&tokens, &[]).await;
    assert!(none.status.success() && none.stdout.is_empty(), "{}", text(&none.stderr));
    assert!(text(&none.stderr).contains("no program runs or waits"));

    let program = ptc_mcp::json::json!({"program": "(:ok (ask {:message \"Which region?\"}))"});
    let waiting = listener.call(Some(TOKEN), "lisp_eval", program).await;
    let id = waiting["structuredContent"]["run_id"].as_str().expect("an id").to_owned();
    let listed = runs(&tokens, &[]).await;
    let shown = text(&listed.stdout);
    assert!(shown.starts_with(&format!("{id}  waiting  lisp_eval, 0 upstream calls, ends in ")), "{shown}");
    assert!(shown.contains("\n  q1 ask: A program asks: Which region?\n"), "{shown}");
    let json = runs(&tokens, &["--json"]).await;
    let line: ptc_mcp::json::Value = ptc_mcp::json::from_str(text(&json.stdout).trim()).expect("JSON");
    assert_eq!(line["run_id"], id.as_str());
    let whole = runs(&operators, &["show", &id]).await;
    let shown = text(&whole.stdout);
    assert!(
        shown.contains(", of alice, ends in ") && shown.contains("  ends unless somebody answers by 20"),
        "{shown}"
    );

    // Nobody else sees it or stops it, and a token is needed.
    assert!(runs(&bobs, &[]).await.stdout.is_empty());
    for (work, told) in [("show", "run not found"), ("cancel", "run not found")] {
        let refused = runs(&bobs, &[work, &id]).await;
        assert_eq!(refused.status.code(), Some(1));
        assert!(text(&refused.stderr).contains(told), "{}", text(&refused.stderr));
    }
    let nobody = ptc(&["runs", "--port", &port], "").await;
    assert!(text(&nobody.stderr).contains("--token-file"), "{}", text(&nobody.stderr));

    let stopped = runs(&operators, &["cancel", &id]).await;
    assert_eq!(
        (text(&stopped.stdout), stopped.status.code()),
        (format!("{id} cancelled\n").as_str(), Some(0))
    );
    assert!(runs(&tokens, &[]).await.stdout.is_empty());
    assert!(text(&runs(&tokens, &["--all"]).await.stdout).contains("  cancelled  "));
    listener.stop().await;
}
