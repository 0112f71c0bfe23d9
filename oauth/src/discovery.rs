//! Discovery: whose resource the upstream is, and who gives tokens for it (`auth.md` 2.2 to 2.6).

use std::collections::VecDeque;

use url::Url;

use crate::cache;
use crate::challenge::Bearer;
use crate::failure::Failure;
use crate::json;
use crate::message::{Flow, Next, OAuthRequest, RequestOutcome, TransportError};
use crate::metadata::{ResourceMetadata, ServerMetadata, is_same_issuer, secure};
use crate::secret::Secret;
use crate::timestamp::Timestamp;

/// The well-known name of protected resource metadata.
const OF_RESOURCE: &str = "oauth-protected-resource";
/// The well-known names of authorization server metadata.
const OF_SERVER: &str = "oauth-authorization-server";
const OF_OPENID: &str = "openid-configuration";
/// The revision sent to a server of the fallback.
const LEGACY_REVISION: &str = "2025-03-26";

/// Checks that an operator waives (`auth.relax`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relax {
    /// Metadata may lack `issuer`.
    pub missing_issuer: bool,
    /// Metadata may lack S256.
    pub missing_pkce: bool,
}

/// The target of a discovery.
#[derive(Clone, Debug)]
pub struct DiscoveryTarget {
    /// The upstream's URL, as it is written in the configuration.
    pub url: String,
    /// `auth.issuer`.
    pub issuer: Option<String>,
    /// The issuer of a stored sign-in: it goes before others that the resource lists.
    pub signed_in_issuer: Option<String>,
    /// `auth.relax`.
    pub relax: Relax,
    /// Whether the grant is `authorization_code`, which needs an authorization endpoint and PKCE.
    pub by_browser: bool,
    /// Whether the fallback of `auth.md` 2.6 is allowed: a person is signing in, and `legacy_discovery` is `login_only`.
    pub legacy: bool,
}

/// The result of a discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryResult {
    /// Metadata of the resource; `None` where they are absent.
    pub resource: Option<ResourceMetadata>,
    /// Metadata of the authorization server.
    pub server: ServerMetadata,
    /// Whether it was found by the fallback of `auth.md` 2.6.
    pub legacy: bool,
    /// Until when this may be used without asking again.
    pub fresh_until: Timestamp,
}

/// The conversation that discovers.
#[derive(Debug)]
pub struct Discovery {
    target: DiscoveryTarget,
    url: Result<Url, Failure>,
    /// `resource_metadata` of the challenge.
    named: Option<String>,
    stage: DiscoveryStage,
    /// URLs of the stage that have not been tried.
    candidates: VecDeque<Url>,
    /// The URL that is being tried.
    current: Option<Url>,
    /// The failure to read a document of this stage, which says nothing on whether it exists.
    trouble: Option<Failure>,
    /// The first URL of the stage that said no, and how.
    refused: Option<Failure>,
    resource: Option<ResourceMetadata>,
    fresh_until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum DiscoveryStage {
    /// The URL that the challenge names: nothing is guessed beside it.
    Named,
    /// The two well-known URLs of the resource.
    WellKnown,
    /// The URLs of this issuer.
    Server { issuer: String },
    /// The origin's root, by the fallback.
    Legacy,
}

type DiscoveryStep = Next<DiscoveryResult, Failure>;

impl Discovery {
    /// Discovery for `target`, after `challenge` if there was one.
    #[must_use]
    pub fn new(target: DiscoveryTarget, challenge: Option<&Bearer>) -> Self {
        let unusable =
            || Failure::MetadataUnavailable { url: target.url.clone(), reason: "no URL".to_owned() };
        Self {
            url: Url::parse(&target.url).ok().filter(Url::has_host).ok_or_else(unusable),
            named: challenge.and_then(|bearer| bearer.resource_metadata.clone()),
            stage: DiscoveryStage::WellKnown,
            candidates: VecDeque::new(),
            current: None,
            trouble: None,
            refused: None,
            resource: None,
            fresh_until: None,
            target,
        }
    }

    fn begin(&mut self) -> Result<DiscoveryStep, Failure> {
        let url = self.url.clone()?;
        match self.named.take() {
            Some(named) => {
                let candidate = named_metadata(&url, &named)?;
                self.enter(DiscoveryStage::Named, [candidate])
            }
            None => self.enter(DiscoveryStage::WellKnown, resource_urls(&url)),
        }
    }

