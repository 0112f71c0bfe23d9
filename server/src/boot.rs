//! Puts a server together from its settings, and runs it.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use ptc_agent::llm::{Connect, ModelError, ModelRef};
use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::catalog::{InlineLimits, describe, snapshot};
use ptc_host::config::{LoadOptions, UpstreamsConfig};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, HostCalls, Limits, MemoryBudget};
use ptc_host::http::Client;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{info, warn};

use crate::concurrency_limiter::Gate;
use crate::descriptors;
use crate::insight::{Insight, Observers};
use crate::observers::console::Console;
use crate::observers::metrics::Metrics;
use crate::observers::recent::Ring;
use crate::observers::recording::Recording;
use crate::observers::sources::Sources;
use crate::observers::trace::{TraceOptions, Traces};
use crate::protocol::Service;
use crate::protocol::tool::{Registry, Tool};
use crate::settings::{BootError, Settings};
use crate::settings::{Http, PayloadPolicy, Profile};
use crate::tools::lisp_debug::LispDebug;
use crate::tools::lisp_eval::{ArgumentCaps, EvalOptions, LispEval};
use crate::tools::lisp_task::{LispTask, PlannerConfig, TaskOptions, capability_summary};
use crate::tools::sessions::{Directory, system_clock};
use crate::tools::shaping::Shaper;
use crate::tools::{cards, sessions};
use crate::transport::http::{HttpServer, Listening};
use crate::transport::stdio::{StdioOptions, run_stdio, standard_streams};

/// Time of a call besides its program's own: compiling it, and a second for everything else.
const CALL_OVERHEAD: Duration = Duration::from_secs(6);

/// How long the last traces may take to be written.
const FLUSH_GRACE: Duration = Duration::from_secs(2);

/// Serves on the transport that the settings name, until it ends.
///
/// # Errors
/// If the server cannot be started.
pub fn serve(settings: Settings, redactor: Redactor) -> Result<(), BootError> {
    let memory = MemoryBudget::new(settings.limits.max_total_memory_bytes);
    let engine = Engine::start(EngineOptions { threads: 0, memory: Some(memory) })
        .map_err(|error| BootError::new(error.to_string()))?;
    let (done, ended) = mpsc::channel();
    // On a driver's thread, so that a short program starts and ends without a change of threads.
    let on_driver = engine.clone();
    engine.spawn_on(0, move || async move {
        let outcome = run(&settings, &redactor, &on_driver).await;
        // The receiver waits for exactly this.
        let _ = done.send(outcome);
    });
    ended.recv().unwrap_or_else(|_| Err(BootError::new("the server's thread ended unexpectedly")))
}

/// Starts the upstreams, serves, and stops the upstreams again.
async fn run(settings: &Settings, redactor: &Redactor, engine: &Engine) -> Result<(), BootError> {
    survive_file_limits();
    let http = settings.http.as_ref();
    redactor.register(http.into_iter().flat_map(|http| &http.tokens).map(|token| &token.token));
    let upstreams = start_upstreams(settings, redactor, engine.memory()).await?;
    let service = Arc::new(service(settings, engine, upstreams.as_ref(), redactor)?);
    let insight = service.insight.clone();
    let served = match http {
        Some(http) => serve_http(http, settings, service, engine).await,
        None => {
            let options = StdioOptions { max_frame_bytes: settings.limits.max_frame_bytes };
            let (reader, writer) = standard_streams();
            run_stdio(service, options, reader, writer, stop_signal()).await;
            Ok(())
        }
    };
    if let Some(upstreams) = upstreams {
        upstreams.shutdown().await;
    }
    if let Some(insight) = insight {
        insight.flush(FLUSH_GRACE);
    }
    served
}

