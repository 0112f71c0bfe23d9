//! Reading files again while a server runs: by `ptc reload` through the control socket, and by SIGHUP over HTTP.
//!
//! All files are read and checked first, and upstreams that are required are started. Then everything takes the place of what was
//! there in one step, or all is refused and nothing changes. Programs that run keep what they began with.

use std::sync::{Arc, Weak};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::aggregator::{Aggregator, CurrentUpstreams, UpstreamChanges};
use ptc_host::credentials::Redactor;
use ptc_host::digest::hex;
use ptc_host::policy::CurrentPolicy;
use ptc_host::sync::Mutex;
use ptc_host::time;
use tokio::signal::unix::Signal;
use tokio::sync::{OwnedMutexGuard, watch};
use tracing::{debug, info, warn};

use super::advertised::Advertised;
use super::files::ServerFiles;
use super::policy::ReadPolicy;
use super::programs::{KeptPrograms, NextPrograms};
use super::question_settings::People;
use super::upstreams::UpstreamOpener;
use crate::control::listener::Controlled;
use crate::control::message::{Description, ReloadOutcome, ReloadReport};
use crate::options::source::{FileDigests, OptionTexts};
use crate::options::{SettingsSource, WRITABLE};
use ptc_observers::Telemetry;
use ptc_observers::audit::{AuditLog, FreshAuditFile, ReloadRecord};
use ptc_observers::log::CurrentLevel;
use ptc_protocol::Service;
use ptc_protocol::settings::{BootError, Http, LogLevel, NamedToken, Otlp, Settings};
use ptc_transport::http::{CallerChanges, Callers, Certificate, CurrentCertificate};

/// Options that take effect without a restart.
const RELOADED: [&str; 8] = [
    "http-auth-token",
    "http-auth-token-file",
    "http-operator-token-file",
    "http-tls-cert",
    "http-tls-key",
    "log-level",
    "policy",
    "upstreams-config",
];

/// Most names that a change tells.
const MOST_NAMES: usize = 20;

/// What a reload exchanges.
pub(super) struct Reloaded {
    pub(super) source: SettingsSource,
    pub(super) redactor: Redactor,
    pub(super) log: CurrentLevel,
    /// The policy that holds, and what it was read from.
    pub(super) policy: Option<(Arc<CurrentPolicy>, [u8; 32])>,
    pub(super) upstreams: Option<(Arc<CurrentUpstreams>, UpstreamOpener)>,
    pub(super) advertised: Option<Advertised>,
    pub(super) programs: Option<KeptPrograms>,
    /// The audit log, whose file is opened again, and which is told of reloads.
    pub(super) audit: Option<Arc<AuditLog>>,
    /// Of the listener, if there is one.
    pub(super) callers: Option<Callers>,
    pub(super) certificate: Option<CurrentCertificate>,
    pub(super) telemetry: Weak<Telemetry>,
    /// Not for longer than the server is there.
    pub(super) service: Weak<Service>,
}

/// Reads the files of a server again.
pub(super) struct Reloader {
    parts: Reloaded,
    description: Description,
    /// The options at the start, which hold as far as no reload changes them.
    at_start: OptionTexts,
    /// What the files held at the start that are read then only.
    files: FileDigests,
    /// The export of traces and metrics.
    otlp: Option<Otlp>,
    people: People,
    /// Whether callers need tokens.
    requires_tokens: bool,
    held: Mutex<Held>,
    /// One reload at a time.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The number of the latest reload that was asked for.
    latest: watch::Sender<u64>,
}

/// What holds now, as far as reloads are compared with it.
struct Held {
    tokens: Vec<NamedToken>,
    policy: Option<[u8; 32]>,
}

/// The right to reload, which one reload has at a time.
struct Turn {
    /// Which reload it is, counted from the start.
    number: u64,
    _lock: OwnedMutexGuard<()>,
}

