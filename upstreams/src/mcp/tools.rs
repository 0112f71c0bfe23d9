//! Reading `tools/list`, page by page and within bounds.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Raw, json};
use ptc_mcp::text::clip;
use serde_json::value::RawValue;

use super::protocol::render;
use crate::upstream::{CallFault, FaultReason, MAX_TOOLS, ToolInfo};
use ptc_base::pace::apart;

/// Most pages of one list.
const MAX_PAGES: usize = 100;
/// Most lines in the log about tools of one list that are left out; a last one has the number of all.
const MAX_DROPPED_LINES: usize = 20;

/// A requirement on tools beyond a name.
pub(crate) type ToolRequirement = fn(&ToolInfo) -> Result<(), String>;

/// Deepest nesting of a tool. Readers of JSON follow 127 levels, and what is made of a tool adds some.
const MOST_DEPTH: usize = 120;

/// Collects the pages of one list.
pub(crate) struct ToolPages {
    upstream: Arc<str>,
    admits: ToolRequirement,
    tools: Vec<ToolInfo>,
    names: HashSet<Box<str>>,
    pages: usize,
    bytes: usize,
    max_bytes: usize,
    cursors: HashSet<String>,
    /// Tools that were left out.
    dropped: usize,
}

impl ToolPages {
    /// An empty list of at most `max_bytes` bytes over all pages. `admits` says why a tool cannot be offered.
    pub(crate) fn new(upstream: &Arc<str>, max_bytes: usize, admits: ToolRequirement) -> Self {
        Self {
            upstream: upstream.clone(),
            admits,
            tools: Vec::new(),
            names: HashSet::new(),
            pages: 0,
            bytes: 0,
            max_bytes,
            cursors: HashSet::new(),
            dropped: 0,
        }
    }

    /// The outcome of a list that the server refuses. The list is empty if the server lists its capabilities, leaves out tools
    /// and does not know the method; any other server should have given one. `leaves_out_tools` is from its greeting.
    ///
    /// # Errors
    /// The server's message.
    pub(crate) fn refused(
        self,
        error: RpcError,
        leaves_out_tools: bool,
    ) -> Result<Arc<[ToolInfo]>, CallFault> {
        if leaves_out_tools && self.pages == 0 && error.code == RpcError::METHOD_NOT_FOUND {
            return Ok(self.finish());
        }
        Err(CallFault::upstream_error(error.message))
    }

