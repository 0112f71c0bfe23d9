//! Resolves options into [`Settings`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ArgMatches;
use ptc_host::aggregator::{AggregatorLimits, SnapshotMode};
use ptc_host::catalog::CatalogMode;
use ptc_host::config::{ConfigLocation, ProcessEnv, SERVER_VARIABLE, locate};
use ptc_host::engine::{self, ChosenLimits};

use super::exposed::Exposed;
use super::settings_file::SettingsFile;
use super::sign_in_store::KEYRING;
use super::values::Values;
use ptc_protocol::settings::BootError;
use ptc_protocol::settings::{
    Aggregator, AuditFull, AuditSync, Diagnostics, EvaluationLimits, Http, LogLevel, PayloadPolicy, Planner,
    Profile, Programs, QuestionMode, Questions, Runs, Sessions, Settings, Webhook,
};

/// Interprets the options of `matches` in the environment `env`.
///
/// # Errors
/// The first option that makes a start impossible.
pub fn resolve(matches: &ArgMatches, env: ProcessEnv) -> Result<Settings, BootError> {
    let (env, file) = sources(matches, env)?;
    let settings = interpret(Values::new(matches, &env, &file), env.clone());
    settings.map_err(|fault| Values::new(matches, &env, &file).placed_fault(&fault))
}

fn interpret(mut values: Values<'_>, env: ProcessEnv) -> Result<Settings, BootError> {
    values.check_protecting()?;
    let choices = Choices::read(&mut values)?;
    let aggregator = aggregator(&mut values, &env, &choices)?;
    let planner = planner(&mut values, &aggregator)?;
    let diagnostics = diagnostics(&mut values, &env, &choices)?;
    let derived = if diagnostics.debug_tool { Profile::Debug } else { Profile::Slim };
    let profile = choices.profile.unwrap_or(derived);
    let mut limits = limits(&values, aggregator.config.is_some(), profile)?;
    let http = super::http::resolve(&mut values, &limits, aggregator.config.is_some())?;
    // The limits of one principal depend on the number of principals.
    let principals = http.as_ref().map_or(1, Http::principals);
    limits.max_concurrent_calls_per_owner =
        values.share("max-concurrent-calls-per-owner", limits.max_concurrent_calls, principals)?;
    let all = usize::try_from(limits.max_total_memory_bytes).unwrap_or(usize::MAX);
    limits.max_total_memory_bytes_per_owner =
        values.share("max-total-memory-bytes-per-owner", all, principals)? as u64;
    let sessions = sessions(&mut values, principals)?;
    let webhook = super::webhook::resolve(&values, http.as_ref())?;
    let questions = questions(&values, choices.questions, webhook)?;
    let runs = runs(&mut values, questions.mode)?;
    let state = super::state::resolve(&mut values, choices.keyring)?;
    let health = super::http::health(&values)?;
    for unknown in super::variables::unknown(&env) {
        values.warn("unknown_variable", unknown);
    }
    warn_of_writable(&mut values, aggregator.config.as_ref());
    let programs = values.path("programs").map(|dir| Programs {
        dir,
        key: values.path("programs-key"),
        serves_stale: choices.serves_stale,
        drafts: values.switch("program-drafts"),
    });
    if programs.is_none() && values.switch("program-drafts") {
        let shown = values.shown("program-drafts");
        return Err(BootError::new(format!(
            "{shown} needs --programs: what is approved of drafts is kept there"
        )));
    }
    let policy_file = values.path("policy");
    let upstream_profile = values.text("profile").map(Into::into);
    let warnings = values.into_warnings();
    Ok(Settings {
        limits,
        profile,
        log_level: choices.log_level,
        aggregator,
        programs,
        policy_file,
        upstream_profile,
        questions,
        state,
        sessions,
        runs,
        diagnostics,
        planner,
        http,
        health,
        env,
        warnings,
    })
}

/// The environment with the file of `--env-file`, and the settings file that `--config` names, or an empty one.
///
/// # Errors
/// A file cannot be read, or is wrong.
pub(crate) fn sources(
    matches: &ArgMatches,
    mut env: ProcessEnv,
) -> Result<(ProcessEnv, SettingsFile), BootError> {
    let none = SettingsFile::default();
    if let Some(path) = Values::new(matches, &env, &none).path("env-file") {
        env.add_file(&path)?;
    }
    let file = match Values::new(matches, &env, &none).path("config") {
        Some(path) => SettingsFile::read(&path, &env)?,
        None => none,
    };
    Ok((env, file))
}

