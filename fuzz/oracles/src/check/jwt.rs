//! Access tokens that callers bring, and the keys of their issuers.

use ptc_oauth::jwt::introspection::{self, IntrospectionAnswer};
use ptc_oauth::jwt::{
    AccessToken, Expectation, Jws, KeyAnswer, KeyCache, KeySet, MAX_KEYS, MAX_STALE, RETRY, has_jwt_form,
};
use ptc_oauth::message::Response;
use ptc_oauth::timestamp::Timestamp;
use std::time::Duration;

use crate::bounds::{Charged, bounded};

/// A token of [`KEYS`].
pub(crate) const TOKEN: &str = concat!(
    "eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImVkIn0.",
    "eyJpc3MiOiJodHRwczovL2EuZXhhbXBsZSIsImF1ZCI6Imh0dHBzOi8vaC5leGFtcGxlL21jcCIsInN1YiI6ImFubiIsImV4cCI6MjAwMDAwMDAwMCwic2NvcGUiOiJhIGIifQ.",
    "x0zL-3kr_bUFgP03CK2WKupSfN4IpUYfeCUSp38AIALdXJrMUd-ya-J-NVVlp_g-4chHexTZsbrqc3bRRltoDQ"
);
/// The public key of an issuer; nobody here has its other half.
pub(crate) const KEYS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"ed","x":"KOjlRcBlwgiCCgv2ZELDjEQx-eqw13lcE8-ABQJe-Js"}]}"#;

/// Three lines: a token, a set of keys, an answer to an introspection; then bytes that say when keys are asked for and fetched. All
/// of them are read within the limits, no token is good but the one that was signed, and keys are fetched no more often than the
/// specification allows.
pub fn jwt(data: &[u8]) {
    let mut lines = data.splitn(4, |byte| *byte == b'\n');
    let mut text = || String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let (token, keys, answer, events) = (text(), text(), text(), text());
    let read = bounded("token", token.len(), || (Jws::parse(&token), Charged::default()));
    let audiences = ["https://h.example/mcp".to_owned()];
    let expectation = Expectation {
        issuer: "https://a.example",
        audiences: &audiences,
        any_type: true,
        now: Timestamp::from_seconds(1_900_000_000),
    };
    if let Ok(read) = &read {
        assert!(has_jwt_form(&token));
        let own = KeySet::parse(KEYS).expect("it is good");
        if let Ok(verified) = read.clone().verify(&own) {
            assert_eq!(token, TOKEN, "a forgery");
            let read = AccessToken::of_jwt(verified, &expectation).expect("it is good");
            assert_eq!(read.subject, "ann");
        }
    }
    let keys = bounded("keys", keys.len(), || (KeySet::parse(&keys), Charged::default()));
    if let Ok(keys) = &keys {
        assert!(!keys.is_empty() && keys.len() <= MAX_KEYS);
    }
    let answer = Response::new(200, Vec::new(), answer);
    if let Ok(IntrospectionAnswer::Active(claims)) = introspection::read(&answer)
        && let Ok(read) = AccessToken::of_introspection(claims, &expectation)
    {
        assert!(!read.subject.is_empty() && !read.subject.chars().any(char::is_control));
        assert!(read.expires.is_none_or(|end| end > expectation.now));
    }
    fetches(&Jws::parse(TOKEN).expect("it is good"), events.as_bytes());
}

/// Asks for keys, and fetches them or fails to, at times that grow by the events.
fn fetches(token: &Jws<'_>, events: &[u8]) {
    let (own, other) = (KeySet::parse(KEYS), KeySet::parse(&KEYS.replace("\"ed\"", "\"other\"")));
    let (own, other) = (own.expect("it is good"), other.expect("it is good"));
    let mut cache = KeyCache::default();
    let (mut now, mut last_end, mut last_success) = (Timestamp::from_seconds(1), None, None);
    let mut is_fetching = false;
    for event in events.chunks_exact(2) {
        now = now + Duration::from_secs(u64::from(event[0]).pow(2));
        let answer = cache.ask(token, now, now);
        let begins = matches!(answer, KeyAnswer::Keys { fetch: true, .. } | KeyAnswer::Wait { fetch: true });
        if let KeyAnswer::Keys { .. } = answer {
            assert!(last_success.is_some_and(|at| now.since(at) < MAX_STALE), "keys of which nobody knows");
        }
        if begins {
            assert!(last_end.is_none_or(|at| now.since(at) >= RETRY), "too soon");
            is_fetching = true;
        }
        if is_fetching && event[1] % 2 == 0 {
            let result = match event[1] % 6 {
                0 => None,
                2 => Some(other.clone()),
                _ => Some(own.clone()),
            };
            if result.is_some() {
                last_success = Some(now);
            }
            last_end = Some(now);
            is_fetching = false;
            cache.fetched(result.map(|keys| (keys, Duration::from_secs(300))), now);
        }
    }
}
