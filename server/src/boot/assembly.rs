//! Assembles a server: its tools, its observers and the service that uses them.

use std::borrow::Cow;
use std::sync::Arc;

use ptc_host::aggregator::{Aggregator, CurrentUpstreams, View};
use ptc_host::catalog::{CatalogMode, CatalogText, describe, split_exposed_name};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, HostCalls};
use ptc_host::policy::CurrentPolicy;
use ptc_host::state::Secret;
use ptc_host::visible::visible;
use tracing::info;

use super::advertised::{Advertised, task_catalog};
use super::drafts::Drafts;
use super::otlp;
use super::programs::KeptPrograms;
use super::question_settings::People;
use super::task::task;
use ptc_observers::Telemetry;
use ptc_observers::audit::{AuditLog, Subject};
use ptc_observers::console::Console;
use ptc_observers::metrics::Metrics;
use ptc_observers::recent::Ring;
use ptc_observers::recording::Recording;
use ptc_observers::sources::Sources;
use ptc_observers::trace::{TraceOptions, Traces};
use ptc_protocol::concurrency_limiter::{CallLimits, ConcurrencyLimiter};
use ptc_protocol::exposed_features::ExposedFeatures;
use ptc_protocol::listeners::{ListenerLimits, Listeners};
use ptc_protocol::principal::Principal;
use ptc_protocol::request_state::{RequestStates, StateRules};
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::{self, BootError, Http, Settings};
use ptc_protocol::tool::{Registry, SourcePlace, Tool, ToolName};
use ptc_protocol::{AskingSettings, Introduces, Service, SessionNeed};
use ptc_runs::webhook::Webhook;
use ptc_runs::{Pages, ProgramSource, Runs, UpstreamPages};
use ptc_tools::CallablePrograms;
use ptc_tools::channels::{AskRules, Asks, Listener};
use ptc_tools::descriptions::{SharedCard, UpstreamCard, catalog_room, sentence_of};
use ptc_tools::exposed::ExposedTools;
use ptc_tools::extensions::{self, Extensions};
use ptc_tools::kept::{KeptDirectory, KeptRules, KeptTools};
use ptc_tools::lisp_debug::LispDebug;
use ptc_tools::lisp_eval::{ArgumentCaps, EvalOptions, Evaluator, LispEval};
use ptc_tools::lisp_task::SharedTaskCatalog;
use ptc_tools::sessions::{Directory, Keeping, system_clock};
use ptc_tools::shaping::Shaper;
use ptc_tools::{descriptions, run_tools, sessions, task_desk};

/// A server without its transport.
pub struct Assembly {
    /// Answers messages.
    pub service: Arc<Service>,
    /// The telemetry for operators.
    pub telemetry: Arc<Telemetry>,
    /// What is told of upstreams, if there are any.
    pub(super) advertised: Option<Advertised>,
    /// Runs of programs that outlive their requests, if they are enabled.
    pub(super) runs: Option<Arc<Runs>>,
    /// Kept programs, if any are served.
    pub(super) programs: Option<KeptPrograms>,
}

/// Assembles a server with these settings, without extensions.
///
/// # Errors
/// If a file of the operator cannot be used.
pub fn assemble(
    settings: &Settings,
    engine: &Engine,
    upstreams: Option<&Arc<Aggregator>>,
    redactor: &Redactor,
) -> Result<Assembly, BootError> {
    let extensions = Extensions::default();
    let policy = upstreams.and_then(|upstreams| upstreams.policy());
    let current = upstreams.cloned().map(CurrentUpstreams::new);
    assemble_with(
        settings,
        engine,
        (current.as_ref(), policy),
        None,
        redactor,
        ServerState::none(),
        &extensions,
    )
}

