//! A cache of compiled programs by source text.
//!
//! A program's constants belong to one thread, so every worker has its own cache.

use ahash::AHashMap;
use ptc_compiler::CompileOptions;
use ptc_vm::builtins::library;
use ptc_vm::{Program, Result};
use std::rc::Rc;
use std::sync::Arc;

/// Most bytes of program text that a cache remembers.
const CAPACITY_BYTES: usize = 4 << 20;

/// A bounded cache in two generations: when the young one is full it becomes the old one, and what is used
/// again moves back.
#[derive(Default)]
pub(super) struct ProgramCache {
    young: AHashMap<Arc<str>, Rc<Program>>,
    old: AHashMap<Arc<str>, Rc<Program>>,
    young_bytes: usize,
}

impl ProgramCache {
    /// The program of this text, if it is known.
    pub(super) fn find(&mut self, source: &Arc<str>) -> Option<Rc<Program>> {
        if let Some(program) = self.young.get(source) {
            return Some(program.clone());
        }
        let program = self.old.remove(source)?;
        self.remember(source, &program);
        Some(program)
    }

    /// Remembers the program of this text.
    pub(super) fn remember(&mut self, source: &Arc<str>, program: &Rc<Program>) {
        if self.young_bytes >= CAPACITY_BYTES / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += source.len() + 64;
        self.young.insert(source.clone(), program.clone());
    }
}

/// Compiles a program. Its size has been checked against the eval's own limit.
pub(super) fn compile(source: &str) -> Result<Rc<Program>> {
    let options = CompileOptions { max_source_bytes: usize::MAX, ..CompileOptions::default() };
    Ok(Rc::new(ptc_compiler::compile(source, library(), &options)?))
}
