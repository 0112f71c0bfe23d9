//! `(sleep-ms n)`: a program waits by the host's clock (language.md 5.10).

use super::context::RunContext;
use futures_util::future::LocalBoxFuture;
use ptc_base::time;
use ptc_vm::machine::{Payload, Reply};
use ptc_vm::{Error, Reason};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Milliseconds that a program may wait in all: the sum of its requests, so that it does not depend on which branch of `pmap`
/// is quicker.
const MOST_MS: u32 = 60_000;

/// A program's permit within its host's concurrency limit.
pub trait RunPermit: Send + Sync {
    /// The program does nothing but wait for a while.
    fn lend(&self);
    /// It continues, or has ended.
    fn take_back(&self);
}

/// A permit that its program does not need now.
pub(super) struct LentPermit(Arc<dyn RunPermit>);

impl LentPermit {
    /// Gives it back until the guard is dropped.
    pub(super) fn new(permit: Arc<dyn RunPermit>) -> LentPermit {
        permit.lend();
        LentPermit(permit)
    }
}

impl Drop for LentPermit {
    fn drop(&mut self) {
        self.0.take_back();
    }
}

/// Waits `millis` milliseconds, unless the program has waited too long in all.
pub(super) fn sleep(run: &Rc<RunContext>, millis: u32) -> LocalBoxFuture<'static, Reply> {
    let slept = run.slept_ms.get().saturating_add(millis);
    if slept > MOST_MS {
        let text =
            format!("runtime_error: sleep-ms waits at most {MOST_MS} milliseconds in all of a program");
        let error = Error::verbatim(Reason::RuntimeError, text);
        return Box::pin(std::future::ready(Reply::Raise(error)));
    }
    run.slept_ms.set(slept);
    let counted = run.sleeps();
    let wait = time::sleep(Duration::from_millis(u64::from(millis)));
    Box::pin(async move {
        wait.await;
        drop(counted);
        Reply::Value(Payload::None)
    })
}
