//! One issuer: its metadata, its keys, and the question about a token.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ptc_oauth::fetch_address::FetchRules;
use ptc_oauth::jwt::introspection::IntrospectionClient;
use ptc_oauth::jwt::{
    IssuerDiscovery, IssuerError, IssuerMetadata, Jws, KeyAnswer, KeyCache, KeyFetch, KeySet, RETRY,
};
use ptc_oauth::message::{OAuthRequest, RequestOutcome, Response};
use ptc_oauth::timestamp::Timestamp;
use tokio::runtime::Handle;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tracing::{info, warn};
use url::Url;

use super::PATIENCE;
use crate::config::Routing;
use crate::sign_in::fetch::Fetcher;
use ptc_base::sync::Mutex;
use ptc_base::time::{self, Clock, Instant};
use ptc_http::Client;

/// Callers that wait for keys of one issuer at a time.
const MAX_WAITING: usize = 256;

/// An issuer of access tokens.
#[derive(Clone)]
pub(super) struct Issuer(Arc<IssuerState>);

struct IssuerState {
    name: String,
    fetcher: Fetcher,
    metadata: AsyncMutex<CachedMetadata>,
    keys: Mutex<KeyCache>,
    /// Told of the end of each fetch of keys.
    fetched: Notify,
    waiting: AtomicUsize,
    clock: Clock,
    /// From which moments of the key cache are counted.
    began: Instant,
    owner: Handle,
}

/// The metadata as they were found last, and until when that holds; `None` after a failure.
#[derive(Default)]
struct CachedMetadata(Option<(Option<IssuerMetadata>, Instant)>);

/// Why there are no keys for a token.
pub(super) enum KeyError {
    /// Its key is none of the issuer's.
    Unknown,
    /// The keys cannot be had now.
    Unavailable,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Issuer").field(&self.0.name).finish()
    }
}

impl Issuer {
    pub(super) fn new(name: &str, url: Url, http: Client, clock: Clock, owner: Handle) -> Self {
        let rules = FetchRules::new(&url, [""; 0]);
        let fetcher = Fetcher::new(http, rules, url, Routing::Direct, clock.clone()).within(PATIENCE);
        Self(Arc::new(IssuerState {
            name: name.to_owned(),
            fetcher,
            metadata: AsyncMutex::default(),
            keys: Mutex::default(),
            fetched: Notify::new(),
            waiting: AtomicUsize::new(0),
            began: clock.now(),
            clock,
            owner,
        }))
    }

    /// The issuer, byte for byte as its tokens have it.
    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    /// Fetches the keys if nobody has.
    pub(super) fn prepare(&self) {
        if self.0.keys.lock().begin_first(self.0.moment()) {
            self.fetch();
        }
    }

    /// The keys with which a token may be verified. A caller waits for a fetch only if its key is not among those that are known.
    pub(super) async fn keys_for(&self, token: &Jws<'_>) -> Result<Arc<KeySet>, KeyError> {
        let issuer = &*self.0;
        let (deadline, came) = (issuer.clock.now() + PATIENCE, issuer.moment());
        loop {
            let mut fetched = pin!(issuer.fetched.notified());
            fetched.as_mut().enable();
            let answer = issuer.keys.lock().ask(token, came, issuer.moment());
            match answer {
                KeyAnswer::Keys { keys, fetch } => {
                    if fetch {
                        self.fetch();
                    }
                    return Ok(keys);
                }
                KeyAnswer::Wait { fetch } => {
                    if fetch {
                        self.fetch();
                    }
                    let _waiter = issuer.waiter().ok_or(KeyError::Unavailable)?;
                    time::timeout_at(deadline, fetched).await.map_err(|_| KeyError::Unavailable)?;
                }
                KeyAnswer::Unknown => return Err(KeyError::Unknown),
                KeyAnswer::Unavailable => return Err(KeyError::Unavailable),
            }
        }
    }

    /// Asks about a token; `None` if the issuer does not answer.
    pub(super) async fn ask(&self, client: &IntrospectionClient, token: &str) -> Option<Response> {
        let issuer = &*self.0;
        let metadata = issuer.metadata().await?;
        let Some(endpoint) = &metadata.introspection_endpoint else {
            issuer.tell(&"the metadata have no introspection_endpoint");
            return None;
        };
        let request = client.request(endpoint, metadata.introspection_by_header, token);
        match issuer.fetcher.send(request).await.result {
            Ok(response) => Some(response),
            Err(trouble) => {
                issuer.tell(&trouble);
                None
            }
        }
    }

    /// Its metadata; `None` if they cannot be had.
    pub(super) async fn metadata(&self) -> Option<IssuerMetadata> {
        self.0.metadata().await
    }

    /// Sends it a request.
    pub(super) async fn send(&self, request: OAuthRequest) -> RequestOutcome {
        self.0.fetcher.send(request).await
    }

    /// Fetches the keys beside whoever waits for them.
    fn fetch(&self) {
        let issuer = self.0.clone();
        self.0.owner.spawn(async move {
            let result = issuer.fetch().await;
            issuer.keys.lock().fetched(result, issuer.moment());
            issuer.fetched.notify_waiters();
        });
    }
}

impl IssuerState {
    /// The present for the key cache, by a clock that only goes forward.
    fn moment(&self) -> Timestamp {
        let since = self.clock.now().saturating_duration_since(self.began);
        Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// A place among those who wait, unless there are too many.
    fn waiter(&self) -> Option<Waiter<'_>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiter = Waiter(&self.waiting);
        (before < MAX_WAITING).then_some(waiter)
    }

    async fn fetch(&self) -> Option<(KeySet, Duration)> {
        let metadata = self.metadata().await?;
        let Some(url) = metadata.jwks_uri else {
            self.tell(&IssuerError::NoKeys);
            return None;
        };
        match self.fetcher.run(KeyFetch::new(url)).await {
            Ok((keys, life)) => {
                info!(event = "issuer_keys", issuer = self.name, keys = keys.len());
                Some((keys, life))
            }
            Err(error) => {
                self.tell(&error);
                // They may have moved.
                self.metadata.lock().await.0 = None;
                None
            }
        }
    }

    /// The metadata. Whoever comes while they are being fetched waits for that.
    async fn metadata(&self) -> Option<IssuerMetadata> {
        let mut cached = self.metadata.lock().await;
        if let Some((metadata, until)) = &cached.0
            && self.clock.now() < *until
        {
            return metadata.clone();
        }
        let found = self.fetcher.run(IssuerDiscovery::new(&self.name)).await;
        let (metadata, life) = match found {
            Ok(metadata) if metadata.issuer == self.name => {
                let life = metadata.life;
                (Some(metadata), life)
            }
            // Tokens have the issuer as it writes itself, so none would be accepted.
            Ok(metadata) => {
                self.tell(&format_args!("it calls itself {:?}; write --issuer so", metadata.issuer));
                (None, RETRY)
            }
            Err(error) => {
                self.tell(&error);
                (None, RETRY)
            }
        };
        cached.0 = Some((metadata.clone(), self.clock.now() + life));
        metadata
    }

    fn tell(&self, reason: &dyn fmt::Display) {
        warn!(event = "issuer_unavailable", issuer = self.name, reason = %reason);
    }
}

/// Counts a caller that waits.
struct Waiter<'a>(&'a AtomicUsize);

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
