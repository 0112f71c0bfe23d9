//! Stored tokens: their record, their validity, and their renewal (`auth.md` 6, 7.1).
//!
//! * [`TokenRecord`] is the stored record.
//! * [`TokenState`] is a process's knowledge of one key of the store. Every call asks it for a token ([`TokenState::decide`]).
//! * [`Errand`] is the work of one task under the lock of the key: renew, write again, note a wish or a refusal.
//! * [`Attempts`] counts, for one call, how often the resource refused a token.

mod attempts;
mod errand;
mod record;
mod state;

pub use attempts::{AfterRefusal, Attempts};
pub use errand::{Errand, ErrandOutcome, ErrandStep, LOCK_TIMEOUT, Purpose, Renewal};
pub use record::{LastError, TokenRecord};
pub use state::{Decision, Token, TokenState};
