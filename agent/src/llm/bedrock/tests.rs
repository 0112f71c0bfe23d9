use super::concession::{NO_CACHE, NO_FORCED_TOOL, NO_STATUS};
use super::request::RequestVariant;
use super::response::read;
use super::sign::Signer;
use super::{AwsCredentials, Bedrock, address};
use crate::llm::endpoint::Endpoint;
use crate::llm::testing::{
    Act, PNG_BASE64, Provider, answer, any_answer, full_request, notes, ok, with_images,
};
use crate::llm::{Image, Llm, LlmErrorKind, LlmRequest, Message, StopReason, Usage};
use ptc_base::json::{Value as Json, json};
use ptc_base::secret::Secret;

const MODEL: &str = "anthropic.claude-3-haiku-20240307-v1:0";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn keys(token: Option<&str>) -> AwsCredentials {
    AwsCredentials::Keys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_key: Secret::new(SECRET),
        session_token: token.map(Secret::new),
    }
}

fn client(provider: &Provider) -> Bedrock {
    Bedrock::new("eu-central-1", MODEL, Some(&provider.base), keys(None)).unwrap()
}

fn asks(schema: Option<Json>) -> LlmRequest {
    LlmRequest { messages: vec![Message::user("hi")], schema, ..LlmRequest::default() }
}

fn message(content: Json, stop: &str) -> Json {
    json!({"output": {"message": {"role": "assistant", "content": content}}, "stopReason": stop,
        "usage": {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7}, "metrics": {"latencyMs": 1}})
}

fn refused(status: &str, text: &str) -> Act {
    answer(status, &json!({"message": text}).to_string())
}

/// What botocore 1.44 signs for the same requests, keys and clock.
#[test]
fn signatures_are_those_of_botocore() {
    let now = "2026-05-04T09:08:07Z".parse().unwrap();
    let body = "{\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":\"hé\"}]}]}".as_bytes();
    let secret_key = &Secret::new(SECRET);
    let arn = "arn:aws:bedrock:eu-central-1:1:inference-profile/x";
    for (base, model, token, expected) in [
        (
            "https://bedrock-runtime.eu-central-1.amazonaws.com",
            MODEL,
            None,
            "SignedHeaders=content-type;host;x-amz-date, \
             Signature=79f1adfedaa80b3b816589263e9b733b30330ae94e93109d476282e9162e86d4",
        ),
        (
            "http://127.0.0.1:8080/",
            arn,
            Some("TOKEN/with+more=="),
            "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, \
             Signature=255d5b2ea17c4556e77193fbcc0cfe8e54c4677b8165b0c591bb49028e222082",
        ),
    ] {
        let token = token.map(Secret::new);
        let (region, service, access_key_id) = ("eu-central-1", "bedrock", "AKIDEXAMPLE");
        let signer = Signer { region, service, access_key_id, secret_key, session_token: token.as_ref() };
        let headers = signer.headers(&address(base, model).unwrap(), body, now).unwrap();
        let start = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260504/eu-central-1/bedrock/aws4_request, ";
        assert_eq!(headers["authorization"], format!("{start}{expected}"));
        assert_eq!(headers["x-amz-date"], "20260504T090807Z");
        assert_eq!(headers.contains_key("x-amz-security-token"), token.is_some());
        assert!(!format!("{headers:?}").contains("TOKEN"), "{headers:?}");
    }
}

#[test]
fn requests_are_spelled_as_the_protocol_says() {
    let request = full_request();
    let expected = json!({"messages": [
        {"role": "user", "content": [{"text": "Find it"}]},
        {"role": "assistant", "content": [
            {"toolUse": {"toolUseId": "c1", "name": "search", "input": {"q": "a"}}},
            {"toolUse": {"toolUseId": "c2", "name": "search", "input": {"invalid_json": "{oops"}}}]},
        {"role": "user", "content": [
            {"toolResult": {"toolUseId": "c1", "content": [{"text": "[1,2]"}]}},
            {"toolResult": {"toolUseId": "c2",
                "content": [{"text": "{\"error\":\"Invalid JSON arguments: x\"}"}], "status": "error"}},
            {"text": "Go on"}]}],
        "system": [{"text": "Be brief."}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "search",
            "inputSchema": {"json": {"type": "object", "properties": {"q": {"type": "string"}}}},
            "description": "Searches"}}]},
        "inferenceConfig": {"maxTokens": 100, "temperature": 0.7}});
    let body = |made| RequestVariant::new(MODEL, &request, made).body().unwrap();
    assert_eq!(body(0).to_string(), expected.to_string());
    assert!(!body(NO_STATUS).to_string().contains("status"));
    let nothing = LlmRequest::default();
    let error = RequestVariant::new(MODEL, &nothing, 0).body().unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::InvalidRequest);
}

