//! Anthropic's messages (agent.md 11).

mod request;
mod response;
mod stream;
#[cfg(test)]
mod tests;

use super::endpoint::{Endpoint, endpoint_client, read_events};
use super::{EventSink, LlmError, LlmRequest, LlmResponse};
use http::{HeaderName, HeaderValue};
use ptc_base::secret::Secret;
use std::sync::Arc;

/// The revision of the protocol.
const VERSION: &str = "2023-06-01";

/// A model served at `POST {base}/v1/messages`.
#[derive(Clone)]
pub struct Anthropic {
    endpoint: Endpoint,
    model: Arc<str>,
}

endpoint_client!(Anthropic);

impl Anthropic {
    /// A client for `base`, with or without `/v1` at its end, with the key if the endpoint wants one.
    ///
    /// # Errors
    /// A base that is no URL, or a key that is no header value. The text does not show the key.
    pub fn new(base: &str, model: impl Into<String>, key: Option<&Secret>) -> Result<Anthropic, LlmError> {
        let mut endpoint = Endpoint::new(base, &["messages"])?;
        endpoint.header(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        if let Some(key) = key {
            endpoint.key(HeaderName::from_static("x-api-key"), "", key)?;
        }
        let model: String = model.into();
        Ok(Anthropic { endpoint, model: model.into() })
    }

    /// Every model of this protocol sees images.
    fn takes_images(&self) -> bool {
        true
    }

    async fn ask(&self, request: LlmRequest, sink: Option<EventSink>) -> Result<LlmResponse, LlmError> {
        let model = request.model.as_deref().unwrap_or(&self.model);
        let answer_tool = request.schema.is_some().then(|| request::answer_tool(&request));
        let body = request::body(model, &request, answer_tool.as_deref(), sink.is_some())?;
        let answer = self.endpoint.post(&body, sink.is_some(), request.deadline).await?;
        match sink {
            Some(sink) if answer.is_stream() => {
                let mut reader = stream::EventJoiner::new(sink, answer_tool);
                read_events(answer, &self.endpoint, &mut reader).await?;
                reader.finish()
            }
            sink => {
                let json = answer.json(&self.endpoint).await?;
                let response = response::read(&json, answer_tool.as_deref(), &self.endpoint)?;
                if let Some(sink) = sink {
                    response.emit(&sink);
                }
                Ok(response)
            }
        }
    }
}
