//! Asking an issuer about a token (RFC 7662).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use url::Url;
use zeroize::Zeroizing;

use crate::form::{FormBody, encoded};
use crate::json;
use crate::message::{OAuthRequest, Purpose, Response};
use crate::secret::Secret;

/// The client as which an issuer is asked.
#[derive(Clone, Debug)]
pub struct IntrospectionClient {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: Secret,
}

impl IntrospectionClient {
    /// The question about `token`. `by_header` is [`introspection_by_header`](super::IssuerMetadata::introspection_by_header).
    #[must_use]
    pub fn request(&self, endpoint: &Url, by_header: bool, token: &str) -> OAuthRequest {
        let form = FormBody::default().with("token", token).with("token_type_hint", "access_token");
        let (form, authorization) = if by_header {
            let pair = Zeroizing::new(format!("{}:{}", *encoded(&self.id), *encoded(self.secret.expose())));
            (form, Some(Secret::new(format!("Basic {}", STANDARD.encode(&*pair)))))
        } else {
            (form.with("client_id", &self.id).with("client_secret", self.secret.expose()), None)
        };
        OAuthRequest::form(Purpose::Introspection, endpoint.clone(), form, authorization)
    }
}

/// What an issuer says.
#[derive(Clone, Debug, PartialEq)]
pub enum IntrospectionAnswer {
    /// The claims of an active token.
    Active(Map<String, Value>),
    /// It is not active, or not known.
    Inactive,
}

/// Reads the answer.
///
/// # Errors
/// Why it says nothing about the token: the caller must be refused without blame.
pub fn read(response: &Response) -> Result<IntrospectionAnswer, &'static str> {
    match response.status {
        200 => {}
        400 | 401 | 403 => return Err("the issuer refuses the client of --introspection-client"),
        _ => return Err("the introspection endpoint does not answer"),
    }
    let claims = json::strict_object(response.body.expose()).ok_or("the answer is no JSON object")?;
    match claims.get("active") {
        Some(Value::Bool(true)) => Ok(IntrospectionAnswer::Active(claims)),
        Some(Value::Bool(false)) => Ok(IntrospectionAnswer::Inactive),
        _ => Err("the answer does not say whether the token is active"),
    }
}
