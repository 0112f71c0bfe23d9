//! The refusals of requests that are not authenticated, with their challenges (auth.md 13.3).

use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};
use ptc_host::issuers::PATIENCE;

use super::AuthenticationError;
use crate::http::answer::{self, HttpResponse};

/// The description of a token that nobody can read.
pub(super) const CANNOT_BE_VERIFIED: &str = "the token cannot be verified";

/// What challenges name.
#[derive(Debug, Default)]
pub(in crate::http) struct Challenges {
    /// The URL of the metadata, if there are any.
    metadata_url: Option<String>,
    /// `scope="…"`, if any is required.
    scope: Option<String>,
}

impl Challenges {
    /// Challenges of a protected resource whose metadata are at this URL.
    pub(in crate::http) fn new(metadata_url: &str, required_scopes: &[String]) -> Self {
        Self {
            metadata_url: Some(metadata_url.to_owned()),
            scope: (!required_scopes.is_empty()).then(|| format!("scope=\"{}\"", required_scopes.join(" "))),
        }
    }

    /// The answer to a request that is not authenticated, at the address of a profile or of the whole.
    pub(in crate::http) fn refusal(&self, why: AuthenticationError, profile: Option<&str>) -> HttpResponse {
        let metadata = self.metadata_url.as_ref().map(|url| match profile {
            Some(profile) => format!("resource_metadata=\"{url}/{profile}\""),
            None => format!("resource_metadata=\"{url}\""),
        });
        let metadata = metadata.as_deref();
        let invalid = |description| self.invalid_token(Some(description), metadata);
        let (status, challenge) = match why {
            AuthenticationError::Unavailable => {
                let answer =
                    answer::text(StatusCode::SERVICE_UNAVAILABLE, "access tokens cannot be verified now");
                return answer::retry_after(answer, PATIENCE.as_secs());
            }
            AuthenticationError::Missing => {
                (StatusCode::UNAUTHORIZED, header(&[metadata, self.scope.as_deref()]))
            }
            AuthenticationError::Unknown if metadata.is_none() => {
                (StatusCode::UNAUTHORIZED, self.invalid_token(None, metadata))
            }
            AuthenticationError::Unknown => (StatusCode::UNAUTHORIZED, invalid(CANNOT_BE_VERIFIED)),
            AuthenticationError::Invalid(description) => (StatusCode::UNAUTHORIZED, invalid(description)),
            AuthenticationError::Expired => (StatusCode::UNAUTHORIZED, invalid("the token has expired")),
            AuthenticationError::InsufficientScope => (
                StatusCode::FORBIDDEN,
                header(&[Some("error=\"insufficient_scope\""), self.scope.as_deref(), metadata]),
            ),
            AuthenticationError::Malformed => {
                (StatusCode::BAD_REQUEST, header(&[Some("error=\"invalid_request\""), metadata]))
            }
        };
        let mut answer = answer::empty(status);
        answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        answer
    }

    fn invalid_token(&self, description: Option<&str>, metadata: Option<&str>) -> HeaderValue {
        let description = description.map(|text| format!("error_description=\"{text}\""));
        header(&[Some("error=\"invalid_token\""), description.as_deref(), metadata, self.scope.as_deref()])
    }
}

/// A `Bearer` challenge of these parameters.
fn header(parameters: &[Option<&str>]) -> HeaderValue {
    let parameters: Vec<&str> = parameters.iter().copied().flatten().collect();
    let text = format!("Bearer {}", parameters.join(", "));
    // The start has checked URL and scopes.
    HeaderValue::from_str(text.trim_end()).unwrap_or(HeaderValue::from_static("Bearer"))
}
