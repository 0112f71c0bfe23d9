//! The tokens of one upstream and principal: one for every request, renewed in time, by one at a time (auth.md 6).

use super::owner_hash::owner_hash;
use ptc_base::sync::Mutex;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use http::HeaderValue;
use ptc_oauth::challenge::Bearer;
use ptc_oauth::metadata::is_same_issuer;
use ptc_oauth::scopes::{Scopes, StepUp, StepUps};
use ptc_oauth::timestamp::Timestamp;
use ptc_oauth::tokens::{
    AfterRefusal, Attempts, Decision, Errand, ErrandOutcome, Purpose, Renewal, Token, TokenRecord, TokenState,
};
use tokio::sync::watch;

use super::errand::Carrier;
use super::fault::{SignInError, TokenError};
use super::records::{self, TokenBinding};
use super::site::Site;
use super::store::RecordKey;
use ptc_secret::credentials::Secret;

/// The least time between two looks at which tokens are used.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Most tokens of one call that may end on their way.
const MOST_LATE: u8 = 2;
/// The least time between two renewals caused by an answer's text.
const DOUBT_EVERY: Duration = Duration::from_secs(60);
/// Pause before a discovery without a person is tried again.
const DISCOVERY_PAUSE: Duration = Duration::from_secs(30);

/// The sign-in of one principal at one upstream. All its calls share it.
pub struct SignIn {
    pub(super) site: Arc<Site>,
    /// `*` where one is for all.
    pub(super) principal: Arc<str>,
    /// The action for a person: `run: ptc login linear`.
    how: String,
    state: Mutex<BearerState>,
    /// Changes whenever an errand has ended.
    ended: watch::Sender<u64>,
    /// Held while the tokens to use are determined.
    binding: tokio::sync::Mutex<()>,
}

struct BearerState {
    bound: Option<TokenBinding>,
    looked_at: Option<Timestamp>,
    /// How many sign-ins the site knew of then.
    heard: u64,
    /// Why a grant without a person has no tokens to renew, and until when that is not tried again.
    undiscovered: Option<(String, Timestamp)>,
    tokens: TokenState,
    step_ups: StepUps,
    /// Whether the store is to be looked at although there is a token: a person was asked to sign in anew.
    awaited: bool,
    moved: bool,
    /// When an answer other than a 401 last said that the token is invalid.
    doubted_at: Option<Timestamp>,
}

/// The token of one request, and the attempts of its call.
#[derive(Debug)]
pub struct Ticket {
    pub(crate) header: HeaderValue,
    serial: u64,
    attempts: Attempts,
    /// How many tokens have ended on their way.
    late: u8,
    /// Whether new scopes were fetched for this call.
    widened: bool,
}

impl SignIn {
    pub(super) fn new(site: Arc<Site>, principal: &str, how: String) -> Arc<Self> {
        let renewal = renewal(&site, None);
        Arc::new(Self {
            site,
            principal: principal.into(),
            how,
            state: Mutex::new(BearerState {
                bound: None,
                looked_at: None,
                heard: 0,
                undiscovered: None,
                tokens: TokenState::new(renewal),
                step_ups: StepUps::default(),
                awaited: false,
                moved: false,
                doubted_at: None,
            }),
            ended: watch::Sender::new(0),
            binding: tokio::sync::Mutex::default(),
        })
    }

    /// The text of a fault, for programs.
    pub(crate) fn text(&self, fault: &TokenError) -> String {
        fault.text(&self.site.name, &self.how)
    }

    /// When the sign-in was made whose tokens are used, in milliseconds since 1970; 0 if there is none.
    pub(crate) fn signed_in_at(&self) -> u64 {
        self.state().tokens.record().map_or(0, |record| record.signed_in_at)
    }

