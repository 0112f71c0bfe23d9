//! A machine that waits as bytes, and back (waiting.md 2).
//!
//! [`Machine::snapshot`](super::Machine::snapshot) writes a machine in quiescence: each fiber waits for a call that the host
//! has taken, or for its branches. [`Machine::restore`](super::Machine::restore) makes the same machine of the bytes, on any
//! thread of any process of the same build, and its program resumes without a difference: with the same value, prints and
//! steps.
//!
//! ```text
//! head       magic, version, fingerprint
//! sources    texts of programs, each with a digest of its code
//! names      of the namespace, by slot
//! watches    of failed results
//! graph      all values, those first that were granted and not made (graph)
//! machine    surroundings, counters, fibers with their stacks and frames
//! host       what the host adds, unread
//! ```
//!
//! Values are written by the value graph, frames by their kinds ([`Portable`]), and everything is
//! read as if an enemy had written it. Code is never in it: texts are compiled again, and heights of stacks are those that the
//! code itself says ([`heights`](crate::code::Arity::heights)).

mod errors;
mod fibers;
mod part_reader;
mod part_writer;
mod portable;
mod read;
mod records;
mod requests;
mod write;

pub use errors::{RestoreError, SnapshotError};
pub use part_reader::PartReader;
pub use part_writer::PartWriter;
pub use portable::Portable;
pub(crate) use portable::{described, portable};
pub use read::{RestoreSetup, RestoredMachine, text_of_snapshot};
pub use write::{Snapshot, SnapshotSetup};

use super::{Library, fingerprint};
use std::sync::OnceLock;

/// The first bytes of a snapshot.
const MAGIC: &[u8; 4] = b"PTCS";
/// Version of the format.
const VERSION: u16 = 2;
/// Most programs whose texts a snapshot holds.
const MOST_PROGRAMS: usize = 1024;
/// Steps that writing and that reading may take, which are none of the program's: several times those of the largest graph.
const WORK: u64 = 8_000_000;

/// Sixteen bytes of the SHA-256 of a program's compiled code, as [`write_code`](crate::graph::write_code) writes it.
pub type CodeDigest = [u8; 16];

/// The fingerprint of this build.
fn build(library: &Library) -> [u8; 8] {
    static BUILD: OnceLock<[u8; 8]> = OnceLock::new();
    // There is one library; another one would have other frames, and is told apart by its names.
    *BUILD.get_or_init(|| {
        let mut frames = String::new();
        for row in library.parts.frames {
            frames.push_str(row.name);
            frames.push('=');
            (row.layout)(&mut frames);
            frames.push('\n');
        }
        fingerprint(library, VERSION, &[env!("CARGO_PKG_VERSION"), &frames])
    })
}

#[cfg(test)]
pub(crate) mod testing {
    //! Writing and reading one part by itself.

    use super::*;
    use crate::builtins::library;
    use crate::graph::{Bounds, WireReader, WireWriter, decode};
    use crate::machine::{Namespace, Restoring};

    /// Writes `whole` and reads it back.
    ///
    /// # Errors
    /// It violates an invariant.
    pub(crate) fn round_trip<T: Portable>(whole: &T) -> Result<T, RestoreError> {
        let bounds = Bounds::default();
        let mut to = PartWriter::new(&bounds);
        whole.write(&mut to).expect("it can be written");
        let part = to.take_out().into_bytes();
        let mut table = WireWriter::new();
        to.finish().write(&mut table);
        let table = table.into_bytes();
        let origins = Restoring::new([], &mut Namespace::new(library()));
        let graph = decode(&mut WireReader::new(&table), bounds, &origins).expect("it was written");
        let mut from = PartReader::new(WireReader::new(&part), &graph);
        from.begin("part");
        let read = T::read(&mut from)?;
        from.finish()?;
        Ok(read)
    }
}
