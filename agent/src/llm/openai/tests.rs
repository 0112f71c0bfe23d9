use super::OpenAi;
use super::concession::{NEW_MAX_TOKENS, NO_FORMAT, NO_NULL_CONTENT, NO_SCHEMA, VALID_ARGUMENTS};
use super::request::body;
use super::response::read;
use super::stream::ChunkJoiner;
use crate::llm::endpoint::{Endpoint, EventStream};
use crate::llm::testing::{Act, Provider, STREAM, answer, any_answer, events, full_request, notes, ok};
use crate::llm::{Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse, StopReason, TimeLimits, Usage};
use ptc_base::json::{Value as Json, json};
use ptc_base::secret::Secret;
use std::time::Duration;

const KEY: &str = "sekrit-key-123";

fn client(provider: &Provider) -> OpenAi {
    OpenAi::new(&provider.base, "m", Some(&Secret::new(KEY))).unwrap()
}

/// Limits short enough for a test that waits for one of them.
fn short() -> TimeLimits {
    TimeLimits {
        first_byte: Duration::from_millis(100),
        idle: Duration::from_millis(100),
        total: Duration::from_millis(400),
        max_bytes: 4096,
        ..TimeLimits::default()
    }
}

/// The limits of a request to a provider that does this: those that nothing else ends are short, and a busy machine has time for the others.
fn limits(act: &Act) -> TimeLimits {
    match act {
        Act::Hang(_) | Act::Flood(..) => short(),
        Act::Say(_) | Act::Reset => TimeLimits { max_bytes: short().max_bytes, ..TimeLimits::default() },
    }
}

/// What becomes of one request to a provider that does this; secrets must never show.
async fn complete(act: Act) -> Result<LlmResponse, LlmError> {
    let limits = limits(&act);
    let provider = Provider::start([act]).await;
    let result = client(&provider).limits(limits).complete(LlmRequest::default()).await;
    assert!(!format!("{result:?}").contains(KEY), "{result:?}");
    result
}

async fn stream(act: Act) -> (Result<LlmResponse, LlmError>, Vec<String>) {
    let limits = limits(&act);
    let provider = Provider::start([act]).await;
    let (sink, notes) = notes();
    let result = client(&provider).limits(limits).stream(LlmRequest::default(), sink).await;
    assert!(!format!("{result:?}").contains(KEY), "{result:?}");
    let notes = notes.lock().clone();
    (result, notes)
}

fn chunk(delta: Json, finish: Option<&str>) -> Json {
    json!({"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
}

#[test]
fn requests_are_spelled_as_the_protocol_says() {
    let mut expected = json!({"model": "m", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Find it"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{\"q\":\"a\"}"}},
            {"id": "c2", "type": "function", "function": {"name": "search", "arguments": "{oops"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "[1,2]"},
        {"role": "tool", "tool_call_id": "c2", "content": "{\"error\":\"Invalid JSON arguments: x\"}"},
        {"role": "user", "content": "Go on"}],
        "tools": [{"type": "function", "function": {"name": "search", "description": "Searches",
            "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}}],
        "tool_choice": "auto", "max_tokens": 100, "temperature": 0.7});
    assert_eq!(body("m", &full_request(), 0, false).to_string(), expected.to_string());
    let made = body("m", &full_request(), NEW_MAX_TOKENS | NO_NULL_CONTENT | VALID_ARGUMENTS, true);
    expected["messages"][2]["content"] = "".into();
    expected["messages"][2]["tool_calls"][1]["function"]["arguments"] = "{\"invalid_json\":\"{oops\"}".into();
    let object = expected.as_object_mut().unwrap();
    object.remove("max_tokens");
    object.insert("max_completion_tokens".into(), 100.into());
    object.insert("stream".into(), true.into());
    object.insert("stream_options".into(), json!({"include_usage": true}));
    assert_eq!(made, expected);
}

#[test]
fn schemas_are_sent_in_three_ways() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let request = LlmRequest { schema: Some(schema), ..LlmRequest::default() };
    let full = body("m", &request, 0, false);
    let strict = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": ["integer", "null"]}},
        "additionalProperties": false});
    assert_eq!(
        full["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": strict, "strict": true}})
    );
    let map = LlmRequest { schema: Some(json!({"type": "object"})), ..LlmRequest::default() };
    assert_eq!(body("m", &map, 0, false)["response_format"]["json_schema"]["strict"], json!(false));
    assert_eq!(full["messages"], json!([]));
    let object = body("m", &request, NO_SCHEMA, false);
    assert_eq!(object["response_format"], json!({"type": "json_object"}));
    let told = object["messages"][0]["content"].as_str().unwrap();
    assert!(told.starts_with("Answer only with a JSON object that satisfies this JSON Schema:\n{"), "{told}");
    let none = body("m", &request, NO_SCHEMA | NO_FORMAT, false);
    assert_eq!(none.get("response_format"), None);
}