/// Warns of files that say who may do what, and that anybody on this machine may write.
#[cfg(unix)]
fn warn_of_writable(values: &mut Values<'_>, upstreams: Option<&ConfigLocation>) {
    use std::os::unix::fs::PermissionsExt as _;
    let named = ["http-auth-token-file", "http-operator-token-file", "policy"];
    let named = named.into_iter().filter_map(|name| Some((format!("--{name}"), values.path(name)?)));
    let upstreams = upstreams.map(|location| ("the upstreams file".to_owned(), location.path.clone()));
    for (what, path) in named.chain(upstreams).collect::<Vec<_>>() {
        let is_writable = std::fs::metadata(&path).is_ok_and(|file| file.permissions().mode() & 0o002 != 0);
        if is_writable {
            let path = path.display();
            let message = format!("{what} {path}: every user of this machine may write it: chmod o-w {path}");
            values.warn(WRITABLE, message);
        }
    }
}

/// The event of a file that anybody may write.
pub(crate) const WRITABLE: &str = "file_writable_by_others";

/// The options that are one of a fixed set of words.
struct Choices {
    log_level: LogLevel,
    profile: Option<Profile>,
    catalog_mode: CatalogMode,
    snapshot_mode: SnapshotMode,
    /// What `--expose` names.
    exposed: Exposed,
    /// What `--programs-stale` says.
    serves_stale: bool,
    questions: Option<QuestionMode>,
    payloads: PayloadPolicy,
    audit_full: AuditFull,
    audit_sync: AuditSync,
    /// True if the key that seals sign-ins is in the system's keyring.
    keyring: bool,
}

impl Choices {
    /// Reads all of them, so that all typing errors are reported at once.
    fn read(values: &mut Values<'_>) -> Result<Choices, BootError> {
        let log_level = values.loose_choice(
            "log-level",
            &[
                ("debug", LogLevel::Debug),
                ("info", LogLevel::Info),
                ("warn", LogLevel::Warn),
                ("warning", LogLevel::Warn),
                ("error", LogLevel::Error),
            ],
        );
        let profile = values.choice(
            "response-profile",
            &[("slim", Profile::Slim), ("structured", Profile::Structured), ("debug", Profile::Debug)],
        );
        let modes = [CatalogMode::Auto, CatalogMode::Inline, CatalogMode::Lazy];
        let catalog_mode = values.choice("catalog-mode", &modes.map(|mode| (mode.as_str(), mode)));
        let snapshot_mode = values.choice(
            "catalog-snapshot-mode",
            &[
                ("frozen", SnapshotMode::Frozen),
                ("live", SnapshotMode::Live),
                ("background", SnapshotMode::Background),
            ],
        );
        let exposed = Exposed::read(values);
        let serves_stale = values.choice("programs-stale", &[("refuse", false), ("warn", true)]);
        let modes =
            [("auto", QuestionMode::Auto), ("client", QuestionMode::Client), ("off", QuestionMode::Off)];
        let questions = values.choice("questions", &modes);
        let payloads = values.loose_choice(
            "trace-payloads",
            &[
                ("none", PayloadPolicy::None),
                ("summary", PayloadPolicy::Summary),
                ("full", PayloadPolicy::Full),
            ],
        );
        let audit_full = values.choice("audit-full", &[("stop", AuditFull::Stop), ("drop", AuditFull::Drop)]);
        let audit_sync = values.choice(
            "audit-sync",
            &[("always", AuditSync::Always), ("interval", AuditSync::Interval), ("none", AuditSync::None)],
        );
        let keyring = values.choice("state-key", &[(KEYRING, true)]);
        values.check_choices()?;
        Ok(Choices {
            log_level: log_level.unwrap_or(LogLevel::Info),
            profile,
            catalog_mode: catalog_mode.unwrap_or(CatalogMode::Auto),
            snapshot_mode: snapshot_mode.unwrap_or(SnapshotMode::Frozen),
            exposed,
            serves_stale: serves_stale.unwrap_or(false),
            questions,
            payloads: payloads.unwrap_or(PayloadPolicy::Summary),
            audit_full: audit_full.unwrap_or(AuditFull::Stop),
            audit_sync: audit_sync.unwrap_or(AuditSync::Interval),
            keyring: keyring.unwrap_or(false),
        })
    }
}

