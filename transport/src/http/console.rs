//! The routes of the console: a static page, and its data behind the same checks as the MCP path.

use std::net::IpAddr;
use std::sync::Arc;

use http::{Method, Uri};
use hyper::body::Incoming;
use ptc_host::time;

use super::admission::Target;
use super::answer::{self, HttpResponse, data, is_read};
use super::endpoint::{Endpoint, RequestFacts};
use super::headers::Headers;
use super::sign_in::{admit_person, offer};
use super::{console_calls, console_drafts, console_runs, console_trial, small_body};
use ptc_observers::console::{Facts, PAGE as FILES};
use ptc_protocol::operator::OperatorUse;

/// The path of the page.
pub(super) const PAGE: &str = "/console";
const STATE: &str = "/console/api/state";
const CATALOG: &str = "/console/api/catalog";
const SIGN_INS: &str = "/console/api/sign-ins";
const CALLS: &str = "/console/api/calls";
const TRIAL: &str = "/console/api/trial";

/// A request that may be one of the console.
pub(super) struct ConsoleRequest<'r> {
    /// The address of its client.
    pub(super) peer: IpAddr,
    pub(super) method: &'r Method,
    pub(super) uri: &'r Uri,
    pub(super) headers: &'r Headers<'r>,
    pub(super) body: Incoming,
}

/// Answers a request of the console; `None` for any other path.
pub(super) async fn answer(
    endpoint: &Arc<Endpoint>,
    request: ConsoleRequest<'_>,
    seen: &mut RequestFacts,
) -> Option<HttpResponse> {
    let ConsoleRequest { peer, method, uri, headers, body } = request;
    let path = uri.path();
    if !endpoint.console || !(path == PAGE || holds_data(path)) {
        return None;
    }
    if path == PAGE {
        let is_read = is_read(method);
        return Some(match is_read {
            true => offer(endpoint, answer::page(FILES.page())),
            false => answer::method_not_allowed("GET, HEAD"),
        });
    }
    let caller = match admit_person(endpoint, peer, Target::of(uri), method, headers).await {
        Ok(caller) => caller,
        Err(refusal) => return Some(*refusal),
    };
    seen.principal = Some(caller.principal.clone());
    if console_runs::is_path(path) {
        return Some(console_runs::answer(endpoint, &caller, method, path, uri.query(), headers, body).await);
    }
    if console_drafts::is_path(path) {
        return Some(console_drafts::answer(endpoint, &caller, method, path, headers, body).await);
    }
    if matches!(path, CALLS | TRIAL) {
        if *method != Method::POST {
            return Some(answer::method_not_allowed("POST"));
        }
        let reception = match small_body::begin(endpoint, &caller.principal, headers, body) {
            Ok(reception) => reception,
            Err(refusal) => return Some(*refusal),
        };
        let received = match small_body::rest(endpoint, reception).await {
            Ok(received) => received,
            Err(refusal) => return Some(*refusal),
        };
        return Some(match path {
            CALLS => console_calls::answer(endpoint, &caller, received.bytes()).await,
            _ => Box::pin(console_trial::answer(endpoint, &caller, received, seen)).await,
        });
    }
    if !is_read(method) {
        return Some(answer::method_not_allowed("GET, HEAD"));
    }
    let viewer = endpoint.service.present(&caller.principal);
    let json = match path {
        SIGN_INS => endpoint.telemetry.console_sign_ins(&viewer).await,
        CATALOG => endpoint.telemetry.console_catalog(&viewer),
        _ => {
            let (limiter, sessions) = (&endpoint.service.limiter, &endpoint.sessions);
            let operator = caller.is_operator(&endpoint.service);
            if endpoint.authenticator.is_shared() {
                endpoint.record_operator(&caller, OperatorUse::SeeLoad);
                endpoint.record_operator(&caller, OperatorUse::SeeAccounts);
                if endpoint.telemetry.sources.sessions.is_some() {
                    endpoint.record_operator(&caller, OperatorUse::SeeSessions);
                }
                if endpoint.telemetry.sources.upstreams.is_some() {
                    endpoint.record_operator(&caller, OperatorUse::SeeUpstreams);
                }
            }
            // What others use tells that they are there.
            let sees_all = operator || !endpoint.authenticator.is_shared();
            let (permits_in_use, http_sessions) = match sees_all {
                true => (limiter.running(), sessions.len()),
                false => (limiter.running_of(&viewer), sessions.len_of(&viewer)),
            };
            let facts = Facts {
                instance: &endpoint.instance,
                draining: endpoint.service.is_draining(),
                operator,
                sees_all,
                permits: limiter.limits().all,
                permits_in_use,
                http_sessions,
                uptime: time::since(endpoint.started),
            };
            endpoint.telemetry.console_state(&facts, &viewer)?
        }
    };
    Some(data(json))
}

/// True if the answer to `path` must not be stored by any cache.
pub(super) fn holds_data(path: &str) -> bool {
    matches!(path, STATE | CATALOG | SIGN_INS | CALLS | TRIAL)
        || console_runs::is_path(path)
        || console_drafts::is_path(path)
}
