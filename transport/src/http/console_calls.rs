//! The search of calls on the console: every caller finds its own, an operator those of all.

use std::sync::Arc;

use http::StatusCode;
use ptc_mcp::json::json;
use serde::Deserialize;

use super::answer::{self, HttpResponse, data};
use super::auth::HttpCaller;
use super::endpoint::Endpoint;
use ptc_observers::console::{CallQuery, CallsFacts};
use ptc_protocol::operator::OperatorUse;

/// Longest member of a query, in bytes.
const MAX_MEMBER: usize = 200;

/// The body of a search. It is no part of the address, which logs on the way may have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchBody {
    principal: Option<String>,
    upstream: Option<String>,
    tool: Option<String>,
    outcome: Option<String>,
    text: Option<String>,
    /// `next` of the page before.
    before: Option<u64>,
}

/// Answers a search of an admitted caller.
#[expect(clippy::disallowed_methods, reason = "entry point: answer()")]
pub(super) async fn answer(endpoint: &Arc<Endpoint>, caller: &HttpCaller, body: &[u8]) -> HttpResponse {
    let sought: SearchBody = match serde_json::from_slice(body) {
        Ok(sought) => sought,
        Err(error) => {
            return wrong(format!(
                "the body must be {{\"principal\", \"upstream\", \"tool\", \"outcome\", \"text\", \"before\"}}, all optional: {error}"
            ));
        }
    };
    let SearchBody { principal, upstream, tool, outcome, text, before } = sought;
    let members = [&principal, &upstream, &tool, &outcome, &text];
    if members.into_iter().flatten().any(|member| member.len() > MAX_MEMBER) {
        return wrong(format!("a member of a search has at most {MAX_MEMBER} bytes"));
    }
    let operator = caller.is_operator(&endpoint.service);
    endpoint.record_operator(caller, OperatorUse::SeeCalls);
    let members = members.map(|member| member.as_deref());
    let query = CallQuery::new(members, before);
    let viewer = endpoint.service.present(&caller.principal);
    match endpoint.telemetry.console_calls(CallsFacts { caller: &viewer, operator }, &query).await {
        Some(calls) => data(calls),
        None => answer::not_found(&endpoint.path),
    }
}

fn wrong(why: String) -> HttpResponse {
    answer::json(StatusCode::BAD_REQUEST, json!({"error": why}).to_string())
}