#[tokio::test]
async fn the_key_goes_into_the_header_and_nowhere_else() {
    let provider = Provider::start([answer("401 No", &format!("{{\"error\":\"bad key {KEY}\"}}"))]).await;
    let client = client(&provider);
    assert!(!format!("{client:?}").contains(KEY));
    let error = client.complete(LlmRequest::default()).await.unwrap_err();
    assert_eq!((error.kind, error.status), (LlmErrorKind::Auth, Some(401)));
    assert_eq!(error.to_string(), "status 401: bad key [REDACTED]");
    let head = &provider.seen()[0].head;
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}")), "{head}");
}

#[tokio::test]
async fn answers_in_one_piece_are_read() {
    let response = complete(ok(&json!({"choices": [{"finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{\"a\":1}"}},
            {"id": "c", "type": "function", "function": {"name": "u", "arguments": "{oops"}},
            {"type": "function", "function": {"name": "v", "arguments": {"b": 2}}}]}}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3},
            "cost": 0.25}})))
    .await
    .unwrap();
    let usage = Usage { input: 5, output: 2, cache_creation: 0, cache_read: 3, total_cost: Some(0.25) };
    assert_eq!(response.usage, Some(usage));
    assert_eq!((response.content.as_deref(), response.stop), (None, StopReason::ToolCalls));
    let ids: Vec<_> = response.tool_calls.iter().map(|call| call.id.as_deref()).collect();
    assert_eq!(ids, [Some("c"), Some("c"), None], "repeated and missing ids are the loop's to mend");
    let [first, second, third] = &response.tool_calls[..] else { panic!("{response:?}") };
    assert_eq!(first.args["a"], 1);
    assert_eq!(second.args_error.as_ref().unwrap().text, "{oops");
    assert_eq!(third.args["b"], 2);
}

#[tokio::test]
async fn other_spellings_of_text_and_ends_are_understood() {
    let response = |message: Json, finish: &str| {
        complete(ok(&json!({"choices": [{"finish_reason": finish, "message": message}]})))
    };
    let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let found = response(json!({"content": parts}), "stop").await.unwrap();
    assert_eq!((found.content.as_deref(), found.stop, found.usage), (Some("ab"), StopReason::End, None));
    let found = response(json!({"content": null, "refusal": "no"}), "stop").await.unwrap();
    assert_eq!((found.content.as_deref(), found.stop), (Some("no"), StopReason::Refusal));
    let calls = json!([{"id": "c", "function": {"name": "t", "arguments": "{\"a\":"}}]);
    let found = response(json!({"content": "", "tool_calls": calls}), "length").await.unwrap();
    assert_eq!(found.stop, StopReason::Length);
    let detail = &found.tool_calls[0].args_error.as_ref().unwrap().detail;
    assert!(detail.ends_with("(the answer was cut at its longest length)"), "{detail}");
    let calls = json!([{"id": "c", "function": {"name": "t", "arguments": ""}}]);
    let found = response(json!({"content": null, "tool_calls": calls}), "stop").await.unwrap();
    assert_eq!((found.stop, found.tool_calls[0].args.len()), (StopReason::ToolCalls, 0));
}

