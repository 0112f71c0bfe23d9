//! Discovery forms over upstreams: budget, loading, answer (upstreams.md 13).

use super::shape_file::SeenTool;
use ptc_mcp::json::Value;

use super::caller::caller_of;
use super::current_tools::with_changes;
use super::program_fault::raise;
use super::runtime::Aggregator;
use super::usage::{ProgramUsage, take_discovery};
use super::view::View;
use crate::catalog::{DiscoveryAnswer, DiscoveryFault, Needs, Query, WorldFault};
use futures_util::future::join_all;
use ptc_base::time;
use ptc_engine::{CatalogOp, RunContext};
use ptc_vm::machine::{Payload, Reply};
use std::rc::Rc;
use std::sync::Arc;

/// Answers one discovery operation, and keeps a record of it. A world fault is `nil`.
#[expect(clippy::disallowed_methods, reason = "entry point: answer()")]
pub(super) async fn answer(
    aggregator: Arc<Aggregator>,
    run: Rc<RunContext>,
    form: &'static str,
    arguments: Vec<u8>,
    shown: Vec<String>,
) -> Reply {
    let asked = time::now();
    let arguments: Vec<Value> = serde_json::from_slice(&arguments).unwrap_or_default();
    let query = match Query::parse(form, &arguments, &shown, &aggregator.view_of(&run).catalog()) {
        Ok(query) => query,
        Err(text) => return raise(&text),
    };
    let answer = found(&aggregator, &run, &query).await;
    let (reply, note, reason) = match answer {
        Ok(answer) => (Payload::Json(answer.value.to_string().into()), answer.note, None),
        Err(DiscoveryFault::World(fault)) => (Payload::None, None, Some(fault.as_str())),
        Err(DiscoveryFault::Program(text)) => return raise(&text),
    };
    run.catalog_ops.borrow_mut().push(CatalogOp {
        operation: query.operation(),
        args: query.record(),
        reason,
        note,
        duration: time::since(asked),
    });
    Reply::Value(reply)
}

/// Loads the upstreams that the query needs, within the program's budget, and answers it from the catalog.
async fn found(
    aggregator: &Arc<Aggregator>,
    run: &Rc<RunContext>,
    query: &Query,
) -> Result<DiscoveryAnswer, DiscoveryFault> {
    if !take_discovery(run, aggregator.limits.max_discoveries) {
        return Err(DiscoveryFault::World(WorldFault::CapExhausted));
    }
    let view = aggregator.view_of(run);
    let catalog = view.catalog();
    let cold: Vec<String> = match query.needs() {
        Needs::Nothing => Vec::new(),
        Needs::Server(name) => vec![name.to_owned()],
        Needs::Everything => catalog.servers().map(|server| server.name.clone()).collect(),
    };
    let cold = cold.into_iter().filter(|name| catalog.server(name).is_some_and(|server| !server.loaded));
    let view_then = &view;
    let loads = cold.map(|name| async move {
        let Some(member) = view_then.member(&name) else { return };
        let caller = caller_of(view_then, run, member);
        if ProgramUsage::of(run).failed_start(&name).is_some() {
            return;
        }
        let loaded = time::timeout_at(run.deadline(), aggregator.load_for(&name, caller)).await;
        if let Ok(Err(fault)) = loaded
            && !fault.uncounted
        {
            ProgramUsage::of(run).note_failed_start(&name, fault.message);
        }
    });
    join_all(loads).await;
    let max_bytes = aggregator.limits.max_discovery_bytes;
    let answer = query.answer(&view.catalog(), max_bytes, |steps| run.charge(steps)).await;
    let answer = with_changes(aggregator, &view, run, query, answer).await?;
    Ok(with_seen_shape(aggregator, &view, run, query, answer))
}

/// The text of `doc`, with the shape of the first answer that this principal got from a tool that describes none.
fn with_seen_shape(
    aggregator: &Aggregator,
    view: &View<'_>,
    run: &RunContext,
    query: &Query,
    answer: DiscoveryAnswer,
) -> DiscoveryAnswer {
    let (Query::Doc(asked), Value::String(text), Some(seen)) = (query, &answer.value, &aggregator.seen)
    else {
        return answer;
    };
    let catalog = view.catalog();
    let tool = catalog.server(&asked.server).and_then(|server| server.tool(&asked.tool));
    let Some(tool) = tool.map(|tool| SeenTool::of(&asked.server, tool)) else { return answer };
    let Some(shape) = seen.of(run.principal.as_ref(), tool) else { return answer };
    let told = Value::from(format!("{text}\nSeen in its first answer: {shape}"));
    // The limit of bytes is for all of it; what was seen is worth less than what is described.
    if told.to_string().len() <= aggregator.limits.max_discovery_bytes {
        DiscoveryAnswer { value: told, ..answer }
    } else {
        answer
    }
}
