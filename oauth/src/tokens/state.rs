//! A process's knowledge of the tokens under one key.

use std::time::Duration;

use super::attempts::Attempts;
use super::errand::{Errand, ErrandOutcome, Purpose, Renewal};
use super::record::TokenRecord;
use crate::error_code::ErrorCode;
use crate::scopes::Scopes;
use crate::secret::Secret;
use crate::timestamp::Timestamp;

/// The least time between two looks at the store for a sign-in that is missing.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The first pause after trouble; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A token for one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// `Authorization: Bearer` and this.
    pub secret: Secret,
    /// Tells tokens of this process apart.
    pub serial: u64,
}

/// A call's next action.
#[derive(Debug)]
pub enum Decision {
    /// Sends its request with this token.
    Use(Token),
    /// Reads the record without a lock, passes it to [`TokenState::looked`], and asks again.
    Look,
    /// Starts a task that carries this out, waits for it within its own time, and asks again.
    Begin(Box<Errand>),
    /// Waits within its own time until the errand under way is over, and asks again.
    Wait,
    /// Ends: a person must sign in. The code says why the sign-in has ended; without one there has never been a sign-in.
    SignIn(Option<ErrorCode>),
    /// Ends: there is no token now.
    Unavailable {
        /// Behind `cannot renew the sign-in to upstream …: `.
        reason: String,
        /// No request is made before this time.
        until: Timestamp,
    },
}

/// The tokens of one key as a process has them: all calls share it, and at most one errand is under way.
#[derive(Debug)]
pub struct TokenState {
    renewal: Renewal,
    record: Option<TokenRecord>,
    /// Whether the store lacks the record.
    unwritten: bool,
    serial: u64,
    /// Why the tokens of the record are of no use.
    rejected: Option<ErrorCode>,
    busy: bool,
    pause: Option<Pause>,
    looked_at: Option<Timestamp>,
}

#[derive(Clone, Debug)]
struct Pause {
    until: Timestamp,
    length: Duration,
    why: PauseCause,
}

#[derive(Clone, Debug)]
enum PauseCause {
    Unavailable(String),
    /// Where no person takes part, a refusal is no end, but it is not tried at each call.
    Refused(ErrorCode),
}

impl TokenState {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(renewal: Renewal) -> Self {
        Self {
            renewal,
            record: None,
            unwritten: false,
            serial: 0,
            rejected: None,
            busy: false,
            pause: None,
            looked_at: None,
        }
    }

    /// The known record.
    #[must_use]
    pub fn record(&self) -> Option<&TokenRecord> {
        self.record.as_ref()
    }

    /// Whether the store lacks the tokens of this process, since writing failed: the next use tries again
    /// ([`begin`](Self::begin) with [`Purpose::WriteAgain`]).
    #[must_use]
    pub fn is_unwritten(&self) -> bool {
        self.unwritten
    }

    /// The action for `call` now.
    pub fn decide(&mut self, now: Timestamp, call: &mut Attempts) -> Decision {
        match self.token(call) {
            Some(token) => self.with_token(now, call, token),
            None => self.without_token(now, call),
        }
    }

    /// The access token, unless it is of no use to this call.
    fn token(&self, call: &Attempts) -> Option<Token> {
        let record = self.record.as_ref().filter(|_| self.rejected.is_none())?;
        let secret = record.access_token.clone().filter(|_| call.refused != Some(self.serial))?;
        Some(Token { secret, serial: self.serial })
    }

    fn with_token(&mut self, now: Timestamp, call: &mut Attempts, token: Token) -> Decision {
        let Some(record) = &self.record else { return self.without_token(now, call) };
        let can_renew = record.refresh_token.is_some() || self.renewal == Renewal::Grant;
        let is_valid = record.is_valid(now);
        if !record.is_due(now) || is_valid && !can_renew {
            return Decision::Use(token);
        }
        match self.pause(now) {
            Some(_) if is_valid => Decision::Use(token),
            Some(pause) => pause.decision(),
            // It came for the sake of this call: however short its life is, nothing better is to be had.
            None if call.waited => Decision::Use(token),
            None => self.renew(call),
        }
    }

    fn without_token(&mut self, now: Timestamp, call: &mut Attempts) -> Decision {
        if self.busy {
            return self.renew(call);
        }
        // The errand that this call has waited for met trouble: the next call may try again.
        if let Some(pause) = self.pause.clone().filter(|_| call.waited) {
            return pause.decision();
        }
        let refused = call.refused == Some(self.serial) && self.rejected.is_none();
        let has_tokens = self
            .record
            .as_ref()
            .is_some_and(|record| record.access_token.is_some() || record.refresh_token.is_some());
        if refused && has_tokens
            || self.record.as_ref().is_some_and(|r| r.refresh_token.is_some()) && self.rejected.is_none()
        {
            return match self.pause(now) {
                Some(pause) => pause.decision(),
                None => self.renew(call),
            };
        }
        let is_time = self.looked_at.is_none_or(|at| now.since(at) >= LOOK_EVERY || now < at);
        if is_time && !std::mem::replace(&mut call.looked, true) {
            return Decision::Look;
        }
        match (self.renewal, self.pause(now)) {
            (_, Some(pause)) => pause.decision(),
            (Renewal::Grant, None) if !call.waited => self.renew(call),
            _ => Decision::SignIn(self.rejected.clone()),
        }
    }

