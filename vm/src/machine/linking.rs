//! Linking: a program bound to a namespace.

use super::Namespace;
use super::unbound_names;
use crate::code::{Module, Program};
use crate::error::{Error, Reason, Result};
use std::rc::Rc;

/// Links `program` to `namespace`. `tools` are the registered tools of `(tool/NAME …)`.
///
/// Fails as phases 5 and 6 of language.md 0.1 say: `unbound_var`, `unknown_tool`.
pub(super) fn link(program: Rc<Program>, namespace: &mut Namespace, tools: &[Rc<str>]) -> Result<Rc<Module>> {
    let missing: Vec<_> = program.requires.iter().filter(|r| !namespace.defines(&r.name)).collect();
    if let Some(first) = missing.first() {
        let names: Vec<&str> = missing.iter().map(|r| &*r.name).collect();
        return Err(
            unbound_names::static_error(&names, &program.local_names, namespace).at(Some(first.position))
        );
    }
    if !tools.is_empty() {
        let unknown: Vec<_> = program.tools.iter().filter(|r| !tools.contains(&r.name)).collect();
        if let Some(first) = unknown.first() {
            let names: Vec<&str> = unknown.iter().map(|r| &*r.name).collect();
            let mut known: Vec<&str> = tools.iter().map(|name| &**name).collect();
            known.sort_unstable();
            let plural = if names.len() == 1 { "" } else { "s" };
            let text =
                format!("Unknown tool{plural}: {}. Available tools: {}", names.join(", "), known.join(", "));
            return Err(Error::new(Reason::UnknownTool, text).at(Some(first.position)));
        }
    }
    namespace.reserve(program.globals.len());
    let slots = program.globals.iter().map(|name| namespace.slot(name)).collect();
    Ok(Rc::new(Module { program, slots }))
}
