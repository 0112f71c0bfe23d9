//! The work of one task on a key of the store, under its lock.

use std::time::Duration;

use super::record::{LastError, TokenRecord};
use crate::error_code::ErrorCode;
use crate::grants::{GrantError, TokenAnswer};
use crate::scopes::Scopes;
use crate::timestamp::Timestamp;

/// How long the lock of a key is waited for.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How new tokens come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// By the refresh token.
    Refresh {
        /// Whether the client came from dynamic registration, which is dropped if the server does not know it any more.
        dynamic_client: bool,
    },
    /// By the grant itself, which needs no person: `client_credentials`, `id_jag`.
    Grant,
}

/// The purpose of an errand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// New tokens, since those held are due or refused.
    Renew,
    /// Tokens that could not be written are written again.
    WriteAgain,
    /// Scopes that a call was found to lack are noted. Where no person takes part, new tokens are fetched with them.
    Want(Scopes),
    /// The resource refuses even a fresh token: this is noted.
    Reject,
}

/// The task's next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrandStep {
    /// Take the lock of the key, waiting up to [`LOCK_TIMEOUT`]; then [`Errand::locked`].
    Lock,
    /// Read the record; then [`Errand::read`].
    Read,
    /// Ask for tokens by this record: with its refresh token, or by the grant with its `scope_wanted`; then
    /// [`Errand::answered`]. `None` where nothing is known yet and the grant needs nothing.
    Ask(Option<Box<TokenRecord>>),
    /// Write this record and have it on the disk; then [`Errand::written`].
    Write(Box<TokenRecord>),
    /// Delete the registration of the client; then [`Errand::dropped`].
    DropClient,
    /// It is over: give the lock back, and tell [`TokenState::finished`](super::TokenState::finished).
    Done(ErrandOutcome),
}

/// The outcome of an errand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrandOutcome {
    /// This is the record now.
    Record {
        /// The record.
        record: Box<TokenRecord>,
        /// Whether the store does not have it, since writing failed.
        unwritten: bool,
        /// Whether this errand requested the tokens, rather than another process.
        renewed: bool,
    },
    /// There is no sign-in: the store has no record.
    Absent,
    /// The server refused. The record has no tokens now, or they are of no use.
    Refused {
        /// The record, if there is one.
        record: Option<Box<TokenRecord>>,
        /// Why.
        code: ErrorCode,
    },
    /// Nothing has changed, since the server, the lock or the store was unavailable.
    Unavailable {
        /// Why, as a text for `cannot renew the sign-in to upstream …: `.
        reason: String,
        /// How long the server wants to be left alone.
        retry_after: Option<Duration>,
    },
}

#[derive(Debug, PartialEq, Eq)]
enum ErrandStage {
    Locking,
    Reading,
    Asking,
    /// The grant was refused: another process may have been faster.
    Rereading(ErrorCode),
    Writing(ErrandOutcome),
    Dropping(ErrorCode),
    Done,
}

/// One errand under the lock of a key: lock, read, and if necessary request and write. Its task continues when the call that
/// wanted it is cancelled: an answer that is not stored is a lost rotation (`auth.md` 6.2).
///
/// A call that does not fit the stage has no effect, and repeats the step that is due.
#[derive(Debug)]
pub struct Errand {
    purpose: Purpose,
    renewal: Renewal,
    held: Option<TokenRecord>,
    /// Whether the store lacks `held`.
    unwritten: bool,
    now: Timestamp,
    /// The record whose tokens the request uses.
    base: Option<TokenRecord>,
    stage: ErrandStage,
    due: ErrandStep,
}

impl Errand {
    /// An errand of a process that holds `held`.
    pub(super) fn new(
        purpose: Purpose,
        renewal: Renewal,
        held: Option<TokenRecord>,
        unwritten: bool,
    ) -> Self {
        let now = Timestamp::default();
        Self {
            purpose,
            renewal,
            held,
            unwritten,
            now,
            base: None,
            stage: ErrandStage::Locking,
            due: ErrandStep::Lock,
        }
    }

    /// The action to take now.
    #[must_use]
    pub fn step(&self) -> &ErrandStep {
        &self.due
    }

