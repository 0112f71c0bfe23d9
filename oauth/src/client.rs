//! A client as an authorization server knows it, and how it says who it is (`auth.md` 3).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SecureRandom;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::client_key::ClientKey;
use crate::failure::Failure;
use crate::form::{FormBody, encoded};
use crate::metadata::ServerMetadata;
use crate::secret::{Secret, stored_option};
use crate::timestamp::Timestamp;

/// The type of an assertion.
const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// How a client authenticates at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// An assertion that its key signs.
    PrivateKeyJwt,
    /// Id and secret in `Authorization: Basic`.
    ClientSecretBasic,
    /// Id and secret in the body.
    ClientSecretPost,
    /// Its id alone.
    None,
}

impl Method {
    /// In the order in which they are preferred.
    const ALL: [Self; 4] = [Self::PrivateKeyJwt, Self::ClientSecretBasic, Self::ClientSecretPost, Self::None];

    /// The name in metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PrivateKeyJwt => "private_key_jwt",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::None => "none",
        }
    }

    /// The method of a name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientOrigin {
    /// The configuration.
    Configured,
    /// A client ID metadata document.
    MetadataDocument,
    /// Dynamic registration.
    Registered,
}

/// A client's means of authentication.
#[derive(Clone, Debug, Default)]
pub enum Credential {
    /// Nothing: a public client.
    #[default]
    None,
    /// A shared secret.
    Secret(Secret),
    /// A private key.
    Key(ClientKey),
}

impl Credential {
    /// The secret, if it is one.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Secret(secret) => Some(secret),
            Self::None | Self::Key(_) => None,
        }
    }
}

/// A client, ready for requests to the token endpoint.
#[derive(Clone, Debug)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Where it comes from.
    pub origin: ClientOrigin,
    /// Its credential.
    pub credential: Credential,
    /// How it uses that.
    pub method: Method,
}

impl Client {
    /// A client with the method of `registered` (that of its registration, if it has one), else the first that both sides
    /// support: its credential allows it and the server lists it. Without a list: basic with a secret, an assertion with a key,
    /// none without either.
    ///
    /// # Errors
    /// Nothing that both can do.
    pub fn new(
        id: String,
        origin: ClientOrigin,
        credential: Credential,
        registered: Option<Method>,
        server: &ServerMetadata,
    ) -> Result<Self, Failure> {
        let able = |method: Method| {
            matches!(
                (method, &credential),
                (Method::PrivateKeyJwt, Credential::Key(_))
                    | (Method::ClientSecretBasic | Method::ClientSecretPost, Credential::Secret(_))
                    | (Method::None, Credential::None)
            )
        };
        let listed = |method: Method| match &server.token_endpoint_auth_methods_supported {
            Some(list) => list.iter().any(|name| name == method.name()),
            None => method != Method::ClientSecretPost,
        };
        // A registration that says `none` and yet hands out a secret means the secret: it is then demanded (Figma).
        let method = registered
            .filter(|method| able(*method))
            .or_else(|| Method::ALL.into_iter().find(|m| able(*m) && listed(*m)));
        // A public client has nothing to prove, whatever the list says: many lists leave `none` out. A server that takes no
        // proof may hand out a secret all the same.
        let is_public = match credential {
            Credential::None => true,
            Credential::Secret(_) => origin == ClientOrigin::Registered && listed(Method::None),
            Credential::Key(_) => false,
        };
        let method = method.or(is_public.then_some(Method::None));
        let what = "client authentication that auth.client can do";
        Ok(Self { id, origin, method: method.ok_or(Failure::Unsupported { what })?, credential })
    }
}

/// The inputs of an assertion besides its key.
#[derive(Clone, Copy)]
pub struct Signing<'a> {
    /// The audience: the issuer of the authorization server.
    pub issuer: &'a str,
    /// When it is made.
    pub now: Timestamp,
    /// 16 random bytes.
    pub jti: [u8; 16],
    /// The source of randomness for signing.
    pub random: &'a (dyn SecureRandom + Sync),
}

impl Client {
    /// Adds to a form who the client is; the second value is the header `Authorization`, if it takes one.
    pub(crate) fn authenticate(&self, form: FormBody, signing: &Signing<'_>) -> (FormBody, Option<Secret>) {
        match (self.method, &self.credential) {
            (Method::ClientSecretBasic, Credential::Secret(secret)) => {
                // Both are encoded as in a form before they are put together (RFC 6749 2.3.1).
                let pair = Zeroizing::new(format!("{}:{}", *encoded(&self.id), *encoded(secret.expose())));
                (form, Some(Secret::new(format!("Basic {}", STANDARD.encode(&*pair)))))
            }
            (Method::ClientSecretPost, Credential::Secret(secret)) => {
                (form.with("client_id", &self.id).with("client_secret", secret.expose()), None)
            }
            (Method::PrivateKeyJwt, Credential::Key(key)) => {
                let assertion =
                    key.assertion(&self.id, signing.issuer, signing.now, signing.jti, signing.random);
                let form = form.with("client_assertion_type", JWT_BEARER);
                (form.with_some("client_assertion", assertion.as_ref().map(Secret::expose)), None)
            }
            _ => (form.with("client_id", &self.id), None),
        }
    }
}

/// The record `client` of `auth.md` 7.1: the answer to a registration. It serializes with its secret in the clear: the store
/// seals it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRecord {
    /// The id that was given.
    pub client_id: String,
    /// The secret that was given, asked for or not.
    #[serde(with = "stored_option", default)]
    pub client_secret: Option<Secret>,
    /// When the secret ends, in Unix seconds; `None` for never.
    #[serde(default)]
    pub client_secret_expires_at: Option<u64>,
    /// How the client is to authenticate, if the answer says.
    #[serde(default)]
    pub token_endpoint_auth_method: Option<String>,
    /// The redirect URIs of the registration.
    pub redirect_uris: Vec<String>,
}

impl ClientRecord {
    /// Whether it still holds for these redirect URIs.
    #[must_use]
    pub fn is_usable(&self, redirect_uris: &[String], now: Timestamp) -> bool {
        redirect_uris.iter().all(|uri| self.redirect_uris.contains(uri))
            && self.client_secret_expires_at.is_none_or(|end| now.seconds() < end)
    }

    /// The client of the record.
    ///
    /// # Errors
    /// No way of authentication that both sides can do.
    pub fn client(&self, server: &ServerMetadata) -> Result<Client, Failure> {
        let credential = self.client_secret.clone().map_or(Credential::None, Credential::Secret);
        let registered = self.token_endpoint_auth_method.as_deref().and_then(Method::of_name);
        Client::new(self.client_id.clone(), ClientOrigin::Registered, credential, registered, server)
    }
}
