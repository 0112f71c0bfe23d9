//! Access tokens that callers bring (`auth.md` 13.4, 13.5): good ones of every algorithm, bad ones with what is said of them, sets
//! of keys, and when keys are fetched.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use ptc_oauth::jwt::introspection::{self, IntrospectionAnswer, IntrospectionClient};
use ptc_oauth::jwt::{
    AccessToken, Algorithm, Expectation, IdToken, IdTokenExpectation, IssuerDiscovery, IssuerError, Jws,
    KeyAnswer, KeyCache, KeyFetch, KeySet, KeySetError, MAX_STALE, RETRY, Rejection, TokenFault,
    UNKNOWN_KEY_PAUSE, has_jwt_form,
};
use ptc_oauth::message::{Flow, Method, Next, Purpose, RequestOutcome, Response, TransportError};
use ptc_oauth::secret::Secret;
use ptc_oauth::timestamp::Timestamp;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512,
    RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use url::Url;

const ISSUER: &str = "https://issuer.example/t";
const RESOURCE: &str = "https://ptc.example/mcp";
const NOW: u64 = 1_800_000_000;

fn pkcs8(pem: &str) -> PrivatePkcs8KeyDer<'static> {
    PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).unwrap()
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The keys of the issuer.
struct Signer {
    rsa: RsaKeyPair,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed25519: Ed25519KeyPair,
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let p256 = pkcs8(include_str!("keys/p256.pem"));
        let p384 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &random).unwrap();
        Self {
            rsa: RsaKeyPair::from_pkcs8(pkcs8(include_str!("keys/rsa.pem")).secret_pkcs8_der()).unwrap(),
            p256: EcdsaKeyPair::from_pkcs8(
                &ECDSA_P256_SHA256_FIXED_SIGNING,
                p256.secret_pkcs8_der(),
                &random,
            )
            .unwrap(),
            p384: EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, p384.as_ref(), &random).unwrap(),
            ed25519: Ed25519KeyPair::from_pkcs8_maybe_unchecked(
                pkcs8(include_str!("keys/ed25519.pem")).secret_pkcs8_der(),
            )
            .unwrap(),
        }
    }

    fn rsa_key(&self) -> Value {
        let parts = PublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        json!({"kty": "RSA", "kid": "rsa", "use": "sig", "n": encoded(parts.n), "e": encoded(parts.e)})
    }

    fn curve_key(&self, curve: &str, id: &str) -> Value {
        let pair = if curve == "P-256" { &self.p256 } else { &self.p384 };
        let point = pair.public_key().as_ref();
        let (x, y) = point[1..].split_at(point.len() / 2);
        json!({"kty": "EC", "crv": curve, "kid": id, "x": encoded(x), "y": encoded(y)})
    }

    fn keys(&self) -> Value {
        json!({"keys": [
            self.rsa_key(),
            self.curve_key("P-256", "p256"),
            self.curve_key("P-384", "p384"),
            {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": encoded(self.ed25519.public_key())},
        ]})
    }

    fn key_set(&self) -> KeySet {
        KeySet::parse(&self.keys().to_string()).unwrap()
    }

    fn signature(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let of_rsa = |padding: &'static dyn RsaEncoding| {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            self.rsa.sign(padding, &random, message, &mut signature).unwrap();
            signature
        };
        match algorithm {
            "RS256" => of_rsa(&RSA_PKCS1_SHA256),
            "RS384" => of_rsa(&RSA_PKCS1_SHA384),
            "RS512" => of_rsa(&RSA_PKCS1_SHA512),
            "PS256" => of_rsa(&RSA_PSS_SHA256),
            "PS384" => of_rsa(&RSA_PSS_SHA384),
            "PS512" => of_rsa(&RSA_PSS_SHA512),
            "ES256" => self.p256.sign(&random, message).unwrap().as_ref().to_vec(),
            "ES384" => self.p384.sign(&random, message).unwrap().as_ref().to_vec(),
            "EdDSA" => self.ed25519.sign(message).as_ref().to_vec(),
            other => panic!("{other}"),
        }
    }

    /// A token of this header and payload, each as text.
    fn token_of(&self, algorithm: &str, header: &str, payload: &str) -> String {
        let signed = format!("{}.{}", encoded(header), encoded(payload));
        let signature = encoded(self.signature(algorithm, signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// The usual token, with other members of the header and other claims; null takes one away.
    fn token(&self, header: &Value, claims: &Value) -> String {
        let header = changed(json!({"alg": "RS256", "typ": "at+jwt", "kid": "rsa"}), header);
        self.token_of("RS256", &header.to_string(), &changed(usual_claims(), claims).to_string())
    }
}

fn usual_claims() -> Value {
    json!({"iss": ISSUER, "aud": RESOURCE, "sub": "ann", "exp": NOW + 300, "iat": NOW, "scope": "mcp:read a"})
}

fn changed(mut object: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(object.as_object_mut().unwrap().remove(name)),
            value => object[name] = value.clone(),
        }
    }
    object
}

