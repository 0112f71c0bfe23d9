//! `requestState` (waiting.md 5): what a client carries from one call to the next, sealed. What is in it is known to those
//! who make it (`runs/src/request_state.rs`).
//!
//! * [`RequestStates`] — seals and opens states.
//! * [`StateBinding`] — the request that a state belongs to.
//! * [`StateRefusal`] — the reason why a state is refused, as the client reads it.

mod arguments;
mod refusal;
mod seal;

#[cfg(test)]
mod tests;

pub use arguments::arguments_digest;
pub use refusal::StateRefusal;
pub use seal::{NotSealed, Opened, RequestStates, StateBinding, StateRules};
