//! Whether a tool that the snapshot does not list is really not there (rulings 58 and 59). A snapshot proves nothing
//! about an upstream that has died since: its next start may list other tools.

use super::cold_start::start;
use super::runtime::Aggregator;
use crate::catalog::{Catalog, ServerEntry};
use crate::engine::RunContext;
use crate::upstream::{CallFault, Phase};

/// The catalog against which a call of this tool is to be checked: the snapshot, unless the upstream lists the tool by now.
///
/// # Errors
/// The upstream does not run and cannot be started, so that nobody knows; and whether a start was tried for this call.
pub(super) async fn catalog_for(
    aggregator: &Aggregator,
    run: &RunContext,
    server: &str,
    tool: &str,
) -> Result<Catalog, (CallFault, bool)> {
    let catalog = aggregator.catalog();
    let is_absent = |catalog: &Catalog| {
        catalog.server(server).is_some_and(|entry| entry.loaded && entry.tool(tool).is_none())
    };
    let Some(member) = aggregator.members.get(server).filter(|_| is_absent(&catalog)) else {
        return Ok(catalog);
    };
    if member.handle.health().phase != Phase::Started {
        start(aggregator, run, server).await.map_err(|failed| (failed.fault, failed.tried))?;
    }
    let tools = member.handle.list_tools().await.map_err(|fault| (fault, true))?;
    if !tools.iter().any(|listed| &*listed.name == tool) {
        return Ok(catalog);
    }
    let tools = tools.iter().filter_map(|tool| serde_json::from_str(tool.json.get()).ok()).collect();
    let entry = ServerEntry::loaded(&member.config, tools, &aggregator.redactor);
    Ok(catalog.with_server(entry))
}
