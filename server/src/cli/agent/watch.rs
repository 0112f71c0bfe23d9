//! Observes the model's requests and the programs' upstream calls, and displays them.

use ptc_host::engine::{Desk, HostCalls, RunContext};
use ptc_host::time;

use super::screen::Screen;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_agent::llm::{EventSink, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse};
use ptc_agent::telemetry::{Event, Observer, Scope};
use ptc_vm::machine::{HostRequest, Payload, Reply};
use std::rc::Rc;
use std::sync::Arc;

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
        self.inner.complete(request)
    }

    fn stream(&self, request: LlmRequest, sink: EventSink) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        self.screen.begin();
        let screen = self.screen.clone();
        let shown: EventSink = Arc::new(move |event| {
            if let LlmEvent::Text(text) = event {
                screen.text(text);
            }
            sink(event);
        });
        self.inner.stream(request, shown)
    }

    fn model(&self) -> Option<&str> {
        self.inner.model()
    }

    fn sees_images(&self) -> bool {
        self.inner.sees_images()
    }
}

/// Shows programs as they begin, their prints and their results.
pub(super) fn programs(screen: Arc<Screen>) -> Arc<dyn Observer> {
    Arc::new(move |_: &Scope, event: &Event<'_>| match event {
        Event::ToolStart { tool_name: LISP_EVAL, args, .. } => screen.program(args),
        Event::ToolException { tool_name: LISP_EVAL, message, .. } => screen.value(message),
        Event::TurnStop { program: Some(_), result_preview, prints, .. } => {
            for print in *prints {
                screen.note(&format!("   {print}"));
            }
            if let Some(result) = result_preview {
                screen.value(result);
            }
        }
        _ => {}
    })
}

/// Upstreams whose calls from programs are shown.
pub(super) struct WatchedCalls {
    pub(super) inner: Arc<dyn HostCalls>,
    pub(super) screen: Arc<Screen>,
}

impl HostCalls for WatchedCalls {
    fn max_request_bytes(&self) -> usize {
        self.inner.max_request_bytes()
    }

    fn answer(
        self: Arc<Self>,
        run: Rc<RunContext>,
        request: HostRequest,
        desk: Desk,
    ) -> LocalBoxFuture<'static, Reply> {
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
        let answer = self.inner.clone().answer(run, request, desk);
        let Some((server, tool)) = names else { return answer };
        let (screen, started) = (self.screen.clone(), time::now());
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
                time::since(started),
            );
            reply
        }
        .boxed_local()
    }
}

fn size(payload: &Payload) -> usize {
    payload.text().map_or(0, |text| text.len())
}
