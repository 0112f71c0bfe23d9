//! The native calls of one response (agent.md 8.4, 8.5).

use super::AgentRun;
use super::shared::{RunScope, fault};
use super::tools::{ToolAnswer, get, keep, read_whole, report};
use crate::llm::{Image, ToolCall, lift, may_hold};
use crate::preview::{Preview, preview};
use crate::settings::{Mode, native_name};
use crate::tool::{JsonMap, Layer, NativeResult, ToolSpec};
use futures_util::{StreamExt, stream};
use ptc_base::json::{Value as Json, json};
use ptc_base::time::{self, Instant};
use std::sync::Arc;

/// Bytes of arguments that an error repeats.
const MAX_DISPLAYED_ARGUMENTS: usize = 2000;

impl AgentRun {
    /// Answers app-tool calls: as many at a time as the agent allows, in the response's order.
    pub(super) async fn natives(&mut self, calls: &[ToolCall]) -> Vec<ToolAnswer> {
        let run = self.shared.clone();
        let parallel = run.config.parallel_tool_calls;
        let planned: Vec<Result<PlannedCall, Json>> = calls.iter().map(|call| self.plan(call)).collect();
        let answers = calls.iter().cloned().zip(planned).map(|(call, planned)| {
            let run = run.clone();
            async move {
                let (began, started) = (time::time_of_day(), time::now());
                let (body, ok, images) = match planned {
                    Err(refusal) => {
                        report(&run, &call.name, Layer::Native, started, None, false);
                        (refusal, false, Vec::new())
                    }
                    Ok(planned) => answer(&run, &call, planned, started).await,
                };
                ToolAnswer { body, ok, began, took: time::since(started), images }
            }
        });
        stream::iter(answers).buffered(parallel).collect().await
    }

    /// The tool of a call, or why it does not run. Counts the call.
    fn plan(&mut self, call: &ToolCall) -> Result<PlannedCall, Json> {
        let config = &self.shared.config;
        self.native_calls = self.native_calls.saturating_add(1);
        if let Some(max) = config.max_tool_calls.filter(|max| self.native_calls > *max) {
            return Err(json!({"error": format!("Tool call limit reached (max: {max})")}));
        }
        let bad_arguments = call
            .args_error
            .as_ref()
            .map(|wrong| json!({"error": format!("Invalid JSON arguments: {}", wrong.detail)}));
        // In pure text mode bad arguments are told first, in combined mode the unknown tool.
        if let (Mode::Text, Some(body)) = (config.mode, &bad_arguments) {
            return Err(body.clone());
        }
        let wanted = native_name(&call.name);
        let Some((name, tool)) = config.native_tools().find(|(name, _)| native_name(name) == wanted) else {
            return Err(match config.mode {
                Mode::Text => json!({"error": format!("Tool '{}' not found", call.name)}),
                _ => fault("unknown_tool", &format!("Unknown native tool `{}`.", call.name)),
            });
        };
        match bad_arguments {
            Some(body) => Err(body),
            None => Ok(PlannedCall { name: name.clone(), tool: tool.clone() }),
        }
    }
}

/// The preview of a result, or its metadata if the preview is too large: every kept result must be mentioned.
fn preview_within(
    name: &str,
    tool: &ToolSpec,
    arguments: &JsonMap,
    kind: &NativeResult,
    value: &Json,
    kept: bool,
    max: usize,
) -> Preview {
    let full = preview(name, tool, arguments, kind, value, kept);
    let fits = |preview: &Preview| serde_json::to_string(&preview.body).is_ok_and(|text| text.len() <= max);
    if matches!(kind, NativeResult::Metadata) || fits(&full) {
        return full;
    }
    let metadata = preview(name, tool, arguments, &NativeResult::Metadata, value, kept);
    Preview { truncated: true, ..metadata }
}

/// A call that runs.
struct PlannedCall {
    /// The tool's own name.
    name: String,
    tool: ToolSpec,
}

#[expect(clippy::disallowed_methods, reason = "entry point: answer()")]
async fn answer(
    run: &Arc<RunScope>,
    call: &ToolCall,
    planned: PlannedCall,
    started: Instant,
) -> (Json, bool, Vec<Image>) {
    let PlannedCall { name, tool } = planned;
    let max = run.config.max_result_bytes;
    let refused = |body: Json| {
        report(run, &name, Layer::Native, started, None, false);
        (body, false, Vec::new())
    };
    let failed = |text: String, hint: Option<String>| {
        let display = Json::Object(call.args.clone());
        let length = display.to_string().len();
        let args_received = if length > MAX_DISPLAYED_ARGUMENTS {
            json!(format!("({length} bytes, left out)"))
        } else {
            display
        };
        json!({"error": text, "tool": call.name, "args_received": args_received, "hint": hint})
    };
    let shared = run.config.shared(&tool);
    // An upstream is asked anew: the model may want to know what has become of something.
    let reuses = shared.is_some() && tool.upstream.is_none();
    let mut got = match get(run, &name, &tool, call.args.clone(), Layer::Native, reuses).await {
        Ok(got) => got,
        Err(error) => {
            let hint = tool.shown_signature().map(|signature| format!("The tool's signature is {signature}"));
            return refused(failed(error.0, hint));
        }
    };
    let too_large = |bytes: usize| {
        let text = format!("the result is {bytes} bytes, more than the {max} that fit");
        failed(text, Some("Ask for less".into()))
    };
    if shared.is_none() && got.json.len() > max && !may_hold(&got.json) {
        return refused(too_large(got.json.len()));
    }
    let mut value: Json = match ptc_base::json::from_slice(&got.json) {
        Ok(value) => value,
        Err(error) => {
            return refused(failed(format!("the result cannot be read as JSON again: {error}"), None));
        }
    };
    // The largest result that the model reads whole.
    let whole = match &shared {
        None => Some(max),
        Some(NativeResult::WholeUpTo { bytes }) => Some((*bytes).min(max)),
        Some(_) => None,
    };
    let mut images = Vec::new();
    if let Some(whole) = whole {
        images = lift(&mut value, run.asked.sees_images());
        let length = if may_hold(&got.json) { value.to_string().len() } else { got.json.len() };
        if length <= whole {
            if tool.upstream.is_some() {
                read_whole(run, &name, &got.arguments);
            }
            report(run, &name, Layer::Native, started, Some(&got), false);
            return (value, true, images);
        }
        if shared.is_none() {
            return refused(too_large(length));
        }
    }
    let kind = shared.unwrap_or_default();
    if tool.upstream.is_some() {
        let arguments = got.arguments.clone();
        keep(run, &name, &tool, &arguments, &mut got);
    }
    let mut preview = preview_within(&name, &tool, &got.arguments, &kind, &value, got.kept(), max);
    if let Some(why) = got.refused {
        let text =
            format!("The full result is not kept: {why}. A program that calls the tool runs it again.");
        preview.body.insert("cache_note".into(), text.into());
    }
    let body = Json::Object(preview.body);
    let length = body.to_string().len();
    if length > max {
        return refused(too_large(length));
    }
    report(run, &name, Layer::Native, started, Some(&got), preview.truncated);
    (body, true, images)
}
