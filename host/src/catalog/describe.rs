//! The catalog as text: its part of the tool descriptions, and the planner's snapshot (upstreams.md 12.2, 12.3).

use ptc_mcp::json::string_len;

use super::access::{marked_name, writes};
use super::search::server_description;
use super::shape::{MAX_CHARS, MAX_FULL_CHARS, Shapes};
use super::{Catalog, DescribedProgram, ServerEntry, doc};
use ptc_base::text::{cut, named, short_line, string_literal};

/// Longest description of a tool, in characters.
const TOOL_DESCRIPTION: usize = 120;
/// Tools that a server's `dir` block of a snapshot shows.
const SNAPSHOT_DIR: usize = 20;

/// The part of the catalog in tool descriptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatalogMode {
    /// As much as there is room for.
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

/// The catalog for one description.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogText {
    /// The text that fits beside the rest of a description that clients cut.
    pub short: String,
    /// The text for clients that cut nothing, if that is more.
    pub whole: Option<String>,
}

/// How much stands in the line of a tool and beneath it: characters of its description and of its shape.
#[derive(Clone, Copy)]
struct LineBudget {
    description: usize,
    shape: usize,
}

/// How much stands there of tools that write, and of all others.
#[derive(Clone, Copy)]
struct Detail {
    reads: LineBudget,
    writes: LineBudget,
}

const fn detail(reads: (usize, usize), writes: (usize, usize)) -> Detail {
    Detail {
        reads: LineBudget { description: reads.0, shape: reads.1 },
        writes: LineBudget { description: writes.0, shape: writes.1 },
    }
}

/// From everything to names alone. Most programs read: tools that write get shorter first. Shapes say more about a call than
/// the end of a description, so both get shorter before the shapes go, and then the descriptions.
const DETAILS: [Detail; 18] = [
    detail((TOOL_DESCRIPTION, MAX_FULL_CHARS), (TOOL_DESCRIPTION, MAX_CHARS)),
    detail((TOOL_DESCRIPTION, 320), (60, 100)),
    detail((TOOL_DESCRIPTION, 320), (40, 70)),
    detail((TOOL_DESCRIPTION, 320), (0, 60)),
    detail((100, 320), (0, 50)),
    detail((80, 280), (0, 50)),
    detail((70, 240), (0, 40)),
    detail((60, 220), (0, 40)),
    detail((60, 180), (0, 40)),
    detail((50, 150), (0, 40)),
    detail((50, 120), (0, 0)),
    detail((40, 100), (0, 0)),
    detail((40, 80), (0, 0)),
    detail((TOOL_DESCRIPTION, 0), (60, 0)),
    detail((80, 0), (40, 0)),
    detail((60, 0), (0, 0)),
    detail((40, 0), (0, 0)),
    detail((0, 0), (0, 0)),
];

/// The catalog part of the `lisp_eval` and `lisp_session_eval` descriptions. `room` is the number of characters left beside the
/// rest of a description that clients cut; `bytes` is the size that the text may take in a message where they do not.
/// [`CatalogMode::Inline`] ignores both.
/// `programs` are the kept programs that the reader is served: they come first.
pub fn describe(
    catalog: &Catalog,
    programs: &[DescribedProgram],
    mode: CatalogMode,
    bytes: usize,
    room: usize,
) -> CatalogText {
    let whole = |text| CatalogText { short: text, whole: None };
    match mode {
        CatalogMode::Inline => {
            let mut text = Listing::of(catalog, programs).text(DETAILS[0], usize::MAX);
            push_warnings(catalog, &mut text);
            whole(text)
        }
        CatalogMode::Lazy => whole(short_list(catalog, programs, room)),
        CatalogMode::Auto => {
            let listing = Listing::of(catalog, programs);
            let short = listing
                .fitted(|text| text.chars().count() <= room)
                .unwrap_or_else(|| short_list(catalog, programs, room));
            let longer =
                listing.fitted(|text| string_len(text) <= bytes).filter(|text| text.len() > short.len());
            CatalogText { short, whole: longer }
        }
    }
}

