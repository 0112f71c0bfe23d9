//! Assembles a server: its tools, its observers and the service that uses them.

use std::sync::Arc;

use ptc_host::aggregator::{Aggregator, CurrentUpstreams, View};
use ptc_host::catalog::{CatalogMode, CatalogText, describe};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, HostCalls};
use ptc_host::policy::CurrentPolicy;
use ptc_host::state::Secret;
use ptc_host::visible::visible;
use tracing::info;

use super::advertised::{Advertised, task_catalog};
use super::otlp;
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
use ptc_protocol::tool::{Registry, Tool};
use ptc_protocol::{AskingSettings, Introduces, Service, SessionNeed};
use ptc_runs::webhook::Webhook;
use ptc_runs::{Pages, ProgramSource, Runs, UpstreamPages};
use ptc_tools::channels::{AskRules, Asks, Listener};
use ptc_tools::descriptions::{SharedCard, UpstreamCard, catalog_room, sentence_of};
use ptc_tools::extensions::{self, Extensions};
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
    let kept = settings::Runs { keeps, ..settings.runs.clone() };
    let runs = (kept.long || keeps).then(|| {
        let (limits, ordinary) = (settings.state.limits, settings.limits.program.timeout);
        Runs::new(kept, ordinary, &state, limits, engine.clone(), limiter.clone(), redactor.clone())
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
    let options = EvalOptions {
        asks,
        runs: runs.clone(),
        tells_of_ask: people.are_asked,
        ..eval_options(settings, upstreams, redactor)
    };
    let evaluator: Arc<dyn Evaluator> = Arc::new(engine.clone());
    if let Some(runs) = &runs {
        let prepares: Arc<dyn ProgramSource> = Arc::new(LispEval::new(evaluator.clone(), options.clone()));
        runs.resume_from(extensions::prepares(&extensions.tools, prepares, &evaluator, &options));
    }
    let card = options.card.clone();
    let recording = Recording { policy: settings.diagnostics.payloads, redactor: redactor.clone() };
    let mut telemetry = telemetry(settings, engine, upstreams, &recording);
    if let (Some(runs), Some(audit)) = (&runs, &audit) {
        let told = audit.clone();
        runs.on_status(move |run| told.run(run));
    }
    telemetry.audit = audit;
    let mut tools: Vec<Box<dyn Tool>> = vec![Box::new(LispEval::new(evaluator.clone(), options.clone()))];
    let mut planned = None;
    if let Some(upstreams) = upstreams.filter(|_| settings.planner.enabled) {
        let known = SharedTaskCatalog::new(task_catalog(settings, &upstreams.current())?);
        tools.push(Box::new(task(settings, engine, upstreams, &known, &options)?));
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
    let tasks = task_desk(&options);
    telemetry.sources.webhook = webhook(settings, engine, &state, runs.as_ref())?;
    telemetry.sources.runs = runs.clone();
    telemetry.sources.state = Some(state);
    telemetry.metrics = metrics(settings, &tools, upstreams);
    let mut service = service(
        settings,
        limiter,
        registry(settings, tools),
        card.as_ref().map(|card| card.get(None).servers),
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
    let advertised =
        upstreams.zip(card).map(|(upstreams, card)| Advertised::new(settings, upstreams, card, planned));
    Ok(Assembly { service: Arc::new(service), telemetry: Arc::new(telemetry), advertised, runs })
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

/// The facts about upstreams in descriptions.
pub(super) fn upstream_card(settings: &Settings, upstreams: &View<'_>) -> UpstreamCard {
    let max_calls = settings.aggregator.limits.max_calls;
    let servers = server_names(upstreams);
    let People { are_asked, .. } = People::of(settings, upstreams.upstreams().map(|(config, _)| config));
    let timeout = settings.limits.program.timeout;
    let room = catalog_room(settings.profile, &servers, max_calls, timeout, are_asked);
    let mode = settings.aggregator.catalog_mode;
    let CatalogText { short, whole } =
        describe(&upstreams.advertised(), mode, settings.aggregator.catalog_bytes, room);
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
    redactor: &Redactor,
) -> EvalOptions {
    let limits = &settings.limits;
    let card = |upstreams: &Arc<CurrentUpstreams>| {
        let now = upstreams.current();
        let card = SharedCard::new(upstream_card(settings, &now.unfiltered()));
        if now.policy().is_none() {
            return card;
        }
        let (settings, upstreams) = (settings.clone(), Arc::downgrade(upstreams));
        card.by_caller(move |authority| match upstreams.upgrade() {
            Some(upstreams) => upstream_card(&settings, &upstreams.current().view(Some(authority))),
            None => UpstreamCard::default(),
        })
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
        read_only: settings.aggregator.read_only,
        redactor: redactor.clone(),
        asks: None,
        tells_of_ask: false,
        reports: settings.diagnostics.debug_tool
            || exports_metrics(settings)
            || settings.diagnostics.trace_dir.is_some()
            || settings.http.as_ref().is_some_and(|http| http.metrics || http.console),
        runs: None,
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
    let observed = tools.iter().filter(|tool| tool.is_observed()).map(|tool| tool.definition().name);
    let upstreams = upstreams.map(|upstreams| upstreams.current());
    let servers = upstreams.iter().flat_map(|upstreams| upstreams.unfiltered().upstreams());
    Some(Arc::new(Metrics::new(observed, servers.map(|(config, _)| config.name.clone()))))
}

/// The tools. The names of session tools are known even if sessions are off.
fn registry(settings: &Settings, tools: Vec<Box<dyn Tool>>) -> Registry {
    let registry = Registry::new(tools);
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
    let (upstreams, sessions) = (Arc::downgrade(upstreams), settings.sessions.enabled);
    Box::new(move |authority| {
        let upstreams = upstreams.upgrade().map(|upstreams| upstreams.current());
        let servers = upstreams.map(|upstreams| server_names(&upstreams.view(Some(authority))));
        descriptions::instructions(servers.as_deref(), sessions)
    })
}

fn service(
    settings: &Settings,
    limiter: Arc<ConcurrencyLimiter>,
    tools: Registry,
    servers: Option<String>,
) -> Service {
    let limits = &settings.limits;
    let mut service = Service::new(tools, limiter.limits());
    service.limiter = limiter;
    if let Some(http) = &settings.http {
        let (all, per_owner) = (http.max_listeners, http.max_listeners_per_owner);
        service.listeners = Listeners::new(ListenerLimits { all, per_owner });
    }
    service.set_instructions(descriptions::instructions(servers.as_deref(), settings.sessions.enabled));
    // A catalog that may be long is put where the client passes it on.
    let is_long = servers.is_some() && settings.aggregator.catalog_mode == CatalogMode::Auto;
    service.session_need = match (settings.sessions.enabled, limits.fits_client || is_long) {
        (true, _) => SessionNeed::State,
        (false, true) => SessionNeed::Habits,
        (false, false) => SessionNeed::None,
    };
    service
}
