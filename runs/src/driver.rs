//! Drives a program that may outlive its request: within its call until the client's wait is over, then in a task of its own,
//! under a lease, until it ends or is suspended.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::task::AtomicWaker;
use ptc_host::digest::short_hash;
use ptc_host::engine::{EvalRequest, ObservedCalls, PrintSink, Suspended};
use ptc_host::questions::{Answer, PendingQuestion, QuestionId};
use ptc_host::state::StateError;
use ptc_host::sync::Mutex;
use ptc_host::time::{self, Instant, sleep, sleep_until};
use ptc_mcp::RpcError;
use tokio::sync::oneshot;
use tracing::{error, info, warn};

use super::active::ActiveRun;
use super::answering::RunMessage;
use super::lease::{Lease, LeaseGuard, Lost};
use super::prints::PrintLog;
use super::record::{RunRecord, Status, StoredCall, cancellation, expiry};
use super::view::RunView;
use super::{BEAT, RunError, RunName, Runs};
use ptc_protocol::concurrency_limiter::{Permit, PermitLoan};
use ptc_protocol::principal::Principal;
use ptc_protocol::timestamp;
use ptc_protocol::tool::ToolReply;

/// How many times, once a second, writing the end of a run is retried while the store is unavailable.
const TRIES: u32 = 25;

/// The run that a call may become, for its program and for the program's asker. Most calls become none, so that all of it but
/// the id is one allocation.
#[derive(Clone)]
pub struct RunHandle(Arc<HandleState>);

struct HandleState {
    id: Arc<str>,
    /// True once its client has been answered with the id.
    is_told: AtomicBool,
    news: Mutex<News>,
    /// Wakes the driver.
    driver: AtomicWaker,
}

/// What a program has told its driver, until that hears it.
#[derive(Default)]
struct News {
    told: VecDeque<DriverEvent>,
    /// True once there is no driver any more.
    is_over: bool,
}

/// Hears what a program tells its driver. Dropping it gives up what nobody has heard.
struct NewsReader(RunHandle);

/// Questions of a resident program, and where their answers go.
pub(super) struct ResidentQuestions {
    pub(super) open: Vec<PendingQuestion>,
    pub(super) answered: oneshot::Sender<Vec<(QuestionId, Answer)>>,
}

/// How far a program ran.
#[derive(Debug)]
pub enum ProgramEnd {
    /// To its end, or to another reply for its client.
    Replied(ToolReply),
    /// To questions, for which its run is to be stored, with the call that resumes it.
    Suspended(Box<Suspended>, StoredCall),
}

/// What became of a program whose client waited for it.
#[derive(Debug)]
pub enum Attended {
    /// It ended in time.
    Replied(ToolReply),
    /// A run, which goes on or waits.
    Run(Box<RunView>),
}

/// A program that may become a run, apart from its work.
pub struct Driver {
    pub(super) began: Instant,
    began_ms: i64,
    /// How long its client waits; `None` means until its program ends.
    wait: Option<Duration>,
    pub(super) guard: Arc<LeaseGuard>,
    news: NewsReader,
    /// True if its client gets a task instead of a run id.
    is_task: bool,
}

/// What a driver learns of its program.
enum DriverEvent {
    Ended(ProgramEnd),
    /// The time is over that the driver waits.
    Due,
    Asked(ResidentQuestions),
    Printed(String),
}

impl ProgramEnd {
    /// The answer of a call that does not become a run.
    pub fn alone(self) -> ToolReply {
        match self {
            ProgramEnd::Replied(reply) => reply,
            // Only a call with a handle suspends its program.
            ProgramEnd::Suspended(..) => {
                ToolReply::failure("internal_error", "internal error", "Run the program again.")
            }
        }
    }
}

impl RunHandle {
    /// The handle of the run of that id.
    pub(super) fn new(id: Arc<str>) -> RunHandle {
        let (is_told, news, driver) = (AtomicBool::new(false), Mutex::default(), AtomicWaker::new());
        RunHandle(Arc::new(HandleState { id, is_told, news, driver }))
    }

    /// The id of that run.
    pub fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// Passes the questions of a resident program to its driver, and waits for the answers.
    pub async fn hold(self, open: Vec<PendingQuestion>) -> Vec<(QuestionId, Answer)> {
        let (answered, answers) = oneshot::channel();
        self.0.tell_driver(DriverEvent::Asked(ResidentQuestions { open, answered }));
        answers.await.unwrap_or_default()
    }

    /// True if its client has been answered with the id.
    pub fn is_told(&self) -> bool {
        self.0.is_told.load(Ordering::Acquire)
    }

    /// Notes that its client has been answered with the id.
    pub(super) fn tell(&self) {
        self.0.is_told.store(true, Ordering::Release);
    }
}

