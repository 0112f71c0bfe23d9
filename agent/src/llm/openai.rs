//! Chat completions of endpoints that speak OpenAI's protocol (agent.md 11). No streaming: the text comes at once.

use super::{Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse, Message, StopReason, ToolCall, Usage};
use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use ptc_host::http::{Client, HttpError, Limits, Request, Target};
use serde_json::{Value as Json, json};
use std::fmt;
use std::time::Duration;
use url::Url;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Largest answer.
const MAX_BYTES: usize = 16 << 20;

/// A model behind `POST {base}/chat/completions`.
#[derive(Clone)]
pub struct OpenAi {
    http: Client,
    target: Target,
    /// Marked as sensitive: no `Debug` shows it.
    key: Option<HeaderValue>,
    model: String,
}

impl fmt::Debug for OpenAi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAi").field("model", &self.model).finish_non_exhaustive()
    }
}

impl OpenAi {
    /// A client for `base`, with or without `/v1` at its end, with the key if the endpoint wants one.
    ///
    /// # Errors
    /// A base that is no URL, or a key that is no header value. The text does not show the key.
    pub fn new(base: &str, model: impl Into<String>, key: Option<&str>) -> Result<OpenAi, LlmError> {
        let bad = |what: String| LlmError::new(LlmErrorKind::InvalidRequest, what);
        let base = base.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        let url = Url::parse(&format!("{base}/v1/chat/completions"))
            .map_err(|error| bad(format!("the base URL cannot be read: {error}")))?;
        let target = Target::new(&url).map_err(|error| bad(error.to_string()))?;
        let key = match key {
            None => None,
            Some(key) => {
                let mut value = HeaderValue::try_from(format!("Bearer {key}"))
                    .map_err(|_| bad("the key cannot be sent in a header".into()))?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(OpenAi { http: Client::new(), target, key, model: model.into() })
    }

    async fn send(&self, body: Vec<u8>) -> Result<LlmResponse, LlmError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.clone());
        }
        let request =
            Request { method: Method::POST, target: self.target.clone(), headers, body: body.into() };
        let limits = Limits {
            connect: Duration::from_secs(10),
            first_byte: None,
            total: TIMEOUT,
            deadline: tokio::time::Instant::now() + TIMEOUT,
            max_bytes: MAX_BYTES,
        };
        let response = self.http.send(request, &limits).await.map_err(|error| network(&error))?;
        let (status, headers) = (response.status, response.headers);
        if !status.is_success() {
            return Err(self.refused(status, &headers, &response.body.beginning(8192).await));
        }
        let bytes = response.body.collect().await.map_err(|error| network(&error))?;
        let json = serde_json::from_slice(&bytes).ok().and_then(|json| read(&json));
        json.ok_or_else(|| LlmError::new(LlmErrorKind::Malformed, "the answer is no chat completion"))
    }

    fn refused(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> LlmError {
        let kind = match status.as_u16() {
            429 => LlmErrorKind::RateLimit,
            401 | 403 => LlmErrorKind::Auth,
            408 => LlmErrorKind::Timeout,
            500.. => LlmErrorKind::Server,
            _ => LlmErrorKind::InvalidRequest,
        };
        let mut excerpt = String::from_utf8_lossy(body).into_owned();
        // Some endpoints repeat the key that they refuse.
        let key =
            self.key.as_ref().and_then(|key| key.to_str().ok()).and_then(|key| key.strip_prefix("Bearer "));
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            excerpt = excerpt.replace(key, "[REDACTED]");
        }
        // Cut after redaction, so that no part of a key is left at the edge.
        let excerpt: String = excerpt.trim().chars().take(500).collect();
        let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
        LlmError {
            kind,
            status: Some(status.as_u16()),
            message: format!("status {}: {excerpt}", status.as_u16()),
            retry_after: seconds.map(Duration::from_secs),
        }
    }
}

impl Llm for OpenAi {
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        let model = request.model.as_deref().unwrap_or(&self.model);
        let body = body(model, &request).to_string().into_bytes();
        Box::pin(self.send(body))
    }

    fn model(&self) -> Option<&str> {
        Some(&self.model)
    }
}

fn network(error: &HttpError) -> LlmError {
    let kind = match error {
        HttpError::Timeout | HttpError::Deadline | HttpError::ConnectTimeout => LlmErrorKind::Timeout,
        HttpError::Malformed(_) | HttpError::TooLarge { .. } => LlmErrorKind::Malformed,
        _ => LlmErrorKind::Network,
    };
    LlmError::new(kind, error.to_string())
}

