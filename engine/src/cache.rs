//! A cache of compiled programs by source text.
//!
//! A program's constants belong to one thread, so every worker has its own cache. Its size is counted in bytes of text, code
//! and constants; each program has reserved its own from the memory of all programs.

use ahash::AHashMap;
use ptc_vm::meter::{Account, ResourceUse};
use ptc_vm::{Error, Program, Result};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of a program's places in the cache.
pub(super) const PLACE_BYTES: usize = 256;

/// A program and the cost of compiling it.
#[derive(Clone)]
pub(super) struct CompiledProgram {
    pub(super) program: Rc<Program>,
    pub(super) spent: ResourceUse,
}

impl CompiledProgram {
    /// Bytes that it takes with its text.
    pub(super) fn bytes(&self) -> usize {
        PLACE_BYTES + self.program.source_bytes + self.program.heap_bytes
    }

    /// Refuses it where compiling it would have come to a limit.
    pub(super) fn check(&self, steps: u64, memory_bytes: u64) -> Result<()> {
        if self.spent.steps > steps {
            return Err(Error::steps(steps));
        }
        if self.spent.peak_bytes > memory_bytes {
            return Err(Error::memory(memory_bytes));
        }
        Ok(())
    }
}

/// The programs that a worker knows.
pub(super) struct KnownPrograms(RefCell<ProgramCache>);

impl KnownPrograms {
    /// None yet, and never more than `limit` bytes of them.
    pub(super) fn new(limit: usize) -> KnownPrograms {
        KnownPrograms(RefCell::new(ProgramCache::new(limit)))
    }

    /// The program of this text, if it is known.
    pub(super) fn known(&self, source: &str) -> Option<CompiledProgram> {
        // What has to go for it is dropped when the cache is no longer borrowed.
        let known = self.0.borrow_mut().get(source);
        known.map(|(program, _discarded)| program)
    }

    /// Remembers a program.
    pub(super) fn remember(&self, source: &Arc<str>, program: &CompiledProgram) {
        let discarded = self.0.borrow_mut().insert(source.clone(), program.clone());
        drop(discarded);
    }

    /// Forgets all programs.
    pub(super) fn forget(&self) {
        // What is dropped is nobody's who runs now.
        let mut nobody = Account::new(u64::MAX);
        let _installed = nobody.install();
        let Ok(mut cache) = self.0.try_borrow_mut() else { return };
        let programs = cache.clear();
        drop(cache);
        drop(programs);
    }

    /// Bytes of all of them; `None` while one is looked up.
    pub(super) fn bytes(&self) -> Option<usize> {
        self.0.try_borrow().ok().map(|cache| cache.bytes())
    }
}

/// A bounded cache in two generations: when the young one is full it becomes the old one, and entries that are used again move
/// back.
struct ProgramCache {
    young: Generation,
    old: Generation,
    /// Most bytes of both together.
    limit: usize,
}

#[derive(Default)]
struct Generation {
    programs: AHashMap<Arc<str>, CompiledProgram>,
    bytes: usize,
}

impl Generation {
    fn insert(&mut self, source: Arc<str>, program: CompiledProgram) {
        self.bytes += program.bytes();
        if let Some(before) = self.programs.insert(source, program) {
            self.bytes -= before.bytes();
        }
    }

    fn remove(&mut self, source: &str) -> Option<(Arc<str>, CompiledProgram)> {
        let (source, program) = self.programs.remove_entry(source)?;
        self.bytes -= program.bytes();
        Some((source, program))
    }
}

impl ProgramCache {
    /// An empty cache of at most `limit` bytes.
    fn new(limit: usize) -> ProgramCache {
        ProgramCache { young: Generation::default(), old: Generation::default(), limit }
    }

    /// Bytes of all programs in it.
    fn bytes(&self) -> usize {
        self.young.bytes + self.old.bytes
    }

    /// The program of this text, if it is known.
    fn get(&mut self, source: &str) -> Option<(CompiledProgram, EvictedPrograms)> {
        if let Some(program) = self.young.programs.get(source) {
            return Some((program.clone(), EvictedPrograms::default()));
        }
        let (source, program) = self.old.remove(source)?;
        let discarded = self.insert(source, program.clone());
        Some((program, discarded))
    }

    /// Remembers a program, unless it would take more than half of the cache. Returns the evicted programs.
    #[must_use]
    fn insert(&mut self, source: Arc<str>, program: CompiledProgram) -> EvictedPrograms {
        let bytes = program.bytes();
        if bytes > self.limit / 2 {
            return EvictedPrograms::default();
        }
        let mut discarded = Generation::default();
        if self.young.bytes + bytes > self.limit / 2 {
            discarded = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
        }
        self.young.insert(source, program);
        EvictedPrograms { _programs: discarded }
    }

    /// Forgets all programs.
    #[must_use]
    fn clear(&mut self) -> [EvictedPrograms; 2] {
        [&mut self.young, &mut self.old]
            .map(|generation| EvictedPrograms { _programs: std::mem::take(generation) })
    }
}

/// Programs that a cache has evicted, to be dropped while the cache is not borrowed: dropping them takes time, and others may
/// run meanwhile.
#[derive(Default)]
struct EvictedPrograms {
    _programs: Generation,
}
