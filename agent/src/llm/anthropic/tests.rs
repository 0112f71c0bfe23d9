use super::Anthropic;
use super::request::{answer_tool, body};
use super::response::read;
use super::stream::EventJoiner;
use crate::llm::endpoint::{Endpoint, EventStream};
use crate::llm::testing::{
    Act, PNG_BASE64, Provider, answer, any_answer, events, full_request, notes, ok, with_images,
};
use crate::llm::{Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse, Message, StopReason, Usage};
use ptc_base::json::{Value as Json, json};
use ptc_base::secret::Secret;

const KEY: &str = "sekrit-key-123";

fn client(provider: &Provider) -> Anthropic {
    Anthropic::new(&provider.base, "m", Some(&Secret::new(KEY))).unwrap()
}

fn asks(schema: Option<Json>) -> LlmRequest {
    let messages = vec![Message::user("hi")];
    LlmRequest { messages, schema, ..LlmRequest::default() }
}

async fn stream(request: LlmRequest, given: &[Json]) -> (Result<LlmResponse, LlmError>, Vec<String>) {
    let provider = Provider::start([Act::Say(events(given))]).await;
    let (sink, notes) = notes();
    let result = client(&provider).stream(request, sink).await;
    let notes = notes.lock().clone();
    (result, notes)
}

#[test]
fn requests_are_spelled_as_the_protocol_says() {
    let expected = json!({"model": "m", "max_tokens": 100, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Find it"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "search", "input": {"q": "a"}},
            {"type": "tool_use", "id": "c2", "name": "search", "input": {"invalid_json": "{oops"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "[1,2]"},
            {"type": "tool_result", "tool_use_id": "c2",
                "content": "{\"error\":\"Invalid JSON arguments: x\"}", "is_error": true},
            {"type": "text", "text": "Go on"}]}],
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "search", "description": "Searches",
            "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}}}],
        "tool_choice": {"type": "auto"}, "temperature": 0.7, "stream": true});
    assert_eq!(body("m", &full_request(), None, true).unwrap().to_string(), expected.to_string());
}

#[test]
fn caching_marks_system_tools_and_the_last_message() {
    let body = body("m", &LlmRequest { cache: true, ..full_request() }, None, false).unwrap();
    let mark = json!({"type": "ephemeral"});
    for place in ["/system/0", "/tools/0", "/messages/2/content/2"] {
        assert_eq!(body.pointer(place).unwrap()["cache_control"], mark, "{place}");
    }
    assert_eq!(body.to_string().matches("cache_control").count(), 3);
}

#[test]
fn a_schema_becomes_a_forced_tool() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let request = asks(Some(schema.clone()));
    let body = body("m", &request, Some(&answer_tool(&request)), false).unwrap();
    assert_eq!(body["tool_choice"], json!({"type": "tool", "name": "answer"}));
    assert_eq!(body["tools"][0]["input_schema"], schema);
    assert_eq!(body["max_tokens"], 4096);
    let mut request = LlmRequest { schema: Some(schema), ..full_request() };
    request.tools[0].name = "answer".into();
    assert_eq!(answer_tool(&request), "answer_");
    let body = super::request::body("m", &request, Some("answer_"), false).unwrap();
    assert_eq!(body["tool_choice"], json!({"type": "any"}));
}

#[test]
fn blank_text_and_foreign_ids_do_not_reach_the_provider() {
    let call = crate::llm::ToolCallMsg { id: "a:0".into(), name: "t".into(), arguments: String::new() };
    let request = LlmRequest {
        messages: vec![
            Message::system("inside"),
            Message::user("hi"),
            Message::calls(" ", vec![call]),
            Message::tool("a:0", ""),
        ],
        ..LlmRequest::default()
    };
    let body = body("m", &request, None, false).unwrap();
    assert_eq!(body["system"], json!([{"type": "text", "text": "inside"}]));
    assert_eq!(
        body["messages"][1]["content"],
        json!([{"type": "tool_use", "id": "a_0", "name": "t", "input": {}}])
    );
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "a_0");
    let nothing = super::request::body("m", &LlmRequest::default(), None, false).unwrap_err();
    assert_eq!(nothing.kind, LlmErrorKind::InvalidRequest);
}

