//! Who answers a program's calls.

use super::outcome::CallRecord;
use crate::memory::{ReplyCharge, ReplyMemory};
use futures_util::future::{BoxFuture, LocalBoxFuture};
use ptc_vm::machine::{ForkNote, HostRequest, Reply};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::Instant;

/// Tools that `(tool/NAME …)` reaches: those of an embedding program or an agent.
pub trait AppTools: Send + Sync {
    /// The names, in any order.
    fn names(&self) -> Vec<String>;

    /// Calls one. `arguments` is a JSON object. A failure is the text behind `Tool 'NAME' failed: `.
    fn call(&self, name: &str, arguments: Vec<u8>) -> BoxFuture<'static, Reply>;

    /// Whether it wants to be told of `pmap` and `pcalls`.
    fn watches_forks(&self) -> bool {
        false
    }

    /// A `pmap` or `pcalls` of the program began or ended. Told between slices, in order; one that the program's end cuts
    /// short has no end of its own.
    fn forked(&self, note: ForkNote) {
        let _ = note;
    }
}

/// Answers `tool/call` and the discovery forms over upstreams.
pub trait HostCalls: Send + Sync {
    /// Answers one request of a program. Runs on the program's driver; dropping it cancels the call.
    fn answer(&self, run: Rc<RunContext>, request: HostRequest) -> LocalBoxFuture<'static, Reply>;
}

/// What all calls of one program share (upstreams.md 1: the run context).
pub struct RunContext {
    /// When the program began.
    pub started: Instant,
    /// When the program's time is up.
    pub deadline: Instant,
    /// Calls that took a number of the call cap.
    pub calls: Cell<u32>,
    /// Discovery operations that took a number of theirs.
    pub discoveries: Cell<u32>,
    /// Records of calls, in order of completion.
    pub records: RefCell<Vec<CallRecord>>,
    /// Upstreams whose start failed in this program, with the fault's text: not tried again within it.
    pub failed_starts: RefCell<ahash::AHashMap<String, String>>,
    /// What replies on their way hold.
    pub memory: Arc<ReplyMemory>,
    /// Charges of replies that are about to become values of the machine.
    pub arrived: RefCell<Vec<ReplyCharge>>,
}

impl RunContext {
    /// A fresh context for a program that began at `started`, must end at `deadline`, and whose replies are charged to
    /// `memory`.
    pub fn new(started: Instant, deadline: Instant, memory: Arc<ReplyMemory>) -> RunContext {
        RunContext {
            started,
            deadline,
            calls: Cell::new(0),
            discoveries: Cell::new(0),
            records: RefCell::new(Vec::new()),
            failed_starts: RefCell::default(),
            memory,
            arrived: RefCell::default(),
        }
    }

    /// Takes one of `cap` numbers from `counter`; `false` when none is left.
    pub fn take(counter: &Cell<u32>, cap: u32) -> bool {
        let taken = counter.get();
        counter.set(taken.saturating_add(1));
        taken < cap
    }
}
