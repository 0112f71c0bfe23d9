//! Native calls of app tools (agent.md 8.4, 8.5).

use super::tools::{get, report};
use super::{Run, fault};
use crate::agent::{Mode, native_name};
use crate::llm::ToolCall;
use crate::preview::preview;
use crate::tool::Layer;
use serde_json::{Value as Json, json};
use std::time::Instant;

/// Bytes of arguments that an error repeats.
const MAX_SHOWN_ARGUMENTS: usize = 2000;

impl Run {
    /// The content of a call's tool message, and whether the call worked.
    pub(super) async fn native(&mut self, call: &ToolCall) -> (Json, bool) {
        let started = Instant::now();
        let run = self.shared.clone();
        let config = &run.config;
        let refused = |body: Json| {
            report(&run, &call.name, Layer::Native, started, None, false);
            (body, false)
        };
        self.native_calls = self.native_calls.saturating_add(1);
        if let Some(max) = config.max_tool_calls.filter(|max| self.native_calls > *max) {
            return refused(json!({"error": format!("Tool call limit reached (max: {max})")}));
        }
        let bad_arguments = call
            .args_error
            .as_ref()
            .map(|wrong| json!({"error": format!("Invalid JSON arguments: {}", wrong.detail)}));
        // In pure text mode bad arguments are told first, in combined mode the unknown tool.
        if let (Mode::Text, Some(body)) = (config.mode, &bad_arguments) {
            return refused(body.clone());
        }
        let found = config.tools.iter().find(|(name, tool)| {
            config.exposure(tool).native() && native_name(name) == native_name(&call.name)
        });
        let Some((name, tool)) = found else {
            return refused(match config.mode {
                Mode::Text => json!({"error": format!("Tool '{}' not found", call.name)}),
                Mode::Combined => fault("unknown_tool", &format!("Unknown native tool `{}`.", call.name)),
            });
        };
        if let Some(body) = bad_arguments {
            return refused(body);
        }
        let shared = config.shared(tool);
        let got = get(&run, name, tool, call.args.clone(), Layer::Native, shared.is_some()).await;
        let failed = |text: String, hint: Option<String>| {
            let shown = Json::Object(call.args.clone());
            let length = shown.to_string().len();
            let args_received = if length > MAX_SHOWN_ARGUMENTS {
                json!(format!("({length} bytes, left out)"))
            } else {
                shown
            };
            json!({"error": text, "tool": call.name, "args_received": args_received, "hint": hint})
        };
        let got = match got {
            Ok(got) => got,
            Err(error) => {
                let hint =
                    tool.signature.as_ref().map(|signature| format!("The tool's signature is {signature}"));
                return refused(failed(error.0, hint));
            }
        };
        let value: Json = serde_json::from_slice(&got.json).unwrap_or_default();
        let (body, truncated) = match shared {
            Some(kind) => {
                let preview = preview(name, &call.args, &kind, &value, got.kept);
                (Json::Object(preview.body), preview.truncated)
            }
            None => (value, false),
        };
        let length =
            if body.is_object() || body.is_array() || body.is_string() { body.to_string().len() } else { 0 };
        if length > config.max_result_bytes {
            let text =
                format!("the result is {length} bytes, more than the {} that fit", config.max_result_bytes);
            return refused(failed(text, Some("Ask for less".into())));
        }
        report(&run, name, Layer::Native, started, Some(&got), truncated);
        (body, true)
    }
}
