//! `ptc tools`: lists or searches the tools of the configured upstreams.

use crate::cli::output::{self, errln};
use ptc_host::aggregator::{Aggregator, AggregatorLimits, SnapshotMode};
use ptc_host::catalog::{Catalog, Exposure, ServerEntry, ToolEntry, find_tools, tool_doc};
use ptc_host::config::{ProcessEnv, SERVER_VARIABLE, locate};

use super::expose::{self, ExposeArgs};
use super::{report, upstreams};
use clap::Args;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Longest description in a line, in characters; `--json` has all of it.
const LINE_DESCRIPTION: usize = 120;

/// Arguments of `ptc tools`.
#[derive(Args, Debug)]
pub struct ToolsArgs {
    /// A tool, whose arguments are shown; a server, whose tools are listed; or words to search for in names, descriptions and
    /// arguments
    #[arg(value_name = "NAME|QUERY")]
    query: Vec<String>,

    /// Upstreams file [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,

    #[arg(long, help = crate::options::flags::find("ca-file").described(), value_name = "FILE")]
    ca_file: Option<PathBuf>,

    #[command(flatten)]
    expose: ExposeArgs,

    /// Print JSON with whole descriptions and schemas
    #[arg(long)]
    json: bool,
}

/// Runs the sub-command. An upstream whose tools cannot be listed is reported; the others are still shown.
pub fn run(args: ToolsArgs) -> ExitCode {
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime.block_on(list(args)),
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

async fn list(args: ToolsArgs) -> ExitCode {
    let exposure = match args.expose.exposure(&ProcessEnv::current()) {
        Ok(exposure) => exposure,
        Err(error) => return report::fault(&error),
    };
    let aggregator =
        match open(args.upstreams_config.as_deref(), args.ca_file.as_deref(), AggregatorLimits::default())
            .await
        {
            Ok(aggregator) => aggregator,
            Err(error) => return report::fault(&error),
        };
    let query = args.query.join(" ");
    let query = Some(query.trim()).filter(|query| !query.is_empty());
    // If a server is named, the others need not be available.
    let only = query.and_then(|query| server_of(&aggregator.unfiltered().catalog(), query));
    let faults = load_those(&aggregator, |name| only.as_deref().is_none_or(|only| only == name)).await;
    let catalog = aggregator.unfiltered().catalog();
    let exposed = ExposedNames::of(&catalog, &exposure.clone().unwrap_or_default());
    let named = query.map(|query| named(&catalog, query)).unwrap_or_default();
    let shows_arguments = !named.is_empty() && query.is_some_and(|query| catalog.server(query).is_none());
    let found = if named.is_empty() { find(&catalog, query) } else { named };
    let text = if args.json {
        let tools: Vec<_> = found.iter().map(|(server, tool)| json(server, tool, &exposed)).collect();
        ptc_mcp::json::Value::Array(tools).to_string() + "\n"
    } else if shows_arguments {
        let described = |(server, tool): &(&ServerEntry, &ToolEntry)| {
            let name = match exposed.of_tool(server, tool) {
                Ok(name) => name.to_string(),
                Err(why) => format!("none: {why}"),
            };
            format!("{}\nAs a tool of its own (--expose tools): {name}", tool_doc(server, tool))
        };
        let docs: Vec<String> = found.iter().map(described).collect();
        report::shown(&(docs.join("\n\n") + "\n"), std::io::stdout().is_terminal()).into_owned()
    } else {
        report::shown(&table(&found), std::io::stdout().is_terminal()).into_owned()
    };
    output::write(format_args!("{text}"));
    aggregator.keep_lists().await;
    aggregator.shutdown().await;
    expose::tell_idle(exposure.as_ref(), &catalog);
    for (server, why) in &faults {
        let why = report::shown(why, std::io::stderr().is_terminal());
        errln!("ptc: the tools of {server} cannot be listed: {why}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The upstreams as `ptc start` would open them, none started yet.
///
/// # Errors
/// One sentence for the operator, also if there are none.
pub(super) async fn open(
    flag: Option<&Path>,
    ca_file: Option<&Path>,
    limits: AggregatorLimits,
) -> Result<Arc<Aggregator>, String> {
    let env = ProcessEnv::current();
    let location = locate(flag, Some(SERVER_VARIABLE), &env);
    let http = upstreams::http(ca_file, &env)?;
    upstreams::open(location, SnapshotMode::Live, limits, &env, http, None)
        .await?
        .ok_or_else(|| upstreams::UNCONFIGURED.to_owned())
}

/// Lists all upstreams concurrently. Returns the names of those that failed, and why.
pub(super) async fn load_all(aggregator: &Aggregator) -> Vec<(String, String)> {
    load_those(aggregator, |_| true).await
}

async fn load_those(aggregator: &Aggregator, wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let wanted = aggregator.unfiltered().upstreams().filter(|(config, _)| wanted(&config.name));
    let loads = wanted.map(|(config, _)| async {
        let fault = aggregator.load(&config.name).await.err()?;
        Some((config.name.clone(), aggregator.redactor().scrub_string(fault.to_string())))
    });
    futures_util::future::join_all(loads).await.into_iter().flatten().collect()
}

/// The server that `text` names, alone or before a tool.
fn server_of(catalog: &Catalog, text: &str) -> Option<String> {
    let text = text.strip_prefix('\'').unwrap_or(text);
    let server = catalog.server(text).map(|server| server.name.as_str());
    let before = || {
        catalog
            .split_reference(text)
            .map(|(server, _)| server)
            .filter(|server| catalog.server(server).is_some())
    };
    server.or_else(before).map(str::to_owned)
}

/// The tools whose exact name is `text`: `server/tool`, a tool at any server, or all tools of a server.
fn named<'c>(catalog: &'c Catalog, text: &str) -> Vec<(&'c ServerEntry, &'c ToolEntry)> {
    let text = text.strip_prefix('\'').unwrap_or(text);
    if let Some(server) = catalog.server(text) {
        return server.tools_by_name().map(|tool| (server, tool)).collect();
    }
    let whole = catalog.split_reference(text).and_then(|(server, tool)| {
        let server = catalog.server(server)?;
        Some((server, server.tool(tool)?))
    });
    match whole {
        Some(found) => vec![found],
        None => catalog.servers().filter_map(|server| Some((server, server.tool(text)?))).collect(),
    }
}

/// The tools that match `query`, the best first; without one all of them, by server and name.
pub(super) fn find<'c>(catalog: &'c Catalog, query: Option<&str>) -> Vec<(&'c ServerEntry, &'c ToolEntry)> {
    match query {
        Some(query) => find_tools(catalog, query),
        None => catalog
            .servers()
            .flat_map(|server| server.tools_by_name().map(move |tool| (server, tool)))
            .collect(),
    }
}

/// The names by which clients have tools, as a server would give them.
struct ExposedNames {
    catalog: Catalog,
    /// Names that tools of several servers would have.
    several: HashSet<Arc<str>>,
}

impl ExposedNames {
    fn of(catalog: &Catalog, exposure: &Exposure) -> ExposedNames {
        let catalog = catalog.exposed(exposure);
        let several = catalog.names_of_several();
        ExposedNames { catalog, several }
    }

    /// The name of a tool, or why clients do not have it.
    fn of_tool(&self, server: &ServerEntry, tool: &ToolEntry) -> Result<Arc<str>, Arc<str>> {
        let tool = self.catalog.server(&server.name).and_then(|server| server.tool(&tool.name));
        let name = tool.and_then(|tool| tool.exposed_name(&self.several));
        name.unwrap_or_else(|| Err("no pattern of --expose fits it".into()))
    }
}

fn json(server: &ServerEntry, tool: &ToolEntry, exposed: &ExposedNames) -> ptc_mcp::json::Value {
    let name = exposed.of_tool(server, tool);
    let mut json = ptc_mcp::json::json!({
        "server": server.name, "tool": tool.name, "exposedAs": name.as_deref().ok(), "description": tool.description, "inputSchema": tool.input_schema,
    });
    if let Err(why) = name {
        json["notExposed"] = (*why).into();
    }
    if let Some(title) = &tool.title {
        json["title"] = title.as_str().into();
    }
    if let Some(schema) = &tool.output_schema {
        json["outputSchema"] = schema.clone();
    }
    if let Some(annotations) = &tool.annotations {
        json["annotations"] = annotations.clone();
    }
    json
}

/// `server/tool  description`, one a line, aligned.
pub(super) fn table(tools: &[(&ServerEntry, &ToolEntry)]) -> String {
    if tools.is_empty() {
        return "no tools found\n".to_owned();
    }
    let names: Vec<String> =
        tools.iter().map(|(server, tool)| format!("{}/{}", server.name, tool.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for (name, (_, tool)) in names.iter().zip(tools) {
        let description = one_line(&tool.description);
        let _ = writeln!(out, "{}", format!("{name:<width$}  {description}").trim_end());
    }
    out
}

/// The words of a description as one line of bounded length.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(LINE_DESCRIPTION).collect();
    let mut line = words.join(" ");
    if let Some((cut, _)) = line.char_indices().nth(LINE_DESCRIPTION) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_one_line_of_bounded_length() {
        assert_eq!(one_line("  Reads\n\ta file. "), "Reads a file.");
        let long = one_line(&"é ".repeat(500));
        assert_eq!(long.chars().count(), LINE_DESCRIPTION + 1);
        assert!(long.ends_with('…'));
        assert_eq!(one_line(""), "");
    }
}
