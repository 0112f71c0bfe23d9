//! The shape of an answer, derived from its beginning: the shape of a value, or for a text its kind and the names of its
//! columns, `CSV of "id" "title"`. Keys, columns and types, never values.

use std::collections::BTreeSet;

use crate::seen_shape::{are_names, seen_value};
use ptc_base::text::{cut, one_line, string_literal};

/// Most columns that are shown.
const MAX_COLUMNS: usize = 16;
/// Longest name of a column, in characters.
const LONGEST_COLUMN: usize = 40;
/// Lines that tell whether a text is a table.
const ROWS: usize = 8;

/// The shape of the answer that begins like this; `None` if there is nothing.
pub fn answer_shape(beginning: &[u8]) -> Option<String> {
    let first = *beginning.iter().find(|byte| !byte.is_ascii_whitespace())?;
    if first == b'"'
        && let Some(text) = inner_text(beginning)
    {
        return Some(if text.is_empty() { "string".to_owned() } else { text_shape(&text) });
    }
    if let Some(seen) = seen_value(beginning) {
        let rest = &beginning[seen.end..];
        let kind = if seen.is_python { "Python literals " } else { "" };
        let is_structure = matches!(first, b'{' | b'[' | b'(');
        if rest.is_empty() {
            return Some(format!("{kind}{}", seen.shape));
        }
        let on_next_line = beginning[..seen.end].trim_ascii_end().len() < seen.end && rest[0] == first;
        if is_structure && on_next_line {
            return Some(format!("JSON lines {}", seen.shape));
        }
    }
    Some(text_shape(&String::from_utf8_lossy(beginning)))
}

/// The shape of a tool that gave answers of these two shapes: the one with more names, if they are of one kind. `None` if they
/// are not, as those of a tool that runs queries or reads pages: no shape predicts the next answer then.
pub fn common_shape<'s>(first: &'s str, next: &'s str) -> Option<&'s str> {
    let (ours, theirs) = (names(first), names(next));
    let shared = ours.intersection(&theirs).count();
    let least = ours.len().min(theirs.len());
    if first != next
        && (kind(first) != kind(next)
            || (least == 0 && !is_empty(first) && !is_empty(next))
            || shared * 2 < least)
    {
        return None;
    }
    Some(if theirs.len() > ours.len() { next } else { first })
}

/// The beginning of a shape, which names its kind: `Python literals [`, `CSV of `, `{`, `int`.
fn kind(shape: &str) -> &str {
    shape.split('"').next().and_then(|before| before.split_inclusive(['{', '[']).next()).unwrap_or_default()
}

/// The names in a shape, quotes included.
fn names(shape: &str) -> BTreeSet<&str> {
    shape.split_inclusive('"').skip(1).step_by(2).collect()
}

/// Whether it is the shape of a list or map without anything in it.
fn is_empty(shape: &str) -> bool {
    matches!(shape, "[]" | "{}")
}

/// The text of a JSON string that may be cut; `None` if something follows it.
#[expect(clippy::disallowed_methods, reason = "entry point: inner_text()")]
fn inner_text(json: &[u8]) -> Option<String> {
    let json = String::from_utf8_lossy(json);
    let json = json.trim();
    serde_json::from_str(json).ok().or_else(|| {
        // The sample may end within an escape.
        (0..12).find_map(|cut| {
            let end = json.len().checked_sub(cut).filter(|end| json.is_char_boundary(*end))?;
            serde_json::from_str(&format!("{}\"", &json[..end])).ok()
        })
    })
}

/// The shape of a text.
fn text_shape(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(64).collect();
    if let Some(columns) = markdown_columns(&lines) {
        return format!("Markdown table of {columns}");
    }
    [',', '\t', ';']
        .into_iter()
        .find_map(|separator| csv_columns(&lines, separator))
        .unwrap_or_else(|| "text".to_owned())
}

/// The columns of the first Markdown table: the line above `|---|---|`. They are headings by the syntax, never data.
fn markdown_columns(lines: &[&str]) -> Option<String> {
    let is_rule = |line: &str| {
        line.contains('-') && line.contains('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
    };
    let rule = lines.iter().position(|line| is_rule(line))?;
    let heading = lines.get(rule.checked_sub(1)?)?.trim_matches('|');
    let columns: Vec<String> = heading.split('|').map(one_line).collect();
    Some(shown(columns.iter().map(String::as_str)))
}

/// `CSV of …`, if the lines have equally many fields. The first row is shown if it can only be a heading: its fields are names,
/// and below one of them stands a number where itself has none.
fn csv_columns(lines: &[&str], separator: char) -> Option<String> {
    let rows: Vec<Vec<String>> = lines.iter().take(ROWS).map(|line| fields(line, separator)).collect();
    let [heading, rows @ ..] = &rows[..] else { return None };
    let [first, ..] = rows else { return None };
    // The last line of a sample may be cut.
    let whole = if lines.len() > ROWS { rows } else { &rows[..rows.len() - 1] };
    let columns = heading.len();
    let is_even =
        whole.iter().all(|row| row.len() == columns) && (!whole.is_empty() || first.len() == columns);
    // `Yes, it works` is prose.
    let is_prose = separator == ',' && heading.iter().skip(1).all(|field| field.starts_with(' '));
    if columns < 2 || !is_even || is_prose {
        return None;
    }
    let has_digit = |text: &String| text.bytes().any(|byte| byte.is_ascii_digit());
    let is_name =
        |name: &String| !name.trim().is_empty() && are_names(name.split_whitespace()) && !has_digit(name);
    let is_heading = heading.iter().all(is_name) && rows.iter().any(|row| row.iter().any(has_digit));
    let kind = if separator == '\t' { "TSV" } else { "CSV" };
    let by = if separator == ';' { " (separated by ;)" } else { "" };
    Some(if is_heading {
        format!("{kind}{by} of {}", shown(heading.iter().map(|name| name.trim())))
    } else {
        format!("{kind}{by} of {columns} columns")
    })
}

/// The fields of a line, quotes looked through.
fn fields(line: &str, separator: char) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c == separator && !quoted => fields.push(String::new()),
            c => fields.last_mut().into_iter().for_each(|field| field.push(c)),
        }
    }
    fields
}

