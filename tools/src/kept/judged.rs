//! The served programs beside the upstreams' tools: what each may call, whether it is stale, and how it is listed.

use std::collections::HashMap;
use std::sync::Arc;

use ptc_host::aggregator::View;
use ptc_host::catalog::{Catalog, ServerEntry, ToolEntry};
use ptc_host::config::{OAuthIdentity, hint};
use ptc_host::engine::kept::{ProgramSchema, ProgramTools};
use ptc_host::visible::visible;
use ptc_mcp::json::{Value, object_text};
use ptc_programs::definition::{Definition as ToolDefinition, DefinitionChanges, Definitions};
use ptc_programs::name::ProgramName;
use ptc_programs::staleness::{PresentTool, StaleTool, check_named_tools, idle_patterns, stale_tools};
use ptc_protocol::schemas::shown;
use ptc_protocol::tool::{Annotations, Definition};
use ptc_runs::Runs;

use super::set::{ProgramSet, ServedProgram};
use crate::schemas::or_unfinished;

/// Something of the upstreams that a program may call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum UsedTool {
    /// A tool that is listed, or named exactly.
    Named(Arc<str>, String),
    /// Tools by a pattern, of an upstream that has not been listed.
    OfUpstream(Arc<str>),
}

/// A program beside the upstreams' tools.
pub(super) struct JudgedProgram {
    pub(super) served: Arc<ServedProgram>,
    uses: Vec<UsedTool>,
    /// Its tools that are not as it was approved with.
    pub(super) stale: Vec<StaleTool>,
    pub(super) hints: Hints,
}

impl JudgedProgram {
    /// Whether callers of this view may call all its tools.
    pub(super) fn is_for(&self, view: Option<&View<'_>>) -> bool {
        let Some(view) = view else { return true };
        self.uses.iter().all(|used| match used {
            UsedTool::Named(upstream, tool) => view.may_call(upstream, tool),
            UsedTool::OfUpstream(upstream) => view.sees(upstream),
        })
    }

    /// Whether it is listed as another one was, to the same callers.
    fn is_listed_as(&self, other: &JudgedProgram) -> bool {
        self.served.program.digest == other.served.program.digest
            && self.hints == other.hints
            && self.stale.is_empty() == other.stale.is_empty()
            && self.uses == other.uses
    }
}

/// All of them.
#[derive(Default)]
pub(super) struct JudgedSet {
    set: Arc<ProgramSet>,
    catalog: Catalog,
    /// By the names of their tools.
    pub(super) programs: Vec<JudgedProgram>,
}

impl JudgedSet {
    /// The programs of a set beside these upstreams.
    ///
    /// `shown`: what descriptions show of the upstreams, which may be the lists of the last start. They make nothing stale; but tools
    /// that are in them as they were approved tell how a program is listed, since it runs with no others.
    pub(super) fn of(set: Arc<ProgramSet>, catalog: Catalog, shown: &Catalog) -> JudgedSet {
        let mut present = Present::default();
        let lists = Lists { catalog: &catalog, shown };
        let programs = set.programs().map(|served| judged(served, lists, &mut present)).collect();
        JudgedSet { set, catalog, programs }
    }

    /// Whether it is the judgement of this set beside these upstreams.
    pub(super) fn is_of(&self, set: &Arc<ProgramSet>, catalog: &Catalog) -> bool {
        let same = |(a, b): (&Arc<ServerEntry>, &Arc<ServerEntry>)| Arc::ptr_eq(a, b);
        let (before, now) = (self.catalog.entries(), catalog.entries());
        Arc::ptr_eq(&self.set, set) && before.len() == now.len() && before.iter().zip(now).all(same)
    }

    /// Whether everybody sees the same as before.
    pub(super) fn lists_as(&self, before: &JudgedSet) -> bool {
        let (now, before) = (&self.programs, &before.programs);
        now.len() == before.len() && now.iter().zip(before).all(|(a, b)| a.is_listed_as(b))
    }

    /// The program of the set that has this tool, whether or not it is served beside these upstreams.
    pub(super) fn served(&self, tool: &str) -> Option<Arc<ServedProgram>> {
        self.set.of_tool(tool).cloned()
    }

    /// The program of a tool.
    pub(super) fn of_tool(&self, tool: &str) -> Option<&JudgedProgram> {
        let at = self.programs.binary_search_by(|judged| (**judged.served.tool()).cmp(tool)).ok()?;
        self.programs.get(at)
    }
}

/// What the upstreams list by now, and what descriptions show of them.
#[derive(Clone, Copy)]
struct Lists<'c> {
    catalog: &'c Catalog,
    shown: &'c Catalog,
}

