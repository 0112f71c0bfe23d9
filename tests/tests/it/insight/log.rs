//! The log of a server (server.md 1.8).

use ptc_mcp::json::Value;
use ptc_test_support::process::Launch;
use ptc_test_support::wait_until;

#[test]
fn the_log_lines_of_a_call_and_of_its_request_have_one_id_and_one_owner() {
    let server = Launch::new(&["--http-disable-auth", "--log-level", "info"]).with_upstream().on_http();
    assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
    let of = |event: &str| -> Vec<Value> {
        let log = server.server.launch.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line["event"] == event).collect()
    };
    let ids = |line: &Value| [&line["request_id"], &line["fields"]["owner_hash"]].map(Value::to_string);
    // Lines are written by a thread of their own, and the request's comes after its answer.
    let is_logged = |stop: &Value| of("http_request_stop").iter().any(|request| ids(request) == ids(stop));
    wait_until("its request has ended", || of("tools_call_stop").first().is_some_and(is_logged));
    let (start, stop) = (of("tools_call_start"), of("tools_call_stop"));
    assert_eq!(ids(&start[0]), ids(&stop[0]));
    assert!(stop[0]["request_id"].is_string() && stop[0]["rpc_id"].is_string(), "{stop:?}");
    assert_ne!(stop[0]["request_id"], stop[0]["rpc_id"]);
}
