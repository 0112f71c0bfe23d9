//! Auth emitters: the mapping of a credential to a request header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::{HeaderMap, HeaderName, HeaderValue};
use ptc_mcp::json::Value;
use zeroize::Zeroizing;

use super::headers::{MAX_VALUE_BYTES, custom_header_name, static_headers};
use super::{Credential, CredentialStore, NoRoom, Redactor, SchemeHint, Secret};
use ptc_base::config_error::ConfigError;

/// Shortest password of a Basic credential, in bytes, unless its binding allows short ones.
const MIN_PASSWORD_BYTES: usize = 12;

/// How an emitter presents its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthScheme {
    /// `authorization: Bearer <value>`
    Bearer,
    /// `authorization: Basic base64(user:pass)`
    Basic,
    /// `<name>: <value>`
    CustomHeader(HeaderName),
}

impl AuthScheme {
    /// The word in the file and in call records.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Basic => "basic",
            Self::CustomHeader(_) => "custom_header",
        }
    }

    /// The header that this scheme sets.
    pub fn header(&self) -> HeaderName {
        match self {
            Self::Bearer | Self::Basic => http::header::AUTHORIZATION,
            Self::CustomHeader(name) => name.clone(),
        }
    }

    fn agrees_with(&self, hint: SchemeHint) -> bool {
        match hint {
            SchemeHint::Raw => true,
            SchemeHint::Bearer => *self == Self::Bearer,
            SchemeHint::Basic => *self == Self::Basic,
        }
    }
}

/// One entry of an upstream's `auth` list. Holds the name of a binding, never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthEmitter {
    /// How the credential is presented.
    pub scheme: AuthScheme,
    /// Which credential: a key of the [`CredentialStore`].
    pub binding: String,
}

/// A credential could not be turned into a header. The text names the binding, never its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("credential {binding}: {detail}")]
pub struct AuthError {
    /// The binding at fault.
    pub binding: String,
    /// The fault.
    pub detail: &'static str,
}

/// The operator's headers of one HTTP upstream (`mcp_http` or `openapi`): static ones and those of its emitters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpAuth {
    /// Literal headers, sorted by name.
    pub static_headers: Vec<(HeaderName, HeaderValue)>,
    /// Emitters in the order of the file; no two set the same header.
    pub emitters: Vec<AuthEmitter>,
}

impl HttpAuth {
    /// Whether requests carry credentials.
    pub fn has_credentials(&self) -> bool {
        !self.emitters.is_empty()
    }

    /// The headers for one request: static ones, then credentials (marked sensitive). Computed for each request and
    /// not kept.
    ///
    /// # Errors
    /// If a binding is unknown or has no shape that its scheme can use. Loading a file checks both, so that this
    /// happens only with stores that were built by hand.
    pub fn headers(&self, store: &CredentialStore) -> Result<Vec<(HeaderName, HeaderValue)>, AuthError> {
        let mut headers = Vec::with_capacity(self.static_headers.len() + self.emitters.len());
        headers.extend_from_slice(&self.static_headers);
        for emitter in &self.emitters {
            headers.push((emitter.scheme.header(), emitter.header_value(store)?));
        }
        Ok(headers)
    }

    /// The credentials alone, as [`HttpAuth::headers`] computes them.
    ///
    /// # Errors
    /// As [`HttpAuth::headers`].
    pub fn credentials(&self, store: &CredentialStore) -> Result<HeaderMap, AuthError> {
        let credential = |emitter: &AuthEmitter| Ok((emitter.scheme.header(), emitter.header_value(store)?));
        self.emitters.iter().map(credential).collect()
    }

