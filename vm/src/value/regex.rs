//! Regular expressions as values: their text, and the engine behind it under the meters of the running program.

use super::{Str, Value};
use crate::error::{Error, Reason, Result};
use crate::meter;
use crate::regex::{self, Engine, Groups, Meter, Stop};
use std::rc::Rc;

/// Most bytes of a pattern's text (functions.md 22).
const MAX_PATTERN_BYTES: usize = 256;
/// Bytes of a compiled pattern that are built in one step.
const BYTES_PER_STEP: usize = 32;

/// How the text of a search is gone through.
pub(crate) type Plan = regex::Plan<Str>;

/// A regular expression as a value: its text and the compiled engine.
#[derive(Debug)]
pub struct Regex {
    /// Pattern text as written.
    pub source: Str,
    engine: Engine,
}

/// The meters of the running program.
struct Program;

impl Meter for Program {
    type Refusal = Error;

    fn charge(&self, steps: u64) -> Result<()> {
        meter::charge_steps(steps)
    }

    fn reserve(&self, bytes: usize) -> Result<()> {
        meter::reserve(bytes)
    }
}

impl From<Stop<Error>> for Error {
    fn from(stop: Stop<Error>) -> Error {
        match stop {
            Stop::TooComplex => Error::type_error("Regex complexity limit exceeded (ReDoS protection)"),
            Stop::Refused(error) => error,
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

impl Regex {
    fn new(source: &str, engine: Engine) -> Rc<Regex> {
        meter::charge_memory(engine.size());
        Rc::new(Regex { source: Str::new(source), engine })
    }

    /// The value of the literal `#"source"`, for the compiler. The error is the one of language.md 7.2.
    pub fn literal(source: &str) -> Result<Value> {
        check_length(source)?;
        let engine = Engine::new(source).map_err(|refusal| {
            let text = format!(
                "invalid regex literal #\"{source}\": {} at position {}",
                refusal.text(),
                refusal.position()
            );
            Error::new(Reason::InvalidForm, text)
        })?;
        Ok(Value::Regex(Regex::new(source, engine)))
    }

    /// The value of `(re-pattern source)`. Charges the work of compiling, also when the thread has the engine already.
    pub(crate) fn pattern(source: &str) -> Result<Rc<Regex>> {
        check_length(source)?;
        meter::charge_steps(200 + 4 * source.len() as u64)?;
        let engine = Engine::new(source).map_err(|refusal| {
            Error::runtime(format!("Invalid regex at position {}: {}", refusal.position(), refusal.text()))
        })?;
        meter::charge_steps((engine.built() / BYTES_PER_STEP) as u64)?;
        meter::reserve(engine.size())?;
        Ok(Regex::new(source, engine))
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
        self.engine.charge(&Program, bytes)
    }

    /// How to search `text`, to be asked once for all searches in it.
    pub(crate) fn plan(&self, text: &str) -> Result<Plan> {
        Ok(match self.engine.plan(&Program, text)? {
            regex::Plan::Plain => Plan::Plain,
            regex::Plan::Marked(marked) => Plan::Marked(Str::from_string(marked)),
            regex::Plan::Backtracking => Plan::Backtracking,
        })
    }

    /// The first match at or after byte `from`, by the [plan](Regex::plan) for `text`. The caller
    /// [charges](Regex::charge) it.
    pub(crate) fn find(&self, text: &str, from: usize, plan: &Plan) -> Result<Option<Groups>> {
        Ok(self.engine.find(&Program, text, from, plan)?)
    }

    /// As [`find`](Regex::find), on a walk from match to match, which is charged for what it looks at beyond its matches.
    pub(crate) fn find_next(&self, text: &str, from: usize, plan: &Plan) -> Result<Option<Groups>> {
        Ok(self.engine.find_next(&Program, text, from, plan)?)
    }

    /// The match of the whole text. The caller [charges](Regex::charge) it.
    pub(crate) fn matches(&self, text: &str) -> Result<Option<Groups>> {
        Ok(self.engine.matches(&Program, text)?)
    }
}

impl Drop for Regex {
    fn drop(&mut self) {
        meter::credit_memory(self.engine.size());
    }
}
