//! `ptc call`: calls one tool of one upstream, with the same checks as a program's `tool/call`.

use ptc_host::aggregator::{Aggregator, AggregatorLimits};
use ptc_host::catalog::{Catalog, check_call};
use ptc_host::time;
use ptc_host::upstream::{Call, CallFault, CallLimits, Caller, Payload, ResendMembers};

use super::{json, pairs, questions, report, tools};
use crate::cli::output::outln;
use clap::Args;
use ptc_vm::machine::{ToolArguments, UpstreamCall};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of `ptc call`.
#[derive(Args, Debug)]
#[command(
    override_usage = "ptc call [OPTIONS] <SERVER>/<TOOL> [KEY=VALUE]...\n       ptc call [OPTIONS] <SERVER> <TOOL> [KEY=VALUE]..."
)]
pub struct CallArgs {
    /// The tool, as `ptc tools` shows it
    #[arg(value_name = "SERVER/TOOL")]
    target: String,

    /// Its arguments; what is no text for the tool is JSON. SERVER and TOOL may be two words
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,

    /// Its arguments as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}", value_parser = json::object)]
    args: Arc<str>,

    /// Upstreams file [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,

    #[arg(long, help = crate::options::flags::find("ca-file").described(), value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Longest wait for the answer [default: 5000]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    upstream_call_timeout_ms: Option<u64>,

    /// Largest answer [default: 2097152]
    #[arg(long, value_name = "BYTES")]
    max_upstream_response_bytes: Option<usize>,
}

