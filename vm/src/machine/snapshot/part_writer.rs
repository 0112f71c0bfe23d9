//! The writer for the parts of a machine.

use super::SnapshotError;
use crate::code::{DefInfo, Program};
use crate::error::Error;
use crate::graph::{Bounds, EncodedGraph, Encoder, GraphRef, WireWriter};
use crate::value::Value;
use std::rc::Rc;

/// Writes the parts of a machine: values into one graph, everything else in its place.
pub struct PartWriter<'b> {
    bounds: &'b Bounds,
    graph: Encoder,
    out: WireWriter,
    /// The kind of frame that is being written.
    frame: &'static str,
}

impl<'b> PartWriter<'b> {
    pub(super) fn new(bounds: &'b Bounds) -> PartWriter<'b> {
        PartWriter {
            bounds,
            graph: Encoder::new(*bounds).keeping_watches().telling_constants(),
            out: WireWriter::new(),
            frame: "",
        }
    }

    /// Says which kind of frame comes next.
    pub(super) fn begin_frame(&mut self, kind: &'static str) {
        self.frame = kind;
    }

    /// The answer of a frame that is in the middle of work which it cannot write.
    pub(crate) fn unwritable(&self) -> SnapshotError {
        SnapshotError::Frame(self.frame)
    }

    /// One byte.
    pub(crate) fn byte(&mut self, byte: u8) -> Result<(), SnapshotError> {
        self.out.byte(byte);
        Ok(())
    }

    /// A number.
    pub(crate) fn uint(&mut self, n: u64) -> Result<(), SnapshotError> {
        self.out.unsigned(n);
        Ok(())
    }

    /// A number with sign.
    pub(crate) fn int(&mut self, n: i64) -> Result<(), SnapshotError> {
        self.out.signed(n);
        Ok(())
    }

    /// A text.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), SnapshotError> {
        if text.len() > self.bounds.bytes.saturating_sub(self.bytes()) {
            return Err(SnapshotError::TooLarge("bytes"));
        }
        self.out.text(text);
        Ok(())
    }

    /// A value.
    pub(crate) fn value(&mut self, value: &Value) -> Result<(), SnapshotError> {
        let place = self.graph.value(value)?;
        self.out.place(place);
        Ok(())
    }

    /// An error.
    pub(crate) fn error(&mut self, error: &Error) -> Result<(), SnapshotError> {
        let place = self.graph.error(error)?;
        self.out.place(place);
        Ok(())
    }

    /// Writes a value into the graph only.
    pub(super) fn place_of(&mut self, value: &Value) -> Result<GraphRef, SnapshotError> {
        Ok(self.graph.value(value)?)
    }

    /// Writes the documentation of a definition into the graph only.
    pub(super) fn place_of_info(&mut self, info: &Rc<DefInfo>) -> Result<GraphRef, SnapshotError> {
        Ok(self.graph.info(info)?)
    }

    /// Makes `program` one of those whose text is written.
    pub(super) fn program(&mut self, program: &Rc<Program>) -> Result<(), SnapshotError> {
        self.graph.program_with_constants(program)?;
        Ok(())
    }

    /// The programs so far, by their numbers.
    pub(super) fn programs(&self) -> &[Rc<Program>] {
        self.graph.programs()
    }

    /// How many nodes the graph has so far.
    pub(super) fn nodes(&self) -> u32 {
        self.graph.nodes()
    }

    /// Bytes written so far.
    pub(super) fn bytes(&self) -> usize {
        self.out.len() + self.graph.table_bytes()
    }

    /// The bytes written besides values since the last time.
    pub(super) fn take_out(&mut self) -> WireWriter {
        std::mem::take(&mut self.out)
    }

    /// The graph.
    pub(super) fn finish(self) -> EncodedGraph {
        self.graph.finish()
    }
}
