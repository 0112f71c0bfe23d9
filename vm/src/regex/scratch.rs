//! The scratch memory of automata that a thread keeps from search to search.

/// Automata whose scratch memory of one kind a thread keeps.
const KEPT_SCRATCH: usize = 16;
/// Bytes that the scratch memory of one kind may take together.
const KEPT_SCRATCH_BYTES: usize = 2 << 20;

/// Scratch memory of automata, most recently used last.
pub(super) struct Scratch<K, C> {
    caches: Vec<(K, Box<C>, usize)>,
    /// Bytes of all of them.
    pub(super) bytes: usize,
}

impl<K, C> Default for Scratch<K, C> {
    fn default() -> Scratch<K, C> {
        Scratch { caches: Vec::new(), bytes: 0 }
    }
}

impl<K: PartialEq, C> Scratch<K, C> {
    /// Takes the cache kept for `key`.
    pub(super) fn take(&mut self, key: &K) -> Option<Box<C>> {
        let at = self.caches.iter().rposition(|(known, ..)| known == key)?;
        let (_, cache, bytes) = self.caches.remove(at);
        self.bytes -= bytes;
        Some(cache)
    }

    /// Keeps a cache of `bytes` bytes, unless that is more than all may take.
    pub(super) fn put(&mut self, key: K, cache: Box<C>, bytes: usize) {
        let bytes = bytes + size_of::<C>();
        if bytes > KEPT_SCRATCH_BYTES {
            return;
        }
        while self.caches.len() >= KEPT_SCRATCH || self.bytes + bytes > KEPT_SCRATCH_BYTES {
            let (.., oldest) = self.caches.remove(0);
            self.bytes -= oldest;
        }
        self.bytes += bytes;
        self.caches.push((key, cache, bytes));
    }
}
