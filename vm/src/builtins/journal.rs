//! `step-done` and `task-reset`: calls behind the special forms of the same names (language.md 3.11).

use super::{Arities, Builtin, Example, Native};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::print;
use crate::value::Value;

/// The family's functions.
pub static BUILTINS: &[Builtin] = &[
    Builtin {
        name: "step-done",
        namespace: "",
        aliases: &[],
        arities: Arities::OneOf(&[2]),
        signatures: &["(step-done id summary)"],
        doc: "Records a summary of a step for the host and gives it back",
        section: "Control",
        examples: &[Example { program: "(step-done \"1\" \"read the files\")", value: "\"read the files\"" }],
        native: Native::Plain(step_done),
    },
    Builtin {
        name: "task-reset",
        namespace: "",
        aliases: &[],
        arities: Arities::OneOf(&[1]),
        signatures: &["(task-reset id)"],
        doc: "Forgets the stored value of a task",
        section: "Control",
        examples: &[Example { program: "(task-reset \"1\")", value: "nil" }],
        native: Native::Plain(task_reset),
    },
];

fn step_done(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let Value::Str(id) = args[0].clone() else {
        let shown = print::readable_lossy(&args[0]);
        return Err(Error::type_error(format!("(step-done) id must be a string, got {shown}")));
    };
    let text = std::mem::take(&mut args[1]);
    ctx.summarise(id, text.clone());
    Ok(text)
}

fn task_reset(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    match &args[0] {
        Value::Str(id) => ctx.forget_task(id.as_str()),
        other => ctx.forget_task(&print::plain(other)?),
    }
    Ok(Value::Nil)
}
