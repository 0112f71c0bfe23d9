//! A suspended program, as the record of its run has it: compressed if that is worth while.

use bytes::Bytes;
use ptc_host::pace::apart;
use serde::{Deserialize, Serialize};

/// Size of a snapshot above which it is compressed.
const PACKED_ABOVE: usize = 4 << 10;
/// Largest snapshot in bytes that is compressed, checked before it is decompressed.
const MOST_BYTES: usize = 64 << 20;
/// LZ4 decompresses one byte to at most this many.
const MOST_OF_ONE: usize = 255;

/// The suspended program of a record; empty if the record has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredProgram {
    /// Bytes of its snapshot: it is compressed if there are fewer.
    size: usize,
    /// The bytes, which a record has behind it.
    #[serde(skip)]
    pub bytes: Bytes,
}

impl StoredProgram {
    /// Compresses a snapshot, if that is worth while.
    pub fn pack(snapshot: &Bytes) -> StoredProgram {
        let size = snapshot.len();
        let packed =
            (PACKED_ABOVE + 1..=MOST_BYTES).contains(&size).then(|| lz4_flex::block::compress(snapshot));
        let packed = packed.filter(|packed| packed.len() < size);
        StoredProgram { size, bytes: packed.map_or_else(|| snapshot.clone(), Bytes::from) }
    }

    /// Like [`pack`](Self::pack). A large snapshot is compressed on a thread of its own.
    pub async fn packed(snapshot: Bytes) -> StoredProgram {
        apart(snapshot.len(), move || StoredProgram::pack(&snapshot)).await
    }

    /// The snapshot; `None` if its bytes are missing or damaged.
    #[expect(clippy::disallowed_methods, reason = "entry point: StoredProgram.unpack")]
    pub fn unpack(&self) -> Option<Bytes> {
        let (size, bytes) = (self.size, &self.bytes);
        if bytes.len() == size {
            return Some(bytes.clone());
        }
        if size > MOST_BYTES || size / MOST_OF_ONE > bytes.len() {
            return None;
        }
        let snapshot = lz4_flex::block::decompress(bytes, size);
        snapshot.ok().filter(|snapshot| snapshot.len() == size).map(Bytes::from)
    }

    /// Like [`unpack`](Self::unpack). A large snapshot is decompressed on a thread of its own.
    pub(super) async fn unpacked(self) -> Option<Bytes> {
        apart(self.size, move || self.unpack()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_unpacked_as_they_were() {
        let mixed: Vec<u8> = (0..9000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for snapshot in [vec![], b"short".to_vec(), vec![b'x'; 4 << 10], vec![b'x'; 100 << 10], mixed] {
            let snapshot = Bytes::from(snapshot);
            let program = StoredProgram::pack(&snapshot);
            assert_eq!(program.unpack(), Some(snapshot.clone()));
            assert_eq!(program.bytes.len() < 1000, snapshot.len() < 4000 || snapshot.len() > 90_000);
        }
    }

    #[test]
    fn nothing_is_unpacked_that_is_too_large() {
        for size in [usize::MAX, 4 << 30, 65 << 20, 5000, 0] {
            let program = StoredProgram { size, bytes: Bytes::from_static(b"ten bytes!") };
            assert_eq!(program.unpack(), None, "{size}");
        }
    }
}
