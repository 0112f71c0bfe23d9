//! Access tokens for a protected resource that is not here: JWTs by a key that can be replaced, and opaque ones that it is asked about.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptc_mcp::json::{Value, json};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};

use super::AuthorizationServer;
use super::request::{Answer, Hit, json_answer};

/// The client that may ask about tokens.
pub const INTROSPECTION_CLIENT: &str = "resource:secret-of-the-resource-0123456789";

/// The key that signs now, and its number.
pub(super) struct SigningKey(Mutex<(EcdsaKeyPair, u32)>);

impl Default for SigningKey {
    fn default() -> Self {
        Self(Mutex::new((fresh(), 1)))
    }
}

fn fresh() -> EcdsaKeyPair {
    let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
    let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
    EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).expect("a key")
}

impl SigningKey {
    pub(super) fn set(&self) -> Value {
        let key = self.0.lock().unwrap();
        let (x, y) = key.0.public_key().as_ref()[1..].split_at(32);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        let id = format!("key-{}", key.1);
        json!({"keys": [{"kty": "EC", "crv": "P-256", "use": "sig", "kid": id, "x": x, "y": y}]})
    }

    /// An ID token for `ann` and this client, with other claims.
    pub(super) fn id_token(&self, issuer: &str, client: &str, nonce: &str, changes: &Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let mut claims = json!({
            "iss": issuer, "sub": "ann", "aud": client, "iat": now, "exp": now + 3600, "nonce": nonce,
            "groups": ["staff"],
        });
        for (name, value) in changes.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        let kind = claims["typ"].as_str().unwrap_or("JWT").to_owned();
        self.sign(&claims, &kind)
    }

    fn sign(&self, claims: &Value, kind: &str) -> String {
        let key = self.0.lock().unwrap();
        let header = json!({"alg": "ES256", "typ": kind, "kid": format!("key-{}", key.1)});
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = key.0.sign(&SystemRandom::new(), signed.as_bytes()).expect("a signature");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

impl AuthorizationServer {
    /// A JWT for `subject` and `audience` that ends after so many seconds, by the key of now. Its claim `groups` has `of-SUBJECT`.
    pub fn jwt(&self, subject: &str, audience: &str, seconds: u64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        self.shared.signing.sign(
            &json!({
                "iss": self.issuer(), "sub": subject, "aud": audience, "iat": now, "exp": now + seconds,
                "scope": "mcp:read", "client_id": "a-client", "groups": [format!("of-{subject}"), "all"],
            }),
            "at+jwt",
        )
    }

    /// Replaces the key. The old one is published no more.
    pub fn rotate_key(&self) {
        let mut key = self.shared.signing.0.lock().unwrap();
        *key = (fresh(), key.1 + 1);
    }

    /// An opaque token for `subject` and `audience`.
    pub fn opaque(&self, subject: &str, audience: &str) -> String {
        let mut state = self.shared.state();
        let number = state.next();
        let token = state.issue(format!("opaque-token-{number}-of-{subject}"));
        state.opaque.insert(
            token.clone(),
            json!({"active": true, "sub": subject, "aud": audience, "scope": "mcp:read"}),
        );
        token
    }

    /// Revokes an opaque token.
    pub fn revoke_opaque(&self, token: &str) {
        self.shared.state().opaque.remove(token);
    }
}

/// What is said of an opaque token.
pub(super) fn introspect(hit: &Hit, opaque: &std::collections::HashMap<String, Value>) -> Answer {
    let (id, secret) = INTROSPECTION_CLIENT.split_once(':').expect("both");
    let proof = hit.proof();
    if proof.id != id || proof.secret.as_deref() != Some(secret) {
        return json_answer(401, &json!({"error": "invalid_client"}));
    }
    let known = opaque.get(hit.get("token").unwrap_or_default());
    json_answer(200, &known.cloned().unwrap_or_else(|| json!({"active": false})))
}
