//! The set of kept programs that is served.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_host::sync::RwLock;
use ptc_programs::folder::{ProgramFolder, Standing};
use ptc_programs::link::own_text;
use ptc_programs::lock::Approval;
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_protocol::tool::{KeptProgramName, ToolName};
use ptc_vm::code::LANGUAGE_VERSION;

/// A program that is served.
#[derive(Debug)]
pub struct ServedProgram {
    /// The program.
    pub program: Arc<KeptProgram>,
    /// The text that runs: its own, with those that it calls.
    pub text: Arc<str>,
    /// What was approved of it.
    pub approval: Arc<Approval>,
    tool: ToolName,
}

impl ServedProgram {
    /// This program, with the text that runs and what was approved of it.
    #[must_use]
    pub fn new(program: Arc<KeptProgram>, text: Arc<str>, approval: Arc<Approval>) -> ServedProgram {
        let tool = ToolName::Shared(program.name.tool_name());
        ServedProgram { program, text, approval, tool }
    }

    /// The program of a tool that is not served any more, by the text that ran; `None` if that is none of a kept program.
    pub(super) fn of_text(tool: &str, text: &Arc<str>) -> Option<ServedProgram> {
        let name = ProgramName::new(&tool.replace('_', "-")).ok()?;
        let own = own_text(text)?;
        let program = KeptProgram::read(name, own).ok()?;
        // Its tools were judged when it began.
        let approval = Approval {
            digest: program.digest.clone(),
            calls: BTreeMap::new(),
            language: LANGUAGE_VERSION,
            tools: BTreeMap::new(),
            by: String::new(),
            at: String::new(),
        };
        Some(ServedProgram::new(Arc::new(program), text.clone(), approval.into()))
    }

    /// The name of its tool.
    #[must_use]
    pub fn tool(&self) -> &ToolName {
        &self.tool
    }

    /// Its name for records.
    #[must_use]
    pub fn name(&self) -> KeptProgramName {
        KeptProgramName { name: self.program.name.shared(), digest: self.program.digest.clone() }
    }
}

/// The programs that are served, of one lock.
#[derive(Debug, Default)]
pub struct ProgramSet {
    /// By the names of their tools.
    programs: BTreeMap<ToolName, Arc<ServedProgram>>,
    /// The revision of the lock.
    pub revision: u64,
}

/// What another set changes, by names in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SetChanges {
    /// Programs that were not there.
    pub added: Vec<String>,
    /// Programs with another text, or another approval.
    pub changed: Vec<String>,
    /// Programs that are not there any more.
    pub removed: Vec<String>,
}

impl SetChanges {
    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }
}

/// `2 added, 1 changed, 0 removed`
impl std::fmt::Display for SetChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SetChanges { added, changed, removed } = self;
        write!(f, "{} added, {} changed, {} removed", added.len(), changed.len(), removed.len())
    }
}

impl ProgramSet {
    /// These programs.
    #[must_use]
    pub fn new(programs: impl IntoIterator<Item = ServedProgram>, revision: u64) -> ProgramSet {
        let programs = programs.into_iter().map(|served| (served.tool.clone(), Arc::new(served)));
        ProgramSet { programs: programs.collect(), revision }
    }

    /// The approved programs of a folder.
    #[must_use]
    pub fn of_folder(folder: &ProgramFolder) -> ProgramSet {
        let Ok(lock) = &folder.lock else { return ProgramSet::default() };
        let served = folder.programs.iter().filter_map(|(name, found)| {
            let program = found.program.as_ref().ok().filter(|_| found.standing == Standing::Approved)?;
            let text = folder.linked(program).ok()?;
            Some(ServedProgram::new(program.clone(), text, lock.programs.get(name)?.clone()))
        });
        ProgramSet::new(served, lock.revision)
    }

    /// Its programs, by the names of their tools.
    pub fn programs(&self) -> impl ExactSizeIterator<Item = &Arc<ServedProgram>> {
        self.programs.values()
    }

