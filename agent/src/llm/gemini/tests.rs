use super::Gemini;
use super::request::body;
use super::response::read;
use super::stream::EventJoiner;
use crate::llm::endpoint::{Endpoint, EventStream};
use crate::llm::testing::{
    Act, PNG_BASE64, Provider, answer, any_answer, events, full_request, notes, ok, with_images,
};
use crate::llm::{Image, Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse, Message, StopReason, Usage};
use ptc_base::json::{Value as Json, json};
use ptc_base::secret::Secret;
use std::time::Duration;

const KEY: &str = "sekrit-key-123";

fn client(provider: &Provider) -> Gemini {
    Gemini::new(&provider.base, "gemini-x", Some(&Secret::new(KEY))).unwrap()
}

fn asks(schema: Option<Json>) -> LlmRequest {
    LlmRequest { messages: vec![Message::user("hi")], schema, ..LlmRequest::default() }
}

fn candidate(parts: Json, finish: &str) -> Json {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}]})
}

async fn complete(act: Act) -> Result<LlmResponse, LlmError> {
    let provider = Provider::start([act]).await;
    let result = client(&provider).complete(asks(None)).await;
    assert!(!format!("{result:?}").contains(KEY), "{result:?}");
    result
}

async fn stream(given: &[Json]) -> (Result<LlmResponse, LlmError>, Vec<String>) {
    let provider = Provider::start([Act::Say(events(given))]).await;
    let (sink, notes) = notes();
    let result = client(&provider).stream(asks(None), sink).await;
    assert!(
        provider.seen()[0]
            .head
            .starts_with("POST /v1beta/models/gemini-x:streamGenerateContent?alt=sse HTTP/1.1")
    );
    let notes = notes.lock().clone();
    (result, notes)
}

