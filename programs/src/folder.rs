//! A folder of programs with its lock: what it holds, and which of it may be served.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_host::ordinary_file::{self, FileFault};
use ptc_vm::code::LANGUAGE_VERSION;

use crate::definition::Definitions;
use crate::link;
use crate::lock::{Approval, ApprovalMisfit, LOCK_FILE, LockFault, MAX_LOCK_BYTES, ProgramsLock};
use crate::name::ProgramName;
use crate::program::{KeptProgram, MAX_FILE_BYTES, compile};
use crate::signature::VerifyingKey;
use ptc_host::engine::kept::ProgramFault;

/// Most programs of a folder.
pub const MAX_PROGRAMS: usize = 5000;
/// The ending of programs' files.
const ENDING: &str = "clj";

/// A folder that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", path.display())]
pub struct FolderFault {
    path: PathBuf,
    fault: FileFault,
}

impl FolderFault {
    /// Whether there is no such folder.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.fault.is_absent()
    }
}

/// What a folder holds.
#[derive(Debug)]
pub struct ProgramFolder {
    path: PathBuf,
    /// Its programs, those that cannot be used included.
    pub programs: BTreeMap<ProgramName, FolderProgram>,
    /// Files that end as programs do and have no name of one; with the reason.
    pub misnamed: Vec<(String, String)>,
    /// The lock, or why it cannot be used; a folder without one has approved nothing.
    pub lock: Result<ProgramsLock, LockFault>,
    /// The lock as it is written; empty if there is none, or it cannot be read.
    pub lock_text: Arc<str>,
}

/// A program of a folder.
#[derive(Clone, Debug)]
pub struct FolderProgram {
    /// The program, or what is wrong with its file.
    pub program: Result<Arc<KeptProgram>, ProgramFault>,
    /// Whether it may be served.
    pub standing: Standing,
}

/// Whether a program may be served, as far as the folder knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is as it was approved.
    Approved,
    /// Nobody has approved it.
    Unapproved,
    /// It is not as it was approved.
    Changed(ApprovalMisfit),
    /// Its file cannot be used.
    Broken,
}

impl Standing {
    /// The word for it in lists.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Approved => "approved",
            Standing::Unapproved => "not approved",
            Standing::Changed(_) => "changed",
            Standing::Broken => "broken",
        }
    }
}

impl ProgramFolder {
    /// Reads a folder. With a key its lock must be signed by that.
    ///
    /// # Errors
    /// The folder itself cannot be read; what is wrong inside stands beside each program.
    pub fn read(path: &Path, key: Option<&VerifyingKey>) -> Result<ProgramFolder, FolderFault> {
        let fault = |fault: FileFault| FolderFault { path: path.to_owned(), fault };
        let mut read = BTreeMap::new();
        let mut misnamed = Vec::new();
        let entries = std::fs::read_dir(path).map_err(|error| fault(error.into()))?;
        for entry in entries {
            let file = entry.map_err(|error| fault(error.into()))?.path();
            if file.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            let stem = file.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
            match ProgramName::new(&stem) {
                Ok(_) if read.len() == MAX_PROGRAMS => {
                    misnamed
                        .push((stem.into_owned(), format!("a folder has at most {MAX_PROGRAMS} programs")));
                }
                Ok(name) => {
                    read.insert(name.clone(), read_program(name, &file));
                }
                Err(why) => misnamed.push((stem.into_owned(), why.to_string())),
            }
        }
        misnamed.sort();
        let (lock, lock_text) = match lock_text(path) {
            Ok(Some(text)) => (ProgramsLock::parse(&text, key), text),
            Ok(None) => (Ok(ProgramsLock::default()), Arc::default()),
            Err(why) => (Err(LockFault::Unreadable(why)), Arc::default()),
        };
        let folder = ProgramFolder { misnamed, ..ProgramFolder::unjudged(path, lock, lock_text) };
        Ok(folder.judged(read))
    }

