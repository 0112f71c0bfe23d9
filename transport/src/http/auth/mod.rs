//! Bearer authentication: static tokens, then access tokens of the configured issuers (auth.md 13).

mod challenge;
mod static_tokens;
#[cfg(test)]
mod tests;
mod verdicts;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use ptc_host::issuers::{LONGEST_INTROSPECTION, TokenRefusal, TokenVerifier, VerifiedToken};
use ptc_host::policy::{Caller, Claim, CurrentPolicy};
use ptc_host::time::{self, Instant};

use tokio::sync::Semaphore;

use super::headers::Headers;
use ptc_observers::audit::SignInWay;
use ptc_protocol::Service;
use ptc_protocol::principal::{ANONYMOUS, Principal, Principals};
use ptc_protocol::settings::NamedToken;

pub(super) use challenge::Challenges;
use static_tokens::StaticTokens;
pub(super) use static_tokens::TokenChanges;
use verdicts::Verdicts;

/// Longest value of `Authorization`, in bytes.
const MAX_HEADER_BYTES: usize = 16 << 10;

/// How long the refusal of a token holds about which its issuer was asked.
const REFUSAL_LIFE: Duration = Duration::from_secs(30);

/// Decides who the caller of a request is.
#[derive(Debug)]
pub(super) struct Authenticator {
    /// The static tokens, which a reload exchanges.
    tokens: StaticTokens,
    /// The one caller of a listener that requires nothing.
    anonymous: Option<HttpCaller>,
    /// The rest of a listener that accepts access tokens.
    access_tokens: Option<AccessTokens>,
    principals: Arc<Principals>,
    policy: Option<Arc<CurrentPolicy>>,
}

/// Access tokens: who verifies them, and what is known of those that came before.
#[derive(Debug)]
struct AccessTokens {
    verifier: Arc<dyn TokenVerifier>,
    required_scopes: Vec<String>,
    policy: Option<Arc<CurrentPolicy>>,
    verdicts: Verdicts<Arc<HttpCaller>>,
    /// What the issuer said last of tokens about which it is asked, and which it refuses.
    refusals: Verdicts<&'static str>,
    /// Taken while the issuer is asked on behalf of an address that has guessed too often: they share one.
    guessers: Semaphore,
    /// The people who signed in on a page, by the values of their cookies.
    sessions: Verdicts<Arc<HttpCaller>>,
    principals: Arc<Principals>,
}

/// What a listener accepts.
#[derive(Debug, Default)]
pub(super) struct Acceptance {
    /// The static tokens.
    pub(super) tokens: Vec<NamedToken>,
    /// True if access tokens are accepted, even if there is no verifier: then none is good.
    pub(super) oauth: bool,
    /// Who verifies access tokens.
    pub(super) verifier: Option<Arc<dyn TokenVerifier>>,
    /// The scopes that every access token must have.
    pub(super) required_scopes: Vec<String>,
    /// What callers may do, if there is a policy.
    pub(super) policy: Option<Arc<CurrentPolicy>>,
}

/// A caller of the listener.
#[derive(Debug, Clone)]
pub(super) struct HttpCaller {
    pub(super) principal: Principal,
    /// By what it is known.
    pub(super) way: SignInWay,
    /// True if its token marks it as an operator.
    is_marked: bool,
}

impl HttpCaller {
    fn new(principal: Principal, way: SignInWay, is_marked: bool) -> Self {
        HttpCaller { principal, way, is_marked }
    }

    /// The caller of that name, with what the policy permits it.
    fn named(name: &str, is_marked: bool, principals: &Principals, policy: Option<&CurrentPolicy>) -> Self {
        let authority = policy.map(|policy| policy.of_name(name));
        HttpCaller::new(principals.named(name).with_authority(authority), SignInWay::Token, is_marked)
    }

    /// The same caller at the address of a profile.
    pub(super) fn at(&self, profile: &Arc<str>, service: &Service) -> Self {
        HttpCaller { principal: service.present_at(&self.principal, profile), ..self.clone() }
    }