#[test]
fn images_are_blocks_before_the_text_and_in_results() {
    let request = LlmRequest { messages: with_images(), ..LlmRequest::default() };
    let messages = &body("m", &request, None, false).unwrap()["messages"];
    let png =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_BASE64}});
    assert_eq!(
        messages[0]["content"],
        json!([{"type": "image", "source": {"type": "url", "url": "https://h/x.png"}}, png.clone(),
            {"type": "text", "text": "What is it?"}])
    );
    assert_eq!(
        messages[2]["content"][0],
        json!({"type": "tool_result", "tool_use_id": "c1",
            "content": [{"type": "text", "text": "[image 1]"}, png]})
    );
}

#[tokio::test]
async fn answers_in_one_piece_are_read() {
    let provider = Provider::start([ok(&json!({"type": "message", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Let me look"},
        {"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 2, "cache_creation_input_tokens": 10,
            "cache_read_input_tokens": 20}}))])
    .await;
    let client = client(&provider);
    assert!(!format!("{client:?}").contains(KEY));
    let response = client.complete(full_request()).await.unwrap();
    assert_eq!(response.content.as_deref(), Some("Let me look"));
    assert_eq!(response.stop, StopReason::ToolCalls);
    assert_eq!((&*response.tool_calls[0].name, &response.tool_calls[0].args["a"]), ("t", &json!(1)));
    let usage = Usage { input: 35, output: 2, cache_creation: 10, cache_read: 20, total_cost: None };
    assert_eq!(response.usage, Some(usage));
    let head = &provider.seen()[0].head;
    assert!(head.starts_with("POST /v1/messages HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}")) && head.contains("anthropic-version: 2023-06-01"));
}

#[tokio::test]
async fn refusals_are_classed() {
    let error =
        |kind: &str| json!({"type": "error", "error": {"type": kind, "message": format!("no {KEY}")}});
    for (act, kind) in [
        (answer("529 No", &error("overloaded_error").to_string()), LlmErrorKind::Server),
        (answer("429 No", &error("rate_limit_error").to_string()), LlmErrorKind::RateLimit),
        (ok(&error("authentication_error")), LlmErrorKind::Auth),
        (ok(&error("invalid_request_error")), LlmErrorKind::InvalidRequest),
        (ok(&json!({"type": "message"})), LlmErrorKind::Malformed),
    ] {
        let provider = Provider::start([act]).await;
        let found = client(&provider).complete(asks(None)).await.unwrap_err();
        assert_eq!(found.kind, kind, "{found}");
        assert!(!found.message.contains(KEY), "{found}");
    }
}

#[tokio::test]
async fn an_answer_with_a_schema_is_the_forced_tools_arguments() {
    let message = |blocks: Json| {
        ok(&json!({"type": "message", "content": blocks, "stop_reason": "tool_use", "usage": {}}))
    };
    let provider = Provider::start([
        message(json!([{"type": "tool_use", "id": "c", "name": "answer", "input": {"n": 7}}])),
        message(json!([{"type": "tool_use", "id": "c", "name": "answer", "input": {"n": 7}},
            {"type": "tool_use", "id": "d", "name": "search", "input": {}}])),
    ])
    .await;
    let client = client(&provider);
    let response = client.complete(asks(Some(json!({"type": "object"})))).await.unwrap();
    assert_eq!((response.content.as_deref(), response.stop), (Some("{\"n\":7}"), StopReason::End));
    assert!(response.tool_calls.is_empty());
    let request = LlmRequest { schema: Some(json!({"type": "object"})), ..full_request() };
    let response = client.complete(request).await.unwrap();
    assert_eq!((response.content, response.tool_calls.len()), (None, 1), "an early answer does not count");
}

