//! The upstreams' current tools, against which calls are checked (rulings 58 and 59). A snapshot proves nothing about an
//! upstream that has announced a change since, or has died: its next start may list other tools.

use super::caller::caller_of;
use super::cold_start::start;
use super::configured_upstream::ConfiguredUpstream;
use super::runtime::Aggregator;
use super::view::View;
use crate::catalog::{
    Catalog, DiscoveryAnswer, DiscoveryFault, Query, ToolRef, changed_shape, pin_note, withheld,
};
use ptc_base::time;
use ptc_engine::RunContext;
use ptc_mcp::json::Value;
use ptc_upstreams::upstream::{CallFault, Caller, Phase, Upstream};
use std::sync::Arc;

/// The catalog of now, for a call that the one at hand speaks against; `None` if the upstream still says the same.
///
/// # Errors
/// The upstream does not run and cannot be started, so its tools are unknown; and whether a start was tried for this call.
pub(super) async fn renewed(
    aggregator: &Aggregator,
    view: &View<'_>,
    run: &RunContext,
    server: &str,
    known: &Catalog,
) -> Result<Option<Catalog>, (CallFault, bool)> {
    let loaded = known.server(server).is_some_and(|entry| entry.loaded);
    let Some(member) = view.member(server).filter(|_| loaded) else { return Ok(None) };
    let upstream = serving(view, member, run).map_err(|fault| (fault, false))?;
    if upstream.health().phase != Phase::Started {
        start(aggregator, run, server).await.map_err(|failed| (failed.fault, failed.tried))?;
    }
    let renewing = time::timeout_at(run.deadline(), renew(aggregator, member, caller_of(view, run, member)));
    renewing
        .await
        .unwrap_or_else(|_| Err(CallFault::timeout("the upstream did not list its tools in time")))
        .map_err(|fault| (fault, true))?;
    let present = view.present();
    Ok((!present.same_entry(known, server)).then_some(present))
}

/// The upstream that serves the caller: that of its own account, if it has one.
fn serving(
    view: &View<'_>,
    member: &ConfiguredUpstream,
    run: &RunContext,
) -> Result<Arc<dyn Upstream>, CallFault> {
    let caller = caller_of(view, run, member);
    member.handle.serving(caller).unwrap_or_else(|| Ok(member.handle.clone()))
}

/// Takes an upstream's list, which sends a request only if the upstream has announced a change.
pub(super) async fn renew(
    aggregator: &Aggregator,
    member: &ConfiguredUpstream,
    caller: Caller<'_>,
) -> Result<(), CallFault> {
    match (member.handle.serving(caller), caller.account.or(caller.principal)) {
        (Some(own), Some(account)) => {
            let (own, turn) = (own?, aggregator.own_lists.turn());
            let tools = own.list_tools().await?;
            aggregator.take_own(member, account, &own, &tools, turn).await
        }
        (Some(own), None) => own.map(drop),
        (None, _) => {
            aggregator.take_tools(member, &member.handle.list_tools().await?).await;
            Ok(())
        }
    }
}

/// The text of `doc` and `meta` about a tool that has changed since the snapshot was taken.
pub(super) async fn with_changes(
    aggregator: &Aggregator,
    view: &View<'_>,
    run: &RunContext,
    query: &Query,
    answer: Result<DiscoveryAnswer, DiscoveryFault>,
) -> Result<DiscoveryAnswer, DiscoveryFault> {
    let (Query::Doc(asked) | Query::Meta(asked)) = query else { return answer };
    let ToolRef { server, tool } = asked;
    let Some(member) = view.member(server) else { return answer };
    let before = view.catalog();
    if serving(view, member, run).is_ok_and(|upstream| upstream.health().phase == Phase::Started) {
        // If the upstream cannot say, what it said last stands.
        let caller = caller_of(view, run, member);
        let _ = time::timeout_at(run.deadline(), renew(aggregator, member, caller)).await;
    }
    let (then, now) = (view.catalog(), view.present());
    let caller = caller_of(view, run, member);
    let account = caller.account.or(caller.principal);
    let is_own = account.is_some_and(|account| aggregator.own_lists.has(server, account));
    if is_own && !now.same_entry(&before, server) {
        // There is no snapshot of a list of one's own.
        return query.answer(&now, aggregator.limits.max_discovery_bytes, |steps| run.charge(steps)).await;
    }
    if now.same_entry(&then, server) {
        return answer;
    }
    let max_bytes = aggregator.limits.max_discovery_bytes;
    let listed_then = then.server(server).and_then(|entry| entry.tool(tool));
    let listed_now = now.server(server).and_then(|entry| entry.tool(tool));
    let (answer, change) = match (listed_then, listed_now) {
        (None, None) => {
            let withheld = now.server(server).and_then(|entry| withheld(entry, tool));
            return withheld.map_or(answer, |text| Err(DiscoveryFault::Program(text)));
        }
        (None, Some(_)) => {
            let answer = query.answer(&now, max_bytes, |steps| run.charge(steps)).await?;
            (answer, "the upstream lists this tool now".to_owned())
        }
        (Some(_), None) => {
            let withheld = now.server(server).and_then(|entry| withheld(entry, tool));
            (answer?, withheld.unwrap_or_else(|| "the upstream lists this tool no more".to_owned()))
        }
        (Some(then_tool), Some(now_tool)) => {
            let note_of = |catalog: &Catalog| pin_note(catalog.server(server)?, tool);
            let pins = note_of(&now).filter(|note| note_of(&then).as_ref() != Some(note));
            let parts: Vec<String> = changed_shape(then_tool, now_tool).into_iter().chain(pins).collect();
            match parts.is_empty() {
                true => return answer,
                false => (answer?, parts.join("\n")),
            }
        }
    };
    let Value::String(text) = &answer.value else { return Ok(answer) };
    let told = Value::from(format!("{text}\nchanged since start: {change}"));
    Ok(if told.to_string().len() <= max_bytes { DiscoveryAnswer { value: told, ..answer } } else { answer })
}
