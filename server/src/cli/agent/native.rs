//! Upstream tools that are offered to the model directly.

use ptc_host::aggregator::Aggregator;
use ptc_host::catalog::{Catalog, ServerEntry, ToolEntry, check_call};
use ptc_host::engine::Asker;
use ptc_host::time;
use ptc_host::upstream::{
    BlockMember, Call, CallLimits, CallReply, Caller, ContentBlock, Payload, ResendMembers,
};
use ptc_mcp::json::{Value as Json, json};

use super::screen::Screen;
use futures_util::future::BoxFuture;
use ptc_agent::tool::{Expose, JsonMap, ToolContext, ToolError, ToolHandler, ToolSpec};
use ptc_vm::machine::{ToolArguments, UpstreamCall};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Longest name of a tool that providers accept.
const MAX_NAME: usize = 64;
/// Longest description of a tool, in characters.
const MAX_DESCRIPTION: usize = 1000;
/// Largest result that enters the conversation if it is not cached; larger ones are left to programs.
const MAX_RESULT: usize = 32 << 10;

/// The limits of one native call.
#[derive(Clone, Copy)]
pub(super) struct NativeCallLimits {
    pub(super) timeout: Duration,
    pub(super) max_bytes: usize,
    /// Characters of base64 in one answer, which are counted separately.
    pub(super) binary_bytes: usize,
}

/// The tools that are offered, and those whose results programs may use.
pub(super) struct Choice<'a> {
    /// The patterns of `--native`.
    pub(super) native: &'a [String],
    /// The patterns of `--cache-tool`, in addition to tools that declare themselves read-only.
    pub(super) cached: &'a [String],
    /// True if there are programs.
    pub(super) programs: bool,
}

