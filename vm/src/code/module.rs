//! A program bound to a namespace.

use super::Program;
use std::rc::Rc;

/// A program whose global names have slots in one namespace. Closures hold the module of their text.
#[derive(Debug)]
pub struct Module {
    /// The code.
    pub program: Rc<Program>,
    /// Namespace slot of each of the program's global names.
    pub slots: Box<[u32]>,
}
