//! Tools beside those of the product, whose set depends on the caller and changes while the server runs.

use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;

use super::listing::{Section, rendered};
use super::{Definition, Tool, ToolName};
use crate::client::{ListStyle, LongText};
use crate::principal::Principal;
use crate::schemas::SchemaDialect;

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

/// The tools of a listing, sorted by name; each name once.
enum ListedDefinitions {
    Held(Vec<Definition>),
    /// Made when they are rendered, of what their source holds.
    Made(Box<dyn Fn() -> Vec<Definition> + Send + Sync>),
}

/// A part of the tools of a source, rendered when it is first listed.
pub struct SourceListing {
    label: Arc<str>,
    definitions: ListedDefinitions,
    /// For each style.
    sections: [[OnceLock<Arc<Section>>; SchemaDialect::ALL.len()]; LongText::ALL.len()],
}

impl SourceListing {
    /// The part of this label, one of its source. Of several tools of one name the first one counts.
    pub fn new(label: impl Into<Arc<str>>, mut definitions: Vec<Definition>) -> SourceListing {
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        definitions.dedup_by(|later, first| later.name == first.name);
        let definitions = ListedDefinitions::Held(definitions);
        SourceListing { label: label.into(), definitions, sections: Default::default() }
    }

    /// The part of this label, whose tools `make` gives whenever they are asked for: sorted by name, each name once, and the same
    /// each time.
    pub fn made(
        label: impl Into<Arc<str>>,
        make: impl Fn() -> Vec<Definition> + Send + Sync + 'static,
    ) -> SourceListing {
        let definitions = ListedDefinitions::Made(Box::new(make));
        SourceListing { label: label.into(), definitions, sections: Default::default() }
    }

    /// Its label.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// The tools that it holds, sorted by name: none of those that are [made](Self::made).
    pub fn held(&self) -> &[Definition] {
        match &self.definitions {
            ListedDefinitions::Held(definitions) => definitions,
            ListedDefinitions::Made(_) => &[],
        }
    }

    /// Its text for clients of this style.
    pub(super) fn section(&self, style: ListStyle) -> Arc<Section> {
        let section = &self.sections[style.long_text as usize][style.schemas as usize];
        let render = || match &self.definitions {
            ListedDefinitions::Held(definitions) => rendered(definitions, style),
            ListedDefinitions::Made(make) => rendered(&make(), style),
        };
        section.get_or_init(|| Arc::new(render())).clone()
    }
}
