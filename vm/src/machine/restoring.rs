//! The references of a graph of values, in a machine or a session that is being restored.

use super::host_call::reply_keyword;
use super::{Library, Namespace};
use crate::code::{Module, Program};
use crate::graph::Origins;
use crate::value::{Combinator, ReplyWatch, Value};
use std::rc::Rc;

/// The library, and the programs of a graph linked to one namespace.
pub struct Restoring {
    library: &'static Library,
    modules: Vec<Rc<Module>>,
    watches: Vec<Rc<ReplyWatch>>,
}

impl Restoring {
    /// Links these programs, in the order of their numbers, to the namespace that the values will belong to. Names that a
    /// program requires need have no value: a function that reads one then fails as one whose definition was forgotten does.
    pub fn new(programs: impl IntoIterator<Item = Rc<Program>>, namespace: &mut Namespace) -> Restoring {
        let mut link = |program: Rc<Program>| {
            let slots = program.globals.iter().map(|name| namespace.slot(name)).collect();
            Rc::new(Module { program, slots })
        };
        let modules = programs.into_iter().map(&mut link).collect();
        Restoring { library: namespace.library(), modules, watches: Vec::new() }
    }

    /// The same, with who learns of the reading of failed results.
    pub fn with_watches(mut self, watches: Vec<Rc<ReplyWatch>>) -> Restoring {
        self.watches = watches;
        self
    }
}

impl Origins for Restoring {
    fn builtin(&self, name: &str, named: bool) -> Option<Value> {
        self.library.function_called(name, named)
    }

    fn keyword(&self, name: &str) -> Option<Value> {
        reply_keyword(name)
    }

    fn accepts(&self, combinator: &Rc<Combinator>) -> bool {
        (self.library.parts.accepts_combinator)(combinator)
    }

    fn module(&self, number: u32) -> Option<&Rc<Module>> {
        self.modules.get(number as usize)
    }

    fn watch(&self, number: u32) -> Option<&Rc<ReplyWatch>> {
        self.watches.get(number as usize)
    }
}
