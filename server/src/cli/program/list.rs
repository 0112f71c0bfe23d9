//! `ptc program list` and `ptc program diff`

use std::cell::RefCell;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ptc_host::visible::visible;
use ptc_mcp::json::{Value as Json, json};
use ptc_programs::definition::DefinitionChanges;
use ptc_programs::folder::{FolderProgram, ProgramFolder, Standing};
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_programs::staleness::ShownChanges;
use ptc_programs::store::ProgramStore;
use ptc_programs::text_diff::text_diff;

use super::definitions::{ToolDefinitions, UpstreamsArgs};
use super::files::{ChosenProgram, chosen};
use super::{PlaceArgs, print_json};
use crate::cli::output::{aligned, errln, outln, write};
use crate::cli::store;

/// Most lines of what has changed of one text.
const MAX_LINES: usize = 200;

/// Arguments of `ptc program diff`.
#[derive(Args, Debug)]
pub(super) struct DiffArgs {
    /// The programs [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Compare the tools of programs with those that the upstreams list now, instead of those that are pinned
    #[arg(long)]
    live: bool,

    #[command(flatten)]
    upstreams: UpstreamsArgs,

    #[command(flatten)]
    state: store::PlaceArgs,
}

pub(super) fn run(place: &PlaceArgs, upstreams: &UpstreamsArgs, as_json: bool) -> Result<ExitCode, String> {
    let folder = place.folder()?;
    let stale =
        StalePrograms { folder: &folder, definitions: upstreams.pinned()?, changes: RefCell::default() };
    if as_json {
        print_json(&json!({
            "ok": folder.lock.is_ok(),
            "revision": folder.lock.as_ref().map(|lock| lock.revision).ok(),
            "lock_fault": folder.lock.as_ref().err().map(ToString::to_string),
            "programs": folder.programs.iter().map(|(name, found)| row_json(name, found, &stale)).collect::<Vec<_>>(),
            "misnamed": folder.misnamed.iter().map(|(name, why)| json!({"file": name, "fault": why})).collect::<Vec<_>>(),
        }));
        return Ok(exit(&folder));
    }
    let rows: Vec<Vec<String>> =
        folder.programs.iter().map(|(name, found)| row(name, found, &stale)).collect();
    if rows.is_empty() {
        outln!("{}: no programs; `ptc program new NAME` writes one", folder.path().display());
    }
    write(format_args!("{}", visible(&aligned(&rows))));
    for (name, why) in &folder.misnamed {
        errln!("{}", visible(&format!("{name}.clj is not served: {why}")));
    }
    if let Err(fault) = &folder.lock {
        errln!("{}", visible(&format!("{}: {fault}", folder.lock_path().display())));
    }
    Ok(exit(&folder))
}

fn exit(folder: &ProgramFolder) -> ExitCode {
    if folder.lock.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The name, the standing, and what it says of itself or what is wrong.
fn row(name: &ProgramName, found: &FolderProgram, stale: &StalePrograms<'_>) -> Vec<String> {
    let why_stale = stale.why(name, found);
    let text = match (&found.program, &found.standing) {
        (Err(fault), _) => fault.to_string(),
        (Ok(_), Standing::Approved) if why_stale.is_some() => why_stale.clone().unwrap_or_default(),
        (Ok(_), Standing::Changed(misfit)) => misfit.to_string(),
        (Ok(program), _) => unlinked(stale.folder, program)
            .unwrap_or_else(|| program.head.description.lines().next().unwrap_or_default().to_owned()),
    };
    let word = if why_stale.is_some() { STALE } else { found.standing.word() };
    vec![name.to_string(), word.to_owned(), text]
}

fn row_json(name: &ProgramName, found: &FolderProgram, stale: &StalePrograms<'_>) -> Json {
    let why_stale = stale.why(name, found);
    let word = if why_stale.is_some() { STALE } else { found.standing.word() };
    let why = match &found.standing {
        Standing::Changed(misfit) => Some(misfit.to_string()),
        _ => why_stale.or_else(|| unlinked(stale.folder, found.program.as_ref().ok()?)),
    };
    match &found.program {
        Err(fault) => json!({
            "name": name.as_str(), "standing": found.standing.word(),
            "fault": fault.text, "line": fault.line, "column": fault.column,
        }),
        Ok(program) => json!({
            "name": name.as_str(), "standing": word, "why": why,
            "description": program.head.description, "digest": program.digest,
            "tools": program.head.tools.patterns().collect::<Vec<_>>(), "tests": program.head.tests,
        }),
    }
}

/// Why a program cannot run with those that it calls; `None` if it can.
pub(super) fn unlinked(folder: &ProgramFolder, program: &KeptProgram) -> Option<String> {
    if program.calls.is_empty() { None } else { folder.linked(program).err() }
}

/// The word for a program whose tools are not as it was approved with.
pub(super) const STALE: &str = "stale";

/// Which approved programs are stale.
struct StalePrograms<'a> {
    folder: &'a ProgramFolder,
    definitions: ToolDefinitions,
    changes: RefCell<DefinitionChanges>,
}

