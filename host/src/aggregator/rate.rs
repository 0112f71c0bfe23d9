//! Refusals for rate, and how long the upstream wants to be left alone (decision 184).

use ptc_base::text::clip;
use ptc_upstreams::upstream::{CallFault, FaultReason};
use std::time::Duration;

/// Times that a call is sent again.
pub(super) const MOST_TRIES: u32 = 3;
/// The wait before the first of them, where the upstream names none; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The code of JSON-RPC errors for too many requests.
const TOO_MANY: i64 = -32029;
/// Bytes of a message that are looked at.
const MOST_MESSAGE: usize = 2048;

/// Words of a refusal for rate. Underscores and hyphens count as spaces.
const WORDS: [&str; 8] = [
    "rate limit",
    "ratelimit",
    "too many requests",
    "throttled",
    "throttling",
    "slow down",
    "request limit exceeded",
    "rate exceeded",
];
/// Text before the number 429 where it is a status.
const STATUS: [&str; 6] = ["http 429", "status 429", "status code 429", "error 429", "code 429", "(429"];
/// Words of messages that are about something else which may have such a name.
const OTHER: [&str; 4] = ["not found", "no such", "does not exist", "invalid"];
/// Words in front of the time to wait.
const WAITS: [&str; 7] =
    ["retry after", "retryafter", "retry in", "try again in", "try again after", "wait for", "wait"];
/// Bytes between such words and their number.
const BETWEEN: usize = 16;

/// How long to wait before a call is sent again for the `number`th time, counted from 0; `None` if it was not refused for rate.
pub(super) fn wait_before(fault: &CallFault, number: u32) -> Option<Duration> {
    if !fault.sent {
        return None;
    }
    let text = plain(&fault.message);
    let is_refused = match fault.reason {
        FaultReason::RateLimited => true,
        FaultReason::UpstreamUnavailable => fault.http_status == Some(503) && fault.retry_after.is_some(),
        FaultReason::ToolError | FaultReason::UpstreamError => {
            fault.rpc_code == Some(TOO_MANY) || is_refusal(&text)
        }
        _ => false,
    };
    let asked = || fault.retry_after.or_else(|| asked_wait(&text));
    is_refused.then(|| asked().unwrap_or(FIRST_WAIT * 2_u32.saturating_pow(number)))
}

/// The beginning of a message in small letters, underscores and hyphens as spaces.
fn plain(message: &str) -> String {
    clip(message, MOST_MESSAGE).to_lowercase().replace(['_', '-'], " ")
}

fn is_refusal(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let is_quota = || text.contains("quota") && (text.contains("exceeded") || asked_wait(text).is_some());
    let is_status = || has(&STATUS) || text.starts_with("429");
    !has(&OTHER) && (has(&WORDS) || is_status() || is_quota())
}

/// The time that a text asks for: `retry after 2 seconds`, `try again in 500 ms`, `"retry_after": 3`.
fn asked_wait(text: &str) -> Option<Duration> {
    WAITS.iter().find_map(|words| {
        text.match_indices(words).find_map(|(at, _)| {
            let behind = &text[at + words.len()..];
            let begin = behind.bytes().take(BETWEEN).position(|byte| byte.is_ascii_digit())?;
            let digits =
                behind[begin..].bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
            let number: f64 = behind[begin..begin + digits].trim_end_matches('.').parse().ok()?;
            let unit = behind[begin + digits..].trim_start_matches([' ', '"']);
            let seconds =
                if unit.starts_with("ms") || unit.starts_with("milli") || behind[..begin].contains("ms") {
                    number / 1000.0
                } else if unit.starts_with("min") || unit.starts_with("m ") || unit == "m" {
                    number * 60.0
                } else if unit.starts_with('h') {
                    number * 3600.0
                } else {
                    number
                };
            Duration::try_from_secs_f64(seconds).ok()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_for_rate_are_told_from_other_failures() {
        let tool = |text: &str| wait_before(&CallFault::new(FaultReason::ToolError, text), 0);
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        for (text, wait) in [
            ("Rate limit exceeded", seconds(1)),
            ("API rate limit exceeded for user ID 7. Try again in 12 minutes", seconds(720)),
            (r#"{"error":"rate_limited","retry_after":3}"#, seconds(3)),
            (r#"{"error":"RATE_LIMIT","retryAfterMs": 250}"#, Some(Duration::from_millis(250))),
            ("429 Too Many Requests", seconds(1)),
            ("Request failed with status code 429", seconds(1)),
            ("Quota exceeded for quota metric 'Read requests'", seconds(1)),
            ("quota used up, retry after 2 seconds.", seconds(2)),
            ("ThrottlingException: slow down; please wait 1.5s", Some(Duration::from_millis(1500))),
        ] {
            assert_eq!(tool(text), wait, "{text}");
        }
        for text in [
            "Issue 429 is closed",
            "document \"Rate limits\" not found",
            "quota of the project: 5",
            "no rows",
            "invalid rate limit",
            "",
        ] {
            assert_eq!(tool(text), None, "{text}");
        }
    }

    #[test]
    fn statuses_codes_and_headers_count() {
        let limited = CallFault::new(FaultReason::RateLimited, "rate_limited").with_status(429);
        let waits: Vec<u64> = (0..3).map(|number| wait_before(&limited, number).unwrap().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4]);
        let after = Duration::from_secs(7);
        assert_eq!(wait_before(&limited.clone().with_retry_after(Some(after)), 2), Some(after));
        let busy = CallFault::unavailable("http 503").with_status(503);
        assert_eq!(wait_before(&busy, 0), None, "nothing says that it is for rate");
        assert_eq!(wait_before(&busy.with_retry_after(Some(after)), 0), Some(after));
        let coded = CallFault { rpc_code: Some(TOO_MANY), ..CallFault::upstream_error("no") };
        assert_eq!(wait_before(&coded, 0), Some(FIRST_WAIT));
        assert_eq!(wait_before(&limited.never_sent(), 0), None);
        assert_eq!(wait_before(&CallFault::timeout("rate limit"), 0), None);
    }
}
