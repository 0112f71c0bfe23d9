//! The engine for almost all patterns: automata that take time linear in the text.
//!
//! Texts that end in a line feed may be searched in a copy with a mark ([`super::emit`]).

use super::bounds::Bounds;
use super::emit::{MARK, crosses_lines, emit, line_end, whole};
use super::limits::{CACHE_LIMIT, SIZE_LIMIT};
use super::looker::Looker;
use super::sequence::{Groups, Sequence};
use super::syntax::{Assertion, SyntaxNode};
use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::ops::Range;

/// Bytes of a text that are copied at a time.
const COPIED: usize = 256 << 10;

/// A pattern as automata.
#[derive(Debug)]
pub(super) struct Linear {
    node: SyntaxNode,
    groups: usize,
    find: OnceCell<Option<Regex>>,
    /// As `find`, for texts with a mark at the end.
    marked: OnceCell<Option<Regex>>,
    /// Matches whole texts only.
    whole: OnceCell<Option<Regex>>,
    /// The pattern for the engine of short searches.
    sequence: OnceCell<Option<Sequence>>,
    /// Tell where searches stop, `find`'s and `marked`'s.
    lookers: [OnceCell<Option<Looker>>; 2],
    /// Search long texts in steps, for each variant. In a box: most patterns never need one, and it is large.
    bounds: [OnceCell<Option<Box<Bounds>>>; 3],
    /// Whether `^` and `$` are asked about lines.
    line_start: bool,
    lines: bool,
    end_of_text: bool,
}

/// The result of a search.
pub(super) enum SearchResult {
    /// Nothing.
    No,
    /// A match.
    Match(Groups),
    /// The automaton cannot tell on this text.
    Unsure,
}

impl SearchResult {
    /// `None` when the other engine must decide.
    pub(super) fn known(self) -> Option<Option<Groups>> {
        match self {
            SearchResult::No => Some(None),
            SearchResult::Match(groups) => Some(Some(groups)),
            SearchResult::Unsure => None,
        }
    }
}

/// Which of a pattern's automata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Variant {
    Find,
    Marked,
    Whole,
}

/// How a text is to be searched.
pub(crate) enum Plan<T> {
    /// By the plain automaton.
    Plain,
    /// By the automaton for marks, in this copy of the text.
    Marked(T),
    /// By the other engine.
    Backtracking,
}

impl Linear {
    /// Of `node`, which [is linear](SyntaxNode::is_linear) and reports `groups` groups. Builds nothing yet.
    pub(super) fn new(node: &SyntaxNode, groups: usize) -> Linear {
        let line_start = node.asserts(Assertion::LineStart);
        Linear {
            groups,
            find: OnceCell::new(),
            marked: OnceCell::new(),
            whole: OnceCell::new(),
            sequence: OnceCell::new(),
            lookers: [const { OnceCell::new() }; 2],
            bounds: [const { OnceCell::new() }; 3],
            line_start,
            lines: line_start || node.asserts(Assertion::LineEnd),
            end_of_text: node.asserts(Assertion::EndOfText),
            node: node.clone(),
        }
    }

    /// Bytes of all that has been built of it.
    pub(super) fn built_bytes(&self) -> usize {
        fn built<T>(cell: &OnceCell<Option<T>>, bytes: impl FnOnce(&T) -> usize) -> usize {
            cell.get().and_then(Option::as_ref).map_or(0, bytes)
        }
        let automata = [&self.find, &self.marked, &self.whole];
        let automata: usize = automata.map(|cell| built(cell, Regex::memory_usage)).iter().sum();
        let lookers: usize = self.lookers.iter().map(|cell| built(cell, Looker::heap_bytes)).sum();
        let bounds: usize = self
            .bounds
            .iter()
            .map(|cell| built(cell, |bounds| size_of::<Bounds>() + bounds.heap_bytes()))
            .sum();
        automata + lookers + bounds + built(&self.sequence, Sequence::heap_bytes)
    }

    /// How to search `text`. Copies it if there is need; the caller charges for its bytes. `pause` is called again and again.
    pub(super) fn plan<R>(
        &self,
        text: &str,
        mut pause: impl FnMut() -> Result<(), R>,
    ) -> Result<Plan<String>, R> {
        let Some(mut rest) = text.strip_suffix('\n').filter(|_| self.end_of_text) else {
            return Ok(Plan::Plain);
        };
        if self.lines {
            return Ok(Plan::Backtracking);
        }
        let mut marked = String::with_capacity(text.len());
        while !rest.is_empty() {
            let (piece, others) = rest.split_at(rest.floor_char_boundary(COPIED));
            if piece.contains(MARK) {
                return Ok(Plan::Backtracking);
            }
            marked.push_str(piece);
            rest = others;
            if !rest.is_empty() {
                pause()?;
            }
        }
        marked.push(MARK);
        Ok(Plan::Marked(marked))
    }