/// What all files say, checked.
struct Fresh {
    log_level: LogLevel,
    /// `None` if the listener has none to exchange.
    tokens: Option<Vec<NamedToken>>,
    policy: Option<ReadPolicy>,
    certificate: Option<Certificate>,
    upstreams: Option<(Arc<Aggregator>, UpstreamChanges)>,
    /// The kept programs, or why those that were there stay.
    programs: Option<NextPrograms>,
    /// The file of the audit log, if that is another one now.
    audit: Option<FreshAuditFile>,
    needs_restart: Vec<String>,
}

/// What the log tells of callers after a reload.
struct CallerCounts {
    /// Rules of the policy, if there is one.
    rules: Option<usize>,
    /// Static tokens, if the listener has some.
    tokens: Option<usize>,
    callers: CallerChanges,
}

impl Reloader {
    /// For a server that was started with these settings.
    ///
    /// # Errors
    /// The options cannot be read.
    pub(super) fn new(settings: &Settings, parts: Reloaded) -> Result<Arc<Reloader>, BootError> {
        let serves = match &settings.http {
            None => "a pipe".to_owned(),
            Some(http) => {
                let scheme = if http.tls.is_some() { "https" } else { "http" };
                format!("{scheme}://{}", std::net::SocketAddr::new(http.host, http.port))
            }
        };
        let description = Description {
            pid: std::process::id(),
            version: ptc_protocol::identity::VERSION.to_owned(),
            serves,
        };
        let http = settings.http.as_ref();
        let requires_tokens = http.is_some_and(has_tokens);
        let held = Held {
            tokens: http.map(|http| http.tokens.clone()).unwrap_or_default(),
            policy: parts.policy.as_ref().map(|(_, digest)| *digest),
        };
        let (at_start, files) = (parts.source.texts()?, parts.source.files()?);
        let people = parts.people(settings);
        Ok(Arc::new(Reloader {
            parts,
            description,
            at_start,
            files,
            otlp: settings.diagnostics.otlp.clone(),
            people,
            requires_tokens,
            held: Mutex::new(held),
            turn: Arc::default(),
            latest: watch::Sender::new(0),
        }))
    }

    /// Reads the files again at each of these signals.
    pub(super) fn follow(self: &Arc<Self>, hangups: Option<Signal>) {
        let Some(mut hangups) = hangups else { return };
        let reloader = Arc::downgrade(self);
        tokio::spawn(async move {
            while hangups.recv().await.is_some() {
                let Some(reloader) = reloader.upgrade() else { return };
                let turn = reloader.next_turn().await;
                // Not awaited: the next one takes its place while upstreams start.
                tokio::spawn(reloader.reload_now("SIGHUP", turn));
            }
        });
    }

    /// Waits until no other reload reads files or lets them hold. One that still starts upstreams gives way.
    async fn next_turn(&self) -> Turn {
        let mut number = 0;
        self.latest.send_modify(|latest| {
            *latest += 1;
            number = *latest;
        });
        Turn { number, _lock: self.turn.clone().lock_owned().await }
    }

    /// Reloads. `by`: who asked for it, for the log.
    async fn reload_now(self: Arc<Self>, by: &'static str, turn: Turn) -> ReloadOutcome {
        let reloaded = self.try_reload(turn.number, by).await;
        reloaded.map_or_else(|fault| self.refused(&fault, Some(by)), ReloadOutcome::Accepted)
    }

    /// Says what a reload would change, whatever other reloads do.
    async fn check_now(self: Arc<Self>) -> ReloadOutcome {
        match self.try_check().await {
            Ok(report) => ReloadOutcome::Accepted(report),
            Err(fault) => self.refused(&fault, None),
        }
    }

    /// The outcome of a reload that changes nothing. `by`: who asked for it; `None` for a check, which is not recorded.
    fn refused(&self, fault: &BootError, by: Option<&str>) -> ReloadOutcome {
        let reason = self.parts.redactor.for_log().scrub_string(fault.to_string());
        if let Some(by) = by {
            warn!(event = "reload_refused", by, reason, "everything stays as it was");
            if let Some(audit) = &self.parts.audit {
                audit.reloaded(&ReloadRecord { by, refused: Some(&reason), changes: &[] });
            }
        }
        ReloadOutcome::Refused(reason)
    }

