//! `step-done` and `task-reset`: the calls made by the special forms of the same names (language.md 3.11).

use super::Builtin;
use super::namespaces::EXTENSION;
use super::row::{fun, section};
use crate::error::{Error, Result};
use crate::machine::Ctx;
use crate::print;
use crate::value::Value;

/// The family's functions.
pub(super) static BUILTINS: &[Builtin] = &section("Control", "Control").of([
    fun("step-done", EXTENSION, "id summary", step_done)
        .doc("Records a summary of a step for the host and gives it back")
        .example(r#"(step-done "1" "read the files")"#, r#""read the files""#),
    fun("task-reset", EXTENSION, "id", task_reset)
        .doc("Forgets the stored value of a task")
        .example(r#"(task-reset "1")"#, "nil"),
]);

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