    /// The lock was taken, or was unavailable.
    pub fn locked(&mut self, taken: bool) -> &ErrandStep {
        if self.stage == ErrandStage::Locking {
            if taken {
                self.go(ErrandStage::Reading, ErrandStep::Read);
            } else {
                self.unavailable("another process holds the lock of the sign-in".to_owned(), None);
            }
        }
        &self.due
    }

    /// Takes the store's record, or why it cannot be read.
    pub fn read(&mut self, now: Timestamp, stored: Result<Option<TokenRecord>, String>) -> &ErrandStep {
        self.now = now;
        match (&self.stage, stored) {
            (ErrandStage::Reading | ErrandStage::Rereading(_), Err(reason)) => self.unavailable(reason, None),
            (ErrandStage::Reading, Ok(stored)) => self.compare(stored),
            (ErrandStage::Rereading(code), Ok(stored)) => {
                let code = code.clone();
                self.compare_again(stored, code);
            }
            _ => {}
        }
        &self.due
    }

    /// Takes the answer to the request for tokens.
    pub fn answered(&mut self, now: Timestamp, answer: Result<TokenAnswer, GrantError>) -> &ErrandStep {
        if self.stage != ErrandStage::Asking {
            return &self.due;
        }
        self.now = now;
        match answer {
            Ok(answer) => {
                let record = match &self.base {
                    Some(base) => base.renewed(answer),
                    None => TokenRecord::signed_in(answer, None, self.wanted(), false),
                };
                self.write(record, true);
            }
            Err(GrantError::Refused { code, .. }) if code.ends_sign_in() => {
                self.go(ErrandStage::Rereading(code), ErrandStep::Read);
            }
            // Nothing that ends a sign-in: it is tried again later.
            Err(GrantError::Refused { code, .. }) => {
                let reason = format!("the authorization server answered: {}", code.registered());
                self.unavailable(reason, None);
            }
            Err(GrantError::Unavailable { reason, retry_after }) => self.unavailable(reason, retry_after),
            Err(fault) => self.unavailable(crate::failure::Failure::from(fault).to_string(), None),
        }
        &self.due
    }

    /// The record was written, or was not.
    pub fn written(&mut self, written: bool) -> &ErrandStep {
        if let ErrandStage::Writing(outcome) = &mut self.stage {
            if let ErrandOutcome::Record { unwritten, .. } = outcome {
                *unwritten = !written;
            }
            let outcome = outcome.clone();
            self.done(outcome);
        }
        &self.due
    }

    /// The registration was deleted.
    pub fn dropped(&mut self) -> &ErrandStep {
        if let ErrandStage::Dropping(code) = &self.stage {
            let code = code.clone();
            self.refuse(code);
        }
        &self.due
    }

    /// The first look at the store.
    fn compare(&mut self, stored: Option<TokenRecord>) {
        let newer = self.is_newer(stored.as_ref());
        let base = if newer || self.held.is_none() {
            stored
        } else if self.unwritten {
            self.held.clone()
        } else {
            stored
        };
        match (&self.purpose, base) {
            (Purpose::Renew, Some(base)) if newer && self.is_good(&base) => self.adopt(base),
            (Purpose::WriteAgain, Some(base)) if newer => self.adopt(base),
            (Purpose::Want(scopes), Some(base)) if self.renewal != Renewal::Grant => {
                let base = base.wanting(scopes);
                self.write(base, false);
            }
            (Purpose::WriteAgain, Some(base)) => self.write(base, false),
            (Purpose::Reject, Some(base)) if newer => self.adopt(base),
            (Purpose::Reject, Some(base)) => {
                let error = self.error(&ErrorCode::new("invalid_token"));
                self.write(base.with_error(error), false);
            }
            (Purpose::Renew | Purpose::Want(_), base) if self.renewal == Renewal::Grant => {
                let wanted = self.wanted();
                self.base =
                    base.map(|base| TokenRecord { scope_wanted: base.scope_wanted.union(&wanted), ..base });
                self.ask();
            }
            (_, None) => self.done(ErrandOutcome::Absent),
            // Somebody has signed out.
            (_, Some(base))
                if base.access_token.is_none()
                    && base.refresh_token.is_none()
                    && base.last_error.is_none() =>
            {
                self.done(ErrandOutcome::Absent);
            }
            (_, Some(base)) if base.refresh_token.is_some() => {
                self.base = Some(base);
                self.ask();
            }
            (_, Some(base)) => {
                // Nothing to renew with: whatever is still good is used until its end.
                let code = match &base.last_error {
                    Some(error) => ErrorCode::new(&error.code),
                    None => ErrorCode::new("invalid_token"),
                };
                let record = Some(Box::new(base));
                self.done(ErrandOutcome::Refused { record, code });
            }
        }
    }

