//! `ptc program test --live`: whether the real upstreams answer as the tests say.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_host::aggregator::{Aggregator, SnapshotMode};
use ptc_host::engine::{Engine, EngineOptions, EvalRequest};
use ptc_mcp::json::{Value as Json, from_str, json};
use ptc_programs::test_case::{TestCase, TestOutcome, TestReply};

use super::LimitArgs;

/// One call of a tool, whose value is the program's.
const CALL: &str = "(let [reply (tool/call {:server data/server :tool data/tool :args data/args})]
  (if (:ok reply) (:value reply) (fail (str (:reason reply) \": \" (:message reply)))))";

/// What the real upstreams say of a test.
#[derive(Default)]
pub(super) struct LiveDifferences {
    /// Replies that differ, a sentence each.
    pub(super) found: Vec<String>,
    /// Replies that nobody was asked for, a sentence each.
    pub(super) not_asked: Vec<String>,
}

/// The upstreams, for calls of tools that change nothing.
pub(super) struct LiveCalls {
    engine: Engine,
    template: EvalRequest,
    aggregator: Option<Arc<Aggregator>>,
}

impl LiveCalls {
    pub(super) async fn open(limits: &LimitArgs) -> Result<LiveCalls, String> {
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() })
            .map_err(|error| error.to_string())?;
        let (template, aggregator) = limits.request(SnapshotMode::Frozen, true).await?;
        Ok(LiveCalls { engine, template, aggregator })
    }

    pub(super) async fn close(self) {
        if let Some(aggregator) = self.aggregator {
            aggregator.shutdown().await;
        }
    }

    /// In what the real replies differ from those of a test, and which were not asked for.
    pub(super) async fn differences(&self, test: &TestCase) -> LiveDifferences {
        let LiveDifferences { mut found, mut not_asked } = LiveDifferences::default();
        for reply in &test.replies {
            let TestOutcome::Value(expected) = &reply.outcome else { continue };
            let Some(arguments) = &reply.arguments else { continue };
            let place =
                format!("the reply of {}/{} at line {}", reply.upstream, reply.tool, reply.position.line);
            match self.only_reads(reply) {
                Some(true) => {}
                Some(false) => {
                    not_asked.push(format!(
                        "{place}: its tool does not say that it only reads, and was not called"
                    ));
                    continue;
                }
                None => {
                    found.push(format!("{place}: the upstreams have no such tool"));
                    continue;
                }
            }
            match self.call(reply, arguments).await {
                Err(error) => found.push(format!("{place}: the upstream answers with {error}")),
                Ok(got) => {
                    let mut shape = BTreeMap::new();
                    shape_of(expected, String::new(), &mut shape);
                    let mut real = BTreeMap::new();
                    shape_of(&got, String::new(), &mut real);
                    let changed =
                        shape.iter().find(|(place, kind)| real.get(*place).is_none_or(|real| real != *kind));
                    found.extend(changed.map(|(at, kind)| {
                        let got = real.get(at).map_or("nothing", |kind| kind);
                        format!("{place}: at {at:?} the upstream has {got}, and the test has {kind}")
                    }));
                }
            }
        }
        LiveDifferences { found, not_asked }
    }

    /// Whether the tool says that it only reads; `None` if there is none.
    fn only_reads(&self, reply: &TestReply) -> Option<bool> {
        let catalog = self.aggregator.as_ref()?.unfiltered().catalog();
        Some(catalog.server(&reply.upstream)?.tool(&reply.tool)?.only_reads())
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: LiveCalls.call")]
    async fn call(&self, reply: &TestReply, arguments: &Json) -> Result<Json, String> {
        let context = json!({"server": reply.upstream, "tool": reply.tool, "args": arguments});
        let mut request = EvalRequest { program: CALL.into(), ..self.template.clone() };
        request.context = Some(context.to_string().into());
        request.render.json = true;
        match self.engine.eval(request).await.result {
            Err(failure) => Err(failure.full_message()),
            Ok(value) => match value.json {
                Some(Ok(text)) => from_str(&text).map_err(|error| error.to_string()),
                _ => Err("a value that has no JSON form".to_owned()),
            },
        }
    }
}

/// The kinds of a value and of everything in it, by place; the items of a list are all at `/*`, where the first decides.
fn shape_of(value: &Json, place: String, found: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Json::Null => return,
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    };
    found.entry(place.clone()).or_insert(kind);
    match value {
        Json::Array(items) => items.iter().for_each(|item| shape_of(item, format!("{place}/*"), found)),
        Json::Object(map) => {
            map.iter().for_each(|(key, value)| shape_of(value, format!("{place}/{key}"), found))
        }
        _ => {}
    }
}
