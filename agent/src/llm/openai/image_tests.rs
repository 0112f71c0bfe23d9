use super::OpenAi;
use super::request::body;
use crate::llm::testing::{Act, PNG_BASE64, Provider, answer, events, notes, ok, with_images};
use crate::llm::{Image, Llm, LlmRequest, LlmResponse, Message};
use ptc_base::json::{Value as Json, json};

fn request(messages: Vec<Message>) -> LlmRequest {
    LlmRequest { messages, ..LlmRequest::default() }
}

fn part(url: &str) -> Json {
    json!({"type": "image_url", "image_url": {"url": url}})
}

fn data_url() -> String {
    format!("data:image/png;base64,{PNG_BASE64}")
}

#[test]
fn images_are_parts_and_those_of_tools_follow_all_results() {
    let mut messages = with_images();
    messages.push(Message::tool("c2", "plain"));
    messages.push(Message::user("Go on"));
    let sent = body("m", &request(messages), 0, false);
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "user", "content": [part("https://h/x.png"), part(&data_url()), {"type": "text", "text": "What is it?"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "[image 1]"},
            {"role": "tool", "tool_call_id": "c2", "content": "plain"},
            {"role": "user", "content": [
                {"type": "text", "text": "The images of the tool results above, in their order:"}, part(&data_url())]},
            {"role": "user", "content": "Go on"}])
    );
}

#[tokio::test]
async fn a_model_that_refuses_images_of_tools_is_told_of_them_in_words() {
    let refused = answer("400 No", "{\"error\":{\"message\":\"m is not a multimodal model\"}}");
    let fine = ok(&json!({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}));
    let provider = Provider::start([refused.clone(), fine.clone()]).await;
    let client = OpenAi::new(&provider.base, "m", None).unwrap();
    assert!(client.sees_images());
    let by_tool = with_images().split_off(1);
    assert_eq!(client.complete(request(by_tool)).await.unwrap().content.as_deref(), Some("ok"));
    assert!(!client.sees_images(), "the client remembers");
    let seen = provider.seen();
    assert!(seen[0].body.to_string().contains(PNG_BASE64));
    assert!(!seen[1].body.to_string().contains(PNG_BASE64));
    assert_eq!(
        seen[1].body["messages"][1]["content"],
        "[image 1]\n[the images are not shown: this model takes none]"
    );
    // What the user shows is never left out.
    let provider = Provider::start([refused, fine]).await;
    let client = OpenAi::new(&provider.base, "m", None).unwrap();
    let error = client.complete(request(with_images())).await.unwrap_err();
    assert_eq!(error.to_string(), "status 400: m is not a multimodal model");
}

async fn made(act: Act, streams: bool) -> LlmResponse {
    let provider = Provider::start([act]).await;
    let client = OpenAi::new(&provider.base, "m", None).unwrap();
    let asked = LlmRequest::default();
    if streams {
        client.stream(asked, notes().0).await.unwrap()
    } else {
        client.complete(asked).await.unwrap()
    }
}

#[tokio::test]
async fn images_that_a_model_makes_are_in_the_response_and_go_back() {
    let png = Image::from_base64(PNG_BASE64).unwrap();
    let listed =
        json!({"content": "Here", "images": [part(&data_url()), part("data:image/avif;base64,QQ==")]});
    let parts = json!({"content": [{"type": "text", "text": "Here"}, part(&data_url())]});
    for message in [listed, parts] {
        let whole = ok(&json!({"choices": [{"message": message, "finish_reason": "stop"}]}));
        let pieces = events(&[
            json!({"choices": [{"delta": message}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
            json!("[DONE]"),
        ]);
        for response in [made(whole, false).await, made(Act::Say(pieces), true).await] {
            assert_eq!(response.content.as_deref(), Some("Here"), "{message}");
            assert_eq!(response.images, std::slice::from_ref(&png), "{message}");
        }
    }
    let said = Message::Assistant {
        content: "Here".into(),
        tool_calls: Vec::new(),
        images: vec![png],
        provider_state: None,
    };
    let sent = body("m", &request(vec![said.clone()]), 0, false);
    assert_eq!(sent["messages"][0]["images"], json!([part(&data_url())]));
    let sent = body("m", &request(vec![said]), super::concession::NO_MADE_IMAGES, false);
    assert_eq!(sent["messages"][0], json!({"role": "assistant", "content": "Here"}));
}
