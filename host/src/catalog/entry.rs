//! Catalog entries: servers and their tools.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use ptc_mcp::json::{Map, Value};
use ptc_vm::paging::Parameters;

use super::exposure::{Exposure, NameTwin, exposed_name, has_digest, unexposable};
use super::paging::parameters;
use super::tokens::Tokens;
use super::types::needed_arguments;
use ptc_base::pace::AT_ONCE;
use ptc_base::visible::{has_hidden, visible, without_controls};
use ptc_secret::credentials::Redactor;
use ptc_upstreams::config::{
    PinReport, PinnedTool, ToolDefinition, Transport, UpstreamConfig, UpstreamPins, hint,
};
use ptc_upstreams::upstream::{Introduction, MAX_TOOLS, Offers, ToolInfo};

/// From this many bytes on, schemas are processed off the thread.
const MANY_BYTES: usize = AT_ONCE;
/// Longest tool name, in characters: twice what MCP allows.
const MAX_NAME: usize = 256;

/// A tool of an upstream, scrubbed of secrets.
#[derive(Clone, Debug)]
pub struct ToolEntry {
    /// The name that calls use.
    pub name: String,
    /// As the upstream wrote it, control characters replaced by spaces and hidden ones escaped; may be empty.
    pub description: String,
    /// JSON Schema of the arguments; `{"type":"object"}` if the upstream has none.
    pub input_schema: Value,
    /// JSON Schema of the result.
    pub output_schema: Option<Value>,
    /// Its name for people, if it has one.
    pub title: Option<String>,
    /// MCP annotations: unverified hints of the upstream.
    pub annotations: Option<Value>,
    /// Our own `_ptc` data: set for OpenAPI tools (`operationId`, `method`, `path`, `defaultArgs`), else empty.
    pub meta: Map,
    /// Its name as a tool of our own clients, if it is exposed to them.
    pub exposed_as: Option<Arc<str>>,
    /// Why it is none of their tools, although it is one of those to be exposed.
    pub unexposed: Option<Arc<str>>,
    /// The shape of an answer that was seen before this start, for a tool that describes none: keys and types, no values.
    pub seen_shape: Option<String>,
    definition: u64,
    /// The parameters, as far as they describe how it answers page by page.
    pub(crate) parameters: Arc<Parameters>,
    pub(super) tokens: Tokens,
}