    async fn try_check(self: &Arc<Self>) -> Result<ReloadReport, BootError> {
        let mut fresh = self.read_apart(true).await?;
        if let Some(programs) = &self.parts.programs {
            fresh.programs = Some(programs.next().await);
        }
        let report = report(&self.changes(&self.held.lock(), &fresh), &fresh);
        debug!(event = "reload_checked", changes = report.changes.join("; "));
        Ok(report)
    }

    async fn try_reload(self: &Arc<Self>, number: u64, by: &'static str) -> Result<ReloadReport, BootError> {
        let Some(service) = self.parts.service.upgrade() else {
            return Err(BootError::new("the server is ending"));
        };
        info!(event = "reload_begun", by);
        let mut fresh = self.read_apart(false).await?;
        // Tokens that are gone stay known: answers with them may still be on their way.
        register(&self.parts.redactor, fresh.tokens.iter().flatten())?;
        if let Some((next, changes)) = &fresh.upstreams
            && !changes.is_empty()
        {
            let start = async { next.start_all().await.map_err(|fault| BootError::new(fault.to_string())) };
            self.unless_superseded(number, start).await?;
        }
        // After the start, which may take long: checks ask for it, too.
        if let Some(programs) = &self.parts.programs {
            let current = self.parts.upstreams.as_ref().map(|(current, _)| current.current());
            let next = fresh.upstreams.as_ref().filter(|(_, changes)| !changes.is_empty());
            fresh.programs = Some(match next.map(|(next, _)| next.clone()).or(current) {
                Some(upstreams) => {
                    let next = async { Ok(programs.next_beside(&upstreams).await) };
                    self.unless_superseded(number, next).await?
                }
                None => programs.next().await,
            });
        }
        let (changes, report, counts) = {
            let mut held = self.held.lock();
            let changes = self.changes(&held, &fresh);
            let report = report(&changes, &fresh);
            let counts = self.apply(&mut held, fresh, &service);
            (changes, report, counts)
        };
        let CallerCounts { rules, tokens, callers } = counts;
        let CallerChanges { added, removed, revoked } = callers;
        if let Some(audit) = &self.parts.audit {
            audit.reloaded(&ReloadRecord { by, refused: None, changes: &changes });
        }
        let told = report.changes.join("; ");
        let faults = report.faults.join("; ");
        let needs_restart = report.needs_restart.join("; ");
        info!(
            event = "reload_done",
            by,
            rules,
            tokens,
            added,
            removed,
            revoked,
            changes = told,
            faults,
            needs_restart
        );
        Ok(report)
    }

    /// Waits for upstreams, unless another reload comes.
    async fn unless_superseded<T>(
        &self,
        number: u64,
        waits: impl Future<Output = Result<T, BootError>>,
    ) -> Result<T, BootError> {
        let mut latest = self.latest.subscribe();
        tokio::select! {
            biased;
            waited = waits => waited,
            // The sender is in `self`.
            _ = latest.wait_for(|latest| *latest != number) => Err(superseded()),
        }
    }

    /// Reads and checks all files on a thread of its own.
    async fn read_apart(self: &Arc<Self>, check: bool) -> Result<Fresh, BootError> {
        let reloader = self.clone();
        let read = time::spawn_blocking(move || {
            reloader.read(check).map_err(|fault| reloader.parts.source.placed(fault))
        });
        read.await.map_err(|fault| BootError::new(fault.to_string()))?
    }

