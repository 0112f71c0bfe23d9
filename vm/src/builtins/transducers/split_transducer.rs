//! Transducers that a program writes: functions that make a reducing function of another one.
//!
//! Such functions may follow the transducers of the library. A program has no state to keep in one, and no way to call those of
//! the library, so that none follows it.

use super::pipeline::{CollectionArgument, Output, run};
use super::stage::stages;
use crate::builtins::support::{Continuation, call_then, callee};
use crate::error::{Error, Result};
use crate::machine::{Args, Ctx, Flow, portable};
use crate::value::{Combinator, CombinatorKind, Value};

/// A transducer taken apart: the library's part of it, and the program's part after that.
pub(super) struct SplitTransducer {
    library: Value,
    program: Value,
}

impl SplitTransducer {
    /// `None` unless it ends with functions of the program.
    pub(super) fn of(ctx: &mut Ctx<'_>, transducer: &Value) -> Result<Option<SplitTransducer>> {
        if !ends_in_program(transducer) {
            return Ok(None);
        }
        let (mut library, mut program) = (Vec::new(), Vec::new());
        let mut open = vec![transducer.clone()];
        while let Some(part) = open.pop() {
            ctx.charge(1)?;
            ctx.reserve((library.len() + program.len() + open.len() + 2) * 2 * size_of::<Value>())?;
            match &part {
                Value::Combinator(combinator) => match combinator.kind {
                    CombinatorKind::Comp => {
                        ctx.charge(combinator.parts.len())?;
                        ctx.reserve((open.len() + combinator.parts.len()) * 2 * size_of::<Value>())?;
                        open.extend(combinator.parts.iter().rev().cloned());
                    }
                    CombinatorKind::Partial => program.push(part),
                    CombinatorKind::Transducer if program.is_empty() => library.push(part),
                    _ => return Ok(None),
                },
                Value::Closure(_) => program.push(part),
                Value::Builtin(builtin)
                    if program.is_empty() && matches!(builtin.name, "cat" | "identity") =>
                {
                    library.push(part);
                }
                _ => return Ok(None),
            }
        }
        // A `comp` of nothing is `identity`.
        let comp = |parts: Vec<Value>| match parts.is_empty() {
            true => ctx.library().required("identity"),
            false => Value::Combinator(Combinator::new(CombinatorKind::Comp, parts)),
        };
        Ok(Some(SplitTransducer { library: comp(library), program: comp(program) }))
    }

    /// The fold of `argument` with the program's function over `function`. Without `acc` it begins with
    /// the function's result without arguments.
    pub(super) fn fold(
        self,
        ctx: &mut Ctx<'_>,
        argument: CollectionArgument<Value>,
        function: Value,
        acc: Option<Value>,
    ) -> Result<Flow> {
        let collection = argument.value;
        if !(collection.is_seqable() || collection.is_endless()) {
            return Err(Error::argument(argument.function, argument.position, "seqable", &collection));
        }
        let SplitTransducer { library, program } = self;
        match acc {
            Some(acc) => {
                let fold =
                    WrittenFold { library, program: Value::Nil, function: Value::Nil, acc, collection };
                call_then(ctx, program, callee::one(function), fold)
            }
            None => {
                let start = function.clone();
                let fold = WrittenFold { library, program, function, acc: Value::Nil, collection };
                call_then(ctx, start, Args::new(), fold)
            }
        }
    }
}

/// Whether the last part of a transducer is a function of the program.
fn ends_in_program(mut transducer: &Value) -> bool {
    loop {
        transducer = match transducer {
            Value::Closure(_) => return true,
            Value::Combinator(combinator) => match (combinator.kind, &combinator.parts[..]) {
                (CombinatorKind::Comp, [.., last]) => last,
                (kind, _) => return kind == CombinatorKind::Partial,
            },
            _ => return false,
        };
    }
}

/// A fold that waits for its initial value, and then for its function.
pub(crate) struct WrittenFold {
    library: Value,
    /// Wraps `function`; `nil` once that has been called.
    program: Value,
    function: Value,
    acc: Value,
    collection: Value,
}

portable!(WrittenFold { library, program, function, acc, collection });

impl Continuation for WrittenFold {
    fn finish(self, ctx: &mut Ctx<'_>, result: Value) -> Result<Flow> {
        let WrittenFold { library, program, function, acc, collection } = self;
        if !program.is_nil() {
            let fold =
                WrittenFold { library, program: Value::Nil, function: Value::Nil, acc: result, collection };
            return call_then(ctx, program, callee::one(function), fold);
        }
        if !result.is_callable() {
            return Err(Error::type_error(format!(
                "a transducer that the program writes must give a function of (result) and (result input), got {}",
                result.kind_label()
            )));
        }
        let stages = stages(ctx, "transduce", 1, &library)?;
        let argument = CollectionArgument { function: "transduce", position: 4, value: &collection };
        run(ctx, argument, stages, Output::Fold { function: result, acc: Some(acc) })
    }
}
