use ptc_host::sync::Mutex;
use std::time::Duration;

use ptc_host::credentials::Secret;
use ptc_host::engine::{EvalFuture, Failure, FinalValue, Limits};
use ptc_mcp::Revision;
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::id::RequestId;
use ptc_vm::Reason;
use ptc_vm::print::{Cut, CutUnit};

use super::*;
use crate::testing::assert_fits;
use ptc_protocol::principal::{Owner, Principal};
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::ReplyText;

/// Answers every program with the same outcome and remembers its requests.
struct Canned {
    outcome: EvalOutcome,
    asked: Mutex<Vec<EvalRequest>>,
}

impl Evaluator for Canned {
    fn eval(&self, request: EvalRequest) -> EvalFuture {
        self.asked.lock().push(request);
        Box::pin(std::future::ready(self.outcome.clone()))
    }
}

fn outcome(result: Result<FinalValue, Failure>) -> EvalOutcome {
    EvalOutcome {
        result,
        prints: Vec::new(),
        attachments: Default::default(),
        steps: 1,
        memory_peak_bytes: 1,
        upstream_calls: Vec::new(),
        catalog_ops: Vec::new(),
        changed: Vec::new(),
        returned: false,
        session: None,
        session_fault: None,
        suspended: None,
        resume_fault: None,
        missed_keys: Vec::new(),
        notes: Vec::new(),
        duration: Duration::ZERO,
    }
}

fn cut() -> Cut {
    Cut { unit: CutUnit::Items, shown: 1, total: 2, path: String::new(), full_bytes: 9, at_least: false }
}

fn value(text: &str) -> EvalOutcome {
    outcome(Ok(FinalValue { text: text.into(), ..FinalValue::default() }))
}

fn tool(profile: Profile, outcome: EvalOutcome) -> (LispEval, Arc<Canned>) {
    let canned = Arc::new(Canned { outcome, asked: Mutex::default() });
    let redactor = Redactor::new();
    redactor.register([&Secret::new("hunter2-hunter2")]).unwrap();
    let options = EvalOptions {
        limits: Limits::plain(),
        caps: ArgumentCaps { max_program_bytes: 20, max_context_bytes: 30 },
        shaper: Shaper::new(profile, 1000),
        upstreams: None,
        max_attached_bytes: 5 << 20,
        fits_client: true,
        programs: None,
        card: None,
        read_only: false,
        redactor,
        reports: false,
        tells_of_ask: false,
        asks: None,
        runs: None,
        recent: None,
    };
    (LispEval::new(canned.clone(), options), canned)
}

async fn call(tool: &LispEval, arguments: Value) -> ToolReply {
    let text = arguments.to_string();
    let raw = Raw::parse(&text).unwrap();
    let context = CallContext {
        origin: None,
        trace: None,
        owner: Owner::of(Principal::process()),
        request_id: RequestId::from_raw(Raw::parse("1").unwrap()).unwrap(),
        revision: Revision::LATEST_HANDSHAKE,
        eval_id: ptc_host::engine::EvalId::new(),
        result_room: None,
        progress: None,
        audience: None,
        asked: Default::default(),
        permit: Default::default(),
    };
    let reply = match tool.prepare(Some(raw), &context) {
        Preparation::Done(reply) => reply,
        Preparation::Gated(work) | Preparation::Free(work) => work.await,
        Preparation::Full(full) => panic!("not let in: {full}"),
        Preparation::After(_) => panic!("nobody is asked here"),
    };
    assert_fits(&tool.definition(), &reply);
    reply
}

fn text(reply: &ToolReply) -> &str {
    match &reply.text {
        ReplyText::Plain(text) => text,
        ReplyText::Mirrored => reply.structured.as_deref().unwrap(),
    }
}

