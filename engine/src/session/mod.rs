//! Session values, which persist between programs on the worker that owns them.
//!
//! A [`SessionStore`] holds the sessions of one worker. While a program runs, it owns its session's state, and the
//! place keeps the last committed state for readers. With [`SessionRules`] a result is stored only within
//! [`SessionLimits`]; otherwise the session is left unchanged.

mod lock;
mod place;
#[cfg(feature = "saved-sessions")]
mod restored;
mod rules;
#[cfg(feature = "saved-sessions")]
pub mod saved;
mod size;
mod state;

pub(super) use lock::SessionLock;
pub use place::{SessionKey, SessionPlace, SessionStore};
pub use rules::{SessionLimits, SessionRules};
pub use size::{measure, measure_history, measure_strings};
pub(super) use state::Discarded;
pub use state::{SessionState, SessionView};