/// The same with a policy, with a store of persistent state, with the audit log for upstreams, and with extensions.
pub(super) fn assemble_with(
    settings: &Settings,
    engine: &Engine,
    (upstreams, policy): (Option<&Arc<CurrentUpstreams>>, Option<&Arc<CurrentPolicy>>),
    audit: Option<Arc<AuditLog>>,
    redactor: &Redactor,
    state: ServerState,
    extensions: &Extensions,
) -> Result<Assembly, BootError> {
    let asking = asking(settings, &state)?;
    let limiter = limiter(settings, engine);
    let people = people(settings, upstreams);
    let keeps = people.have_kept_programs;
    let run_settings = settings::Runs { keeps, ..settings.runs.clone() };
    let runs = (run_settings.long || keeps).then(|| {
        let (limits, ordinary) = (settings.state.limits, settings.limits.program.timeout);
        Runs::new(run_settings, ordinary, &state, limits, engine.clone(), limiter.clone(), redactor.clone())
    });
    if let (Some(runs), Some(policy)) = (&runs, policy) {
        runs.follow_policy(policy.clone());
    }
    let keeping = runs.clone();
    let pages = upstreams.map(|upstreams| Arc::new(UpstreamPages(upstreams.clone())) as Arc<dyn Pages>);
    if let (Some(runs), Some(pages)) = (&runs, &pages) {
        runs.look_at(pages.clone());
    }
    let asks =
        asking.as_ref().map(|asking| asks(settings, asking, &state, keeping, audit.as_ref(), pages.clone()));
    let programs = settings.programs.as_ref();
    let programs = programs.map(|programs| KeptPrograms::open(programs, engine, upstreams, &state));
    let kept = programs.as_ref().map(|programs| kept_directory(settings, programs, upstreams));
    let drafts = Drafts::open(settings, engine, &state)?;
    let options = EvalOptions {
        asks,
        runs: runs.clone(),
        recent: drafts.as_ref().map(|drafts| drafts.recent.clone()),
        tells_of_ask: people.are_asked,
        ..eval_options(settings, upstreams, kept.as_ref(), redactor)
    };
    let evaluator: Arc<dyn Evaluator> = Arc::new(engine.clone());
    let card = options.card.clone();
    let recording = Recording { policy: settings.diagnostics.payloads, redactor: redactor.clone() };
    let mut telemetry = telemetry(settings, engine, upstreams, &recording);
    if let (Some(runs), Some(audit)) = (&runs, &audit) {
        let told = audit.clone();
        runs.on_status(move |run| told.run(run));
    }
    telemetry.audit = audit;
    if let (Some(upstreams), Some(console)) = (upstreams, &telemetry.console) {
        upstreams.current().watch_calls(console.clone());
    }
    let lisp_eval = LispEval::new(evaluator.clone(), options.clone());
    let mut tools: Vec<Box<dyn Tool>> = Vec::new();
    if !settings.aggregator.expose_only {
        tools.push(Box::new(lisp_eval.clone()));
    }
    let mut planned = None;
    if let Some(upstreams) = upstreams.filter(|_| settings.planner.enabled) {
        let known = SharedTaskCatalog::new(task_catalog(settings, &upstreams.current(), kept.as_deref())?);
        tools.push(Box::new(task(settings, engine, upstreams, kept.as_ref(), &known, &options)?));
        planned = Some(known);
    }
    tools.extend(debug_tool(settings, &telemetry, &recording));
    if settings.sessions.enabled {
        let (engine, redactor) = (engine.clone(), redactor.clone());
        let keeping = state.shared_store().map(|store| Keeping { store, replica: state.replica.clone() });
        let directory = Directory::new(keeping, engine, settings.sessions.clone(), redactor, system_clock());
        directory.keep_swept();
        telemetry.sources.sessions = Some(directory.clone());
        tools.extend(sessions::tools(&directory, options.clone()));
    }
    tools.extend(run_tools(&options));
    tools.extend(extensions::tools(&extensions.tools, &evaluator, &options));
    let exposed_tools = exposed_tools(settings, upstreams, &evaluator, &options, &tools)?;
    if let (Some(drafts), Some(programs), Some(kept)) = (&drafts, &programs, &kept) {
        let check = Drafts::check(engine, &options, kept);
        telemetry.sources.drafts = Some(drafts.desk(&check, Arc::new(programs.clone())));
        let console = settings.http.as_ref().filter(|http| http.console).and_then(console_page);
        tools.push(Box::new(drafts.tool(settings, &options, &check, console)));
    }
    let kept_tools = kept.clone().map(|kept| {
        kept.reserve(tools.iter().map(|tool| tool.definition().name).collect());
        Arc::new(KeptTools::new(kept, evaluator.clone(), options.clone()))
    });
    if let Some(runs) = &runs {
        let prepares = extensions::prepares(&extensions.tools, &evaluator, &options);
        let mut sources: Vec<Arc<dyn ProgramSource>> = vec![prepares, Arc::new(lisp_eval)];
        sources.extend(exposed_tools.clone().map(|exposed| exposed as Arc<dyn ProgramSource>));
        sources.extend(kept_tools.clone().map(|kept| kept as Arc<dyn ProgramSource>));
        runs.resume_from(Arc::new(sources));
    }
    let tasks = task_desk(&options);
    telemetry.sources.webhook = webhook(settings, engine, &state, runs.as_ref())?;
    telemetry.sources.runs = runs.clone();
    telemetry.sources.state = Some(state);
    telemetry.metrics = metrics(settings, &tools, upstreams);
    let mut service = service(
        settings,
        limiter,
        registry(settings, tools, kept_tools, exposed_tools),
        card.as_ref().map(|card| card.get(None).servers).as_deref(),
    );
    service.policy = policy.cloned();
    service.profile = settings.upstream_profile.clone();
    service.introduces = policy.and(upstreams).map(|upstreams| introduces(settings, upstreams));
    service.exposed = upstreams.and_then(|upstreams| exposed(settings, upstreams));
    if let Some(exposed) = &service.exposed {
        exposed.follow(|_| true);
    }
    service.upstreams_say = upstreams.map(|_| redactor.clone());
    service.client_roots = upstreams.and_then(|upstreams| upstreams.current().client_roots().cloned());
    service.asking = asking;
    service.prompts = Registry::new(extensions::tools(&extensions.prompts, &evaluator, &options));
    service.tasks = tasks;
    otlp::start(settings, redactor, &mut telemetry, &mut service)?;
    service.observers = telemetry.observers(&recording);
    let advertised = upstreams
        .zip(card)
        .map(|(upstreams, card)| Advertised::new(settings, upstreams, kept, card, planned));
    Ok(Assembly { service: Arc::new(service), telemetry: Arc::new(telemetry), advertised, runs, programs })
}

