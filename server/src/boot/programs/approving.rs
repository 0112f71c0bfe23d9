//! Approves programs while the server runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_host::engine::{ChosenLimits, EvalRequest, Limits};
use ptc_host::folder_hold::FolderHold;
use ptc_host::ordinary_file;
use ptc_host::time;
use ptc_programs::folder::{MAX_PROGRAMS, ProgramFolder, Standing};
use ptc_programs::lock::{Approval, WrittenLock};
use ptc_programs::program::KeptProgram;
use ptc_programs::replay::run_test;
use ptc_programs::signature::ProgramsKey;
use ptc_programs::staleness::check_named_tools;
use ptc_programs::store::{StoreFault, StoredHead};
use ptc_tools::kept::{Approved, Approver, approved_tools};
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::shared::{Choice, Held, Source, files_of, tell};
use super::{KeptPrograms, Parts, ReadFolder, ServedFolder, key};

/// Attempts to approve beside other processes that approve.
const ATTEMPTS: usize = 10;
/// Permissions of a new file.
const MODE: u32 = 0o644;

impl Approver for KeptPrograms {
    fn approve<'a>(
        &'a self,
        program: Arc<KeptProgram>,
        by: &'a str,
    ) -> BoxFuture<'a, Result<Approved, String>> {
        async move {
            // Whoever asked may not wait for the end: what was begun is done whole, on a thread that runs programs.
            let (parts, by) = (self.0.clone(), by.to_owned());
            let (done, outcome) = oneshot::channel();
            let engine = parts.engine.clone();
            engine.spawn_on(0, move || async move {
                // Whoever asked may be gone.
                let _ = done.send(parts.approve(&program, &by).await);
            });
            outcome.await.map_err(|_| "the approval was not made: the server ends".to_owned())?
        }
        .boxed()
    }
}

/// An approval that was not made.
enum Refusal {
    /// Another process was first.
    Overtaken,
    Told(String),
}

impl From<String> for Refusal {
    fn from(told: String) -> Refusal {
        Refusal::Told(told)
    }
}

impl Parts {
    async fn approve(&self, program: &Arc<KeptProgram>, by: &str) -> Result<Approved, String> {
        let path = self.settings.key.clone();
        let key =
            time::spawn_blocking(move || key(path.as_deref())).await.map_err(|fault| fault.to_string())??;
        if key.as_ref().is_some_and(|key| key.signing().is_none()) {
            return Err(
                "--programs-key of this server names a public key; approvals are signed with the private one"
                    .to_owned(),
            );
        }
        let mut held = self.held.lock().await;
        for _ in 0..ATTEMPTS {
            match self.try_to_approve(&mut held, program, by, key.as_ref()).await {
                Ok(approved) => return Ok(approved),
                Err(Refusal::Told(reason)) => {
                    return Err(format!("{} is not approved: {reason}", program.name));
                }
                Err(Refusal::Overtaken) => {}
            }
        }
        Err(format!("{} is not approved: {}; try again", program.name, StoreFault::Overtaken))
    }

    async fn try_to_approve(
        &self,
        held: &mut Held,
        program: &Arc<KeptProgram>,
        by: &str,
        key: Option<&ProgramsKey>,
    ) -> Result<Approved, Refusal> {
        let folder = self.read_folder().await;
        let choice = self.choose(held, &folder).await;
        let (source, head) = (choice.source, choice.head.clone());
        let fault = choice.fault().cloned();
        if let Some(reason) = folder.as_ref().ok().and_then(|folder| held.older(folder, &choice)) {
            return Err(reason.into());
        }
        let base =
            choice.served.as_ref().map(|served| served.folder.clone()).or_else(|| held.served().cloned());
        let is_of_folder = source == Source::Folder;
        let base = match (&folder, base) {
            // Without its lock nobody knows what is approved already.
            (Err(reason), _) if is_of_folder => return Err(reason.clone().into()),
            (_, None) => return Err("no lock is known".to_owned().into()),
            (_, Some(base)) => base,
        };
        let Ok(lock) = &base.lock else { return Err("its lock cannot be used".to_owned().into()) };
        if base.programs.len() >= MAX_PROGRAMS && !base.programs.contains_key(&program.name) {
            return Err(format!("there are {MAX_PROGRAMS} programs already").into());
        }
        if is_of_folder {
            base.check_replaced(program)?;
        }
        let approval = self.checked(&base, program, by).await?;
        let former = lock.programs.get(&program.name);
        let (folder_place, store_place) =
            (format!("the folder {}", self.settings.dir.display()), "the store");
        let is_same =
            |former: &Arc<Approval>| former.tools == approval.tools && former.digest == approval.digest;
        if former.is_some_and(is_same)
            && base.programs.get(&program.name).is_some_and(|found| found.standing == Standing::Approved)
        {
            let place = if is_of_folder { folder_place } else { store_place.to_owned() };
            let revision = lock.revision;
            self.take(held, folder, choice);
            return Ok(Approved { revision, place, no_longer_approved: Vec::new() });
        }
        // Until it is written no other process changes the folder; one that has done so meanwhile was first.
        let _hold = if is_of_folder { Some(FolderHold::wait_for(&self.settings.dir).await?) } else { None };
        if is_of_folder && !self.has_lock_of(&base).await? {
            return Err(Refusal::Overtaken);
        }
        let mut lock = lock.clone();
        let key = key.and_then(ProgramsKey::signing);
        lock.check_change(&base.lock_text, key)?;
        lock.approve(program.name.clone(), approval);
        let text: Arc<str> = lock.text(key).into();
        let revision = lock.revision;
        let next = Arc::new(base.with(program.clone(), Some((lock, text))));
        let published = self.publish_approval(held, head, fault, &next).await?;
        let written = if is_of_folder { self.write(&base, &next, program).await } else { Ok(false) };
        let place = match (&written, published) {
            (Ok(true), _) => folder_place,
            (Ok(false), true) => store_place.to_owned(),
            (Err(reason), true) => {
                info!(event = "programs_folder_not_written", reason, "the store has the approval");
                store_place.to_owned()
            }
            (Err(reason), false) => {
                return Err(format!(
                    "{reason}; there is no store that could have the approval (--state-url)"
                )
                .into());
            }
            (Ok(false), false) => {
                let fault = choice.fault().map(|fault| format!(": {fault}")).unwrap_or_default();
                return Err(format!("the approvals are in the store, which cannot be used now{fault}").into());
            }
        };
        info!(event = "program_approved", program = %program.name, digest = &program.digest[..12], by, revision, place);
        let folder = if written == Ok(true) { Ok(next.clone()) } else { folder };
        let no_longer_approved = self.current.current().callers_of_another(program);
        let served = time::spawn_blocking(move || ServedFolder::of(next)).await.ok();
        self.take(held, folder, choice.serving(served));
        if published || written == Ok(true) {
            self.settle(held).await;
        }
        Ok(Approved { revision, place, no_longer_approved })
    }