impl ToolEntry {
    /// Reads a tool object of a `tools/list` answer. `ours` says that it comes from our own OpenAPI compiler, whose
    /// `_ptc` key is believed; an MCP server has no say in that.
    fn from_json(mut tool: Value, ours: bool, redactor: &Redactor) -> Result<Self, &'static str> {
        redactor.scrub_json(&mut tool);
        let Value::Object(mut tool) = tool else { return Err("it is not an object") };
        let name = match tool.remove("name") {
            Some(Value::String(name)) if !name.is_empty() => name,
            _ => return Err("its name is not a non-empty string"),
        };
        if name.chars().count() > MAX_NAME {
            return Err("its name is too long");
        }
        if has_hidden(&name) {
            return Err("its name has characters that a reader does not see");
        }
        if tool
            .get("execution")
            .and_then(|e| e.get("taskSupport"))
            .is_some_and(|support| support == "required")
        {
            return Err("it can be called as a task only");
        }
        let description = match tool.remove("description") {
            Some(Value::String(text)) => readable(&text),
            _ => String::new(),
        };
        let non_null = |value: Option<Value>| value.filter(|value| !value.is_null());
        let input_schema =
            non_null(tool.remove("inputSchema")).unwrap_or_else(|| ptc_mcp::json::json!({"type": "object"}));
        let annotations = non_null(tool.remove("annotations"));
        let meta = match tool.remove("_ptc") {
            Some(Value::Object(meta)) if ours => meta,
            _ => Map::new(),
        };
        let in_annotations = annotations.as_ref().and_then(|annotations| annotations.get("title"));
        let title = tool.get("title").or(in_annotations).and_then(Value::as_str).map(readable);
        let tokens = Tokens::of_tool(&name, &description, &input_schema, annotations.as_ref());
        let output_schema = non_null(tool.remove("outputSchema"));
        let mut hasher = DefaultHasher::new();
        (&description, input_schema.to_string()).hash(&mut hasher);
        let definition = hasher.finish();
        let parameters = Arc::new(parameters(&input_schema));
        Ok(Self {
            name,
            description,
            input_schema,
            output_schema,
            title,
            annotations,
            meta,
            exposed_as: None,
            unexposed: None,
            seen_shape: None,
            definition,
            parameters,
            tokens,
        })
    }

    /// Its name as a tool of clients, if it is one of those to be exposed. `several`: the
    /// [names of several](Catalog::names_of_several) in the catalog.
    ///
    /// # Errors
    /// Why it is none.
    pub fn exposed_name(&self, several: &HashSet<Arc<str>>) -> Option<Result<Arc<str>, Arc<str>>> {
        match &self.exposed_as {
            Some(name) if several.contains(name) => Some(Err(NameTwin::OfAnother.why(name).into())),
            Some(name) => Some(Ok(name.clone())),
            None => self.unexposed.clone().map(Err),
        }
    }

    /// The value of this annotation.
    pub(super) fn hint(&self, name: &str) -> Option<bool> {
        hint(self.annotations.as_ref(), name)
    }

    /// Whether a call may have no arguments.
    pub(crate) fn needs_nothing(&self) -> bool {
        needed_arguments(&self.input_schema).is_empty()
    }

    /// A fingerprint of the tool's own description: a different number is a different tool, even under the same name.
    pub(crate) fn definition(&self) -> u64 {
        self.definition
    }

    /// Its definition as a lock pins it (upstreams.md 22), with the digest of the whole.
    #[must_use]
    pub fn pinned(&self) -> PinnedTool {
        let operation = (!self.meta.is_empty()).then(|| Value::Object(self.meta.clone()));
        PinnedTool::of(&ToolDefinition {
            name: &self.name,
            title: self.title.as_deref(),
            description: &self.description,
            input_schema: &self.input_schema,
            output_schema: self.output_schema.as_ref(),
            annotations: self.annotations.as_ref(),
            operation: operation.as_ref(),
        })
    }

    /// Whether it says of itself that it changes nothing. Operations of a REST service say so.
    pub fn only_reads(&self) -> bool {
        self.hint("readOnlyHint") == Some(true) && self.hint("destructiveHint") != Some(true)
    }

    /// The text of one JSON object, arguments of a call, with the values that our own client of REST services adds to it.
    #[expect(clippy::disallowed_methods, reason = "entry point: ToolEntry.with_defaults")]
    pub(crate) fn with_defaults<'a>(&self, arguments: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(Value::Object(defaults)) = self.meta.get("defaultArgs") else {
            return Cow::Borrowed(arguments);
        };
        match ptc_mcp::json::from_slice::<Map>(arguments) {
            Ok(given) if !defaults.is_empty() => {
                let mut all = defaults.clone();
                all.extend(given);
                Cow::Owned(Value::Object(all).to_string().into_bytes())
            }
            _ => Cow::Borrowed(arguments),
        }
    }

    /// About how many bytes its schemas have, counted no further than [`MANY_BYTES`].
    pub(super) fn schema_bytes(&self) -> usize {
        MANY_BYTES - self.left_of(MANY_BYTES)
    }

    /// Whether its schemas have more bytes than `most`, about.
    pub(super) fn schemas_exceed(&self, most: usize) -> bool {
        self.left_of(most) == 0
    }

    /// The bytes of `most` that its schemas leave.
    fn left_of(&self, most: usize) -> usize {
        let mut left = most;
        for schema in [Some(&self.input_schema), self.output_schema.as_ref()].into_iter().flatten() {
            count_down(schema, &mut left);
        }
        left
    }
}

/// Takes about as many bytes from `left` as `value` has as JSON.
fn count_down(value: &Value, left: &mut usize) {
    let own = match value {
        Value::String(text) => text.len() + 2,
        Value::Object(map) => map.keys().map(|key| key.len() + 4).sum(),
        Value::Array(items) => items.len() + 2,
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
    };
    *left = left.saturating_sub(own);
    let parts: &mut dyn Iterator<Item = &Value> = match value {
        Value::Object(map) => &mut map.values(),
        Value::Array(items) => &mut items.iter(),
        _ => return,
    };
    for part in parts {
        if *left == 0 {
            return;
        }
        count_down(part, left);
    }
}