#[tokio::test]
async fn streams_are_joined() {
    let given = [
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Let me "}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "look"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "c", "name": "t", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"a\""}}),
        json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ":1}"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let (response, notes) = stream(asks(None), &given).await;
    let response = response.unwrap();
    assert_eq!(response.content.as_deref(), Some("Let me look"));
    assert_eq!((response.stop, &response.tool_calls[0].args["a"]), (StopReason::ToolCalls, &json!(1)));
    let usage = Usage { input: 12, output: 9, cache_creation: 0, cache_read: 7, total_cost: None };
    assert_eq!(response.usage, Some(usage));
    assert_eq!(
        notes,
        ["reasoning hm", "text Let me ", "text look", "call 0 t", "arguments 0 {\"a\"", "arguments 0 :1}"]
    );
    let (cut, _) = stream(asks(None), &given[..11]).await;
    assert_eq!(cut.unwrap_err().kind, LlmErrorKind::Network);
    let (complete, _) = stream(asks(None), &given[..12]).await;
    assert_eq!(complete.unwrap().tool_calls.len(), 1, "only the last event is missing");
}

#[tokio::test]
async fn a_streamed_answer_with_a_schema_is_text() {
    let (response, notes) = stream(
        asks(Some(json!({"type": "object"}))),
        &[
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "answer", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"n\":7}"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ],
    )
    .await;
    assert_eq!(response.unwrap().content.as_deref(), Some("{\"n\":7}"));
    assert_eq!(notes, ["text {\"n\":7}"]);
}

#[tokio::test]
async fn broken_streams_end_in_documented_ways() {
    let begin =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}});
    for (event, kind, text) in [
        (
            json!({"type": "error", "error": {"type": "overloaded_error", "message": format!("full {KEY}")}}),
            LlmErrorKind::Server,
            "the endpoint reports an error: full [REDACTED]",
        ),
        (json!("{oops"), LlmErrorKind::Malformed, "an event of the stream is not JSON"),
        (
            json!({"type": "content_block_delta", "index": 5, "delta": {"type": "text_delta", "text": "y"}}),
            LlmErrorKind::Malformed,
            "the stream goes on with a block that it never began",
        ),
    ] {
        let error = stream(asks(None), &[begin.clone(), event]).await.0.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.starts_with(text), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_answer_makes_a_reader_panic(
        whole in any_answer(),
        events in proptest::collection::vec(any_answer(), 0..6),
    ) {
        let endpoint = Endpoint::new("http://h", &[]).unwrap();
        for content in [&whole, &json!({"content": [whole, {"type": "tool_use", "name": "answer", "input": whole}], "usage": whole})] {
            let _ = read(content, Some("answer"), &endpoint);
        }
        let mut reader = EventJoiner::new(notes().0, Some("answer".into()));
        for event in &events {
            for event in [
                event.clone(),
                json!({"type": "content_block_start", "index": 0, "content_block": event}),
                json!({"type": "content_block_delta", "index": 0, "delta": event}),
                json!({"type": "message_delta", "delta": {}, "usage": event}),
            ] {
                let _ = reader.event(&event.to_string());
            }
        }
        let _ = reader.finish();
    }
}

#[test]
fn a_call_within_which_the_answer_was_cut_has_no_arguments() {
    let endpoint = Endpoint::new("http://h", &[]).unwrap();
    let call = |input: Json| {
        let body = json!({"stop_reason": "max_tokens", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {"n": 1}},
            {"type": "tool_use", "id": "b", "name": "t", "input": input}]});
        read(&body, None, &endpoint).unwrap().tool_calls
    };
    for input in [json!({}), json!({"path": "/"})] {
        let calls = call(input);
        assert_eq!((calls[0].args_error.is_none(), calls[0].args.len()), (true, 1));
        let cut = calls[1].args_error.as_ref().unwrap();
        assert_eq!(cut.detail, "they are not complete (the answer was cut at its longest length)");
        assert!(calls[1].args.is_empty());
    }
}
