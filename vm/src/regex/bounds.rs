//! Where a match begins and where it ends in a long text, found in steps.
//!
//! The automata of `regex-automata` search a text in one go. Here two lazily built automata are driven byte by byte, and others
//! may have the thread after each block of them: one goes forward to the end of the first match, the other one goes back from
//! there to its beginning. Their built states may be kept or not; that changes no answer and no price, because steps are
//! charged for the bytes alone.
//!
//! They know no groups, and no word boundaries beside characters that are not ASCII. [`super::threads`] does.

use super::emit::line_end;
use super::limits::{CACHE_LIMIT, SIZE_LIMIT};
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::look::LookMatcher;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, Span};

/// Bytes of scratch memory for the lazily built states of each automaton.
const SCRATCH: usize = CACHE_LIMIT / 2;
/// Bytes of a text that are searched for the beginning of a match at a time.
const WINDOW: usize = 64 << 10;

/// A pattern as the automata that find where its matches are.
#[derive(Debug)]
pub(super) struct Bounds {
    forward: DFA,
    /// Goes back from the end of a match.
    reverse: DFA,
    /// Finds the texts that all matches begin with, if there are such.
    beginnings: Option<Prefilter>,
    /// Bytes that the scratch memory of both comes to.
    scratch_bytes: usize,
}

/// Where the first match is.
#[derive(Debug, PartialEq)]
pub(super) enum FirstMatch {
    /// There is none.
    No,
    /// It begins and ends here.
    Match(usize, usize),
    /// These automata cannot tell on this text.
    Unsure,
}

/// One end of a match, as [`FirstMatch`].
enum Edge {
    No,
    At(usize),
    Unsure,
}

/// A text, and how it is gone through.
pub(super) struct TextWalk<'t, P> {
    pub(super) text: &'t str,
    /// Bytes between two pauses.
    pub(super) block: usize,
    pub(super) pause: P,
}