/// Builds the elicitation settings; `None` if questions are off.
///
/// A state is used once according to the store. So the operator's secret seals states if there is a store; otherwise
/// only this process can open them.
fn asking(settings: &Settings, state: &ServerState) -> Result<Option<AskingSettings>, BootError> {
    let questions = &settings.questions;
    if !questions.are_on() {
        return Ok(None);
    }
    let secret = match (&state.secret, &state.store) {
        (Some(secret), Some(_)) => secret.clone(),
        (secret, _) => {
            let what = if secret.is_none() { "secret" } else { "store" };
            info!(event = "request_state", note = %format!("requestState ends with this process: no {what} is configured"));
            Secret::random().map_err(|error| BootError::new(error.to_string()))?
        }
    };
    let rules = StateRules { ttl: questions.state_ttl, max_bytes: questions.max_state_bytes };
    let states = RequestStates::new(&secret, audience(settings), rules);
    Ok(Some(AskingSettings { states, open: questions.open, page: questions.page }))
}

/// The URI of the server for clients, the same for all of its replicas.
fn audience(settings: &Settings) -> String {
    match &settings.http {
        None => "stdio".to_owned(),
        Some(http) => match &http.public_url {
            Some(url) => url.as_str().to_owned(),
            None => http.path.clone(),
        },
    }
}

