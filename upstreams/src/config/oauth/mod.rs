//! `auth` of type `oauth`: how sign-ins to an upstream are obtained and stored (auth.md 10.1).

mod parse;

use std::path::PathBuf;

use url::Url;

use ptc_secret::credentials::Secret;

pub(super) use parse::check_plain_url;

/// The `auth` object of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct OAuthConfig {
    /// The client's identity at the authorization server.
    pub client: OAuthClient,
    /// The scopes to request: `None` leaves them to the servers, an empty list requests none.
    pub scopes: Option<Vec<String>>,
    /// The value of `resource`, which is sent exactly as it is written; an empty text leaves the parameter out. `None`: the
    /// value in the upstream's metadata, else its URL.
    pub resource: Option<String>,
    /// Where the browser is sent back to.
    pub redirect: OAuthRedirect,
    /// How tokens are obtained.
    pub grant: OAuthGrant,
    /// Whose sign-in a call uses.
    pub identity: OAuthIdentity,
    /// Whether a server without any metadata may be signed in to by a person (`login_only`).
    pub legacy_discovery: bool,
    /// The authorization server to use.
    pub issuer: Option<String>,
    /// The identity provider of the grant `id_jag`.
    pub idp: Option<OAuthIdp>,
    /// Which demands on the authorization server's metadata are dropped.
    pub relax: OAuthRelax,
    /// Hosts that may have addresses which are not public.
    pub allow_hosts: Vec<String>,
}

/// The client's identity at the authorization server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OAuthClient {
    /// Found out at the sign-in.
    Auto,
    /// An application that the operator has created there.
    Registered {
        /// Its id.
        id: String,
        /// How it proves itself.
        proof: OAuthProof,
    },
    /// A document at this URL describes us.
    MetadataUrl(String),
}

/// How a client proves itself to the token endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OAuthProof {
    /// Not at all: a public client.
    None,
    /// By a secret; the name of its credential binding.
    Secret(String),
    /// By assertions that a private key signs.
    Key(OAuthKey),
}

/// A private key that was read from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthKey {
    /// The file.
    pub path: PathBuf,
    /// Its text: PEM, PKCS#8.
    pub pem: Secret,
}

/// Where the browser is sent back to, on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthRedirect {
    /// A name of the loopback interface.
    pub host: String,
    /// The port; 0 takes any that is free.
    pub port: u16,
    /// The path.
    pub path: String,
    /// Whether the file says which port.
    pub port_is_set: bool,
}

impl Default for OAuthRedirect {
    fn default() -> Self {
        Self { host: "127.0.0.1".to_owned(), port: 33418, path: "/callback".to_owned(), port_is_set: false }
    }
}

impl OAuthRedirect {
    /// The redirect URI with this port.
    pub fn uri(&self, port: u16) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("http://{host}:{port}{}", self.path)
    }
}

/// How tokens are obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OAuthGrant {
    /// A person signs in with a browser.
    AuthorizationCode,
    /// A person signs in with a browser elsewhere.
    DeviceCode,
    /// The client acts for itself.
    ClientCredentials,
    /// The identity provider of an enterprise vouches for a person.
    IdJag,
}

impl OAuthGrant {
    /// Whether a person has to do something.
    #[must_use]
    pub fn has_person(self) -> bool {
        matches!(self, Self::AuthorizationCode | Self::DeviceCode)
    }
}

/// Whose sign-in a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OAuthIdentity {
    /// That of the principal it runs for.
    PerPrincipal,
    /// One for all.
    Shared,
}

/// The identity provider of the grant `id_jag`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OAuthIdp {
    /// Its token endpoint.
    pub token_endpoint: Url,
    /// Our id there.
    pub client_id: String,
    /// The binding of our secret there.
    pub client_secret: Option<String>,
    /// The person's token.
    pub subject_token: OAuthSubject,
    /// Its type, as the provider names it.
    pub subject_token_type: String,
}

/// Where the person's token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OAuthSubject {
    /// A credential binding, which is resolved once.
    Binding(String),
    /// A file, which is read again at each exchange (ruling 81).
    File(PathBuf),
}

/// Which demands on the authorization server's metadata are dropped. Each is a MUST of MCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OAuthRelax {
    /// Its metadata may lack `issuer`.
    pub missing_issuer: bool,
    /// Its metadata may lack PKCE with S256.
    pub missing_pkce: bool,
}

impl OAuthConfig {
    /// The names of the credential bindings that it uses.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = &str> {
        let own = match &self.client {
            OAuthClient::Registered { proof: OAuthProof::Secret(name), .. } => Some(name.as_str()),
            _ => None,
        };
        let idp = self.idp.as_ref();
        let subject = idp.and_then(|idp| match &idp.subject_token {
            OAuthSubject::Binding(name) => Some(name.as_str()),
            OAuthSubject::File(_) => None,
        });
        own.into_iter().chain(idp.and_then(|idp| idp.client_secret.as_deref())).chain(subject)
    }

    /// The private key, whole and line by line, for the redactor.
    pub(crate) fn key_texts(&self) -> Vec<Secret> {
        let OAuthClient::Registered { proof: OAuthProof::Key(key), .. } = &self.client else {
            return Vec::new();
        };
        let lines = key.pem.open().lines().filter(|line| !line.starts_with("-----"));
        lines.map(Secret::new).chain([key.pem.clone()]).collect()
    }

    /// Remarks for the operator on the entry: the requirements of MCP that it drops.
    pub fn remarks(&self) -> Vec<&'static str> {
        let mut remarks = Vec::new();
        if self.relax.missing_issuer {
            remarks
                .push("auth.relax \"missing_issuer\" drops a check against mixed-up authorization servers");
        }
        if self.relax.missing_pkce {
            remarks.push("auth.relax \"missing_pkce\" accepts an authorization server that may ignore PKCE");
        }
        if self.resource.as_deref() == Some("") {
            remarks.push("auth.resource \"\" leaves tokens without an audience");
        }
        remarks
    }
}
