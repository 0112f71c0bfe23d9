//! A run that this process has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ptc_host::engine::CallsSoFar;
use ptc_host::state::Key;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout_at};

use super::look::Seen;
use super::prints::PrintLog;
use super::record::{RunRecord, Status};
use crate::protocol::tool::ToolReply;

/// What a client is told of a program that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) run_id: Arc<str>,
    /// Since its call came.
    pub(crate) elapsed: Duration,
    /// Upstream calls that it has made.
    pub(crate) calls: u32,
    /// What it has printed since the last answer.
    pub(crate) prints: Vec<String>,
    /// Prints since then that are not kept any more.
    pub(crate) omitted: u64,
}

/// What somebody wants of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    GoOn,
    Cancel,
    /// The process ends.
    Interrupt,
}

/// A run that this process drives, or drove until lately.
pub(super) struct Held {
    pub(super) key: Key,
    pub(super) tool: &'static str,
    pub(super) began: Instant,
    pub(super) began_ms: i64,
    pub(super) calls: watch::Receiver<CallsSoFar>,
    pub(super) prints: Mutex<PrintLog>,
    /// How many prints its clients were told.
    told: Mutex<u64>,
    pub(super) orders: watch::Sender<Order>,
    /// A message for it may have come.
    pub(super) wake: Notify,
    ended: watch::Sender<bool>,
    end: Mutex<Option<(Status, ToolReply)>>,
}

impl Held {
    pub(super) fn new(
        key: Key,
        tool: &'static str,
        (began, began_ms): (Instant, i64),
        calls: watch::Receiver<CallsSoFar>,
        prints: PrintLog,
    ) -> Held {
        Held {
            key,
            tool,
            began,
            began_ms,
            calls,
            prints: Mutex::new(prints),
            told: Mutex::new(0),
            orders: watch::Sender::new(Order::GoOn),
            wake: Notify::new(),
            ended: watch::Sender::new(false),
            end: Mutex::new(None),
        }
    }

    /// Its record as it is now.
    pub(super) fn record(&self) -> RunRecord {
        RunRecord {
            status: Status::Running,
            tool: self.tool.to_owned(),
            began_ms: self.began_ms,
            calls: self.calls.borrow().made,
            prints: locked(&self.prints).clone(),
            outcome: None,
        }
    }

    /// How far it is, and that a client is told.
    pub(super) fn progress(&self) -> Progress {
        let mut told = locked(&self.told);
        let prints = locked(&self.prints);
        let (new, omitted) = prints.after(*told);
        *told = prints.count();
        Progress {
            run_id: self.key.id().clone(),
            elapsed: self.began.elapsed(),
            calls: self.calls.borrow().made,
            prints: new,
            omitted,
        }
    }

    /// Notes how it has ended.
    pub(super) fn ends(&self, status: Status, reply: ToolReply) {
        *locked(&self.end) = Some((status, reply));
        self.ended.send_replace(true);
    }

    pub(super) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Waits for its end.
    pub(super) async fn ended(&self) {
        // The sender is here.
        let _ = self.ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// What a client sees of it at its end, or at `until`. Who sees the end first has the report for observers.
    pub(super) async fn seen(&self, until: Instant) -> Seen {
        let _ = timeout_at(until, self.ended()).await;
        match &mut *locked(&self.end) {
            None => Seen::Running(self.progress()),
            Some((status, reply)) => {
                let seen = reply.clone();
                reply.report = None;
                Seen::Ended(*status, Box::new(seen))
            }
        }
    }
}

pub(super) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