/// What is known of tools, by upstream and name, and what has changed of them: each is looked at once.
#[derive(Default)]
struct Present {
    tools: HashMap<(String, String), PresentTool>,
    changes: DefinitionChanges,
}

fn judged(
    served: &Arc<ServedProgram>,
    Lists { catalog, shown }: Lists<'_>,
    present: &mut Present,
) -> JudgedProgram {
    let tools = &served.program.head.tools;
    let (mut uses, mut known) = (Vec::new(), Vec::new());
    let (mut hints, mut is_unknown) = (Hints { only_reads: true, destroys: false, is_open: false }, false);
    for entry in catalog.entries().iter().filter(|entry| tools.names_upstream(&entry.name)) {
        let name: Arc<str> = entry.name.as_str().into();
        let last = (!entry.loaded).then(|| shown.server(&entry.name)).flatten();
        let last = last.filter(|last| last.loaded && is_as_approved(served, last));
        let entry = last.unwrap_or(entry);
        if !entry.loaded {
            uses.extend(tools.of_upstream(&entry.name).map(|tool| match tool.contains('*') {
                true => UsedTool::OfUpstream(name.clone()),
                false => UsedTool::Named(name.clone(), tool.to_owned()),
            }));
            let approved = served.approval.tools.keys().filter_map(|tool| tool.split_once('/'));
            let approved = approved.filter(|(upstream, _)| *upstream == entry.name);
            uses.extend(approved.map(|(_, tool)| UsedTool::Named(name.clone(), tool.to_owned())));
            is_unknown = true;
            continue;
        }
        known.push(entry);
        for tool in entry.tools().iter().filter(|tool| tools.names(&entry.name, &tool.name)) {
            hints.add(tool);
            uses.push(UsedTool::Named(name.clone(), tool.name.clone()));
        }
    }
    let Present { tools: present, changes } = present;
    let stale = stale_tools(&served.approval, changes, |upstream, tool| {
        let key = (upstream.to_owned(), tool.to_owned());
        present.entry(key).or_insert_with(|| present_tool(catalog, upstream, tool)).clone()
    });
    let is_known = |(upstream, tool)| {
        known.iter().any(|entry: &&ServerEntry| entry.name == upstream && entry.tool(tool).is_some())
    };
    is_unknown |= !tools.named().all(is_known);
    let hints = if is_unknown { Hints::UNKNOWN } else { hints };
    uses.shrink_to_fit();
    JudgedProgram { served: served.clone(), uses, stale, hints }
}

/// Whether all tools of an upstream that a program may call are those that it was approved with: none by a pattern, which may fit others
/// by now.
fn is_as_approved(served: &ServedProgram, entry: &ServerEntry) -> bool {
    let tools = &served.program.head.tools;
    let mut used = entry.tools().iter().filter(|tool| tools.names(&entry.name, &tool.name));
    let has_patterns = tools.of_upstream(&entry.name).any(|tool| tool.contains('*'));
    !has_patterns
        && used.all(|tool| {
            let approved = served.approval.tools.get(&format!("{}/{}", entry.name, tool.name));
            approved.is_some_and(|approved| approved.digest == tool.pinned().digest())
        })
}

/// What is known of a tool that a program was approved with: whether these upstreams have it, and what it is now.
#[must_use]
pub fn present_tool(catalog: &Catalog, upstream: &str, tool: &str) -> PresentTool {
    let Some(entry) = catalog.server(upstream) else { return PresentTool::Gone };
    if !entry.loaded {
        return PresentTool::Unknown;
    }
    let withheld = || entry.withheld().find(|withheld| withheld.name == tool);
    let Some(found) = entry.tool(tool).or_else(withheld) else { return PresentTool::Gone };
    PresentTool::Defined(ToolDefinition::of(found.pinned()))
}

/// The programs of a set that are stale, with their tools that are not as they were approved with.
#[must_use]
pub fn stale_programs(set: &ProgramSet, catalog: &Catalog) -> Vec<(ProgramName, Vec<StaleTool>)> {
    let mut changes = DefinitionChanges::default();
    let present = |upstream: &str, tool: &str| present_tool(catalog, upstream, tool);
    let judged = set
        .programs()
        .map(|served| (served.program.name.clone(), stale_tools(&served.approval, &mut changes, present)));
    judged.filter(|(_, stale)| !stale.is_empty()).collect()
}

/// The definitions of the tools that a program of `tools` may call, as an approval has them: none of
/// an upstream at which each person signs in, since what it lists to one is not what it lists to another (decision 252). They are those
/// that the upstreams list by now.
///
/// # Errors
/// An upstream of its tools is not listed, or does not have a tool that is named: a sentence.
pub fn approved_tools(view: &View<'_>, tools: &ProgramTools) -> Result<Definitions, String> {
    let definitions = listed_tools(view, tools, |upstream| {
        Err(format!(
            "the tools of {upstream} are not listed now, and an approval holds their definitions; try again once it answers"
        ))
    })?;
    check_named_tools(tools, &definitions, |upstream| has_own_lists(view, upstream))?;
    Ok(definitions)
}

