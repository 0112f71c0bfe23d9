//! The path at which the operator's webhook answers approvals. Its signature replaces a token.

use std::net::IpAddr;
use std::sync::Arc;

use http::{Method, StatusCode};
use hyper::body::Incoming;
use ptc_host::time;
use ptc_mcp::json::json;

use super::admission::check_source;
use super::answer::{self, HttpResponse};
use super::endpoint::Endpoint;
use super::headers::Headers;
use super::limiter::AttemptVerdict;
use super::small_body;
use ptc_runs::webhook::{ANSWERS, HEADER, Taken};

/// True if answers of a webhook are accepted at `path`.
pub(super) fn is_path(endpoint: &Endpoint, path: &str) -> bool {
    endpoint.telemetry.sources.webhook.is_some() && named(path).is_some()
}

/// The run and the question of a path.
fn named(path: &str) -> Option<(&str, &str)> {
    let (run_id, question) = path.strip_prefix(ANSWERS)?.strip_prefix('/')?.split_once('/')?;
    (!run_id.is_empty() && !question.is_empty() && !question.contains('/')).then_some((run_id, question))
}

/// Answers a request to that path.
pub(super) async fn answer(
    endpoint: &Arc<Endpoint>,
    peer: IpAddr,
    authority: Option<&str>,
    method: &Method,
    path: &str,
    headers: &Headers<'_>,
    body: Incoming,
) -> HttpResponse {
    let sources = &endpoint.telemetry.sources;
    let (Some(webhook), Some(runs), Some((run_id, question))) =
        (sources.webhook.clone(), sources.runs.clone(), named(path))
    else {
        return answer::text(StatusCode::NOT_FOUND, "not found");
    };
    if let Err(refusal) = check_source(endpoint, authority, headers) {
        return *refusal;
    }
    if *method != Method::POST {
        return answer::method_not_allowed("POST");
    }
    let reception = match small_body::begin(endpoint, webhook.caller(), headers, body) {
        Ok(reception) => reception,
        Err(refusal) => return *refusal,
    };
    // Two signatures are refused.
    let signature = headers.all.get_all(HEADER).into_iter();
    let signature = match signature.collect::<Vec<_>>().as_slice() {
        [one] => Some((*one).clone()),
        _ => None,
    };
    let received = match small_body::rest(endpoint, reception).await {
        Ok(received) => received,
        Err(refusal) => return *refusal,
    };
    let taken = webhook.take(&runs, run_id, question, signature.as_ref(), received.bytes()).await;
    answered(endpoint, peer, taken)
}

fn answered(endpoint: &Endpoint, peer: IpAddr, taken: Taken) -> HttpResponse {
    let (status, outcome, detail) = match taken {
        Taken::Counted => (StatusCode::OK, "counted", None),
        Taken::AlreadyAnswered => (StatusCode::CONFLICT, "already_answered", None),
        Taken::Spent => {
            let detail = "this signature was used for another answer; name run_id and question_id in the body, or sign again";
            (StatusCode::CONFLICT, "spent", Some(detail.to_owned()))
        }
        Taken::NotOpen => (StatusCode::NOT_FOUND, "not_open", None),
        Taken::Elsewhere => {
            let detail = "the body names another run or question than the address";
            (StatusCode::BAD_REQUEST, "elsewhere", Some(detail.to_owned()))
        }
        Taken::NotAnAnswer(why) => (StatusCode::BAD_REQUEST, "no_answer", Some(why)),
        Taken::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "state_unavailable", None),
        Taken::NotTrusted(why) => {
            let blocked = endpoint.limiter.as_ref().map(|limiter| limiter.failed(peer, time::now()));
            if let Some(AttemptVerdict::Blocked(seconds)) = blocked {
                return answer::retry_after(answer::empty(StatusCode::TOO_MANY_REQUESTS), seconds);
            }
            (StatusCode::UNAUTHORIZED, "not_trusted", Some(why.to_owned()))
        }
    };
    let mut body = json!({"outcome": outcome});
    if let Some(detail) = detail {
        body["detail"] = detail.into();
    }
    answer::json(status, body.to_string())
}
