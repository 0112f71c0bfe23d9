//! Kept programs in discovery, as a caller is served them.

use std::sync::Arc;

use ptc_host::catalog::DescribedProgram;
use ptc_host::engine::kept::ProgramSchema;
use ptc_programs::program::KeptProgram;
use ptc_vm::machine::{ListedProgram, ProgramCatalog};

/// The programs that a caller is served, by their names.
pub(super) struct CallerCatalog(Vec<Arc<KeptProgram>>);

impl CallerCatalog {
    /// These programs, in any order.
    pub(super) fn new(programs: impl Iterator<Item = Arc<KeptProgram>>) -> CallerCatalog {
        let mut programs: Vec<_> = programs.collect();
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        CallerCatalog(programs)
    }

    fn described(&self, number: usize) -> Option<DescribedProgram> {
        self.0.get(number).map(|program| described(program))
    }
}

/// A program with its schemas read.
pub(super) fn described(program: &KeptProgram) -> DescribedProgram {
    let head = &program.head;
    DescribedProgram {
        name: program.name.to_string(),
        description: head.description.to_string(),
        input: head.input.value(),
        output: head.output.as_deref().map(ProgramSchema::value),
    }
}

impl ProgramCatalog for CallerCatalog {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn program(&self, number: usize) -> Option<ListedProgram<'_>> {
        let program = self.0.get(number)?;
        Some(ListedProgram { name: program.name.as_str(), description: &program.head.description })
    }

    fn arguments(&self, number: usize) -> Vec<&str> {
        let declared = self.0.get(number).into_iter().flat_map(|program| &program.head.input.declared);
        declared.map(|(name, _)| &**name).collect()
    }

    fn call(&self, number: usize) -> String {
        self.described(number).map(|program| program.call()).unwrap_or_default()
    }

    fn schema_bytes(&self, number: usize) -> usize {
        let Some(program) = self.0.get(number) else { return 0 };
        program.head.input.json.len() + program.head.output.as_ref().map_or(0, |output| output.json.len())
    }

    fn doc(&self, number: usize) -> String {
        self.described(number).map(|program| program.doc()).unwrap_or_default()
    }

    fn schemas(&self, number: usize) -> (Arc<str>, Option<Arc<str>>) {
        match self.0.get(number) {
            None => ("{}".into(), None),
            Some(program) => {
                let output = program.head.output.as_ref().map(|output| output.json.clone());
                (program.head.input.json.clone(), output)
            }
        }
    }
}