fn questions(
    values: &Values<'_>,
    mode: Option<QuestionMode>,
    webhook: Option<Webhook>,
) -> Result<Questions, BootError> {
    Ok(Questions {
        mode,
        open: values.time("question-open-ms")?,
        page: values.time("page-wait-ms")?,
        per_program: u32::try_from(values.number("max-questions-per-program")?).unwrap_or(u32::MAX),
        state_ttl: values.time("request-state-ttl-ms")?,
        max_state_bytes: values.size("max-request-state-bytes")?,
        webhook,
    })
}

fn limits(values: &Values<'_>, aggregator: bool, profile: Profile) -> Result<EvaluationLimits, BootError> {
    let fits_client = values.text("max-result-bytes").is_none_or(|text| text == "auto");
    let default_result = match profile {
        Profile::Slim => 16 << 10,
        Profile::Structured => 32 << 10,
        Profile::Debug => 128 << 10,
    };
    let max_total_memory_bytes =
        values.positive("max-total-memory-bytes")?.unwrap_or_else(|| super::memory::available() / 2);
    Ok(EvaluationLimits {
        max_frame_bytes: values.size("max-frame-bytes")?,
        max_context_bytes: values.size("max-context-bytes")?,
        max_concurrent_calls: values.size("max-concurrent-calls")?,
        max_concurrent_calls_per_owner: values.size("max-concurrent-calls")?,
        program: engine::Limits::with(
            ChosenLimits {
                timeout: values.positive("program-timeout-ms")?.map(Duration::from_millis),
                memory_bytes: values.positive("program-memory-limit-bytes")?,
                steps: values.positive("program-step-limit")?,
                program_bytes: Some(values.size("max-program-bytes")?),
            },
            aggregator,
        ),
        max_total_memory_bytes,
        program_cache_bytes: values.positive("program-cache-bytes")?,
        // The limits of one principal depend on the number of principals, which is set later.
        max_total_memory_bytes_per_owner: max_total_memory_bytes,
        max_result_bytes: if fits_client {
            default_result
        } else {
            values.size_or("max-result-bytes", default_result)?
        },
        fits_client,
    })
}

fn aggregator(values: &mut Values<'_>, env: &ProcessEnv, choices: &Choices) -> Result<Aggregator, BootError> {
    // `locate` reads the variable, as it must know the source of the file.
    let named = values.path("upstreams-config").filter(|_| values.source("upstreams-config") != "env");
    let config = locate(named.as_deref(), Some(SERVER_VARIABLE), env);
    let bounded = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let limits = AggregatorLimits {
        call_timeout: values.time("upstream-call-timeout-ms")?,
        max_response_bytes: values.size("max-upstream-response-bytes")?,
        max_request_bytes: values.size("max-upstream-request-bytes")?,
        max_binary_bytes: values.number("max-attached-bytes")?,
        max_calls: bounded(values.number("max-upstream-calls-per-program")?),
        max_discoveries: bounded(values.number("max-catalog-ops-per-program")?),
        max_discovery_bytes: values.size("max-catalog-result-bytes")?,
        max_samplings: bounded(values.number("max-samplings-per-program")?),
        max_sampling_tokens: bounded(values.number("sampling-max-tokens")?),
    };
    Ok(Aggregator {
        config,
        read_only: values.switch("aggregator-read-only"),
        list_cache: cache_folder(env).filter(|_| !values.switch("no-list-cache")),
        seen_shapes: !values.switch("hide-seen-shapes"),
        limits,
        // Tools of an upstream that nobody has started would never be listed, and so never called.
        snapshot_mode: match choices.snapshot_mode {
            SnapshotMode::Live if choices.exposed.tools.is_some() => SnapshotMode::Background,
            chosen => chosen,
        },
        expose_resources: choices.exposed.resources,
        expose_prompts: choices.exposed.prompts,
        expose_tools: choices.exposed.tools.clone(),
        expose_only: expose_only(values, &choices.exposed)?,
        catalog_mode: choices.catalog_mode,
        catalog_bytes: values.size("catalog-bytes")?,
        approval_ttl: values.time("approval-ttl-ms")?,
        sampling_model: values.text("sampling-model").filter(|name| !name.is_empty()),
        ca_file: values.path("ca-file"),
    })
}

