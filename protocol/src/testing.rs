//! A service for the tests of transports.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use ptc_host::state::Secret;
use ptc_mcp::json::Raw;
use tokio::sync::Semaphore;

use crate::concurrency_limiter::CallLimits;
use crate::request_state::{RequestStates, StateRules};
use crate::tool::{Annotations, CallContext, Definition, Preparation, Registry, Tool, ToolReply};
use crate::{AskingSettings, Service};

/// A tool whose arguments select its behaviour: `{"say": text}` answers at once, `{"wait": true}` answers when
/// released, `{"panic": true}` panics, `{"ask": true}` asks the client and answers with its reply.
pub(crate) struct MockTool {
    /// Each permit added releases one waiting call.
    pub(crate) release: Arc<Semaphore>,
    /// Counts calls that ended by being dropped.
    pub(crate) dropped: Arc<Semaphore>,
}

impl Tool for MockTool {
    fn definition(&self) -> Definition {
        Definition {
            name: "mock_tool".into(),
            title: Some("MockTool".into()),
            description: "A \"test\" tool.".into(),
            input_schema: r#"{"type":"object"}"#.into(),
            output_schema: None,
            annotations: Some(
                Annotations { read_only: true, destructive: false, idempotent: true, open_world: false }
                    .to_json(),
            ),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let has = |name: &str| {
            arguments
                .and_then(Raw::members)
                .into_iter()
                .flatten()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value)
        };
        if let Some(text) = has("now").and_then(Raw::as_str) {
            return Preparation::Done(ToolReply::text(false, text));
        }
        if has("panic").is_some() {
            return Preparation::Gated(async { panic!("a tool that panics") }.boxed());
        }
        if has("ask").is_some() {
            let line = context.asked.line.clone();
            return Preparation::Gated(
                async move {
                    let Some(asked) = line.and_then(|line| line.request("elicitation/create", "{}").ok())
                    else {
                        return ToolReply::text(false, "nobody");
                    };
                    let mut asked = asked;
                    ToolReply::text(false, format!("{:?}", asked.reply().await))
                }
                .boxed(),
            );
        }
        let say = has("say").and_then(Raw::as_str).unwrap_or_default().into_owned();
        let waits = has("wait").is_some();
        let (release, dropped) = (self.release.clone(), self.dropped.clone());
        Preparation::Gated(
            async move {
                let mut guard = DropCount(Some(dropped));
                if waits {
                    release.acquire().await.expect("open").forget();
                }
                guard.0 = None;
                ToolReply::text(false, say)
            }
            .boxed(),
        )
    }
}

struct DropCount(Option<Arc<Semaphore>>);

impl Drop for DropCount {
    fn drop(&mut self) {
        if let Some(dropped) = self.0.take() {
            dropped.add_permits(1);
        }
    }
}

/// The strings of a [`MockTool`].
pub struct Strings {
    /// Each permit added releases one waiting call.
    pub release: Arc<Semaphore>,
    /// Counts calls that ended by being dropped.
    pub dropped: Arc<Semaphore>,
}

/// The elicitation settings of test services.
fn asking() -> Option<AskingSettings> {
    let rules = StateRules { ttl: Duration::from_secs(600), max_bytes: 256 << 10 };
    let secret = Secret::random().expect("entropy");
    Some(AskingSettings {
        states: RequestStates::new(&secret, "test", rules),
        open: Duration::from_secs(45),
        page: Duration::from_secs(15),
    })
}

/// A service with a mock_tool as its only tool.
pub fn mock_service(max_concurrent_calls: usize) -> (Service, Strings) {
    let (release, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let mock_tool = MockTool { release: release.clone(), dropped: dropped.clone() };
    let tools = Registry::new(vec![Box::new(mock_tool)]);
    let mut service = Service::new(tools, CallLimits::shared(max_concurrent_calls));
    service.asking = asking();
    (service, Strings { release, dropped })
}
