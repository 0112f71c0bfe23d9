//! A suspended program, for measuring the cost of leaving and resuming (waiting.md 11) with the functions that evals use.

use super::EvalOutcome;
use super::asking::{Resume, ResumedProgram, leave, restore};
use super::handle::{Engine, WorkerCommand};
use super::outcome::Suspended;
use super::request::EvalRequest;
use super::run::{ProgramRun, until_it_leaves};
use super::worker::Worker;
use ptc_base::time;
use std::rc::Rc;
use tokio::sync::oneshot;

/// A program whose calls all ask, on its worker.
pub struct AskingProgram {
    run: Box<ProgramRun>,
    worker: Rc<Worker>,
}

/// A program that was read again.
pub struct RestoredProgram(#[expect(dead_code, reason = "it is made and freed")] ResumedProgram);

impl Engine {
    /// Runs the program of `request` until its asker has it leave, and `work` in its place.
    ///
    /// # Errors
    /// Its outcome if it never waits; nothing if the worker has ended.
    pub async fn with_waiting<R: Send + 'static>(
        &self,
        request: EvalRequest,
        work: impl FnOnce(&AskingProgram) -> R + Send + 'static,
    ) -> Result<R, Option<Box<EvalOutcome>>> {
        let (sender, receiver) = oneshot::channel();
        self.command(WorkerCommand::Run(Box::new(move |worker| {
            let worker = worker.clone();
            tokio::task::spawn_local(async move {
                let begun = worker.begin(Box::new(request), time::now());
                let done = match until_it_leaves(&worker.scheduler, begun).await {
                    Ok(run) => Ok(work(&AskingProgram { run, worker })),
                    Err(outcome) => Err(Some(outcome)),
                };
                // Whoever asked may have gone.
                let _ = sender.send(done);
            });
        })));
        receiver.await.unwrap_or(Err(None))
    }
}

impl AskingProgram {
    /// Writes it.
    ///
    /// # Errors
    /// Why it cannot leave its process.
    pub fn leave(&self) -> Result<Suspended, String> {
        let (machine, request, context) = self.run.parts().ok_or("it has ended")?;
        let suspended = leave(machine, request, context)?.suspended;
        suspended.map(|suspended| *suspended).ok_or_else(|| "it has ended".to_owned())
    }

    /// Reads it again: another machine, beside the one that waits.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn restore(&self, resume: &Resume) -> Result<RestoredProgram, String> {
        let (_, request, _) = self.run.parts().ok_or("it has ended")?;
        let memory = self.worker.memory.as_ref().map(|memory| memory.of(request.principal.as_ref()));
        let restored = restore(&self.worker.programs, request, resume, memory, time::now());
        restored.map(RestoredProgram).map_err(|not| not.failure.full_message())
    }

    /// Has all programs compiled anew that its worker knows.
    pub fn forget_programs(&self) {
        self.worker.shed();
    }
}