    /// What a lock that lies elsewhere approves, with the programs that are there, as if all of it lay in a folder.
    #[must_use]
    pub fn of_lock(
        path: &Path,
        lock: ProgramsLock,
        lock_text: Arc<str>,
        programs: BTreeMap<ProgramName, Result<Arc<KeptProgram>, ProgramFault>>,
    ) -> ProgramFolder {
        ProgramFolder::unjudged(path, Ok(lock), lock_text).judged(programs)
    }

    /// The same with this program in the place of the one of its name, under another lock if one is given.
    #[must_use]
    pub fn with(&self, program: Arc<KeptProgram>, lock: Option<(ProgramsLock, Arc<str>)>) -> ProgramFolder {
        let mut programs = self.read_programs();
        programs.insert(program.name.clone(), Ok(program));
        let (lock, lock_text) = match lock {
            Some((lock, text)) => (Ok(lock), text),
            None => (self.lock.clone(), self.lock_text.clone()),
        };
        let folder = ProgramFolder::unjudged(&self.path, lock, lock_text);
        ProgramFolder { misnamed: self.misnamed.clone(), ..folder }.judged(programs)
    }

    /// The same under another lock.
    #[must_use]
    pub fn under(&self, lock: ProgramsLock, lock_text: Arc<str>) -> ProgramFolder {
        let folder = ProgramFolder::unjudged(&self.path, Ok(lock), lock_text);
        ProgramFolder { misnamed: self.misnamed.clone(), ..folder }.judged(self.read_programs())
    }

    fn unjudged(path: &Path, lock: Result<ProgramsLock, LockFault>, lock_text: Arc<str>) -> ProgramFolder {
        let (programs, misnamed) = (BTreeMap::new(), Vec::new());
        ProgramFolder { path: path.to_owned(), programs, misnamed, lock, lock_text }
    }

    fn read_programs(&self) -> BTreeMap<ProgramName, Result<Arc<KeptProgram>, ProgramFault>> {
        self.programs.iter().map(|(name, found)| (name.clone(), found.program.clone())).collect()
    }

