//! Observes the model's requests and the programs' upstream calls, and displays them.

use ptc_host::engine::{CallObserver, RunContext};
use ptc_host::time::{self, Instant};

use super::screen::Screen;
use futures_util::future::BoxFuture;
use ptc_agent::llm::{EventSink, Llm, LlmError, LlmEvent, LlmRequest, LlmResponse};
use ptc_agent::telemetry::{Event, Observer, Scope};
use ptc_vm::machine::{HostRequest, Payload, Reply};
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

/// Shows the upstream calls of programs.
pub(super) struct CallDisplay {
    pub(super) screen: Arc<Screen>,
}

impl CallObserver for CallDisplay {
    /// The server, the tool, and when it was called.
    type Call = (String, String, Instant);

    fn before(&self, request: &HostRequest) -> Option<Self::Call> {
        let HostRequest::Upstream(call) = request else { return None };
        let (Ok(server), Ok(tool), Ok(arguments)) = (&call.server, &call.tool, &call.arguments) else {
            return None;
        };
        self.screen.call(server, tool, &String::from_utf8_lossy(&arguments.json));
        Some((server.clone(), tool.clone(), time::now()))
    }

    fn after(&self, (server, tool, started): Self::Call, _: &RunContext, reply: &Reply) {
        let outcome = match reply {
            Reply::Success { payload, .. } | Reply::Value(payload) => Ok(size(payload)),
            Reply::Fault { reason, message, .. } => Err(format!("{reason}: {message}")),
            Reply::Raise(error) => Err(error.message().to_owned()),
        };
        let outcome = outcome.as_ref().map(|bytes| *bytes).map_err(String::as_str);
        self.screen.result(&server, &tool, outcome, time::since(started));
    }
}

fn size(payload: &Payload) -> usize {
    payload.text().map_or(0, |text| text.len())
}
