//! OpenAI's chat completions API (agent.md 11), as spoken by OpenAI, OpenRouter, Groq, Google's compatible endpoint,
//! Ollama, vLLM, llama.cpp and many more.

mod concession;
#[cfg(test)]
mod image_tests;
mod request;
mod response;
mod stream;
mod strict;
#[cfg(test)]
mod tests;

use super::endpoint::{Endpoint, endpoint_client, read_events};
use super::{EventSink, LlmError, LlmRequest, LlmResponse};
use concession::Concessions;
use http::header::AUTHORIZATION;
use ptc_base::secret::Secret;
use std::sync::Arc;

/// A model served at `POST {base}/chat/completions`.
///
/// Endpoints differ in what they accept. A request refused for a detail that has a substitute (`response_format`,
/// `stream_options`, the name of `max_tokens`, …) is sent again without it, and the client remembers.
#[derive(Clone)]
pub struct OpenAi {
    endpoint: Endpoint,
    model: Arc<str>,
    concessions: Arc<Concessions>,
}

endpoint_client!(OpenAi);

impl OpenAi {
    /// A client for `base`, with or without `/v1` at its end, with the key if the endpoint wants one.
    ///
    /// # Errors
    /// A base that is no URL, or a key that is no header value. The text does not show the key.
    pub fn new(base: &str, model: impl Into<String>, key: Option<&Secret>) -> Result<OpenAi, LlmError> {
        let mut endpoint = Endpoint::new(base, &["chat", "completions"])?;
        if let Some(key) = key {
            endpoint.key(AUTHORIZATION, "Bearer ", key)?;
        }
        let concessions = Concessions::default();
        if endpoint.is_openai() {
            // Its newer models insist on the new name, which others may not know.
            concessions.note(concession::NEW_MAX_TOKENS | concession::NO_MADE_IMAGES);
        }
        let model: String = model.into();
        Ok(OpenAi { endpoint, model: model.into(), concessions: Arc::new(concessions) })
    }

    /// Whether images of tool results are sent: until the endpoint refuses them.
    fn takes_images(&self) -> bool {
        self.concessions.made() & concession::NO_TOOL_IMAGES == 0
    }

    async fn ask(&self, request: LlmRequest, sink: Option<EventSink>) -> Result<LlmResponse, LlmError> {
        let model = request.model.as_deref().unwrap_or(&self.model);
        let mut made = self.concessions.made();
        loop {
            let body = request::body(model, &request, made, sink.is_some());
            let error = match self.endpoint.post(&body, sink.is_some(), request.deadline).await {
                Err(error) => error,
                Ok(answer) => {
                    return match sink {
                        Some(sink) if answer.is_stream() => {
                            let mut reader = stream::ChunkJoiner::new(sink);
                            read_events(answer, &self.endpoint, &mut reader).await?;
                            reader.finish()
                        }
                        sink => {
                            let json = answer.json(&self.endpoint).await?;
                            let response = response::read(&json, &self.endpoint)?;
                            if let Some(sink) = sink {
                                response.emit(&sink);
                            }
                            Ok(response)
                        }
                    };
                }
            };
            // Each round makes one more concession, so there is an end.
            let Some(concession) = concession::find(&error, made, &body, &request) else { return Err(error) };
            tracing::debug!(target: "ptc_runner.llm", %error, concession, "the endpoint wants the request in another way");
            made |= concession;
            if concession::lasts(&error, concession) {
                self.concessions.note(concession);
            }
        }
    }
}