/// An upstream as programs see it.
#[derive(Clone, Debug)]
pub struct ServerEntry {
    /// Its name in programs.
    pub name: String,
    /// The operator's description; may be empty.
    pub description: String,
    /// The operator's key words.
    pub capabilities: Vec<String>,
    /// The title that it gave itself; may be empty.
    pub title: String,
    /// Its own instructions, control characters replaced by spaces; may be empty.
    pub instructions: String,
    /// The features that it announces besides tools.
    pub offers: Offers,
    /// `mcp_stdio`, `mcp_http` or `openapi`.
    pub transport: &'static str,
    /// Whether its tools have been listed. Until then `tools` is empty and proves nothing.
    pub loaded: bool,
    /// Whether a person has to sign in before they can be.
    pub sign_in_needed: bool,
    /// The folders that it says it serves.
    pub roots: Vec<String>,
    /// In the order in which the upstream listed them.
    tools: Vec<Arc<ToolEntry>>,
    /// Indices of `tools`, sorted by name.
    by_name: Vec<u32>,
    remarks: Vec<String>,
    /// What the caller that it is shown to may not do with its tools.
    restrictions: Restrictions,
    /// How its tools stand to the lock, if they are held to one.
    pins: Option<Arc<Pinning>>,
    /// The list that it was made of, if its upstream gave one in this process.
    listed: Option<Weak<[ToolInfo]>>,
    pub(super) tokens: Tokens,
}

/// What one caller may not do with the tools of an upstream that it sees: names, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Restrictions {
    /// It may not call them.
    pub(crate) refused: Vec<String>,
    /// It may call them with some arguments only.
    pub(crate) judged: Vec<String>,
}

/// How the tools of an upstream stand to the lock.
#[derive(Clone, Debug)]
struct Pinning {
    report: Arc<PinReport>,
    /// The tools that are withheld.
    withheld: Vec<Arc<ToolEntry>>,
}

impl Pinning {
    /// Of an upstream whose tools are not known.
    fn unloaded(pins: &UpstreamPins) -> Self {
        let UpstreamPins { refuses, accepted } = pins;
        let report = PinReport { refuses: *refuses, is_pinned: accepted.is_some(), ..PinReport::default() };
        Self { report: Arc::new(report), withheld: Vec::new() }
    }

    /// Without the tools that `sees` does not admit; `None` if it names no others.
    fn seen(&self, sees: impl Fn(&str) -> bool) -> Option<Self> {
        let PinReport { changed, new, gone, .. } = &*self.report;
        let mut names = changed.iter().map(|changed| &changed.name).chain(new).chain(gone);
        if names.all(|name| sees(name)) {
            return None;
        }
        let withheld = self.withheld.iter().filter(|tool| sees(&tool.name)).cloned().collect();
        Some(Self { report: Arc::new(self.report.seen(sees)), withheld })
    }
}

impl Restrictions {
    fn are_none(&self) -> bool {
        self.refused.is_empty() && self.judged.is_empty()
    }
}

/// Whether a list in order has a name. Most lists are empty.
fn has(names: &[String], name: &str) -> bool {
    !names.is_empty() && names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()
}

impl ServerEntry {
    /// An upstream whose tools are not known yet.
    pub(crate) fn unloaded(upstream: &UpstreamConfig) -> Self {
        Self {
            name: upstream.name.clone(),
            description: upstream.description.clone(),
            capabilities: upstream.capabilities.clone(),
            title: String::new(),
            instructions: String::new(),
            offers: Offers::default(),
            transport: upstream.transport.as_str(),
            loaded: false,
            sign_in_needed: false,
            roots: Vec::new(),
            tools: Vec::new(),
            by_name: Vec::new(),
            remarks: Vec::new(),
            restrictions: Restrictions::default(),
            pins: upstream.pins.as_deref().map(|pins| Arc::new(Pinning::unloaded(pins))),
            listed: None,
            tokens: Tokens::of_server(&upstream.name, &upstream.description, &upstream.capabilities),
        }
    }

    /// The same upstream, for which a person has to sign in before its tools are known.
    pub(crate) fn awaiting_sign_in(&self) -> Self {
        Self { sign_in_needed: true, ..self.clone() }
    }

