//! Signing in with a browser: the authorization request, and its answer (auth.md 4).

use super::owner_hash::owner_hash;
use std::time::Duration;

use ptc_mcp::json::{Value, json};
use ptc_oauth::authorize::{self, Authorization, Entropy, PendingSignIn};
use ptc_oauth::callback::Callback;
use ptc_oauth::client::{Client, ClientOrigin, ClientRecord, Signing};
use ptc_oauth::discovery::DiscoveryResult;
use ptc_oauth::failure::{Failure, MAX_DESCRIPTION};
use ptc_oauth::grants::{GrantContext, TokenAnswer, read};
use ptc_oauth::metadata::{ServerMetadata, is_same_issuer};
use ptc_oauth::scopes::{Scopes, Sources, requested};
use ptc_oauth::secret::Secret;
use ptc_oauth::tokens::TokenRecord;
use ring::rand::SystemRandom;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::fault::SignInError;
use super::records::{self, TokenBinding};
use super::site::{Site, random};
use super::store::RecordKey;
use ptc_base::time;
use ptc_secret::credentials::{self, Redactor};
use ptc_secret::digest::sha256;

/// Most sign-ins of one principal that are begun and not finished. One more forgets the first.
const MAX_BEGUN: usize = 16;

/// A sign-in that awaits a person.
#[derive(Debug)]
pub struct SignInStart {
    /// The address for the browser. It holds `state`: show it only in the terminal, the browser and `ptc login --json`.
    pub url: Secret,
    /// The value that the answer must repeat; useful if a person pastes a bare code.
    pub state: Secret,
    /// Whether the server says that its answers name it: a bare code is then not taken.
    pub advertises_iss: bool,
}

/// The result of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// The authorization server.
    pub issuer: String,
    /// The scopes that were granted, or asked for if the server does not say.
    pub scopes: Vec<String>,
    /// When the access token ends, in Unix seconds.
    pub expires_at: Option<u64>,
    /// Whether it is renewed without a person.
    pub refreshable: bool,
}

/// The record `pending`: the core's state, and the rest of the future binding.
#[derive(Serialize, Deserialize)]
struct Pending {
    core: PendingSignIn,
    binding: TokenBinding,
    /// The digest that the browser that began must match, if there was one.
    #[serde(default)]
    browser: Option<String>,
}

/// The state known before tokens are requested.
pub(super) struct SignInPlan {
    pub(super) discovered: DiscoveryResult,
    pub(super) client: Client,
    pub(super) binding: TokenBinding,
    pub(super) scopes: Scopes,
    /// Whether the client was registered a moment ago.
    pub(super) is_new: bool,
}

/// How long is waited for the answer that shows whether a server still knows our client.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

impl Site {
    /// Discovers, and comes to a client and to the scopes that are asked for.
    pub(super) async fn prepare(
        &self,
        principal: &str,
        redirect_uris: &[String],
    ) -> Result<SignInPlan, SignInError> {
        let challenge = self.probe().await;
        let signed_in = self.binding(principal).await?;
        let discovered = self.discover(challenge.as_ref(), signed_in.as_ref(), true).await?;
        let resource = self.resource(&discovered);
        let wanted = |wanted: Option<&Scopes>| {
            let metadata = discovered.resource.as_ref();
            requested(&Sources {
                configured: self.oauth.scopes.as_deref(),
                challenge: challenge.as_ref().and_then(|challenge| challenge.scope.as_deref()),
                resource: metadata.and_then(|metadata| metadata.scopes_supported.as_deref()),
                server: &discovered.server.scopes_supported,
                wanted,
                person: self.oauth.grant.has_person(),
            })
        };
        // A registration that named only what is asked for now would be refused what calls turn out to need.
        let supported = discovered.resource.as_ref().and_then(|metadata| metadata.scopes_supported.clone());
        let first = wanted(None);
        let first = match self.oauth.scopes {
            None if !first.is_empty() => first.union(&supported.into_iter().flatten().collect()),
            _ => first,
        };
        let first = first.parameter();
        let (client, is_new) =
            self.client(&discovered.server, redirect_uris, first, principal, signed_in.as_ref()).await?;
        let binding = TokenBinding {
            upstream: self.name.to_string(),
            issuer: discovered.server.issuer.clone(),
            client_id: client.id.clone(),
            origin: client.origin,
            resource,
            redirect_uris: if client.origin == ClientOrigin::Registered {
                redirect_uris.to_vec()
            } else {
                Vec::new()
            },
            legacy_server: discovered.legacy.then(|| document_of(&discovered.server)),
        };
        // What calls were found to lack is asked for as well, whichever client it was.
        let mut lacked = records::tokens(self.store(), &binding, principal).await?;
        if let (None, Some(other)) = (&lacked, &signed_in) {
            lacked = records::tokens(self.store(), other, principal)
                .await?
                .filter(|_| is_same_issuer(&other.issuer, &binding.issuer));
        }
        let scopes = wanted(lacked.as_ref().map(|record| &record.scope_wanted));
        Ok(SignInPlan { discovered, client, binding, scopes, is_new })
    }