#[tokio::test]
async fn every_bad_answer_ends_in_its_own_way() {
    let huge = format!("{{\"choices\":[],\"x\":\"{}\"}}", "x".repeat(5000));
    let gateway = json!({"error": {"message": "upstream is full", "code": 429}});
    for (act, kind, text) in [
        (Act::Reset, LlmErrorKind::Network, "connection closed"),
        (Act::Say(String::new()), LlmErrorKind::Network, "connection closed"),
        (
            Act::Say("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"choi".into()),
            LlmErrorKind::Network,
            "connection closed",
        ),
        (Act::Hang(String::new()), LlmErrorKind::Timeout, "no answer within 100 ms"),
        (
            Act::Hang("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"choi".into()),
            LlmErrorKind::Timeout,
            "the answer stopped for 100 ms",
        ),
        (answer("200 OK", &huge), LlmErrorKind::Malformed, "response exceeded 4096 bytes"),
        (
            Act::Flood("HTTP/1.1 200 OK\r\n\r\n".into(), " ".repeat(1000)),
            LlmErrorKind::Malformed,
            "response exceeded 4096 bytes",
        ),
        (answer("200 OK", "<html>"), LlmErrorKind::Malformed, "the answer is not JSON"),
        (answer("200 OK", "{}"), LlmErrorKind::Malformed, "the answer is no chat completion: {}"),
        (ok(&json!({"choices": []})), LlmErrorKind::Malformed, "the answer has no choices"),
        (ok(&json!({"choices": [{}]})), LlmErrorKind::Malformed, "the answer has a choice without a message"),
        (ok(&gateway), LlmErrorKind::RateLimit, "the endpoint reports an error: upstream is full"),
        (answer("503 No", "busy"), LlmErrorKind::Server, "status 503: busy"),
        (
            answer("404 No", "{\"error\":{\"message\":\"no model m\"}}"),
            LlmErrorKind::InvalidRequest,
            "status 404",
        ),
    ] {
        let error = complete(act).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.starts_with(text), "{error} instead of {text}");
    }
}

#[tokio::test]
async fn throttling_says_when_to_come_back() {
    let error = complete(answer("429 No\r\nretry-after: 7", "slow down")).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::RateLimit);
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn nobody_listening_is_a_network_error() {
    let provider = Provider::start([Act::Reset]).await;
    let base = provider.base.clone();
    drop(provider);
    // The port may be taken again by another test, which then closes; either way no answer comes.
    let client = OpenAi::new(&base, "m", None).unwrap().limits(short());
    let error = client.complete(LlmRequest::default()).await.unwrap_err();
    assert!(matches!(error.kind, LlmErrorKind::Network | LlmErrorKind::InvalidRequest), "{error:?}");
}

#[tokio::test]
async fn a_deadline_ends_the_wait() {
    let provider = Provider::start([Act::Hang(String::new())]).await;
    let deadline = Some(tokio::time::Instant::now() + Duration::from_millis(50));
    let error =
        client(&provider).complete(LlmRequest { deadline, ..LlmRequest::default() }).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Timeout);
    assert!(error.message.starts_with("the deadline passed"), "{error}");
    let provider = Provider::start([ok(&json!({"choices": [{"message": {"content": "x"}}]}))]).await;
    let endless = TimeLimits {
        connect: Duration::MAX,
        first_byte: Duration::MAX,
        idle: Duration::MAX,
        total: Duration::MAX,
        max_bytes: usize::MAX,
    };
    let response = client(&provider).limits(endless).complete(LlmRequest::default()).await;
    assert_eq!(response.unwrap().content.as_deref(), Some("x"), "for ever is no overflow");
}

