//! Values as bytes, and back: the value graph of snapshots and of sessions that are kept (waiting.md 2.3).
//!
//! A graph is a table of nodes. A node is the content of one allocation, and refers to nodes before it only: so there are no
//! cycles, one pass reads it, and neither direction recurses. Parts shared by several values are one node, also the keys of
//! maps, the captured values of a `letfn` group and a `for` cursor; nodes of trees that versions of one collection share are
//! not kept shared. A value is written as a [`GraphRef`]: a number of the table, or the value itself where that is shorter.
//!
//! ```text
//! encoder:  Encoder::new → value, captures, info, error (each gives its GraphRef) → finish → EncodedGraph { table, programs, watches }
//! decoder:  modules from the programs' texts → decode(&mut WireReader, …) → Graph → value, slot, captures, info, error
//! ```
//!
//! Code is never in it. A closure is written as the index of its program in a list beside the table, and the reader has
//! compiled that program's text again ([`write_code`] verifies that the code is the same). A builtin is written as its name, a
//! regular expression as its text.
//!
//! Bytes are untrusted: each length is checked against the remaining bytes, each number against its table, each kind against
//! its place, keys against their order, parts of combinators against the expectations of their calls.
//!
//! Both directions charge the account that is installed: a step for each node and each [`BYTES_A_STEP`] bytes, and their
//! memory. So they yield like any other work, and the caller limits them ([`Allowance`](crate::meter::Allowance)).

mod children;
mod code;
mod constants;
mod decoder;
mod encoder;
mod graph_ref;
mod nodes;
#[cfg(test)]
mod tests;
mod wire;

pub use code::write_code;
pub(crate) use decoder::decode_marked;
pub use decoder::{Graph, Origins, decode};
pub use encoder::{EncodedGraph, Encoder};
pub use graph_ref::GraphRef;
pub(crate) use nodes::NODE_KINDS;
pub use wire::{WireReader, WireWriter};

use crate::error::Error;

/// Bytes whose writing or reading costs a step.
pub const BYTES_A_STEP: u64 = 64;

/// How large a graph may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most nodes.
    pub nodes: u32,
    /// Most bytes of the table.
    pub bytes: usize,
}

impl Default for Bounds {
    /// One million nodes and 16 MiB (waiting.md 2.6).
    fn default() -> Bounds {
        Bounds { nodes: 1_000_000, bytes: 16 << 20 }
    }
}

/// Why values could not be written.
#[derive(Clone, Debug)]
pub enum EncodeError {
    /// They exceed [`Bounds`]; the text names the part.
    TooLarge(&'static str),
    /// The account had no steps, memory or time left.
    Refused(Error),
}

impl From<Error> for EncodeError {
    fn from(error: Error) -> EncodeError {
        EncodeError::Refused(error)
    }
}

/// Why bytes could not be read.
#[derive(Clone, Debug)]
pub enum DecodeError {
    /// They are not an encoder's output; the word names the faulty part.
    Invalid(&'static str),
    /// The account had no steps, memory or time left.
    Refused(Error),
}

impl From<Error> for DecodeError {
    fn from(error: Error) -> DecodeError {
        DecodeError::Refused(error)
    }
}