    /// Refuses to write a program over a file that somebody has changed and nobody approved.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub fn check_replaced(&self, program: &KeptProgram) -> Result<(), String> {
        let Some(found) = self.programs.get(&program.name) else { return Ok(()) };
        let there = found.program.as_ref().map(|there| &there.digest).ok();
        let lock = self.lock.as_ref().ok();
        let approved =
            lock.and_then(|lock| lock.programs.get(&program.name)).map(|approval| &approval.digest);
        if there.is_some() && (there == Some(&program.digest) || there == approved) {
            return Ok(());
        }
        Err(format!(
            "the folder has another {} that nobody has approved; approve that with `ptc program approve`, or remove it",
            program.name.file_name()
        ))
    }

    /// Whether the lock is the same by now.
    #[must_use]
    pub fn has_same_lock(&self) -> bool {
        lock_text(&self.path).is_ok_and(|text| text.unwrap_or_default() == self.lock_text)
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of its lock.
    #[must_use]
    pub fn lock_path(&self) -> PathBuf {
        self.path.join(LOCK_FILE)
    }

    /// The program of this name, if its file can be used.
    #[must_use]
    pub fn program(&self, name: &ProgramName) -> Option<&Arc<KeptProgram>> {
        self.programs.get(name)?.program.as_ref().ok()
    }

    /// The programs that this one calls, directly or by another one.
    ///
    /// # Errors
    /// One of them cannot be used, or they call each other in a circle: a sentence.
    pub fn called(&self, program: &KeptProgram) -> Result<BTreeMap<ProgramName, &Arc<KeptProgram>>, String> {
        link::called(program, &|by, name| match self.programs.get(name).map(|found| &found.program) {
            None => Err(format!("{} calls {name}, which is not in the folder", by.name)),
            Some(Err(fault)) => Err(format!("{} calls {name}, which cannot be used: {fault}", by.name)),
            Some(Ok(called)) => Ok(called),
        })
    }

    /// The text of a program as it runs, with those that it calls. It compiles.
    ///
    /// # Errors
    /// One of them cannot be used, they call each other in a circle, or it does not compile with them: a sentence.
    pub fn linked(&self, program: &KeptProgram) -> Result<Arc<str>, String> {
        let text = link::linked(program, &self.called(program)?);
        if !program.calls.is_empty() {
            compile(&text).map_err(|fault| fault.to_string())?;
        }
        Ok(text)
    }

    /// The approval of a program as it is now. `tools`: the definitions of the tools that it may call.
    ///
    /// # Errors
    /// It cannot be approved: a sentence.
    pub fn approval(
        &self,
        program: &KeptProgram,
        tools: Definitions,
        by: &str,
        at: &str,
    ) -> Result<Approval, String> {
        Ok(Approval {
            digest: program.digest.clone(),
            calls: self
                .called(program)?
                .into_iter()
                .map(|(name, called)| (name, called.digest.clone()))
                .collect(),
            language: LANGUAGE_VERSION,
            tools,
            by: by.to_owned(),
            at: at.to_owned(),
        })
    }

    /// The same with these programs, each as it stands under the lock.
    fn judged(
        mut self,
        read: BTreeMap<ProgramName, Result<Arc<KeptProgram>, ProgramFault>>,
    ) -> ProgramFolder {
        // Equal digests are one text.
        for (name, approval) in self.lock.iter_mut().flat_map(|lock| &mut lock.programs) {
            if let (Some(approval), Some(Ok(program))) = (Arc::get_mut(approval), read.get(name))
                && approval.digest == program.digest
            {
                approval.digest = program.digest.clone();
            }
        }
        let digest = |name: &ProgramName| Some(read.get(name)?.as_ref().ok()?.digest.clone());
        let standing = |name: &ProgramName, program: &Result<Arc<KeptProgram>, ProgramFault>| {
            let Ok(program) = program else { return Standing::Broken };
            let approval = self.lock.as_ref().ok().and_then(|lock| lock.programs.get(name));
            match approval.map(|approval| approval.misfit(program, digest)) {
                None => Standing::Unapproved,
                Some(None) => Standing::Approved,
                Some(Some(misfit)) => Standing::Changed(misfit),
            }
        };
        let standings: Vec<Standing> = read.iter().map(|(name, program)| standing(name, program)).collect();
        let judged = read.into_iter().zip(standings);
        let programs =
            judged.map(|((name, program), standing)| (name, FolderProgram { program, standing })).collect();
        ProgramFolder { programs, ..self }
    }
}

