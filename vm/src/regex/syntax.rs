//! The syntax tree of a pattern, which both engines are made from.

/// A pattern or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SyntaxNode {
    /// Matches nothing at all, everywhere.
    Empty,
    /// One character.
    Char {
        /// The character.
        char: char,
        /// Whether its other cases match too.
        ignore_case: bool,
    },
    /// One character of a class.
    Class {
        /// The class as the linear engine writes it, brackets included.
        text: String,
        /// Whether other cases match too.
        ignore_case: bool,
    },
    /// `.`
    Any {
        /// Whether a line feed matches (`(?s)`).
        newline: bool,
    },
    /// A place in the text.
    Assertion(Assertion),
    /// A group whose text is reported, numbered from 1.
    Capture(usize, Box<SyntaxNode>),
    /// Parts one after the other.
    Concat(Vec<SyntaxNode>),
    /// Parts of which the first that leads to a match counts.
    Alternate(Vec<SyntaxNode>),
    /// A part several times.
    Repeat {
        /// The repeated part.
        node: Box<SyntaxNode>,
        /// How often at least.
        min: u32,
        /// How often at most.
        max: Option<u32>,
        /// Which number of times is tried first.
        greed: Greed,
    },
    /// A condition on the text around the place.
    Look {
        /// The part that must match, or must not.
        node: Box<SyntaxNode>,
        /// Whether it is about the text before the place.
        behind: bool,
        /// Whether it must not match.
        negative: bool,
    },
    /// A group that is not reconsidered once it has matched.
    Atomic(Box<SyntaxNode>),
    /// The text of a group again.
    Backreference {
        /// The group's number.
        group: usize,
        /// Whether other cases match too.
        ignore_case: bool,
    },
    /// `\R`: one line break.
    LineBreak,
    /// `\X`: one extended grapheme cluster.
    Grapheme,
    /// `\K`: the match begins here.
    Keep,
}

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assertion {
    /// `\A`, `^`
    Start,
    /// `\z`
    End,
    /// `$`, `\Z`: the end, and before a line feed that ends the text.
    EndOfText,
    /// `^` with `(?m)`: the start, and after every line feed that does not end the text.
    LineStart,
    /// `$` with `(?m)`: the end, and before every line feed.
    LineEnd,
    /// `\b`
    WordBoundary,
    /// `\B`
    NoWordBoundary,
    /// `\G`: where the search began.
    SearchStart,
}

/// How many times a repetition is tried first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greed {
    /// As often as possible.
    Greedy,
    /// As seldom as possible.
    Lazy,
    /// As often as possible, never reconsidered.
    Possessive,
}

/// A pattern that has been read.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// The part to match.
    pub(super) node: SyntaxNode,
    /// How many groups are reported, the whole match not counted.
    pub(super) groups: usize,
    /// Names of groups, with their numbers.
    pub(super) names: Vec<(String, usize)>,
}

impl SyntaxNode {
    /// Whether the linear engine can match it: no lookaround, backreference, atomic group and the like.
    pub(super) fn is_linear(&self) -> bool {
        !self.any(&|node| {
            matches!(
                node,
                SyntaxNode::Look { .. }
                    | SyntaxNode::Atomic(_)
                    | SyntaxNode::Backreference { .. }
                    | SyntaxNode::Grapheme
                    | SyntaxNode::Keep
                    | SyntaxNode::Assertion(Assertion::SearchStart)
                    | SyntaxNode::Repeat { greed: Greed::Possessive, .. }
            )
        })
    }

    /// Whether some part asserts this place.
    pub(super) fn asserts(&self, place: Assertion) -> bool {
        self.any(&|node| matches!(node, SyntaxNode::Assertion(assertion) if *assertion == place))
    }

    /// Whether `wanted` holds for some part. Patterns have at most 256 bytes, so recursion is shallow here and in
    /// all other walks over them.
    pub(super) fn any(&self, wanted: &dyn Fn(&SyntaxNode) -> bool) -> bool {
        wanted(self)
            || match self {
                SyntaxNode::Concat(parts) | SyntaxNode::Alternate(parts) => {
                    parts.iter().any(|part| part.any(wanted))
                }
                SyntaxNode::Capture(_, node)
                | SyntaxNode::Atomic(node)
                | SyntaxNode::Repeat { node, .. }
                | SyntaxNode::Look { node, .. } => node.any(wanted),
                _ => false,
            }
    }

    /// How many characters a search may scan beyond its match, where that is bounded: those of a longer alternative, or of the
    /// next repetition at the end. A pattern such as `a.*z|a` may scan the whole rest.
    pub(super) fn overrun(&self) -> Option<usize> {
        if let (_, Some(most)) = self.width() {
            return Some(most);
        }
        match self {
            SyntaxNode::Capture(_, node) => node.overrun(),
            SyntaxNode::Alternate(parts) => {
                parts.iter().map(SyntaxNode::overrun).try_fold(0, |most, next| Some(most.max(next?)))
            }
            SyntaxNode::Concat(parts) => {
                let (last, before) = parts.split_last()?;
                let before = before.iter().try_fold(0, |sum: usize, part| Some(sum + part.width().1?))?;
                Some(before + last.overrun()?)
            }
            SyntaxNode::Repeat { node, min, max: None, .. } => {
                Some(node.width().1?.saturating_mul(*min as usize + 1))
            }
            _ => None,
        }
    }

    /// The least and the greatest number of characters that a match takes; no greatest when there is no bound.
    pub(super) fn width(&self) -> (usize, Option<usize>) {
        match self {
            SyntaxNode::Empty | SyntaxNode::Assertion(_) | SyntaxNode::Look { .. } | SyntaxNode::Keep => {
                (0, Some(0))
            }
            SyntaxNode::Char { .. } | SyntaxNode::Class { .. } | SyntaxNode::Any { .. } => (1, Some(1)),
            SyntaxNode::LineBreak => (1, Some(2)),
            SyntaxNode::Grapheme => (1, None),
            SyntaxNode::Backreference { .. } => (0, None),
            SyntaxNode::Capture(_, node) | SyntaxNode::Atomic(node) => node.width(),
            SyntaxNode::Concat(parts) => {
                parts.iter().map(SyntaxNode::width).fold((0, Some(0)), |(low, high), (l, h)| {
                    (low.saturating_add(l), high.zip(h).and_then(|(a, b)| a.checked_add(b)))
                })
            }
            SyntaxNode::Alternate(parts) => {
                let mut widths = parts.iter().map(SyntaxNode::width);
                let first = widths.next().unwrap_or((0, Some(0)));
                widths.fold(first, |(low, high), (l, h)| (low.min(l), high.zip(h).map(|(a, b)| a.max(b))))
            }
            SyntaxNode::Repeat { node, min, max, .. } => {
                let (low, high) = node.width();
                let high = high.zip(*max).and_then(|(high, max)| high.checked_mul(max as usize));
                (low.saturating_mul(*min as usize), high)
            }
        }
    }
}
