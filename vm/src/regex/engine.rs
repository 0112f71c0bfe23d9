//! A compiled pattern, and the cache of those that a thread has used.

use super::linear::{Found, Groups, Linear, Plan, Variant};
use super::meter::{Meter, Searched, Stop};
use super::parser::{PatternError, parse};
use super::program::Program;
use super::sequence::SequenceMatch;
use super::syntax::Pattern;
use ahash::AHashMap;
use regex_automata::hybrid::dfa::Cache as LookerCache;
use regex_automata::meta::Cache;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// Patterns that a thread keeps compiled.
const KEPT_PATTERNS: usize = 128;
/// Bytes that they may take together.
const KEPT_BYTES: usize = 4 << 20;
/// Automata whose scratch memory a thread keeps.
const KEPT_SCRATCH: usize = 16;
/// Bytes that are built before automata are given up as too large.
const GIVEN_UP: usize = 2 << 20;
/// Bytes of a compiled pattern that make each byte of text one step dearer to search.
const BYTES_PER_WEIGHT: usize = 8 << 10;
/// Bytes beyond its match that the price of a search covers, divided by the pattern's weight.
const COVERED: usize = 64;

/// A compiled pattern.
pub(crate) struct Engine(Rc<Compiled>);

struct Compiled {
    /// Key of its scratch memory.
    id: u64,
    pattern: Pattern,
    /// The linear engine, for patterns that it can match.
    linear: Option<Linear>,
    /// The backtracking engine, built when it is needed.
    backtracking: OnceCell<Option<Program>>,
    /// Bytes that it takes, about.
    size: usize,
    /// Most bytes that a search looks at beyond its match, if the pattern bounds them.
    overrun: Option<usize>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("pattern", &self.0.pattern).finish_non_exhaustive()
    }
}

/// Why there is no engine for a pattern.
pub(crate) enum Refusal {
    Unreadable(PatternError),
    TooLarge,
}

impl Refusal {
    /// Where in the pattern it was noticed.
    pub(crate) fn position(&self) -> usize {
        match self {
            Refusal::Unreadable(error) => error.position,
            Refusal::TooLarge => 0,
        }
    }

    /// What is wrong.
    pub(crate) fn text(&self) -> &str {
        match self {
            Refusal::Unreadable(error) => &error.text,
            Refusal::TooLarge => "regular expression is too large",
        }
    }
}

#[derive(Default)]
struct Kept {
    patterns: AHashMap<Box<str>, Rc<Compiled>>,
    bytes: usize,
    next_id: u64,
    searching: Scratch<Cache>,
    looking: Scratch<LookerCache>,
}

/// Scratch memory of automata, most recently used last.
struct Scratch<C>(Vec<(Key, Box<C>)>);

/// A pattern's id, and which of its automata.
type Key = (u64, Variant);

impl<C> Default for Scratch<C> {
    fn default() -> Scratch<C> {
        Scratch(Vec::new())
    }
}

impl<C> Scratch<C> {
    fn take(&mut self, key: Key) -> Option<Box<C>> {
        let at = self.0.iter().rposition(|(known, _)| *known == key)?;
        Some(self.0.remove(at).1)
    }