/// The servers with the lines of their tools, each part of which is made once.
struct Listing<'c> {
    /// Of the kept programs.
    programs: Vec<ToolLines>,
    servers: Vec<(&'c ServerEntry, Vec<ToolLines>)>,
}

/// The longest description of a tool.
struct ToolLines {
    /// With a mark if it writes.
    name: String,
    writes: bool,
    description: String,
    shapes: Shapes,
}

impl<'c> Listing<'c> {
    fn of(catalog: &'c Catalog, programs: &[DescribedProgram]) -> Self {
        let of_program = |program: &DescribedProgram| ToolLines {
            name: format!("program/{}", program.name),
            writes: false,
            description: short_line(&program.description, TOOL_DESCRIPTION),
            shapes: Shapes::of_program(program),
        };
        let lines = |server: &ServerEntry| {
            let tools = server.tools().iter().map(|tool| ToolLines {
                name: marked_name(tool),
                writes: writes(tool),
                description: short_line(&tool.description, TOOL_DESCRIPTION),
                shapes: Shapes::of(tool),
            });
            tools.collect()
        };
        Self {
            programs: programs.iter().map(of_program).collect(),
            servers: catalog.servers().map(|server| (server, lines(server))).collect(),
        }
    }

    /// The text that says most and fits: less of each tool, then only the first tools of the largest servers. `None` if not
    /// even one tool of each server does.
    fn fitted(&self, fits: impl Fn(&str) -> bool) -> Option<String> {
        let whole = DETAILS.into_iter().map(|detail| self.text(detail, usize::MAX)).find(|text| fits(text));
        if whole.is_some() {
            return whole;
        }
        // With each further tool of a server the text becomes longer: the most that fits lies between these.
        let (mut best, mut least, mut most) = (None, 1, self.largest());
        while least < most {
            let tools = least.midpoint(most);
            let text = self.text(DETAILS[DETAILS.len() - 1], tools);
            if fits(&text) {
                best = Some(text);
                least = tools + 1;
            } else {
                most = tools;
            }
        }
        best
    }

    fn largest(&self) -> usize {
        let of_servers = self.servers.iter().map(|(_, tools)| tools.len());
        of_servers.chain([self.programs.len()]).max().unwrap_or_default()
    }

    /// The kept programs, then each server with its first tools, at most `most` of them.
    fn text(&self, detail: Detail, most: usize) -> String {
        let mut text = String::new();
        if !self.programs.is_empty() {
            text.push_str(PROGRAMS);
            push_lines(&mut text, "\n", self.programs.iter().take(most), detail);
            if self.programs.len() > most {
                text.push_str(&format!("\n- and {} more, (dir 'program)", self.programs.len() - most));
            }
            if self.servers.is_empty() {
                return text;
            }
            text.push('\n');
        }
        text.push_str(HEADING);
        if self.servers.is_empty() {
            text.push_str(" none");
        }
        for (server, tools) in &self.servers {
            text.push_str(&format!("\n- {}", server_line(server)));
            if !tools.is_empty() {
                text.push_str("\n  Tools:");
            }
            push_lines(&mut text, "\n  ", tools.iter().take(most), detail);
            if tools.len() > most {
                let (more, name) = (tools.len() - most, string_literal(&server.name));
                text.push_str(&format!("\n  - and {more} more, (doc {name})"));
            }
        }
        text
    }
}

/// Appends the lines of tools or programs, each behind this indentation.
fn push_lines<'l>(
    text: &mut String,
    indentation: &str,
    lines: impl Iterator<Item = &'l ToolLines>,
    detail: Detail,
) {
    for ToolLines { name, writes, description, shapes } in lines {
        let room = if *writes { detail.writes } else { detail.reads };
        let description = match room.description {
            0 => String::new(),
            characters => cut(description.clone(), characters),
        };
        text.push_str(&format!("{indentation}- {}", named(name, &description)));
        if room.shape > 0 {
            text.push_str(&format!("{indentation}  {}", shapes.within(room.shape)));
        }
    }
}

