//! Scheduling of a worker's thread: programs run in turns of [`TURN`], fairly by principal, and between two
//! turns the worker does its other work: connections, replies, new requests.
//!
//! Most programs end before they have used up a turn. So work begins at once, where it is requested, as long as no program of
//! the same principal waits and the worker has polled its sockets recently ([`AT_ONCE`]); everything else is queued, and a task
//! of the worker gives out the turns, one between two polls of its sockets. Connections are served alike
//! ([`serve_in_turns`](Scheduler::serve_in_turns)): at once after a recent poll, and otherwise queued with the programs of
//! their principal.

#![expect(clippy::disallowed_methods, reason = "turns share out what threads really have of time")]

use super::limits::whole_nanos;
use super::running_turn::{TURN, is_running};
use super::stack::{Pool, STACKS_OF_ONE, Stack, TurnEnd};
use super::turns::{QueuePosition, Stacks, Turns};
use super::work::{Principal, Work, WorkResult};
use ptc_base::memory::MemoryBudget;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long after a poll of the worker's sockets work is done at once.
const AT_ONCE: Duration = TURN;

/// The same for tasks outside the programs while programs wait for their turns.
const AT_ONCE_BESIDE_PROGRAMS: Duration = Duration::from_micros(150);

/// Most tasks outside the programs, such as connections, that have a turn between two polls of the sockets. A task takes some
/// ten microseconds as a rule, and programs that tasks begin run at once for [`AT_ONCE`] only.
const TASKS_AT_ONCE: usize = 16;

/// How often a task that has a turn waits for another one because the time has gone by meanwhile.
const MOST_WAITS: u32 = 8;

/// The turns of one worker.
pub(super) struct Scheduler {
    queue: RefCell<Turns<Principal, Entry>>,
    pool: RefCell<Pool>,
    /// Wakes the task that gives out turns.
    waiting: Notify,
    /// When the worker last looked at its sockets.
    looked: Cell<Instant>,
    /// Whether the time that is spent now is charged, as a whole, when it is over.
    is_charged: Cell<bool>,
    /// How many programs wait for this worker; new work is placed by it.
    load: Arc<AtomicUsize>,
}

/// An entry that waits for a turn.
struct Entry {
    job: Job,
    /// The ticket for the result; none if the entry was cancelled.
    ticket: Option<Rc<TicketState>>,
}

enum Job {
    Fresh(Work),
    /// In the middle of something.
    Paused(Stack),
    /// To be done by who waits for the ticket, on the same thread and without a stack; it may take as long as a turn.
    Outside,
    /// The next step of a task that waits for the ticket.
    Task,
}

/// The state of a ticket.
#[derive(Default)]
struct TicketState {
    place: Cell<Option<QueuePosition>>,
    result: RefCell<Option<Result<WorkResult, Box<dyn Any + Send>>>>,
    waker: RefCell<Option<Waker>>,
}

impl Job {
    fn stacks(&self) -> Stacks {
        match self {
            Job::Fresh(_) => Stacks::Needs,
            Job::Paused(_) => Stacks::Holds,
            Job::Outside | Job::Task => Stacks::None,
        }
    }
}

impl TicketState {
    fn answer(&self, result: Result<WorkResult, Box<dyn Any + Send>>) {
        *self.result.borrow_mut() = Some(result);
        let waker = self.waker.take();
        waker.into_iter().for_each(Waker::wake);
    }
}

/// Work that waits for its turns. Dropping this cancels it.
pub(super) struct Ticket {
    scheduler: Rc<Scheduler>,
    principal: Principal,
    waiting: Rc<TicketState>,
}

impl Future for Ticket {
    type Output = WorkResult;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<WorkResult> {
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
        if let Some(Ok(WorkResult::Waiting(run))) = self.waiting.result.take() {
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
        self.scheduler.charge_part(&self.principal, self.began.elapsed());
    }
}

/// Marks the time until it is dropped as charged when it is over.
struct AsAWhole<'a>(&'a Cell<bool>);

