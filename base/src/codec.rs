//! The one encoding of records, of states that travel, and of messages between replicas: the version of their format, a value
//! in postcard, and bytes behind it that are not copied.

use serde::{Deserialize, Serialize};

/// Encodes `value` in the format of that version, with `rest` behind it.
pub fn encode(version: u8, value: &impl Serialize, rest: &[u8]) -> Vec<u8> {
    // Plain data always serialises; nothing decodes from nothing.
    let mut bytes = postcard::to_extend(value, vec![version]).unwrap_or_default();
    bytes.extend_from_slice(rest);
    bytes
}

/// Decodes a value, and returns the bytes behind it. Trusts none of them, and allocates no more than a multiple of what is
/// there. `None` if it is no value of this version.
#[expect(clippy::disallowed_methods, reason = "entry point: decode()")]
pub fn decode<'b, T: Deserialize<'b>>(version: u8, bytes: &'b [u8]) -> Option<(T, &'b [u8])> {
    postcard::take_from_bytes(bytes.strip_prefix(&[version])?).ok()
}

/// The same of a value with nothing behind it.
pub fn decode_whole<'b, T: Deserialize<'b>>(version: u8, bytes: &'b [u8]) -> Option<T> {
    decode(version, bytes).and_then(|(value, rest)| rest.is_empty().then_some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written_and_with_their_rest() {
        let value = (vec!["a".to_owned(), "é".to_owned()], Some(300u32), [7u8; 16]);
        let bytes = encode(2, &value, b"rest");
        assert_eq!(decode(2, &bytes), Some((value.clone(), &b"rest"[..])));
        assert_eq!(decode_whole::<(Vec<String>, Option<u32>, [u8; 16])>(2, &bytes), None);
        assert_eq!(decode_whole(2, &encode(2, &value, b"")), Some(value));
    }

    #[test]
    fn other_versions_and_damaged_bytes_are_refused() {
        let bytes = encode(2, &vec!["abc".to_owned(); 3], b"");
        assert_eq!(decode_whole::<Vec<String>>(3, &bytes), None);
        for end in 0..bytes.len() {
            assert_eq!(decode_whole::<Vec<String>>(2, &bytes[..end]), None, "{end}");
        }
        // Lengths beyond what is there.
        for lying in [&b"\x02\xff\xff\xff\xff\x0f"[..], b"\x02\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"] {
            assert_eq!(decode_whole::<Vec<String>>(2, lying), None, "{lying:?}");
        }
    }
}