#[tokio::test]
async fn streams_are_joined() {
    let call = |index: u64, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut call = json!({"index": index, "function": {"arguments": arguments}});
        if let Some(id) = id {
            call["id"] = id.into();
        }
        if let Some(name) = name {
            call["function"]["name"] = name.into();
        }
        chunk(json!({"tool_calls": [call]}), None)
    };
    let (response, notes) = stream(Act::Say(events(&[
        chunk(json!({"role": "assistant", "content": ""}), None),
        chunk(json!({"reasoning_content": "hm"}), None),
        chunk(json!({"content": "Let me "}), None),
        chunk(json!({"content": "look"}), None),
        call(0, Some("a"), Some("t"), ""),
        call(1, Some("b"), Some("u"), "{\"x\""),
        call(0, None, None, "{}"),
        call(1, Some("b"), None, ":1}"),
        chunk(json!({}), Some("tool_calls")),
        json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
        "[DONE]".into(),
    ])))
    .await;
    let response = response.unwrap();
    assert_eq!(response.content.as_deref(), Some("Let me look"));
    assert_eq!((response.stop, response.usage.unwrap().input), (StopReason::ToolCalls, 5));
    let calls: Vec<_> = response
        .tool_calls
        .iter()
        .map(|call| (call.id.as_deref().unwrap(), &*call.name, call.arguments_text()))
        .collect();
    assert_eq!(calls, [("a", "t", "{}".to_owned()), ("b", "u", "{\"x\":1}".to_owned())]);
    assert_eq!(
        notes,
        [
            "reasoning hm",
            "text Let me ",
            "text look",
            "call 0 t",
            "call 1 u",
            "arguments 1 {\"x\"",
            "arguments 0 {}",
            "arguments 1 :1}"
        ]
    );
}

#[tokio::test]
async fn calls_without_proper_numbers_are_told_apart() {
    let whole = |number: Option<u64>, id: Option<&str>, name: &str| {
        let mut call = json!({"function": {"name": name, "arguments": "{}"}});
        if let Some(number) = number {
            call["index"] = number.into();
        }
        if let Some(id) = id {
            call["id"] = id.into();
        }
        chunk(json!({"tool_calls": [call]}), None)
    };
    for (first, second) in [
        (whole(Some(0), Some("a"), "t"), whole(Some(0), Some("b"), "u")),
        (whole(None, Some("a"), "t"), whole(None, Some("b"), "u")),
        (whole(None, None, "t"), whole(None, None, "u")),
    ] {
        let act = Act::Say(events(&[first, second, chunk(json!({}), Some("stop"))]));
        let response = stream(act).await.0.unwrap();
        let names: Vec<_> = response.tool_calls.iter().map(|call| (&*call.name, call.args.len())).collect();
        assert_eq!(names, [("t", 0), ("u", 0)]);
    }
}

#[tokio::test]
async fn every_bad_stream_ends_in_its_own_way() {
    let text = chunk(json!({"content": "half"}), None);
    let whole = events(std::slice::from_ref(&text));
    let many: Vec<Json> = (0..1025)
        .map(|index| chunk(json!({"tool_calls": [{"index": index, "function": {"name": "t"}}]}), None))
        .collect();
    let ended = "the stream ended before the answer was complete";
    for (act, kind, expected) in [
        (Act::Say(whole.clone()), LlmErrorKind::Network, ended),
        (Act::Say(format!("{whole}data: {{\"choices\":[{{\"del")), LlmErrorKind::Network, ended),
        (Act::Hang(whole.clone()), LlmErrorKind::Timeout, "the answer stopped for 100 ms"),
        (
            Act::Flood(whole.clone(), ": ping\n".into()),
            LlmErrorKind::Malformed,
            "response exceeded 4096 bytes",
        ),
        (
            Act::Say(format!("{whole}data: {{oops\n\n")),
            LlmErrorKind::Malformed,
            "an event of the stream is not JSON",
        ),
        (Act::Say(format!("{STREAM}data: [DONE]\n\n")), LlmErrorKind::Malformed, "the answer has no choices"),
        (
            Act::Say(events(&[text.clone(), json!({"error": {"message": format!("overloaded {KEY}")}})])),
            LlmErrorKind::Server,
            "the endpoint reports an error: overloaded [REDACTED]",
        ),
        (
            Act::Say(events(&[text, chunk(json!({}), Some("error"))])),
            LlmErrorKind::Server,
            "the endpoint broke the answer off with an error",
        ),
    ] {
        let error = stream(act).await.0.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.starts_with(expected), "{error} instead of {expected}");
    }
    let provider = Provider::start([Act::Say(events(&many))]).await;
    let error = client(&provider).stream(LlmRequest::default(), notes().0).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer has more than 1024 tool calls");
}

#[tokio::test]
async fn a_whole_answer_has_as_many_calls_as_a_streamed_one() {
    let calls: Vec<Json> =
        (0..1025).map(|n| json!({"id": format!("c{n}"), "function": {"name": "t"}})).collect();
    let body = json!({"choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": calls}}]});
    let provider = Provider::start([ok(&body)]).await;
    let error = client(&provider).complete(LlmRequest::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the answer has more than 1024 tool calls");
}