    fn enter(
        &mut self,
        stage: DiscoveryStage,
        candidates: impl IntoIterator<Item = Url>,
    ) -> Result<DiscoveryStep, Failure> {
        self.stage = stage;
        self.candidates = candidates.into_iter().collect();
        (self.trouble, self.refused) = (None, None);
        self.try_next()
    }

    /// Asks for the next URL of the stage, or draws the conclusion that there is none.
    fn try_next(&mut self) -> Result<DiscoveryStep, Failure> {
        let Some(url) = self.candidates.pop_front() else { return self.exhausted() };
        self.current = Some(url.clone());
        let mut request = OAuthRequest::metadata(url);
        if self.stage == DiscoveryStage::Legacy {
            request.headers.push(("mcp-protocol-version", Secret::new(LEGACY_REVISION)));
        }
        Ok(Next::Send(request))
    }

    /// No URL of the stage has the document.
    fn exhausted(&mut self) -> Result<DiscoveryStep, Failure> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        match &self.stage {
            DiscoveryStage::Named | DiscoveryStage::Server { .. } => {
                Err(self.refused.take().unwrap_or(Failure::NoMetadata))
            }
            DiscoveryStage::WellKnown => match self.target.issuer.clone() {
                Some(issuer) => self.ask_server(issuer),
                None if self.target.legacy => {
                    let root = self.url.clone()?.join(&format!("/.well-known/{OF_SERVER}")).ok();
                    self.enter(DiscoveryStage::Legacy, root)
                }
                None => Err(Failure::NoMetadata),
            },
            DiscoveryStage::Legacy => {
                let server = ServerMetadata::at_origin(&self.url.clone()?).ok_or(Failure::NoMetadata)?;
                // A plain http origin is no place for tokens, as elsewhere.
                secure(server.token_endpoint.as_str()).ok_or(Failure::NoMetadata)?;
                Ok(self.done(server, true))
            }
        }
    }

    fn answered(&mut self, answer: &RequestOutcome) -> Result<DiscoveryStep, Failure> {
        let url = self.current.take().map(String::from).unwrap_or_default();
        let unavailable = |reason: String| Failure::MetadataUnavailable { url: url.clone(), reason };
        let response = match &answer.result {
            Ok(response) => response,
            Err(trouble @ TransportError::AddressRefused { .. }) => {
                return Err(Failure::of_metadata(&url, trouble));
            }
            Err(trouble) => {
                self.trouble.get_or_insert(Failure::of_metadata(&url, trouble));
                return self.try_next();
            }
        };
        let status = response.status;
        if status >= 500 || matches!(status, 408 | 425 | 429) {
            self.trouble.get_or_insert(unavailable(format!("http {status}")));
            return self.try_next();
        }
        let document = if status == 200 { json::object(response.body.expose()) } else { None };
        let Some(document) = document else {
            let reason = if status == 200 { "no JSON object".to_owned() } else { format!("http {status}") };
            self.refused.get_or_insert(unavailable(reason));
            return self.try_next();
        };
        let fresh_until = cache::fresh_until(response, answer.at);
        self.fresh_until = Some(self.fresh_until.map_or(fresh_until, |other| other.min(fresh_until)));
        let unusable = |reason: &str| Failure::BadMetadata { url: url.clone(), reason: reason.to_owned() };
        match self.stage.clone() {
            DiscoveryStage::Named | DiscoveryStage::WellKnown => {
                let resource = ResourceMetadata::read(&document).map_err(unusable)?;
                if !resource.is_of(&self.target.url) {
                    let url = self.target.url.clone();
                    return Err(Failure::ResourceMismatch { resource: resource.resource, url });
                }
                let issuer = self.choose(&resource);
                self.resource = Some(resource);
                self.ask_server(issuer)
            }
            DiscoveryStage::Server { issuer } => {
                match json::text(&document, "issuer") {
                    Some(found) if is_same_issuer(found, &issuer) => {}
                    Some(found) => {
                        return Err(Failure::IssuerMismatch { asked: issuer, found: found.to_owned() });
                    }
                    None if self.target.relax.missing_issuer => {}
                    None => return Err(Failure::NoIssuer { asked: issuer }),
                }
                let server = ServerMetadata::read(&document, &issuer).map_err(unusable)?;
                self.check(&server)
                    .map_err(|reason| reason.unwrap_or_else(|| unusable("no authorization_endpoint")))?;
                Ok(self.done(server, false))
            }
            DiscoveryStage::Legacy => {
                // Here alone the document says who it is.
                let asked = self.url.clone()?.origin().ascii_serialization();
                if json::text(&document, "issuer").is_none() && !self.target.relax.missing_issuer {
                    return Err(Failure::NoIssuer { asked });
                }
                let server = ServerMetadata::read(&document, &asked).map_err(unusable)?;
                self.check(&server)
                    .map_err(|reason| reason.unwrap_or_else(|| unusable("no authorization_endpoint")))?;
                Ok(self.done(server, true))
            }
        }
    }