/// Which questions to people are enabled, with these upstreams.
fn people(settings: &Settings, upstreams: Option<&Arc<CurrentUpstreams>>) -> People {
    let upstreams = upstreams.map(|upstreams| upstreams.current());
    let upstreams = upstreams.iter().flat_map(|upstreams| upstreams.unfiltered().upstreams());
    People::of(settings, upstreams.map(|(config, _)| config))
}

fn asks(
    settings: &Settings,
    asking: &AskingSettings,
    state: &ServerState,
    runs: Option<Arc<Runs>>,
    audit: Option<&Arc<AuditLog>>,
    pages: Option<Arc<dyn Pages>>,
) -> Asks {
    let questions = &settings.questions;
    let console = settings.http.as_ref().filter(|http| http.console);
    let rules = AskRules {
        open: questions.open,
        page: questions.page,
        questions: questions.per_program,
        console: console.and_then(console_page),
        out_of_band: console.is_some() || questions.webhook.is_some(),
    };
    let listener = audit.cloned().map(|audit| -> Listener {
        Arc::new(move |principal: &Principal, (eval, run_id), asker| {
            audit.clone().over(Subject { principal: principal.shared_name(), eval, run_id }, asker)
        })
    });
    Asks::new(asking.states.clone(), state.shared_store(), rules, listener, runs, pages)
}

/// The URL of the console for people's browsers.
fn console_page(http: &Http) -> Option<Arc<str>> {
    Some(format!("{}/console", http.origin()?).into())
}

/// The webhook of approvals. From now on it is notified of each run that begins to wait.
fn webhook(
    settings: &Settings,
    engine: &Engine,
    state: &ServerState,
    runs: Option<&Arc<Runs>>,
) -> Result<Option<Arc<Webhook>>, BootError> {
    let origin = settings.http.as_ref().and_then(Http::origin);
    let (Some(wanted), Some(origin), Some(runs)) = (&settings.questions.webhook, origin, runs) else {
        return Ok(None);
    };
    let client = super::upstreams::client(settings)?;
    let webhook = Webhook::new(wanted, &origin, client, engine.clone(), state.shared_store());
    let webhook = webhook
        .map_err(|error| BootError::new(format!("--approval-webhook-url cannot be requested: {error}")))?;
    let webhook = Arc::new(webhook);
    let told = webhook.clone();
    runs.on_waiting(move |run| told.tell(run));
    Ok(Some(webhook))
}

/// The features of the upstreams that clients may use besides tools, if any.
fn exposed(settings: &Settings, upstreams: &Arc<CurrentUpstreams>) -> Option<Arc<ExposedFeatures>> {
    let wanted = &settings.aggregator;
    let (resources, prompts) = (wanted.expose_resources, wanted.expose_prompts);
    let exposed = || ExposedFeatures::new(upstreams.clone(), wanted.limits, resources, prompts);
    (resources || prompts).then(|| Arc::new(exposed()))
}

/// The upstreams that a view shows, for a sentence.
fn server_names(view: &View<'_>) -> String {
    let names = sentence_of(view.upstreams().map(|(config, _)| config.name.as_str()));
    visible(&names).into_owned()
}

/// What a description says of tools that the client has beside the one described, before those that it has not.
const EXPOSED: &str = "Your tools SERVER__TOOL are tools of SERVER here, with the same arguments.\n";