impl HandleState {
    /// Tells the driver, if there still is one.
    fn tell_driver(&self, event: DriverEvent) {
        let mut news = self.news.lock();
        if !news.is_over {
            news.told.push_back(event);
            drop(news);
            self.driver.wake();
        }
    }
}

impl PrintSink for HandleState {
    fn print(&self, text: &str) {
        self.tell_driver(DriverEvent::Printed(text.to_owned()));
    }
}

impl NewsReader {
    /// The next news.
    async fn next(&self) -> DriverEvent {
        poll_fn(|context| {
            self.0.0.driver.register(context.waker());
            self.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// The next news, if there are any.
    fn take(&self) -> Option<DriverEvent> {
        self.0.0.news.lock().told.pop_front()
    }

    /// The prints that nobody has heard.
    fn prints(&self) -> impl Iterator<Item = String> {
        std::iter::from_fn(|| self.take()).filter_map(|event| match event {
            DriverEvent::Printed(print) => Some(print),
            _ => None,
        })
    }
}

impl Drop for NewsReader {
    fn drop(&mut self) {
        let mut news = self.0.0.news.lock();
        news.is_over = true;
        let unheard = std::mem::take(&mut news.told);
        drop(news);
        drop(unheard);
    }
}

impl Driver {
    /// Drives the program of `request`.
    pub(super) fn new(handle: RunHandle, wait: Option<Duration>, request: &mut EvalRequest) -> Driver {
        let guard = Arc::new(LeaseGuard::new(request.progress.clone()));
        request.print_sink = Some(handle.0.clone());
        request.run_id = Some(handle.id().clone());
        if let Some(upstreams) = request.upstreams.take() {
            request.upstreams = Some(Arc::new(ObservedCalls::new(upstreams, guard.clone())));
        }
        let (began, began_ms) = (time::now(), timestamp::shared_now_ms());
        Driver { began, began_ms, wait, guard, news: NewsReader(handle), is_task: false }
    }

    /// The run that it may become, for the asker of its program.
    pub fn handle(&self) -> &RunHandle {
        &self.news.0
    }

    /// Sets whether the client gets a task when the run outlasts the wait.
    pub fn told_as_task(self, is_task: bool) -> Driver {
        Driver { is_task, ..self }
    }

    /// True if its program has the time limit of a run.
    pub fn is_long(&self) -> bool {
        self.wait.is_some()
    }

    /// Drives the program on, at most until then.
    async fn next(
        &self,
        work: Option<&mut (impl Future<Output = ProgramEnd> + Unpin)>,
        until: Option<Instant>,
    ) -> DriverEvent {
        tokio::select! {
            biased;
            end = if_any(work) => DriverEvent::Ended(end),
            () = if_any(until.map(sleep_until)) => DriverEvent::Due,
            event = self.news.next() => event,
        }
    }

    /// Drives the program until it ends, waits for people, or the client's wait ends; then a task of its own continues.
    ///
    /// # Errors
    /// The run could not be stored; its program had the ordinary time limit.
    pub async fn attend(
        self,
        runs: Arc<Runs>,
        principal: Principal,
        tool: &str,
        mut work: BoxFuture<'static, ProgramEnd>,
        permit: Permit,
    ) -> Result<Attended, RunError> {
        let redactor = runs.redactor.for_principal(Some(principal.name()));
        let mut log = PrintLog::default();
        let id = self.handle().id().clone();
        let until = self.wait.map(|wait| self.began + wait);
        let questions = loop {
            match self.next(Some(&mut work), until).await {
                DriverEvent::Ended(ProgramEnd::Replied(reply)) => return Ok(Attended::Replied(reply)),
                DriverEvent::Ended(ProgramEnd::Suspended(suspended, call)) => {
                    self.news.prints().for_each(|print| log.push(&redactor.scrub(&print)));
                    drop((work, permit));
                    let begun = RunRecord::begun(&principal, tool, self.began_ms, log);
                    let record = RunRecord { calls: self.guard.calls(), ..begun };
                    let stored = runs.store_suspended(&principal, &id, record, *suspended, call).await;
                    return stored.map(Box::new).map(Attended::Run);
                }
                DriverEvent::Due => break None,
                DriverEvent::Asked(questions) => break Some(questions),
                DriverEvent::Printed(print) => log.push(&redactor.scrub(&print)),
            }
        };
        let mut record = RunRecord::begun(&principal, tool, self.began_ms, log);
        if self.is_task {
            record.until_ms = runs.promised_ms(self.began_ms);
        }
        let why = match runs.store_running(&self, &principal, record, questions).await {
            Ok((run, lease)) => {
                self.handle().tell();
                let (view, loan) = (run.view(), permit.loan().clone());
                let permit = (permit.is_program(), Some(permit));
                self.spawn(runs, run, lease, work, permit, loan);
                return view.map(Box::new).map(Attended::Run).ok_or(RunError::NotFound);
            }
            Err(why) => why,
        };
        // A run that cannot be stored has the ordinary time limit, and cannot ask anybody.
        let end = self.began + runs.ordinary.max(self.wait.unwrap_or_default());
        loop {
            match self.next(Some(&mut work), Some(end)).await {
                DriverEvent::Ended(ProgramEnd::Replied(reply)) => return Ok(Attended::Replied(reply)),
                DriverEvent::Ended(ProgramEnd::Suspended(..)) | DriverEvent::Due => return Err(why),
                DriverEvent::Asked(_) | DriverEvent::Printed(_) => {}
            }
        }
    }

    /// Continues in a task of its own. A program has its permit on `loan`; the driver obtains one for a program that has none.
    /// `permit`: whether the policy counts a program, and the permit, if it has one now.
    pub(super) fn spawn(
        self,
        runs: Arc<Runs>,
        run: Arc<ActiveRun>,
        lease: Lease,
        work: BoxFuture<'static, ProgramEnd>,
        permit: (bool, Option<Permit>),
        loan: PermitLoan,
    ) {
        let name: RunName = (run.key.owner().name().clone(), self.handle().id().clone());
        runs.active().insert(name, run.clone());
        let (worker, engine) = (runs.worker(), runs.engine.clone());
        engine.spawn_on(worker, move || self.drive(runs, run, lease, work, permit, loan));
    }

    /// Drives a run until it ends or is suspended, and forgets it once its end need not be reported any more. The permit is
    /// given back while its program waits.
    async fn drive(
        self,
        runs: Arc<Runs>,
        run: Arc<ActiveRun>,
        mut lease: Lease,
        work: BoxFuture<'static, ProgramEnd>,
        (is_program, mut permit): (bool, Option<Permit>),
        loan: PermitLoan,
    ) {
        let principal = runs.principal(run.key.owner().name());
        let redactor = runs.redactor.for_principal(Some(principal.name()));
        let tool = run.tool();
        let mut work = AssertUnwindSafe(work).catch_unwind().map(|end| {
            end.unwrap_or_else(|_| {
                error!(event = "worker_raise", tool, kind = "panic");
                ProgramEnd::Replied(ToolReply::refused(RpcError::internal()))
            })
        });
        let mut orders = run.orders.subscribe();
        let ttl = runs.settings.waiting_ttl;
        let mut beat = time::now() + BEAT;
        let mut expires = time::now() + ttl;
        let end = loop {
            // A run may begin with a question, which may have its answer by now.
            if run.is_paused() {
                permit = None;
            }
            let is_waiting = run.is_waiting();
            let needs_permit = permit.is_none() && !is_waiting;
            let until = if is_waiting { beat.min(expires) } else { beat };
            let polled = Some(&mut work).filter(|_| !needs_permit);
            // With the limits of now: its policy, and what is known of its caller, may change while it waits for the permit.
            let entering = needs_permit.then(|| {
                let caller = principal.clone().with_authority(runs.authority_of(&run.record()));
                let limiter = &runs.limiter;
                async move { limiter.enter(&caller, is_program).await }
            });
            let event = tokio::select! {
                biased;
                order = orders.wait_for(Option::is_some) => match order.as_deref() {
                    Ok(Some(Status::Interrupted)) => break Ok((Status::Interrupted, ProgramEnd::Replied(run.record().interruption()))),
                    _ => break Ok((Status::Cancelled, ProgramEnd::Replied(cancellation()))),
                },
                mut entered = if_any(entering) => {
                    loan.bind(&mut entered);
                    permit = Some(entered);
                    run.go_on();
                    runs.has_changed(&run.key);
                    continue;
                }
                event = self.next(polled, Some(until)) => event,
                () = run.wake.notified() => {
                    runs.read_messages(&run, &lease).await;
                    continue;
                }
            };
            match event {
                DriverEvent::Ended(end) => break Ok((Status::Done, end)),
                DriverEvent::Printed(print) => run.print(&redactor.scrub(&print)),
                DriverEvent::Asked(questions) => {
                    permit = None;
                    expires = time::now() + ttl;
                    runs.waits(&run, questions);
                    runs.tells_waiting(&run.key, &run.record());
                    if let Err(lost) = lease.beat(|| run.record()).await {
                        break Err(lost);
                    }
                }
                DriverEvent::Due if is_waiting && time::now() >= expires => {
                    break Ok((Status::Expired, ProgramEnd::Replied(expiry(ttl))));
                }
                DriverEvent::Due => {
                    beat = time::now() + BEAT;
                    if let Err(lost) = lease.beat(|| run.record()).await {
                        break Err(lost);
                    }
                    runs.read_messages(&run, &lease).await;
                }
            }
        };
        // The program and its calls are dropped before the end is reported.
        drop((work, permit));
        self.news.prints().for_each(|print| run.print(&redactor.scrub(&print)));
        match end {
            Ok((status, ProgramEnd::Replied(reply))) => settle(&runs, &run, lease, status, reply).await,
            Ok((_, ProgramEnd::Suspended(suspended, call))) => {
                leave(&runs, &run, lease, *suspended, call).await
            }
            // Another replica has recorded the end, or will.
            Err(Lost) => run.ends(Status::Interrupted, run.record().interruption()),
        }
        let (run_hash, status) = (&short_hash(run.key.id().as_bytes())[..8], run.status().as_str());
        info!(event = "run_stop", run_hash, tool = run.tool(), status);
        runs.has_changed(&run.key);
        if !run.has_left() {
            sleep(runs.settings.ttl).await;
        }
        runs.forget(&run);
    }
}

/// The output of this future; never completes if there is none.
async fn if_any<F: Future>(future: Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Stores a suspended program and releases the lease: the replica that takes the last answer resumes it.
async fn leave(runs: &Runs, run: &ActiveRun, mut lease: Lease, suspended: Suspended, call: StoredCall) {
    let record = runs.waiting_record(run.record(), suspended, call).await;
    match lease.leave(&record, runs.waiting_life(&record)).await {
        Ok(()) => {
            runs.tells_waiting(&run.key, &record);
            run.leaves();
        }
        Err(error) => {
            warn!(event = "run_not_kept", tool = run.tool(), reason = %error);
            let message = "the program waits for answers, and could not be kept";
            let reply = match error {
                StateError::Full => ToolReply::failure("busy", message, message),
                _ => ToolReply::failure("state_unavailable", message, message),
            };
            settle(runs, run, lease, Status::Done, reply).await;
        }
    }
}

/// Writes the end of a run, and then reports it.
async fn settle(runs: &Runs, run: &ActiveRun, mut lease: Lease, status: Status, reply: ToolReply) {
    let record = run.record().ended(status, &reply);
    let ttl = runs.rest_of(&record);
    let mut written = lease.settle(&record, ttl).await;
    if written == Err(StateError::Full) {
        let message = "the outcome was not kept: the records of this owner take as many bytes as they may \
                       (--max-state-bytes-per-owner)";
        let short = run.record().ended(status, &ToolReply::failure("busy", message, message));
        written = lease.settle(&short, ttl).await;
    }
    match written {
        Ok(()) => {
            runs.tells_status(&run.key, &record);
            run.ends(status, reply);
        }
        Err(StateError::Unavailable(_)) => {
            // Waiters in this process are answered now, others once the store is back.
            runs.tells_status(&run.key, &record);
            run.ends(status, reply);
            for _ in 0..TRIES {
                sleep(Duration::from_secs(1)).await;
                match lease.settle(&record, ttl).await {
                    Err(StateError::Unavailable(_)) => {}
                    _ => return,
                }
            }
        }
        Err(error) => {
            warn!(event = "run_overtaken", tool = run.tool(), reason = %error);
            run.ends(Status::Interrupted, run.record().interruption());
        }
    }
}

impl Runs {
    /// Has the program of `request` driven, so that the call can become a run. With a time to wait, the program has the time
    /// limit of a run. Returns `None` if the system has no entropy.
    pub fn lengthen(&self, wait: Option<Duration>, request: &mut EvalRequest) -> Option<Driver> {
        let driver = Driver::new(RunHandle::new(super::id::new()?), wait, request);
        if wait.is_some() {
            request.limits.timeout = self.settings.timeout;
        }
        Some(driver)
    }

    /// Reads the inbox of a run: answers and cancellations from other replicas.
    async fn read_messages(&self, run: &ActiveRun, lease: &Lease) {
        if !self.is_shared {
            return;
        }
        for message in lease.messages().await {
            match RunMessage::read(&message) {
                Some(RunMessage::Cancel) => {
                    run.orders.send_replace(Some(Status::Cancelled));
                }
                Some(RunMessage::Answers(sent)) => {
                    let _ = run.answer(&sent);
                    self.has_changed(&run.key);
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
        runs.active().values().filter(|run| !run.has_ended()).for_each(|run| run.wake.notify_one());
        drop(runs);
        // Limits the rate of retries while the store is unavailable.
        sleep(Duration::from_millis(50)).await;
    }
}
