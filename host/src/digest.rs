//! SHA-256 in hexadecimal digits: names of what must not be named itself.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};

/// The first `digits` hex digits of the SHA-256 of `text`, an even number of them.
pub(crate) fn hex_digest(text: &str, digits: usize) -> String {
    hex(&digest(&SHA256, text.as_bytes()).as_ref()[..digits / 2])
}

/// Bytes as hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
