//! Totals of the last half hour in steps of 15 seconds, and what programs saved since the first call.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use ptc_mcp::json::{Object, object_text, write_array};

use ptc_protocol::principal::Principal;
use ptc_protocol::report::ptc_metrics::PtcMetrics;
use ptc_protocol::timestamp::instant;

/// Seconds of one step.
const STEP: i64 = 15;
/// Steps that are kept.
const STEPS: usize = 120;

/// One step.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct TimelineStep {
    /// When it began, in steps since 1970.
    at: i64,
    calls: u64,
    errors: u64,
    /// Bytes received from upstreams.
    fetched: u64,
    /// Result bytes of the calls that fetched something.
    returned: u64,
}

/// Callers whose steps are kept.
const MOST_CALLERS: usize = 256;

/// What programs made unnecessary since `since`, exactly as far as it can be counted.
#[derive(Debug, Clone, Copy)]
struct Savings {
    since: Timestamp,
    /// Programs that called upstreams.
    programs: u64,
    /// Their calls.
    calls: u64,
    /// Bytes that they received.
    fetched: u64,
    /// Bytes that they handed on.
    returned: u64,
}

/// What one caller did, or all.
#[derive(Debug, Default)]
struct Timeline {
    steps: VecDeque<TimelineStep>,
    savings: Option<Savings>,
}

impl Timeline {
    fn add(&mut self, at: Timestamp, is_error: bool, metrics: Option<&PtcMetrics>) {
        let step_at = at.as_second().div_euclid(STEP);
        // The clock may have been set back; a late call counts for the latest step.
        if self.steps.back().is_none_or(|latest| latest.at < step_at) {
            self.steps.push_back(TimelineStep { at: step_at, ..TimelineStep::default() });
            if self.steps.len() > STEPS {
                self.steps.pop_front();
            }
        }
        let Some(step) = self.steps.back_mut() else { return };
        step.calls += 1;
        step.errors += u64::from(is_error);
        let nothing = Savings { since: at, programs: 0, calls: 0, fetched: 0, returned: 0 };
        let savings = self.savings.get_or_insert(nothing);
        if let Some(metrics) = metrics {
            let returned = metrics.final_result_bytes + metrics.prints_bytes;
            step.fetched += metrics.result_bytes;
            step.returned += returned;
            savings.programs += 1;
            savings.calls += metrics.calls();
            savings.fetched += metrics.result_bytes;
            savings.returned += returned;
        }
    }

    /// When its latest step began.
    fn latest(&self) -> i64 {
        self.steps.back().map_or(i64::MIN, |step| step.at)
    }
}

/// The time lines of each caller that has called lately, and of all together.
#[derive(Default)]
pub(super) struct Timelines {
    by_caller: HashMap<Principal, Timeline>,
    all: Timeline,
}

impl Timelines {
    pub(super) fn add(
        &mut self,
        principal: &Principal,
        at: Timestamp,
        is_error: bool,
        metrics: Option<&PtcMetrics>,
    ) {
        if self.by_caller.len() >= MOST_CALLERS && !self.by_caller.contains_key(principal) {
            self.make_room(at.as_second().div_euclid(STEP));
        }
        let own = self.by_caller.entry(principal.clone().with_authority(None)).or_default();
        own.add(at, is_error, metrics);
        self.all.add(at, is_error, metrics);
    }

    /// Gives up callers without a step that would be shown at `now`, or else the one that called longest ago.
    fn make_room(&mut self, now: i64) {
        self.by_caller.retain(|_, line| line.latest() > now - STEPS as i64);
        if self.by_caller.len() >= MOST_CALLERS {
            let idle =
                self.by_caller.iter().min_by_key(|(_, line)| line.latest()).map(|(caller, _)| caller.clone());
            idle.map(|caller| self.by_caller.remove(&caller));
        }
    }

