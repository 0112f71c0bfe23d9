//! How we come to a client: configured, by a metadata document, by dynamic registration (RFC 7591), or by asking the operator
//! (`auth.md` 3).

use serde_json::{Value, json};
use url::Url;

use crate::client::{Client, ClientOrigin, ClientRecord, Credential};
use crate::error_code::ErrorCode;
use crate::failure::Failure;
use crate::fetch_address::{AddressClass, classify, is_loopback_host};
use crate::json;
use crate::message::{Flow, Next, OAuthRequest, Purpose, RequestOutcome, Response};
use crate::metadata::{ServerMetadata, is_same_issuer};
use crate::secret::Secret;
use crate::timestamp::Timestamp;

const ENDPOINT: &str = "registration";
/// The grant of RFC 8628.
const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// `auth.client`.
#[derive(Clone, Debug)]
pub enum Setting {
    /// `"auto"`, with the document that the project or a server of ours publishes, if there is one; or `{"metadata_url"}`.
    Auto {
        /// URL of a client ID metadata document.
        metadata_url: Option<String>,
    },
    /// `{"id"}`: a client that the operator has registered.
    Configured {
        /// Its id.
        id: String,
        /// Its credential.
        credential: Credential,
        /// The issuer that it belongs to: `auth.issuer`, else the one of its first sign-in; `None` before that.
        issuer: Option<String>,
    },
}

/// The action that provides a client.
#[derive(Debug)]
pub enum Choice {
    /// Nothing: here it is.
    Ready(Client),
    /// A registration, whose record is kept.
    Register(Registration),
}

/// The known facts when a client is needed.
#[derive(Clone, Debug)]
pub struct Needs<'a> {
    /// `auth.client`.
    pub setting: &'a Setting,
    /// The authorization server.
    pub server: &'a ServerMetadata,
    /// The record of an earlier registration there.
    pub stored: Option<&'a ClientRecord>,
    /// Where answers are to be sent.
    pub redirect_uris: &'a [String],
    /// Scopes, if they are known.
    pub scope: Option<String>,
    /// Our version, for `software_version`.
    pub version: &'a str,
    /// Whether the grant may register: the device grant and the one by browser may, grants without a person may not.
    pub may_register: bool,
    /// The time.
    pub now: Timestamp,
}

/// Which client is used.
///
/// # Errors
/// Why there is none.
pub fn choose(needs: &Needs<'_>) -> Result<Choice, Failure> {
    let server = needs.server;
    let metadata_url = match needs.setting {
        Setting::Configured { id, credential, issuer } => {
            if let Some(issuer) = issuer.as_ref().filter(|issuer| !is_same_issuer(issuer, &server.issuer)) {
                return Err(Failure::ClientIssuer { client: issuer.clone(), server: server.issuer.clone() });
            }
            return Client::new(id.clone(), ClientOrigin::Configured, credential.clone(), None, server)
                .map(Choice::Ready);
        }
        Setting::Auto { metadata_url } => {
            metadata_url.as_ref().filter(|_| server.client_id_metadata_document_supported)
        }
    };
    if let Some(id) = metadata_url.filter(|url| is_document_url(url)) {
        let client = Client::new(id.clone(), ClientOrigin::MetadataDocument, Credential::None, None, server)?;
        return Ok(Choice::Ready(client));
    }
    if let Some(record) = needs.stored.filter(|record| record.is_usable(needs.redirect_uris, needs.now)) {
        return record.client(server).map(Choice::Ready);
    }
    match &server.registration_endpoint {
        Some(endpoint) if needs.may_register => {
            Ok(Choice::Register(Registration::new(needs, endpoint.clone())))
        }
        _ => Err(Failure::NoRegistration {
            issuer: server.issuer.clone(),
            redirect_uri: needs.redirect_uris.first().cloned().unwrap_or_default(),
        }),
    }
}

/// Whether a URL can be the id of a client: https, with a path, on a public host.
#[must_use]
pub fn is_document_url(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let is_public = match url.host() {
        Some(url::Host::Domain(name)) => !is_loopback_host(name),
        Some(url::Host::Ipv4(address)) => classify(address.into()) == AddressClass::Public,
        Some(url::Host::Ipv6(address)) => classify(address.into()) == AddressClass::Public,
        None => false,
    };
    url.scheme() == "https"
        && url.path() != "/"
        && is_public
        && url.fragment().is_none()
        && url.username().is_empty()
}

/// The document that a client ID metadata URL serves, for a public client.
#[must_use]
pub fn client_document(url: &str, redirect_uris: &[String]) -> Value {
    json!({
        "client_id": url,
        "client_name": "ptc",
        "redirect_uris": redirect_uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    })
}

