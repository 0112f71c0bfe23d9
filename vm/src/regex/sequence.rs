//! The engine for patterns with one way to match at each place: `code=(\d+)`, `(\w+)\s*=\s*(\d+)`, `^[^,]*,`.
//!
//! Such a pattern is a sequence of texts and of repeated classes, and the continuation of a repetition cannot begin with a
//! character that it takes. So each repetition takes all it can, nothing is ever reconsidered, and the groups are known with
//! the match: one pass where the automata make three. They are still better at long searches, which are
//! [left](SequenceMatch::Elsewhere) to them: no more than [`NEAR`] bytes are scanned in vain here, so that no search is
//! quadratic.

use super::emit::character_class;
use super::program::CharClass;
use super::syntax::{Assertion, Greed, SyntaxNode};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{MatchKind, Span};
use smallvec::SmallVec;

/// Bytes that a search may skip, or look at without success, before it is left to the automata.
const NEAR: usize = 256;
/// The share of a place without a match in that, besides the bytes scanned.
const FAILED: usize = 8;
/// Bytes that are searched for a text, and characters of a run, between two pauses.
const PIECE: usize = 16 << 10;
/// Most classes of a pattern; each takes some kilobytes at most.
const MOST_CLASSES: usize = 8;

/// The result of the search.
pub(super) enum SequenceMatch {
    /// There is no match.
    No,
    /// The match, and the end of the scanned range.
    Match(Groups, usize),
    /// None begins before this place; the automata are to continue from there.
    Elsewhere(usize),
}

/// A pattern as a sequence.
#[derive(Debug)]
pub(super) struct Sequence {
    parts: Vec<SequencePart>,
    classes: Vec<Class>,
    /// How many groups it reports.
    groups: usize,
    /// Whether it matches at the start of a text only.
    anchored: bool,
    start: Start,
}

#[derive(Debug)]
enum SequencePart {
    /// This text.
    Text(Box<str>),
    /// As many characters of a class as there are, between two bounds.
    Run { class: usize, min: u32, max: u32 },
    /// A group begins.
    Open(usize),
    /// A group ends.
    Close(usize),
}

/// The possible beginnings of a match.
#[derive(Debug)]
enum Start {
    /// With this text.
    Text(Prefilter),
    /// With one of these bytes.
    Byte(Box<[bool; 256]>),
    /// Anywhere: the pattern matches nothing at all, too.
    Anywhere,
}

/// The information in a byte about the character that it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LeadByte {
    No,
    /// It belongs to the class and is one byte long.
    One,
    /// It belongs to the class, like all that are longer than one byte.
    Long,
    /// The whole character must be looked up.
    Ask,
}

#[derive(Debug)]
struct Class {
    text: String,
    bytes: Box<[LeadByte; 256]>,
    chars: CharClass,
}

impl Class {
    fn new(text: String) -> Option<Class> {
        let chars = CharClass::parse(&text)?;
        let long = match chars.beyond_ascii() {
            Some(true) => LeadByte::Long,
            Some(false) => LeadByte::No,
            None => LeadByte::Ask,
        };
        let mut bytes = Box::new([LeadByte::No; 256]);
        for (byte, member) in bytes.iter_mut().enumerate() {
            *member = match byte as u8 {
                byte if byte.is_ascii() => {
                    if chars.contains(char::from(byte)) {
                        LeadByte::One
                    } else {
                        LeadByte::No
                    }
                }
                // Not the bytes within a character.
                0xC0.. => long,
                _ => LeadByte::No,
            };
        }
        Some(Class { text, bytes, chars })
    }

    /// The end of the run at `at` of up to `max` characters, and how many those are.
    #[inline]
    fn run<R>(
        &self,
        text: &str,
        mut at: usize,
        max: u32,
        pause: &mut impl FnMut() -> Result<(), R>,
    ) -> Result<(usize, u32), R> {
        let mut count = 0_u32;
        loop {
            let piece = max.min(count.saturating_add(PIECE as u32));
            (at, count) = self.piece(text, at, count, piece);
            if count < piece || count == max {
                return Ok((at, count));
            }
            pause()?;
        }
    }

    /// As [`run`](Class::run), of which `count` characters are known.
    #[inline]
    fn piece(&self, text: &str, mut at: usize, mut count: u32, max: u32) -> (usize, u32) {
        while count < max {
            let Some(byte) = text.as_bytes().get(at) else { break };
            match self.bytes[usize::from(*byte)] {
                LeadByte::One => at += 1,
                LeadByte::No => break,
                member => match text[at..].chars().next() {
                    Some(c) if member == LeadByte::Long || self.chars.contains(c) => at += c.len_utf8(),
                    _ => break,
                },
            }
            count += 1;
        }
        (at, count)
    }
}