impl<'a> AsAWhole<'a> {
    fn begin(is_charged: &'a Cell<bool>) -> AsAWhole<'a> {
        is_charged.set(true);
        AsAWhole(is_charged)
    }
}

impl Drop for AsAWhole<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Scheduler {
    /// A scheduler without work. Stacks beyond the first few are charged to `memory`, and `load` is kept up to date.
    pub(super) fn new(memory: Option<MemoryBudget>, load: Arc<AtomicUsize>) -> Rc<Scheduler> {
        Rc::new(Scheduler {
            queue: RefCell::new(Turns::new(STACKS_OF_ONE)),
            pool: RefCell::new(Pool::new(memory)),
            waiting: Notify::new(),
            looked: Cell::new(Instant::now()),
            is_charged: Cell::default(),
            load,
        })
    }

    /// Notes that the worker has just looked at its sockets.
    pub(super) fn note_look(&self) {
        self.looked.set(Instant::now());
    }

    /// Whether others have waited for long since the worker looked at its sockets.
    fn is_late(&self) -> bool {
        self.is_late_at(Instant::now())
    }

    /// Whether they will have, after one more short program.
    pub(super) fn is_late_soon(&self) -> bool {
        self.is_late_at(Instant::now() + AT_ONCE / 2)
    }

    fn is_late_at(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.looked.get()) >= AT_ONCE
    }

    /// The same for a task. While programs wait, one of them has a turn after each look, so less is done at once.
    fn is_late_beside_programs(&self, now: Instant) -> bool {
        let limit = if self.load.load(Ordering::Relaxed) > 0 { AT_ONCE_BESIDE_PROGRAMS } else { AT_ONCE };
        now.saturating_duration_since(self.looked.get()) >= limit
    }

    /// Whether a program of this principal begins at once.
    pub(super) fn is_next(&self, principal: &Principal) -> bool {
        self.is_next_at(Instant::now(), principal)
    }

    fn is_next_at(&self, now: Instant, principal: &Principal) -> bool {
        !is_running() && !self.queue.borrow().has_program(principal) && !self.is_late_at(now)
    }

    /// Does `work` now, as far as it gets in one turn, or queues it.
    pub(super) fn run(self: &Rc<Self>, work: Work) -> WorkResult {
        let began = Instant::now();
        let at_once = self.is_next_at(began, work.principal());
        let stack = if at_once { self.pool.borrow_mut().take() } else { None };
        let principal = work.principal().clone();
        let Some(mut stack) = stack else {
            let served = work.served();
            return WorkResult::Queued(self.queue_up(principal, served, Job::Fresh(work)));
        };
        let served = work.served();
        let ended = stack.begin(work);
        let took = began.elapsed();
        match ended {
            TurnEnd::Done(done) => {
                self.pool.borrow_mut().put(stack);
                with_time(done, took)
            }
            TurnEnd::Panicked(panic) => {
                self.pool.borrow_mut().put(stack);
                resume_unwind(panic)
            }
            TurnEnd::Paused => {
                let served = served.saturating_add(whole_nanos(took));
                let ticket = self.queue_up(principal.clone(), served, Job::Paused(stack));
                self.charge_part(&principal, took);
                WorkResult::Queued(ticket)
            }
        }
    }

    /// As [`run`](Self::run), to the end.
    pub(super) async fn finish(self: &Rc<Self>, work: Work) -> WorkResult {
        match self.run(work) {
            WorkResult::Queued(ticket) => ticket.await,
            done => done,
        }
    }

    /// Waits for a turn for work outside of programs: the cost of a request before its program is known.
    pub(super) async fn turn(self: &Rc<Self>, principal: Principal) -> Turn {
        let _freed = self.queue_up(principal.clone(), 0, Job::Outside).await;
        Turn { scheduler: self.clone(), principal, began: Instant::now() }
    }

