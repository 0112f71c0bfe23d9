//! The cost of a pattern before anything is built of it, computed from its syntax tree alone.
//!
//! Building an automaton cannot be interrupted, and one that gets too large has cost its time all the same. So the price is
//! known before: it is charged to the program first, and a pattern that is too dear is left to the backtracking engine,
//! where counted repetitions are loops.

use super::program::MOST_INSTRUCTIONS;
use super::syntax::{Greed, SyntaxNode};

/// Steps beyond which no automaton is built: some 3 ms.
pub(super) const MOST_STEPS: u64 = 100_000;
/// Steps that every automaton takes.
const BASE: u64 = 100;
/// Steps of a character, and of every other part of a pattern.
const PART: u64 = 20;
/// Steps of "any character", and of a class that has characters of every length.
const ANY: u64 = 100;
/// Steps of a class with some hundred ranges, such as `\d`.
const SOME_RANGES: u64 = 600;
/// Steps of a class with many hundred ranges, such as `\w` and `\p{L}`.
const MANY_RANGES: u64 = 6_000;
/// Bytes of the compiled form, for each of its steps.
const BYTES_PER_STEP: u64 = 16;
/// Bytes of the compiled form of every pattern.
const BASE_BYTES: u64 = 8 << 10;
/// Steps of an automaton that make each byte of text one step dearer to search.
const STEPS_PER_WEIGHT: u64 = 1_000;

/// Steps that building an automaton takes, about.
pub(super) fn automaton(node: &SyntaxNode) -> u64 {
    BASE.saturating_add(part(node))
}

/// Bytes that something takes that is built in so many steps: about, and rather more than less.
pub(super) fn bytes(steps: u64) -> usize {
    usize::try_from(BASE_BYTES + steps.min(MOST_STEPS) * BYTES_PER_STEP).unwrap_or(usize::MAX)
}

/// Steps that searching one byte costs: pattern size times subject (ruling 7).
pub(super) fn weight(price: u64) -> u64 {
    1 + price.min(MOST_STEPS) / STEPS_PER_WEIGHT
}

/// Steps that the engine of short searches takes to be made of a pattern of this price.
pub(super) fn sequence(price: u64) -> u64 {
    price.min(16_000) / 8
}

/// Steps that writing the instructions of a pattern takes.
pub(super) fn program(node: &SyntaxNode) -> u64 {
    BASE + 4 * instructions(node) as u64 + classes(node) / 10
}

/// Steps of all classes, each once where it stands.
fn classes(node: &SyntaxNode) -> u64 {
    match node {
        SyntaxNode::Class { text, ignore_case } => class(text, *ignore_case),
        SyntaxNode::Char { ignore_case: true, .. } => SOME_RANGES,
        SyntaxNode::Capture(_, node)
        | SyntaxNode::Atomic(node)
        | SyntaxNode::Look { node, .. }
        | SyntaxNode::Repeat { node, .. } => classes(node),
        SyntaxNode::Concat(parts) | SyntaxNode::Alternate(parts) => parts.iter().map(classes).sum(),
        _ => 0,
    }
}

fn part(node: &SyntaxNode) -> u64 {
    match node {
        SyntaxNode::Empty
        | SyntaxNode::Assertion(_)
        | SyntaxNode::Keep
        | SyntaxNode::Backreference { .. } => PART,
        SyntaxNode::Char { ignore_case, .. } => PART * (1 + u64::from(*ignore_case)),
        SyntaxNode::Class { text, ignore_case } => class(text, *ignore_case),
        SyntaxNode::Any { .. } | SyntaxNode::LineBreak | SyntaxNode::Grapheme => ANY,
        SyntaxNode::Capture(_, node) | SyntaxNode::Atomic(node) | SyntaxNode::Look { node, .. } => {
            part(node).saturating_add(2 * PART)
        }
        SyntaxNode::Concat(parts) | SyntaxNode::Alternate(parts) => {
            parts.iter().fold(0, |sum: u64, node| sum.saturating_add(part(node)).saturating_add(PART))
        }
        SyntaxNode::Repeat { node, min, max, .. } => {
            let copies = max.unwrap_or(*min).max(1);
            part(node).saturating_add(PART).saturating_mul(u64::from(copies))
        }
    }
}

