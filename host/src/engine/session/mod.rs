//! Values that sessions keep from program to program, on the worker that owns them.
//!
//! A [`SessionStore`] holds the places of one worker. While a program runs, its session's state is with the program
//! and the place keeps what was committed last, so that others can still look at it. With [`SessionRules`] a result
//! is stored only if it keeps within [`SessionLimits`]; otherwise the session is left as it was.

mod lock;
mod place;
mod rules;
mod size;
mod state;

pub(super) use lock::SessionLock;
pub use place::{SessionKey, SessionPlace, SessionStore};
pub use rules::{SessionLimits, SessionRules};
pub use size::{measure, measure_binding, measure_history, measure_strings};
pub use state::{SessionState, SessionView};