    /// Writes the non-empty steps up to `now`, and the savings, of `principal` or of all callers.
    pub(super) fn write(&self, object: &mut Object<'_>, principal: Option<&Principal>, now: Timestamp) {
        let step_now = now.as_second().div_euclid(STEP);
        let line = match principal {
            Some(principal) => self.by_caller.get(principal),
            None => Some(&self.all),
        };
        let steps = line.into_iter().flat_map(|line| &line.steps);
        let recent = steps.filter(|step| step.at > step_now - STEPS as i64);
        let mut timeline = Object::new(object.key("timeline"));
        timeline.integer("step_seconds", STEP as u64);
        timeline.integer("steps", STEPS as u64);
        write_array(timeline.key("points"), recent, |out, step| {
            let json = object_text(|object| {
                // How many steps ago.
                object.integer("ago", u64::try_from(step_now - step.at).unwrap_or(0));
                object.integer("calls", step.calls);
                object.integer("errors", step.errors);
                object.integer("fetched_bytes", step.fetched);
                object.integer("returned_bytes", step.returned);
            });
            out.extend_from_slice(json.as_bytes());
        });
        timeline.end();
        let nothing = Savings { since: now, programs: 0, calls: 0, fetched: 0, returned: 0 };
        let savings = line.and_then(|line| line.savings).unwrap_or(nothing);
        let kept_back = savings.fetched.saturating_sub(savings.returned);
        let mut saved = Object::new(object.key("saved"));
        saved.string("since", &instant(savings.since));
        saved.integer("programs", savings.programs);
        saved.integer("upstream_calls", savings.calls);
        saved.integer("fetched_bytes", savings.fetched);
        saved.integer("returned_bytes", savings.returned);
        saved.integer("bytes", kept_back);
        // Whether a model would have made these calls one by one is not known.
        saved.integer("estimated_model_turns", savings.calls.saturating_sub(savings.programs));
        saved.integer("estimated_tokens", kept_back.div_ceil(4));
        saved.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_fall_into_steps_and_old_steps_go() {
        let mut timelines = Timelines::default();
        let (alice, bob) = (Principal::named("alice"), Principal::named("bob"));
        let at = |second: i64| Timestamp::from_second(1_000_000 * STEP + second).unwrap();
        let metrics = PtcMetrics { result_bytes: 100, final_result_bytes: 4, ..PtcMetrics::default() };
        timelines.add(&alice, at(0), false, Some(&metrics));
        timelines.add(&alice, at(14), true, None);
        timelines.add(&alice, at(15), false, Some(&metrics));
        timelines.add(&alice, at(3), false, None);
        let points = |now: i64, who: &Principal| {
            let text = object_text(|object| timelines.write(object, Some(who), at(now)));
            let value: ptc_mcp::json::Value = serde_json::from_str(&text).unwrap();
            value["timeline"]["points"].as_array().unwrap().clone()
        };
        let shown = points(20, &alice);
        assert_eq!(shown.len(), 2);
        assert_eq!(
            shown[0],
            ptc_mcp::json::json!({"ago": 1, "calls": 2, "errors": 1, "fetched_bytes": 100, "returned_bytes": 4})
        );
        assert_eq!((&shown[1]["calls"], &shown[1]["ago"]), (&2.into(), &0.into()));
        assert!(points(20, &bob).is_empty());
        assert_eq!(points(STEP * STEPS as i64, &alice).len(), 1, "the first step is over half an hour old");
        timelines.add(&bob, at(16), false, Some(&metrics));
        let saved = |who: Option<&Principal>| {
            let text = object_text(|object| timelines.write(object, who, at(20)));
            let value: ptc_mcp::json::Value = serde_json::from_str(&text).unwrap();
            let saved = &value["saved"];
            [&saved["programs"], &saved["fetched_bytes"], &saved["bytes"], &saved["estimated_tokens"]]
                .map(|figure| figure.as_u64().unwrap())
        };
        assert_eq!(saved(Some(&alice)), [2, 200, 192, 48]);
        assert_eq!(saved(None), [3, 300, 288, 72]);
    }

    #[test]
    fn callers_that_call_no_more_give_way_to_others() {
        let mut timelines = Timelines::default();
        let at = |step: i64| Timestamp::from_second((1_000_000 + step) * STEP).unwrap();
        let caller = |number: usize| Principal::named(&number.to_string());
        for number in 0..2 * MOST_CALLERS {
            timelines.add(&caller(number), at(i64::from(number > 0)), false, None);
        }
        assert_eq!(timelines.by_caller.len(), MOST_CALLERS);
        assert!(!timelines.by_caller.contains_key(&caller(0)), "it called longest ago");
        assert!(timelines.by_caller.contains_key(&caller(2 * MOST_CALLERS - 1)));
        timelines.add(&caller(0), at(2 * STEPS as i64), false, None);
        assert_eq!(timelines.by_caller.len(), 1, "no step of the others would be shown");
    }
}
