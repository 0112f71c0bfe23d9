//! A limit on the address space: a process that asks for more is aborted, so programs are refused before it comes to that.

use ptc_test_support::process::{Answer, Launch};

#[test]
fn a_limit_on_the_address_space_counts_as_the_memory_there_is() {
    let limits = ["--program-memory-limit-bytes", "400000000", "--program-timeout-ms", "600000"];
    let flags = [&limits[..], &["--program-step-limit", "100000000000", "--http-metrics"]].concat();
    let server = Launch::new(&flags).after("ulimit -v 1048576").on_http();
    assert_eq!(server.metric("ptc_memory_limit_bytes"), f64::from(1 << 29));
    // Together they would take more than there is.
    let hungry = "(count (vec (map (fn [i] [i i]) (range 1000000))))";
    let calls: Vec<_> = (0..8).map(|_| server.call(hungry)).collect();
    for call in calls {
        let text = Answer::read(call).expect("an answer").text();
        assert!(text == "user=> 1000000" || text.contains("memory"), "{text}");
    }
    assert_eq!(server.eval("(+ 1 2)"), "user=> 3");
}
