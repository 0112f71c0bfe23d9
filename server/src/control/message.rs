//! Requests and answers on the control socket.

use ptc_mcp::json::{Value, json};

/// Longest line of a command, in bytes.
pub(super) const MAX_REQUEST: u64 = 4096;
/// Longest line of a server, in bytes.
pub(super) const MAX_ANSWER: u64 = 1 << 20;

/// What a command wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlRequest {
    /// Which server this is.
    Describe,
    /// To read its files again; only to check them, with `check`.
    Reload { check: bool },
}

impl ControlRequest {
    /// The line of this request.
    pub(super) fn line(self) -> String {
        let message = match self {
            ControlRequest::Describe => json!({"method": "describe"}),
            ControlRequest::Reload { check } => json!({"method": "reload", "check": check}),
        };
        format!("{message}\n")
    }

    /// The request of a line.
    ///
    /// # Errors
    /// What is wrong with it.
    #[expect(clippy::disallowed_methods, reason = "entry point: ControlRequest.parse")]
    pub(super) fn parse(line: &[u8]) -> Result<ControlRequest, String> {
        let message: Value =
            serde_json::from_slice(line).map_err(|error| format!("the request is no JSON: {error}"))?;
        let members = message.as_object().ok_or("the request must be an object")?;
        let only = |known: &[&str]| match members.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("the request has no member {key:?}, only {}", known.join(" and "))),
            None => Ok(()),
        };
        match message["method"].as_str() {
            Some("describe") => only(&["method"]).map(|()| ControlRequest::Describe),
            Some("reload") => {
                only(&["method", "check"])?;
                // What is no boolean must not count as `false`, which changes the server.
                let check = match members.get("check") {
                    None => false,
                    Some(check) => check.as_bool().ok_or("check must be true or false")?,
                };
                Ok(ControlRequest::Reload { check })
            }
            _ => Err("the method must be describe or reload".to_owned()),
        }
    }
}

/// What a server tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Description {
    /// Its process.
    pub(crate) pid: u32,
    /// Its version.
    pub(crate) version: String,
    /// Where it serves: a URL, or that it is a pipe.
    pub(crate) serves: String,
}

impl Description {
    pub(super) fn to_json(&self) -> Value {
        json!({"pid": self.pid, "version": self.version, "serves": self.serves})
    }

    pub(super) fn read(answer: &Value) -> Option<Description> {
        Some(Description {
            pid: u32::try_from(answer["pid"].as_u64()?).ok()?,
            version: answer["version"].as_str()?.to_owned(),
            serves: answer["serves"].as_str()?.to_owned(),
        })
    }
}

/// What became of a reload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReloadOutcome {
    /// The files hold from now on, but for what is at fault alone; or would, if they were only checked.
    Accepted(ReloadReport),
    /// Some file is at fault, for this reason, and nothing has changed.
    Refused(String),
}

/// What a reload changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReloadReport {
    /// What holds from now on, a sentence each.
    pub(crate) changes: Vec<String>,
    /// What cannot be used and stays as it was, while the rest holds, a sentence each.
    pub(crate) faults: Vec<String>,
    /// Options that have another value, which holds after a restart.
    pub(crate) needs_restart: Vec<String>,
}

impl ReloadOutcome {
    pub(super) fn to_json(&self) -> Value {
        match self {
            ReloadOutcome::Accepted(report) => json!({
                "outcome": "accepted", "changes": report.changes, "faults": report.faults,
                "needs_restart": report.needs_restart
            }),
            ReloadOutcome::Refused(reason) => json!({"outcome": "refused", "reason": reason}),
        }
    }

    pub(super) fn read(answer: &Value) -> Option<ReloadOutcome> {
        let texts = |key: &str| -> Vec<String> {
            let items = answer[key].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        match answer["outcome"].as_str()? {
            "accepted" => Some(ReloadOutcome::Accepted(ReloadReport {
                changes: texts("changes"),
                faults: texts("faults"),
                needs_restart: texts("needs_restart"),
            })),
            "refused" => Some(ReloadOutcome::Refused(answer["reason"].as_str()?.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_read_what_the_other_writes() {
        for request in [
            ControlRequest::Describe,
            ControlRequest::Reload { check: true },
            ControlRequest::Reload { check: false },
        ] {
            assert_eq!(ControlRequest::parse(request.line().as_bytes()), Ok(request));
        }
        let report = ReloadReport {
            changes: vec!["a".into()],
            faults: vec!["b".into()],
            needs_restart: vec!["--http-port".into()],
        };
        for outcome in [ReloadOutcome::Accepted(report), ReloadOutcome::Refused("why".into())] {
            assert_eq!(ReloadOutcome::read(&outcome.to_json()), Some(outcome));
        }
        let description = Description { pid: 7, version: "1".into(), serves: "a pipe".into() };
        assert_eq!(Description::read(&description.to_json()), Some(description));
    }

    #[test]
    fn other_requests_are_refused() {
        for line in [
            "",
            "{",
            "7",
            "[]",
            r#"{"method":"stop"}"#,
            r#"{"method":7}"#,
            r#"{"method":"reload","check":"true"}"#,
            r#"{"method":"reload","check":null}"#,
            r#"{"method":"reload","chek":true}"#,
            r#"{"method":"describe","check":true}"#,
        ] {
            assert!(ControlRequest::parse(line.as_bytes()).is_err(), "{line}");
        }
    }
}