impl Sequence {
    /// `node`, which [is linear](SyntaxNode::is_linear) and reports `groups` groups, as a sequence, if it is one. A mere text is
    /// not: there, the automata only search for it, too.
    pub(super) fn new(node: &SyntaxNode, groups: usize) -> Option<Sequence> {
        let mut sequence = Sequence {
            parts: Vec::new(),
            classes: Vec::new(),
            groups,
            anchored: false,
            start: Start::Anywhere,
        };
        sequence.push(node)?;
        let repeats = sequence.parts.iter().any(|part| matches!(part, SequencePart::Run { .. }));
        if !repeats || !sequence.is_determined() {
            return None;
        }
        sequence.start = sequence.start();
        Some(sequence)
    }

    /// Bytes that it takes on the heap, about.
    pub(super) fn heap_bytes(&self) -> usize {
        let classes: usize =
            self.classes.iter().map(|class| 512 + class.text.len() + class.chars.heap_bytes()).sum();
        512 + classes + self.parts.capacity() * size_of::<SequencePart>()
    }

    fn push(&mut self, node: &SyntaxNode) -> Option<()> {
        match node {
            SyntaxNode::Empty => {}
            SyntaxNode::Assertion(Assertion::Start) if self.consuming(0).next().is_none() => {
                self.anchored = true
            }
            SyntaxNode::Char { char, ignore_case: false } => {
                if let Some(SequencePart::Text(text)) = self.parts.last_mut() {
                    *text = format!("{text}{char}").into();
                } else {
                    self.parts.push(SequencePart::Text(char.to_string().into()));
                }
            }
            SyntaxNode::Char { .. } | SyntaxNode::Class { .. } | SyntaxNode::Any { .. } => {
                self.run(node, 1, 1)?
            }
            SyntaxNode::Capture(group, node) => {
                self.parts.push(SequencePart::Open(*group));
                self.push(node)?;
                self.parts.push(SequencePart::Close(*group));
            }
            SyntaxNode::Concat(nodes) => nodes.iter().try_for_each(|node| self.push(node).ok_or(())).ok()?,
            SyntaxNode::Repeat { node, min, max, greed } if *greed == Greed::Greedy || *max == Some(*min) => {
                self.run(node, *min, max.unwrap_or(u32::MAX))?;
            }
            _ => return None,
        }
        Some(())
    }

    fn run(&mut self, node: &SyntaxNode, min: u32, max: u32) -> Option<()> {
        let text = character_class(node)?;
        let known = self.classes.iter().position(|class| class.text == text);
        let class = match known {
            Some(class) => class,
            None if self.classes.len() < MOST_CLASSES => {
                self.classes.push(Class::new(text)?);
                self.classes.len() - 1
            }
            None => return None,
        };
        self.parts.push(SequencePart::Run { class, min, max });
        Some(())
    }

    /// The parts from `from` on that take characters.
    fn consuming(&self, from: usize) -> impl Iterator<Item = &SequencePart> {
        self.parts[from..]
            .iter()
            .filter(|part| matches!(part, SequencePart::Text(_) | SequencePart::Run { .. }))
    }

    /// Whether no repetition could give back a character that a later part could take.
    fn is_determined(&self) -> bool {
        self.parts.iter().enumerate().all(|(at, part)| {
            let SequencePart::Run { class, min, max } = part else { return true };
            if min == max {
                return true;
            }
            let taken = &self.classes[*class].chars;
            for next in self.consuming(at + 1) {
                match next {
                    SequencePart::Text(text) => {
                        return !text.chars().next().is_some_and(|c| taken.contains(c));
                    }
                    SequencePart::Run { class, .. } if taken.meets(&self.classes[*class].chars) => {
                        return false;
                    }
                    SequencePart::Run { min: 1.., .. } => return true,
                    _ => {}
                }
            }
            true
        })
    }

    fn start(&self) -> Start {
        if let Some(SequencePart::Text(text)) = self.consuming(0).next()
            && let Some(finder) = Prefilter::new(MatchKind::LeftmostFirst, &[text.as_bytes()])
        {
            return Start::Text(finder);
        }
        let mut bytes = Box::new([false; 256]);
        for part in self.consuming(0) {
            match part {
                SequencePart::Text(text) => {
                    bytes[usize::from(text.as_bytes()[0])] = true;
                    return Start::Byte(bytes);
                }
                SequencePart::Run { class, min, .. } => {
                    for (byte, member) in bytes.iter_mut().zip(self.classes[*class].bytes.iter()) {
                        *byte |= *member != LeadByte::No;
                    }
                    if *min > 0 {
                        return Start::Byte(bytes);
                    }
                }
                SequencePart::Open(_) | SequencePart::Close(_) => {}
            }
        }
        Start::Anywhere
    }

