//! Decides which traces are recorded.

use ptc_mcp::trace_context::TraceId;
use ptc_protocol::settings::Sampler;

/// Whether a trace is recorded. `client`: the decision of the client, if it sent one.
pub(super) fn records(sampler: Sampler, client: Option<bool>, id: TraceId) -> bool {
    match client.filter(|_| sampler.asks_client) {
        Some(decision) => decision,
        // The share of the rear half of the id, by which all systems of a trace come to the same decision.
        None => {
            let [.., a, b, c, d, e, f, g, h] = id.0;
            let place = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
            sampler.ratio >= 1.0 || place < (sampler.ratio * (1_u64 << 63) as f64) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_decides_where_it_may_and_else_the_ratio() {
        let low = TraceId([1, 0, 0, 0, 0, 0, 0, 0, 0x1f, 0, 0, 0, 0, 0, 0, 0]);
        let high = TraceId([1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0]);
        let of = |asks_client, ratio| Sampler { asks_client, ratio };
        for (sampler, client, id, recorded) in [
            (Sampler::default(), None, high, true),
            (Sampler::default(), Some(false), low, false),
            (of(true, 0.0), Some(true), low, true),
            (of(true, 0.0), None, low, false),
            (of(false, 0.0), Some(true), low, false),
            (of(false, 1.0), Some(false), high, true),
            (of(false, 0.5), None, low, true),
            (of(false, 0.5), None, high, false),
        ] {
            assert_eq!(records(sampler, client, id), recorded, "{sampler:?} {client:?} {id}");
        }
    }
}