    /// The program of a tool.
    #[must_use]
    pub fn of_tool(&self, tool: &str) -> Option<&Arc<ServedProgram>> {
        self.programs.get(&ToolName::Shared(tool.into()))
    }

    /// The programs that are approved with another text of this program, which they call: `caller, which calls base` each. To approve
    /// it takes them out of service.
    #[must_use]
    pub fn callers_of_another(&self, program: &KeptProgram) -> Vec<String> {
        let calls_another = |served: &&Arc<ServedProgram>| {
            served.approval.calls.get(&program.name).is_some_and(|digest| *digest != program.digest)
        };
        let callers = self.programs().filter(calls_another);
        callers.map(|served| format!("{}, which calls {}", served.program.name, program.name)).collect()
    }

    /// What `next` changes.
    #[must_use]
    pub fn changes_to(&self, next: &ProgramSet) -> SetChanges {
        let mut changes = SetChanges::default();
        for (tool, served) in &next.programs {
            let name = served.program.name.to_string();
            match self.programs.get(tool) {
                None => changes.added.push(name),
                Some(former) if former.approval != served.approval => changes.changed.push(name),
                Some(_) => {}
            }
        }
        let gone = self.programs.iter().filter(|(tool, _)| !next.programs.contains_key(*tool));
        changes.removed = gone.map(|(_, served)| served.program.name.to_string()).collect();
        changes
    }
}

/// The set that holds now, which a reload or an approval exchanges. Calls keep the program that they began with.
#[derive(Debug, Default)]
pub struct CurrentPrograms {
    current: RwLock<Arc<ProgramSet>>,
}

impl CurrentPrograms {
    /// This set.
    #[must_use]
    pub fn new(first: ProgramSet) -> Arc<CurrentPrograms> {
        Arc::new(CurrentPrograms { current: RwLock::new(Arc::new(first)) })
    }

    /// The set that holds now.
    #[must_use]
    pub fn current(&self) -> Arc<ProgramSet> {
        self.current.read().clone()
    }

    /// Lets another set hold.
    pub fn replace(&self, next: ProgramSet) {
        *self.current.write() = Arc::new(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(name: &str, body: &str) -> ServedProgram {
        let text = format!("{{:description \"x\"}}\n{body}");
        let program = KeptProgram::read(ProgramName::new(name).unwrap(), &text).unwrap();
        let approval = Approval {
            digest: program.digest.clone(),
            calls: BTreeMap::new(),
            language: 1,
            tools: BTreeMap::new(),
            by: String::new(),
            at: String::new(),
        };
        ServedProgram::new(Arc::new(program), body.into(), approval.into())
    }

    #[test]
    fn an_exchanged_set_names_what_changed() {
        let current = CurrentPrograms::new(ProgramSet::new([served("a-b", "1"), served("c", "1")], 1));
        let next = ProgramSet::new([served("a-b", "2"), served("d", "1")], 2);
        let changes = current.current().changes_to(&next);
        assert_eq!(changes.to_string(), "1 added, 1 changed, 1 removed");
        assert_eq!((&*changes.added[0], &*changes.changed[0], &*changes.removed[0]), ("d", "a-b", "c"));
        current.replace(next);
        assert!(current.current().of_tool("c").is_none() && current.current().of_tool("d").is_some());
    }

    #[test]
    fn a_program_that_is_served_no_more_is_read_of_the_text_that_ran() {
        let one = "{:description \"x\" :limits {:calls 3}}\n(program/c {})";
        let text: Arc<str> = format!("\u{c}{one}\n\u{c};program/c\n{{:description \"y\"}}\n1").into();
        let read = ServedProgram::of_text("a_b", &text).unwrap();
        assert_eq!((read.program.name.as_str(), &*read.program.text), ("a-b", one));
        assert_eq!((read.program.head.limits.as_ref().unwrap().calls, &read.text), (Some(3), &text));
        for (tool, text) in [("a_b", "1"), ("lisp_eval", &*text), ("a_b", "\u{c}(")] {
            assert!(ServedProgram::of_text(tool, &text.into()).is_none(), "{tool}");
        }
    }
}
