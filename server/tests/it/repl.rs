//! `ptc repl`, `ptc tools` and `ptc call` as processes, through pipes.

use std::io::Write as _;
#[cfg(unix)]
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptc_test_support::child_process::copy_program;

const PTC: &str = env!("CARGO_BIN_EXE_ptc");

/// A process of `ptc` that sees no configuration and no home but the test's.
fn ptc(home: &tempfile::TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(PTC);
    command
        .args(arguments)
        .env_remove("PTC_UPSTREAMS")
        .env_remove("PTC_RUNNER_UPSTREAMS")
        .env_remove("PTC_RUNNER_MCP_UPSTREAMS")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_STATE_HOME")
        .env("HOME", home.path());
    command
}

/// Runs a command on this input.
fn run(mut command: Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // Small enough for any pipe; dropped at once, so that the child sees the end.
    let written = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the command ends");
    // A command that ends without reading closes its end.
    if output.status.success() {
        written.expect("the command reads its input");
    }
    output
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Standard output and standard error of a REPL in which no program fails.
fn repl(arguments: &[&str], input: &str) -> (String, String) {
    repl_ending(0, arguments, input)
}

/// Standard output and standard error of a REPL in which some program fails, which the exit status says.
fn failing_repl(arguments: &[&str], input: &str) -> (String, String) {
    repl_ending(1, arguments, input)
}

fn repl_ending(code: i32, arguments: &[&str], input: &str) -> (String, String) {
    let home = tempfile::tempdir().expect("a folder");
    let arguments: Vec<&str> = std::iter::once("repl").chain(arguments.iter().copied()).collect();
    let output = run(ptc(&home, &arguments), input);
    let (out, err) = (text(&output.stdout).to_owned(), text(&output.stderr).to_owned());
    assert_eq!(output.status.code(), Some(code), "{out}{err}");
    assert!(std::fs::read_dir(home.path()).expect("readable").next().is_none(), "a pipe leaves no history");
    (out, err)
}

/// A file in a folder that is gone with the test.
fn file(folder: &tempfile::TempDir, name: &str, content: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, content).expect("written");
    path
}

/// An upstreams file with the demo's file server and a secret that is part of that server's text. The program is
/// copied, since no upstream may be the very file that runs.
fn upstreams(folder: &tempfile::TempDir) -> PathBuf {
    let server = folder.path().join("file-server");
    copy_program(Path::new(PTC), &server);
    let config = ptc_mcp::json::json!({"upstreams": {"fs": {
        "transport": "mcp_stdio", "command": server, "args": ["demo-upstream", "fs"],
        "description": "Files", "env": {"PHRASE": "${TEST_PHRASE}"},
    }}});
    file(folder, "upstreams.json", &config.to_string())
}

#[test]
fn definitions_and_results_stay_from_form_to_form() {
    let input =
        "(def x 20)\n(defn twice [n]\n  ; a comment with a )\n  (* 2 n))\n\n(twice x) (inc *1)\n[*1 *2]\n";
    let (out, err) = repl(&[], input);
    assert_eq!(out, "#'x\n#'twice\n40\n41\n[41 40]\n");
    assert_eq!(err, "");
}

#[test]
fn an_error_leaves_the_session_usable_and_shows_the_place() {
    let (out, err) = failing_repl(&[], "(def x 1)\n(+ x\n   (nope 2))\n(+ 1 ]\n(fail {:no 1})\nx\n");
    assert_eq!(out, "#'x\n1\n", "{err}");
    assert!(err.contains("nope"), "{err}");
    assert!(err.contains("\n2 |    (nope 2))\n"), "{err}");
    assert!(err.contains("^"), "{err}");
    assert!(err.contains("parse_error"), "{err}");
    assert!(err.contains("{:no 1}"), "{err}");
    assert!(!err.contains('\u{1b}'), "no colour without a terminal: {err}");
}

#[test]
fn text_that_never_ends_is_an_error() {
    let (out, err) = failing_repl(&[], "7\n(+ 1\n 2");
    assert_eq!(out, "7\n");
    assert!(err.contains("unbalanced parentheses: 1 unclosed '('"), "{err}");
}

#[test]
fn prints_come_before_the_result_whatever_it_is() {
    let (out, err) =
        failing_repl(&[], "(do (println \"one\") (println \"two\") 3)\n(do (println \"kept\") (fail :x))\n");
    assert_eq!(out, "one\ntwo\n3\nkept\n");
    assert!(err.contains(":x"), "{err}");
}

