//! The upstream half of the discovery forms: `tool/servers`, `apropos`, `dir`, `doc`, `meta` (upstreams.md 13).
//!
//! The machine resolves local names itself and sends a request for any other. [`Query::parse`] checks such a request,
//! [`Query::needs`] lists the upstreams that must be loaded first, and [`Query::answer`] answers it from a snapshot.

use ptc_mcp::json::{Map, Value, json};

use super::call::{unknown_server, unknown_tool};
use super::doc::{server_doc, tool_doc, tool_meta, with_nearest};
use super::not_accepted::withheld;
use super::search::apropos;
use super::{Catalog, ServerEntry, ToolEntry};
use ptc_base::pace::apart;
use ptc_base::similar::most_similar;
use ptc_base::text::literal::literal;
use ptc_base::text::{clip, named, short_line, string_literal};
use ptc_engine::CatalogOp;
use ptc_vm::builtins::words::query_words;

/// Longest description in a line of `dir`, in characters.
const LINE_DESCRIPTION: usize = 120;
/// Longest value that an error shows, in bytes.
const MAX_GOT: usize = 2048;

/// A discovery request whose arguments have been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// `(tool/servers)`
    Servers,
    /// `(apropos "query" {:limit 8 :load false})`
    Apropos {
        /// The text to look for; not blank.
        query: String,
        /// Its words.
        words: Vec<String>,
        /// 1..50
        limit: usize,
        /// Whether to list upstreams that are not loaded first.
        load: bool,
        /// The lines of the machine's own matches, best first.
        local: Vec<String>,
    },
    /// `(dir "server" {:limit 50 :offset 0})`
    Dir {
        /// A configured server.
        server: String,
        /// 1..200
        limit: usize,
        /// Tools to skip.
        offset: usize,
    },
    /// `(doc "server/tool")`
    Doc(ToolRef),
    /// `(doc "server" {:offset 0})`
    DocServer {
        /// A configured server.
        server: String,
        /// Tools to skip.
        offset: usize,
        /// The number of texts that share the program's print budget.
        texts: usize,
    },
    /// `(meta "server/tool")`
    Meta(ToolRef),
}

/// A tool as a program names it; the server is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRef {
    /// A configured server.
    pub server: String,
    /// Not checked yet: that takes a loaded list.
    pub tool: String,
}

/// Which upstreams a query wants listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs<'q> {
    /// None: it never loads anything.
    Nothing,
    /// This one.
    Server(&'q str),
    /// All that can be; those that fail are left out.
    Everything,
}

/// A world fault: the form yields `nil` and the program continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorldFault {
    /// The program has used up its discovery operations.
    CapExhausted,
    /// The upstream cannot be started or listed.
    UpstreamUnavailable,
    /// The answer is larger than the limit and cannot be cut.
    ResultTooLarge,
}

impl WorldFault {
    /// The word in `catalog_ops`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CapExhausted => "catalog_cap_exhausted",
            Self::UpstreamUnavailable => "upstream_unavailable",
            Self::ResultTooLarge => "catalog_result_too_large",
        }
    }
}

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoveryFault {
    /// The program is wrong: it ends with this message.
    Program(String),
    /// See [`WorldFault`].
    World(WorldFault),
}

