//! Patterns in the syntax of the automata, written from a syntax tree.
//!
//! Automata know no lookahead, yet `$` holds before a line feed that ends the text. For such texts the line feed is
//! replaced by a [mark](MARK), which an automaton of its own takes for the only line end (and everything that
//! matches a line feed matches it, too).

use super::classes::push_char;
use super::program::CharClass;
use super::syntax::{Assertion, Greed, SyntaxNode};

/// Stands for the line feed that ends a text: a control character that texts hardly have.
pub(super) const MARK: char = '\x01';

/// The byte that ends lines.
pub(super) fn line_end(marked: bool) -> u8 {
    if marked { MARK as u8 } else { b'\n' }
}

/// `node`, which takes one character, in the syntax of classes.
pub(super) fn character_class(node: &SyntaxNode) -> Option<String> {
    matches!(node, SyntaxNode::Char { .. } | SyntaxNode::Class { .. } | SyntaxNode::Any { .. })
        .then(|| emit(node, false))?
}

/// Whether `node` may match a line feed. For a class that is not understood, the answer is yes.
pub(super) fn crosses_lines(node: &SyntaxNode) -> bool {
    node.any(&|part| match part {
        SyntaxNode::Char { char, .. } => *char == '\n',
        SyntaxNode::Any { newline } => *newline,
        SyntaxNode::Class { text, .. } => CharClass::parse(text).is_none_or(|class| class.contains('\n')),
        SyntaxNode::LineBreak => true,
        _ => false,
    })
}

/// A pattern that matches whole texts, of one that matches anything.
pub(super) fn whole(pattern: &str) -> String {
    format!("(?:{pattern})\\z")
}

/// `node` in the syntax of the automata; for texts with a mark if `marked`. `None` if a class is not understood.
pub(super) fn emit(node: &SyntaxNode, marked: bool) -> Option<String> {
    let mut out = String::new();
    Emitter { marked, out: &mut out }.write(node)?;
    Some(out)
}

struct Emitter<'o> {
    marked: bool,
    out: &'o mut String,
}

impl Emitter<'_> {
    fn write(&mut self, node: &SyntaxNode) -> Option<()> {
        match node {
            SyntaxNode::Empty => self.out.push_str("(?:)"),
            SyntaxNode::Char { char: '\n', .. } if self.marked => self.out.push_str("[\\n\\x01]"),
            // The text has no mark but the one that stands for a line feed.
            SyntaxNode::Char { char: MARK, .. } if self.marked => self.out.push_str("[^\\s\\S]"),
            SyntaxNode::Char { char, ignore_case: false } => push_char(self.out, *char),
            SyntaxNode::Char { char, ignore_case: true } => {
                self.out.push_str("(?i:");
                push_char(self.out, *char);
                self.out.push(')');
            }
            SyntaxNode::Class { text, ignore_case } => self.class(text, *ignore_case)?,
            SyntaxNode::Any { newline: true } => self.out.push_str("(?s:.)"),
            SyntaxNode::Any { newline: false } if self.marked => self.out.push_str("[^\\n\\x01]"),
            SyntaxNode::Any { newline: false } => self.out.push('.'),
            SyntaxNode::Assertion(place) => self.out.push_str(match place {
                Assertion::Start => "\\A",
                Assertion::EndOfText if self.marked => "(?m:$)",
                Assertion::End | Assertion::EndOfText => "\\z",
                Assertion::LineStart => "(?m:^)",
                Assertion::LineEnd => "(?m:$)",
                Assertion::WordBoundary => "\\b",
                // `\G` is never asked of this engine.
                Assertion::NoWordBoundary | Assertion::SearchStart => "\\B",
            }),
            SyntaxNode::Capture(_, node) => {
                self.out.push('(');
                self.write(node)?;
                self.out.push(')');
            }
            SyntaxNode::Concat(parts) => {
                for part in parts {
                    self.grouped(part, matches!(part, SyntaxNode::Alternate(_)))?;
                }
            }
            SyntaxNode::Alternate(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        self.out.push('|');
                    }
                    self.write(part)?;
                }
            }
            SyntaxNode::Repeat { node, min, max, greed } => {
                let compound = matches!(
                    **node,
                    SyntaxNode::Concat(_) | SyntaxNode::Alternate(_) | SyntaxNode::Repeat { .. }
                );
                self.grouped(node, compound)?;
                match (min, max) {
                    (0, None) => self.out.push('*'),
                    (1, None) => self.out.push('+'),
                    (0, Some(1)) => self.out.push('?'),
                    (min, None) => self.out.push_str(&format!("{{{min},}}")),
                    (min, Some(max)) => self.out.push_str(&format!("{{{min},{max}}}")),
                }
                if *greed == Greed::Lazy {
                    self.out.push('?');
                }
            }
            SyntaxNode::LineBreak if self.marked => {
                self.out.push_str("(?:\\r[\\n\\x01]|[\\n\\x01\\x0B\\f\\r\\x{85}\\x{2028}\\x{2029}])");
            }
            SyntaxNode::LineBreak => {
                self.out.push_str("(?:\\r\\n|[\\n\\x0B\\f\\r\\x{85}\\x{2028}\\x{2029}])")
            }
            // Not linear: such patterns never come here.
            SyntaxNode::Look { .. }
            | SyntaxNode::Atomic(_)
            | SyntaxNode::Backreference { .. }
            | SyntaxNode::Grapheme
            | SyntaxNode::Keep => return None,
        }
        Some(())
    }

    fn grouped(&mut self, node: &SyntaxNode, group: bool) -> Option<()> {
        if group {
            self.out.push_str("(?:");
        }
        self.write(node)?;
        if group {
            self.out.push(')');
        }
        Some(())
    }

    fn class(&mut self, text: &str, ignore_case: bool) -> Option<()> {
        if ignore_case {
            self.out.push_str("(?i:");
        }
        if self.marked {
            let class = CharClass::parse(text)?;
            match (class.contains('\n'), class.contains(MARK)) {
                (true, false) => self.out.push_str(&format!("[{text}\\x01]")),
                (false, true) => self.out.push_str(&format!("[{text}--\\x01]")),
                _ => self.out.push_str(text),
            }
        } else {
            self.out.push_str(text);
        }
        if ignore_case {
            self.out.push(')');
        }
        Some(())
    }
}
