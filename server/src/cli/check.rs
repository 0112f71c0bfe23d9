//! `ptc check`: reads the file, validates it against its schema, resolves, connects, lists, and reports what works
//! and what fails. It never shows a secret.

use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::catalog::Catalog;
use ptc_host::config::{
    ChangedTool, ConfigError, FileFault, PinPolicy, ProcessEnv, SERVER_VARIABLE, UpstreamConfig, file_faults,
    locate, lock_file,
};
use ptc_host::time;
use ptc_host::visible::visible;

use super::expose::ExposeArgs;
use super::pin_text::{self, MarkedTool, marked};
use super::upstreams::Warnings;
use super::{report, upstreams};
use crate::cli::output::errln;
use clap::Args;
use ptc_mcp::json::Value;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Arguments of `ptc check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Upstreams file [default: as `ptc start` finds it]
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,

    #[arg(long, help = crate::options::flags::find("ca-file").described(), value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Compare the tools with the lock that `ptc pin` wrote: exit status 1, and a diff, if they are not as they were accepted
    #[arg(long)]
    pins: bool,

    #[command(flatten)]
    expose: ExposeArgs,

    /// Print JSON for programs instead of a table for people
    #[arg(long)]
    json: bool,
}

/// The findings about one upstream.
#[derive(Serialize)]
struct Finding {
    name: String,
    transport: &'static str,
    ok: bool,
    required: bool,
    connect_ms: u64,
    tools: usize,
    /// The tools whose calls a person has to approve, and the level of each approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<NeedsApproval>,
    /// A state that is no failure: `sign_in_needed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    /// The next command for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// How its tools stand to the lock, if they are held to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pins: Option<Value>,
    /// The same as lines, if they are to be shown.
    #[serde(skip)]
    pin_lines: String,
    /// What deserves a look in the descriptions of its tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    marks: Vec<Value>,
    /// Remarks on things that work but deserve a look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
}

/// A tool whose calls need an approval.
#[derive(Serialize)]
struct NeedsApproval {
    tool: String,
    level: &'static str,
}

