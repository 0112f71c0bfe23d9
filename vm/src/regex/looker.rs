//! How far a search looks beyond its match.
//!
//! A match is known once nothing that is preferred to it can follow. `[a-z]+[0-9]+` needs one character for that, `a.*z|a`
//! may need all that is left, in vain. The engines do not tell how far they looked, but they all stop by the same rule:
//! when no way to match is left. So where it matters a lazily built automaton of our own goes over the same text once more,
//! without captures, and notices where it dies.

use super::emit::line_end;
use super::limits::CACHE_LIMIT;
use super::limits::SIZE_LIMIT;
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::look::LookMatcher;
use regex_automata::util::syntax;
use std::ops::Range;

/// Bytes that are searched for a line end at a time.
const LINE_BLOCK: usize = 64 << 10;

/// The automaton that finds where a search stops.
#[derive(Debug)]
pub(super) struct Looker {
    dfa: DFA,
    /// Whether a way to match may lead over a line feed.
    crosses_lines: bool,
}

impl Looker {
    /// Compiles `pattern` for texts with a mark, or others. `None` when it gets too large.
    pub(super) fn new(pattern: &str, marked: bool, crosses_lines: bool) -> Option<Looker> {
        let mut look = LookMatcher::new();
        look.set_line_terminator(line_end(marked));
        let nfa = thompson::Config::new()
            .nfa_size_limit(Some(SIZE_LIMIT))
            .which_captures(WhichCaptures::None)
            .look_matcher(look);
        // `\b` is decided between ASCII characters; at others the automaton gives up.
        let config = DFA::config()
            .cache_capacity(CACHE_LIMIT)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true);
        let dfa = DFA::builder()
            .configure(config)
            .syntax(syntax::Config::new().line_terminator(line_end(marked)))
            .thompson(nfa)
            .build(pattern)
            .ok()?;
        Some(Looker { dfa, crosses_lines })
    }

    /// Bytes that it takes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.dfa.memory_usage() + self.dfa.get_nfa().memory_usage()
    }

    /// The automaton, for its scratch memory.
    pub(super) fn dfa(&self) -> &DFA {
        &self.dfa
    }

    /// Follows a search to where it stops; `found` is from its beginning to the end of its match. `charge` is given the bytes after the
    /// match, `block` of them at a time, so that it can stop a program that has no steps left.
    pub(super) fn follow<R>(
        &self,
        cache: &mut Cache,
        text: &str,
        found: Range<usize>,
        block: usize,
        mut charge: impl FnMut(usize) -> Result<(), R>,
    ) -> Result<(), R> {
        let Ok(mut state) = self.dfa.start_state_forward(cache, &Input::new(text).range(found.start..))
        else {
            return self.most(text, found.end, charge);
        };
        let mut charged = found.end;
        for (at, byte) in text.as_bytes().iter().enumerate().skip(found.start) {
            if at >= charged + block {
                charge(at - charged)?;
                charged = at;
            }
            state = match self.dfa.next_state(cache, state, *byte) {
                // A dead state stays so.
                Ok(next) if next.is_dead() => return charge((at + 1).saturating_sub(charged)),
                Ok(next) if !next.is_quit() => next,
                _ => return self.most(text, charged, charge),
            };
        }
        charge(text.len() - charged)
    }

    /// Charges the bytes that are looked at from `from` on at most.
    fn most<R>(
        &self,
        text: &str,
        from: usize,
        mut charge: impl FnMut(usize) -> Result<(), R>,
    ) -> Result<(), R> {
        for block in text.as_bytes()[from..].chunks(LINE_BLOCK) {
            let line = if self.crosses_lines { None } else { block.iter().position(|byte| *byte == b'\n') };
            charge(line.map_or(block.len(), |line| line + 1))?;
            if line.is_some() {
                break;
            }
        }
        Ok(())
    }
}