/// The "synthetic discovery snapshot" of the planner prompt: the answers that the discovery forms would give, in at most
/// `bytes` bytes if the mode is not [`CatalogMode::Inline`].
pub fn snapshot(catalog: &Catalog, programs: &[DescribedProgram], mode: CatalogMode, bytes: usize) -> String {
    let with_tools = |descriptions| snapshot_text(catalog, programs, Some(descriptions));
    let known = catalog.servers().all(|server| server.loaded);
    match mode {
        CatalogMode::Inline => {
            let mut text = with_tools(true);
            text.push('\n');
            push_warnings(catalog, &mut text);
            text.trim_end().to_owned()
        }
        CatalogMode::Auto if known => [true, false]
            .into_iter()
            .map(with_tools)
            .find(|text| text.len() <= bytes)
            .unwrap_or_else(|| snapshot_text(catalog, programs, None)),
        CatalogMode::Auto | CatalogMode::Lazy => snapshot_text(catalog, programs, None),
    }
}

fn push_warnings(catalog: &Catalog, text: &mut String) {
    for server in catalog.servers().filter(|server| !server.loaded && !server.sign_in_needed) {
        text.push_str(&format!("\nWarning: catalog for {} not loaded yet.", string_literal(&server.name)));
    }
}

const HEADING: &str = "Configured upstream MCP servers:";

/// Before the lines of kept programs.
const PROGRAMS: &str =
    "Kept programs, tested and approved: call one first where it does what you need, (program/NAME {...}).";

/// What is told of programs where there is no room for their lines: the names of the first, within half of the room.
fn program_names(programs: &[DescribedProgram], room: usize) -> String {
    let mut text = "Kept programs, (doc 'program/NAME):".to_owned();
    for (before, program) in programs.iter().enumerate() {
        let comma = if before == 0 { " " } else { ", " };
        if text.len() + comma.len() + program.name.len() > room / 2 {
            text.push_str(&format!("{comma}{} more, (dir 'program)", programs.len() - before));
            break;
        }
        text.push_str(comma);
        text.push_str(&program.name);
    }
    text
}

/// The kept programs and the servers alone, in at most `room` characters if that is possible.
fn short_list(catalog: &Catalog, programs: &[DescribedProgram], room: usize) -> String {
    if programs.is_empty() {
        return short_server_list(catalog, room);
    }
    let names = program_names(programs, room);
    if catalog.servers().len() == 0 {
        return names;
    }
    let left = room.saturating_sub(names.chars().count() + 1);
    format!("{names}\n{}", short_server_list(catalog, left))
}

