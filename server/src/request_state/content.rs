//! The content of a state, and its encoding.

use bytes::Bytes;
use ptc_host::state::is_id;
use ptc_vm::graph::{Reader, Unread, Writer};

/// The version of the sealed format.
const FORM: u8 = 1;
/// Size of a snapshot above which it is compressed.
const PACKED_ABOVE: usize = 4 << 10;
/// Largest snapshot in bytes, checked before it is decompressed.
const MOST_BYTES: usize = 64 << 20;
/// LZ4 decompresses one byte to at most this many.
const MOST_OF_ONE: usize = 255;

const PLAIN: u8 = 0;
const PACKED: u8 = 1;
const KEPT: u8 = 2;
const BLOB: u8 = 3;

/// Identifies a suspension: a state that is issued again for missing answers has the same one.
pub(crate) type Jti = [u8; 16];

/// The content of a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// The suspension.
    pub(crate) jti: Jti,
    /// The number of this suspension of its program, from 1.
    pub(crate) round: u32,
    /// The open questions with the answers so far, in the encoding of their owner.
    pub(crate) asked: Vec<u8>,
    /// The program.
    pub(crate) carried: Carried,
}

/// The place of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carried {
    /// In the state: its snapshot.
    Snapshot(Bytes),
    /// In the record of the run with this id.
    Kept(String),
    /// In the blob of the store with this id: it is too large to be sent.
    Blob(String),
}

impl Content {
    /// Encodes the content. The snapshot is compressed above 4 KiB.
    pub(super) fn write(&self) -> Vec<u8> {
        let mut to = Writer::new();
        to.byte(FORM);
        to.raw(&self.jti);
        to.unsigned(u64::from(self.round));
        to.bytes(&self.asked);
        match &self.carried {
            Carried::Snapshot(snapshot) => write_packed(snapshot, &mut to),
            Carried::Kept(id) => {
                to.byte(KEPT);
                to.text(id);
            }
            Carried::Blob(id) => {
                to.byte(BLOB);
                to.text(id);
            }
        }
        to.into_bytes()
    }

    /// Decodes the encoding of [`write`](Self::write), and trusts none of it.
    pub(super) fn read(bytes: &[u8]) -> Result<Content, Unread> {
        let mut from = Reader::new(bytes);
        if from.byte()? != FORM {
            return Err(Unread::Invalid("form"));
        }
        let mut jti = Jti::default();
        jti.copy_from_slice(from.raw(size_of::<Jti>())?);
        let round = from.unsigned_32()?;
        let asked = from.bytes()?.to_vec();
        let carried = match from.byte()? {
            KEPT => Carried::Kept(read_id(&mut from)?),
            BLOB => Carried::Blob(read_id(&mut from)?),
            how => Carried::Snapshot(read_packed(how, &mut from)?),
        };
        from.finish("end")?;
        Ok(Content { jti, round, asked, carried })
    }
}

fn read_id(from: &mut Reader<'_>) -> Result<String, Unread> {
    let id = from.text()?;
    if is_id(id) { Ok(id.to_owned()) } else { Err(Unread::Invalid("handle")) }
}

fn write_packed(snapshot: &[u8], to: &mut Writer) {
    let packed = (snapshot.len() > PACKED_ABOVE).then(|| lz4_flex::block::compress(snapshot));
    match packed.filter(|packed| packed.len() < snapshot.len()) {
        Some(packed) => {
            to.byte(PACKED);
            to.unsigned(snapshot.len() as u64);
            to.raw(&packed);
        }
        None => {
            to.byte(PLAIN);
            to.raw(snapshot);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: read_packed()")]
fn read_packed(how: u8, from: &mut Reader<'_>) -> Result<Bytes, Unread> {
    let invalid = Unread::Invalid("snapshot");
    match how {
        PLAIN => {
            let left = from.left();
            Ok(Bytes::copy_from_slice(from.raw(left)?))
        }
        PACKED => {
            let size = usize::try_from(from.unsigned()?).ok().filter(|size| *size <= MOST_BYTES);
            let left = from.left();
            let packed = from.raw(left)?;
            let Some(size) = size.filter(|size| size / MOST_OF_ONE <= packed.len()) else {
                return Err(invalid);
            };
            let snapshot = lz4_flex::block::decompress(packed, size);
            snapshot.ok().filter(|snapshot| snapshot.len() == size).map(Bytes::from).ok_or(invalid)
        }
        _ => Err(invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(carried: Carried) -> Content {
        Content { jti: [7; 16], round: 300, asked: b"questions".to_vec(), carried }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mixed: Vec<u8> = (0..9000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for snapshot in [vec![], b"short".to_vec(), vec![b'x'; 4 << 10], vec![b'x'; 100 << 10], mixed] {
            let content = content(Carried::Snapshot(snapshot.into()));
            assert_eq!(Content::read(&content.write()).unwrap(), content);
        }
        let long = content(Carried::Snapshot(vec![b'x'; 100 << 10].into())).write();
        assert!(long.len() < 1000, "{}", long.len());
        for carried in [Carried::Kept("run_abc".into()), Carried::Blob("b-1".into())] {
            assert_eq!(Content::read(&content(carried.clone()).write()).unwrap(), content(carried));
        }
    }

    #[test]
    fn the_encoding_is_as_it_was() {
        let shown = |carried| content(carried).write().escape_ascii().to_string();
        assert_eq!(
            shown(Carried::Kept("run_abc".into())),
            r"\x01\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\xac\x02\tquestions\x02\x07run_abc"
        );
        assert_eq!(
            shown(Carried::Snapshot(Bytes::from_static(b"program"))),
            r"\x01\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\xac\x02\tquestions\x00program"
        );
    }

    #[test]
    fn bytes_of_anybody_are_refused_and_nothing_is_unpacked_that_is_too_large() {
        let written = content(Carried::Kept("run_abc".into())).write();
        for end in 0..written.len() {
            assert!(Content::read(&written[..end]).is_err(), "{end}");
        }
        assert!(Content::read(&[&written[..], b"x"].concat()).is_err());
        assert!(Content::read(&content(Carried::Kept("run}".into())).write()).is_err());
        let packed = |size: u64, bytes: &[u8]| {
            let mut to = Writer::new();
            to.byte(FORM);
            to.raw(&[0; 16]);
            to.unsigned(1);
            to.bytes(b"");
            to.byte(PACKED);
            to.unsigned(size);
            to.raw(bytes);
            Content::read(&to.into_bytes())
        };
        for size in [u64::MAX, 4 << 30, 65 << 20, 5000, 0] {
            assert!(packed(size, b"ten bytes!").is_err(), "{size}");
        }
    }
}
