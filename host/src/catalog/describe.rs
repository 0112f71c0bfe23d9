//! The catalog as text: the tail of the tool descriptions, and the planner's snapshot (upstreams.md 12.2, 12.3).

use super::search::server_description;
use super::shape::tool_shape;
use super::{Catalog, ServerEntry, doc};
use crate::text::{named, short_line, string_literal};

/// Longest description of a tool, in characters.
const TOOL_DESCRIPTION: usize = 120;
/// Tools that a server's `dir` block of a snapshot shows.
const SNAPSHOT_DIR: usize = 20;

/// How much of the catalog goes into tool descriptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatalogMode {
    /// Inline if everything is loaded and small enough, else lazy.
    #[default]
    Auto,
    /// Servers and tools, always.
    Inline,
    /// Servers only.
    Lazy,
}

impl CatalogMode {
    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "inline" => Some(Self::Inline),
            "lazy" => Some(Self::Lazy),
            _ => None,
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Inline => "inline",
            Self::Lazy => "lazy",
        }
    }
}

/// Up to where [`CatalogMode::Auto`] stays inline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlineLimits {
    /// Tools of all servers together.
    pub max_tools: usize,
    /// Length of the text in characters.
    pub max_chars: usize,
}

impl Default for InlineLimits {
    fn default() -> Self {
        Self { max_tools: 8, max_chars: 800 }
    }
}

/// What stands beneath a server, from nothing to everything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Detail {
    Servers,
    ToolNames,
    ToolDescriptions,
    ToolShapes,
}

/// The text at the end of the `lisp_eval` and `lisp_session_eval` descriptions. `room` is the number of characters that
/// are left beside the rest of the description: clients cut a longer one. Only [`CatalogMode::Inline`] and a limit of
/// characters that was raised above its default pass it.
pub fn describe(catalog: &Catalog, mode: CatalogMode, limits: InlineLimits, room: usize) -> String {
    let raised = limits.max_chars > InlineLimits::default().max_chars;
    let max_chars = if raised { limits.max_chars } else { limits.max_chars.min(room) };
    let text = |detail| match detail {
        Detail::Servers => short_server_list(catalog, room),
        detail => server_list(catalog, detail),
    };
    match choose(catalog, mode, InlineLimits { max_chars, ..limits }, text) {
        Choice::Text(text) => text,
        Choice::Forced(mut text) => {
            push_warnings(catalog, &mut text);
            text
        }
    }
}

/// The "synthetic discovery snapshot" of the planner prompt: what the discovery forms would answer.
pub fn snapshot(catalog: &Catalog, mode: CatalogMode, limits: InlineLimits) -> String {
    let text = |detail| snapshot_text(catalog, detail);
    match choose(catalog, mode, limits, text) {
        Choice::Text(text) => text,
        Choice::Forced(mut text) => {
            text.push('\n');
            push_warnings(catalog, &mut text);
            text.trim_end().to_owned()
        }
    }
}

enum Choice {
    Text(String),
    /// Inline because the operator wants it: says which catalogs are missing.
    Forced(String),
}

fn choose(
    catalog: &Catalog,
    mode: CatalogMode,
    limits: InlineLimits,
    text: impl Fn(Detail) -> String + Copy,
) -> Choice {
    let fits = |text: &String| text.chars().count() <= limits.max_chars;
    Choice::Text(match mode {
        CatalogMode::Inline => return Choice::Forced(text(Detail::ToolShapes)),
        CatalogMode::Lazy => text(Detail::Servers),
        CatalogMode::Auto => {
            let tools: usize = catalog.servers().map(|server| server.tools().len()).sum();
            let known = catalog.servers().all(|server| server.loaded);
            let names = Some(text(Detail::ToolNames))
                .filter(|names| known && tools <= limits.max_tools && fits(names));
            match names {
                None => text(Detail::Servers),
                Some(names) => [Detail::ToolShapes, Detail::ToolDescriptions]
                    .into_iter()
                    .map(text)
                    .find(fits)
                    .unwrap_or(names),
            }
        }
    })
}

fn push_warnings(catalog: &Catalog, text: &mut String) {
    for server in catalog.servers().filter(|server| !server.loaded && !server.sign_in_needed) {
        text.push_str(&format!("\nWarning: catalog for {} not loaded yet.", string_literal(&server.name)));
    }
}

const HEADING: &str = "Configured upstream MCP servers:";

