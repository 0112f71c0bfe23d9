//! The reader for the parts of a machine.

use super::RestoreError;
use crate::error::Error;
use crate::graph::{Graph, WireReader};
use crate::meter::MemoryCharge;
use crate::value::Value;

/// Reads the parts of a machine, with the values of its graph.
pub struct PartReader<'a> {
    reader: WireReader<'a>,
    graph: &'a Graph,
    /// The part that is being read, for reports of damage.
    part: &'static str,
    /// Memory of the parts read, as long as reading lasts.
    held: MemoryCharge,
}

impl<'a> PartReader<'a> {
    pub(super) fn new(reader: WireReader<'a>, graph: &'a Graph) -> PartReader<'a> {
        PartReader { reader, graph, part: "", held: MemoryCharge::default() }
    }

    /// Says which part comes next.
    pub(super) fn begin(&mut self, part: &'static str) {
        self.part = part;
    }

    /// Says which kind of frame comes next.
    pub(super) fn begin_frame(&mut self, kind: &'static str) {
        self.part = kind;
    }

    /// The damage of this part.
    pub(crate) fn damage(&self) -> RestoreError {
        RestoreError::Invalid(self.part)
    }

    /// Refuses this part unless `sound`.
    pub(crate) fn check(&self, sound: bool) -> Result<(), RestoreError> {
        if sound { Ok(()) } else { Err(self.damage()) }
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> Result<u8, RestoreError> {
        Ok(self.reader.byte()?)
    }

    /// A number.
    pub(crate) fn uint(&mut self) -> Result<u64, RestoreError> {
        Ok(self.reader.unsigned()?)
    }

    /// A number with sign.
    pub(crate) fn int(&mut self) -> Result<i64, RestoreError> {
        Ok(self.reader.signed()?)
    }

    /// How many things come next, each of at least one byte.
    pub(crate) fn count(&mut self) -> Result<usize, RestoreError> {
        Ok(self.reader.count()?)
    }

    /// Charges the room of `count` things for as long as reading lasts: who makes them charges less than they take, or nothing.
    pub(crate) fn hold<T>(&mut self, count: usize) -> Result<(), RestoreError> {
        let bytes = self.held.bytes().saturating_add(count.saturating_mul(size_of::<T>()));
        Ok(self.held.resize(bytes)?)
    }

    /// A text.
    pub(crate) fn text(&mut self) -> Result<&'a str, RestoreError> {
        Ok(self.reader.text()?)
    }

    /// A value that programs can see.
    pub(crate) fn value(&mut self) -> Result<Value, RestoreError> {
        let place = self.reader.place()?;
        Ok(self.graph.value(place)?)
    }

    /// A value on a stack, or the state of a `for` level.
    pub(super) fn slot(&mut self) -> Result<Value, RestoreError> {
        let place = self.reader.place()?;
        Ok(self.graph.slot(place)?)
    }

    /// An error.
    pub(crate) fn error(&mut self) -> Result<Error, RestoreError> {
        let place = self.reader.place()?;
        Ok(self.graph.error(place)?)
    }

    /// Nothing may be left.
    pub(super) fn finish(self) -> Result<(), RestoreError> {
        Ok(self.reader.finish("end")?)
    }
}
