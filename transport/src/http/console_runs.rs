//! Runs on the console: principals list, answer and cancel their own runs, and operators those of all principals
//! (waiting.md 4.5).

use std::sync::Arc;

use http::{Method, StatusCode};
use hyper::body::Incoming;
use ptc_host::questions::{AnsweredBy, Channel, QuestionId};
use ptc_mcp::json::json;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::answer::{self, HttpResponse, data, is_read};
use super::auth::HttpCaller;
use super::endpoint::Endpoint;
use super::headers::Headers;
use super::small_body;
use ptc_observers::audit::{AuditLog, OperatorSubject};
use ptc_observers::console::{RunsFacts, cancelled, taken, whole_question};
use ptc_protocol::operator::OperatorUse;
use ptc_protocol::principal::Principal;
use ptc_runs::{RunError, Runs};

/// The path of the list, and the prefix of the path of each run.
const RUNS: &str = "/console/api/runs";

/// True if `path` belongs to runs.
pub(super) fn is_path(path: &str) -> bool {
    path.strip_prefix(RUNS).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An action on one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunAction {
    Answer,
    Cancel,
}

/// A path below the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunsPath {
    /// An action.
    Work(RunAction),
    /// One question, with all arguments of its calls.
    Question(QuestionId),
}

/// The run and the place of a path below the list.
fn named(path: &str) -> Option<(&str, RunsPath)> {
    let (run_id, place) = path.strip_prefix(RUNS)?.strip_prefix('/')?.split_once('/')?;
    let place = match (place, place.strip_prefix("questions/").and_then(QuestionId::parse)) {
        ("answers", _) => RunsPath::Work(RunAction::Answer),
        ("cancel", _) => RunsPath::Work(RunAction::Cancel),
        (_, Some(id)) => RunsPath::Question(id),
        _ => return None,
    };
    (!run_id.is_empty()).then_some((run_id, place))
}

/// The body of an action. The principal is part of the body and not of the address, which others may see.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionBody<'s> {
    /// Question id → `{"action": …, "content": …}`.
    #[serde(borrow)]
    answers: Option<&'s RawValue>,
    /// The principal of the run; the caller's own if it is missing.
    principal: Option<String>,
}

/// Answers a request of an admitted caller.
pub(super) async fn answer(
    endpoint: &Arc<Endpoint>,
    caller: &HttpCaller,
    method: &Method,
    path: &str,
    query: Option<&str>,
    headers: &Headers<'_>,
    body: Incoming,
) -> HttpResponse {
    let viewer = Viewer {
        principal: &caller.principal,
        is_operator: caller.is_operator(&endpoint.service),
        audit: endpoint.telemetry.audit.as_deref(),
    };
    let Some(runs) = endpoint.telemetry.sources.runs.clone() else {
        // Without runs the list is always empty.
        return match path == RUNS && is_read(method) {
            true => data(endpoint.telemetry.console_runs(&viewer.facts(), &[], None)),
            false => refused(RunError::NotFound),
        };
    };
    if path == RUNS {
        if !is_read(method) {
            return answer::method_not_allowed("GET, HEAD");
        }
        endpoint.record_operator(caller, OperatorUse::SeeRuns);
        let after = query.and_then(|query| query.strip_prefix("after="));
        return match runs.list(viewer.scope()).await {
            Ok(views) => data(endpoint.telemetry.console_runs(&viewer.facts(), &views, after)),
            Err(why) => refused(why),
        };
    }
    let Some((run_id, place)) = named(path) else {
        return answer::text(StatusCode::NOT_FOUND, "not found");
    };
    let work = match place {
        RunsPath::Work(work) => work,
        RunsPath::Question(_) if !is_read(method) => {
            return answer::method_not_allowed("GET, HEAD");
        }
        RunsPath::Question(id) => return looked_at(&runs, &viewer, run_id, id).await,
    };
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
    match act(&runs, &viewer, run_id, work, received.bytes()).await {
        Ok(answer) | Err(answer) => answer,
    }
}

/// Who looks at runs.
struct Viewer<'a> {
    principal: &'a Principal,
    is_operator: bool,
    audit: Option<&'a AuditLog>,
}

impl Viewer<'_> {
    /// Whose runs it sees: its own alone, or all.
    fn scope(&self) -> Option<&Principal> {
        (!self.is_operator).then_some(self.principal)
    }

    /// Records what it sees or does of another's run.
    fn records(&self, seen: OperatorUse, owner: &str, run_id: &str) {
        let own = self.principal.name();
        if let Some(audit) = self.audit.filter(|_| owner != own) {
            audit.operator(own, seen, Some(OperatorSubject::Run { owner, run_id }));
        }
    }

    fn facts(&self) -> RunsFacts<'_> {
        RunsFacts { caller: self.principal.name(), operator: self.is_operator }
    }
}

