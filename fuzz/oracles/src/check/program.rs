//! Structured programs on the machine.

use crate::generate::{Choices, programs};
use crate::run::{self, LIMITS, PLAIN_HOST};
use ptc_vm::machine::Limits;

/// A builtin whose name the program defines first, so that the machine must look every name up before it trusts an
/// instruction: the loop exists twice.
const REDEFINED: &str = "inc'";

/// Any program ends by value, error or named limit within its limits; the same way whatever the slices, and whether or
/// not the machine must check builtins for redefinition.
pub fn program(data: &[u8]) {
    let mut choices = Choices::new(data);
    let slice = 1 + u64::from(choices.byte() % 64);
    let limits = Limits {
        steps: [LIMITS.steps, 500, 5_000][choices.below(3)],
        memory_bytes: [LIMITS.memory_bytes, 32 << 10, 512 << 10][choices.below(3)],
    };
    let text = programs::program(&mut choices, programs::Powers { tools: false });
    let Some(compiled) = run::compiled(&text) else { return };
    let whole = run::run(&compiled, limits, u64::MAX, PLAIN_HOST);
    assert_eq!(whole, run::run(&compiled, limits, slice, PLAIN_HOST), "slices of {slice} steps of\n{text}");
    checked_loop(&text, limits, &whole);
}

fn checked_loop(text: &str, limits: Limits, whole: &run::Ending) {
    // These tell of the program's own definitions, or of where they stand.
    let tells = ["dir", "apropos", "doc", "meta", "ns", "source", REDEFINED];
    if tells.iter().any(|word| text.contains(word)) {
        return;
    }
    let Some(compiled) = run::compiled(&format!("(def {REDEFINED} nil) {text}")) else { return };
    let checked = run::run(&compiled, limits, u64::MAX, PLAIN_HOST);
    if whole.is_limited() || checked.is_limited() {
        return;
    }
    assert_eq!(
        (&whole.result, &whole.prints),
        (&checked.result, &checked.prints),
        "in the checked loop:\n{text}"
    );
}
