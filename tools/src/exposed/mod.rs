//! Upstream tools as tools of our own clients (`--expose tools`, server.md 4.8).

mod definition;
mod reply;
mod tool;

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::aggregator::{CurrentUpstreams, View};
use ptc_host::catalog::{Catalog, Exposure, ServerEntry, ToolEntry, exposed_name, split_exposed_name};
use ptc_host::sync::Mutex;
use tracing::warn;

use crate::evaluator::Evaluator;
use crate::lisp_eval::EvalOptions;
use crate::text_tool::{TextTool, ToolParts};
use definition::definition;
use ptc_protocol::principal::Principal;
use ptc_protocol::tool::{SourceListing, Tool, ToolName, ToolSource};
use ptc_runs::{ProgramSource, ResumableProgram, RunHandle, StoredCall};
use tool::ExposedTool;

/// Upstreams whose rendered tools are kept: those that were listed last. Callers with other rights see other entries of one.
const MOST_ENTRIES: usize = 256;
/// The most tools whose names others have that the operator is told of.
const MOST_TOLD: usize = 256;

/// The exposed tools of the upstreams.
pub struct ExposedTools {
    upstreams: Arc<CurrentUpstreams>,
    exposure: Exposure,
    parts: Arc<ToolParts>,
    /// Names that the product has itself.
    own_names: Vec<ToolName>,
    listed: Mutex<Listed>,
}

/// What was listed.
#[derive(Default)]
struct Listed {
    /// The latest last.
    entries: Vec<(Arc<ServerEntry>, Arc<SourceListing>)>,
    /// What the operator was told of tools whose names others have.
    told: HashSet<String>,
    /// All of it, and how often that has changed.
    all: Catalog,
    revision: u64,
}

impl Listed {
    /// Keeps what is listed of an upstream. Entries that nobody else has were replaced: an upstream that changes its list again and
    /// again leaves nothing behind.
    fn keep(&mut self, entry: Arc<ServerEntry>, listing: Arc<SourceListing>) {
        self.entries.retain(|(known, _)| Arc::strong_count(known) > 1);
        if self.entries.len() >= MOST_ENTRIES {
            self.entries.remove(0);
        }
        self.entries.push((entry, listing));
    }
}

impl ExposedTools {
    /// Those of these upstreams. `own_names`: tools that the product has itself.
    pub fn new(
        upstreams: Arc<CurrentUpstreams>,
        exposure: Exposure,
        evaluator: Arc<dyn Evaluator>,
        options: EvalOptions,
        max_arguments: usize,
        own_names: Vec<ToolName>,
    ) -> ExposedTools {
        let parts = Arc::new(ToolParts { evaluator, options, max_arguments });
        ExposedTools { upstreams, exposure, parts, own_names, listed: Mutex::default() }
    }

    /// The tools of one upstream, without those whose names the product has.
    fn listing_of(&self, entry: &Arc<ServerEntry>) -> Arc<SourceListing> {
        let mut listed = self.listed.lock();
        if let Some(at) = listed.entries.iter().position(|(known, _)| Arc::ptr_eq(known, entry)) {
            let known = listed.entries.remove(at);
            let listing = known.1.clone();
            listed.entries.push(known);
            return listing;
        }
        let tools = entry.tools().iter().filter(|tool| !entry.refuses(&tool.name));
        let tools = tools.filter(|tool| match &tool.exposed_as {
            Some(name) if self.is_own(name) => {
                let (upstream, tool) = (entry.name.as_str(), tool.name.as_str());
                warn!(
                    event = "exposed_tool_left_out",
                    upstream,
                    tool,
                    reason = "the server has a tool of its name"
                );
                false
            }
            exposed => exposed.is_some(),
        });
        let exposed = tools.filter_map(|tool| Some((tool, tool.exposed_as.clone()?)));
        let runs = self.parts.options.runs.as_ref();
        let definitions =
            exposed.map(|(tool, name)| definition(name.into(), &entry.name, tool, runs)).collect();
        let listing = Arc::new(SourceListing::new(entry.name.as_str(), definitions));
        listed.keep(entry.clone(), listing.clone());
        listing
    }