/// Whether clients have no tool that runs programs.
///
/// # Errors
/// They would have no tool at all, or another option offers one.
fn expose_only(values: &mut Values<'_>, exposed: &Exposed) -> Result<bool, BootError> {
    let only = values.switch("expose-only");
    if only && exposed.tools.is_none() && values.path("programs").is_none() {
        let shown = values.shown("expose-only");
        return Err(BootError::new(format!(
            "{shown} leaves clients without a tool: add --expose tools, or --programs"
        )));
    }
    let others = ["sessions", "agentic", "debug-tool", "program-drafts"];
    if let Some(other) = others.into_iter().find(|other| only && values.switch(other)) {
        let (shown, other) = (values.shown("expose-only"), values.shown(other));
        return Err(BootError::new(format!(
            "{shown} leaves out what {other} offers: leave out one of the two"
        )));
    }
    Ok(only)
}

fn sessions(values: &mut Values<'_>, principals: usize) -> Result<Sessions, BootError> {
    let max = values.size("max-sessions")?;
    Ok(Sessions {
        enabled: values.switch("sessions"),
        max,
        max_per_owner: values.share("max-sessions-per-owner", max, principals)?,
        ttl: values.time("session-ttl-ms")?,
        idle: values.time("session-idle-timeout-ms")?,
        memory_bytes: values.number("max-session-memory-bytes")?,
        binding_bytes: values.number("max-session-binding-bytes")?,
        bindings: values.size("max-session-bindings")?,
        history_entry_bytes: values.number("max-session-history-entry-bytes")?,
        print_entries: values.size("max-session-print-entries")?,
        print_bytes: values.number("max-session-print-bytes")?,
        source_bytes: values.number("max-session-source-bytes")?,
        tool_call_entries: values.size("max-session-tool-call-entries")?,
        tool_call_bytes: values.number("max-session-tool-call-bytes")?,
        upstream_call_entries: values.size("max-session-upstream-call-entries")?,
        upstream_call_bytes: values.number("max-session-upstream-call-bytes")?,
    })
}

/// A day: the longest time of any program.
const DAY: Duration = Duration::from_secs(86_400);

/// Longest wait for a page: clients end calls after 60 s.
const PAGE_WAIT: Duration = Duration::from_secs(50);
/// A week: the longest time that a program waits for people.
const WEEK: Duration = Duration::from_secs(7 * 86_400);

fn runs(values: &mut Values<'_>, questions: Option<QuestionMode>) -> Result<Runs, BootError> {
    let runs = Runs {
        long: values.switch("long-runs"),
        // The default depends on the upstreams.
        keeps: questions == Some(QuestionMode::Auto),
        waiting_ttl: values.time("waiting-ttl-ms")?,
        page_wait: values.time("page-wait-ms")?,
        answer_within: values.positive("answer-within-ms")?.map(Duration::from_millis),
        timeout: values.time("long-program-timeout-ms")?,
        ttl: values.time("run-ttl-ms")?,
        max: values.size("max-runs")?,
        max_per_owner: values.size("max-runs-per-owner")?,
        max_bytes_per_owner: values.number("max-run-bytes-per-owner")?,
    };
    if runs.answer_within.is_some() && !runs.long {
        let message = "--answer-within-ms has no effect without --long-runs: a program ends with the answer to its call";
        values.warn("answer_within_without_long_runs", message.to_owned());
    }
    if runs.timeout > DAY {
        return Err(BootError::new(format!(
            "--long-program-timeout-ms is at most {} (24 h), got: {}",
            DAY.as_millis(),
            runs.timeout.as_millis()
        )));
    }
    if runs.page_wait > PAGE_WAIT {
        return Err(BootError::new(format!(
            "--page-wait-ms is at most {} (clients end calls after 60 s), got: {}",
            PAGE_WAIT.as_millis(),
            runs.page_wait.as_millis()
        )));
    }
    if runs.waiting_ttl > WEEK {
        return Err(BootError::new(format!(
            "--waiting-ttl-ms is at most {} (7 days), got: {}",
            WEEK.as_millis(),
            runs.waiting_ttl.as_millis()
        )));
    }
    Ok(runs)
}

