//! How long metadata is kept (`auth.md` 2.5).

use std::time::Duration;

use crate::message::Response;
use crate::timestamp::Timestamp;

/// The least that a document is kept.
pub const SHORTEST: Duration = Duration::from_secs(5 * 60);
/// The most that a document is kept.
pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a failure is remembered before another try.
pub const OF_FAILURES: Duration = Duration::from_secs(30);

/// Until when a document that came at `at` is kept.
pub(crate) fn fresh_until(response: &Response, at: Timestamp) -> Timestamp {
    let life = of_cache_control(response).or_else(|| of_expires(response, at)).unwrap_or(SHORTEST);
    at + life.clamp(SHORTEST, LONGEST)
}

fn of_cache_control(response: &Response) -> Option<Duration> {
    let mut life = None;
    let values = response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cache-control"));
    for directive in values.flat_map(|(_, value)| value.split(',')) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => return Some(Duration::ZERO),
            "max-age" => {
                let digits = value.trim().trim_matches('"');
                let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
                // More digits than a number holds are a long time.
                let seconds = is_number.then(|| digits.parse().unwrap_or(u64::MAX));
                life = life.or(Some(Duration::from_secs(seconds.unwrap_or_default())));
            }
            _ => {}
        }
    }
    life
}

fn of_expires(response: &Response, at: Timestamp) -> Option<Duration> {
    let expires = response.header("expires")?;
    // What is no date, such as 0, means the past (RFC 9111 5.3).
    Some(httpdate::parse_http_date(expires).map_or(Duration::ZERO, |date| Timestamp::from(date).since(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(headers: &[(&str, &str)]) -> u64 {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let at = Timestamp::from_seconds(784_111_777);
        fresh_until(&Response::new(200, headers, ""), at).since(at).as_secs()
    }

    #[test]
    fn documents_are_kept_as_their_headers_say_within_bounds() {
        let rows: &[(&[(&str, &str)], u64)] = &[
            (&[], 300),
            (&[("Cache-Control", "max-age=3600")], 3600),
            (&[("cache-control", "public, Max-Age=\"3600\"")], 3600),
            (&[("cache-control", "max-age=10")], 300),
            (&[("cache-control", "max-age=99999999999999999999999")], 86400),
            (&[("cache-control", "max-age=x")], 300),
            (&[("cache-control", "no-store, max-age=3600")], 300),
            (&[("cache-control", "public"), ("cache-control", "max-age=400")], 400),
            // 08:49:37, and an hour later.
            (&[("expires", "Sun, 06 Nov 1994 09:49:37 GMT")], 3600),
            (&[("expires", "Sun, 06 Nov 1994 07:49:37 GMT")], 300),
            (&[("expires", "0")], 300),
            (&[("expires", "Sun, 06 Nov 1994 09:49:37 GMT"), ("cache-control", "max-age=600")], 600),
        ];
        for (headers, expected) in rows {
            assert_eq!(kept(headers), *expected, "{headers:?}");
        }
    }
}
