//! Features of upstreams besides tools: resources, prompts, completions (upstreams.md 19).
//!
//! `ask` sends the requests, within an upstream's filters; `program` answers the forms of programs. Clients of the server
//! reach the same through [`Features`].

mod ask;
mod program;

pub use ask::{FeatureKind, Features, Listing};
pub(super) use program::{answer, asked_method};
