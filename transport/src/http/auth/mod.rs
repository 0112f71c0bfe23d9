//! Bearer authentication.

use std::sync::Arc;

use super::headers::Headers;
use ptc_protocol::Connection;
use ptc_protocol::principal::{ANONYMOUS, Owner, Principal};
use ptc_protocol::settings::NamedToken;

/// The callers that may use the listener.
#[derive(Debug)]
pub(super) struct Authenticator {
    /// The tokens and their callers.
    tokens: Vec<(NamedToken, HttpCaller)>,
    /// The one caller of a listener without tokens.
    anonymous: HttpCaller,
}

/// A caller, and the shared conversation of its modern requests. Each request is independent, so the conversation keeps
/// no state.
#[derive(Debug, Clone)]
pub(super) struct HttpCaller {
    pub(super) principal: Principal,
    pub(super) modern: Arc<Connection>,
    /// True if it sees the runs of all callers and may answer for them.
    pub(super) is_operator: bool,
}

impl HttpCaller {
    fn new(name: &str, is_operator: bool) -> Self {
        let principal = Principal::named(name);
        HttpCaller { modern: Connection::stateless(Owner::of(principal.clone())), principal, is_operator }
    }
}

/// Why a request is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthenticationError {
    /// No credentials were sent.
    Missing,
    /// The credentials are wrong.
    Invalid,
}

impl Authenticator {
    /// Admits these tokens; everyone, if there are none.
    pub(super) fn new(tokens: Vec<NamedToken>) -> Self {
        let caller = |token: NamedToken| {
            let caller = HttpCaller::new(&token.name, token.is_operator);
            (token, caller)
        };
        Authenticator {
            tokens: tokens.into_iter().map(caller).collect(),
            anonymous: HttpCaller::new(ANONYMOUS, false),
        }
    }

    /// The caller of a request.
    pub(super) fn caller(&self, headers: &Headers<'_>) -> Result<&HttpCaller, AuthenticationError> {
        if self.tokens.is_empty() {
            return Ok(&self.anonymous);
        }
        let value = headers.authorization.only().map_err(|()| AuthenticationError::Invalid)?;
        let value = value.ok_or(AuthenticationError::Missing)?;
        let candidate = bearer(value.as_bytes()).ok_or(AuthenticationError::Invalid)?;
        // All tokens are compared, so that the time does not reveal which one a guess came close to.
        let mut found = None;
        for (token, caller) in &self.tokens {
            if token.token.matches(candidate) {
                found = Some(caller);
            }
        }
        found.ok_or(AuthenticationError::Invalid)
    }
}

/// The credentials behind the scheme, which is matched without regard to case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked("Bearer".len())?;
    let credentials = rest.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"Bearer") && rest.first() == Some(&b' ') && !credentials.is_empty())
        .then_some(credentials)
}

#[cfg(test)]
mod tests {
    use http::header::AUTHORIZATION;
    use http::{HeaderMap, HeaderValue};
    use ptc_host::credentials::Secret;

    use super::*;

    #[test]
    fn tokens_have_names() {
        let named = |name: &str, token: &str| NamedToken {
            name: name.into(),
            token: Secret::new(token),
            is_operator: name == "b",
        };
        let auth = Authenticator::new(vec![named("a", "token-a"), named("b", "token-b")]);
        let ask = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            }
            auth.caller(&Headers::of(&headers)).map(|caller| caller.principal.name().to_owned())
        };
        assert_eq!(ask(&["Bearer token-b"]).unwrap(), "b");
        assert_eq!(ask(&["bEARER  token-a"]).unwrap(), "a");
        let is_operator = |token: &str| {
            let mut headers = HeaderMap::new();
            headers.append(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
            auth.caller(&Headers::of(&headers)).unwrap().is_operator
        };
        assert!(is_operator("token-b") && !is_operator("token-a"));
        assert_eq!(ask(&[]), Err(AuthenticationError::Missing));
        for wrong in [
            "Bearer",
            "Bearer ",
            "Bearertoken-a",
            "Basic token-a",
            "token-a",
            "Bearer token-",
            "Bearer token-aa",
        ] {
            assert_eq!(ask(&[wrong]), Err(AuthenticationError::Invalid), "{wrong}");
        }
        assert_eq!(ask(&["Bearer token-a", "Bearer token-a"]), Err(AuthenticationError::Invalid));
        assert_eq!(
            Authenticator::new(vec![]).caller(&Headers::of(&HeaderMap::new())).unwrap().principal.name(),
            "anonymous"
        );
    }
}