    /// The server to use among those of a resource.
    fn choose(&self, resource: &ResourceMetadata) -> String {
        let servers = &resource.authorization_servers;
        let is_listed = |issuer: &&String| servers.iter().any(|server| is_same_issuer(server, issuer));
        let signed_in = self.target.signed_in_issuer.as_ref().filter(is_listed);
        self.target.issuer.as_ref().or(signed_in).or(servers.first()).cloned().unwrap_or_default()
    }

    fn ask_server(&mut self, issuer: String) -> Result<DiscoveryStep, Failure> {
        let Some(url) = secure(&issuer).filter(|url| url.query().is_none()) else {
            return Err(Failure::BadMetadata { url: issuer, reason: "no https URL of an issuer".to_owned() });
        };
        self.enter(DiscoveryStage::Server { issuer }, server_urls(&url))
    }

    /// Checks that a server offers everything for a browser; `None` for an endpoint that is missing.
    fn check(&self, server: &ServerMetadata) -> Result<(), Option<Failure>> {
        if !self.target.by_browser {
            return Ok(());
        }
        if server.authorization_endpoint.is_none() {
            return Err(None);
        }
        if !server.offers_s256() && !self.target.relax.missing_pkce {
            return Err(Some(Failure::NoPkce));
        }
        Ok(())
    }

    fn done(&mut self, server: ServerMetadata, legacy: bool) -> DiscoveryStep {
        let resource = self.resource.take();
        // Endpoints that were guessed have no document that says how long they hold: the driver asks again at the next need.
        let fresh_until = self.fresh_until.unwrap_or_default();
        Next::Done(Ok(DiscoveryResult { resource, server, legacy, fresh_until }))
    }
}

impl Flow for Discovery {
    type Output = DiscoveryResult;
    type Error = Failure;

    fn start(&mut self) -> DiscoveryStep {
        self.begin().unwrap_or_else(|failure| Next::Done(Err(failure)))
    }

    fn receive(&mut self, answer: RequestOutcome) -> DiscoveryStep {
        self.answered(&answer).unwrap_or_else(|failure| Next::Done(Err(failure)))
    }
}

/// The URL that a challenge names, if it is of the same origin.
fn named_metadata(url: &Url, named: &str) -> Result<Url, Failure> {
    let elsewhere = |host: &str| Failure::PrmOrigin { host: host.to_owned() };
    let candidate = url.join(named).map_err(|_| elsewhere(named))?;
    if candidate.origin() != url.origin() {
        return Err(elsewhere(candidate.host_str().unwrap_or(named)));
    }
    Ok(candidate)
}

/// The well-known URLs of a resource: with its path inserted after the name, then without.
fn resource_urls(url: &Url) -> Vec<Url> {
    let path = url.path().strip_suffix('/').unwrap_or(url.path());
    let mut urls = vec![at(url, &format!("/.well-known/{OF_RESOURCE}{path}"))];
    urls[0].set_query(url.query());
    if urls[0].query().is_some() || !path.is_empty() {
        urls.push(at(url, &format!("/.well-known/{OF_RESOURCE}")));
    }
    urls
}

/// The URLs of an issuer: its path is inserted for both names, and for OpenID also appended to.
pub(crate) fn server_urls(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().strip_suffix('/').unwrap_or(issuer.path());
    let mut urls = vec![
        at(issuer, &format!("/.well-known/{OF_SERVER}{path}")),
        at(issuer, &format!("/.well-known/{OF_OPENID}{path}")),
    ];
    if !path.is_empty() {
        urls.push(at(issuer, &format!("{path}/.well-known/{OF_OPENID}")));
    }
    urls
}

/// Another path of the same origin.
fn at(url: &Url, path: &str) -> Url {
    let mut url = url.clone();
    url.set_path(path);
    // What is fetched without credentials has none in its URL. These fail only for URLs without a host.
    let _ = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url
}
