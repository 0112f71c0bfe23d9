//! Programs that ask people.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use ptc_engine::questions::{Action, Answer, AnsweredBy, Channel, PendingQuestion, QuestionId};
use ptc_engine::{Asker, Verdict};
use serde_json::value::RawValue;

use super::{engine, eval, results};
use crate::agent::{Agent, Output, Transport};
use crate::llm::{LlmResponse, ScriptedLlm};
use crate::run::RunOptions;

/// Says Rome to everything.
struct Person;

impl Asker for Person {
    fn ask(&self, open: Vec<PendingQuestion>) -> BoxFuture<'static, Verdict> {
        self.hold(open, String::new()).map(Verdict::Answered).boxed()
    }

    fn hold(&self, open: Vec<PendingQuestion>, _: String) -> BoxFuture<'static, Vec<(QuestionId, Answer)>> {
        let answer = Answer {
            action: Action::Accept,
            content: RawValue::from_string(r#"{"city":"Rome"}"#.to_owned()).ok(),
            by: AnsweredBy { channel: Channel::Embedder, name: None },
            at_ms: 0,
        };
        let answers = open.iter().map(|open| (open.id, answer.clone())).collect();
        async move { answers }.boxed()
    }
}

async fn asks(asker: Option<Arc<dyn Asker>>) -> String {
    let program = r#"(ask {:message "Where?" :schema {:type "object" :properties {:city {:type "string"}} :required ["city"]}})"#;
    let script = vec![eval("a", program), LlmResponse::text("done")];
    let agent = Agent::builder("go").output(Output::Text).transport(Transport::ToolCall).build().unwrap();
    let options =
        RunOptions { asker, ..RunOptions::new(Arc::new(ScriptedLlm::new(script))).with_engine(engine()) };
    let step = agent.run(options).await.unwrap();
    results(&step)[0].1["result"].to_string()
}

#[tokio::test]
async fn a_program_asks_whom_the_run_names() {
    let told = asks(Some(Arc::new(Person))).await;
    assert!(told.contains("Rome"), "{told}");
    let told = asks(None).await;
    assert!(told.contains(":unanswerable"), "{told}");
}
