//! Upstream tools that are offered to the model directly.

use ptc_host::aggregator::Aggregator;
use ptc_host::catalog::{Catalog, ServerEntry, ToolEntry, check_call};
use ptc_host::upstream::{Call, CallLimits, Caller, ReplyPayload};
use ptc_mcp::json::Value as Json;

use super::screen::Screen;
use ptc_agent::tool::{Expose, JsonMap, ToolSpec};
use ptc_vm::machine::{ToolArguments, UpstreamCall};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Longest name of a tool that providers accept.
const MAX_NAME: usize = 64;
/// Longest description of a tool, in characters.
const MAX_DESCRIPTION: usize = 1000;
/// Largest result that enters the conversation; larger ones are left to programs.
const MAX_RESULT: usize = 32 << 10;

/// What one native call may cost.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub(super) timeout: Duration,
    pub(super) max_bytes: usize,
}

/// The tools that `patterns` name, keyed by the names that the model uses.
///
/// # Errors
/// If a pattern matches nothing.
pub(super) fn tools(
    aggregator: &Arc<Aggregator>,
    patterns: &[String],
    limits: Limits,
    screen: &Arc<Screen>,
) -> Result<Vec<(String, ToolSpec)>, String> {
    let catalog = aggregator.catalog();
    let mut chosen: BTreeMap<String, (&ServerEntry, &ToolEntry)> = BTreeMap::new();
    for pattern in patterns {
        let mut found = false;
        for (server, tool) in all(&catalog).filter(|(server, tool)| fits(pattern, server, tool)) {
            found = true;
            let name = unique(&server.name, &tool.name, |name| {
                chosen.get(name).is_some_and(|(s, t)| (&s.name, &t.name) != (&server.name, &tool.name))
            });
            chosen.insert(name, (server, tool));
        }
        if !found {
            return Err(format!("--native {pattern} fits no tool: see `ptc tools`"));
        }
    }
    let spec = |(server, tool): (&ServerEntry, &ToolEntry)| {
        let handler = Handler {
            aggregator: aggregator.clone(),
            server: server.name.clone(),
            tool: tool.name.clone(),
            limits,
            screen: screen.clone(),
        };
        let call = move |arguments: JsonMap| {
            let handler = handler.clone();
            async move { handler.call(arguments).await }
        };
        let description: String = tool.description.chars().take(MAX_DESCRIPTION).collect();
        let description = if description.is_empty() { tool.name.clone() } else { description };
        ToolSpec::new(call)
            .parameters(tool.input_schema.clone())
            .description(description)
            .expose(Expose::Native)
    };
    Ok(chosen.into_iter().map(|(name, chosen)| (name, spec(chosen))).collect())
}

fn all(catalog: &Catalog) -> impl Iterator<Item = (&ServerEntry, &ToolEntry)> {
    catalog.servers().flat_map(|server| server.tools_by_name().map(move |tool| (server, tool)))
}

fn fits(pattern: &str, server: &ServerEntry, tool: &ToolEntry) -> bool {
    pattern == "all"
        || pattern == server.name
        || pattern.strip_prefix(&*server.name).and_then(|rest| rest.strip_prefix('/')) == Some(&tool.name)
}

/// `server__tool` in characters that every provider accepts, shortened, and numbered if that name is taken.
fn unique(server: &str, tool: &str, taken: impl Fn(&str) -> bool) -> String {
    let clean = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
    };
    let full = format!("{}__{}", clean(server), clean(tool));
    for number in 1.. {
        let end = if number == 1 { String::new() } else { format!("_{number}") };
        let name = format!("{}{end}", &full[..full.len().min(MAX_NAME - end.len())]);
        if !taken(&name) {
            return name;
        }
    }
    full
}

/// Calls one tool for the model.
#[derive(Clone)]
struct Handler {
    aggregator: Arc<Aggregator>,
    server: String,
    tool: String,
    limits: Limits,
    screen: Arc<Screen>,
}

impl Handler {
    async fn call(&self, arguments: JsonMap) -> Result<Json, String> {
        let started = Instant::now();
        let arguments = Json::Object(arguments).to_string();
        self.screen.call(&self.server, &self.tool, &arguments);
        let result = self.ask(arguments).await.map_err(|text| self.aggregator.redactor().scrub_string(text));
        let outcome = result.as_ref().map(|value| value.to_string().len()).map_err(String::as_str);
        self.screen.result(&self.server, &self.tool, outcome, started.elapsed());
        let value = result?;
        let length = value.to_string().len();
        if length > MAX_RESULT {
            return Err(format!(
                "the result is {length} bytes, more than the {MAX_RESULT} that fit into the conversation: call \
                 (tool/call {{:server {:?} :tool {:?} :args {{...}}}}) in lisp_eval and compute over it there",
                self.server, self.tool
            ));
        }
        Ok(value)
    }

    async fn ask(&self, arguments: String) -> Result<Json, String> {
        let wanted = UpstreamCall {
            server: Ok(self.server.clone()),
            tool: Ok(self.tool.clone()),
            arguments: Ok(ToolArguments { json: arguments.into_bytes(), hyphenated: Vec::new() }),
        };
        let catalog = self.aggregator.catalog();
        let checked = check_call(&catalog, &wanted)?;
        let upstream = self.aggregator.upstreams().find(|(config, _)| config.name == self.server);
        let Some((_, upstream)) = upstream else {
            return Err(format!("no upstream '{}' configured", self.server));
        };
        let Limits { timeout, max_bytes } = self.limits;
        let deadline = Instant::now() + timeout.saturating_mul(2);
        let limits = CallLimits { timeout, deadline, max_bytes, binary_bytes: 0 };
        let may_wrap = checked.may_wrap;
        let call = Call {
            tool: &self.tool,
            arguments: &checked.arguments,
            limits,
            arrivals: None,
            caller: Caller::default(),
            may_wrap,
        };
        let reply = upstream.call(call).await.map_err(|fault| fault.to_string())?;
        let mut value = match reply.payload.resolve() {
            ReplyPayload::Json(bytes) | ReplyPayload::JsonOrText(bytes) => ptc_mcp::json::from_slice(&bytes)
                .map_err(|error| format!("the result is not JSON: {error}"))?,
            ReplyPayload::Text(bytes) => Json::from(String::from_utf8_lossy(&bytes)),
            ReplyPayload::JsonNull | ReplyPayload::Content(_) | ReplyPayload::None => Json::Null,
        };
        self.aggregator.redactor().scrub_json(&mut value);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::unique;

    #[test]
    fn names_fit_providers_and_differ() {
        assert_eq!(unique("my-fs", "read.file", |_| false), "my_fs__read_file");
        assert_eq!(unique("a", "b", |name| name == "a__b"), "a__b_2");
        let long = unique(&"s".repeat(50), &"t".repeat(60), |name| name.len() == 64 && name.ends_with("tt"));
        assert_eq!((long.len(), long.ends_with("t_2")), (64, true));
        assert_eq!(unique("é", "x", |_| false), "___x");
    }
}
