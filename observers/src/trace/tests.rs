use super::names::{TraceFileName, name, parts, stem};
use jiff::Timestamp;

#[test]
fn only_names_of_ours_are_ours() {
    let at: Timestamp = "2026-03-04T05:06:07.123456Z".parse().unwrap();
    let plain = name(at, &stem("7", None), "ok");
    assert_eq!(plain, "2026-03-04T05-06-07.123456Z-7902699b-ok.jsonl");
    assert_eq!(parts(&plain), Some(TraceFileName { hash: "7902699b", eval_id: None, status: "ok" }));
    let eval = name(at, &stem("7", Some("ev_0000002a")), "pending");
    assert_eq!(
        parts(&eval),
        Some(TraceFileName { hash: "7902699b", eval_id: Some("ev_0000002a"), status: "pending" })
    );
    for foreign in [
        "notes.jsonl",
        "2026-03-04T05-06-07.123456Z-7902699b-ok.json",
        "2026-03-04T05-06-07.123456Z-7902699b-done.jsonl",
        "2026-03-04T05-06-07.123456Z-7902699g-ok.jsonl",
        "2026-03-04T05-06-07.123456Z-7902699b-ev_-ok.jsonl",
        "2026-03-04T05-06-07.123456Z-7902699b-x-ok.jsonl",
        "2026-03-04T05:06:07.123456Z-7902699b-ok.jsonl",
        "é026-03-04T05-06-07.123456Z-7902699b-ok.jsonl",
        "",
    ] {
        assert_eq!(parts(foreign), None, "{foreign}");
    }
}
