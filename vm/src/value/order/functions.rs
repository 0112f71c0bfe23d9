//! Rank 4 of the order: functions, regexes, vars, symbol and tool references.
//!
//! They compare by printed form, whose beginnings keep the kinds apart: `#"…"` < `#'…` < `#<builtin>` < `#fn[…]` < `'…` <
//! `tool/…`; contents of answers come last, by type and content. Symbols compare by namespace and name, those without a
//! namespace first. Builtins, which all print alike, compare by name; closures that print alike by the place of their code,
//! then by their captures; combinators by kind, then by their parts (ruling 2).

use super::compare_text;
use crate::code::{Function, Program};
use crate::meter;
use crate::value::{Blob, Closure, Combinator, Value, parts_of_name};
use std::cmp::Ordering;
use std::rc::Rc;

/// The printed form of every [`Combinator`].
const COMBINATOR: &str = "#fn[...]";

/// The further comparison of two values of rank 4.
pub(super) enum Opaque {
    /// Nothing more.
    Decided(Ordering),
    /// These values of closures pairwise, then their number.
    Captures(Vec<Value>, Vec<Value>),
    /// The parts of these pairwise, then their number.
    Combinators(Rc<Combinator>, Rc<Combinator>),
}

pub(super) fn compare(a: &Value, b: &Value) -> Opaque {
    let order = match (a, b) {
        (Value::Closure(x), Value::Closure(y)) => return closures(x, y),
        (Value::Combinator(x), Value::Combinator(y)) => return combinators(x, y),
        (Value::Closure(x), Value::Combinator(_)) => {
            x.code().display.as_ref().cmp(COMBINATOR).then(Ordering::Less)
        }
        (Value::Combinator(_), Value::Closure(y)) => {
            COMBINATOR.cmp(&y.code().display).then(Ordering::Greater)
        }
        (Value::Builtin(x), Value::Builtin(y)) => x.name.cmp(y.name),
        (Value::Regex(x), Value::Regex(y)) => compare_text(x.source.as_str(), y.source.as_str()),
        (Value::Blob(x), Value::Blob(y)) => blobs(x, y),
        (Value::Symbol(x), Value::Symbol(y)) => symbols(x.as_str(), y.as_str()),
        (Value::Var(x), Value::Var(y)) | (Value::Tool(x), Value::Tool(y)) => {
            compare_text(x.as_str(), y.as_str())
        }
        (Value::Cursor(x), Value::Cursor(y)) => Rc::as_ptr(x).cmp(&Rc::as_ptr(y)),
        _ => kind(a).cmp(&kind(b)),
    };
    Opaque::Decided(order)
}

fn kind(value: &Value) -> u8 {
    match value {
        Value::Regex(_) => 0,
        Value::Var(_) => 1,
        Value::Builtin(_) => 2,
        Value::Closure(_) | Value::Combinator(_) => 3,
        Value::Symbol(_) => 4,
        Value::Tool(_) => 5,
        Value::Blob(_) => 6,
        _ => 7,
    }
}

/// By type, then by content, shorter ones first.
fn blobs(a: &Rc<Blob>, b: &Rc<Blob>) -> Ordering {
    if Rc::ptr_eq(a, b) {
        return Ordering::Equal;
    }
    let (a, b) = (a.content(), b.content());
    let order = a.kind.cmp(b.kind).then_with(|| a.mime_type.cmp(&b.mime_type));
    let order = order.then_with(|| a.base64.len().cmp(&b.base64.len()));
    order.then_with(|| compare_text(&a.base64, &b.base64)).then_with(|| compare_text(&a.uri, &b.uri))
}

/// Those without a namespace first, then by namespace and name.
fn symbols(a: &str, b: &str) -> Ordering {
    match (parts_of_name(a), parts_of_name(b)) {
        ((Some(a_space), a), (Some(b_space), b)) => {
            compare_text(a_space, b_space).then_with(|| compare_text(a, b))
        }
        ((None, a), (None, b)) => compare_text(a, b),
        ((a_space, _), (b_space, _)) => a_space.is_some().cmp(&b_space.is_some()),
    }
}

fn combinators(a: &Rc<Combinator>, b: &Rc<Combinator>) -> Opaque {
    if Rc::ptr_eq(a, b) {
        return Opaque::Decided(Ordering::Equal);
    }
    match a.kind.cmp(&b.kind) {
        Ordering::Equal => Opaque::Combinators(a.clone(), b.clone()),
        order => Opaque::Decided(order),
    }
}

fn closures(a: &Rc<Closure>, b: &Rc<Closure>) -> Opaque {
    if Rc::ptr_eq(a, b) {
        return Opaque::Decided(Ordering::Equal);
    }
    let (x, y) = (a.code(), b.code());
    let order = x.display.cmp(&y.display).then_with(|| x.position.cmp(&y.position));
    let order = order.then(a.function.cmp(&b.function));
    if order.is_ne() {
        return Opaque::Decided(order);
    }
    let (p, q) = (&a.module.program, &b.module.program);
    let same_program = Rc::ptr_eq(p, q);
    if !same_program {
        let order = programs(p, q);
        if order.is_ne() {
            return Opaque::Decided(order);
        }
    } else if Rc::ptr_eq(&a.captures, &b.captures) {
        return Opaque::Decided(Ordering::Equal);
    }
    let mut left = a.captures.values().to_vec();
    let mut right = b.captures.values().to_vec();
    if !same_program {
        left.extend(constants(p));
        right.extend(constants(q));
    }
    meter::work((left.len() + right.len()) as u64);
    Opaque::Captures(left, right)
}

/// Orders two programs by their code, constants aside: the same place in two texts is the same function only
/// if the whole texts say the same.
fn programs(a: &Program, b: &Program) -> Ordering {
    meter::work(a.functions.iter().flat_map(|f| &f.arities).map(|arity| arity.code.len() as u64).sum());
    a.source_bytes
        .cmp(&b.source_bytes)
        .then_with(|| a.globals.cmp(&b.globals))
        .then_with(|| a.functions.len().cmp(&b.functions.len()))
        .then_with(|| {
            let pairs = a.functions.iter().zip(&b.functions);
            pairs.map(|(x, y)| functions(x, y)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        })
}

fn functions(a: &Function, b: &Function) -> Ordering {
    a.display.cmp(&b.display).then(a.position.cmp(&b.position)).then_with(|| {
        a.arities.iter().map(|arity| &arity.code).cmp(b.arities.iter().map(|arity| &arity.code))
    })
}

fn constants(program: &Program) -> impl Iterator<Item = Value> {
    program.functions.iter().flat_map(|f| &f.arities).flat_map(|arity| &arity.constants).cloned()
}