    fn put(&mut self, key: Key, cache: Box<C>) {
        if self.0.len() >= KEPT_SCRATCH {
            self.0.remove(0);
        }
        self.0.push((key, cache));
    }
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

fn compiled(source: &str) -> Result<Rc<Compiled>, Refusal> {
    if let Some(known) = KEPT.with_borrow(|kept| kept.patterns.get(source).cloned()) {
        return Ok(known);
    }
    let pattern = parse(source).map_err(Refusal::Unreadable)?;
    // What gets too large as automata, such as `\w{1,200}`, is small as instructions.
    let linear = if pattern.node.is_linear() { Linear::new(&pattern.node) } else { None };
    let backtracking = OnceCell::new();
    let mut size = 512 + source.len() + linear.as_ref().map_or(0, Linear::size);
    if linear.is_none() {
        let program = Program::new(&pattern).ok_or(Refusal::TooLarge)?;
        size += program.size();
        let _ = backtracking.set(Some(program));
    }
    Ok(KEPT.with_borrow_mut(|kept| {
        if kept.patterns.len() >= KEPT_PATTERNS || kept.bytes + size > KEPT_BYTES {
            kept.patterns.clear();
            kept.bytes = 0;
        }
        kept.next_id += 1;
        let overrun = pattern.node.overrun().map(|characters| characters.saturating_mul(4));
        let compiled = Rc::new(Compiled { id: kept.next_id, pattern, linear, backtracking, size, overrun });
        kept.bytes += size;
        kept.patterns.insert(source.into(), compiled.clone());
        compiled
    }))
}

impl Engine {
    /// The engine of a pattern, from the cache if the thread has used it before.
    pub(crate) fn new(source: &str) -> Result<Engine, Refusal> {
        compiled(source).map(Engine)
    }

    /// Bytes that it takes, about.
    pub(crate) fn size(&self) -> usize {
        self.0.size
    }

    /// Bytes that building it has taken, about: more than it takes where automata were given up as too large.
    pub(crate) fn built(&self) -> usize {
        let gave_up = self.0.linear.is_none() && self.0.pattern.node.is_linear();
        if gave_up { GIVEN_UP } else { self.0.size }
    }

    /// How many groups it reports besides the whole match.
    pub(crate) fn groups(&self) -> usize {
        self.0.pattern.groups
    }

    /// The number of the group of this name.
    pub(crate) fn group_named(&self, name: &str) -> Option<usize> {
        self.0.pattern.names.iter().find(|(known, _)| known == name).map(|(_, group)| *group)
    }

    /// Steps that searching one byte costs: pattern size times subject (ruling 7).
    fn weight(&self) -> u64 {
        1 + (self.0.size / BYTES_PER_WEIGHT) as u64
    }

    /// Charges a search that will look at `bytes` bytes up to the end of its match.
    pub(crate) fn charge<M: Meter>(&self, meter: &M, bytes: usize) -> Result<(), M::Refusal> {
        meter.charge(4 + (bytes as u64 / 8).saturating_mul(self.weight()))
    }

    /// How to search `text`, to be asked once for all searches in it.
    pub(crate) fn plan<M: Meter>(&self, meter: &M, text: &str) -> Result<Plan<String>, M::Refusal> {
        let Some(linear) = &self.0.linear else { return Ok(Plan::Backtracking) };
        meter.reserve(text.len())?;
        Ok(linear.plan(text))
    }

    /// The first match at or after byte `from`, by the [plan](Engine::plan) for `text`. The caller
    /// [charges](Engine::charge) it.
    pub(crate) fn find<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        from: usize,
        plan: &Plan<impl AsRef<str>>,
    ) -> Searched<Option<Groups>, M> {
        Ok(self.search(meter, text, from, plan)?.map(|(groups, _)| groups))
    }

