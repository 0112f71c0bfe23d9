//! The details of a refusal by HTTP beneath its fixed first line: the status, its origin, and the remedy.

use std::fmt::Write as _;
use std::time::Duration;

use http::header::{DATE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use httpdate::parse_http_date;
use url::Url;

use super::{CallFault, FaultReason};
use ptc_base::time;
use ptc_secret::credentials::HttpAuth;

/// Longest `Retry-After` that is shown, in characters.
const MAX_RETRY_AFTER: usize = 40;

/// The `Retry-After` of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RetryAfter {
    /// In the server's own words.
    shown: String,
    /// How long that is, if it can be read.
    pub(crate) wait: Option<Duration>,
}

/// The `Retry-After` of an answer: seconds, or a date by the server's clock if it shows it, else by ours.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<RetryAfter> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if text.is_empty() {
        return None;
    }
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let until = || {
        let sent = headers.get(DATE).and_then(|date| parse_http_date(date.to_str().ok()?).ok());
        let now = sent.unwrap_or_else(time::time_of_day);
        Some(parse_http_date(text).ok()?.duration_since(now).unwrap_or(Duration::ZERO))
    };
    Some(RetryAfter { wait: seconds.or_else(until), shown: text.chars().take(MAX_RETRY_AFTER).collect() })
}

/// `fault`, with a second line where the server refused credentials or asked for patience:
/// `http 429 from https://h.example/mcp; Retry-After: 30`.
pub(crate) fn explain(
    fault: CallFault,
    url: &Url,
    auth: &HttpAuth,
    retry_after: Option<&RetryAfter>,
) -> CallFault {
    let Some(status) = fault.http_status else { return fault };
    let fault = fault.with_retry_after(retry_after.and_then(|after| after.wait));
    let mut line = format!("http {status} from {}", place(url));
    match fault.reason {
        FaultReason::AuthFailed => match auth.emitters.as_slice() {
            [] => line.push_str("; this upstream's entry has no auth"),
            emitters => {
                let names: Vec<String> = emitters
                    .iter()
                    .map(|emitter| format!("{:?} ({})", emitter.binding, emitter.scheme.as_str()))
                    .collect();
                let _ = write!(line, "; it did not accept credential {}", names.join(", "));
            }
        },
        FaultReason::RateLimited => {}
        _ => return fault,
    }
    if let Some(after) = retry_after {
        let _ = write!(line, "; Retry-After: {}", after.shown);
    }
    fault.with_hint(&line)
}

/// A failed start, with advice for its operator if the fault is a common one.
pub(crate) fn explain_start(fault: CallFault, url: &Url, auth: &HttpAuth) -> CallFault {
    let at = place(url);
    let advice = match fault.http_status {
        Some(404 | 405) => {
            format!("There is no MCP endpoint at {at}: check its path, which is often /mcp or /sse.")
        }
        Some(403) => format!(
            "http 403 from {at}: it refuses who asks; look at the rights and scopes of the credentials of its entry."
        ),
        Some(401) if auth.emitters.is_empty() => {
            "It wants its callers to sign in: write \"auth\": {\"type\": \"oauth\"} into its entry, or put a token under \
             credentials and name it in auth."
                .to_owned()
        }
        None if fault.message.lines().next() == Some("connection refused") => {
            format!("Nothing listens at {at}: is the server running, and is this its port?")
        }
        _ => return fault,
    };
    fault.with_hint(&advice)
}

/// The `Location` of an answer with a status of 3xx.
pub(crate) fn moved_to(status: StatusCode, headers: &HeaderMap) -> Option<String> {
    let place = headers.get(LOCATION).filter(|_| status.is_redirection())?;
    place.to_str().ok().map(str::to_owned)
}

/// A redirect that is not followed, with its target. `remedy` is the advice if that is the server; `rule` says which redirects
/// are followed.
pub(crate) fn explain_redirect(
    fault: CallFault,
    url: &Url,
    location: &str,
    remedy: impl FnOnce(&str) -> String,
    rule: &str,
) -> CallFault {
    let Ok(target) = url.join(location) else {
        return fault.with_hint(&format!("It points to {location:.200}, which is no URL."));
    };
    let place = place(&target);
    let is_sign_in = ["login", "signin", "sign-in", "oauth", "authorize", "sso"]
        .into_iter()
        .any(|word| target.path().to_ascii_lowercase().contains(word));
    let advice = match is_sign_in {
        true => "That is a page to sign in on: look at the auth of its entry.",
        false => rule,
    };
    fault.with_hint(&format!("It points to {place}: {}. {advice}", remedy(&place)))
}

