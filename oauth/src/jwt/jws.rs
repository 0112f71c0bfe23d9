//! The compact form of JWS (RFC 7515), held to what access tokens may be.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::algorithm::Algorithm;
use super::key_set::KeySet;
use super::rejection::{Rejection, TokenFault};
use crate::json;
use crate::message::MAX_TOKEN_BYTES;

/// Longest header, in bytes of base64.
const MAX_HEADER_BYTES: usize = 8 << 10;
/// Longest `kid`.
pub const MAX_KEY_ID_BYTES: usize = 1 << 10;

/// A JWS that was read and not verified.
#[derive(Clone, Debug)]
pub struct Jws<'t> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    pub(super) token_type: Option<String>,
    /// Header and payload, as they were signed.
    signed: &'t str,
    signature: Vec<u8>,
    claims: Map<String, Value>,
}

/// True for a text that is meant as a JWT: three parts, or five of an encrypted one, of which the first is an object.
#[must_use]
pub fn has_jwt_form(token: &str) -> bool {
    let dots = token.bytes().filter(|byte| *byte == b'.').count();
    let Some((header, _)) = token.split_once('.') else { return false };
    matches!(dots, 2 | 4) && header.len() <= MAX_HEADER_BYTES && decoded_object(header).is_ok()
}

impl<'t> Jws<'t> {
    /// Reads a token.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(token: &'t str) -> Result<Self, Rejection> {
        Ok(Self::read(token)?)
    }

    fn read(token: &'t str) -> Result<Self, TokenFault> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err("it is over 16 KiB".into());
        }
        let mut parts = token.split('.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("it has other than three parts; encrypted ones are not accepted".into());
        };
        if header.len() > MAX_HEADER_BYTES {
            return Err("its header is over 8 KiB".into());
        }
        let fields = decoded_object(header)?;
        if fields.contains_key("crit") {
            return Err("its header has crit".into());
        }
        if ["enc", "zip", "cty"].iter().any(|name| fields.contains_key(*name)) {
            return Err("its header says that there is another token in it".into());
        }
        let text = |name: &'static str, error: &'static str| match fields.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(TokenFault::Form(error)),
        };
        let algorithm = text("alg", "its alg is no text")?.as_deref().and_then(Algorithm::named);
        let key_id = text("kid", "its kid is no text")?;
        if key_id.as_ref().is_some_and(|id| id.len() > MAX_KEY_ID_BYTES) {
            return Err("its kid is over 1 KiB".into());
        }
        Ok(Self {
            algorithm: algorithm.ok_or(TokenFault::Algorithm)?,
            key_id,
            token_type: text("typ", "its typ is no text")?,
            signed: &token[..header.len() + 1 + payload.len()],
            signature: decoded(signature)?,
            claims: decoded_object(payload)?,
        })
    }

    /// The issuer that it claims to come from; only its signature proves that.
    #[must_use]
    pub fn claimed_issuer(&self) -> Option<&str> {
        json::text(&self.claims, "iss")
    }

    /// Its claims, if a key of the set made the signature.
    ///
    /// # Errors
    /// [`TokenFault::UnknownKey`] if no key has its `kid` and algorithm, [`TokenFault::Signature`] if those that have did not
    /// sign it.
    pub fn verify(self, keys: &KeySet) -> Result<VerifiedClaims, Rejection> {
        let mut candidates = keys.candidates(self.algorithm, self.key_id.as_deref()).peekable();
        if candidates.peek().is_none() {
            return Err(TokenFault::UnknownKey.into());
        }
        let is_signed =
            |key: &super::Key| key.verifies(self.algorithm, self.signed.as_bytes(), &self.signature);
        if !candidates.any(is_signed) {
            return Err(TokenFault::Signature.into());
        }
        Ok(VerifiedClaims { claims: self.claims, token_type: self.token_type })
    }
}

/// The claims of a token whose signature is good, and its `typ`.
#[derive(Clone, Debug)]
pub struct VerifiedClaims {
    pub(super) claims: Map<String, Value>,
    pub(super) token_type: Option<String>,
}

/// The bytes of a part: base64url in its one canonical form, without padding.
fn decoded(part: &str) -> Result<Vec<u8>, TokenFault> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenFault::Form("a part is no base64url"))
}

fn decoded_object(part: &str) -> Result<Map<String, Value>, TokenFault> {
    let text = String::from_utf8(decoded(part)?).map_err(|_| TokenFault::Form("a part is no UTF-8"))?;
    json::strict_object(&text).ok_or(TokenFault::Form("a part is no JSON object with distinct names"))
}
