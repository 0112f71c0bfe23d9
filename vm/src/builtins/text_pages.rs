//! Pages that come as text: CSV with the cursor in a column of its last row, JSON lines whose last one holds the cursor.

use super::csv;
use crate::error::Result;
use crate::json::parse_lines;
use crate::value::{Map, Value, Vector};

/// The key of the items.
const ITEMS: &str = "items";
/// Parts of the name of a column that holds the cursor.
const CURSORS: [&str; 4] = ["cursor", "next_page", "nextpage", "next_token"];

/// The page of a text as a map of its items and the values beside them; `None` if it is no table.
pub(super) fn page_of(page: &Value) -> Result<Option<Value>> {
    let Value::Str(text) = page else { return Ok(None) };
    let text = text.as_str();
    if text.trim_start().starts_with('{') {
        // What is no JSON lines is no page.
        let Ok(Value::Vector(lines)) = parse_lines(text) else { return Ok(None) };
        let are_maps = !lines.is_empty() && lines.iter().all(|line| matches!(line, Value::Map(_)));
        return Ok(are_maps.then(|| of_lines(&lines)));
    }
    // Prose with commas is no table.
    if text.lines().next().is_none_or(|line| line.contains(", ")) {
        return Ok(None);
    }
    let Value::Vector(rows) = csv::rows_of(page.clone())? else { return Ok(None) };
    Ok(of_rows(&rows))
}

/// The last line is the envelope of the others, if it shares no key with the first.
fn of_lines(lines: &Vector) -> Value {
    let (first, last) = (lines.first(), lines.last());
    let mut page = Map::new();
    let mut items = lines.clone();
    if let (Some(Value::Map(first)), Some(Value::Map(last))) = (&first, &last)
        && (lines.len() == 1 && is_envelope(last)
            || lines.len() > 1 && last.iter().all(|(key, _)| first.get(key).is_none()))
    {
        page = last.clone();
        items = lines.iter().take(lines.len() - 1).collect();
    }
    page.insert(Value::str(ITEMS), Value::Vector(items));
    Value::Map(page)
}

/// Whether a line holds the cursor and nothing else.
fn is_envelope(line: &Map) -> bool {
    line.len() == 1 && line.iter().all(|(key, _)| matches!(key, Value::Str(name) if is_cursor(name.as_str()) || name.as_str().starts_with("next")))
}

fn is_cursor(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    CURSORS.iter().any(|part| name.contains(part))
}

/// A table of several columns.
fn of_rows(rows: &Vector) -> Option<Value> {
    let Some(Value::Map(last)) = rows.last() else { return None };
    let is_title = |key: &Value| matches!(key, Value::Str(name) if name.as_str() != csv::MORE);
    let is_whole = rows.iter().all(|row| matches!(row, Value::Map(row) if row.len() == last.len() && row.iter().all(|(_, value)| !matches!(value, Value::Nil))));
    if last.len() < 2 || !is_whole || !last.iter().all(|(key, _)| is_title(key)) {
        return None;
    }
    let mut page = Map::new();
    for (key, value) in last.iter() {
        let is_set =
            !matches!(value, Value::Nil) && !matches!(value, Value::Str(text) if text.as_str().is_empty());
        if is_set && matches!(key, Value::Str(name) if is_cursor(name.as_str())) {
            page.insert(Value::str("next_cursor"), value.clone());
        }
    }
    page.insert(Value::str(ITEMS), Value::Vector(rows.clone()));
    Some(Value::Map(page))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print;

    fn page(text: &str) -> Option<String> {
        page_of(&Value::str(text)).unwrap().map(|page| print::readable(&page).unwrap())
    }

    #[test]
    fn tables_and_lines_are_pages() {
        assert_eq!(
            page("ID,Name,Cursor\nC1,general,\nC2,sales,abc\n").unwrap(),
            r#"{"items" [{"Cursor" "" "ID" "C1" "Name" "general"} {"Cursor" "abc" "ID" "C2" "Name" "sales"}] "next_cursor" "abc"}"#
        );
        assert_eq!(page("id,n\n1,2\n").unwrap(), r#"{"items" [{"id" "1" "n" "2"}]}"#);
        assert_eq!(
            page("{\"at\": 1}\n{\"at\": 2}\n{\"next_url\": \"/x?offset=2\"}\n").unwrap(),
            r#"{"items" [{"at" 1} {"at" 2}] "next_url" "/x?offset=2"}"#
        );
        assert_eq!(page("{\"at\": 1}\n{\"at\": 2}\n").unwrap(), r#"{"items" [{"at" 1} {"at" 2}]}"#);
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "plain",
            "one\ntwo",
            "Yes, it works.\nNo, it fails.",
            "{no json}",
            "a,b\n1\n",
            "a,b\n1,2,3\n",
        ] {
            assert_eq!(page(text), None, "{text}");
        }
    }
}
