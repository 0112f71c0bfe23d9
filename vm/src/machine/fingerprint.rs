//! Distinguishes one build's snapshots from another's.

use super::{Arities, Library};
use crate::code::LANGUAGE_VERSION;
use crate::graph::NODE_KINDS;

/// The instructions as they are declared.
const INSTRUCTIONS: &str = include_str!("../code/op.rs");

/// Sixty-four bits that differ between builds which would interpret the same bytes differently: they cover the version of the
/// language ([`LANGUAGE_VERSION`]), the version of the format, names and operands of instructions, names and arities of
/// builtins, kinds of nodes, and the caller's additions (waiting.md 2.5). No secret and no proof: the writer is trusted, or the
/// bytes are sealed.
pub fn fingerprint(library: &Library, format: u16, more: &[&str]) -> [u8; 8] {
    of_language(LANGUAGE_VERSION, library, format, more)
}

fn of_language(language: u16, library: &Library, format: u16, more: &[&str]) -> [u8; 8] {
    let mut hash = Fnv::new();
    hash.add(&language.to_le_bytes());
    hash.add(&format.to_le_bytes());
    for line in INSTRUCTIONS.lines().map(str::trim) {
        // Comments explain, and change nothing.
        if !line.is_empty() && !line.starts_with("//") {
            hash.add(line.as_bytes());
        }
    }
    for builtin in library.all() {
        hash.add(builtin.name.as_bytes());
        match builtin.arities {
            Arities::OneOf(counts) => hash.add(counts),
            Arities::AtLeast(count) => hash.add(&[u8::MAX, count]),
        }
    }
    for (kind, content) in NODE_KINDS {
        hash.add(kind.as_bytes());
        hash.add(content.as_bytes());
    }
    more.iter().for_each(|text| hash.add(text.as_bytes()));
    hash.0.to_le_bytes()
}

/// FNV-1a of 64 bits.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    /// Adds bytes, and their end.
    fn add(&mut self, bytes: &[u8]) {
        let length = (bytes.len() as u64).to_le_bytes();
        for byte in length.iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::library;

    #[test]
    fn a_fingerprint_is_the_same_until_something_is_told_differently() {
        let own = fingerprint(library(), 1, &["frame: fields"]);
        assert_eq!(own, fingerprint(library(), 1, &["frame: fields"]));
        assert_ne!(own, fingerprint(library(), 2, &["frame: fields"]));
        assert_ne!(own, fingerprint(library(), 1, &["frame: field", "s"]));
        assert!(INSTRUCTIONS.contains("AddLocals {"), "the instructions are declared there");
    }

    #[test]
    fn another_language_version_has_another_fingerprint() {
        let own = fingerprint(library(), 1, &[]);
        assert_eq!(own, of_language(LANGUAGE_VERSION, library(), 1, &[]));
        assert_ne!(own, of_language(LANGUAGE_VERSION - 1, library(), 1, &[]));
    }
}
