//! A run of a program: the request that the engine gets, and what its arguments have to be.

use std::sync::Arc;

use ptc_host::engine::EvalRequest;
use ptc_host::engine::kept::ProgramSchema;
use ptc_mcp::json::Value as Json;

use crate::program::KeptProgram;

impl KeptProgram {
    /// The request of a run of `text`, as [`ProgramFolder::linked`](crate::folder::ProgramFolder::linked) gives it, with these
    /// arguments, the text of a JSON object. It ends with `arguments do not fit the input schema: …` if they do not. What the program says of
    /// its limits holds within those of `template`.
    #[must_use]
    pub fn request(&self, text: Arc<str>, arguments: Arc<str>, template: EvalRequest) -> EvalRequest {
        let mut limits = self.head.limits.as_deref().copied().unwrap_or_default().within(template.limits);
        // The operator's file, and no text of a model.
        limits.program_bytes = limits.program_bytes.max(text.len());
        let mut request = EvalRequest { limits, ..template };
        request.program = text;
        request.context = Some(arguments);
        request.input = Some(self.head.input.clone());
        request.strict_data = true;
        request.output_schema = self.head.output.as_deref().and_then(ProgramSchema::checks).cloned();
        request.render.json = true;
        request
    }
}

/// A text of JSON as an engine takes it.
pub(crate) fn text_of(json: &Json) -> Arc<str> {
    json.to_string().into()
}
