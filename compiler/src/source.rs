//! Positions in the source text.

/// A half-open range of bytes of the source text. Both ends lie on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`, in bytes.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        // The size limit of phase 1 is far below 4 GiB; a text beyond that is refused before it is lexed.
        Self { start: start as u32, end: end as u32 }
    }

    /// The text that the span covers. Out-of-range spans give the empty text.
    pub fn text(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// The smallest span that covers both.
    pub(crate) fn to(self, end: Span) -> Span {
        Span { start: self.start, end: end.end }
    }
}

/// A place in the source text for people: lines and columns count from 1, a column is a code point, only LF ends a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// Line of the first character.
    pub line: u32,
    /// Column of the first character.
    pub column: u32,
    /// Line of the character after the last one.
    pub end_line: u32,
    /// Column of the character after the last one.
    pub end_column: u32,
}

impl Position {
    /// The position of `span` in `source`.
    pub(crate) fn of(source: &str, span: Span) -> Self {
        let (line, column) = line_column(source, span.start as usize);
        let (end_line, end_column) = line_column(source, span.end as usize);
        Self { line, column, end_line, end_column }
    }
}

/// Line and column of the character that starts at byte `offset`. An offset beyond the text is its end.
pub(crate) fn line_column(source: &str, offset: usize) -> (u32, u32) {
    let before = source.get(..offset).unwrap_or(source);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|&b| b == b'\n').count() as u32 + 1;
    let column = before[line_start..].chars().count() as u32 + 1;
    (line, column)
}

/// An excerpt of the source for an error message: one line, at most 80 characters.
pub(crate) fn excerpt(source: &str, span: Span) -> String {
    shortened(source, span, 80, "...")
}

/// The text of a span on one line, cut after so many characters.
pub(crate) fn shortened(source: &str, span: Span, longest: usize, ellipsis: &str) -> String {
    let mut text = String::new();
    for (count, word) in span.text(source).split_whitespace().enumerate() {
        if count > 0 {
            text.push(' ');
        }
        text.push_str(word);
        if text.len() > longest * 4 {
            break;
        }
    }
    if let Some((cut, _)) = text.char_indices().nth(longest) {
        text.truncate(cut);
        text.push_str(ellipsis);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_code_points_and_only_lf_ends_a_line() {
        let text = "aé\r\n😀x";
        assert_eq!(line_column(text, 0), (1, 1));
        assert_eq!(line_column(text, 3), (1, 3), "é is one column");
        assert_eq!(line_column(text, 5), (2, 1));
        assert_eq!(line_column(text, 9), (2, 2));
        assert_eq!(line_column(text, 99), (2, 3), "beyond the end is the end");
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("(a\n   b)", Span::new(0, 8)), "(a b)");
        let long = format!("[{}]", "é ".repeat(500));
        assert_eq!(excerpt(&long, Span::new(0, long.len())).chars().count(), 83);
    }
}
