//! What an access token says of its bearer, once it is known to come from its issuer.

use std::time::Duration;

use serde_json::{Map, Value};

use super::jws::VerifiedClaims;
use super::rejection::{Rejection, TokenFault, quoted};
use crate::json;
use crate::scopes::Scopes;
use crate::timestamp::Timestamp;

/// How far the clocks of issuer and server may differ.
pub const LEEWAY: Duration = Duration::from_secs(60);
/// Longest subject (OpenID Connect Core 2).
pub const MAX_SUBJECT_BYTES: usize = 255;

/// Claims by which an ID token is known.
const OF_ID_TOKENS: [&str; 3] = ["nonce", "at_hash", "c_hash"];

/// What a token must have.
#[derive(Clone, Copy, Debug)]
pub struct Expectation<'a> {
    /// The issuer, byte for byte.
    pub issuer: &'a str,
    /// The resource and the configured audiences: one of them must be in `aud`.
    pub audiences: &'a [String],
    /// True if `typ` may be `JWT` or absent.
    pub any_type: bool,
    /// The present.
    pub now: Timestamp,
}

/// An access token that is good.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessToken {
    /// `iss`, or the issuer that was asked.
    pub issuer: String,
    /// `sub`.
    pub subject: String,
    /// `scope`, else `scp`.
    pub scopes: Scopes,
    /// The end of its validity, the leeway included; `None` if an issuer that was asked does not say.
    pub expires: Option<Timestamp>,
    claims: Map<String, Value>,
}

impl AccessToken {
    /// Reads the claims of a JWT.
    ///
    /// # Errors
    /// The rule that it breaks. [`Rejection::Expired`] if it breaks no other.
    pub fn of_jwt(token: VerifiedClaims, expectation: &Expectation<'_>) -> Result<Self, Rejection> {
        let VerifiedClaims { claims, token_type } = token;
        let short = token_type.as_deref().map(|name| {
            let prefix = name.get(..12).filter(|prefix| prefix.eq_ignore_ascii_case("application/"));
            &name[prefix.map_or(0, str::len)..]
        });
        let is_accepted = match short {
            Some(name) if name.eq_ignore_ascii_case("at+jwt") => true,
            Some(name) => expectation.any_type && name.eq_ignore_ascii_case("jwt"),
            None => expectation.any_type,
        };
        if OF_ID_TOKENS.iter().any(|name| claims.contains_key(*name)) {
            return Err(TokenFault::IdToken.into());
        }
        if !is_accepted {
            return Err(TokenFault::Type.into());
        }
        if json::text(&claims, "iss") != Some(expectation.issuer) {
            let found = claims.get("iss").and_then(Value::as_str).unwrap_or_default();
            return Err(Rejection::Issuer { found: quoted(found) });
        }
        let token = Self::read(claims, expectation)?;
        if token.expires.is_none() {
            return Err(TokenFault::NoExpiry.into());
        }
        Ok(token)
    }

    /// Reads what an issuer says of a token that it was asked about. `active` has been checked.
    ///
    /// # Errors
    /// As [`of_jwt`](Self::of_jwt).
    pub fn of_introspection(
        claims: Map<String, Value>,
        expectation: &Expectation<'_>,
    ) -> Result<Self, Rejection> {
        match claims.get("iss") {
            None => {}
            Some(Value::String(issuer)) if issuer == expectation.issuer => {}
            Some(other) => {
                return Err(Rejection::Issuer { found: quoted(other.as_str().unwrap_or_default()) });
            }
        }
        Self::read(claims, expectation)
    }

    pub(super) fn read(claims: Map<String, Value>, expectation: &Expectation<'_>) -> Result<Self, Rejection> {
        let audiences = texts(&claims, "aud").unwrap_or_default();
        if !audiences.iter().any(|audience| expectation.audiences.iter().any(|ours| ours == audience)) {
            let found: Vec<String> = audiences.iter().take(4).map(|audience| quoted(audience)).collect();
            let found = if found.is_empty() { "missing".to_owned() } else { found.join(", ") };
            return Err(Rejection::Audience { found });
        }
        let subject = json::text(&claims, "sub").ok_or(TokenFault::Subject)?;
        if subject.len() > MAX_SUBJECT_BYTES || subject.chars().any(char::is_control) {
            return Err(TokenFault::Subject.into());
        }
        let at_earliest = expectation.now + LEEWAY;
        for name in ["nbf", "iat"] {
            if moment(&claims, name)?.is_some_and(|moment| moment > at_earliest) {
                return Err(TokenFault::NotYet.into());
            }
        }
        let expires = moment(&claims, "exp")?.map(|moment| moment + LEEWAY);
        if expires.is_some_and(|end| end <= expectation.now) {
            return Err(Rejection::Expired);
        }
        let scopes = match claims.get("scope") {
            Some(Value::String(text)) => Scopes::of_text(text),
            Some(_) => return Err(TokenFault::Form("its scope is no text").into()),
            None => texts(&claims, "scp").unwrap_or_default().into_iter().map(str::to_owned).collect(),
        };
        Ok(Self {
            issuer: expectation.issuer.to_owned(),
            subject: subject.to_owned(),
            scopes,
            expires,
            claims,
        })
    }

    /// The texts of a claim: its text, or those of its list.
    #[must_use]
    pub fn claim(&self, name: &str) -> Option<Vec<&str>> {
        texts(&self.claims, name)
    }

    /// All claims that are texts or lists, with their texts.
    pub fn claims(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.claims.keys().filter_map(|name| Some((name.as_str(), self.claim(name)?)))
    }
}

/// A text, or the texts of a list; `None` for anything else.
pub(super) fn texts<'c>(claims: &'c Map<String, Value>, name: &str) -> Option<Vec<&'c str>> {
    match claims.get(name)? {
        Value::String(text) => Some(vec![text]),
        Value::Array(list) => Some(list.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

/// A `NumericDate` (RFC 7519 2): seconds, with a fraction or without.
fn moment(claims: &Map<String, Value>, name: &str) -> Result<Option<Timestamp>, TokenFault> {
    let Some(value) = claims.get(name) else { return Ok(None) };
    let seconds = value.as_f64().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
    let seconds = seconds.ok_or(TokenFault::Form("exp, nbf or iat is no point in time"))?;
    Ok(Some(Timestamp::from_millis((seconds.min(9e15) * 1000.0) as u64)))
}