    /// An upstream with the tool objects of its `tools/list` (or of the OpenAPI compiler). Applies the entry's
    /// `allow_tools` and `deny_tools` and scrubs everything. Tools that cannot be offered are left out; the
    /// [remarks](Self::remarks) say which and why. Tools that nobody has accepted are [withheld](Self::withheld) if the entry's
    /// `pin` says so.
    pub fn loaded(upstream: &UpstreamConfig, mut tools: Vec<Value>, redactor: &Redactor) -> Self {
        let ours = matches!(upstream.transport, Transport::OpenApi(_));
        let mut entry = Self { loaded: true, ..Self::unloaded(upstream) };
        let mut remarks = Vec::new();
        let mut known = HashSet::new();
        if tools.len() > MAX_TOOLS {
            // Who read the list may have cut it, too.
            tools.truncate(MAX_TOOLS);
            remarks.push(format!(
                "upstream {} lists more than {MAX_TOOLS} tools; those from number {} on are left out",
                entry.name,
                MAX_TOOLS + 1
            ));
        }
        let names: Vec<String> = tools
            .iter()
            .filter_map(|tool| {
                tool.get("name").and_then(Value::as_str).map(|name| redactor.scrub_string(name.to_owned()))
            })
            .collect();
        for (position, tool) in (1..).zip(tools) {
            match ToolEntry::from_json(tool, ours, redactor) {
                Ok(tool) if !upstream.tools.admits(&tool.name) => {}
                Ok(tool) if !known.insert(tool.name.clone()) => remarks.push(format!(
                    "upstream {} lists tool {:?} twice; the second one is left out",
                    entry.name, tool.name
                )),
                Ok(tool) => entry.tools.push(Arc::new(tool)),
                Err(why) => {
                    remarks
                        .push(format!("upstream {}: tool number {position} is left out: {why}", entry.name));
                }
            }
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if names.is_empty() {
            remarks.push(lists_no_tools(&entry.name));
        } else {
            remarks.extend(upstream.tools.idle(&upstream.name, &names));
            remarks.extend(upstream.approval.idle(&upstream.name, &names));
        }
        entry.remarks = remarks;
        entry.hold_to(upstream);
        entry
    }

    /// Holds its tools to the pins of its configuration, and puts them in the order of their names. This is the only place
    /// that decides which tools are withheld: whatever is not among its tools is neither listed nor called.
    fn hold_to(&mut self, upstream: &UpstreamConfig) {
        if let Some(pins) = &upstream.pins {
            let listed: Vec<PinnedTool> = self.tools.iter().map(|tool| tool.pinned()).collect();
            let report = pins.compare(&listed, |name| upstream.tools.admits(name));
            let mut withheld = Vec::new();
            if report.refuses {
                let listed = std::mem::take(&mut self.tools).into_iter();
                (withheld, self.tools) = listed.partition(|tool| report.is_unaccepted(&tool.name));
            }
            self.pins = Some(Arc::new(Pinning { report: Arc::new(report), withheld }));
        }
        self.by_name = sorted_by_name(&self.tools);
    }

    /// The same server, made of this list.
    #[must_use]
    pub(crate) fn of_list(self, tools: &Arc<[ToolInfo]>) -> Self {
        Self { listed: Some(Arc::downgrade(tools)), ..self }
    }

    /// The list that it was made of, by which calls are judged; `None` if its upstream has given none in this process.
    pub(crate) fn listed(&self) -> Option<&Weak<[ToolInfo]>> {
        self.listed.as_ref()
    }

    /// How its tools stand to the lock; `None` if they are held to none.
    pub fn pins(&self) -> Option<&Arc<PinReport>> {
        self.pins.as_ref().map(|pins| &pins.report)
    }

    /// The tools that it lists and nobody has accepted as they are, if these are withheld.
    pub fn withheld(&self) -> impl ExactSizeIterator<Item = &ToolEntry> {
        let withheld = self.pins.as_ref().map_or(&[][..], |pins| &pins.withheld);
        withheld.iter().map(Arc::as_ref)
    }

    /// Whether only tools that somebody has accepted may be called.
    pub(crate) fn is_held_to_pins(&self) -> bool {
        self.pins.as_ref().is_some_and(|pins| pins.report.refuses)
    }

    /// The same server with its description of itself, scrubbed.
    #[must_use]
    pub(crate) fn introduced(mut self, introduction: &Introduction, redactor: &Redactor) -> Self {
        let scrubbed = |text: &str| redactor.scrub_string(readable(text));
        self.title = scrubbed(&introduction.title);
        self.instructions = scrubbed(&introduction.instructions);
        self.offers = introduction.offers;
        let has = match (self.offers.resources, self.offers.prompts) {
            (true, true) => "resources and prompts",
            (true, false) => "resources",
            (false, true) => "prompts",
            (false, false) => return self,
        };
        let bare = lists_no_tools(&self.name);
        if let Some(remark) = self.remarks.iter_mut().find(|remark| **remark == bare) {
            *remark = format!("upstream {} has no tools, but {has}", self.name);
        }
        self
    }

    /// The same server with the folders that it says it serves.
    #[must_use]
    pub(crate) fn serving(self, roots: Vec<String>) -> Self {
        Self { roots, ..self }
    }

    /// Sentences for the operator: the tools that cannot be offered, and the patterns that fit none.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The same server, whose tools have names as tools of our own clients, as far as they are exposed. Of those that cannot be,
    /// the [remarks](Self::remarks) say why.
    #[must_use]
    pub(crate) fn exposed(mut self, exposure: Option<&Exposure>) -> Self {
        let Some(exposure) = exposure else { return self };
        let Self { name: server, tools, remarks, .. } = &mut self;
        let mut named: HashMap<Arc<str>, usize> = HashMap::new();
        for tool in tools.iter_mut().filter(|tool| exposure.exposes(server, &tool.name)) {
            let tool = Arc::make_mut(tool);
            tool.unexposed = unexposable(tool).map(Arc::from);
            if tool.unexposed.is_none() {
                let name: Arc<str> = exposed_name(server, &tool.name).into();
                *named.entry(name.clone()).or_default() += 1;
                tool.exposed_as = Some(name);
            }
        }
        for tool in tools {
            if let Some(name) = tool.exposed_as.clone().filter(|name| named[name] > 1) {
                let tool = Arc::make_mut(tool);
                tool.unexposed = Some(NameTwin::OfTheUpstream.why(&name).into());
                tool.exposed_as = None;
            }
            if let Some(why) = &tool.unexposed {
                remarks.push(unexposed_remark(server, &tool.name, why));
            }
        }
        self
    }

    /// Gives tools that describe no result the shape of an answer that was seen before.
    pub(crate) fn remember_shapes(&mut self, shape_of: impl Fn(&ToolEntry) -> Option<String>) {
        for tool in self.tools.iter_mut().filter(|tool| tool.output_schema.is_none()) {
            Arc::make_mut(tool).seen_shape = shape_of(tool);
        }
    }

    /// The same server with those of its tools that `sees` admits by their names, under restrictions; `None` if these are all,
    /// and there are none. Instructions that name another tool are left out with it.
    pub(crate) fn seen(&self, sees: impl Fn(&str) -> bool, restrictions: Restrictions) -> Option<Self> {
        let (tools, hidden): (Vec<_>, Vec<_>) = self.tools.iter().cloned().partition(|tool| sees(&tool.name));
        let pins = self.pins.as_ref().and_then(|pins| pins.seen(&sees)).map(Arc::new);
        if hidden.is_empty() && restrictions.are_none() && pins.is_none() {
            return None;
        }
        let pins = pins.or_else(|| self.pins.clone());
        let names_hidden = hidden.iter().any(|tool| self.instructions.contains(&tool.name));
        let instructions = if names_hidden { String::new() } else { self.instructions.clone() };
        let by_name = sorted_by_name(&tools);
        Some(Self { by_name, tools, instructions, restrictions, pins, ..self.clone() })
    }

    /// Whether the caller that it is shown to may not call this tool, although it sees it.
    pub fn refuses(&self, tool: &str) -> bool {
        has(&self.restrictions.refused, tool)
    }

    /// Whether the arguments with which the caller calls this tool are to be judged.
    pub(crate) fn judges(&self, tool: &str) -> bool {
        has(&self.restrictions.judged, tool)
    }

    /// The same server without the features besides tools that are not in `offers`; `None` if it has no others.
    pub(crate) fn offering(&self, offers: Offers) -> Option<Self> {
        (self.offers != offers).then(|| Self { offers, ..self.clone() })
    }

    /// Its tools in the order in which the upstream listed them.
    pub fn tools(&self) -> &[Arc<ToolEntry>] {
        &self.tools
    }

    /// The names of all tools that it lists and its entry lets through, withheld ones too.
    pub(crate) fn all_names(&self) -> impl Iterator<Item = &str> {
        self.tools()
            .iter()
            .map(|tool| tool.name.as_str())
            .chain(self.withheld().map(|tool| tool.name.as_str()))
    }

    /// Its tools sorted by name.
    pub fn tools_by_name(&self) -> impl ExactSizeIterator<Item = &ToolEntry> {
        self.by_name.iter().map(|i| &*self.tools[*i as usize])
    }

    /// Whether its tools are operations of a REST service, of which all arguments are known.
    pub(super) fn is_rest(&self) -> bool {
        self.transport == "openapi"
    }

    /// The tool of exactly this name.
    pub fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.shared_tool(name).map(Arc::as_ref)
    }

