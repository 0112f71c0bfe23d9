//! What is looked at in a draft before a person sees it, and again before it is approved.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_host::engine::{Engine, EvalRequest, Limits, RunPermit};
use ptc_programs::draft::linked_with;
use ptc_programs::name::ProgramName;
use ptc_programs::program::KeptProgram;
use ptc_programs::replay::{TestReport, run_test};
use ptc_protocol::principal::Principal;

use crate::kept::KeptDirectory;

/// Looks at drafts.
pub struct DraftCheck {
    /// Runs their tests.
    pub engine: Engine,
    /// The limits of a program.
    pub limits: Limits,
    /// The programs that a draft may call, and which names are those of other tools.
    pub kept: Arc<KeptDirectory>,
}

impl DraftCheck {
    /// Whether another tool has the name of this program's tool, of those that `caller` sees; `None`: of all.
    pub(crate) fn is_taken(&self, name: &ProgramName, caller: Option<&Principal>) -> bool {
        self.kept.is_taken(&name.tool_name(), caller)
    }

    /// What there is to say of the `:tools` of a program before somebody approves it, as `caller` sees the upstreams.
    pub(crate) fn remarks(&self, program: &KeptProgram, caller: &Principal) -> Vec<String> {
        self.kept.remarks(&program.head.tools, caller)
    }

    /// Runs the tests of a program on the account of `principal`.
    ///
    /// # Errors
    /// It cannot run with the programs that it calls: a sentence.
    pub(crate) async fn tests(
        &self,
        program: &KeptProgram,
        principal: &Principal,
        permit: Option<Arc<dyn RunPermit>>,
    ) -> Result<Vec<TestReport>, String> {
        let linked = {
            let set = self.kept.programs.current();
            let served: BTreeMap<ProgramName, Arc<KeptProgram>> =
                set.programs().map(|served| (served.program.name.clone(), served.program.clone())).collect();
            linked_with(program, &served)?
        };
        let mut reports = Vec::with_capacity(program.head.tests);
        for test in &program.tests() {
            let template = EvalRequest {
                limits: self.limits,
                principal: Some(principal.shared_name()),
                permit: permit.clone(),
                ..EvalRequest::new("")
            };
            reports.push(run_test(&self.engine, program, &linked, test, template).await);
        }
        Ok(reports)
    }
}