/// The tools of a choice, keyed by the names that the model uses.
///
/// # Errors
/// If a pattern matches nothing.
pub(super) fn tools(
    aggregator: &Arc<Aggregator>,
    choice: &Choice<'_>,
    limits: NativeCallLimits,
    screen: &Arc<Screen>,
    asker: Option<&Arc<dyn Asker>>,
) -> Result<Vec<(String, ToolSpec)>, String> {
    let catalog = aggregator.unfiltered().catalog();
    let mut chosen: BTreeMap<String, (&ServerEntry, &ToolEntry)> = BTreeMap::new();
    for pattern in choice.native {
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
    let natives = || chosen.values().copied();
    if let Some(pattern) =
        choice.cached.iter().find(|pattern| !natives().any(|(server, tool)| fits(pattern, server, tool)))
    {
        return Err(format!("--cache-tool {pattern} fits no tool that --native offers"));
    }
    let spec = |(server, tool): (&ServerEntry, &ToolEntry)| {
        let wanted = choice.cached.iter().any(|pattern| fits(pattern, server, tool));
        let kept = choice.programs && (wanted || only_reads(tool));
        let handler = Handler {
            aggregator: aggregator.clone(),
            server: server.name.clone(),
            tool: tool.name.clone(),
            limits,
            largest: if kept { usize::MAX } else { MAX_RESULT },
            screen: screen.clone(),
            asker: asker.cloned(),
        };
        let description: String = tool.description.chars().take(MAX_DESCRIPTION).collect();
        let description = if description.is_empty() { tool.name.clone() } else { description };
        let spec = ToolSpec::new(handler).parameters(tool.input_schema.clone()).description(description);
        if kept {
            spec.expose(Expose::Both).cache(true).upstream(&server.name, &tool.name)
        } else {
            spec.expose(Expose::Native)
        }
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

/// True if a tool declares that it changes nothing.
fn only_reads(tool: &ToolEntry) -> bool {
    let hint = tool.annotations.as_ref().and_then(|annotations| annotations.get("readOnlyHint"));
    hint == Some(&Json::Bool(true))
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
    limits: NativeCallLimits,
    /// Largest result that is passed to the model.
    largest: usize,
    screen: Arc<Screen>,
    /// The asker for approvals.
    asker: Option<Arc<dyn Asker>>,
}

impl ToolHandler for Handler {
    fn call(&self, arguments: JsonMap, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
        let handler = self.clone();
        Box::pin(async move { handler.answer(arguments, &context).await.map_err(ToolError) })
    }
}

/// An answer in the form for the model.
struct ModelReply {
    value: Json,
    /// True if it is all that a program would get.
    whole: bool,
    /// Characters of base64 in it.
    binary: usize,
}

impl Handler {
    async fn answer(&self, arguments: JsonMap, context: &ToolContext) -> Result<Json, String> {
        let started = time::now();
        let arguments = Json::Object(arguments).to_string();
        self.screen.call(&self.server, &self.tool, &arguments);
        let result = self.ask(arguments).await.map_err(|text| self.aggregator.redactor().scrub_string(text));
        let outcome = result.as_ref().map(|answer| answer.value.to_string().len()).map_err(String::as_str);
        self.screen.result(&self.server, &self.tool, outcome, time::since(started));
        let ModelReply { mut value, mut whole, binary } = result?;
        let length = value.to_string().len().saturating_sub(binary);
        if length > self.largest {
            return Err(format!(
                "the result is {length} bytes, more than the {MAX_RESULT} that fit into the conversation: call \
                 (tool/call {{:server {:?} :tool {:?} :args {{...}}}}) in lisp_eval and compute over it there",
                self.server, self.tool
            ));
        }
        let received = value.clone();
        self.aggregator.redactor().scrub_json(&mut value);
        // A program would get the secret, too.
        whole &= value == received;
        if !whole {
            context.do_not_keep();
        }
        Ok(value)
    }

    async fn ask(&self, arguments: String) -> Result<ModelReply, String> {
        let wanted = UpstreamCall {
            server: Ok(self.server.clone()),
            tool: Ok(self.tool.clone()),
            arguments: Ok(ToolArguments { json: arguments.into_bytes(), hyphenated: Vec::new() }),
            by_pages: false,
        };
        let catalog = self.aggregator.unfiltered().catalog();
        let checked = check_call(&catalog, &wanted)?;
        let NativeCallLimits { timeout, max_bytes, binary_bytes } = self.limits;
        let deadline = time::now() + timeout.saturating_mul(2);
        let limits = CallLimits { timeout, deadline, max_bytes, binary_bytes };
        let may_wrap = checked.may_wrap;
        let call = Call {
            tool: &self.tool,
            arguments: &checked.arguments,
            limits,
            again: ResendMembers::default(),
            arrivals: None,
            caller: Caller::default(),
            may_wrap,
            judged_by: None,
        };
        let reply = self.aggregator.call_outside(&self.server, call, self.asker.as_ref()).await;
        let reply = reply.map_err(|fault| fault.to_string())?;
        answer_of(reply)
    }
}

/// The value of a reply, or all its blocks if they are images, files or several texts without a value.
#[expect(clippy::disallowed_methods, reason = "entry point: answer_of()")]
fn answer_of(mut reply: CallReply) -> Result<ModelReply, String> {
    let blocks = std::mem::take(&mut reply.content);
    let only_texts = blocks.iter().all(|block| block.text().is_some());
    let payload = reply.decided();
    let structured = matches!(payload, Payload::Json(_)) && only_texts;
    if !blocks.is_empty() && !structured {
        let mut binary = 0;
        let blocks: Json = blocks.iter().map(|block| block_of(block, &mut binary)).collect();
        return Ok(ModelReply { value: blocks, whole: false, binary });
    }
    let value = match payload {
        Payload::Json(bytes) | Payload::JsonOrText(bytes) => {
            ptc_mcp::json::from_slice(&bytes).map_err(|error| format!("the result is not JSON: {error}"))?
        }
        Payload::Text(bytes) => Json::from(String::from_utf8_lossy(&bytes)),
        Payload::JsonNull | Payload::Content(_) | Payload::None => Json::Null,
    };
    // A program would get the texts beside the data, too.
    Ok(ModelReply { value, whole: blocks.is_empty(), binary: 0 })
}

/// A block in the form of MCP: the agent shows images of that form to models that accept them. Other binary content
/// is replaced by its size.
fn block_of(block: &ContentBlock, binary: &mut usize) -> Json {
    let text = |bytes: &[u8]| Json::from(String::from_utf8_lossy(bytes));
    let ContentBlock::Other { kind, members } = block else {
        return json!({"type": "text", "text": block.text().map(|bytes| text(bytes))});
    };
    let mut shown = json!({"type": kind});
    for (name, member) in members {
        match member {
            BlockMember::Text(bytes) if *name == "mime_type" => shown["mimeType"] = text(bytes),
            BlockMember::Text(bytes) => shown[*name] = text(bytes),
            BlockMember::Count(count) => shown[*name] = (*count).into(),
            BlockMember::Binary(data) if kind == "image" => {
                *binary += data.len();
                shown["data"] = text(data);
            }
            BlockMember::Binary(_) => {}
            BlockMember::Block(inner) => shown[*name] = block_of(inner, binary),
            BlockMember::Blocks(inner) => {
                shown[*name] = inner.iter().map(|block| block_of(block, binary)).collect();
            }
        }
    }
    shown
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