/// The servers alone in at most `room` characters: without descriptions, then without the last servers, where all that
/// is too long. Those whose tools are known come first then: they work.
fn short_server_list(catalog: &Catalog, room: usize) -> String {
    let full = catalog
        .servers()
        .fold(HEADING.to_owned(), |text, server| format!("{text}\n- {}", server_line(server)));
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
    if !server.roots.is_empty() {
        line.push_str(&format!(" Serves {}.", short_line(&server.roots.join(", "), TOOL_DESCRIPTION)));
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

/// `descriptions` says whether tools and programs are described; `None` leaves tools out.
fn snapshot_text(catalog: &Catalog, programs: &[DescribedProgram], descriptions: Option<bool>) -> String {
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
    if !programs.is_empty() {
        let line = |program: &DescribedProgram| {
            let description = match descriptions {
                Some(true) => short_line(&program.description, TOOL_DESCRIPTION),
                _ => String::new(),
            };
            string_literal(&named(&format!("program/{}", program.name), &description))
        };
        let lines: Vec<String> = programs.iter().take(SNAPSHOT_DIR).map(line).collect();
        push_form(&mut text, &format!("(dir 'program {{:limit {SNAPSHOT_DIR}}})"), &lines);
    }
    push_form(&mut text, "(tool/servers)", &servers);
    let Some(descriptions) = descriptions else { return text };
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
    use ptc_secret::credentials::Redactor;

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
    {path depth? int} → {\"entries\" [string]}
- github: GitHub MCP server. 2 tools. issues, pull requests.
  Tools:
  - search_repos - Search repositories
    {}
  - get_pr - Get a pull request
    {owner number int diff_context? int}";

    /// Room enough for any text.
    const ROOM: usize = 100_000;

    /// The text for a description that is cut at this length.
    fn short(catalog: &Catalog, mode: CatalogMode, room: usize) -> String {
        describe(catalog, &[], mode, 0, room).short
    }

    #[test]
    fn inline_text_is_the_seeds_example_with_shapes() {
        for (mode, room) in [(CatalogMode::Inline, ROOM), (CatalogMode::Inline, 0), (CatalogMode::Auto, ROOM)]
        {
            let text = describe(&loaded(), &[], mode, 0, room);
            assert_eq!(text, CatalogText { short: SHAPES.to_owned(), whole: None });
        }
        let without: Vec<&str> = SHAPES.lines().filter(|line| !line.starts_with("    ")).collect();
        assert_eq!(without.join("\n"), SEED);
    }

    fn programs(count: usize) -> Vec<DescribedProgram> {
        let program = |number| DescribedProgram {
            name: format!("report-{number}"),
            description: "Adds up invoices.".into(),
            input: json!({"type": "object", "properties": {"customer": {"type": "string"}}, "required": ["customer"]}),
            output: Some(json!({"type": "object", "properties": {"cents": {"type": "integer"}}})),
        };
        (0..count).map(program).collect()
    }

    #[test]
    fn kept_programs_come_first_and_share_the_room() {
        let text =
            |catalog: &Catalog, count, mode, room| describe(catalog, &programs(count), mode, 0, room).short;
        let one =
            format!("{PROGRAMS}\n- program/report-0 - Adds up invoices.\n  {{customer}} → {{\"cents\"}}");
        assert_eq!(text(&loaded(), 1, CatalogMode::Auto, ROOM), format!("{one}\n{SHAPES}"));
        assert_eq!(
            text(&Catalog::default(), 1, CatalogMode::Auto, ROOM),
            one,
            "where there are no upstreams"
        );
        let names =
            "Kept programs, (doc 'program/NAME): report-0, report-1, report-2, 37 more, (dir 'program)";
        let lazy = text(&loaded(), 40, CatalogMode::Lazy, 130);
        assert!(lazy.starts_with(&format!("{names}\n{HEADING}")), "{lazy}");
        assert_eq!(
            text(&Catalog::default(), 1, CatalogMode::Lazy, 200),
            "Kept programs, (doc 'program/NAME): report-0"
        );
        for room in [300, 600, 1200, 2400] {
            let text = text(&loaded(), 1000, CatalogMode::Auto, room);
            assert!(text.chars().count() <= room && text.starts_with("Kept programs, "), "{room}: {text}");
            assert!(text.contains(HEADING) && text.contains("(dir 'program)"), "{room}: {text}");
        }
        let planned = snapshot(&loaded(), &programs(1), CatalogMode::Auto, ROOM);
        assert!(
            planned.contains("\n(dir 'program {:limit 20})\n=> [\"program/report-0 - Adds up invoices.\"]\n\n(tool/servers)\n"),
            "{planned}"
        );
    }

    #[test]
    fn where_nothing_is_cut_there_is_more() {
        let text = describe(&loaded(), &[], CatalogMode::Auto, ROOM, 200);
        assert_eq!(text.whole.as_deref(), Some(SHAPES));
        assert!(text.short.chars().count() <= 200, "{}", text.short);
        assert_eq!(
            describe(&loaded(), &[], CatalogMode::Auto, ROOM, ROOM).whole,
            None,
            "all of it fits already"
        );
        assert_eq!(describe(&loaded(), &[], CatalogMode::Lazy, ROOM, 200).whole, None);
        let little = describe(&loaded(), &[], CatalogMode::Auto, string_len(SHAPES) - 1, 0);
        assert_eq!(little.whole.as_deref(), Some(SEED));
    }

    #[test]
    fn what_is_left_beside_the_description_bounds_auto_and_lazy() {
        let many = Catalog::new((0..500).map(|i| {
            let keys = json!({"description": "of many words, more than anybody reads"});
            ServerEntry::loaded(&fixtures::upstream(&format!("s{i:03}"), keys), vec![], &Redactor::new())
        }));
        for mode in [CatalogMode::Auto, CatalogMode::Lazy] {
            for room in [90, 300, 800, 5000] {
                let text = short(&many, mode, room);
                assert!(text.chars().count() <= room, "{room}: {text}");
                assert!(text.contains("\n- s000: 0 tools.\n"), "{text}");
                let shown = text.matches("tools.").count();
                assert!(text.ends_with(&format!("\n- and {} more: (tool/servers)", 500 - shown)), "{text}");
            }
        }
        let unloaded = ServerEntry::unloaded(&fixtures::upstream("a", json!({})));
        let mixed = Catalog::new(many.servers().cloned().chain([unloaded]));
        let text = short(&mixed, CatalogMode::Lazy, 90);
        assert!(
            text.contains("\n- s000: 0 tools.\n") && text.contains("and 50"),
            "what works comes first: {text}"
        );
        let all = short(&many, CatalogMode::Lazy, HEADING.len() + 500 * 17);
        assert!(all.ends_with("\n- s499: 0 tools."), "{all}");
    }

    #[test]
    fn lazy_text_names_servers_only() {
        assert_eq!(
            short(&fixtures::catalog(), CatalogMode::Lazy, ROOM),
            "Configured upstream MCP servers:\n\
             - cold: Archive of old tickets. Catalog not loaded.\n\
             - fs: Filesystem MCP server. 2 tools. files.\n\
             - github: GitHub MCP server. 2 tools. issues, pull requests."
        );
    }

    /// A server of so many tools, each with a long description and a long shape.
    fn large(name: &str, tools: usize) -> ServerEntry {
        let arguments = json!({"properties": {"status": {"enum": ["open", "closed"]}, "owner": {"type": "string"},
            "labels": {"items": {"type": "string"}}, "limit": {"type": "integer", "maximum": 100}}});
        let tool = |i: usize| {
            json!({"name": format!("list_{i:02}"), "description": "lists what there is ".repeat(8),
            "inputSchema": arguments, "outputSchema": {"properties": {"rows": {"items": arguments}, "total": {}}}})
        };
        fixtures::server(name, (0..tools).map(tool).collect())
    }

    #[test]
    fn a_budget_is_kept_by_saying_less_of_each_tool_and_then_of_fewer() {
        let catalog = Catalog::new([large("big", 30), large("small", 3)]);
        let within = |bytes| describe(&catalog, &[], CatalogMode::Auto, bytes, 0).whole.unwrap_or_default();
        let mut before = usize::MAX;
        for bytes in [20_000, 10_000, 8_000, 5_000, 3_000, 2_000, 900, 500, 300] {
            let text = within(bytes);
            assert!(text.len() <= bytes && text.len() <= before, "{bytes}: {text}");
            before = text.len();
        }
        let roomy = within(20_000);
        let shape = "    {labels? […] limit?≤100 owner? status?=open|closed} → {\"rows\" [{\"status\" \"owner\" \"labels\" […] \"limit\"}] \"total\"}";
        assert!(roomy.contains(shape), "{roomy}");
        let shorter = within(5_400);
        assert!(shorter.contains("\n    {labels? […] limit?≤100 owner? status?=open|closed}"), "{shorter}");
        let named = within(2_000);
        assert!(!named.contains('{') && named.contains(" - lists what there"), "{named}");
        let few = within(300);
        let dropped = " more, (doc \"big\")\n- small: 3 tools.\n  Tools:\n  - list_00\n";
        assert!(few.contains(dropped), "{few}");
        assert_eq!(within(60), "");
    }

    #[test]
    fn what_writes_makes_room_for_what_reads() {
        let tool = |name: &str| {
            json!({"name": name, "description": "does what there is to do",
            "inputSchema": {"properties": {"status": {"enum": ["open", "closed"]}, "labels": {"items": {}}}}})
        };
        let catalog = Catalog::new([fixtures::server("s", vec![tool("list_issues"), tool("update_issue")])]);
        let within = |bytes| describe(&catalog, &[], CatalogMode::Auto, bytes, 0).whole.unwrap_or_default();
        let whole = within(ROOM);
        let less = within(string_len(&whole) - 1);
        let read = "  - list_issues - does what there is to do\n    {labels? […] status?=open|closed}\n";
        assert!(whole.contains(read) && less.contains(read), "{less}");
        assert!(whole.ends_with(
            "  - update_issue (writes) - does what there is to do\n    {labels? […] status?=open|closed}"
        ));
        assert!(less.ends_with("  - update_issue (writes)\n    {labels? […] status?=open|closed}"), "{less}");
        let names = within(string_len(&less) - 1);
        assert!(names.contains(read) && names.ends_with("\n  - update_issue (writes)"), "{names}");
    }

    #[test]
    fn a_catalog_that_is_missing_takes_nothing_from_the_others() {
        let text = describe(&fixtures::catalog(), &[], CatalogMode::Auto, ROOM, ROOM).short;
        assert!(text.starts_with(
            "Configured upstream MCP servers:\n- cold: Archive of old tickets. Catalog not loaded.\n- fs:"
        ));
        assert!(text.contains("\n    {owner number int diff_context? int}"), "{text}");
    }

    #[test]
    fn tools_that_write_are_marked() {
        let tools = vec![
            json!({"name": "list_issues", "description": "All."}),
            json!({"name": "create_issue", "description": "A new one."}),
            json!({"name": "reopen", "annotations": {"readOnlyHint": false}}),
        ];
        let text = short(&Catalog::new([fixtures::server("s", tools)]), CatalogMode::Auto, ROOM);
        assert!(
            text.ends_with("\n  - list_issues - All.\n    {}\n  - create_issue (writes) - A new one.\n    {}\n  - reopen (writes)\n    {}"),
            "{text}"
        );
    }

    #[test]
    fn forced_inline_warns_about_what_is_missing() {
        let text = short(&fixtures::catalog(), CatalogMode::Inline, ROOM);
        assert!(text.ends_with("\nWarning: catalog for \"cold\" not loaded yet."), "{text}");
        assert!(text.contains("  - get_pr - Get a pull request"));
    }

    #[test]
    fn lines_are_one_line_and_short() {
        let upstream = fixtures::upstream("s", json!({"description": format!("{}\nb...", "a ".repeat(60))}));
        let tool = json!({"name": "t", "description": format!("one\n\ttwo {}", "x".repeat(200))});
        let server = ServerEntry::loaded(&upstream, vec![tool], &Redactor::new());
        let text = short(&Catalog::new([server]), CatalogMode::Inline, ROOM);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].chars().count(), "- s: ".len() + 80 + ". 1 tool.".len());
        assert!(lines[1].ends_with("....") || lines[1].ends_with(" 1 tool."), "{}", lines[1]);
        assert!(lines[3].starts_with("  - t - one two xxx") && lines[3].ends_with("..."));
        assert_eq!(lines[3].chars().count(), "  - t - ".len() + 120);
        assert_eq!(
            short(&Catalog::default(), CatalogMode::Auto, ROOM),
            "Configured upstream MCP servers: none"
        );
    }

    #[test]
    fn snapshots_show_what_the_forms_would_answer() {
        let text = snapshot(&loaded(), &[], CatalogMode::Inline, ROOM);
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
        let lazy = snapshot(&fixtures::catalog(), &[], CatalogMode::Auto, ROOM);
        assert!(lazy.contains("(tool/servers)") && !lazy.contains("(dir "), "{lazy}");
        let forced = snapshot(&fixtures::catalog(), &[], CatalogMode::Inline, ROOM);
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
