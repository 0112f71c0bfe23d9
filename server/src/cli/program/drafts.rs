//! `ptc program drafts`, and the approval of a draft: programs that models have proposed.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ptc_host::config::ProcessEnv;
use ptc_host::state::StateStore;
use ptc_host::visible::visible;
use ptc_mcp::json::{Value as Json, json};
use ptc_programs::draft::{Draft, DraftSummary};
use ptc_programs::draft_store::{DraftList, DraftStore};
use ptc_programs::folder::ProgramFolder;
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_programs::text_diff::text_diff;
use ptc_protocol::settings::StateSettings;

use super::files::{FILE_MODE, name_of};
use super::print_json;
use crate::cli::output::{aligned, errln, outln, write, write_error};
use crate::cli::questions;
use crate::cli::setup::atomic_file;
use crate::cli::store;
use crate::options::draft_store;
use crate::options::state::{given_of_servers, shared_store};

/// Which drafts are meant, and where they are.
#[derive(Args, Debug)]
pub(super) struct DraftPlace {
    /// Whose draft is meant, where several principals have one of the name
    #[arg(long, value_name = "PRINCIPAL")]
    of: Option<String>,

    #[command(flatten)]
    state: store::PlaceArgs,
}

#[derive(Args, Debug)]
pub(super) struct DraftsArgs {
    /// The draft to show whole [default: list all]
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Discard this draft
    #[arg(long, value_name = "NAME", conflicts_with = "name")]
    discard: Option<String>,

    #[command(flatten)]
    place: DraftPlace,
}

impl DraftPlace {
    fn store(&self) -> Result<Arc<dyn DraftStore>, String> {
        let env = ProcessEnv::current();
        let state: StateSettings = given_of_servers(&self.state.0, &env)?;
        let shared = shared_store(&state)?.map(|store| Arc::new(store) as Arc<dyn StateStore>);
        draft_store::open(&env, &state, shared)
    }

    /// The draft of this name.
    async fn one(&self, store: &dyn DraftStore, name: &ProgramName) -> Result<Draft, String> {
        let list = store.list(self.of.as_deref()).await.map_err(|fault| fault.to_string())?;
        tell_unreadable(&list);
        let found: Vec<&DraftSummary> = list.drafts.iter().filter(|draft| draft.name == *name).collect();
        let gone = || {
            let place = store.place();
            format!(
                "there is no draft {name} in {place}: `ptc program drafts` lists them; --state-dir and --state-url say where a server has them"
            )
        };
        let principal = match found.as_slice() {
            [] => return Err(gone()),
            [one] => one.principal.clone(),
            several => {
                let whose: Vec<&str> = several.iter().map(|draft| &*draft.principal).collect();
                let whose = whose.join(", ");
                return Err(format!("several principals have a draft {name} ({whose}): say whose with --of"));
            }
        };
        let read = store.read(&principal, name).await.map_err(|fault| fault.to_string())?;
        read.ok_or_else(gone)
    }
}

fn tell_unreadable(list: &DraftList) {
    for why in &list.unreadable {
        errln!("{}", visible(&format!("left out: {why}")));
    }
    if list.is_part {
        errln!("there are more: only {} were read", list.drafts.len());
    }
}

fn row_json(draft: &DraftSummary) -> Json {
    json!({
        "name": draft.name.as_str(), "principal": &*draft.principal, "at": draft.at, "digest": draft.digest,
        "bytes": draft.bytes, "description": draft.description,
    })
}

