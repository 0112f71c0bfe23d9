//! `ptc program approve`

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ptc_host::config::ProcessEnv;
use ptc_host::folder_hold::FolderHold;
use ptc_host::visible::visible;
use ptc_mcp::json::json;
use ptc_programs::definition::Definitions;
use ptc_programs::folder::{ProgramFolder, Standing};
use ptc_programs::lock::{Approval, ApprovalMisfit, LockFault, MAX_REVISION, ProgramsLock};
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_programs::signature::{ProgramsKey, SigningKey};
use ptc_programs::staleness::idle_patterns;

use super::definitions::UpstreamsArgs;
use super::drafts::{ChosenDraft, DraftPlace};
use super::files::{ChosenProgram, FILE_MODE, chosen, name_of};
use super::test::{failure_of, reports};
use super::{PlaceArgs, print_json};
use crate::cli::output::{errln, outln};
use crate::cli::setup::atomic_file;

#[derive(Args, Debug)]
pub(super) struct ApproveArgs {
    /// The programs
    #[arg(value_name = "NAME", required_unless_present_any = ["all", "draft"])]
    names: Vec<String>,

    /// Approve all programs of the folder
    #[arg(long, conflicts_with = "names")]
    all: bool,

    /// Take the approvals of these programs back
    #[arg(long, conflicts_with = "all")]
    withdraw: bool,

    /// Give the lock a revision above this one, which is that of the store that replicas share
    #[arg(long, value_name = "REVISION", value_parser = clap::value_parser!(u64).range(..MAX_REVISION - 1))]
    above: Option<u64>,

    /// Who approves, for the lock [default: the user, by USER]
    #[arg(long, value_name = "NAME", conflicts_with = "withdraw")]
    by: Option<String>,

    /// Approve this draft of a model: it is shown, becomes a file of the folder, and is a draft no longer
    #[arg(long, value_name = "NAME", conflicts_with_all = ["all", "names", "withdraw"])]
    draft: Option<String>,

    #[command(flatten)]
    drafts: DraftPlace,

    #[command(flatten)]
    upstreams: UpstreamsArgs,
}

/// What a command does to the lock.
struct LockChange {
    word: &'static str,
    done: Vec<ProgramName>,
    /// Programs that were asked for and not approved, each with the reason.
    refused: Vec<(ProgramName, String)>,
    /// What follows for other programs: a sentence for each.
    remarks: Vec<String>,
    revision: u64,
    is_written: bool,
}

/// A program whose tests have passed, with the definitions of its tools.
struct Candidate {
    program: Arc<KeptProgram>,
    tools: Definitions,
}

pub(super) async fn run(place: &PlaceArgs, args: &ApproveArgs, as_json: bool) -> Result<ExitCode, String> {
    let key = place.key()?;
    if key.as_ref().is_some_and(|key| key.signing().is_none()) {
        return Err("--programs-key names a public key; approvals are signed with the private one".to_owned());
    }
    // What is wrong with folder or lock is told before anything is asked or run.
    let folder = place.folder()?;
    usable_lock(&folder, key.as_ref())?;
    let change = if args.withdraw {
        withdraw(place, args, key.as_ref()).await?
    } else if let Some(name) = &args.draft {
        let Some(draft) = ChosenDraft::choose(&args.drafts, name, &folder).await? else {
            return Ok(ExitCode::FAILURE);
        };
        let of_draft = ChosenProgram { name: draft.program.name.clone(), program: Ok(draft.program.clone()) };
        let folder = folder.with(draft.program.clone(), None);
        let change = approve(place, args, key.as_ref(), &folder, vec![of_draft], Some(&draft)).await?;
        if let Some((_, why)) = change.refused.first() {
            return Err(format!("the draft {} is not approved: {why}", draft.program.name));
        }
        draft.remove().await;
        change
    } else {
        let programs = chosen(&folder, &args.names)?;
        approve(place, args, key.as_ref(), &folder, programs, None).await?
    };
    Ok(change.tell(&folder.lock_path(), as_json))
}

