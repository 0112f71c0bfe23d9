//! The engine for patterns with lookaround, backreferences and the like: it tries one way after the other, with
//! every step counted.
//!
//! Its steps are the program's steps, charged as they are taken, and their number is bounded: 100 000 from one
//! starting place ([`START_LIMIT`]), and an amount in proportion to the text for a whole search. A general
//! purpose engine of this kind counts only its returns and may scan the whole text between two of them.

use super::meter::{Meter, SearchOutcome, SearchStop};
use super::program::{Inst, RegexProgram};
use super::sequence::Groups;
use unicode_segmentation::{GraphemeCursor, GraphemeIncomplete};

/// Most steps from one starting place (ruling 7).
const START_LIMIT: u32 = 100_000;
/// Most steps of a search on a short text.
const SEARCH_LIMIT: u64 = 1_000_000;
/// Steps more for each byte of the text.
const STEPS_PER_BYTE: u64 = 32;
/// Steps that are charged at a time.
const CHUNK: u32 = 64;
/// Bytes of a grapheme that are looked at in one go.
const GRAPHEME_PART: usize = 8 << 10;

/// Something to undo, or another way to try.
#[derive(Clone, Copy)]
enum Backtrack {
    /// Go on at this instruction and place.
    Branch { inst: u32, at: u32 },
    /// Put a register back.
    Restore { register: u32, value: u32 },
}

struct BacktrackSearch<'a, M> {
    meter: &'a M,
    program: &'a RegexProgram,
    text: &'a str,
    from: usize,
    registers: Vec<u32>,
    stack: Vec<Backtrack>,
    /// Steps left of the whole search.
    left: u64,
    /// Steps taken and not charged yet.
    uncharged: u32,
}

/// A register that has no value.
const UNSET: u32 = u32::MAX;

impl RegexProgram {
    /// The first match at or after `from`.
    pub(super) fn find<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        from: usize,
    ) -> SearchOutcome<Option<Groups>, M> {
        let mut search = self.search(meter, text, from)?;
        let mut at = from;
        loop {
            if let Some(groups) = search.attempt(at, false)? {
                return Ok(Some(groups));
            }
            let Some(c) = text[at..].chars().next() else { return Ok(None) };
            at += c.len_utf8();
        }
    }

    /// The match of the whole text.
    pub(super) fn matches<M: Meter>(&self, meter: &M, text: &str) -> SearchOutcome<Option<Groups>, M> {
        self.search(meter, text, 0)?.attempt(0, true)
    }

    fn search<'a, M: Meter>(
        &'a self,
        meter: &'a M,
        text: &'a str,
        from: usize,
    ) -> SearchOutcome<BacktrackSearch<'a, M>, M> {
        // Places are kept in 32 bits.
        if u32::try_from(text.len()).is_err() {
            return Err(SearchStop::TooComplex);
        }
        Ok(BacktrackSearch {
            meter,
            program: self,
            text,
            from,
            registers: vec![UNSET; self.registers],
            stack: Vec::new(),
            left: SEARCH_LIMIT + STEPS_PER_BYTE * (text.len() - from) as u64,
            uncharged: 0,
        })
    }
}

