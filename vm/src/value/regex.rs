//! Regular expressions as values: their text, and the engine behind it under the meters of the running program.

use super::{Str, Value};
use crate::error::{Error, Reason, Result};
use crate::meter::{self, Account};
use crate::regex::{self, CompiledForm, Engine, Groups, Meter, SearchStop};
use ahash::AHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Bytes of all patterns on this thread with their compiled forms, in values or cached for the next ones.
pub fn pattern_bytes() -> usize {
    regex::compiled_bytes()
}

/// Forgets the patterns that this thread keeps for the next values. Those that values have stay theirs.
pub fn forget_patterns() {
    regex::give_way();
}

/// Most bytes of a pattern's text (functions.md 22).
const MAX_PATTERN_BYTES: usize = 256;
/// Steps of reading a pattern, besides those of its text.
const READ_STEPS: u64 = 10;
/// Steps of looking up a property of characters, such as `\p{L}`.
const PROPERTY_STEPS: u64 = 100;
/// Bytes of a note that a program has paid for a part of a pattern.
const PAID_BYTES: usize = 32;

/// How the text of a search is gone through.
pub(crate) type Plan = regex::Plan<Str>;

/// A regular expression as a value: its text, and the engine that its first use builds.
#[derive(Debug)]
pub struct Regex {
    /// Pattern text as written.
    pub source: Str,
    engine: Engine,
    /// The account that used it last, and the parts of the engine that it has paid for.
    paid: Cell<(u64, u16)>,
    /// Bytes that are charged for it, and the account that they are charged to.
    charged: Cell<(u64, usize)>,
}

thread_local! {
    /// The payments of this thread's programs: for each account, the patterns by the numbers of their texts.
    static PAID: RefCell<AHashMap<u64, AHashMap<u64, PaidParts>>> = RefCell::default();
}

/// The paid parts of a pattern.
struct PaidParts {
    source: Box<str>,
    parts: u16,
}

impl PaidParts {
    /// Bytes of the notes.
    fn bytes(&self) -> usize {
        self.parts.count_ones() as usize * PAID_BYTES
    }
}

/// The patterns that the program with this account has paid for, each with its parts as bits, in no order.
pub(crate) fn paid_patterns(account: &Account) -> Vec<(Box<str>, u16)> {
    PAID.with_borrow(|paid| {
        let patterns = paid.get(&account.number());
        patterns
            .into_iter()
            .flat_map(|patterns| patterns.values())
            .map(|paid| (paid.source.clone(), paid.parts))
            .collect()
    })
}

/// The patterns that a program has paid for. Dropped with the machine that owns this.
#[derive(Debug)]
pub(crate) struct PaidPatterns(u64);

impl PaidPatterns {
    /// Of the program with this account.
    pub(crate) fn of(account: &Account) -> PaidPatterns {
        PaidPatterns(account.number())
    }

    /// Notes that the program, whose account is installed, has paid for these parts of a pattern before. Returns whether the
    /// note is valid and new.
    pub(crate) fn remember(&self, source: &str, parts: u16) -> Result<bool> {
        if parts == 0 || parts & !CompiledForm::ALL != 0 || source.len() > MAX_PATTERN_BYTES {
            return Ok(false);
        }
        let paid = PaidParts { source: source.into(), parts };
        meter::reserve(paid.bytes())?;
        meter::charge_memory(paid.bytes());
        let before = PAID
            .with_borrow_mut(|all| all.entry(self.0).or_default().insert(Engine::number_of(source), paid));
        Ok(before.is_none())
    }
}

impl Drop for PaidPatterns {
    fn drop(&mut self) {
        // The thread may be ending.
        let _ = PAID.try_with(|paid| {
            let mut paid = paid.borrow_mut();
            if !paid.is_empty() {
                paid.remove(&self.0);
            }
        });
    }
}

/// The meters of the running program, as far as they know this pattern.
impl Meter for Regex {
    type Refusal = Error;
    type Held = meter::MemoryCharge;

    fn charge(&self, steps: u64) -> Result<()> {
        meter::charge_steps(steps)
    }

    fn pause(&self) -> Result<()> {
        meter::pause()
    }

    fn reserve(&self, bytes: usize) -> Result<()> {
        meter::reserve(bytes)
    }

    fn hold(&self, bytes: usize) -> Result<meter::MemoryCharge> {
        meter::MemoryCharge::new(bytes)
    }

    #[inline]
    fn has_paid(&self, part: CompiledForm) -> bool {
        let (account, parts) = self.paid.get();
        account == meter::account() && parts & part as u16 != 0
    }

    fn pay(&self, pattern: u64, part: CompiledForm, steps: u64, bytes: usize) -> Result<()> {
        let account = meter::account();
        // Who has no account pays nothing.
        let before = match account {
            0 => u16::MAX,
            _ => PAID.with_borrow_mut(|paid| {
                let patterns = paid.entry(account).or_default();
                let paid = patterns
                    .entry(pattern)
                    .or_insert_with(|| PaidParts { source: self.source.as_str().into(), parts: 0 });
                let before = paid.parts;
                paid.parts |= part as u16;
                before
            }),
        };
        let first = before & part as u16 == 0;
        let (user, parts) = self.paid.get();
        let (holder, charged) = self.charged.get();
        // A constant is charged to each program that uses it, as if that was the first one; other values to the one that has
        // made them.
        let charged = if holder == account || before != 0 { charged } else { 0 };
        let bytes = if first || holder == 0 || holder == account { bytes } else { 0 };
        if account != 0 {
            meter::reserve(bytes + PAID_BYTES)?;
            meter::charge_memory(bytes + if first { PAID_BYTES } else { 0 });
        }
        self.charged.set((account, charged + bytes));
        if first {
            meter::charge_steps(steps)?;
        }
        let parts = if user == account { parts } else { 0 };
        self.paid.set((account, parts | part as u16));
        Ok(())
    }
}