/// The facts about upstreams in descriptions.
pub(super) fn upstream_card(
    settings: &Settings,
    upstreams: &View<'_>,
    kept: Option<&KeptDirectory>,
) -> UpstreamCard {
    let max_calls = settings.aggregator.limits.max_calls;
    let servers = server_names(upstreams);
    let People { are_asked, .. } = People::of(settings, upstreams.upstreams().map(|(config, _)| config));
    let timeout = settings.limits.program.timeout;
    let room = catalog_room(settings.profile, &servers, max_calls, timeout, are_asked);
    let mode = settings.aggregator.catalog_mode;
    let all = upstreams.advertised();
    let exposes = settings.aggregator.expose_tools.is_some();
    let others = if exposes { all.without_exposed() } else { all.clone() };
    // What the client has as tools is not described again.
    let (all, note) = if others.is(&all) { (all, "") } else { (others, EXPOSED) };
    let room = room.saturating_sub(note.chars().count());
    let programs = kept.map(|kept| kept.described(Some(upstreams))).unwrap_or_default();
    let CatalogText { short, whole } = match (all.servers().len(), programs.len()) {
        (0, 0) => CatalogText::default(),
        _ => describe(&all, &programs, mode, settings.aggregator.catalog_bytes, room),
    };
    let noted = |text: String| if note.is_empty() { text } else { format!("{note}{text}") };
    let (short, whole) = (noted(short), whole.map(noted));
    UpstreamCard {
        servers,
        catalog: visible(&short).into_owned(),
        whole: whole.map(|whole| visible(&whole).into_owned()),
        max_calls,
    }
}

fn eval_options(
    settings: &Settings,
    upstreams: Option<&Arc<CurrentUpstreams>>,
    kept: Option<&Arc<KeptDirectory>>,
    redactor: &Redactor,
) -> EvalOptions {
    let limits = &settings.limits;
    let card = |upstreams: &Arc<CurrentUpstreams>| {
        let now = upstreams.current();
        let card = SharedCard::new(upstream_card(settings, &now.unfiltered(), kept.map(|kept| &**kept)));
        if now.policy().is_none() && kept.is_none() {
            return card;
        }
        let is_made_anew = kept.is_some();
        let (settings, upstreams, kept) = (settings.clone(), Arc::downgrade(upstreams), kept.cloned());
        let card = card.by_caller(move |authority| match upstreams.upgrade() {
            Some(upstreams) => {
                upstream_card(&settings, &upstreams.current().view(authority), kept.as_deref())
            }
            None => UpstreamCard::default(),
        });
        if is_made_anew { card.made_anew() } else { card }
    };
    EvalOptions {
        limits: limits.program,
        caps: ArgumentCaps {
            max_program_bytes: limits.program.program_bytes,
            max_context_bytes: limits.max_context_bytes,
        },
        shaper: Shaper::new(settings.profile, limits.max_result_bytes),
        max_attached_bytes: settings.aggregator.limits.max_binary_bytes,
        fits_client: limits.fits_client,
        upstreams: upstreams.map(|upstreams| upstreams.clone() as Arc<dyn HostCalls>),
        card: upstreams.map(card),
        programs: kept.map(|kept| kept.clone() as Arc<dyn CallablePrograms>),
        read_only: settings.aggregator.read_only,
        redactor: redactor.clone(),
        asks: None,
        tells_of_ask: false,
        reports: settings.diagnostics.debug_tool
            || exports_metrics(settings)
            || settings.diagnostics.trace_dir.is_some()
            || settings.http.as_ref().is_some_and(|http| http.metrics || http.console),
        runs: None,
        recent: None,
    }
}

/// The observers that the settings enable. Metrics are added when the tools are known, sessions when they are
/// enabled.
fn telemetry(
    settings: &Settings,
    engine: &Engine,
    upstreams: Option<&Arc<CurrentUpstreams>>,
    recording: &Recording,
) -> Telemetry {
    let diagnostics = &settings.diagnostics;
    let traces = diagnostics.trace_dir.as_ref().map(|folder| {
        Traces::start(TraceOptions {
            folder: folder.clone(),
            max_files: diagnostics.trace_max_files,
            max_bytes: diagnostics.trace_max_bytes,
            memory: engine.memory().cloned(),
            recording: recording.for_log(),
            aggregator: upstreams.is_some(),
        })
    });
    let console = settings.http.as_ref().is_some_and(|http| http.console);
    Telemetry {
        recent: (diagnostics.debug_tool || console).then(|| Ring::new(diagnostics.ring_size)),
        console: console.then(|| Arc::new(Console::new(recording.clone()))),
        traces,
        sources: Sources {
            upstreams: upstreams.cloned(),
            engine: Some(engine.clone()),
            shows_owners: settings.http.as_ref().is_some_and(|http| http.metrics_owners),
            ..Sources::default()
        },
        ..Telemetry::default()
    }
}

