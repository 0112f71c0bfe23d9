//! Google's Gemini, by its own protocol (agent.md 11).

mod request;
mod response;
mod state;
mod stream;
#[cfg(test)]
mod tests;

use super::endpoint::{Address, Endpoint, endpoint_client, joined, read_events};
use super::{EventSink, LlmError, LlmErrorKind, LlmRequest, LlmResponse};
use http::HeaderName;
use ptc_base::secret::Secret;
use std::sync::Arc;

/// The revision of the protocol, where the base URL has none.
const VERSION: &str = "v1beta";

/// A model served at `POST {base}/v1beta/models/{model}:generateContent`.
#[derive(Clone)]
pub struct Gemini {
    endpoint: Endpoint,
    base: Arc<str>,
    model: Arc<str>,
}

endpoint_client!(Gemini);

impl Gemini {
    /// A client for `base`, with or without a version at its end, with the key if the endpoint wants one.
    ///
    /// # Errors
    /// A base that is no URL, or a key that is no header value. The text does not show the key.
    pub fn new(base: &str, model: impl Into<String>, key: Option<&Secret>) -> Result<Gemini, LlmError> {
        let model: String = model.into();
        let mut endpoint = Endpoint::to(&address(base, &model, false)?)?;
        if let Some(key) = key {
            endpoint.key(HeaderName::from_static("x-goog-api-key"), "", key)?;
        }
        Ok(Gemini { endpoint, base: base.into(), model: model.into() })
    }

    /// Every model of this protocol sees images.
    fn takes_images(&self) -> bool {
        true
    }

    async fn ask(&self, request: LlmRequest, sink: Option<EventSink>) -> Result<LlmResponse, LlmError> {
        let model = request.model.as_deref().unwrap_or(&self.model);
        let endpoint = self.endpoint.at(&address(&self.base, model, sink.is_some())?)?;
        let mut body = request::body(model, &request, true)?;
        let mut posted = endpoint.post(&body, sink.is_some(), request.deadline).await;
        // Not every schema can be enforced.
        if let Err(error) = &posted
            && request.schema.is_some()
            && error.kind == LlmErrorKind::InvalidRequest
            && error.message.to_lowercase().contains("schema")
        {
            tracing::debug!(target: "ptc_runner.llm", %error, "the schema is given in words instead");
            body = request::body(model, &request, false)?;
            posted = endpoint.post(&body, sink.is_some(), request.deadline).await;
        }
        let answer = posted.map_err(about_key)?;
        match sink {
            Some(sink) if answer.is_stream() => {
                let mut reader = stream::EventJoiner::new(sink);
                read_events(answer, &endpoint, &mut reader).await?;
                reader.finish()
            }
            sink => {
                let json = answer.json(&endpoint).await?;
                let response = response::read(&json, &endpoint)?;
                if let Some(sink) = sink {
                    response.emit(&sink);
                }
                Ok(response)
            }
        }
    }
}

/// Where a model is asked. A name with a folder (`tunedModels/x`, `publishers/google/models/x`) is a path of its own.
fn address(base: &str, model: &str, stream: bool) -> Result<Address, LlmError> {
    let method = if stream { "streamGenerateContent" } else { "generateContent" };
    let named = format!("{model}:{method}");
    let folder = (!model.contains('/')).then_some("models");
    let path: Vec<&str> = folder.into_iter().chain(named.split('/')).collect();
    let url = joined(base, Some(VERSION), &path)?;
    Ok(if stream { url.with_pair("alt=sse") } else { url })
}

/// A key that is none is refused with status 400 here.
fn about_key(mut error: LlmError) -> LlmError {
    if error.status == Some(400) && error.message.contains("API key") {
        error.kind = LlmErrorKind::Auth;
    }
    error
}