    /// The tools that a view shows. Of two tools of one name neither is listed: nobody could tell them apart.
    fn listings_of(&self, view: &View<'_>) -> Vec<Arc<SourceListing>> {
        let catalog = view.advertised();
        let mut listings: Vec<_> = catalog.entries().iter().map(|entry| self.listing_of(entry)).collect();
        listings.retain(|listing| !listing.held().is_empty());
        let several = catalog.names_of_several();
        if !several.is_empty() {
            self.tell_names(&catalog);
            let without = |listing: &Arc<SourceListing>| {
                let kept = listing.held().iter().filter(|tool| !several.contains(&*tool.name)).cloned();
                Arc::new(SourceListing::new(listing.label().clone(), kept.collect()))
            };
            listings = listings.iter().map(without).collect();
        }
        listings.retain(|listing| !listing.held().is_empty());
        listings
    }

    /// Tells the operator of tools that are none of clients, since tools of other upstreams have their names: of each once.
    fn tell_names(&self, catalog: &Catalog) {
        for remark in catalog.name_remarks() {
            let mut listed = self.listed.lock();
            if listed.told.len() < MOST_TOLD && listed.told.insert(remark.clone()) {
                drop(listed);
                warn!(event = "exposed_tool_left_out", reason = %remark);
            }
        }
    }

    /// The tool of that name for a caller, and the names of its upstream and of itself.
    fn resolve(&self, name: &str, caller: &Principal) -> Option<ExposedTool> {
        let upstreams = self.upstreams.current();
        let view = upstreams.view(caller.authority()).of(caller.known_name());
        let catalog = view.advertised();
        let found = |entry: &ServerEntry, tool: &Arc<ToolEntry>| {
            let name = tool.exposed_as.clone().filter(|exposed| **exposed == *name)?;
            Some(ExposedTool::new(name, entry.name.as_str().into(), tool.clone(), self.parts.clone()))
        };
        // A name without a digest says whose it is. One with a digest may be the same as another's.
        if let Some((server, plain)) = split_exposed_name(name) {
            let entry = catalog.server(server).filter(|_| !self.is_own(name))?;
            if !entry.loaded {
                // Whether there is such a tool is found out by its call.
                let is_named = self.exposure.exposes(server, plain) && exposed_name(server, plain) == *name;
                return is_named.then(|| ExposedTool::unlisted(name, server, plain, self.parts.clone()));
            }
            return match entry.shared_tool(plain) {
                Some(tool) if entry.refuses(&tool.name) => None,
                Some(tool) => found(entry, tool),
                None => self.withheld(entry, name),
            };
        }
        let listings = self.listings_of(&view);
        let Some(listing) = listings.iter().find(|listing| has(listing, name)) else {
            return catalog.entries().iter().find_map(|entry| self.withheld(entry, name));
        };
        let entry = catalog.server(listing.label())?;
        found(entry, entry.tools().iter().find(|tool| tool.exposed_as.as_deref() == Some(name))?)
    }

    /// A tool that would be listed if somebody had accepted it: a client that knows it from before is told why its call is refused.
    fn withheld(&self, entry: &ServerEntry, name: &str) -> Option<ExposedTool> {
        let server = &entry.name;
        let mut withheld = entry.withheld().filter(|tool| !entry.refuses(&tool.name));
        let tool = withheld.find(|tool| {
            exposed_name(server, &tool.name) == *name && self.exposure.exposes(server, &tool.name)
        })?;
        Some(ExposedTool::unlisted(name, server, &tool.name, self.parts.clone()))
    }

    fn is_own(&self, name: &str) -> bool {
        self.own_names.iter().any(|own| own == name)
    }
}

fn has(listing: &SourceListing, name: &str) -> bool {
    listing.held().binary_search_by(|known| (*known.name).cmp(name)).is_ok()
}