/// The servers alone in at most `room` characters: without descriptions, then without the last servers, where all that
/// is too long. Those whose tools are known come first then: they work.
fn short_server_list(catalog: &Catalog, room: usize) -> String {
    let full = server_list(catalog, Detail::Servers);
    if full.chars().count() <= room {
        return full;
    }
    let mut servers: Vec<&ServerEntry> = catalog.servers().collect();
    servers.sort_by_key(|server| !server.loaded && !server.sign_in_needed);
    let lines: Vec<String> =
        servers.iter().map(|server| format!("\n- {}: {}", server.name, tool_count(server))).collect();
    let total = HEADING.len() + lines.iter().map(|line| line.chars().count()).sum::<usize>();
    let mut text = HEADING.to_owned();
    let mut used = text.len();
    for (before, line) in lines.iter().enumerate() {
        let more = format!("\n- and {} more: (tool/servers)", lines.len() - before);
        used += line.chars().count();
        if total > room && used + more.len() > room {
            text.push_str(&more);
            break;
        }
        text.push_str(line);
    }
    text
}

fn server_list(catalog: &Catalog, detail: Detail) -> String {
    let mut text = HEADING.to_owned();
    if catalog.servers().len() == 0 {
        text.push_str(" none");
    }
    for server in catalog.servers() {
        text.push_str(&format!("\n- {}", server_line(server)));
        if detail == Detail::Servers || server.tools().is_empty() {
            continue;
        }
        text.push_str("\n  Tools:");
        for tool in server.tools() {
            let description = if detail >= Detail::ToolDescriptions {
                short_line(&tool.description, TOOL_DESCRIPTION)
            } else {
                String::new()
            };
            text.push_str(&format!("\n  - {}", named(&tool.name, &description)));
            if detail == Detail::ToolShapes {
                text.push_str(&format!("\n    {}", tool_shape(tool)));
            }
        }
    }
    text
}

/// `fs: Filesystem MCP server. 2 tools. files.`
fn server_line(server: &ServerEntry) -> String {
    let mut line = format!("{}:", server.name);
    if let Some(description) = server_description(server) {
        line.push_str(&format!(" {description}."));
    }
    line.push_str(&format!(" {}", tool_count(server)));
    if !server.capabilities.is_empty() {
        line.push_str(&format!(" {}.", short_line(&server.capabilities.join(", "), TOOL_DESCRIPTION)));
    }
    line
}

fn tool_count(server: &ServerEntry) -> String {
    match server.tools().len() {
        _ if server.sign_in_needed => "Needs sign-in.".to_owned(),
        _ if !server.loaded => "Catalog not loaded.".to_owned(),
        1 => "1 tool.".to_owned(),
        n => format!("{n} tools."),
    }
}

fn snapshot_text(catalog: &Catalog, detail: Detail) -> String {
    let servers: Vec<String> = catalog
        .servers()
        .map(|server| {
            // Keys in the order in which the language prints maps.
            format!(
                "{{\"catalog_loaded\" {} \"description\" {} \"name\" {} \"tool_count\" {}}}",
                server.loaded,
                string_literal(&server.description),
                string_literal(&server.name),
                server.tools().len()
            )
        })
        .collect();
    let mut text = "Synthetic discovery snapshot for configured upstreams:\n".to_owned();
    push_form(&mut text, "(tool/servers)", &servers);
    if detail == Detail::Servers {
        return text;
    }
    let descriptions = detail >= Detail::ToolDescriptions;
    let with_tools = || catalog.servers().filter(|server| !server.tools().is_empty());
    for server in with_tools() {
        let lines: Vec<String> = server
            .tools_by_name()
            .take(SNAPSHOT_DIR)
            .map(|tool| {
                let description = if descriptions {
                    short_line(&tool.description, TOOL_DESCRIPTION)
                } else {
                    String::new()
                };
                string_literal(&named(&tool.name, &description))
            })
            .collect();
        push_form(
            &mut text,
            &format!("(dir {} {{:limit {SNAPSHOT_DIR}}})", string_literal(&server.name)),
            &lines,
        );
    }
    if let Some((server, tool)) =
        with_tools().find_map(|server| Some((server, server.tools_by_name().next()?)))
    {
        let reference = string_literal(&format!("{}/{}", server.name, tool.name));
        let value = string_literal(&doc::render(server, tool, descriptions));
        text.push_str(&format!("\n(doc {reference})\n=> {value}\n"));
    }
    text.truncate(text.trim_end().len());
    text
}

