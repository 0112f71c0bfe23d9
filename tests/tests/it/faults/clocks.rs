//! A clock that is set while the server runs must move no deadline: limits are measured by clocks that cannot be set.
//! `tests/soak/soak.py --clock` runs the server under a clock that jumps; this holds that no new limit forgets about it.

use ptc_tests::product;

/// Files that read the time of day, and what for. None of these ends or admits anything but what another machine has dated: a token, a
/// signed request, and files that others wrote.
const TIME_OF_DAY: [(&str, &str); 26] = [
    (
        "agent/src/llm/endpoint/refusal.rs",
        "the date of a signed request, which its receiver compares with its own; and of ours, to which a date in Retry-After is relative where the sender tells none",
    ),
    ("agent/src/run/native.rs", "when a step began, for whoever reads the journal"),
    ("agent/src/run/text.rs", "the same"),
    ("agent/src/run/tool_call.rs", "the same"),
    ("engine/src/eval_start.rs", "what a program is told when it asks for the time"),
    ("upstreams/src/mcp/inbound.rs", "when an upstream's message came, for the page"),
    (
        "state/src/shared_time.rs",
        "whether a token has ended, which its issuer dated, and when an HTTP session or a run began, for whatever process reads it; by the clock of the store that processes share",
    ),
    ("upstreams/src/sign_in/store/file.rs", "which files of abandoned sign-ins are old"),
    ("base/src/time/clock.rs", "the one clock"),
    ("base/src/time/mod.rs", "the same"),
    ("programs/src/lock.rs", "when a program was approved or proposed"),
    ("programs/src/recording.rs", "the instant that a recorded run saw"),
    ("server/src/cli/questions.rs", "when a question was answered at the terminal"),
    ("server/src/cli/sign_in/progress.rs", "how long a token or a code is valid, for whoever signs in"),
    ("server/src/cli/sign_in/desk.rs", "the same, in the list of sign-ins"),
    ("observers/src/audit/line.rs", "the time of a line"),
    ("observers/src/console/state.rs", "what the page shows as now"),
    ("protocol/src/observer.rs", "when a call began and ended, in records and traces"),
    ("observers/src/log/timestamp.rs", "the time of a line"),
    ("observers/src/otel/spans.rs", "when a span began and ended, for the collector"),
    ("protocol/src/timestamp.rs", "the time of day, for those of this list"),
    ("observers/src/metrics/process.rs", "when the process started, as Prometheus wants it"),
    ("observers/src/console/runs.rs", "what the page shows as now"),
    ("runs/src/webhook/signature.rs", "when a message was signed, which its receiver compares with its own"),
    ("tools/src/lisp_debug/mod.rs", "which records `since` shows"),
    ("tools/src/lisp_task/journal.rs", "when an event of the planner happened, in traces"),
];

/// How the time of day is read: by the one clock, and by whatever goes around it.
const READING: [&str; 7] = [
    "time::time_of_day()",
    "clock.time_of_day()",
    "millis_of_day(",
    "timestamp::now()",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
];

/// The clocks of sessions and of stores read the time of day once, and from then on count by a clock that cannot be set.
const ANCHORED: [&str; 2] = ["tools/src/sessions/environment.rs", "state/src/clock.rs"];

#[test]
fn the_time_of_day_decides_nothing() {
    let mut reading: Vec<String> = Vec::new();
    for file in product::sources() {
        let text = std::fs::read_to_string(&file).expect("a source");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let name = file.strip_prefix(product::root()).expect("below").to_str().expect("UTF-8").to_owned();
        let reads = READING.iter().any(|call| code.contains(call));
        if reads && !name.ends_with("tests.rs") {
            reading.push(name);
        }
    }
    reading.sort();
    let mut known: Vec<_> = TIME_OF_DAY.iter().map(|(name, _)| *name).chain(ANCHORED).collect();
    known.sort_unstable();
    assert_eq!(reading, known, "whatever ends, admits or forgets something measures by Instant");
}
