//! The routes behind the operators' page. The page itself is looked at by `tests/interop/console`.

use std::fs;

use ptc_host::credentials::Redactor;
use ptc_mcp::json::{Value, json};

use ptc_test_support::in_process::{Listener, assert_has, fake_upstream};

#[tokio::test]
async fn the_page_is_open_and_the_data_is_not() {
    let redactor = Redactor::new();
    let aggregator = fake_upstream(&redactor).await;
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    let (alice, bob) = ("a".repeat(32), "b".repeat(32));
    fs::write(&tokens, format!("alice:{alice}\nbob:{bob}\n")).unwrap();
    let tokens = ["--http-auth-token-file", tokens.to_str().unwrap()];
    let flags = [&["--http", "--console", "--sessions", "--debug-ring-size", "10"][..], &tokens].concat();
    let listener = Listener::start(&flags, Some(&aggregator), &redactor);

    let page = listener.request("GET", "/console", &[], "").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"));
    assert_eq!(listener.request("POST", "/console", &[], "{}").await.status, 405);
    assert_eq!(listener.request("GET", "/console/", &[], "").await.status, 404);

    let program = "(count (:value (tool/call {:server \"fake\" :tool \"bulk\" :args {:bytes 500}})))";
    listener.call(Some(&alice), "lisp_eval", json!({"program": program})).await;
    listener.call(Some(&alice), "lisp_session_start", json!({"title": "hers"})).await;

    let ask = async |path: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        listener.request("GET", path, &[("Authorization", &bearer)], "").await
    };
    for path in ["/console/api/state", "/console/api/catalog"] {
        assert_eq!(listener.request("GET", path, &[], "").await.status, 401);
        assert_eq!(ask(path, "wrong").await.status, 401);
        let foreign = [("Origin", "https://evil.example"), ("Authorization", &format!("Bearer {alice}"))];
        assert_eq!(listener.request("GET", path, &foreign, "").await.status, 403);
        let rebound = [("Host", "evil.example"), ("Authorization", &format!("Bearer {alice}"))];
        assert_eq!(listener.request("GET", path, &rebound, "").await.status, 403);
        let answer = ask(path, &alice).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")));
    }
    let state = |response: ptc_test_support::in_process::Response| {
        serde_json::from_str::<Value>(&response.body).unwrap()
    };
    let own = state(ask("/console/api/state", &alice).await);
    assert_has(
        &own["server"],
        &json!({"caller": "alice", "draining": false, "permits": 1024, "permits_in_use": 0}),
    );
    assert_has(&own, &json!({"live_count": 0, "saved": {"programs": 1, "upstream_calls": 1}}));
    assert_eq!(own["sessions"][0]["title"], "hers");
    assert_has(&own["upstreams"][0], &json!({"name": "fake", "phase": "started", "transport": "mcp_stdio"}));
    let search = async |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", &*bearer)];
        let found = listener.request("POST", "/console/api/calls", &headers, "{}").await;
        serde_json::from_str::<Value>(&found.body).unwrap()
    };
    let found = search(&alice).await;
    assert_has(&found, &json!({"live": [], "live_count": 0, "next": null, "operator": false}));
    let call = &found["calls"][1];
    assert_has(call, &json!({"tool": "lisp_eval", "status": "ok", "program": {"preview": program}}));
    assert_has(&call["upstream_calls"][0], &json!({"server": "fake", "tool": "bulk", "ok": true}));
    assert!(call["upstream_calls"][0]["offset_ms"].is_u64() && call["fetched_bytes"].as_u64().unwrap() > 500);
    assert_eq!(own["timeline"]["points"][0]["fetched_bytes"], call["fetched_bytes"]);

    let others = state(ask("/console/api/state", &bob).await);
    assert_has(
        &others,
        &json!({"live_count": 0, "sessions": [], "accounts": [], "saved": {"programs": 0}, "server": {"caller": "bob"}}),
    );
    assert_has(&search(&bob).await, &json!({"live": [], "calls": [], "next": null}));
    assert_eq!(others["timeline"]["points"], json!([]));
    // What others use tells that they are there.
    assert_has(&others["server"], &json!({"permits_in_use": 0, "http_sessions": 0}));
    assert!(own["server"].get("memory_bytes").or(others["server"].get("memory_bytes")).is_none());
    for _ in 0..20 {
        listener.call(Some(&bob), "lisp_eval", json!({"program": "1"})).await;
    }
    let kept = async |token: &str| search(token).await["calls"].as_array().unwrap().len();
    assert_eq!((kept(&alice).await, kept(&bob).await), (2, 8));
    let catalog = state(ask("/console/api/catalog", &bob).await);
    let listed = catalog["servers"][0]["tools"].as_array().unwrap();
    assert!(listed.iter().any(|tool| tool["name"] == "bulk"), "{listed:?}");
    assert_eq!(own["upstreams"][0]["tools"], listed.len());
    listener.stop().await;

    // Off by default; lisp_debug stays off with the console on.
    let listener = Listener::start(&["--http"], None, &redactor);
    for path in ["/console", "/console/api/state"] {
        assert_eq!(listener.request("GET", path, &[], "").await.status, 404);
    }
    listener.stop().await;
    aggregator.shutdown().await;
}

#[tokio::test]
async fn what_runs_is_shown_while_it_runs() {
    let redactor = Redactor::new();
    let aggregator = fake_upstream(&redactor).await;
    let listener =
        Listener::start(&["--http", "--console", "--http-disable-auth"], Some(&aggregator), &redactor);
    let (_, handle) = aggregator.unfiltered().upstreams().next().unwrap();
    let program =
        r#"(do (tool/call {:server "fake" :tool "refuse"}) (tool/call {:server "fake" :tool "hang"}))"#;
    let state = async || {
        let body = listener.request("GET", "/console/api/state", &[], "").await.body;
        let found = listener.request("POST", "/console/api/calls", &[], "{}").await.body;
        [body, found].map(|body| serde_json::from_str::<Value>(&body).unwrap())
    };
    {
        let call = listener.call(None, "lisp_eval", json!({"program": program}));
        let looked = async {
            // What was told before the call had come so far is older than its second upstream call.
            while state().await[1]["live"][0]["upstream_call_count"] != 2 {
                tokio::task::yield_now().await;
            }
            let [seen, found] = state().await;
            assert_has(&seen, &json!({"live_count": 1, "sessions": null, "server": {"permits_in_use": 1}}));
            let live = &found["live"][0];
            assert_has(live, &json!({"tool": "lisp_eval", "program": {"preview": program}}));
            assert!(live["eval_id"].is_string());
            let ended = json!({"server": "fake", "tool": "refuse", "ok": false, "reason": "tool_error"});
            assert_has(&live["upstream_calls"][0], &ended);
            assert_has(&live["upstream_calls"][1], &json!({"server": "fake", "tool": "hang", "ok": null}));
            for (query, fits) in [
                (json!({"upstream": "fake"}), 1),
                (json!({"tool": "refuse", "outcome": "upstream_error"}), 1),
                (json!({"upstream": "other"}), 0),
            ] {
                let found = listener.request("POST", "/console/api/calls", &[], &query.to_string()).await;
                let found: Value = serde_json::from_str(&found.body).unwrap();
                assert_eq!(found["live_count"], fits, "{query}: {found}");
            }
        };
        tokio::select! {
            _ = call => panic!("the call hangs"),
            () = looked => {}
        }
    }
    while handle.health().in_flight > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(state().await.map(|told| told["live_count"].clone()), [json!(0), json!(0)]);
    listener.stop().await;
    aggregator.shutdown().await;
}
