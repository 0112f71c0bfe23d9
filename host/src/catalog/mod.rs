//! The catalog: what the configured upstreams offer, and every way of showing it.
//!
//! A [`Catalog`] is an immutable, scrubbed snapshot that all transports share: programs cannot see how an upstream is
//! reached. From it come the text in the tool descriptions ([`describe`], [`snapshot`]), the answers to the discovery
//! forms ([`Query`]), and the checks and the argument spelling of a `tool/call` ([`check_call`], [`spell_arguments`]).
//! All of it is plain synchronous code: equal snapshots give byte-equal answers.

mod arguments;
mod call;
mod describe;
mod discovery;
mod doc;
mod entry;
#[cfg(test)]
mod fixtures;
mod search;
mod tokens;
mod types;

pub use call::{CheckedCall, check_call};
pub use describe::{CatalogMode, InlineLimits, describe, snapshot};
pub use discovery::{DiscoveryFault, Needs, Query, WorldFault};
pub use doc::{call_example, tool_doc, tool_meta};
pub use entry::{Catalog, ServerEntry, ToolEntry};
pub use search::{apropos, find_tools};
