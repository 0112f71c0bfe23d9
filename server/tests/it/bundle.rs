//! `ptc doctor --bundle` and `ptc config show`: what a maintainer and an operator ask for, and no secret of any kind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use ptc_mcp::json::{Value, from_str};

/// What every planted secret begins with.
const PLANTED: &str = "PLANTED";

/// A command of somebody with secrets in variables.
fn doctor(folder: &Path, arguments: &[&str]) -> Output {
    let variables = [
        ("MY_TOKEN", "PLANTED-variable-of-a-credential"),
        ("CHILD_KEY", "PLANTED-variable-of-a-child"),
        ("HTTPS_PROXY", "http://proxy-user:PLANTED-proxy-password@proxy.example:3128"),
        ("PTC_HTTP_AUTH_TOKEN", "PLANTED-token-of-callers-in-a-variable"),
        ("PTC_STATE_URL", "redis://:PLANTED-password-of-the-store@store.example:6379"),
        ("PTC_MISSPELT", "PLANTED-variable-of-ours-that-is-none"),
    ];
    Command::new(env!("CARGO_BIN_EXE_ptc"))
        .env_clear()
        .envs(variables)
        .env("HOME", folder)
        .env("PATH", "/usr/bin:/bin")
        .current_dir(folder)
        .args(["doctor", "--config", "ptc.toml", "--upstreams-config", "upstreams.json"])
        .args(["--log", "ptc.log", "--bundle", "report.json"])
        .args(arguments)
        .output()
        .expect("it ran")
}

/// A folder with secrets in each place where an operator may have some.
fn planted() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
    };
    write(
        "upstreams.json",
        r#"{ // PLANTED-comment
        "credentials": {
            "literal": {"source": "literal", "value": "PLANTED-literal"},
            "variable": {"source": "env", "var": "MY_TOKEN"},
            "mistaken": {"source": "env", "var": "PLANTED-token-in-place-of-a-name"},
            "file": {"source": "file", "path": "credential"}
        },
        "upstreams": {
            "child": {
                "transport": "mcp_stdio", "command": "npx", "description": "PLANTED-description",
                "args": ["-y", "@mcp/server-github", "--api-key=PLANTED-argument", "--token", "PLANTED-word", "-pPLANTED"],
                "env": {"path": "PLANTED-value", "KEY": "${CHILD_KEY}", "OTHER": "x${NONE:-PLANTED-default}"}
            },
            "remote": {
                "transport": "mcp_http", "url": "https://user:PLANTED-user@h.example/PLANTED-path?key=PLANTED-query",
                "static_headers": {"X-Key": "PLANTED-header", "transport": "PLANTED-header"}
            }
        }}"#,
    );
    write("credential", "PLANTED-credential-in-a-file\n");
    write("tokens", "ann:PLANTED-token-of-ann-0123456789abcdefghij\n");
    write("password", "PLANTED-password-in-a-file\n");
    write("hook-secret", "PLANTED-secret-of-the-webhook-0123456789\n");
    write(
        "ptc.toml",
        "http = true\nhttp-auth-token-file = \"tokens\"\nupstreams-config = \"upstreams.json\"\n\
         state-password-file = \"password\"\napproval-webhook-secret-file = \"hook-secret\"\n\
         approval-webhook-url = \"https://hooks.example/PLANTED-hook\"\n",
    );
    let line = |level: &str, reason: &str| {
        format!(
            r#"{{"ts":"2026-03-04T05:06:07Z","level":"{level}","event":"seen","fields":{{"reason":"{reason}"}}}}"#
        )
    };
    let log = [
        line("info", "PLANTED-of-no-interest"),
        line("error", "it answered PLANTED-literal and PLANTED-variable-of-a-child"),
        line("warn", "cannot reach https://u:PLANTED-elsewhere@h.example/x"),
        line("warn", "refused PLANTED-token-of-ann-0123456789abcdefghij, PLANTED-password-in-a-file"),
        line(
            "warn",
            "sent PLANTED-credential-in-a-file, PLANTED-secret-of-the-webhook-0123456789, PLANTED-proxy-password",
        ),
        "PLANTED-line-of-something-else".to_owned(),
    ];
    write("ptc.log", &log.join("\n"));
    folder
}

#[test]
fn a_bug_report_has_no_secret_of_any_kind() {
    let folder = planted();
    let output = doctor(folder.path(), &[]);
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("read it before you send it"), "{told}");
    let path = folder.path().join("report.json");
    let text = fs::read_to_string(&path).expect("written");
    assert!(!text.contains(PLANTED), "{text}");
    assert!(!told.contains(PLANTED), "{told}");
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_bug_report_has_what_a_maintainer_asks_for() {
    let folder = planted();
    assert!(doctor(folder.path(), &[]).status.success());
    let report: Value =
        from_str(&fs::read_to_string(folder.path().join("report.json")).expect("written")).expect("JSON");
    let file = &report["upstreams_file"]["content"]["upstreams"];
    assert_eq!(file["child"]["args"][1], "@mcp/server-github");
    assert_eq!(file["child"]["env"]["KEY"], "${CHILD_KEY}");
    assert_eq!(file["remote"]["url"], "https://h.example/…");
    let options = report["options"].as_array().expect("options");
    let option = |name: &str| options.iter().find(|option| option["name"] == name).expect("an option");
    assert!(option("http-auth-token-file")["source"].as_str().expect("a place").contains("ptc.toml:2"));
    assert_eq!(option("http-auth-token")["value"], "[REDACTED]");
    assert_eq!(option("approval-webhook-url")["value"], "https://hooks.example/…");
    assert_eq!(option("http-host")["source"], "default");
    assert_eq!(report["variables"]["HTTPS_PROXY"], "http://proxy.example:3128/…");
    assert_eq!(report["log"]["lines"].as_array().map(Vec::len), Some(4));
    assert!(report["version"].is_string() && report["limits"]["open_files"]["soft"].is_u64());
    let findings = report["findings"].as_array().expect("findings");
    assert!(findings.iter().any(|finding| finding["about"] == "open files"));
}

