//! One upstream that is signed in to: its settings, its servers, our clients there. Shared by all principals.

use ptc_base::sync::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptc_oauth::challenge::Bearer;
use ptc_oauth::client::{Client, ClientOrigin, ClientRecord, Credential};
use ptc_oauth::client_key::ClientKey;
use ptc_oauth::discovery::{Discovery, DiscoveryResult, DiscoveryTarget, Relax};
use ptc_oauth::failure::Failure;
use ptc_oauth::fetch_address::FetchRules;
use ptc_oauth::metadata::ServerMetadata;
use ptc_oauth::registration::{self, Choice, Needs};
use ptc_oauth::resource;
use ptc_oauth::secret::Secret as CoreSecret;
use ptc_oauth::timestamp::Timestamp;
use ptc_oauth::tokens::TokenRecord;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::runtime::Handle;
use url::Url;

use super::counts::SignInCounts;
use super::fault::SignInError;
use super::fetch::Fetcher;
use super::principals::PROCESS;
use super::records::{self, TokenBinding};
use super::sign_in_news::News;
use super::store::{AuthStore, MemoryStore, RecordKey};
use crate::config::{
    OAuthClient, OAuthConfig, OAuthGrant, OAuthIdentity, OAuthProof, Routing, Transport, UpstreamConfig,
};
use ptc_base::time::Clock;
use ptc_http::{Certificates, Client as HttpClient};
use ptc_secret::credentials::{CredentialStore, EVERYONE, HttpAuth, NoRoom, Redactor, Secret};
use ptc_state::time_of_day_by;

/// Issuers that are remembered. A resource that names ever new ones makes us forget the others.
const MAX_KNOWN: usize = 8;
/// How long a failed discovery is not tried again.
const FAILURE_LIFE: Duration = Duration::from_secs(30);

/// Shared by all upstreams of a process.
#[derive(Clone)]
pub struct SignInContext {
    /// The store of sign-ins.
    pub store: Arc<dyn AuthStore>,
    /// The clock by which tokens end, unless there is a store that processes share.
    pub clock: Clock,
    /// Receives new tokens.
    pub redactor: Redactor,
    /// Connections; knows which certificates to trust.
    pub http: HttpClient,
    /// Runs renewals, which survive cancelled calls.
    pub owner: Handle,
    /// The origin of the page on which callers over HTTP sign in, if there is one (auth.md 8).
    pub page: Option<Arc<str>>,
    /// Whether the bearers of access tokens can sign in there at their issuer, to show who they are.
    pub page_has_login: bool,
}

impl SignInContext {
    /// A context on the current runtime, with a store that is gone with the process.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn in_memory() -> Self {
        Self {
            store: Arc::new(MemoryStore::default()),
            clock: Clock::current(),
            redactor: Redactor::new(),
            http: HttpClient::new(),
            owner: Handle::current(),
            page: None,
            page_has_login: false,
        }
    }
}

/// An upstream whose entry has `auth` of type `oauth`.
pub struct Site {
    pub(super) name: Arc<str>,
    /// The upstream's URL as the file has it.
    pub(super) url: String,
    pub(super) address: Url,
    pub(super) is_openapi: bool,
    pub(super) oauth: Arc<OAuthConfig>,
    credentials: Arc<CredentialStore>,
    pub(super) static_headers: Vec<(http::HeaderName, http::HeaderValue)>,
    pub(super) context: SignInContext,
    /// The client that the upstream itself is asked with.
    pub(super) http: HttpClient,
    pub(super) routing: Routing,
    pub(super) fetcher: Fetcher,
    pub(super) counts: SignInCounts,
    /// Told of sign-ins.
    pub(super) news: News,
    /// Told of each sign-in that has ended, for the operator's record.
    pub(super) record: OnceLock<SignInRecord>,
    /// Known authorization servers, by issuer.
    known: Mutex<HashMap<String, CachedDiscovery>>,
    /// Sign-ins that principals have begun here, with when.
    pub(super) begun: Mutex<HashMap<Box<str>, PrincipalSignIns>>,
    /// The SHA-256 of the id of the client whose sign-in was finished here last, and when: its server knows it.
    pub(super) accepted: Mutex<Option<([u8; 32], Timestamp)>>,
}

/// Receives the principal of a sign-in that has ended, and the code of its fault.
pub(super) type SignInRecord = Box<dyn Fn(&str, Option<&str>) + Send + Sync>;

/// The sign-ins that one principal has begun, oldest first.
pub(super) type PrincipalSignIns = VecDeque<(RecordKey, Timestamp)>;

#[derive(Clone)]
enum CachedDiscovery {
    Found(Box<ServerMetadata>, Timestamp),
    Failed(Failure, Timestamp),
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Site").field(&self.name).finish()
    }
}