async fn serve_http(
    http: &Http,
    settings: &Settings,
    service: Arc<Service>,
    engine: &Engine,
) -> Result<(), BootError> {
    let listening = Listening {
        call_budget: longest_call(settings) + CALL_OVERHEAD,
        memory: engine
            .memory()
            .cloned()
            .unwrap_or_else(|| MemoryBudget::new(settings.limits.max_total_memory_bytes)),
    };
    descriptors::make_room_for(http.max_connections);
    let server = HttpServer::bind(http, listening, service, engine.clone())?;
    server.run(stop_signal).await.map_err(|error| BootError::new(format!("cannot serve HTTP: {error}")))
}

/// The longest time that a call's own work may take.
fn longest_call(settings: &Settings) -> Duration {
    let program = settings.limits.program_timeout;
    if settings.planner.enabled { program.max(settings.planner.task_timeout) } else { program }
}

/// Reads the upstreams file and starts what it names; `None` without such a file.
async fn start_upstreams(
    settings: &Settings,
    redactor: &Redactor,
    memory: Option<&MemoryBudget>,
) -> Result<Option<Arc<Aggregator>>, BootError> {
    let Some(location) = &settings.aggregator.config else { return Ok(None) };
    let own_exe = std::env::current_exe().ok();
    let options =
        LoadOptions { env: &settings.env, base_dir: location.path.parent(), own_exe: own_exe.as_deref() };
    let Some(config) = UpstreamsConfig::load(location, &options)? else { return Ok(None) };
    for warning in &config.warnings {
        warn!(event = warning.event, upstream = warning.upstream, "{}", warning.message);
    }
    let bounded = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let limits = AggregatorLimits {
        call_timeout: settings.aggregator.call_timeout,
        max_response_bytes: settings.aggregator.max_response_bytes,
        max_calls: bounded(settings.aggregator.max_calls),
        max_discoveries: bounded(settings.aggregator.max_catalog_ops),
        max_discovery_bytes: settings.aggregator.max_catalog_result_bytes,
    };
    let http = match &settings.aggregator.ca_file {
        None => Client::new(),
        Some(path) => {
            Client::with_ca_file(path).map_err(|error| BootError::new(format!("--ca-file: {error}")))?
        }
    };
    let options = AggregatorOptions {
        limits,
        redactor: redactor.clone(),
        http,
        // The planner reads what its calls brought when it mends a program.
        overviews: settings.profile == Profile::Debug || settings.planner.enabled,
        memory: memory.cloned(),
        ..AggregatorOptions::new(SnapshotMode::Frozen)
    };
    Aggregator::start(config, options).await.map(Some).map_err(|error| BootError::new(error.to_string()))
}

/// `lisp_task` over these upstreams.
///
/// # Errors
/// A file of the operator's that cannot be used. A model that cannot be used is told to callers instead: everything
/// else works without it.
fn task(
    settings: &Settings,
    engine: &Engine,
    upstreams: &Arc<Aggregator>,
    options: &EvalOptions,
) -> Result<LispTask, BootError> {
    let planner = &settings.planner;
    let mode = settings.aggregator.catalog_mode;
    let inline = InlineLimits {
        max_tools: settings.aggregator.inline_max_tools,
        max_chars: settings.aggregator.inline_max_chars,
    };
    let http = match &settings.aggregator.ca_file {
        None => Client::new(),
        Some(path) => {
            Client::with_ca_file(path).map_err(|error| BootError::new(format!("--ca-file: {error}")))?
        }
    };
    let connect = Connect { http, redactor: options.redactor.clone(), ..Connect::default() };
    let reference = ModelRef::parse(&planner.model, None, &settings.env);
    let model_name = reference.as_ref().map_or_else(|_| planner.model.clone(), ToString::to_string);
    let model =
        reference.and_then(|model| model.connect(&settings.env, &connect)).map_err(|error| match error {
            ModelError::NoKey { provider } => {
                format!(
                    "{} is required for {} planner models",
                    provider.keys().join(" or "),
                    provider.title()
                )
            }
            other => other.to_string(),
        });
    if let Err(why) = &model {
        warn!(event = "agentic_config_error", model = %model_name, "{why}");
    }
    let catalog = upstreams.advertised();
    let summary = capability_summary(planner, &catalog, mode)?;
    Ok(LispTask::new(TaskOptions {
        engine: engine.clone(),
        model,
        model_name,
        upstreams: Arc::new(upstreams.clone()),
        snapshot: snapshot(&catalog, mode, inline),
        planner: PlannerConfig::load(planner, &summary)?,
        summary,
        catalog,
        limits: options.limits,
        caps: options.caps,
        task_timeout: planner.task_timeout,
        planner_timeout: planner.planner_timeout,
        max_output_tokens: u32::try_from(planner.max_output_tokens).unwrap_or(u32::MAX),
        max_result_bytes: planner.max_result_bytes,
        include_program: planner.include_program,
        read_only: settings.aggregator.read_only,
        allow_writes: planner.allow_writes,
        profile: settings.profile,
        redactor: options.redactor.clone(),
        reports: options.reports,
        traced: settings.diagnostics.trace_dir.is_some(),
        trace_prompts: planner.trace_prompts && settings.diagnostics.payloads == PayloadPolicy::Full,
    }))
}

