//! What a caller may do (auth.md 14): the file of rules, the caller that they are matched against, and the sum of what the
//! matching rules grant.
//!
//! | Module | Content |
//! |---|---|
//! | [`caller`] | the facts about a caller that rules match on |
//! | [`policy`] | the file, and the grants of callers |
//! | [`grant`] | what one set of rules permits: tools, arguments, identities, limits |
//! | [`argument`] | rules on the arguments of a call |
//! | [`path`] | paths in arguments, in the one form in which they are compared |
//! | [`profile`] | named parts of the upstreams |
//! | [`limits`] | how much a caller may use |
//!
//! Sans-I/O: files are read by whoever has them.

pub mod argument;
pub mod caller;
pub mod grant;
pub mod limits;
mod parse;
pub mod path;
pub mod policy;
pub mod profile;
mod rule;

pub use argument::{ArgumentRefusal, ArgumentRule};
pub use caller::{Authority, Caller, Claim};
pub use grant::{Access, Grant, Identity};
pub use limits::Limits;
pub use policy::{Policy, PolicyError};
pub use profile::Profiles;