#[test]
#[cfg(unix)]
fn prints_are_shown_while_the_program_runs_and_ctrl_c_ends_it_alone() {
    let home = tempfile::tempdir().expect("a folder");
    // Should Ctrl-C not work, the program's own time ends it and the test fails.
    let limits = ["--program-timeout-ms", "60000", "--program-step-limit", "1000000000000"];
    let arguments: Vec<&str> = ["repl"].iter().chain(&limits).copied().collect();
    let mut child = ptc(&home, &arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
    let program = "(def x 5)\n(do (def x 6) (println \"running\") (loop [i 0] (recur (inc i))))\nx\n";
    input.write_all(program.as_bytes()).expect("the command reads");
    let mut line = || {
        let mut line = String::new();
        output.read_line(&mut line).expect("text");
        line
    };
    assert_eq!([line(), line()], ["#'x\n", "running\n"]);
    let interrupt = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &interrupt]).status().expect("a shell").success());
    assert_eq!(line(), "5\n", "the session is as it was before the program");
    drop(input);
    let rest = child.wait_with_output().expect("the command ends");
    assert!(rest.status.success());
    assert_eq!(text(&rest.stderr), "cancelled\n");
}

#[test]
fn commands_help_and_leave() {
    let (out, _) =
        repl(&[], ":key\n:doc map\n(def doubled 1)\n:find doubled\n:quit\n(println \"too late\")\n");
    assert!(out.starts_with(":key\n"), "{out}");
    assert!(out.contains("\nSignatures: (map f c)"), "{out}");
    assert!(!out.contains("\\n"), "texts are read, not read back: {out}");
    assert!(!out.contains("too late"), "{out}");
}

#[test]
fn files_contexts_and_limits_are_given_by_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let library = file(&folder, "lib.clj", "(defn a [] (b))\n(defn b [] data/n)\n(println \"loading\")");
    let library = library.to_str().expect("UTF-8");
    let flags = ["--load", library, "--context", r#"{"n": 5}"#, "--program-step-limit", "100000"];
    let (out, err) = failing_repl(&flags, "(a)\n(loop [] (recur))\n(a)\n");
    assert_eq!(out, "loading\n5\n5\n");
    assert!(err.contains(&format!("Loaded {library}")), "{err}");
    assert!(err.contains("100000") || err.contains("100,000"), "{err}");

    let home = tempfile::tempdir().expect("a folder");
    let refused = run(ptc(&home, &["repl", "--context", "[1]"]), "");
    assert_eq!(refused.status.code(), Some(2));
    let evaluated = run(ptc(&home, &["repl", "-e", "(def x 2)", "-e", "(* x 21)"]), "ignored");
    assert_eq!(text(&evaluated.stdout), "#'x\n42\n");
    assert_eq!(run(ptc(&home, &["repl", "-e", "(nope)"]), "").status.code(), Some(1));
}

#[test]
fn a_program_reaches_the_upstreams_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = upstreams(&folder);
    let program = "(def reply (tool/call {:server \"fs\" :tool \"read_text_file\" :args {:path \"/etc/watched-paths.txt\"}}))\n\
                   (:ok reply)\n(count (:value reply))\n:tools\n";
    for mode in ["live", "frozen"] {
        let home = tempfile::tempdir().expect("a folder");
        let config = config.to_str().expect("UTF-8");
        let flags = ["repl", "--upstreams-config", config, "--catalog-snapshot-mode", mode];
        let mut command = ptc(&home, &flags);
        command.env("TEST_PHRASE", "not in any file");
        let output = run(command, program);
        let out = text(&output.stdout);
        assert!(out.starts_with("#'reply\ntrue\n"), "{mode}: {out}{}", text(&output.stderr));
        assert!(
            out.contains("\nfs/read_text_file  Read the contents of a UTF-8 text file\n"),
            "{mode}: {out}"
        );
    }
}

