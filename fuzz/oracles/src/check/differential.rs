//! The machine against a tree walker.

use crate::evaluator::{Stop, evaluate};
use crate::generate::{Choices, core::core};
use crate::run::{self, LIMITS, PLAIN_HOST};

/// A program of the core gives the value that a slow and simple evaluator gives, or fails for the same reason.
pub fn differential(data: &[u8]) {
    let text = core(&mut Choices::new(data));
    let program = run::compiled(&text).unwrap_or_else(|| panic!("the core does not compile: {text}"));
    let wanted = match evaluate(&text) {
        Ok(value) => Ok(value),
        Err(Stop::Fail(reason)) => Err(reason),
        Err(_) => return,
    };
    let ending = run::run(&program, LIMITS, u64::MAX, PLAIN_HOST);
    if ending.is_limited() {
        return;
    }
    let got = ending.result.as_ref().map(String::as_str).map_err(|(reason, _)| reason.as_str());
    assert_eq!(
        got,
        wanted.as_ref().map(String::as_str).map_err(|reason| *reason),
        "{text}\n{:?}",
        ending.result
    );
}
