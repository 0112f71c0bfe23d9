//! The sign-in of a person at an issuer of ours (OpenID Connect Core 3.1): the code flow with PKCE and a nonce.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256};
use url::Url;

use crate::authorize::{Authorization, Entropy, PendingSignIn};
use crate::client::{Client, ClientOrigin, Credential, Signing};
use crate::failure::Failure;
use crate::grants::{GrantContext, GrantError, successful};
use crate::json;
use crate::message::{OAuthRequest, RequestOutcome};
use crate::metadata::ServerMetadata;
use crate::scopes::Scopes;
use crate::secret::Secret;
use crate::timestamp::Timestamp;

/// The client as which people sign in.
#[derive(Clone, Debug)]
pub struct LoginClient {
    /// Its id.
    pub id: String,
    /// Its secret; a public client has none.
    pub secret: Option<Secret>,
}

impl LoginClient {
    /// The URL for the browser, and the sign-in that waits for its answer. It is for no upstream and, so far, for no principal.
    ///
    /// # Errors
    /// The server has no authorization endpoint.
    pub fn begin(
        &self,
        server: &ServerMetadata,
        redirect_uri: &str,
        entropy: &Entropy,
        now: Timestamp,
    ) -> Result<(Secret, PendingSignIn), Failure> {
        let authorization = Authorization {
            server,
            client_id: &self.id,
            redirect_uri,
            scopes: &Scopes::of_text("openid"),
            resource: None,
            principal: "",
            upstream: "",
            legacy: false,
        };
        let (url, pending) = authorization.begin(entropy, now)?;
        Ok((Secret::new(format!("{}&nonce={}", url.expose(), nonce(&pending).expose())), pending))
    }

    /// The code for an ID token.
    ///
    /// # Errors
    /// No way of authentication that both sides can do, or no token endpoint.
    pub fn exchange(
        &self,
        server: &ServerMetadata,
        pending: &PendingSignIn,
        code: &Secret,
        signing: Signing<'_>,
    ) -> Result<OAuthRequest, Failure> {
        let credential = self.secret.clone().map_or(Credential::None, Credential::Secret);
        let client = Client::new(self.id.clone(), ClientOrigin::Configured, credential, None, server)?;
        let endpoint = Url::parse(&pending.token_endpoint)
            .map_err(|_| Failure::Unsupported { what: "token endpoint" })?;
        let context = GrantContext { endpoint: &endpoint, client: &client, signing, resource: None };
        Ok(context.code(code, &pending.redirect_uri, &pending.verifier))
    }
}

/// The `nonce` of a sign-in. It follows from the verifier, which nobody else knows, so that nothing more is kept.
#[must_use]
pub fn nonce(pending: &PendingSignIn) -> Secret {
    let mut hash = Context::new(&SHA256);
    hash.update(b"nonce ");
    hash.update(pending.verifier.expose().as_bytes());
    Secret::new(URL_SAFE_NO_PAD.encode(hash.finish()))
}

/// The ID token of the answer to [`LoginClient::exchange`]. The access token beside it is not looked at.
///
/// # Errors
/// Why there is none.
pub fn id_token(answer: &RequestOutcome) -> Result<Secret, GrantError> {
    let response = successful(answer)?;
    let document = json::object(response.body.expose()).ok_or(GrantError::Bad("no JSON object"))?;
    let token = json::token(&document, "id_token")
        .map_err(|_| GrantError::Bad("an id_token over 16 KiB, of the authorization server's making"))?;
    token.map(Secret::new).ok_or(GrantError::Bad("no id_token; the client must be one of OpenID Connect"))
}
