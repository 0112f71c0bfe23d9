//! The kept programs that a text may call by name (language.md 12).

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use ptc_vm::Machine;
use ptc_vm::machine::ProgramCatalog;

use super::fault::ProgramFault;
use crate::context::RunContext;
use crate::request::EvalRequest;

/// The kept programs that a caller is served: what its texts may call, and what discovery shows it.
///
/// A text is linked once, when it begins: a run that waits and a function that a session keeps have the text that it was linked to.
pub trait ServedPrograms: Send + Sync {
    /// The text as it runs: itself if it calls none, otherwise with the files of those that it calls behind it. Called on worker
    /// threads.
    ///
    /// # Errors
    /// It calls one that its caller is not served: a sentence with the place.
    fn link(&self, text: &Arc<str>) -> Result<Arc<str>, ProgramFault>;

    /// Looks at a call of an upstream's tool that `run` is about to make within kept programs. `within`: their names, the outermost first; that
    /// of the run itself is empty. `None`: nothing speaks against it. Otherwise that has to be found out first, in the program's time: a
    /// call that may not be made ends the program with the sentence that it gets. Called on worker threads, for each such call.
    fn look_at(
        &self,
        run: &Rc<RunContext>,
        within: &[&str],
        upstream: &str,
        tool: &str,
    ) -> Option<LocalBoxFuture<'static, Result<(), String>>>;

    /// What discovery shows.
    fn catalog(&self) -> Arc<dyn ProgramCatalog>;
}

/// Has discovery show the kept programs of a request.
pub(crate) fn show_programs(machine: &mut Machine, request: &EvalRequest) {
    if let Some(served) = &request.programs {
        let served = served.clone();
        machine.set_program_catalog(Rc::new(move || served.catalog()));
    }
}
