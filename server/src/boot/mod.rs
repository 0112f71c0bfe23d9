//! Builds a server from its settings and runs it.

mod advertised;
mod assembly;
mod descriptors;
mod drafts;
mod files;
mod issuers;
mod list_updates;
mod otlp;
mod policy;
mod process;
mod programs;
mod question_settings;
mod reload;
mod slow_starts;
mod state;
mod task;
mod upstreams;

#[cfg(test)]
mod extension_tests;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, io};

use ptc_host::aggregator::CurrentUpstreams;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, MemoryBudget};
use ptc_host::issuers::{Issuers, TokenVerifier};
use ptc_host::policy::CurrentPolicy;
use tokio::signal::unix::Signal;
use tracing::{debug, info, warn};

use crate::control::listener::{Control, ControlSocket};
use crate::options::SettingsSource;
use crate::options::sign_in_store::{KeyPlace, StorePlace};
use process::{hangups, ignore_signals, stop_signal, survive_file_limits};
use ptc_observers::Telemetry;
use ptc_observers::audit::AuditLog;
use ptc_observers::log::CurrentLevel;
use ptc_protocol::Service;
use ptc_protocol::server_state::ServerState;
use ptc_protocol::settings::{BootError, Http, Settings};
use ptc_tools::MAX_WAIT;
use ptc_tools::extensions::Extensions;
use ptc_transport::health::HealthListener;
use ptc_transport::http::{BoundListener, HttpServer, Listening};
use ptc_transport::readiness::Readiness;
use ptc_transport::stdio::{StdioOptions, run_stdio, standard_streams};
use question_settings::People;
use reload::{Reloaded, Reloader, warn_of_guessable};
use slow_starts::Starting;
use upstreams::{UpstreamOpener, load_upstreams};

use assembly::assemble_with;
pub use assembly::{Assembly, assemble};
pub use files::check;

/// Time of a call beyond its program's own: compilation, and a second for everything else.
const CALL_OVERHEAD: Duration = Duration::from_secs(6);

/// How long writing the last traces may take.
const FLUSH_GRACE: Duration = Duration::from_secs(2);

/// Where a server comes from, so that a reload can read its settings again.
pub struct Origin {
    /// The settings.
    pub source: SettingsSource,
    /// The level of the log.
    pub log: CurrentLevel,
}

/// Serves on the transport that the settings name, until it ends.
///
/// # Errors
/// If the server cannot be started.
pub fn serve(
    settings: Settings,
    origin: Origin,
    redactor: Redactor,
    extensions: Extensions,
) -> Result<(), BootError> {
    let source = origin.source.clone();
    start(settings, origin, redactor, extensions).map_err(|fault| source.placed(fault))
}

fn start(
    settings: Settings,
    origin: Origin,
    redactor: Redactor,
    extensions: Extensions,
) -> Result<(), BootError> {
    if let Some(folder) = &settings.diagnostics.trace_dir {
        let unusable = |error| {
            BootError::new(format!(
                "--trace-dir {}: {error}; name a folder that can be written to",
                folder.display()
            ))
        };
        can_write(folder).map_err(unusable)?;
    }
    let limits = &settings.limits;
    let memory = MemoryBudget::shared(limits.max_total_memory_bytes, limits.max_total_memory_bytes_per_owner);
    let cache_bytes = limits.program_cache_bytes;
    let engine = Engine::start(EngineOptions { threads: 0, memory: Some(memory), cache_bytes })
        .map_err(|error| BootError::new(error.to_string()))?;
    let (done, ended) = mpsc::channel();
    // On a worker's thread, so that a short program starts and ends without a thread switch.
    let on_worker = engine.clone();
    engine.spawn_on(0, move || async move {
        let outcome = run(&settings, origin, &redactor, &on_worker, &extensions).await;
        // The receiver waits for exactly this.
        let _ = done.send(outcome);
    });
    ended.recv().unwrap_or_else(|_| Err(BootError::new("the server's thread ended unexpectedly")))
}

/// Creates a folder, and checks that files can be created in it.
fn can_write(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    let probe = folder.join(format!(".ptc-{}", std::process::id()));
    fs::File::create(&probe)?;
    fs::remove_file(&probe)
}

