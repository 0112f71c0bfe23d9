//! A pattern and its compiled forms, and the cache of those that a thread has used.
//!
//! A pattern is read when its value is made, in time linear in its text. Everything else is built at its first use, after
//! the program that uses it has paid for it ([`Meter::pay`]).

use super::cursor::PatternError;
use super::linear::{Linear, Plan, SearchResult, Variant};
use super::looker::Looker;
use super::meter::{CompiledForm, Meter, SearchOutcome, SearchStop};
use super::parser::parse;
use super::price;
use super::program::{MOST_INSTRUCTIONS, RegexProgram};
use super::scratch::Scratch;
use super::sequence::{Groups, Sequence, SequenceMatch};
use super::syntax::Pattern;
use ahash::{AHashMap, RandomState};
use regex_automata::hybrid::dfa::{Cache as StepperCache, DFA};
use regex_automata::meta::Cache;
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::sync::LazyLock;

/// Patterns that a thread keeps.
const KEPT_PATTERNS: usize = 128;
/// Bytes that they may take together, with their compiled forms.
const KEPT_BYTES: usize = 4 << 20;
/// Bytes of a pattern that has been read, and of a place in the cache.
const READ_BYTES: usize = 1024;
/// Bytes of its text and of its tree, which the linear engine has once more, for each byte of its text.
const READ_BYTES_PER_BYTE: usize = 100;
/// States times bytes of a search up to which it need not yield: less than a tenth of a millisecond's.
const SHORT_GO: usize = 4_000;
/// Bytes beyond its match that the price of a search covers, divided by the pattern's weight.
const COVERED: usize = 64;

/// A pattern as its values share it.
pub(crate) struct Engine(pub(super) Rc<CompiledPattern>);

pub(super) struct CompiledPattern {
    /// Key of its scratch memory.
    id: u64,
    /// Stands for its text.
    text: u64,
    pattern: Pattern,
    /// Steps that building one of its automata takes, about.
    pub(super) price: u64,
    /// Steps that writing the instructions of the backtracking engine takes, about.
    program_price: u64,
    /// The linear engine, for patterns that it can match at a price that is not too high.
    pub(super) linear: Option<Linear>,
    /// The backtracking engine, built when it is needed.
    backtracking: OnceCell<Option<RegexProgram>>,
    /// Bytes that it takes before anything has been built of it.
    read_bytes: usize,
    /// Bytes that it takes, with all that has been built of it.
    bytes: Cell<usize>,
    /// Most bytes that a search looks at beyond its match, if the pattern bounds them.
    overrun: Option<usize>,
    /// States that a search may have to look at for each byte, at most.
    pub(super) effort: usize,
}

thread_local! {
    static KEPT: RefCell<EngineCache> = RefCell::default();

    /// Bytes of all patterns on this thread, with any owner.
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

impl CompiledPattern {
    /// Counts its compiled forms.
    fn measure(&self) {
        let built = self.linear.as_ref().map_or(0, Linear::built_bytes)
            + self.backtracking.get().and_then(Option::as_ref).map_or(0, RegexProgram::size);
        let bytes = self.read_bytes + built;
        BYTES.set(BYTES.get() + bytes - self.bytes.replace(bytes));
    }
}

impl Drop for CompiledPattern {
    fn drop(&mut self) {
        // A thread's counter may end before its cache does.
        let _ = BYTES.try_with(|all| all.set(all.get() - self.bytes.get()));
    }
}

/// Bytes of all patterns on this thread with their compiled forms, and of the scratch memory that is kept.
pub(crate) fn compiled_bytes() -> usize {
    BYTES.get() + KEPT.with_borrow(|kept| kept.searching.bytes + kept.stepping.bytes)
}

/// Forgets the patterns and the scratch memory that the thread keeps. Those that values have stay theirs.
pub(crate) fn give_way() {
    let kept = KEPT.with_borrow_mut(|kept| {
        let next_id = kept.next_id;
        std::mem::replace(kept, EngineCache { next_id, ..EngineCache::default() })
    });
    drop(kept);
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("pattern", &self.0.pattern).finish_non_exhaustive()
    }
}

/// Why there is no engine for a pattern.
pub(crate) enum RegexEngineError {
    Unreadable(PatternError),
    TooLarge,
}

