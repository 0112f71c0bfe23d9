//! Runs as tasks, for clients of the modern era that know them (waiting.md 6.3).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use ptc_host::questions::{AnsweredBy, Channel, Receipt};
use ptc_host::time::{self, Instant, sleep_until};
use tokio::sync::broadcast::{self, error::RecvError};

use super::channels::Asks;
use super::lisp_eval::EvalOptions;
use ptc_protocol::tasks::{TaskAnswerError, TaskClient, TaskDesk, TaskError, TaskNews};
use ptc_protocol::tool::{Task, TaskState};
use ptc_runs::{RunError, Runs};

/// The poll interval of a task whose changes this process does not see: another replica holds it, or it is in the
/// store.
const LOOK: Duration = Duration::from_secs(1);
/// The shortest time between two polls, for any number of tasks.
const LEAST_PAUSE: Duration = Duration::from_millis(100);

/// The desk of tasks, if programs may outlive their calls.
pub fn desk(options: &EvalOptions) -> Option<Arc<dyn TaskDesk>> {
    let runs = options.runs.as_ref().filter(|runs| runs.settings().long)?;
    Some(Arc::new(RunTasks { runs: runs.clone(), asks: options.asks.clone() }))
}

/// The owner of tasks. Clones are cheap.
#[derive(Clone)]
struct RunTasks {
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
        listen(self.clone(), asking, ids).boxed()
    }
}

/// Subscribes to these tasks. Each is sent once in its current state, since the state that the client knows is
/// unknown, and then whenever it has changed, until it has ended.
async fn listen(desk: RunTasks, asking: TaskClient, ids: Vec<String>) -> TaskNews {
    // Subscribed before the first look, so that no change is missed.
    let changes = desk.runs.changes();
    let mut watch =
        Watch { desk, asking, changes, watched: VecDeque::new(), news: VecDeque::new(), look: time::now() };
    for id in ids {
        if let Ok(task) = watch.desk.find(&watch.asking, &id).await {
            watch.watched.push_back(WatchedTask { id, mark: None });
            watch.heed(watch.watched.len() - 1, Ok(task));
        }
    }
    let own = watch.news.iter().map(|task| task.id.to_string()).collect();
    watch.look = time::now() + watch.pause();
    let news = stream::unfold(watch, |mut watch| async move { Some((watch.next().await?, watch)) });
    (own, news.boxed())
}

/// The subscription of one channel.
struct Watch {
    desk: RunTasks,
    asking: TaskClient,
    changes: broadcast::Receiver<(Arc<str>, Arc<str>)>,
    /// Tasks that have not ended, ordered by their last poll.
    watched: VecDeque<WatchedTask>,
    news: VecDeque<Task>,
    /// The time of the next poll.
    look: Instant,
}

/// A subscribed task.
struct WatchedTask {
    id: String,
    /// The mark that was sent last.
    mark: Option<Mark>,
}

/// The state of a task whose changes are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mark {
    Working(i64),
    Input(i64, String),
    Ended,
}

impl Mark {
    fn of(task: &Task) -> Mark {
        match &task.state {
            TaskState::Working => Mark::Working(task.updated_ms),
            TaskState::Input(requests) => Mark::Input(task.updated_ms, requests.clone()),
            TaskState::Completed(_) | TaskState::Failed(_) | TaskState::Cancelled => Mark::Ended,
        }
    }
}

impl Watch {
    /// The next task that has changed; `None` once all have ended.
    async fn next(&mut self) -> Option<Task> {
        loop {
            if let Some(task) = self.news.pop_front() {
                return Some(task);
            }
            if self.watched.is_empty() {
                return None;
            }
            tokio::select! {
                changed = self.changes.recv() => match changed {
                    Ok((principal, id)) => {
                        let is_own = principal == *self.asking.principal.known_name();
                        let at = self.watched.iter().position(|watched| *watched.id == *id);
                        if let Some(at) = at.filter(|_| is_own) {
                            self.look_at(at).await;
                        }
                    }
                    // Missed changes are found by polling.
                    Err(RecvError::Lagged(_)) => {
                        for at in (0..self.watched.len()).rev() {
                            self.look_at(at).await;
                        }
                    }
                    Err(RecvError::Closed) => return None,
                },
                () = sleep_until(self.look) => {
                    if let Some(at) = self.watched.iter().position(|watched| !self.is_told_here(&watched.id)) {
                        self.look_at(at).await;
                    }
                    self.look = time::now() + self.pause();
                }
            }
        }
    }

    /// True if this process drives the task, and so sees all its changes.
    fn is_told_here(&self, id: &str) -> bool {
        self.desk.runs.task_here(&self.asking.principal, id).is_some()
    }

    /// The time until the next poll, so that each task is polled once in [`LOOK`] if there are few of them.
    fn pause(&self) -> Duration {
        let count = u32::try_from(self.watched.len()).unwrap_or(u32::MAX).max(1);
        (LOOK / count).max(LEAST_PAUSE)
    }

    /// Polls one task and moves it to the end of the queue.
    async fn look_at(&mut self, at: usize) {
        let Some(watched) = self.watched.remove(at) else { return };
        let found = self.desk.find(&self.asking, &watched.id).await;
        self.watched.push_back(watched);
        self.heed(self.watched.len() - 1, found);
    }

    /// Queues a task if it has changed. A task that has ended is no longer watched.
    fn heed(&mut self, at: usize, found: Result<Task, TaskError>) {
        let task = match found {
            Ok(task) => task,
            Err(TaskError::Unavailable) => return,
            Err(TaskError::Unknown) => {
                self.watched.remove(at);
                return;
            }
        };
        let mark = Mark::of(&task);
        if mark == Mark::Ended {
            self.watched.remove(at);
        } else if let Some(watched) = self.watched.get_mut(at) {
            if watched.mark.as_ref() == Some(&mark) {
                return;
            }
            watched.mark = Some(mark);
        }
        self.news.push_back(task);
    }
}