/// `lisp_debug`, if it is enabled.
fn debug_tool(settings: &Settings, telemetry: &Telemetry, recording: &Recording) -> Option<Box<dyn Tool>> {
    let diagnostics = &settings.diagnostics;
    let ring = telemetry.recent.as_ref().filter(|_| diagnostics.debug_tool)?;
    let (size, max_bytes) = (diagnostics.ring_size, diagnostics.max_response_bytes);
    info!(event = "debug_config", ring_size = size, max_response_bytes = max_bytes);
    let traces = telemetry.traces.clone();
    Some(Box::new(LispDebug::new(ring.clone(), recording.clone(), max_bytes, traces)))
}

/// Whether a collector gets metrics.
fn exports_metrics(settings: &Settings) -> bool {
    settings.diagnostics.otlp.as_ref().is_some_and(|otlp| otlp.metrics.is_some())
}

/// Figures of these tools and upstreams, if they are served.
fn metrics(
    settings: &Settings,
    tools: &[Box<dyn Tool>],
    upstreams: Option<&Arc<CurrentUpstreams>>,
) -> Option<Arc<Metrics>> {
    if !exports_metrics(settings) && !settings.http.as_ref().is_some_and(|http| http.metrics) {
        return None;
    }
    let observed =
        tools.iter().filter(|tool| tool.is_observed()).map(|tool| Cow::from(&tool.definition().name));
    let upstreams = upstreams.map(|upstreams| upstreams.current());
    let servers = upstreams.iter().flat_map(|upstreams| upstreams.unfiltered().upstreams());
    Some(Arc::new(Metrics::new(observed, servers.map(|(config, _)| config.name.clone()))))
}

/// The upstreams' tools that clients have as tools, if any. `tools`: those of the server.
///
/// # Errors
/// One of the server has a name that a tool of an upstream would have.
fn exposed_tools(
    settings: &Settings,
    upstreams: Option<&Arc<CurrentUpstreams>>,
    evaluator: &Arc<dyn Evaluator>,
    options: &EvalOptions,
    tools: &[Box<dyn Tool>],
) -> Result<Option<Arc<ExposedTools>>, BootError> {
    let (Some(exposure), Some(upstreams)) = (&settings.aggregator.expose_tools, upstreams) else {
        return Ok(None);
    };
    let own_names: Vec<ToolName> = tools.iter().map(|tool| tool.definition().name).collect();
    let current = upstreams.current();
    for name in &own_names {
        let Some((server, tool)) =
            split_exposed_name(name).filter(|(server, tool)| exposure.exposes(server, tool))
        else {
            continue;
        };
        if current.unfiltered().upstreams().any(|(config, _)| config.name == server) {
            return Err(BootError::new(format!(
                "--expose: tool {tool:?} of upstream {server:?} would have the name of the server's own tool {name}: rename the upstream"
            )));
        }
    }
    let max_arguments = settings.aggregator.limits.max_request_bytes;
    let (upstreams, evaluator, options) = (upstreams.clone(), evaluator.clone(), options.clone());
    let exposed =
        ExposedTools::new(upstreams, exposure.clone(), evaluator, options, max_arguments, own_names);
    Ok(Some(Arc::new(exposed)))
}

/// The kept programs and whom they are served to.
fn kept_directory(
    settings: &Settings,
    programs: &KeptPrograms,
    upstreams: Option<&Arc<CurrentUpstreams>>,
) -> Arc<KeptDirectory> {
    let aggregator = &settings.aggregator;
    let rules = KeptRules {
        serves_stale: settings.programs.as_ref().is_some_and(|programs| programs.serves_stale),
        exposure: aggregator.expose_tools.clone(),
        catalog: (aggregator.catalog_mode, aggregator.catalog_bytes),
    };
    KeptDirectory::new(programs.current().clone(), upstreams.cloned(), rules)
}