impl Site {
    /// The upstream of this entry; `None` if it needs no sign-in.
    pub fn new(
        upstream: &UpstreamConfig,
        credentials: &Arc<CredentialStore>,
        context: &SignInContext,
    ) -> Option<Arc<Self>> {
        let oauth = upstream.transport.oauth()?.clone();
        let UpstreamAddress { url, address, auth, routing, certificates, is_openapi } =
            UpstreamAddress::of(&upstream.transport)?;
        let http = certificates.map_or_else(|| context.http.clone(), |more| context.http.trusting(more));
        let issuer = oauth.issuer.as_deref().and_then(|issuer| Url::parse(issuer).ok());
        let provider = oauth.idp.as_ref().and_then(|idp| idp.token_endpoint.host_str());
        let exempt = issuer.as_ref().and_then(|url| url.host_str()).into_iter().chain(provider);
        let rules = FetchRules::new(address, exempt.chain(oauth.allow_hosts.iter().map(String::as_str)));
        let fetcher =
            Fetcher::new(http.clone(), rules, address.clone(), routing.clone(), context.clock.clone());
        Some(Arc::new(Self {
            name: upstream.name.as_str().into(),
            url,
            address: address.clone(),
            is_openapi,
            oauth,
            credentials: credentials.clone(),
            static_headers: auth.static_headers.clone(),
            context: context.clone(),
            http,
            routing: routing.clone(),
            fetcher,
            counts: SignInCounts::default(),
            news: News::default(),
            record: OnceLock::new(),
            known: Mutex::default(),
            begun: Mutex::default(),
            accepted: Mutex::default(),
        }))
    }

    /// The upstream's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How its sign-ins are obtained.
    pub fn config(&self) -> &OAuthConfig {
        &self.oauth
    }

    /// Has each sign-in told that ends from now on: whose it is, and the code of the fault if it failed. The first call counts.
    pub fn on_sign_in(&self, record: impl Fn(&str, Option<&str>) + Send + Sync + 'static) {
        let _ = self.record.set(Box::new(record));
    }

    /// Counts of obtained and failed tokens.
    pub fn counts(&self) -> &SignInCounts {
        &self.counts
    }