/// Runs the sub-command.
pub fn run(args: CallArgs) -> ExitCode {
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime.block_on(call(args)),
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

async fn call(args: CallArgs) -> ExitCode {
    let mut limits = AggregatorLimits::default();
    if let Some(ms) = args.upstream_call_timeout_ms {
        limits.call_timeout = Duration::from_millis(ms);
    }
    limits.max_response_bytes = args.max_upstream_response_bytes.unwrap_or(limits.max_response_bytes);
    let aggregator =
        match tools::open(args.upstreams_config.as_deref(), args.ca_file.as_deref(), limits).await {
            Ok(aggregator) => aggregator,
            Err(error) => return report::fault(&error),
        };
    let answer = ask(&aggregator, &args, limits).await;
    aggregator.keep_lists().await;
    aggregator.shutdown().await;
    match answer {
        Ok(payload) => {
            if let Some(text) = show(payload, &aggregator, std::io::stdout().is_terminal()) {
                outln!("{text}");
            }
            ExitCode::SUCCESS
        }
        Err(message) => {
            let message = aggregator.redactor().scrub_string(message);
            report::fault(&report::shown(&message, std::io::stderr().is_terminal()))
        }
    }
}

/// Starts the upstream, checks the call and makes it.
async fn ask(aggregator: &Aggregator, args: &CallArgs, limits: AggregatorLimits) -> Result<Payload, String> {
    let fault = |fault: CallFault| fault.to_string();
    let catalog = aggregator.unfiltered().catalog();
    let (server, tool, pairs) = target(&catalog, &args.target, &args.pairs)?;
    let wanted = |arguments: Vec<u8>| UpstreamCall {
        server: Ok(server.clone()),
        tool: Ok(tool.clone()),
        arguments: Ok(ToolArguments { json: arguments, hyphenated: Vec::new() }),
        by_pages: false,
    };
    // An unknown server is refused before anything is started.
    check_call(&catalog, &wanted(args.args.as_bytes().to_vec())).map_err(for_a_shell)?;
    aggregator.load(&server).await.map_err(fault)?;
    let catalog = aggregator.unfiltered().catalog();
    let schema = catalog.server(&server).and_then(|server| server.tool(&tool)).map(|tool| &tool.input_schema);
    let wanted = wanted(pairs::object(&args.args, &pairs, schema)?.to_string().into_bytes());
    let checked = check_call(&catalog, &wanted).map_err(for_a_shell)?;
    // The upstream has no other user, so its answer takes nearly all of the time limit.
    let deadline = time::now() + limits.call_timeout.saturating_mul(2);
    let limits = CallLimits { deadline, ..limits.per_call() };
    let may_wrap = checked.may_wrap;
    let call = Call {
        tool: &tool,
        arguments: &checked.arguments,
        limits,
        again: ResendMembers::default(),
        arrivals: None,
        caller: Caller::default(),
        may_wrap,
        judged_by: None,
    };
    let person = questions::at_terminal(aggregator.redactor());
    let reply = aggregator.call_outside(&server, call, person.as_ref()).await;
    reply.map(|reply| reply.decided()).map_err(fault)
}

/// The server, the tool and the pairs that a command line names: `server/tool`, as other commands print it, or two words.
fn target(
    catalog: &Catalog,
    first: &str,
    others: &[String],
) -> Result<(String, String, Vec<String>), String> {
    let first = first.strip_prefix('\'').unwrap_or(first);
    let is_pair = |word: &String| word.contains('=');
    if catalog.server(first).is_none()
        && let Some((server, tool)) = catalog.split_reference(first)
        && others.iter().all(is_pair)
    {
        return Ok((server.to_owned(), tool.to_owned(), others.to_vec()));
    }
    match others.split_first() {
        Some((tool, pairs)) if !is_pair(tool) => Ok((first.to_owned(), tool.clone(), pairs.to_vec())),
        _ => Err(format!(
            "{first} names no tool: ptc call SERVER/TOOL KEY=VALUE; to see the tools: ptc tools {first}"
        )),
    }
}

/// Rewords a refusal for programs, for a person at a shell.
fn for_a_shell(refusal: String) -> String {
    let Some((before, rest)) = refusal.split_once("(doc \"") else { return refusal };
    match rest.split_once("\")") {
        Some((name, after)) => format!("{before}ptc tools {name}{after}"),
        None => refusal,
    }
}

/// The payload as printed: JSON on one line, or on several for a person; text unchanged. `None` if there is none.
#[expect(clippy::disallowed_methods, reason = "entry point: show()")]
fn show(payload: Payload, aggregator: &Aggregator, terminal: bool) -> Option<String> {
    let redactor = aggregator.redactor();
    let text = |bytes: &[u8]| {
        let text = redactor.scrub_string(String::from_utf8_lossy(bytes).into_owned());
        report::shown(&text, terminal).into_owned()
    };
    match payload {
        Payload::Json(bytes) | Payload::JsonOrText(bytes) => {
            let Ok(mut value) = serde_json::from_slice::<ptc_mcp::json::Value>(&bytes) else {
                return Some(text(&bytes));
            };
            // Before it is serialised: escapes would hide a secret with quotes in it.
            redactor.scrub_json(&mut value);
            Some(if terminal { format!("{value:#}") } else { value.to_string() })
        }
        Payload::Text(bytes) => Some(text(&bytes)),
        Payload::JsonNull => Some("null".to_owned()),
        Payload::Content(_) | Payload::None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(words: &[&str]) -> Result<(String, String, Vec<String>), String> {
        let others: Vec<String> = words[1..].iter().map(|word| (*word).to_owned()).collect();
        target(&Catalog::new([]), words[0], &others)
    }

    #[test]
    fn a_tool_is_named_as_other_commands_print_it_or_by_two_words() {
        let pairs = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for words in [&["time/now", "zone=UTC"][..], &["'time/now", "zone=UTC"], &["time", "now", "zone=UTC"]]
        {
            assert_eq!(named(words).unwrap(), ("time".to_owned(), "now".to_owned(), pairs(&["zone=UTC"])));
        }
        assert_eq!(named(&["a/b", "c"]).unwrap(), ("a/b".to_owned(), "c".to_owned(), pairs(&[])));
        assert!(named(&["time"]).unwrap_err().contains("ptc tools time"));
        assert!(named(&["time", "zone=UTC"]).unwrap_err().starts_with("time names no tool"));
    }

    #[test]
    fn refusals_name_commands() {
        assert_eq!(for_a_shell("No. Look at (doc \"a/b\").".to_owned()), "No. Look at ptc tools a/b.");
    }
}
