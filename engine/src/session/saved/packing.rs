//! The outermost layer of a saved session: its format, and LZ4.

use super::{FORMAT, MOST_BYTES, PACKED_ABOVE};
use crate::outcome::SessionFault;
use ptc_vm::graph::{DecodeError, WireReader, WireWriter};
use std::borrow::Cow;

const PLAIN: u8 = 0;
const PACKED: u8 = 1;
/// LZ4 makes no more bytes than this of one.
const MOST_OF_ONE: usize = 255;

/// The payload as it is kept.
pub(super) fn pack(payload: &[u8]) -> Vec<u8> {
    let mut head = WireWriter::new();
    head.unsigned(u64::from(FORMAT));
    let packed = (payload.len() > PACKED_ABOVE).then(|| lz4_flex::block::compress(payload));
    match packed.filter(|packed| packed.len() < payload.len()) {
        Some(packed) => {
            head.byte(PACKED);
            head.count(payload.len());
            head.raw(&packed);
        }
        None => {
            head.byte(PLAIN);
            head.raw(payload);
        }
    }
    head.into_bytes()
}

/// The payload of a stored session. Its size is checked before it is unpacked.
#[expect(clippy::disallowed_methods, reason = "entry point: unpack()")]
pub(super) fn unpack(blob: &[u8]) -> Result<Cow<'_, [u8]>, SessionFault> {
    let mut reader = WireReader::new(blob);
    let corrupt = |_: DecodeError| SessionFault::Corrupt("format");
    if reader.unsigned().map_err(corrupt)? != u64::from(FORMAT) {
        return Err(SessionFault::OtherBuild);
    }
    let how = reader.byte().map_err(corrupt)?;
    match how {
        PLAIN => {
            let left = reader.left();
            let payload = reader.raw(left).map_err(corrupt)?;
            if payload.len() > MOST_BYTES {
                Err(SessionFault::Corrupt("size"))
            } else {
                Ok(Cow::Borrowed(payload))
            }
        }
        PACKED => {
            let size = reader.unsigned().map_err(corrupt)?;
            let size = usize::try_from(size).ok().filter(|size| *size <= MOST_BYTES);
            let size = size.ok_or(SessionFault::Corrupt("size"))?;
            let left = reader.left();
            let packed = reader.raw(left).map_err(corrupt)?;
            if size <= PACKED_ABOVE || size / MOST_OF_ONE > packed.len() {
                return Err(SessionFault::Corrupt("size"));
            }
            let payload = lz4_flex::block::decompress(packed, size);
            let payload = payload.ok().filter(|payload| payload.len() == size);
            payload.map(Cow::Owned).ok_or(SessionFault::Corrupt("packing"))
        }
        _ => Err(SessionFault::Corrupt("format")),
    }
}

/// The data of a saved session besides its values.
///
/// # Errors
/// It is of another format, or is no saved session.
pub fn about(blob: &[u8]) -> Result<Vec<u8>, SessionFault> {
    let payload = unpack(blob)?;
    let mut reader = WireReader::new(&payload);
    let corrupt = |_: DecodeError| SessionFault::Corrupt("about");
    reader.raw(super::fingerprint().len()).map_err(corrupt)?;
    reader.bytes().map(<[u8]>::to_vec).map_err(corrupt)
}
