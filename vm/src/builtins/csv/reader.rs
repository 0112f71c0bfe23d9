//! Text to cells.
//!
//! A cell that begins with a quote extends to the closing one, over ends of lines, and two quotes in it stand for one. Text
//! that violates RFC 4180 is read all the same: a quote inside other text is text, text after a closing quote belongs to the
//! cell, and an unclosed quote extends to the end of the text. Lines end with LF, CR LF or CR. Empty lines are skipped.

use crate::builtins::support::copied;
use crate::error::Result;
use crate::meter;
use crate::value::{Str, Value};

/// Bytes of a cell besides its text, for reservations.
const CELL: usize = 64;

/// A text that is read from the front, row by row.
pub(super) struct CsvReader<'t> {
    rest: &'t str,
    separator: char,
}

/// The delimiter after a cell.
#[derive(PartialEq)]
enum CellEnd {
    Separator,
    Line,
}

impl<'t> CsvReader<'t> {
    /// A reader of a text; the mark of the byte order is no part of it.
    pub(super) fn new(text: &'t str, separator: char) -> CsvReader<'t> {
        CsvReader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), separator }
    }

    /// Puts the cells of the next row into `cells`; `false` at the end of the text. Charges a step for each cell, and one for
    /// each 16 bytes.
    pub(super) fn row(&mut self, cells: &mut Vec<Value>) -> Result<bool> {
        cells.clear();
        while let Some(first) = self.rest.chars().next() {
            if first != '\n' && first != '\r' {
                break;
            }
            meter::charge_steps(1)?;
            self.rest = &self.rest[1..];
        }
        if self.rest.is_empty() {
            return Ok(false);
        }
        loop {
            let before = self.rest.len();
            let (cell, end) = self.cell()?;
            meter::charge_steps(1 + (before - self.rest.len()) as u64 / 16)?;
            cells.push(cell);
            if end == CellEnd::Line {
                return Ok(true);
            }
        }
    }

    fn cell(&mut self) -> Result<(Value, CellEnd)> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let text = self.plain();
            meter::reserve(text.len() + CELL)?;
            return Ok((copied(text), self.end()));
        };
        let close = quoted.find('"').unwrap_or(quoted.len());
        let inside = &quoted[..close];
        self.rest = quoted.get(close + 1..).unwrap_or("");
        if self.at_end_of_cell() {
            meter::reserve(inside.len() + CELL)?;
            return Ok((copied(inside), self.end()));
        }
        // There is more: quotes that stand for quotes, or text behind the closing one.
        let mut text = String::new();
        let mut piece = inside;
        loop {
            meter::reserve(2 * (text.len() + piece.len()) + CELL)?;
            text.push_str(piece);
            let Some(quoted) = self.rest.strip_prefix('"') else { break };
            text.push('"');
            meter::charge_steps(1 + piece.len() as u64 / 16)?;
            let close = quoted.find('"').unwrap_or(quoted.len());
            piece = &quoted[..close];
            self.rest = quoted.get(close + 1..).unwrap_or("");
        }
        let behind = self.plain();
        meter::reserve(text.len() + behind.len() + CELL)?;
        text.push_str(behind);
        Ok((Value::Str(Str::from_string(text)), self.end()))
    }

    fn is_end(&self, c: char) -> bool {
        c == self.separator || c == '\n' || c == '\r'
    }

    fn at_end_of_cell(&self) -> bool {
        self.rest.chars().next().is_none_or(|c| self.is_end(c))
    }

    /// The text up to the end of the cell.
    fn plain(&mut self) -> &'t str {
        let mut end = 0;
        for piece in meter::text_pieces(self.rest) {
            if let Some(at) = piece.find(|c| self.is_end(c)) {
                end += at;
                break;
            }
            end += piece.len();
        }
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    /// Steps over the end of a cell.
    fn end(&mut self) -> CellEnd {
        if let Some(rest) = self.rest.strip_prefix(self.separator) {
            self.rest = rest;
            return CellEnd::Separator;
        }
        let rest = self.rest.strip_prefix('\r').unwrap_or(self.rest);
        self.rest = rest.strip_prefix('\n').unwrap_or(rest);
        CellEnd::Line
    }
}
