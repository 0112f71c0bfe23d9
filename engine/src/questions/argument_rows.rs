//! The arguments of a call as a person reads them: a row for each key, short values first.

use std::fmt::Write as _;

use ptc_mcp::json::Raw;

use ptc_base::visible::visible_line;

/// Longest value that stands in its row, in characters.
const MAX_SHORT: usize = 160;

/// One argument, with nothing in it hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentRow {
    /// Its key.
    pub key: String,
    /// Its value as JSON; a text of several lines as those lines.
    pub text: String,
    /// Whether it is too long for one row.
    pub is_long: bool,
}

/// The rows of `arguments`, the text of a JSON object: short values first, each kind in the order of the text.
#[must_use]
pub fn argument_rows(arguments: &str) -> Vec<ArgumentRow> {
    let Some(members) = Raw::parse(arguments).ok().and_then(Raw::members) else {
        return vec![row("", visible_line(arguments).into_owned())];
    };
    let rows = members.map(|(key, value)| {
        let text = match value.as_str() {
            Some(text) if text.contains('\n') => {
                text.split('\n').map(visible_line).collect::<Vec<_>>().join("\n")
            }
            _ => visible_line(value.text()).into_owned(),
        };
        row(&key, text)
    });
    let (long, mut rows): (Vec<_>, Vec<_>) = rows.partition(|row| row.is_long);
    rows.extend(long);
    rows
}

fn row(key: &str, text: String) -> ArgumentRow {
    let is_plain = !key.is_empty() && !key.contains(|c: char| c.is_whitespace() || c == ':' || c == '"');
    let key = if is_plain { visible_line(key).into_owned() } else { format!("{:?}", visible_line(key)) };
    let is_long = text.contains('\n') || text.chars().nth(MAX_SHORT).is_some();
    ArgumentRow { key, text, is_long }
}

impl ArgumentRow {
    /// Adds the row to a text, each line after `margin`. Lines of a long value follow a bar, so that none of them looks like
    /// another row; `fold` is how many of them are shown.
    pub fn write(&self, out: &mut String, margin: &str, fold: usize) {
        let Self { key, text, is_long } = self;
        if !is_long {
            let _ = write!(out, "\n{margin}{key}: {text}");
            return;
        }
        let characters = text.chars().count();
        let _ = write!(out, "\n{margin}{key}: ({characters} characters)");
        let lines = text.split('\n').flat_map(pieces);
        let mut left = 0;
        for (at, line) in lines.enumerate() {
            if at < fold {
                let _ = write!(out, "\n{margin}  | {line}");
            } else {
                left += 1;
            }
        }
        if left > 0 {
            let _ = write!(out, "\n{margin}  … {left} more lines");
        }
    }
}

/// A line in pieces that fit a terminal.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest.take()?;
        match line.char_indices().nth(MAX_SHORT) {
            Some((end, _)) => {
                rest = Some(&line[end..]);
                Some(&line[..end])
            }
            None => Some(line),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(arguments: &str, fold: usize) -> String {
        let mut out = String::new();
        argument_rows(arguments).iter().for_each(|row| row.write(&mut out, "  ", fold));
        out
    }

    #[test]
    fn short_values_come_first_and_lines_are_lines() {
        assert_eq!(
            written(r#"{"content":"a\nb: 1\n","n":1.50,"path":"/tmp/x","é b":null,"m":{"k":[1]}}"#, 9),
            "\n  n: 1.50\n  path: \"/tmp/x\"\n  \"é b\": null\n  m: {\"k\":[1]}\n  content: (7 characters)\n    | a\n    | b: 1\n    | "
        );
        assert_eq!(written("{}", 9), "");
        assert_eq!(written("[1]", 9), "\n  \"\": [1]");
    }

    #[test]
    fn long_values_are_folded_and_nothing_is_hidden() {
        let text = written(&format!(r#"{{"a":"{}","b":"x\u202ey\n\u001b[2J"}}"#, "é".repeat(400)), 2);
        assert!(text.starts_with("\n  a: (402 characters)\n    | \"éé"), "{text}");
        assert!(text.contains("\n    … 1 more lines\n  b: ("), "{text}");
        assert!(text.ends_with("\n    | x\\u202ey\n    | \\u001b[2J"), "{text}");
    }
}
