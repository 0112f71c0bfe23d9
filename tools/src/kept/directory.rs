//! Which kept programs are served, and to whom.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use ptc_host::aggregator::{CurrentUpstreams, View};
use ptc_host::catalog::{Catalog, CatalogMode, Exposure, split_exposed_name};
use ptc_host::engine::kept::ProgramTools;
use ptc_host::policy::Grant;
use ptc_host::sync::Mutex;
use ptc_programs::staleness::check_named_tools;
use tracing::info;

use super::judged::{Hints, JudgedProgram, JudgedSet, definition, remarks_on_tools};
use super::set::{CurrentPrograms, ServedProgram};
use super::told::Told;
use ptc_protocol::principal::Principal;
use ptc_protocol::tool::{SourceListing, ToolName};
use ptc_runs::Runs;

/// Grants whose listings are kept.
const MOST_GRANTS: usize = 64;

/// How kept programs are served.
#[derive(Debug, Clone, Default)]
pub struct KeptRules {
    /// Whether those are served too whose tools are not as they were approved with.
    pub serves_stale: bool,
    /// The upstreams' tools that clients have as tools: no program has the name of one.
    pub exposure: Option<Exposure>,
    /// How much of them a description lists where there are no upstreams, and in how many bytes.
    pub catalog: (CatalogMode, usize),
}

/// The programs of the set that holds, beside the upstreams' tools.
pub struct KeptDirectory {
    pub(crate) programs: Arc<CurrentPrograms>,
    pub(super) upstreams: Option<Arc<CurrentUpstreams>>,
    pub(super) rules: KeptRules,
    /// Names that the product has itself.
    own_names: OnceLock<Vec<ToolName>>,
    judgement: Mutex<Judgement>,
}

/// The tools that callers are listed, if there are any.
type Listed = Option<Arc<SourceListing>>;

/// The set that was judged last.
#[derive(Default)]
struct Judgement {
    judged: Arc<JudgedSet>,
    revision: u64,
    /// The listings of callers, those that were used last first; `None`: without a policy.
    listings: VecDeque<(Option<Arc<Grant>>, Listed)>,
    /// What the log has been told of programs that are not as they were approved.
    told: Told,
}

impl KeptDirectory {
    /// The programs of the set that holds, beside these upstreams.
    #[must_use]
    pub fn new(
        programs: Arc<CurrentPrograms>,
        upstreams: Option<Arc<CurrentUpstreams>>,
        rules: KeptRules,
    ) -> Arc<KeptDirectory> {
        let (own_names, judgement) = (OnceLock::new(), Mutex::default());
        Arc::new(KeptDirectory { programs, upstreams, rules, own_names, judgement })
    }

    /// Gives the product the names of its own tools: no program has one of them. Said once, when they are known; nothing is served
    /// before.
    pub fn reserve(&self, own_names: Vec<ToolName>) {
        let _ = self.own_names.set(own_names);
    }

    /// The programs as they stand now, beside the upstreams' tools of now.
    pub(super) fn judged(&self) -> Arc<JudgedSet> {
        if self.own_names.get().is_none() {
            return Arc::default();
        }
        let upstreams = self.upstreams.as_ref().map(|upstreams| upstreams.current());
        // What is advertised may be frozen, or of the last start.
        let view = upstreams.as_ref().map(|upstreams| upstreams.unfiltered());
        let catalog = view.as_ref().map(View::present).unwrap_or_default();
        let set = self.programs.current();
        let mut judgement = self.judgement.lock();
        if judgement.judged.is_of(&set, &catalog) {
            return judgement.judged.clone();
        }
        let shown = view.as_ref().map(View::advertised).unwrap_or_default();
        let mut judged = JudgedSet::of(set, catalog.clone(), &shown);
        let mut told = Told::default();
        judged.programs.retain(|program| self.is_served(program, &catalog, &mut told));
        told.log_since(&judgement.told);
        judgement.told = told;
        if !judged.lists_as(&judgement.judged) {
            judgement.revision += 1;
            judgement.listings.clear();
            info!(event = "programs_served", programs = judged.programs.len());
        }
        judgement.judged = Arc::new(judged);
        judgement.judged.clone()
    }

