//! Breaks printed values into as many lines as the width of the terminal requires.
//!
//! It works on the text of a value. A text that fits, or that has no tokens of the language, stays as it is.

use super::syntax::{SyntaxKind, lexemes};

/// Deepest nesting of a value that is laid out.
const MAX_DEPTH: usize = 100;

/// A printed value.
#[derive(Debug)]
enum LayoutNode<'t> {
    /// An element without parts.
    Atom(&'t str),
    /// A collection: its brackets, its elements, and its width on one line.
    Group { open: &'t str, close: &'t str, items: Vec<LayoutNode<'t>>, width: usize },
}

impl LayoutNode<'_> {
    /// Columns that it takes on one line.
    fn width(&self) -> usize {
        match self {
            LayoutNode::Atom(text) => text.chars().count(),
            LayoutNode::Group { width, .. } => *width,
        }
    }
}

/// `text`, the printed form of a value, in lines of at most `width` columns where elements allow that.
pub(super) fn lay_out(text: &str, width: usize) -> String {
    if text.len() <= width || text.chars().count() <= width {
        return text.to_owned();
    }
    let Some(node) = parse(text) else { return text.to_owned() };
    let mut out = String::with_capacity(text.len() * 5 / 4);
    write(&node, 0, 0, width, &mut out);
    out
}

/// Parses the value in `text`; `None` if it does not consist of tokens and brackets, or is nested too deeply.
fn parse(text: &str) -> Option<LayoutNode<'_>> {
    let mut open: Vec<(&str, Vec<LayoutNode<'_>>)> = vec![("", Vec::new())];
    for lexeme in lexemes(text) {
        let node = match lexeme.kind {
            SyntaxKind::Opener => {
                if open.len() > MAX_DEPTH {
                    return None;
                }
                open.push((lexeme.text, Vec::new()));
                continue;
            }
            SyntaxKind::Closer => {
                let (bracket, items) = open.pop()?;
                if open.is_empty() {
                    return None;
                }
                let inner: usize = items.iter().map(LayoutNode::width).sum();
                let width = bracket.len() + inner + items.len().saturating_sub(1) + lexeme.text.len();
                LayoutNode::Group { open: bracket, close: lexeme.text, items, width }
            }
            // An unreadable text may contain brackets.
            SyntaxKind::Other | SyntaxKind::Comment => return None,
            _ => LayoutNode::Atom(lexeme.text),
        };
        open.last_mut()?.1.push(node);
    }
    let (_, mut items) = open.pop().filter(|_| open.is_empty())?;
    let node = items.pop()?;
    items.is_empty().then_some(node)
}

/// Writes `node`, whose first character is in column `column`, with `closers` brackets after it on its last line.
fn write(node: &LayoutNode<'_>, column: usize, closers: usize, width: usize, out: &mut String) {
    let (open, close, items) = match node {
        LayoutNode::Atom(text) => return out.push_str(text),
        LayoutNode::Group { open, close, items, .. } => (open, close, items),
    };
    let fits = column + node.width() + closers <= width;
    let inside = column + open.len();
    let pairs = open.ends_with('{') && *open != "#{";
    let are_atoms = items.iter().all(|item| matches!(item, LayoutNode::Atom(_)));
    out.push_str(open);
    let mut at = inside;
    for (index, item) in items.iter().enumerate() {
        let is_last = index + 1 == items.len();
        let behind = if is_last { closers + close.len() } else { 0 };
        if index > 0 {
            let stays = fits
                || (pairs && index % 2 == 1)
                || (!pairs && are_atoms && at + 1 + item.width() + behind <= width);
            if stays {
                out.push(' ');
                at += 1;
            } else {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', inside));
                at = inside;
            }
        }
        write(item, at, behind, width, out);
        at += item.width();
    }
    out.push_str(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collections_break_between_their_elements() {
        assert_eq!(lay_out("[1 2 3]", 7), "[1 2 3]");
        assert_eq!(lay_out("[10 20 30 40]", 9), "[10 20 30\n 40]", "atoms fill lines");
        assert_eq!(lay_out("{:a 1 :bc \"de\"}", 10), "{:a 1\n :bc \"de\"}", "a map has a pair on each");
        assert_eq!(
            lay_out("[{:id 1 :name \"a\"} {:id 2 :name \"b\"}]", 24),
            "[{:id 1 :name \"a\"}\n {:id 2 :name \"b\"}]"
        );
        assert_eq!(lay_out("{:rows [{:a 1} {:b 2}]}", 14), "{:rows [{:a 1}\n        {:b 2}]}");
        assert_eq!(lay_out("#{:aaa :bbb}", 8), "#{:aaa\n  :bbb}");
    }

    #[test]
    fn brackets_behind_an_element_need_room_too() {
        assert_eq!(lay_out("[[1 2] [3 4]]", 12), "[[1 2]\n [3 4]]");
        assert_eq!(lay_out("[[11 22 33]]", 11), "[[11 22\n  33]]");
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "#<builtin> and more of it",
            "(((",
            "a b",
            "\"a long string that no line holds\"",
            "~~~~~~~~~~~~~~~~~~~~~",
        ] {
            assert_eq!(lay_out(text, 10), text);
        }
        let deep = "[".repeat(5_000) + &"]".repeat(5_000);
        assert_eq!(lay_out(&deep, 10), deep);
    }
}