    /// Runs `task`, which is no program: each of its steps at once while the worker's poll of its sockets is recent, and else
    /// in a turn of the principal that `principal` returns then. Its time is charged to that principal.
    pub(super) async fn serve_in_turns<F: Future>(
        self: Rc<Self>,
        principal: impl Fn() -> Principal,
        task: F,
    ) -> F::Output {
        let mut task = pin!(task);
        let mut turn: Option<Ticket> = None;
        let (mut served, mut waits) = (0, 0);
        poll_fn(|context| {
            if let Some(ticket) = &mut turn {
                ready!(Pin::new(ticket).poll(context));
                turn = None;
            }
            let began = Instant::now();
            // Those that have a turn with it may have taken long.
            if self.is_late_beside_programs(began) && waits < MOST_WAITS {
                waits += 1;
                let ticket = turn.insert(self.queue_up(principal(), served, Job::Task));
                ready!(Pin::new(ticket).poll(context));
                turn = None;
            }
            waits = 0;
            let polled = {
                let _whole = AsAWhole::begin(&self.is_charged);
                task.as_mut().poll(context)
            };
            if self.queue.borrow().len() > 0 {
                // A step takes less than a turn. What goes beyond it is the system's, which has given the processor to others.
                let took = whole_nanos(began.elapsed().min(TURN));
                served = served.saturating_add(took);
                self.queue.borrow_mut().charge(&principal(), took);
            }
            polled
        })
        .await
    }

    /// Charges time, unless the enclosing whole is charged.
    fn charge_part(&self, principal: &Principal, took: Duration) {
        if !self.is_charged.get() {
            self.queue.borrow_mut().charge(principal, whole_nanos(took));
        }
    }

    fn queue_up(self: &Rc<Self>, principal: Principal, served: u64, job: Job) -> Ticket {
        let waiting = Rc::new(TicketState::default());
        let entry = Entry { job, ticket: Some(waiting.clone()) };
        self.push(&principal, served, entry);
        Ticket { scheduler: self.clone(), principal, waiting }
    }

    fn push(&self, principal: &Principal, served: u64, entry: Entry) {
        let ticket = entry.ticket.clone();
        self.note_load(&entry.job, 1);
        let place = self.queue.borrow_mut().push(principal, served, entry.job.stacks(), entry);
        if let Some(ticket) = ticket {
            ticket.place.set(Some(place));
        }
        self.waiting.notify_one();
    }

    /// A task's next step is over before a program that is sent elsewhere arrives there.
    fn note_load(&self, job: &Job, change: isize) {
        if !matches!(job, Job::Task) {
            self.load.fetch_add(change.cast_unsigned(), Ordering::Relaxed);
        }
    }

    /// Gives out turns for as long as the worker lives.
    pub(super) async fn give_turns(self: Rc<Self>) {
        loop {
            if self.queue.borrow().len() == 0 {
                self.waiting.notified().await;
            }
            // The worker looks at its sockets, and does what it finds there.
            tokio::task::yield_now().await;
            // Whoever has a turn does the rest at once.
            self.note_look();
            let mut tasks = 0;
            while tasks < TASKS_AT_ONCE && self.is_a_task_next() {
                self.give_turn();
                tasks += 1;
            }
            if tasks == 0 {
                self.give_turn();
            }
        }
    }

    /// Whether new work may begin now. Entries that hold a stack continue and give it back; if none is held, there is nothing
    /// to wait for.
    fn may_begin(&self) -> bool {
        let mut pool = self.pool.borrow_mut();
        pool.has_room() || !pool.is_in_use()
    }

    fn is_a_task_next(&self) -> bool {
        let may_begin = self.may_begin();
        self.queue.borrow().next(may_begin).is_some_and(|entry| matches!(entry.job, Job::Task))
    }

    /// Gives one turn to the next entry.
    fn give_turn(&self) {
        let may_begin = self.may_begin();
        let Some((principal, (served, _), entry)) = self.queue.borrow_mut().pop(may_begin) else {
            return;
        };
        self.note_load(&entry.job, -1);
        if let Some(ticket) = &entry.ticket {
            ticket.place.set(None);
        }
        self.serve(&principal, served, entry);
    }

