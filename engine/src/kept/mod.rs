//! Kept programs as far as the engine knows them: what the heads in a text let them call, take and give.
//!
//! A text says all of it (language.md 12). So every path to a run, and every process that goes on with one, holds the same.

mod calls;
mod checks;
mod fault;
mod fields;
mod schema;
mod scopes;
mod served;
mod tools;

pub use fault::ProgramFault;
pub use fields::{Fields, json_of};
pub use schema::ProgramSchema;
pub use scopes::{HEAD_KEYS, LIMIT_KEYS};
pub use served::ServedPrograms;
pub use tools::ProgramTools;

pub(crate) use calls::{KeptCall, Refused, scoped};
pub(crate) use checks::KeptChecks;
pub(crate) use scopes::{KeptScopes, main_scope, scopes};
pub(crate) use served::show_programs;
