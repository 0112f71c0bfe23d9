//! What the heads of kept programs leave of what their caller may.

use super::program::{World, text};
use ptc_host::aggregator::SnapshotMode;
use ptc_mcp::json::json;

const CALL: &str =
    r#"(:value (tool/call {:server "zq7seen" :tool "zq7visible" :args {:path "/reports/a"}}))"#;

/// A kept program that calls another one.
fn linked(main: &str, called: &str) -> String {
    format!("\u{c}{main}\n\u{c};program/b\n{called}")
}

#[tokio::test]
async fn a_head_narrows_and_never_widens() {
    let world = World::new(SnapshotMode::Frozen, &json!({})).await;
    let all = r#"{:tools ["*/*"] :resources ["*/*"] :prompts ["*/*"]}"#;
    let tools = r#"(dir "zq7seen")"#;
    let whole = world.text(tools).await;
    let listed = r#"["zq7visible - Does what zq7visible does."]"#;
    let hidden = r#"(tool/call {:server "zq7seen" :tool "zq7hidden"})"#;
    for (program, want) in [
        (format!("\u{c}{all} {tools}"), whole.clone()),
        (format!("\u{c}{all} {hidden}"), world.text(hidden).await),
        (format!("\u{c}{{:tools [\"zq7seen/zq7visible\"]}} {tools}"), listed.to_owned()),
        ("\u{c}{} (map :name (tool/servers))".to_owned(), "[]".to_owned()),
        ("\u{c}{} (map :uri (resource/list {:server \"zq7seen\"}))".to_owned(), String::new()),
        (
            linked(
                &format!("{all} (program/b {{}})"),
                &format!("{{:tools [\"zq7seen/zq7visible\"]}} {tools}"),
            ),
            listed.to_owned(),
        ),
        (
            linked(
                &format!("{all} (program/b {{}})"),
                &format!("{{:tools [\"zq7seen/zq7visible\"]}} {CALL}"),
            ),
            r#"{"path" "/reports/a"}"#.to_owned(),
        ),
        (
            linked("{:tools [\"zq7seen/zq7visible\"]} (program/b {})", &format!("{all} {tools}")),
            listed.to_owned(),
        ),
    ] {
        let got = world.text(&program).await;
        if want.is_empty() {
            assert!(!got.contains("zq7visible"), "{program}: {got}");
        } else {
            assert_eq!(got, want, "{program}");
        }
    }
    // The arguments are those that the caller's rules permit.
    let program = format!("\u{c}{all} {}", CALL.replace("/reports/a", "/etc/passwd"));
    let outcome = world.eval_as("ann", &program).await;
    assert!(text(&outcome).contains("is no path under \"/reports\""), "{}", text(&outcome));
}