    /// The first match at or after `from`. `pause` is called again and again where it takes long.
    pub(super) fn find<R>(
        &self,
        text: &str,
        from: usize,
        pause: &mut impl FnMut() -> Result<(), R>,
    ) -> Result<SequenceMatch, R> {
        let mut groups = SmallVec::from_elem(Some((0, 0)), self.groups + 1);
        if self.anchored {
            let matched = from == 0 && self.attempt(text, 0, &mut groups, pause)?.is_ok();
            return Ok(if matched { SequenceMatch::Match(groups, from) } else { SequenceMatch::No });
        }
        let (mut at, mut vain, mut looked) = (from, 0, from);
        loop {
            let rest = &text.as_bytes()[at..];
            let skipped = match &self.start {
                Start::Anywhere => 0,
                Start::Text(finder) => match next_text(finder, rest, pause)? {
                    Some(skipped) => skipped,
                    None => return Ok(SequenceMatch::No),
                },
                Start::Byte(starts) => {
                    let near = &rest[..rest.len().min(NEAR)];
                    let skipped = near.iter().position(|byte| starts[usize::from(*byte)]);
                    let skipped = match skipped {
                        Some(skipped) => skipped,
                        None if near.len() == rest.len() => return Ok(SequenceMatch::No),
                        None => {
                            (near.len()..).find(|skipped| text.is_char_boundary(at + skipped)).unwrap_or(0)
                        }
                    };
                    vain += skipped;
                    skipped
                }
            };
            at += skipped;
            if vain >= NEAR {
                return Ok(SequenceMatch::Elsewhere(at));
            }
            let first = match self.attempt(text, at, &mut groups, pause)? {
                Ok(_) => return Ok(SequenceMatch::Match(groups, looked)),
                Err(failure) => {
                    looked = looked.max(failure.at);
                    vain += FAILED + failure.at - at;
                    failure.first
                }
            };
            // What begins within a run of the first class comes to the same end and fails there.
            at = match first {
                Some(end) if end > at => end,
                _ => match text[at..].chars().next() {
                    Some(c) => at + c.len_utf8(),
                    None => return Ok(SequenceMatch::No),
                },
            };
        }
    }

    /// The match of the whole text. `pause` is called again and again where it takes long.
    pub(super) fn matches<R>(
        &self,
        text: &str,
        pause: &mut impl FnMut() -> Result<(), R>,
    ) -> Result<Option<Groups>, R> {
        let mut groups = SmallVec::from_elem(Some((0, 0)), self.groups + 1);
        let end = self.attempt(text, 0, &mut groups, pause)?;
        Ok((end == Ok(text.len())).then_some(groups))
    }

    /// The end of the match that begins at `start`.
    fn attempt<R>(
        &self,
        text: &str,
        start: usize,
        groups: &mut Groups,
        pause: &mut impl FnMut() -> Result<(), R>,
    ) -> Result<Result<usize, Mismatch>, R> {
        let (mut at, mut first, mut is_first) = (start, None, true);
        for part in &self.parts {
            match part {
                SequencePart::Text(wanted) => {
                    if !text.as_bytes()[at..].starts_with(wanted.as_bytes()) {
                        return Ok(Err(Mismatch { at, first }));
                    }
                    at += wanted.len();
                    is_first = false;
                }
                SequencePart::Run { class, min, max } => {
                    let (end, count) = self.classes[*class].run(text, at, *max, pause)?;
                    if is_first && *max == u32::MAX {
                        first = Some(end);
                    }
                    is_first = false;
                    at = end;
                    if count < *min {
                        return Ok(Err(Mismatch { at, first }));
                    }
                }
                SequencePart::Open(group) => {
                    if let Some(Some((start, _))) = groups.get_mut(*group) {
                        *start = at;
                    }
                }
                SequencePart::Close(group) => {
                    if let Some(Some((_, end))) = groups.get_mut(*group) {
                        *end = at;
                    }
                }
            }
        }
        groups[0] = Some((start, at));
        Ok(Ok(at))
    }
}

/// Where the text begins that `finder` finds.
fn next_text<R>(
    finder: &Prefilter,
    rest: &[u8],
    pause: &mut impl FnMut() -> Result<(), R>,
) -> Result<Option<usize>, R> {
    let mut at = 0;
    loop {
        // What begins in the piece may end behind it.
        let end = rest.len().min(at + PIECE + finder.max_needle_len());
        if let Some(found) = finder.find(rest, Span::from(at..end)) {
            return Ok(Some(found.start));
        }
        if end == rest.len() {
            return Ok(None);
        }
        at += PIECE;
        pause()?;
    }
}

/// Where the pattern did not match.
#[derive(Debug, PartialEq)]
struct Mismatch {
    at: usize,
    /// The end of the run that the pattern begins with, if that has no upper bound.
    first: Option<usize>,
}

/// Byte ranges of the whole match and of the groups.
pub(crate) type Groups = SmallVec<[Option<(usize, usize)>; 4]>;
