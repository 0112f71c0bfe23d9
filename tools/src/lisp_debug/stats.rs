//! Totals over a window of calls.

use std::collections::BTreeMap;

use ptc_mcp::json::{Object, object_text, write_array};

use ptc_observers::recent::RecentCall;
use ptc_observers::recent::record::UpstreamCall;
use ptc_protocol::report::PlannerReport;
use ptc_protocol::report::ptc_metrics::{PtcMetrics, hundredths_json};
use ptc_protocol::timestamp::instant;

/// Entries of `top_reducers`.
const TOP: usize = 10;

/// The totals that are shown: all, unless the answer is too large.
pub(super) struct ShownTotals<'r> {
    window: &'r [&'r RecentCall],
    /// The number of steps taken by [`ShownTotals::shrink`].
    left_out: usize,
}

/// The parts that are left out, one after the other, if the answer is too large.
const STEPS: [&str; 6] =
    ["top_reducers", "payload_reduction", "by_server", "duration_ms", "by_tool", "upstream_calls"];

impl<'r> ShownTotals<'r> {
    /// The totals of `window`, which is ordered from the newest call to the oldest.
    pub(super) fn of(window: &'r [&'r RecentCall]) -> Self {
        ShownTotals { window, left_out: 0 }
    }

    /// Leaves out one more part; `false` if none is left.
    pub(super) fn shrink(&mut self) -> bool {
        self.left_out += 1;
        self.left_out <= STEPS.len()
    }

    fn shows(&self, part: &str) -> bool {
        !STEPS[..self.left_out.min(STEPS.len())].contains(&part)
    }

    /// Writes the members after the first members of every answer.
    pub(super) fn write(&self, object: &mut Object<'_>) {
        if self.left_out > 0 {
            object.boolean("truncated", true);
        }
        self.write_window(object);
        if self.shows("by_tool") {
            self.write_tools(object);
        }
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for record in self.window.iter().filter(|record| record.is_error) {
            *reasons.entry(record.reason.as_deref().unwrap_or("unknown")).or_default() += 1;
        }
        object.raw("errors", &object_text(|errors| errors.raw("by_reason", &counts(&reasons))));
        if self.shows("upstream_calls") {
            self.write_upstream_calls(object);
        }
        self.write_tasks(object);
        if self.shows("payload_reduction") {
            self.write_reduction(object);
        }
    }

    fn write_window(&self, object: &mut Object<'_>) {
        let mut window = Object::new(object.key("window"));
        for (name, record) in [("from", self.window.last()), ("to", self.window.first())] {
            match record {
                Some(record) => window.string(name, &instant(record.at)),
                None => window.raw(name, "null"),
            }
        }
        window.integer("calls", self.window.len() as u64);
        window.end();
    }

    fn write_tools(&self, object: &mut Object<'_>) {
        let mut tools: BTreeMap<&str, Vec<&RecentCall>> = BTreeMap::new();
        for record in self.window {
            tools.entry(&record.tool).or_default().push(record);
        }
        let mut by_tool = Object::new(object.key("by_tool"));
        for (tool, calls) in tools {
            let errors = calls.iter().filter(|call| call.is_error).count();
            let mut durations: Vec<u64> = calls.iter().map(|call| call.duration_ms).collect();
            durations.sort_unstable();
            let mut entry = Object::new(by_tool.key(tool));
            entry.integer("calls", calls.len() as u64);
            entry.integer("ok", (calls.len() - errors) as u64);
            entry.integer("error", errors as u64);
            entry.raw("error_rate", &thousandths(errors, calls.len()));
            if self.shows("duration_ms") {
                let of = |quantile| percentile(&durations, quantile).unwrap_or(0);
                let mut duration = Object::new(entry.key("duration_ms"));
                duration.integer("p50", of(50));
                duration.integer("p95", of(95));
                duration.integer("max", of(100));
                duration.end();
            }
            entry.end();
        }
        by_tool.end();
    }

    fn write_upstream_calls(&self, object: &mut Object<'_>) {
        let calls: Vec<&UpstreamCall> =
            self.window.iter().flat_map(|record| &record.upstream_calls).collect();
        if calls.is_empty() {
            return;
        }
        let mut all = Object::new(object.key("upstream_calls"));
        write_bucket(&mut all, &calls);
        if self.shows("by_server") {
            let mut servers: BTreeMap<&str, Vec<&UpstreamCall>> = BTreeMap::new();
            for call in calls {
                servers.entry(&call.server).or_default().push(call);
            }
            let mut by_server = Object::new(all.key("by_server"));
            for (server, calls) in servers {
                let mut entry = Object::new(by_server.key(server));
                write_bucket(&mut entry, &calls);
                entry.end();
            }
            by_server.end();
        }
        all.end();
    }

    fn planners(&self) -> impl Iterator<Item = &PlannerReport> {
        self.window.iter().filter_map(|record| record.planner.as_ref())
    }

    fn write_tasks(&self, object: &mut Object<'_>) {
        let tasks = self.window.iter().filter(|record| record.tool == "lisp_task").count();
        if tasks == 0 {
            return;
        }
        let sum = |of: fn(&PlannerReport) -> u64| self.planners().map(of).sum();
        let mut agentic = Object::new(object.key("agentic"));
        agentic.integer("tasks", tasks as u64);
        agentic.integer("planner_calls", sum(|planner| planner.calls));
        agentic.integer("planner_errors", sum(|planner| u64::from(!planner.ok)));
        agentic.integer("planner_rejects", sum(|planner| planner.calls.saturating_sub(planner.turns)));
        agentic.integer("retries", sum(|planner| planner.turns.saturating_sub(1)));
        agentic.end();
    }

    fn write_reduction(&self, object: &mut Object<'_>) {
        let measured: Vec<(&RecentCall, PtcMetrics)> =
            self.window.iter().filter_map(|record| Some((*record, record.metrics?))).collect();
        if measured.is_empty() {
            return;
        }
        let total = measured.iter().fold(PtcMetrics::default(), |sum, (_, metrics)| sum.plus(metrics));
        let mut ratios: Vec<u64> =
            measured.iter().filter_map(|(_, metrics)| metrics.ratio_hundredths()).collect();
        ratios.sort_unstable();
        let mut block = Object::new(object.key("payload_reduction"));
        block.integer("schema_version", 1);
        block.integer("calls_with_metrics", measured.len() as u64);
        block.integer("total_final_result_bytes", total.final_result_bytes);
        block.integer("total_upstream_result_bytes", total.result_bytes);
        block.integer("total_upstream_error_bytes", total.error_bytes);
        block.integer("total_upstream_oversize_bytes", total.oversize_bytes);
        block.integer("total_upstream_calls", total.calls());
        let mut ratio = Object::new(block.key("reduction_ratio"));
        for (name, quantile) in [("p50", 50), ("p95", 95), ("max", 100)] {
            ratio.raw(name, &hundredths_json(percentile(&ratios, quantile)));
        }
        ratio.raw("weighted", &total.ratio_json());
        ratio.end();
        let mut tokens = Object::new(block.key("estimated_tokens"));
        tokens.integer("final_result", total.final_result_bytes.div_ceil(4));
        tokens.integer("upstream_result", total.result_bytes.div_ceil(4));
        tokens.string("method", "utf8_bytes_div_4");
        tokens.end();
        if self.shows("top_reducers") {
            write_top(&mut block, measured);
        }
        self.write_planner_cost(&mut block);
        block.end();
    }

    fn write_planner_cost(&self, block: &mut Object<'_>) {
        let planners: Vec<&PlannerReport> = self.planners().filter(|planner| planner.calls > 0).collect();
        if planners.is_empty() {
            return;
        }
        let reported = planners.iter().filter(|planner| planner.provider_reported).count();
        let sum = |of: fn(&PlannerReport) -> u64| planners.iter().map(|planner| of(planner)).sum::<u64>();
        let mut cost = Object::new(block.key("agentic_planner"));
        cost.integer("tasks", planners.len() as u64);
        cost.integer("provider_reported_tasks", reported as u64);
        for (name, tokens) in [
            ("total_prompt_tokens", sum(|planner| planner.prompt_tokens)),
            ("total_completion_tokens", sum(|planner| planner.completion_tokens)),
        ] {
            // A sum of some tasks only would look like the sum of all.
            if reported == planners.len() {
                cost.integer(name, tokens);
            } else {
                cost.raw(name, "null");
            }
        }
        let (prompt, completion) =
            (sum(|planner| planner.prompt_bytes), sum(|planner| planner.completion_bytes));
        cost.integer("total_prompt_bytes", prompt);
        cost.integer("total_completion_bytes", completion);
        cost.integer("estimated_total_tokens", prompt.div_ceil(4) + completion.div_ceil(4));
        cost.end();
    }
}

