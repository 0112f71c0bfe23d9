//! Calling a builtin in a machine of its own, for the families' tests.

mod reader;

pub(crate) use reader::read;

use crate::builtins::{Native, library};
use crate::code::{Arity, Function, Op, Parameters, Program, ReservedMemory};
use crate::error::{Position, Result};
use crate::machine::{Limits, Machine, Outcome, Setup};
use crate::value::Value;
use std::rc::Rc;

/// The result of `(NAME args…)`.
pub(crate) fn call(name: &str, args: impl Into<Vec<Value>>) -> Result<Value> {
    outcome(name, args, Limits::default()).result
}

/// The printed result of `(NAME args…)`, or `! ` and the message of its error.
pub(crate) fn display(name: &str, args: impl Into<Vec<Value>>) -> String {
    match call(name, args) {
        Ok(value) => crate::print::readable(&value).unwrap_or_else(|error| format!("! {}", error.message())),
        Err(error) => format!("! {}", error.message()),
    }
}

/// Checks the results of calls: pairs of a call, whose arguments are data or names of builtins, and the output of [`shown`] for
/// it.
///
/// # Panics
///
/// When one comes to something else.
pub(crate) fn check(calls: &[(&str, &str)]) {
    for (text, expected) in calls {
        let (name, args) = reader::read_call(text);
        assert_eq!(display(&name, args), *expected, "{text}");
    }
}

/// How a program that is only this call ends.
///
/// # Panics
///
/// When there is no builtin of this name, or when it waits for its host.
pub(crate) fn outcome(name: &str, args: impl Into<Vec<Value>>, limits: Limits) -> Outcome {
    let constants: Vec<Value> = args.into();
    let id = library().id(name).unwrap_or_else(|| panic!("no builtin {name}"));
    let mut code: Vec<Op> = (0..constants.len() as u32).map(Op::Const).collect();
    match library().get(id).native {
        Native::Constant(value) => {
            let result = Ok(value());
            let machine =
                Machine::new(Rc::new(program(vec![Op::Nil, Op::Return], Vec::new())), Setup::new(library()));
            return Outcome { result, ..machine.finish(true) };
        }
        _ => code.push(Op::Native { id, argc: constants.len() as u16 }),
    }
    code.push(Op::Return);
    let setup = Setup { limits, ..Setup::new(library()) };
    let mut machine = Machine::new(Rc::new(program(code, constants)), setup);
    loop {
        match machine.resume(1_000_000) {
            crate::Step::Done => return machine.finish(true),
            crate::Step::Slice => {}
            crate::Step::Wait => panic!("{name} waits for its host"),
        }
    }
}

fn program(code: Vec<Op>, constants: Vec<Value>) -> Program {
    let arity = Arity {
        parameters: Parameters { required: 0, rest: false },
        max_stack: constants.len() as u32 + 1,
        code,
        constants,
        lookups: Vec::new(),
        positions: Vec::new(),
    };
    let function = Function {
        name: None,
        arities: vec![Rc::new(arity)],
        captures: Vec::new(),
        display: "#fn[]".into(),
        position: Position { line: 1, column: 1 },
    };
    Program {
        functions: vec![Rc::new(function)],
        globals: Vec::new(),
        requires: Vec::new(),
        tools: Vec::new(),
        defs: Vec::new(),
        def_positions: Vec::new(),
        local_names: Vec::new(),
        notes: Vec::new(),
        shadows_builtin: false,
        source_bytes: 0,
        parts: Box::default(),
        derived: Default::default(),
        text: None,
        code_digest: Default::default(),
        heap_bytes: 0,
        reserved: ReservedMemory::default(),
    }
}
