//! Runs as tasks, for clients of the modern era that know them (waiting.md 6.3).

mod watch;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::questions::{AnsweredBy, Channel, Receipt};

use super::channels::Asks;
use super::lisp_eval::EvalOptions;
use ptc_protocol::tasks::{TaskAnswerError, TaskClient, TaskDesk, TaskError, TaskNews};
use ptc_protocol::tool::Task;
use ptc_runs::{RunError, Runs};

/// The desk of tasks, if programs may outlive their calls.
pub fn desk(options: &EvalOptions) -> Option<Arc<dyn TaskDesk>> {
    let runs = options.runs.as_ref().filter(|runs| runs.settings().long)?;
    Some(Arc::new(RunTasks { runs: runs.clone(), asks: options.asks.clone() }))
}

/// The owner of tasks. Clones are cheap.
#[derive(Clone)]
pub(super) struct RunTasks {
    runs: Arc<Runs>,
    asks: Option<Asks>,
}

impl RunTasks {
    async fn find(&self, asking: &TaskClient, id: &str) -> Result<Task, TaskError> {
        let run = self.runs.task(&asking.principal, id).await.map_err(no_task)?;
        let asks = self.asks.as_ref();
        Ok(run.into_task(|waiting| match asks {
            Some(asks) => asks.input_requests(waiting, asking.modes),
            None => "{}".to_owned(),
        }))
    }
}

fn no_task(why: RunError) -> TaskError {
    match why {
        RunError::NotFound => TaskError::Unknown,
        _ => TaskError::Unavailable,
    }
}

impl TaskDesk for RunTasks {
    fn get(&self, asking: TaskClient, id: String) -> BoxFuture<'static, Result<Task, TaskError>> {
        let desk = self.clone();
        async move { desk.find(&asking, &id).await }.boxed()
    }

    fn update(
        &self,
        asking: TaskClient,
        id: String,
        responses: String,
    ) -> BoxFuture<'static, Result<(), TaskAnswerError>> {
        let runs = self.runs.clone();
        async move {
            let by = AnsweredBy { channel: Channel::Client, name: Some(asking.principal.shared_name()) };
            // When a client reports that its user has opened a page, the page is checked at once.
            let took = runs.answer_opened(&asking.principal, &id, &responses, by, None).await;
            let took = took.map_err(|why| TaskAnswerError::Task(no_task(why)))?;
            match took.iter().find(|(_, took)| *took == Receipt::NoAnswer) {
                Some((id, _)) => Err(TaskAnswerError::Response(id.to_string())),
                None => Ok(()),
            }
        }
        .boxed()
    }

    fn cancel(&self, asking: TaskClient, id: String) -> BoxFuture<'static, Result<(), TaskError>> {
        let runs = self.runs.clone();
        async move { runs.cancel(&asking.principal, &id).await.map(drop).map_err(no_task) }.boxed()
    }

    fn listen(&self, asking: TaskClient, ids: Vec<String>) -> BoxFuture<'static, TaskNews> {
        watch::listen(self.clone(), asking, ids).boxed()
    }
}