/// The calls that reduced most, the newer one first among equals.
fn write_top(block: &mut Object<'_>, measured: Vec<(&RecentCall, PtcMetrics)>) {
    let mut top: Vec<_> = measured
        .into_iter()
        .filter_map(|(record, metrics)| Some((metrics.ratio_hundredths()?, record, metrics)))
        .collect();
    // The sort is stable, and the window runs from new to old.
    top.sort_by_key(|(ratio, ..)| std::cmp::Reverse(*ratio));
    top.truncate(TOP);
    write_array(block.key("top_reducers"), top, |out, (_, record, metrics)| {
        let entry = object_text(|object| {
            object.string("request_id", &record.request_id);
            object.string("ts", &instant(record.at));
            object.string("tool", &record.tool);
            object.integer("final_result_bytes", metrics.final_result_bytes);
            object.integer("upstream_result_bytes", metrics.result_bytes);
            object.raw("ratio", &metrics.ratio_json());
        });
        out.extend_from_slice(entry.as_bytes());
    });
}

fn write_bucket(object: &mut Object<'_>, calls: &[&UpstreamCall]) {
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    for call in calls.iter().filter(|call| !call.ok) {
        *reasons.entry(call.reason.as_deref().unwrap_or("upstream_error")).or_default() += 1;
    }
    object.integer("total", calls.len() as u64);
    object.integer("ok", calls.iter().filter(|call| call.ok).count() as u64);
    object.raw("by_reason", &counts(&reasons));
}

fn counts(counts: &BTreeMap<&str, u64>) -> String {
    object_text(|object| counts.iter().for_each(|(name, count)| object.integer(name, *count)))
}

/// The nearest rank: the smallest value that at least `percent` of all do not exceed.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// A share as a JSON number with at most three decimals.
fn thousandths(part: usize, whole: usize) -> String {
    let (part, whole) = (part as u64, whole as u64);
    // Rounds half up.
    let thousandths = (part * 2000 + whole) / (whole * 2);
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}
