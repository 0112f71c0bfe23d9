//! The upstreams that callers sign in to.

use std::sync::Arc;

use ptc_host::aggregator::CurrentUpstreams;
use ptc_host::config::OAuthIdentity;
use ptc_host::policy::Identity;
use ptc_host::sign_in::{Site, client_document, document_address, redirect_address};
use ptc_protocol::principal::Principal;
use ptc_protocol::settings::PublicUrl;

use super::login::PageLogin;

/// The page, and the upstreams for which callers sign in on it.
pub(in crate::http) struct SignInPage {
    pub(super) public: PublicUrl,
    upstreams: Option<Arc<CurrentUpstreams>>,
    /// The client ID metadata document.
    pub(super) client: String,
    /// The sign-in of people at an issuer, if there is one.
    pub(super) login: Option<PageLogin>,
}

impl SignInPage {
    /// The page at this URL, for upstreams that people sign in to.
    pub(in crate::http) fn new(
        public: PublicUrl,
        upstreams: Option<Arc<CurrentUpstreams>>,
        login: Option<PageLogin>,
    ) -> SignInPage {
        let origin = public.origin();
        let client = client_document(&document_address(origin), &[redirect_address(origin)]).to_string();
        SignInPage { public, upstreams, client, login }
    }

    /// The upstreams that people sign in to now.
    pub(super) fn sites(&self) -> impl Iterator<Item = Arc<Site>> + use<> {
        let sites = self.upstreams.as_ref().map(|upstreams| upstreams.sites()).unwrap_or_default();
        sites.into_iter().filter(|site| site.config().grant.has_person())
    }

    /// The upstream of this name, if the caller signs in to it for itself: only the operator makes a sign-in that all callers share,
    /// and one that the policy does not show to the caller is none.
    pub(super) fn site_of(&self, upstream: &str, caller: &Principal) -> Option<Arc<Site>> {
        let grant = caller.authority().map(|authority| &authority.grant);
        let site = self.sites().find(|site| site.name() == upstream)?;
        if !grant.is_none_or(|grant| grant.upstream(upstream)) {
            return None;
        }
        let is_own = match grant.and_then(|grant| grant.identity(upstream)) {
            Some(identity) => identity == Identity::PerPrincipal,
            None => site.config().identity == OAuthIdentity::PerPrincipal,
        };
        is_own.then_some(site)
    }
}
