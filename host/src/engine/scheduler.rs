//! Who has a worker's thread: programs run in turns of [`TURN`](super::stack::TURN), fairly by principal, and between two turns
//! the worker does its other work: connections, replies, new requests.
//!
//! Most programs end before they have used up a turn. So work begins at once, where it is asked for, as long as nobody of the same
//! principal waits and the thread has not been had for long ([`AT_ONCE`]); everything else waits in line, and a task of the
//! worker's gives out the turns, one between two looks at its sockets.

use super::limits::whole_nanos;
use super::pool::{Pool, STACKS_OF_ONE};
use super::stack::{self, Ended, Stack, TURN};
use super::turns::{Place, Turns};
use super::work::{Done, Principal, Work};
use crate::maybe_ready::MaybeReady;
use crate::memory::MemoryBudget;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Time that programs have the thread without a turn, between two looks at the worker's sockets.
const AT_ONCE: Duration = TURN;

/// The turns of one worker.
pub(super) struct Scheduler {
    queue: RefCell<Turns<Principal, Entry>>,
    pool: RefCell<Pool>,
    /// Wakes the task that gives out turns.
    waiting: Notify,
    /// What programs had at once since the worker last looked at its sockets.
    at_once: Cell<Duration>,
    /// How many programs wait for this worker, for whoever sends it more.
    load: Arc<AtomicUsize>,
}

/// What waits for a turn.
struct Entry {
    job: Job,
    /// Who waits for the result; nobody does for what was given up.
    ticket: Option<Rc<Waiting>>,
}

enum Job {
    Fresh(Work),
    /// In the middle of something.
    Paused(Stack),
    /// To be done by who waits for the ticket, on the same thread and without a stack.
    Outside,
}

/// What a ticket waits for.
#[derive(Default)]
struct Waiting {
    place: Cell<Option<Place>>,
    result: RefCell<Option<Result<Done, Box<dyn Any + Send>>>>,
    waker: RefCell<Option<Waker>>,
}

impl Waiting {
    fn answer(&self, result: Result<Done, Box<dyn Any + Send>>) {
        *self.result.borrow_mut() = Some(result);
        let waker = self.waker.take();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Work that waits for its turns. Dropping this gives it up.
pub(super) struct Ticket {
    scheduler: Rc<Scheduler>,
    principal: Principal,
    waiting: Rc<Waiting>,
}

impl Future for Ticket {
    type Output = Done;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Done> {
        if let Some(result) = self.waiting.result.take() {
            return Poll::Ready(result.unwrap_or_else(|panic| resume_unwind(panic)));
        }
        *self.waiting.waker.borrow_mut() = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(place) = self.waiting.place.take() {
            self.scheduler.give_up(&self.principal, place);
        }
        if let Some(Ok(Done::Waiting(run))) = self.waiting.result.take() {
            self.scheduler.discard(Work::Free(run));
        }
    }
}

/// A turn of work outside the programs, until dropped: its time is then charged to its principal.
pub struct Turn {
    scheduler: Rc<Scheduler>,
    principal: Principal,
    began: Instant,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let took = whole_nanos(self.began.elapsed());
        self.scheduler.queue.borrow_mut().charge(&self.principal, took);
    }
}

impl Scheduler {
    /// A scheduler without work. Stacks beyond the first few are charged to `memory`, and `load` is kept up to date.
    pub(super) fn new(memory: Option<MemoryBudget>, load: Arc<AtomicUsize>) -> Rc<Scheduler> {
        Rc::new(Scheduler {
            queue: RefCell::new(Turns::new(STACKS_OF_ONE)),
            pool: RefCell::new(Pool::new(memory)),
            waiting: Notify::new(),
            at_once: Cell::default(),
            load,
        })
    }

