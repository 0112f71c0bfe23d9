//! `ptc pin`: accepts the tools of upstreams as they are, and writes them into the lock beside the upstreams file.

use super::pin_text::{self, MarkedTool, marked};
use super::setup::atomic_file;
use super::upstreams::{self, Warnings};
use super::{output, report};
use crate::cli::output::errln;
use clap::Args;
use ptc_host::aggregator::{Aggregator, AggregatorOptions, SnapshotMode};
use ptc_host::catalog::{Catalog, ServerEntry};
use ptc_host::config::{
    ChangedTool, PinLock, PinPolicy, PinReport, PinnedTool, ProcessEnv, SERVER_VARIABLE, UpstreamPins,
    UpstreamsConfig, locate, lock_file,
};
use ptc_host::folder_hold::FolderHold;
use ptc_host::visible::visible;
use ptc_mcp::json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

/// Arguments of `ptc pin`.
#[derive(Args, Debug)]
pub struct PinArgs {
    /// Upstreams whose tools are accepted [default: all, but those with "pin": "off"]
    #[arg(value_name = "UPSTREAM")]
    upstreams: Vec<String>,

    /// Show what would be accepted, and write nothing: exit status 1 if there is something
    #[arg(long)]
    check: bool,

    /// Upstreams file [default: as `ptc start` finds it]; the lock is beside it
    #[arg(long, value_name = "FILE")]
    upstreams_config: Option<PathBuf>,

    #[arg(long, help = crate::options::flags::find("ca-file").described(), value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Print JSON for programs instead of lines for people
    #[arg(long)]
    json: bool,
}

/// What is accepted of one upstream.
struct Acceptance {
    name: String,
    /// Why its tools are not known; what was accepted of it stays.
    fault: Option<String>,
    report: PinReport,
    tools: BTreeMap<String, PinnedTool>,
    marks: Vec<MarkedTool>,
}

/// Runs the sub-command.
pub fn run(args: PinArgs) -> ExitCode {
    let pinned = match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime.block_on(pin(args)),
        Err(error) => Err(format!("cannot start the event loop: {error}")),
    };
    pinned.unwrap_or_else(|fault| report::fault(&fault))
}