    fn state(&self) -> MutexGuard<'_, BearerState> {
        self.state.lock()
    }

    /// A token for a request that has not been sent yet.
    pub(crate) async fn ticket(self: &Arc<Self>) -> Result<Ticket, TokenError> {
        let mut attempts = Attempts::default();
        let token = self.token(&mut attempts).await;
        self.note(token.as_ref().err());
        let token = token?;
        Ok(Ticket { header: header(&token)?, serial: token.serial, attempts, late: 0, widened: false })
    }

    /// Another token after a 401; the request may be repeated with it.
    pub(crate) async fn refused(
        self: &Arc<Self>,
        ticket: &mut Ticket,
        challenge: Option<&Bearer>,
    ) -> Result<(), TokenError> {
        let token = match ticket.attempts.refused(ticket.serial) {
            AfterRefusal::Renew => self.token(&mut ticket.attempts).await,
            AfterRefusal::End => match self.later(ticket).await {
                Some(token) => Ok(token),
                None => Err(self.rejected(ticket.serial, challenge).await),
            },
        };
        self.note(token.as_ref().err());
        let token = token?;
        (ticket.header, ticket.serial) = (header(&token)?, token.serial);
        Ok(())
    }

    /// A token in place of one that has ended on its way, which says nothing of the sign-in: tokens of seconds do that where an
    /// upstream is slow.
    async fn later(self: &Arc<Self>, ticket: &mut Ticket) -> Option<Token> {
        if ticket.late == MOST_LATE {
            return None;
        }
        let mut attempts = Attempts::default();
        let token = self.token(&mut attempts).await.ok().filter(|token| token.serial != ticket.serial)?;
        (ticket.attempts, ticket.late) = (attempts, ticket.late + 1);
        Some(token)
    }

    /// The consequence of a 403 that asks for more scopes: the fault, or for a grant without a person, once, a wider token.
    pub(crate) async fn lacks_scope(
        self: &Arc<Self>,
        ticket: &mut Ticket,
        tool: &str,
        challenge: &Bearer,
    ) -> Result<(), TokenError> {
        let asked = challenge.scope.clone().unwrap_or_default();
        let scopes = Scopes::of_text(&asked);
        let has_person = self.site.oauth.grant.has_person();
        let step = {
            let mut state = self.state();
            let signed_in_at = state.tokens.record().map_or(0, |record| record.signed_in_at);
            let sign_in = if has_person { signed_in_at } else { ticket.serial };
            state.step_ups.refused(tool, sign_in)
        };
        let owner_hash = owner_hash(&self.principal);
        tracing::info!(event = "auth_step_up", upstream = &*self.site.name, owner_hash, scope = %asked);
        if step == StepUp::GiveUp || (!has_person && ticket.widened) {
            return Err(TokenError::GivingUp(asked));
        }
        self.carry(Purpose::Want(scopes)).await;
        if has_person {
            self.state().awaited = true;
            let fault = TokenError::NeedsScope(asked);
            self.note(Some(&fault));
            return Err(fault);
        }
        ticket.widened = true;
        let token = self.token(&mut ticket.attempts).await?;
        (ticket.header, ticket.serial) = (header(&token)?, token.serial);
        Ok(())
    }

    /// Renews the token in the background after a call that may have failed for it, as servers tell it that know no 401. The
    /// call may have been carried out and is not repeated (auth.md 6.1).
    pub(crate) fn doubt(self: &Arc<Self>) {
        let now = self.site.now();
        let errand = {
            let mut state = self.state();
            let is_recent = state.doubted_at.is_some_and(|at| now >= at && now.since(at) < DOUBT_EVERY);
            let has_person = self.site.oauth.grant.has_person();
            let can_renew =
                state.tokens.record().is_some_and(|record| record.refresh_token.is_some() || !has_person);
            if is_recent || !can_renew {
                return;
            }
            state.doubted_at = Some(now);
            state.tokens.begin(Purpose::Renew)
        };
        if let Some(errand) = errand {
            self.spawn(errand);
        }
    }

    /// The action for a person if an answer blames the token.
    pub(crate) fn advice(&self) -> String {
        format!("If the sign-in to upstream '{}' has ended, a person must {}", self.site.name, self.how)
    }

    /// Notes that a call of `tool` was let in.
    pub(crate) fn admitted(&self, tool: &str) {
        self.state().step_ups.succeeded(tool);
    }

    async fn token(self: &Arc<Self>, attempts: &mut Attempts) -> Result<Token, TokenError> {
        self.bind().await?;
        loop {
            let mut ended = self.ended.subscribe();
            let now = self.site.now();
            let decision = {
                let mut state = self.state();
                if state.moved {
                    return Err(TokenError::Moved);
                }
                state.tokens.decide(now, attempts)
            };
            match decision {
                Decision::Use(token) => {
                    self.learn_again();
                    self.write_again();
                    return Ok(token);
                }
                Decision::Look => self.look().await,
                Decision::Begin(errand) => {
                    self.spawn(*errand);
                    let _ = ended.changed().await;
                }
                Decision::Wait => drop(ended.changed().await),
                Decision::SignIn(Some(code)) => {
                    // Whatever the record looks like, its tokens are of no use: only the store can have others.
                    self.state().awaited = true;
                    return Err(TokenError::Ended(code));
                }
                Decision::SignIn(None) => return Err(TokenError::NeverSignedIn),
                Decision::Unavailable { reason, .. } => return Err(TokenError::Away(reason)),
            }
        }
    }

    /// Finds out which tokens are used, from the store; where no person takes part, from the servers if need be.
    async fn bind(self: &Arc<Self>) -> Result<(), TokenError> {
        let is_due = |state: &BearerState, now: Timestamp| {
            let is_fresh = |at| now >= at && now.since(at) < LOOK_EVERY;
            let recent = state.looked_at.is_some_and(is_fresh) && state.heard == self.site.news.count();
            let satisfied = state.bound.is_some() && !state.awaited && !state.moved && is_signed_in(state);
            !recent && !satisfied
        };
        if is_due(&self.state(), self.site.now()) {
            let _alone = self.binding.lock().await;
            if is_due(&self.state(), self.site.now()) {
                self.find_binding().await?;
            }
        }
        let state = self.state();
        match (&state.bound, &state.undiscovered) {
            (Some(_), _) => Ok(()),
            (None, Some((reason, _))) => Err(TokenError::Away(reason.clone())),
            (None, None) => Err(TokenError::NeverSignedIn),
        }
    }

    async fn find_binding(self: &Arc<Self>) -> Result<(), TokenError> {
        let away = |error: SignInError| TokenError::Away(error.to_string());
        // Who signs in from now on is news.
        let heard = self.site.news.count();
        let found = self.site.binding(&self.principal).await;
        let now = self.site.now();
        {
            let mut state = self.state();
            (state.looked_at, state.heard) = (Some(now), heard);
        }
        let found = match found.map_err(away)? {
            Some(binding) => Some(binding),
            None if self.site.oauth.grant.has_person() => None,
            None => {
                let waits = self.state().undiscovered.as_ref().is_some_and(|(_, until)| now < *until);
                if waits {
                    return Ok(());
                }
                match self.bind_by_discovery().await {
                    Ok(binding) => Some(binding),
                    Err(error) => {
                        let until = self.site.now() + DISCOVERY_PAUSE;
                        self.state().undiscovered = Some((error.to_string(), until));
                        return Ok(());
                    }
                }
            }
        };
        let is_other = self.state().bound != found;
        if is_other {
            let mut state = self.state();
            state.tokens = TokenState::new(renewal(&self.site, found.as_ref()));
            (state.bound, state.moved, state.undiscovered) = (found, false, None);
        } else if found.is_some() {
            // The same tokens, or what another process has made of them.
            self.look().await;
        }
        Ok(())
    }

    /// Discovers for a grant without a person, and stores the result.
    async fn bind_by_discovery(&self) -> Result<TokenBinding, SignInError> {
        let challenge = self.site.probe().await;
        let discovered = self.site.discover(challenge.as_ref(), None, false).await?;
        let (client, _) = self.site.client(&discovered.server, &[], None, &self.principal, None).await?;
        let binding = TokenBinding {
            upstream: self.site.name.to_string(),
            issuer: discovered.server.issuer.clone(),
            client_id: client.id,
            origin: client.origin,
            resource: self.site.resource(&discovered),
            redirect_uris: Vec::new(),
            legacy_server: None,
        };
        let key = RecordKey::binding(&self.site.name, &self.site.url, &self.principal);
        records::put(self.site.store(), &key, &binding).await?;
        let scopes = challenge.as_ref().and_then(|challenge| challenge.scope.as_deref());
        let resource = discovered.resource.as_ref().and_then(|metadata| metadata.scopes_supported.as_deref());
        let wanted = ptc_oauth::scopes::requested(&ptc_oauth::scopes::Sources {
            configured: self.site.oauth.scopes.as_deref(),
            challenge: scopes,
            resource,
            ..Default::default()
        });
        // What is asked for is part of the record, so that all processes ask alike.
        let key = binding.token_key(&self.principal);
        let guard = self.site.store().lock(&key).await?;
        if records::read::<TokenRecord>(self.site.store(), &key).await?.is_none() {
            let record = TokenRecord { scope_wanted: wanted, ..TokenRecord::default() };
            records::write(self.site.store(), &guard, &record).await?;
        }
        Ok(binding)
    }

    /// Reads the record without its lock.
    async fn look(&self) {
        let Some(binding) = self.state().bound.clone() else { return };
        let read = records::tokens(self.site.store(), &binding, &self.principal).await;
        let now = self.site.now();
        let learnt = read.as_ref().map_or(Ok(()), |record| {
            record.iter().try_for_each(|record| self.site.learn_tokens(&self.principal, record))
        });
        let read = read.map_err(|error| error.to_string());
        let read = learnt.map_err(|no_room| SignInError::from(no_room).to_string()).and(read);
        let mut state = self.state();
        let before = state.tokens.record().map(|record| record.signed_in_at);
        state.tokens.looked(now, read);
        if state.tokens.record().map(|record| record.signed_in_at) != before {
            state.awaited = false;
        }
    }

    /// Registers the tokens with the redactor again if it has dropped them for others because they were unused.
    fn learn_again(&self) {
        if !self.site.context.redactor.note_use(&self.principal)
            && let Some(record) = self.state().tokens.record().cloned()
        {
            // There is room: those who have made no call for longest give it.
            let _ = self.site.learn_tokens(&self.principal, &record);
        }
    }

    /// The resource refuses even a fresh token: this is noted, and looked into (auth.md 2.5).
    async fn rejected(self: &Arc<Self>, serial: u64, challenge: Option<&Bearer>) -> TokenError {
        let (errand, binding) = {
            let mut state = self.state();
            let errand = state.tokens.rejected(self.site.now(), serial);
            (errand, state.bound.clone())
        };
        let mut ended = self.ended.subscribe();
        if let Some(errand) = errand {
            self.spawn(errand);
            let _ = ended.changed().await;
        }
        self.site.forget_metadata();
        let discovered = self.site.discover(challenge, binding.as_ref(), false).await;
        let moved = matches!((&discovered, &binding), (Ok(now), Some(then)) if !is_same_issuer(&now.server.issuer, &then.issuer));
        if !moved {
            return TokenError::Ended(ptc_oauth::error_code::ErrorCode::new("invalid_token"));
        }
        self.state().moved = true;
        if !self.site.oauth.grant.has_person() {
            // Nobody has to sign in: the next call is bound anew.
            let key = RecordKey::binding(&self.site.name, &self.site.url, &self.principal);
            if let Ok(guard) = self.site.store().lock(&key).await {
                let _ = self.site.store().delete(&guard).await;
            }
        }
        TokenError::Moved
    }

    /// Begins an errand of this purpose, after the one under way, and waits for its end.
    async fn carry(self: &Arc<Self>, purpose: Purpose) {
        loop {
            let mut ended = self.ended.subscribe();
            let begun = self.state().tokens.begin(purpose.clone());
            let is_ours = begun.is_some();
            if let Some(errand) = begun {
                self.spawn(errand);
            }
            let _ = ended.changed().await;
            if is_ours {
                return;
            }
        }
    }

    /// Tokens that could not be written are written at the next use.
    fn write_again(self: &Arc<Self>) {
        let errand = {
            let mut state = self.state();
            if !state.tokens.is_unwritten() {
                return;
            }
            state.tokens.begin(Purpose::WriteAgain)
        };
        if let Some(errand) = errand {
            self.spawn(errand);
        }
    }

    /// Runs an errand in a task of its own, which survives cancelled calls.
    fn spawn(self: &Arc<Self>, errand: Errand) {
        let bound = self.state().bound.clone();
        let carrier = Carrier { site: self.site.clone(), principal: self.principal.clone(), bound, errand };
        let end = ErrandEnd { sign_in: self.clone(), outcome: None };
        self.site.context.owner.spawn(async move { end.with(carrier.run().await) });
    }

    /// An errand has ended; without an outcome, if its task was dropped.
    fn finished(&self, outcome: Option<ErrandOutcome>) {
        let now = self.site.now();
        let mut state = self.state();
        match outcome {
            Some(outcome) => state.tokens.finished(now, outcome),
            None => state.tokens.abandoned(now),
        }
        drop(state);
        self.ended.send_modify(|ended| *ended += 1);
    }

    /// Logs for operators when a sign-in becomes necessary, and when it no longer is.
    fn note(&self, fault: Option<&TokenError>) {
        let needed = fault.is_some_and(TokenError::needs_person);
        if fault.is_some() && !needed {
            return;
        }
        if self.site.counts.note_needed(needed) && needed {
            let code = match fault {
                Some(TokenError::Ended(code)) => code.registered(),
                _ => "",
            };
            let issuer =
                self.state().bound.as_ref().map(|binding| binding.issuer.clone()).unwrap_or_default();
            tracing::warn!(
                event = "auth_sign_in_needed",
                upstream = &*self.site.name,
                issuer = %issuer,
                owner_hash = owner_hash(&self.principal),
                error = code,
                "{}",
                self.how
            );
        }
    }
}

