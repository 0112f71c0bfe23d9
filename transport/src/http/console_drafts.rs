//! Drafts of programs on the console (programs.md 11): principals see and discard their own, and people who may approve programs see,
//! approve and discard those of all.

use std::sync::Arc;

use http::{Method, StatusCode};
use hyper::body::Incoming;
use ptc_mcp::json::{Value, json};
use serde::Deserialize;

use super::answer::{self, HttpResponse, data, is_read};
use super::auth::HttpCaller;
use super::endpoint::Endpoint;
use super::headers::Headers;
use super::small_body;
use ptc_observers::audit::OperatorSubject;
use ptc_observers::draft_desk::{DraftDesk, DraftId, DraftRefusal};
use ptc_protocol::operator::OperatorUse;

/// The path of the list, and the prefix of the paths of works.
const DRAFTS: &str = "/console/api/drafts";

/// True if `path` belongs to drafts.
pub(super) fn is_path(path: &str) -> bool {
    path.strip_prefix(DRAFTS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A work on one draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DraftWork {
    Show,
    Approve,
    Discard,
}

/// The work of a path below the list.
fn work_of(path: &str) -> Option<DraftWork> {
    match path.strip_prefix(DRAFTS)?.strip_prefix('/')? {
        "show" => Some(DraftWork::Show),
        "approve" => Some(DraftWork::Approve),
        "discard" => Some(DraftWork::Discard),
        _ => None,
    }
}

/// The body of a work. Names are part of it and not of the address, which others may see.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkBody {
    name: String,
    /// The principal of the draft; the caller's own if it is missing.
    principal: Option<String>,
    /// SHA-256 of the text that was shown: another one is neither approved nor discarded.
    digest: Option<String>,
}

/// Who looks at drafts.
struct Viewer<'a> {
    endpoint: &'a Arc<Endpoint>,
    caller: &'a HttpCaller,
    is_operator: bool,
    /// Whether it sees those of all and may approve: an operator, and without a policy the only caller.
    may_approve: bool,
}

impl Viewer<'_> {
    fn name(&self) -> &str {
        self.caller.principal.name()
    }

    /// Records what it does with a draft.
    fn records(&self, does: OperatorUse, draft: DraftId<'_>) {
        if let Some(audit) = &self.endpoint.telemetry.audit {
            let subject = OperatorSubject::Draft { owner: draft.principal, program: draft.name };
            audit.operator(self.name(), does, Some(subject));
        }
    }
}

/// Answers a request of an admitted caller.
pub(super) async fn answer(
    endpoint: &Arc<Endpoint>,
    caller: &HttpCaller,
    method: &Method,
    path: &str,
    headers: &Headers<'_>,
    body: Incoming,
) -> HttpResponse {
    let is_operator = caller.is_operator(&endpoint.service);
    let is_alone = !endpoint.authenticator.is_shared() && endpoint.service.policy.is_none();
    let viewer = Viewer { endpoint, caller, is_operator, may_approve: is_operator || is_alone };
    let Some(desk) = endpoint.telemetry.sources.drafts.clone() else {
        return match path == DRAFTS && is_read(method) {
            true => data(json!({"drafts": null}).to_string()),
            false => refused(&DraftRefusal::NotFound),
        };
    };
    if path == DRAFTS {
        return match is_read(method) {
            true => list(&*desk, &viewer).await,
            false => answer::method_not_allowed("GET, HEAD"),
        };
    }
    let Some(work) = work_of(path) else { return answer::text(StatusCode::NOT_FOUND, "not found") };
    if *method != Method::POST {
        return answer::method_not_allowed("POST");
    }
    let reception = match small_body::begin(endpoint, &caller.principal, headers, body) {
        Ok(reception) => reception,
        Err(refusal) => return *refusal,
    };
    let received = match small_body::rest(endpoint, reception).await {
        Ok(received) => received,
        Err(refusal) => return *refusal,
    };
    match act(&*desk, &viewer, work, received.bytes()).await {
        Ok(done) => data(done.to_string()),
        Err(refusal) => *refusal,
    }
}