    /// As [`find`](Engine::find), on a walk from match to match: charges what the search has looked at beyond its match, since
    /// what is charged for the text covers no more than one look at each place.
    pub(crate) fn find_next<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        from: usize,
        plan: &Plan<impl AsRef<str>>,
    ) -> Searched<Option<Groups>, M> {
        let Some((groups, looked)) = self.search(meter, text, from, plan)? else { return Ok(None) };
        // The first search has been paid for with the text.
        if from > 0
            && let Some((_, end)) = groups[0]
        {
            self.charge_beyond(meter, text, (from, end.max(from)), plan, looked)?;
        }
        Ok(Some(groups))
    }

    /// The first match, and the end of what was looked at if that is known.
    fn search<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        mut from: usize,
        plan: &Plan<impl AsRef<str>>,
    ) -> Searched<Option<(Groups, Option<usize>)>, M> {
        let automata = |groups: Groups| (groups, None);
        let (variant, searched) = match plan {
            Plan::Plain => (Variant::Find, text),
            Plan::Marked(marked) => (Variant::Marked, marked.as_ref()),
            Plan::Backtracking => {
                return Ok(self.backtracking::<M>()?.find(meter, text, from)?.map(automata));
            }
        };
        if let Some(linear) = &self.0.linear {
            if variant == Variant::Find
                && let Some(sequence) = linear.sequence()
            {
                match sequence.find(text, from) {
                    SequenceMatch::No => return Ok(None),
                    SequenceMatch::Match(groups, looked) => return Ok(Some((groups, Some(looked)))),
                    SequenceMatch::Elsewhere(place) => from = place,
                }
            }
            if let Some(found) =
                self.run(linear, variant, |automaton, cache| linear.find(automaton, cache, searched, from))
            {
                return Ok(found.map(automata));
            }
        }
        Ok(self.backtracking::<M>()?.find(meter, text, from)?.map(automata))
    }

    fn charge_beyond<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        (from, end): (usize, usize),
        plan: &Plan<impl AsRef<str>>,
        looked: Option<usize>,
    ) -> Result<(), M::Refusal> {
        let most = looked.unwrap_or(text.len()).saturating_sub(end);
        let weight = self.weight();
        let covered = |bytes: usize| (bytes as u64).saturating_mul(weight) <= COVERED as u64;
        if covered(most) || self.0.overrun.is_some_and(covered) {
            return Ok(());
        }
        let charge = |bytes: usize| meter.charge((bytes as u64 / 8).saturating_mul(weight));
        let (variant, searched) = match plan {
            _ if looked.is_some() => return charge(most),
            Plan::Plain => (Variant::Find, text),
            Plan::Marked(marked) => (Variant::Marked, marked.as_ref()),
            // Each step of that engine is counted.
            Plan::Backtracking => return Ok(()),
        };
        let Some(looker) = self.0.linear.as_ref().and_then(|linear| linear.looker(variant)) else {
            return charge(most);
        };
        let key = (self.0.id, variant);
        let kept = KEPT.with_borrow_mut(|kept| kept.looking.take(key));
        let mut cache = kept.unwrap_or_else(|| Box::new(looker.create_cache()));
        let charged = looker.follow(&mut cache, searched, (from, end), charge);
        KEPT.with_borrow_mut(|kept| kept.looking.put(key, cache));
        charged
    }

    /// The match of the whole text. The caller [charges](Engine::charge) it.
    pub(crate) fn matches<M: Meter>(&self, meter: &M, text: &str) -> Searched<Option<Groups>, M> {
        if let Some(sequence) = self.0.linear.as_ref().and_then(Linear::sequence) {
            return Ok(sequence.matches(text));
        }
        if let Some(linear) = &self.0.linear
            && let Some(found) =
                self.run(linear, Variant::Whole, |automaton, cache| linear.matches(automaton, cache, text))
        {
            return Ok(found);
        }
        self.backtracking::<M>()?.matches(meter, text)
    }

    /// Runs one of the automata with its scratch memory. `None` when the other engine must decide.
    fn run(
        &self,
        linear: &Linear,
        variant: Variant,
        search: impl FnOnce(&regex_automata::meta::Regex, &mut Cache) -> Found,
    ) -> Option<Option<Groups>> {
        let automaton = linear.automaton(variant)?;
        let key = (self.0.id, variant);
        let kept = KEPT.with_borrow_mut(|kept| kept.searching.take(key));
        let mut cache = kept.unwrap_or_else(|| Box::new(automaton.create_cache()));
        let found = search(automaton, &mut cache);
        KEPT.with_borrow_mut(|kept| kept.searching.put(key, cache));
        match found {
            Found::No => Some(None),
            Found::Match(groups) => Some(Some(groups)),
            Found::Unsure => None,
        }
    }

    fn backtracking<M: Meter>(&self) -> Searched<&Program, M> {
        self.0.backtracking.get_or_init(|| Program::new(&self.0.pattern)).as_ref().ok_or(Stop::TooComplex)
    }
}
