//! The task that drives a run after its client has been given its id.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::engine::Suspended;
use ptc_host::state::StateError;
use ptc_mcp::RpcError;
use tokio::sync::mpsc;
use tracing::{error, info, warn};

use super::answering::Message;
use super::held::Held;
use super::lease::{Lease, Lost};
use super::record::{KeptCall, Status, cancellation, expiry};
use super::seed::{PinnedQuestions, Ran};
use super::{BEAT, PermitSlot, Runs};
use ptc_host::digest::short_hash;
use ptc_host::time::{self, Instant, sleep, sleep_until};
use ptc_protocol::principal::Principal;
use ptc_protocol::tool::ToolReply;

/// How many times, once a second, writing the end of a run is retried while the store is unavailable.
const TRIES: u32 = 25;

/// A run and everything that drives it.
pub(super) struct Driven {
    pub(super) held: Arc<Held>,
    pub(super) lease: Lease,
    pub(super) work: BoxFuture<'static, Ran>,
    pub(super) prints: mpsc::UnboundedReceiver<String>,
    /// Empty once the program has ended, and while it waits.
    pub(super) permit: PermitSlot,
    pub(super) pinned: PinnedQuestions,
}

/// Drives a run until it ends or is suspended, and forgets it once its end need not be reported any more.
pub(super) async fn drive(runs: Arc<Runs>, principal: Principal, driven: Driven) {
    let Driven { held, mut lease, work, mut prints, permit, mut pinned } = driven;
    let redactor = runs.redactor.for_principal(Some(principal.name()));
    let mut work = AssertUnwindSafe(work).catch_unwind();
    let mut orders = held.orders.subscribe();
    let mut beat = time::now() + BEAT;
    let ttl = runs.settings.waiting_ttl;
    // A run may begin with a question, which may have its answer by now.
    let mut expires = held.record().wait.is_some().then(|| time::now() + ttl);
    if expires.is_some() || held.is_released() {
        permit.give_back();
    }
    let end = loop {
        let is_released = held.is_released();
        if is_released {
            expires = None;
        }
        tokio::select! {
            biased;
            order = orders.wait_for(Option::is_some) => match order.as_deref() {
                Ok(Some(Status::Interrupted)) => break Ok((Status::Interrupted, Ran::Ended(held.record().interruption()))),
                _ => break Ok((Status::Cancelled, Ran::Ended(cancellation()))),
            },
            entered = runs.limiter.enter(&principal), if is_released => {
                permit.put(entered);
                held.go_on();
                runs.has_changed(&held.key);
            }
            ran = &mut work => break Ok((Status::Done, ran.unwrap_or_else(|_| {
                error!(event = "worker_raise", tool = held.tool(), kind = "panic");
                Ran::Ended(ToolReply::refused(RpcError::internal()))
            }))),
            Some(questions) = pinned.recv() => {
                permit.give_back();
                expires = Some(time::now() + ttl);
                let expires_at_ms = runs.expires_at_ms();
                held.waits(questions, expires_at_ms);
                runs.promises_past(&held, expires_at_ms);
                runs.tells_waiting(&held.key, &held.record());
                if let Err(lost) = lease.beat(|| held.record()).await {
                    break Err(lost);
                }
            }
            Some(print) = prints.recv() => held.print(&redactor.scrub(&print)),
            () = held.wake.notified() => runs.read_messages(&held, &lease).await,
            () = until(expires) => break Ok((Status::Expired, Ran::Ended(expiry(ttl)))),
            () = sleep_until(beat) => {
                beat = time::now() + BEAT;
                if let Err(lost) = lease.beat(|| held.record()).await {
                    break Err(lost);
                }
                runs.read_messages(&held, &lease).await;
            }
        }
    };
    // The program and its calls are dropped before the end is reported.
    drop(work);
    permit.give_back();
    while let Ok(print) = prints.try_recv() {
        held.print(&redactor.scrub(&print));
    }
    match end {
        Ok((status, Ran::Ended(reply))) => settle(&runs, &held, lease, status, reply).await,
        Ok((_, Ran::Waits(suspended, call))) => leave(&runs, &held, lease, *suspended, call).await,
        // Another replica has recorded the end, or will.
        Err(Lost) => held.ends(Status::Interrupted, held.record().interruption()),
    }
    let status = held.status().as_str();
    info!(
        event = "run_stop",
        run_hash = &short_hash(held.key.id().as_bytes())[..8],
        tool = held.tool(),
        status
    );
    runs.has_changed(&held.key);
    if !held.has_left() {
        sleep(runs.settings.ttl).await;
    }
    runs.forget(&held);
}

/// Completes at that time; never if there is none.
async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Stores a suspended program and releases the lease: the replica that takes the last answer resumes it.
async fn leave(runs: &Runs, held: &Held, mut lease: Lease, suspended: Suspended, call: KeptCall) {
    let record = runs.waiting_record(held.record(), suspended, call);
    match lease.leave(&record, runs.waiting_life(&record)).await {
        Ok(()) => {
            runs.tells_waiting(&held.key, &record);
            held.leaves();
        }
        Err(error) => {
            warn!(event = "run_not_kept", tool = held.tool(), reason = %error);
            let message = "the program waits for answers, and could not be kept";
            let reply = match error {
                StateError::Full => ToolReply::failure("busy", message, message),
                _ => ToolReply::failure("state_unavailable", message, message),
            };
            settle(runs, held, lease, Status::Done, reply).await;
        }
    }
}

/// Writes the end of a run, and then reports it.
async fn settle(runs: &Runs, held: &Held, mut lease: Lease, status: Status, reply: ToolReply) {
    let record = held.record().ended(status, &reply);
    let ttl = runs.rest_of(&record);
    let mut written = lease.settle(&record, ttl).await;
    if written == Err(StateError::Full) {
        let message = "the outcome was not kept: the records of this owner take as many bytes as they may \
                       (--max-state-bytes-per-owner)";
        let short = held.record().ended(status, &ToolReply::failure("busy", message, message));
        written = lease.settle(&short, ttl).await;
    }
    match written {
        Ok(()) => {
            runs.tells_status(&held.key, &record);
            held.ends(status, reply);
        }
        Err(StateError::Unavailable(_)) => {
            // Waiters in this process are answered now, others once the store is back.
            runs.tells_status(&held.key, &record);
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
            warn!(event = "run_overtaken", tool = held.tool(), reason = %error);
            held.ends(Status::Interrupted, held.record().interruption());
        }
    }
}

impl Runs {
    /// Reads the inbox of a run: answers and cancellations from other replicas.
    async fn read_messages(&self, held: &Held, lease: &Lease) {
        if !self.is_shared {
            return;
        }
        for message in lease.messages().await {
            match Message::read(&message) {
                Some(Message::Cancel) => {
                    held.orders.send_replace(Some(Status::Cancelled));
                }
                Some(Message::Answers(sent)) => {
                    let _ = held.answer(&sent);
                    self.has_changed(&held.key);
                }
                None => {}
            }
        }
    }
}

/// Wakes the runs of this process when their inboxes have messages.
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
        // Limits the rate of retries while the store is unavailable.
        sleep(Duration::from_millis(50)).await;
    }
}
