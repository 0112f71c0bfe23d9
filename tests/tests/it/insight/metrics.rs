//! `/metrics`

use ptc_host::credentials::Redactor;
use ptc_mcp::json::json;

use ptc_test_support::in_process::{Listener, fake_upstream};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The value of a sample, given as it is written.
fn sample(text: &str, name: &str) -> f64 {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = found.unwrap_or_else(|| panic!("no {name} in\n{text}"));
    value.split(' ').next().unwrap().parse().unwrap()
}

/// What every reader of the format relies on: a head before samples, no sample twice, no family twice.
fn assert_well_formed(text: &str) {
    let (mut seen, mut family) = (std::collections::HashSet::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            family = rest.split(' ').next().unwrap().trim_end_matches("_total").to_owned();
            assert!(seen.insert(format!("family {family}")), "{line}");
        } else if !line.starts_with('#') {
            let series = line.split(" # ").next().unwrap().rsplit_once(' ').unwrap().0;
            assert!(series.starts_with(&family), "{line} outside {family}");
            assert!(seen.insert(series.to_owned()), "{line} twice");
        }
    }
}

#[tokio::test]
async fn calls_upstreams_and_bytes_are_counted() {
    let redactor = Redactor::new();
    let aggregator = fake_upstream(&redactor).await;
    let listener = Listener::start(
        &["--http", "--http-metrics", "--sessions", "--max-total-memory-bytes", "50000000"],
        Some(&aggregator),
        &redactor,
    );
    let bulk = "(count (:value (tool/call {:server \"fake\" :tool \"bulk\" :args {:bytes 1000}})))";
    let answer = listener.call(None, "lisp_eval", json!({"program": bulk})).await;
    let eval_id = answer["_meta"]["eval_id"].as_str().unwrap().to_owned();
    listener.call(None, "lisp_eval", json!({"program": "(/ 1 0)"})).await;
    listener.call(None, "lisp_eval", json!({"program": ""})).await;
    listener.call(None, "lisp_session_start", json!({})).await;

    let text = listener.request("GET", "/metrics", &[], "").await;
    assert_eq!(text.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert_well_formed(&text.body);
    for (name, value) in [
        ("ptc_evals_total{tool=\"lisp_eval\",outcome=\"ok\"}", 1.0),
        ("ptc_evals_total{tool=\"lisp_eval\",outcome=\"runtime_error\"}", 1.0),
        ("ptc_evals_total{tool=\"lisp_eval\",outcome=\"args_error\"}", 1.0),
        ("ptc_session_calls_total{tool=\"lisp_session_start\",outcome=\"ok\"}", 1.0),
        ("ptc_calls_in_flight", 0.0),
        ("ptc_eval_duration_seconds_count", 2.0),
        ("ptc_eval_steps_bucket{le=\"+Inf\"}", 2.0),
        ("ptc_upstream_calls_total{server=\"fake\",outcome=\"ok\"}", 1.0),
        ("ptc_upstream_calls_total{server=\"fake\",outcome=\"timeout\"}", 0.0),
        ("ptc_upstream_call_duration_seconds_count{server=\"fake\"}", 1.0),
        ("ptc_upstream_tool_calls_total{server=\"fake\",tool=\"bulk\",outcome=\"ok\"}", 1.0),
        ("ptc_upstream_up{server=\"fake\"}", 1.0),
        ("ptc_upstream_waiting{server=\"fake\"}", 0.0),
        ("ptc_programs_waiting", 0.0),
        ("ptc_http_request_duration_seconds_count{route=\"mcp\"}", 4.0),
        ("ptc_result_bytes_total", "user=> 1000".len() as f64),
        ("ptc_sessions_open", 1.0),
        ("ptc_http_sessions_open", 0.0),
        ("ptc_http_requests_total{route=\"mcp\",status=\"2xx\"}", 4.0),
        ("ptc_memory_limit_bytes", 50_000_000.0),
        ("ptc_gate_permits", 1024.0),
        ("ptc_gate_permits_in_use", 0.0),
    ] {
        assert_eq!(sample(&text.body, name), value, "{name}");
    }
    assert!(sample(&text.body, "ptc_upstream_fetched_bytes_total{server=\"fake\"}") > 1000.0);
    assert!(sample(&text.body, "process_resident_memory_bytes") > 1e6);
    assert!(!text.body.contains("ev_"), "examples are for OpenMetrics only");

    let open = listener
        .request("GET", "/metrics", &[("Accept", "application/openmetrics-text;version=1.0.0")], "")
        .await;
    assert_eq!(
        open.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    assert!(open.body.ends_with("# EOF\n"));
    assert_well_formed(&open.body);
    let example = open.body.lines().find(|line| line.contains(&format!("# {{eval_id=\"{eval_id}\"}}")));
    assert!(example.is_some(), "{eval_id} in\n{}", open.body);
    assert_eq!(listener.request("POST", "/metrics", &[], "{}").await.status, 405);
    listener.stop().await;
    aggregator.shutdown().await;
}

#[tokio::test]
async fn who_may_scrape() {
    let redactor = Redactor::new();
    // On a listener that others reach, the token is asked for; on loopback it is not.
    let open = ["--http", "--http-metrics", "--http-auth-token", TOKEN, "--http-host", "0.0.0.0"];
    let listener = Listener::start(&open, None, &redactor);
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(listener.request("GET", "/metrics", &[], "").await.status, 401);
    assert_eq!(
        listener.request("GET", "/metrics", &[("Authorization", "Bearer wrong")], "").await.status,
        401
    );
    let scraped = listener.request("GET", "/metrics", &[("Authorization", &bearer)], "").await;
    assert_eq!(scraped.status, 200);
    assert_eq!(sample(&scraped.body, "ptc_http_auth_failures_total{reason=\"missing\"}"), 1.0);
    assert_eq!(sample(&scraped.body, "ptc_http_auth_failures_total{reason=\"invalid\"}"), 1.0);
    listener.stop().await;

    let loopback = ["--http", "--http-auth-token", TOKEN, "--http-metrics", "--http-metrics-path", "stats"];
    let listener = Listener::start(&loopback, None, &redactor);
    assert_eq!(listener.request("GET", "/stats", &[], "").await.status, 200);
    assert_eq!(listener.request("GET", "/metrics", &[], "").await.status, 404);
    // A page that reached us under another name is not this machine's business.
    assert_eq!(listener.request("GET", "/stats", &[("Host", "evil.example")], "").await.status, 403);
    let foreign = [("Origin", "https://evil.example")];
    assert_eq!(listener.request("GET", "/stats", &foreign, "").await.status, 403);
    listener.stop().await;

    let listener = Listener::start(&["--http"], None, &redactor);
    assert_eq!(listener.request("GET", "/metrics", &[], "").await.status, 404, "off by default");
    listener.stop().await;
}

#[tokio::test]
async fn a_call_whose_client_leaves_is_counted_as_cancelled() {
    let redactor = Redactor::new();
    let aggregator = fake_upstream(&redactor).await;
    let listener = Listener::start(&["--http", "--http-metrics"], Some(&aggregator), &redactor);
    let (_, handle) = aggregator.unfiltered().upstreams().next().unwrap();
    let program = json!({"program": "(tool/call {:server \"fake\" :tool \"hang\"})"});
    {
        let call = listener.call(None, "lisp_eval", program);
        let hanging = async {
            while handle.health().in_flight == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = call => panic!("the call hangs"),
            () = hanging => {}
        }
    }
    while handle.health().in_flight > 0 {
        tokio::task::yield_now().await;
    }
    let text = listener.request("GET", "/metrics", &[], "").await.body;
    assert_eq!(sample(&text, "ptc_evals_total{tool=\"lisp_eval\",outcome=\"cancelled\"}"), 1.0);
    assert_eq!(sample(&text, "ptc_http_cancelled_total{reason=\"client_disconnect\"}"), 1.0);
    assert_eq!(sample(&text, "ptc_calls_in_flight"), 0.0);
    listener.stop().await;
    aggregator.shutdown().await;
}