#[test]
fn tools_are_listed_and_searched() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = upstreams(&folder);
    let tools = |more: &[&str]| {
        let arguments: Vec<&str> = ["tools"].iter().chain(more).copied().collect();
        let mut command = ptc(&folder, &arguments);
        // As `ptc start` finds it.
        command.env("TEST_PHRASE", "not in any file").env("PTC_RUNNER_MCP_UPSTREAMS", &config);
        let output = run(command, "");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    assert_eq!(tools(&[]), "fs/read_text_file  Read the contents of a UTF-8 text file\n");
    assert_eq!(tools(&["text", "file"]), tools(&[]));
    assert_eq!(tools(&["spaceship"]), "no tools found\n");
    let listed: ptc_mcp::json::Value = serde_json::from_str(&tools(&["--json"])).expect("JSON");
    assert_eq!(listed[0]["server"], "fs");
    assert_eq!(listed[0]["tool"], "read_text_file");
    assert_eq!(listed[0]["inputSchema"]["required"], ptc_mcp::json::json!(["path"]));
    assert_eq!(tools(&["--json", "spaceship"]), "[]\n");
}

#[test]
fn without_upstreams_there_is_nothing_to_list_or_call() {
    let home = tempfile::tempdir().expect("a folder");
    for arguments in [&["tools"][..], &["call", "fs", "read_text_file"]] {
        let output = run(ptc(&home, arguments), "");
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains("no upstreams are configured"), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
}

#[test]
fn one_tool_is_called_and_secrets_are_not_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = upstreams(&folder);
    let config = config.to_str().expect("UTF-8");
    let call = |server: &str, tool: &str, arguments: &str| {
        let all = ["call", server, tool, "--args", arguments, "--upstreams-config", config];
        let mut command = ptc(&folder, &all);
        // A text that both files and faults of the server contain.
        command.env("TEST_PHRASE", "src/billing");
        let output = run(command, "");
        (output.status.code(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    let (code, out, err) = call("fs", "read_text_file", r#"{"path": "/etc/watched-paths.txt"}"#);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("deploy/production.yaml"), "{out}");
    assert!(out.contains("[REDACTED]") && !out.contains("src/billing"), "{out}");

    let (code, out, err) = call("fs", "read_text_file", r#"{"path": "/src/billing/none"}"#);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("tool_error") && err.contains("no such file"), "{err}");
    assert!(!err.contains("src/billing"), "{err}");

    let (code, _, err) = call("fs", "read_text_file", "{}");
    assert_eq!(code, Some(1));
    assert!(err.contains("missing required args path"), "{err}");
    let (code, _, err) = call("fs", "read_text_fil", "{}");
    assert_eq!(code, Some(1));
    assert!(err.contains("no tool 'read_text_fil' in upstream 'fs'"), "{err}");
    let (code, _, err) = call("sf", "read_text_file", "{}");
    assert_eq!(code, Some(1));
    assert!(err.contains("no upstream 'sf' configured"), "{err}");
    assert_eq!(call("fs", "read_text_file", "[]").0, Some(2));
}

/// A home whose default upstreams file is `text`.
fn home_with(text: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".config/ptc");
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("upstreams.json"), text).expect("written");
    home
}

#[test]
fn programs_reach_the_default_file_unless_told_otherwise() {
    let entry = r#"{"upstreams": {"fs": {"transport": "mcp_stdio", "command": "no-such-program", "required": false}}}"#;
    let home = home_with(entry);
    let servers = "(map (fn [s] (get s \"name\")) (tool/servers))";
    let line = format!("{{\"program\": {}}}\n", ptc_mcp::json::Value::from(servers));
    let default = home.path().join(".config/ptc/upstreams.json");
    let default = default.to_str().expect("UTF-8");
    for (arguments, input) in [
        (&["eval", "-e", servers][..], ""),
        (&["repl", "-e", servers], ""),
        (&["repl"], servers),
        (&["eval", "--jsonl", "--upstreams-config", default], &line),
    ] {
        let output = run(ptc(&home, arguments), input);
        assert!(text(&output.stdout).contains("[\"fs\"]"), "{arguments:?}: {}", text(&output.stderr));
    }
    // People are told what to type; programs that read the answers have the language's own words.
    let advice = "no upstreams are configured: ptc import, ptc add, or --upstreams-config FILE";
    let words = "REPL discovery forms are only available when a discovery backend is configured";
    for (arguments, input, sentence) in [
        (&["eval", "--no-upstreams", "-e", servers][..], "", advice),
        (&["repl", "--no-upstreams", "-e", servers], "", advice),
        (&["eval", "--jsonl"], &line, words),
    ] {
        let output = run(ptc(&home, arguments), input);
        let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(told.contains(sentence), "{arguments:?}: {told}");
    }
    // Nothing was started, and nothing is left behind.
    let left: Vec<_> = std::fs::read_dir(home.path()).expect("readable").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_default_file_that_cannot_be_used_is_in_no_programs_way() {
    let home = home_with("{");
    let output = run(ptc(&home, &["eval", "-e", "(+ 1 2)"]), "");
    assert_eq!(text(&output.stdout), "3\n");
    assert!(text(&output.stderr).starts_with("ptc: upstreams are left out: "), "{}", text(&output.stderr));
    let named = home.path().join(".config/ptc/upstreams.json");
    let output =
        run(ptc(&home, &["eval", "-e", "3", "--upstreams-config", named.to_str().expect("UTF-8")]), "");
    assert_eq!(output.status.code(), Some(1), "a file that was named has to be good");
}

#[test]
fn warnings_take_one_line_but_for_the_check() {
    let entry = |name: &str| {
        format!(
            r#""{name}": {{"transport": "mcp_stdio", "command": "no-such-program", "required": false, "odd": 1}}"#
        )
    };
    let home = home_with(&format!(r#"{{"upstreams": {{{}, {}}}}}"#, entry("a"), entry("b")));
    let told = |arguments: &[&str]| text(&run(ptc(&home, arguments), "").stderr).to_owned();
    let counted = told(&["tools"]);
    assert_eq!(
        counted.matches("warnings about the upstreams file; to read them: ptc check").count(),
        1,
        "{counted}"
    );
    assert!(!counted.contains("odd"), "{counted}");
    let read = told(&["check"]);
    assert_eq!(read.matches("odd").count(), 2, "{read}");
}

#[test]
fn what_tools_prints_call_takes_and_the_lists_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = upstreams(&folder);
    let ran = |arguments: &[&str]| {
        let mut command = ptc(&folder, arguments);
        command
            .env("TEST_PHRASE", "not in any file")
            .env("PTC_UPSTREAMS", &config)
            .env_remove("XDG_CACHE_HOME");
        let output = run(command, "");
        (output.status.success(), text(&output.stdout).to_owned(), text(&output.stderr).to_owned())
    };
    let (_, listed, _) = ran(&["tools", "fs"]);
    let name = listed.split_whitespace().next().expect("a tool").to_owned();
    assert_eq!(name, "fs/read_text_file");
    let (ok, shown, err) = ran(&["tools", &name]);
    assert!(ok && shown.contains("Required args: :path"), "{shown}{err}");
    assert_eq!(ran(&["tools", "read_text_file"]).1, shown);
    let (ok, answer, err) = ran(&["call", &name, "path=/etc/watched-paths.txt"]);
    assert!(ok && answer.contains("deploy/production.yaml"), "{answer}{err}");
    let (ok, _, err) = ran(&["call", &name]);
    assert!(!ok && err.contains(&format!("ptc tools {name}")), "{err}");
    let kept: Vec<_> =
        std::fs::read_dir(folder.path().join(".cache/ptc")).expect("a cache").flatten().collect();
    assert_eq!(kept.len(), 1);
    assert!(std::fs::read_to_string(kept[0].path()).expect("readable").contains("read_text_file"));
}

#[test]
fn doctor_says_what_to_type() {
    let home =
        home_with(r#"{"upstreams": {"gone": {"transport": "mcp_stdio", "command": "no-such-program"}}}"#);
    let cursor = home.path().join(".cursor");
    std::fs::create_dir_all(&cursor).expect("made");
    std::fs::write(cursor.join("mcp.json"), "{}").expect("written");
    let output = run(ptc(&home, &["doctor", "--json"]), "");
    assert_eq!(output.status.code(), Some(1));
    let told: ptc_mcp::json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = told["findings"].as_array().expect("findings");
    let step = |about: &str| {
        let found = findings.iter().find(|found| found["about"] == about).expect("it was looked at");
        found["next_step"].as_str().unwrap_or_default().to_owned()
    };
    assert!(step("upstream gone").contains("install no-such-program"), "{told}");
    assert_eq!(step("client Cursor"), "ptc init --client cursor");
    let output = run(ptc(&home, &["doctor"]), "");
    assert!(text(&output.stdout).starts_with("! upstream gone"), "{}", text(&output.stdout));
}
