//! Instructions of the backtracking engine, and how a pattern becomes a list of them.

use super::syntax::{Assertion, Greed, Pattern, SyntaxNode};
use regex_syntax::hir::{Class, HirKind};

/// Most instructions of a pattern; counted repetitions are loops, so that few patterns come near.
pub(super) const MOST_INSTRUCTIONS: usize = 20_000;

/// One step of a search. Registers hold places in the text and counts; the first ones are the starts and ends of
/// the whole match and of the groups.
#[derive(Debug, PartialEq)]
pub(super) enum Inst {
    /// The end of the pattern.
    Match,
    /// This character.
    Char(char),
    /// A character of class `n`.
    Class(usize),
    /// Any character, or any but a line feed.
    Any { newline: bool },
    /// `\R`
    LineBreak,
    /// `\X`
    Grapheme,
    /// `\A`
    Start,
    /// `\z`
    End,
    /// `\Z`
    EndOfText,
    /// `^` in lines.
    LineStart,
    /// `$` in lines.
    LineEnd,
    /// `\b`, `\B`
    WordBoundary { negative: bool },
    /// `\G`
    SearchStart,
    /// Go on elsewhere.
    Jump(usize),
    /// Try one way, then the other.
    Split { first: usize, second: usize },
    /// Store the place.
    Save(usize),
    /// Begin a counted loop.
    LoopStart { count: usize, place: usize },
    /// Decide about another turn, which follows.
    Loop { count: usize, place: usize, min: u32, max: Option<u32>, lazy: bool, exit: usize },
    /// Count a turn.
    LoopTurn { count: usize, place: usize },
    /// Remember which ways are open.
    Mark { height: usize },
    /// Close the ways opened since the mark; go back to a stored place.
    Commit { height: usize, place: Option<usize> },
    /// Close the ways opened since the mark, and fail.
    Refuse { height: usize },
    /// Go back this many characters.
    Back(usize),
    /// Holds at a stored place.
    AtPlace(usize),
    /// The text of a group.
    Backreference { group: usize, ignore_case: bool },
}

/// Characters in ascending ranges, with a bit map of the ASCII ones.
#[derive(Debug)]
pub(super) struct CharClass {
    ascii: u128,
    ranges: Vec<(char, char)>,
}

impl CharClass {
    /// The class that `text` means to the linear engine.
    pub(super) fn parse(text: &str) -> Option<CharClass> {
        let mut ranges = Vec::new();
        match regex_syntax::parse(text).ok()?.into_kind() {
            HirKind::Class(Class::Unicode(class)) => {
                ranges.extend(class.iter().map(|range| (range.start(), range.end())));
            }
            HirKind::Class(Class::Bytes(class)) => {
                ranges.extend(class.iter().map(|range| (char::from(range.start()), char::from(range.end()))));
            }
            HirKind::Literal(literal) => {
                let c = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
                ranges.push((c, c));
            }
            _ => return None,
        }
        let mut ascii = 0;
        for (start, end) in &ranges {
            for code in (*start as u32)..=(*end as u32).min(127) {
                ascii |= 1u128 << code;
            }
        }
        Some(CharClass { ascii, ranges })
    }

    /// Whether it has all characters beyond ASCII, or none of them. `None` if it has some.
    pub(super) fn beyond_ascii(&self) -> Option<bool> {
        match self.ranges.last() {
            Some((start, char::MAX)) if *start <= '\u{80}' => Some(true),
            Some((_, end)) if !end.is_ascii() => None,
            _ => Some(false),
        }
    }

    /// Bytes that it takes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.ranges.capacity() * size_of::<(char, char)>()
    }

    /// Whether some character belongs to both.
    pub(super) fn meets(&self, other: &CharClass) -> bool {
        let (mut mine, mut theirs) = (self.ranges.iter().peekable(), other.ranges.iter().peekable());
        while let (Some((start, end)), Some((other_start, other_end))) = (mine.peek(), theirs.peek()) {
            if end < other_start {
                mine.next();
            } else if other_end < start {
                theirs.next();
            } else {
                return true;
            }
        }
        false
    }

    /// Whether `c` belongs to it.
    #[inline]
    pub(super) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return self.ascii & (1 << c as u32) != 0;
        }
        let after = self.ranges.partition_point(|(start, _)| *start <= c);
        after > 0 && self.ranges[after - 1].1 >= c
    }
}

