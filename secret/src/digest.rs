//! SHA-256 in hexadecimal digits, for naming data without revealing it.

use ptc_base::pace::PIECE;
use ring::digest::{Context, SHA256, digest};

/// The SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut array = [0; 32];
    array.copy_from_slice(digest(&SHA256, bytes).as_ref());
    array
}

/// The SHA-256 of `bytes`, between whose pieces other tasks of the thread have their turn.
pub async fn sha256_in_pieces(bytes: &[u8]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for (at, piece) in bytes.chunks(PIECE).enumerate() {
        if at > 0 {
            tokio::task::yield_now().await;
        }
        context.update(piece);
    }
    let mut array = [0; 32];
    array.copy_from_slice(context.finish().as_ref());
    array
}

/// The SHA-256 of several texts, each after its length (8 bytes, the highest first), so that no two lists of them read alike.
pub fn sha256_of_parts(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut array = [0; 32];
    array.copy_from_slice(context.finish().as_ref());
    array
}

/// The SHA-256 of `bytes` in 64 hex digits.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&sha256(bytes))
}

/// The first 16 hex digits of the SHA-256 of `bytes`.
pub fn short_hash(bytes: &[u8]) -> String {
    hex(&sha256(bytes)[..8])
}

/// The first `digits` hex digits of the SHA-256 of `text`, an even number of them.
pub fn hex_digest(text: &str, digits: usize) -> String {
    hex(&sha256(text.as_bytes())[..digits / 2])
}

/// Bytes as hex digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |nibble: u8| DIGITS[usize::from(nibble & 0xf)];
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        digits.extend([digit(byte >> 4), digit(*byte)]);
    }
    digits
}

/// The digest that 64 hex digits say.
pub fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context as Polled, Poll, Waker};

    use super::*;

    #[test]
    fn a_long_text_is_digested_in_pieces_with_a_pause_between_two() {
        for (bytes, pieces) in [(0, 0), (1, 1), (PIECE, 1), (PIECE + 1, 2), (4 << 20, 64)] {
            let text = vec![7; bytes];
            let mut digest = pin!(sha256_in_pieces(&text));
            let mut pauses = 0;
            let digest = loop {
                match digest.as_mut().poll(&mut Polled::from_waker(Waker::noop())) {
                    Poll::Ready(digest) => break digest,
                    Poll::Pending => pauses += 1,
                }
            };
            assert_eq!(digest, sha256(&text));
            assert_eq!(pauses, usize::max(pieces, 1) - 1, "{bytes}");
        }
    }
}