    /// The same, to be kept.
    pub fn shared_tool(&self, name: &str) -> Option<&Arc<ToolEntry>> {
        let found =
            self.by_name.binary_search_by(|i| self.tools[*i as usize].name.as_str().cmp(name)).ok()?;
        Some(&self.tools[self.by_name[found] as usize])
    }
}

/// The indices of tools in the order of their names.
fn sorted_by_name(tools: &[Arc<ToolEntry>]) -> Vec<u32> {
    let mut by_name: Vec<u32> = (0..).take(tools.len()).collect();
    by_name.sort_by(|a, b| tools[*a as usize].name.cmp(&tools[*b as usize].name));
    by_name
}

/// A snapshot of all upstreams, sorted by name. Cheap to clone; a new server entry makes a new snapshot.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    servers: Arc<[Arc<ServerEntry>]>,
}

impl Catalog {
    /// A snapshot of these servers.
    pub fn new(servers: impl IntoIterator<Item = ServerEntry>) -> Self {
        let mut servers: Vec<Arc<ServerEntry>> = servers.into_iter().map(Arc::new).collect();
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        Self { servers: servers.into() }
    }

    /// This snapshot with one server replaced or added.
    #[must_use]
    pub(crate) fn with_server(&self, server: Arc<ServerEntry>) -> Self {
        let others = self.servers.iter().filter(|other| other.name != server.name).cloned();
        let mut servers: Vec<_> = others.collect();
        servers.push(server);
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        Self { servers: servers.into() }
    }