    /// As [`Self::add`]; a long page is read apart.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub(crate) async fn add_apart(mut self, result: Bytes) -> Result<(Self, Option<String>), CallFault> {
        apart(result.len(), move || {
            let next = self.add(&result)?;
            Ok((self, next))
        })
        .await
    }

    /// Adds the `result` of one `tools/list`. Yields the cursor of the next page, if there is one.
    ///
    /// # Errors
    /// The result is no list of tools, or the bounds are passed.
    #[expect(clippy::disallowed_methods, reason = "entry point: ToolPages.add")]
    fn add(&mut self, result: &[u8]) -> Result<Option<String>, CallFault> {
        #[derive(serde::Deserialize)]
        struct Page<'a> {
            #[serde(borrow)]
            tools: Vec<&'a RawValue>,
            #[serde(default, rename = "nextCursor")]
            next: ptc_mcp::json::Value,
        }
        self.bytes += result.len();
        if self.bytes > self.max_bytes {
            let message = format!("tools/list exceeded {} bytes", self.max_bytes);
            return Err(CallFault::new(FaultReason::ResponseTooLarge, message).with_bytes(self.bytes as u64));
        }
        let page: Page<'_> = serde_json::from_slice(result).map_err(|_| {
            let shown = render(result);
            CallFault::upstream_error(format!("tools/list returned unexpected payload {shown}"))
        })?;
        for tool in page.tools {
            self.add_tool(tool);
        }
        self.pages += 1;
        match page.next {
            ptc_mcp::json::Value::String(cursor) => {
                if self.pages == MAX_PAGES || !self.cursors.insert(cursor.clone()) {
                    let upstream = &*self.upstream;
                    tracing::warn!(upstream, pages = self.pages, "tools_list_endless: the rest is left out");
                    return Ok(None);
                }
                Ok(Some(cursor))
            }
            _ => Ok(None),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: ToolPages.add_tool")]
    fn add_tool(&mut self, raw: &RawValue) {
        // One more than is offered tells that there are more.
        if self.tools.len() > MAX_TOOLS {
            return;
        }
        let name = serde_json::from_str::<NameOnly>(raw.get()).ok().map(|tool| tool.name);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return self.drop_tool(raw.get(), "it has no name");
        };
        if self.names.contains(&*name) {
            return self.drop_tool(&name, "its name is listed twice");
        }
        let json = if is_readable(raw.get()) { raw.to_owned() } else { self.without_schemas(raw, &name) };
        let tool = ToolInfo { name, json };
        if let Err(reason) = needs_task(&tool).and_then(|()| (self.admits)(&tool)) {
            return self.drop_tool(&tool.name, &reason);
        }
        self.names.insert(tool.name.clone());
        self.tools.push(tool);
    }

    /// A tool whose schemas are nested deeper than can be read, or hold halves of characters: it takes any arguments.
    #[expect(clippy::disallowed_methods, reason = "entry point: ToolPages.without_schemas")]
    fn without_schemas(&self, raw: &RawValue, name: &str) -> Box<RawValue> {
        tracing::warn!(
            upstream = &*self.upstream,
            tool = clip(name, 80),
            "tool_schemas_dropped: nested too deep, or no Unicode"
        );
        let read: Described<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let text =
            |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
        let described = text(read.description).unwrap_or_default();
        let description = format!("{described}\n{UNREADABLE}");
        let mut tool =
            json!({"name": name, "description": description.trim_start(), "inputSchema": {"type": "object"}});
        if let Some(title) = text(read.title) {
            tool["title"] = title.into();
        }
        for (key, raw) in [("annotations", read.annotations), ("execution", read.execution)] {
            if let Some(value) = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()) {
                tool[key] = value;
            }
        }
        serde_json::value::to_raw_value(&tool).unwrap_or_default()
    }

    /// Leaves out a tool; the first ones are logged one by one.
    fn drop_tool(&mut self, tool: &str, reason: &str) {
        self.dropped += 1;
        if self.dropped <= MAX_DROPPED_LINES {
            tracing::warn!(upstream = &*self.upstream, tool = clip(tool, 80), reason, "tool_dropped");
        }
    }

    /// The tools of all pages in their order: of a list that is too long one more than the catalog takes, which tells of the rest.
    pub(crate) fn finish(self) -> Arc<[ToolInfo]> {
        if self.dropped > MAX_DROPPED_LINES {
            tracing::warn!(upstream = &*self.upstream, tools = self.dropped, "tools_dropped: these in all");
        }
        self.tools.into()
    }
}

/// What is told of a tool whose schemas cannot be read.
const UNREADABLE: &str = "Its schemas are left out here: they cannot be read.";

/// Whether all readers of JSON take a tool.
fn is_readable(json: &str) -> bool {
    Raw::object_of(json).and_then(Raw::members).is_some_and(|mut members| {
        members.by_ref().for_each(drop);
        members.deepest() <= MOST_DEPTH
    })
}

/// The parts of a tool that say what it is.
#[derive(Default, serde::Deserialize)]
struct Described<'a> {
    #[serde(borrow, default)]
    title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    description: Option<&'a RawValue>,
    #[serde(borrow, default)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow, default)]
    execution: Option<&'a RawValue>,
}

#[derive(serde::Deserialize)]
struct NameOnly {
    name: Box<str>,
}

/// A tool that can only run as a task answers plain calls with an error: it is not offered.
#[expect(clippy::disallowed_methods, reason = "entry point: needs_task()")]
fn needs_task(tool: &ToolInfo) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct ToolExecution {
        #[serde(default)]
        execution: ptc_mcp::json::Value,
    }
    let execution = serde_json::from_str::<ToolExecution>(tool.json.get())
        .map_or_else(|_| Default::default(), |t| t.execution);
    if execution["taskSupport"] == "required" {
        return Err("it can only run as a task, which is not supported".to_owned());
    }
    Ok(())
}