/// States that a search may have to look at for each byte: those of all parts, counted repetitions written out, and some
/// that every search has.
pub(super) fn effort(node: &SyntaxNode) -> usize {
    fn states(node: &SyntaxNode) -> usize {
        match node {
            SyntaxNode::Capture(_, node) | SyntaxNode::Atomic(node) | SyntaxNode::Look { node, .. } => {
                states(node).saturating_add(2)
            }
            SyntaxNode::Concat(parts) | SyntaxNode::Alternate(parts) => {
                parts.iter().fold(1, |sum: usize, node| sum.saturating_add(states(node)))
            }
            SyntaxNode::Repeat { node, min, max, .. } => {
                let copies = max.unwrap_or(*min).max(1);
                states(node).saturating_add(1).saturating_mul(copies as usize)
            }
            _ => 1,
        }
    }
    states(node).saturating_add(8)
}

/// Steps of a class, by its text: the properties in it, and its own members.
fn class(text: &str, ignore_case: bool) -> u64 {
    let mut steps = PART;
    let mut members = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('w' | 'W' | 'p' | 'P')) => steps += MANY_RANGES,
            ('\\', Some('d' | 'D' | 's' | 'S')) => steps += SOME_RANGES,
            ('[', Some('^')) => steps += ANY,
            (c, _) => members += if c.is_ascii() { 1 } else { 5 },
        }
    }
    // A class has no more ranges than there are characters to be told apart.
    let members = members * PART / 4;
    (steps.min(2 * MANY_RANGES) + members) * if ignore_case { 2 } else { 1 }
}

/// Instructions of the pattern as the backtracking engine writes it, or more than [`MOST_INSTRUCTIONS`]. Classes are
/// counted as one.
pub(super) fn instructions(node: &SyntaxNode) -> usize {
    let count = match node {
        SyntaxNode::Empty => 0,
        SyntaxNode::Concat(parts) => {
            parts.iter().fold(0, |sum: usize, node| sum.saturating_add(instructions(node)))
        }
        SyntaxNode::Alternate(parts) => alternatives(parts.iter().map(instructions)),
        SyntaxNode::Capture(_, node) => instructions(node).saturating_add(2),
        SyntaxNode::Atomic(node) => instructions(node).saturating_add(2),
        SyntaxNode::Repeat { node, min, max, greed } => {
            let body = instructions(node);
            let turn = match (min, max) {
                (1, Some(1)) => 0,
                (0, Some(1)) => 1,
                (0, None) if node.width().0 > 0 => 2,
                (1, None) if node.width().0 > 0 => 1,
                _ => 4,
            };
            body.saturating_add(turn + if *greed == Greed::Possessive { 2 } else { 0 })
        }
        SyntaxNode::Look { node, behind, negative } => {
            let body = instructions(node);
            let body = if *behind {
                let (least, most) = node.width();
                let ways = most.unwrap_or(least).saturating_sub(least).saturating_add(1);
                alternatives((0..ways.min(MOST_INSTRUCTIONS)).map(|_| body.saturating_add(2)))
            } else {
                body
            };
            body.saturating_add(3 + usize::from(*negative))
        }
        _ => 1,
    };
    count.min(MOST_INSTRUCTIONS + 1)
}

/// Ways that are tried in order: each but the last one begins with a split and ends with a jump.
fn alternatives(ways: impl Iterator<Item = usize>) -> usize {
    ways.fold(0, |sum: usize, way| sum.saturating_add(way).saturating_add(2)).saturating_sub(2)
}