pub(super) async fn run(args: &DraftsArgs, as_json: bool) -> Result<ExitCode, String> {
    let store = args.place.store()?;
    if let Some(name) = &args.discard {
        let draft = args.place.one(&*store, &name_of(name)?).await?;
        remove(&*store, &draft).await?;
        match as_json {
            true => print_json(&json!({"ok": true, "discarded": draft.name.as_str()})),
            false => outln!("{}: discarded", draft.name),
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(name) = &args.name {
        let draft = args.place.one(&*store, &name_of(name)?).await?;
        let summary = draft.summary();
        match as_json {
            true => {
                let mut shown = row_json(&summary);
                shown["text"] = json!(&*draft.text);
                print_json(&shown);
            }
            false => outln!("{}", visible(&format!("{}\n\n{}", heading(&summary), draft.text.trim_end()))),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let list = store.list(args.place.of.as_deref()).await.map_err(|fault| fault.to_string())?;
    if as_json {
        let drafts: Vec<Json> = list.drafts.iter().map(row_json).collect();
        print_json(
            &json!({"ok": true, "drafts": drafts, "unreadable": list.unreadable, "is_part": list.is_part}),
        );
        return Ok(ExitCode::SUCCESS);
    }
    tell_unreadable(&list);
    if list.drafts.is_empty() {
        outln!("no drafts; with `ptc start --program-drafts` models can propose some");
    }
    let row = |draft: &DraftSummary| {
        let description = draft.description.lines().next().unwrap_or_default().to_owned();
        vec![draft.name.to_string(), draft.principal.to_string(), draft.at.clone(), description]
    };
    let rows: Vec<Vec<String>> = list.drafts.iter().map(row).collect();
    write(format_args!("{}", visible(&aligned(&rows))));
    Ok(ExitCode::SUCCESS)
}

/// `; draft NAME of PRINCIPAL, TIME, SHA-256 DIGEST`
fn heading(draft: &DraftSummary) -> String {
    let DraftSummary { name, principal, at, digest, .. } = draft;
    format!("; draft {name} of {}, {at}, SHA-256 {digest}", principal.replace('\n', " "))
}

async fn remove(store: &dyn DraftStore, draft: &Draft) -> Result<bool, String> {
    let removed = store.remove(&draft.principal, &draft.name, Some(&draft.digest())).await;
    removed.map_err(|fault| fault.to_string())
}

/// A draft that is to become a program of a folder.
pub(super) struct ChosenDraft {
    store: Arc<dyn DraftStore>,
    draft: Draft,
    pub(super) program: Arc<KeptProgram>,
    /// Whether a person at the terminal has seen what it replaces, and wants it.
    pub(super) is_confirmed: bool,
}

impl ChosenDraft {
    /// Shows a draft, and what it changes. `None`: a person at the terminal does not want it.
    ///
    /// # Errors
    /// There is no such draft, it cannot be used, or it would replace what nobody has approved: a sentence.
    pub(super) async fn choose(
        drafts: &DraftPlace,
        name: &str,
        folder: &ProgramFolder,
    ) -> Result<Option<ChosenDraft>, String> {
        let store = drafts.store()?;
        let draft = drafts.one(&*store, &name_of(name)?).await?;
        let read = draft.read().map_err(|fault| fault.in_file(&draft.name.file_name()));
        let program = Arc::new(read.map_err(|why| format!("the draft cannot be used: {why}"))?);
        let file = folder.path().join(draft.name.file_name());
        errln!("{}", visible(&format!("{}\n\n{}", heading(&draft.summary()), draft.text.trim_end())));
        if let Some(former) = atomic_file::read(&file)? {
            let changes = text_diff(&former, &draft.text, usize::MAX);
            errln!("{}", visible(&format!("\n{} is there already:\n{changes}", file.display())));
        }
        let is_confirmed = questions::is_at_terminal();
        if is_confirmed {
            let place = file.to_string_lossy();
            write_error(format_args!("Approve this as {}? [y/N] ", visible(&place)));
            if !questions::confirms() {
                errln!("Nothing was approved.");
                return Ok(None);
            }
        }
        Ok(Some(ChosenDraft { store, draft, program, is_confirmed }))
    }

    /// Writes its file. What is given back puts back what the file had.
    ///
    /// # Errors
    /// The file cannot be written: a sentence.
    pub(super) fn write(&self, folder: &Path) -> Result<impl FnOnce() -> Result<(), String> + use<>, String> {
        let file = folder.join(self.draft.name.file_name());
        let former = atomic_file::read(&file)?;
        atomic_file::replace(&file, &self.draft.text, FILE_MODE)?;
        Ok(move || match former {
            Some(former) => atomic_file::replace(&file, &former, FILE_MODE),
            None => std::fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display())),
        })
    }

    /// Removes the draft: it was approved. One that was proposed meanwhile stays, and is told.
    pub(super) async fn remove(self) {
        if let Err(why) = remove(&*self.store, &self.draft).await {
            errln!("{}", visible(&format!("the draft is still there: {why}")));
        }
    }
}
