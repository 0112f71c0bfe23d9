//! `ptc_metrics`: how much upstream data a program reduced to its answer. Bytes are exact. Tokens are estimates and
//! labelled as such. No costs are invented for the same work without programs.

use ptc_host::engine::{CallRecord, CallStatus};

use ptc_mcp::json::{Object, object_text};

const CONSERVATIVE_NOTE: &str = "Total size of the successful, not oversized tool results the program fetched. It can \
    overstate what was needed, ignores tool schemas and orchestration, and is not the size of this response.";
const OPTIMISTIC_NOTE: &str =
    "The cost of doing the same task with direct tool calls cannot be measured by the server.";

/// Hundredths as a JSON number with at most two decimals; null for none.
pub fn hundredths_json(hundredths: Option<u64>) -> String {
    let Some(hundredths) = hundredths else { return "null".into() };
    let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    match text.strip_suffix('0') {
        Some(short) => short.to_owned(),
        None => text,
    }
}

/// The figures of one evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PtcMetrics {
    /// Bytes of `result` as sent.
    pub final_result_bytes: u64,
    /// Bytes of `prints` as JSON; 0 without prints.
    pub prints_bytes: u64,
    /// Successful calls.
    pub ok_count: u64,
    /// Failed calls.
    pub error_count: u64,
    /// Calls whose answer was too large.
    pub oversize_count: u64,
    /// Bytes of successful results.
    pub result_bytes: u64,
    /// Bytes of failed calls' results.
    pub error_bytes: u64,
    /// Bytes of results that were too large.
    pub oversize_bytes: u64,
}

impl PtcMetrics {
    /// Counts `calls`; each falls in exactly one of the three buckets.
    pub fn of(calls: &[CallRecord], final_result_bytes: u64, prints_bytes: u64) -> Self {
        let mut metrics = PtcMetrics { final_result_bytes, prints_bytes, ..PtcMetrics::default() };
        for call in calls {
            let (count, bytes) = if call.oversize {
                (&mut metrics.oversize_count, &mut metrics.oversize_bytes)
            } else if call.status == CallStatus::Ok {
                (&mut metrics.ok_count, &mut metrics.result_bytes)
            } else {
                (&mut metrics.error_count, &mut metrics.error_bytes)
            };
            *count += 1;
            *bytes += call.result_bytes.unwrap_or(0);
        }
        metrics
    }

    /// All calls.
    pub fn calls(&self) -> u64 {
        self.ok_count + self.error_count + self.oversize_count
    }

    /// The figures of both.
    #[must_use]
    pub fn plus(&self, other: &PtcMetrics) -> PtcMetrics {
        PtcMetrics {
            final_result_bytes: self.final_result_bytes + other.final_result_bytes,
            prints_bytes: self.prints_bytes + other.prints_bytes,
            ok_count: self.ok_count + other.ok_count,
            error_count: self.error_count + other.error_count,
            oversize_count: self.oversize_count + other.oversize_count,
            result_bytes: self.result_bytes + other.result_bytes,
            error_bytes: self.error_bytes + other.error_bytes,
            oversize_bytes: self.oversize_bytes + other.oversize_bytes,
        }
    }

    /// Fetched bytes per byte of the answer, in hundredths; `None` if either is 0.
    pub fn ratio_hundredths(&self) -> Option<u64> {
        if self.result_bytes == 0 || self.final_result_bytes == 0 {
            return None;
        }
        let (numerator, denominator) =
            (u128::from(self.result_bytes) * 100, u128::from(self.final_result_bytes));
        // Rounds half up.
        u64::try_from((numerator * 2 + denominator) / (denominator * 2)).ok()
    }

    /// The ratio as JSON: a number with at most two decimals, or null.
    pub fn ratio_json(&self) -> String {
        hundredths_json(self.ratio_hundredths())
    }

    /// The block as JSON.
    pub fn json(&self) -> String {
        object_text(|object| self.write_members(object))
    }

    /// The members of the block.
    pub(crate) fn write_members(&self, object: &mut Object<'_>) {
        let ratio = self.ratio_json();
        object.integer("schema_version", 1);
        object.integer("final_result_bytes", self.final_result_bytes);
        object.integer("prints_bytes", self.prints_bytes);
        object.integer("upstream_call_count", self.calls());
        object.integer("upstream_ok_count", self.ok_count);
        object.integer("upstream_error_count", self.error_count);
        object.integer("upstream_oversize_count", self.oversize_count);
        object.integer("upstream_result_bytes", self.result_bytes);
        object.integer("upstream_error_bytes", self.error_bytes);
        object.integer("upstream_oversize_bytes", self.oversize_bytes);
        object.raw("payload_reduction_ratio", &ratio);
        object.integer("estimated_final_result_tokens", self.final_result_bytes.div_ceil(4));
        object.integer("estimated_upstream_result_tokens", self.result_bytes.div_ceil(4));
        object.string("token_estimate_method", "utf8_bytes_div_4");
        let conservative = object_text(|object| {
            object.string("name", "successful_upstream_results_only");
            object.integer("bytes", self.result_bytes);
            object.raw("ratio", &ratio);
            object.string("note", CONSERVATIVE_NOTE);
        });
        let optimistic = object_text(|object| {
            object.string("name", "no_ptc_direct_llm_workflow");
            object.boolean("available", false);
            object.string("note", OPTIMISTIC_NOTE);
        });
        object.raw("baseline", &format!("{{\"conservative\":{conservative},\"optimistic\":{optimistic}}}"));
    }
}
