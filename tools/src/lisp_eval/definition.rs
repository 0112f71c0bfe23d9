//! The listing of `lisp_eval`.

use std::sync::Arc;

use ptc_host::policy::Authority;
use ptc_mcp::json::{Object, object_text};

use super::EvalOptions;
use crate::descriptions;
use crate::schemas::{self, error_branch, success_branch, union};
use ptc_protocol::LongText;
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{Annotations, Definition, LongTexts};
use ptc_runs::Runs;

/// The definition under these options, for the caller of this authority.
pub(super) fn definition(options: &EvalOptions, authority: Option<&Arc<Authority>>) -> Definition {
    let has_upstreams = options.card.is_some();
    let card = options.card.as_ref().map(|card| card.get(authority));
    let programs = options.programs_alone();
    let described = |long_text| {
        let (profile, timeout) = (options.shaper.profile, options.limits.timeout);
        let programs = programs.as_ref().map(|text| match (&text.whole, long_text) {
            (Some(whole), LongText::Tool) => whole.as_str(),
            _ => text.short.as_str(),
        });
        descriptions::lisp_eval(profile, card.as_ref(), programs, timeout, options.tells_of_ask, long_text)
    };
    let (has_wait, has_record) = (has_wait(options.runs.as_ref()), options.recent.is_some());
    let schema = |program: &str| input_schema(program, has_upstreams, has_wait, has_record);
    let whole = card.as_ref().and_then(|card| card.whole.as_deref());
    let whole = whole.or_else(|| programs.as_ref()?.whole.as_deref());
    Definition {
        name: "lisp_eval".into(),
        title: Some("PTC-Lisp eval".into()),
        description: described(LongText::Nowhere),
        input_schema: schema(descriptions::PROGRAM),
        output_schema: output_schema(options.shaper.profile, has_upstreams, options.runs.as_ref()),
        annotations: Some(annotations(has_upstreams, options.read_only).to_json()),
        meta: Some(limits(options)),
        long: whole.map(|whole| {
            let beside_parameter = described(LongText::Parameter);
            let program = descriptions::program(whole, &beside_parameter);
            let with_parameter = schema(&program);
            Box::new(LongTexts { in_tool: described(LongText::Tool), beside_parameter, with_parameter })
        }),
    }
}

/// The argument `record`.
const RECORD: &str = r#"{"type":"boolean","description":"Record the run as a test for lisp_keep."}"#;

/// The hints of an evaluating tool.
pub(in super::super) fn annotations(has_upstreams: bool, read_only: bool) -> Annotations {
    match (has_upstreams, read_only) {
        (false, _) => {
            Annotations { read_only: true, destructive: false, idempotent: true, open_world: false }
        }
        (true, true) => {
            Annotations { read_only: true, destructive: false, idempotent: false, open_world: true }
        }
        (true, false) => {
            Annotations { read_only: false, destructive: true, idempotent: false, open_world: true }
        }
    }
}

/// `has_wait`, `has_record`: whether these arguments are offered.
fn input_schema(program: &str, has_upstreams: bool, has_wait: bool, has_record: bool) -> String {
    let scope =
        if has_upstreams { " It is held against the answer, not against what tools return." } else { "" };
    object_text(|object| {
        object.string("type", "object");
        object.strings("required", ["program"]);
        let mut properties = Object::new(object.key("properties"));
        let mut source = Object::new(properties.key("program"));
        source.string("type", "string");
        source.string("description", program);
        source.end();
        properties.raw(
            "context",
            r#"{"type":"object","additionalProperties":true,"description":"Optional named JSON values, readable as data/<name>."}"#,
        );
        let mut schema = Object::new(properties.key("output_schema"));
        schema.string("type", "object");
        schema.string(
            "description",
            &format!(
                "Optional JSON Schema the returned value must satisfy; the checked value comes back as `validated`. \
                 Write it as pydantic or zod do.{scope}"
            ),
        );
        schema.end();
        if has_wait {
            properties.raw("wait_ms", schemas::WAIT_MS);
        }
        if has_record {
            properties.raw("record", RECORD);
        }
        properties.end();
    })
}

/// True if a client may set how long it waits.
pub(in super::super) fn has_wait(runs: Option<&Arc<Runs>>) -> bool {
    runs.is_some_and(|runs| runs.settings().long)
}

/// The output schema of an evaluation, and of tools that wait for one.
pub(in super::super) fn output_schema(
    profile: Profile,
    has_upstreams: bool,
    runs: Option<&Arc<Runs>>,
) -> Option<String> {
    let branches = match profile {
        Profile::Slim => return None,
        Profile::Structured => [
            success_branch(&["status"], |properties| {
                schemas::result(properties);
                schemas::prints(properties);
                schemas::validated(properties);
                properties.raw("upstream_results", schemas::OBJECTS);
                schemas::flags(properties, &["truncated", "output_truncated"]);
            }),
            error_branch(&["status", "reason", "message"], |properties| {
                properties.raw("reason", schemas::STRING);
                schemas::strings(properties, &["message", "feedback", "result"]);
                schemas::prints(properties);
                schemas::flags(properties, &["truncated", "output_truncated", "feedback_truncated"]);
                properties.raw("upstream_calls", schemas::FAILED_CALLS);
            }),
        ],
        Profile::Debug => [
            success_branch(&["status", "prints", "feedback", "truncated"], |properties| {
                schemas::result(properties);
                schemas::validated(properties);
                schemas::diagnostics(properties, has_upstreams);
            }),
            error_branch(&["status", "reason", "message", "feedback"], |properties| {
                properties.raw("reason", &schemas::reason());
                schemas::strings(properties, &["message", "result"]);
                schemas::diagnostics(properties, has_upstreams);
            }),
        ],
    };
    Some(union(branches.into_iter().chain(schemas::run_branches(runs))))
}

/// The caps of one call, for clients that plan ahead.
fn limits(options: &EvalOptions) -> String {
    object_text(|object| {
        // The server's only tool is useless if a client hides it behind its search for tools.
        object.boolean("anthropic/alwaysLoad", true);
        let mut limits = Object::new(object.key("limits"));
        limits.integer("max_program_bytes", options.caps.max_program_bytes as u64);
        limits.integer("max_context_bytes", options.caps.max_context_bytes as u64);
        limits.integer("max_result_bytes", options.shaper.max_result_bytes as u64);
        limits.integer("program_timeout_ms", options.limits.timeout.as_millis() as u64);
        limits.integer("program_memory_limit_bytes", options.limits.memory_bytes);
        limits.integer("program_step_limit", options.limits.steps);
        limits.end();
    })
}