impl RegexEngineError {
    /// Where in the pattern it was noticed.
    pub(crate) fn position(&self) -> usize {
        match self {
            RegexEngineError::Unreadable(error) => error.position,
            RegexEngineError::TooLarge => 0,
        }
    }

    /// The fault.
    pub(crate) fn text(&self) -> &str {
        match self {
            RegexEngineError::Unreadable(error) => &error.text,
            RegexEngineError::TooLarge => "regular expression is too large",
        }
    }
}

#[derive(Default)]
struct EngineCache {
    patterns: AHashMap<Box<str>, Rc<CompiledPattern>>,
    next_id: u64,
    searching: Scratch<(u64, Variant), Cache>,
    /// Of the automata that go byte by byte.
    stepping: Scratch<(u64, Stepper), StepperCache>,
}

/// Which of a pattern's automata that go byte by byte.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Stepper {
    /// Tells where searches stop.
    Looker(Variant),
    /// Finds the ends of matches.
    Forward(Variant),
    /// Finds their beginnings.
    Reverse(Variant),
}

impl EngineCache {
    /// Forgets all patterns when they take too much.
    fn shed(&mut self) {
        if self.patterns.values().map(|known| known.bytes.get()).sum::<usize>() > KEPT_BYTES {
            self.patterns.clear();
        }
    }
}

/// The hash of a pattern's text. The keys are made once a process, so that colliding texts cannot be prepared.
fn text_hash(source: &str) -> u64 {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYS.hash_one(source)
}

fn read(source: &str) -> Result<Rc<CompiledPattern>, RegexEngineError> {
    if let Some(known) = KEPT.with_borrow(|kept| kept.patterns.get(source).cloned()) {
        return Ok(known);
    }
    let pattern = parse(source).map_err(RegexEngineError::Unreadable)?;
    if price::instructions(&pattern.node) >= MOST_INSTRUCTIONS {
        return Err(RegexEngineError::TooLarge);
    }
    let price = price::automaton(&pattern.node);
    // What gets too large as automata, such as `\w{1,200}`, is small as instructions.
    let linear = (price <= price::MOST_STEPS && pattern.node.is_linear())
        .then(|| Linear::new(&pattern.node, pattern.groups));
    let overrun = pattern.node.overrun().map(|characters| characters.saturating_mul(4));
    let effort = price::effort(&pattern.node);
    let mut compiled = CompiledPattern {
        id: 0,
        text: text_hash(source),
        price,
        program_price: price::program(&pattern.node),
        pattern,
        read_bytes: READ_BYTES + READ_BYTES_PER_BYTE * source.len(),
        linear,
        backtracking: OnceCell::new(),
        bytes: Cell::new(0),
        overrun,
        effort,
    };
    compiled.measure();
    Ok(KEPT.with_borrow_mut(|kept| {
        kept.next_id += 1;
        compiled.id = kept.next_id;
        let compiled = Rc::new(compiled);
        if kept.patterns.len() >= KEPT_PATTERNS {
            kept.patterns.clear();
        }
        kept.shed();
        kept.patterns.insert(source.into(), compiled.clone());
        compiled
    }))
}

impl Engine {
    /// The engine of a pattern, from the cache if the thread has used it before. Builds nothing yet.
    pub(crate) fn new(source: &str) -> Result<Engine, RegexEngineError> {
        read(source).map(Engine)
    }

    /// The number of a pattern's text in this process.
    pub(crate) fn number_of(source: &str) -> u64 {
        text_hash(source)
    }

    /// Bytes that it takes before anything has been built of it.
    pub(crate) fn read_bytes(&self) -> usize {
        self.0.read_bytes
    }

    /// Sees to it that a part has been paid for and built.
    pub(super) fn part<M: Meter>(
        &self,
        meter: &M,
        part: CompiledForm,
        steps: u64,
        build: impl FnOnce(&CompiledPattern),
    ) -> Result<(), M::Refusal> {
        if meter.has_paid(part) {
            return Ok(());
        }
        let compiled = &*self.0;
        meter.pay(compiled.text, part, steps, price::bytes(steps))?;
        build(compiled);
        let before = compiled.bytes.get();
        compiled.measure();
        if compiled.bytes.get() > before {
            KEPT.with_borrow_mut(EngineCache::shed);
        }
        // A step of building takes longer than one of anything else.
        meter.pause()
    }