    /// An automaton, built at its first use.
    pub(super) fn automaton(&self, variant: Variant) -> Option<&Regex> {
        match variant {
            Variant::Find => self.find.get_or_init(|| build(&emit(&self.node, false)?, false).ok()).as_ref(),
            Variant::Marked => {
                self.marked.get_or_init(|| build(&emit(&self.node, true)?, true).ok()).as_ref()
            }
            Variant::Whole => {
                self.whole.get_or_init(|| build(&whole(&emit(&self.node, false)?), false).ok()).as_ref()
            }
        }
    }

    /// The pattern as a sequence, if it is one. Read at its first use.
    pub(super) fn sequence(&self) -> Option<&Sequence> {
        self.sequence.get_or_init(|| Sequence::new(&self.node, self.groups)).as_ref()
    }

    /// The automaton that finds where searches stop, in texts with a mark or others. Built at its first use; `None` if it is
    /// too large.
    pub(super) fn looker(&self, variant: Variant) -> Option<&Looker> {
        let marked = variant == Variant::Marked;
        self.lookers[usize::from(marked)]
            .get_or_init(|| Looker::new(&emit(&self.node, marked)?, marked, crosses_lines(&self.node)))
            .as_ref()
    }

    /// The automata that find matches in long texts. Built at first use; `None` if they are too large.
    pub(super) fn bounds(&self, variant: Variant) -> Option<&Bounds> {
        let (marked, cell) = match variant {
            Variant::Find => (false, &self.bounds[0]),
            Variant::Marked => (true, &self.bounds[1]),
            Variant::Whole => (false, &self.bounds[2]),
        };
        cell.get_or_init(|| {
            let pattern = emit(&self.node, marked)?;
            Bounds::new(&if variant == Variant::Whole { whole(&pattern) } else { pattern }, marked)
                .map(Box::new)
        })
        .as_deref()
    }

    /// How many groups it reports besides the whole match.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// The match that is known to be at `range`, with its groups. `None` if there is none after all.
    pub(super) fn groups_of(
        &self,
        automaton: &Regex,
        cache: &mut Cache,
        text: &str,
        range: Range<usize>,
    ) -> Option<Groups> {
        search(automaton, cache, self.groups, Input::new(text).range(range).anchored(Anchored::Yes))
    }

    /// The first match at or after `from`.
    pub(super) fn find(&self, automaton: &Regex, cache: &mut Cache, text: &str, from: usize) -> SearchResult {
        match search(automaton, cache, self.groups, Input::new(text).range(from..)) {
            None => SearchResult::No,
            Some(groups) if groups[0].is_some_and(|(_, end)| self.is_in_doubt(text, end)) => {
                SearchResult::Unsure
            }
            Some(groups) => SearchResult::Match(groups),
        }
    }

    /// Whether a match that ends here may be none: `^` in lines holds at the end of a text that ends in a line feed for the
    /// automata, and should not.
    pub(super) fn is_in_doubt(&self, text: &str, end: usize) -> bool {
        self.line_start && end == text.len() && text.ends_with('\n')
    }

    /// Whether the match of the whole text is beyond the automata: a `$` inside may hold before the last line feed.
    pub(super) fn is_whole_in_doubt(&self, text: &str) -> bool {
        (self.line_start || self.end_of_text) && text.ends_with('\n')
    }

    /// The match of the whole text.
    pub(super) fn matches(&self, automaton: &Regex, cache: &mut Cache, text: &str) -> SearchResult {
        if self.is_whole_in_doubt(text) {
            return SearchResult::Unsure;
        }
        match search(automaton, cache, self.groups, Input::new(text).anchored(Anchored::Yes)) {
            None => SearchResult::No,
            Some(groups) => SearchResult::Match(groups),
        }
    }
}

fn search(automaton: &Regex, cache: &mut Cache, groups: usize, input: Input<'_>) -> Option<Groups> {
    // Two slots a group, of the only pattern there is; those of most patterns need no allocation. The automaton forgets groups
    // that are repeated no times.
    let mut slots: SmallVec<[Option<NonMaxUsize>; 8]> = SmallVec::from_elem(None, 2 * (groups + 1));
    automaton.search_slots_with(cache, &input, &mut slots)?;
    Some(slots.chunks_exact(2).map(|ends| Some((ends[0]?.get(), ends[1]?.get()))).collect())
}

fn build(pattern: &str, marked: bool) -> Result<Regex, Box<BuildError>> {
    let line_end = line_end(marked);
    let config = Config::new()
        .nfa_size_limit(Some(SIZE_LIMIT))
        .onepass_size_limit(Some(SIZE_LIMIT / 8))
        .dfa_size_limit(Some(SIZE_LIMIT / 8))
        .hybrid_cache_capacity(CACHE_LIMIT)
        .line_terminator(line_end);
    let syntax = syntax::Config::new().line_terminator(line_end);
    Regex::builder().configure(config).syntax(syntax).build(pattern).map_err(Box::new)
}