async fn pin(args: PinArgs) -> Result<ExitCode, String> {
    let env = ProcessEnv::current();
    let location = locate(args.upstreams_config.as_deref(), Some(SERVER_VARIABLE), &env);
    let http = upstreams::http(args.ca_file.as_deref(), &env)?;
    let location = location.ok_or(upstreams::UNCONFIGURED)?;
    let config = upstreams::read(&location, &env).map_err(|error| error.to_string())?;
    let mut config = config.ok_or(upstreams::UNCONFIGURED)?;
    let path = lock_file(&location.path);
    let at_first = read_lock(&location.path)?;
    let wanted = wanted(&args, &config)?;
    let unknown = match args.upstreams.is_empty() {
        true => unknown(at_first.as_ref(), &config),
        false => Vec::new(),
    };
    config.upstreams.retain(|upstream| wanted.contains(&upstream.name));
    // Everything is listed as it is, and compared below.
    config.upstreams.iter_mut().for_each(|upstream| upstream.pins = None);
    let options = AggregatorOptions { http, ..AggregatorOptions::new(SnapshotMode::Live) };
    let aggregator = upstreams::start(config, options, &env, Warnings::Counted).await?;
    let faults = load(&aggregator, &wanted).await;
    let catalog = aggregator.unfiltered().catalog();
    aggregator.shutdown().await;
    // Another process may have written the lock since: only what was listed here is changed in it.
    let _hold = match args.check {
        true => None,
        false => Some(FolderHold::wait_for(&folder_of(&path)).await?),
    };
    let before = read_lock(&location.path)?;
    let mut lock = before.clone().unwrap_or_default();
    let removed: Vec<String> =
        unknown.into_iter().filter(|name| lock.upstreams.remove(name).is_some()).collect();
    let found: Vec<Acceptance> = wanted
        .iter()
        .zip(faults)
        .map(|(name, fault)| acceptance(&catalog, name, fault, before.as_ref()))
        .collect();
    for accepted in found.iter().filter(|accepted| accepted.fault.is_none()) {
        lock.upstreams.insert(accepted.name.clone(), accepted.tools.clone());
    }
    let differs = before.as_ref().is_none_or(|before| before.upstreams != lock.upstreams);
    let has_faults = found.iter().any(|accepted| accepted.fault.is_some());
    let is_written = differs && !args.check;
    if is_written {
        lock.name_file(&location.path);
        write(&path, &location.path, &lock)?;
    }
    let ok = !(has_faults || args.check && differs);
    let text = match args.json {
        true => as_json(&found, &removed, &path, ok, is_written),
        false => as_lines(&found, &removed, &path, &args, differs),
    };
    output::write(format_args!("{}", visible(&text)));
    for accepted in &found {
        if let Some(fault) = &accepted.fault {
            errln!(
                "ptc: the tools of {} cannot be listed, and stay as they were accepted: {}",
                accepted.name,
                visible(fault)
            );
        }
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The names of the upstreams that are asked for their tools, in order.
fn wanted(args: &PinArgs, config: &UpstreamsConfig) -> Result<Vec<String>, String> {
    let all = config.upstreams.iter();
    if args.upstreams.is_empty() {
        let pinned = all.filter(|upstream| upstream.pin != PinPolicy::Off);
        return Ok(pinned.map(|upstream| upstream.name.clone()).collect());
    }
    let mut wanted = args.upstreams.clone();
    wanted.sort_unstable();
    wanted.dedup();
    match wanted.iter().find(|name| config.upstream(name).is_none()) {
        None => Ok(wanted),
        Some(unknown) => {
            let names: Vec<&str> = all.map(|upstream| upstream.name.as_str()).collect();
            Err(format!("no upstream '{unknown}' is configured: there are {}", names.join(", ")))
        }
    }
}

fn read_lock(upstreams_file: &Path) -> Result<Option<PinLock>, String> {
    PinLock::of(upstreams_file).map_err(|error| error.to_string())
}

/// The folder in which the lock is written; where the lock is a link, that of its target.
fn folder_of(lock: &Path) -> PathBuf {
    let target = fs::canonicalize(lock).unwrap_or_else(|_| lock.to_owned());
    match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The upstreams of a lock that the file does not have.
fn unknown(lock: Option<&PinLock>, config: &UpstreamsConfig) -> Vec<String> {
    let is_known = |name: &String| config.upstream(name).is_some() || config.disabled.contains(name);
    let names = lock.into_iter().flat_map(|lock| lock.upstreams.keys());
    names.filter(|name| !is_known(name)).cloned().collect()
}

/// Lists these upstreams; the fault of each.
pub(super) async fn load(aggregator: &Aggregator, names: &[String]) -> Vec<Option<String>> {
    let loads = names.iter().map(async |name| {
        let fault = aggregator.load(name).await.err()?;
        let text = match fault.reason.as_str() {
            "auth_required" => format!("it needs a sign-in: ptc login {name}"),
            _ => fault.to_string(),
        };
        Some(aggregator.redactor().scrub_string(text))
    });
    futures_util::future::join_all(loads).await
}

fn acceptance(catalog: &Catalog, name: &str, fault: Option<String>, before: Option<&PinLock>) -> Acceptance {
    let server = catalog.server(name).filter(|server| server.loaded && fault.is_none());
    let fault = fault.or_else(|| server.is_none().then(|| "it has listed none".to_owned()));
    let listed: Vec<PinnedTool> =
        server.map_or_else(Vec::new, |server| server.tools().iter().map(|tool| tool.pinned()).collect());
    let accepted = before.and_then(|before| before.upstreams.get(name).cloned());
    let report = match &fault {
        // Tools that a filter hides leave the lock.
        None => UpstreamPins { refuses: false, accepted }.compare(&listed, |_| true),
        Some(_) => PinReport::default(),
    };
    let marks = server.map_or_else(Vec::new, |server: &ServerEntry| marked(catalog, server));
    let tools = listed.into_iter().map(|tool| (tool.name().to_owned(), tool)).collect();
    Acceptance { name: name.to_owned(), fault, report, tools, marks }
}

/// Writes the lock. A new one may be read by those who may read the upstreams file.
fn write(path: &Path, upstreams_file: &Path, lock: &PinLock) -> Result<(), String> {
    let is_new = !path.exists();
    atomic_file::write(path, &lock.text()?)?;
    let permissions =
        || -> io::Result<()> { fs::set_permissions(path, fs::metadata(upstreams_file)?.permissions()) };
    match is_new.then(permissions) {
        Some(Err(error)) => Err(format!("{}: {error}", path.display())),
        _ => Ok(()),
    }
}

fn as_lines(found: &[Acceptance], removed: &[String], path: &Path, args: &PinArgs, differs: bool) -> String {
    let mut text = String::new();
    for accepted in found.iter().filter(|accepted| accepted.fault.is_none()) {
        let Acceptance { name, report, tools, marks, .. } = accepted;
        // Writing to a string does not fail.
        let _ = match (report.is_pinned, report.is_empty()) {
            (true, true) => writeln!(text, "{name}: {} tools, as they were accepted", tools.len()),
            (true, false) => writeln!(text, "{name}: {}", report.summary()),
            (false, _) => writeln!(text, "{name}: {} tools, accepted for the first time", tools.len()),
        };
        // Of an upstream that nobody has looked at before, all is new: the names have to do.
        let whole = |name: &str| tools.get(name).filter(|_| report.is_pinned).map(ChangedTool::whole);
        text.push_str(&pin_text::lines(report, whole));
        for mark in marks {
            let _ = writeln!(text, "  ! {}", mark.line());
        }
    }
    for name in removed {
        let _ = writeln!(text, "{name}: not in the upstreams file, taken out");
    }
    let _ = match (differs, args.check) {
        (true, true) => writeln!(text, "\n{} would change; to write it: ptc pin", path.display()),
        (true, false) => writeln!(text, "\nwrote {}", path.display()),
        (false, _) => writeln!(text, "\n{} stays as it is", path.display()),
    };
    text
}

fn as_json(found: &[Acceptance], removed: &[String], path: &Path, ok: bool, is_written: bool) -> String {
    let upstreams = found.iter().map(|accepted| {
        let mut json = pin_text::json(&accepted.report);
        json["name"] = accepted.name.as_str().into();
        json["marks"] = Value::Array(accepted.marks.iter().map(MarkedTool::json).collect());
        if let Some(fault) = &accepted.fault {
            json["error"] = fault.as_str().into();
        }
        json
    });
    let upstreams: Vec<Value> = upstreams.collect();
    let path = path.display().to_string();
    json!({"ok": ok, "written": is_written, "lock": path, "removed": removed, "upstreams": upstreams})
        .to_string()
        + "\n"
}