    /// Whose sign-in a call of `principal` uses as the entry says: `*` where it is one for all.
    pub fn account_of<'p>(&self, principal: &'p str) -> &'p str {
        match self.oauth.identity {
            OAuthIdentity::PerPrincipal => principal,
            OAuthIdentity::Shared => EVERYONE,
        }
    }

    /// The name of an account: of this process the one that the entry says. All others have been chosen.
    pub(super) fn account<'p>(&self, account: &'p str) -> &'p str {
        if account == PROCESS { self.account_of(account) } else { account }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::from_millis(time_of_day_by(&self.context.clock))
    }

    pub(super) fn store(&self) -> &dyn AuthStore {
        &*self.context.store
    }

    /// The binding of the upstream and `principal`.
    pub(super) async fn binding(&self, principal: &str) -> Result<Option<TokenBinding>, SignInError> {
        Ok(records::read(self.store(), &RecordKey::binding(&self.name, &self.url, principal)).await?)
    }

    /// Discovers from the upstream on, and remembers the result.
    pub(super) async fn discover(
        &self,
        challenge: Option<&Bearer>,
        signed_in: Option<&TokenBinding>,
        person: bool,
    ) -> Result<DiscoveryResult, Failure> {
        let target = DiscoveryTarget {
            url: self.url.clone(),
            issuer: self.oauth.issuer.clone(),
            signed_in_issuer: signed_in.map(|binding| binding.issuer.clone()),
            relax: Relax {
                missing_issuer: self.oauth.relax.missing_issuer,
                missing_pkce: self.oauth.relax.missing_pkce,
            },
            by_browser: self.oauth.grant == OAuthGrant::AuthorizationCode,
            legacy: person && self.oauth.legacy_discovery,
        };
        let discovered = self.fetcher.run(Discovery::new(target, challenge)).await?;
        self.remember(&discovered);
        Ok(discovered)
    }

    fn remember(&self, discovered: &DiscoveryResult) {
        let known = CachedDiscovery::Found(Box::new(discovered.server.clone()), discovered.fresh_until);
        self.note_known(&discovered.server.issuer, known);
    }

    fn note_known(&self, issuer: &str, of: CachedDiscovery) {
        let mut known = self.known();
        if known.len() >= MAX_KNOWN && !known.contains_key(issuer) {
            known.clear();
        }
        known.insert(issuer.to_owned(), of);
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, CachedDiscovery>> {
        self.known.lock()
    }

    /// Drops the cached metadata of authorization servers, after a 401 that a renewal did not cure (auth.md 2.5).
    pub(super) fn forget_metadata(&self) {
        self.known().clear();
    }

    /// The authorization server of a sign-in.
    pub(super) async fn server_of(&self, binding: &TokenBinding) -> Result<ServerMetadata, Failure> {
        if let Some(document) = &binding.legacy_server {
            return legacy_server(document, &binding.issuer);
        }
        let now = self.now();
        match self.known().get(&binding.issuer) {
            Some(CachedDiscovery::Found(server, until)) if now < *until => return Ok((**server).clone()),
            Some(CachedDiscovery::Failed(failure, until)) if now < *until => return Err(failure.clone()),
            _ => {}
        }
        let target = DiscoveryTarget {
            url: self.url.clone(),
            issuer: Some(binding.issuer.clone()),
            signed_in_issuer: None,
            relax: Relax { missing_issuer: self.oauth.relax.missing_issuer, missing_pkce: true },
            by_browser: false,
            legacy: false,
        };
        match self.fetcher.run(Discovery::new(target, None)).await {
            Ok(discovered) => {
                self.remember(&discovered);
                Ok(discovered.server)
            }
            Err(failure) => {
                let until = self.now() + FAILURE_LIFE;
                self.note_known(&binding.issuer, CachedDiscovery::Failed(failure.clone(), until));
                Err(failure)
            }
        }
    }

    /// The value of `resource`.
    pub(super) fn resource(&self, discovered: &DiscoveryResult) -> Option<String> {
        let metadata = discovered.resource.as_ref().map(|metadata| metadata.resource.as_str());
        resource::Setting::of(self.oauth.resource.as_deref()).value(metadata, &self.url, self.is_openapi)
    }

    /// The secret of a binding of the upstreams file.
    pub(super) fn credential(&self, binding: &str) -> Option<CoreSecret> {
        self.credentials.get(binding).map(|credential| CoreSecret::new(credential.secret.open()))
    }

    /// The document with our client's identity, on our own page: useful if the browser returns to that page alone.
    fn own_document(&self, redirect_uris: &[String]) -> Option<String> {
        let origin = self.context.page.as_deref()?;
        let [redirect_uri] = redirect_uris else { return None };
        (*redirect_uri == redirect_address(origin)).then(|| document_address(origin))
    }

    /// The client's identity, as the file configures it.
    fn setting(
        &self,
        signed_in: Option<&TokenBinding>,
        redirect_uris: &[String],
    ) -> Result<registration::Setting, Failure> {
        let (id, proof) = match &self.oauth.client {
            OAuthClient::Auto => {
                let metadata_url = self.own_document(redirect_uris);
                return Ok(registration::Setting::Auto { metadata_url });
            }
            OAuthClient::MetadataUrl(url) => {
                return Ok(registration::Setting::Auto { metadata_url: Some(url.clone()) });
            }
            OAuthClient::Registered { id, proof } => (id, proof),
        };
        let credential = match proof {
            OAuthProof::None => Credential::None,
            OAuthProof::Secret(binding) => {
                self.credential(binding).map_or(Credential::None, Credential::Secret)
            }
            OAuthProof::Key(key) => {
                let what = "client authentication that auth.client can do";
                let read = ClientKey::from_pem(key.pem.open(), None, &SystemRandom::new());
                Credential::Key(read.map_err(|_| Failure::Unsupported { what })?)
            }
        };
        // A client that was registered by hand belongs to the issuer of its first sign-in.
        let first =
            signed_in.filter(|binding| binding.client_id == *id).map(|binding| binding.issuer.clone());
        let issuer = self.oauth.issuer.clone().or(first);
        Ok(registration::Setting::Configured { id: id.clone(), credential, issuer })
    }

    /// Our client at `server` for these redirect URIs, registered if need be, and whether it was registered now.
    pub(super) async fn client(
        &self,
        server: &ServerMetadata,
        redirect_uris: &[String],
        scope: Option<String>,
        principal: &str,
        signed_in: Option<&TokenBinding>,
    ) -> Result<(Client, bool), SignInError> {
        let setting = self.setting(signed_in, redirect_uris)?;
        let key = RecordKey::client(&server.issuer, redirect_uris.iter().map(String::as_str));
        // One registers, others find what came of it.
        let guard = self.store().lock(&key).await?;
        let stored: Option<ClientRecord> = records::read(self.store(), &key).await?;
        let needs = Needs {
            setting: &setting,
            server,
            stored: stored.as_ref(),
            redirect_uris,
            scope,
            version: env!("CARGO_PKG_VERSION"),
            may_register: self.oauth.grant.has_person(),
            now: self.now(),
        };
        match registration::choose(&needs)? {
            Choice::Ready(client) => Ok((client, false)),
            Choice::Register(flow) => {
                let record = self.fetcher.run(flow).await?;
                self.learn_client(&record, principal)?;
                records::write(self.store(), &guard, &record).await?;
                Ok((record.client(server)?, true))
            }
        }
    }

    /// The client of a sign-in that was made; `None` if its registration is gone.
    pub(super) async fn client_of(
        &self,
        server: &ServerMetadata,
        binding: &TokenBinding,
        principal: &str,
    ) -> Result<Option<Client>, SignInError> {
        match binding.origin {
            ClientOrigin::Registered => {
                let stored: Option<ClientRecord> = records::read(self.store(), &binding.client_key()).await?;
                let Some(record) = stored.filter(|record| record.client_id == binding.client_id) else {
                    return Ok(None);
                };
                self.learn_client(&record, principal)?;
                Ok(Some(record.client(server)?))
            }
            ClientOrigin::MetadataDocument => {
                let (id, origin) = (binding.client_id.clone(), ClientOrigin::MetadataDocument);
                Ok(Some(Client::new(id, origin, Credential::None, None, server)?))
            }
            ClientOrigin::Configured => match self.setting(Some(binding), &[])? {
                registration::Setting::Configured { id, credential, .. } if id == binding.client_id => {
                    Ok(Some(Client::new(id, ClientOrigin::Configured, credential, None, server)?))
                }
                _ => Ok(None),
            },
        }
    }

    /// Registers the secrets of `owner`, which belong to a sign-in of `principal`, with the redactor. They must have been
    /// accepted by now: values from unauthenticated callers are not scrubbed.
    pub(super) fn learn<'s>(
        &self,
        owner: &str,
        principal: &str,
        secrets: impl Iterator<Item = &'s CoreSecret>,
    ) -> Result<(), NoRoom> {
        let secrets: Vec<Secret> = secrets.map(|secret| Secret::new(secret.expose())).collect();
        self.context.redactor.replace(owner, principal, &secrets)
    }

    /// By which the redactor knows the tokens of a principal here.
    pub(super) fn tokens_of(&self, principal: &str) -> String {
        format!("tokens {} {principal}", self.url)
    }

    /// As [`learn`](Self::learn), for the tokens of a record.
    pub(super) fn learn_tokens(&self, principal: &str, record: &TokenRecord) -> Result<(), NoRoom> {
        let tokens = record.access_token.iter().chain(&record.refresh_token);
        self.learn(&self.tokens_of(principal), principal, tokens)
    }

    /// As [`learn`](Self::learn), for a client that is registered for everybody and whose secret each principal uses.
    fn learn_client(&self, record: &ClientRecord, principal: &str) -> Result<(), NoRoom> {
        let owner = format!("client {} {principal}", record.client_id);
        self.learn(&owner, principal, record.client_secret.iter())
    }
}

