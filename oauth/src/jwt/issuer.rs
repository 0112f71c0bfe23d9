//! Where an issuer publishes its keys, and where it is asked about tokens.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

use super::key_set::{KeySet, KeySetError};
use super::rejection::quoted;
use crate::cache;
use crate::discovery::server_urls;
use crate::json;
use crate::message::{Flow, Next, OAuthRequest, RequestOutcome, TransportError};
use crate::metadata::{ServerMetadata, is_same_issuer, secure};

/// Why an issuer's keys or metadata are not known. The text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssuerError {
    /// The issuer is no URL that may be asked.
    #[error("it must be an https URL without query (http only for loopback hosts)")]
    NoUrl,
    /// A document cannot be read.
    #[error("cannot read {url}: {reason}")]
    Unreadable {
        /// The last URL that was tried.
        url: String,
        /// Why not.
        reason: String,
    },
    /// The metadata are those of somebody else.
    #[error("the metadata at {url} are of the issuer {found}; --issuer must be equal to it")]
    OtherIssuer {
        /// Where they are.
        url: String,
        /// Whose they say they are.
        found: String,
    },
    /// The metadata have no usable `jwks_uri`.
    #[error("the metadata have no jwks_uri that is an https URL")]
    NoKeys,
    /// The keys cannot be used.
    #[error("the keys at {url} cannot be used: {reason}")]
    BadKeys {
        /// Where they are.
        url: String,
        /// Why not.
        reason: KeySetError,
    },
}

/// What the metadata of an issuer say of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerMetadata {
    /// The issuer as it writes itself, which is what its tokens have.
    pub issuer: String,
    /// Where its keys are.
    pub jwks_uri: Option<Url>,
    /// Where it is asked about tokens.
    pub introspection_endpoint: Option<Url>,
    /// True if a client may authenticate there by the header `Authorization`, false if by the form alone.
    pub introspection_by_header: bool,
    /// Where people sign in, if it says so in full.
    pub server: Option<ServerMetadata>,
    /// How long this may be used.
    pub life: Duration,
}

/// The conversation that finds the metadata of an issuer (`auth.md` 2.3, 2.4).
#[derive(Debug)]
pub struct IssuerDiscovery {
    issuer: String,
    candidates: VecDeque<Url>,
    current: Option<Url>,
    trouble: Option<IssuerError>,
}

impl IssuerDiscovery {
    /// Asks for the metadata of `issuer`.
    #[must_use]
    pub fn new(issuer: &str) -> Self {
        let url = secure(issuer).filter(|url| url.query().is_none());
        Self {
            issuer: issuer.to_owned(),
            candidates: url.iter().flat_map(server_urls).collect(),
            current: None,
            trouble: None,
        }
    }

    fn next(&mut self) -> Next<IssuerMetadata, IssuerError> {
        match self.candidates.pop_front() {
            Some(url) => {
                self.current = Some(url.clone());
                Next::Send(OAuthRequest::metadata(url))
            }
            None => Next::Done(Err(self.trouble.take().unwrap_or(IssuerError::NoUrl))),
        }
    }

    fn read(&self, url: &str, document: &Map<String, Value>) -> Result<IssuerMetadata, IssuerError> {
        let found = json::text(document, "issuer").unwrap_or_default();
        if !is_same_issuer(found, &self.issuer) {
            return Err(IssuerError::OtherIssuer { url: url.to_owned(), found: quoted(found) });
        }
        let endpoint = |name| json::text(document, name).and_then(secure);
        let methods = json::texts(document, "introspection_endpoint_auth_methods_supported");
        let by_header = methods.is_none_or(|list| list.iter().any(|name| name == "client_secret_basic"));
        Ok(IssuerMetadata {
            issuer: found.to_owned(),
            jwks_uri: endpoint("jwks_uri"),
            introspection_endpoint: endpoint("introspection_endpoint"),
            introspection_by_header: by_header,
            server: ServerMetadata::read(document, found).ok(),
            life: cache::SHORTEST,
        })
    }
}

impl Flow for IssuerDiscovery {
    type Output = IssuerMetadata;
    type Error = IssuerError;

    fn start(&mut self) -> Next<IssuerMetadata, IssuerError> {
        self.next()
    }

    fn receive(&mut self, answer: RequestOutcome) -> Next<IssuerMetadata, IssuerError> {
        let url = self.current.take().map(String::from).unwrap_or_default();
        let document = match &answer.result {
            Err(trouble) => Err(words(trouble)),
            Ok(response) if response.status != 200 => Err(format!("http {}", response.status)),
            Ok(response) => json::object(response.body.expose())
                .map(|document| (document, cache::fresh_until(response, answer.at).since(answer.at)))
                .ok_or_else(|| "no JSON object".to_owned()),
        };
        match document {
            // Whoever answers for another issuer ends the search (2.4).
            Ok((document, life)) => {
                Next::Done(self.read(&url, &document).map(|metadata| IssuerMetadata { life, ..metadata }))
            }
            Err(reason) => {
                self.trouble.get_or_insert(IssuerError::Unreadable { url, reason });
                self.next()
            }
        }
    }
}

/// The request for a set of keys.
#[derive(Debug)]
pub struct KeyFetch(Url);

impl KeyFetch {
    /// Asks for the keys at `url`.
    #[must_use]
    pub fn new(url: Url) -> Self {
        Self(url)
    }
}

impl Flow for KeyFetch {
    type Output = (KeySet, Duration);
    type Error = IssuerError;

    fn start(&mut self) -> Next<Self::Output, IssuerError> {
        Next::Send(OAuthRequest::metadata(self.0.clone()))
    }

    fn receive(&mut self, answer: RequestOutcome) -> Next<Self::Output, IssuerError> {
        let url = || self.0.as_str().to_owned();
        let unreadable = |reason: String| IssuerError::Unreadable { url: url(), reason };
        let keys = match &answer.result {
            Err(trouble) => Err(unreadable(words(trouble))),
            Ok(response) if response.status != 200 => Err(unreadable(format!("http {}", response.status))),
            Ok(response) => KeySet::parse(response.body.expose())
                .map(|keys| (keys, cache::fresh_until(response, answer.at).since(answer.at)))
                .map_err(|reason| IssuerError::BadKeys { url: url(), reason }),
        };
        Next::Done(keys)
    }
}

/// Why there is no answer. The driver has less patience here than the text of the error says.
fn words(trouble: &TransportError) -> String {
    match trouble {
        TransportError::TimedOut => "no answer in time".to_owned(),
        other => other.to_string(),
    }
}
