//! The digest of a call's arguments, for places where they are not shown (decision 155).

use serde::{Deserialize, Serialize};
use std::fmt;

/// The SHA-256 of the arguments of a call, of their bytes as they are sent: `v2:` and 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArgumentsDigest([u8; 32]);

impl ArgumentsDigest {
    /// The digest with that SHA-256.
    pub const fn new(sha256: [u8; 32]) -> ArgumentsDigest {
        ArgumentsDigest(sha256)
    }

    /// That of arguments as they are sent. Yields in the middle of long ones.
    #[cfg(feature = "seals")]
    pub async fn of_sent(arguments: &[u8]) -> ArgumentsDigest {
        ArgumentsDigest(ptc_secret::digest::sha256_in_pieces(arguments).await)
    }

    /// The SHA-256.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ArgumentsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("v2:")?;
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_shown_with_its_version() {
        assert_eq!(ArgumentsDigest::new([0xa7; 32]).to_string(), format!("v2:{}", "a7".repeat(32)));
    }

    #[cfg(feature = "seals")]
    #[tokio::test]
    async fn the_digest_is_that_of_the_bytes_and_not_of_the_value() {
        let of = ArgumentsDigest::of_sent;
        assert_eq!(of(br#"{"a":1}"#).await, of(br#"{"a":1}"#).await);
        assert_ne!(of(br#"{"a":1}"#).await, of(br#"{"a":1.0}"#).await);
        assert_ne!(of(br#"{"a":1}"#).await, of(br#"{ "a":1}"#).await);
        let long = vec![b'x'; 1 << 20];
        assert_eq!(*of(&long).await.bytes(), ptc_secret::digest::sha256(&long));
    }
}
