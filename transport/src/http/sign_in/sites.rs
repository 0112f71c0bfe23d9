//! The upstreams that callers sign in to.

use std::sync::Arc;

use ptc_host::config::{OAuthConfig, OAuthIdentity};
use ptc_host::sign_in::{Site, client_document, document_address, redirect_address};
use ptc_protocol::settings::PublicUrl;

use super::login::PageLogin;

/// The page, and the upstreams for which callers sign in on it.
pub(in crate::http) struct SignInPage {
    pub(super) public: PublicUrl,
    pub(super) sites: Vec<Arc<Site>>,
    /// The client ID metadata document.
    pub(super) client: String,
    /// The sign-in of people at an issuer, if there is one.
    pub(super) login: Option<PageLogin>,
}

impl SignInPage {
    /// The page at this URL. Callers sign in for themselves: only the operator makes a sign-in that all callers
    /// share.
    pub(in crate::http) fn new(
        public: PublicUrl,
        mut sites: Vec<Arc<Site>>,
        login: Option<PageLogin>,
    ) -> SignInPage {
        let own = |config: &OAuthConfig| {
            config.grant.has_person() && config.identity == OAuthIdentity::PerPrincipal
        };
        sites.retain(|site| own(site.config()));
        let origin = public.origin();
        let client = client_document(&document_address(origin), &[redirect_address(origin)]).to_string();
        SignInPage { public, sites, client, login }
    }
}
