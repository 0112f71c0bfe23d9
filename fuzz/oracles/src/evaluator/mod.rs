//! A second implementation of the language's core: a tree walker over its own forms and values, written from the
//! language specification and as plainly as possible. `differential` compares the machine with it.
//!
//! It knows `let if when cond and or do fn loop recur if-let when-let -> ->>` with destructuring, integers of any
//! size, strings, keywords, vectors, maps, sets, and some sixty functions. What it does not know it leaves open
//! ([`Stop::Open`]), and nothing is compared then.

mod builtins;
mod eval;
mod form;
mod value;

pub use value::{Result, Stop, Value};

/// The printed value of a program of the core, or why there is none.
pub fn evaluate(program: &str) -> Result<String> {
    let form = form::read(program).ok_or(Stop::Open)?;
    let value = eval::Evaluator::default().eval(&form, &value::Scope::default())?;
    value.print()
}