    /// Begins a sign-in of `principal` whose answer is sent to `redirect_uri`. Its state is kept for 10 minutes.
    ///
    /// # Errors
    /// Why it cannot be begun.
    pub async fn begin(&self, principal: &str, redirect_uri: &str) -> Result<SignInStart, SignInError> {
        self.begin_in(principal, redirect_uri, None).await
    }

    /// As [`begin`](Self::begin), in a browser that [`complete_in`](Self::complete_in) must recognize: `browser` is a digest of
    /// a value that only it knows.
    ///
    /// # Errors
    /// Why it cannot be begun.
    pub async fn begin_in(
        &self,
        principal: &str,
        redirect_uri: &str,
        browser: Option<String>,
    ) -> Result<SignInStart, SignInError> {
        let principal = self.account(principal);
        let mut prepared = self.prepare(principal, &[redirect_uri.to_owned()]).await?;
        if self.is_forgotten(&prepared, principal, redirect_uri).await? {
            self.forget_client(&prepared.binding).await?;
            prepared = self.prepare(principal, &[redirect_uri.to_owned()]).await?;
        }
        let authorization = self.authorization(&prepared, principal, redirect_uri);
        let (url, core) = authorization.begin(&entropy()?, self.now())?;
        let (state, advertises_iss) = (core.state.clone(), core.iss_advertised);
        let key = RecordKey::pending(state.expose());
        records::put(self.store(), &key, &Pending { core, binding: prepared.binding, browser }).await?;
        for left in self.begun(principal, key) {
            let guard = self.store().lock(&left).await?;
            self.store().delete(&guard).await?;
        }
        Ok(SignInStart { url, state, advertises_iss })
    }

