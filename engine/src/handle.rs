//! The handle to an engine, and its worker threads.

use super::eval_span::EvalSpan;
use super::outcome::EvalOutcome;
use super::request::EvalRequest;
use super::run;
use super::scheduler::Turn;
use super::session::SessionStore;
use super::work::{Work, WorkResult};
use super::worker::{CacheBytes, Worker, default_cache_bytes};
use futures_util::future::{BoxFuture, Either, select};
use ptc_base::memory::{self, MemoryBudget};
use ptc_base::sync::Mutex;
use ptc_base::time::{self, Clock, Instant};
use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

/// Why an engine could not be started.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The operating system refused a thread, or the event queue of one.
    #[error("cannot start worker thread {index}: {source}")]
    Thread {
        /// Which one, from 0.
        index: usize,
        /// The system's error.
        source: std::io::Error,
    },
}

/// How an engine is built.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Worker threads; 0 for one a core.
    pub threads: usize,
    /// The memory that all programs and sessions may hold together; `None` for their own limits only.
    pub memory: Option<MemoryBudget>,
    /// Most bytes of compiled programs that all threads keep between evals, and as many of regular expressions; `None` for 64 MiB,
    /// but no more than an eighth of the memory.
    pub cache_bytes: Option<u64>,
}

/// Caches between programs, in bytes of the heap. Their memory is part of that of all programs, which reclaim it when they need
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cached {
    /// Compiled programs, with their texts and constants.
    pub program_bytes: u64,
    /// Compiled regular expressions, and scratch memory for searches.
    pub pattern_bytes: u64,
}

/// A handle to the worker threads. They end when the last handle is dropped and their evals are done.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<EngineState>,
}

struct EngineState {
    workers: Vec<Handle>,
    next: AtomicUsize,
    routing: RandomState,
    /// Tells this engine's workers from another engine's.
    id: usize,
    memory: Option<MemoryBudget>,
    caches: Arc<CacheBytes>,
}

/// The way to a worker.
struct Handle {
    commands: mpsc::UnboundedSender<WorkerCommand>,
    /// Programs that wait for it.
    load: Arc<AtomicUsize>,
}

/// Work for a worker's own thread.
pub(super) type WorkerTask = Box<dyn FnOnce(&Rc<Worker>) + Send>;

pub(super) enum WorkerCommand {
    /// With the moment when it was asked for.
    Eval(Box<EvalRequest>, Instant, oneshot::Sender<EvalOutcome>),
    Run(WorkerTask),
}

thread_local! {
    static CURRENT: OnceCell<Rc<Worker>> = const { OnceCell::new() };
}

impl Engine {
    /// The engine that this process shares, with default options, started at first use. It lives as long as the process.
    ///
    /// # Errors
    /// The operating system refused a thread.
    pub fn shared() -> Result<Engine, EngineError> {
        static SHARED: Mutex<Option<Engine>> = Mutex::new(None);
        let mut shared = SHARED.lock();
        match &*shared {
            Some(engine) => Ok(engine.clone()),
            None => Ok(shared.insert(Engine::start(EngineOptions::default())?).clone()),
        }
    }