    /// The automaton of this kind, built at its first use. `None` when the other engine must do.
    pub(super) fn automaton<M: Meter>(
        &self,
        meter: &M,
        variant: Variant,
    ) -> Result<Option<&regex_automata::meta::Regex>, M::Refusal> {
        let Some(linear) = &self.0.linear else { return Ok(None) };
        let part = match variant {
            Variant::Find => CompiledForm::Find,
            Variant::Marked => CompiledForm::Marked,
            Variant::Whole => CompiledForm::Whole,
        };
        self.part(meter, part, self.0.price, |_| {
            linear.automaton(variant);
        })?;
        Ok(linear.automaton(variant))
    }

    /// The pattern for the engine of short searches, if it is one for it.
    fn sequence<M: Meter>(&self, meter: &M) -> Result<Option<&Sequence>, M::Refusal> {
        let Some(linear) = &self.0.linear else { return Ok(None) };
        self.part(meter, CompiledForm::Sequence, price::sequence(self.0.price), |_| {
            linear.sequence();
        })?;
        Ok(linear.sequence())
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
        price::weight(self.0.price)
    }

    /// Charges a search that will look at `bytes` bytes up to the end of its match.
    pub(crate) fn charge<M: Meter>(&self, meter: &M, bytes: usize) -> Result<(), M::Refusal> {
        meter.charge(4 + (bytes as u64 / 8).saturating_mul(self.weight()))
    }

    /// How to search `text`, to be asked once for all searches in it.
    pub(crate) fn plan<M: Meter>(&self, meter: &M, text: &str) -> Result<Plan<String>, M::Refusal> {
        let Some(linear) = &self.0.linear else { return Ok(Plan::Backtracking) };
        meter.reserve(text.len())?;
        linear.plan(text, || meter.pause())
    }

