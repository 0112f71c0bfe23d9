//! The digest of a call's arguments, for places where they are not shown (decision 155).

use std::fmt;

/// The SHA-256 of the arguments of a call, and which form of them was digested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentsDigest {
    /// The bytes as they are sent: `v2:` and 64 hex digits.
    Sent([u8; 32]),
    /// Their canonical form, as builds before decision 155 had it: 64 hex digits. Nothing is bound to it any more.
    Canonical([u8; 32]),
}

/// The prefix of a digest of the bytes.
const SENT: &str = "v2:";

impl ArgumentsDigest {
    /// That of arguments as they are sent. Yields in the middle of long ones.
    #[cfg(feature = "seals")]
    pub async fn of_sent(arguments: &[u8]) -> ArgumentsDigest {
        ArgumentsDigest::Sent(ptc_secret::digest::sha256_in_pieces(arguments).await)
    }

    /// Reads the printed form.
    pub fn parse(text: &str) -> Option<ArgumentsDigest> {
        match text.strip_prefix(SENT) {
            Some(digits) => sha256(digits).map(ArgumentsDigest::Sent),
            None => sha256(text).map(ArgumentsDigest::Canonical),
        }
    }

    /// The SHA-256.
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        let (ArgumentsDigest::Sent(bytes) | ArgumentsDigest::Canonical(bytes)) = self;
        bytes
    }
}

impl fmt::Display for ArgumentsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let ArgumentsDigest::Sent(_) = self {
            f.write_str(SENT)?;
        }
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn sha256(digits: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_read_as_it_is_written_and_keeps_its_version() {
        for digest in [ArgumentsDigest::Sent([0xa7; 32]), ArgumentsDigest::Canonical([0xa7; 32])] {
            assert_eq!(ArgumentsDigest::parse(&digest.to_string()), Some(digest));
        }
        assert_eq!(ArgumentsDigest::Sent([0xa7; 32]).to_string(), format!("v2:{}", "a7".repeat(32)));
        for wrong in
            ["", "v2:", "v3:00", &"a7".repeat(31), &"+7".repeat(32), &format!("v1:{}", "a7".repeat(32))]
        {
            assert_eq!(ArgumentsDigest::parse(wrong), None, "{wrong}");
        }
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