    /// Starts the worker threads, which go by the clock of this one.
    pub fn start(options: EngineOptions) -> Result<Engine, EngineError> {
        static ENGINES: AtomicUsize = AtomicUsize::new(0);
        let id = ENGINES.fetch_add(1, Ordering::Relaxed);
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        };
        let mut workers = Vec::with_capacity(threads);
        let (caches, clock) = (Arc::<CacheBytes>::default(), Clock::current());
        let cache_bytes = options.cache_bytes.unwrap_or_else(|| default_cache_bytes(options.memory.as_ref()));
        for index in 0..threads {
            let (sender, receiver) = mpsc::unbounded_channel();
            let (memory, caches) = (options.memory.clone(), caches.clone());
            let load = Arc::new(AtomicUsize::new(0));
            let noted = load.clone();
            let cache_share = cache_bytes / threads as u64;
            let worker = move || Worker::new(id, index, cache_share, memory, noted, caches);
            let noted = load.clone();
            // Made here, so that a system that has no more descriptors refuses the engine and not one of its threads.
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|source| EngineError::Thread { index, source })?;
            let clock = clock.clone();
            let work = move || {
                let _entered = clock.enter();
                run_worker(&runtime, worker, noted, receiver);
            };
            std::thread::Builder::new()
                .name(format!("ptc-worker-{index}"))
                .spawn(work)
                .map_err(|source| EngineError::Thread { index, source })?;
            workers.push(Handle { commands: sender, load });
        }
        let (next, routing, memory) = (AtomicUsize::new(0), RandomState::new(), options.memory);
        let shared = EngineState { workers, next, routing, id, memory, caches };
        Ok(Engine { shared: Arc::new(shared) })
    }

    /// Evaluates a program. Dropping the future cancels the program and its calls.
    pub fn eval(&self, mut request: EvalRequest) -> impl Future<Output = EvalOutcome> + Send + use<> {
        let span = EvalSpan::begin(&mut request);
        let (engine, request) = (self.clone(), Box::new(request));
        async move {
            let outcome = match engine.begin(request) {
                Ok(outcome) => *outcome,
                Err(reported) => reported.await.unwrap_or_else(|_| EvalOutcome::lost()),
            };
            if let Some(span) = span {
                span.ended(&outcome);
            }
            outcome
        }
    }

    /// Begins an eval: on this thread if its worker is here, else on its worker's. The outcome, if it ends at once; else the
    /// channel on which its worker reports it.
    fn begin(&self, request: Box<EvalRequest>) -> Result<Box<EvalOutcome>, oneshot::Receiver<EvalOutcome>> {
        let started = time::now();
        if let Some(worker) = self.here(&request) {
            let begun = match worker.begin(request, started) {
                WorkResult::Outcome(outcome) => return Ok(outcome),
                begun => begun,
            };
            let (sender, receiver) = oneshot::channel();
            tokio::task::spawn_local(drive(worker, begun, sender));
            return Err(receiver);
        }
        let (sender, receiver) = oneshot::channel();
        let worker = &self.shared.workers[self.route(&request)];
        worker.load.fetch_add(1, Ordering::Relaxed);
        let _ = worker.commands.send(WorkerCommand::Eval(request, started, sender));
        Err(receiver)
    }

    /// The memory that all programs and sessions may hold together, if that is bounded.
    pub fn memory(&self) -> Option<&MemoryBudget> {
        self.shared.memory.as_ref()
    }

    /// The size of all workers' caches between programs.
    pub fn cached(&self) -> Cached {
        let caches = &self.shared.caches;
        Cached {
            program_bytes: caches.programs.load(Ordering::Relaxed),
            pattern_bytes: caches.patterns.load(Ordering::Relaxed),
        }
    }

    /// How many programs wait for a thread.
    pub fn waiting(&self) -> usize {
        self.shared.workers.iter().map(|worker| worker.load.load(Ordering::Relaxed)).sum()
    }

    /// How many worker threads there are.
    pub fn threads(&self) -> usize {
        self.shared.workers.len()
    }

    /// Waits until `principal` has a turn on the worker of this thread, for expensive work outside of programs, such as reading
    /// a large request. The caller does the work in the poll that ends the wait and drops the [`Turn`] after it: between two
    /// polls of its sockets a worker gives one turn. On a thread that is no worker's the wait ends at once.
    pub fn turn(&self, principal: Option<Arc<str>>) -> impl Future<Output = Option<Turn>> + use<> {
        let worker = self.current();
        async move {
            match worker {
                Some(worker) => Some(worker.scheduler.turn(principal).await),
                None => None,
            }
        }
    }

    /// Runs `task`, such as a connection, on the worker of this thread among its programs: a step of it runs at once if the
    /// worker has polled its sockets within half a millisecond, and else in a turn of the principal that `principal` returns
    /// then, least served principal first. Its time is charged to that principal. On a thread that is no worker's, it runs
    /// without turns.
    pub async fn serve_in_turns<F: Future>(
        &self,
        principal: impl Fn() -> Option<Arc<str>>,
        task: F,
    ) -> F::Output {
        match self.current() {
            Some(worker) => worker.scheduler.clone().serve_in_turns(principal, task).await,
            None => task.await,
        }
    }

    /// The worker of this thread, if it is one of this engine's.
    fn current(&self) -> Option<Rc<Worker>> {
        CURRENT.with(|current| current.get().filter(|worker| worker.engine == self.shared.id).cloned())
    }

    /// Runs `work` on the worker that owns session `key`, with that worker's sessions.
    pub fn with_sessions<R: Send + 'static>(
        &self,
        key: &str,
        work: impl FnOnce(&SessionStore) -> R + Send + 'static,
    ) -> impl Future<Output = Option<R>> + Send + 'static {
        let (sender, receiver) = oneshot::channel();
        let session = key.to_owned();
        let command = WorkerCommand::Run(Box::new(move |worker| {
            let done = work(&worker.sessions);
            let discarded = worker.sessions.take_discarded(&session);
            if !discarded.is_empty() {
                worker.scheduler.discard(Work::Discard(discarded));
            }
            let _ = sender.send(done);
        }));
        let _ = self.shared.workers[self.worker_of(key)].commands.send(command);
        async move { receiver.await.ok() }
    }

    /// Runs `work` on the worker that owns session `key`.
    #[cfg(feature = "saved-sessions")]
    pub(super) fn on_worker_of(&self, key: &str, work: impl FnOnce(&Rc<Worker>) + Send + 'static) {
        let command = WorkerCommand::Run(Box::new(work));
        let _ = self.shared.workers[self.worker_of(key)].commands.send(command);
    }

    /// Has the first worker do this.
    #[cfg(feature = "measuring")]
    pub(super) fn command(&self, command: WorkerCommand) {
        let _ = self.shared.workers[0].commands.send(command);
    }

    /// Spawns a task that stays on worker `index` (modulo their number), such as the connections of a server
    /// whose evals shall start without a hand-over.
    pub fn spawn_on<F>(&self, index: usize, task: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + 'static,
    {
        let command = WorkerCommand::Run(Box::new(move |_| {
            tokio::task::spawn_local(task());
        }));
        let _ = self.shared.workers[index % self.shared.workers.len()].commands.send(command);
    }

    fn worker_of(&self, session: &str) -> usize {
        (self.shared.routing.hash_one(session) % self.shared.workers.len() as u64) as usize
    }

    /// The worker that runs a request: the session's, or the one that the fewest programs wait for, the next in turn of equal
    /// ones.
    fn route(&self, request: &EvalRequest) -> usize {
        match &request.session {
            Some(key) => self.worker_of(key),
            None => {
                let count = self.shared.workers.len();
                let next = self.shared.next.fetch_add(1, Ordering::Relaxed);
                let in_turn = (0..count).map(|step| (next + step) % count);
                in_turn.min_by_key(|worker| self.load_of(*worker)).unwrap_or(0)
            }
        }
    }

    /// Programs that wait for a worker.
    fn load_of(&self, worker: usize) -> usize {
        self.shared.workers[worker].load.load(Ordering::Relaxed)
    }

    /// The worker of this thread, if it may run `request` here. A request that could run at once elsewhere does not wait here.
    fn here(&self, request: &EvalRequest) -> Option<Rc<Worker>> {
        CURRENT.with(|current| {
            let worker = current.get().filter(|worker| worker.engine == self.shared.id)?;
            let fits = match &request.session {
                Some(key) => self.worker_of(key) == worker.index,
                None => {
                    let mut others = 0..self.shared.workers.len();
                    self.load_of(worker.index) == 0
                        || worker.scheduler.is_next(&request.principal)
                        || others.all(|other| self.load_of(other) > 0)
                }
            };
            fits.then(|| worker.clone())
        })
    }
}

