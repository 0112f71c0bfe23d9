//! The issuers of the access tokens that our own callers bring (auth.md 13.4, 13.5), over the sans-I/O core `ptc_oauth::jwt`.
//!
//! * [`TokenVerifier`] — what a listener asks about a token, and [`VerifiedToken`] and [`TokenRefusal`], the answers.
//! * [`Issuers`] — the one that knows real issuers: it fetches their metadata and keys and asks them about opaque tokens.
//!
//! * [`Login`] — the sign-in of people at the first issuer, for the pages of a listener.
//!
//! No token is stored here. The listener keeps verdicts.

mod issuer;
mod login;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ptc_oauth::jwt::introspection::{self, IntrospectionAnswer, IntrospectionClient};
use ptc_oauth::jwt::login::LoginClient;
use ptc_oauth::jwt::{AccessToken, Expectation, Jws, Rejection, TokenFault, has_jwt_form};
use ptc_oauth::secret::Secret as CoreSecret;
use ptc_oauth::timestamp::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tracing::{debug, warn};
use url::Url;

use issuer::{Issuer, KeyError};
pub use login::{BegunLogin, Login, LoginError};
use ptc_base::secret::Secret;
use ptc_base::sync::Mutex;
use ptc_base::time::{self, Clock, Instant};
use ptc_http::Client;
use ptc_state::time_of_day_by;

/// How long a caller waits for an issuer: for one request, and in all.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Longest that the verdict on a JWT holds, so that a withdrawn key ends its tokens.
pub const LONGEST_VERDICT: Duration = Duration::from_secs(60 * 60);
/// Longest that the verdict on an opaque token holds.
pub const LONGEST_INTROSPECTION: Duration = Duration::from_secs(60);
/// Questions to issuers about tokens at a time.
const MAX_QUESTIONS: usize = 32;
/// A refused token is logged as a warning no more often than this.
const TELL_INTERVAL: Duration = Duration::from_secs(10);

/// Decides on access tokens.
pub trait TokenVerifier: fmt::Debug + Send + Sync {
    /// The verdict on a token. It may take as long as [`PATIENCE`].
    fn verify<'a>(&'a self, token: &'a str) -> Verification<'a>;

    /// Whether its issuer is asked about a token: each verdict on it costs a request.
    fn is_asked_about(&self, token: &str) -> bool;
}

/// A verdict in the making.
pub type Verification<'a> = Pin<Box<dyn Future<Output = Result<VerifiedToken, TokenRefusal>> + Send + 'a>>;

/// A token that is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedToken {
    /// Who issued it.
    pub issuer: String,
    /// Whom it names.
    pub subject: String,
    /// Its scopes.
    pub scopes: Vec<String>,
    /// The texts of its other claims that are texts or lists of texts.
    pub claims: Vec<(String, Vec<String>)>,
    /// How long the verdict holds.
    pub life: Duration,
}

/// Why a token is not good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRefusal {
    /// It has expired. Everything else about it is good.
    Expired,
    /// It is refused.
    Invalid {
        /// The `error_description` of auth.md 13.3.
        description: &'static str,
    },
    /// Nobody can tell now: there is no usable key, or its issuer is away.
    Unavailable,
}

/// The settings of [`Issuers`].
#[derive(Debug, Clone)]
pub struct IssuerOptions {
    /// The issuers, byte for byte. The first is asked about opaque tokens.
    pub issuers: Vec<String>,
    /// What `aud` may be.
    pub audiences: Vec<String>,
    /// True if `typ` may be `JWT` or absent.
    pub any_type: bool,
    /// Id and secret of the client that asks about opaque tokens, if they are accepted.
    pub introspection_client: Option<(String, Secret)>,
    /// Id and secret of the client as which people sign in at the first issuer, if they do.
    pub login_client: Option<(String, Option<Secret>)>,
}

/// Verifies tokens of the configured issuers.
#[derive(Debug)]
pub struct Issuers {
    issuers: Vec<Issuer>,
    audiences: Vec<String>,
    any_type: bool,
    introspection: Option<IntrospectionClient>,
    login: Option<Arc<Login>>,
    questions: Semaphore,
    clock: Clock,
    told: Mutex<Option<Instant>>,
}