    /// Whether a program is served; `told` gets why not, or of what a person should know.
    fn is_served(&self, program: &JudgedProgram, catalog: &Catalog, told: &mut Told) -> bool {
        let (tool, name) = (program.served.tool(), &program.served.program.name);
        if self.names_another(tool, catalog) {
            told.program(format!("{name} is not served: another tool has the name {tool}"));
            return false;
        }
        let serves_stale = self.rules.serves_stale;
        let what = if serves_stale { "is served although it is stale" } else { "is stale, and not served" };
        if program.stale.is_empty() {
            return true;
        }
        told.stale(&format!("{name} {what}"), &program.stale);
        serves_stale
    }

    /// Whether another tool has this name: one of the product, or one of a catalog's that clients have as a tool.
    fn names_another(&self, tool: &str, catalog: &Catalog) -> bool {
        let is_exposed = || {
            let (server, plain) = split_exposed_name(tool)?;
            let exposure = self.rules.exposure.as_ref()?;
            Some(exposure.exposes(server, plain) && catalog.server(server).is_some())
        };
        let is_own = self.own_names.get().is_some_and(|names| names.iter().any(|own| **own == *tool));
        is_own || is_exposed() == Some(true)
    }

    /// Whether another tool has this name, of those that `caller` sees; `None`: of all.
    pub(crate) fn is_taken(&self, tool: &str, caller: Option<&Principal>) -> bool {
        let upstreams = self.upstreams.as_ref().map(|upstreams| upstreams.current());
        let catalog = upstreams.map_or_else(Catalog::default, |upstreams| match caller {
            Some(caller) => upstreams.view(caller.authority()).of(caller.known_name()).present(),
            None => upstreams.unfiltered().present(),
        });
        self.names_another(tool, &catalog)
    }

    /// What there is to say of `:tools` before somebody approves them, as a caller sees the upstreams.
    pub(crate) fn remarks(&self, tools: &ProgramTools, caller: &Principal) -> Vec<String> {
        self.with_view(caller, |view| match view {
            Some(view) => remarks_on_tools(view, tools),
            None => check_named_tools(tools, &BTreeMap::new(), |_| false).err().into_iter().collect(),
        })
    }

    /// What a caller sees of the upstreams, for `look`.
    pub(super) fn with_view<T>(&self, caller: &Principal, look: impl FnOnce(Option<&View<'_>>) -> T) -> T {
        match self.upstreams.as_ref().map(|upstreams| upstreams.current()) {
            None => look(None),
            Some(upstreams) => look(Some(&upstreams.view(caller.authority()).of(caller.known_name()))),
        }
    }

    /// The tools that a caller is listed, if there are any. Callers of one grant share the list. `runs`: what calls may become.
    pub(super) fn listing(&self, caller: &Principal, runs: Option<&Arc<Runs>>) -> Listed {
        let judged = self.judged();
        let grant = caller.authority().map(|authority| authority.grant.clone());
        let is_of = |known: &Option<Arc<Grant>>| match (known, &grant) {
            (None, None) => true,
            (Some(known), Some(grant)) => Arc::ptr_eq(known, grant),
            _ => false,
        };
        {
            let mut judgement = self.judgement.lock();
            if let Some(at) = judgement.listings.iter().position(|(known, _)| is_of(known))
                && let Some(known) = judgement.listings.remove(at)
            {
                let listing = known.1.clone();
                judgement.listings.push_front(known);
                return listing;
            }
        }
        let seen: Box<[(Arc<ServedProgram>, Hints)]> = self.with_view(caller, |view| {
            let seen = judged.programs.iter().filter(|program| program.is_for(view));
            seen.map(|program| (program.served.clone(), program.hints)).collect()
        });
        // What is listed of a program is made of what the set holds.
        let listing = (!seen.is_empty()).then(|| {
            let runs = runs.cloned();
            let definitions = move || {
                seen.iter().map(|(served, hints)| definition(served, *hints, runs.as_ref())).collect()
            };
            Arc::new(SourceListing::made("", definitions))
        });
        let mut judgement = self.judgement.lock();
        if Arc::ptr_eq(&judgement.judged, &judged) {
            judgement.listings.truncate(MOST_GRANTS - 1);
            judgement.listings.push_front((grant, listing.clone()));
        }
        listing
    }

    /// Counts the changes of what is listed, to anybody.
    pub fn revision(&self) -> u64 {
        self.judged();
        self.judgement.lock().revision
    }
}
