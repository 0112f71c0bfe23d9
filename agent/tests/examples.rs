//! Every example does what it says.
#![expect(clippy::duplicate_mod, reason = "each example has the helper module they share as its own")]

#[path = "../examples/combined.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod combined;
#[path = "../examples/embed_engine.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod embed_engine;
#[path = "../examples/log_support.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod log_support;
#[path = "../examples/text_tools.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod text_tools;
#[path = "../examples/typed_answer.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod typed_answer;

use ptc_host::json::json;

#[tokio::test]
async fn text_tools_answers_in_a_sentence() {
    assert!(text_tools::run().await.unwrap().contains("-4 degrees"));
}

#[tokio::test]
async fn combined_answers_with_a_checked_object() {
    assert_eq!(combined::run().await.unwrap(), json!({"unpaid": 1666, "cents": 745_131}));
}

#[tokio::test]
async fn typed_answer_repairs_its_program() {
    assert_eq!(typed_answer::run().await.unwrap(), json!({"customer": "Ada", "total": 42.5, "orders": 2}));
}

#[tokio::test]
async fn embed_engine_adds_up_the_basket() {
    assert_eq!(embed_engine::run().await.unwrap(), r#"{"total":2150}"#);
}

#[tokio::test]
async fn the_rows_of_log_support_never_cross() {
    let report = log_support::run().await.unwrap();
    assert_eq!(report.answer, "There were 1842 errors with code 42 in the queried window.");
    assert_eq!((report.runs, report.requests, report.crossed), (1, 3, 0));
    assert!(report.row_bytes > 200_000 && report.sent_bytes < 20_000, "{}", report.text);
    assert!(report.text.contains("user=> {:total 1842}"), "{}", report.text);
}
