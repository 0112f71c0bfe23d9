//! The variables of the product, and their former names (ruling 70), as the command reads them.

use std::process::Command;

/// The command's exit status and what it says on standard error.
fn ptc(arguments: &[&str], env: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command.args(arguments).env_clear().envs(env.iter().copied());
    let output = command.output().expect("ptc runs");
    (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
}

#[test]
fn two_names_with_different_values_refuse_every_command() {
    let env = [("PTC_HTTP_AUTH_TOKEN", "sekrit-1"), ("PTC_RUNNER_MCP_HTTP_AUTH_TOKEN", "sekrit-2")];
    for arguments in [&["start"][..], &["eval", "-e", "1"], &["check"], &["health"]] {
        let (code, told) = ptc(arguments, &env);
        assert_eq!(code, Some(1), "{arguments:?}: {told}");
        assert!(told.contains("unset PTC_RUNNER_MCP_HTTP_AUTH_TOKEN"), "{told}");
        assert!(!told.contains("sekrit"), "{told}");
    }
    let same = [("PTC_SESSIONS", "1"), ("PTC_RUNNER_MCP_SESSIONS", "1")];
    assert_eq!(ptc(&["eval", "-e", "1"], &same), (Some(0), String::new()));
}

#[test]
fn health_asks_at_the_port_of_either_name() {
    for name in ["PTC_HTTP_PORT", "PTC_RUNNER_MCP_HTTP_PORT"] {
        let (code, told) = ptc(&["health"], &[(name, "1")]);
        assert_eq!(code, Some(1));
        assert!(told.contains("http://127.0.0.1:1/health"), "{told}");
        let (code, told) = ptc(&["health"], &[(name, "many")]);
        assert_eq!(
            (code, told.contains(&format!("{name} must be a port number"))),
            (Some(1), true),
            "{told}"
        );
    }
}