fn read(token: &str, keys: &KeySet, any_type: bool) -> Result<AccessToken, Rejection> {
    let audiences = [RESOURCE.to_owned(), "api://ptc".to_owned()];
    let now = Timestamp::from_seconds(NOW);
    let expectation = Expectation { issuer: ISSUER, audiences: &audiences, any_type, now };
    AccessToken::of_jwt(Jws::parse(token)?.verify(keys)?, &expectation)
}

#[test]
fn tokens_of_every_algorithm_are_read() {
    let (signer, keys) = (Signer::new(), Signer::key_set);
    let keys = keys(&signer);
    for algorithm in Algorithm::ALL {
        let name = algorithm.name();
        assert_eq!(Algorithm::named(name), Some(algorithm));
        let kid = match name {
            "ES256" => "p256",
            "ES384" => "p384",
            "EdDSA" => "ed",
            _ => "rsa",
        };
        let header = json!({"alg": name, "typ": "application/at+JWT", "kid": kid}).to_string();
        let token = signer.token_of(name, &header, &usual_claims().to_string());
        assert!(has_jwt_form(&token));
        let read = read(&token, &keys, false).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!((read.issuer.as_str(), read.subject.as_str()), (ISSUER, "ann"));
        assert_eq!(read.scopes.iter().collect::<Vec<_>>(), ["mcp:read", "a"]);
        assert_eq!(read.expires, Some(Timestamp::from_seconds(NOW + 360)));
    }
}

#[test]
fn good_tokens_of_all_habits_are_read() {
    let signer = Signer::new();
    let keys = signer.key_set();
    for (header, claims) in [
        (json!({}), json!({"aud": ["other", RESOURCE]})),
        (json!({}), json!({"aud": "api://ptc"})),
        (json!({}), json!({"exp": NOW - 59})),
        (json!({}), json!({"exp": NOW as f64 + 0.5})),
        (json!({}), json!({"nbf": NOW + 60, "iat": NOW + 60})),
        (json!({}), json!({"sub": "auth0|5f7c8e", "unknown": {"deep": [1]}})),
        (json!({"kid": null, "x5t": "abc", "jku": "https://evil.example"}), json!({})),
    ] {
        let token = signer.token(&header, &claims);
        read(&token, &keys, false).unwrap_or_else(|why| panic!("{header} {claims}: {why}"));
    }
    for header in [json!({"typ": "JWT"}), json!({"typ": null}), json!({"typ": "application/jwt"})] {
        let token = signer.token(&header, &json!({}));
        assert_eq!(read(&token, &keys, false), Err(TokenFault::Type.into()), "{header}");
        assert!(read(&token, &keys, true).is_ok(), "{header}");
    }
    let scopes = |claims: Value| {
        let read = read(&signer.token(&json!({}), &claims), &keys, false).unwrap();
        read.scopes.to_string()
    };
    assert_eq!(scopes(json!({"scope": null})), "");
    assert_eq!(scopes(json!({"scope": null, "scp": "b c"})), "b c");
    assert_eq!(scopes(json!({"scope": null, "scp": ["b", "c d", 1]})), "b c d");
    assert_eq!(scopes(json!({"scope": "a", "scp": ["b"]})), "a");
    let claims = json!({"groups": ["x", 1, "y"], "role": "z", "n": 1});
    let token = read(&signer.token(&json!({}), &claims), &keys, false).unwrap();
    assert_eq!(token.claim("groups"), Some(vec!["x", "y"]));
    assert_eq!(token.claim("role"), Some(vec!["z"]));
    assert_eq!((token.claim("n"), token.claim("none")), (None, None));
}

