//! Answers that browsers bring, and people paste.

use crate::bounds::{Charged, bounded};
use crate::generate::Choices;
use ptc_oauth::authorize::PendingSignIn;
use ptc_oauth::callback::{Callback, CallbackVerdict};
use ptc_oauth::failure::Failure;
use ptc_oauth::metadata::is_same_issuer;
use ptc_oauth::scopes::Scopes;
use ptc_oauth::secret::Secret;

const ISSUER: &str = "https://a.example";
const REDIRECT: &str = "http://127.0.0.1:33418/callback";

/// What is read is what a second reader finds, a pasted URL says what the browser would have, and nobody but the expected issuer gets a code accepted.
pub fn callback(data: &[u8]) {
    let mut choices = Choices::new(data);
    let (iss_advertised, path) = (choices.once_in(2), *choices.one(&["/callback", "/", ""]));
    let query = String::from_utf8_lossy(choices.all()).into_owned();
    let target = format!("{path}?{query}");
    let read = bounded("a callback", data.len(), || {
        (Callback::read("GET", &target, "/callback"), Charged::default())
    });
    if !query.contains('#') && !query.ends_with(char::is_whitespace) && path == "/callback" {
        assert_eq!(Callback::of_pasted(&format!("{REDIRECT}?{query}"), REDIRECT, None), read);
    }
    let Ok(callback) = read else { return };
    assert_eq!(path, "/callback");
    let value = |name: &str| {
        let mut values = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let value = values.find(|(n, _)| decoded(n) == name.as_bytes()).map(|(_, value)| decoded(value));
        assert!(!values.any(|(n, _)| decoded(n) == name.as_bytes()), "{name} comes twice");
        value
    };
    assert_eq!(value("state").as_deref(), Some(callback.state.expose().as_bytes()));
    assert_eq!(value("iss").as_deref(), callback.iss.as_ref().map(String::as_bytes));
    let (code, error) = match &callback.verdict {
        CallbackVerdict::Code(code) => (Some(code.expose().as_bytes()), None),
        CallbackVerdict::Error { code, .. } => (None, Some(code.as_bytes())),
    };
    assert_eq!((value("code").as_deref(), value("error").as_deref()), (code, error));

    let pending = PendingSignIn {
        state: callback.state.clone(),
        verifier: Secret::new("v"),
        redirect_uri: REDIRECT.to_owned(),
        issuer: ISSUER.to_owned(),
        iss_advertised,
        token_endpoint: "https://a.example/t".to_owned(),
        resource: None,
        scopes: Scopes::default(),
        client_id: "id".to_owned(),
        principal: "process".to_owned(),
        upstream: "u".to_owned(),
        legacy: false,
        expires_at: 1,
    };
    let is_same = |iss: &str| iss == ISSUER || !iss_advertised && is_same_issuer(iss, ISSUER);
    let is_expected = callback.iss.as_deref().map_or(!iss_advertised, is_same);
    let result = pending.code(callback);
    assert_eq!(result == Err(Failure::IssMismatch), !is_expected);
}

/// A form's text, byte by byte.
fn decoded(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
                continue;
            }
            (b'+', ..) => out.push(b' '),
            (other, ..) => out.push(*other),
        }
        at += 1;
    }
    out
}