impl Query {
    /// Checks a request: `form` is `tool/servers`, `apropos`, `dir`, `doc` or `meta`, `arguments` are its evaluated
    /// arguments as JSON and `shown` the same as program text.
    ///
    /// # Errors
    /// The message with which the program ends.
    pub(crate) fn parse(
        form: &str,
        arguments: &[Value],
        shown: &[String],
        catalog: &Catalog,
    ) -> Result<Self, String> {
        let got = shown.first().map_or("nil", String::as_str);
        let text = arguments.first().and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let options = Options::of(arguments.get(1), shown.get(1))?;
        match form {
            "tool/servers" => Ok(Self::Servers),
            "apropos" => {
                let query = text
                    .ok_or_else(|| format!("apropos requires query (non-empty string), got {got}"))?
                    .to_owned();
                let words = query_words(&query)?;
                let limit = options.integer("limit", 1..=50, 8, "apropos :limit must be an integer 1..50")?;
                let load = match options.get("load") {
                    None => false,
                    Some(Value::Bool(load)) => *load,
                    Some(other) => {
                        return Err(format!(
                            "apropos :load must be a boolean, got {}",
                            literal(other, MAX_GOT)
                        ));
                    }
                };
                let local = match arguments.get(2) {
                    Some(Value::Array(lines)) => {
                        lines.iter().filter_map(Value::as_str).map(str::to_owned).collect()
                    }
                    _ => Vec::new(),
                };
                Ok(Self::Apropos { query, words, limit, load, local })
            }
            "dir" => {
                let server = text
                    .ok_or_else(|| format!("dir requires a quoted symbol or string ref, got {got}"))?
                    .to_owned();
                let limit = options.integer("limit", 1..=200, 50, "dir :limit must be an integer 1..200")?;
                let offset = options.integer(
                    "offset",
                    0..=usize::MAX,
                    0,
                    "dir :offset must be a non-negative integer",
                )?;
                if catalog.server(&server).is_none() {
                    return Err(unknown_server(catalog, &server));
                }
                Ok(Self::Dir { server, limit, offset })
            }
            "doc" | "meta" => {
                let reference =
                    text.ok_or_else(|| format!("{form} requires a quoted symbol or string ref, got {got}"))?;
                if form == "doc" && catalog.server(reference).is_some() {
                    let offset = options.integer("offset", 0..=usize::MAX, 0, OFFSET_RULE)?;
                    let texts = arguments.get(2).and_then(Value::as_u64).map_or(1, |n| n.min(MAX_TEXTS));
                    let server = reference.to_owned();
                    return Ok(Self::DocServer { server, offset, texts: texts as usize });
                }
                let nearest = |error: String| match form {
                    "doc" => with_nearest(catalog, error, reference),
                    _ => error,
                };
                let (server, tool) = catalog.split_reference(reference).ok_or_else(|| {
                    let servers = catalog.servers().map(|server| server.name.as_str());
                    let meant = most_similar(reference, servers).filter(|_| form == "doc");
                    let meant = meant.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default();
                    nearest(format!("{form} requires upstream/tool ref, got {got}{meant}"))
                })?;
                if catalog.server(server).is_none() {
                    return Err(nearest(unknown_server(catalog, server)));
                }
                let tool = ToolRef { server: server.to_owned(), tool: tool.to_owned() };
                Ok(if form == "doc" { Self::Doc(tool) } else { Self::Meta(tool) })
            }
            other => Err(format!("{other} is not a discovery form")),
        }
    }