    /// Reads and checks all files. That of the audit log is opened unless this is but a check, as opening makes it.
    fn read(&self, check: bool) -> Result<Fresh, BootError> {
        let texts = self.parts.source.texts()?;
        let settings = self.parts.source.read()?;
        let mut needs_restart = self.fixed_options(&texts);
        needs_restart.extend(self.fixed_files()?);
        if settings.diagnostics.otlp != self.otlp
            && !needs_restart.iter().any(|told| told == "--otlp-endpoint")
        {
            needs_restart
                .push("the OpenTelemetry export, of which variables or headers have changed".to_owned());
        }
        let ServerFiles { upstreams: config, mut policy, certificate } = ServerFiles::read(&settings)?;
        match (&self.parts.policy, &mut policy) {
            (None, Some(_)) => {
                needs_restart.push("a policy or profiles, of which there were none at the start".to_owned());
                policy = None;
            }
            (Some(_), None) => needs_restart.push("to go on without a policy and profiles".to_owned()),
            // Whoever was restricted must not become free by a line that is gone.
            (Some((current, _)), Some(fresh))
                if current.policy().is_written() && !fresh.policy.is_written() =>
            {
                needs_restart
                    .push("to go on without a policy, which holds as it is with its profiles".to_owned());
                policy = None;
            }
            (Some((current, _)), Some(fresh)) => {
                let current = current.policy();
                if !current.profiles().names().eq(fresh.policy.profiles().names()) {
                    needs_restart
                        .push("other names of profiles, which are addresses of the server".to_owned());
                    let profiles = current.profiles().with_contents_of(fresh.policy.profiles());
                    policy = policy
                        .map(|fresh| ReadPolicy { policy: fresh.policy.with_profiles(profiles), ..fresh });
                }
            }
            (None, None) => {}
        }
        let certificate = match (&self.parts.certificate, certificate) {
            (Some(_), Some(fresh)) => Some(fresh),
            (None, None) => None,
            (Some(_), None) => {
                needs_restart.push("to serve without TLS".to_owned());
                None
            }
            (None, Some(_)) => {
                needs_restart.push("to serve TLS".to_owned());
                None
            }
        };
        let upstreams = match (&self.parts.upstreams, config) {
            (Some((current, opener)), Some(config)) => {
                let next = opener.open(config, Some(&current.current()))?;
                let entries = next.unfiltered().upstreams();
                let people = People::of(&settings, entries.map(|(config, _)| config));
                if people.asks_more_than(self.people) {
                    needs_restart.push("questions to people, which an upstream needs now".to_owned());
                }
                let had_roots = current.current().client_roots().is_some();
                if next.client_roots().is_some() && !had_roots {
                    needs_restart.push("an upstream that asks for the client's roots".to_owned());
                }
                let changes = current.changes_to(&next);
                Some((next, changes))
            }
            (Some(_), None) => {
                return Err(BootError::new(
                    "the upstreams file is gone; to have no upstreams, write {\"upstreams\": {}} into it",
                ));
            }
            (None, Some(_)) => {
                needs_restart.push("an upstreams file, of which there was none at the start".to_owned());
                None
            }
            (None, None) => None,
        };
        for writable in settings.warnings.iter().filter(|warning| warning.event == WRITABLE) {
            warn!(event = writable.event, "{}", writable.message);
        }
        if let Some(path) = settings.diagnostics.audit_log.as_deref().filter(|_| check) {
            AuditLog::check(path)?;
        }
        let audit = self.parts.audit.as_ref().filter(|_| !check);
        let audit = audit.map(|audit| audit.reopened()).transpose()?.flatten();
        let tokens = self.tokens(settings.http.as_ref(), &mut needs_restart);
        Ok(Fresh {
            log_level: settings.log_level,
            tokens,
            policy,
            certificate,
            upstreams,
            programs: None,
            audit,
            needs_restart,
        })
    }

    /// The static tokens, unless whether there are any at all has changed.
    fn tokens(&self, http: Option<&Http>, needs_restart: &mut Vec<String>) -> Option<Vec<NamedToken>> {
        let listener = self.parts.callers.as_ref().and(http)?;
        if has_tokens(listener) != self.requires_tokens {
            needs_restart.push("to require tokens, or none".to_owned());
        }
        (self.requires_tokens && has_tokens(listener)).then(|| listener.tokens.clone())
    }

    /// The options that have another value than at the start and take effect at a start only.
    fn fixed_options(&self, texts: &OptionTexts) -> Vec<String> {
        let names = self.at_start.keys().chain(texts.keys());
        let mut changed: Vec<&str> = names
            .copied()
            .filter(|name| !RELOADED.contains(name) && self.at_start.get(name) != texts.get(name))
            .collect();
        changed.sort_unstable();
        changed.dedup();
        changed.into_iter().map(|name| format!("--{name}")).collect()
    }

