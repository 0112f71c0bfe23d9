//! Signs messages in both directions: `ptc-signature: t=<unix s>,v1=<hex HMAC-SHA256 of t "." body>`.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use ptc_host::digest::hex;
use ptc_host::state::Secret;

use ptc_protocol::timestamp;

/// How old a signature may be.
const MAX_AGE: Duration = Duration::from_secs(300);

/// The header.
pub const HEADER: HeaderName = HeaderName::from_static("ptc-signature");

/// The time of day in seconds since 1970, which each side compares with its own clock.
pub(super) fn now_s() -> i64 {
    timestamp::now().as_second()
}

/// The header's value for a body that is sent now.
pub(super) fn signed(secret: &Secret, now_s: i64, body: &[u8]) -> String {
    let at = now_s.to_string();
    let signature = secret.sign(&[at.as_bytes(), b".", body]);
    format!("t={at},v1={}", hex(&signature))
}

/// Checks the signature of a body that arrived at `now_s`, and returns it.
///
/// # Errors
/// The reason why it is not trusted.
pub(super) fn check(
    secret: &Secret,
    header: Option<&HeaderValue>,
    body: &[u8],
    now_s: i64,
) -> Result<[u8; 32], &'static str> {
    let header = header.ok_or("ptc-signature is missing")?;
    let (at, signature) = header.to_str().ok().and_then(read).ok_or("ptc-signature is malformed")?;
    if !secret.has_signed(&[at.as_bytes(), b".", body], &signature) {
        return Err("ptc-signature does not belong to this body");
    }
    let at: i64 = at.parse().map_err(|_| "ptc-signature is malformed")?;
    let limit = i64::try_from(MAX_AGE.as_secs()).unwrap_or(i64::MAX);
    match now_s.checked_sub(at) {
        Some(age) if (-limit..=limit).contains(&age) => Ok(signature),
        _ => Err("ptc-signature is older than 300 s"),
    }
}

/// The time as written, and the signature.
fn read(text: &str) -> Option<(&str, [u8; 32])> {
    let (at, digits) = text.strip_prefix("t=")?.split_once(",v1=")?;
    let is_number = !at.is_empty() && at.len() <= 18 && at.bytes().all(|byte| byte.is_ascii_digit());
    let mut signature = [0; 32];
    if !is_number || digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in signature.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some((at, signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Secret {
        Secret::of(&[&[byte; 32]]).unwrap()
    }

    fn checked(header: &str, body: &[u8], now_s: i64) -> Result<[u8; 32], &'static str> {
        check(&secret(7), Some(&HeaderValue::from_str(header).unwrap()), body, now_s)
    }

    #[test]
    fn what_is_signed_is_trusted_for_300_seconds() {
        let header = signed(&secret(7), 1_000_000, b"body");
        for now in [1_000_000, 1_000_300, 999_700] {
            assert!(checked(&header, b"body", now).is_ok(), "{now}");
        }
        for now in [1_000_301, 999_699, i64::MIN, i64::MAX] {
            assert_eq!(checked(&header, b"body", now), Err("ptc-signature is older than 300 s"), "{now}");
        }
    }

    #[test]
    fn whoever_lies_is_not_trusted() {
        let header = signed(&secret(7), 1_000_000, b"body");
        let refused = |header: &str, body: &[u8]| checked(header, body, 1_000_000).unwrap_err();
        assert_eq!(refused(&header, b"Body"), "ptc-signature does not belong to this body");
        let later = header.replace("t=1000000", "t=1000001");
        assert_eq!(refused(&later, b"body"), "ptc-signature does not belong to this body");
        let other = signed(&secret(8), 1_000_000, b"body");
        assert_eq!(refused(&other, b"body"), "ptc-signature does not belong to this body");
        // The dot separates the time from the body.
        let shifted = signed(&secret(7), 100_000, b"0.body");
        assert_ne!(shifted, signed(&secret(7), 1_000_000, b".body"));
        for malformed in [
            "",
            "t=1000000",
            "v1=00",
            &header.replace("v1", "v2"),
            &header[..header.len() - 1],
            &format!("{header}0"),
            &header.replace("t=1", "t=-1"),
            &header.replace("t=1", "t=+1"),
            &format!("t={},v1={}", "9".repeat(19), "0".repeat(64)),
        ] {
            assert_eq!(refused(malformed, b"body"), "ptc-signature is malformed", "{malformed}");
        }
        assert_eq!(check(&secret(7), None, b"body", 1_000_000), Err("ptc-signature is missing"));
    }
}
