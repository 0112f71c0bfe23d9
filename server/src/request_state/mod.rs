//! `requestState` (waiting.md 5): a program that waits travels with its client, sealed, and whatever replica has the secret goes on
//! with it.
//!
//! * [`RequestStates`] — seals and opens states.
//! * [`Bound`] — the request that a state belongs to.
//! * [`Content`], [`Carried`] — what is in one.
//! * [`Refusal`] — why one is refused, as the client reads it.

mod arguments;
mod content;
mod refusal;
mod seal;

#[cfg(test)]
mod tests;

pub(crate) use arguments::arguments_digest;
pub(crate) use content::{Carried, Content, Jti};
pub(crate) use refusal::Refusal;
pub(crate) use seal::{Bound, NotSealed, Opened, RequestStates, StateRules};