    /// The upstreams to list before [`answer`](Self::answer), where the runtime lists on demand.
    pub(crate) fn needs(&self) -> Needs<'_> {
        match self {
            Self::Servers | Self::Apropos { load: false, .. } => Needs::Nothing,
            Self::Apropos { load: true, .. } => Needs::Everything,
            Self::Dir { server, .. }
            | Self::DocServer { server, .. }
            | Self::Doc(ToolRef { server, .. })
            | Self::Meta(ToolRef { server, .. }) => Needs::Server(server),
        }
    }

    /// The `operation` of the record in `catalog_ops`.
    pub fn operation(&self) -> &'static str {
        match self {
            Self::Servers => "servers",
            Self::Apropos { .. } => "apropos",
            Self::Dir { .. } => "dir",
            Self::Doc(_) | Self::DocServer { .. } => "doc",
            Self::Meta(_) => "meta",
        }
    }

    /// The `args` of the record in `catalog_ops`.
    pub fn record(&self) -> Value {
        match self {
            Self::Servers => json!({}),
            Self::Apropos { query, limit, load, .. } => {
                json!({"query": clip(query, CatalogOp::MAX_NAME_BYTES), "opts": {"limit": limit, "load": load}})
            }
            Self::Dir { server, .. } => json!({"server": server}),
            Self::DocServer { server, .. } => json!({"ref": server}),
            Self::Doc(tool) | Self::Meta(tool) => {
                json!({"ref": format!("{}/{}", tool.server, clip(&tool.tool, CatalogOp::MAX_NAME_BYTES))})
            }
        }
    }

    /// The answer from this snapshot, at most `max_bytes` of JSON. The steps of a search are charged before it begins, and it
    /// finds nothing if `charge` refuses them.
    ///
    /// # Errors
    /// See [`DiscoveryFault`].
    pub(crate) async fn answer(
        &self,
        catalog: &Catalog,
        max_bytes: usize,
        charge: impl FnOnce(u64) -> bool,
    ) -> Result<DiscoveryAnswer, DiscoveryFault> {
        match self {
            Self::Servers => {
                let servers = servers(catalog);
                let all = servers.len();
                let kept = capped_list(servers, max_bytes)?;
                let note =
                    |shown| format!("tool/servers: {shown} of {all} servers shown, the answer is full");
                Ok(DiscoveryAnswer::list(kept, all, note))
            }
            Self::Apropos { words, limit, load, local, .. } => {
                let mut lines = apropos(catalog, words, *limit, *load, charge).await;
                let room = limit.saturating_sub(lines.len());
                lines.extend(local.iter().take(room).cloned());
                let all = lines.len();
                let kept = capped_list(lines.into_iter().map(Value::from).collect(), max_bytes)?;
                let note = |shown| format!("apropos: {shown} of {all} matches shown, the answer is full");
                Ok(DiscoveryAnswer::list(kept, all, note))
            }
            Self::Dir { server: name, limit, offset } => {
                let server = loaded(catalog, name)?;
                let all = server.tools().len().saturating_sub(*offset);
                let lines =
                    server.tools_by_name().skip(*offset).take(*limit).map(|tool| {
                        named(&tool.name, &short_line(&tool.description, LINE_DESCRIPTION)).into()
                    });
                let kept = capped_list(lines.collect(), max_bytes)?;
                let note = |shown: usize| {
                    let next = offset.saturating_add(shown);
                    let name = string_literal(name);
                    format!(
                        "dir {name}: {shown} of {all} tools shown; (dir {name} {{:offset {next}}}) goes on"
                    )
                };
                Ok(DiscoveryAnswer::list(kept, all, note))
            }
            Self::Doc(reference) => {
                let described = tool_described(catalog, reference, max_bytes, tool_text).await;
                let is_withheld = || {
                    let server = catalog.server(&reference.server);
                    server.is_some_and(|server| withheld(server, &reference.tool).is_some())
                };
                described.map_err(|fault| match fault {
                    DiscoveryFault::Program(error) if !is_withheld() => {
                        let wanted = format!("{}/{}", reference.server, reference.tool);
                        DiscoveryFault::Program(with_nearest(catalog, error, &wanted))
                    }
                    fault => fault,
                })
            }
            Self::DocServer { server: name, offset, texts } => {
                let server = loaded(catalog, name)?;
                let bytes = server.tools().iter().map(|tool| tool.schema_bytes()).sum();
                let all = server.tools().len();
                let (name, offset, texts) = (name.clone(), *offset, *texts);
                let describe = move |catalog: &Catalog| {
                    let (text, next) = server_doc(loaded(catalog, &name)?, offset, texts);
                    let note = next.map(|next| {
                        let name = string_literal(&name);
                        let shown = next - offset;
                        format!("doc {name}: {shown} of {all} tools shown; (doc {name} {{:offset {next}}}) goes on")
                    });
                    Ok(DiscoveryAnswer { value: text.into(), note })
                };
                described(catalog, bytes, max_bytes, describe).await
            }
            Self::Meta(reference) => tool_described(catalog, reference, max_bytes, tool_meta).await,
        }
    }
}

/// The rule for the options of `doc`.
const OFFSET_RULE: &str = "doc :offset must be a non-negative integer";
/// Most texts of one `doc`.
const MAX_TEXTS: u64 = 16;

/// How often a description looks at each byte of a schema, about.
const LOOKS: usize = 16;

/// The text of `describe` about things with so many bytes of schemas: made on a thread of its own if that is much.
async fn described(
    catalog: &Catalog,
    bytes: usize,
    max_bytes: usize,
    describe: impl FnOnce(&Catalog) -> Result<DiscoveryAnswer, DiscoveryFault> + Send + 'static,
) -> Result<DiscoveryAnswer, DiscoveryFault> {
    let catalog = catalog.clone();
    let describe = move || {
        let DiscoveryAnswer { value, note } = describe(&catalog)?;
        Ok(DiscoveryAnswer { value: capped(value, max_bytes)?, note })
    };
    apart(bytes.saturating_mul(LOOKS), describe).await
}