    /// This snapshot with these entries in the places of those of the same names.
    #[must_use]
    pub(crate) fn with_servers(&self, replaced: Vec<Arc<ServerEntry>>) -> Self {
        self.filter_map(|known| {
            let other = replaced.iter().find(|other| other.name == known.name);
            Some(other.unwrap_or(known).clone())
        })
    }

    /// Whether this is the very snapshot that `other` is.
    pub fn is(&self, other: &Catalog) -> bool {
        Arc::ptr_eq(&self.servers, &other.servers)
    }

    /// The snapshot of what `seen` makes of each server; those of which it makes nothing are left out.
    pub(crate) fn filter_map(&self, seen: impl FnMut(&Arc<ServerEntry>) -> Option<Arc<ServerEntry>>) -> Self {
        Self { servers: self.servers.iter().filter_map(seen).collect() }
    }

    /// Whether a server's entry is the very one of `other`.
    pub(crate) fn same_entry(&self, other: &Catalog, server: &str) -> bool {
        let entry = |catalog: &Catalog| catalog.server(server).map(std::ptr::from_ref);
        entry(self) == entry(other)
    }

    /// The entries of all servers, sorted by name.
    pub fn entries(&self) -> &[Arc<ServerEntry>] {
        &self.servers
    }

    /// The snapshot whose servers expose these tools.
    #[must_use]
    pub fn exposed(&self, exposure: &Exposure) -> Self {
        self.filter_map(|server| Some(Arc::new(ServerEntry::clone(server).exposed(Some(exposure)))))
    }

    /// The exposed names that tools of several servers have: none of these is a tool of clients.
    pub fn names_of_several(&self) -> HashSet<Arc<str>> {
        let (mut seen, mut several) = (HashSet::new(), HashSet::new());
        for server in self.servers() {
            let tools = server.tools.iter().filter(|tool| !server.refuses(&tool.name));
            // Names without a digest are each of one tool.
            for name in tools.filter_map(|tool| tool.exposed_as.as_ref().filter(|name| has_digest(name))) {
                if !seen.insert(name) {
                    several.insert(name.clone());
                }
            }
        }
        several
    }

    /// Sentences for the operator on the tools that are none of clients, since tools of other servers would have their names.
    pub fn name_remarks(&self) -> Vec<String> {
        let several = self.names_of_several();
        let tools = self.servers().flat_map(|server| server.tools.iter().map(move |tool| (server, tool)));
        let named = tools.filter_map(|(server, tool)| {
            let name = tool.exposed_as.as_ref().filter(|name| several.contains(*name))?;
            Some(unexposed_remark(&server.name, &tool.name, &NameTwin::OfAnother.why(name)))
        });
        named.collect()
    }

