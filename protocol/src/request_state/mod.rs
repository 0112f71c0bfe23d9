//! `requestState` (waiting.md 5): a suspended program is sent to its client, sealed, and any replica with the secret
//! can resume it.
//!
//! * [`RequestStates`] — seals and opens states.
//! * [`StateBinding`] — the request that a state belongs to.
//! * [`Content`], [`Carried`] — the content of a state.
//! * [`StateRefusal`] — the reason why a state is refused, as the client reads it.

mod arguments;
mod content;
mod refusal;
mod seal;

#[cfg(test)]
mod tests;

pub use arguments::arguments_digest;
pub use content::{Carried, Content, Jti};
pub use refusal::StateRefusal;
pub use seal::{NotSealed, Opened, RequestStates, StateBinding, StateRules};
