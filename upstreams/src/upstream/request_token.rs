//! Requests that carry the token of a sign-in (auth.md 6.1): renewed in time, and repeated once after a 401.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use ptc_oauth::challenge::Bearer;

use super::{CallFault, FaultReason};
use crate::sign_in::{SignIn, Ticket, TokenError, challenge};
use ptc_base::text::clip;
use ptc_base::time::{Instant, timeout_at};

/// The token of one request, and its remaining attempts.
pub(crate) struct RequestToken<'a> {
    sign_in: &'a Arc<SignIn>,
    ticket: Ticket,
    deadline: Instant,
}

impl<'a> RequestToken<'a> {
    /// A token for a request that has not been sent.
    pub(crate) async fn begin(sign_in: &'a Arc<SignIn>, deadline: Instant) -> Result<Self, CallFault> {
        let ticket = timeout_at(deadline, sign_in.ticket()).await.unwrap_or(Err(TokenError::TimedOut));
        let ticket = ticket.map_err(|no_token| fault(sign_in, &no_token).before_sending())?;
        Ok(Self { sign_in, ticket, deadline })
    }

    /// The header that carries it.
    pub(crate) fn header(&self) -> (http::HeaderName, HeaderValue) {
        (AUTHORIZATION, self.ticket.header.clone())
    }

    /// Whether the request is to be sent once more, after an answer with this status and challenge. `tool`: the called tool.
    pub(crate) async fn again(
        &mut self,
        status: StatusCode,
        challenge: Option<&Bearer>,
        tool: Option<&str>,
    ) -> Result<bool, CallFault> {
        let renewed = match (status, challenge) {
            (StatusCode::UNAUTHORIZED, challenge) => {
                timeout_at(self.deadline, self.sign_in.refused(&mut self.ticket, challenge)).await
            }
            (StatusCode::FORBIDDEN, Some(challenge)) if challenge.is_insufficient_scope() => {
                timeout_at(
                    self.deadline,
                    self.sign_in.lacks_scope(&mut self.ticket, tool.unwrap_or_default(), challenge),
                )
                .await
            }
            (status, _) => {
                // A handshake that is let in says nothing of the list behind it.
                if let Some(tool) = tool.filter(|_| status.is_success()) {
                    self.sign_in.admitted(tool);
                }
                return Ok(false);
            }
        };
        let renewed = renewed.unwrap_or(Err(TokenError::TimedOut));
        renewed.map(|()| true).map_err(|no_token| fault(self.sign_in, &no_token))
    }
}

/// The challenge of an answer that may have to do with its token.
pub(crate) fn challenge_of(status: StatusCode, headers: &HeaderMap) -> Option<Bearer> {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN).then(|| challenge(headers)).flatten()
}

fn fault(sign_in: &SignIn, no_token: &TokenError) -> CallFault {
    let reason = match no_token {
        TokenError::TimedOut => FaultReason::Timeout,
        TokenError::Away(_) => FaultReason::UpstreamUnavailable,
        _ => FaultReason::AuthRequired,
    };
    let fault = CallFault::new(reason, sign_in.text(no_token));
    if no_token.is_cured_by_sign_in() { fault.until_sign_in(sign_in.signed_in_at()) } else { fault }
}

/// Checks whether a call failed for its token, as servers without 401 report it: then the token is renewed in the background,
/// and the fault advises the person (auth.md 6.1).
pub(crate) fn heed(sign_in: &Arc<SignIn>, fault: CallFault) -> CallFault {
    if !may_be_about_token(&fault) {
        return fault;
    }
    sign_in.doubt();
    if is_about_token(&fault) { fault.with_hint(&sign_in.advice()) } else { fault }
}

/// Bytes of a fault's text that are searched for words about tokens.
const MAX_SEARCHED: usize = 4 << 10;

/// Whether a call may have failed for its token: by its text, or by a status that servers give in place of a 401.
fn may_be_about_token(fault: &CallFault) -> bool {
    let statuses =
        ["http 301", "http 302", "http 303", "http 307", "http 308", "http 400", "http 403", "http 500"];
    let first = fault.message.lines().next().unwrap_or_default();
    is_about_token(fault)
        || matches!(fault.reason, FaultReason::UpstreamError | FaultReason::UpstreamUnavailable)
            && (statuses.iter().any(|status| first.starts_with(status))
                || fault.http_status.is_some_and(|status| matches!(status, 300..=399 | 400 | 403 | 500)))
}

/// Whether a fault's text says that the token is of no use, or leads to a page to sign in.
fn is_about_token(fault: &CallFault) -> bool {
    use FaultReason::{AuthFailed, ToolError, UpstreamError, UpstreamUnavailable};
    if !matches!(fault.reason, ToolError | UpstreamError | UpstreamUnavailable | AuthFailed) {
        return false;
    }
    let text = clip(&fault.message, MAX_SEARCHED).to_ascii_lowercase();
    let is_401 = |word: &str| word == "401";
    let has = |word: &str| text.contains(word);
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(is_401)
        || ["unauthorized", "unauthenticated", "not authenticated", "invalid_token"]
            .iter()
            .any(|word| has(word))
        || has("authentication") && ["required", "failed", "expired"].iter().any(|word| has(word))
        || has("token") && ["expired", "revoked", "invalid", "not valid"].iter().any(|word| has(word))
        || text.starts_with("http 3")
            && ["login", "signin", "sign-in", "sign_in", "oauth"].iter().any(|word| has(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_about_tokens_are_told_from_others() {
        use FaultReason::{RateLimited, ToolError, UpstreamError, UpstreamUnavailable};
        for (reason, text) in [
            (ToolError, "401 Unauthorized: token expired"),
            (ToolError, "Error: HTTP 401"),
            (ToolError, "Authentication required"),
            (UpstreamError, "http 400\nthe access token has expired"),
            (UpstreamError, "http 403\ninvalid_token"),
            (UpstreamUnavailable, "http 500\nToken has been revoked"),
            (UpstreamError, "http 307 leads to https://a/login"),
        ] {
            assert!(is_about_token(&CallFault::new(reason, text)), "{text}");
        }
        for (reason, text) in [
            (UpstreamError, "http 400"),
            (UpstreamError, "http 403"),
            (UpstreamUnavailable, "http 500"),
            (UpstreamError, "http 307"),
        ] {
            let fault = CallFault::new(reason, text);
            assert!(may_be_about_token(&fault) && !is_about_token(&fault), "{text}");
        }
        for (reason, text) in [
            (ToolError, "no issue 4012"),
            (ToolError, "unexpected token at line 3"),
            (UpstreamUnavailable, "http 502"),
            (UpstreamUnavailable, "http 503"),
            (RateLimited, "rate_limited\n401 calls"),
        ] {
            assert!(!may_be_about_token(&CallFault::new(reason, text)), "{text}");
        }
    }
}