/// What there is to say of `:tools` before somebody approves it: the tools that an approval would lack, and patterns that fit nothing.
pub(super) fn remarks_on_tools(view: &View<'_>, tools: &ProgramTools) -> Vec<String> {
    let mut remarks = Vec::new();
    let definitions = listed_tools(view, tools, |upstream| {
        remarks.push(format!("the tools of {upstream} are not listed now"));
        Ok(())
    });
    let definitions = definitions.unwrap_or_default();
    let is_listed = |upstream: &str| view.present().server(upstream).is_none_or(|entry| entry.loaded);
    remarks.extend(check_named_tools(tools, &definitions, |upstream| !is_listed(upstream)).err());
    if remarks.is_empty() {
        let idle = idle_patterns(tools, &definitions);
        remarks.extend(idle.into_iter().map(|pattern| format!("{pattern} fits no tool that is listed now")));
    }
    remarks
}

/// Whether each person signs in to an upstream, and has tools of its own there.
pub(super) fn has_own_lists(view: &View<'_>, upstream: &str) -> bool {
    let mut sites = view.sites().filter(|site| site.name() == upstream);
    sites.any(|site| site.config().identity == OAuthIdentity::PerPrincipal)
}

/// The definitions of the tools that `:tools` fits, of the upstreams that are listed by now. `unlisted` is told of the
/// others.
fn listed_tools(
    view: &View<'_>,
    tools: &ProgramTools,
    mut unlisted: impl FnMut(&str) -> Result<(), String>,
) -> Result<Definitions, String> {
    let catalog = view.present();
    let mut definitions = Definitions::new();
    for entry in catalog.entries().iter().filter(|entry| tools.names_upstream(&entry.name)) {
        if !entry.loaded {
            if !has_own_lists(view, &entry.name) {
                unlisted(&entry.name)?;
            }
            continue;
        }
        let all = entry.tools().iter().map(|tool| &tool.name).chain(entry.withheld().map(|tool| &tool.name));
        for tool in all.filter(|tool| tools.names(&entry.name, tool)) {
            if let PresentTool::Defined(definition) = present_tool(&catalog, &entry.name, tool) {
                definitions.insert(format!("{}/{tool}", entry.name), definition);
            }
        }
    }
    Ok(definitions)
}

/// What the tools of a program say of themselves, together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Hints {
    only_reads: bool,
    destroys: bool,
    is_open: bool,
}

impl Hints {
    /// Those of tools that nobody has listed.
    pub(super) const UNKNOWN: Hints = Hints { only_reads: false, destroys: true, is_open: true };

    fn add(&mut self, tool: &ToolEntry) {
        let hint = |name| hint(tool.annotations.as_ref(), name);
        let reads = tool.only_reads();
        self.only_reads &= reads;
        self.destroys |= !reads && hint("destructiveHint") != Some(false);
        self.is_open |= hint("openWorldHint") != Some(false);
    }
}

/// The schema of a program's value, where clients get that as structured content: those that know the protocol of 2025 refuse a list
/// with a schema of anything but objects as a whole.
pub(super) fn output_schema(served: &ServedProgram) -> Option<&ProgramSchema> {
    served.program.head.output.as_deref().filter(|schema| schema.is_of_objects)
}

/// How a program is listed, whose tools say this of themselves. `runs`: what its calls may become.
pub(super) fn definition(served: &ServedProgram, hints: Hints, runs: Option<&Arc<Runs>>) -> Definition {
    let head = &served.program.head;
    let name = served.name();
    let annotations = Annotations {
        read_only: hints.only_reads,
        destructive: hints.destroys,
        idempotent: hints.only_reads,
        open_world: hints.is_open,
    };
    let mut meta = object_text(|object| {
        object.string("ptc/program", &name.name);
        object.string("ptc/digest", &name.digest);
    });
    meta.shrink_to_fit();
    let seen = |mut schema: Value| {
        shown(&mut schema);
        schema
    };
    Definition {
        name: served.tool().clone(),
        title: head.title.as_deref().map(|title| visible(title).into_owned().into()),
        description: visible(&head.description).into_owned(),
        input_schema: seen(head.input.value()).to_string(),
        output_schema: output_schema(served).map(|schema| or_unfinished(&seen(schema.value()), runs)),
        annotations: Some(annotations.to_json()),
        meta: Some(meta),
        long: None,
    }
}
