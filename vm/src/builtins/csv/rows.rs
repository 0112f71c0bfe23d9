//! Cells to rows.

use super::options::{Header, Options};
use super::reader::CsvReader;
use crate::builtins::support::Builder;
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::meter;
use crate::print;
use crate::value::{Map, Value, Vector, drop_many};
use ahash::AHashMap;

/// The key of the cells of a row that has more of them than there are columns.
pub(in super::super) const MORE: &str = "_more";
/// Values that are freed in the time that one column takes to find its place.
const UNITS_OF_A_COLUMN: usize = 8;

/// `(csv/parse-string s)`, `(csv/parse-string s options)`
pub(super) fn parse(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rows("csv/parse-string", args, Header::Own)
}

/// `(csv/read-csv s)`, `(csv/read-csv s options)`
pub(super) fn read(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    rows("csv/read-csv", args, Header::Without)
}

pub(super) fn rows(name: &str, args: &[Value], header: Header) -> Result<Value> {
    let options = Options::of(name, &args[1..], header)?;
    let text = match &args[0] {
        Value::Str(text) => text.as_str(),
        Value::Nil => return Ok(Value::Nil),
        other => return Err(Error::argument(name, 1, "string", other)),
    };
    let mut reader = CsvReader::new(text, options.separator);
    let mut cells = Vec::new();
    let columns = match options.header {
        Header::Without => None,
        Header::Names(names) => Some(Columns::new(names)?),
        Header::Own if reader.row(&mut cells)? => Some(Columns::new(titles(&cells))?),
        Header::Own => return Ok(Value::Vector(Vector::new())),
    };
    let mut rows = Builder::new();
    while reader.row(&mut cells)? {
        meter::uncharged(cells.len());
        rows.push(match &columns {
            None => Value::vector(std::mem::take(&mut cells)),
            Some(columns) => Value::Map(columns.row(&mut cells)?),
        })?;
        meter::check_memory()?;
    }
    drop_many(&mut cells);
    Ok(rows.take())
}

/// The names of the first line, without spaces around them. One that is empty says which column it is.
fn titles(cells: &[Value]) -> Vec<Value> {
    let title = |(index, cell): (usize, &Value)| {
        meter::uncharged(1);
        match cell {
            Value::Str(text) if !text.as_str().trim().is_empty() => Value::str(text.as_str().trim()),
            _ => Value::str(format!("column_{}", index + 1)),
        }
    };
    cells.iter().enumerate().map(title).collect()
}

/// The columns of rows that are maps.
struct Columns {
    /// Any row: its keys are shared by all.
    model: Map,
    /// Which cell belongs to each key, in the order of the keys.
    cells: Vec<usize>,
}

impl Columns {
    /// Of these names. A repeated name gets a number appended.
    fn new(names: Vec<Value>) -> Result<Columns> {
        meter::charge_steps(names.len() as u64)?;
        // How often a name has been there.
        let mut counts: AHashMap<String, u32> = AHashMap::new();
        let mut model = Map::new();
        for (index, mut key) in names.into_iter().enumerate() {
            meter::uncharged(UNITS_OF_A_COLUMN);
            if model.get(&key).is_some() {
                let title = match &key {
                    Value::Keyword(keyword) => keyword.name().to_owned(),
                    other => print::plain(other)?,
                };
                let count = counts.entry(title.clone()).or_insert(1);
                let is_keyword = matches!(key, Value::Keyword(_));
                loop {
                    meter::charge_steps(1)?;
                    *count += 1;
                    let numbered = format!("{title}_{count}");
                    key = if is_keyword { Value::keyword(numbered) } else { Value::str(numbered) };
                    if model.get(&key).is_none() {
                        break;
                    }
                }
            }
            model.insert(key, Value::Int(index as i64));
            meter::check_memory()?;
        }
        let cells = model.iter().filter_map(|(_, index)| match index {
            Value::Int(index) => usize::try_from(*index).ok(),
            _ => None,
        });
        let cells = cells.collect();
        if let Some(shape) = model.shape() {
            shape.mark_reply();
        }
        Ok(Columns { model, cells })
    }

    /// The row of these cells. One that ends early has `nil` in the columns that it lacks.
    fn row(&self, cells: &mut Vec<Value>) -> Result<Map> {
        meter::charge_steps(self.cells.len() as u64)?;
        let more = cells.split_off(self.cells.len().min(cells.len()));
        let value = |&index: &usize| {
            meter::uncharged(1);
            cells.get_mut(index).map(std::mem::take).unwrap_or_default()
        };
        let values = Vector::from_vec(self.cells.iter().map(value).collect());
        let mut row = self.model.with_values(values);
        if !more.is_empty() {
            row.insert(Value::str(MORE), Value::vector(more));
        }
        Ok(row)
    }
}
