//! What a policy shows of the upstreams, and what it lets callers do there (auth.md 14.3).
//!
//! The upstream `zq7seen` has tools, resources, templates and prompts whose names say what the policy makes of them; of
//! `zq7hiddenhost` it shows nothing. Whatever a caller does, no answer has `zq7hidden` in it beyond what the caller wrote itself,
//! and what is hidden is answered as what does not exist.
//!
//! [`program`] asks from programs, for each kind of request that the machine has; [`wire`] asks as a client does, with each method,
//! tool and route; [`resumed`] lets programs wait in between. [`profiles`] show a part without rules.

mod kept_programs;
mod profiles;
mod program;
mod resumed;
mod start;
mod subscriptions;
mod wire;

use ptc_mcp::json::{Value, json};
use std::fs;
use tempfile::TempDir;

/// The rules. What begins with `zq7visible` is allowed.
fn rules(principal: &str) -> Value {
    json!({"rules": [{"match": {"principal": principal}, "upstreams": {"zq7seen": {
        "allow": ["zq7visible"], "list": ["zq7listed"],
        "resources": ["zq7:zq7visible*"], "prompts": ["zq7visible"],
        "args": {"zq7visible": {"path": {"under": "/reports"}}},
    }}}]})
}

/// The upstreams, started by `command`.
fn upstreams(command: &str) -> Value {
    let entry = json!({"transport": "mcp_stdio", "command": command, "args": ["--pairs"]});
    json!({"zq7seen": entry, "zq7hiddenhost": entry})
}

/// How a name that is hidden is written where nothing of that name exists. It has the same length, and is as unlike all others.
const ABSENT: &str = "wqxwqx";

/// The name of a thing that does not exist, in the place of a hidden one.
fn absent(text: &str) -> String {
    text.replace("hidden", ABSENT)
}

/// Holds the answers to a question about something hidden, and to the same about something that does not exist, against each
/// other. `own`: what the caller wrote, which may come back.
fn same_as_absent(about: &str, hidden: &str, of_absent: &str, own: &[&str]) {
    assert_eq!(absent(hidden), of_absent, "{about}: what is hidden is told from what does not exist");
    let mut rest = hidden.to_owned();
    for own in own {
        rest = rest.replace(own, "");
    }
    tells_nothing(about, &rest);
}

/// No byte tells of what is hidden.
fn tells_nothing(about: &str, answer: &str) {
    assert!(!answer.contains("zq7hidden"), "{about}: {answer}");
}

/// Writes a file of this folder, and gives its path for a flag.
fn write(folder: &TempDir, name: &str, content: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, content).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}
