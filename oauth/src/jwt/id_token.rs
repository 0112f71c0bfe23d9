//! What an ID token says of the person who signed in (OpenID Connect Core 2, 3.1.3.7), once it is known to come from its issuer.
//!
//! An ID token is for the client that asked for it, and for one sign-in. It is never an access token, nor the other way round.

use serde_json::Value;

use super::access_token::{AccessToken, Expectation, texts};
use super::jws::VerifiedClaims;
use super::rejection::{Rejection, TokenFault, quoted};
use crate::json;
use crate::secret::Secret;
use crate::timestamp::Timestamp;

/// What an ID token must have.
#[derive(Clone, Copy, Debug)]
pub struct IdTokenExpectation<'a> {
    /// The issuer, byte for byte.
    pub issuer: &'a str,
    /// The client that asked.
    pub client_id: &'a str,
    /// The `nonce` of the authorization request.
    pub nonce: &'a Secret,
    /// The present.
    pub now: Timestamp,
}

/// An ID token that is good.
#[derive(Clone, Debug, PartialEq)]
pub struct IdToken {
    /// `sub`.
    pub subject: String,
    /// The end of its validity, the leeway included.
    pub expires: Timestamp,
    facts: AccessToken,
}

impl IdToken {
    /// Reads the claims of a JWT.
    ///
    /// # Errors
    /// The rule that it breaks. [`Rejection::Expired`] if it breaks no other.
    pub fn of_jwt(token: VerifiedClaims, expectation: &IdTokenExpectation<'_>) -> Result<Self, Rejection> {
        let VerifiedClaims { claims, token_type } = token;
        // Access tokens of RFC 9068 say that they are some.
        if token_type.is_some_and(|name| !name.eq_ignore_ascii_case("jwt")) {
            return Err(TokenFault::NoIdToken.into());
        }
        if json::text(&claims, "iss") != Some(expectation.issuer) {
            let found = claims.get("iss").and_then(Value::as_str).unwrap_or_default();
            return Err(Rejection::Issuer { found: quoted(found) });
        }
        let audiences = texts(&claims, "aud").unwrap_or_default();
        if !audiences.contains(&expectation.client_id) {
            return Err(TokenFault::OtherClient.into());
        }
        // With other audiences beside ours, the token must say that it was issued to us.
        let is_ours = match claims.get("azp") {
            Some(party) => party.as_str() == Some(expectation.client_id),
            None => audiences.len() == 1,
        };
        if !is_ours {
            return Err(TokenFault::OtherClient.into());
        }
        let nonce = json::text(&claims, "nonce").map(|nonce| Secret::new(nonce.to_owned()));
        if nonce.as_ref() != Some(expectation.nonce) {
            return Err(TokenFault::Nonce.into());
        }
        if !claims.contains_key("iat") {
            return Err(TokenFault::Form("it has no iat").into());
        }
        let own = [expectation.client_id.to_owned()];
        let rest =
            Expectation { issuer: expectation.issuer, audiences: &own, any_type: true, now: expectation.now };
        let facts = AccessToken::read(claims, &rest)?;
        let expires = facts.expires.ok_or(TokenFault::NoExpiry)?;
        Ok(Self { subject: facts.subject.clone(), expires, facts })
    }

    /// All claims that are texts or lists, with their texts.
    pub fn claims(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.facts.claims()
    }
}