impl Issuers {
    /// Knows the issuers of `options`; `None` if one is no URL. Fetches run on the current runtime.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(options: IssuerOptions, http: &Client) -> Option<Self> {
        let clock = Clock::current();
        let issuer = |text: &String| {
            let url = Url::parse(text).ok()?;
            Some(Issuer::new(text, url, http.clone(), clock.clone(), Handle::current()))
        };
        let issuers: Vec<Issuer> = options.issuers.iter().map(issuer).collect::<Option<_>>()?;
        let login = issuers.first().zip(options.login_client).and_then(|(issuer, (id, secret))| {
            let secret = secret.map(|secret| CoreSecret::new(secret.open()));
            let url = Url::parse(issuer.name()).ok()?;
            let host = url.origin().ascii_serialization();
            let host = host.split_once("://").map_or(host.as_str(), |(_, host)| host).to_owned();
            Some(Arc::new(Login::new(issuer.clone(), LoginClient { id, secret }, host, clock.clone())))
        });
        Some(Self {
            issuers,
            login,
            audiences: options.audiences,
            any_type: options.any_type,
            introspection: options
                .introspection_client
                .map(|(id, secret)| IntrospectionClient { id, secret: CoreSecret::new(secret.open()) }),
            questions: Semaphore::new(MAX_QUESTIONS),
            clock,
            told: Mutex::default(),
        })
    }

    /// Begins to fetch the keys of all issuers, so that the first caller need not wait and mistakes are in the log.
    pub fn prepare(&self) {
        self.issuers.iter().for_each(Issuer::prepare);
    }

    /// The sign-in of people, if there is a client for it.
    pub fn login(&self) -> Option<Arc<Login>> {
        self.login.clone()
    }

    async fn decide(&self, token: &str) -> Result<VerifiedToken, TokenRefusal> {
        let decided = match has_jwt_form(token) {
            true => self.by_signature(token).await,
            false => self.by_question(token).await,
        };
        decided.map_err(|refused| match refused {
            Refused::Rejected(rejection) => {
                self.tell(&rejection);
                match rejection {
                    Rejection::Expired => TokenRefusal::Expired,
                    other => TokenRefusal::Invalid { description: other.description() },
                }
            }
            Refused::Unavailable => TokenRefusal::Unavailable,
        })
    }

    async fn by_signature(&self, token: &str) -> Result<VerifiedToken, Refused> {
        let jws = Jws::parse(token)?;
        let claimed = jws.claimed_issuer().unwrap_or_default();
        let Some(issuer) = self.issuers.iter().find(|issuer| issuer.name() == claimed) else {
            return Err(Rejection::other_issuer(claimed).into());
        };
        let keys = issuer.keys_for(&jws).await?;
        let verified = jws.verify(&keys)?;
        let now = self.now();
        let token = AccessToken::of_jwt(verified, &self.expectation(issuer, now))?;
        Ok(verdict(&token, now, LONGEST_VERDICT))
    }

    async fn by_question(&self, token: &str) -> Result<VerifiedToken, Refused> {
        let (Some(client), Some(issuer)) = (&self.introspection, self.issuers.first()) else {
            return Err(TokenFault::Opaque.into());
        };
        let asked = time::timeout(PATIENCE, async {
            let _turn = self.questions.acquire().await.map_err(|_| Refused::Unavailable)?;
            issuer.ask(client, token).await.ok_or(Refused::Unavailable)
        });
        let response = asked.await.map_err(|_| Refused::Unavailable)??;
        match introspection::read(&response) {
            Ok(IntrospectionAnswer::Active(claims)) => {
                let now = self.now();
                let token = AccessToken::of_introspection(claims, &self.expectation(issuer, now))?;
                Ok(verdict(&token, now, LONGEST_INTROSPECTION))
            }
            Ok(IntrospectionAnswer::Inactive) => Err(TokenFault::Inactive.into()),
            Err(reason) => {
                warn!(event = "issuer_unavailable", issuer = issuer.name(), reason);
                Err(Refused::Unavailable)
            }
        }
    }

    fn expectation<'a>(&'a self, issuer: &'a Issuer, now: Timestamp) -> Expectation<'a> {
        Expectation { issuer: issuer.name(), audiences: &self.audiences, any_type: self.any_type, now }
    }

    /// The time of day, by which tokens end.
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(time_of_day_by(&self.clock))
    }

    /// Logs why a token is refused. Whoever guesses tokens does not fill the log.
    fn tell(&self, rejection: &Rejection) {
        let now = self.clock.now();
        let is_due = {
            let mut told = self.told.lock();
            let is_due = told.is_none_or(|told| now.saturating_duration_since(told) >= TELL_INTERVAL);
            if is_due {
                *told = Some(now);
            }
            is_due
        };
        match is_due {
            true => warn!(event = "http_token_refused", reason = %rejection),
            false => debug!(event = "http_token_refused", reason = %rejection),
        }
    }
}

impl TokenVerifier for Issuers {
    fn verify<'a>(&'a self, token: &'a str) -> Verification<'a> {
        Box::pin(self.decide(token))
    }

    fn is_asked_about(&self, token: &str) -> bool {
        self.introspection.is_some() && !has_jwt_form(token)
    }
}

/// Why a token is not good, for the operator.
enum Refused {
    Rejected(Rejection),
    Unavailable,
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<TokenFault> for Refused {
    fn from(fault: TokenFault) -> Self {
        Self::Rejected(fault.into())
    }
}

impl From<KeyError> for Refused {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Unknown => TokenFault::UnknownKey.into(),
            KeyError::Unavailable => Self::Unavailable,
        }
    }
}

fn verdict(token: &AccessToken, now: Timestamp, longest: Duration) -> VerifiedToken {
    VerifiedToken {
        issuer: token.issuer.clone(),
        subject: token.subject.clone(),
        scopes: token.scopes.iter().map(str::to_owned).collect(),
        claims: token
            .claims()
            .map(|(name, texts)| (name.to_owned(), texts.into_iter().map(str::to_owned).collect()))
            .collect(),
        life: token.expires.map_or(longest, |end| end.since(now).min(longest)),
    }
}