/// The service under these settings.
///
/// # Errors
/// A file of the operator's that cannot be used.
pub fn service(
    settings: &Settings,
    engine: &Engine,
    upstreams: Option<&Arc<Aggregator>>,
    redactor: &Redactor,
) -> Result<Service, BootError> {
    let limits = &settings.limits;
    let inline = InlineLimits {
        max_tools: settings.aggregator.inline_max_tools,
        max_chars: settings.aggregator.inline_max_chars,
    };
    let catalog = upstreams
        .map(|upstreams| describe(&upstreams.advertised(), settings.aggregator.catalog_mode, inline));
    let options = EvalOptions {
        limits: Limits {
            timeout: limits.program_timeout,
            memory_bytes: limits.program_memory_bytes,
            steps: limits.program_steps,
            program_bytes: limits.max_program_bytes,
        },
        caps: ArgumentCaps {
            max_program_bytes: limits.max_program_bytes,
            max_context_bytes: limits.max_context_bytes,
        },
        shaper: Shaper { profile: settings.profile, max_result_bytes: limits.max_result_bytes },
        upstreams: upstreams.map(|upstreams| Arc::new(upstreams.clone()) as Arc<dyn HostCalls>),
        catalog,
        read_only: settings.aggregator.read_only,
        redactor: redactor.clone(),
        reports: settings.diagnostics.debug_tool
            || settings.diagnostics.trace_dir.is_some()
            || settings.http.as_ref().is_some_and(|http| http.metrics || http.console),
    };
    let mut tools: Vec<Box<dyn Tool>> =
        vec![Box::new(LispEval::new(Arc::new(engine.clone()), options.clone()))];
    if let Some(upstreams) = upstreams.filter(|_| settings.planner.enabled) {
        tools.push(Box::new(task(settings, engine, upstreams, &options)?));
    }
    let diagnostics = &settings.diagnostics;
    let recording = Recording { policy: diagnostics.payloads, redactor: redactor.clone() };
    let traces = diagnostics.trace_dir.as_ref().map(|folder| {
        Traces::start(TraceOptions {
            folder: folder.clone(),
            max_files: diagnostics.trace_max_files,
            recording: recording.clone(),
            aggregator: upstreams.is_some(),
        })
    });
    let console = settings.http.as_ref().is_some_and(|http| http.console);
    let ring = (diagnostics.debug_tool || console).then(|| Ring::new(diagnostics.ring_size));
    if let Some(ring) = ring.as_ref().filter(|_| diagnostics.debug_tool) {
        let (size, max_bytes) = (diagnostics.ring_size, diagnostics.max_response_bytes);
        info!(event = "debug_config", ring_size = size, max_response_bytes = max_bytes);
        tools.push(Box::new(LispDebug::new(ring.clone(), recording.clone(), max_bytes, traces.clone())));
    }
    let mut sources =
        Sources { sessions: None, upstreams: upstreams.cloned(), memory: engine.memory().cloned() };
    if settings.sessions.enabled {
        let directory =
            Directory::new(engine.clone(), settings.sessions.clone(), redactor.clone(), system_clock());
        directory.keep_swept();
        sources.sessions = Some(directory.clone());
        tools.extend(sessions::tools(&directory, options));
    }
    let metrics = settings.http.as_ref().filter(|http| http.metrics).map(|_| {
        let observed = tools.iter().filter(|tool| tool.is_observed()).map(|tool| tool.definition().name);
        let servers = upstreams.into_iter().flat_map(|upstreams| upstreams.upstreams());
        Arc::new(Metrics::new(observed, servers.map(|(config, _)| config.name.clone())))
    });
    let registry = if settings.sessions.enabled {
        Registry::new(tools)
    } else {
        Registry::new(tools).refusing(&sessions::NAMES, &sessions::disabled())
    };
    let mut service = Service::new(registry, limits.max_concurrent_calls);
    if let Some(memory) = engine.memory() {
        service.gate = Gate::within(limits.max_concurrent_calls, memory.clone());
    }
    let observers = Observers { ring, metrics, traces, console: console.then(Console::default) };
    service.insight = (!observers.is_empty()).then(|| Arc::new(Insight::new(recording, observers, sources)));
    service.instructions = cards::instructions(upstreams.is_some(), settings.sessions.enabled);
    if settings.http.as_ref().is_some_and(|http| !http.tokens.is_empty()) {
        service.cache_scope = "private";
    }
    Ok(service)
}