/// One whole question of a run.
async fn looked_at(runs: &Arc<Runs>, viewer: &Viewer<'_>, run_id: &str, id: QuestionId) -> HttpResponse {
    let seen = runs.view(viewer.scope(), run_id).await.map(|view| {
        viewer.records(OperatorUse::SeeQuestion, &view.principal, run_id);
        whole_question(&view, id)
    });
    match seen {
        Ok(Some(question)) => data(question),
        Ok(None) => answer::json(StatusCode::NOT_FOUND, json!({"error": "question not found"}).to_string()),
        Err(why) => refused(why),
    }
}

/// Answers or cancels a run.
#[expect(clippy::disallowed_methods, reason = "entry point: act()")]
async fn act(
    runs: &Arc<Runs>,
    viewer: &Viewer<'_>,
    run_id: &str,
    work: RunAction,
    body: &[u8],
) -> Result<HttpResponse, HttpResponse> {
    let sent: ActionBody<'_> = serde_json::from_slice(body).map_err(|error| {
        let form = match work {
            RunAction::Answer => r#"{"answers":{"q1":{"action":"accept","content":{…}}}}"#,
            RunAction::Cancel => "{}",
        };
        wrong(format!("the body must be {form}, with \"principal\" where it is another's run: {error}"))
    })?;
    let answers = match (work, sent.answers) {
        (RunAction::Answer, Some(answers)) if answers.get().starts_with('{') => answers.get(),
        (RunAction::Answer, _) => {
            return Err(wrong("`answers` must be an object: question id → answer".to_owned()));
        }
        (RunAction::Cancel, None) => "{}",
        (RunAction::Cancel, Some(_)) => {
            return Err(wrong("a run that is stopped takes no `answers`".to_owned()));
        }
    };
    let owner = owner(runs, viewer, run_id, sent.principal).await.map_err(refused)?;
    let does = match work {
        RunAction::Answer => OperatorUse::AnswerRun,
        RunAction::Cancel => OperatorUse::CancelRun,
    };
    viewer.records(does, owner.name(), run_id);
    match work {
        RunAction::Answer => {
            let by = AnsweredBy { channel: Channel::Console, name: Some(viewer.principal.shared_name()) };
            let took = runs.answer(&owner, run_id, answers, by).await.map_err(refused)?;
            Ok(data(taken(run_id, answers, &took)))
        }
        RunAction::Cancel => {
            let seen = runs.cancel(&owner, run_id).await.map_err(refused)?;
            Ok(data(cancelled(&seen)))
        }
    }
}

/// The principal whose run the caller means. Ordinary callers see no runs but their own; a principal that an operator
/// names must own the run.
async fn owner(
    runs: &Arc<Runs>,
    viewer: &Viewer<'_>,
    run_id: &str,
    named: Option<String>,
) -> Result<Principal, RunError> {
    let own = viewer.principal.name();
    if !viewer.is_operator {
        let is_own = named.is_none_or(|name| name == own);
        return if is_own { Ok(viewer.principal.clone()) } else { Err(RunError::NotFound) };
    }
    let run = runs.view(None, run_id).await?;
    let is_meant = named.is_none_or(|name| name == *run.principal);
    if is_meant { Ok(runs.principal(&run.principal)) } else { Err(RunError::NotFound) }
}

fn wrong(why: String) -> HttpResponse {
    answer::json(StatusCode::BAD_REQUEST, json!({"error": why}).to_string())
}

fn refused(why: RunError) -> HttpResponse {
    let (status, text) = match why {
        RunError::NotFound => (StatusCode::NOT_FOUND, "run not found"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "the state store does not answer"),
    };
    answer::json(status, json!({"error": text}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_list_and_of_its_runs() {
        for (path, place) in [
            ("/console/api/runs/run_a/answers", Some(("run_a", RunsPath::Work(RunAction::Answer)))),
            ("/console/api/runs/run_a/cancel", Some(("run_a", RunsPath::Work(RunAction::Cancel)))),
            ("/console/api/runs/run_a/questions/q2", Some(("run_a", RunsPath::Question(QuestionId::new(2))))),
            ("/console/api/runs/run_a/questions/2", None),
            ("/console/api/runs/run_a/questions", None),
            ("/console/api/runs", None),
            ("/console/api/runs/run_a", None),
            ("/console/api/runs//cancel", None),
            ("/console/api/runs/run_a/cancel/", None),
            ("/console/api/runs/a/b/cancel", None),
        ] {
            assert_eq!(named(path), place, "{path}");
            assert!(is_path(path));
        }
        assert!(!is_path("/console/api/runsx") && !is_path("/console/api/state"));
    }
}