/// Where an upstream is, and how it is reached.
struct UpstreamAddress<'u> {
    /// As the file has it.
    url: String,
    address: &'u Url,
    auth: &'u HttpAuth,
    routing: &'u Routing,
    certificates: Option<&'u Certificates>,
    is_openapi: bool,
}

impl<'u> UpstreamAddress<'u> {
    fn of(transport: &'u Transport) -> Option<Self> {
        match transport {
            Transport::Stdio(_) => None,
            Transport::Http(entry) => Some(Self {
                url: entry.url_text.clone(),
                address: &entry.url,
                auth: &entry.auth,
                routing: &entry.routing,
                certificates: entry.certificates.as_ref(),
                is_openapi: false,
            }),
            Transport::OpenApi(entry) => Some(Self {
                url: entry.base_url.as_str().to_owned(),
                address: &entry.base_url,
                auth: &entry.auth,
                routing: &entry.routing,
                certificates: entry.certificates.as_ref(),
                is_openapi: true,
            }),
        }
    }
}

/// The metadata that a sign-in was stored with.
#[expect(clippy::disallowed_methods, reason = "entry point: legacy_server()")]
fn legacy_server(document: &ptc_mcp::json::Value, issuer: &str) -> Result<ServerMetadata, Failure> {
    let text = document.to_string();
    let map = serde_json::from_str(&text).unwrap_or_default();
    ServerMetadata::read(&map, issuer)
        .map_err(|reason| Failure::BadMetadata { url: issuer.to_owned(), reason: reason.to_owned() })
}

/// The redirect address of the page at this origin.
#[must_use]
pub fn redirect_address(origin: &str) -> String {
    format!("{origin}/oauth/callback")
}

/// Where the page at this origin says who we are: the client ID of a server that reads such documents (auth.md 3).
#[must_use]
pub fn document_address(origin: &str) -> String {
    format!("{origin}/oauth/client.json")
}

/// 16 random bytes.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map(|()| bytes).map_err(|_| Failure::Unsupported { what: "random numbers on this machine" })
}