/// A dynamic registration: at most one request and three corrected ones.
#[derive(Debug)]
pub struct Registration {
    issuer: String,
    endpoint: Url,
    redirect_uris: Vec<String>,
    scope: Option<String>,
    version: String,
    native: bool,
    /// Whether the type of application has been corrected.
    corrected: bool,
    /// Whether the device grant is asked for: a server that has one gives it only to clients that did.
    device: bool,
}

impl Registration {
    fn new(needs: &Needs<'_>, endpoint: Url) -> Self {
        let is_loopback =
            |uri: &String| Url::parse(uri).is_ok_and(|url| url.host_str().is_some_and(is_loopback_host));
        Self {
            issuer: needs.server.issuer.clone(),
            endpoint,
            redirect_uris: needs.redirect_uris.to_vec(),
            scope: needs.scope.clone(),
            version: needs.version.to_owned(),
            native: needs.redirect_uris.iter().all(is_loopback),
            corrected: false,
            device: needs.server.device_authorization_endpoint.is_some(),
        }
    }

    fn request(&self) -> Next<ClientRecord, Failure> {
        let mut grants = vec!["authorization_code", "refresh_token"];
        grants.extend(self.device.then_some(DEVICE_GRANT));
        let mut body = json!({
            "client_name": "ptc",
            "redirect_uris": self.redirect_uris,
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": if self.native { "native" } else { "web" },
            "software_id": "ptc",
            "software_version": self.version,
        });
        if let Some(scope) = &self.scope {
            body["scope"] = json!(scope);
        }
        Next::Send(OAuthRequest::json(Purpose::Registration, self.endpoint.clone(), body.to_string()))
    }

    fn answered(&mut self, answer: &RequestOutcome) -> Result<Next<ClientRecord, Failure>, Failure> {
        let response = answer.result.as_ref().map_err(|trouble| Failure::of_endpoint(ENDPOINT, trouble))?;
        match response.status {
            200 | 201 => self.record(response).map(|record| Next::Done(Ok(record))),
            300..=399 => Err(Failure::Redirected { endpoint: ENDPOINT }),
            400..=499 if !matches!(response.status, 408 | 425 | 429) => self.refused(response),
            status => {
                Err(Failure::EndpointUnavailable { endpoint: ENDPOINT, reason: format!("http {status}") })
            }
        }
    }

    fn refused(&mut self, response: &Response) -> Result<Next<ClientRecord, Failure>, Failure> {
        let document = json::object(response.body.expose()).unwrap_or_default();
        let code = json::text(&document, "error");
        match (response.status, code) {
            (400, Some("invalid_client_metadata")) if std::mem::take(&mut self.device) => Ok(self.request()),
            (400, Some("invalid_client_metadata")) if self.scope.take().is_some() => Ok(self.request()),
            (400, Some("invalid_redirect_uri")) if !std::mem::replace(&mut self.corrected, true) => {
                self.native = !self.native;
                Ok(self.request())
            }
            (status, code) => Err(Failure::RegistrationRefused {
                issuer: self.issuer.clone(),
                code: match (code.map(ErrorCode::new), json::description(&document)) {
                    (None, _) => format!("http {status}"),
                    (Some(code), None) => code.to_string(),
                    (Some(code), Some(words)) => format!("{code} ({words})"),
                },
            }),
        }
    }

    fn record(&self, response: &Response) -> Result<ClientRecord, Failure> {
        let refused =
            |code: &str| Failure::RegistrationRefused { issuer: self.issuer.clone(), code: code.to_owned() };
        let unusable = || refused("no client_id");
        let too_long = |name: &str| refused(&format!("a {name} over 16 KiB"));
        let document = json::object(response.body.expose()).ok_or_else(unusable)?;
        let client_id = json::token(&document, "client_id").map_err(|_| too_long("client_id"))?;
        let client_secret = json::token(&document, "client_secret").map_err(|_| too_long("client_secret"))?;
        Ok(ClientRecord {
            client_id: client_id.ok_or_else(unusable)?.to_owned(),
            client_secret: client_secret.map(Secret::new),
            // 0 means never (RFC 7591 3.2.1).
            client_secret_expires_at: json::seconds(&document, "client_secret_expires_at")
                .filter(|end| *end > 0),
            token_endpoint_auth_method: json::text(&document, "token_endpoint_auth_method")
                .map(str::to_owned),
            redirect_uris: self.redirect_uris.clone(),
        })
    }
}

impl Flow for Registration {
    type Output = ClientRecord;
    type Error = Failure;

    fn start(&mut self) -> Next<ClientRecord, Failure> {
        self.request()
    }

    fn receive(&mut self, answer: RequestOutcome) -> Next<ClientRecord, Failure> {
        self.answered(&answer).unwrap_or_else(|failure| Next::Done(Err(failure)))
    }
}