/// The tools. The names of session tools are known even if sessions are off.
fn registry(
    settings: &Settings,
    tools: Vec<Box<dyn Tool>>,
    kept: Option<Arc<KeptTools>>,
    exposed: Option<Arc<ExposedTools>>,
) -> Registry {
    let mut registry = Registry::new(tools);
    if let Some(kept) = kept {
        registry = registry.with_source(SourcePlace::First, kept);
    }
    if let Some(exposed) = exposed {
        registry = registry.with_source(SourcePlace::Last, exposed);
    }
    if settings.sessions.enabled {
        return registry;
    }
    registry.refusing(&sessions::NAMES, &sessions::disabled())
}

/// The limit on calls in progress.
fn limiter(settings: &Settings, engine: &Engine) -> Arc<ConcurrencyLimiter> {
    let limits = &settings.limits;
    let calls =
        CallLimits { all: limits.max_concurrent_calls, per_owner: limits.max_concurrent_calls_per_owner };
    match engine.memory() {
        Some(memory) => ConcurrencyLimiter::within(calls, memory.clone()),
        None => ConcurrencyLimiter::new(calls),
    }
}

/// Makes the instructions of a caller, whom the policy may not show all upstreams.
fn introduces(settings: &Settings, upstreams: &Arc<CurrentUpstreams>) -> Introduces {
    let (upstreams, entry) = (Arc::downgrade(upstreams), EntryTools::of(settings));
    Box::new(move |authority| {
        let upstreams = upstreams.upgrade().map(|upstreams| upstreams.current());
        let servers = upstreams.map(|upstreams| server_names(&upstreams.view(Some(authority))));
        entry.instructions(servers.as_deref())
    })
}

/// The tools that a client begins with.
#[derive(Clone, Copy)]
pub(super) enum EntryTools {
    /// `lisp_eval`, and perhaps sessions.
    OwnPrograms { sessions: bool },
    /// Those that others wrote: of upstreams, and kept programs.
    Offered { exposed: bool, programs: bool },
}

impl EntryTools {
    /// Those of a server with these settings.
    pub(super) fn of(settings: &Settings) -> EntryTools {
        let aggregator = &settings.aggregator;
        match aggregator.expose_only {
            false => EntryTools::OwnPrograms { sessions: settings.sessions.enabled },
            true => EntryTools::Offered {
                exposed: aggregator.expose_tools.is_some(),
                programs: settings.programs.is_some(),
            },
        }
    }

    /// `instructions` of a server that reaches these upstreams.
    pub(super) fn instructions(self, servers: Option<&str>) -> String {
        match self {
            EntryTools::OwnPrograms { sessions } => descriptions::instructions(servers, sessions),
            EntryTools::Offered { exposed, programs } => {
                descriptions::offered_instructions(servers.filter(|_| exposed), programs)
            }
        }
    }
}

fn service(
    settings: &Settings,
    limiter: Arc<ConcurrencyLimiter>,
    tools: Registry,
    servers: Option<&str>,
) -> Service {
    let limits = &settings.limits;
    let mut service = Service::new(tools, limiter.limits());
    service.limiter = limiter;
    if let Some(http) = &settings.http {
        let (all, per_owner) = (http.max_listeners, http.max_listeners_per_owner);
        service.listeners = Listeners::new(ListenerLimits { all, per_owner });
    }
    let aggregator = &settings.aggregator;
    service.set_instructions(EntryTools::of(settings).instructions(servers));
    // A catalog that may be long is put where the client passes it on.
    let is_long = servers.is_some() && settings.aggregator.catalog_mode == CatalogMode::Auto;
    let has_habits = limits.fits_client || is_long || aggregator.expose_tools.is_some();
    service.session_need = match (settings.sessions.enabled, has_habits) {
        (true, _) => SessionNeed::State,
        (false, true) => SessionNeed::Habits,
        (false, false) => SessionNeed::None,
    };
    service
}