    /// The first match at or after byte `from`, by the [plan](Engine::plan) for `text`. The caller
    /// [charges](Engine::charge) it.
    pub(crate) fn find<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        from: usize,
        plan: &Plan<impl AsRef<str>>,
    ) -> SearchOutcome<Option<Groups>, M> {
        Ok(self.search(meter, text, from, plan)?.map(|(groups, _)| groups))
    }

    /// As [`find`](Engine::find), on a walk from match to match: charges the bytes that the search has scanned beyond its
    /// match, since the charge for the text covers no more than one scan of each place.
    pub(crate) fn find_next<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        from: usize,
        plan: &Plan<impl AsRef<str>>,
    ) -> SearchOutcome<Option<Groups>, M> {
        let Some((groups, looked)) = self.search(meter, text, from, plan)? else { return Ok(None) };
        // The first search has been paid for with the text.
        if from > 0
            && let Some((_, end)) = groups[0]
        {
            self.charge_beyond(meter, text, from..end.max(from), plan, looked)?;
        }
        Ok(Some(groups))
    }

    /// The first match, and the end of the scanned range if that is known.
    fn search<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        mut from: usize,
        plan: &Plan<impl AsRef<str>>,
    ) -> SearchOutcome<Option<(Groups, Option<usize>)>, M> {
        let automata = |groups: Groups| (groups, None);
        let (variant, searched) = match plan {
            Plan::Plain => (Variant::Find, text),
            Plan::Marked(marked) => (Variant::Marked, marked.as_ref()),
            Plan::Backtracking => {
                return Ok(self.backtracking(meter)?.find(meter, text, from)?.map(automata));
            }
        };
        if let Some(linear) = &self.0.linear {
            if variant == Variant::Find
                && let Some(sequence) = self.sequence(meter)?
            {
                match sequence.find(text, from, &mut || meter.pause())? {
                    SequenceMatch::No => return Ok(None),
                    SequenceMatch::Match(groups, looked) => return Ok(Some((groups, Some(looked)))),
                    SequenceMatch::Elsewhere(place) => from = place,
                }
            }
            let found = if self.is_long(text.len() - from)
                && let Some(found) = self.find_in_steps(meter, linear, variant, searched, from)?
            {
                found.known()
            } else if let Some(automaton) = self.automaton(meter, variant)? {
                self.before_going(meter, text.len() - from)?;
                self.run(automaton, variant, |cache| linear.find(automaton, cache, searched, from))
            } else {
                None
            };
            if let Some(found) = found {
                return Ok(found.map(automata));
            }
        }
        Ok(self.backtracking(meter)?.find(meter, text, from)?.map(automata))
    }

    /// Charges what a search looked at behind its match; `found` is from its beginning to the end of its match.
    fn charge_beyond<M: Meter>(
        &self,
        meter: &M,
        text: &str,
        found: Range<usize>,
        plan: &Plan<impl AsRef<str>>,
        looked: Option<usize>,
    ) -> Result<(), M::Refusal> {
        let most = looked.unwrap_or(text.len()).saturating_sub(found.end);
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
        let Some(looker) = self.looker(meter, variant)? else { return charge(most) };
        let block = self.block();
        let charge = |bytes: usize| {
            charge(bytes)?;
            if bytes < block { Ok(()) } else { meter.pause() }
        };
        self.stepping(Stepper::Looker(variant), looker.dfa(), |cache| {
            looker.follow(cache, searched, found, block, charge)
        })
    }

    /// Lets one of the automata that go byte by byte work with its scratch memory. Others may work on the thread meanwhile.
    pub(super) fn stepping<R>(
        &self,
        stepper: Stepper,
        dfa: &DFA,
        work: impl FnOnce(&mut StepperCache) -> R,
    ) -> R {
        let key = (self.0.id, stepper);
        let kept = KEPT.with_borrow_mut(|kept| kept.stepping.take(&key));
        let mut cache = kept.unwrap_or_else(|| Box::new(dfa.create_cache()));
        let done = work(&mut cache);
        let bytes = cache.memory_usage();
        KEPT.with_borrow_mut(|kept| kept.stepping.put(key, cache, bytes));
        done
    }

    fn looker<M: Meter>(&self, meter: &M, variant: Variant) -> Result<Option<&Looker>, M::Refusal> {
        let Some(linear) = &self.0.linear else { return Ok(None) };
        let part = if variant == Variant::Marked { CompiledForm::MarkedLooker } else { CompiledForm::Looker };
        self.part(meter, part, self.0.price, |_| {
            linear.looker(variant);
        })?;
        Ok(linear.looker(variant))
    }

    /// The match of the whole text. The caller [charges](Engine::charge) it.
    pub(crate) fn matches<M: Meter>(&self, meter: &M, text: &str) -> SearchOutcome<Option<Groups>, M> {
        if let Some(sequence) = self.sequence(meter)? {
            return Ok(sequence.matches(text, &mut || meter.pause())?);
        }
        if let Some(linear) = &self.0.linear {
            let found = if self.is_long(text.len())
                && let Some(found) = self.matches_in_steps(meter, linear, text)?
            {
                found.known()
            } else if let Some(automaton) = self.automaton(meter, Variant::Whole)? {
                self.before_going(meter, text.len())?;
                self.run(automaton, Variant::Whole, |cache| linear.matches(automaton, cache, text))
            } else {
                None
            };
            if let Some(found) = found {
                return Ok(found);
            }
        }
        self.backtracking(meter)?.matches(meter, text)
    }

    /// Yields before a search of so many bytes that is made in one go and is no short one. It may make a state of an automaton
    /// at each byte, so that a few of them take longer than their steps say.
    fn before_going<M: Meter>(&self, meter: &M, bytes: usize) -> Result<(), M::Refusal> {
        if bytes.saturating_mul(self.0.effort) < SHORT_GO { Ok(()) } else { meter.pause() }
    }

    /// Runs one of the automata with its scratch memory. `None` when the other engine must decide.
    pub(super) fn run(
        &self,
        automaton: &regex_automata::meta::Regex,
        variant: Variant,
        search: impl FnOnce(&mut Cache) -> SearchResult,
    ) -> Option<Option<Groups>> {
        let key = (self.0.id, variant);
        let kept = KEPT.with_borrow_mut(|kept| kept.searching.take(&key));
        let mut cache = kept.unwrap_or_else(|| Box::new(automaton.create_cache()));
        let found = search(&mut cache);
        let bytes = cache.memory_usage();
        KEPT.with_borrow_mut(|kept| kept.searching.put(key, cache, bytes));
        found.known()
    }

    fn backtracking<M: Meter>(&self, meter: &M) -> SearchOutcome<&RegexProgram, M> {
        self.part(meter, CompiledForm::Instructions, self.0.program_price, |compiled| {
            compiled.backtracking.get_or_init(|| RegexProgram::new(&compiled.pattern));
        })?;
        self.0.backtracking.get().and_then(Option::as_ref).ok_or(SearchStop::TooComplex)
    }
}
