use super::{call, engine};
use crate::agent::{Agent, Output};
use crate::llm::{Image, LlmError, LlmRequest, LlmResponse, Message, Recorder, Replayer, ScriptedLlm};
use crate::run::RunOptions;
use crate::tool::{JsonMap, ToolSpec};
use ptc_base::json::{Value as Json, json};
use std::sync::Arc;

fn png() -> Image {
    Image::from_bytes(&b"\x89PNG\r\n\x1a\n...."[..]).unwrap()
}

/// An agent with a tool that answers with a picture of more bytes than a text result may have.
fn agent() -> Agent {
    let mut bytes = png().bytes().unwrap().to_vec();
    bytes.resize(2 << 20, 0);
    let large = Image::from_bytes(bytes).unwrap();
    let look = ToolSpec::new(move |_: JsonMap| {
        let block = large.to_block();
        async move { Ok::<Json, String>(json!([{"type": "text", "text": "A chart"}, block])) }
    });
    Agent::builder("What is on it?").output(Output::Text).tool("look", look).build().unwrap()
}

fn script() -> [LlmResponse; 2] {
    [LlmResponse::calls(vec![call("c1", "look", json!({}))]), LlmResponse::text("A cat.")]
}

#[tokio::test]
async fn a_model_that_sees_images_is_given_those_of_the_user_and_of_tools() {
    let llm = Arc::new(ScriptedLlm::new(script()));
    let options = RunOptions { images: vec![png()], ..RunOptions::new(llm.clone()).with_engine(engine()) };
    let step = agent().run(options).await.unwrap();
    let requests = llm.requests();
    assert_eq!(requests[0].messages[0].images(), [png()]);
    let Some(Message::Tool { content, images, .. }) = requests[1].messages.last() else { panic!() };
    assert_eq!(content, "[{\"type\":\"text\",\"text\":\"A chart\"},\"[image 1: image/png, 2097152 bytes]\"]");
    assert_eq!(images[0].bytes().map(bytes::Bytes::len), Some(2 << 20));
    assert_eq!(step.tool_calls[0].result, *content);
    assert!(step.images.is_empty());
}

#[tokio::test]
async fn a_model_that_sees_none_reads_what_they_were() {
    let llm = Arc::new(ScriptedLlm::new(script()));
    let asked = llm.clone();
    let blind = Arc::new(move |request: LlmRequest| {
        let asked = asked.clone();
        async move { crate::llm::Llm::complete(&*asked, request).await }
    });
    let blind: Arc<dyn crate::llm::Llm> = blind;
    agent().run(RunOptions::new(blind.clone()).with_engine(engine())).await.unwrap();
    let requests = llm.requests();
    let Some(Message::Tool { content: told, .. }) = requests[1].messages.last() else { panic!() };
    assert!(
        told.contains("[image not shown: image/png, 2097152 bytes; this model is given no images]"),
        "{told}"
    );
    let options = RunOptions { images: vec![png()], ..RunOptions::new(blind).with_engine(engine()) };
    let step = agent().run(options).await.unwrap_err();
    assert_eq!(
        step.to_string(),
        "llm_error: LLM call failed: the run shows images, and the model's client gives none on"
    );
}

#[tokio::test]
async fn images_that_a_model_makes_are_in_the_step_and_go_back_with_its_state() {
    let drawn = LlmResponse {
        content: None,
        images: vec![png()],
        provider_state: Some(json!({"signature": "s"})),
        ..LlmResponse::default()
    };
    let agent = Agent::builder("Draw").output(Output::Text).build().unwrap();
    let llm = Arc::new(ScriptedLlm::new([drawn]));
    let step = agent.run(RunOptions::new(llm).with_engine(engine())).await.unwrap();
    assert_eq!((step.value, &step.images[..]), (Some("".into()), &[png()][..]));
    let Some(Message::Assistant { images, provider_state, .. }) = step.messages.last() else { panic!() };
    assert_eq!((&images[..], provider_state), (&[png()][..], &Some(json!({"signature": "s"}))));
}

#[tokio::test]
async fn recordings_hold_images() -> Result<(), LlmError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.jsonl");
    let recorder = Arc::new(Recorder::create(&path, ScriptedLlm::new(script())).unwrap());
    let options = |llm| RunOptions { images: vec![png()], ..llm };
    agent().run(options(RunOptions::new(recorder).with_engine(engine()))).await.unwrap();
    let replayer = Arc::new(Replayer::open(&path).unwrap());
    let step = agent().run(options(RunOptions::new(replayer.clone()).with_engine(engine()))).await.unwrap();
    assert_eq!(step.value, Some("A cat.".into()));
    replayer.finish().unwrap();
    Ok(())
}
