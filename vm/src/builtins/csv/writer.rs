//! Rows to text.

use super::options::{Header, Options};
use crate::builtins::support::{TextBuilder, cursor};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Map, Shape, Value, Vector};
use std::rc::Rc;

const NAME: &str = "csv/generate-string";

/// `(csv/generate-string rows)`, `(csv/generate-string rows options)`
pub(super) fn generate(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let options = Options::of(NAME, &args[1..], Header::Own)?;
    let mut rows = match &args[0] {
        Value::Map(_) | Value::Str(_) => None,
        other => cursor(ctx, other)?,
    }
    .ok_or_else(|| Error::argument(NAME, 1, "vector of maps or vectors", &args[0]))?;
    let mut keys = ColumnKeys::default();
    let mut all = Vec::new();
    while let Some(row) = rows.advance() {
        meter::charge_steps(1)?;
        meter::reserve(2 * size_of::<Value>())?;
        keys.note(all.len(), &row)?;
        all.push(row);
    }
    let mut out = CsvWriter { separator: options.separator, text: TextBuilder::new() };
    let columns = match (options.header, keys.of_maps) {
        (Header::Names(names), _) => {
            out.row(names.iter())?;
            Some(names)
        }
        (Header::Own, Some(true)) => {
            let names: Vec<Value> = keys.known.iter().map(|(key, _)| key.clone()).collect();
            out.row(names.iter())?;
            Some(names)
        }
        (Header::Without, Some(true)) => Some(keys.known.iter().map(|(key, _)| key.clone()).collect()),
        (_, _) => None,
    };
    for row in &all {
        match (row, &columns) {
            (Value::Map(map), Some(columns)) => {
                out.row(columns.iter().map(|key| map.get_flexible(key).unwrap_or(&Value::Nil)))?;
            }
            (Value::Vector(cells) | Value::List(cells), _) => out.values(cells)?,
            _ => {}
        }
        meter::check_memory()?;
    }
    Ok(out.text.take())
}

/// The keys of all rows, and whether these are maps.
#[derive(Default)]
struct ColumnKeys {
    known: Map,
    /// The keys of the row before, which mostly are those of the next one.
    before: Option<Rc<Shape>>,
    of_maps: Option<bool>,
}

impl ColumnKeys {
    fn note(&mut self, index: usize, row: &Value) -> Result<()> {
        let is_map = match row {
            Value::Map(_) => true,
            Value::Vector(_) | Value::List(_) | Value::Queue(_) => false,
            other => {
                let text = format!(
                    "{NAME}: row {} must be a map or a vector, got {}",
                    index + 1,
                    other.kind_label()
                );
                return Err(Error::type_error(text));
            }
        };
        if *self.of_maps.get_or_insert(is_map) != is_map {
            let (kind, other) = if is_map { ("map", "vectors") } else { ("vector", "maps") };
            let text = format!("{NAME}: row {} is a {kind}, the rows before it are {other}", index + 1);
            return Err(Error::type_error(text));
        }
        let Value::Map(map) = row else { return Ok(()) };
        if let (Some(shape), Some(before)) = (map.shape(), &self.before)
            && Rc::ptr_eq(shape, before)
        {
            return Ok(());
        }
        self.before = map.shape().cloned();
        meter::charge_steps(map.len() as u64)?;
        for (key, _) in map.iter() {
            if self.known.get(key).is_none() {
                meter::reserve(4 * size_of::<Value>())?;
                self.known.insert(key.clone(), Value::Nil);
            }
        }
        Ok(())
    }
}

/// A text that grows row by row.
struct CsvWriter {
    separator: char,
    text: TextBuilder,
}

impl CsvWriter {
    fn values(&mut self, cells: &Vector) -> Result<()> {
        let cells: Vec<Value> = cells.to_vec();
        self.row(cells.iter())
    }

    fn row<'v>(&mut self, cells: impl ExactSizeIterator<Item = &'v Value>) -> Result<()> {
        let alone = cells.len() == 1;
        let mut separator = [0; 4];
        let separator = &*self.separator.encode_utf8(&mut separator);
        for (index, cell) in cells.enumerate() {
            meter::charge_steps(1)?;
            if index > 0 {
                self.text.push_str(separator)?;
            }
            match cell {
                // A line without anything is no row.
                Value::Nil if alone => self.text.push_str("\"\"")?,
                Value::Nil => {}
                Value::Str(text) => self.cell(text.as_str(), alone)?,
                Value::Keyword(keyword) => self.cell(keyword.name(), alone)?,
                other => self.cell(&print::plain(other)?, alone)?,
            }
        }
        self.text.push_str("\n")
    }

    fn cell(&mut self, text: &str, alone: bool) -> Result<()> {
        let is_special = |c: char| c == self.separator || matches!(c, '"' | '\n' | '\r');
        let quoted =
            meter::text_pieces(text).any(|piece| piece.contains(is_special)) || (alone && text.is_empty());
        if !quoted {
            return self.text.push_str(text);
        }
        self.text.push_str("\"")?;
        for (index, piece) in text.split('"').enumerate() {
            if index > 0 {
                self.text.push_str("\"\"")?;
            }
            self.text.push_str(piece)?;
        }
        self.text.push_str("\"")
    }
}
