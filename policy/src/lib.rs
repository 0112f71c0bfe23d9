//! What a caller may do (auth.md 14): the file of rules, the caller that they are matched against, and the sum of what the
//! matching rules grant.
//!
//! | Module | Content |
//! |---|---|
//! | [`caller`] | the facts about a caller that rules match on |
//! | [`policy`] | the file, and the grants of callers |
//! | [`current`] | the policy that holds now |
//! | [`grant`] | what one set of rules permits: tools, arguments, limits |
//! | [`identity`] | whose sign-in a rule expects |
//! | [`authority`] | a caller with its grant |
//! | [`argument`] | rules on the arguments of a call |
//! | [`path`] | paths in arguments, in the one form in which they are compared |
//! | [`profile`] | named parts of the upstreams |
//! | [`limits`] | how much a caller may use |
//! | [`quota`] | what a caller has used of its limits |
//! | [`explain`] | which rule and pattern decided, for people |
//!
//! Sans-I/O: files are read by whoever has them.

// Tests may read what they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod argument;
pub mod authority;
pub mod caller;
pub mod current;
pub mod explain;
pub mod grant;
pub mod identity;
pub mod limits;
mod parse;
pub mod path;
pub mod policy;
pub mod profile;
pub mod quota;
mod rule;
#[cfg(test)]
mod tests;

pub use argument::{ArgumentRefusal, ArgumentRule};
pub use authority::Authority;
pub use caller::{Caller, Claim, Knowledge};
pub use current::CurrentPolicy;
pub use explain::{Explanation, Verdict};
pub use grant::{Access, Grant};
pub use identity::Identity;
pub use limits::Limits;
pub use policy::{Policy, PolicyError};
pub use profile::Profiles;
pub use quota::{CallInFlight, QuotaError, Quotas};
