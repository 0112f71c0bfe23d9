//! Bearer authentication.

use http::HeaderMap;
use http::header::AUTHORIZATION;

use crate::options::settings::NamedToken;
use crate::principal::Principal;

/// Who may call.
#[derive(Debug)]
pub(super) struct Authenticator {
    tokens: Vec<NamedToken>,
}

/// Why a request is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unauthenticated {
    /// It carries no credentials.
    Missing,
    /// It carries wrong ones.
    Invalid,
}

impl Authenticator {
    /// Admits these tokens; everyone, if there are none.
    pub(super) fn new(tokens: Vec<NamedToken>) -> Self {
        Authenticator { tokens }
    }

    /// Whose request it is.
    pub(super) fn principal(&self, headers: &HeaderMap) -> Result<Principal, Unauthenticated> {
        if self.tokens.is_empty() {
            return Ok(Principal::named("anonymous"));
        }
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let value = values.next().ok_or(Unauthenticated::Missing)?;
        if values.next().is_some() {
            return Err(Unauthenticated::Invalid);
        }
        let candidate = bearer(value.as_bytes()).ok_or(Unauthenticated::Invalid)?;
        // All tokens are compared, so that the time does not tell which one a guess came close to.
        let mut found = None;
        for token in &self.tokens {
            if token.token.matches(candidate) {
                found = Some(token);
            }
        }
        found.map(|token| Principal::named(&token.name)).ok_or(Unauthenticated::Invalid)
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
    use http::HeaderValue;
    use ptc_host::credentials::Secret;

    use super::*;

    #[test]
    fn tokens_have_names() {
        let named = |name: &str, token: &str| NamedToken { name: name.into(), token: Secret::new(token) };
        let auth = Authenticator::new(vec![named("a", "token-a"), named("b", "token-b")]);
        let ask = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            }
            auth.principal(&headers).map(|principal| principal.name().to_owned())
        };
        assert_eq!(ask(&["Bearer token-b"]).unwrap(), "b");
        assert_eq!(ask(&["bEARER  token-a"]).unwrap(), "a");
        assert_eq!(ask(&[]), Err(Unauthenticated::Missing));
        for wrong in [
            "Bearer",
            "Bearer ",
            "Bearertoken-a",
            "Basic token-a",
            "token-a",
            "Bearer token-",
            "Bearer token-aa",
        ] {
            assert_eq!(ask(&[wrong]), Err(Unauthenticated::Invalid), "{wrong}");
        }
        assert_eq!(ask(&["Bearer token-a", "Bearer token-a"]), Err(Unauthenticated::Invalid));
        assert_eq!(Authenticator::new(vec![]).principal(&HeaderMap::new()).unwrap().name(), "anonymous");
    }
}