/// A pattern as instructions.
#[derive(Debug)]
pub(super) struct RegexProgram {
    pub(super) insts: Vec<Inst>,
    pub(super) classes: Vec<CharClass>,
    /// The texts of the classes, while it is written.
    class_texts: Vec<Box<str>>,
    /// The class that `\w` matches.
    pub(super) word: CharClass,
    /// How many registers it uses.
    pub(super) registers: usize,
    /// How many groups it reports.
    pub(super) groups: usize,
}

impl RegexProgram {
    /// Compiles `pattern`; `None` when it gets too large.
    pub(super) fn new(pattern: &Pattern) -> Option<RegexProgram> {
        let mut program = RegexProgram {
            insts: Vec::new(),
            classes: Vec::new(),
            class_texts: Vec::new(),
            word: CharClass::parse("\\w")?,
            registers: 2 * (pattern.groups + 1),
            groups: pattern.groups,
        };
        program.emit(&pattern.node)?;
        program.push(Inst::Match)?;
        program.class_texts = Vec::new();
        Some(program)
    }

    /// About how many bytes it takes.
    pub(super) fn size(&self) -> usize {
        let ranges: usize = self.classes.iter().map(|class| class.ranges.len()).sum();
        let word = self.word.ranges.len();
        self.insts.capacity() * size_of::<Inst>()
            + self.classes.capacity() * size_of::<CharClass>()
            + (ranges + word) * size_of::<(char, char)>()
    }

    fn push(&mut self, inst: Inst) -> Option<usize> {
        self.insts.push(inst);
        (self.insts.len() <= MOST_INSTRUCTIONS).then(|| self.insts.len() - 1)
    }

    fn register(&mut self) -> usize {
        self.registers += 1;
        self.registers - 1
    }

    /// Equal classes are one: a lookbehind writes its inside once for each width.
    fn class(&mut self, text: &str) -> Option<()> {
        let known = self.class_texts.iter().position(|known| **known == *text);
        let class = match known {
            Some(class) => class,
            None => {
                self.classes.push(CharClass::parse(text)?);
                self.class_texts.push(text.into());
                self.classes.len() - 1
            }
        };
        self.push(Inst::Class(class)).map(drop)
    }

    fn emit(&mut self, node: &SyntaxNode) -> Option<()> {
        match node {
            SyntaxNode::Empty => {}
            SyntaxNode::Char { char, ignore_case: false } => drop(self.push(Inst::Char(*char))?),
            SyntaxNode::Char { char, ignore_case: true } => {
                let mut text = String::from("(?i:");
                super::classes::push_char(&mut text, *char);
                text.push(')');
                self.class(&text)?;
            }
            SyntaxNode::Class { text, ignore_case: false } => self.class(text)?,
            SyntaxNode::Class { text, ignore_case: true } => self.class(&format!("(?i:{text})"))?,
            SyntaxNode::Any { newline } => drop(self.push(Inst::Any { newline: *newline })?),
            SyntaxNode::Assertion(place) => {
                let inst = match place {
                    Assertion::Start => Inst::Start,
                    Assertion::End => Inst::End,
                    Assertion::EndOfText => Inst::EndOfText,
                    Assertion::LineStart => Inst::LineStart,
                    Assertion::LineEnd => Inst::LineEnd,
                    Assertion::WordBoundary => Inst::WordBoundary { negative: false },
                    Assertion::NoWordBoundary => Inst::WordBoundary { negative: true },
                    Assertion::SearchStart => Inst::SearchStart,
                };
                self.push(inst)?;
            }
            SyntaxNode::Capture(group, node) => {
                self.push(Inst::Save(2 * group))?;
                self.emit(node)?;
                self.push(Inst::Save(2 * group + 1))?;
            }
            SyntaxNode::Concat(parts) => parts.iter().try_for_each(|part| self.emit(part))?,
            SyntaxNode::Alternate(parts) => {
                self.alternatives(parts.len(), |program, i| program.emit(&parts[i]))?
            }
            SyntaxNode::Repeat { node, min, max, greed } => match greed {
                Greed::Possessive => {
                    let greedy = |program: &mut RegexProgram| program.repeat(node, *min, *max, false);
                    self.atomic(greedy)?;
                }
                greed => self.repeat(node, *min, *max, *greed == Greed::Lazy)?,
            },
            SyntaxNode::Look { node, behind, negative } => self.look(node, *behind, *negative)?,
            SyntaxNode::Atomic(node) => self.atomic(|program| program.emit(node))?,
            SyntaxNode::Backreference { group, ignore_case } => {
                self.push(Inst::Backreference { group: *group, ignore_case: *ignore_case })?;
            }
            SyntaxNode::LineBreak => drop(self.push(Inst::LineBreak)?),
            SyntaxNode::Grapheme => drop(self.push(Inst::Grapheme)?),
            SyntaxNode::Keep => drop(self.push(Inst::Save(0))?),
        }
        Some(())
    }