    /// Whether the record of another process can be used as it is.
    fn is_good(&self, record: &TokenRecord) -> bool {
        let can_renew = record.refresh_token.is_some() || self.renewal == Renewal::Grant;
        record.last_error.is_none() && (!record.is_due(self.now) || record.is_valid(self.now) && !can_renew)
    }

    /// The second look, after the grant was refused.
    fn compare_again(&mut self, stored: Option<TokenRecord>, code: ErrorCode) {
        let asked_with = self.base.take();
        let others = match (&stored, &asked_with) {
            (Some(stored), Some(asked)) => {
                stored.has_other_tokens(asked) && stored.generation != asked.generation
            }
            (Some(_), None) => true,
            (None, _) => false,
        };
        match stored {
            Some(stored) if others && stored.is_signed_in(self.now) => self.adopt(stored),
            None if self.renewal != Renewal::Grant && !self.unwritten => self.done(ErrandOutcome::Absent),
            _ => {
                self.base = asked_with;
                let drop_client = self.renewal == Renewal::Refresh { dynamic_client: true };
                if drop_client && code.is_about_client() {
                    self.go(ErrandStage::Dropping(code), ErrandStep::DropClient);
                } else {
                    self.refuse(code);
                }
            }
        }
    }

    /// Notes the refusal in the record.
    fn refuse(&mut self, code: ErrorCode) {
        let error = self.error(&code);
        let Some(base) = self.base.take() else {
            return self.done(ErrandOutcome::Refused { record: None, code });
        };
        let dead = (code.is_about_grant() || code.is_about_client()) && self.renewal != Renewal::Grant;
        let record = if dead { base.without_tokens(Some(error)) } else { base.with_error(error) };
        let outcome = ErrandOutcome::Refused { record: Some(Box::new(record.clone())), code };
        self.go(ErrandStage::Writing(outcome), ErrandStep::Write(Box::new(record)));
    }

    fn error(&self, code: &ErrorCode) -> LastError {
        LastError { code: code.as_str().to_owned(), at: self.now.seconds() }
    }

    fn wanted(&self) -> Scopes {
        if let Purpose::Want(scopes) = &self.purpose { scopes.clone() } else { Scopes::default() }
    }

    /// Whether the store has tokens of a faster process. Any difference counts, unless the held record could not be written.
    fn is_newer(&self, stored: Option<&TokenRecord>) -> bool {
        match (stored, &self.held) {
            (Some(stored), Some(held)) if self.unwritten => stored.generation > held.generation,
            (Some(stored), Some(held)) => stored.has_other_tokens(held),
            (stored, _) => stored.is_some(),
        }
    }

    fn ask(&mut self) {
        self.go(ErrandStage::Asking, ErrandStep::Ask(self.base.clone().map(Box::new)));
    }

    fn adopt(&mut self, record: TokenRecord) {
        self.done(ErrandOutcome::Record { record: Box::new(record), unwritten: false, renewed: false });
    }

    fn write(&mut self, record: TokenRecord, renewed: bool) {
        let outcome = ErrandOutcome::Record { record: Box::new(record.clone()), unwritten: false, renewed };
        self.go(ErrandStage::Writing(outcome), ErrandStep::Write(Box::new(record)));
    }

    fn unavailable(&mut self, reason: String, retry_after: Option<Duration>) {
        self.done(ErrandOutcome::Unavailable { reason, retry_after });
    }

    fn done(&mut self, outcome: ErrandOutcome) {
        self.go(ErrandStage::Done, ErrandStep::Done(outcome));
    }

    fn go(&mut self, stage: ErrandStage, due: ErrandStep) {
        self.stage = stage;
        self.due = due;
    }
}