    /// Parses the shape of `auth` and `static_headers` of an entry; see [`check_bindings`](Self::check_bindings).
    pub fn parse(upstream: &str, auth: Option<&Value>, headers: Option<&Value>) -> Result<Self, ConfigError> {
        let emitters = match auth {
            None => Vec::new(),
            Some(Value::Array(list)) => {
                list.iter().map(|item| parse_emitter(upstream, item)).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(ConfigError::upstream(upstream, format_args!("auth must be a list"))),
        };
        Ok(Self { emitters, static_headers: static_headers(upstream, headers)? })
    }

    /// Why the credential of an emitter has no value, if one has none.
    pub fn unset<'a>(&self, store: &'a CredentialStore) -> Option<&'a str> {
        self.emitters.iter().find_map(|emitter| store.unset(&emitter.binding))
    }

    /// Checks that every emitter's binding exists, agrees with the scheme, and yields a header. One without a value is
    /// passed over.
    pub fn check_bindings(&self, upstream: &str, store: &CredentialStore) -> Result<(), ConfigError> {
        for emitter in &self.emitters {
            let binding = &emitter.binding;
            if store.unset(binding).is_some() {
                continue;
            }
            let Some(credential) = store.get(binding) else {
                return Err(ConfigError::upstream(
                    upstream,
                    format_args!("references unknown credential binding {binding}"),
                ));
            };
            if let Some(hint) = credential.scheme_hint.filter(|hint| !emitter.scheme.agrees_with(*hint)) {
                return Err(ConfigError::upstream(
                    upstream,
                    format_args!(
                        "uses credential {binding} as {}, but its scheme_hint is {}",
                        emitter.scheme.as_str(),
                        hint.as_str()
                    ),
                ));
            }
            emitter
                .header_value(store)
                .map_err(|e| ConfigError::upstream(upstream, format_args!("auth: {e}")))?;
            if emitter.has_short_password(credential) {
                return Err(ConfigError::upstream(
                    upstream,
                    format_args!(
                        "uses credential {binding} as basic, and its password is shorter than {MIN_PASSWORD_BYTES} bytes: \
                         programs can test guesses; use a longer one, or set \"allow_short\": true in its binding"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Names of bindings whose secrets could be guessed.
    pub fn guessable<'a>(&'a self, store: &'a CredentialStore) -> impl Iterator<Item = &'a str> {
        self.emitters
            .iter()
            .filter(|emitter| store.get(&emitter.binding).is_some_and(|secret| emitter.is_guessable(secret)))
            .map(|emitter| emitter.binding.as_str())
    }

    /// Refuses two sources for one header.
    pub fn check_collisions(&self, upstream: &str) -> Result<(), ConfigError> {
        for (i, emitter) in self.emitters.iter().enumerate() {
            let header = emitter.scheme.header();
            if let Some((name, _)) = self.static_headers.iter().find(|(name, _)| *name == header) {
                let shown = title_case(name.as_str());
                return Err(ConfigError::upstream(
                    upstream,
                    format_args!("configures header {shown:?} in both auth and static_headers"),
                ));
            }
            if self.emitters[..i].iter().any(|other| other.scheme.header() == header) {
                let shown = title_case(header.as_str());
                return Err(ConfigError::upstream(
                    upstream,
                    format_args!("configures header {shown:?} in two auth emitters"),
                ));
            }
        }
        Ok(())
    }

    /// Makes `redactor` replace the forms in which Basic emitters send their credential: the base64 text, and user
    /// and password on their own.
    ///
    /// # Errors
    /// They are more than is scrubbed.
    pub fn register_derived(&self, store: &CredentialStore, redactor: &Redactor) -> Result<(), NoRoom> {
        for emitter in self.emitters.iter().filter(|e| e.scheme == AuthScheme::Basic) {
            let Some(credential) = store.get(&emitter.binding) else { continue };
            if let Ok(pair) = BasicPair::of(credential.secret.open()) {
                redactor.register(&pair.forms())?;
            }
        }
        Ok(())
    }
}

impl AuthEmitter {
    /// Whether the secret part of a Basic credential is shorter than it must be: the password, or without one the user.
    fn has_short_password(&self, credential: &Credential) -> bool {
        if self.scheme != AuthScheme::Basic || credential.allow_short {
            return false;
        }
        let Ok(pair) = BasicPair::of(credential.secret.open()) else { return false };
        pair.secret().len() < MIN_PASSWORD_BYTES
    }

    /// Whether the secret that it sends could be guessed.
    fn is_guessable(&self, credential: &Credential) -> bool {
        match BasicPair::of(credential.secret.open()) {
            Ok(pair) if self.scheme == AuthScheme::Basic => Secret::new(pair.secret()).is_guessable(),
            _ => credential.secret.is_guessable(),
        }
    }

    fn header_value(&self, store: &CredentialStore) -> Result<HeaderValue, AuthError> {
        let fail = |detail| AuthError { binding: self.binding.clone(), detail };
        let Some(Credential { secret, .. }) = store.get(&self.binding) else {
            return Err(fail("no such binding"));
        };
        if secret.len() > MAX_VALUE_BYTES {
            return Err(fail("is over 16 KiB, more than a header carries"));
        }
        let value = match &self.scheme {
            AuthScheme::Bearer => secret.header_value("Bearer "),
            AuthScheme::CustomHeader(_) => secret.header_value(""),
            AuthScheme::Basic => BasicPair::of(secret.open()).map_err(fail)?.encoded().header_value("Basic "),
        };
        value.ok_or_else(|| fail("contains a control character, which no header can carry"))
    }
}

/// The value of `proxy-authorization` for the credential of this binding, which is `user:password`. Its forms go to
/// `resolved`, for the redactor.
///
/// # Errors
/// As for an emitter of the scheme `basic`.
pub fn proxy_authorization(
    upstream: &str,
    binding: &str,
    store: &CredentialStore,
    resolved: &mut Vec<Secret>,
) -> Result<HeaderValue, ConfigError> {
    let emitter = AuthEmitter { scheme: AuthScheme::Basic, binding: binding.to_owned() };
    let auth = HttpAuth { emitters: vec![emitter.clone()], ..HttpAuth::default() };
    auth.check_bindings(upstream, store)?;
    if let Some(pair) = store.get(binding).and_then(|credential| BasicPair::of(credential.secret.open()).ok())
    {
        resolved.extend(pair.forms());
    }
    emitter
        .header_value(store)
        .map_err(|error| ConfigError::upstream(upstream, format_args!("proxy_auth: {error}")))
}

/// The same for a user and a password.
pub fn basic_authorization(user: &str, password: &str, resolved: &mut Vec<Secret>) -> Option<HeaderValue> {
    let pair =
        BasicPair { user: Zeroizing::new(user.to_owned()), password: Zeroizing::new(password.to_owned()) };
    resolved.extend(pair.forms());
    pair.encoded().header_value("Basic ")
}

/// User and password of a Basic credential.
struct BasicPair {
    user: Zeroizing<String>,
    password: Zeroizing<String>,
}

impl BasicPair {
    /// Reads `{"user": …, "pass": …}` or `user:pass`. Only a JSON *object* takes the JSON way: a password may well be
    /// valid JSON otherwise.
    #[expect(clippy::disallowed_methods, reason = "entry point: BasicPair.of")]
    fn of(text: &str) -> Result<Self, &'static str> {
        if let Ok(Value::Object(mut object)) = serde_json::from_str(text) {
            return match (object.remove("user"), object.remove("pass")) {
                (Some(Value::String(user)), Some(Value::String(pass))) => {
                    Ok(Self { user: Zeroizing::new(user), password: Zeroizing::new(pass) })
                }
                _ => Err("basic credential JSON must contain user and pass"),
            };
        }
        let (user, pass) = text.split_once(':').ok_or("basic credential must be user:pass")?;
        Ok(Self { user: Zeroizing::new(user.to_owned()), password: Zeroizing::new(pass.to_owned()) })
    }

    /// The part that must not be guessable: the password, or without one the user.
    fn secret(&self) -> &str {
        if self.password.is_empty() { &self.user } else { &self.password }
    }

    /// The forms that a redactor has to know.
    fn forms(&self) -> [Secret; 3] {
        [self.encoded(), Secret::new(self.user.as_str()), Secret::new(self.password.as_str())]
    }

    fn encoded(&self) -> Secret {
        let pair = Zeroizing::new(format!("{}:{}", self.user.as_str(), self.password.as_str()));
        Secret::new(BASE64.encode(pair.as_bytes()))
    }
}

fn parse_emitter(upstream: &str, value: &Value) -> Result<AuthEmitter, ConfigError> {
    let invalid = || {
        ConfigError::upstream(
            upstream,
            format_args!(
                "has invalid auth emitter {}; it must be {{\"scheme\": bearer | basic | custom_header, \
                 \"binding\": name of a credential}}, with \"header\" for custom_header",
                shape_of(value)
            ),
        )
    };
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (Some(scheme), Some(binding)) = (text("scheme"), text("binding")) else { return Err(invalid()) };
    let scheme = match scheme {
        "bearer" => AuthScheme::Bearer,
        "basic" => AuthScheme::Basic,
        "custom_header" | "api_key" => {
            AuthScheme::CustomHeader(custom_header_name(upstream, text("header").ok_or_else(invalid)?)?)
        }
        _ => return Err(invalid()),
    };
    Ok(AuthEmitter { scheme, binding: binding.to_owned() })
}

/// An emitter as an error may show it: `scheme` and `header` in full and the other keys by name, because people paste
/// tokens into the wrong place.
fn shape_of(value: &Value) -> String {
    let Value::Object(object) = value else {
        return match value {
            Value::String(_) => "(a string)".to_owned(),
            Value::Array(_) => "(a list)".to_owned(),
            other => other.to_string(),
        };
    };
    let shown: Vec<String> = object
        .iter()
        .map(|(key, value)| match key.as_str() {
            "scheme" | "header" => format!("{key:?}:{value}"),
            _ => format!("{key:?}:…"),
        })
        .collect();
    format!("{{{}}}", shown.join(","))
}

/// `x-api-key` → `X-Api-Key`, the way people write header names.
fn title_case(name: &str) -> String {
    let mut start = true;
    name.chars()
        .map(|c| {
            let shown = if start { c.to_ascii_uppercase() } else { c };
            start = c == '-';
            shown
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use ptc_mcp::json::json;

    use super::*;

    fn store(entries: &[(&str, &str, Option<SchemeHint>)]) -> CredentialStore {
        let mut store = CredentialStore::default();
        for (name, text, scheme_hint) in entries {
            let credential =
                Credential { secret: Secret::new(*text), scheme_hint: *scheme_hint, allow_short: true };
            store.insert(*name, credential);
        }
        store
    }

    fn parse(auth: Value) -> Result<HttpAuth, String> {
        HttpAuth::parse("x", Some(&auth), None).map_err(|e| e.to_string())
    }

    fn sent(auth: Value, secret: &str) -> Result<Vec<String>, String> {
        let headers = parse(auth)?.headers(&store(&[("t", secret, None)])).map_err(|e| e.to_string())?;
        Ok(headers.iter().map(|(n, v)| format!("{n}: {}", v.to_str().unwrap())).collect())
    }

    #[test]
    fn schemes_become_headers() {
        let emitters = json!([{"scheme": "bearer", "binding": "t"}]);
        assert_eq!(sent(emitters, "abc").unwrap(), ["authorization: Bearer abc"]);
        let emitters = json!([{"scheme": "custom_header", "binding": "t", "header": "X-Api-Key"}]);
        assert_eq!(sent(emitters, "abc").unwrap(), ["x-api-key: abc"]);
        let emitters = json!([{"scheme": "api_key", "binding": "t", "header": "Cookie"}]);
        assert_eq!(sent(emitters, "sid=1").unwrap(), ["cookie: sid=1"]);
    }

    #[test]
    fn basic_takes_pairs_and_json_objects() {
        let basic = || json!([{"scheme": "basic", "binding": "t"}]);
        let header = |pair: &str| vec![format!("authorization: Basic {}", BASE64.encode(pair))];
        assert_eq!(sent(basic(), "aladdin:opensesame").unwrap(), header("aladdin:opensesame"));
        assert_eq!(sent(basic(), "u:p:q").unwrap(), header("u:p:q"));
        assert_eq!(sent(basic(), ":p").unwrap(), header(":p"));
        assert_eq!(sent(basic(), "12345:").unwrap(), header("12345:"));
        assert_eq!(sent(basic(), r#"{"user":"a b","pass":"c:d"}"#).unwrap(), header("a b:c:d"));
        assert_eq!(sent(basic(), "12345").unwrap_err(), "credential t: basic credential must be user:pass");
        assert_eq!(
            sent(basic(), r#"{"user":"a"}"#).unwrap_err(),
            "credential t: basic credential JSON must contain user and pass"
        );
    }

    #[test]
    fn refuses_malformed_lists_without_showing_pasted_secrets() {
        assert_eq!(parse(json!({})).unwrap_err(), "upstream x auth must be a list");
        for bad in [
            json!("Bearer sekrit"),
            json!({"scheme": "bearer", "token": "sekrit"}),
            json!({"scheme": "digest", "binding": "sekrit"}),
            json!({"scheme": "custom_header", "binding": "sekrit"}),
            json!({"binding": "sekrit"}),
        ] {
            let text = parse(json!([bad])).unwrap_err();
            assert!(text.starts_with("upstream x has invalid auth emitter "), "{text}");
            assert!(!text.contains("sekrit"), "{text}");
        }
        assert!(
            parse(json!([{"scheme": "digest", "binding": "t"}]))
                .unwrap_err()
                .contains(r#"{"scheme":"digest","#)
        );
    }

    #[test]
    fn bindings_must_exist_and_fit() {
        let auth = parse(json!([{"scheme": "bearer", "binding": "nope"}])).unwrap();
        assert_eq!(
            auth.check_bindings("x", &CredentialStore::default()).unwrap_err().to_string(),
            "upstream x references unknown credential binding nope"
        );
        let auth = parse(json!([{"scheme": "bearer", "binding": "t"}])).unwrap();
        assert_eq!(
            auth.check_bindings("x", &store(&[("t", "a:b", Some(SchemeHint::Basic))]))
                .unwrap_err()
                .to_string(),
            "upstream x uses credential t as bearer, but its scheme_hint is basic"
        );
        auth.check_bindings("x", &store(&[("t", "a", Some(SchemeHint::Raw))])).unwrap();
        let auth = parse(json!([{"scheme": "basic", "binding": "t"}])).unwrap();
        assert_eq!(
            auth.check_bindings("x", &store(&[("t", "nocolon", None)])).unwrap_err().to_string(),
            "upstream x auth: credential t: basic credential must be user:pass"
        );
    }

    #[test]
    fn passwords_are_long_and_guessable_credentials_are_named() {
        let auth = parse(json!([{"scheme": "basic", "binding": "t"}])).unwrap();
        for short in [
            "a-long-user-name:hunter2",
            "short-token:",
            r#"{"user": "a-long-user-name", "pass": "elevenbytes"}"#,
        ] {
            let allowed = store(&[("t", short, None)]);
            auth.check_bindings("x", &allowed).unwrap();
            let mut store = CredentialStore::default();
            let credential = Credential { allow_short: false, ..allowed.get("t").unwrap().clone() };
            store.insert("t", credential);
            assert_eq!(
                auth.check_bindings("x", &store).unwrap_err().to_string(),
                "upstream x uses credential t as basic, and its password is shorter than 12 bytes: programs can test guesses; \
                 use a longer one, or set \"allow_short\": true in its binding"
            );
        }
        let bearer = parse(json!([{"scheme": "bearer", "binding": "t"}])).unwrap();
        for (auth, text, guessable) in [
            (&auth, "a-user-of-many-letters:password1234", true),
            (&auth, "u:q8Zr2LxT0vKd5NfB", false),
            (&bearer, "hunter2-hunter2", true),
            (&bearer, "20260304", true),
            (&bearer, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true),
            (&bearer, "ghp_q8Zr2LxT0vKd5NfBw7", false),
            (&bearer, "9f86d081884c7d659a2feaa0c55ad015", false),
        ] {
            auth.check_bindings("x", &store(&[("t", text, None)])).unwrap();
            let store = store(&[("t", text, None)]);
            assert_eq!(auth.guessable(&store).eq(["t"]), guessable, "{text}");
        }
    }

    #[test]
    fn one_header_has_one_source() {
        let auth = HttpAuth::parse(
            "x",
            Some(&json!([{"scheme": "custom_header", "binding": "t", "header": "x-key"}])),
            Some(&json!({"X-KEY": "v"})),
        )
        .unwrap();
        assert_eq!(
            auth.check_collisions("x").unwrap_err().to_string(),
            r#"upstream x configures header "X-Key" in both auth and static_headers"#
        );
        let auth = parse(json!([{"scheme": "bearer", "binding": "t"}, {"scheme": "basic", "binding": "t"}]))
            .unwrap();
        assert_eq!(
            auth.check_collisions("x").unwrap_err().to_string(),
            r#"upstream x configures header "Authorization" in two auth emitters"#
        );
    }

    #[test]
    fn derived_forms_are_scrubbed() {
        let auth = parse(json!([{"scheme": "basic", "binding": "t"}])).unwrap();
        let store = store(&[("t", "username-1:pw", None)]);
        let redactor = Redactor::new();
        store.register(&redactor).unwrap();
        auth.register_derived(&store, &redactor).unwrap();
        let text = format!("Basic {} for username-1 (pw)", BASE64.encode("username-1:pw"));
        assert_eq!(redactor.scrub(&text), "Basic [REDACTED] for [REDACTED] (pw)");
    }
}