/// Every tool may be offered, as far as a pipe is concerned.
pub(crate) fn admit_all(_: &ToolInfo) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(max_bytes: usize) -> ToolPages {
        ToolPages::new(&"u".into(), max_bytes, admit_all)
    }

    fn names(pages: ToolPages) -> Vec<String> {
        pages.finish().iter().map(|t| t.name.to_string()).collect()
    }

    /// Counts log lines.
    struct Lines(std::sync::atomic::AtomicUsize);

    impl tracing::Subscriber for Lines {
        fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }
        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
        fn event(&self, _: &tracing::Event<'_>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        fn enter(&self, _: &tracing::span::Id) {}
        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn tools_that_are_left_out_are_told_a_few_times() {
        let mut list = pages(10_000_000);
        let page = json!({"tools": vec![json!({"name": ""}); 50_000]}).to_string();
        let lines = Arc::new(Lines(0.into()));
        // A place that another test's thread is meeting for the first time may not know this subscriber.
        while lines.0.swap(0, std::sync::atomic::Ordering::Relaxed) == 0 {
            tracing::subscriber::with_default(lines.clone(), || {
                pages(1_000).add(br#"{"tools":[{"name":""}]}"#).unwrap();
            });
        }
        tracing::subscriber::with_default(lines.clone(), || {
            assert_eq!(list.add(page.as_bytes()).unwrap(), None);
            assert!(list.finish().is_empty());
        });
        assert_eq!(lines.0.load(std::sync::atomic::Ordering::Relaxed), MAX_DROPPED_LINES + 1);
    }

    #[test]
    fn pages_are_followed_and_tools_kept_as_written() {
        let mut list = pages(10_000);
        let next = list.add(br#"{"tools":[{"name":"b","x":1.10}],"nextCursor":""}"#).unwrap();
        assert_eq!(next.as_deref(), Some(""), "an empty cursor is a cursor");
        assert_eq!(list.add(br#"{"tools":[{"name":"a"}],"nextCursor":null}"#).unwrap(), None);
        let tools = list.finish();
        assert_eq!(tools[0].json.get(), r#"{"name":"b","x":1.10}"#);
        assert_eq!(&*tools[1].name, "a");
    }

    #[test]
    fn tools_that_cannot_be_called_are_left_out() {
        let mut list = pages(10_000);
        let page = json!({"tools": [
            {"name": "a"}, {"name": ""}, {"name": 7}, "x", {"description": "?"}, {"name": "a", "n": 2},
            {"name": "t", "execution": {"taskSupport": "required"}},
            {"name": "o", "execution": {"taskSupport": "optional"}},
        ]});
        list.add(page.to_string().as_bytes()).unwrap();
        assert_eq!(names(list), ["a", "o"]);
    }

    #[test]
    fn a_tool_with_schemas_that_are_nested_too_deep_is_offered_without_them() {
        let schema = |levels: usize| "{\"properties\":{\"a\":".repeat(levels) + "{}" + &"}}".repeat(levels);
        for (levels, is_whole) in [(59, true), (60, false), (50_000, false)] {
            let tool = format!(
                r#"{{"name":"deep","title":"D","description":"Does \"{{[[[\" it.","annotations":{{"readOnlyHint":true}},"inputSchema":{}}}"#,
                schema(levels)
            );
            let mut list = pages(10_000_000);
            list.add(format!("{{\"tools\":[{tool},{{\"name\":\"b\"}}]}}").as_bytes()).unwrap();
            let tools = list.finish();
            assert_eq!(tools.len(), 2);
            let read: ptc_mcp::json::Value =
                serde_json::from_str(tools[0].json.get()).expect("it can be read");
            let expected = json!({"name": "deep", "title": "D", "annotations": {"readOnlyHint": true},
                "description": format!("Does \"{{[[[\" it.\n{UNREADABLE}"), "inputSchema": {"type": "object"}});
            assert_eq!(read != expected, is_whole, "{levels}");
            assert!(is_whole || read == expected, "{read}");
        }
    }

    #[test]
    fn other_payloads_are_faults() {
        for bad in ["{}", r#"{"tools":{}}"#, "null", "[]"] {
            let fault = pages(100).add(bad.as_bytes()).unwrap_err();
            assert_eq!(fault.message, format!("tools/list returned unexpected payload {bad}"));
            assert_eq!(fault.reason, FaultReason::UpstreamError);
        }
    }

    #[test]
    fn lists_end_however_hostile() {
        let mut same = pages(1 << 20);
        let page = br#"{"tools":[],"nextCursor":"x"}"#;
        assert!(same.add(page).unwrap().is_some());
        assert!(same.add(page).unwrap().is_none(), "a cursor that comes again");

        let mut endless = pages(1 << 20);
        let mut count = 0;
        while endless.add(format!(r#"{{"tools":[],"nextCursor":"{count}"}}"#).as_bytes()).unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, MAX_PAGES - 1);

        let mut long = pages(1 << 20);
        let tools: Vec<_> = (0..MAX_TOOLS + 500).map(|n| json!({"name": n.to_string()})).collect();
        long.add(json!({"tools": tools}).to_string().as_bytes()).unwrap();
        assert_eq!(names(long).len(), MAX_TOOLS + 1);

        let mut large = pages(50);
        assert!(large.add(br#"{"tools":[],"nextCursor":"1"}"#).is_ok());
        assert!(large.add(br#"{"tools":[],"nextCursor":"2"}"#).unwrap_err().oversize());
    }
}
