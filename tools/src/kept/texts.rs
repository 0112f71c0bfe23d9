//! The kept programs that the texts of a caller may call.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use ptc_host::aggregator::View;
use ptc_host::catalog::{Catalog, CatalogText, DescribedProgram, describe};
use ptc_host::engine::RunContext;
use ptc_host::engine::kept::{ProgramFault, ServedPrograms};
use ptc_programs::link::{ServedTexts, link};
use ptc_programs::name::ProgramName;
use ptc_vm::machine::ProgramCatalog;

use super::catalog::{CallerCatalog, described};
use super::directory::KeptDirectory;
use super::judged::JudgedSet;
use super::set::ServedProgram;
use crate::callable_programs::CallablePrograms;
use ptc_protocol::principal::Principal;

/// The programs that one caller is served, as they are when they are asked for.
struct CallerPrograms {
    directory: Arc<KeptDirectory>,
    caller: Principal,
    /// The kept program that runs itself, where it is known what was approved of it.
    own: Option<Arc<ServedProgram>>,
}

/// The programs that a caller is served, for a run of a text, or of the program `own`.
pub(super) fn served_to(
    directory: &Arc<KeptDirectory>,
    caller: &Principal,
    own: Option<Arc<ServedProgram>>,
) -> Arc<dyn ServedPrograms> {
    Arc::new(CallerPrograms { directory: directory.clone(), caller: caller.clone(), own })
}

impl KeptDirectory {
    /// The programs that callers of this view are served, by the names of their tools; of everything without one.
    #[must_use]
    pub fn described(&self, view: Option<&View<'_>>) -> Vec<DescribedProgram> {
        let judged = self.judged();
        let seen = judged.programs.iter().filter(|program| program.is_for(view));
        seen.map(|program| described(&program.served.program)).collect()
    }
}

impl CallablePrograms for KeptDirectory {
    fn served_to(self: Arc<Self>, caller: &Principal) -> Arc<dyn ServedPrograms> {
        served_to(&self, caller, None)
    }

    fn text_alone(&self, room: usize) -> Option<CatalogText> {
        let programs = self.described(None);
        let (mode, bytes) = self.rules.catalog;
        (!programs.is_empty()).then(|| describe(&Catalog::default(), &programs, mode, bytes, room))
    }
}

/// The texts that run, of those that a view shows.
struct SeenTexts<'s> {
    judged: &'s JudgedSet,
    view: Option<&'s View<'s>>,
}

impl<'s> ServedTexts<'s> for SeenTexts<'s> {
    fn text(&self, name: &str) -> Option<(&'s str, &'s str)> {
        let name = ProgramName::new(name).ok()?;
        let program = self.judged.of_tool(&name.tool_name())?;
        let served = &program.served;
        let is_seen = served.program.name == name && program.is_for(self.view);
        is_seen.then(|| (served.program.name.as_str(), &*served.text))
    }

    fn names(&self) -> Box<dyn Iterator<Item = &'s str> + '_> {
        let seen = self.judged.programs.iter().filter(|program| program.is_for(self.view));
        Box::new(seen.map(|program| program.served.program.name.as_str()))
    }
}

impl ServedPrograms for CallerPrograms {
    fn link(&self, text: &Arc<str>) -> Result<Arc<str>, ProgramFault> {
        let judged = self.directory.judged();
        self.directory.with_view(&self.caller, |view| link(text, &SeenTexts { judged: &judged, view }))
    }

    fn look_at(
        &self,
        run: &Rc<RunContext>,
        within: &[&str],
        upstream: &str,
        tool: &str,
    ) -> Option<LocalBoxFuture<'static, Result<(), String>>> {
        self.directory.look_at(run, self.own.as_ref(), within, upstream, tool)
    }

    fn catalog(&self) -> Arc<dyn ProgramCatalog> {
        let judged = self.directory.judged();
        self.directory.with_view(&self.caller, |view| {
            let seen = judged.programs.iter().filter(|program| program.is_for(view));
            let catalog: Arc<dyn ProgramCatalog> =
                Arc::new(CallerCatalog::new(seen.map(|program| program.served.program.clone())));
            catalog
        })
    }
}