fn diagnostics(
    values: &mut Values<'_>,
    env: &ProcessEnv,
    choices: &Choices,
) -> Result<Diagnostics, BootError> {
    let bounded = |number| usize::try_from(number).unwrap_or(usize::MAX);
    let audit_log = values.path("audit-log");
    if audit_log.as_deref().is_some_and(|path| path == Path::new("-")) {
        return Err(BootError::new(
            "--audit-log must name a file: standard output belongs to the protocol, got: -",
        ));
    }
    Ok(Diagnostics {
        audit_log,
        audit_full: choices.audit_full,
        audit_sync: choices.audit_sync,
        otlp: super::otlp::resolve(values, env)?,
        trace_dir: values.path("trace-dir"),
        payloads: choices.payloads,
        trace_max_files: values.size("trace-max-files")?,
        trace_max_bytes: values.number("trace-max-bytes")?,
        debug_tool: values.switch("debug-tool"),
        ring_size: bounded(values.clamped("debug-ring-size", 10, 5000, "debug_ring_size_clamped")),
        max_response_bytes: bounded(values.clamped(
            "max-debug-response-bytes",
            4096,
            u64::from(u32::MAX),
            "max_debug_response_bytes_clamped",
        )),
    })
}

fn planner(values: &mut Values<'_>, aggregator: &Aggregator) -> Result<Planner, BootError> {
    let planner = Planner {
        enabled: values.switch("agentic"),
        model: values.word("agentic-model"),
        task_timeout: values.time("agentic-task-timeout-ms")?,
        planner_timeout: values.time("agentic-planner-timeout-ms")?,
        max_output_tokens: values.number("agentic-max-output-tokens")?,
        max_result_bytes: values.size("agentic-max-result-bytes")?,
        include_program: values.switch("agentic-include-program"),
        trace_prompts: values.switch("agentic-trace-prompts"),
        max_turns: values.positive("agentic-max-turns")?,
        retry_turns: values.text("agentic-retry-turns").and_then(|text| text.parse().ok()),
        turns_from: ["agentic-max-turns", "agentic-retry-turns"].map(|name| values.source(name)),
        allow_writes: values.switch("agentic-allow-writes"),
        subagent_config: values.path("agentic-subagent-config"),
        capability_summary: values.path("agentic-capability-summary"),
        capability_summary_max_bytes: values.size("agentic-capability-summary-max-bytes")?,
    };
    let invalid = |detail: &str| Err(BootError::new(format!("agentic configuration invalid: {detail}")));
    if planner.allow_writes && !planner.enabled {
        return invalid("--agentic-allow-writes requires --agentic.");
    }
    if planner.enabled && aggregator.config.is_some() && !aggregator.read_only && !planner.allow_writes {
        return invalid(
            "configured upstream access is not asserted read-only. Pass --aggregator-read-only if no upstream tool \
             changes anything, or --agentic-allow-writes to let tasks change things.",
        );
    }
    if planner.enabled && aggregator.snapshot_mode != SnapshotMode::Frozen {
        return Err(BootError::new(
            "--catalog-snapshot-mode must be frozen with --agentic: lisp_task tells its model of all tools from the \
             first task on",
        ));
    }
    if planner.enabled && aggregator.config.is_none() {
        let message = "--agentic needs configured upstreams; lisp_task is not offered".to_owned();
        values.warn("agentic_without_aggregator", message);
    }
    Ok(planner)
}

/// The folder of lists cached between two starts: `$XDG_CACHE_HOME/ptc`, else `$HOME/.cache/ptc`.
pub(crate) fn cache_folder(env: &ProcessEnv) -> Option<PathBuf> {
    let absolute = |name: &str| env.text(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(base.join("ptc"))
}
