//! What a run is given, checked before the first turn, and what its tools are called.

use super::*;
use crate::agent::{Output, Transport};
use crate::tool::Expose;

fn text(prompt: &str) -> AgentBuilder {
    Agent::builder(prompt).output(Output::Text)
}

/// The failure of a run over this context, which must not have asked the model.
async fn refused(agent: AgentBuilder, context: Json) -> String {
    let (step, requests) = run_with(agent, vec![LlmResponse::text("5")], |options| {
        options.context = context.as_object().unwrap().clone();
    })
    .await;
    assert!(requests.is_empty(), "{:?}", step.value);
    failed(&step)
}

#[tokio::test]
async fn inputs_are_checked_before_the_first_turn() {
    let agent = || text("{{n}} {{q}}").signature("(n :int, q :string?) -> :int");
    assert_eq!(
        refused(agent(), json!({"n": "many"})).await,
        "invalid_context: the context does not fit the signature (n :int, q :string?) -> :int: n: expected int, got string"
    );
    assert_eq!(
        refused(agent(), json!({"q": "x"})).await,
        "invalid_context: the context does not fit the signature (n :int, q :string?) -> :int: n: expected field, got nil"
    );
    let lisp = Agent::builder("p").signature("(n :int) -> :int");
    assert!(refused(lisp, json!({})).await.starts_with("invalid_context: "));
    // What can be read as its type is, and an optional one may be absent.
    let (step, requests) = run_with(agent(), vec![LlmResponse::text("5")], |options| {
        options.context = json!({"n": "7"}).as_object().unwrap().clone();
    })
    .await;
    assert_eq!(step.value, Some(json!(5)), "{}", failed(&step));
    assert!(
        matches!(&requests[0].messages[0], Message::User { content, .. } if content.contains("7 \n")),
        "{requests:?}"
    );
}

#[tokio::test]
async fn a_place_without_a_value_is_an_error() {
    assert_eq!(
        refused(text("Hi {{nmae}}"), json!({"name": "Ann"})).await,
        "invalid_context: the prompt's {{nmae}} has no value: the context has name"
    );
    assert_eq!(
        refused(text("{{user.name}}"), json!({"user": {}})).await,
        "invalid_context: the prompt's {{user.name}} has no value: the context has user"
    );
    assert_eq!(
        refused(text("{{#rows}}{{id}}{{/rows}}"), json!({"rows": [{"id": 1}, {}]})).await,
        "invalid_context: the prompt's {{id}} has no value: the context has rows"
    );
    let fine = text("{{#rows}}x{{/rows}}{{^rows}}none{{/rows}} {\"{{\": 1}");
    let (step, _) = run_with(fine, vec![LlmResponse::text("5")], |_| {}).await;
    assert_eq!(step.value, Some(json!("5")), "{}", failed(&step));
    let literal = text("Hi {{nmae}}").literal_prompt();
    assert_eq!(run(literal, vec![LlmResponse::text("5")]).await.value, Some(json!("5")));
}

#[tokio::test]
async fn a_native_tool_in_a_program_is_told_to_be_native() {
    let runs = Arc::new(AtomicU32::new(0));
    let agent = || text("p").transport(Transport::ToolCall).tool("look", counting(&runs));
    let native = " `look` is a native tool: call it directly, not inside a program.";
    let step = run(agent(), vec![eval("a", "(tool/look {})"), LlmResponse::text("done")]).await;
    assert_eq!(results(&step)[0].1["message"], format!("Unknown tool: look. No tools available.{native}"));
    let agent = agent().tool("p", counting(&runs).expose(Expose::PtcLisp));
    let step = run(
        agent,
        vec![eval("a", "(tool/look {})"), eval("b", "(tool/other {})"), LlmResponse::text("done")],
    )
    .await;
    assert_eq!(results(&step)[0].1["message"], format!("Unknown tool: look. Available tools: p.{native}"));
    assert_eq!(results(&step)[1].1["message"], "Unknown tool: other. Available tools: p");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_argument_without_a_name_is_advised_by_the_tools_own_signature() {
    let runs = Arc::new(AtomicU32::new(0));
    let typed = crate::signature::Signature::parse("(query :string) -> [:any]").unwrap();
    let agent = Agent::builder("p").tool("t", counting(&runs).signature(typed)).tool("u", counting(&runs));
    let step =
        run(agent, vec![fenced("(tool/t \"x\")"), fenced("(tool/u \"x\")"), fenced("(return 1)")]).await;
    let told = told(&step);
    assert!(told[0].contains("Got string \"x\" — try (tool/t {:query \"...\"})"), "{}", told[0]);
    assert!(told[1].contains("Got string \"x\" — wrap in {:key value}"), "{}", told[1]);
}