async fn list(desk: &dyn DraftDesk, viewer: &Viewer<'_>) -> HttpResponse {
    viewer.endpoint.record_operator(viewer.caller, OperatorUse::SeeDrafts);
    let whose = (!viewer.may_approve).then(|| viewer.name());
    match desk.list(whose).await {
        Ok(mut list) => {
            list["operator"] = viewer.is_operator.into();
            list["may_approve"] = viewer.may_approve.into();
            data(list.to_string())
        }
        Err(why) => refused(&why),
    }
}

/// Shows, approves or discards a draft.
#[expect(clippy::disallowed_methods, reason = "entry point: act()")]
async fn act(
    desk: &dyn DraftDesk,
    viewer: &Viewer<'_>,
    work: DraftWork,
    body: &[u8],
) -> Result<Value, Box<HttpResponse>> {
    let sent: WorkBody = serde_json::from_slice(body).map_err(|error| {
        let form = r#"{"name":"…","principal":"…","digest":"…"}"#;
        Box::new(wrong(StatusCode::BAD_REQUEST, &format!("the body must be {form}: {error}")))
    })?;
    let refuse = |why: DraftRefusal| Box::new(refused(&why));
    let principal = sent.principal.as_deref().unwrap_or_else(|| viewer.name());
    let is_own = principal == viewer.name();
    if !is_own && !viewer.may_approve {
        return Err(refuse(DraftRefusal::NotFound));
    }
    let draft = DraftId { principal, name: &sent.name };
    let digest = || {
        let missing = "`digest` must be that of the text that was shown";
        sent.digest.as_deref().ok_or_else(|| Box::new(wrong(StatusCode::BAD_REQUEST, missing)))
    };
    if work == DraftWork::Discard {
        let digest = digest()?;
        if !is_own {
            viewer.records(OperatorUse::DiscardDraft, draft);
        }
        return desk.discard(draft, digest).await.map_err(refuse);
    }
    // The tests of a draft are programs, and take the place of a call.
    let Ok(_permit) = viewer.endpoint.service.limiter.try_enter(&viewer.caller.principal) else {
        let busy = "as many calls as may run are running; try again";
        return Err(Box::new(wrong(StatusCode::SERVICE_UNAVAILABLE, busy)));
    };
    if work == DraftWork::Show {
        if !is_own {
            viewer.records(OperatorUse::SeeDraft, draft);
        }
        return desk.show(draft, &viewer.caller.principal).await.map_err(refuse);
    }
    let digest = digest()?;
    if !viewer.may_approve {
        let why = "only an operator may approve programs";
        return Err(Box::new(wrong(StatusCode::FORBIDDEN, why)));
    }
    viewer.records(OperatorUse::ApproveProgram, draft);
    desk.approve(draft, digest, &viewer.caller.principal).await.map_err(refuse)
}

fn wrong(status: StatusCode, why: &str) -> HttpResponse {
    answer::json(status, json!({"error": why}).to_string())
}

fn refused(why: &DraftRefusal) -> HttpResponse {
    match why {
        DraftRefusal::NotFound => wrong(StatusCode::NOT_FOUND, "draft not found"),
        DraftRefusal::Replaced => {
            wrong(StatusCode::CONFLICT, "the draft was replaced since it was shown: look at it again")
        }
        DraftRefusal::Refused(why) => wrong(StatusCode::UNPROCESSABLE_ENTITY, why),
        DraftRefusal::Unavailable(why) => wrong(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_those_below_the_list() {
        for (path, work) in [
            ("/console/api/drafts/show", Some(DraftWork::Show)),
            ("/console/api/drafts/approve", Some(DraftWork::Approve)),
            ("/console/api/drafts/discard", Some(DraftWork::Discard)),
            ("/console/api/drafts/approve/", None),
            ("/console/api/drafts/", None),
            ("/console/api/drafts", None),
        ] {
            assert_eq!(work_of(path), work, "{path}");
            assert!(is_path(path));
        }
        assert!(!is_path("/console/api/draftsx") && !is_path("/console/api/state"));
    }
}