fn tool_text(server: &ServerEntry, tool: &ToolEntry) -> Value {
    tool_doc(server, tool).into()
}

/// The text of `describe` about a tool.
async fn tool_described(
    catalog: &Catalog,
    reference: &ToolRef,
    max_bytes: usize,
    describe: fn(&ServerEntry, &ToolEntry) -> Value,
) -> Result<DiscoveryAnswer, DiscoveryFault> {
    let bytes = found(catalog, reference)?.1.schema_bytes();
    let reference = reference.clone();
    let describe = move |catalog: &Catalog| {
        let (server, tool) = found(catalog, &reference)?;
        Ok(DiscoveryAnswer::whole(describe(server, tool)))
    };
    described(catalog, bytes, max_bytes, describe).await
}

/// The answer to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct DiscoveryAnswer {
    /// The form's value.
    pub value: Value,
    /// A note for the reply on parts that are missing in it.
    pub note: Option<String>,
}

impl DiscoveryAnswer {
    fn whole(value: Value) -> DiscoveryAnswer {
        DiscoveryAnswer { value, note: None }
    }

    /// A list of `all` entries of which some are kept; `note` says so of how many.
    fn list(kept: Vec<Value>, all: usize, note: impl FnOnce(usize) -> String) -> DiscoveryAnswer {
        let note = (kept.len() < all).then(|| note(kept.len()));
        DiscoveryAnswer { value: Value::Array(kept), note }
    }
}

/// The maps of `(tool/servers)`.
fn servers(catalog: &Catalog) -> Vec<Value> {
    let entry = |server: &ServerEntry| {
        let mut entry = json!({
            "name": server.name,
            "description": server.description,
            "tool_count": server.tools().len(),
            "catalog_loaded": server.loaded,
        });
        if server.sign_in_needed {
            entry["sign_in_needed"] = json!(true);
        }
        entry
    };
    catalog.servers().map(entry).collect()
}

fn loaded<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c ServerEntry, DiscoveryFault> {
    match catalog.server(name) {
        None => Err(DiscoveryFault::Program(unknown_server(catalog, name))),
        Some(server) if server.loaded => Ok(server),
        Some(_) => Err(DiscoveryFault::World(WorldFault::UpstreamUnavailable)),
    }
}

fn found<'c>(
    catalog: &'c Catalog,
    wanted: &ToolRef,
) -> Result<(&'c ServerEntry, &'c ToolEntry), DiscoveryFault> {
    let server = loaded(catalog, &wanted.server)?;
    match server.tool(&wanted.tool) {
        Some(tool) => Ok((server, tool)),
        None => Err(DiscoveryFault::Program(
            withheld(server, &wanted.tool).unwrap_or_else(|| unknown_tool(server, &wanted.tool)),
        )),
    }
}

fn json_bytes(value: &Value) -> usize {
    value.to_string().len()
}

fn capped(value: Value, max_bytes: usize) -> Result<Value, DiscoveryFault> {
    if json_bytes(&value) <= max_bytes {
        Ok(value)
    } else {
        Err(DiscoveryFault::World(WorldFault::ResultTooLarge))
    }
}

/// Keeps entries while they fit. If nothing fits: a world fault.
fn capped_list(mut items: Vec<Value>, max_bytes: usize) -> Result<Vec<Value>, DiscoveryFault> {
    let total = items.len();
    let mut used = 2;
    let mut kept = 0;
    for item in &items {
        let with_item = used + json_bytes(item) + 1;
        if with_item > max_bytes {
            break;
        }
        used = with_item;
        kept += 1;
    }
    if kept < total {
        if kept == 0 {
            return Err(DiscoveryFault::World(WorldFault::ResultTooLarge));
        }
        items.truncate(kept);
    }
    Ok(items)
}

/// The options map of `apropos` and `dir`.
struct Options<'a>(Option<&'a Map>);

