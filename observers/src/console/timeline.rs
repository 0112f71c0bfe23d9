//! Totals of the last half hour in steps of 15 seconds.

use std::collections::{HashMap, VecDeque};

use jiff::Timestamp;
use ptc_mcp::json::{Object, object_text, write_array};

use ptc_protocol::principal::Principal;
use ptc_protocol::report::ptc_metrics::PtcMetrics;

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

/// The steps of each caller that has called lately.
#[derive(Default)]
pub(super) struct Timelines(HashMap<Principal, VecDeque<TimelineStep>>);

impl Timelines {
    pub(super) fn add(
        &mut self,
        principal: &Principal,
        at: Timestamp,
        is_error: bool,
        metrics: Option<&PtcMetrics>,
    ) {
        let at = at.as_second().div_euclid(STEP);
        if self.0.len() >= MOST_CALLERS && !self.0.contains_key(principal) {
            self.make_room(at);
        }
        let steps = self.0.entry(principal.clone().with_authority(None)).or_default();
        // The clock may have been set back; a late call counts for the latest step.
        if steps.back().is_none_or(|latest| latest.at < at) {
            steps.push_back(TimelineStep { at, ..TimelineStep::default() });
            if steps.len() > STEPS {
                steps.pop_front();
            }
        }
        let Some(step) = steps.back_mut() else { return };
        step.calls += 1;
        step.errors += u64::from(is_error);
        if let Some(metrics) = metrics {
            step.fetched += metrics.result_bytes;
            step.returned += metrics.final_result_bytes;
        }
    }

    /// Gives up callers without a step that would be shown at `now`, or else the one that called longest ago.
    fn make_room(&mut self, now: i64) {
        let latest = |steps: &VecDeque<TimelineStep>| steps.back().map_or(i64::MIN, |step| step.at);
        self.0.retain(|_, steps| latest(steps) > now - STEPS as i64);
        if self.0.len() >= MOST_CALLERS {
            let idle = self.0.iter().min_by_key(|(_, steps)| latest(steps)).map(|(caller, _)| caller.clone());
            idle.map(|caller| self.0.remove(&caller));
        }
    }

    /// Writes the non-empty steps up to `now`.
    pub(super) fn write(&self, object: &mut Object<'_>, principal: &Principal, now: Timestamp) {
        let now = now.as_second().div_euclid(STEP);
        let steps = self.0.get(principal).into_iter().flatten();
        let recent = steps.filter(|step| step.at > now - STEPS as i64);
        let mut timeline = Object::new(object.key("timeline"));
        timeline.integer("step_seconds", STEP as u64);
        timeline.integer("steps", STEPS as u64);
        write_array(timeline.key("points"), recent, |out, step| {
            let json = object_text(|object| {
                // How many steps ago.
                object.integer("ago", u64::try_from(now - step.at).unwrap_or(0));
                object.integer("calls", step.calls);
                object.integer("errors", step.errors);
                object.integer("fetched_bytes", step.fetched);
                object.integer("returned_bytes", step.returned);
            });
            out.extend_from_slice(json.as_bytes());
        });
        timeline.end();
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
            let text = object_text(|object| timelines.write(object, who, at(now)));
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
    }

    #[test]
    fn callers_that_call_no_more_give_way_to_others() {
        let mut timelines = Timelines::default();
        let at = |step: i64| Timestamp::from_second((1_000_000 + step) * STEP).unwrap();
        let caller = |number: usize| Principal::named(&number.to_string());
        for number in 0..2 * MOST_CALLERS {
            timelines.add(&caller(number), at(i64::from(number > 0)), false, None);
        }
        assert_eq!(timelines.0.len(), MOST_CALLERS);
        assert!(!timelines.0.contains_key(&caller(0)), "it called longest ago");
        assert!(timelines.0.contains_key(&caller(2 * MOST_CALLERS - 1)));
        timelines.add(&caller(0), at(2 * STEPS as i64), false, None);
        assert_eq!(timelines.0.len(), 1, "no step of the others would be shown");
    }
}