/// Starts the upstreams, serves, and stops the upstreams again. Slow upstreams do not delay the server: programs wait
/// for those that they call (ruling 59).
async fn run(
    settings: &Settings,
    origin: Origin,
    redactor: &Redactor,
    engine: &Engine,
    extensions: &Extensions,
) -> Result<(), BootError> {
    survive_file_limits();
    ignore_signals();
    let hangups = hangups(settings.http.is_some());
    // Probes are answered during the start.
    let health = settings.health.as_ref().map(HealthListener::start).transpose()?;
    let http = settings.http.as_ref();
    reload::register(redactor, http.into_iter().flat_map(|http| &http.tokens))?;
    warn_of_guessable(http.into_iter().flat_map(|http| &http.tokens));
    // A bind error is reported before any upstream starts, and early clients wait instead of being refused.
    let bound = http.map(BoundListener::open).transpose()?;
    let config = load_upstreams(settings)?;
    let read = policy::read_policy(settings, config.as_ref())?;
    let (policy, of_policy) =
        read.map(|read| (Arc::new(CurrentPolicy::new(read.policy)), read.digest)).unzip();
    let issuers =
        http.map(|http| issuers::open(http, settings, policy.as_deref(), redactor)).transpose()?.flatten();
    let people = People::of(settings, config.iter().flat_map(|config| &config.upstreams));
    let state = state::open(settings, engine, people).await?;
    let diagnostics = &settings.diagnostics;
    let audit = diagnostics.audit_log.as_deref();
    // Clients start servers of their own, which share their settings.
    let open = if http.is_some() { AuditLog::open } else { AuditLog::open_beside_others };
    let audit = audit.map(|path| open(path, diagnostics.audit_full, diagnostics.audit_sync));
    let audit = audit.transpose()?.map(Arc::new);
    let opener =
        UpstreamOpener::new(settings, policy.as_ref(), redactor, engine.memory(), &state, audit.clone())?;
    let first = config.map(|config| opener.open(config, None)).transpose()?;
    if let Some(roots) = first.as_ref().and_then(|upstreams| upstreams.client_roots()) {
        match http {
            None => roots.expect(),
            Some(_) => warn!(
                event = "upstream_roots_of_client",
                "over HTTP no client has roots: list them in the entry"
            ),
        }
    }
    let starting = Starting::begin(first.as_ref(), settings).await?;
    let upstreams = first.map(CurrentUpstreams::new);
    let Assembly { service, telemetry, advertised, runs, programs } = assemble_with(
        settings,
        engine,
        (upstreams.as_ref(), policy.as_ref()),
        audit,
        redactor,
        state,
        extensions,
    )?;
    if upstreams.is_some() || programs.is_some() {
        // A reload may bring others.
        service.begin_following();
    }
    if let Some(programs) = &programs {
        programs.begin(&service).await;
    }
    list_updates::follow(upstreams.as_ref(), &service, settings, advertised.as_ref());
    if starting.is_some() {
        service.begin_starting();
    }
    let reloaded = Reloaded {
        source: origin.source,
        redactor: redactor.clone(),
        log: origin.log,
        policy: policy.zip(of_policy),
        upstreams: upstreams.clone().map(|upstreams| (upstreams, opener)),
        advertised: advertised.clone(),
        programs,
        audit: telemetry.audit.clone(),
        callers: None,
        certificate: None,
        telemetry: Arc::downgrade(&telemetry),
        service: Arc::downgrade(&service),
    };
    let door = http.zip(bound).map(|(http, bound)| Door { http, bound, issuers, hangups });
    let served = {
        let serving = serve_on(settings, door, reloaded, &service, &telemetry, engine, health.as_ref());
        let mut serving = std::pin::pin!(serving);
        match starting {
            None => serving.await,
            Some(starting) => tokio::select! {
                served = &mut serving => served,
                failure = starting.finish(&service, advertised.as_ref()) => match failure {
                    Some(failure) => Err(failure),
                    None => serving.await,
                },
            },
        }
    };
    if let Some(runs) = runs {
        // The client of a pipe has left.
        let grace = http.map_or(Duration::ZERO, |http| http.shutdown_grace);
        runs.shut_down(grace.saturating_sub(service.draining_for())).await;
    }
    if let Some(upstreams) = upstreams {
        upstreams.shutdown().await;
    }
    telemetry.close(FLUSH_GRACE);
    served
}