    /// Whether the folder has the lock that was read.
    async fn has_lock_of(&self, base: &Arc<ProgramFolder>) -> Result<bool, String> {
        let base = base.clone();
        let same = time::spawn_blocking(move || base.has_same_lock());
        same.await.map_err(|fault| fault.to_string())
    }

    /// Lets this hold.
    fn take(&self, held: &mut Held, folder: ReadFolder, choice: Choice) {
        // A folder that cannot be used leaves what was read of it before.
        if let Ok(folder) = folder {
            held.take(folder);
        }
        self.adopt(held, choice);
    }

    /// The approval of a program beside those of `base`, once its tests have passed.
    async fn checked(
        &self,
        base: &ProgramFolder,
        program: &Arc<KeptProgram>,
        by: &str,
    ) -> Result<Approval, String> {
        let candidate = Arc::new(base.with(program.clone(), None));
        let (linking, of) = (candidate.clone(), program.clone());
        let linked =
            time::spawn_blocking(move || linking.linked(&of)).await.map_err(|fault| fault.to_string())??;
        let limits = Limits::with(ChosenLimits::default(), true);
        for test in &program.tests() {
            let template = EvalRequest { limits, ..EvalRequest::new("") };
            let report = run_test(&self.engine, program, &linked, test, template).await;
            if let Some(failure) = report.failure() {
                return Err(failure);
            }
        }
        let upstreams = self.upstreams.as_ref().map(|upstreams| upstreams.current());
        let tools = match upstreams {
            Some(upstreams) => approved_tools(&upstreams.unfiltered(), &program.head.tools)?,
            None => {
                check_named_tools(&program.head.tools, &BTreeMap::new(), |_| false)?;
                BTreeMap::new()
            }
        };
        candidate.approval(program, tools, by, &Approval::now()?)
    }

    /// Writes an approval into the store, before the folder has it: so that of two of one revision one is refused. Whether it is
    /// there.
    async fn publish_approval(
        &self,
        held: &mut Held,
        head: Option<Option<StoredHead>>,
        fault: Option<StoreFault>,
        next: &ProgramFolder,
    ) -> Result<bool, Refusal> {
        let Some(store) = &self.store else { return Ok(false) };
        let (Some(head), None, Ok(lock)) = (head, &fault, &next.lock) else {
            if let Some(fault) = &fault {
                tell(held, fault);
            }
            return Ok(false);
        };
        match store.publish(head.as_ref(), WrittenLock { lock, text: &next.lock_text }, &files_of(next)).await
        {
            Ok(_) => Ok(true),
            Err(StoreFault::Overtaken) => Err(Refusal::Overtaken),
            Err(fault) => {
                tell(held, &fault);
                Ok(false)
            }
        }
    }

    /// Writes the file and the lock. `Ok(true)`: they are written.
    async fn write(
        &self,
        base: &Arc<ProgramFolder>,
        next: &Arc<ProgramFolder>,
        program: &Arc<KeptProgram>,
    ) -> Result<bool, String> {
        let (base, next, program) = (base.clone(), next.clone(), program.clone());
        let written = time::spawn_blocking(move || {
            let path = next.path().join(program.name.file_name());
            let fault =
                |path: &std::path::Path, error: std::io::Error| format!("{}: {error}", path.display());
            let former = base.program(&program.name);
            let is_there = former.is_some_and(|former| former.digest == program.digest);
            if !is_there {
                ordinary_file::replace(&path, &program.text, MODE).map_err(|error| fault(&path, error))?;
            }
            ordinary_file::replace(&next.lock_path(), &next.lock_text, MODE).map_err(|error| {
                // What was approved before is served as before.
                let restored = match former {
                    _ if is_there => Ok(()),
                    Some(former) => ordinary_file::replace(&path, &former.text, MODE),
                    None => std::fs::remove_file(&path),
                };
                if let Err(error) = restored {
                    warn!(event = "program_file_not_restored", reason = %fault(&path, error));
                }
                fault(&next.lock_path(), error)
            })?;
            Ok(true)
        });
        written.await.map_err(|fault| fault.to_string())?
    }
}