/// Makes a write beyond the limit on the size of files (`ulimit -f`) fail like one to a full disk. By default it would
/// end the process. A handler of the system's signal stays once it is installed.
fn survive_file_limits() {
    if let Err(error) = signal(SignalKind::from_raw(nix::libc::SIGXFSZ)) {
        warn!(event = "signal_handler_failed", signal = "SIGXFSZ", reason = %error);
    }
}

/// Completes when the process is asked to stop.
pub(crate) async fn stop_signal() {
    let mut terminate = signal(SignalKind::terminate()).ok();
    let mut interrupt = signal(SignalKind::interrupt()).ok();
    let received = |stream: &mut Option<tokio::signal::unix::Signal>,
                    context: &mut std::task::Context<'_>| {
        stream.as_mut().is_some_and(|stream| stream.poll_recv(context).is_ready())
    };
    std::future::poll_fn(|context| {
        if received(&mut terminate, context) | received(&mut interrupt, context) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use clap::Command;
    use ptc_host::config::ProcessEnv;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::*;
    use crate::options::command::arguments;
    use crate::options::flags::ALL;

    /// Runs programs through a whole server, engine included, and gives the text of each answer.
    async fn answers(flags: &[&str], programs: &[&str]) -> Vec<String> {
        let given = std::iter::once("start").chain(flags.iter().copied());
        let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(given);
        let settings = Settings::resolve(&matches, ProcessEnv::default()).unwrap();
        let memory = MemoryBudget::new(settings.limits.max_total_memory_bytes);
        let engine = Engine::start(EngineOptions { threads: 1, memory: Some(memory) }).unwrap();
        let service = Arc::new(service(&settings, &engine, None, &Redactor::new()).unwrap());
        let (near, far) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(far);
        let options = StdioOptions { max_frame_bytes: settings.limits.max_frame_bytes };
        let server = tokio::spawn(run_stdio(service, options, reader, writer, std::future::pending()));
        let (reader, mut writer) = tokio::io::split(near);
        let mut lines = BufReader::new(reader).lines();
        let mut texts = Vec::new();
        for program in programs {
            let request = json!({"jsonrpc":"2.0","id":1,"method":"tools/call",
                                 "params":{"name":"lisp_eval","arguments":{"program":program}}});
            writer.write_all(format!("{request}\n").as_bytes()).await.unwrap();
            let reply: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            let text = reply["result"]["content"][0]["text"].as_str().unwrap().to_owned();
            assert!(reply["result"]["_meta"]["eval_id"].is_string() || text.starts_with("busy"), "{reply}");
            texts.push(text);
        }
        writer.shutdown().await.unwrap();
        server.await.unwrap();
        texts
    }

    #[tokio::test]
    async fn programs_run_and_their_limits_hold() {
        let programs = ["(+ 1 2)", "nil", "(/ 1 0)", "(loop [] (recur))", "(fail {:why \"x\"})"];
        let texts = answers(&["--program-timeout-ms=60000", "--program-step-limit=10000"], &programs).await;
        assert_eq!(texts[..3], ["user=> 3", "", "runtime_error: arithmetic_error: division by zero"]);
        assert!(texts[3].starts_with("step_limit: ") && texts[3].contains("10000"), "{}", texts[3]);
        assert_eq!(texts[4], "fail: {:why \"x\"}");
    }

    #[tokio::test]
    async fn all_programs_share_the_memory_of_the_process() {
        let programs = ["(count (vec (map inc (range 200000))))", "(count (vec (map inc (range 1000))))"];
        let texts = answers(&["--max-total-memory-bytes=1000000"], &programs).await;
        assert_eq!(texts, ["memory_limit: the server's memory budget is exhausted", "user=> 1000"]);
        let texts = answers(&["--max-total-memory-bytes=1000"], &["1"]).await;
        assert!(texts[0].contains("server busy: the memory budget is exhausted"), "{}", texts[0]);
    }

    #[tokio::test]
    async fn nothing_is_left_from_one_program_to_the_next() {
        let texts = answers(&[], &["(def x 1)", "x"]).await;
        assert_eq!(texts[0], "user=> #'x");
        assert!(texts[1].starts_with("runtime_error: "), "{}", texts[1]);
    }

    #[tokio::test]
    async fn session_tools_are_known_even_where_they_are_off() {
        let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(["start"]);
        let settings = Settings::resolve(&matches, ProcessEnv::default()).unwrap();
        let engine = Engine::start(EngineOptions { threads: 1, memory: None }).unwrap();
        let service = service(&settings, &engine, None, &Redactor::new()).unwrap();
        for name in sessions::NAMES {
            assert!(service.tools.get(name).is_none());
            let refusal = service.tools.refusal(name).unwrap().1.structured.clone().unwrap();
            let told: Value = serde_json::from_str(&refusal).unwrap();
            let message = "stateful PTC-Lisp sessions are disabled; start the server with --sessions or \
                           PTC_RUNNER_MCP_SESSIONS=true";
            assert_eq!((&told["reason"], &told["message"]), (&json!("sessions_disabled"), &json!(message)));
        }
    }

    #[tokio::test]
    async fn sessions_add_their_tools_behind_the_first() {
        let matches = Command::new("start").args(arguments(&ALL)).get_matches_from(["start", "--sessions"]);
        let settings = Settings::resolve(&matches, ProcessEnv::default()).unwrap();
        let engine = Engine::start(EngineOptions { threads: 1, memory: None }).unwrap();
        let service = service(&settings, &engine, None, &Redactor::new()).unwrap();
        let listing: Vec<Value> = serde_json::from_slice(service.tools.listing()).unwrap();
        let names: Vec<_> = listing.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        let wanted = [
            "eval",
            "session_start",
            "session_list",
            "session_eval",
            "session_inspect",
            "session_forget",
            "session_close",
        ];
        assert_eq!(names, wanted.map(|name| format!("lisp_{name}")));
        assert!(listing[1..].iter().all(|tool| tool["inputSchema"]["type"] == "object"));
    }
}
