//! The folder of a command, and what it holds.

use std::sync::Arc;

use ptc_programs::folder::ProgramFolder;
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_programs::signature::ProgramsKey;

use super::PlaceArgs;

/// Permissions of new files: as those that people write. Servers of other users read them.
pub(super) const FILE_MODE: u32 = 0o644;

impl PlaceArgs {
    /// The key of `--programs-key`.
    pub(super) fn key(&self) -> Result<Option<ProgramsKey>, String> {
        self.programs_key.as_deref().map(ProgramsKey::read).transpose()
    }

    /// What the folder holds.
    pub(super) fn folder(&self) -> Result<ProgramFolder, String> {
        let key = self.key()?.map(|key| key.verifying());
        ProgramFolder::read(&self.programs, key.as_ref()).map_err(|fault| match fault.is_absent() {
            true => {
                format!("{fault}; name the folder with --programs DIR, or begin with `ptc program new NAME`")
            }
            false => fault.to_string(),
        })
    }
}

/// The name that was typed.
pub(super) fn name_of(text: &str) -> Result<ProgramName, String> {
    let text = text.strip_suffix(".clj").unwrap_or(text);
    ProgramName::new(text).map_err(|fault| format!("{text:?} is no name of a program: {fault}"))
}

/// A program that a command is about.
#[derive(Clone)]
pub(super) struct ChosenProgram {
    pub(super) name: ProgramName,
    /// Why it cannot be used: a sentence with its file and place.
    pub(super) program: Result<Arc<KeptProgram>, String>,
}

/// The programs of these names, or all; with the fault of each that cannot be used.
pub(super) fn chosen(folder: &ProgramFolder, names: &[String]) -> Result<Vec<ChosenProgram>, String> {
    let names = match names {
        [] => folder.programs.keys().cloned().collect(),
        names => names.iter().map(|name| name_of(name)).collect::<Result<Vec<_>, _>>()?,
    };
    let found = |name: ProgramName| match folder.programs.get(&name) {
        None => Err(format!("{}: there is no program {name}", folder.path().display())),
        Some(found) => {
            let program = found.program.clone().map_err(|fault| fault.in_file(&name.file_name()));
            Ok(ChosenProgram { name, program })
        }
    };
    names.into_iter().map(found).collect()
}

/// The one program of this name.
pub(super) fn one(folder: &ProgramFolder, name: &str) -> Result<Arc<KeptProgram>, String> {
    let mut found = chosen(folder, &[name.to_owned()])?;
    found.pop().map_or_else(|| Err("no program is named".to_owned()), |found| found.program)
}