#[tokio::test]
async fn the_callers_deadline_is_told_as_such() {
    let half = events(&[chunk(json!({"content": "half"}), None)]);
    for act in [Act::Hang(String::new()), Act::Hang("HTTP/1.1 200 OK\r\n".into()), Act::Hang(half)] {
        let provider = Provider::start([act]).await;
        let deadline = Some(tokio::time::Instant::now() + Duration::from_millis(60));
        let request = LlmRequest { deadline, ..LlmRequest::default() };
        for streamed in [false, true] {
            let request = request.clone();
            let asked = match streamed {
                true => client(&provider).stream(request, notes().0).await,
                false => client(&provider).complete(request).await,
            };
            let error = asked.unwrap_err();
            assert_eq!(
                (error.kind, error.message.as_str()),
                (LlmErrorKind::Timeout, "the deadline passed before the answer was complete")
            );
        }
    }
}

#[tokio::test]
async fn a_complete_answer_does_not_wait_for_the_end_of_its_stream() {
    let done = events(&[chunk(json!({"content": "all"}), None), chunk(json!({}), Some("stop"))]);
    for act in [Act::Hang(done.clone()), Act::Flood(done.clone(), ": ping\n".into()), Act::Say(done)] {
        assert_eq!(stream(act).await.0.unwrap().content.as_deref(), Some("all"));
    }
}

#[tokio::test]
async fn an_endpoint_that_does_not_stream_is_understood() {
    let body = json!({"choices": [{"finish_reason": "stop", "message": {"content": "all"}}]});
    let (response, notes) = stream(ok(&body)).await;
    assert_eq!(response.unwrap().content.as_deref(), Some("all"));
    assert_eq!(notes, ["text all"]);
}

#[tokio::test]
async fn what_an_endpoint_refuses_is_said_in_another_way() {
    let refuse = |text: &str| answer("400 Bad Request", &json!({"error": {"message": text}}).to_string());
    let fine = ok(&json!({"choices": [{"finish_reason": "stop", "message": {"content": "{}"}}]}));
    let provider = Provider::start([
        refuse("response_format.type json_schema is not supported"),
        refuse("'response_format' is not supported"),
        refuse("Unknown field: stream_options"),
        fine,
    ])
    .await;
    let client = client(&provider);
    let request = LlmRequest { schema: Some(json!({"type": "object"})), ..full_request() };
    client.stream(request.clone(), notes().0).await.unwrap();
    client.stream(request, notes().0).await.unwrap();
    let formats: Vec<_> = provider
        .seen()
        .iter()
        .map(|seen| {
            (
                seen.body["response_format"]["type"].as_str().map(str::to_owned),
                seen.body.get("stream_options").is_some(),
            )
        })
        .collect();
    let format = |name: &str| Some(name.to_owned());
    assert_eq!(
        formats,
        [
            (format("json_schema"), true),
            (format("json_object"), true),
            (None, true),
            (None, false),
            (None, false)
        ],
        "and the client remembers"
    );
    let provider = Provider::start([refuse("max_tokens: too many")]).await;
    let error = self::client(&provider).complete(full_request()).await.unwrap_err();
    assert_eq!((error.status, provider.seen().len()), (Some(400), 1), "no detail to give in on");
}

proptest::proptest! {
    #[test]
    fn no_answer_makes_a_reader_panic(
        whole in any_answer(),
        deltas in proptest::collection::vec(any_answer(), 0..6),
    ) {
        let endpoint = Endpoint::new("http://h", &[]).unwrap();
        for content in [&whole, &json!({"choices": [{"message": whole, "finish_reason": "stop"}], "usage": whole})] {
            let _ = read(content, &endpoint);
        }
        let mut reader = ChunkJoiner::new(notes().0);
        for delta in &deltas {
            for event in [delta.clone(), json!({"choices": [{"delta": delta}]}), json!({"choices": [{"delta": {"tool_calls": [delta]}}]})] {
                let _ = reader.event(&event.to_string());
            }
        }
        let _ = reader.finish();
    }
}