    /// The snapshot without the tools that clients have as tools, and without servers that have no others. The same one if there are
    /// no such tools.
    #[must_use]
    pub fn without_exposed(&self) -> Self {
        let several = self.names_of_several();
        // A tool that the caller sees and may not call is none of its tools.
        let is_exposed = |server: &ServerEntry, tool: &ToolEntry| {
            let name = tool.exposed_as.as_ref();
            name.is_some_and(|name| !several.contains(name)) && !server.refuses(&tool.name)
        };
        let has_exposed = |server: &ServerEntry| server.tools.iter().any(|tool| is_exposed(server, tool));
        if !self.servers().any(has_exposed) {
            return self.clone();
        }
        self.filter_map(|server| {
            if !has_exposed(server) {
                return Some(server.clone());
            }
            let others = server.tools.iter().filter(|tool| !is_exposed(server, tool));
            let tools: Vec<_> = others.cloned().collect();
            let by_name = sorted_by_name(&tools);
            (!tools.is_empty())
                .then(|| Arc::new(ServerEntry { tools, by_name, ..ServerEntry::clone(server) }))
        })
    }

    /// All servers, sorted by name.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &ServerEntry> {
        self.servers.iter().map(Arc::as_ref)
    }

    /// The server of this name.
    pub fn server(&self, name: &str) -> Option<&ServerEntry> {
        self.entry(name).map(Arc::as_ref)
    }

    /// The entry of the server of this name.
    pub fn entry(&self, name: &str) -> Option<&Arc<ServerEntry>> {
        self.servers.binary_search_by(|s| s.name.as_str().cmp(name)).ok().map(|i| &self.servers[i])
    }

    /// Splits `server/tool`: at a configured server's name, the longest that fits, else at the first `/`. Both names
    /// may contain `/`. `None` if either part would be empty.
    pub fn split_reference<'r>(&self, reference: &'r str) -> Option<(&'r str, &'r str)> {
        let configured = self
            .servers()
            .filter_map(|server| {
                let tool = reference.strip_prefix(server.name.as_str())?.strip_prefix('/')?;
                Some((&reference[..server.name.len()], tool))
            })
            .max_by_key(|(server, _)| server.len());
        configured
            .or_else(|| reference.split_once('/'))
            .filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
    }
}

/// Control characters other than line breaks and tabs become spaces: terminals and models obey them.
fn readable(text: &str) -> String {
    let spaced: String = without_controls(text, &['\n', '\t']).collect();
    match visible(&spaced) {
        Cow::Borrowed(_) => spaced,
        Cow::Owned(shown) => shown,
    }
}

/// The operator's warning about a tool that is to be exposed and is not.
fn unexposed_remark(server: &str, tool: &str, why: &str) -> String {
    format!("upstream {server}: tool {tool:?} is no tool of its own for clients: {why}")
}