/// A bound listener, and who issues the access tokens of its callers.
struct Door<'s> {
    http: &'s Http,
    bound: BoundListener,
    issuers: Option<Arc<Issuers>>,
    /// At which its files are read again.
    hangups: Option<Signal>,
}

/// Serves on the transport that the settings name.
async fn serve_on(
    settings: &Settings,
    door: Option<Door<'_>>,
    reloaded: Reloaded,
    service: &Arc<Service>,
    telemetry: &Arc<Telemetry>,
    engine: &Engine,
    health: Option<&HealthListener>,
) -> Result<(), BootError> {
    let Some(door) = door else {
        otlp::export_metrics(telemetry, service);
        let options = StdioOptions { max_frame_bytes: settings.limits.max_frame_bytes };
        let (reader, writer) = standard_streams();
        if let Some(health) = health {
            let (service, telemetry) = (service.clone(), telemetry.clone());
            health.follow(move || match service.is_draining() {
                true => Readiness::Draining,
                false if service.is_starting() => Readiness::Starting,
                false if telemetry.sources.state.as_ref().is_some_and(ServerState::is_lost) => {
                    Readiness::StateUnavailable
                }
                false if telemetry.is_audit_lost() => Readiness::AuditUnavailable,
                false => Readiness::Ready,
            });
        }
        let _control = control(settings, &Reloader::new(settings, reloaded)?);
        run_stdio(service.clone(), options, reader, writer, stop_signal(false)).await;
        return Ok(());
    };
    serve_http(door, reloaded, settings, service.clone(), telemetry.clone(), engine, health).await
}

async fn serve_http(
    Door { http, bound, issuers, hangups }: Door<'_>,
    reloaded: Reloaded,
    settings: &Settings,
    service: Arc<Service>,
    telemetry: Arc<Telemetry>,
    engine: &Engine,
    health: Option<&HealthListener>,
) -> Result<(), BootError> {
    let upstreams = telemetry.sources.upstreams.clone();
    let listening = Listening {
        call_budget: longest_call(settings) + CALL_OVERHEAD,
        memory: engine
            .memory()
            .cloned()
            .unwrap_or_else(|| MemoryBudget::new(settings.limits.max_total_memory_bytes)),
        telemetry,
        upstreams,
        login: issuers.as_ref().and_then(|issuers| issuers.login()),
        verifier: issuers.map(|issuers| issuers as Arc<dyn TokenVerifier>),
    };
    descriptors::make_room_for(http.max_connections);
    let observing = listening.telemetry.clone();
    let server = HttpServer::new(http, bound, listening, service, engine.clone());
    otlp::export_http_metrics(&observing, &server);
    let (callers, certificate) = (Some(server.callers()), server.certificate());
    let reloader = Reloader::new(settings, Reloaded { callers, certificate, ..reloaded })?;
    reloader.follow(hangups);
    let _control = control(settings, &reloader);
    if let Some(health) = health {
        health.follow(server.readiness());
    }
    server
        .run(|| stop_signal(true))
        .await
        .map_err(|error| BootError::new(format!("cannot serve HTTP: {error}")))
}

/// Serves the commands of this user's until the result is dropped. A server without a control socket does everything else.
fn control(settings: &Settings, reloader: &Arc<Reloader>) -> Option<Control> {
    let place = StorePlace::of(&settings.env, settings.state.dir.clone(), KeyPlace::default());
    let folder = place.folder()?;
    match ControlSocket::open(&folder) {
        Ok(socket) => {
            debug!(event = "control_listening", path = %socket.path().display());
            Some(socket.serve(reloader.clone()))
        }
        // Nothing that time or another start would mend.
        Err(error) if error.kind() == io::ErrorKind::InvalidFilename => {
            warn!(event = "control_unavailable", folder = %folder.display(), reason = %error, "ptc reload does not reach this server");
            None
        }
        Err(error) => {
            info!(event = "control_unavailable", folder = %folder.display(), reason = %error, "ptc reload does not reach this server");
            None
        }
    }
}

/// The longest time that a call's own work may take.
fn longest_call(settings: &Settings) -> Duration {
    let mut program = settings.limits.program.timeout;
    if settings.runs.long {
        program = program.max(MAX_WAIT).max(settings.runs.answer_within.unwrap_or_default());
    }
    if settings.planner.enabled { program.max(settings.planner.task_timeout) } else { program }
}
