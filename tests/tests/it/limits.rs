//! Every limit, at it and one over it. A row either runs the two cases through the real binary, or names the test that
//! does, which must exist. An option that sets a number and has no row here fails.

use ptc_tests::product;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use ptc_mcp::json::{Value, json};
use ptc_server::options::flags::{ALL, ValueKind};
use ptc_test_support::process::Launch;

/// Options that set a number which bounds nothing.
const NO_LIMITS: [&str; 1] = ["http-port"];

/// Two programs run by `ptc start` with these options: one at the limit and what it gives, one over it and what that says.
struct Case {
    limit: &'static str,
    flags: &'static [&'static str],
    at: (String, &'static str),
    over: (String, &'static str),
    /// Whether it is a limit of time, of an hour.
    is_time: bool,
}

impl Case {
    /// The program over the limit ends when the clock is set ahead.
    fn by_clock(self) -> Case {
        Case { is_time: true, ..self }
    }
}

fn case(
    limit: &'static str,
    flags: &'static [&'static str],
    at: (impl Into<String>, &'static str),
    over: (impl Into<String>, &'static str),
) -> Case {
    Case { limit, flags, at: (at.0.into(), at.1), over: (over.0.into(), over.1), is_time: false }
}

fn nested(levels: usize) -> String {
    format!("(count {}{})", "[".repeat(levels), "]".repeat(levels))
}

fn json_nested(levels: usize) -> String {
    format!("(nil? (json/parse-string \"{}{}\"))", "[".repeat(levels), "]".repeat(levels))
}

fn deep(levels: usize) -> String {
    format!("(count (pr-str (reduce (fn [a _] [a]) [] (range {levels}))))")
}

fn call(tool: &str, arguments: &str) -> String {
    format!("(tool/call {{:server \"fake\" :tool \"{tool}\" :args {arguments}}})")
}

fn cases() -> Vec<Case> {
    let echo = call("echo", "{}");
    vec![
        case(
            "--max-program-bytes",
            &["--max-program-bytes", "10"],
            ("\"12345678\"", "user=> \"12345678\""),
            ("\"123456789\"", "args_error: argument `program` exceeds max_program_bytes (11 > 10)"),
        ),
        case(
            "--program-timeout-ms",
            &["--program-timeout-ms", "3600000", "--program-step-limit", "1000000000000"],
            ("(+ 1 2)", "user=> 3"),
            ("(loop [] (recur))", "timeout: execution exceeded 3600000ms limit"),
        )
        .by_clock(),
        // One builtin, which works for longer than anybody could wait on values that are small in memory.
        case(
            "--program-timeout-ms",
            &["--program-timeout-ms", "3600000", "--program-step-limit", "1000000000000"],
            ("(first (sort [\"b\" \"a\"]))", "user=> \"a\""),
            (
                "(let [s (apply str (repeat 5000 \"0123456789\"))] (first (sort (vec (take 100000 (cycle [(str s 1) (str s 2)]))))))",
                "timeout: execution exceeded 3600000ms limit",
            ),
        )
        .by_clock(),
        case(
            "--program-memory-limit-bytes",
            &["--program-memory-limit-bytes", "100000"],
            ("(count (vec (map inc (range 1000))))", "user=> 1000"),
            ("(count (vec (map inc (range 100000))))", "memory_limit: heap limit 100000 bytes exceeded"),
        ),
        case(
            "--program-step-limit",
            &["--program-step-limit", "1000"],
            ("(loop [i 0] (if (< i 10) (recur (inc i)) i))", "user=> 10"),
            (
                "(loop [i 0] (if (< i 1000) (recur (inc i)) i))",
                "step_limit: execution exceeded 1000 step limit",
            ),
        ),
        case(
            "--max-result-bytes",
            &["--max-result-bytes", "4096"],
            ("(apply str (repeat 4000 \"x\"))", "xxx\""),
            ("(apply str (repeat 5000 \"x\"))", "5000"),
        ),
        case(
            "--max-upstream-calls-per-program",
            &["--max-upstream-calls-per-program", "2"],
            (format!("[(:ok {echo}) (:ok {echo})]"), "user=> [true true]"),
            (format!("[(:ok {echo}) (:ok {echo}) (:reason {echo})]"), "user=> [true true :cap_exhausted]"),
        ),
        case(
            "--max-catalog-ops-per-program",
            &["--max-catalog-ops-per-program", "2"],
            ("[(some? (dir \"fake\")) (some? (dir \"fake\"))]", "user=> [true true]"),
            (
                "[(some? (dir \"fake\")) (some? (dir \"fake\")) (some? (dir \"fake\"))]",
                "user=> [true true false]",
            ),
        ),
        case(
            "--upstream-call-timeout-ms",
            &["--upstream-call-timeout-ms", "3600000", "--program-timeout-ms", "360000000000"],
            (format!("(:ok {echo})"), "user=> true"),
            (format!("(:reason {})", call("hang", "{}")), "user=> :timeout"),
        )
        .by_clock(),
        case(
            "--max-upstream-response-bytes",
            &["--max-upstream-response-bytes", "10000"],
            (format!("(:ok {})", call("bulk", "{:bytes 9000}")), "user=> true"),
            (format!("(:reason {})", call("bulk", "{:bytes 10001}")), "user=> :response_too_large"),
        ),
        case(
            "--max-upstream-request-bytes",
            &["--max-upstream-request-bytes", "24"],
            // `fake`, `bulk` and `{"bytes":123456}`.
            (format!("(:ok {})", call("bulk", "{:bytes 123456}")), "user=> true"),
            (format!("(:ok {})", call("bulk", "{:bytes 1234567}")), "the limit of a call is 24"),
        ),
        case(
            "nesting of forms",
            &[],
            (nested(63), "user=> 1"),
            (nested(65), "parse_error: nesting depth exceeds limit of 64"),
        ),
        case(
            "digits of an integer literal",
            &[],
            (format!("(count (str {}))", "9".repeat(100)), "user=> 100"),
            ("9".repeat(101), "parse_error: integer literal exceeds 100 digit limit"),
        ),
        case(
            "placeholders of a short function",
            &[],
            ("(count [#(+ %20)])", "user=> 1"),
            ("#(+ %21)", "short function placeholder %21 exceeds max arity of 20"),
        ),
        case(
            "bytes of a regex",
            &[],
            ("(re-find (re-pattern (apply str (repeat 256 \"a\"))) \"a\")", ""),
            (
                "(re-pattern (apply str (repeat 257 \"a\")))",
                "Runtime error: Regex pattern exceeds maximum length of 256 bytes",
            ),
        ),
        case(
            "repetitions in a regex",
            &[],
            ("(re-find #\"a{65535}\" \"a\")", ""),
            (
                "(re-find (re-pattern \"a{65536}\") \"a\")",
                "Invalid regex at position 2: number too big in {} quantifier (at most 65535)",
            ),
        ),
        case(
            "work of a backtracking regex",
            &[],
            ("(re-find #\"(a+)+\\1b\" \"aaab\")", "user=> [\"aaab\" \"a\"]"),
            (
                "(re-find #\"(a+)+\\1b\" (apply str (repeat 40 \"a\")))",
                "type_error: Regex complexity limit exceeded (ReDoS protection)",
            ),
        ),
        case(
            "words of a search",
            &[],
            ("(count (apropos (str/join \" \" (repeat 32 \"qqqqq\"))))", "user=> 0"),
            (
                "(apropos (str/join \" \" (repeat 33 \"qqqqq\")))",
                "runtime_error: apropos takes at most 32 words, got 33",
            ),
        ),
        case(
            "digits of a precision",
            &[],
            ("(count (format \"%.1000000f\" 1.5))", "user=> 1000002"),
            (
                "(format \"%.1000001f\" 1.5)",
                "Runtime error: precision 1000001 of %f exceeds 1000000 digits; use a smaller one",
            ),
        ),
        case(
            "bits of an integer",
            &[],
            ("(pos? (bit-shift-left 1 1048575))", "user=> true"),
            (
                "(pos? (bit-shift-left 1 1048576))",
                "memory_limit: integer of more than 1048576 bits; keep numbers smaller, for example with mod",
            ),
        ),
        case(
            "nesting of JSON text",
            &[],
            (json_nested(128), "user=> false"),
            (json_nested(129), "user=> true"),
        ),
        case(
            "depth of a printed value",
            &[],
            (deep(9_999), "user=> 20000"),
            (deep(10_000), "Runtime error: value is nested more than 10000 levels deep"),
        ),
        case(
            "memory before a value is built",
            &[],
            ("(count (range 100000000))", "user=> 100000000"),
            ("(apply str (repeat 20000000 \"x\"))", "memory_limit: heap limit 10485760 bytes exceeded"),
        ),
    ]
}

/// Limits whose two sides are held by tests elsewhere: what it is, the file, the test.
const ELSEWHERE: [(&str, &str, &str); 108] = [
    ("--program-cache-bytes", "engine/src/handle.rs", "programs_are_kept_up_to_the_bytes_of_the_cache"),
    (
        "questions of one answer or task, 64; their keys, 1 024 bytes",
        "upstreams/src/mcp/unfinished.rs",
        "a_request_for_input_that_cannot_be_met_says_why",
    ),
    ("pages of one error, 64", "upstreams/src/mcp/protocol.rs", "an_error_may_want_pages_to_be_visited"),
    (
        "schemas that one look visits, 64",
        "schema/src/json_schema.rs",
        "views_see_through_combinations_and_are_bounded",
    ),
    (
        "types of arguments, 400 bytes each and 64 KiB together",
        "host/src/catalog/types.rs",
        "many_arguments_of_one_long_type_are_bounded",
    ),
    (
        "notes on arguments, 128 KiB",
        "host/src/catalog/argument_notes.rs",
        "notes_on_many_arguments_of_one_long_type_are_bounded",
    ),
    (
        "arguments that go into headers, 64; their paths, 4 096 bytes",
        "upstreams/src/mcp/http/mirror.rs",
        "mirrored_arguments_are_few_and_their_paths_short",
    ),
    ("scopes of one text, 1 000", "oauth/src/scopes.rs", "scopes_beyond_the_limit_are_none"),
    (
        "lines about tools that are left out, 20",
        "upstreams/src/mcp/tools.rs",
        "tools_that_are_left_out_are_told_a_few_times",
    ),
    (
        "secrets that are scrubbed, 256 KiB; of one principal 64 KiB",
        "base/src/redactor/tests.rs",
        "secrets_that_have_no_room_are_refused_and_change_nothing",
    ),
    (
        "secrets of all principals, 1 MiB",
        "base/src/redactor/tests.rs",
        "secrets_of_idle_principals_give_way_to_others",
    ),
    (
        "work of looking for secrets",
        "base/src/redactor/tests.rs",
        "a_secret_that_repeats_itself_takes_no_more_than_its_share_of_work",
    ),
    ("tokens and codes, 16 KiB", "oauth/src/grants/answer.rs", "tokens_are_as_long_as_a_header_at_most"),
    (
        "header values of the operator, 16 KiB",
        "secret/src/credentials/headers.rs",
        "refuses_bad_static_headers",
    ),
    (
        "sign-ins that are begun, 16",
        "host/tests/it/oauth/signing_in.rs",
        "a_principal_that_begins_sign_ins_without_end_leaves_sixteen",
    ),
    ("files of the operator", "base/src/ordinary_file.rs", "files_are_read_up_to_their_limit"),
    ("--max-attached-bytes", "tests/tests/it/features.rs", "a_reply_carries_so_much_and_no_more"),
    (
        "--max-frame-bytes",
        "transport/src/stdio/tests.rs",
        "a_frame_too_long_does_not_take_the_next_one_with_it",
    ),
    (
        "--max-total-memory-bytes-per-owner",
        "server/tests/it/wire/neighbours.rs",
        "the_memory_that_one_principal_may_hold_leaves_room_for_another",
    ),
    ("--max-concurrent-calls", "server/tests/it/wire/floods.rs", "more_calls_than_there_are_permits"),
    (
        "--max-concurrent-calls-per-owner",
        "server/tests/it/wire/neighbours.rs",
        "calls_of_one_principal_leave_room_for_another",
    ),
    (
        "--http-max-listeners",
        "server/tests/it/wire/neighbours.rs",
        "the_oldest_listener_of_the_greediest_ends_when_there_is_no_room",
    ),
    (
        "--http-max-listeners-per-owner",
        "server/tests/it/wire/neighbours.rs",
        "listeners_of_one_principal_leave_room_for_another",
    ),
    ("--max-total-memory-bytes", "server/src/boot/tests.rs", "all_programs_share_the_memory_of_the_process"),
    ("--max-catalog-result-bytes", "host/src/catalog/discovery.rs", "over_large_documents_are_a_world_fault"),
    (
        "--catalog-bytes",
        "host/src/catalog/describe.rs",
        "a_budget_is_kept_by_saying_less_of_each_tool_and_then_of_fewer",
    ),
    ("--max-sessions", "tools/src/sessions/tests.rs", "sessions_belong_to_their_owner_and_are_counted"),
    (
        "--max-sessions-per-owner",
        "tools/src/sessions/tests.rs",
        "sessions_belong_to_their_owner_and_are_counted",
    ),
    ("--approval-ttl-ms", "tests/tests/it/approvals.rs", "an_approval_grows_old"),
    ("--session-ttl-ms", "tools/src/sessions/tests.rs", "sessions_end_by_age_and_by_rest"),
    ("--session-idle-timeout-ms", "tools/src/sessions/tests.rs", "sessions_end_by_age_and_by_rest"),
    (
        "--max-session-memory-bytes",
        "tools/src/sessions/tests.rs",
        "what_breaks_a_limit_is_not_stored_and_an_oversized_result_becomes_a_preview",
    ),
    (
        "--max-session-binding-bytes",
        "tools/src/sessions/tests.rs",
        "what_breaks_a_limit_is_not_stored_and_an_oversized_result_becomes_a_preview",
    ),
    (
        "--max-session-bindings",
        "tools/src/sessions/tests.rs",
        "what_breaks_a_limit_is_not_stored_and_an_oversized_result_becomes_a_preview",
    ),
    (
        "--max-session-history-entry-bytes",
        "engine/src/session/lock.rs",
        "an_oversized_result_is_remembered_as_a_preview_that_fits",
    ),
    (
        "--max-session-print-entries",
        "tools/src/sessions/journal.rs",
        "the_newest_entries_within_both_bounds_are_kept",
    ),
    (
        "--max-session-print-bytes",
        "tools/src/sessions/journal.rs",
        "the_newest_entries_within_both_bounds_are_kept",
    ),
    (
        "--max-session-source-bytes",
        "tools/src/sessions/stored/tests.rs",
        "texts_and_records_that_are_too_large_are_not_committed",
    ),
    (
        "--max-session-tool-call-entries",
        "tools/src/sessions/journal.rs",
        "the_newest_entries_within_both_bounds_are_kept",
    ),
    (
        "--max-session-tool-call-bytes",
        "tools/src/sessions/journal.rs",
        "the_newest_entries_within_both_bounds_are_kept",
    ),
    (
        "--max-session-upstream-call-entries",
        "tools/src/sessions/journal.rs",
        "the_newest_entries_within_both_bounds_are_kept",
    ),
    (
        "--max-session-upstream-call-bytes",
        "tools/src/sessions/journal.rs",
        "the_newest_entries_within_both_bounds_are_kept",
    ),
    ("--question-open-ms", "tools/src/channels/tests.rs", "nobody_waits_longer_than_a_question_is_open"),
    (
        "--page-wait-ms",
        "tests/tests/it/hosted_servers/asked.rs",
        "a_missing_sign_in_is_one_question_which_only_a_sign_in_of_the_caller_answers",
    ),
    ("--waiting-ttl-ms", "tests/tests/it/replicas/kept.rs", "a_program_that_nobody_answers_ends"),
    (
        "--max-samplings-per-program",
        "host/tests/upstreams/sampling_programs.rs",
        "upstreams_that_ask_in_vain",
    ),
    ("--sampling-max-tokens", "host/tests/upstreams/sampling_programs.rs", "a_call_is_sent_again"),
    ("--max-questions-per-program", "tools/src/channels/tests.rs", "a_program_asks_no_more_than_it_may"),
    (
        "--request-state-ttl-ms",
        "protocol/src/request_state/tests.rs",
        "states_end_and_are_no_longer_than_they_may_be",
    ),
    (
        "--max-request-state-bytes",
        "tools/src/channels/tests.rs",
        "a_program_that_is_too_large_to_travel_stays_and_its_handle_travels",
    ),
    ("--max-state-bytes-per-owner", "host/tests/state/suite.rs", "bytes_are_counted_over_all_of_a_principal"),
    (
        "--answer-within-ms",
        "tools/src/runs/tests.rs",
        "the_operator_says_how_long_a_client_waits_that_does_not",
    ),
    (
        "--long-program-timeout-ms",
        "tools/src/runs/tests.rs",
        "a_program_that_takes_longer_is_waited_for_under_its_id",
    ),
    ("--run-ttl-ms", "runs/src/tests.rs", "what_has_ended_is_told_for_a_while"),
    ("--max-runs", "runs/src/tests.rs", "there_are_as_many_as_may_be"),
    ("--max-runs-per-owner", "runs/src/tests.rs", "there_are_as_many_as_may_be"),
    ("--max-run-bytes-per-owner", "runs/src/tests.rs", "they_take_as_much_of_the_store_as_they_may"),
    (
        "--trace-max-files",
        "tests/tests/it/insight/traces.rs",
        "trimming_touches_only_files_of_ours_and_follows_no_link",
    ),
    (
        "--trace-max-bytes",
        "tests/tests/it/insight/traces.rs",
        "traces_are_bounded_by_bytes_and_the_oldest_make_room",
    ),
    ("--debug-ring-size", "tests/tests/it/insight/debug.rs", "the_ring_forgets_the_oldest"),
    ("--max-debug-response-bytes", "tests/tests/it/insight/debug.rs", "answers_keep_within_their_cap"),
    (
        "--agentic-task-timeout-ms",
        "tools/src/lisp_task/tests.rs",
        "time_is_kept_by_the_task_and_by_each_call_of_the_planner",
    ),
    (
        "--agentic-planner-timeout-ms",
        "tools/src/lisp_task/tests.rs",
        "time_is_kept_by_the_task_and_by_each_call_of_the_planner",
    ),
    ("--agentic-max-output-tokens", "tools/src/lisp_task/tests.rs", "a_task_is_planned_run_and_answered"),
    ("--agentic-max-result-bytes", "tools/src/lisp_task/tests.rs", "constraints_and_caps_shape_the_answer"),
    ("--agentic-max-turns", "tools/src/lisp_task/tests.rs", "failures_have_their_reasons"),
    (
        "--agentic-capability-summary-max-bytes",
        "tools/src/lisp_task/summary.rs",
        "an_operators_text_is_whole_or_refused",
    ),
    ("--http-request-timeout-ms", "transport/src/http/tests.rs", "a_connection_that_says_nothing_is_closed"),
    (
        "--http-idle-timeout-ms",
        "transport/src/http/connection_registry.rs",
        "rest_is_measured_from_the_last_answer",
    ),
    (
        "--http-shutdown-grace-ms",
        "tests/tests/it/faults/signals.rs",
        "calls_that_do_not_end_within_the_grace_are_told_so",
    ),
    ("--http-max-body-bytes", "transport/src/http/tests.rs", "bodies_are_checked_in_order"),
    (
        "--http-max-connections",
        "tests/tests/it/faults/silence.rs",
        "ten_thousand_connections_that_say_nothing",
    ),
    (
        "--http-max-connections-per-owner",
        "server/tests/it/wire/neighbours.rs",
        "slow_bodies_of_one_principal_take_places_from_that_principal",
    ),
    (
        "--http-max-buffered-bytes",
        "server/tests/it/wire/neighbours.rs",
        "bodies_of_one_principal_are_bounded_together",
    ),
    (
        "--http-max-buffered-bytes-per-owner",
        "server/tests/it/wire/neighbours.rs",
        "bodies_of_one_principal_are_bounded_together",
    ),
    ("--http-session-ttl-ms", "transport/src/http/sessions.rs", "caps_ownership_and_ends"),
    (
        "--http-session-idle-timeout-ms",
        "transport/src/http/sessions.rs",
        "a_session_with_running_calls_is_not_idle",
    ),
    ("--http-max-sessions", "transport/src/http/tests.rs", "caps_of_sessions"),
    ("--http-max-sessions-per-owner", "transport/src/http/tests.rs", "caps_of_sessions"),
    ("--http-max-in-flight-per-session", "transport/src/http/tests.rs", "calls_at_the_same_time"),
    (
        "--http-auth-rate-limit-window-ms",
        "transport/src/http/limiter.rs",
        "success_forgets_and_rows_are_bounded",
    ),
    (
        "--http-auth-rate-limit-max-failures",
        "transport/src/http/limiter.rs",
        "the_failure_that_arms_a_block_is_still_refused",
    ),
    (
        "--http-auth-rate-limit-block-ms",
        "transport/src/http/limiter.rs",
        "the_failure_that_arms_a_block_is_still_refused",
    ),
    ("distinct symbols and keywords", "compiler/tests/it/messages.rs", "limits_of_the_text"),
    ("slots of a frame", "compiler/tests/it/sizes.rs", "frames_too_large_for_an_instruction_are_refused"),
    (
        "steps and memory at every charge",
        "compiler/tests/it/refusals.rs",
        "the_memory_meter_refuses_at_every_size",
    ),
    ("nesting of a message", "mcp/src/json/scan.rs", "bounds_nesting"),
    ("messages of a batch", "mcp/src/message/strict.rs", "batches_are_bounded"),
    ("header fields", "server/tests/it/wire/floods.rs", "bodies_and_heads_without_end"),
    (
        "size of an answer",
        "tools/src/shaping/tests.rs",
        "an_answer_that_is_too_large_is_reduced_and_stays_json",
    ),
    (
        "prints of an answer",
        "tools/src/shaping/tests.rs",
        "prints_keep_the_longest_prefix_within_both_limits",
    ),
    (
        "length of a session's title",
        "tools/src/sessions/tests.rs",
        "a_thousand_long_titles_do_not_make_a_long_list",
    ),
    ("complaints about an answer's schema", "schema/src/output_schema/tests.rs", "complaints_are_bounded"),
    (
        "nesting of a tool's arguments",
        "host/src/catalog/arguments.rs",
        "hostile_schemas_and_depth_cost_little",
    ),
    ("pages and tools of a listing", "upstreams/src/mcp/tools.rs", "lists_end_however_hostile"),
    ("a line of a child", "mcp/src/lines.rs", "a_line_at_the_cap_passes_and_one_byte_more_does_not"),
    ("a body of an upstream", "host/tests/upstreams/http.rs", "bodies_are_capped"),
    (
        "events of a stream in a second",
        "upstreams/src/mcp/http/event_rate.rs",
        "a_stream_has_a_thousand_events_in_each_second",
    ),
    (
        "input of an encoded body that becomes nothing",
        "http/src/body.rs",
        "input_that_becomes_nothing_is_read_in_pieces_up_to_a_megabyte",
    ),
    (
        "empty members of an encoded body",
        "http/src/encoding.rs",
        "members_without_anything_in_them_may_follow_each_other_so_often",
    ),
    (
        "requests of a server during a call",
        "upstreams/src/mcp/http/post.rs",
        "so_many_requests_are_answered_during_one_call",
    ),
    (
        "words of a tool that are searched",
        "host/src/catalog/tokens.rs",
        "a_tool_has_64_words_of_which_its_description_leaves_some_to_its_arguments",
    ),
    ("an OpenAPI document", "upstreams/src/openapi/document.rs", "files_have_a_cap"),
    (
        "calls of an upstream at a time",
        "upstreams/src/upstream/slots.rs",
        "a_full_house_is_waited_for_until_the_deadline",
    ),
    ("turns of an agent", "agent/src/run/tests/limits.rs", "a_model_that_never_stops_is_stopped"),
    (
        "memory of an agent's programs",
        "agent/src/run/tests/lisp.rs",
        "memory_is_limited_strictly_or_by_rolling_back",
    ),
    ("time of an agent", "agent/src/run/tests/limits.rs", "the_mission_ends_on_time_whoever_is_slow"),
    ("an agent's cache", "agent/src/cache/store.rs", "limits_keep_what_was_promised"),
];

fn source(path: &str) -> String {
    std::fs::read_to_string(product::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn at_each_limit_and_one_over_it() {
    for Case { limit, flags, at, over, is_time } in cases() {
        let mut launch = Launch::new(flags).stepped();
        if flags.iter().any(|flag| flag.contains("upstream") || flag.contains("catalog")) {
            launch = launch.with_only_the_upstream();
        }
        let mut server = launch.on_pipes();
        let got = server.eval(&at.0);
        let is_refused = got
            .split(':')
            .next()
            .is_some_and(|reason| reason.ends_with("_error") || reason.ends_with("_limit"));
        assert!(got.contains(at.1) && !is_refused, "{limit}: at it {got}");
        let got = if is_time {
            server.call("over", &over.0);
            server.answer_in_steps(Duration::from_secs(3600)).1
        } else {
            server.eval(&over.0)
        };
        assert!(got.contains(over.1), "{limit}: over it {got}");
        // What was refused leaves the server as it was.
        assert_eq!(server.eval("(+ 1 2)"), "user=> 3", "{limit}");
        server.hang_up();
        assert!(server.rest().is_empty());
    }
}

#[test]
fn the_context_is_measured_as_json() {
    let mut server = Launch::new(&["--max-context-bytes", "10"]).on_pipes();
    for (context, text) in [
        (json!({"a": 1234}), "user=> 1234"),
        (json!({"a": 12345}), "args_error: argument `context` exceeds max_context_bytes (11 > 10)"),
    ] {
        let mut message = ptc_test_support::process::call(1, "data/a");
        message["params"]["arguments"]["context"] = context;
        server.send(format!("{message}\n").as_bytes());
        let (_, got) = server.answer();
        assert!(got.starts_with(text), "{got}");
    }
}

/// What `ptc eval --jsonl` says of one program.
fn measured(flags: &[&str], program: &str) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ptc-under-test"))
        .args(["eval", "--jsonl"])
        .args(flags)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    writeln!(child.stdin.take().expect("piped"), "{}", json!({"id": 1, "program": program}))
        .expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("one line of JSON")
}

#[test]
fn a_printed_text_is_cut() {
    let printed = |length: usize| {
        let program = format!("(println (apply str (repeat {length} \"x\")))");
        measured(&[], &program)["prints"][0].as_str().expect("a text").to_owned()
    };
    assert_eq!(printed(16_000), "x".repeat(16_000));
    let cut = printed(17_000);
    assert!(cut.starts_with(&"x".repeat(16_000)) && !cut.contains(&"x".repeat(17_000)), "{cut}");
}

/// The limit that a program needs is the one that it is reported to have used, and one less is too little.
#[test]
fn steps_are_exact() {
    for program in ["(reduce + (range 1000))", "(sort-by - (range 200))", "(frequencies \"mississippi\")"] {
        let needs = measured(&[], program)["steps"].as_u64().expect("a number");
        let with = |steps: u64| measured(&["--program-step-limit", &steps.to_string()], program);
        assert_eq!(with(needs)["ok"], true, "{program} in {needs} steps");
        let less = with(needs - 1);
        assert_eq!(less["error"]["reason"], "step_limit_exceeded", "{program}: {less}");
        let text = less["error"]["message"].as_str().expect("a text");
        assert!(text.starts_with(&format!("execution exceeded {} step limit", needs - 1)), "{text}");
    }
}

#[test]
fn tests_that_are_named_exist_and_no_option_is_forgotten() {
    let mut rows: BTreeSet<&str> = cases().iter().map(|case| case.limit).collect();
    rows.insert("--max-context-bytes");
    for (limit, path, test) in ELSEWHERE {
        assert!(source(path).contains(&format!("fn {test}(")), "{limit}: no test {test} in {path}");
        assert!(rows.insert(limit), "{limit} has two rows");
    }
    for flag in ALL.iter().flat_map(|group| group.flags) {
        let is_number =
            matches!(flag.kind, ValueKind::Positive | ValueKind::HttpPositive | ValueKind::Clamped);
        let has_row = rows.contains(format!("--{}", flag.name).as_str());
        assert!(!is_number || has_row || NO_LIMITS.contains(&flag.name), "--{} has no row", flag.name);
    }
    // The limits of `ptc eval`, `repl` and `agent`: each is one of the server's by another name or the same.
    let twins = [
        ("max_tool_calls", "max-upstream-calls-per-program"),
        ("max_catalog_ops", "max-catalog-ops-per-program"),
    ];
    for line in source("server/src/cli/limits.rs").lines() {
        let Some((name, _)) = line.trim().strip_prefix("pub ").and_then(|rest| rest.split_once(": Option<u"))
        else {
            continue;
        };
        let twin = twins
            .iter()
            .find(|(cli, _)| *cli == name)
            .map_or_else(|| name.replace('_', "-"), |(_, flag)| (*flag).to_owned());
        assert!(rows.contains(format!("--{twin}").as_str()), "{name} has no row");
    }
}