#[test]
fn bad_tokens_are_refused_with_the_rule_that_they_break() {
    let signer = Signer::new();
    let keys = signer.key_set();
    let fault = |fault: TokenFault| Rejection::from(fault);
    let form = |rule: &'static str| Rejection::from(TokenFault::Form(rule));
    let usual = usual_claims().to_string();
    let of = |header: Value| signer.token(&header, &json!({}));
    let claiming = |claims: Value| signer.token(&json!({}), &claims);
    let no_object = "a part is no JSON object with distinct names";
    let no_base64 = "a part is no base64url";
    let three_parts = "it has other than three parts; encrypted ones are not accepted";
    let good = of(json!({}));
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let unsigned = |alg: &str| {
        let header = json!({"alg": alg, "typ": "at+jwt", "kid": "rsa"});
        format!("{}.{}.", encoded(header.to_string()), encoded(&usual))
    };
    // HMAC with the text of the public key, which everybody has (CVE-2015-9235).
    let by_public_key = {
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, signer.rsa_key().to_string().as_bytes());
        let signed = unsigned("HS256").trim_end_matches('.').to_owned();
        format!("{signed}.{}", encoded(ring::hmac::sign(&secret, signed.as_bytes())))
    };
    let as_der = {
        let random = SystemRandom::new();
        let pair = pkcs8(include_str!("keys/p256.pem"));
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pair.secret_pkcs8_der(), &random);
        let header = json!({"alg": "ES256", "typ": "at+jwt", "kid": "p256"}).to_string();
        let signed = format!("{}.{}", encoded(header), encoded(&usual));
        format!("{signed}.{}", encoded(pair.unwrap().sign(&random, signed.as_bytes()).unwrap()))
    };
    let audience = |found: &str| Rejection::Audience { found: found.to_owned() };
    let issuer = |found: &str| Rejection::Issuer { found: found.to_owned() };
    let long = "x".repeat(300);
    let rows: Vec<(&str, String, Rejection)> = vec![
        ("no text", String::new(), form(three_parts)),
        ("none", unsigned("none"), fault(TokenFault::Algorithm)),
        ("None", unsigned("None"), fault(TokenFault::Algorithm)),
        ("HS256 with the public key", by_public_key, fault(TokenFault::Algorithm)),
        ("no alg", of(json!({"alg": null})), fault(TokenFault::Algorithm)),
        ("alg of another type", of(json!({"alg": 1})), form("its alg is no text")),
        ("ES256K", of(json!({"alg": "ES256K"})), fault(TokenFault::Algorithm)),
        ("alg of another key", of(json!({"alg": "ES256"})), fault(TokenFault::UnknownKey)),
        ("alg of another hash", of(json!({"alg": "RS512"})), fault(TokenFault::Signature)),
        ("PKCS#1 said to be PSS", of(json!({"alg": "PS256"})), fault(TokenFault::Signature)),
        ("DER in place of the fixed form", as_der, fault(TokenFault::Signature)),
        ("no signature", format!("{signed}."), fault(TokenFault::Signature)),
        ("two parts", signed.to_owned(), form(three_parts)),
        ("JWE", format!("{good}.{signature}.{signature}"), form(three_parts)),
        ("padding", format!("{good}=="), form(no_base64)),
        ("other alphabet", format!("{signed}.{}", STANDARD_NO_PAD.encode([0xff; 256])), form(no_base64)),
        ("white space", format!("{good}\n"), form(no_base64)),
        ("header that is no object", signer.token_of("RS256", "[]", &usual), form(no_object)),
        ("payload that is no object", signer.token_of("RS256", r#"{"alg":"RS256"}"#, "1"), form(no_object)),
        (
            "alg twice",
            signer.token_of("RS256", r#"{"alg":"none","alg":"RS256","kid":"rsa"}"#, &usual),
            form(no_object),
        ),
        (
            "sub twice",
            signer.token_of(
                "RS256",
                r#"{"alg":"RS256","kid":"rsa","typ":"at+jwt"}"#,
                &usual.replace("{", r#"{"sub":"ben","#),
            ),
            form(no_object),
        ),
        ("deep JSON", claiming(json!({"x": nested(100)})), form(no_object)),
        ("crit", of(json!({"crit": ["exp"]})), form("its header has crit")),
        ("empty crit", of(json!({"crit": []})), form("its header has crit")),
        ("nested", of(json!({"cty": "JWT"})), form("its header says that there is another token in it")),
        ("zip", of(json!({"zip": "DEF"})), form("its header says that there is another token in it")),
        ("kid of another type", of(json!({"kid": 7})), form("its kid is no text")),
        ("long kid", of(json!({"kid": "k".repeat(1025)})), form("its kid is over 1 KiB")),
        ("giant kid", of(json!({"kid": "k".repeat(9000)})), form("its header is over 8 KiB")),
        ("giant claims", claiming(json!({"x": "y".repeat(16 << 10)})), form("it is over 16 KiB")),
        ("unknown kid", of(json!({"kid": "other"})), fault(TokenFault::UnknownKey)),
        ("kid of another case", of(json!({"kid": "RSA"})), fault(TokenFault::UnknownKey)),
        ("ID token by nonce", claiming(json!({"nonce": "n"})), fault(TokenFault::IdToken)),
        ("ID token by at_hash", claiming(json!({"at_hash": "h"})), fault(TokenFault::IdToken)),
        ("ID token by typ", of(json!({"typ": "id_token+jwt"})), fault(TokenFault::Type)),
        ("no typ", of(json!({"typ": null})), fault(TokenFault::Type)),
        (
            "other issuer",
            claiming(json!({"iss": "https://evil.example"})),
            issuer(r#""https://evil.example""#),
        ),
        (
            "issuer with slash",
            claiming(json!({"iss": format!("{ISSUER}/")})),
            issuer(r#""https://issuer.example/t/""#),
        ),
        ("no issuer", claiming(json!({"iss": null})), issuer(r#""""#)),
        ("list of issuers", claiming(json!({"iss": [ISSUER]})), issuer(r#""""#)),
        (
            "other audience",
            claiming(json!({"aud": "https://ptc.example/"})),
            audience(r#""https://ptc.example/""#),
        ),
        (
            "prefix",
            claiming(json!({"aud": [format!("{RESOURCE}/x")]})),
            audience(r#""https://ptc.example/mcp/x""#),
        ),
        ("no audience", claiming(json!({"aud": null})), audience("missing")),
        ("audiences of other types", claiming(json!({"aud": [1, {}]})), audience("missing")),
        ("expired beyond the leeway", claiming(json!({"exp": NOW - 60})), Rejection::Expired),
        ("expired and for others", claiming(json!({"exp": 1, "aud": "x"})), audience(r#""x""#)),
        ("no exp", claiming(json!({"exp": null})), fault(TokenFault::NoExpiry)),
        ("exp as text", claiming(json!({"exp": "9999999999"})), form("exp, nbf or iat is no point in time")),
        ("negative exp", claiming(json!({"exp": -1})), form("exp, nbf or iat is no point in time")),
        ("nbf in the future", claiming(json!({"nbf": NOW + 61})), fault(TokenFault::NotYet)),
        ("iat in the future", claiming(json!({"iat": NOW + 61})), fault(TokenFault::NotYet)),
        ("empty sub", claiming(json!({"sub": ""})), fault(TokenFault::Subject)),
        ("no sub", claiming(json!({"sub": null})), fault(TokenFault::Subject)),
        ("sub of another type", claiming(json!({"sub": 5})), fault(TokenFault::Subject)),
        ("long sub", claiming(json!({"sub": long})), fault(TokenFault::Subject)),
        ("sub with a line break", claiming(json!({"sub": "a\nb"})), fault(TokenFault::Subject)),
        ("scope as number", claiming(json!({"scope": 1})), form("its scope is no text")),
    ];
    for (name, token, expected) in rows {
        assert_eq!(read(&token, &keys, false), Err(expected), "{name}");
    }
    // Every byte of the signed text counts.
    let (header, payload) = signed.split_once('.').unwrap();
    let other = encoded(usual.replace("ann", "ben"));
    assert_eq!(
        read(&format!("{header}.{other}.{signature}"), &keys, false),
        Err(TokenFault::Signature.into())
    );
    assert_ne!(payload, other);
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn descriptions_are_the_four_of_the_specification() {
    for (rejection, description) in [
        (Rejection::Expired, "the token has expired"),
        (Rejection::Audience { found: String::new() }, "the token is for another audience"),
        (Rejection::Issuer { found: String::new() }, "the token is from another issuer"),
        (TokenFault::Signature.into(), "the token cannot be verified"),
    ] {
        assert_eq!(rejection.description(), description);
    }
}

#[test]
fn opaque_tokens_have_no_form_of_jwt() {
    for token in ["", "abc", "a.b.c", "access-token-1", "e30.x", "MTIz.abc.def", "ya29.a0AfH6SMBx.y"] {
        assert!(!has_jwt_form(token), "{token}");
    }
    assert!(has_jwt_form("e30.x.y") && has_jwt_form("eyJlbmMiOiJ4In0.a.b.c.d"));
}

#[test]
fn key_sets_keep_what_can_verify_and_refuse_the_rest() {
    let signer = Signer::new();
    let parse = |keys: Vec<Value>| KeySet::parse(&json!({"keys": keys}).to_string());
    let rsa = |changes: Value| changed(signer.rsa_key(), &changes);
    let p256 = |changes: Value| changed(signer.curve_key("P-256", "k"), &changes);
    let useless = [
        ("secret", json!({"kty": "oct", "k": "AAAA", "kid": "k"})),
        ("private half", rsa(json!({"d": "AAAA"}))),
        ("for encryption", rsa(json!({"use": "enc"}))),
        ("for other work", rsa(json!({"key_ops": ["encrypt"]}))),
        ("1024 bits", rsa(json!({"n": encoded([0xff; 128])}))),
        ("2047 bits", rsa(json!({"n": encoded([&[0x7f][..], &[0xff; 255]].concat())}))),
        (
            "2048 bits of which zeros are most",
            rsa(json!({"n": encoded([&[0; 200][..], &[0xff; 56]].concat())})),
        ),
        ("16 KiB of modulus", rsa(json!({"n": encoded([0xff; 2049])}))),
        ("alg of HMAC", rsa(json!({"alg": "HS256"}))),
        ("alg of another kind", rsa(json!({"alg": "ES256"}))),
        ("kid of another type", rsa(json!({"kid": 1}))),
        ("no modulus", rsa(json!({"n": null}))),
        ("unknown curve", p256(json!({"crv": "secp256k1"}))),
        ("curve of another size", p256(json!({"crv": "P-384"}))),
        ("short coordinate", p256(json!({"x": encoded([1; 31])}))),
        ("Ed448", json!({"kty": "OKP", "crv": "Ed448", "x": encoded([1; 57])})),
        ("X25519", json!({"kty": "OKP", "crv": "X25519", "x": encoded([1; 32])})),
        ("no kty", json!({"n": "AQAB", "e": "AQAB"})),
        ("no object", json!(1)),
    ];
    for (name, key) in &useless {
        assert_eq!(parse(vec![key.clone()]), Err(KeySetError::NoKeys), "{name}");
    }
    let mixed = useless.into_iter().map(|(_, key)| key).chain([signer.rsa_key()]).collect();
    assert_eq!(parse(mixed).unwrap().len(), 1);
    // A zero in front, as DER has it, is a habit.
    let parts = PublicKeyComponents::<Vec<u8>>::from(signer.rsa.public());
    let padded = parse(vec![rsa(json!({"n": encoded([&[0][..], &parts.n].concat())}))]).unwrap();
    assert!(read(&signer.token(&json!({}), &json!({})), &padded, false).is_ok());
    let many = |count: usize| parse(vec![signer.rsa_key(); count]);
    assert_eq!(many(100).unwrap().len(), 100);
    assert_eq!(many(101), Err(KeySetError::TooMany));
    let long = format!("{}{}", signer.keys(), " ".repeat(256 << 10));
    assert_eq!(KeySet::parse(&long), Err(KeySetError::TooLarge));
    for text in ["", "[]", "{}", r#"{"keys":{}}"#, "<html>", r#"{"keys":[],"keys":[]}"#] {
        assert_eq!(KeySet::parse(text), Err(KeySetError::NoSet), "{text}");
    }
    assert_eq!(KeySet::parse(r#"{"keys":[]}"#), Err(KeySetError::NoKeys));
}

#[test]
fn keys_are_chosen_by_id_and_algorithm() {
    let signer = Signer::new();
    let parse = |keys: Vec<Value>| KeySet::parse(&json!({"keys": keys}).to_string()).unwrap();
    let token = signer.token(&json!({}), &json!({}));
    let other = changed(signer.rsa_key(), &json!({"n": encoded([0xfd; 256])}));
    // Two keys of one id: that which made the signature counts.
    assert!(read(&token, &parse(vec![other.clone(), signer.rsa_key()]), false).is_ok());
    assert_eq!(read(&token, &parse(vec![other.clone()]), false), Err(TokenFault::Signature.into()));
    // A key that is for one algorithm verifies no other, though it could.
    let only = parse(vec![changed(signer.rsa_key(), &json!({"alg": "PS256"}))]);
    assert_eq!(read(&token, &only, false), Err(TokenFault::UnknownKey.into()));
    // Without an id, one key alone must fit.
    let bare = signer.token(&json!({"kid": null}), &json!({}));
    assert!(read(&bare, &signer.key_set(), false).is_ok());
    assert_eq!(read(&bare, &parse(vec![other, signer.rsa_key()]), false), Err(TokenFault::UnknownKey.into()));
}

fn seconds(seconds: u64) -> Timestamp {
    Timestamp::from_seconds(1000 + seconds)
}

#[test]
fn keys_are_fetched_once_and_unknown_ones_at_most_once_a_minute() {
    let signer = Signer::new();
    let keys = signer.key_set();
    let (known, unknown) =
        (signer.token(&json!({}), &json!({})), signer.token(&json!({"kid": "new"}), &json!({})));
    let (known, unknown) = (Jws::parse(&known).unwrap(), Jws::parse(&unknown).unwrap());
    let life = Duration::from_secs(300);
    let mut cache = KeyCache::default();
    assert_eq!(cache.ask(&known, seconds(0), seconds(0)), KeyAnswer::Wait { fetch: true });
    assert_eq!(cache.ask(&known, seconds(1), seconds(1)), KeyAnswer::Wait { fetch: false });
    cache.fetched(Some((keys.clone(), life)), seconds(2));
    let is_known = |answer: KeyAnswer| match answer {
        KeyAnswer::Keys { fetch, .. } => fetch,
        other => panic!("{other:?}"),
    };
    assert!(!is_known(cache.ask(&known, seconds(2), seconds(2))));
    // One that came before the fetch had ended is none of the issuer's; of others nobody knows yet.
    assert_eq!(cache.ask(&unknown, seconds(2), seconds(3)), KeyAnswer::Unknown);
    assert_eq!(cache.ask(&unknown, seconds(3), seconds(3)), KeyAnswer::Unavailable);
    // The fetch at the start is not the one of the minute.
    assert_eq!(cache.ask(&unknown, seconds(7), seconds(7)), KeyAnswer::Wait { fetch: true });
    assert_eq!(cache.ask(&unknown, seconds(8), seconds(8)), KeyAnswer::Wait { fetch: false });
    cache.fetched(Some((keys.clone(), life)), seconds(9));
    for came in [7, 8, 9] {
        assert_eq!(cache.ask(&unknown, seconds(came), seconds(9)), KeyAnswer::Unknown);
    }
    // A flood of unknown ids. The issuer may have published their keys since.
    assert_eq!(cache.ask(&unknown, seconds(10), seconds(10)), KeyAnswer::Unavailable);
    assert_eq!(cache.ask(&unknown, seconds(68), seconds(68)), KeyAnswer::Unavailable);
    assert_eq!(cache.ask(&unknown, seconds(69), seconds(69)), KeyAnswer::Wait { fetch: true });
    // It blocks nobody whose key is known.
    assert!(!is_known(cache.ask(&known, seconds(69), seconds(69))));
    cache.fetched(None, seconds(70));
    // Nobody can say whether the key is new, neither to those who waited.
    assert_eq!(cache.ask(&unknown, seconds(69), seconds(70)), KeyAnswer::Unavailable);
    assert_eq!(cache.ask(&unknown, seconds(130), seconds(130)), KeyAnswer::Wait { fetch: true });
    cache.fetched(Some((keys, life)), seconds(131));
    assert_eq!(cache.ask(&unknown, seconds(130), seconds(131)), KeyAnswer::Unknown);
    assert_eq!(UNKNOWN_KEY_PAUSE, Duration::from_secs(60));
}

#[test]
fn stale_keys_serve_for_a_day_while_the_fetch_fails() {
    let signer = Signer::new();
    let token = signer.token(&json!({}), &json!({}));
    let token = Jws::parse(&token).unwrap();
    let mut cache = KeyCache::default();
    assert!(cache.begin_first(seconds(0)) && !cache.begin_first(seconds(0)));
    cache.fetched(None, seconds(0));
    assert_eq!(cache.ask(&token, seconds(4), seconds(4)), KeyAnswer::Unavailable);
    assert_eq!(cache.ask(&token, seconds(0) + RETRY, seconds(0) + RETRY), KeyAnswer::Wait { fetch: true });
    cache.fetched(Some((signer.key_set(), Duration::from_secs(300))), seconds(10));
    let mut at = 310;
    let day = MAX_STALE.as_secs();
    while at < 10 + day {
        match cache.ask(&token, seconds(at), seconds(at)) {
            KeyAnswer::Keys { fetch: true, .. } => cache.fetched(None, seconds(at)),
            other => panic!("{at}: {other:?}"),
        }
        match cache.ask(&token, seconds(at + 1), seconds(at + 1)) {
            KeyAnswer::Keys { fetch: false, .. } => {}
            other => panic!("{at}: {other:?}"),
        }
        at += 3600;
    }
    assert_eq!(cache.ask(&token, seconds(10 + day), seconds(10 + day)), KeyAnswer::Wait { fetch: true });
    cache.fetched(None, seconds(10 + day));
    assert_eq!(cache.ask(&token, seconds(11 + day), seconds(11 + day)), KeyAnswer::Unavailable);
}

#[test]
fn a_fetch_that_was_lost_is_begun_again() {
    let signer = Signer::new();
    let token = signer.token(&json!({}), &json!({}));
    let token = Jws::parse(&token).unwrap();
    let mut cache = KeyCache::default();
    assert_eq!(cache.ask(&token, seconds(0), seconds(0)), KeyAnswer::Wait { fetch: true });
    assert_eq!(cache.ask(&token, seconds(59), seconds(59)), KeyAnswer::Wait { fetch: false });
    assert_eq!(cache.ask(&token, seconds(60), seconds(60)), KeyAnswer::Wait { fetch: true });
}

/// Carries a conversation by what each URL answers.
fn carry<F: Flow>(
    mut flow: F,
    answer: impl Fn(&str) -> Result<Response, TransportError>,
) -> (Result<F::Output, F::Error>, Vec<String>) {
    let (mut next, mut asked) = (flow.start(), Vec::new());
    loop {
        match next {
            Next::Done(result) => return (result, asked),
            Next::Send(request) => {
                assert_eq!((request.purpose, request.method), (Purpose::Metadata, Method::Get));
                asked.push(request.url.to_string());
                let result = answer(request.url.as_str());
                next = flow.receive(RequestOutcome { at: Timestamp::from_seconds(NOW), result });
            }
        }
    }
}

fn document(document: &Value) -> Result<Response, TransportError> {
    Ok(Response::new(200, vec![("cache-control".into(), "max-age=600".into())], document.to_string()))
}

#[test]
fn an_issuer_is_found_at_its_well_known_places() {
    let metadata = json!({
        "issuer": ISSUER, "jwks_uri": "https://keys.example/jwks",
        "introspection_endpoint": "https://issuer.example/introspect",
        "introspection_endpoint_auth_methods_supported": ["client_secret_post"],
    });
    let last = "https://issuer.example/t/.well-known/openid-configuration";
    let (found, asked) = carry(IssuerDiscovery::new(ISSUER), |url| match url == last {
        true => document(&metadata),
        false => Ok(Response::new(404, Vec::new(), "")),
    });
    let found = found.unwrap();
    assert_eq!(found.jwks_uri.unwrap().as_str(), "https://keys.example/jwks");
    assert_eq!(found.introspection_endpoint.unwrap().as_str(), "https://issuer.example/introspect");
    assert!(!found.introspection_by_header);
    assert_eq!((found.issuer.as_str(), found.life), (ISSUER, Duration::from_secs(600)));
    assert_eq!(
        asked,
        [
            "https://issuer.example/.well-known/oauth-authorization-server/t",
            "https://issuer.example/.well-known/openid-configuration/t",
            last,
        ]
    );
    // The first that answers for somebody else ends the search.
    let (found, asked) =
        carry(IssuerDiscovery::new(ISSUER), |_| document(&json!({"issuer": "https://evil.example"})));
    let url = "https://issuer.example/.well-known/oauth-authorization-server/t".to_owned();
    assert_eq!(found, Err(IssuerError::OtherIssuer { url, found: r#""https://evil.example""#.to_owned() }));
    assert_eq!(asked.len(), 1);
    let (found, asked) = carry(IssuerDiscovery::new("https://h.example"), |_| Err(TransportError::TimedOut));
    assert!(matches!(found, Err(IssuerError::Unreadable { .. })) && asked.len() == 2, "{found:?} {asked:?}");
    for issuer in ["http://issuer.example", "issuer.example", "https://i.example/?a=1", ""] {
        let (found, asked) = carry(IssuerDiscovery::new(issuer), |_| Err(TransportError::TimedOut));
        assert_eq!((found, asked), (Err(IssuerError::NoUrl), Vec::new()), "{issuer}");
    }
    // A place that is no https URL is none.
    let (found, _) = carry(IssuerDiscovery::new(ISSUER), |_| {
        document(&json!({"issuer": ISSUER, "jwks_uri": "http://keys.example"}))
    });
    assert_eq!(found.unwrap().jwks_uri, None);
}

#[test]
fn keys_that_lie_hang_or_flood_are_no_keys() {
    let signer = Signer::new();
    let url = || Url::parse("https://keys.example/jwks").unwrap();
    let fetch = |answer: Result<Response, TransportError>| {
        carry(KeyFetch::new(url()), |_| answer.clone()).0.map_err(|error| error.to_string())
    };
    let (keys, life) = fetch(document(&signer.keys())).unwrap();
    assert_eq!((keys.len(), life), (4, Duration::from_secs(600)));
    let body = |status: u16, text: &str| Ok(Response::new(status, Vec::new(), text));
    let of = |reason: &str| format!("the keys at https://keys.example/jwks cannot be used: {reason}");
    let unread = |reason: &str| format!("cannot read https://keys.example/jwks: {reason}");
    for (answer, expected) in [
        (Err(TransportError::TimedOut), unread("no answer in time")),
        (Err(TransportError::TooLarge), unread("the answer is over 1 MiB")),
        (body(500, "{}"), unread("http 500")),
        (body(302, ""), unread("http 302")),
        (body(200, "<html>"), of("it is no JSON object with a list of keys")),
        (body(200, &" ".repeat(257 << 10)), of("it is over 256 KiB")),
        (document(&json!({"keys": vec![json!({}); 101]})), of("it has over 100 keys")),
    ] {
        assert_eq!(fetch(answer), Err(expected));
    }
}

#[test]
fn issuers_are_asked_about_opaque_tokens() {
    let client = IntrospectionClient { id: "ptc:x".into(), secret: Secret::new("a+b") };
    let endpoint = Url::parse("https://issuer.example/introspect").unwrap();
    let request = client.request(&endpoint, true, "tok en");
    assert_eq!((request.purpose, request.method), (Purpose::Introspection, Method::Post));
    assert!(!request.purpose.follows_redirects());
    assert_eq!(request.body.unwrap().expose(), "token=tok+en&token_type_hint=access_token");
    let header = request.headers.iter().find(|(name, _)| *name == "authorization").unwrap();
    assert_eq!(header.1.expose(), "Basic cHRjJTNBeDphJTJCYg==");
    let request = client.request(&endpoint, false, "t");
    assert!(request.headers.iter().all(|(name, _)| *name != "authorization"));
    let body = "token=t&token_type_hint=access_token&client_id=ptc%3Ax&client_secret=a%2Bb";
    assert_eq!(request.body.unwrap().expose(), body);

    let read = |status: u16, text: &str| introspection::read(&Response::new(status, Vec::new(), text));
    assert_eq!(read(200, r#"{"active":false,"sub":"x"}"#), Ok(IntrospectionAnswer::Inactive));
    assert!(matches!(read(200, r#"{"active":true}"#), Ok(IntrospectionAnswer::Active(_))));
    for (status, text) in [
        (200, "{}"),
        (200, r#"{"active":"true"}"#),
        (200, r#"{"active":false,"active":true}"#),
        (200, "<html>"),
        (401, r#"{"active":true}"#),
        (302, r#"{"active":true}"#),
        (500, r#"{"active":true}"#),
    ] {
        assert!(read(status, text).is_err(), "{status} {text}");
    }
}

#[test]
fn introspected_tokens_are_held_to_the_same_rules() {
    let audiences = [RESOURCE.to_owned()];
    let now = Timestamp::from_seconds(NOW);
    let expectation = Expectation { issuer: ISSUER, audiences: &audiences, any_type: false, now };
    let check = |changes: Value| {
        let claims = changed(json!({"active": true, "aud": RESOURCE, "sub": "ann", "scope": "a"}), &changes);
        AccessToken::of_introspection(claims.as_object().unwrap().clone(), &expectation)
    };
    let token = check(json!({})).unwrap();
    assert_eq!((token.issuer.as_str(), token.expires), (ISSUER, None));
    assert!(check(json!({"iss": ISSUER, "exp": NOW - 59, "nonce": "of the request"})).is_ok());
    for (changes, expected) in [
        (json!({"aud": null}), Rejection::Audience { found: "missing".into() }),
        (json!({"aud": "x"}), Rejection::Audience { found: r#""x""#.into() }),
        (
            json!({"iss": "https://evil.example"}),
            Rejection::Issuer { found: r#""https://evil.example""#.into() },
        ),
        (json!({"iss": 1}), Rejection::Issuer { found: r#""""#.into() }),
        (json!({"exp": NOW - 60}), Rejection::Expired),
        (json!({"nbf": NOW + 61}), TokenFault::NotYet.into()),
        (json!({"sub": null}), TokenFault::Subject.into()),
    ] {
        assert_eq!(check(changes.clone()), Err(expected), "{changes}");
    }
}

#[test]
fn id_tokens_are_read_for_their_own_client_and_sign_in_alone() {
    let signer = Signer::new();
    let keys = signer.key_set();
    let nonce = Secret::new("n-1");
    let read = |header: Value, claims: Value| {
        let own = json!({"aud": "ptc", "nonce": "n-1", "scope": null});
        let payload = changed(changed(usual_claims(), &own), &claims).to_string();
        let header = changed(json!({"alg": "RS256", "typ": "JWT", "kid": "rsa"}), &header).to_string();
        let token = signer.token_of("RS256", &header, &payload);
        let now = Timestamp::from_seconds(NOW);
        let expectation = IdTokenExpectation { issuer: ISSUER, client_id: "ptc", nonce: &nonce, now };
        IdToken::of_jwt(Jws::parse(&token)?.verify(&keys)?, &expectation)
    };
    for (header, claims) in [
        (json!({}), json!({})),
        (json!({"typ": null}), json!({"azp": "ptc"})),
        (json!({}), json!({"aud": ["ptc"], "at_hash": "x"})),
        (json!({}), json!({"aud": ["other", "ptc"], "azp": "ptc"})),
        (json!({}), json!({"exp": NOW - 59})),
    ] {
        let read = read(header.clone(), claims.clone());
        assert_eq!(read.unwrap_or_else(|why| panic!("{header} {claims}: {why}")).subject, "ann");
    }
    let token = read(json!({}), json!({"groups": ["x", "y"]})).unwrap();
    assert_eq!(token.expires, Timestamp::from_seconds(NOW + 360));
    assert!(token.claims().any(|claim| claim == ("groups", vec!["x", "y"])));
    let fault = |fault: TokenFault| Rejection::from(fault);
    for (header, claims, expected) in [
        (json!({"typ": "at+jwt"}), json!({}), fault(TokenFault::NoIdToken)),
        (json!({"typ": "application/at+jwt"}), json!({}), fault(TokenFault::NoIdToken)),
        (json!({}), json!({"aud": RESOURCE}), fault(TokenFault::OtherClient)),
        (json!({}), json!({"aud": null}), fault(TokenFault::OtherClient)),
        (json!({}), json!({"aud": ["ptc", "other"]}), fault(TokenFault::OtherClient)),
        (json!({}), json!({"aud": ["ptc", "other"], "azp": "other"}), fault(TokenFault::OtherClient)),
        (json!({}), json!({"azp": "other"}), fault(TokenFault::OtherClient)),
        (json!({}), json!({"azp": ["ptc"]}), fault(TokenFault::OtherClient)),
        (json!({}), json!({"nonce": null}), fault(TokenFault::Nonce)),
        (json!({}), json!({"nonce": "n-2"}), fault(TokenFault::Nonce)),
        (json!({}), json!({"nonce": ["n-1"]}), fault(TokenFault::Nonce)),
        (json!({}), json!({"iat": null}), fault(TokenFault::Form("it has no iat"))),
        (json!({}), json!({"iat": NOW + 61}), fault(TokenFault::NotYet)),
        (json!({}), json!({"exp": null}), fault(TokenFault::NoExpiry)),
        (json!({}), json!({"sub": ""}), fault(TokenFault::Subject)),
        (json!({}), json!({"exp": NOW - 60}), Rejection::Expired),
        (
            json!({}),
            json!({"iss": "https://issuer.example/t/"}),
            Rejection::Issuer { found: r#""https://issuer.example/t/""#.into() },
        ),
    ] {
        assert_eq!(read(header.clone(), claims.clone()), Err(expected), "{header} {claims}");
    }
}
