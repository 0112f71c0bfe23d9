//! `pmap` and `pcalls`: branches that may wait for their calls at the same time (functions.md 29, language.md 3.12).

use super::Builtin;
use super::namespaces::EXTENSION;
use super::row::{frame, section};
use super::support::{check, sequence};
use crate::error::{Error, Reason, Result};
use crate::machine::{Args, Ctx, Flow, ForkKind};
use crate::print;
use crate::value::{Cursor, Value};
use std::mem::take;

/// Bytes that a branch takes before it starts.
const BRANCH: usize = size_of::<(Value, Args)>();

/// `(pmap f c & cs)`
fn pmap(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    if args.len() < 2 {
        let text = "expected (pmap f coll) or (pmap f c1 c2 ...)";
        return Err(Error::new(Reason::InvalidArity, text));
    }
    check::callable("pmap", 1, "callable", &args[0])?;
    if let [Value::Keyword(_), Value::Map(_)] = &*args {
        return Err(Error::type_error("pmap: keyword accessor requires a list of maps, got a single map"));
    }
    let mut cursors = sequence::in_step(ctx, &args[1..], |_, value| not_a_collection(value))?;
    let count = cursors.iter().map(Cursor::remaining).min().unwrap_or(0);
    ctx.charge(count)?;
    ctx.reserve(count.saturating_mul(BRANCH))?;
    let function = take(&mut args[0]);
    let mut branches = Vec::with_capacity(count);
    for _ in 0..count {
        branches.push((function.clone(), cursors.iter_mut().filter_map(Cursor::advance).collect()));
    }
    Ok(fork(ForkKind::Pmap, branches))
}

/// `(pcalls & thunks)`
fn pcalls(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    for thunk in args.iter() {
        if !thunk.is_callable() {
            let text = format!("pcalls requires callable thunks, got: {}", print::readable_lossy(thunk));
            return Err(Error::new(Reason::PcallsError, text));
        }
        if !check::takes(ctx, thunk, 0)? {
            let arity = least_arguments(ctx, thunk)?;
            let text = format!("pcalls requires zero-arity thunks, got function with arity {arity}");
            return Err(Error::new(Reason::PcallsError, text));
        }
    }
    ctx.reserve(args.len().saturating_mul(BRANCH))?;
    let branches = args.iter_mut().map(|thunk| (take(thunk), Args::new())).collect();
    Ok(fork(ForkKind::Pcalls, branches))
}

fn least_arguments(ctx: &mut Ctx<'_>, function: &Value) -> Result<usize> {
    for argc in 1..=20 {
        if check::takes(ctx, function, argc)? {
            return Ok(argc);
        }
    }
    Ok(1)
}

fn fork(kind: ForkKind, branches: Vec<(Value, Args)>) -> Flow {
    if branches.is_empty() { Flow::Return(Value::vector([])) } else { Flow::Fork(kind, branches) }
}

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("par", "Parallel").of([
    frame("pmap", EXTENSION, "f c & cs", pmap)
        .at_least(0)
        .doc("Parallel map")
        .example("(pmap inc [1 2 3])", "[2 3 4]")
        .example("(pmap + [1 2 3] [10 20])", "[11 22]")
        .example("(pmap :a [{:a 1} {}] [8 9])", "[1 9]"),
    frame("pcalls", EXTENSION, "& thunks", pcalls)
        .doc("Call several thunks in parallel")
        .example("(pcalls (fn [] 1) #(+ 1 1))", "[1 2]"),
]);

/// The text of language.md 3.12, which is an argument fault here and not one of types.
fn not_a_collection(value: &Value) -> Error {
    let shown = crate::print::readable_lossy(value);
    Error::runtime(format!("expected a collection, got {} {shown}", value.kind_label()))
}
