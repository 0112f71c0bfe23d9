use crate::agent::{Agent, Output, Transport};
use crate::llm::{LlmResponse, Message, ScriptedLlm, ToolCall};
use crate::run::{ChatState, RunOptions};
use crate::tool::{Expose, JsonMap, ToolSpec};
use ptc_base::json::{Value as Json, json};
use ptc_engine::{Engine, EngineOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn call(id: &str, name: &str, args: Json) -> LlmResponse {
    LlmResponse::calls(vec![ToolCall::from_text(Some(id.into()), name, &args.to_string())])
}

fn options(engine: &Engine, answers: Vec<LlmResponse>) -> (RunOptions, Arc<ScriptedLlm>) {
    let llm = Arc::new(ScriptedLlm::new(answers));
    (RunOptions::new(llm.clone()).with_engine(engine.clone()), llm)
}

fn support(runs: &Arc<AtomicU32>) -> Agent {
    let runs = runs.clone();
    let search = ToolSpec::new(move |_: JsonMap| {
        runs.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, String>(json!([{"id": 1}, {"id": 2}])) }
    });
    let builder =
        Agent::builder("You are a support assistant.").output(Output::Text).transport(Transport::ToolCall);
    builder.signature("() -> :int").tool("search", search.expose(Expose::Both).cache(true)).build().unwrap()
}

#[tokio::test]
async fn only_messages_go_on_unless_there_is_a_state() {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let agent = support(&runs);
    let first = || vec![call("a", "search", json!({})), LlmResponse::text("Two.")];
    let second = || {
        let program = json!({"program": "(count (tool/search {}))"});
        vec![call("b", "lisp_eval", program), LlmResponse::text("Still {{two}}.")]
    };

    let (opts, _) = options(&engine, first());
    let reply = agent.chat("How many?", opts).await.unwrap();
    assert_eq!(reply.text, "Two.");
    assert!(matches!(reply.messages[0], Message::System { .. }));
    let (mut opts, llm) = options(&engine, second());
    opts.initial_messages = reply.messages;
    let reply = agent.chat("And {{now}}?", opts).await.unwrap();
    assert_eq!((reply.text.as_str(), runs.load(Ordering::Relaxed)), ("Still {{two}}.", 2));
    let sent = llm.requests().remove(0).messages;
    assert!(!sent.iter().any(|message| matches!(message, Message::System { .. })));
    let stale = sent.iter().find_map(|message| match message {
        Message::Tool { content, .. } => Some(serde_json::from_str::<Json>(content).unwrap()),
        _ => None,
    });
    let stale = stale.unwrap();
    assert_eq!((&stale["full_result_cached"], stale.get("cache_hint")), (&json!(false), None));
    assert!(matches!(sent.last(), Some(Message::User { content, .. }) if content.contains("And {{now}}?")));

    runs.store(0, Ordering::Relaxed);
    let state = ChatState::new(&engine);
    let (mut opts, _) = options(&engine, first());
    opts.state = Some(state.clone());
    let reply = agent.chat("How many?", opts).await.unwrap();
    let (mut opts, llm) = options(&engine, second());
    opts.initial_messages = reply.messages;
    opts.state = Some(state.clone());
    agent.chat("And now?", opts).await.unwrap();
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let kept = llm.requests().remove(0).messages;
    assert!(
        kept.iter().any(
            |message| matches!(message, Message::Tool { content, .. } if content.contains("cache_hint"))
        )
    );
    assert!(state.retained_bytes() > 0);
}

#[tokio::test]
async fn a_lisp_agent_goes_on_with_its_definitions() {
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }).unwrap();
    let agent = Agent::builder("p").output(Output::PtcLisp).signature("() -> :string").build().unwrap();
    let fenced = |program: &str| LlmResponse::text(format!("```clojure\n{program}\n```"));
    let (opts, _) = options(&engine, vec![fenced("(def x 20) (return {:x x})")]);
    let reply = agent.chat("Remember 20.", opts).await.unwrap();
    assert_eq!(reply.text, "{\"x\":20}");
    assert_eq!(reply.state.definitions().await, [("x".to_owned(), "20".to_owned())]);
    let (mut opts, llm) = options(&engine, vec![fenced("(return (inc x))")]);
    opts.initial_messages = reply.messages;
    opts.state = Some(reply.state);
    assert_eq!(agent.chat("One more.", opts).await.unwrap().text, "21");
    let sent = llm.requests().remove(0).messages;
    assert!(matches!(&sent[2], Message::User { content, .. } if content.contains("{\"x\":20}")));
}
