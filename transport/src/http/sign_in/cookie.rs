//! The cookie that binds a sign-in to the browser in which it began (auth.md 8).
//!
//! Without it, an attacker could begin a sign-in and have another person finish it: that person's tokens would then
//! be the attacker's. The value is random; the pending sign-in keeps only its hash.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use ptc_host::digest::{sha256_hex, short_hash};

/// How long the browser keeps it, in seconds: as long as a sign-in may be pending.
const LIFE: u64 = 600;
/// The prefix of names. Browsers accept such a cookie from this host alone, over TLS or from this machine.
const PREFIX: &str = "__Host-ptc-";

/// A new secret for a browser.
pub(super) struct BrowserKey(String);

impl BrowserKey {
    /// 16 random bytes.
    ///
    /// # Errors
    /// If the system gives none.
    pub(super) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(BrowserKey(BASE64_URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The digest that the pending sign-in keeps.
    pub(super) fn digest(&self) -> String {
        sha256_hex(self.0.as_bytes())
    }

    /// `Set-Cookie` for the sign-in of this `state`. Each sign-in has a cookie of its own, so that several can be
    /// pending.
    pub(super) fn set_cookie(&self, state: &str) -> Option<HeaderValue> {
        set(&name(state), &self.0, LIFE)
    }
}

/// The digest of the browser's secret for the sign-in of this `state`, if there is exactly one.
pub(super) fn presented(headers: &HeaderMap, state: &str) -> Option<String> {
    value(headers, &name(state)).map(|value| sha256_hex(value.as_bytes()))
}

/// The header that removes the cookie of this `state`.
pub(super) fn remove(state: &str) -> Option<HeaderValue> {
    removal(&name(state))
}

/// `Set-Cookie` for a secret that the browser keeps for `life` seconds.
pub(super) fn set(name: &str, value: &str, life: u64) -> Option<HeaderValue> {
    let text = format!("{name}={value}; Max-Age={life}; Path=/; Secure; HttpOnly; SameSite=Lax");
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}

/// The value of this cookie, if there is exactly one.
pub(super) fn value(headers: &HeaderMap, name: &str) -> Option<String> {
    let texts = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(given, _)| *given == name).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (Some(value), None) => Some(value.to_owned()),
        _ => None,
    }
}

/// The header that removes this cookie.
pub(super) fn removal(name: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(&format!("{name}=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax")).ok()
}

fn name(state: &str) -> String {
    PREFIX.to_owned() + &short_hash(state.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookies(lines: &[&str]) -> HeaderMap {
        lines.iter().map(|line| (COOKIE, HeaderValue::from_str(line).unwrap())).collect()
    }

    #[test]
    fn a_browser_presents_what_it_was_given_for_that_sign_in() {
        let key = BrowserKey::random().unwrap();
        let set = key.set_cookie("state-1").unwrap();
        let set = set.to_str().unwrap();
        assert!(
            set.starts_with("__Host-ptc-")
                && set.ends_with("; Max-Age=600; Path=/; Secure; HttpOnly; SameSite=Lax")
        );
        let pair = set.split(';').next().unwrap();
        for lines in [&[pair][..], &[&format!("a=b; {pair};c=d")], &["a=b", pair]] {
            assert_eq!(presented(&cookies(lines), "state-1"), Some(key.digest()), "{lines:?}");
        }
        let other = BrowserKey::random().unwrap();
        assert_ne!(other.digest(), key.digest());
        for lines in [&[][..], &["a=b"], &[pair, pair], &[&format!("x{pair}")]] {
            assert_eq!(presented(&cookies(lines), "state-1"), None, "{lines:?}");
        }
        assert_eq!(presented(&cookies(&[pair]), "state-2"), None);
        assert!(remove("state-1").unwrap().to_str().unwrap().contains("=; Max-Age=0; "));
    }
}