impl Bounds {
    /// Compiles `pattern` for texts with a mark, or others. `None` when it gets too large.
    pub(super) fn new(pattern: &str, marked: bool) -> Option<Bounds> {
        let syntax = syntax::Config::new().line_terminator(line_end(marked));
        let hir = syntax::parse_with(pattern, &syntax).ok()?;
        let nfa = |reverse: bool| {
            let mut look = LookMatcher::new();
            look.set_line_terminator(line_end(marked));
            let captures = if reverse { WhichCaptures::None } else { WhichCaptures::All };
            let config = thompson::Config::new()
                .reverse(reverse)
                .nfa_size_limit(Some(SIZE_LIMIT))
                .which_captures(captures)
                .look_matcher(look);
            thompson::Compiler::new().configure(config).build_from_hir(&hir).ok()
        };
        let beginnings =
            Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &hir).filter(Prefilter::is_fast);
        // `\b` is decided between ASCII characters; at others the automata give up.
        let config =
            DFA::config().cache_capacity(SCRATCH).skip_cache_capacity_check(true).unicode_word_boundary(true);
        let forward = DFA::builder()
            .configure(config.clone().specialize_start_states(beginnings.is_some()))
            .build_from_nfa(nfa(false)?)
            .ok()?;
        let reverse =
            DFA::builder().configure(config.match_kind(MatchKind::All)).build_from_nfa(nfa(true)?).ok()?;
        // The automata take more where they cannot work otherwise.
        let scratch_bytes = [&forward, &reverse]
            .map(|dfa| dfa.get_config().get_minimum_cache_capacity(dfa.get_nfa()).unwrap_or(0).max(SCRATCH))
            .iter()
            .sum();
        Some(Bounds { forward, reverse, beginnings, scratch_bytes })
    }

    /// Bytes that it takes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let automata = [&self.forward, &self.reverse];
        let automata: usize =
            automata.map(|dfa| dfa.memory_usage() + dfa.get_nfa().memory_usage()).iter().sum();
        automata + self.beginnings.as_ref().map_or(0, Prefilter::memory_usage)
    }

    /// Bytes of scratch memory that its searches take.
    pub(super) fn scratch_bytes(&self) -> usize {
        self.scratch_bytes
    }

    /// The pattern with its groups.
    pub(super) fn nfa(&self) -> &NFA {
        self.forward.get_nfa()
    }

    /// The automaton that goes forward, for its scratch memory.
    pub(super) fn forward(&self) -> &DFA {
        &self.forward
    }

    /// The automaton that goes back, for its scratch memory.
    pub(super) fn reverse(&self) -> &DFA {
        &self.reverse
    }

    /// The first match at or after `from`; `forward` and `reverse` are the scratch memory of the two automata.
    pub(super) fn find<R>(
        &self,
        forward: &mut Cache,
        reverse: &mut Cache,
        walk: &mut TextWalk<'_, impl FnMut() -> Result<(), R>>,
        from: usize,
    ) -> Result<FirstMatch, R> {
        let mut at = from;
        loop {
            match self.end(forward, walk, at, Anchored::No)? {
                Edge::No => return Ok(FirstMatch::No),
                Edge::Unsure => return Ok(FirstMatch::Unsure),
                Edge::At(end) if walk.text.is_char_boundary(end) => {
                    return Ok(match self.beginning(reverse, walk, at, end)? {
                        Edge::At(start) => FirstMatch::Match(start, end),
                        Edge::No | Edge::Unsure => FirstMatch::Unsure,
                    });
                }
                // The automata see bytes, so that nothing at all is found within a character, too.
                Edge::At(end) => at = walk.text.ceil_char_boundary(end),
            }
        }
    }

    /// The match that begins at the beginning of the text. The pattern says that it ends at its end.
    pub(super) fn matches<R>(
        &self,
        forward: &mut Cache,
        walk: &mut TextWalk<'_, impl FnMut() -> Result<(), R>>,
    ) -> Result<FirstMatch, R> {
        Ok(match self.end(forward, walk, 0, Anchored::Yes)? {
            Edge::No => FirstMatch::No,
            Edge::At(end) => FirstMatch::Match(0, end),
            Edge::Unsure => FirstMatch::Unsure,
        })
    }

    /// The end of the first match at or after `from`.
    fn end<R>(
        &self,
        cache: &mut Cache,
        walk: &mut TextWalk<'_, impl FnMut() -> Result<(), R>>,
        from: usize,
        anchored: Anchored,
    ) -> Result<Edge, R> {
        let (dfa, bytes) = (&self.forward, walk.text.as_bytes());
        let beginnings = self.beginnings.as_ref().filter(|_| anchored == Anchored::No);
        let start = |cache: &mut Cache, at: usize| {
            dfa.start_state_forward(cache, &Input::new(bytes).range(at..).anchored(anchored)).ok()
        };
        let mut at = from;
        if let Some(beginnings) = beginnings {
            match next_beginning(beginnings, walk, at)? {
                Some(place) => at = place,
                None => return Ok(Edge::No),
            }
        }
        let Some(mut state) = start(cache, at) else { return Ok(Edge::Unsure) };
        let mut found = Edge::No;
        while at < bytes.len() {
            (walk.pause)()?;
            let stop = bytes.len().min(at + walk.block);
            while at < stop {
                match dfa.next_state(cache, state, bytes[at]) {
                    Ok(next) => state = next,
                    Err(_) => return Ok(Edge::Unsure),
                }
                if state.is_tagged() {
                    if state.is_dead() {
                        return Ok(found);
                    }
                    if state.is_quit() {
                        return Ok(Edge::Unsure);
                    }
                    if state.is_match() {
                        // A match is noticed one byte late.
                        found = Edge::At(at);
                    } else if let (true, Edge::No, Some(beginnings)) = (state.is_start(), &found, beginnings)
                    {
                        match next_beginning(beginnings, walk, at)? {
                            None => return Ok(Edge::No),
                            Some(place) if place > at => {
                                at = place;
                                match start(cache, at) {
                                    Some(again) => state = again,
                                    None => return Ok(Edge::Unsure),
                                }
                                continue;
                            }
                            Some(_) => {}
                        }
                    }
                }
                at += 1;
            }
        }
        Ok(last(dfa.next_eoi_state(cache, state).ok(), bytes.len(), found))
    }

    /// The beginning of the match that ends at `end`, not before `from`.
    fn beginning<R>(
        &self,
        cache: &mut Cache,
        walk: &mut TextWalk<'_, impl FnMut() -> Result<(), R>>,
        from: usize,
        end: usize,
    ) -> Result<Edge, R> {
        let (dfa, bytes) = (&self.reverse, walk.text.as_bytes());
        let input = Input::new(bytes).range(from..end).anchored(Anchored::Yes);
        let Ok(mut state) = dfa.start_state_reverse(cache, &input) else { return Ok(Edge::Unsure) };
        let mut found = Edge::No;
        let mut at = end;
        while at > from {
            (walk.pause)()?;
            let stop = from.max(at.saturating_sub(walk.block));
            while at > stop {
                at -= 1;
                match dfa.next_state(cache, state, bytes[at]) {
                    Ok(next) => state = next,
                    Err(_) => return Ok(Edge::Unsure),
                }
                if state.is_dead() {
                    return Ok(found);
                }
                if state.is_quit() {
                    return Ok(Edge::Unsure);
                }
                if state.is_match() {
                    found = Edge::At(at + 1);
                }
            }
        }
        let state = match from.checked_sub(1) {
            Some(before) => dfa.next_state(cache, state, bytes[before]),
            None => dfa.next_eoi_state(cache, state),
        };
        Ok(last(state.ok(), from, found))
    }
}

/// The result when the last state, one byte beyond the edge of the searched range, is this one.
fn last(state: Option<LazyStateID>, edge: usize, found: Edge) -> Edge {
    match state {
        Some(state) if state.is_match() => Edge::At(edge),
        Some(state) if !state.is_quit() => found,
        _ => Edge::Unsure,
    }
}

/// The first place at or after `at` where a match may begin.
fn next_beginning<R>(
    beginnings: &Prefilter,
    walk: &mut TextWalk<'_, impl FnMut() -> Result<(), R>>,
    mut at: usize,
) -> Result<Option<usize>, R> {
    let bytes = walk.text.as_bytes();
    loop {
        // What begins in the window may end behind it.
        let sure = at.saturating_add(WINDOW);
        let end = bytes.len().min(sure.saturating_add(beginnings.max_needle_len()));
        match beginnings.find(bytes, Span::from(at..end)) {
            Some(found) if found.start < sure => return Ok(Some(found.start)),
            _ if sure >= bytes.len() => return Ok(None),
            _ => at = sure,
        }
        (walk.pause)()?;
    }
}
