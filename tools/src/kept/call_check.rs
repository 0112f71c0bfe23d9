//! What is looked at before a kept program calls a tool: whether its approval has it, and whether it is as it was approved.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use ptc_host::aggregator::Aggregator;
use ptc_host::engine::RunContext;
use ptc_programs::definition::DefinitionChanges;
use ptc_programs::name::ProgramName;
use ptc_programs::staleness::{StaleTool, is_approved, stale_tools};

use super::directory::KeptDirectory;
use super::judged::{has_own_lists, present_tool};
use super::set::ServedProgram;

/// Whether a call may be made, once that is known; a sentence if not.
type Looked = LocalBoxFuture<'static, Result<(), String>>;

impl KeptDirectory {
    /// Looks at a call of an upstream's tool within these programs. `None`: nothing speaks against it. `own`: the program that runs
    /// itself, as it was approved when it began, if it is a kept one.
    ///
    /// A list of the last start says nothing of a tool: an upstream that has not been listed is so first, as the call itself would
    /// have it listed, and then all that is known of the program's tools is judged.
    pub(super) fn look_at(
        self: &Arc<Self>,
        run: &Rc<RunContext>,
        own: Option<&Arc<ServedProgram>>,
        within: &[&str],
        upstream: &str,
        tool: &str,
    ) -> Option<Looked> {
        let upstreams = self.upstreams.as_ref()?.current();
        let is_listed = upstreams.is_listed(upstream);
        let judged = self.judged();
        let mut unknown = Vec::new();
        for name in within {
            let is_own = name.is_empty();
            let found;
            let program = match own.filter(|_| is_own) {
                Some(own) => own,
                None => {
                    found = ProgramName::new(name).ok().and_then(|name| judged.served(&name.tool_name()));
                    // One that is served no more was judged when the run began.
                    let Some(program) = &found else { continue };
                    program
                }
            };
            if let Some(refusal) = lacks(program, &upstreams, upstream, tool) {
                return Some(Box::pin(std::future::ready(Err(refusal))));
            }
            let is_as_approved =
                judged.of_tool(program.tool()).is_some_and(|fit| Arc::ptr_eq(&fit.served, program));
            let is_judged = is_as_approved && (is_listed || !has_tools_of(program, upstream));
            if !is_judged && !self.rules.serves_stale {
                unknown.push(program.clone());
            }
        }
        if unknown.is_empty() {
            return None;
        }
        if is_listed || !unknown.iter().any(|program| has_tools_of(program, upstream)) {
            let refusal = unknown.iter().find_map(|program| refusal_of(program, &upstreams));
            return refusal.map(|refusal| -> Looked { Box::pin(std::future::ready(Err(refusal))) });
        }
        let (run, upstream) = (run.clone(), upstream.to_owned());
        Some(Box::pin(async move {
            upstreams.start_for_call(&run, &upstream).await;
            match unknown.iter().find_map(|program| refusal_of(program, &upstreams)) {
                Some(refusal) => Err(refusal),
                None => Ok(()),
            }
        }))
    }
}

/// Whether an approval has tools of an upstream.
fn has_tools_of(program: &ServedProgram, upstream: &str) -> bool {
    let mut approved = program.approval.tools.keys().filter_map(|tool| tool.split_once('/'));
    approved.any(|(of, _)| of == upstream)
}

/// Why a program may not call a tool that its `:tools` name exactly: its approval does not have it. Nobody has seen what it is.
fn lacks(program: &ServedProgram, upstreams: &Aggregator, upstream: &str, tool: &str) -> Option<String> {
    let is_named = program.program.head.tools.named().any(|named| named == (upstream, tool));
    if !is_named || is_approved(&program.approval.tools, upstream, tool) {
        return None;
    }
    (!has_own_lists(&upstreams.unfiltered(), upstream)).then(|| {
        format!(
            "program {} may not call {upstream}/{tool}: it was not there when the program was approved; approve it again",
            program.program.name
        )
    })
}

/// Why a program goes on no further: a tool is not as it was approved with, as far as is known.
fn refusal_of(program: &ServedProgram, upstreams: &Aggregator) -> Option<String> {
    let catalog = upstreams.unfiltered().present();
    let present = |upstream: &str, tool: &str| present_tool(&catalog, upstream, tool);
    let stale = stale_tools(&program.approval, &mut DefinitionChanges::default(), present);
    let why = stale.first().map(StaleTool::reason)?;
    Some(format!("program {} is stale, and ends here: {why}", program.program.name))
}