/// The body of a request.
fn body(model: &str, request: &LlmRequest) -> Json {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    messages.extend(request.messages.iter().map(|message| match message {
        Message::Assistant { content, tool_calls } if !tool_calls.is_empty() => {
            let calls = tool_calls.iter().map(|call| {
                json!({"id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments}})
            });
            let content = if content.is_empty() { Json::Null } else { content.as_str().into() };
            json!({"role": "assistant", "content": content, "tool_calls": calls.collect::<Json>()})
        }
        other => json!(other),
    }));
    let mut body = json!({"model": model, "messages": messages});
    if !request.tools.is_empty() {
        body["tools"] =
            request.tools.iter().map(|tool| json!({"type": "function", "function": tool})).collect();
        body["tool_choice"] = "auto".into();
    }
    if let Some(schema) = &request.schema {
        body["response_format"] = json!({"type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": true}});
    }
    if let Some(max) = request.max_tokens {
        body["max_tokens"] = max.into();
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = temperature.into();
    }
    body
}

/// The response in an answer's body; `None` if it has none.
fn read(json: &Json) -> Option<LlmResponse> {
    let choice = json.get("choices")?.get(0)?;
    let message = choice.get("message")?;
    let calls = message.get("tool_calls").and_then(Json::as_array).into_iter().flatten();
    let tool_calls = calls
        .map(|call| {
            let id = call["id"].as_str().map(str::to_owned);
            let function = &call["function"];
            ToolCall::from_text(
                id,
                function["name"].as_str().unwrap_or_default(),
                function["arguments"].as_str().unwrap_or_default(),
            )
        })
        .collect();
    let count = |path: &str| json.pointer(path).and_then(Json::as_u64).unwrap_or(0);
    let stop = match choice["finish_reason"].as_str() {
        Some("stop") => StopReason::End,
        Some("tool_calls") => StopReason::ToolCalls,
        Some("length") => StopReason::Length,
        _ => StopReason::Other,
    };
    Some(LlmResponse {
        content: message["content"].as_str().map(str::to_owned),
        tool_calls,
        usage: json.get("usage").filter(|usage| usage.is_object()).map(|_| Usage {
            input: count("/usage/prompt_tokens"),
            output: count("/usage/completion_tokens"),
            cache_creation: 0,
            cache_read: count("/usage/prompt_tokens_details/cached_tokens"),
            total_cost: json.pointer("/usage/cost").and_then(Json::as_f64),
        }),
        stop,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::{ToolCallMsg, ToolDef};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[test]
    fn requests_are_spelled_as_the_protocol_says() {
        let call = ToolCallMsg { id: "c".into(), name: "t".into(), arguments: "{\"a\":1}".into() };
        let request = LlmRequest {
            system: "s".into(),
            messages: vec![
                Message::User { content: "u".into() },
                Message::Assistant { content: String::new(), tool_calls: vec![call] },
                Message::Tool { tool_call_id: "c".into(), content: "5".into() },
            ],
            tools: vec![ToolDef { name: "t".into(), description: "d".into(), parameters: json!({}) }],
            ..LlmRequest::default()
        };
        let expected = json!({"model": "m", "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "t", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "5"}],
            "tools": [{"type": "function", "function": {"name": "t", "description": "d", "parameters": {}}}],
            "tool_choice": "auto"});
        assert_eq!(body("m", &request), expected);
    }

    /// One exchange with a server that answers with `head` and `body`: the request and the result.
    async fn exchange(head: &str, body: &str) -> (String, Result<LlmResponse, LlmError>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1/", listener.local_addr().unwrap());
        let answer = format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut seen = Vec::new();
            while !seen.ends_with(b"}") {
                stream.read_buf(&mut seen).await.unwrap();
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8(seen).unwrap()
        };
        let client = OpenAi::new(&base, "m", Some("sekrit-key")).unwrap();
        tokio::join!(server, client.complete(LlmRequest::default()))
    }

    #[tokio::test]
    async fn answers_are_read_and_refusals_classed() {
        let answer = json!({"choices": [{"finish_reason": "tool_calls", "message": {"content": null, "tool_calls": [
            {"id": "c", "function": {"name": "t", "arguments": "{oops"}}]}}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}});
        let (request, response) = exchange("200 OK", &answer.to_string()).await;
        assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1"), "{request}");
        assert!(request.contains("Bearer sekrit-key"));
        let response = response.unwrap();
        let usage = response.usage.unwrap();
        assert_eq!((usage.input, usage.cache_read), (5, 3));
        assert_eq!(response.tool_calls[0].arguments_text(), "{oops");
        let (_, refused) = exchange("429 No\r\nretry-after: 7", "slow down, sekrit-key").await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.retry_after, Some(Duration::from_secs(7)));
        assert_eq!(refused.to_string(), "status 429: slow down, [REDACTED]");
        assert_eq!(exchange("200 OK", "{}").await.1.unwrap_err().kind, LlmErrorKind::Malformed);
    }
}
