//! Answers of token endpoints.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::error_code::ErrorCode;
use crate::failure::Failure;
use crate::json;
use crate::message::{RequestOutcome, Response, TransportError};
use crate::scopes::Scopes;
use crate::secret::Secret;
use crate::timestamp::Timestamp;

/// The name of the endpoint in texts.
const ENDPOINT: &str = "token";
/// Longer lives are not believed: about ten years.
const LONGEST_LIFE: u64 = 10 * 366 * 24 * 60 * 60;
/// Longest pause that `Retry-After` may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Tokens that were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenAnswer {
    /// For requests to the resource.
    pub access_token: Secret,
    /// For new tokens.
    pub refresh_token: Option<Secret>,
    /// When they came.
    pub obtained_at: Timestamp,
    /// When the access token ends, if the answer says.
    pub expires_at: Option<Timestamp>,
    /// The granted scopes, if the answer names them.
    pub scope: Option<Scopes>,
}

/// Why there are no tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrantError {
    /// The server said no. It will say so again.
    Refused {
        /// Its code.
        code: ErrorCode,
        /// Its words for people, at most 200 characters: for terminals and the log alone, scrubbed, since it is untrusted.
        description: Option<String>,
    },
    /// It does not answer now, or asks for a pause.
    Unavailable {
        /// `http 503`, or the kind of trouble.
        reason: String,
        /// `Retry-After`, at most a minute.
        retry_after: Option<Duration>,
    },
    /// It redirects.
    Redirected,
    /// It answers with something else.
    Bad(&'static str),
    /// Its address is refused.
    AddressRefused {
        /// Its URL.
        url: String,
    },
}

impl From<GrantError> for Failure {
    fn from(fault: GrantError) -> Self {
        match fault {
            GrantError::Refused { code, description } => Self::Refused { code, description },
            GrantError::Unavailable { reason, .. } => {
                Self::EndpointUnavailable { endpoint: ENDPOINT, reason }
            }
            GrantError::Redirected => Self::Redirected { endpoint: ENDPOINT },
            GrantError::Bad(reason) => Self::BadTokenAnswer { reason },
            GrantError::AddressRefused { url } => Self::AddressRefused { url },
        }
    }
}

/// Reads the answer to a token request.
///
/// # Errors
/// Why there are no tokens.
pub fn read(answer: &RequestOutcome) -> Result<TokenAnswer, GrantError> {
    let response = successful(answer)?;
    let document = document(response).ok_or(GrantError::Bad("no JSON object"))?;
    let access_token = json::token(&document, "access_token")
        .map_err(|_| GrantError::Bad("an access_token over 16 KiB, of the authorization server's making"))?
        .ok_or(GrantError::Bad("no access_token"))?;
    let refresh_token = json::token(&document, "refresh_token")
        .map_err(|_| GrantError::Bad("a refresh_token over 16 KiB, of the authorization server's making"))?;
    // What cannot stand in a header cannot be used, and might add one.
    if !access_token.bytes().all(|b| matches!(b, 0x21..=0x7e)) {
        return Err(GrantError::Bad("an access_token of other characters than tokens have"));
    }
    let token_type = json::text(&document, "token_type").ok_or(GrantError::Bad("no token_type"))?;
    if !token_type.eq_ignore_ascii_case("bearer") {
        return Err(GrantError::Bad("a token_type other than Bearer"));
    }
    // No token lives for no time at all: servers that do not know the end say 0.
    let life = json::seconds(&document, "expires_in").filter(|life| (1..=LONGEST_LIFE).contains(life));
    Ok(TokenAnswer {
        access_token: Secret::new(access_token),
        refresh_token: refresh_token.map(Secret::new),
        obtained_at: answer.at,
        expires_at: life.map(|seconds| answer.at + Duration::from_secs(seconds)),
        scope: document.get("scope").and_then(|scope| scope.as_str()).map(Scopes::of_text),
    })
}

/// The members of an answer: a JSON object, or a form where it says that it is one (GitHub).
fn document(response: &Response) -> Option<Map<String, Value>> {
    let body = response.body.expose();
    let kind = response.header("content-type").and_then(|kind| kind.split(';').next()).unwrap_or_default();
    let is_form = kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded");
    json::object(body).or_else(|| is_form.then(|| json::form(body)).flatten())
}