impl StalePrograms<'_> {
    /// Why an approved program is stale; `None` if it is not.
    fn why(&self, name: &ProgramName, found: &FolderProgram) -> Option<String> {
        let lock = self.folder.lock.as_ref().ok().filter(|_| found.standing == Standing::Approved)?;
        let mut changes = self.changes.borrow_mut();
        Some(self.definitions.stale(lock.programs.get(name)?, &mut changes).first()?.reason())
    }
}

/// The lines of a diff below a sentence.
fn indented(diff: &str) -> String {
    diff.lines().map(|line| format!("\n  {line}")).collect()
}

/// The texts of approvals, if the command knows the store of the servers.
struct ApprovedTexts(Option<ProgramStore>);

impl ApprovedTexts {
    /// A store that cannot be opened is told: everything else is known without it.
    fn open(place: &store::PlaceArgs) -> ApprovedTexts {
        match store::open_named(place) {
            Ok(state) => ApprovedTexts(state.map(|state| ProgramStore::new(Arc::new(state), ""))),
            Err(reason) => {
                errln!("{}", visible(&format!("what has changed of texts is not known: {reason}")));
                ApprovedTexts(None)
            }
        }
    }

    /// The lines by which a text differs from the approved one of this digest; nothing if that is not known.
    async fn changes(&self, digest: &str, text: &str) -> String {
        let Some(store) = &self.0 else { return String::new() };
        match store.files(&[digest.to_owned()]).await {
            Ok(files) => files
                .get(digest)
                .map(|former| indented(&text_diff(former, text, MAX_LINES)))
                .unwrap_or_default(),
            Err(fault) => {
                errln!("{}", visible(&format!("what has changed of texts is not known: {fault}")));
                String::new()
            }
        }
    }
}

/// Says what is not as it was approved. Exits with 1 if there is anything.
pub(super) async fn diff(place: &PlaceArgs, args: &DiffArgs, as_json: bool) -> Result<ExitCode, String> {
    let names = &args.names;
    let folder = place.folder()?;
    let lock = folder.lock.as_ref().map_err(|fault| format!("{}: {fault}", folder.lock_path().display()))?;
    let definitions = match args.live {
        true => {
            args.upstreams
                .present(&lock.programs.values().map(|approval| &**approval).collect::<Vec<_>>())
                .await?
        }
        false => args.upstreams.pinned()?,
    };
    let texts = ApprovedTexts::open(&args.state);
    let (mut changes, mut shown) = (DefinitionChanges::default(), ShownChanges::default());
    let mut differences = Vec::new();
    for ChosenProgram { name, program } in chosen(&folder, names)? {
        let standing = folder.programs.get(&name).map(|found| &found.standing);
        let approved = lock.programs.get(&name);
        let text = match (program, standing, approved) {
            (Err(fault), ..) => fault,
            (Ok(_), Some(Standing::Unapproved), _) => "it was never approved".to_owned(),
            (Ok(program), Some(Standing::Changed(misfit)), Some(approved)) => {
                let digests = match approved.digest == program.digest {
                    true => String::new(),
                    false => format!(" (SHA-256 {} → {})", &approved.digest[..12], &program.digest[..12]),
                };
                let lines = texts.changes(&approved.digest, &program.text).await;
                format!("{misfit}{digests}; approved {}{lines}", approved.when_and_by())
            }
            (Ok(_), Some(Standing::Approved), Some(approved)) => {
                let stale = definitions.stale(approved, &mut changes);
                differences.extend(stale.iter().map(|stale| (name.clone(), shown.reason(&name, stale))));
                continue;
            }
            _ => continue,
        };
        differences.push((name, text));
    }
    let gone = lock.programs.keys().filter(|name| names.is_empty() && !folder.programs.contains_key(*name));
    differences.extend(gone.map(|name| (name.clone(), "it was approved, and its file is gone".to_owned())));
    if as_json {
        let told =
            |(name, text): &(ProgramName, String)| json!({"program": name.as_str(), "difference": text});
        print_json(
            &json!({"ok": differences.is_empty(), "differences": differences.iter().map(told).collect::<Vec<_>>()}),
        );
    } else {
        for (name, text) in &differences {
            outln!("{}", visible(&format!("{name}: {text}")));
        }
        if differences.is_empty() {
            outln!("all is as it was approved (revision {})", lock.revision);
        }
    }
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
