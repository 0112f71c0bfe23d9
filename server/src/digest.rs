//! SHA-256 in hexadecimal digits: identifies data that must not be shown itself.

use sha2::{Digest, Sha256};

/// The SHA-256 of `bytes` in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The first 16 hex digits of the SHA-256 of `bytes`.
pub(crate) fn short_hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..8])
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}
