//! Ids of traces and spans.

use std::sync::atomic::{AtomicU64, Ordering};

use ptc_mcp::trace_context::{SpanId, TraceId};

/// Makes ids that no other of this process are, and that no other process's are but by chance.
#[derive(Debug)]
pub(super) struct Ids {
    next: AtomicU64,
    /// The front of the ids of traces.
    front: u64,
}

impl Ids {
    /// Ids that begin at random.
    pub(super) fn new() -> Result<Ids, getrandom::Error> {
        Ok(Ids { next: AtomicU64::new(getrandom::u64()?), front: getrandom::u64()? })
    }

    /// The next number, scattered: different numbers stay different. Never 0.
    fn number(&self) -> u64 {
        loop {
            let number = scattered(self.next.fetch_add(1, Ordering::Relaxed));
            if number != 0 {
                return number;
            }
        }
    }

    pub(super) fn span(&self) -> SpanId {
        SpanId(self.number().to_be_bytes())
    }

    pub(super) fn trace(&self) -> TraceId {
        let number = self.number();
        let front = scattered(self.front ^ number);
        TraceId((u128::from(front) << 64 | u128::from(number)).to_be_bytes())
    }
}

/// The finalizer of SplitMix64, a bijection.
fn scattered(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_distinct_and_never_zero() {
        // Around the number that is scattered to 0, which is itself 0.
        let ids = Ids { next: AtomicU64::new(u64::MAX - 500), front: 0 };
        let spans: HashSet<SpanId> = (0..1000).map(|_| ids.span()).collect();
        assert_eq!(spans.len(), 1000);
        assert!(!spans.contains(&SpanId([0; 8])));
        let traces: HashSet<TraceId> = (0..1000).map(|_| ids.trace()).collect();
        assert_eq!(traces.len(), 1000);
        assert!(traces.iter().all(|id| id.0[8..] != [0; 8]));
    }
}