#[tokio::test]
async fn arguments_are_checked_in_order() {
    let (tool, canned) = tool(Profile::Slim, value("1"));
    for (arguments, message) in [
        (json!({}), "argument `program` is required"),
        (json!([]), "arguments must be an object, got array"),
        (json!({"program": null}), "argument `program` must be a string, got null"),
        (json!({"program": 5}), "argument `program` must be a string, got integer"),
        (json!({"program": 5.5}), "argument `program` must be a string, got number"),
        (json!({"program": ["x"], "context": 1}), "argument `program` must be a string, got array"),
        (json!({"program": "  \n "}), "argument `program` must be a non-empty string"),
        (json!({"program": "é".repeat(11)}), "argument `program` exceeds max_program_bytes (22 > 20)"),
        (json!({"program": "1", "context": [1]}), "argument `context` must be a JSON object, got array"),
        (json!({"program": "1", "context": "x"}), "argument `context` must be a JSON object, got string"),
        (
            json!({"program": "1", "context": {"a": "x".repeat(30)}}),
            "argument `context` exceeds max_context_bytes (38 > 30)",
        ),
        (json!({"program": "1", "context": {"a/b": 1, "": 1}}), "argument `context` keys must be non-empty"),
        (
            json!({"program": "1", "context": {"a/b": 1}, "signature": 1}),
            "argument `context` keys may not contain `/` (would shadow PTC-Lisp namespace): \"a/b\"",
        ),
        (
            json!({"program": "1", "signature": "a", "output_schema": 1}),
            "argument `signature` is no longer supported; use `output_schema`",
        ),
        (
            json!({"program": "1", "signature": null, "output_schema": 1}),
            "argument `output_schema` must be a JSON object, got integer",
        ),
        (
            json!({"program": "1", "output_schema": "x"}),
            "argument `output_schema` must be a JSON object, got string",
        ),
        (
            json!({"program": "1", "output_schema": {"type": "wat"}}),
            "argument `output_schema` is invalid: unsupported type: \"wat\"",
        ),
    ] {
        let reply = call(&tool, arguments.clone()).await;
        assert!(reply.is_error);
        assert_eq!(text(&reply), format!("args_error: {message}"), "{arguments}");
    }
    assert!(canned.asked.lock().is_empty());
}

#[test]
fn each_tool_complains_of_a_context_in_its_own_words() {
    let complaint = |context: &str, wording| {
        super::context(Raw::parse(context).ok(), 30, wording).expect_err("a refused context")
    };
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(30));
    for (context, [full, unexplained, short]) in [
        (
            r#"{"a/b":1}"#,
            [
                "argument `context` keys may not contain `/` (would shadow PTC-Lisp namespace): \"a/b\"",
                "argument `context` keys may not contain `/`: \"a/b\"",
                "context keys may not contain `/`",
            ],
        ),
        (
            &large,
            [
                "argument `context` exceeds max_context_bytes (38 > 30)",
                "argument `context` exceeds max_context_bytes (38 > 30)",
                "context exceeds max_context_bytes",
            ],
        ),
        (
            r#"{"":1}"#,
            [
                "argument `context` keys must be non-empty",
                "argument `context` keys must be non-empty",
                "context keys must be non-empty",
            ],
        ),
        (
            r#"{"a":[{"b":1,"\u0062":2}]}"#,
            [
                "argument `context` gives a key twice in one object: \"b\"",
                "argument `context` gives a key twice in one object: \"b\"",
                "context gives a key twice in one object: \"b\"",
            ],
        ),
    ] {
        assert_eq!(complaint(context, Wording::Full), full);
        assert_eq!(complaint(context, Wording::Unexplained), unexplained);
        assert_eq!(complaint(context, Wording::Short), short);
    }
}