#[test]
fn a_file_that_is_there_is_replaced_only_if_that_is_said() {
    let folder = planted();
    let path = folder.path().join("report.json");
    fs::write(&path, "mine").expect("written");
    let output = doctor(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("replace it with --force"));
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "mine");
    assert!(doctor(folder.path(), &["--force"]).status.success());
    assert!(fs::read_to_string(&path).expect("it is there").starts_with('{'));
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_findings_are_about_the_server_of_the_settings_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write(
        "ptc.toml",
        "http = true\nhttp-disable-auth = true\nhttp-port = 1\nupstreams-config = \"mine.json\"\n",
    );
    write("mine.json", r#"{"upstreams": {"one": {"transport": "mcp_stdio", "command": "${PROGRAM}"}}}"#);
    write("other.json", r#"{"upstreams": {}}"#);
    write("variables", "PROGRAM=/bin/true\n");
    let reported = |arguments: &[&str]| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_ptc"))
            .env_clear()
            .env("HOME", folder.path())
            .current_dir(folder.path())
            .args([
                "doctor",
                "--config",
                "ptc.toml",
                "--env-file",
                "variables",
                "--bundle",
                "report.json",
                "--force",
            ])
            .args(arguments)
            .output()
            .expect("it ran");
        assert!(output.status.success(), "{output:?}");
        from_str(&fs::read_to_string(folder.path().join("report.json")).expect("written")).expect("JSON")
    };
    let of = |report: &Value, about: &str| {
        let findings = report["findings"].as_array().expect("findings").iter();
        let found: Vec<String> = findings
            .filter(|finding| finding["about"] == about)
            .map(|found| found["message"].to_string())
            .collect();
        found.join("; ")
    };
    let report = reported(&[]);
    assert!(of(&report, "upstreams file").contains("mine.json: 1 upstreams"), "{report}");
    assert!(of(&report, "port").contains("1 is free"), "{report}");
    assert!(!of(&report, "upstreams file").contains("PROGRAM"), "the file of variables counts: {report}");
    let report = reported(&["--upstreams-config", "other.json"]);
    assert!(of(&report, "upstreams file").contains("other.json: 0 upstreams"), "{report}");
    assert!(
        report["upstreams_file"]["path"].to_string().contains("other.json"),
        "the flag comes first: {report}"
    );
}

/// What `ptc config show` prints of a settings file, on both streams, and whether it says that a server would start.
fn shown(folder: &Path, settings: &str) -> (bool, String) {
    fs::write(folder.join("ptc.toml"), settings).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_ptc"))
        .env_clear()
        .envs([
            ("HOME", folder.to_str().expect("UTF-8")),
            ("P", "perhaps"),
            ("URL", "https://ptc.example/PLANTED"),
        ])
        .current_dir(folder)
        .args(["config", "show", "--config", "ptc.toml"])
        .output()
        .expect("it ran");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
fn settings_with_which_no_server_starts_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("bad.json"), r#"{"upstreams": {"a": {"transport": "pigeon"}}}"#)
        .expect("written");
    let http = "http = true\nhttp-disable-auth = true\n";
    assert!(shown(folder.path(), http).0);
    for (setting, told) in [
        ("policy = \"none.json\"", "policy in ptc.toml:3"),
        ("http-tls-cert = \"c.pem\"\nhttp-tls-key = \"k.pem\"", "c.pem"),
        ("audit-log = \"nowhere/audit.jsonl\"", "audit-log in ptc.toml:3"),
        ("upstreams-config = \"bad.json\"", "pigeon"),
    ] {
        let (starts, text) = shown(folder.path(), &format!("{http}{setting}\n"));
        assert!(!starts && text.contains(told), "{setting}: {text}");
        assert!(!text.contains("--policy") && !text.contains("--audit-log"), "nobody typed it: {text}");
    }
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn values_are_shown_as_they_are_used_and_without_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let (starts, text) = shown(
        folder.path(),
        "http = true\nhttp-disable-auth = true\nhttp-metrics = { env = \"P\" }\n\
         otlp-endpoint = \"https://h.example/v1?api_key=PLANTED\"\npublic-url = { env = \"URL\" }\n",
    );
    assert!(starts && !text.contains(PLANTED), "{text}");
    assert!(text.contains("false (perhaps is no boolean)") && text.contains("https://h.example/…"), "{text}");
}
