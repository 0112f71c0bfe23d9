//! Tools beside those of the product, whose set depends on the caller and changes while the server runs.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;

use super::listing::{Section, rendered};
use super::{Definition, Tool, ToolName};
use crate::client::{ListStyle, LongText};
use crate::client_schemas::SchemaDialect;
use crate::principal::Principal;

/// A set of tools that depends on the caller, and on what there is at the moment. A name that the product itself has is never
/// looked for here.
pub trait ToolSource: Send + Sync {
    /// The tools that this caller sees, in order of the labels. What has not changed is the same listing again.
    fn listings(&self, caller: &Principal) -> Vec<Arc<SourceListing>>;

    /// What is waited for, a moment, before this caller's list is made; `None` if it can be made at once.
    fn before_listing(&self, caller: &Principal) -> Option<BoxFuture<'static, ()>> {
        let _ = caller;
        None
    }

    /// The tool of that name, if this caller sees it.
    fn find(&self, name: &str, caller: &Principal) -> Option<(ToolName, Arc<dyn Tool>)>;

    /// Records that the policy denies this caller a tool of that name, of which [`find`](Self::find) says nothing; `false` if it is
    /// unknown for another reason. By default no policy denies anything.
    fn records_denial(&self, name: &str, caller: &Principal) -> bool {
        let _ = (name, caller);
        false
    }

    /// A number that is another one after each change of what callers may see.
    fn revision(&self) -> u64;
}

/// Where the tools of a source stand in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourcePlace {
    /// Before those of the product.
    First,
    /// After those of the product.
    Last,
}

/// A part of the tools of a source, rendered when it is first listed.
pub struct SourceListing {
    label: Arc<str>,
    /// Sorted by name; each name once.
    definitions: Vec<Definition>,
    /// For each style.
    sections: [[OnceLock<Arc<Section>>; SchemaDialect::ALL.len()]; LongText::ALL.len()],
}

impl SourceListing {
    /// The part of this label, one of its source. Of several tools of one name the first one counts.
    pub fn new(label: impl Into<Arc<str>>, mut definitions: Vec<Definition>) -> SourceListing {
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        definitions.dedup_by(|later, first| later.name == first.name);
        SourceListing { label: label.into(), definitions, sections: Default::default() }
    }

    /// Its label.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Its tools, sorted by name.
    pub fn definitions(&self) -> &[Definition] {
        &self.definitions
    }

    /// The tool of that name.
    pub fn definition(&self, name: &str) -> Option<&Definition> {
        let at = self.definitions.binary_search_by(|known| (*known.name).cmp(name)).ok()?;
        self.definitions.get(at)
    }

    /// Its text for clients of this style.
    pub(super) fn section(&self, style: ListStyle) -> Arc<Section> {
        let section = &self.sections[style.long_text as usize][style.schemas as usize];
        section.get_or_init(|| Arc::new(rendered(&self.definitions, style))).clone()
    }
}
