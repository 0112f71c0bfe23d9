//! Requests of the token and revocation endpoints. All of them send `resource` as it was written, if it is sent at all.

use url::Url;

use crate::client::{Client, Signing};
use crate::form::FormBody;
use crate::message::{OAuthRequest, Purpose};
use crate::scopes::Scopes;
use crate::secret::Secret;

/// Shared by the requests of one client at one server.
#[derive(Clone, Copy)]
pub struct GrantContext<'a> {
    /// `token_endpoint`.
    pub endpoint: &'a Url,
    /// The client.
    pub client: &'a Client,
    /// The inputs of its assertion.
    pub signing: Signing<'a>,
    /// `resource` ([`crate::resource`]).
    pub resource: Option<&'a str>,
}

impl GrantContext<'_> {
    /// A code for tokens. It is sent once: a code is not good twice.
    #[must_use]
    pub fn code(&self, code: &Secret, redirect_uri: &str, verifier: &Secret) -> OAuthRequest {
        let form = FormBody::of("grant_type", "authorization_code")
            .with("code", code.expose())
            .with("redirect_uri", redirect_uri)
            .with("code_verifier", verifier.expose());
        self.send(form)
    }

    /// A refresh token for tokens. `scope` is left out: the granted scopes stay.
    #[must_use]
    pub fn refresh(&self, refresh_token: &Secret) -> OAuthRequest {
        self.send(FormBody::of("grant_type", "refresh_token").with("refresh_token", refresh_token.expose()))
    }

    /// Tokens for the client itself.
    #[must_use]
    pub fn client_credentials(&self, scopes: &Scopes) -> OAuthRequest {
        let form = FormBody::of("grant_type", "client_credentials");
        self.send(form.with_some("scope", scopes.parameter().as_deref()))
    }

    pub(super) fn device_code(&self, device_code: &Secret) -> OAuthRequest {
        let form = FormBody::of("grant_type", "urn:ietf:params:oauth:grant-type:device_code");
        self.send(form.with("device_code", device_code.expose()))
    }

    pub(super) fn jwt_bearer(&self, assertion: &Secret) -> OAuthRequest {
        let form = FormBody::of("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer");
        // The assertion itself says for which resource it is.
        self.authenticated(form.with("assertion", assertion.expose()))
    }

    fn send(&self, form: FormBody) -> OAuthRequest {
        self.authenticated(form.with_some("resource", self.resource))
    }

    pub(super) fn authenticated(&self, form: FormBody) -> OAuthRequest {
        let (form, authorization) = self.client.authenticate(form, &self.signing);
        OAuthRequest::form(Purpose::Token, self.endpoint.clone(), form, authorization)
    }

    /// Revocation of a token at `endpoint` (RFC 7009). 200 means that it is done, whether the server knew the token or not.
    #[must_use]
    pub fn revoke(&self, endpoint: &Url, token: &Secret, kind: TokenKind) -> OAuthRequest {
        let hint = match kind {
            TokenKind::Access => "access_token",
            TokenKind::Refresh => "refresh_token",
        };
        let form = FormBody::of("token", token.expose()).with("token_type_hint", hint);
        let (form, authorization) = self.client.authenticate(form, &self.signing);
        OAuthRequest::form(Purpose::Revocation, endpoint.clone(), form, authorization)
    }
}

/// The kind of token to revoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An access token.
    Access,
    /// A refresh token: with it go the access tokens that came of it. It goes first.
    Refresh,
}