impl From<SearchStop<Error>> for Error {
    fn from(stop: SearchStop<Error>) -> Error {
        match stop {
            SearchStop::TooComplex => Error::type_error("Regex complexity limit exceeded (ReDoS protection)"),
            SearchStop::Refused(error) => error,
        }
    }
}

fn check_length(source: &str) -> Result<()> {
    if source.len() > MAX_PATTERN_BYTES {
        return Err(Error::runtime(format!(
            "Regex pattern exceeds maximum length of {MAX_PATTERN_BYTES} bytes"
        )));
    }
    Ok(())
}

/// Steps of reading the text of a pattern.
fn read_steps(source: &str) -> u64 {
    let properties = source.as_bytes().windows(2).filter(|pair| matches!(pair, [b'\\', b'p' | b'P'])).count();
    4 * source.len() as u64 + PROPERTY_STEPS * properties as u64
}

impl Regex {
    fn new(source: &str, engine: Engine) -> Result<Rc<Regex>> {
        let bytes = engine.read_bytes();
        meter::reserve(bytes)?;
        meter::charge_memory(bytes);
        let charged = Cell::new((meter::account(), bytes));
        Ok(Rc::new(Regex { source: Str::new(source), engine, paid: Cell::default(), charged }))
    }

    /// The value of the literal `#"source"`, for the compiler. The error is the one of language.md 7.2.
    pub fn literal(source: &str) -> Result<Value> {
        check_length(source)?;
        meter::charge_steps(READ_STEPS + read_steps(source))?;
        let engine = Engine::new(source).map_err(|refusal| {
            let text = format!(
                "invalid regex literal #\"{source}\": {} at position {}",
                refusal.text(),
                refusal.position()
            );
            Error::new(Reason::InvalidForm, text)
        })?;
        Regex::new(source, engine).map(Value::Regex)
    }

    /// The value of `(re-pattern source)`. Charges the work of reading, also when the thread knows the pattern already.
    pub(crate) fn pattern(source: &str) -> Result<Rc<Regex>> {
        check_length(source)?;
        meter::charge_steps(200 + read_steps(source))?;
        let engine = Engine::new(source).map_err(|refusal| {
            Error::runtime(format!("Invalid regex at position {}: {}", refusal.position(), refusal.text()))
        })?;
        Regex::new(source, engine)
    }

    /// The value of a pattern that was a value before, and whose text was written down; `None` if it is none. Charges the
    /// work of reading.
    pub(crate) fn read_again(source: &str) -> Result<Option<Rc<Regex>>> {
        if source.len() > MAX_PATTERN_BYTES {
            return Ok(None);
        }
        meter::charge_steps(READ_STEPS + read_steps(source))?;
        Engine::new(source).ok().map(|engine| Regex::new(source, engine)).transpose()
    }

    /// How many groups it reports besides the whole match.
    pub(crate) fn groups(&self) -> usize {
        self.engine.groups()
    }

    /// The number of the group of this name.
    pub(crate) fn group_named(&self, name: &str) -> Option<usize> {
        self.engine.group_named(name)
    }

    /// Charges a search that will look at `bytes` bytes up to the end of its match.
    pub(crate) fn charge(&self, bytes: usize) -> Result<()> {
        self.engine.charge(self, bytes)
    }

    /// How to search `text`, to be asked once for all searches in it.
    pub(crate) fn plan(&self, text: &str) -> Result<Plan> {
        Ok(match self.engine.plan(self, text)? {
            regex::Plan::Plain => Plan::Plain,
            regex::Plan::Marked(marked) => Plan::Marked(Str::from_string(marked)),
            regex::Plan::Backtracking => Plan::Backtracking,
        })
    }

    /// The first match at or after byte `from`, by the [plan](Regex::plan) for `text`. The caller
    /// [charges](Regex::charge) it.
    pub(crate) fn find(&self, text: &str, from: usize, plan: &Plan) -> Result<Option<Groups>> {
        Ok(self.engine.find(self, text, from, plan)?)
    }

    /// Whether it matches somewhere in `text`; charged as a search.
    ///
    /// # Errors
    /// A limit of the program.
    pub fn occurs_in(&self, text: &str) -> Result<bool> {
        self.charge(text.len())?;
        let plan = self.plan(text)?;
        Ok(self.find(text, 0, &plan)?.is_some())
    }

    /// As [`find`](Regex::find), on a walk from match to match, which is charged for bytes scanned beyond its matches.
    pub(crate) fn find_next(&self, text: &str, from: usize, plan: &Plan) -> Result<Option<Groups>> {
        Ok(self.engine.find_next(self, text, from, plan)?)
    }

    /// The match of the whole text. The caller [charges](Regex::charge) it.
    pub(crate) fn matches(&self, text: &str) -> Result<Option<Groups>> {
        Ok(self.engine.matches(self, text)?)
    }
}

impl Drop for Regex {
    fn drop(&mut self) {
        let (account, bytes) = self.charged.get();
        if account == meter::account() {
            meter::credit_memory(bytes);
        }
    }
}
