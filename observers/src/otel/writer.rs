//! Writes protobuf straight into bytes. The derived encoding counts each message anew for each that it is in, which costs a span
//! three times as much as all else about it; [`tests`](super::tests) read what is written by the derived one.

use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};

/// `Span.attributes`, `KeyValue.key`, `KeyValue.value`, and the members of `AnyValue`.
const ATTRIBUTES: u32 = 9;
const KEY: u32 = 1;
const VALUE: u32 = 2;
const STRING_VALUE: u32 = 1;
const INT_VALUE: u32 = 3;

/// A field of bytes, a text or a message.
pub(super) fn bytes(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    head(out, number, value.len());
    out.extend_from_slice(value);
}

/// The beginning of a field of so many bytes.
pub(super) fn head(out: &mut Vec<u8>, number: u32, length: usize) {
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(length as u64, out);
}

/// Bytes of such a field, its beginning included. The number is below 16.
pub(super) fn length(value: usize) -> usize {
    1 + encoded_len_varint(value as u64) + value
}

/// A whole number.
pub(super) fn varint(out: &mut Vec<u8>, number: u32, value: u64) {
    encode_key(number, WireType::Varint, out);
    encode_varint(value, out);
}

/// A number of eight bytes.
pub(super) fn fixed64(out: &mut Vec<u8>, number: u32, value: u64) {
    encode_key(number, WireType::SixtyFourBit, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// A number of four bytes.
pub(super) fn fixed32(out: &mut Vec<u8>, number: u32, value: u32) {
    encode_key(number, WireType::ThirtyTwoBit, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// An attribute of a span that is a text.
pub(super) fn text(out: &mut Vec<u8>, key: &str, value: &str) {
    let any = length(value.len());
    attribute(out, key, any);
    bytes(out, STRING_VALUE, value.as_bytes());
}

/// An attribute of a span that is a number.
pub(super) fn number(out: &mut Vec<u8>, key: &str, value: u64) {
    attribute(out, key, 1 + encoded_len_varint(value));
    varint(out, INT_VALUE, value);
}

/// All of an attribute but the inside of its value, which has so many bytes.
fn attribute(out: &mut Vec<u8>, key: &str, value: usize) {
    head(out, ATTRIBUTES, length(key.len()) + length(value));
    bytes(out, KEY, key.as_bytes());
    head(out, VALUE, value);
}