    /// The files that hold something else than at the start and are read then only.
    fn fixed_files(&self) -> Result<Vec<String>, BootError> {
        let now = self.parts.source.files()?;
        // One that is gone now is not missed: what it held is in use.
        let changed =
            now.iter().filter(|(name, digest)| self.files.get(*name).is_some_and(|held| held != *digest));
        Ok(changed.map(|(name, _)| format!("the file of --{name}, which has changed")).collect())
    }

    /// What changes, by its key in the audit log, and how.
    fn changes(&self, held: &Held, fresh: &Fresh) -> Vec<(&'static str, String)> {
        let mut changes = Vec::new();
        if fresh.audit.is_some() {
            changes.push(("audit_log", "goes on in a new file".to_owned()));
        }
        if let (Some(_), Some(policy)) = (&self.parts.policy, &fresh.policy)
            && held.policy != Some(policy.digest)
        {
            let before = held.policy.as_ref().map_or_else(|| "none".to_owned(), short_digest);
            let now = short_digest(&policy.digest);
            changes
                .push(("policy", format!("{}, digest {now} instead of {before}", policy.policy.summary())));
        }
        if let Some(tokens) = &fresh.tokens {
            let lacks = |one: &[NamedToken], other: &[NamedToken]| -> Vec<String> {
                let lacking = one.iter().filter(|token| !other.contains(token));
                lacking.map(|token| token.name.clone()).collect()
            };
            let (added, removed) = (lacks(tokens, &held.tokens), lacks(&held.tokens, tokens));
            if !added.is_empty() || !removed.is_empty() {
                let text = format!("{} added, {} removed", counted(&added), counted(&removed));
                changes.push(("tokens", text));
            }
        }
        if let (Some(current), Some(certificate)) = (&self.parts.certificate, &fresh.certificate)
            && !current.is(certificate)
        {
            changes.push(("certificate", "another certificate or key".to_owned()));
        }
        if let Some((kept, next)) = self.parts.programs.as_ref().zip(fresh.programs.as_ref()) {
            changes.extend(next.change(kept.current()).map(|change| ("programs", change)));
        }
        let level = self.parts.log.get();
        if level != fresh.log_level {
            changes
                .push(("log_level", format!("{} instead of {}", fresh.log_level.as_str(), level.as_str())));
        }
        if let Some((_, upstreams)) = &fresh.upstreams {
            let lists = [
                ("upstreams_added", &upstreams.added),
                ("upstreams_changed", &upstreams.changed),
                ("upstreams_changed_in_place", &upstreams.changed_in_place),
                ("upstreams_removed", &upstreams.removed),
            ];
            let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
            changes.extend(lists.map(|(what, names)| (what, names.join(", "))));
        }
        changes
    }

    /// Lets hold what was read.
    fn apply(&self, held: &mut Held, fresh: Fresh, service: &Service) -> CallerCounts {
        let parts = &self.parts;
        if let (Some(audit), Some(file)) = (&parts.audit, fresh.audit) {
            audit.switch(file);
        }
        let rules = fresh.policy.as_ref().map(|fresh| fresh.policy.rules());
        let mut is_refreshed = false;
        if let (Some((current, _)), Some(fresh)) = (&parts.policy, fresh.policy)
            && held.policy != Some(fresh.digest)
        {
            held.policy = Some(fresh.digest);
            current.replace(fresh.policy);
            is_refreshed = true;
        }
        let (mut changes, mut tokens) = (CallerChanges::default(), None);
        if let (Some(callers), Some(fresh)) = (&parts.callers, fresh.tokens) {
            warn_of_guessable(fresh.iter().filter(|token| !held.tokens.contains(token)));
            tokens = Some(fresh.len());
            held.tokens.clone_from(&fresh);
            changes = callers.replace(fresh).unwrap_or_default();
        }
        if let (Some(current), Some(certificate)) = (&parts.certificate, fresh.certificate) {
            current.replace(certificate);
        }
        if let Some((kept, next)) = parts.programs.as_ref().zip(fresh.programs) {
            is_refreshed |= kept.apply(next);
        }
        if let (Some((current, _)), Some((next, changes))) = (&parts.upstreams, fresh.upstreams)
            && !changes.is_empty()
        {
            if let Some(metrics) = parts.telemetry.upgrade().as_ref().and_then(|seen| seen.metrics.as_ref()) {
                metrics.add_upstreams(changes.opened());
            }
            current.replace(next);
            if let Some(advertised) = &parts.advertised {
                advertised.renew(service);
            }
            if let Some(exposed) = service.exposed.clone() {
                tokio::spawn(async move { exposed.renew(&changes).await });
            }
            is_refreshed = false;
        }
        if is_refreshed {
            service.refresh_tools();
        }
        if parts.log.get() != fresh.log_level {
            parts.log.set(fresh.log_level);
        }
        CallerCounts { rules, tokens, callers: changes }
    }
}