    /// Runs `entry` on the thread for one turn, and queues the rest.
    fn serve(&self, principal: &Principal, served: u64, Entry { job, ticket }: Entry) {
        let began = Instant::now();
        let (stack, ended) = match job {
            Job::Outside | Job::Task => (None, TurnEnd::Done(WorkResult::Freed)),
            Job::Paused(mut stack) => {
                let ended = stack.go_on(ticket.is_some());
                (Some(stack), ended)
            }
            Job::Fresh(work) => match work.on_time(began) {
                Ok(work) => self.begin(work),
                Err(done) => (None, TurnEnd::Done(*done)),
            },
        };
        let took = began.elapsed();
        let served = served.saturating_add(whole_nanos(took));
        let result = match ended {
            TurnEnd::Paused => Ok(None),
            TurnEnd::Done(done) => Ok(Some(with_time(done, took))),
            TurnEnd::Panicked(panic) => Err(panic),
        };
        self.queue.borrow_mut().charge(principal, whole_nanos(took));
        let result = match (result, stack) {
            (Ok(None), Some(stack)) => {
                return self.push(principal, served, Entry { job: Job::Paused(stack), ticket });
            }
            (result, stack) => {
                stack.into_iter().for_each(|stack| self.pool.borrow_mut().put(stack));
                result.map(|done| done.unwrap_or(WorkResult::Freed))
            }
        };
        match ticket {
            Some(ticket) => ticket.answer(result),
            // Nobody wants the program any more.
            None => match result {
                Ok(WorkResult::Waiting(run)) => self.discard(Work::Free(run)),
                Ok(WorkResult::Outcome(_) | WorkResult::Queued(_) | WorkResult::Freed) | Err(_) => {}
            },
        }
    }

    /// Begins work on a stack, or where it is if the system has no memory for a single one: it then runs slice by slice, and
    /// cannot pause in the middle of one.
    fn begin(&self, work: Work) -> (Option<Stack>, TurnEnd) {
        let stack = self.pool.borrow_mut().take();
        let Some(mut stack) = stack else {
            let done = catch_unwind(AssertUnwindSafe(|| work.run()));
            return (None, done.map_or_else(TurnEnd::Panicked, TurnEnd::Done));
        };
        let ended = stack.begin(work);
        (Some(stack), ended)
    }

    /// Cancels the entry at `place`, as soon as possible.
    fn give_up(&self, principal: &Principal, place: QueuePosition) {
        let Some(Entry { job, .. }) = self.queue.borrow_mut().take(principal, place) else { return };
        self.note_load(&job, -1);
        match job {
            Job::Fresh(work) => work.unwanted().into_iter().for_each(|work| self.discard(work)),
            Job::Outside | Job::Task => {}
            job @ Job::Paused(_) => self.end(principal, place.0, Entry { job, ticket: None }),
        }
    }

    /// Does `work` without a result: at once for as long as a turn, and the rest in its turns.
    pub(super) fn discard(&self, work: Work) {
        let (principal, served) = (work.principal().clone(), work.served());
        self.end(&principal, served, Entry { job: Job::Fresh(work), ticket: None });
    }

    /// Does `work`, which reports its result itself, to its end: it cannot be cancelled, so nothing of it is cut short when its
    /// turn is over.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn see_through(&self, work: Work) {
        let (principal, served) = (work.principal().clone(), work.served());
        let ticket = Some(Rc::new(TicketState::default()));
        self.end(&principal, served, Entry { job: Job::Fresh(work), ticket });
    }

    fn end(&self, principal: &Principal, served: u64, entry: Entry) {
        if is_running() || self.is_late() {
            return self.push(principal, served, entry);
        }
        self.serve(principal, served, entry);
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
fn with_time(done: WorkResult, took: Duration) -> WorkResult {
    match done {
        WorkResult::Waiting(mut run) => {
            run.served = run.served.saturating_add(whole_nanos(took));
            WorkResult::Waiting(run)
        }
        done => done,
    }
}
