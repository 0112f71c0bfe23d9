//! Tokens that are kept: their record, whether they are still good, and what happens when they are not (`auth.md` 6, 7.1).
//!
//! * [`TokenRecord`] is what a store holds.
//! * [`TokenState`] is what a process knows of one key of the store. Every call asks it for a token ([`TokenState::decide`]).
//! * [`Errand`] is what one task does under the lock of the key: renew, write again, note a wish or a refusal.
//! * [`Attempts`] counts, for one call, how often the resource refused a token.

mod attempts;
mod errand;
mod record;
mod state;

pub use attempts::{AfterRefusal, Attempts};
pub use errand::{Errand, ErrandStep, LOCK_TIMEOUT, Outcome, Purpose, Renewal};
pub use record::{LastError, TokenRecord};
pub use state::{Decision, Token, TokenState};
