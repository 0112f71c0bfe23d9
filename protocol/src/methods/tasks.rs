//! `tasks/get`, `tasks/update`, `tasks/cancel`: the state of a call that was answered with a task (waiting.md 6.3).

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_mcp::Revision;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Kind, Raw};
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::{Params, ParamsMember};
use tracing::debug;

use super::features::admit;
use crate::call::CallWork;
use crate::elicitation::Elicitation;
use crate::handler_outcome::{Disposition, HandlerOutcome};
use crate::reply::{self, Answers};
use crate::results::tasks::{acknowledgement, detailed};
use crate::service::{MessageContext, Service};
use crate::tasks::{self, TaskClient, TaskDesk, TaskError};
use crate::tool::Task;

/// Answers a request about a task; `None` if the method is another one, or tasks are not offered.
pub(super) fn answer(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: &str,
    params: &ParamsMember<'_>,
) -> Option<HandlerOutcome> {
    let desk = service.tasks.as_ref()?;
    let method = match method {
        "tasks/get" => "tasks/get",
        "tasks/update" => "tasks/update",
        "tasks/cancel" => "tasks/cancel",
        _ => return None,
    };
    debug!(event = "task_request", rpc_id = %id, method);
    let Some(params) = params.object() else {
        return Some(HandlerOutcome::error(id, &RpcError::invalid_params()));
    };
    if !tasks::declared(params.meta.capabilities) {
        return Some(undeclared(id));
    }
    Some(match prepared(service, desk, from, id, method, params) {
        Ok(running) => admit(service, from, id, false, CallWork::Feature { method, running }),
        Err(error) => HandlerOutcome::error(id, &error),
    })
}

/// The refusal of a request that has not declared the extension.
pub(super) fn undeclared(id: &RequestId) -> HandlerOutcome {
    HandlerOutcome::reply(Disposition::Invalid, reply::error(Answers::Request(id), &tasks::undeclared()))
}

/// The client that asks.
pub(super) fn asking(service: &Service, from: MessageContext<'_>, params: &Params<'_>) -> TaskClient {
    TaskClient {
        principal: from.owner(service).principal,
        modes: Elicitation::declared(params.meta.capabilities, Revision::V2026_07_28),
    }
}

/// The work of a request.
fn prepared(
    service: &Arc<Service>,
    desk: &Arc<dyn TaskDesk>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: &str,
    params: &Params<'_>,
) -> Result<BoxFuture<'static, Vec<u8>>, RpcError> {
    let task = params.task_id.and_then(Raw::as_str).ok_or_else(|| invalid("taskId must be a string"))?;
    let (task, asking) = (task.into_owned(), asking(service, from, params));
    let (service, id) = (service.clone(), id.clone());
    let answered = move |done: Result<Option<Task>, RpcError>| match done {
        Ok(Some(task)) => detailed(&service, &id, &task),
        Ok(None) => acknowledgement(&service, &id),
        Err(error) => reply::error(Answers::Request(&id), &error),
    };
    Ok(match method {
        "tasks/update" => {
            let responses = params.input_responses.filter(|responses| responses.kind() == Kind::Object);
            let responses = responses.ok_or_else(|| invalid("inputResponses must be an object"))?;
            let update = desk.update(asking, task, responses.text().to_owned());
            update.map(move |taken| answered(taken.map(|()| None).map_err(|why| why.error()))).boxed()
        }
        "tasks/cancel" => {
            let cancel = desk.cancel(asking, task);
            cancel.map(move |ended| answered(ended.map(|()| None).map_err(TaskError::error))).boxed()
        }
        _ => {
            let get = desk.get(asking, task);
            get.map(move |task| answered(task.map(Some).map_err(TaskError::error))).boxed()
        }
    })
}

fn invalid(what: &str) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, format!("Invalid params: {what}"))
}