/// A URL without the parts that may be secret: user information, query and fragment.
fn place(url: &Url) -> String {
    format!("{}{}", url.origin().ascii_serialization(), url.path())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn starts_that_fail_say_what_to_look_at() {
        let url: Url = "http://h.example/api?key=k".parse().unwrap();
        let told = |fault: CallFault| explain_start(fault, &url, &HttpAuth::default()).message;
        assert_eq!(
            told(CallFault::unavailable("connection refused")),
            "connection refused\nNothing listens at http://h.example/api: is the server running, and is this its port?"
        );
        let missing = CallFault::upstream_error("http 404").with_status(404);
        assert_eq!(
            told(missing),
            "http 404\nThere is no MCP endpoint at http://h.example/api: check its path, which is often /mcp or /sse."
        );
        let refused = CallFault::new(FaultReason::AuthFailed, "auth_failed").with_status(401);
        assert!(told(refused).contains("sign in"));
        assert_eq!(told(CallFault::unavailable("dns: nxdomain")), "dns: nxdomain");
    }

    #[test]
    fn refusals_name_status_place_and_patience() {
        let url: Url = "https://user:pw@h.example:8443/mcp?token=t#f".parse().unwrap();
        let mut headers = HeaderMap::new();
        assert_eq!(retry_after(&headers), None);
        headers.insert(RETRY_AFTER, HeaderValue::from_static("30"));
        let after = retry_after(&headers);
        let limited = CallFault::new(FaultReason::RateLimited, "rate_limited").with_status(429);
        assert_eq!(
            explain(limited, &url, &HttpAuth::default(), after.as_ref()).message,
            "rate_limited\nhttp 429 from https://h.example:8443/mcp; Retry-After: 30"
        );
        let refused = || CallFault::new(FaultReason::AuthFailed, "auth_failed").with_status(401);
        assert_eq!(
            explain(refused(), &url, &HttpAuth::default(), None).message,
            "auth_failed\nhttp 401 from https://h.example:8443/mcp; this upstream's entry has no auth"
        );
        let other = CallFault::unavailable("http 500").with_status(500);
        assert_eq!(explain(other.clone(), &url, &HttpAuth::default(), None), other);
        let unsent = CallFault::new(FaultReason::AuthFailed, "no such credential");
        assert_eq!(explain(unsent.clone(), &url, &HttpAuth::default(), None), unsent);
    }

    #[test]
    fn what_a_server_says_is_bounded() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::try_from("9".repeat(500)).unwrap());
        let long = retry_after(&headers).unwrap();
        assert_eq!((long.shown.len(), long.wait), (MAX_RETRY_AFTER, None));
        headers.insert(RETRY_AFTER, HeaderValue::from_bytes(b"caf\xe9").unwrap());
        assert_eq!(retry_after(&headers), None);
    }

    #[test]
    fn waits_are_seconds_or_dates() {
        let wait = |pairs: &[(http::HeaderName, &'static str)]| {
            let pairs = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
            retry_after(&pairs.collect::<HeaderMap>()).and_then(|after| after.wait)
        };
        let date = "Wed, 21 Oct 2015 07:28:00 GMT";
        for (pairs, seconds) in [
            (vec![(RETRY_AFTER, "30")], Some(30.0)),
            (vec![(RETRY_AFTER, "1.5")], Some(1.5)),
            (vec![(RETRY_AFTER, "Wed, 21 Oct 2015 07:28:30 GMT"), (DATE, date)], Some(30.0)),
            (
                vec![(RETRY_AFTER, "Sat, 01 Mar 2025 00:00:05 GMT"), (DATE, "Fri, 28 Feb 2025 23:59:55 GMT")],
                Some(10.0),
            ),
            (vec![(RETRY_AFTER, date), (DATE, "Thu, 22 Oct 2015 07:28:00 GMT")], Some(0.0)),
            (vec![(RETRY_AFTER, date)], Some(0.0)),
            (vec![(RETRY_AFTER, "soon")], None),
            (vec![(RETRY_AFTER, "-1")], None),
            (vec![(RETRY_AFTER, "Wed, 32 Oct 2015 07:28:30 GMT")], None),
            (vec![(DATE, date)], None),
        ] {
            assert_eq!(wait(&pairs).map(|wait| wait.as_secs_f64()), seconds, "{pairs:?}");
        }
        let known = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_480);
        assert_eq!(parse_http_date(date).ok(), Some(known));
    }
}
