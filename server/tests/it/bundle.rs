//! `ptc doctor --bundle`: a bug report has what a maintainer asks for, and no secret of any kind.

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
