//! The latest output of a run.

use std::collections::VecDeque;

use ptc_host::text::clip;
use serde::{Deserialize, Serialize};

/// The bound on kept output, in bytes (waiting.md 8).
const MAX_BYTES: usize = 64 << 10;

/// The latest prints. Older prints are dropped and counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PrintLog {
    /// How many prints were dropped before the first kept one.
    first: u64,
    kept: VecDeque<String>,
    bytes: usize,
}

impl PrintLog {
    /// Adds a print.
    pub(super) fn push(&mut self, print: &str) {
        let print = clip(print, MAX_BYTES);
        self.bytes += print.len();
        self.kept.push_back(print.to_owned());
        while self.bytes > MAX_BYTES
            && let Some(oldest) = self.kept.pop_front()
        {
            self.bytes -= oldest.len();
            self.first += 1;
        }
    }

    /// How many prints there were in total.
    pub(super) fn count(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// The prints after the first `told`, and how many of them were dropped.
    pub(super) fn after(&self, told: u64) -> (Vec<String>, u64) {
        let skipped = usize::try_from(told.saturating_sub(self.first)).unwrap_or(usize::MAX);
        (self.kept.iter().skip(skipped).cloned().collect(), self.first.saturating_sub(told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_and_the_others_counted() {
        let mut log = PrintLog::default();
        log.push("a");
        log.push("b");
        assert_eq!(log.after(0), (vec!["a".to_owned(), "b".to_owned()], 0));
        assert_eq!(log.after(1), (vec!["b".to_owned()], 0));
        assert_eq!(log.after(2), (vec![], 0));
        log.push(&"x".repeat(MAX_BYTES));
        assert_eq!((log.count(), log.after(1).0.len(), log.after(1).1), (3, 1, 1));
        log.push(&"é".repeat(MAX_BYTES));
        let (kept, omitted) = log.after(0);
        assert!(kept.len() == 1 && kept[0].len() <= MAX_BYTES && omitted == 3, "{omitted}");
    }
}