#[test]
fn caching_marks_system_tools_and_the_last_message_of_claude() {
    let request = LlmRequest { cache: true, ..full_request() };
    let marks = |model: &str, made| {
        RequestVariant::new(model, &request, made).body().unwrap().to_string().matches("cachePoint").count()
    };
    assert_eq!((marks(MODEL, 0), marks(MODEL, NO_CACHE), marks("amazon.nova-lite-v1:0", 0)), (3, 0, 0));
}

#[test]
fn ids_of_elsewhere_fit() {
    let id = format!("{}:x", "a".repeat(100));
    let call = crate::llm::ToolCallMsg { id: id.clone(), name: "t".into(), arguments: String::new() };
    let messages = vec![Message::user("hi"), Message::calls(" ", vec![call]), Message::tool(&id, "")];
    let request = LlmRequest { messages, ..LlmRequest::default() };
    let body = RequestVariant::new(MODEL, &request, 0).body().unwrap();
    let wire = format!("{}_x", "a".repeat(62));
    assert_eq!(body["messages"][1]["content"][0]["toolUse"]["toolUseId"], wire);
    assert_eq!(
        body["messages"][2]["content"][0]["toolResult"],
        json!({"toolUseId": wire, "content": [{"text": "(nothing)"}]})
    );
}

#[test]
fn images_are_bytes_or_objects_of_s3() {
    let mut messages = with_images();
    let request = LlmRequest { messages: messages.clone(), ..LlmRequest::default() };
    let error = RequestVariant::new(MODEL, &request, 0).body().unwrap_err();
    assert!(error.message.starts_with("Bedrock fetches no images from the web"), "{error}");
    if let Message::User { images, .. } = &mut messages[0] {
        images[0] = Image::from_url("s3://bucket/cat.JPG").unwrap();
    }
    let request = LlmRequest { messages, ..LlmRequest::default() };
    let body = RequestVariant::new(MODEL, &request, 0).body().unwrap();
    let png = json!({"image": {"format": "png", "source": {"bytes": PNG_BASE64}}});
    assert_eq!(
        body["messages"][0]["content"],
        json!([{"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/cat.JPG"}}}},
            png.clone(), {"text": "What is it?"}])
    );
    assert_eq!(
        body["messages"][2]["content"][0]["toolResult"]["content"],
        json!([{"text": "[image 1]"}, png])
    );
}

#[tokio::test]
async fn answers_are_read_and_signed_thinking_goes_back() {
    let thought = json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}});
    let content = json!([thought, {"text": "Let me look"},
        {"toolUse": {"toolUseId": "c", "name": "t", "input": {"a": 1}}},
        {"image": {"format": "png", "source": {"bytes": PNG_BASE64}}}]);
    let mut given = message(content, "tool_use");
    given["usage"]["cacheReadInputTokens"] = 20.into();
    given["usage"]["cacheWriteInputTokens"] = 10.into();
    let provider = Provider::start([ok(&given)]).await;
    let client = client(&provider);
    assert!(!format!("{client:?}").contains(SECRET));
    let (sink, notes) = notes();
    let response = client.stream(asks(None), sink).await.unwrap();
    assert_eq!((response.content.as_deref(), response.stop), (Some("Let me look"), StopReason::ToolCalls));
    assert_eq!((&*response.tool_calls[0].name, &response.tool_calls[0].args["a"]), ("t", &json!(1)));
    assert_eq!(response.images.len(), 1);
    let usage = Usage { input: 35, output: 2, cache_creation: 10, cache_read: 20, total_cost: None };
    assert_eq!(response.usage, Some(usage));
    assert_eq!(*notes.lock(), ["text Let me look", "call 0 t", "arguments 0 {\"a\":1}"]);
    let head = provider.seen()[0].head.clone();
    let line = "POST /model/anthropic.claude-3-haiku-20240307-v1%3A0/converse HTTP/1.1";
    assert!(head.starts_with(line), "{head}");
    assert!(head.contains("authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{head}");
    let said = Message::Assistant {
        content: "Let me look".into(),
        tool_calls: Vec::new(),
        images: Vec::new(),
        provider_state: response.provider_state,
    };
    let request = LlmRequest { messages: vec![said], ..LlmRequest::default() };
    let body = RequestVariant::new(MODEL, &request, 0).body().unwrap();
    assert_eq!(body["messages"][0]["content"], json!([thought, {"text": "Let me look"}]));
}

#[test]
fn a_call_within_which_the_answer_was_cut_has_no_arguments() {
    let endpoint = Endpoint::new("http://h", &[]).unwrap();
    let call = |id: &str| json!({"toolUse": {"toolUseId": id, "name": "t", "input": {"n": 1}}});
    let cut = message(json!([call("a"), call("b")]), "max_tokens");
    let calls = read(&cut, None, &endpoint).unwrap().tool_calls;
    assert!(calls[0].args_error.is_none() && calls[1].args.is_empty());
    assert!(calls[1].args_error.as_ref().unwrap().detail.starts_with("they are not complete"));
}