fn push_form(text: &mut String, form: &str, items: &[String]) {
    text.push_str(&format!("\n{form}\n=> [{}]\n", items.join("\n    ")));
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;
    use crate::catalog::fixtures;
    use crate::credentials::Redactor;

    fn loaded() -> Catalog {
        let all = fixtures::catalog();
        Catalog::new(all.servers().filter(|s| s.loaded).cloned())
    }

    const SEED: &str = "\
Configured upstream MCP servers:
- fs: Filesystem MCP server. 2 tools. files.
  Tools:
  - read_text_file - Read the contents of a UTF-8 text file
  - list_directory - List the entries in a directory
- github: GitHub MCP server. 2 tools. issues, pull requests.
  Tools:
  - search_repos - Search repositories
  - get_pr - Get a pull request";

    const SHAPES: &str = "\
Configured upstream MCP servers:
- fs: Filesystem MCP server. 2 tools. files.
  Tools:
  - read_text_file - Read the contents of a UTF-8 text file
    {path}
  - list_directory - List the entries in a directory
    {path depth?} → {\"entries\" […]}
- github: GitHub MCP server. 2 tools. issues, pull requests.
  Tools:
  - search_repos - Search repositories
    {}
  - get_pr - Get a pull request
    {owner number diff_context?}";

    /// Room enough for whatever the limits admit.
    const ROOM: usize = 100_000;

    #[test]
    fn inline_text_is_the_seeds_example_with_shapes() {
        let limits = InlineLimits::default();
        assert_eq!(describe(&loaded(), CatalogMode::Inline, limits, ROOM), SHAPES);
        assert_eq!(describe(&loaded(), CatalogMode::Inline, limits, 0), SHAPES);
        assert_eq!(describe(&loaded(), CatalogMode::Auto, limits, ROOM), SHAPES);
        let without: Vec<&str> = SHAPES.lines().filter(|line| !line.starts_with("    ")).collect();
        assert_eq!(without.join("\n"), SEED);
    }

    #[test]
    fn what_is_left_beside_the_description_bounds_auto_and_lazy() {
        let limits = InlineLimits::default();
        let auto = |room| describe(&loaded(), CatalogMode::Auto, limits, room);
        assert_eq!(auto(SHAPES.chars().count() - 1), SEED);
        assert!(!auto(200).contains("Tools:"));
        let raised = InlineLimits { max_chars: 801, ..limits };
        assert_eq!(describe(&loaded(), CatalogMode::Auto, raised, 0), SHAPES, "the operator asked for more");
        let many = Catalog::new((0..500).map(|i| {
            let keys = json!({"description": "of many words, more than anybody reads"});
            ServerEntry::loaded(&fixtures::upstream(&format!("s{i:03}"), keys), vec![], &Redactor::new())
        }));
        for mode in [CatalogMode::Auto, CatalogMode::Lazy] {
            for room in [90, 300, 800, 5000] {
                let text = describe(&many, mode, limits, room);
                assert!(text.chars().count() <= room, "{room}: {text}");
                assert!(text.contains("\n- s000: 0 tools.\n"), "{text}");
                let shown = text.matches("tools.").count();
                assert!(text.ends_with(&format!("\n- and {} more: (tool/servers)", 500 - shown)), "{text}");
            }
        }
        let unloaded = ServerEntry::unloaded(&fixtures::upstream("a", json!({})));
        let mixed = Catalog::new(many.servers().cloned().chain([unloaded]));
        let text = describe(&mixed, CatalogMode::Lazy, limits, 90);
        assert!(
            text.contains("\n- s000: 0 tools.\n") && text.contains("and 50"),
            "what works comes first: {text}"
        );
        let all = describe(&many, CatalogMode::Lazy, limits, HEADING.len() + 500 * 17);
        assert!(all.ends_with("\n- s499: 0 tools."), "{all}");
    }

    #[test]
    fn lazy_text_names_servers_only() {
        assert_eq!(
            describe(&fixtures::catalog(), CatalogMode::Lazy, InlineLimits::default(), ROOM),
            "Configured upstream MCP servers:\n\
             - cold: Archive of old tickets. Catalog not loaded.\n\
             - fs: Filesystem MCP server. 2 tools. files.\n\
             - github: GitHub MCP server. 2 tools. issues, pull requests."
        );
    }

    #[test]
    fn auto_drops_shapes_then_descriptions_before_it_goes_lazy() {
        let auto = |max_tools, max_chars| {
            describe(&loaded(), CatalogMode::Auto, InlineLimits { max_tools, max_chars }, ROOM)
        };
        let lazy = describe(&loaded(), CatalogMode::Lazy, InlineLimits::default(), ROOM);
        let (shapes, full) = (SHAPES.chars().count(), SEED.chars().count());
        assert_eq!(auto(4, shapes), SHAPES);
        assert_eq!(auto(4, shapes - 1), SEED);
        assert_eq!(auto(4, full), SEED);
        let names = auto(4, full - 1);
        assert!(names.contains("\n  - read_text_file\n") && !names.contains("UTF-8"), "{names}");
        assert_eq!(auto(4, names.chars().count()), names);
        assert_eq!(auto(4, names.chars().count() - 1), lazy);
        assert_eq!(auto(3, 800), lazy);
        let cold = describe(&fixtures::catalog(), CatalogMode::Auto, InlineLimits::default(), ROOM);
        assert!(!cold.contains("Tools:"), "an unloaded catalog makes auto lazy: {cold}");
    }

    #[test]
    fn forced_inline_warns_about_what_is_missing() {
        let text = describe(&fixtures::catalog(), CatalogMode::Inline, InlineLimits::default(), ROOM);
        assert!(text.ends_with("\nWarning: catalog for \"cold\" not loaded yet."), "{text}");
        assert!(text.contains("  - get_pr - Get a pull request"));
    }

    #[test]
    fn lines_are_one_line_and_short() {
        let upstream = fixtures::upstream("s", json!({"description": format!("{}\nb...", "a ".repeat(60))}));
        let tool = json!({"name": "t", "description": format!("one\n\ttwo {}", "x".repeat(200))});
        let server = ServerEntry::loaded(&upstream, vec![tool], &Redactor::new());
        let text = describe(&Catalog::new([server]), CatalogMode::Inline, InlineLimits::default(), ROOM);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].chars().count(), "- s: ".len() + 80 + ". 1 tool.".len());
        assert!(lines[1].ends_with("....") || lines[1].ends_with(" 1 tool."), "{}", lines[1]);
        assert!(lines[3].starts_with("  - t - one two xxx") && lines[3].ends_with("..."));
        assert_eq!(lines[3].chars().count(), "  - t - ".len() + 120);
        assert_eq!(
            describe(&Catalog::default(), CatalogMode::Auto, InlineLimits::default(), ROOM),
            "Configured upstream MCP servers: none"
        );
    }

    #[test]
    fn snapshots_show_what_the_forms_would_answer() {
        let text = snapshot(&loaded(), CatalogMode::Inline, InlineLimits::default());
        assert_eq!(
            text,
            r#"Synthetic discovery snapshot for configured upstreams:

(tool/servers)
=> [{"catalog_loaded" true "description" "Filesystem MCP server." "name" "fs" "tool_count" 2}
    {"catalog_loaded" true "description" "GitHub MCP server." "name" "github" "tool_count" 2}]

(dir "fs" {:limit 20})
=> ["list_directory - List the entries in a directory"
    "read_text_file - Read the contents of a UTF-8 text file"]

(dir "github" {:limit 20})
=> ["get_pr - Get a pull request"
    "search_repos - Search repositories"]

(doc "fs/list_directory")
=> "fs/list_directory\nDescription: List the entries in a directory\n\nArgs: {:path string :depth integer?}\nRequired args: :path\n\nCall:\n(tool/call {:server \"fs\" :tool \"list_directory\" :args {:path ...}})\n\nReturns: Result<{:entries [string]}>\nUse `(:value r)` after checking `(:ok r)`.""#
        );
        let lazy = snapshot(&fixtures::catalog(), CatalogMode::Auto, InlineLimits::default());
        assert!(lazy.contains("(tool/servers)") && !lazy.contains("(dir "), "{lazy}");
        let forced = snapshot(&fixtures::catalog(), CatalogMode::Inline, InlineLimits::default());
        assert!(forced.ends_with("\n\nWarning: catalog for \"cold\" not loaded yet."), "{forced}");
    }

    #[test]
    fn modes_have_names() {
        for mode in [CatalogMode::Auto, CatalogMode::Inline, CatalogMode::Lazy] {
            assert_eq!(CatalogMode::from_name(mode.as_str()), Some(mode));
        }
        assert_eq!(CatalogMode::from_name("INLINE"), None);
    }
}
