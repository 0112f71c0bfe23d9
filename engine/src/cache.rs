//! A cache of compiled programs by source text.
//!
//! A program's constants belong to one thread, so every worker has its own cache. Its size is counted in bytes of text, code
//! and constants; each program has reserved its own from the memory of all programs.

use super::compile::CompiledProgram;
use ahash::AHashMap;
use std::sync::Arc;

/// A bounded cache in two generations: when the young one is full it becomes the old one, and entries that are used again move
/// back.
pub(super) struct ProgramCache {
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
    pub(super) fn new(limit: usize) -> ProgramCache {
        ProgramCache { young: Generation::default(), old: Generation::default(), limit }
    }

    /// Bytes of all programs in it.
    pub(super) fn bytes(&self) -> usize {
        self.young.bytes + self.old.bytes
    }

    /// The program of this text, if it is known.
    pub(super) fn get(&mut self, source: &str) -> Option<(CompiledProgram, EvictedPrograms)> {
        if let Some(program) = self.young.programs.get(source) {
            return Some((program.clone(), EvictedPrograms::default()));
        }
        let (source, program) = self.old.remove(source)?;
        let discarded = self.insert(source, program.clone());
        Some((program, discarded))
    }

    /// Remembers a program, unless it would take more than half of the cache. Returns the evicted programs.
    #[must_use]
    pub(super) fn insert(&mut self, source: Arc<str>, program: CompiledProgram) -> EvictedPrograms {
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
    pub(super) fn clear(&mut self) -> [EvictedPrograms; 2] {
        [&mut self.young, &mut self.old]
            .map(|generation| EvictedPrograms { _programs: std::mem::take(generation) })
    }
}

/// Programs that a cache has evicted, to be dropped while the cache is not borrowed: dropping them takes time, and others may
/// run meanwhile.
#[derive(Default)]
pub(super) struct EvictedPrograms {
    _programs: Generation,
}