/// `"id" "title"`
fn shown<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let more = names.len() > MAX_COLUMNS;
    let names = names.take(MAX_COLUMNS).map(|name| string_literal(&cut(name.to_owned(), LONGEST_COLUMN)));
    let names: Vec<String> = names.chain(more.then(|| "…".to_owned())).collect();
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> String {
        answer_shape(text.as_bytes()).unwrap()
    }

    #[test]
    fn values_have_shapes_and_texts_say_what_they_are() {
        for (answer, expected) in [
            (r#"{"id": 1}"#, r#"{"id" int}"#),
            ("42", "int"),
            ("[{'id': 1, 'ok': True}]", r#"Python literals [{"id" int, "ok" bool}]"#),
            ("{\"id\": 1}\n{\"id\": 2}\n", r#"JSON lines {"id" int}"#),
            ("| id | Due date |\n|---|:---:|\n| 1 | x |", r#"Markdown table of "id" "Due date""#),
            ("Found 2 rows\n\nid | name\n---|---\n1 | Ada", r#"Markdown table of "id" "name""#),
            ("id,title,amount\n1,x,2.5\n2,\"y, z\",3", r#"CSV of "id" "title" "amount""#),
            ("id\ttitle\n1\tx\n2\ty", r#"TSV of "id" "title""#),
            ("id;title\n1;x\n2;y", r#"CSV (separated by ;) of "id" "title""#),
            ("Order id,Total\n7,2.5\n8,1", r#"CSV of "Order id" "Total""#),
            ("alice,open\nbob,closed\ncarol,open", "CSV of 2 columns"),
            ("T-1,open\nT-2,closed\nT-3,open", "CSV of 2 columns"),
            ("12 issues were found.", "text"),
            ("Hello, world. How are you?\nFine.", "text"),
            (r#""id,n\n1,2\n2,3""#, r#"CSV of "id" "n""#),
            (r#""just a text""#, "text"),
            ("[note] see below", "text"),
            ("Yes, it works.\nNo, it fails.\nWho knows, maybe.", "text"),
        ] {
            assert_eq!(of(answer), expected, "{answer}");
        }
        assert_eq!(answer_shape(b" \n"), None);
        assert_eq!(of(r#""| a | b |\n|---|---|\n| 1 | 2 \u00"#), r#"Markdown table of "a" "b""#);
    }

    #[test]
    fn shapes_of_one_tool_have_their_names_in_common() {
        for (first, next, common) in [
            (r#"{"id" int}"#, r#"{"id" int}"#, Some(r#"{"id" int}"#)),
            (r#"{"rows" []}"#, r#"{"rows" [{"id" int}]}"#, Some(r#"{"rows" [{"id" int}]}"#)),
            (r#"{"rows" [{"id" int}]}"#, r#"{"rows" []}"#, Some(r#"{"rows" [{"id" int}]}"#)),
            ("[]", r#"[{"id" int}]"#, Some(r#"[{"id" int}]"#)),
            ("text", "text", Some("text")),
            (r#"Python literals [{"name" string}]"#, r#"Python literals [{"total" int}]"#, None),
            (r#"Markdown table of "a" "b""#, r#"Markdown table of "c" "d""#, None),
            (r#"Markdown table of "a" "b""#, "text", None),
            ("int", "text", None),
            ("[string]", r#"[{"id" int}]"#, None),
            (r#"{"id" int}"#, r#"[{"id" int}]"#, None),
        ] {
            assert_eq!(common_shape(first, next), common, "{first} {next}");
        }
    }

    #[test]
    fn a_sample_that_is_cut_says_the_same() {
        let rows: String = (0..20).map(|i| format!("{i},name {i},{}\n", i * 2)).collect();
        let table = format!("id,name,total\n{rows}");
        for end in 40..table.len() {
            assert_eq!(of(&table[..end]), r#"CSV of "id" "name" "total""#, "{end}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fail(text in r#"[\{\}\[\]",:|a-z0-9 \n\\.-]{0,120}"#) {
            let shape = answer_shape(text.as_bytes());
            prop_assert!(shape.is_none_or(|shape| shape.len() < 1_000));
        }
    }
}