#[tokio::test]
async fn a_context_may_be_null_or_written_with_spaces() {
    let (tool, canned) = tool(Profile::Slim, value("1"));
    assert!(!call(&tool, json!({"program": "1", "context": null, "other": 1})).await.is_error);
    let wide = r#"{"program":"1","context":{ "a" : [ 1 , 2 , 3 , 4 , 5 ] , "b" : 1 }}"#;
    let prepared = Arguments::read(Raw::parse(wide).ok(), &tool.options.caps).unwrap();
    assert!(prepared.context.unwrap().len() > 30);
    let twice = r#"{"program":"1","program":"2"}"#;
    assert_eq!(
        Arguments::read(Raw::parse(twice).ok(), &tool.options.caps).unwrap_err(),
        "argument `program` is given twice"
    );
    let deep = format!(r#"{{"program":"1","context":{{"a":{}{}}}}}"#, "[".repeat(128), "]".repeat(128));
    let caps = ArgumentCaps { max_context_bytes: 9999, ..tool.options.caps };
    assert_eq!(
        Arguments::read(Raw::parse(&deep).ok(), &caps).unwrap_err(),
        "argument `context` is nested deeper than 128 levels"
    );
    let asked = canned.asked.lock();
    assert!(
        asked[0].strict_data && asked[0].context.is_none() && asked[0].render.max_text_bytes == Some(1000)
    );
}

#[tokio::test]
async fn the_answer_is_scrubbed_and_carries_the_eval_id() {
    let (tool, canned) = tool(Profile::Structured, value("\"x hunter2-hunter2\""));
    let reply = call(&tool, json!({"program": "1"})).await;
    assert_eq!(text(&reply), "user=> \"x [REDACTED]\"");
    assert_eq!(reply.eval_id, Some(canned.asked.lock()[0].id));
}

#[tokio::test]
async fn reasons_are_mapped() {
    for (reason, word) in [
        (Reason::ParseError, "parse_error"),
        (Reason::UnboundVar, "runtime_error"),
        (Reason::Timeout, "timeout"),
        (Reason::MemoryExceeded, "memory_limit"),
        (Reason::StepLimitExceeded, "step_limit"),
        (Reason::Fail, "fail"),
        (Reason::ValidationError, "validation_error"),
    ] {
        let (tool, _) = tool(Profile::Slim, outcome(Err(Failure::new(reason, "m"))));
        assert_eq!(text(&call(&tool, json!({"program": "1"})).await), format!("{word}: m"));
    }
}

#[tokio::test]
async fn everything_structured_satisfies_the_advertised_schema() {
    let outcomes = [
        value("1"),
        outcome(Ok(FinalValue { is_nil: true, ..FinalValue::default() })),
        outcome(Ok(FinalValue {
            text: "x".into(),
            cut: Some(cut()),
            validated: Some("[]".into()),
            ..FinalValue::default()
        })),
        outcome(Ok(FinalValue {
            text: "x".into(),
            validated: Some(format!("{:?}", "y".repeat(200_000))),
            ..FinalValue::default()
        })),
        outcome(Err(Failure::new(Reason::Fail, "\"no\""))),
        outcome(Err(Failure::new(Reason::StepLimitExceeded, "m".repeat(1_000_000)))),
    ];
    for profile in [Profile::Structured, Profile::Debug] {
        for mut outcome in outcomes.clone() {
            outcome.prints = vec!["p".repeat(3000); 30];
            let (tool, _) = tool(profile, outcome);
            let schema: Value = serde_json::from_str(&tool.definition().output_schema.unwrap()).unwrap();
            assert_eq!(schema["type"], "object");
            let validator = jsonschema::validator_for(&serde_json::to_value(&schema).unwrap()).unwrap();
            let replies = [
                call(&tool, json!({"program": "1"})).await,
                call(&tool, json!({})).await,
                tool.busy(ptc_protocol::concurrency_limiter::CapacityError::Calls(3)),
                ToolReply::busy(ptc_protocol::concurrency_limiter::CapacityError::Calls(3)),
                ToolReply::shutting_down(),
                ToolReply::cancelled(),
            ];
            for reply in replies {
                let structured: Value = serde_json::from_str(reply.structured.as_deref().unwrap()).unwrap();
                assert!(
                    validator.is_valid(&serde_json::to_value(&structured).unwrap()),
                    "{profile:?}: {structured}"
                );
            }
        }
    }
}

#[test]
fn the_definition_is_valid_json_schema() {
    let (tool, _) = tool(Profile::Slim, value("1"));
    let definition = tool.definition();
    assert!(definition.output_schema.is_none());
    let input: Value = serde_json::from_str(&definition.input_schema).unwrap();
    let validator = jsonschema::validator_for(&serde_json::to_value(&input).unwrap()).unwrap();
    assert!(validator.is_valid(&serde_json::json!({"program": "1", "context": {}})));
    assert_eq!(input["required"], json!(["program"]));
    let meta: Value = serde_json::from_str(&definition.meta.unwrap()).unwrap();
    assert_eq!(meta["limits"]["max_program_bytes"], 20);
    let annotations = definition.annotations.unwrap();
    assert!(annotations.contains("\"readOnlyHint\":true") && annotations.contains("\"idempotentHint\":true"));
}
