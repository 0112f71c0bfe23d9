//! Helpers for the tests of protocol and transports.

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_mcp::json::Raw;
use tokio::sync::Semaphore;

use crate::concurrency_limiter::CallLimits;
use crate::protocol::Service;
use crate::protocol::tool::{Annotations, CallContext, Definition, Prepared, Registry, Tool, ToolReply};

/// A tool whose behaviour its arguments choose:
/// `{"say": text}` answers at once, `{"wait": true}` answers when released, `{"panic": true}` panics.
pub(crate) struct MockTool {
    /// Each permit added releases one waiting call.
    pub(crate) release: Arc<Semaphore>,
    /// Counts calls that ended by being dropped.
    pub(crate) dropped: Arc<Semaphore>,
}

impl Tool for MockTool {
    fn definition(&self) -> Definition {
        Definition {
            name: "mock_tool",
            title: "MockTool",
            description: "A \"test\" tool.".into(),
            input_schema: r#"{"type":"object"}"#.into(),
            output_schema: None,
            annotations: Annotations {
                read_only: true,
                destructive: false,
                idempotent: true,
                open_world: false,
            },
            meta: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, _: &CallContext) -> Prepared {
        let has = |name: &str| {
            arguments
                .and_then(Raw::members)
                .into_iter()
                .flatten()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value)
        };
        if let Some(text) = has("now").and_then(Raw::as_str) {
            return Prepared::Done(ToolReply::text(false, text));
        }
        if has("panic").is_some() {
            return Prepared::Gated(async { panic!("a tool that panics") }.boxed());
        }
        let say = has("say").and_then(Raw::as_str).unwrap_or_default().into_owned();
        let waits = has("wait").is_some();
        let (release, dropped) = (self.release.clone(), self.dropped.clone());
        Prepared::Gated(
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
pub(crate) struct Strings {
    pub(crate) release: Arc<Semaphore>,
    pub(crate) dropped: Arc<Semaphore>,
}

/// Holds a reply against the schema that its tool advertises (ruling 42: errors are no exception).
pub(crate) fn assert_fits(definition: &Definition, reply: &ToolReply) {
    let (Some(schema), Some(structured)) = (&definition.output_schema, &reply.structured) else {
        assert!(
            definition.output_schema.is_none(),
            "{} has a schema and sent nothing for it",
            definition.name
        );
        return;
    };
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    let validator = jsonschema::validator_for(&parsed(schema)).expect("a schema");
    let structured = parsed(structured);
    let faults: Vec<_> = validator.iter_errors(&structured).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{}: {structured} does not fit: {faults:?}", definition.name);
}

/// A service with a mock_tool as its only tool.
pub(crate) fn mock_service(max_concurrent_calls: usize) -> (Service, Strings) {
    let (release, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let mock_tool = MockTool { release: release.clone(), dropped: dropped.clone() };
    let service =
        Service::new(Registry::new(vec![Box::new(mock_tool)]), CallLimits::shared(max_concurrent_calls));
    (service, Strings { release, dropped })
}
