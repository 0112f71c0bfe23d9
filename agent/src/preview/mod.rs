//! Previews for the model of results that are kept for programs (agent.md 8.10).

mod hint;
mod promise;
mod shape;

use crate::tool::{JsonMap, NativeResult, ToolSpec, panic_text};
use ptc_base::json::Value as Json;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use hint::hint;
pub(crate) use promise::{forget, forget_upstream};

/// A preview and whether it leaves properties or rows out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Preview {
    /// The object that the model reads.
    pub body: JsonMap,
    /// Whether properties or rows are left out.
    pub truncated: bool,
}

/// The preview of `value`, a result of the tool `name` called with `arguments`. `kept` says whether the result is in the
/// cache.
#[must_use]
pub(crate) fn preview(
    name: &str,
    tool: &ToolSpec,
    arguments: &JsonMap,
    kind: &NativeResult,
    value: &Json,
    kept: bool,
) -> Preview {
    let (mut body, truncated) = match kind {
        NativeResult::Metadata => shape::metadata(value),
        NativeResult::WholeUpTo { .. } => shape::with_beginning(value),
        NativeResult::Rows { limit } => shape::rows(value, *limit),
        NativeResult::Custom(function) => match custom(&**function, value) {
            Ok(body) => (body, false),
            Err((category, detail)) => {
                tracing::warn!(
                    target: "ptc_runner.sub_agent", tool_name = name, %detail,
                    "[ptc_runner] custom native_result preview for tool \"{name}\" fell back to metadata: \
                     category={category}"
                );
                shape::metadata(value)
            }
        },
    };
    body.shift_remove("cache_hint");
    body.insert("status".into(), "ok".into());
    body.insert("full_result_cached".into(), kept.into());
    if kept {
        body.insert("cache_hint".into(), hint(name, tool.upstream.as_ref(), arguments).into());
    }
    Preview { body, truncated }
}

/// The result of the host's function for a value, or the category of its failure.
fn custom(function: &crate::tool::PreviewFn, value: &Json) -> Result<JsonMap, (&'static str, String)> {
    match catch_unwind(AssertUnwindSafe(|| function(value))) {
        Ok(Ok(Json::Object(body))) => Ok(body),
        Ok(Ok(_)) => Err(("non_map", "the function gave no object".into())),
        Ok(Err(detail)) => Err(("raised", detail)),
        Err(panic) => Err(("raised", panic_text(&*panic))),
    }
}

#[cfg(test)]
mod tests;