    /// Does `work` now, as far as it gets in one turn, or queues it.
    pub(super) fn run(self: &Rc<Self>, work: Work) -> MaybeReady<Done, Ticket> {
        let at_once = self.at_once.get() < AT_ONCE
            && !stack::is_running()
            && (self.queue.borrow().len() == 0 || !self.queue.borrow().has(work.principal()));
        let stack = if at_once { self.pool.borrow_mut().take() } else { None };
        let principal = work.principal().clone();
        let Some(mut stack) = stack else {
            let served = work.served();
            return MaybeReady::Waiting(self.queue_up(principal, served, Job::Fresh(work)));
        };
        let served = work.served();
        let began = Instant::now();
        let ended = stack.begin(work);
        let took = began.elapsed();
        self.at_once.set(self.at_once.get() + took);
        match ended {
            Ended::Done(done) => {
                self.pool.borrow_mut().put(stack);
                MaybeReady::Ready(with_time(done, took))
            }
            Ended::Panicked(panic) => {
                self.pool.borrow_mut().put(stack);
                resume_unwind(panic)
            }
            Ended::Paused => {
                let served = served.saturating_add(whole_nanos(took));
                let ticket = self.queue_up(principal.clone(), served, Job::Paused(stack));
                self.queue.borrow_mut().charge(&principal, whole_nanos(took));
                MaybeReady::Waiting(ticket)
            }
        }
    }

    /// As [`run`](Self::run), to the end.
    pub(super) async fn finish(self: &Rc<Self>, work: Work) -> Done {
        match self.run(work) {
            MaybeReady::Ready(done) => done,
            MaybeReady::Waiting(ticket) => ticket.await,
        }
    }

    /// Waits for a turn of work that is no program's: what a request costs before its program is known.
    pub(super) async fn turn(self: &Rc<Self>, principal: Principal) -> Turn {
        let _freed = self.queue_up(principal.clone(), 0, Job::Outside).await;
        Turn { scheduler: self.clone(), principal, began: Instant::now() }
    }

    fn queue_up(self: &Rc<Self>, principal: Principal, served: u64, job: Job) -> Ticket {
        let waiting = Rc::new(Waiting::default());
        let entry = Entry { job, ticket: Some(waiting.clone()) };
        self.push(&principal, served, entry);
        Ticket { scheduler: self.clone(), principal, waiting }
    }

    fn push(&self, principal: &Principal, served: u64, entry: Entry) {
        let ticket = entry.ticket.clone();
        // What needs no stack waits for none.
        let needs_none = matches!(entry.job, Job::Paused(_) | Job::Outside);
        let place = self.queue.borrow_mut().push(principal, served, needs_none, entry);
        if let Some(ticket) = ticket {
            ticket.place.set(Some(place));
        }
        self.load.fetch_add(1, Ordering::Relaxed);
        self.waiting.notify_one();
    }

    /// Gives out turns for as long as the worker lives.
    pub(super) async fn give_turns(self: Rc<Self>) {
        loop {
            if self.queue.borrow().len() == 0 {
                self.waiting.notified().await;
            }
            // The worker looks at its sockets, and does what it finds there.
            tokio::task::yield_now().await;
            self.at_once.set(Duration::ZERO);
            self.give_turn();
        }
    }

    /// Gives one turn to whoever is next.
    fn give_turn(&self) {
        let may_begin = {
            let mut pool = self.pool.borrow_mut();
            // What holds a stack goes on and gives it back; where nobody holds one, there is nothing to wait for.
            pool.has_room() || !pool.is_in_use()
        };
        let Some((principal, (served, _), entry)) = self.queue.borrow_mut().pop(may_begin) else {
            return;
        };
        self.load.fetch_sub(1, Ordering::Relaxed);
        if let Some(ticket) = &entry.ticket {
            ticket.place.set(None);
        }
        self.serve(&principal, served, entry);
    }

