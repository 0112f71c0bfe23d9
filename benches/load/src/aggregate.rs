//! One program that makes ten upstream calls, beside a client that makes them itself. Both come to the same sum over
//! the same upstream.

use std::time::Duration;

use crate::http::{Client, contains, tasks};
use crate::process::Server;
use crate::round::{compare, head};
use crate::{ROUNDS, round::Round};

/// Ten calls one after the other, and all at once.
const IN_TURN: &str = "(reduce + (map (fn [id] (get-in (tool/call {:server \"bench\" :tool \"get\" :args {:id id}}) [:value :total])) (range 10)))";
const AT_ONCE: &str = "(reduce + (pmap (fn [id] (get-in (tool/call {:server \"bench\" :tool \"get\" :args {:id id}}) [:value :total])) (range 10)))";

/// Prints tasks a second both ways.
pub(crate) async fn measure(ptc: &str, time: Duration) {
    head("a task of ten upstream calls, each answered with 1 KiB");
    let upstream = Server::upstream().await;
    let config = std::env::temp_dir().join(format!("ptc-load-{}.json", std::process::id()));
    let text = format!(
        r#"{{"upstreams":{{"bench":{{"transport":"mcp_http","url":"http://127.0.0.1:{}/mcp","allow_insecure_http":true,"max_concurrency":1024}}}}}}"#,
        upstream.port
    );
    std::fs::write(&config, text).expect("a temporary folder");
    let flags = [
        "--http-disable-auth",
        "--upstreams-config",
        config.to_str().expect("UTF-8"),
        "--max-concurrent-calls",
        "1024",
    ];
    for connections in [1, 16] {
        let mut rounds: [Vec<Round>; 3] = Default::default();
        for _ in 0..ROUNDS {
            for (at, program) in [IN_TURN, AT_ONCE].into_iter().enumerate() {
                let server = Server::ptc_http(ptc, &flags).await;
                let task = move |mut client: Client| async move {
                    let answer = client.eval(program).await;
                    assert!(contains(&answer, b"user=> 315\""), "{answer:?}");
                    client
                };
                let servers = [&server, &upstream];
                rounds[at].push(tasks(&servers, server.port, connections, time, task).await);
            }
            let task = |mut client: Client| async move {
                for id in 0..10 {
                    let answer = client.call("get", &format!(r#"{{"id":{id}}}"#)).await;
                    assert!(contains(&answer, b"total"), "{answer:?}");
                }
                client
            };
            rounds[2].push(tasks(&[&upstream], upstream.port, connections, time, task).await);
        }
        let [in_turn, at_once, client] = &rounds;
        let name = |what: &str| format!("{connections} clients, {what}");
        compare(&name("in turn"), ("one program", in_turn), ("ten calls of the client", client));
        compare(&name("at once (`pmap`)"), ("one program", at_once), ("ten calls of the client", client));
    }
    let _ = std::fs::remove_file(config);
}