    /// True if it is an operator, who sees what all callers do and may answer for them, by its token or by the policy that holds now.
    pub(super) fn is_operator(&self, service: &Service) -> bool {
        let by_policy =
            || service.present(&self.principal).authority().is_some_and(|known| known.grant.is_operator());
        self.is_marked || by_policy()
    }
}

/// The caller of a request.
#[derive(Debug)]
pub(super) enum KnownCaller<'a> {
    /// That of a listener that requires nothing.
    Anonymous(&'a HttpCaller),
    /// That of a token.
    Bearer(Arc<HttpCaller>),
}

impl Deref for KnownCaller<'_> {
    type Target = HttpCaller;

    fn deref(&self) -> &HttpCaller {
        match self {
            Self::Anonymous(caller) => caller,
            Self::Bearer(caller) => caller,
        }
    }
}

/// Why a request is not authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthenticationError {
    /// No credentials were sent.
    Missing,
    /// The request does not carry one bearer token in one header of at most 16 KiB.
    Malformed,
    /// The static token is wrong.
    Unknown,
    /// The access token is refused, for this reason.
    Invalid(&'static str),
    /// The access token has expired; everything else about it is good.
    Expired,
    /// The access token is good and lacks a required scope.
    InsufficientScope,
    /// Nobody can tell now whether the access token is good.
    Unavailable,
}

impl AuthenticationError {
    /// Its name in the audit log.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Malformed => "malformed",
            Self::Unknown => "unknown",
            Self::Invalid(_) => "invalid",
            Self::Expired => "expired",
            Self::InsufficientScope => "scope",
            Self::Unavailable => "unavailable",
        }
    }
}

/// What is known of a request without asking anybody.
enum Glance<'a, 'h> {
    Known(Result<KnownCaller<'a>, AuthenticationError>),
    /// An access token that must be verified.
    Token(&'a AccessTokens, &'h str),
}

impl Authenticator {
    /// Admits callers as `acceptance` says; everyone, if it requires nothing.
    pub(super) fn new(acceptance: Acceptance) -> Self {
        let Acceptance { tokens, oauth, verifier, required_scopes, policy } = acceptance;
        let principals = Arc::new(Principals::default());
        let is_open = tokens.is_empty() && !oauth;
        let anonymous = is_open.then(|| HttpCaller::named(ANONYMOUS, false, &principals, policy.as_deref()));
        Authenticator {
            tokens: StaticTokens::new(tokens, &principals, policy.as_deref()),
            anonymous,
            access_tokens: verifier.filter(|_| oauth).map(|verifier| AccessTokens {
                verifier,
                required_scopes,
                policy: policy.clone(),
                verdicts: Verdicts::new(),
                refusals: Verdicts::new(),
                guessers: Semaphore::new(1),
                sessions: Verdicts::new(),
                principals: principals.clone(),
            }),
            principals,
            policy,
        }
    }

    /// Accepts these static tokens from now on in place of those before, and returns what changed. A listener that requires nothing
    /// goes on so.
    pub(super) fn replace_tokens(&self, tokens: Vec<NamedToken>) -> TokenChanges {
        match self.anonymous {
            Some(_) => TokenChanges::default(),
            None => self.tokens.replace(tokens, &self.principals, self.policy.as_deref()),
        }
    }

    /// The caller of a request with this query and these headers. `is_blocked`: whether its address has guessed so often that its
    /// guesses are blocked.
    pub(super) async fn caller(
        &self,
        query: Option<&str>,
        headers: &Headers<'_>,
        is_blocked: impl FnOnce() -> bool,
    ) -> Result<KnownCaller<'_>, AuthenticationError> {
        match self.glance(query, headers) {
            Glance::Known(known) => known,
            Glance::Token(access, token) => {
                let is_asked = access.verifier.is_asked_about(token);
                let _turn = match is_asked && is_blocked() {
                    true => match access.guessers.try_acquire() {
                        Ok(turn) => Some(turn),
                        Err(_) => return Err(AuthenticationError::Invalid(challenge::CANNOT_BE_VERIFIED)),
                    },
                    false => None,
                };
                // Boxed, so that requests that need not wait do not carry it.
                let verified = Box::pin(access.verified(token)).await;
                if let (true, Err(AuthenticationError::Invalid(why))) = (is_asked, &verified) {
                    access.refusals.insert(token.as_bytes(), why, time::now() + REFUSAL_LIFE);
                }
                verified.map(KnownCaller::Bearer)
            }
        }
    }