/// The lock of a folder, to be changed.
fn usable_lock(folder: &ProgramFolder, key: Option<&ProgramsKey>) -> Result<ProgramsLock, String> {
    let told = |why: &dyn std::fmt::Display| format!("{}: {why}", folder.lock_path().display());
    match (&folder.lock, key) {
        (Ok(lock), key) => {
            let key = key.and_then(ProgramsKey::signing);
            lock.check_change(&folder.lock_text, key).map_err(|why| told(&why))?;
            Ok(lock.clone())
        }
        // Whoever has the key vouches for what is approved with it, and for nothing that stood there before.
        (Err(LockFault::Unsigned | LockFault::Forged), Some(_)) => Ok(ProgramsLock::default()),
        (Err(fault), _) => Err(told(fault)),
    }
}

/// Raises the revision above that of a store: of two locks, the one with the higher revision holds. Whether it was raised.
fn raise(lock: &mut ProgramsLock, above: Option<u64>) -> bool {
    let Some(above) = above.filter(|above| lock.revision <= *above) else { return false };
    lock.revision = above;
    true
}

/// Takes approvals back, those of programs whose files are gone as well.
async fn withdraw(
    place: &PlaceArgs,
    args: &ApproveArgs,
    key: Option<&ProgramsKey>,
) -> Result<LockChange, String> {
    let _hold = FolderHold::wait_for(&place.programs).await?;
    let folder = place.folder()?;
    let mut lock = usable_lock(&folder, key)?;
    let is_raised = raise(&mut lock, args.above);
    let mut done = Vec::new();
    for name in &args.names {
        let name = name_of(name)?;
        if lock.withdraw(&name) {
            done.push(name);
        } else if !folder.programs.contains_key(&name) {
            return Err(format!("{}: there is no program {name}", folder.path().display()));
        }
    }
    let still_run = |name: &ProgramName| {
        let calling = lock.programs.iter().filter(|(_, approval)| approval.calls.contains_key(name));
        calling.map(|(caller, _)| caller.as_str()).collect::<Vec<_>>().join(" ")
    };
    let remarks = done.iter().map(|name| (name, still_run(name))).filter(|(_, callers)| !callers.is_empty());
    let remarks = remarks
        .map(|(name, callers)| {
            format!("{name} still runs where approved programs call it: `ptc program approve --withdraw {callers}` ends that")
        })
        .collect();
    let mut change =
        LockChange { word: "withdrawn", done, refused: Vec::new(), remarks, revision: 0, is_written: false };
    change.write(&folder, lock, is_raised, key.and_then(ProgramsKey::signing), None)?;
    Ok(change)
}

/// Approves programs of a folder, or a draft beside them. What takes time is done first; then the folder is held, its lock is read
/// again, changed and written.
async fn approve(
    place: &PlaceArgs,
    args: &ApproveArgs,
    key: Option<&ProgramsKey>,
    folder: &ProgramFolder,
    programs: Vec<ChosenProgram>,
    draft: Option<&ChosenDraft>,
) -> Result<LockChange, String> {
    if matches!(folder.lock, Err(LockFault::Unsigned | LockFault::Forged)) {
        errln!(
            "the lock was not signed with this key: approvals that it had, and its revision, are not taken over"
        );
    }
    let env = ProcessEnv::current();
    let by = args.by.as_deref().or(env.text("USER")).unwrap_or_default();
    if by.is_empty() {
        errln!("the lock will not say who approved: name yourself with --by");
    }
    let (candidates, mut refused) = candidates(args, folder, programs).await?;
    let at = Approval::now()?;

    let _hold = FolderHold::wait_for(&place.programs).await?;
    let now = place.folder()?;
    let mut lock = usable_lock(&now, key)?;
    let now = match draft {
        None => now,
        Some(draft) => {
            if !draft.is_confirmed {
                now.check_replaced(&draft.program)?;
            }
            now.with(draft.program.clone(), None)
        }
    };
    let is_raised = raise(&mut lock, args.above);
    let (mut done, mut remarks) = (Vec::new(), Vec::new());
    for Candidate { program, tools } in candidates {
        let name = &program.name;
        let found = now.programs.get(name);
        if now.program(name).is_none_or(|there| there.digest != program.digest) {
            refused.push((name.clone(), "its file was changed while its tests ran".to_owned()));
            continue;
        }
        let is_approved = found.is_some_and(|found| found.standing == Standing::Approved);
        let has_same_tools = lock.programs.get(name).is_some_and(|approval| approval.tools == tools);
        if is_approved && has_same_tools {
            continue;
        }
        match now.approval(&program, tools, by, &at) {
            Ok(approval) => {
                let idle = idle_patterns(&program.head.tools, &approval.tools);
                remarks.extend(idle.iter().map(|pattern| {
                    format!("{name}: {pattern} fits no tool that is known here, and the approval holds the definition of none")
                }));
                lock.approve(name.clone(), approval);
                done.push(name.clone());
            }
            Err(why) => refused.push((name.clone(), why)),
        }
    }
    let mut change = LockChange { word: "approved", done, refused, remarks, revision: 0, is_written: false };
    change.write(&now, lock, is_raised, key.and_then(ProgramsKey::signing), draft)?;
    Ok(change)
}

