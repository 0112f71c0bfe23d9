//! Observes the model's requests and the programs' upstream calls, and displays them.

use ptc_host::engine::{HostCalls, RunContext};
use ptc_mcp::json::Value as Json;

use super::screen::Screen;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_agent::llm::{EventSink, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse, Message};
use ptc_agent::telemetry::{Event, Observer, Scope};
use ptc_vm::machine::{HostRequest, Payload, Reply};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The tool that runs programs.
const LISP_EVAL: &str = "lisp_eval";

/// A model whose answers are shown as they arrive.
pub(super) struct WatchedLlm {
    pub(super) inner: Arc<dyn Llm>,
    pub(super) screen: Arc<Screen>,
}

impl Llm for WatchedLlm {
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        if self.screen.is_live() {
            let nobody: EventSink = Arc::new(|_| {});
            return self.stream(request, nobody);
        }
        self.programs_of(&request.messages);
        let asked = self.inner.complete(request);
        async move { Ok(self.shown(asked.await?)) }.boxed()
    }

    fn stream(&self, request: LlmRequest, sink: EventSink) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        self.programs_of(&request.messages);
        self.screen.begin();
        let screen = self.screen.clone();
        let shown: EventSink = Arc::new(move |event| {
            if let LlmEvent::Text(text) = event {
                screen.text(text);
            }
            sink(event);
        });
        let asked = self.inner.stream(request, shown);
        async move { Ok(self.shown(asked.await?)) }.boxed()
    }

    fn model(&self) -> Option<&str> {
        self.inner.model()
    }

    fn sees_images(&self) -> bool {
        self.inner.sees_images()
    }
}

impl WatchedLlm {
    /// Shows the programs of a response before they run. Calls of native tools show themselves.
    fn shown(&self, response: LlmResponse) -> LlmResponse {
        for call in response.tool_calls.iter().filter(|call| call.name == LISP_EVAL) {
            if let Some(program) = call.args.get("program").and_then(Json::as_str) {
                self.screen.program(program);
            }
        }
        response
    }

    /// Shows the outcomes of the programs whose results the model is about to read.
    fn programs_of(&self, messages: &[Message]) {
        let new = messages.iter().rposition(|message| !matches!(message, Message::Tool { .. }));
        let Some(at) = new else { return };
        let Message::Assistant { tool_calls, .. } = &messages[at] else { return };
        for message in &messages[at + 1..] {
            let Message::Tool { tool_call_id, content, .. } = message else { continue };
            let program = tool_calls.iter().any(|call| call.id == *tool_call_id && call.name == LISP_EVAL);
            let Some(result) = serde_json::from_str::<Json>(content).ok().filter(|_| program) else {
                continue;
            };
            let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
            if result["status"] == "ok" {
                for print in result["prints"].as_array().into_iter().flatten().filter_map(Json::as_str) {
                    self.screen.note(&format!("   {print}"));
                }
                let value = text("result");
                self.screen.value(value.strip_prefix("user=> ").unwrap_or("nil"));
            } else {
                self.screen.value(&format!("{}: {}", text("reason"), text("message")));
            }
        }
    }
}

/// Shows the turns of an agent whose text is programs.
pub(super) fn turns(screen: Arc<Screen>) -> Arc<dyn Observer> {
    Arc::new(move |_: &Scope, event: &Event<'_>| {
        if let Event::TurnStop { program: Some(program), result_preview, prints, .. } = event {
            screen.program(program);
            for print in *prints {
                screen.note(&format!("   {print}"));
            }
            if let Some(result) = result_preview {
                screen.value(result);
            }
        }
    })
}

/// Upstreams whose calls from programs are shown.
pub(super) struct WatchedCalls {
    pub(super) inner: Arc<dyn HostCalls>,
    pub(super) screen: Arc<Screen>,
}

impl HostCalls for WatchedCalls {
    fn answer(&self, run: Rc<RunContext>, request: HostRequest) -> LocalBoxFuture<'static, Reply> {
        let names = match &request {
            HostRequest::Upstream(call) => match (&call.server, &call.tool, &call.arguments) {
                (Ok(server), Ok(tool), Ok(arguments)) => {
                    self.screen.call(server, tool, &String::from_utf8_lossy(&arguments.json));
                    Some((server.clone(), tool.clone()))
                }
                _ => None,
            },
            _ => None,
        };
        let answer = self.inner.answer(run, request);
        let Some((server, tool)) = names else { return answer };
        let (screen, started) = (self.screen.clone(), Instant::now());
        async move {
            let reply = answer.await;
            let outcome = match &reply {
                Reply::Success { payload, .. } | Reply::Value(payload) => Ok(size(payload)),
                Reply::Fault { reason, message, .. } => Err(format!("{reason}: {message}")),
                Reply::Raise(error) => Err(error.message().to_owned()),
            };
            screen.result(
                &server,
                &tool,
                outcome.as_ref().map(|bytes| *bytes).map_err(String::as_str),
                started.elapsed(),
            );
            reply
        }
        .boxed_local()
    }
}

fn size(payload: &Payload) -> usize {
    match payload {
        Payload::Json(bytes) | Payload::JsonOrText(bytes) => bytes.len(),
        Payload::Text(text) => text.len(),
        Payload::Content(_) | Payload::None => 0,
    }
}
