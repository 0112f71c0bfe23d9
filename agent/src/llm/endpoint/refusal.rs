//! Error responses: their kind, the text to report, and when to retry.

use super::super::{LlmError, LlmErrorKind};

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use ptc_base::json::Value as Json;
use ptc_base::redactor::Redactor;
use ptc_base::time;
use std::time::Duration;

/// Characters of an endpoint's text that an error shows.
const MAX_DISPLAYED: usize = 500;

/// The kind of failure that a status means.
pub(in crate::llm) fn kind_of_status(status: u16) -> LlmErrorKind {
    match status {
        429 => LlmErrorKind::RateLimit,
        401 | 403 => LlmErrorKind::Auth,
        408 => LlmErrorKind::Timeout,
        500.. => LlmErrorKind::Server,
        // Redirects are not followed: a base URL that needs one is wrong.
        _ => LlmErrorKind::InvalidRequest,
    }
}

/// The error for a status other than 2xx.
#[expect(clippy::disallowed_methods, reason = "entry point: refused()")]
pub(super) fn refused(redactor: &Redactor, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> LlmError {
    let text = String::from_utf8_lossy(body);
    let json: Option<Json> = serde_json::from_slice(body).ok();
    let said = json.as_ref().and_then(message).unwrap_or_else(|| text.trim().to_owned());
    let display = excerpt(redactor, &said);
    let redirect = status.is_redirection().then_some(" (redirects are not followed: correct the base URL)");
    LlmError {
        kind: kind_of_status(status.as_u16()),
        status: Some(status.as_u16()),
        message: format!("status {}{}: {display}", status.as_u16(), redirect.unwrap_or_default()),
        retry_after: retry_after(headers).or_else(|| retry_delay(json.as_ref()?)),
    }
}

/// How long Google's services ask to wait: `retryDelay` of a `RetryInfo` among the error's details, as `37s` or `1.5s`.
pub(in crate::llm) fn retry_delay(body: &Json) -> Option<Duration> {
    let body = body.get(0).unwrap_or(body);
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

/// The provider's error message: in `{"error": {"message"}}`, `{"error": "…"}`, `{"message"}` or `{"detail"}`.
fn message(body: &Json) -> Option<String> {
    // Some wrap the object in a list.
    let body = body.get(0).unwrap_or(body);
    let places = ["/error/message", "/error", "/message", "/detail"];
    places.iter().find_map(|place| body.pointer(place)?.as_str()).map(str::to_owned)
}

/// Text of the endpoint as an error may show it: scrubbed, then cut, so that no part of a secret is left at the edge.
pub(in crate::llm) fn excerpt(redactor: &Redactor, text: &str) -> String {
    let clean = redactor.scrub(text);
    let mut display: String = clean.trim().chars().take(MAX_DISPLAYED).collect();
    if display.len() < clean.trim().len() {
        display.push('…');
    }
    display
}

/// How long the endpoint asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let at = http_date(value)?;
    // Its own clock, if it shows it: ours may differ.
    let now = text(DATE.as_str()).and_then(http_date).unwrap_or_else(now);
    Some(Duration::try_from(at.duration_since(now)).unwrap_or(Duration::ZERO))
}

fn http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text).ok().map(|at| at.timestamp())
}

/// The time of day.
pub(in crate::llm) fn now() -> Timestamp {
    // A clock beyond what a calendar has is as wrong as one of 1970.
    Timestamp::try_from(time::time_of_day()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use ptc_base::secret::Secret;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn the_time_to_wait_comes_in_four_spellings() {
        for (given, seconds) in [
            (&[("retry-after", "7")][..], Some(7.0)),
            (&[("retry-after", "1.5")], Some(1.5)),
            (&[("retry-after-ms", "250"), ("retry-after", "7")], Some(0.25)),
            (
                &[
                    ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
                    ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"),
                ],
                Some(30.0),
            ),
            (
                &[
                    ("date", "Wed, 21 Oct 2015 07:28:00 GMT"),
                    ("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT"),
                ],
                Some(0.0),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ] {
            let found = retry_after(&headers(given)).map(|time| time.as_secs_f64());
            assert_eq!(found, seconds, "{given:?}");
        }
    }

    #[test]
    fn the_time_to_wait_may_be_in_the_body() {
        let body = |delay: &str| {
            serde_json::json!({"error": {"code": 429, "message": "m", "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure"},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]}})
            .to_string()
        };
        let wait = |headers: &[(&'static str, &'static str)], body: &str| {
            let status = StatusCode::TOO_MANY_REQUESTS;
            refused(&Redactor::new(), status, &self::headers(headers), body.as_bytes()).retry_after
        };
        assert_eq!(wait(&[], &body("37s")), Some(Duration::from_secs(37)));
        assert_eq!(wait(&[], &format!("[{}]", body("1.5s"))), Some(Duration::from_millis(1500)));
        assert_eq!(wait(&[("retry-after", "7")], &body("37s")), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[], &body("soon")), None);
        assert_eq!(wait(&[], &body("-1s")), None);
    }

    #[test]
    fn messages_are_found_scrubbed_and_cut() {
        let redactor = Redactor::new();
        redactor.register([&Secret::new("sk-very-secret")]).unwrap();
        let display = |status: u16, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            refused(&redactor, status, &HeaderMap::new(), body.as_bytes()).message
        };
        assert_eq!(
            display(401, r#"{"error":{"message":"bad key sk-very-secret","type":"x"}}"#),
            "status 401: bad key [REDACTED]"
        );
        assert_eq!(display(404, r#"{"error":"model 'm' not found"}"#), "status 404: model 'm' not found");
        assert_eq!(display(422, r#"{"detail":"x"}"#), "status 422: x");
        assert_eq!(display(400, r#"[{"error":{"message":"in a list"}}]"#), "status 400: in a list");
        assert_eq!(display(502, "<html>bad gateway</html>"), "status 502: <html>bad gateway</html>");
        let long = display(500, &format!("{}sk-very-secret", "x".repeat(495)));
        assert!(long.ends_with("[REDA…"), "{long}");
        assert!(display(308, "").contains("redirects are not followed"));
    }

    #[test]
    fn statuses_have_kinds() {
        for (status, kind) in [
            (429, LlmErrorKind::RateLimit),
            (401, LlmErrorKind::Auth),
            (403, LlmErrorKind::Auth),
            (408, LlmErrorKind::Timeout),
            (500, LlmErrorKind::Server),
            (529, LlmErrorKind::Server),
            (400, LlmErrorKind::InvalidRequest),
            (307, LlmErrorKind::InvalidRequest),
        ] {
            assert_eq!(kind_of_status(status), kind, "{status}");
        }
    }
}
