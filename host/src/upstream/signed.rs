//! Requests that carry the token of a sign-in (auth.md 6.1): renewed in time, and repeated once after a 401.

use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, StatusCode};
use ptc_oauth::challenge::Bearer;

use super::{CallFault, FaultReason};
use crate::sign_in::{NoToken, SignIn, Ticket, challenge};
use crate::time::{Instant, timeout_at};

/// The token of one request, and what may still be done for it.
pub(crate) struct Signed<'a> {
    sign_in: &'a Arc<SignIn>,
    ticket: Ticket,
    deadline: Instant,
}

impl<'a> Signed<'a> {
    /// A token for a request that has not been sent.
    pub(crate) async fn begin(sign_in: &'a Arc<SignIn>, deadline: Instant) -> Result<Self, CallFault> {
        let ticket = timeout_at(deadline, sign_in.ticket()).await.unwrap_or(Err(NoToken::TimedOut));
        let ticket = ticket.map_err(|no_token| fault(sign_in, &no_token).before_sending())?;
        Ok(Self { sign_in, ticket, deadline })
    }

    /// The header that carries it.
    pub(crate) fn header(&self) -> (http::HeaderName, HeaderValue) {
        (AUTHORIZATION, self.ticket.header.clone())
    }

    /// Whether the request is to be sent once more, after an answer with this status and challenge. `tool`: what was called.
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
        let renewed = renewed.unwrap_or(Err(NoToken::TimedOut));
        renewed.map(|()| true).map_err(|no_token| fault(self.sign_in, &no_token))
    }
}

/// The challenge of an answer that may have to do with its token.
pub(crate) fn challenge_of(status: StatusCode, headers: &HeaderMap) -> Option<Bearer> {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN).then(|| challenge(headers)).flatten()
}

fn fault(sign_in: &SignIn, no_token: &NoToken) -> CallFault {
    let reason = match no_token {
        NoToken::TimedOut => FaultReason::Timeout,
        NoToken::Away(_) => FaultReason::UpstreamUnavailable,
        _ => FaultReason::AuthRequired,
    };
    let fault = CallFault::new(reason, sign_in.text(no_token));
    if no_token.is_cured_by_sign_in() { fault.until_sign_in(sign_in.signed_in_at()) } else { fault }
}
