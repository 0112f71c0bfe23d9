//! Private keys of clients, and the assertions that they sign (RFC 7523).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SecureRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::json;

use crate::secret::Secret;
use crate::timestamp::Timestamp;

/// How long an assertion is good.
const LIFE: Duration = Duration::from_secs(5 * 60);

/// Why a key file cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It has no `BEGIN PRIVATE KEY`.
    #[error("it holds no private key in PEM, PKCS#8 (-----BEGIN PRIVATE KEY-----)")]
    NotPem,
    /// It is of another kind, or damaged.
    #[error("its key is none of P-256, RSA with 2048 to 4096 bits, and Ed25519")]
    Kind,
}

/// A private key, with the algorithm that belongs to its kind. It never prints.
#[derive(Clone)]
pub struct ClientKey(Arc<KeyMaterial>);

struct KeyMaterial {
    pair: Pair,
    id: Option<String>,
}

enum Pair {
    Es256(EcdsaKeyPair),
    Rs256(Box<RsaKeyPair>),
    EdDsa(Ed25519KeyPair),
}

impl ClientKey {
    /// The key of a PEM file in PKCS#8. `id` becomes `kid`.
    ///
    /// # Errors
    /// The fault in the file; no part of its content.
    pub fn from_pem(pem: &str, id: Option<String>, random: &dyn SecureRandom) -> Result<Self, KeyError> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| KeyError::NotPem)?;
        let der = der.secret_pkcs8_der();
        let pair = if let Ok(pair) = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, random) {
            Pair::Es256(pair)
        } else if let Ok(pair) = RsaKeyPair::from_pkcs8(der) {
            Pair::Rs256(Box::new(pair))
        } else {
            // OpenSSL writes keys of this kind without their public half.
            Pair::EdDsa(Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(|_| KeyError::Kind)?)
        };
        Ok(Self(Arc::new(KeyMaterial { pair, id })))
    }

    /// `ES256`, `RS256` or `EdDSA`.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        match self.0.pair {
            Pair::Es256(_) => "ES256",
            Pair::Rs256(_) => "RS256",
            Pair::EdDsa(_) => "EdDSA",
        }
    }

    /// An assertion that we are `client_id`, for the server `issuer`. `jti` is 16 random bytes, `random` the source of
    /// randomness for signing.
    #[must_use]
    pub fn assertion(
        &self,
        client_id: &str,
        issuer: &str,
        now: Timestamp,
        jti: [u8; 16],
        random: &dyn SecureRandom,
    ) -> Option<Secret> {
        let mut header = json!({"alg": self.algorithm(), "typ": "JWT"});
        if let Some(id) = &self.0.id {
            header["kid"] = json!(id);
        }
        let claims = json!({
            "iss": client_id,
            "sub": client_id,
            "aud": issuer,
            "jti": URL_SAFE_NO_PAD.encode(jti),
            "iat": now.seconds(),
            "exp": (now + LIFE).seconds(),
        });
        let encode = |part: &serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encode(&header), encode(&claims));
        let signature = self.sign(signed.as_bytes(), random)?;
        Some(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }

    fn sign(&self, message: &[u8], random: &dyn SecureRandom) -> Option<Vec<u8>> {
        match &self.0.pair {
            Pair::Es256(pair) => Some(pair.sign(random, message).ok()?.as_ref().to_vec()),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).ok()?;
                Some(signature)
            }
            Pair::EdDsa(pair) => Some(pair.sign(message).as_ref().to_vec()),
        }
    }
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a key for {}", self.algorithm())
    }
}