/// Runs the sub-command.
pub fn run(args: CheckArgs) -> ExitCode {
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime.block_on(check(args)),
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

async fn check(args: CheckArgs) -> ExitCode {
    let env = ProcessEnv::current();
    let location = locate(args.upstreams_config.as_deref(), Some(SERVER_VARIABLE), &env);
    let http = match upstreams::http(args.ca_file.as_deref(), &env) {
        Ok(http) => http,
        Err(error) => return report::fault(&error),
    };
    let Some(location) = location else { return report::fault(upstreams::UNCONFIGURED) };
    let config = match upstreams::read(&location, &env) {
        Ok(Some(config)) => config,
        Ok(None) => return report::fault(upstreams::UNCONFIGURED),
        Err(error) => return refuse(&location.path, &error, args.json),
    };
    let exposure = match args.expose.exposure(&env) {
        Ok(exposure) => exposure,
        Err(error) => return report::fault(&error),
    };
    let list_cache = upstreams::list_cache(&env);
    let options = AggregatorOptions {
        http,
        list_cache,
        exposure: exposure.clone(),
        ..AggregatorOptions::new(SnapshotMode::Live)
    };
    let is_unpinned = |upstream: &UpstreamConfig| upstream.pin != PinPolicy::Off && upstream.pins.is_none();
    if args.pins && config.upstreams.iter().any(is_unpinned) {
        let lock = lock_file(&location.path);
        return report::fault(&format!(
            "there is no lock {}: to accept the tools as they are: ptc pin",
            lock.display()
        ));
    }
    let aggregator = match upstreams::start(config, options, &env, Warnings::Each).await {
        Ok(aggregator) => aggregator,
        Err(error) => return report::fault(&error),
    };
    let names: Vec<String> =
        aggregator.unfiltered().upstreams().map(|(config, _)| config.name.clone()).collect();
    let mut findings = progressing(names.iter().map(|name| examine(&aggregator, name))).await;
    // Once all are listed: a description may name the tools of another server.
    let catalog = aggregator.unfiltered().catalog();
    findings.iter_mut().for_each(|finding| look_at_tools(finding, &catalog, args.pins));
    let idle = exposure.iter().flat_map(|exposure| exposure.idle(&catalog));
    let idle = idle.map(|pattern| format!("--expose tools={pattern} fits no tool of the upstreams"));
    let remarks: Vec<String> = idle.chain(catalog.name_remarks()).collect();
    aggregator.keep_lists().await;
    aggregator.shutdown().await;
    let faults = findings.iter().filter(|finding| !finding.ok).count();
    let text = if args.json {
        ptc_mcp::json::json!({"ok": faults == 0, "upstreams": findings, "remarks": remarks}).to_string()
            + "\n"
    } else {
        let lines = remarks.iter().map(|remark| format!("\n{remark}\n"));
        table(&findings) + &lines.collect::<String>()
    };
    super::output::write(format_args!("{}", visible(&text)));
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Adds what is to be said of the tools themselves: how they stand to the lock, and what deserves a look.
fn look_at_tools(finding: &mut Finding, catalog: &Catalog, holds_to_pins: bool) {
    let Some(server) = catalog.server(&finding.name).filter(|server| server.loaded) else { return };
    let marked = marked(catalog, server);
    finding
        .remarks
        .extend(marked.iter().map(|mark| format!("upstream {}: tool {}", server.name, mark.line())));
    finding.marks = marked.iter().map(MarkedTool::json).collect();
    let Some(report) = server.pins() else { return };
    finding.pins = Some(pin_text::json(report));
    if report.is_empty() && report.is_pinned {
        return;
    }
    let name = &server.name;
    let outcome = if report.refuses { ", and what nobody has accepted is withheld" } else { "" };
    let summary = match report.summary() {
        summary if summary.is_empty() => "its tools are not pinned".to_owned(),
        summary => summary,
    };
    if !holds_to_pins {
        finding.remarks.push(format!(
            "upstream {name}: {summary}{outcome}; to see the diff: ptc check --pins; to accept it: ptc pin {name}"
        ));
        return;
    }
    let whole = |tool: &str| {
        let mut tools = server.tools_by_name().chain(server.withheld());
        let tool = tools.find(|listed| listed.name == tool).filter(|_| report.is_pinned)?;
        Some(ChangedTool::whole(&tool.pinned()))
    };
    finding.pin_lines = pin_text::lines(report, whole);
    finding.ok = false;
    finding.reason.get_or_insert_with(|| "pins_differ".to_owned());
    finding.error.get_or_insert_with(|| format!("{summary}{outcome}; to accept it: ptc pin {name}"));
}

/// Reports all faults of the file, each with its place if it has one.
fn refuse(path: &Path, error: &ConfigError, json: bool) -> ExitCode {
    let text = super::setup::atomic_file::read(path).ok().flatten().unwrap_or_default();
    let faults = file_faults(&text, Some(error));
    if json {
        let listed = |fault: &FileFault| ptc_mcp::json::json!({"line": fault.line, "column": fault.column, "message": fault.message});
        let faults = match faults.as_slice() {
            [] => vec![ptc_mcp::json::json!({"message": error.to_string()})],
            faults => faults.iter().map(listed).collect(),
        };
        let found = ptc_mcp::json::json!({"ok": false, "upstreams": [], "faults": faults});
        super::output::write(format_args!("{}\n", visible(&found.to_string())));
        return ExitCode::FAILURE;
    }
    if faults.is_empty() {
        return report::fault(&error.to_string());
    }
    let terminal = std::io::stderr().is_terminal();
    for fault in &faults {
        errln!("ptc: {}:{}", path.display(), report::shown(&fault.to_string(), terminal));
    }
    ExitCode::FAILURE
}

/// The findings in order. On a terminal each is shown when it is ready: some servers take a minute to start.
async fn progressing(examinations: impl Iterator<Item = impl Future<Output = Finding>>) -> Vec<Finding> {
    let terminal = std::io::stderr().is_terminal();
    let told = examinations.map(|examination| async {
        let finding = examination.await;
        if terminal {
            let outcome = match &finding.next_step {
                Some(_) => "needs a sign-in",
                None if finding.ok => "ok",
                None => "failed",
            };
            errln!("{} {outcome} ({} ms)", finding.name, finding.connect_ms);
        }
        finding
    });
    futures_util::future::join_all(told).await
}

async fn examine(aggregator: &Arc<Aggregator>, name: &str) -> Finding {
    let began = time::now();
    let loaded = aggregator.load(name).await;
    let connect_ms = u64::try_from(time::since(began).as_millis()).unwrap_or(u64::MAX);
    let entry =
        aggregator.unfiltered().upstreams().map(|(config, _)| config).find(|config| config.name == name);
    let (transport, required) =
        entry.map_or(("", true), |config| (config.transport.as_str(), config.required));
    let catalog = aggregator.unfiltered().catalog();
    let listed = catalog.server(name).filter(|server| server.loaded);
    let tools = listed.map_or(0, |server| server.tools().len());
    let approvals = entry.zip(listed).map_or_else(Vec::new, |(config, server)| {
        let asked = server.tools().iter().filter_map(|tool| {
            let level = config.approval.needs(&tool.name, tool.annotations.as_ref())?;
            Some(NeedsApproval { tool: tool.name.clone(), level: level.as_str() })
        });
        asked.collect()
    });
    let mut remarks = listed.map_or_else(Vec::new, |server| server.remarks().to_vec());
    let dropped =
        entry.and_then(|config| config.transport.oauth()).map_or_else(Vec::new, |auth| auth.remarks());
    remarks.extend(dropped.into_iter().map(|dropped| format!("upstream {name}: {dropped}")));
    if entry.is_some_and(|config| config.sampling) {
        remarks.push(format!(
            "upstream {name}: a model answers what it asks (\"sampling\": true), if a command that runs programs is given --sampling-model"
        ));
    }
    // A missing sign-in is a state and no fault of the server.
    let signs_in = matches!(&loaded, Err(fault) if fault.reason.as_str() == "auth_required");
    let (reason, error) = match loaded {
        Ok(()) => (None, None),
        Err(_) if signs_in => (None, None),
        Err(fault) => {
            (Some(fault.reason.as_str().to_owned()), Some(aggregator.redactor().scrub_string(fault.message)))
        }
    };
    Finding {
        name: name.to_owned(),
        transport,
        ok: error.is_none(),
        required,
        connect_ms,
        tools,
        approvals,
        state: signs_in.then_some("sign_in_needed"),
        next_step: signs_in.then(|| format!("ptc login {name}")),
        reason,
        error,
        pins: None,
        pin_lines: String::new(),
        marks: Vec::new(),
        remarks,
    }
}

/// The findings as aligned columns, faults below.
fn table(findings: &[Finding]) -> String {
    let width = findings.iter().map(|f| f.name.chars().count()).max().unwrap_or(0).max("server".len());
    let mut out =
        format!("{:<width$}  {:<9}  {:>10}  {:>5}  status\n", "server", "transport", "connect ms", "tools");
    for f in findings {
        let status = match &f.reason {
            None => {
                f.next_step.as_ref().map_or_else(|| "ok".to_owned(), |step| format!("sign in with: {step}"))
            }
            Some(reason) if f.required => reason.clone(),
            Some(reason) => format!("{reason} (not required)"),
        };
        let _ = writeln!(
            out,
            "{:<width$}  {:<9}  {:>10}  {:>5}  {status}",
            f.name, f.transport, f.connect_ms, f.tools
        );
    }
    for f in findings {
        if let Some(error) = &f.error {
            let _ = writeln!(out, "\n{}: {}", f.name, visible(error));
            let _ = write!(out, "{}", visible(&f.pin_lines));
        }
        if let Some(first) = f.approvals.first() {
            let tools: Vec<&str> = f.approvals.iter().map(|asked| asked.tool.as_str()).collect();
            let text = format!(
                "{}: calls of these need an approval ({}): {}",
                f.name,
                first.level,
                tools.join(", ")
            );
            let _ = writeln!(out, "\n{}", visible(&text));
        }
        for remark in &f.remarks {
            let _ = writeln!(out, "\n{}", visible(remark));
        }
    }
    out
}
