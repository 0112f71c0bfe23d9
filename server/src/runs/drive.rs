//! The task that goes on with a run once its client knows its id.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::state::StateError;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};
use tracing::{error, info, warn};

use super::held::{Held, Order, locked};
use super::lease::Lease;
use super::record::{Status, cancellation};
use super::{BEAT, Runs};
use crate::concurrency_limiter::Permit;
use crate::protocol::tool::ToolReply;
use ptc_host::digest::short_hash;

/// The message of a replica that wants a run to be cancelled.
pub(super) const CANCEL: &[u8] = b"cancel";

/// How often the end of a run is written, once a second, where the store does not answer.
const TRIES: u32 = 25;

/// A run with what drives it.
pub(super) struct Driven {
    pub(super) held: Arc<Held>,
    pub(super) lease: Lease,
    pub(super) work: BoxFuture<'static, ToolReply>,
    pub(super) prints: mpsc::UnboundedReceiver<String>,
    /// Given back when the program has ended.
    pub(super) _permit: Permit,
}

/// Drives a run to its end, and forgets it when it need not be told any more.
pub(super) async fn drive(runs: Arc<Runs>, driven: Driven) {
    let Driven { held, mut lease, work, mut prints, _permit: permit } = driven;
    let mut work = AssertUnwindSafe(work).catch_unwind();
    let mut orders = held.orders.subscribe();
    let mut beat = Instant::now() + BEAT;
    let end = loop {
        tokio::select! {
            biased;
            order = orders.wait_for(|order| *order != Order::GoOn) => match order.as_deref() {
                Ok(Order::Interrupt) => break Some((Status::Interrupted, held.record().interruption())),
                _ => break Some((Status::Cancelled, cancellation())),
            },
            ended = &mut work => break Some((Status::Done, ended.unwrap_or_else(|_| {
                error!(event = "worker_raise", tool = held.tool, kind = "panic");
                ToolReply::failure("internal_error", "internal error", "The server failed; run the program again.")
            }))),
            Some(print) = prints.recv() => locked(&held.prints).push(&runs.redactor.scrub(&print)),
            () = held.wake.notified() => runs.read_messages(&held, &lease).await,
            () = sleep_until(beat) => {
                beat = Instant::now() + BEAT;
                if lease.beat(|| held.record()).await.is_err() {
                    break None;
                }
                runs.read_messages(&held, &lease).await;
            }
        }
    };
    // The program and its calls end before anybody is told that it has.
    drop((work, permit));
    while let Ok(print) = prints.try_recv() {
        locked(&held.prints).push(&runs.redactor.scrub(&print));
    }
    match end {
        Some((status, reply)) => settle(&runs, &held, lease, status, reply).await,
        // Somebody else has recorded how it ended, or will.
        None => held.ends(Status::Interrupted, held.record().interruption()),
    }
    let status = if held.has_ended() { "ended" } else { "running" };
    info!(
        event = "run_stop",
        run_hash = &short_hash(held.key.id().as_bytes())[..8],
        tool = held.tool,
        status
    );
    sleep(runs.settings.ttl).await;
    runs.held().remove(&(held.key.owner().name().clone(), held.key.id().clone()));
}

/// Writes the end of a run, and then tells it.
async fn settle(runs: &Runs, held: &Held, mut lease: Lease, status: Status, reply: ToolReply) {
    let record = held.record().ended(status, &reply);
    let ttl = runs.settings.ttl;
    let mut written = lease.settle(&record, ttl).await;
    if written == Err(StateError::Full) {
        let message = "the outcome was not kept: the records of this owner take as many bytes as they may \
                       (--max-state-bytes-per-owner)";
        let short = held.record().ended(status, &ToolReply::failure("busy", message, message));
        written = lease.settle(&short, ttl).await;
    }
    match written {
        Ok(()) => held.ends(status, reply),
        Err(StateError::Unavailable(_)) => {
            // Who waits here is answered; others are as soon as the store is back.
            held.ends(status, reply);
            for _ in 0..TRIES {
                sleep(Duration::from_secs(1)).await;
                match lease.settle(&record, ttl).await {
                    Err(StateError::Unavailable(_)) => {}
                    _ => return,
                }
            }
        }
        Err(error) => {
            warn!(event = "run_overtaken", tool = held.tool, reason = %error);
            held.ends(Status::Interrupted, held.record().interruption());
        }
    }
}

impl Runs {
    /// Heeds what other replicas want of a run.
    async fn read_messages(&self, held: &Held, lease: &Lease) {
        if !self.is_shared {
            return;
        }
        for message in lease.messages().await {
            if message == CANCEL {
                held.orders.send_replace(Order::Cancel);
            }
        }
    }
}

/// Wakes the runs of this process when other replicas have something for them.
pub(super) async fn hear(runs: Weak<Runs>) {
    loop {
        let Some((store, replica)) = runs.upgrade().map(|runs| (runs.store.clone(), runs.replica.clone()))
        else {
            return;
        };
        store.woken(&replica).await;
        let Some(runs) = runs.upgrade() else { return };
        runs.held().values().filter(|held| !held.has_ended()).for_each(|held| held.wake.notify_one());
        drop(runs);
        // A store that is away does not keep anybody waiting.
        sleep(Duration::from_millis(50)).await;
    }
}