    fn renew(&mut self, call: &mut Attempts) -> Decision {
        call.waited = true;
        self.begin(Purpose::Renew).map_or(Decision::Wait, |errand| Decision::Begin(Box::new(errand)))
    }

    /// Begins an errand, for a task of its own; `None` while another one is under way.
    pub fn begin(&mut self, purpose: Purpose) -> Option<Errand> {
        if std::mem::replace(&mut self.busy, true) {
            return None;
        }
        Some(Errand::new(purpose, self.renewal, self.record.clone(), self.unwritten))
    }

    /// Notes that the resource refuses the token with this serial although it is fresh. A returned errand is to be carried out.
    pub fn rejected(&mut self, now: Timestamp, serial: u64) -> Option<Errand> {
        // One that has ended on its way was refused for that: the next call renews it.
        let has_ended = self.record.as_ref().is_none_or(|record| !record.is_valid(now));
        if serial != self.serial || self.rejected.is_some() || has_ended {
            return None;
        }
        self.refuse(now, ErrorCode::new("invalid_token"));
        self.begin(Purpose::Reject)
    }

    /// Takes the store's record, or why it cannot be read, after [`Decision::Look`] or at any other time.
    pub fn looked(&mut self, now: Timestamp, stored: Result<Option<TokenRecord>, String>) {
        self.looked_at = Some(now);
        match stored {
            Ok(stored) if !self.busy && !self.unwritten => self.adopt(stored),
            Ok(_) => {}
            Err(reason) => self.trouble(now, None, PauseCause::Unavailable(reason)),
        }
    }

    /// An errand is over.
    pub fn finished(&mut self, now: Timestamp, outcome: ErrandOutcome) {
        self.busy = false;
        match outcome {
            ErrandOutcome::Record { record, unwritten, .. } => {
                self.unwritten = unwritten;
                self.pause = None;
                self.adopt(Some(*record));
            }
            ErrandOutcome::Absent => {
                self.pause = None;
                self.adopt(None);
            }
            ErrandOutcome::Refused { record, code } => {
                if self.renewal != Renewal::Grant {
                    self.pause = None;
                }
                self.unwritten = false;
                self.adopt(record.map(|record| *record));
                self.refuse(now, code);
            }
            ErrandOutcome::Unavailable { reason, retry_after } => {
                self.trouble(now, retry_after, PauseCause::Unavailable(reason))
            }
        }
    }

    /// The errand under way ended without an outcome, since its task did.
    pub fn abandoned(&mut self, now: Timestamp) {
        self.busy = false;
        self.trouble(now, None, PauseCause::Unavailable("the renewal was interrupted".to_owned()));
    }

    fn adopt(&mut self, record: Option<TokenRecord>) {
        let has_other_tokens = match (&record, &self.record) {
            (Some(new), Some(old)) => new.has_other_tokens(old),
            (new, old) => new.is_some() != old.is_some(),
        };
        let error = record
            .as_ref()
            .and_then(|record| record.last_error.as_ref())
            .map(|error| ErrorCode::new(&error.code));
        if has_other_tokens {
            self.serial += 1;
            self.rejected = None;
            if matches!(&self.pause, Some(Pause { why: PauseCause::Refused(_), .. })) && error.is_none() {
                self.pause = None;
            }
        }
        if error.is_none() && self.rejected.is_some() && !has_other_tokens && record.is_some() {
            // A refusal that this process knows of and the store does not.
            self.record = record;
            return;
        }
        self.rejected = error;
        self.record = record;
    }

    fn refuse(&mut self, now: Timestamp, code: ErrorCode) {
        if self.renewal == Renewal::Grant {
            self.trouble(now, None, PauseCause::Refused(code.clone()));
        }
        self.rejected = Some(code);
    }

    fn trouble(&mut self, now: Timestamp, asked: Option<Duration>, why: PauseCause) {
        let doubled = self.pause.as_ref().map_or(FIRST_PAUSE, |pause| pause.length * 2).min(LONGEST_PAUSE);
        let length = asked.map_or(doubled, |asked| asked.clamp(FIRST_PAUSE, LONGEST_PAUSE));
        self.pause = Some(Pause { until: now + length, length, why });
    }

    /// The pause, if it lasts.
    fn pause(&self, now: Timestamp) -> Option<Pause> {
        // A clock that was set back makes no pause longer than it is.
        self.pause.clone().filter(|pause| now < pause.until && pause.until.since(now) <= pause.length)
    }

    /// The scopes requested so far, and those that calls were found to lack.
    #[must_use]
    pub fn wanted(&self) -> Option<&Scopes> {
        self.record.as_ref().map(|record| &record.scope_wanted)
    }
}

impl Pause {
    fn decision(self) -> Decision {
        match self.why {
            PauseCause::Unavailable(reason) => Decision::Unavailable { reason, until: self.until },
            PauseCause::Refused(code) => Decision::SignIn(Some(code)),
        }
    }
}
