//! Reading files again while a server over HTTP runs, on SIGHUP: the policy, and the tokens of callers and operators. The file of the
//! audit log is opened again.
//!
//! All files are read and checked first. Then they take the places of the old ones in one step, or all are refused and nothing changes.
//! Programs that run keep what they began with.

use std::path::PathBuf;
use std::sync::Arc;

use ptc_host::credentials::Redactor;
use ptc_host::policy::{CurrentPolicy, Identity, Policy};
use ptc_host::time;
use tokio::signal::unix::Signal;
use tracing::{info, warn};

use super::policy::{check_identities, read};
use crate::options::read_tokens;
use ptc_observers::audit::{AuditLog, FreshAuditFile, ReloadRecord};
use ptc_protocol::Service;
use ptc_protocol::settings::{BootError, Http, NamedToken, Settings, TokenSources};
use ptc_transport::http::{CallerChanges, Callers};

/// What asks for a reload, in the audit log.
const BY: &str = "SIGHUP";

/// The files that are read again, and what they must fit.
#[derive(Clone)]
pub(super) struct Reload {
    /// The file of `--policy`, and the policy that holds.
    policy: Option<(PathBuf, Arc<CurrentPolicy>)>,
    /// The upstreams with the kinds of their sign-ins.
    identities: Arc<[(String, Option<Identity>)]>,
    /// Where the static tokens come from, unless they stay as they are.
    tokens: Option<TokenSources>,
    /// The audit log, whose file is opened again, and which is told of reloads.
    audit: Option<Arc<AuditLog>>,
    redactor: Redactor,
}

/// What all files say, checked.
struct Fresh {
    policy: Option<Policy>,
    tokens: Option<Vec<NamedToken>>,
    audit: Option<FreshAuditFile>,
}

impl Reload {
    /// What the settings of this listener name.
    pub(super) fn new(
        settings: &Settings,
        http: &Http,
        policy: Option<Arc<CurrentPolicy>>,
        identities: Vec<(String, Option<Identity>)>,
        audit: Option<Arc<AuditLog>>,
        redactor: &Redactor,
    ) -> Self {
        let can_change = http.token_sources.can_change() && !http.auth_disabled;
        Reload {
            policy: settings.policy_file.clone().zip(policy),
            identities: identities.into(),
            tokens: can_change.then(|| http.token_sources.clone()),
            audit,
            redactor: redactor.clone(),
        }
    }

    /// Reads the files again at each of these signals.
    pub(super) fn follow(self, hangups: Option<Signal>, callers: Callers, service: &Arc<Service>) {
        let Some(mut hangups) = hangups else { return };
        // Not for longer than the server is there.
        let service = Arc::downgrade(service);
        tokio::spawn(async move {
            while hangups.recv().await.is_some() {
                let Some(service) = service.upgrade() else { return };
                if self.policy.is_none() && self.tokens.is_none() && self.audit.is_none() {
                    warn!(
                        event = "signal_ignored",
                        signal = "SIGHUP",
                        "there is no --policy, no token file and no --audit-log to open again; restart the server to read other files"
                    );
                    continue;
                }
                let reload = self.clone();
                let read = time::spawn_blocking(move || reload.read()).await;
                let refused = match read {
                    Ok(Ok(fresh)) => {
                        self.apply(fresh, &callers, &service);
                        continue;
                    }
                    Ok(Err(fault)) => fault.to_string(),
                    Err(fault) => fault.to_string(),
                };
                warn!(event = "reload_refused", reason = refused, "policy and tokens stay as they were");
                if let Some(audit) = &self.audit {
                    audit.reloaded(&ReloadRecord { by: BY, refused: Some(&refused), changes: &[] });
                }
            }
        });
    }

    /// Reads and checks all files.
    fn read(&self) -> Result<Fresh, BootError> {
        let policy = self.policy.as_ref().map(|(path, _)| read(path)).transpose()?;
        if let Some(policy) = &policy {
            check_identities(policy, &self.identities)?;
        }
        let tokens = self.tokens.as_ref().map(read_tokens).transpose()?;
        // Tokens that are gone stay known: answers with them may still be on their way.
        register(&self.redactor, tokens.iter().flatten())?;
        let audit = self.audit.as_ref().map(|audit| audit.reopened()).transpose()?.flatten();
        Ok(Fresh { policy, tokens, audit })
    }

    /// Lets hold what was read.
    fn apply(&self, fresh: Fresh, callers: &Callers, service: &Service) {
        let mut changes = Vec::new();
        if let (Some(audit), Some(file)) = (&self.audit, fresh.audit) {
            audit.switch(file);
            changes.push(("audit_log", "goes on in a new file".to_owned()));
        }
        let mut rules = None;
        if let (Some(policy), Some((_, current))) = (fresh.policy, &self.policy) {
            rules = Some(policy.rules());
            // Profiles stand in the upstreams file.
            let profiles = current.policy().profiles().clone();
            current.replace(policy.with_profiles(profiles));
            changes.extend(rules.map(|rules| ("policy", format!("{rules} rules"))));
        }
        warn_of_guessable(fresh.tokens.iter().flatten());
        let tokens = fresh.tokens.as_ref().map(Vec::len);
        let replaced = fresh.tokens.and_then(|tokens| callers.replace(tokens));
        let CallerChanges { added, removed, revoked } = replaced.unwrap_or_default();
        info!(event = "reload_done", rules, tokens, added, removed, revoked);
        if let Some(count) = tokens {
            let text = format!("{count} tokens: {added} added, {removed} removed; {revoked} callers revoked");
            changes.push(("tokens", text));
        }
        if let Some(audit) = &self.audit {
            audit.reloaded(&ReloadRecord { by: BY, refused: None, changes: &changes });
        }
        if rules.is_some() {
            service.refresh_tools();
        }
    }
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