impl<M: Meter> BacktrackSearch<'_, M> {
    /// Tries to match at `start`.
    fn attempt(&mut self, start: usize, whole: bool) -> SearchOutcome<Option<Groups>, M> {
        self.registers.fill(UNSET);
        self.stack.clear();
        let mut steps = 0;
        let (mut inst, mut at) = (0, start);
        self.registers[0] = start as u32;
        loop {
            steps += 1;
            self.uncharged += 1;
            if self.uncharged >= CHUNK {
                self.meter.charge(u64::from(self.uncharged))?;
                self.left = self.left.saturating_sub(u64::from(self.uncharged));
                self.uncharged = 0;
            }
            if steps > START_LIMIT || self.left == 0 {
                return Err(SearchStop::TooComplex);
            }
            let next = match self.step(inst, at)? {
                MatchStep::At(next, place) => Some((next, place)),
                MatchStep::Fail => self.back(),
                MatchStep::Match if whole && at != self.text.len() => self.back(),
                MatchStep::Match => {
                    self.registers[1] = at as u32;
                    return Ok(Some(self.groups()));
                }
            };
            match next {
                Some((next, place)) => (inst, at) = (next, place),
                None => return Ok(None),
            }
        }
    }

    fn groups(&self) -> Groups {
        self.registers[..2 * (self.program.groups + 1)]
            .chunks_exact(2)
            .map(|pair| match pair {
                [start, end] if *start != UNSET && *end != UNSET => Some((*start as usize, *end as usize)),
                _ => None,
            })
            .collect()
    }

    /// The last way that has not been tried.
    fn back(&mut self) -> Option<(usize, usize)> {
        while let Some(entry) = self.stack.pop() {
            match entry {
                Backtrack::Branch { inst, at } => return Some((inst as usize, at as usize)),
                Backtrack::Restore { register, value } => self.registers[register as usize] = value,
            }
        }
        None
    }

    fn push(&mut self, entry: Backtrack) -> SearchOutcome<(), M> {
        if self.stack.len() == self.stack.capacity() {
            self.meter.reserve((self.stack.capacity() + 16) * 3 * size_of::<Backtrack>())?;
        }
        self.stack.push(entry);
        Ok(())
    }

    fn branch(&mut self, inst: usize, at: usize) -> SearchOutcome<(), M> {
        self.push(Backtrack::Branch { inst: inst as u32, at: at as u32 })
    }

    fn set(&mut self, register: usize, value: u32) -> SearchOutcome<(), M> {
        let old = std::mem::replace(&mut self.registers[register], value);
        self.push(Backtrack::Restore { register: register as u32, value: old })
    }

    /// Drops the alternatives opened above `height`, but not the undo entries.
    fn commit(&mut self, height: usize) {
        let mut kept = height;
        for i in height..self.stack.len() {
            if let entry @ Backtrack::Restore { .. } = self.stack[i] {
                self.stack[kept] = entry;
                kept += 1;
            }
        }
        self.uncharged += ((self.stack.len() - height) / 8) as u32;
        self.stack.truncate(kept);
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.text[at..].chars().next()
    }

    fn char_before(&self, at: usize) -> Option<char> {
        self.text[..at].chars().next_back()
    }

    /// Where the grapheme ends that begins at `at`. It may be as long as the text, a letter under a million accents, and is
    /// looked at and paid for in parts.
    fn grapheme_end(&self, at: usize) -> SearchOutcome<Option<usize>, M> {
        let rest = &self.text[at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let mut cursor = GraphemeCursor::new(0, rest.len(), true);
        let mut shown = 0;
        loop {
            shown = rest.ceil_char_boundary(shown + GRAPHEME_PART);
            match cursor.next_boundary(&rest[..shown], 0) {
                Ok(end) => return Ok(Some(at + end.unwrap_or(rest.len()))),
                Err(GraphemeIncomplete::NextChunk) => self.meter.charge(GRAPHEME_PART as u64 / 4)?,
                Err(error) => unreachable!("all that comes before is shown: {error:?}"),
            }
        }
    }

    fn step(&mut self, inst: usize, at: usize) -> SearchOutcome<MatchStep, M> {
        let program = self.program;
        let go = |holds: bool| if holds { MatchStep::At(inst + 1, at) } else { MatchStep::Fail };
        Ok(match &program.insts[inst] {
            Inst::Match => MatchStep::Match,
            Inst::Char(c) => match self.char_at(at) {
                Some(found) if found == *c => MatchStep::At(inst + 1, at + found.len_utf8()),
                _ => MatchStep::Fail,
            },
            Inst::Class(class) => match self.char_at(at) {
                Some(found) if program.classes[*class].contains(found) => {
                    MatchStep::At(inst + 1, at + found.len_utf8())
                }
                _ => MatchStep::Fail,
            },
            Inst::Any { newline } => match self.char_at(at) {
                Some(found) if *newline || found != '\n' => MatchStep::At(inst + 1, at + found.len_utf8()),
                _ => MatchStep::Fail,
            },
            Inst::LineBreak => match &self.text.as_bytes()[at..] {
                [b'\r', b'\n', ..] => MatchStep::At(inst + 1, at + 2),
                _ => match self.char_at(at) {
                    Some(c @ ('\n' | '\x0B' | '\x0C' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')) => {
                        MatchStep::At(inst + 1, at + c.len_utf8())
                    }
                    _ => MatchStep::Fail,
                },
            },
            Inst::Grapheme => match self.grapheme_end(at)? {
                Some(end) => MatchStep::At(inst + 1, end),
                None => MatchStep::Fail,
            },
            Inst::Start => go(at == 0),
            Inst::End => go(at == self.text.len()),
            Inst::EndOfText => go(matches!(&self.text[at..], "" | "\n")),
            Inst::LineStart => go(at == 0 || (at < self.text.len() && self.text.as_bytes()[at - 1] == b'\n')),
            Inst::LineEnd => go(matches!(self.text.as_bytes().get(at), None | Some(b'\n'))),
            Inst::WordBoundary { negative } => {
                let word = |c: Option<char>| c.is_some_and(|c| program.word.contains(c));
                let boundary = word(self.char_before(at)) != word(self.char_at(at));
                go(boundary != *negative)
            }
            Inst::SearchStart => go(at == self.from),
            Inst::Jump(to) => MatchStep::At(*to, at),
            Inst::Split { first, second } => {
                self.branch(*second, at)?;
                MatchStep::At(*first, at)
            }
            Inst::Save(register) => {
                self.set(*register, at as u32)?;
                MatchStep::At(inst + 1, at)
            }
            Inst::LoopStart { count, place } => {
                self.set(*count, 0)?;
                self.set(*place, UNSET)?;
                MatchStep::At(inst + 1, at)
            }
            Inst::Loop { count, place, min, max, lazy, exit } => {
                let done = self.registers[*count];
                if done < *min {
                    MatchStep::At(inst + 1, at)
                } else if max.is_some_and(|max| done >= max) || self.registers[*place] == at as u32 {
                    // Full, or the last turn matched nothing and so would all others.
                    MatchStep::At(*exit, at)
                } else if *lazy {
                    self.branch(inst + 1, at)?;
                    MatchStep::At(*exit, at)
                } else {
                    self.branch(*exit, at)?;
                    MatchStep::At(inst + 1, at)
                }
            }
            Inst::LoopTurn { count, place } => {
                self.set(*count, self.registers[*count] + 1)?;
                self.set(*place, at as u32)?;
                MatchStep::At(inst + 1, at)
            }
            Inst::Mark { height } => {
                let top = self.stack.len() as u32;
                self.set(*height, top)?;
                MatchStep::At(inst + 1, at)
            }
            Inst::Commit { height, place } => {
                let top = self.registers[*height] as usize;
                self.commit(top);
                let at = place.map_or(at, |place| self.registers[place] as usize);
                MatchStep::At(inst + 1, at)
            }
            Inst::Refuse { height } => {
                let top = self.registers[*height] as usize;
                while self.stack.len() > top {
                    if let Some(Backtrack::Restore { register, value }) = self.stack.pop() {
                        self.registers[register as usize] = value;
                    }
                }
                MatchStep::Fail
            }
            Inst::Back(chars) => {
                let mut place = at;
                for _ in 0..*chars {
                    match self.char_before(place) {
                        Some(c) => place -= c.len_utf8(),
                        None => return Ok(MatchStep::Fail),
                    }
                }
                MatchStep::At(inst + 1, place)
            }
            Inst::AtPlace(register) => go(self.registers[*register] == at as u32),
            Inst::Backreference { group, ignore_case } => {
                let (start, end) = (self.registers[2 * group], self.registers[2 * group + 1]);
                if start == UNSET || end == UNSET {
                    return Ok(MatchStep::Fail);
                }
                let wanted = &self.text[start as usize..end as usize];
                self.uncharged += (wanted.len() / 16) as u32;
                let rest = &self.text[at..];
                if rest.starts_with(wanted) {
                    MatchStep::At(inst + 1, at + wanted.len())
                } else if *ignore_case {
                    match same_ignoring_case(rest, wanted) {
                        Some(length) => MatchStep::At(inst + 1, at + length),
                        None => MatchStep::Fail,
                    }
                } else {
                    MatchStep::Fail
                }
            }
        })
    }
}

/// The next step after an instruction.
enum MatchStep {
    At(usize, usize),
    Fail,
    Match,
}

/// How many bytes of `rest` are `wanted` but for case.
fn same_ignoring_case(rest: &str, wanted: &str) -> Option<usize> {
    let mut found = rest.chars();
    for c in wanted.chars() {
        let other = found.next()?;
        if c != other && !c.to_lowercase().eq(other.to_lowercase()) {
            return None;
        }
    }
    Some(rest.len() - found.as_str().len())
}