/// The response, if it is a success: a status of 200 with nothing but an error is none (GitHub).
pub(crate) fn successful(answer: &RequestOutcome) -> Result<&Response, GrantError> {
    let response = match &answer.result {
        Ok(response) => response,
        Err(TransportError::AddressRefused { url }) => {
            return Err(GrantError::AddressRefused { url: url.clone() });
        }
        Err(trouble) => {
            return Err(GrantError::Unavailable { reason: trouble.to_string(), retry_after: None });
        }
    };
    match response.status {
        200..=299 => match refusal(response).filter(|_| !holds_grant(response)) {
            Some((code, description)) => Err(unless_for_now(code, description, response, answer.at)),
            None => Ok(response),
        },
        300..=399 => Err(GrantError::Redirected),
        400..=499 => Err(match refusal(response) {
            Some((code, description)) => unless_for_now(code, description, response, answer.at),
            // A proxy's page, and not the server's word.
            None => unavailable(response, answer.at, format!("http {}", response.status)),
        }),
        status => Err(unavailable(response, answer.at, format!("http {status}"))),
    }
}

/// Whether an answer holds the requested grant, whatever else it contains.
fn holds_grant(response: &Response) -> bool {
    let document = document(response).unwrap_or_default();
    ["access_token", "device_code"].iter().any(|name| json::text(&document, name).is_some())
}

/// The refusal in an answer, if there is one.
fn refusal(response: &Response) -> Option<(ErrorCode, Option<String>)> {
    let document = document(response)?;
    let code = ErrorCode::new(json::text(&document, "error")?);
    Some((code, json::description(&document)))
}

/// A refusal, unless it says that it is for now.
fn unless_for_now(
    code: ErrorCode,
    description: Option<String>,
    response: &Response,
    at: Timestamp,
) -> GrantError {
    let is_for_now = matches!(response.status, 408 | 425 | 429)
        || matches!(code.as_str(), "temporarily_unavailable" | "server_error");
    match is_for_now {
        true => unavailable(response, at, format!("http {}", response.status)),
        false => GrantError::Refused { code, description },
    }
}

fn unavailable(response: &Response, at: Timestamp, reason: String) -> GrantError {
    GrantError::Unavailable { reason, retry_after: retry_after(response, at) }
}

