//! The type that holds secret text.

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Information below which a secret is said to be guessable: a random text of 16 characters has more.
const GUESSABLE_BITS: f64 = 48.0;

/// The printed form of a secret, everywhere.
pub const REDACTED: &str = "[REDACTED]";

/// Secret text. `Debug` and `Display` print [`REDACTED`], there is no `Serialize`, and the bytes are overwritten
/// when the last clone is dropped. The only ways to use one are the operations that a transport needs: a request
/// header, a comparison, a place in the [redactor](crate::redactor::Redactor).
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Takes ownership of secret text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(text.into())))
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `<prefix><secret>` as a header value that is marked sensitive: HTTP/2 does not index it and debug output does
    /// not show it. `None` if the text holds bytes that a header must not carry (CR, LF, NUL, other controls).
    pub fn header_value(&self, prefix: &str) -> Option<HeaderValue> {
        let text = Zeroizing::new(format!("{prefix}{}", self.0.as_str()));
        let mut value = HeaderValue::from_bytes(text.as_bytes()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Whether an attacker who can test guesses could find the text: little information in it, counted by its characters. Words
    /// of a dictionary are not recognised.
    #[must_use]
    pub fn is_guessable(&self) -> bool {
        let mut counts = [0u32; 256];
        self.0.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
        let len = self.0.len() as f64;
        let bits = |count: u32| f64::from(count) * (len / f64::from(count)).log2();
        counts.into_iter().filter(|count| *count > 0).map(bits).sum::<f64>() < GUESSABLE_BITS
    }

    /// Whether `candidate` is this secret, in a time that does not depend on where they differ.
    pub fn matches(&self, candidate: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(candidate).into()
    }

    /// The text itself, for the modules that build headers, child environments and redaction patterns.
    pub fn open(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Secret {
    /// As [`matches`](Self::matches).
    fn eq(&self, other: &Self) -> bool {
        self.matches(other.0.as_bytes())
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_prints() {
        let secret = Secret::new("hunter2-hunter2");
        assert_eq!(
            format!("{secret} {secret:?} {:?}", Some(&secret)),
            "[REDACTED] [REDACTED] Some([REDACTED])"
        );
    }

    #[test]
    fn header_values_are_sensitive_and_refuse_injection() {
        let value = Secret::new("abc").header_value("Bearer ").unwrap();
        assert!(value.is_sensitive());
        assert_eq!(value.as_bytes(), b"Bearer abc");
        for bad in ["a\r\nX: y", "a\nb", "a\0b", "a\x7fb"] {
            assert!(Secret::new(bad).header_value("").is_none(), "{bad:?}");
        }
    }

    #[test]
    fn comparison_is_exact() {
        let secret = Secret::new("token-token");
        assert!(secret.matches(b"token-token"));
        assert!(!secret.matches(b"token-tokem"));
        assert!(!secret.matches(b"token"));
        assert!(!secret.matches(b""));
        assert!(secret == Secret::new("token-token") && secret != Secret::new("token-tokem"));
    }
}
