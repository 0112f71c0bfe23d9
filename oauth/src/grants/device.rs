//! The device grant (RFC 8628): a code that a person enters elsewhere, and polling until they have.

use std::time::Duration;

use url::Url;

use super::answer::{GrantError, TokenAnswer, read, successful};
use super::request::GrantContext;
use crate::failure::Failure;
use crate::form::FormBody;
use crate::json;
use crate::message::{OAuthRequest, Purpose, RequestOutcome};
use crate::metadata::secure;
use crate::scopes::Scopes;
use crate::secret::Secret;
use crate::timestamp::Timestamp;

const ENDPOINT: &str = "device authorization";
/// Between two polls, if the server does not say.
const INTERVAL: Duration = Duration::from_secs(5);
/// The delay added by `slow_down`.
const SLOWER: Duration = Duration::from_secs(5);
/// The longest time between two polls: a server that asks for more is polled all the same.
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// How long a code is good that does not say. RFC 8628 demands that it says.
const LIFE: Duration = Duration::from_secs(15 * 60);
/// The longest time that a person is waited for.
const LONGEST_LIFE: u64 = 60 * 60;
/// Most characters of a user code.
const MAX_USER_CODE: usize = 32;

/// The code to show to a person, and the state for polling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceAuthorization {
    /// Where to go. https, or http on a loopback host.
    pub verification_uri: Url,
    /// The same with the code in it.
    pub verification_uri_complete: Option<Url>,
    /// The code to enter: at most 32 characters, none of them a control character.
    pub user_code: String,
    /// Until when.
    pub expires_at: Timestamp,
    device_code: Secret,
    interval: Duration,
}

impl GrantContext<'_> {
    /// The request that begins, at `device_authorization_endpoint`.
    #[must_use]
    pub fn device(&self, endpoint: &Url, scopes: &Scopes) -> OAuthRequest {
        let form = FormBody::default()
            .with_some("scope", scopes.parameter().as_deref())
            .with_some("resource", self.resource);
        let (form, authorization) = self.client.authenticate(form, &self.signing);
        OAuthRequest::form(Purpose::Device, endpoint.clone(), form, authorization)
    }
}

impl DeviceAuthorization {
    /// Reads the answer to [`GrantContext::device`].
    ///
    /// # Errors
    /// Why there is no code.
    pub fn read(answer: &RequestOutcome) -> Result<Self, Failure> {
        let response = successful(answer).map_err(|fault| match fault {
            GrantError::Unavailable { reason, .. } => {
                Failure::EndpointUnavailable { endpoint: ENDPOINT, reason }
            }
            GrantError::Redirected => Failure::Redirected { endpoint: ENDPOINT },
            fault => fault.into(),
        })?;
        let bad = |reason| Failure::BadTokenAnswer { reason };
        let document = json::object(response.body.expose()).ok_or(bad("no JSON object"))?;
        let device_code = json::token(&document, "device_code")
            .map_err(|_| bad("a device_code over 16 KiB, of the authorization server's making"))?
            .ok_or(bad("no device_code"))?;
        let user_code = json::text(&document, "user_code").ok_or(bad("no user_code"))?;
        if user_code.chars().count() > MAX_USER_CODE || user_code.chars().any(char::is_control) {
            return Err(bad("a user_code that nobody can enter"));
        }
        // Google called it verification_url before there was a standard.
        let uri =
            json::text(&document, "verification_uri").or_else(|| json::text(&document, "verification_url"));
        let verification_uri = uri.and_then(secure).ok_or(bad("no https verification_uri"))?;
        let life =
            json::seconds(&document, "expires_in").map_or(LIFE, |s| Duration::from_secs(s.min(LONGEST_LIFE)));
        let interval = json::seconds(&document, "interval").map_or(INTERVAL, Duration::from_secs);
        Ok(Self {
            verification_uri,
            verification_uri_complete: json::text(&document, "verification_uri_complete").and_then(secure),
            user_code: user_code.to_owned(),
            expires_at: answer.at + life,
            device_code: Secret::new(device_code),
            interval: interval.clamp(Duration::from_secs(1), LONGEST_INTERVAL),
        })
    }

    /// The code for polling: a secret, as a token is.
    #[must_use]
    pub fn device_code(&self) -> &Secret {
        &self.device_code
    }

    /// The polling that begins at `now`.
    #[must_use]
    pub fn poll(&self, now: Timestamp) -> Polling {
        Polling {
            device_code: self.device_code.clone(),
            interval: self.interval,
            next: now + self.interval,
            expires_at: self.expires_at,
        }
    }
}

/// Polling for a device code.
#[derive(Debug)]
pub struct Polling {
    device_code: Secret,
    interval: Duration,
    next: Timestamp,
    expires_at: Timestamp,
}

/// The next action of polling.
#[derive(Debug)]
pub enum Poll {
    /// Wait until then, and send [`Polling::request`].
    At(Timestamp),
    /// It is over.
    Done(Result<TokenAnswer, Failure>),
}

impl Polling {
    /// When to send the next request; over if the code has ended by then.
    #[must_use]
    pub fn due(&self) -> Poll {
        if self.next < self.expires_at {
            Poll::At(self.next)
        } else {
            Poll::Done(Err(Failure::refused("expired_token")))
        }
    }

    /// The request.
    #[must_use]
    pub fn request(&self, asking: &GrantContext<'_>) -> OAuthRequest {
        asking.device_code(&self.device_code)
    }

    /// Takes the answer to a request.
    pub fn receive(&mut self, answer: &RequestOutcome) -> Poll {
        match read(answer) {
            Ok(tokens) => return Poll::Done(Ok(tokens)),
            Err(GrantError::Refused { code, .. }) if code.as_str() == "authorization_pending" => {}
            Err(GrantError::Refused { code, .. }) if code.as_str() == "slow_down" => {
                self.interval = (self.interval + SLOWER).min(LONGEST_INTERVAL);
            }
            // A person is on their way: trouble of the network is waited out, twice as long each time (RFC 8628 3.5).
            Err(GrantError::Unavailable { retry_after, .. }) => {
                self.interval =
                    (self.interval * 2).max(retry_after.unwrap_or_default()).min(LONGEST_INTERVAL);
            }
            Err(fault) => return Poll::Done(Err(fault.into())),
        }
        self.next = answer.at + self.interval;
        self.due()
    }
}