    /// Lets `entry` have the thread for one turn, and queues what is left.
    fn serve(&self, principal: &Principal, served: u64, Entry { job, ticket }: Entry) {
        let began = Instant::now();
        let (stack, ended) = match job {
            Job::Outside => (None, Ended::Done(Done::Freed)),
            Job::Paused(mut stack) => {
                let ended = stack.go_on(ticket.is_some());
                (Some(stack), ended)
            }
            Job::Fresh(work) => match work.on_time(began) {
                Ok(work) => self.begin(work),
                Err(done) => (None, Ended::Done(*done)),
            },
        };
        let took = began.elapsed();
        let served = served.saturating_add(whole_nanos(took));
        let result = match ended {
            Ended::Paused => Ok(None),
            Ended::Done(done) => Ok(Some(with_time(done, took))),
            Ended::Panicked(panic) => Err(panic),
        };
        self.queue.borrow_mut().charge(principal, whole_nanos(took));
        let result = match (result, stack) {
            (Ok(None), Some(stack)) => {
                return self.push(principal, served, Entry { job: Job::Paused(stack), ticket });
            }
            (result, stack) => {
                stack.into_iter().for_each(|stack| self.pool.borrow_mut().put(stack));
                result.map(|done| done.unwrap_or(Done::Freed))
            }
        };
        match ticket {
            Some(ticket) => ticket.answer(result),
            // Nobody wants the program any more.
            None => match result {
                Ok(Done::Waiting(run)) => self.discard(Work::Free(run)),
                Ok(Done::Outcome(_) | Done::Freed) | Err(_) => {}
            },
        }
    }

    /// Begins work on a stack, or where it is if the system has no memory for a single one: it then runs slice by slice, and
    /// cannot pause in the middle of one.
    fn begin(&self, work: Work) -> (Option<Stack>, Ended) {
        let stack = self.pool.borrow_mut().take();
        let Some(mut stack) = stack else {
            let done = catch_unwind(AssertUnwindSafe(|| work.run()));
            return (None, done.map_or_else(Ended::Panicked, Ended::Done));
        };
        let ended = stack.begin(work);
        (Some(stack), ended)
    }

    /// Gives up what waits at `place`, as soon as that can be.
    fn give_up(&self, principal: &Principal, place: Place) {
        let Some(Entry { job, .. }) = self.queue.borrow_mut().take(principal, place) else { return };
        self.load.fetch_sub(1, Ordering::Relaxed);
        match job {
            Job::Fresh(work) => work.unwanted().into_iter().for_each(|work| self.discard(work)),
            Job::Outside => {}
            job @ Job::Paused(_) => self.end(principal, place.0, Entry { job, ticket: None }),
        }
    }

    /// Does `work`, for whose result nobody waits: at once for as long as a turn, and the rest in its turns.
    pub(super) fn discard(&self, work: Work) {
        let (principal, served) = (work.principal().clone(), work.served());
        self.end(&principal, served, Entry { job: Job::Fresh(work), ticket: None });
    }

    fn end(&self, principal: &Principal, served: u64, entry: Entry) {
        if stack::is_running() || self.at_once.get() >= AT_ONCE {
            return self.push(principal, served, entry);
        }
        let began = Instant::now();
        self.serve(principal, served, entry);
        self.at_once.set(self.at_once.get() + began.elapsed());
    }

    /// Ends everything, for a worker that ends.
    pub(super) fn close(&self) {
        loop {
            let left = self.queue.borrow_mut().drain();
            if left.is_empty() {
                break;
            }
            for entry in left {
                if let Job::Paused(mut stack) = entry.job {
                    stack.end();
                    self.pool.borrow_mut().put(stack);
                }
            }
        }
        self.pool.borrow_mut().close();
    }
}

/// The same, with the time that the program had the thread noted on it.
fn with_time(done: Done, took: Duration) -> Done {
    match done {
        Done::Waiting(mut run) => {
            run.served = run.served.saturating_add(whole_nanos(took));
            Done::Waiting(run)
        }
        done => done,
    }
}
