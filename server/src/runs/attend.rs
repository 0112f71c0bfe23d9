//! A call that may become a run, as long as its client waits for it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ptc_host::engine::{CallsSoFar, EvalRequest};
use ptc_host::state::StateError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tracing::warn;

use super::held::{Held, Progress};
use super::lawful::{Acknowledged, Lawful};
use super::lease::Lease;
use super::prints::PrintLog;
use super::{Runs, clock, drive, id, key};
use crate::concurrency_limiter::Permit;
use crate::principal::Principal;
use crate::protocol::tool::ToolReply;

/// What is known of such a call besides its work.
pub(crate) struct LongCall {
    began: Instant,
    began_ms: i64,
    /// How long its client waits.
    wait: Duration,
    calls: watch::Receiver<CallsSoFar>,
    prints: mpsc::UnboundedReceiver<String>,
    acknowledged: watch::Sender<Acknowledged>,
}

/// What becomes of it within that time.
pub(crate) enum Attended {
    /// It is answered.
    Ended(ToolReply),
    /// It goes on, and its client knows its id.
    Running(Progress),
    /// It could not be kept, and has had the time of any other call.
    NotKept(NotKept),
}

/// Why a run cannot be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotKept {
    /// There are as many as there may be.
    TooMany,
    /// The store does not answer.
    Unavailable,
}

impl Runs {
    /// Has the program of `request` run as long as a run may, and tells of it.
    pub(crate) fn lengthen(&self, wait: Duration, request: &mut EvalRequest) -> LongCall {
        let progress = request.progress.get_or_insert_with(|| watch::Sender::new(CallsSoFar::default()));
        let (progress, calls) = (progress.clone(), progress.subscribe());
        let (sink, prints) = mpsc::unbounded_channel();
        request.print_sink = Some(sink);
        let (acknowledged, lawful) = watch::channel(None);
        if let Some(upstreams) = request.upstreams.take() {
            request.upstreams = Some(Arc::new(Lawful { upstreams, acknowledged: lawful, progress }));
        }
        request.limits.timeout = self.settings.timeout;
        LongCall { began: Instant::now(), began_ms: clock::now_ms(), wait, calls, prints, acknowledged }
    }

    /// Runs `work` until it ends or its client's patience does; then a task of its own goes on with it.
    pub(crate) async fn attend(
        self: Arc<Self>,
        call: LongCall,
        principal: Principal,
        tool: &'static str,
        mut work: BoxFuture<'static, ToolReply>,
        permit: Permit,
    ) -> Attended {
        let LongCall { began, began_ms, wait, calls, mut prints, acknowledged } = call;
        let mut log = PrintLog::default();
        loop {
            tokio::select! {
                biased;
                reply = &mut work => return Attended::Ended(reply),
                () = sleep_until(began + wait) => break,
                Some(print) = prints.recv() => log.push(&self.redactor.scrub(&print)),
            }
        }
        let kept = self.keep((began, began_ms), &principal, tool, calls, log, acknowledged).await;
        let why = match kept {
            Ok((held, lease)) => {
                let progress = held.progress();
                self.held().insert((principal.shared_name(), held.key.id().clone()), held.clone());
                let work = drive::Driven { held, lease, work, prints, _permit: permit };
                let worker = self.worker();
                let engine = self.engine.clone();
                engine.spawn_on(worker, move || drive::drive(self, work));
                return Attended::Running(progress);
            }
            Err(why) => why,
        };
        // What cannot be kept has the time of any other call.
        tokio::select! {
            biased;
            reply = work => Attended::Ended(reply),
            () = sleep_until(began + self.ordinary.max(wait)) => Attended::NotKept(why),
        }
    }

    /// Makes the record.
    async fn keep(
        &self,
        began: (Instant, i64),
        principal: &Principal,
        tool: &'static str,
        calls: watch::Receiver<CallsSoFar>,
        log: PrintLog,
        acknowledged: watch::Sender<Acknowledged>,
    ) -> Result<(Arc<Held>, Lease), NotKept> {
        if !self.has_room(principal) {
            return Err(NotKept::TooMany);
        }
        let key = id::new().and_then(|id| key(principal, &id).ok()).ok_or(NotKept::Unavailable)?;
        let refused = |error: StateError| {
            warn!(event = "run_not_kept", reason = %error);
            match error {
                StateError::Full => NotKept::TooMany,
                _ => NotKept::Unavailable,
            }
        };
        let listed = self.store.list(Some(key.owner()), key.kind()).await.map_err(refused)?;
        let bytes: u64 = listed.iter().map(|run| run.bytes).sum();
        if listed.len() >= self.settings.max_per_owner || bytes >= self.settings.max_bytes_per_owner {
            return Err(NotKept::TooMany);
        }
        let held = Arc::new(Held::new(key.clone(), tool, began, calls, log));
        let (store, replica) = (self.store.clone(), self.replica.clone());
        let record = held.record();
        let made = Lease::make(store, replica, key, &record, self.longest_life(), acknowledged);
        Ok((held, made.await.map_err(refused)?))
    }
}