/// Notes the end of an errand. Dropped without an outcome, the errand counts as abandoned.
struct ErrandEnd {
    sign_in: Arc<SignIn>,
    outcome: Option<ErrandOutcome>,
}

impl ErrandEnd {
    fn with(mut self, outcome: ErrandOutcome) {
        self.outcome = Some(outcome);
    }
}

impl Drop for ErrandEnd {
    fn drop(&mut self) {
        self.sign_in.finished(self.outcome.take());
    }
}

/// Whether the tokens are usable, as far as this process knows.
fn is_signed_in(state: &BearerState) -> bool {
    state.tokens.record().is_some_and(|record| {
        record.last_error.is_none() && (record.access_token.is_some() || record.refresh_token.is_some())
    })
}

fn header(token: &Token) -> Result<HeaderValue, TokenError> {
    let value = Secret::new(token.secret.expose()).header_value("Bearer ");
    value.ok_or_else(|| TokenError::Away("the token cannot stand in a header".to_owned()))
}

fn renewal(site: &Site, binding: Option<&TokenBinding>) -> Renewal {
    use ptc_oauth::client::ClientOrigin;
    if site.oauth.grant.has_person() {
        Renewal::Refresh {
            dynamic_client: binding.is_some_and(|binding| binding.origin == ClientOrigin::Registered),
        }
    } else {
        Renewal::Grant
    }
}