/// Whether the worker of this thread should look at its sockets before it begins more programs, which would soon have to wait
/// for turns of their own. Whoever begins many asks between two of them, and gives way (`tokio::task::yield_now`). A thread
/// that is no worker's need not.
pub fn gives_way() -> bool {
    CURRENT.with(|current| current.get().is_some_and(|worker| worker.scheduler.is_late_soon()))
}

/// The future of an eval, which may be another's than an engine's.
pub type EvalFuture = BoxFuture<'static, EvalOutcome>;

/// Runs a program until it ends or its outcome is no longer awaited.
async fn drive(worker: Rc<Worker>, begun: WorkResult, mut reply: oneshot::Sender<EvalOutcome>) {
    let outcome = {
        let driven = pin!(run::drive(worker.scheduler.clone(), begun));
        match select(driven, pin!(reply.closed())).await {
            Either::Left((outcome, _)) => Some(outcome),
            Either::Right(((), _)) => None,
        }
    };
    // One that is not awaited any more has left its text in the cache, too.
    worker.settle();
    if let Some(outcome) = outcome {
        let _ = reply.send(outcome);
    }
}

fn run_worker(
    runtime: &tokio::runtime::Runtime,
    worker: impl FnOnce() -> Worker,
    load: Arc<AtomicUsize>,
    mut commands: mpsc::UnboundedReceiver<WorkerCommand>,
) {
    let worker = Rc::new(worker());
    CURRENT.with(|current| {
        let _ = current.set(worker.clone());
    });
    memory::on_shortage(|| {
        CURRENT.with(|current| current.get().into_iter().for_each(|worker| worker.shed()))
    });
    let local = LocalSet::new();
    let scheduler = worker.scheduler.clone();
    local.spawn_local(scheduler.clone().give_turns());
    let work = async move {
        while let Some(command) = commands.recv().await {
            match command {
                WorkerCommand::Eval(request, started, reply) => {
                    load.fetch_sub(1, Ordering::Relaxed);
                    match worker.begin(request, started) {
                        WorkResult::Outcome(outcome) => {
                            let _ = reply.send(*outcome);
                        }
                        begun => {
                            tokio::task::spawn_local(drive(worker.clone(), begun, reply));
                        }
                    }
                }
                WorkerCommand::Run(work) => work(&worker),
            }
        }
    };
    {
        let mut work = pin!(local.run_until(work));
        // The runtime looks at the sockets before each poll of this future, and does the worker's tasks in it.
        runtime.block_on(poll_fn(|context| {
            scheduler.note_look();
            work.as_mut().poll(context)
        }));
    }
    // Programs that have not ended are given up, and end.
    drop(local);
    scheduler.close();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Desk, HostCalls, RunContext};
    use futures_util::FutureExt as _;
    use futures_util::future::LocalBoxFuture;
    use ptc_base::time::{Clock, now, sleep};
    use ptc_vm::machine::{HostRequest, Reply};
    use std::time::Duration;

    const HOUR: Duration = Duration::from_secs(3600);
    /// What a machine that does much else may need, and no test waits for.
    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn an_engine_has_the_clock_of_whoever_starts_it() {
        let clock = Clock::stepped();
        let engine = {
            let _entered = clock.enter();
            Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap()
        };
        let (tell, told) = tokio::sync::oneshot::channel();
        engine.spawn_on(0, || async move {
            sleep(HOUR).await;
            let _ = tell.send(now());
        });
        let mut told = std::pin::pin!(told);
        let theirs = loop {
            // The worker may not have begun to wait yet.
            clock.advance(HOUR);
            if let Ok(theirs) = tokio::time::timeout(Duration::from_millis(5), told.as_mut()).await {
                break theirs.unwrap();
            }
        };
        assert!(theirs >= now() + HOUR - PATIENCE);
    }

    #[tokio::test]
    async fn programs_are_kept_up_to_the_bytes_of_the_cache() {
        for (cache_bytes, keeps) in [(Some(20_000), true), (Some(1), false), (None, true)] {
            let options = EngineOptions { threads: 1, cache_bytes, ..EngineOptions::default() };
            let engine = Engine::start(options).unwrap();
            for number in 0..100 {
                assert!(engine.eval(EvalRequest::new(format!("(+ 1 {number})"))).await.result.is_ok());
            }
            let kept = engine.cached().program_bytes;
            assert_eq!(kept > 0, keeps, "{cache_bytes:?}: {kept}");
            assert!(kept <= cache_bytes.unwrap_or(u64::MAX), "{cache_bytes:?}: {kept}");
        }
    }

    /// Upstreams that never answer, and tell when they are asked.
    struct Hangs(tokio::sync::Notify);

    impl HostCalls for Hangs {
        fn answer(
            self: Arc<Self>,
            _: Rc<RunContext>,
            _: HostRequest,
            _: Desk,
        ) -> LocalBoxFuture<'static, Reply> {
            self.0.notify_one();
            std::future::pending().boxed_local()
        }
    }

    #[tokio::test]
    async fn a_program_that_is_given_up_counts_in_the_cache() {
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
        let hangs = Arc::new(Hangs(tokio::sync::Notify::new()));
        let mut request = EvalRequest::new("(tool/call {:server \"s\" :tool \"t\"})");
        request.upstreams = Some(hangs.clone());
        let waiting = tokio::spawn(engine.eval(request));
        hangs.0.notified().await;
        waiting.abort();
        let counted = async {
            while engine.cached().program_bytes == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, counted).await.expect("its text is in the cache");
    }
}