impl ToolSource for ExposedTools {
    fn listings(&self, caller: &Principal) -> Vec<Arc<SourceListing>> {
        let upstreams = self.upstreams.current();
        self.listings_of(&upstreams.view(caller.authority()).of(caller.known_name()))
    }

    fn before_listing(&self, caller: &Principal) -> Option<BoxFuture<'static, ()>> {
        let upstreams = self.upstreams.current();
        if upstreams.view(caller.authority()).of(caller.known_name()).unlisted().is_empty() {
            return None;
        }
        let caller = caller.clone();
        let load = async move {
            upstreams.view(caller.authority()).of(caller.known_name()).load_unlisted().await;
        };
        Some(load.boxed())
    }

    fn find(&self, name: &str, caller: &Principal) -> Option<(ToolName, Arc<dyn Tool>)> {
        let tool = self.resolve(name, caller)?;
        Some((tool.name().clone(), Arc::new(tool)))
    }

    fn records_denial(&self, name: &str, caller: &Principal) -> bool {
        let upstreams = self.upstreams.current();
        let all = upstreams.unfiltered().advertised();
        let tools =
            all.entries().iter().flat_map(|entry| entry.tools().iter().map(move |tool| (entry, tool)));
        let mut listed = tools.filter(|(_, tool)| tool.exposed_as.as_deref() == Some(name));
        // Rules are about names, whether or not the upstream has such a tool.
        let named = || split_exposed_name(name).filter(|(server, tool)| self.exposure.exposes(server, tool));
        let meant =
            listed.next().map(|(entry, tool)| (entry.name.as_str(), tool.name.as_str())).or_else(named);
        let view = upstreams.view(caller.authority()).of(caller.known_name());
        meant.is_some_and(|(upstream, tool)| view.records_denial(upstream, tool))
    }

    fn revision(&self) -> u64 {
        let upstreams = self.upstreams.current();
        let now = upstreams.unfiltered().advertised();
        let mut listed = self.listed.lock();
        let same = |(a, b): (&Arc<ServerEntry>, &Arc<ServerEntry>)| Arc::ptr_eq(a, b);
        let (before, after) = (listed.all.entries(), now.entries());
        if before.len() != after.len() || !before.iter().zip(after).all(same) {
            listed.all = now;
            listed.revision += 1;
        }
        listed.revision
    }
}

impl ProgramSource for ExposedTools {
    fn prepare_again(
        &self,
        tool: &str,
        call: &StoredCall,
        principal: &Principal,
        run: &RunHandle,
    ) -> Option<ResumableProgram> {
        self.resolve(tool, principal)?.prepare_again(call, principal, run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
    use ptc_host::credentials::Redactor;
    use ptc_mcp::json::json;

    #[test]
    fn lists_that_were_replaced_are_not_kept() {
        let env = ProcessEnv::default();
        let file = json!({"upstreams": {"s": {"transport": "mcp_stdio", "command": "s"}}});
        let options = LoadOptions { env: &env, base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&file, &options).unwrap();
        let redactor = Redactor::default();
        let listing = || Arc::new(SourceListing::new("s", Vec::new()));
        let entry =
            || Arc::new(ServerEntry::loaded(&config.upstreams[0], vec![json!({"name": "t"})], &redactor));
        let mut listed = Listed::default();
        let stays = entry();
        listed.keep(stays.clone(), listing());
        for _ in 0..2 * MOST_ENTRIES {
            listed.keep(entry(), listing());
            assert!(listed.entries.len() <= 2);
        }
        assert!(Arc::ptr_eq(&listed.entries[0].0, &stays), "somebody has it");
        let others: Vec<_> = (0..2 * MOST_ENTRIES).map(|_| entry()).collect();
        for other in &others {
            listed.keep(other.clone(), listing());
        }
        assert_eq!(listed.entries.len(), MOST_ENTRIES);
    }
}