    fn glance<'a, 'h>(&'a self, query: Option<&str>, headers: &Headers<'h>) -> Glance<'a, 'h> {
        if let Some(anonymous) = &self.anonymous {
            return Glance::Known(Ok(KnownCaller::Anonymous(anonymous)));
        }
        let token = match presented(query, headers) {
            Ok(token) => token,
            Err(why) => return Glance::Known(Err(why)),
        };
        if let Some(caller) = self.tokens.find(token) {
            return Glance::Known(Ok(KnownCaller::Bearer(caller)));
        }
        let Some(access) = &self.access_tokens else {
            return Glance::Known(Err(AuthenticationError::Unknown));
        };
        if let Some(caller) = access.known(token) {
            return Glance::Known(Ok(KnownCaller::Bearer(caller)));
        }
        if let Some(why) = access.refusals.find(token, time::now()) {
            return Glance::Known(Err(AuthenticationError::Invalid(why)));
        }
        match std::str::from_utf8(token) {
            Ok(token) => Glance::Token(access, token),
            Err(_) => Glance::Known(Err(AuthenticationError::Invalid(challenge::CANNOT_BE_VERIFIED))),
        }
    }

    /// Completes when the token of an admitted request is not good any more. An access token has ended, was revoked, or its issuer
    /// does not answer when its verdict ends; a static one is not among those of the last reload. Never for other credentials.
    pub(super) async fn token_ends(&self, authorization: Option<&HeaderValue>) {
        let Some(token) = authorization.and_then(|value| bearer(value.as_bytes())) else {
            return std::future::pending().await;
        };
        if self.tokens.until_revoked(token).await {
            return;
        }
        let text = std::str::from_utf8(token).ok();
        let (Some(access), Some(token)) = (&self.access_tokens, text) else {
            return std::future::pending().await;
        };
        loop {
            // One that is not kept is asked about as often as one that its issuer knows.
            let until =
                access.verdicts.end_of(token.as_bytes()).unwrap_or(time::now() + LONGEST_INTROSPECTION);
            time::sleep_until(until).await;
            // Another request may have asked meanwhile.
            if access.known(token.as_bytes()).is_none() && access.verified(token).await.is_err() {
                return;
            }
        }
    }

    /// Whether the listener has several callers.
    pub(super) fn is_shared(&self) -> bool {
        self.access_tokens.is_some() || self.tokens.is_shared()
    }

    /// The person of a session, if it has not ended and the policy of its beginning holds.
    pub(super) fn of_session(&self, value: &str) -> Option<KnownCaller<'_>> {
        let access = self.access_tokens.as_ref()?;
        let caller = access.sessions.find(value.as_bytes(), time::now())?;
        access.is_current(&caller).then_some(KnownCaller::Bearer(caller))
    }

    /// Begins a session of a person who signed in; false if none can be kept.
    pub(super) fn open_session(&self, value: &str, person: VerifiedToken, until: Instant) -> bool {
        let Some(access) = self.access_tokens.as_ref().filter(|access| access.sessions.can_keep()) else {
            return false;
        };
        let caller = Arc::new(access.caller_of(person));
        access.sessions.insert(value.as_bytes(), caller, until);
        true
    }

    /// Ends a session.
    pub(super) fn close_session(&self, value: &str) {
        if let Some(access) = &self.access_tokens {
            access.sessions.remove(value.as_bytes());
        }
    }

    /// Forgets verdicts and sessions that have ended.
    pub(super) fn sweep(&self, now: Instant) {
        if let Some(access) = &self.access_tokens {
            access.verdicts.sweep(now);
            access.refusals.sweep(now);
            access.sessions.sweep(now);
        }
    }

    /// True if a request that fails so is a guess at credentials, which the limiter counts.
    pub(super) fn is_guess(&self, why: AuthenticationError) -> bool {
        match why {
            AuthenticationError::Malformed
            | AuthenticationError::Unknown
            | AuthenticationError::Invalid(_) => true,
            // Every OAuth client begins with a request without a token.
            AuthenticationError::Missing => self.access_tokens.is_none(),
            AuthenticationError::Expired
            | AuthenticationError::InsufficientScope
            | AuthenticationError::Unavailable => false,
        }
    }
}