/// The operator's warning about a server that seems to have nothing.
fn lists_no_tools(name: &str) -> String {
    format!("upstream {name} lists no tools")
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;
    use crate::catalog::fixtures;
    use ptc_secret::credentials::Secret;

    #[test]
    fn tools_keep_their_order_and_are_found_by_name() {
        let server = fixtures::server(
            "s",
            vec![json!({"name": "zed"}), json!({"name": "a/b.c", "description": "x\u{7}y\nz\u{202e}"})],
        );
        assert!(server.remarks().is_empty());
        let listed: Vec<_> = server.tools().iter().map(|t| t.name.as_str()).collect();
        assert_eq!(listed, ["zed", "a/b.c"]);
        let sorted: Vec<_> = server.tools_by_name().map(|t| t.name.as_str()).collect();
        assert_eq!(sorted, ["a/b.c", "zed"]);
        assert_eq!(server.tool("a/b.c").unwrap().description, "x y\nz\\u202e");
        assert_eq!(server.tool("zed").unwrap().input_schema, json!({"type": "object"}));
        assert!(server.tool("none").is_none());
    }

    #[test]
    fn bytes_of_schemas_are_counted_as_far_as_matters() {
        let bytes_of = |schema: Value| {
            let tool = json!({"name": "t", "inputSchema": schema, "outputSchema": schema});
            fixtures::server("s", vec![tool]).tools()[0].schema_bytes()
        };
        let schema = json!({"type": "object", "required": ["a", "b"], "properties": {
            "a": {"type": "integer", "minimum": 1}, "b": {"enum": ["x", null, true]}}});
        let (counted, written) = (bytes_of(schema.clone()), 2 * schema.to_string().len());
        assert!(counted.abs_diff(written) < written / 4, "{counted} of {written}");
        assert_eq!(bytes_of(json!({"const": "x".repeat(300_000)})), MANY_BYTES);
        assert_eq!(bytes_of(json!({"required": vec!["name"; 100_000]})), MANY_BYTES);
    }

    #[test]
    fn tools_that_cannot_be_offered_are_named() {
        let server = fixtures::server(
            "s",
            vec![
                json!({"name": ""}),
                json!({"name": 5}),
                json!("x"),
                json!({"name": "t"}),
                json!({"name": "t"}),
                json!({"name": "task", "execution": {"taskSupport": "required"}}),
                json!({"name": "a\nb"}),
                json!({"name": "plain", "execution": {"taskSupport": "optional"}}),
                json!({"name": "list\u{200b}files"}),
                json!({"name": "files\u{202e}tsil"}),
                json!({"name": "é".repeat(257)}),
            ],
        );
        assert_eq!(server.tools().len(), 2);
        assert_eq!(
            server.remarks(),
            [
                "upstream s: tool number 1 is left out: its name is not a non-empty string",
                "upstream s: tool number 2 is left out: its name is not a non-empty string",
                "upstream s: tool number 3 is left out: it is not an object",
                "upstream s lists tool \"t\" twice; the second one is left out",
                "upstream s: tool number 6 is left out: it can be called as a task only",
                "upstream s: tool number 7 is left out: its name has characters that a reader does not see",
                "upstream s: tool number 9 is left out: its name has characters that a reader does not see",
                "upstream s: tool number 10 is left out: its name has characters that a reader does not see",
                "upstream s: tool number 11 is left out: its name is too long",
            ]
        );
        let server = fixtures::server("s", (0..2500).map(|i| json!({"name": format!("t{i}")})).collect());
        assert_eq!(server.tools().len(), 2000);
        assert_eq!(
            server.remarks(),
            ["upstream s lists more than 2000 tools; those from number 2001 on are left out"]
        );
    }

    #[test]
    fn filters_hide_tools() {
        let upstream = fixtures::upstream("s", json!({"allow_tools": ["get_*"], "deny_tools": ["*_secret"]}));
        let tools = ["get_a", "get_secret", "put"].map(|name| json!({"name": name})).to_vec();
        let server = ServerEntry::loaded(&upstream, tools, &Redactor::new());
        assert_eq!(server.tools().iter().map(|t| t.name.as_str()).collect::<Vec<_>>(), ["get_a"]);
        assert!(server.remarks().is_empty(), "a filter is the operator's wish, not a fault");
    }

    #[test]
    fn echoed_secrets_are_scrubbed_in_keys_and_values() {
        let redactor = Redactor::new();
        redactor.register([&Secret::new("tok-tok-tok")]).unwrap();
        let tool = json!({"name": "t", "description": "use tok-tok-tok",
            "inputSchema": {"properties": {"tok-tok-tok": {"default": "tok-tok-tok"}}}});
        let upstream = fixtures::upstream("s", json!({}));
        let server = ServerEntry::loaded(&upstream, vec![tool], &redactor);
        assert!(!format!("{server:?}").contains("tok-tok-tok"));
        assert_eq!(server.tools()[0].description, "use [REDACTED]");
    }

    #[test]
    fn only_our_own_compiler_may_set_ptc_data() {
        let server = fixtures::server("s", vec![json!({"name": "t", "_ptc": {"operationId": "forged"}})]);
        assert!(server.tools()[0].meta.is_empty());
    }

    #[test]
    fn references_split_at_the_longest_configured_name() {
        let catalog = Catalog::new(["a", "a/b"].map(|name| fixtures::server(name, vec![])));
        assert_eq!(catalog.split_reference("a/b/c"), Some(("a/b", "c")));
        assert_eq!(catalog.split_reference("a/x/y"), Some(("a", "x/y")));
        assert_eq!(catalog.split_reference("z/x/y"), Some(("z", "x/y")));
        for bad in ["a", "a/", "/x", "", "/"] {
            assert_eq!(catalog.split_reference(bad), None, "{bad}");
        }
    }

    #[test]
    fn snapshots_are_values() {
        let before = Catalog::new(["b", "a"].map(|name| fixtures::server(name, vec![])));
        let after = before.with_server(fixtures::server("a", vec![json!({"name": "t"})]).into());
        assert!(before.server("a").unwrap().tools().is_empty());
        assert_eq!(after.server("a").unwrap().tools().len(), 1);
        assert_eq!(after.servers().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }
}