/// The text of a folder's lock; `None` if it has none.
#[expect(clippy::disallowed_methods, reason = "entry point: lock_text()")]
fn lock_text(folder: &Path) -> Result<Option<Arc<str>>, String> {
    match ordinary_file::read_text(&folder.join(LOCK_FILE), MAX_LOCK_BYTES) {
        Ok(text) => Ok(Some(text.as_str().into())),
        Err(fault) if fault.is_absent() => Ok(None),
        Err(fault) => Err(fault.to_string()),
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: read_program()")]
fn read_program(name: ProgramName, file: &Path) -> Result<Arc<KeptProgram>, ProgramFault> {
    match ordinary_file::read_text(file, MAX_FILE_BYTES) {
        Ok(text) => KeptProgram::read(name, &text).map(Arc::new),
        Err(fault) => Err(ProgramFault::whole(fault.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tempfile::TempDir;

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, body)| write(&folder, name, body));
        folder
    }

    fn write(folder: &TempDir, name: &str, body: &str) {
        fs::write(folder.path().join(name), format!("{{:description \"x\"}}\n{body}")).unwrap();
    }

    fn read(folder: &TempDir) -> ProgramFolder {
        ProgramFolder::read(folder.path(), None).unwrap()
    }

    fn approve(folder: &TempDir, name: &str) {
        let read = read(folder);
        let name = ProgramName::new(name).unwrap();
        let approval = read.approval(read.program(&name).unwrap(), BTreeMap::new(), "ann", "now").unwrap();
        let mut lock = read.lock.clone().unwrap();
        lock.approve(name, approval);
        fs::write(read.lock_path(), lock.text(None)).unwrap();
    }

    fn words(folder: &TempDir) -> Vec<String> {
        let read = read(folder);
        read.programs.iter().map(|(name, found)| format!("{name}: {}", found.standing.word())).collect()
    }

    #[test]
    fn a_program_is_served_as_it_was_approved_and_no_longer_when_it_changed() {
        let folder = folder(&[("one.clj", "1"), ("two.clj", "2"), ("notes.txt", "")]);
        assert_eq!(words(&folder), ["one: not approved", "two: not approved"]);
        approve(&folder, "one");
        assert_eq!(words(&folder), ["one: approved", "two: not approved"]);
        write(&folder, "one.clj", "11");
        assert_eq!(words(&folder), ["one: changed", "two: not approved"]);
        approve(&folder, "one");
        assert_eq!(read(&folder).lock.unwrap().revision, 2);
        fs::write(folder.path().join("two.clj"), "{:description \"x\"} (").unwrap();
        assert_eq!(words(&folder), ["one: approved", "two: broken"], "what is broken hurts nothing else");
    }

    #[test]
    fn names_and_locks_that_are_none_are_told() {
        let folder = folder(&[("One.clj", "1"), ("lisp-x.clj", "1"), ("ok.clj", "1")]);
        approve(&folder, "ok");
        let misnamed = read(&folder).misnamed;
        assert_eq!(misnamed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["One", "lisp-x"]);
        fs::write(folder.path().join(LOCK_FILE), "{").unwrap();
        assert!(read(&folder).lock.is_err());
        assert_eq!(words(&folder), ["ok: not approved"]);
        assert!(ProgramFolder::read(&folder.path().join("none"), None).is_err());
    }

    #[test]
    fn a_program_depends_on_what_it_calls() {
        let folder = folder(&[("a.clj", "(program/b {})"), ("b.clj", "(program/c {})"), ("c.clj", "1")]);
        approve(&folder, "a");
        assert_eq!(words(&folder), ["a: approved", "b: not approved", "c: not approved"]);
        write(&folder, "c.clj", "2");
        let a = read(&folder).programs[&ProgramName::new("a").unwrap()].standing.clone();
        assert_eq!(a, Standing::Changed(ApprovalMisfit::Called(ProgramName::new("c").unwrap())));
        write(&folder, "c.clj", "(program/a {})");
        let read = read(&folder);
        let told = read.called(read.program(&ProgramName::new("a").unwrap()).unwrap()).unwrap_err();
        assert_eq!(told, "programs call each other in a circle: a → b → c → a");
    }

    #[test]
    fn a_program_is_linked_with_what_it_calls() {
        let folder = folder(&[
            ("a.clj", "(program/b {:x 1})"),
            ("b.clj", "data/x\n (foo)"),
            ("c.clj", "(program/z {})"),
        ]);
        let linked = |name: &str| {
            let read = read(&folder);
            read.linked(read.program(&ProgramName::new(name).unwrap()).unwrap()).map(|text| text.to_string())
        };
        assert!(linked("a").unwrap_err().contains("b, which cannot be used: 3:3 "), "{:?}", linked("a"));
        write(&folder, "b.clj", "data/x");
        let text =
            "\u{c}{:description \"x\"}\n(program/b {:x 1})\n\u{c};program/b\n{:description \"x\"}\ndata/x";
        assert_eq!(linked("a").unwrap(), text);
        write(&folder, "b.clj", "(defn inc [x] x)");
        assert!(linked("b").is_ok(), "it is what it is by itself");
        assert!(
            linked("a").unwrap_err().contains("b.clj:2:1 invalid_form: inc is a function of the language"),
            "{:?}",
            linked("a")
        );
        assert_eq!(linked("c").unwrap_err(), "c calls z, which is not in the folder");
    }
}
