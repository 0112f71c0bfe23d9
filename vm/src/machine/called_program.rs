//! A kept program that is called, as the machine and its host name it.

use crate::code::Program;
use crate::error::Result;
use crate::value::{Closure, Value};
use std::rc::Rc;

/// A kept program that another one calls: a part of a text.
#[derive(Clone, Debug)]
pub struct CalledProgram {
    /// The text.
    pub program: Rc<Program>,
    /// Its number in [`Program::parts`].
    pub part: u32,
    /// The upstream calls that this call of it has made, itself and below it, the one that is asked about included.
    pub calls: u32,
}

impl CalledProgram {
    pub(super) fn of(function: &Closure) -> Option<CalledProgram> {
        let program = &function.module.program;
        let part = program.part_of(function.function)?;
        Some(CalledProgram { program: program.clone(), part, calls: 0 })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.program.parts.get(self.part as usize).map_or("", |part| &part.name)
    }
}

/// What a host checks of the calls of kept programs. The work is the program's: it is charged to the account that is installed.
pub trait ProgramChecks {
    /// The argument as the program gets it: a map of data.
    ///
    /// # Errors
    /// It does not fit.
    fn argument(&self, called: &CalledProgram, argument: Value) -> Result<Value>;

    /// Checks the value that it gives, which is data.
    ///
    /// # Errors
    /// It does not fit.
    fn result(&self, called: &CalledProgram, value: &Value) -> Result<()>;
}