    /// `count` ways, tried in order.
    fn alternatives(
        &mut self,
        count: usize,
        mut emit: impl FnMut(&mut RegexProgram, usize) -> Option<()>,
    ) -> Option<()> {
        let mut jumps = Vec::new();
        for i in 0..count {
            if i + 1 == count {
                emit(self, i)?;
                break;
            }
            let split = self.push(Inst::Split { first: 0, second: 0 })?;
            emit(self, i)?;
            jumps.push(self.push(Inst::Jump(0))?);
            self.insts[split] = Inst::Split { first: split + 1, second: self.insts.len() };
        }
        for jump in jumps {
            self.insts[jump] = Inst::Jump(self.insts.len());
        }
        Some(())
    }

    fn repeat(&mut self, node: &SyntaxNode, min: u32, max: Option<u32>, lazy: bool) -> Option<()> {
        let split = |taken: usize, exit: usize| {
            if lazy {
                Inst::Split { first: exit, second: taken }
            } else {
                Inst::Split { first: taken, second: exit }
            }
        };
        let never_empty = node.width().0 > 0;
        match (min, max) {
            (1, Some(1)) => self.emit(node)?,
            (0, Some(1)) => {
                let at = self.push(Inst::Jump(0))?;
                self.emit(node)?;
                self.insts[at] = split(at + 1, self.insts.len());
            }
            (0, None) if never_empty => {
                let at = self.push(Inst::Jump(0))?;
                self.emit(node)?;
                self.push(Inst::Jump(at))?;
                self.insts[at] = split(at + 1, self.insts.len());
            }
            (1, None) if never_empty => {
                let at = self.insts.len();
                self.emit(node)?;
                let exit = self.insts.len() + 1;
                self.push(split(at, exit))?;
            }
            (min, max) => {
                let (count, place) = (self.register(), self.register());
                self.push(Inst::LoopStart { count, place })?;
                let head = self.push(Inst::Jump(0))?;
                self.push(Inst::LoopTurn { count, place })?;
                self.emit(node)?;
                self.push(Inst::Jump(head))?;
                let exit = self.insts.len();
                self.insts[head] = Inst::Loop { count, place, min, max, lazy, exit };
            }
        }
        Some(())
    }

    fn atomic(&mut self, emit: impl FnOnce(&mut RegexProgram) -> Option<()>) -> Option<()> {
        let height = self.register();
        self.push(Inst::Mark { height })?;
        emit(self)?;
        self.push(Inst::Commit { height, place: None })?;
        Some(())
    }

    fn look(&mut self, node: &SyntaxNode, behind: bool, negative: bool) -> Option<()> {
        let (height, place) = (self.register(), self.register());
        self.push(Inst::Mark { height })?;
        self.push(Inst::Save(place))?;
        let split = if negative { Some(self.push(Inst::Jump(0))?) } else { None };
        if behind {
            let (least, most) = node.width();
            let most = most?;
            self.alternatives(most - least + 1, |program, i| {
                program.push(Inst::Back(least + i))?;
                program.emit(node)?;
                program.push(Inst::AtPlace(place)).map(drop)
            })?;
        } else {
            self.emit(node)?;
        }
        match split {
            Some(split) => {
                self.push(Inst::Refuse { height })?;
                self.insts[split] = Inst::Split { first: split + 1, second: self.insts.len() };
            }
            None => drop(self.push(Inst::Commit { height, place: Some(place) })?),
        }
        Some(())
    }
}