/// Those of these programs that can be approved; and the others, each with the reason.
async fn candidates(
    args: &ApproveArgs,
    folder: &ProgramFolder,
    programs: Vec<ChosenProgram>,
) -> Result<(Vec<Candidate>, Vec<(ProgramName, String)>), String> {
    let (mut passed, mut refused) = (Vec::new(), Vec::new());
    for (report, chosen) in reports(folder, programs.clone()).await?.iter().zip(programs) {
        match (failure_of(report), chosen.program) {
            (None, Ok(program)) => passed.push(program),
            (Some(why), _) | (None, Err(why)) => refused.push((chosen.name, why)),
        }
    }
    let known: Vec<&KeptProgram> = passed.iter().map(|program| &**program).collect();
    let definitions = args.upstreams.for_approval(&known).await?;
    let mut candidates = Vec::with_capacity(passed.len());
    for program in passed {
        match definitions.approved(&program) {
            Ok(tools) => candidates.push(Candidate { program, tools }),
            Err(why) => refused.push((program.name.clone(), why)),
        }
    }
    Ok((candidates, refused))
}

impl LockChange {
    /// Writes the lock, and the file of a draft before it, if anything has changed.
    fn write(
        &mut self,
        folder: &ProgramFolder,
        mut lock: ProgramsLock,
        is_raised: bool,
        key: Option<&SigningKey>,
        draft: Option<&ChosenDraft>,
    ) -> Result<(), String> {
        if is_raised && self.done.is_empty() {
            lock.revision += 1;
        }
        self.revision = lock.revision;
        self.is_written = is_raised || !self.done.is_empty();
        if !self.is_written {
            return Ok(());
        }
        let text: Arc<str> = lock.text(key).into();
        let undo = match draft {
            Some(draft) if !self.done.is_empty() => Some(draft.write(folder.path())?),
            _ => None,
        };
        if let Err(why) = atomic_file::replace(&folder.lock_path(), &text, FILE_MODE) {
            undo.map_or(Ok(()), |undo| undo())?;
            return Err(why);
        }
        for (name, found) in folder.under(lock, text).programs {
            if let Standing::Changed(ApprovalMisfit::Called(called)) = found.standing
                && self.done.contains(&called)
            {
                self.remarks.push(format!(
                    "no longer approved: {name}, which calls {called}: `ptc program approve {name}`"
                ));
            }
        }
        Ok(())
    }

    /// Says what was done. The command fails if anything that was asked for was not.
    fn tell(&self, lock_path: &Path, as_json: bool) -> ExitCode {
        let code = if self.refused.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        if as_json {
            let names: Vec<&str> = self.done.iter().map(ProgramName::as_str).collect();
            let refused =
                self.refused.iter().map(|(name, why)| json!({"name": name.as_str(), "reason": why}));
            print_json(&json!({
                "ok": self.refused.is_empty(), self.word: names, "refused": refused.collect::<Vec<_>>(),
                "remarks": self.remarks, "revision": self.revision,
            }));
            return code;
        }
        self.done.iter().for_each(|name| outln!("{}", visible(&format!("{name}: {}", self.word))));
        for (name, why) in &self.refused {
            errln!("{}", visible(&format!("{name} is not {}: {why}", self.word)));
        }
        self.remarks.iter().for_each(|remark| errln!("{}", visible(remark)));
        match self.is_written {
            false => outln!("nothing has changed (revision {})", self.revision),
            true => outln!(
                "{} has revision {}; a running server reads it at its next reload",
                lock_path.display(),
                self.revision
            ),
        }
        code
    }
}