impl<'a> Options<'a> {
    fn of(value: Option<&'a Value>, shown: Option<&String>) -> Result<Self, String> {
        match value {
            None => Ok(Self(None)),
            Some(Value::Object(map)) => Ok(Self(Some(map))),
            Some(other) => {
                let got = shown.cloned().unwrap_or_else(|| literal(other, MAX_GOT));
                Err(format!("discovery options must be a map, got {got}"))
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0?.get(key)
    }

    fn integer(
        &self,
        key: &str,
        range: std::ops::RangeInclusive<usize>,
        default: usize,
        rule: &str,
    ) -> Result<usize, String> {
        let Some(value) = self.get(key) else { return Ok(default) };
        let number = value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| range.contains(n));
        number.ok_or_else(|| format!("{rule}, got {}", literal(value, MAX_GOT)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixtures;

    const ROOMY: usize = 262_144;

    fn parse(form: &str, arguments: Value) -> Result<Query, String> {
        let Value::Array(arguments) = arguments else { panic!("a list") };
        let shown: Vec<String> = arguments.iter().map(|argument| literal(argument, MAX_GOT)).collect();
        Query::parse(form, &arguments, &shown, &fixtures::catalog())
    }

    fn answer_of(query: &Query, max_bytes: usize) -> Result<DiscoveryAnswer, DiscoveryFault> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(query.answer(&fixtures::catalog(), max_bytes, |_| true))
    }

    fn answer(form: &str, arguments: Value) -> Result<Value, DiscoveryFault> {
        let query = parse(form, arguments).map_err(DiscoveryFault::Program)?;
        answer_of(&query, ROOMY).map(|answer| answer.value)
    }

    fn first_line(result: Result<Query, String>) -> String {
        result.unwrap_err().lines().next().unwrap().to_owned()
    }

    #[test]
    fn servers_are_listed_without_loading() {
        assert_eq!(parse("tool/servers", json!([])).unwrap().needs(), Needs::Nothing);
        assert_eq!(
            answer("tool/servers", json!([])).unwrap(),
            json!([
                {"name": "cold", "description": "Archive of old tickets.", "tool_count": 0, "catalog_loaded": false},
                {"name": "fs", "description": "Filesystem MCP server.", "tool_count": 2, "catalog_loaded": true},
                {"name": "github", "description": "GitHub MCP server.", "tool_count": 2, "catalog_loaded": true},
            ])
        );
    }

    #[test]
    fn dir_sorts_and_pages() {
        assert_eq!(parse("dir", json!(["fs"])).unwrap().needs(), Needs::Server("fs"));
        assert_eq!(
            answer("dir", json!(["fs"])).unwrap(),
            json!([
                "list_directory - List the entries in a directory",
                "read_text_file - Read the contents of a UTF-8 text file"
            ])
        );
        assert_eq!(
            answer("dir", json!(["fs", {"limit": 1, "offset": 1, "other": 1}])).unwrap(),
            json!(["read_text_file - Read the contents of a UTF-8 text file"])
        );
        assert_eq!(answer("dir", json!(["fs", {"offset": 9}])).unwrap(), json!([]));
    }

    #[test]
    fn option_checks_have_exact_texts() {
        for (form, arguments, text) in [
            ("apropos", json!(["x", {"limit": 0}]), "apropos :limit must be an integer 1..50, got 0"),
            ("apropos", json!(["x", {"limit": 51}]), "apropos :limit must be an integer 1..50, got 51"),
            ("apropos", json!(["x", {"limit": 1.5}]), "apropos :limit must be an integer 1..50, got 1.5"),
            ("apropos", json!(["x", {"limit": null}]), "apropos :limit must be an integer 1..50, got nil"),
            ("apropos", json!(["x", {"load": 1}]), "apropos :load must be a boolean, got 1"),
            ("apropos", json!(["x", {"load": "yes"}]), "apropos :load must be a boolean, got \"yes\""),
            ("apropos", json!([""]), "apropos requires query (non-empty string), got \"\""),
            ("apropos", json!(["  "]), "apropos requires query (non-empty string), got \"  \""),
            ("apropos", json!(["x ".repeat(33)]), "apropos takes at most 32 words, got 33"),
            ("apropos", json!([5]), "apropos requires query (non-empty string), got 5"),
            ("apropos", json!(["x", []]), "discovery options must be a map, got []"),
            ("dir", json!(["fs", {"limit": 0}]), "dir :limit must be an integer 1..200, got 0"),
            ("dir", json!(["fs", {"limit": 201}]), "dir :limit must be an integer 1..200, got 201"),
            ("dir", json!(["fs", {"limit": "x"}]), "dir :limit must be an integer 1..200, got \"x\""),
            ("dir", json!(["fs", {"offset": -1}]), "dir :offset must be a non-negative integer, got -1"),
            ("dir", json!(["nope"]), "no upstream 'nope' configured"),
            ("dir", json!([5]), "dir requires a quoted symbol or string ref, got 5"),
            ("doc", json!(["nope"]), "doc requires upstream/tool ref, got \"nope\""),
            ("doc", json!(["fss"]), "doc requires upstream/tool ref, got \"fss\"; did you mean \"fs\"?"),
            ("meta", json!(["fs"]), "meta requires upstream/tool ref, got \"fs\""),
            ("meta", json!(["fs/"]), "meta requires upstream/tool ref, got \"fs/\""),
            ("doc", json!(["nope/none"]), "no upstream 'nope' configured"),
            ("doc", json!([5]), "doc requires a quoted symbol or string ref, got 5"),
        ] {
            assert_eq!(first_line(parse(form, arguments)), text);
        }
    }

    #[test]
    fn unknown_tools_are_the_programs_fault_and_cold_servers_the_worlds() {
        let Err(DiscoveryFault::Program(text)) = answer("doc", json!(["fs/none"])) else {
            panic!("a program fault")
        };
        assert!(text.starts_with("no tool 'none' in upstream 'fs'\n"), "{text}");
        for (form, argument) in [("dir", "cold"), ("doc", "cold/x"), ("meta", "cold/x")] {
            assert_eq!(
                answer(form, json!([argument])),
                Err(DiscoveryFault::World(WorldFault::UpstreamUnavailable)),
                "{form}"
            );
        }
    }

    #[test]
    fn doc_and_meta_answer_for_loaded_tools() {
        let text = answer("doc", json!(["fs/read_text_file"])).unwrap();
        assert!(text.as_str().unwrap().starts_with("fs/read_text_file\nDescription: Read the contents"));
        assert_eq!(answer("meta", json!(["github/get_pr"])).unwrap()["name"], "get_pr");
    }

    #[test]
    fn doc_of_a_server_needs_its_tools() {
        let query = parse("doc", json!(["fs"])).unwrap();
        assert_eq!(query.needs(), Needs::Server("fs"));
        assert_eq!((query.operation(), query.record()), ("doc", json!({"ref": "fs"})));
        let text = answer_of(&query, ROOMY).unwrap().value;
        assert!(text.as_str().unwrap().starts_with("fs\nDescription: Filesystem MCP server.\n"), "{text}");
        assert_eq!(
            answer("doc", json!(["cold"])),
            Err(DiscoveryFault::World(WorldFault::UpstreamUnavailable))
        );
        let slashed = Catalog::new([fixtures::server("a/b", vec![]), fixtures::server("a", vec![])]);
        let query = Query::parse("doc", &[json!("a/b")], &["\"a/b\"".to_owned()], &slashed);
        assert_eq!(query, Ok(Query::DocServer { server: "a/b".to_owned(), offset: 0, texts: 1 }));
    }

    #[test]
    fn doc_goes_on_where_it_ended_and_shares_its_room() {
        let tools = (0..300).map(|i| json!({"name": format!("t{i:03}")})).collect();
        let catalog = Catalog::new([fixtures::server("big", tools)]);
        let answer = |arguments: Value| {
            let arguments = arguments.as_array().unwrap();
            let shown: Vec<String> = arguments.iter().map(|argument| literal(argument, MAX_GOT)).collect();
            let query = Query::parse("doc", arguments, &shown, &catalog)?;
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(query.answer(&catalog, ROOMY, |_| true)).map_err(|fault| format!("{fault:?}"))
        };
        let shown = |answer: &DiscoveryAnswer| answer.value.as_str().unwrap().matches("\n- t").count();
        let first = answer(json!(["big"])).unwrap();
        let count = shown(&first);
        assert_eq!(
            first.note,
            Some(format!(
                "doc \"big\": {count} of 300 tools shown; (doc \"big\" {{:offset {count}}}) goes on"
            ))
        );
        let rest = answer(json!(["big", {"offset": count}])).unwrap();
        assert_eq!((shown(&rest), rest.note), (300 - count, None));
        assert!(shown(&answer(json!(["big", {}, 3])).unwrap()) * 2 < count);
        assert_eq!(
            answer(json!(["big", {"offset": -1}])).unwrap_err(),
            "doc :offset must be a non-negative integer, got -1"
        );
    }

    #[test]
    fn apropos_loads_only_on_request() {
        assert_eq!(parse("apropos", json!(["x"])).unwrap().needs(), Needs::Nothing);
        assert_eq!(parse("apropos", json!(["x", {"load": true}])).unwrap().needs(), Needs::Everything);
        assert_eq!(
            parse("apropos", json!(["x", {"limit": 50}])).unwrap(),
            Query::Apropos {
                query: "x".to_owned(),
                words: vec!["x".to_owned()],
                limit: 50,
                load: false,
                local: Vec::new()
            }
        );
    }

    #[test]
    fn lists_are_cut_entry_by_entry() {
        let items = || ["aaaa", "bbbb", "cccc"].map(Value::from).to_vec();
        // Each entry costs 7 bytes, the brackets 2.
        assert_eq!(capped_list(items(), 23).unwrap(), items());
        assert_eq!(capped_list(items(), 22).unwrap(), items()[..2]);
        let long = || ["a".repeat(20), "b".repeat(20)].map(Value::from).to_vec();
        assert_eq!(capped_list(long(), 42).unwrap(), long()[..1]);
        assert_eq!(capped_list(long(), 24), Err(DiscoveryFault::World(WorldFault::ResultTooLarge)));
        assert_eq!(capped_list(Vec::new(), 2).unwrap(), Vec::<Value>::new());
    }

    #[test]
    fn a_cut_list_says_so_beside_the_data() {
        let noted = |form: &str, arguments: Value, max_bytes| {
            let answer = answer_of(&parse(form, arguments).unwrap(), max_bytes).unwrap();
            (answer.value.as_array().unwrap().len(), answer.note)
        };
        assert_eq!(noted("dir", json!(["fs"]), ROOMY), (2, None));
        let goes_on = "dir \"fs\": 1 of 2 tools shown; (dir \"fs\" {:offset 1}) goes on";
        assert_eq!(noted("dir", json!(["fs", {"limit": 1}]), ROOMY), (1, Some(goes_on.to_owned())));
        assert_eq!(noted("dir", json!(["fs"]), 80), (1, Some(goes_on.to_owned())));
        assert_eq!(noted("dir", json!(["fs", {"offset": 1}]), ROOMY), (1, None));
        let full = "tool/servers: 1 of 3 servers shown, the answer is full";
        assert_eq!(noted("tool/servers", json!([]), 120), (1, Some(full.to_owned())));
    }

    #[test]
    fn local_matches_stand_behind_and_count_towards_the_limits() {
        let lines = |limit, max_bytes| {
            let query = parse("apropos", json!(["zzz", {"limit": limit}, ["local: a", "local: b"]])).unwrap();
            answer_of(&query, max_bytes).unwrap()
        };
        assert_eq!(lines(8, ROOMY), DiscoveryAnswer { value: json!(["local: a", "local: b"]), note: None });
        assert_eq!(lines(1, ROOMY), DiscoveryAnswer { value: json!(["local: a"]), note: None });
        let note = Some("apropos: 1 of 2 matches shown, the answer is full".to_owned());
        assert_eq!(lines(8, 20), DiscoveryAnswer { value: json!(["local: a"]), note });
    }

    #[test]
    fn over_large_documents_are_a_world_fault() {
        let query = parse("doc", json!(["fs/read_text_file"])).unwrap();
        assert_eq!(answer_of(&query, 50), Err(DiscoveryFault::World(WorldFault::ResultTooLarge)));
    }

    #[test]
    fn records_name_the_operation_and_its_arguments() {
        let query = parse("apropos", json!(["x", {"load": true}])).unwrap();
        assert_eq!(
            (query.operation(), query.record()),
            ("apropos", json!({"query": "x", "opts": {"limit": 8, "load": true}}))
        );
        let query = parse("meta", json!(["fs/read_text_file"])).unwrap();
        assert_eq!((query.operation(), query.record()), ("meta", json!({"ref": "fs/read_text_file"})));
        assert_eq!(WorldFault::ResultTooLarge.as_str(), "catalog_result_too_large");
    }
}
