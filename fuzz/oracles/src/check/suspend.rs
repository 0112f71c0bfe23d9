//! Programs that wait.

use crate::generate::{Choices, programs};
use crate::run::{self, Host, LIMITS, Order, PLAIN_HOST};
use ptc_vm::machine::Limits;
use ptc_vm::{Error, Reason};

/// More than most programs need: what limits stop may depend on the order of replies.
const ROOM: Limits = Limits { memory_bytes: 16 << 20, steps: 400_000 };

/// Calls may stand anywhere in a program, and their replies come late, in any order, twice, unasked for, failing, or
/// never, and to another machine that was read in the place of the one that asked: the result does not depend on it, and a machine that is dropped or aborted while it waits gives all back.
pub fn suspend(data: &[u8]) {
    let mut choices = Choices::new(data);
    let slice = 1 + u64::from(choices.byte());
    let order = match choices.below(3) {
        0 => Order::Last,
        1 => Order::First,
        _ => Order::Any(choices.word()),
    };
    let (noisy, eager) = (choices.below(2) == 1, choices.below(2) == 1);
    let host = Host { order, noisy, eager, moves: choices.below(2) == 1 };
    let answered = choices.below(6) as u64;
    let text = programs::program(&mut choices, programs::Powers { tools: true });
    let Some(program) = run::compiled(&text) else { return };

    let plain = run::run(&program, ROOM, u64::MAX, PLAIN_HOST);
    let other = run::run(&program, ROOM, slice, host);
    if !plain.is_limited() && !other.is_limited() {
        assert_eq!(
            (&plain.result, &plain.prints),
            (&other.result, &other.prints),
            "{host:?}, slices of {slice}:\n{text}"
        );
        // How far the branches behind a failing one had come depends on the world.
        if plain.result.is_ok() {
            assert_eq!(plain.steps, other.steps, "{host:?}, slices of {slice}:\n{text}");
        }
    }

    // Some replies never come.
    let mut machine = run::machine(&program, LIMITS);
    let ended = run::drive(&mut machine, LIMITS, slice, host, answered);
    let is_aborted = answered.is_multiple_of(2);
    if is_aborted {
        machine.abort(Error::new(Reason::Timeout, "too late"));
    }
    let cut = run::ending(machine, LIMITS);
    if !ended {
        let reason = if is_aborted { Reason::Timeout } else { Reason::Cancelled };
        assert_eq!(cut.result.map_err(|(reason, _)| reason), Err(reason), "{text}");
    }
    drop(run::machine(&program, LIMITS));
}
