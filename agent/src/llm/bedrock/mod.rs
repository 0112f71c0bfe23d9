//! Amazon Bedrock's Converse (agent.md 11), answered in one piece.

mod concession;
mod credentials;
mod request;
mod response;
mod sign;
#[cfg(test)]
mod tests;

pub use credentials::AwsCredentials;

use super::endpoint::{Address, Endpoint, bad_base, endpoint_client, now};
use super::{EventSink, LlmError, LlmErrorKind, LlmRequest, LlmResponse};
use bytes::Bytes;
use concession::Concessions;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use std::sync::Arc;

/// A model served at `POST {base}/model/{model}/converse`.
///
/// Models differ in what they accept. A request refused for a detail that has a substitute (images of tools, cache points, a
/// forced tool) is sent again without it, and the client remembers.
#[derive(Clone)]
pub struct Bedrock {
    endpoint: Endpoint,
    base: Arc<str>,
    region: Arc<str>,
    model: Arc<str>,
    credentials: AwsCredentials,
    concessions: Arc<Concessions>,
}

endpoint_client!(Bedrock);

impl Bedrock {
    /// A client for a model or an inference profile, by id or ARN, in `region`. `base` is another address than the region's
    /// own.
    ///
    /// # Errors
    /// A region or a base that makes no URL, or a token that is no header value. The text shows no key.
    pub fn new(
        region: &str,
        model: impl Into<String>,
        base: Option<&str>,
        credentials: AwsCredentials,
    ) -> Result<Bedrock, LlmError> {
        let model: String = model.into();
        let base = base.map_or_else(|| own_address(region), str::to_owned);
        let mut endpoint = Endpoint::to(&address(&base, &model)?)?;
        match &credentials {
            AwsCredentials::Bearer(token) => endpoint.key(AUTHORIZATION, "Bearer ", token)?,
            AwsCredentials::Keys { secret_key, session_token, .. } => {
                endpoint.secret(secret_key)?;
                session_token.iter().try_for_each(|token| endpoint.secret(token))?;
            }
        }
        let (base, region, model) = (base.into(), region.into(), model.into());
        Ok(Bedrock { endpoint, base, region, model, credentials, concessions: Arc::default() })
    }

    /// Whether images of tool results are sent: until the model refuses them.
    fn takes_images(&self) -> bool {
        self.concessions.made() & concession::NO_TOOL_IMAGES == 0
    }

    async fn ask(&self, request: LlmRequest, sink: Option<EventSink>) -> Result<LlmResponse, LlmError> {
        let model = request.model.as_deref().unwrap_or(&self.model);
        let url = address(&self.base, model)?;
        let endpoint = self.endpoint.at(&url)?;
        let mut made = self.concessions.made();
        loop {
            let asked = request::RequestVariant::new(model, &request, made);
            let body = Bytes::from(asked.body()?.to_string());
            let headers = self.signature(&url, &body)?;
            let error = match endpoint.send(body, headers, false, request.deadline).await {
                Err(error) => refused(error),
                Ok(answer) => {
                    let json = answer.json(&endpoint).await?;
                    let response = response::read(&json, asked.answer_tool(), &endpoint)?;
                    if let Some(sink) = sink {
                        response.emit(&sink);
                    }
                    return Ok(response);
                }
            };
            // Each round makes one more concession, so there is an end.
            let Some(concession) = concession::find(&error, made, &request) else { return Err(error) };
            tracing::debug!(target: "ptc_runner.llm", %error, concession, "the model wants the request in another way");
            made |= concession;
            self.concessions.note(concession);
        }
    }

    /// The headers that sign a body; none if a token replaces the signature.
    fn signature(&self, url: &Address, body: &[u8]) -> Result<HeaderMap, LlmError> {
        let AwsCredentials::Keys { access_key_id, secret_key, session_token } = &self.credentials else {
            return Ok(HeaderMap::new());
        };
        let signer = sign::Signer {
            region: &self.region,
            service: "bedrock",
            access_key_id,
            secret_key,
            session_token: session_token.as_ref(),
        };
        signer.headers(url, body, now()).ok_or_else(|| {
            LlmError::new(LlmErrorKind::Auth, "the AWS keys hold characters that a header cannot carry")
        })
    }
}

/// The address of a region.
fn own_address(region: &str) -> String {
    let china = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://bedrock-runtime.{region}.amazonaws.com{china}")
}

/// Where a model is asked: its id, which may be an ARN, is one segment of the path.
fn address(base: &str, model: &str) -> Result<Address, LlmError> {
    let base = base.trim().trim_end_matches('/');
    let text = format!("{base}/model/{}/converse", sign::encoded(model.as_bytes()));
    Address::parse(&text).map_err(|error| bad_base(&error))
}

/// A model behind the endpoint that failed is the endpoint's fault, not the request's.
fn refused(mut error: LlmError) -> LlmError {
    if error.status == Some(424) {
        error.kind = LlmErrorKind::Server;
    }
    error
}
