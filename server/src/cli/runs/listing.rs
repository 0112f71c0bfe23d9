//! One run of a listing.

use ptc_mcp::json::Value;

pub(super) fn found<'t>(told: &'t Value, id: &str) -> Result<&'t Value, String> {
    let runs = told["runs"].as_array().map_or(&[][..], Vec::as_slice);
    let run = runs.iter().find(|run| run["run_id"].as_str() == Some(id));
    run.ok_or_else(|| format!("run not found: {id}; `ptc runs --all` lists them"))
}
