//! The arguments of `lisp_debug`, checked with fixed messages.

use std::time::Duration;

use ptc_host::visible::without_controls;
use ptc_mcp::json::{Kind, Raw};

use super::super::unknown_arguments::heed_unknown;

/// The default number of calls in `recent`.
pub(super) const DEFAULT_LIMIT: usize = 20;
/// Most calls in `recent`.
pub(super) const MAX_LIMIT: u64 = 200;
/// Longest look back, in seconds.
pub(super) const MAX_SINCE: u64 = 86_400;
/// Longest id, in bytes.
pub(super) const MAX_ID_BYTES: usize = 256;
/// Characters of a wrong value that are echoed.
const ECHO_CHARS: usize = 80;

/// Selects calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Filter {
    pub(super) since: Option<Duration>,
    pub(super) errors_only: bool,
}

/// The query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DebugQuery {
    Stats(Filter),
    Recent { filter: Filter, limit: usize },
    Get { id: String },
}

/// Reads an arguments object.
///
/// # Errors
/// The `message` of the first check that fails.
pub(super) fn read(arguments: Option<Raw<'_>>) -> Result<DebugQuery, String> {
    let mut given = GivenArguments::default();
    for (key, value) in arguments.and_then(Raw::members).into_iter().flatten() {
        let slot = match &*key {
            "op" => &mut given.op,
            "limit" => &mut given.limit,
            "since_seconds" => &mut given.since_seconds,
            "errors_only" => &mut given.errors_only,
            "request_id" => &mut given.request_id,
            _ => continue,
        };
        if slot.replace(value).is_some() {
            return Err(format!("argument `{key}` is given twice"));
        }
    }
    let keys = arguments.and_then(Raw::members).into_iter().flatten().map(|(key, _)| key);
    heed_unknown(keys, &["op", "limit", "since_seconds", "errors_only", "request_id"])?;
    given.ask()
}

#[derive(Default)]
struct GivenArguments<'a> {
    op: Option<Raw<'a>>,
    limit: Option<Raw<'a>>,
    since_seconds: Option<Raw<'a>>,
    errors_only: Option<Raw<'a>>,
    request_id: Option<Raw<'a>>,
}

impl GivenArguments<'_> {
    fn ask(&self) -> Result<DebugQuery, String> {
        let Some(op) = present(self.op) else {
            return Err("argument `op` is required (one of: stats, recent, get)".into());
        };
        match op.as_str().as_deref() {
            Some("stats") => Ok(DebugQuery::Stats(self.filter()?)),
            Some("recent") => {
                let limit = bounded("limit", self.limit, MAX_LIMIT)?;
                let limit = limit.map_or(DEFAULT_LIMIT, |limit| limit as usize);
                Ok(DebugQuery::Recent { filter: self.filter()?, limit })
            }
            Some("get") => self.id().map(|id| DebugQuery::Get { id }),
            _ => Err(format!("argument `op` must be one of stats, recent, get (got: {})", echo(op))),
        }
    }

    fn filter(&self) -> Result<Filter, String> {
        let since = bounded("since_seconds", self.since_seconds, MAX_SINCE)?.map(Duration::from_secs);
        let errors_only = match present(self.errors_only) {
            None => false,
            Some(value) => value
                .as_bool()
                .ok_or_else(|| format!("argument `errors_only` must be a boolean (got: {})", echo(value)))?,
        };
        Ok(Filter { since, errors_only })
    }

    fn id(&self) -> Result<String, String> {
        let required = || "argument `request_id` is required for op=get".to_owned();
        let value = present(self.request_id).ok_or_else(required)?;
        let id = value
            .as_str()
            .ok_or_else(|| format!("argument `request_id` must be a string (got: {})", echo(value)))?;
        if id.len() > MAX_ID_BYTES {
            return Err(format!("argument `request_id` exceeds {MAX_ID_BYTES} bytes"));
        }
        if id.is_empty() { Err(required()) } else { Ok(id.into_owned()) }
    }
}

fn present(value: Option<Raw<'_>>) -> Option<Raw<'_>> {
    value.filter(|value| value.kind() != Kind::Null)
}

/// An integer from 1 to `max`.
fn bounded(name: &str, value: Option<Raw<'_>>, max: u64) -> Result<Option<u64>, String> {
    let Some(value) = present(value) else { return Ok(None) };
    if value.kind() != Kind::Integer {
        return Err(format!("argument `{name}` must be an integer (got: {})", echo(value)));
    }
    match value.text().parse::<u64>() {
        Ok(number) if (1..=max).contains(&number) => Ok(Some(number)),
        _ => Err(format!("argument `{name}` must be between 1 and {max} (got: {})", echo(value))),
    }
}

/// A wrong value as the message shows it.
fn echo(value: Raw<'_>) -> String {
    without_controls(value.text(), &[]).take(ECHO_CHARS).collect()
}
