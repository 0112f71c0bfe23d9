use super::{call, engine, eval, results};
use crate::agent::{Agent, Output, Transport};
use crate::llm::{LlmResponse, ScriptedLlm};
use crate::run::{ChatState, RunOptions, Step};
use crate::tool::{Expose, JsonMap, ToolContext, ToolError, ToolHandler, ToolSpec};
use bytes::Bytes;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_base::json::{Value as Json, json};
use ptc_engine::{Desk, HostCalls, RunContext};
use ptc_vm::machine::{HostRequest, Payload, Reply};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// An upstream of one tool, which gives a text of `n` characters that begins with the number of the call.
#[derive(Clone, Default)]
struct Upstream {
    calls: Arc<AtomicU32>,
    /// Whether native calls decline to be kept.
    declines: bool,
}

impl Upstream {
    fn text(&self, arguments: &JsonMap) -> String {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let length = arguments.get("n").and_then(Json::as_f64).unwrap_or_default();
        format!("{call}{}", "x".repeat(length as usize))
    }
}

impl ToolHandler for Upstream {
    fn call(&self, arguments: JsonMap, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
        if self.declines {
            context.do_not_keep();
        }
        let text = self.text(&arguments);
        Box::pin(async move { Ok(text.into()) })
    }
}

impl HostCalls for Upstream {
    fn answer(
        self: Arc<Self>,
        _: Rc<RunContext>,
        request: HostRequest,
        _: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
        let HostRequest::Upstream(call) = request else { panic!("{request:?}") };
        let arguments = serde_json::from_slice(&call.arguments.expect("arguments").json).expect("an object");
        let text = Json::from(self.text(&arguments)).to_string();
        Box::pin(async move { Reply::success(Payload::Json(Bytes::from(text))) })
    }
}

/// A program that gives the length of what a call of the tool gives, and its first character.
fn program(id: &str, arguments: &str) -> LlmResponse {
    eval(
        id,
        &format!(
            "(let [r (tool/call {{:server \"s\" :tool \"t\" :args {arguments}}})] \
             [(count (:value r)) (subs (:value r) 0 1) (:value_kind r)])"
        ),
    )
}

async fn run(upstream: &Upstream, script: Vec<LlmResponse>, state: Option<ChatState>) -> Step {
    let tool = ToolSpec::new(upstream.clone()).expose(Expose::Both).cache(true).upstream("s", "t");
    let agent = Agent::builder("go").output(Output::Text).transport(Transport::ToolCall).tool("s__t", tool);
    let options = RunOptions {
        upstreams: Some(Arc::new(upstream.clone())),
        state,
        ..RunOptions::new(Arc::new(ScriptedLlm::new(script))).with_engine(engine())
    };
    agent.max_turns(9).build().unwrap().run(options).await.unwrap()
}

fn native(id: &str, n: f64) -> LlmResponse {
    LlmResponse::calls(vec![call(id, "s__t", json!({"n": n}))])
}

fn done() -> LlmResponse {
    LlmResponse::text("done")
}

#[tokio::test]
async fn a_program_gets_what_the_model_has_a_preview_of() {
    let upstream = Upstream::default();
    let script = vec![
        native("a", 15_000.0),
        program("b", "{:n 15000}"),
        program("c", "{:n 15001}"),
        native("d", 15_000.0),
        program("e", "{:n 15000}"),
        eval("f", "(count (tool/s__t {:n 15000.0}))"),
        done(),
    ];
    let step = run(&upstream, script, None).await;
    let read = results(&step);
    assert_eq!((&read[0].1["full_result_cached"], &read[0].1["characters"]), (&json!(true), &json!(15_001)));
    assert!(read[0].1.to_string().len() < 1500, "{}", read[0].1);
    assert_eq!(read[1].1["result"], "user=> [15001 \"1\" :text]");
    assert_eq!(read[2].1["result"], "user=> [15002 \"2\" :json]");
    assert_eq!(read[4].1["result"], "user=> [15001 \"3\" :text]", "the model has asked again");
    assert_eq!(read[5].1["result"], "user=> 15001");
    assert_eq!((step.usage.retained_bytes, upstream.calls.load(Ordering::Relaxed)), (15_003, 3));
}

#[tokio::test]
async fn what_the_model_has_read_whole_or_what_was_declined_is_asked_for_anew() {
    let upstream = Upstream::default();
    let script = vec![native("a", 10.0), program("b", "{:n 10}"), done()];
    let step = run(&upstream, script, None).await;
    assert_eq!(results(&step)[0].1, json!("1xxxxxxxxxx"));
    assert_eq!(results(&step)[1].1["result"], "user=> [11 \"2\" :json]");
    let upstream = Upstream { declines: true, ..Upstream::default() };
    let script = vec![native("a", 15_000.0), program("b", "{:n 15000}"), done()];
    let step = run(&upstream, script, None).await;
    let preview = &results(&step)[0].1;
    assert_eq!((&preview["full_result_cached"], preview.get("cache_hint")), (&json!(false), None));
    assert!(preview["cache_note"].as_str().unwrap().contains("a program's call gives more"), "{preview}");
    assert_eq!(results(&step)[1].1["result"], "user=> [15001 \"2\" :json]");
}

#[tokio::test]
async fn a_kept_result_of_an_upstream_lives_as_long_as_its_run() {
    let upstream = Upstream::default();
    let first = run(&upstream, vec![native("a", 15_000.0), done()], None).await;
    let tool = ToolSpec::new(upstream.clone()).expose(Expose::Both).cache(true).upstream("s", "t");
    let agent = Agent::builder("more").output(Output::Text).transport(Transport::ToolCall).tool("s__t", tool);
    let options = RunOptions {
        upstreams: Some(Arc::new(upstream)),
        initial_messages: first.messages.clone(),
        state: first.state.clone(),
        ..RunOptions::new(Arc::new(ScriptedLlm::new([program("b", "{:n 15000}"), done()])))
            .with_engine(engine())
    };
    let second = agent.build().unwrap().run(options).await.unwrap();
    let read = results(&second);
    assert_eq!((&read[0].1["full_result_cached"], read[0].1.get("cache_hint")), (&json!(false), None));
    assert_eq!(read[1].1["result"], "user=> [15001 \"2\" :json]");
    assert_eq!(second.usage.retained_bytes, 0);
}