impl AccessTokens {
    /// The caller of a token that was found good and may still be.
    fn known(&self, token: &[u8]) -> Option<Arc<HttpCaller>> {
        self.verdicts.find(token, time::now()).filter(|caller| self.is_current(caller))
    }

    /// The caller of a token that has no verdict yet.
    async fn verified(&self, token: &str) -> Result<Arc<HttpCaller>, AuthenticationError> {
        let verified = self.verifier.verify(token).await.map_err(|refusal| match refusal {
            TokenRefusal::Expired => AuthenticationError::Expired,
            TokenRefusal::Invalid { description } => AuthenticationError::Invalid(description),
            TokenRefusal::Unavailable => AuthenticationError::Unavailable,
        })?;
        let has = |scope: &String| verified.scopes.contains(scope);
        if !self.required_scopes.iter().all(has) {
            return Err(AuthenticationError::InsufficientScope);
        }
        let until = time::now() + verified.life;
        let caller = Arc::new(self.caller_of(verified));
        self.verdicts.insert(token.as_bytes(), caller.clone(), until);
        Ok(caller)
    }

    fn caller_of(&self, token: VerifiedToken) -> HttpCaller {
        // An issuer has no `|` (the start refuses one), so that no two pairs have one name.
        let principal = self.principals.named(&format!("{}|{}", token.issuer, token.subject));
        let authority = self.policy.as_ref().map(|policy| {
            let current = policy.policy();
            policy.authority(facts(&principal, token, current.claims()))
        });
        HttpCaller::new(principal.with_authority(authority), SignInWay::AccessToken, false)
    }

    /// True if the policy of the verdict still holds: another one may ask for other claims of the token.
    fn is_current(&self, caller: &HttpCaller) -> bool {
        match (&self.policy, caller.principal.authority()) {
            (Some(policy), Some(authority)) => policy.is_current(authority),
            _ => true,
        }
    }
}

/// What a policy knows of the bearer of a token: of its claims only those that rules ask for.
fn facts(principal: &Principal, token: VerifiedToken, wanted: Vec<&str>) -> Caller {
    fn boxed(texts: Vec<String>) -> Box<[Box<str>]> {
        texts.into_iter().map(String::into_boxed_str).collect()
    }
    let mut had: HashMap<String, Vec<String>> = token.claims.into_iter().collect();
    // Those that it does not have are told as well: under another policy it is known of these that they are absent.
    let claims = wanted.into_iter().map(|name| (name, had.remove(name).unwrap_or_default()));
    Caller {
        principal: principal.shared_name(),
        issuer: Some(token.issuer.into()),
        subject: Some(token.subject.into()),
        scopes: boxed(token.scopes),
        claims: claims.map(|(name, values)| Claim { name: name.into(), values: boxed(values) }).collect(),
        ..Caller::default()
    }
}

/// The bearer token of a request (RFC 6750 2). A token in the query would be in logs and histories.
fn presented<'h>(query: Option<&str>, headers: &Headers<'h>) -> Result<&'h [u8], AuthenticationError> {
    if query.is_some_and(has_token) {
        return Err(AuthenticationError::Malformed);
    }
    let value = headers.authorization.only().map_err(|()| AuthenticationError::Malformed)?;
    let value = value.ok_or(AuthenticationError::Missing)?;
    if value.len() > MAX_HEADER_BYTES {
        return Err(AuthenticationError::Malformed);
    }
    bearer(value.as_bytes()).ok_or(AuthenticationError::Malformed)
}

fn has_token(query: &str) -> bool {
    url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "access_token")
}

/// The credentials behind the scheme, which is matched without regard to case.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked("Bearer".len())?;
    let credentials = rest.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"Bearer") && rest.first() == Some(&b' ') && !credentials.is_empty())
        .then_some(credentials)
}