#[tokio::test]
async fn a_token_stands_for_the_signature() {
    let provider = Provider::start([ok(&message(json!([{"text": "x"}]), "end_turn"))]).await;
    let token = AwsCredentials::Bearer(Secret::new("bedrock-api-key-x"));
    let client = Bedrock::new("eu-central-1", MODEL, Some(&provider.base), token).unwrap();
    assert_eq!(client.complete(asks(None)).await.unwrap().stop, StopReason::End);
    let head = provider.seen()[0].head.clone();
    assert!(
        head.contains("authorization: Bearer bedrock-api-key-x") && !head.contains("x-amz-date"),
        "{head}"
    );
}

#[tokio::test]
async fn refusals_are_classed() {
    for (status, kind) in [
        ("429 No", LlmErrorKind::RateLimit),
        ("503 No", LlmErrorKind::Server),
        ("424 No", LlmErrorKind::Server),
        ("408 No", LlmErrorKind::Timeout),
        ("403 No", LlmErrorKind::Auth),
        ("400 No", LlmErrorKind::InvalidRequest),
    ] {
        let provider = Provider::start([refused(status, &format!("no {SECRET}"))]).await;
        let error = client(&provider).complete(asks(None)).await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.ends_with("no [REDACTED]"), "{error}");
    }
    let provider = Provider::start([ok(&json!({"Output": {}}))]).await;
    let error = client(&provider).complete(asks(None)).await.unwrap_err();
    assert_eq!(error.kind, LlmErrorKind::Malformed);
}

#[tokio::test]
async fn what_a_model_does_not_know_is_said_in_another_way() {
    let fine = ok(&message(json!([{"text": "{\"n\":7}"}]), "end_turn"));
    let provider = Provider::start([
        refused("400 No", "The model doesn't support the toolConfig.toolChoice.tool field."),
        refused("400 No", "Your request did not allow prompt caching"),
        fine.clone(),
    ])
    .await;
    let client = client(&provider);
    let request = LlmRequest { cache: true, ..asks(Some(json!({"type": "object"}))) };
    assert_eq!(client.complete(request).await.unwrap().content.as_deref(), Some("{\"n\":7}"));
    let seen = provider.seen();
    assert_eq!(seen[0].body["toolConfig"]["toolChoice"], json!({"tool": {"name": "answer"}}));
    assert!(seen[1].body.get("toolConfig").is_none() && seen[1].body.to_string().contains("cachePoint"));
    assert!(!seen[2].body.to_string().contains("cachePoint"));
    assert_eq!(client.concessions.made(), NO_FORCED_TOOL | NO_CACHE);

    let blind = refused("400 No", "This model doesn't support the image content block that you provided.");
    let provider = Provider::start([blind, fine]).await;
    let client = self::client(&provider);
    let mut messages = with_images();
    messages[0] = Message::user("What is it?");
    client.complete(LlmRequest { messages, ..LlmRequest::default() }).await.unwrap();
    assert!(!client.sees_images() && !provider.seen()[1].body.to_string().contains(PNG_BASE64));
}

#[tokio::test]
async fn an_answer_with_a_schema_is_the_forced_tools_arguments() {
    let call = |name: &str| json!({"toolUse": {"toolUseId": "c", "name": name, "input": {"n": 7}}});
    let provider = Provider::start([
        ok(&message(json!([call("answer")]), "tool_use")),
        ok(&message(json!([call("answer"), call("search")]), "tool_use")),
    ])
    .await;
    let client = client(&provider);
    let response = client.complete(asks(Some(json!({"type": "object"})))).await.unwrap();
    assert_eq!((response.content.as_deref(), response.stop), (Some("{\"n\":7}"), StopReason::End));
    let request = LlmRequest { schema: Some(json!({"type": "object"})), ..full_request() };
    let response = client.complete(request).await.unwrap();
    assert_eq!((response.content, response.tool_calls.len()), (None, 1), "an early answer does not count");
    assert_eq!(provider.seen()[1].body["toolConfig"]["toolChoice"], json!({"any": {}}));
}

#[test]
fn regions_have_addresses() {
    let at = |region: &str| address(&super::own_address(region), "m/x:0").unwrap().to_string();
    assert_eq!(at("eu-west-1"), "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m%2Fx%3A0/converse");
    assert!(at("cn-north-1").starts_with("https://bedrock-runtime.cn-north-1.amazonaws.com.cn/"));
}

proptest::proptest! {
    #[test]
    fn no_answer_makes_the_reader_panic(given in any_answer()) {
        let endpoint = Endpoint::new("http://h", &[]).unwrap();
        let blocks = json!([given, {"toolUse": given}, {"image": {"source": {"bytes": given}}}]);
        for answer in [&given, &message(blocks, "tool_use"), &json!({"usage": given, "output": given})] {
            let _ = read(answer, Some("answer"), &endpoint);
        }
    }
}
