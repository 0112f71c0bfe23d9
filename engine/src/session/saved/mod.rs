//! A session as bytes, for stores that outlive its process (state.md 4.1).
//!
//! ```text
//! format version, whether packed [, raw size] | payload, LZ4 above 4 KiB
//! payload: fingerprint of the build | about, whose matter it is | programs: text, digest of code | graph | bindings, results,
//!          turn, journal, summaries, sizes
//! ```
//!
//! The host's data besides values (owner, title, prints, calls) is opaque here (`about`), and can be read without the values
//! ([`about`]). Values are a graph (`ptc_vm::graph`): functions name the texts of their programs, which the reader compiles
//! again.
//!
//! A session of another build is read if the format is known and its programs compile to the same code; data alone is always
//! readable.

mod packing;
mod reading;
#[cfg(test)]
mod tests;
mod writing;

pub use packing::about;
pub use reading::{Compile, Restored, Trouble, read_session};
pub use writing::write_session;
pub(crate) use writing::{Draft, Values, drafted};

/// Version of the format.
const FORMAT: u16 = 1;
/// Larger payloads are packed.
const PACKED_ABOVE: usize = 4 << 10;
/// Largest payload.
const MOST_BYTES: usize = 64 << 20;
/// Most nodes of its values.
const MOST_NODES: u32 = 4_000_000;

/// How large the values of a session may be as a graph. The limits of sessions are smaller, and tighter.
const BOUNDS: ptc_vm::graph::Bounds = ptc_vm::graph::Bounds { nodes: MOST_NODES, bytes: MOST_BYTES };

/// Bytes of the digest of a program's code.
const DIGEST: usize = 16;

/// The first bytes of the SHA-256 of a program's code. Kept with the program.
///
/// # Errors
/// The account is at its limits.
pub(crate) fn digest(program: &ptc_vm::Program) -> Result<[u8; DIGEST], ptc_vm::graph::EncodeError> {
    if let Some(known) = program.code_digest.get() {
        return Ok(*known);
    }
    let mut context = ring::digest::Context::new(&ring::digest::SHA256);
    ptc_vm::graph::write_code(program, &mut |bytes| context.update(bytes))?;
    let mut digest = [0; DIGEST];
    digest.copy_from_slice(&context.finish().as_ref()[..DIGEST]);
    Ok(*program.code_digest.get_or_init(|| digest))
}

/// The fingerprint of this build, for the parts of a session that depend on it.
fn fingerprint() -> [u8; 8] {
    use std::sync::LazyLock;
    static OWN: LazyLock<[u8; 8]> =
        LazyLock::new(|| ptc_vm::machine::fingerprint(ptc_vm::builtins::library(), FORMAT, &["session"]));
    *OWN
}
