//! Calls that an upstream answers with a task: the program waits for its result (waiting.md 7).

use super::input::Exchange;
use super::input_progress::{InputProgress, ResendCause};
use bytes::Bytes;
use ptc_base::time;
use ptc_engine::RunContext;
use ptc_upstreams::mcp::read_task_result;
use ptc_upstreams::mcp::unfinished::{TaskState, read_task};
use ptc_upstreams::upstream::{
    CallFault, CallLimits, CallReply, Caller, InputRequired, MAX_INPUT_REQUESTS, Query, TaskAnswer, Upstream,
};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

use ptc_mcp::RpcError;

/// How long to wait before a task is looked at again, unless the upstream says otherwise, and the bounds of that.
const POLL_INTERVAL: (Duration, Duration, Duration) =
    (Duration::from_millis(250), Duration::from_millis(1000), Duration::from_secs(30));
/// Looks at a task that fail in a row before the call does.
const MOST_FAILED_POLLS: u32 = 3;

impl Exchange<'_> {
    /// Waits for the task that a call was answered with. `before`: the questions that it had asked, and those that were open
    /// when its program left another process.
    pub(super) async fn followed(
        &self,
        task: TaskAnswer,
        before: Option<InputRequired>,
    ) -> Result<CallReply, CallFault> {
        let followed = self.until_ended(task, before).await;
        // The call has been made: it is not made again, whoever signs in.
        followed.map_err(|fault| CallFault { sign_in_after: None, ..fault })
    }

    async fn until_ended(
        &self,
        task: TaskAnswer,
        before: Option<InputRequired>,
    ) -> Result<CallReply, CallFault> {
        let mut running = Running::new(self, &task);
        let mut answered = BTreeSet::new();
        let mut wait = interval(task.poll_interval_ms);
        let mut failed = 0;
        if let Some(input) = before {
            self.updated(&task, input, &mut answered).await?;
        }
        loop {
            time::sleep(wait).await;
            let state = match self.task_request("tasks/get", &task.id, None).await {
                Ok(answer) => read_task(&answer).map_err(CallFault::upstream_error)?,
                Err(fault) if fault.rpc_code == Some(RpcError::INVALID_PARAMS) => {
                    running.ended();
                    return Err(CallFault::upstream_error("the upstream no longer knows the task"));
                }
                Err(fault) => {
                    failed += 1;
                    if failed == MOST_FAILED_POLLS {
                        return Err(fault);
                    }
                    continue;
                }
            };
            failed = 0;
            match state {
                TaskState::Working { poll_interval_ms } => {
                    wait = interval(poll_interval_ms.or(task.poll_interval_ms));
                }
                TaskState::Input(mut input) => {
                    input.requests.retain(|(key, _)| !answered.contains(key));
                    // What has been answered may take the upstream a while.
                    if !input.requests.is_empty() {
                        self.updated(&task, input, &mut answered).await?;
                    }
                }
                TaskState::Completed(result) => {
                    running.ended();
                    return read_task_result(result, self.call.may_wrap);
                }
                TaskState::Failed(message) => {
                    running.ended();
                    return Err(CallFault::upstream_error(message));
                }
                TaskState::Cancelled => {
                    running.ended();
                    return Err(CallFault::upstream_error("the upstream cancelled the task"));
                }
            }
        }
    }

    /// Asks a task's questions, each once, and sends it the answers.
    async fn updated(
        &self,
        task: &TaskAnswer,
        input: InputRequired,
        answered: &mut BTreeSet<Box<str>>,
    ) -> Result<(), CallFault> {
        if answered.len() + input.requests.len() > MAX_INPUT_REQUESTS {
            let text = format!("the task asked for more than {MAX_INPUT_REQUESTS} things");
            return Err(CallFault::upstream_error(text));
        }
        let keys: Vec<Box<str>> = input.requests.iter().map(|(key, _)| key.clone()).collect();
        let input = self.askable(input)?;
        let progress =
            InputProgress { rounds: 0, visits: 0, wanted: ResendCause::Task(task.clone(), input.clone()) };
        let responses = self.responses(&progress, &input).await?;
        self.task_request("tasks/update", &task.id, Some(&responses)).await?;
        answered.extend(keys);
        Ok(())
    }

    async fn task_request(
        &self,
        method: &'static str,
        id: &str,
        responses: Option<&str>,
    ) -> Result<Bytes, CallFault> {
        let params = params(id, responses);
        let limits = CallLimits { deadline: self.run.deadline(), ..self.call.limits };
        let query = Query {
            method,
            params: &params,
            subject: Some(id),
            limits,
            arrivals: self.call.arrivals,
            caller: self.call.caller,
        };
        self.upstream.query(query).await
    }
}

fn params(id: &str, responses: Option<&str>) -> Vec<u8> {
    let id = ptc_mcp::json::Value::from(id);
    match responses {
        Some(responses) => format!(r#"{{"taskId":{id},"inputResponses":{responses}}}"#),
        None => format!(r#"{{"taskId":{id}}}"#),
    }
    .into_bytes()
}

fn interval(wished_ms: Option<u64>) -> Duration {
    let (least, usual, most) = POLL_INTERVAL;
    wished_ms.map_or(usual, Duration::from_millis).clamp(least, most)
}

/// A task that is no longer waited for is cancelled, once. If its program moves to another process, that process waits for it.
struct Running {
    run: Rc<RunContext>,
    upstream: Arc<dyn Upstream>,
    owner: Handle,
    principal: Option<Arc<str>>,
    account: Option<Arc<str>>,
    id: Box<str>,
    limits: CallLimits,
    has_ended: bool,
}

impl Running {
    fn new(exchange: &Exchange<'_>, task: &TaskAnswer) -> Self {
        Self {
            run: exchange.run.clone(),
            upstream: exchange.upstream.clone(),
            owner: exchange.aggregator.owner.clone(),
            principal: exchange.run.principal.clone(),
            account: exchange.call.caller.account.cloned(),
            id: task.id.clone(),
            limits: exchange.aggregator.limits.per_call(),
            has_ended: false,
        }
    }

    fn ended(&mut self) {
        self.has_ended = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.has_ended || self.run.has_left() {
            return;
        }
        let (upstream, id) = (self.upstream.clone(), self.id.clone());
        let (principal, account) = (self.principal.clone(), self.account.clone());
        let limits = CallLimits::within(self.limits.timeout, self.limits.max_bytes);
        self.owner.spawn(async move {
            let params = params(&id, None);
            let (principal, account) = (principal.as_ref(), account.as_ref());
            let caller = Caller { principal, account, ..Caller::default() };
            let query = Query {
                method: "tasks/cancel",
                params: &params,
                subject: Some(&id),
                limits,
                arrivals: None,
                caller,
            };
            if let Err(fault) = upstream.query(query).await {
                tracing::debug!(upstream = upstream.name(), error = %fault.message, "upstream_task_not_cancelled");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_looked_at_within_bounds() {
        for (wished, taken) in [(None, 1000), (Some(0), 250), (Some(700), 700), (Some(u64::MAX), 30_000)] {
            assert_eq!(interval(wished).as_millis(), taken, "{wished:?}");
        }
        assert_eq!(params("a\"b", Some("{}")), br#"{"taskId":"a\"b","inputResponses":{}}"#);
    }
}
