//! The catalog: the tools that the configured upstreams offer, and every view of them.
//!
//! A [`Catalog`] is an immutable, scrubbed snapshot, the same for every transport: programs cannot see how an upstream
//! is reached. It provides the text in the tool descriptions ([`describe`], [`snapshot`]), the answers to the discovery
//! forms ([`Query`]), and the checks and argument spelling of a `tool/call` ([`check_call`], `spell_arguments`). All
//! code is synchronous and pure: equal snapshots give byte-equal answers.

mod access;
mod argument_notes;
mod arguments;
mod call;
mod describe;
mod discovery;
mod doc;
mod entry;
mod exposure;
#[cfg(test)]
pub(crate) mod fixtures;
mod marks;
mod not_accepted;
mod paging;
mod payload;
mod programs;
mod prose;
mod rest_arguments;
mod search;
mod shape;
mod tokens;
mod types;
mod unknown_arguments;

pub use call::{CheckedCall, check_call, check_large_call};
pub(crate) use call::{MAX_TOOL_NAME, shown};
pub(crate) use call::{only_listed, unknown_server, unknown_tool};
pub use describe::{CatalogMode, CatalogText, describe, snapshot};
pub use discovery::{DiscoveryAnswer, DiscoveryFault, Needs, Query, ToolRef, WorldFault};
pub use doc::{tool_doc, tool_meta};
pub(crate) use entry::Restrictions;
pub use entry::{Catalog, ServerEntry, ToolEntry};
pub use exposure::{Exposure, exposed_name, split_exposed_name, unexposable};
pub use marks::{Mark, OtherTools, marks};
pub(crate) use not_accepted::{note as pin_note, refused_unlisted, withheld};
pub use programs::DescribedProgram;
pub use ptc_base::name_pattern::NamePattern;
pub use search::find_tools;
pub(crate) use shape::changed_shape;