impl Reloaded {
    fn people(&self, settings: &Settings) -> People {
        let upstreams = self.upstreams.as_ref().map(|(current, _)| current.current());
        let entries = upstreams.iter().flat_map(|upstreams| upstreams.unfiltered().upstreams());
        People::of(settings, entries.map(|(config, _)| config))
    }
}

impl Controlled for Reloader {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn reload(self: Arc<Self>, check: bool) -> BoxFuture<'static, ReloadOutcome> {
        match check {
            true => self.check_now().boxed(),
            false => async move {
                let turn = self.next_turn().await;
                self.reload_now("ptc reload", turn).await
            }
            .boxed(),
        }
    }
}

/// What the command is told of what was read.
fn report(changes: &[(&'static str, String)], fresh: &Fresh) -> ReloadReport {
    let faults = fresh.programs.iter().filter_map(|next| Some(format!("programs: {}", next.fault()?)));
    let faults: Vec<String> = faults.collect();
    let told = changes.iter().map(|(what, how)| format!("{}: {how}", what.replace('_', " ")));
    ReloadReport {
        changes: told.filter(|change| !faults.contains(change)).collect(),
        faults,
        needs_restart: fresh.needs_restart.clone(),
    }
}

/// Why a reload has changed nothing when another one came.
fn superseded() -> BootError {
    BootError::new(
        "a later reload has taken the place of this one, whose upstreams had not started; its outcome counts",
    )
}

/// How many tokens, and whose.
fn counted(names: &[String]) -> String {
    let shown = names[..names.len().min(MOST_NAMES)].join(", ");
    match names.len() {
        0 => "0".to_owned(),
        count if count > MOST_NAMES => format!("{count} ({shown} and others)"),
        count => format!("{count} ({shown})"),
    }
}

/// The beginning of a digest, which tells apart what one operator has.
fn short_digest(digest: &[u8; 32]) -> String {
    hex(&digest[..6])
}

/// Whether callers of a listener need tokens.
fn has_tokens(http: &Http) -> bool {
    !http.auth_disabled && (!http.tokens.is_empty() || http.oauth.is_some())
}

/// Keeps tokens out of results from now on.
///
/// # Errors
/// They are more than is scrubbed.
pub(super) fn register<'t>(
    redactor: &Redactor,
    tokens: impl IntoIterator<Item = &'t NamedToken>,
) -> Result<(), BootError> {
    redactor.register(tokens.into_iter().map(|token| &token.token)).map_err(|no_room| {
        BootError::new(format!(
            "the tokens of callers cannot be kept out of results: {no_room}; use fewer or shorter ones"
        ))
    })
}

/// Warns of tokens that can be guessed.
pub(super) fn warn_of_guessable<'t>(tokens: impl IntoIterator<Item = &'t NamedToken>) {
    for token in tokens.into_iter().filter(|token| token.token.is_guessable()) {
        warn!(event = "http_auth_token_guessable", principal = %token.name, "use a random token: openssl rand -hex 32");
    }
}
