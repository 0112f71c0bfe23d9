//! The arguments of tools that deal with runs.

use std::time::Duration;

use ptc_mcp::json::{Kind, Raw};

use super::super::unknown_arguments::heed_unknown;

/// Longest time to wait.
pub const MAX_WAIT: Duration = Duration::from_millis(50_000);

/// `wait_ms`, if it is given.
///
/// # Errors
/// The message.
pub(crate) fn wait_ms(arguments: Option<Raw<'_>>) -> Result<Option<Duration>, String> {
    let mut members = arguments.and_then(Raw::members).into_iter().flatten();
    let given = members.find(|(key, _)| key == "wait_ms").map(|(_, value)| value);
    let Some(value) = given.filter(|value| value.kind() != Kind::Null) else { return Ok(None) };
    let milliseconds = value.text().parse().ok().map(Duration::from_millis);
    match milliseconds.filter(|wait| value.kind() == Kind::Integer && *wait <= MAX_WAIT) {
        Some(wait) => Ok(Some(wait)),
        None => Err("argument `wait_ms` must be an integer from 0 to 50000".to_owned()),
    }
}

/// `run_id`. Unknown arguments are checked.
///
/// # Errors
/// The message of the first check that fails.
pub(crate) fn run_id(arguments: Option<Raw<'_>>, known: &[&str]) -> Result<String, String> {
    if let Some(other) = arguments.map(Raw::kind).filter(|kind| !matches!(kind, Kind::Object | Kind::Null)) {
        return Err(format!("arguments must be an object, got {}", other.name()));
    }
    let members = || arguments.and_then(Raw::members).into_iter().flatten();
    heed_unknown(members().map(|(key, _)| key), known)?;
    let mut ids = members().filter(|(key, _)| key == "run_id").map(|(_, value)| value);
    let Some(id) = ids.next() else { return Err("argument `run_id` is required".to_owned()) };
    if ids.next().is_some() {
        return Err("argument `run_id` is given twice".to_owned());
    }
    match id.as_str() {
        Some(id) => Ok(id.into_owned()),
        None => Err(format!("argument `run_id` must be a string, got {}", id.kind().name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_has_bounds() {
        let wait = |text: &str| wait_ms(Some(Raw::parse(text).unwrap()));
        assert_eq!(wait("{}"), Ok(None));
        assert_eq!(wait(r#"{"wait_ms":null}"#), Ok(None));
        assert_eq!(wait(r#"{"wait_ms":0}"#), Ok(Some(Duration::ZERO)));
        assert_eq!(wait(r#"{"wait_ms":50000}"#), Ok(Some(MAX_WAIT)));
        for wrong in ["60000", "50001", "-1", "1.5", "\"5\"", "true", "1e3", "99999999999999999999999"] {
            let error = wait(&format!("{{\"wait_ms\":{wrong}}}")).unwrap_err();
            assert_eq!(error, "argument `wait_ms` must be an integer from 0 to 50000", "{wrong}");
        }
    }

    #[test]
    fn a_run_is_named_by_one_string() {
        let id = |text: &str| run_id(Some(Raw::parse(text).unwrap()), &["run_id", "wait_ms"]);
        assert_eq!(id(r#"{"run_id":"run_x","reason":"y"}"#), Ok("run_x".to_owned()));
        assert_eq!(id("{}"), Err("argument `run_id` is required".to_owned()));
        assert_eq!(id("[]"), Err("arguments must be an object, got array".to_owned()));
        assert_eq!(id(r#"{"run_id":7}"#), Err("argument `run_id` must be a string, got integer".to_owned()));
        assert!(id(r#"{"run_id":"a","run_id":"b"}"#).unwrap_err().contains("given twice"));
        assert!(id(r#"{"runid":"a"}"#).unwrap_err().contains("did you mean `run_id`"));
    }
}