#[test]
fn requests_are_spelled_as_the_protocol_says() {
    let expected = json!({"contents": [
        {"role": "user", "parts": [{"text": "Find it"}]},
        {"role": "model", "parts": [
            {"functionCall": {"name": "search", "args": {"q": "a"}}},
            {"functionCall": {"name": "search", "args": {"invalid_json": "{oops"}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "search", "response": {"output": [1, 2]}}},
            {"functionResponse": {"name": "search",
                "response": {"error": {"error": "Invalid JSON arguments: x"}}}},
            {"text": "Go on"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [{"functionDeclarations": [{"name": "search", "description": "Searches",
            "parametersJsonSchema": {"type": "object", "properties": {"q": {"type": "string"}}}}]}],
        "generationConfig": {"maxOutputTokens": 100, "temperature": 0.7}});
    assert_eq!(body("gemini-2.5-flash", &full_request(), true).unwrap().to_string(), expected.to_string());
    let nothing = body("m", &LlmRequest::default(), true).unwrap_err();
    assert_eq!(nothing.kind, LlmErrorKind::InvalidRequest);
}

#[test]
fn calls_of_other_models_are_marked_for_models_that_insist_on_signatures() {
    for (model, marked) in [
        ("gemini-2.5-flash", false),
        ("gemini-3-pro", true),
        ("publishers/g/models/gemini-4.1", true),
        ("gemma-3", false),
    ] {
        let body = body(model, &full_request(), true).unwrap();
        let calls = &body["contents"][1]["parts"];
        assert_eq!(calls[0].get("thoughtSignature").is_some(), marked, "{model}");
        assert_eq!(calls[1].get("thoughtSignature"), None, "only the first of a turn has one");
    }
}

#[test]
fn schemas_are_enforced_without_tools_and_told_otherwise() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let held = body("m", &asks(Some(schema.clone())), true).unwrap();
    assert_eq!(
        held["generationConfig"],
        json!({"responseMimeType": "application/json", "responseJsonSchema": schema})
    );
    let told = body("m", &asks(Some(schema.clone())), false).unwrap();
    assert_eq!(told["generationConfig"], json!({"responseMimeType": "application/json"}));
    let words = told["systemInstruction"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.starts_with("Answer only with a JSON object that satisfies"), "{words}");
    let beside = body("m", &LlmRequest { schema: Some(schema), ..full_request() }, true).unwrap();
    assert_eq!(beside["generationConfig"].get("responseMimeType"), None);
    assert_eq!(beside["systemInstruction"]["parts"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_schema_that_is_refused_is_given_in_words() {
    let refused = json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
        "message": "The specified schema produces a constraint that has too many states"}});
    let provider = Provider::start([
        answer("400 No", &refused.to_string()),
        ok(&candidate(json!([{"text": "{\"n\":7}"}]), "STOP")),
    ])
    .await;
    let response = client(&provider).complete(asks(Some(json!({"type": "object"})))).await.unwrap();
    assert_eq!(response.content.as_deref(), Some("{\"n\":7}"));
    let seen = provider.seen();
    assert!(seen[0].body.pointer("/generationConfig/responseJsonSchema").is_some());
    assert!(seen[1].body.pointer("/generationConfig/responseJsonSchema").is_none());
}

#[tokio::test]
async fn answers_in_one_piece_are_read_and_go_back_with_ids_and_signatures() {
    let provider = Provider::start([ok(&json!({"candidates": [{"content": {"role": "model", "parts": [
        {"text": "hm", "thought": true},
        {"text": "Let me look", "thoughtSignature": "dGV4dA=="},
        {"functionCall": {"id": "f1", "name": "t", "args": {"a": 1}}, "thoughtSignature": "Y2FsbA=="},
        {"functionCall": {"name": "u"}}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 35, "candidatesTokenCount": 2, "thoughtsTokenCount": 3,
            "cachedContentTokenCount": 20, "totalTokenCount": 40}}))])
    .await;
    let client = client(&provider);
    assert!(!format!("{client:?}").contains(KEY));
    let response = client.complete(full_request()).await.unwrap();
    assert_eq!((response.content.as_deref(), response.stop), (Some("Let me look"), StopReason::ToolCalls));
    assert_eq!(
        (response.tool_calls[0].id.as_deref(), &response.tool_calls[0].args["a"]),
        (Some("f1"), &json!(1))
    );
    assert_eq!((response.tool_calls[1].id.as_deref(), &*response.tool_calls[1].name), (None, "u"));
    let usage = Usage { input: 35, output: 5, cache_creation: 0, cache_read: 20, total_cost: None };
    assert_eq!(response.usage, Some(usage));
    let head = &provider.seen()[0].head;
    assert!(head.starts_with("POST /v1beta/models/gemini-x:generateContent HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("x-goog-api-key: {KEY}")), "{head}");

    // The conversation has given the calls ids of its own.
    let call = |id: &str, name: &str, arguments: &str| crate::llm::ToolCallMsg {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    let said = Message::Assistant {
        content: "Let me look".into(),
        tool_calls: vec![call("tc_1", "t", "{\"a\":1}"), call("tc_2", "u", "")],
        images: Vec::new(),
        provider_state: response.provider_state,
    };
    let messages =
        vec![Message::user("hi"), said, Message::tool("tc_1", "7"), Message::tool("tc_2", "plain text")];
    let body = body("gemini-3-pro", &LlmRequest { messages, ..LlmRequest::default() }, true).unwrap();
    assert_eq!(
        body["contents"][1]["parts"],
        json!([{"text": "Let me look", "thoughtSignature": "dGV4dA=="},
            {"functionCall": {"name": "t", "args": {"a": 1}, "id": "f1"}, "thoughtSignature": "Y2FsbA=="},
            {"functionCall": {"name": "u", "args": {}}}])
    );
    assert_eq!(
        body["contents"][2]["parts"],
        json!([{"functionResponse": {"name": "t", "response": {"output": 7}, "id": "f1"}},
            {"functionResponse": {"name": "u", "response": {"output": "plain text"}}}])
    );
}

#[test]
fn images_are_inline_data_or_files() {
    let request = LlmRequest { messages: with_images(), ..LlmRequest::default() };
    let body = body("m", &request, true).unwrap();
    let png = json!({"inlineData": {"mimeType": "image/png", "data": PNG_BASE64}});
    assert_eq!(
        body["contents"][0]["parts"],
        json!([{"fileData": {"fileUri": "https://h/x.png"}}, png.clone(), {"text": "What is it?"}])
    );
    assert_eq!(
        body["contents"][2]["parts"],
        json!([{"functionResponse": {"name": "look", "response": {"output": "[image 1]"}}}, png])
    );
}

#[tokio::test]
async fn images_that_a_model_makes_go_back_with_their_signatures() {
    let made = json!([{"text": "A cat"},
        {"inlineData": {"mimeType": "image/png", "data": PNG_BASE64}, "thoughtSignature": "cGlj"}]);
    let (streamed, _) = stream(&[candidate(made.clone(), "STOP")]).await;
    let whole = complete(ok(&candidate(made.clone(), "STOP"))).await.unwrap();
    assert_eq!(streamed.unwrap(), whole);
    assert_eq!(whole.images, [Image::from_base64(PNG_BASE64).unwrap()]);
    let said = Message::Assistant {
        content: whole.content.unwrap(),
        tool_calls: Vec::new(),
        images: whole.images,
        provider_state: whole.provider_state,
    };
    let request = LlmRequest { messages: vec![said], ..LlmRequest::default() };
    assert_eq!(body("m", &request, true).unwrap()["contents"][0]["parts"], made);
}

#[tokio::test]
async fn answers_end_in_documented_ways() {
    for (parts, finish, stop) in [
        (json!([{"text": "x"}]), "STOP", StopReason::End),
        (json!([{"text": "x"}]), "MAX_TOKENS", StopReason::Length),
        (json!([{"text": "x"}]), "SAFETY", StopReason::Refusal),
        (json!([]), "MALFORMED_FUNCTION_CALL", StopReason::Other),
        (json!([]), "MAX_TOKENS", StopReason::Length),
        (json!([{"functionCall": {"name": "t"}}]), "UNEXPECTED_TOOL_CALL", StopReason::ToolCalls),
    ] {
        let response = complete(ok(&candidate(parts.clone(), finish))).await.unwrap();
        assert_eq!(response.stop, stop, "{parts} {finish}");
    }
    for (body, kind, text) in [
        (
            json!({"candidates": [{"finishReason": "SAFETY", "finishMessage": "too rude"}]}),
            LlmErrorKind::InvalidRequest,
            "the answer was withheld: SAFETY (too rude)",
        ),
        (
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}),
            LlmErrorKind::InvalidRequest,
            "the prompt was blocked: PROHIBITED_CONTENT",
        ),
        (json!({}), LlmErrorKind::Malformed, "the answer has no candidates: {}"),
        (
            json!({"error": {"code": 503, "message": format!("busy {KEY}")}}),
            LlmErrorKind::Server,
            "the endpoint reports an error: busy [REDACTED]",
        ),
    ] {
        let error = complete(ok(&body)).await.unwrap_err();
        assert_eq!((error.kind, error.to_string()), (kind, text.to_owned()));
    }
}

#[tokio::test]
async fn refusals_are_classed_and_say_how_long_to_wait() {
    let quota = json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2.5s"}]}});
    let error = complete(answer("429 No", &quota.to_string())).await.unwrap_err();
    assert_eq!((error.kind, error.retry_after), (LlmErrorKind::RateLimit, Some(Duration::from_millis(2500))));
    let key = json!({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key."}});
    let error = complete(answer("400 No", &key.to_string())).await.unwrap_err();
    assert_eq!((error.kind, error.status), (LlmErrorKind::Auth, Some(400)));
}

#[tokio::test]
async fn streams_are_joined() {
    let given = [
        json!({"candidates": [{"content": {"parts": [{"text": "hm", "thought": true}]}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "Let me "}]}}], "usageMetadata": {"promptTokenCount": 5}}),
        json!({"candidates": [{"content": {"parts": [{"text": "look"}, {"functionCall": {"name": "t", "args": {"a": 1}}}]}}]}),
        json!({"candidates": [{"content": {"parts": [{"text": "", "thoughtSignature": "c2ln"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 9}}),
    ];
    let (response, noted) = stream(&given).await;
    let response = response.unwrap();
    assert_eq!((response.content.as_deref(), response.stop), (Some("Let me look"), StopReason::ToolCalls));
    assert_eq!(response.usage.map(|usage| (usage.input, usage.output)), Some((5, 9)));
    assert_eq!(response.provider_state.unwrap()["gemini"]["text"], "c2ln");
    assert_eq!(noted, ["reasoning hm", "text Let me ", "text look", "call 0 t", "arguments 0 {\"a\":1}"]);
    let (cut, _) = stream(&given[..3]).await;
    assert_eq!(cut.unwrap_err().kind, LlmErrorKind::Network);
    let failed = json!({"error": {"code": 429, "message": "slow down", "details": [{"retryDelay": "3s"}]}});
    let error = stream(&[given[1].clone(), failed]).await.0.unwrap_err();
    assert_eq!((error.kind, error.retry_after), (LlmErrorKind::RateLimit, Some(Duration::from_secs(3))));
}

proptest::proptest! {
    #[test]
    fn no_answer_makes_a_reader_panic(
        whole in any_answer(),
        events in proptest::collection::vec(any_answer(), 0..6),
    ) {
        let endpoint = Endpoint::new("http://h", &[]).unwrap();
        let part = |part: &Json| candidate(json!([part, {"functionCall": part}, {"inlineData": part}]), "STOP");
        for answer in [&whole, &part(&whole), &json!({"usageMetadata": whole, "candidates": whole, "error": whole})] {
            let _ = read(answer, &endpoint);
        }
        let mut reader = EventJoiner::new(notes().0);
        for event in &events {
            let _ = reader.event(&event.to_string());
            let _ = reader.event(&part(event).to_string());
        }
        let _ = reader.finish();
    }
}
