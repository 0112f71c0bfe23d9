//! One handler call: arguments are read as the tool's signature wants them, panics caught, time limited.

use super::{JsonMap, ToolContext, ToolError, ToolSpec};
use crate::signature::{Schema, check_fields, coerce_fields};
use ptc_base::json::Value as Json;
use ptc_base::time;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Ends the task when it is no longer awaited.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The arguments of a call as the tool's signature declares them: names, and values that can be read as their types.
///
/// # Errors
/// The text that the model reads.
pub(crate) fn fitted(tool: &ToolSpec, arguments: JsonMap) -> Result<JsonMap, ToolError> {
    let Some(signature) = &tool.signature else {
        return match &tool.arguments {
            None => Ok(arguments),
            Some(schema) => by_schema(tool, schema, arguments),
        };
    };
    let (arguments, warnings) = coerce_fields(&signature.params, arguments);
    note(warnings);
    match check_fields(&signature.params, &arguments) {
        Ok(()) => Ok(arguments),
        Err(found) => Err(ToolError(format!("invalid arguments: {found}. Expected {signature}"))),
    }
}

/// Calls a tool on `runtime` with arguments that fit: its panic is caught, and it has at most `limit` to answer.
///
/// # Errors
/// The text that the model reads.
pub(crate) async fn invoke(
    runtime: &Handle,
    tool: &ToolSpec,
    arguments: JsonMap,
    context: ToolContext,
    limit: Duration,
) -> Result<Json, ToolError> {
    let handler = tool.handler.clone();
    // The handler's own code before its first await is part of the task, so that its panic is caught too.
    let task = runtime.spawn(async move { handler.call(arguments, context).await });
    let mut task = AbortOnDrop(task);
    match time::timeout(limit, &mut task.0).await {
        Ok(Ok(result)) => result,
        Ok(Err(error)) if error.is_panic() => {
            Err(ToolError(format!("the tool panicked: {}", panic_text(&*error.into_panic()))))
        }
        Ok(Err(_)) => Err(ToolError("the tool was cancelled: its runtime is shutting down".into())),
        Err(_) => Err(ToolError(format!("the tool did not answer within {} ms", limit.as_millis()))),
    }
}

/// Arguments in the form that a JSON Schema declares.
fn by_schema(tool: &ToolSpec, schema: &Schema, arguments: JsonMap) -> Result<JsonMap, ToolError> {
    let (arguments, warnings) = schema.coerce(Json::Object(arguments));
    note(warnings);
    if let Err(found) = schema.check(&arguments) {
        let expected = tool.shown_signature().unwrap_or_default();
        return Err(ToolError(format!("invalid arguments: {found}. Expected {expected}")));
    }
    match arguments {
        Json::Object(arguments) => Ok(arguments),
        _ => Err(ToolError("no arguments".into())),
    }
}

fn note(warnings: Vec<String>) {
    for warning in warnings {
        tracing::debug!(target: "ptc_runner.sub_agent", event = "tool.coerced", %warning);
    }
}

/// The text of a panic, if it has one.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no text".into())
}