    fn authorization<'a>(
        &'a self,
        prepared: &'a SignInPlan,
        principal: &'a str,
        redirect_uri: &'a str,
    ) -> Authorization<'a> {
        Authorization {
            server: &prepared.discovered.server,
            client_id: &prepared.client.id,
            redirect_uri,
            scopes: &prepared.scopes,
            resource: prepared.binding.resource.as_deref(),
            principal,
            upstream: &self.name,
            legacy: prepared.discovered.legacy,
        }
    }

    /// Whether the server does not know a client any more that it registered once: its page would tell the person alone, who
    /// cannot help it.
    async fn is_forgotten(
        &self,
        prepared: &SignInPlan,
        principal: &str,
        redirect_uri: &str,
    ) -> Result<bool, SignInError> {
        if prepared.is_new
            || prepared.client.origin != ClientOrigin::Registered
            || self.was_accepted(&prepared.client.id)
        {
            return Ok(false);
        }
        let probe = self.authorization(prepared, principal, redirect_uri).probe(&entropy()?, self.now())?;
        let answer = time::timeout(PROBE_PATIENCE, self.fetcher.send(probe)).await;
        Ok(answer.is_ok_and(|answer| authorize::has_forgotten_client(&answer)))
    }

    /// Whether a sign-in with this client succeeded here a short time ago. A step-up is no reason to ask again.
    fn was_accepted(&self, client: &str) -> bool {
        let accepted = *self.accepted.lock();
        accepted.is_some_and(|(id, at)| {
            id == sha256(client.as_bytes()) && self.now().since(at) <= authorize::LIFE
        })
    }

    /// Forgets a registration that the server does not know any more; the next sign-in registers anew.
    pub(super) async fn forget_client(&self, binding: &TokenBinding) -> Result<(), SignInError> {
        if binding.origin != ClientOrigin::Registered {
            return Ok(());
        }
        let key = binding.client_key();
        let guard = self.store().lock(&key).await?;
        let stored: Option<ClientRecord> = records::read(self.store(), &key).await?;
        // Somebody else may have registered anew by now.
        if stored.is_some_and(|record| record.client_id == binding.client_id) {
            self.store().delete(&guard).await?;
            tracing::info!(event = "auth_registration_forgotten", upstream = &*self.name, issuer = %binding.issuer);
        }
        Ok(())
    }

    /// Notes a sign-in that `principal` has begun. Those of before that are to be forgotten: they have ended, or are too many.
    fn begun(&self, principal: &str, key: RecordKey) -> Vec<RecordKey> {
        let now = self.now();
        let mut all = self.begun.lock();
        let mut left = Vec::new();
        all.retain(|_, begun| {
            while begun.front().is_some_and(|(_, at)| now.since(*at) > authorize::LIFE) {
                left.extend(begun.pop_front().map(|(key, _)| key));
            }
            !begun.is_empty()
        });
        let own = all.entry(principal.into()).or_default();
        own.push_back((key, now));
        if own.len() > MAX_BEGUN {
            left.extend(own.pop_front().map(|(key, _)| key));
        }
        left
    }

    /// Continues the sign-in that a callback belongs to. `None`: it belongs to no open sign-in of this upstream; the caller
    /// keeps waiting.
    ///
    /// # Errors
    /// Why the sign-in failed. It is over then.
    pub async fn complete(&self, callback: Callback) -> Result<Option<SignedIn>, SignInError> {
        self.complete_in(callback, None).await
    }

    /// As [`complete`](Self::complete), for a sign-in that was begun in the browser with this digest.
    ///
    /// # Errors
    /// Why the sign-in failed. It is over then.
    pub async fn complete_in(
        &self,
        callback: Callback,
        browser: Option<&str>,
    ) -> Result<Option<SignedIn>, SignInError> {
        let key = RecordKey::pending(callback.state.expose());
        // Without its lock, which is made for keys that are there alone: anybody can come with any state.
        if records::read::<Pending>(self.store(), &key).await?.is_none() {
            return Ok(None);
        }
        let pending = {
            let guard = self.store().lock(&key).await?;
            let found: Option<Pending> = records::read(self.store(), &key).await?;
            let Some(pending) = found.filter(|pending| {
                let is_here = pending.core.upstream == *self.name && pending.browser.as_deref() == browser;
                is_here && pending.core.is_for(&callback, self.now())
            }) else {
                return Ok(None);
            };
            // Spent now, whatever comes of it.
            self.store().delete(&guard).await?;
            pending
        };
        let signed_in = self.exchange(&pending, callback).await;
        self.counts.note_sign_in(signed_in.is_ok());
        if let Some(record) = self.record.get() {
            record(&pending.core.principal, signed_in.as_ref().err().map(SignInError::code));
        }
        if let Err(error) = &signed_in {
            if matches!(error, SignInError::Failure(failure) if failure.is_about_client()) {
                self.forget_client(&pending.binding).await?;
            }
            tracing::warn!(event = "auth_sign_in_failed", upstream = &*self.name, issuer = %pending.core.issuer,
                owner_hash = owner_hash(&pending.core.principal), error = error.code());
        }
        signed_in.map(Some)
    }

    async fn exchange(&self, pending: &Pending, callback: Callback) -> Result<SignedIn, SignInError> {
        let core = &pending.core;
        let code =
            core.code(callback).map_err(|failure| self.clean(failure, &[&core.state, &core.verifier]))?;
        let server = self.server_of(&pending.binding).await?;
        let client = self.client_of(&server, &pending.binding, &core.principal).await?.ok_or_else(|| {
            Failure::NoRegistration { issuer: core.issuer.clone(), redirect_uri: core.redirect_uri.clone() }
        })?;
        let random_source = SystemRandom::new();
        let signing =
            Signing { issuer: &server.issuer, now: self.now(), jti: random()?, random: &random_source };
        let endpoint = core.token_endpoint.parse().unwrap_or_else(|_| server.token_endpoint.clone());
        let asking = GrantContext {
            endpoint: &endpoint,
            client: &client,
            signing,
            resource: core.resource.as_deref(),
        };
        // Once: a code is not sent twice.
        let answer = self.fetcher.send(asking.code(&code, &core.redirect_uri, &core.verifier)).await;
        let tokens = read(&answer).map_err(|fault| {
            let proof = client.credential.secret();
            let sent: Vec<&Secret> = [&code, &core.state, &core.verifier].into_iter().chain(proof).collect();
            self.clean(fault.into(), &sent)
        })?;
        self.keep(&pending.binding, &core.principal, tokens, core.scopes.clone(), core.legacy).await
    }

    /// A failure in whose words there is nothing that the server was sent: some echo it.
    pub(super) fn clean(&self, failure: Failure, sent: &[&Secret]) -> Failure {
        let Failure::Refused { code, description: Some(words) } = failure else { return failure };
        let (own, is_cut) = (Redactor::new(), words.chars().count() >= MAX_DESCRIPTION);
        let sent: Vec<_> = sent.iter().map(|secret| credentials::Secret::new(secret.expose())).collect();
        let description = own.register(&sent).is_ok().then(|| {
            let mut words = self.context.redactor.for_log().scrub_string(own.scrub_string(words));
            // What was cut may end in the beginning of one.
            words.truncate(words.len() - if is_cut { own.unfinished(&words) } else { 0 });
            words
        });
        Failure::Refused { code, description }
    }

    /// Writes the tokens of a sign-in, and that they are the ones to use. Those of before are replaced only now.
    pub(super) async fn keep(
        &self,
        binding: &TokenBinding,
        principal: &str,
        tokens: TokenAnswer,
        wanted: Scopes,
        legacy: bool,
    ) -> Result<SignedIn, SignInError> {
        let owner = self.tokens_of(principal);
        self.learn(&owner, principal, std::iter::once(&tokens.access_token).chain(&tokens.refresh_token))?;
        let accepted = (sha256(binding.client_id.as_bytes()), self.now());
        *self.accepted.lock() = Some(accepted);
        let key = binding.token_key(principal);
        let guard = self.store().lock(&key).await?;
        let previous: Option<TokenRecord> = records::read(self.store(), &key).await?;
        let record = TokenRecord::signed_in(tokens, previous.as_ref(), wanted, legacy);
        records::write(self.store(), &guard, &record).await?;
        drop(guard);
        records::put(self.store(), &RecordKey::binding(&self.name, &self.url, principal), binding).await?;
        self.news.tell();
        let owner_hash = owner_hash(principal);
        tracing::info!(event = "auth_signed_in", upstream = &*self.name, issuer = %binding.issuer, owner_hash);
        let scopes = record.scope_granted.as_ref().unwrap_or(&record.scope_wanted);
        Ok(SignedIn {
            issuer: binding.issuer.clone(),
            scopes: scopes.iter().map(str::to_owned).collect(),
            expires_at: record.expires_at,
            refreshable: record.refresh_token.is_some(),
        })
    }
}

/// The random values of one sign-in.
fn entropy() -> Result<Entropy, Failure> {
    Ok(Entropy { verifier: Zeroizing::new(random()?), state: Zeroizing::new(random()?) })
}

/// The stored metadata of a server that publishes them nowhere else.
fn document_of(server: &ServerMetadata) -> Value {
    let url = |url: &Option<url::Url>| url.as_ref().map(url::Url::as_str).map(str::to_owned);
    json!({
        "issuer": server.issuer,
        "token_endpoint": server.token_endpoint.as_str(),
        "revocation_endpoint": url(&server.revocation_endpoint),
        "token_endpoint_auth_methods_supported": server.token_endpoint_auth_methods_supported,
    })
}