/// `Retry-After`: seconds or a date.
fn retry_after(response: &Response, at: Timestamp) -> Option<Duration> {
    let text = response.header("retry-after")?.trim();
    let pause = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => Timestamp::from(httpdate::parse_http_date(text).ok()?).since(at),
    };
    Some(pause.min(LONGEST_PAUSE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MAX_TOKEN_BYTES;

    const AT: Timestamp = Timestamp::from_seconds(784_111_777);

    fn of(status: u16, body: &str) -> Result<TokenAnswer, GrantError> {
        read(&RequestOutcome { at: AT, result: Ok(Response::new(status, Vec::new(), body)) })
    }

    fn life(expires_in: &str) -> Option<u64> {
        let body = format!(r#"{{"access_token":"t","token_type":"bearer","expires_in":{expires_in}}}"#);
        of(200, &body).unwrap().expires_at.map(|at| at.since(AT).as_secs())
    }

    #[test]
    fn tokens_are_read() {
        let read = of(200, r#"{"access_token":"abc","token_type":"BEARER","expires_in":60,"refresh_token":"r","scope":"a b"}"#).unwrap();
        assert_eq!(read.access_token, Secret::new("abc"));
        assert_eq!(read.refresh_token, Some(Secret::new("r")));
        assert_eq!(read.expires_at, Some(AT + Duration::from_secs(60)));
        assert_eq!(read.scope, Some(Scopes::of_text("a b")));
    }

    #[test]
    fn lives_that_nobody_can_mean_are_absent() {
        assert_eq!(life("3600"), Some(3600));
        assert_eq!(life("\"3600\""), Some(3600));
        assert_eq!(life("1.9"), Some(1));
        for absent in ["0", "\"0\"", "0.5", "-1", "\"soon\"", "null", "1e12", "315619201000", "{}"] {
            assert_eq!(life(absent), None, "{absent}");
        }
    }

    #[test]
    fn what_is_no_bearer_token_is_refused() {
        let rows = [
            ("<html>", "no JSON object"),
            ("[]", "no JSON object"),
            (r#"{"token_type":"Bearer"}"#, "no access_token"),
            (r#"{"access_token":"","token_type":"Bearer"}"#, "no access_token"),
            (r#"{"access_token":"t"}"#, "no token_type"),
            (r#"{"access_token":"t","token_type":"mac"}"#, "a token_type other than Bearer"),
            (
                r#"{"access_token":"t\r\nX: y","token_type":"Bearer"}"#,
                "an access_token of other characters than tokens have",
            ),
        ];
        for (body, reason) in rows {
            assert_eq!(of(200, body), Err(GrantError::Bad(reason)), "{body}");
        }
    }

    #[test]
    fn tokens_are_as_long_as_a_header_at_most() {
        let body = |access: usize, refresh: usize| {
            let (access, refresh) = ("a".repeat(access), "r".repeat(refresh));
            format!(r#"{{"access_token":"{access}","refresh_token":"{refresh}","token_type":"Bearer"}}"#)
        };
        assert!(of(200, &body(MAX_TOKEN_BYTES, MAX_TOKEN_BYTES)).is_ok());
        for (access, refresh, which) in
            [(1, 0, "an access_token over 16 KiB"), (0, 1, "a refresh_token over 16 KiB")]
        {
            let answer = of(200, &body(MAX_TOKEN_BYTES + access, MAX_TOKEN_BYTES + refresh));
            let Err(GrantError::Bad(reason)) = answer else { panic!("{which}") };
            assert!(reason.starts_with(which) && reason.contains("authorization server"), "{reason}");
        }
    }

    #[test]
    fn refusals_are_told_from_troubles() {
        let refused = |code: &str| Err(GrantError::Refused { code: ErrorCode::new(code), description: None });
        assert_eq!(of(400, r#"{"error":"invalid_grant"}"#), refused("invalid_grant"));
        assert_eq!(of(401, r#"{"error":"invalid_client"}"#), refused("invalid_client"));
        // GitHub says so with a status of 200, and has codes of its own.
        for status in [200, 400] {
            assert_eq!(of(status, r#"{"error":"bad_verification_code"}"#), refused("bad_verification_code"));
        }
        let both = r#"{"access_token":"t","token_type":"bearer","error":"none"}"#;
        assert!(of(200, both).is_ok() && of(201, both).is_ok());
        assert_eq!(of(302, ""), Err(GrantError::Redirected));
        let unavailable =
            |reason: &str| Err(GrantError::Unavailable { reason: reason.to_owned(), retry_after: None });
        // A page of a proxy is nobody's word, whatever its status; nor is a status of 500 with any text.
        for body in ["", "<html>bad</html>", "{}", r#"{"error":{"code":1}}"#, r#"{"error":""}"#, "not here"] {
            for status in [400, 401, 403, 404, 408, 429, 500, 502, 503] {
                assert_eq!(of(status, body), unavailable(&format!("http {status}")), "{body}");
            }
        }
        assert_eq!(of(500, r#"{"error":"invalid_grant"}"#), unavailable("http 500"));
        assert_eq!(of(400, r#"{"error":"temporarily_unavailable"}"#), unavailable("http 400"));
        assert_eq!(
            read(&RequestOutcome { at: AT, result: Err(TransportError::TimedOut) }),
            unavailable("no answer within 30 s")
        );
    }

    #[test]
    fn a_form_is_read_where_it_says_that_it_is_one() {
        let of = |kind: &str, body: &str| {
            let headers = vec![("Content-Type".to_owned(), kind.to_owned())];
            read(&RequestOutcome { at: AT, result: Ok(Response::new(200, headers, body)) })
        };
        let tokens = "access_token=a%2Bb&token_type=bearer&expires_in=60&scope=read+write&refresh_token=r";
        let found = of("Application/X-WWW-form-urlencoded; charset=utf-8", tokens).unwrap();
        assert_eq!((found.access_token, found.refresh_token), (Secret::new("a+b"), Some(Secret::new("r"))));
        assert_eq!(found.expires_at, Some(AT + Duration::from_secs(60)));
        assert_eq!(found.scope, Some(Scopes::of_text("read write")));
        assert_eq!(of("text/plain", tokens), Err(GrantError::Bad("no JSON object")));
        let form = "application/x-www-form-urlencoded";
        assert!(of(form, r#"{"access_token":"t","token_type":"bearer"}"#).is_ok(), "what it is counts");
        assert_eq!(of(form, "access_token=a&access_token=b"), Err(GrantError::Bad("no JSON object")));
        let description = Some("The code is incorrect".to_owned());
        assert_eq!(
            of(form, "error=bad_verification_code&error_description=The+code+is+incorrect"),
            Err(GrantError::Refused { code: ErrorCode::new("bad_verification_code"), description })
        );
    }

    #[test]
    fn a_description_is_cut() {
        let body = format!(r#"{{"error":"invalid_grant","error_description":"{}"}}"#, "é".repeat(300));
        let Err(GrantError::Refused { description, .. }) = of(400, &body) else { panic!("refused") };
        assert_eq!(description.unwrap().chars().count(), 200);
    }

    #[test]
    fn retry_after_is_a_minute_at_most() {
        let asked = |value: &str| {
            let headers = vec![("Retry-After".to_owned(), value.to_owned())];
            match read(&RequestOutcome { at: AT, result: Ok(Response::new(503, headers, "")) }) {
                Err(GrantError::Unavailable { retry_after, .. }) => retry_after.map(|pause| pause.as_secs()),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(asked("7"), Some(7));
        assert_eq!(asked("3600"), Some(60));
        assert_eq!(asked("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10));
        assert_eq!(asked("soon"), None);
    }
}
