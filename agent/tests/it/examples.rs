//! Every example does what it says. An example is a program of its own for `cargo run --example`, so that its file can only be reached
//! by its path.
#![expect(clippy::duplicate_mod, reason = "each example has the helper module they share as its own")]

#[path = "../../examples/chat_with_state.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod chat_with_state;
#[path = "../../examples/combined.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod combined;
#[path = "../../examples/embed_engine.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod embed_engine;
#[path = "../../examples/evaluation.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod evaluation;
#[path = "../../examples/log_summary.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod log_summary;
#[path = "../../examples/log_support.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod log_support;
#[path = "../../examples/nested_budget.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod nested_budget;
#[path = "../../examples/research.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod research;
#[path = "../../examples/text_tools.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod text_tools;
#[path = "../../examples/typed_answer.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod typed_answer;
#[path = "../../examples/typed_extraction.rs"]
#[expect(dead_code, reason = "its `main` is for `cargo run --example`")]
mod typed_extraction;

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

#[tokio::test]
async fn the_lines_of_log_summary_never_cross() {
    let report = log_summary::run().await.unwrap();
    assert_eq!(report.answer["levels"], json!({"ERROR": 500, "WARN": 7071, "INFO": 42_429}));
    for key in ["worst_hour", "slowest_worker"] {
        // A text within the text of a JSON.
        let found = format!(r#":{key} \"{}\""#, report.answer[key].as_str().unwrap());
        assert!(report.computed.contains(&found), "{found} is not in {}", report.computed);
    }
    assert!(report.computed.contains(":errors_then 340"), "{}", report.computed);
    assert_eq!(report.crossed, 0);
    assert!(report.log_bytes > 2_000_000 && report.sent_bytes < 10_000, "{}", report.sent_bytes);
}

#[tokio::test]
async fn the_citations_of_research_stand_in_their_documents() {
    let report = research::run().await.unwrap();
    let sources: Vec<_> =
        report.answer["citations"].as_array().unwrap().iter().map(|it| &it["source"]).collect();
    assert_eq!(sources, ["papers/p1", "papers/p3", "reports/r7"]);
    assert_eq!((report.found, report.calls), (3, 7));
    assert!(report.sent < report.read / 4, "{} of {}", report.sent, report.read);
}

#[tokio::test]
async fn nested_agents_share_one_budget() {
    let enough = nested_budget::run(7).await.unwrap();
    assert_eq!(enough.value, Some("Both together cost 62,000 euros.".into()));
    assert_eq!(enough.child_steps.len(), 2);
    let used = nested_budget::account(&enough);
    assert!(used.starts_with("lead, with its experts: 7 responses, 770 tokens: "), "{used}");
    assert!(used.contains("expert: 2 responses, 220 tokens: {\"euros\":30000}"), "{used}");
    let short = nested_budget::run(5).await.unwrap();
    assert_eq!(short.to_string(), "turn_budget_exhausted: Turn budget exhausted");
    assert_eq!(short.child_steps[1].to_string(), "turn_budget_exhausted: Turn budget exhausted");
}

#[tokio::test]
async fn typed_extraction_gives_a_rust_value() {
    let (invoice, turns) = typed_extraction::run().await.unwrap();
    assert_eq!((invoice.number.as_str(), invoice.total, turns), ("A-17", 42.5, 3));
    assert_eq!(invoice.lines, [typed_extraction::Line { what: "pen".into(), count: 5 }]);
    assert_eq!(invoice.due, Some(typed_extraction::Due::InDays(14)));
}

#[tokio::test]
async fn a_chat_keeps_its_definitions() {
    let (replies, asked) = chat_with_state::run().await.unwrap();
    assert_eq!((replies.join(" ").as_str(), asked), ("There were 2 orders. 6000 cents.", 1));
}

#[tokio::test]
async fn an_evaluation_writes_a_table() {
    let table = evaluation::run().await.unwrap();
    assert_eq!(
        table,
        "| Model | Right | Failed | Turns | Tokens |\n|---|---|---|---|---|\n| careful | 3/3 |  | 3 | 165 |\n\
         | hasty | 2/3 | json_parse_error | 5 | 275 |\n"
    );
}
