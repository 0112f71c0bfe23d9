//! The sign-in page of upstreams (auth.md 8). A person authenticates with a token of this server, goes to the
//! upstream's own sign-in, and returns. The page holds no secrets; the pending sign-in belongs to a principal and to
//! a browser.

mod cookie;
mod login;
mod page;
mod sites;

use std::net::IpAddr;
use std::sync::Arc;

use http::header::SET_COOKIE;
use http::{Method, StatusCode, Uri};
use ptc_host::sign_in::callback::Callback;
use ptc_host::sign_in::redirect_address;
use ptc_host::visible::visible_line;
use tracing::warn;

use super::admission::{Target, check_source};
use super::answer::{self, HttpResponse};
use super::endpoint::{Endpoint, RequestFacts};
use super::headers::Headers;
use crate::closing_page::ClosingPage;
use cookie::BrowserKey;
pub(super) use login::{PageLogin, admit_person, offer};
use ptc_host::digest::short_hash;
use ptc_protocol::principal::Principal;
pub(super) use sites::SignInPage;

/// The path of the page, which also returns the link to the upstream's sign-in.
const START: &str = "/oauth/start";
/// The path to which the browser returns.
const CALLBACK: &str = "/oauth/callback";
/// The path of our client metadata, for upstreams' authorization servers.
const CLIENT: &str = "/oauth/client.json";

/// True if the answer at `path` must not be stored by any cache.
pub(super) fn holds_data(path: &str) -> bool {
    matches!(path, START | CALLBACK | login::LOGIN | login::CALLBACK | login::LOGOUT)
}

/// Answers a request of the page; `None` for any other path.
pub(super) async fn answer(
    endpoint: &Arc<Endpoint>,
    peer: IpAddr,
    method: &Method,
    uri: &Uri,
    headers: &Headers<'_>,
    seen: &mut RequestFacts,
) -> Option<HttpResponse> {
    let page = endpoint.sign_in.as_ref()?;
    let answer = match (uri.path(), method) {
        (START, &Method::GET | &Method::HEAD) => login::offer(endpoint, answer::page(page::PAGE.page())),
        (START, &Method::POST) => {
            let caller = match admit_person(endpoint, peer, Target::of(uri), method, headers).await {
                Ok(caller) => caller,
                Err(refusal) => return Some(*refusal),
            };
            seen.principal = Some(caller.principal.clone());
            let caller = endpoint.service.present(&caller.principal);
            let upstream = upstream(uri.query().unwrap_or_default());
            begin(page.clone(), upstream, caller).await
        }
        (START, _) => answer::method_not_allowed("GET, HEAD, POST"),
        (CALLBACK, &Method::GET) => {
            if let Err(refusal) = check_source(endpoint, Target::of(uri).authority, headers) {
                return Some(*refusal);
            }
            let query = uri.query().unwrap_or_default().to_owned();
            let state = state(&query).unwrap_or_default();
            match cookie::presented(headers.all, &state) {
                Some(browser) => finish(page.clone(), query, state, browser).await,
                // The browser has no cookie of this sign-in: it began elsewhere.
                None => answer::closing_page(ClosingPage::Unknown),
            }
        }
        (CALLBACK, _) => answer::method_not_allowed("GET"),
        (CLIENT, &Method::GET | &Method::HEAD) => answer::json(StatusCode::OK, page.client.clone()),
        (CLIENT, _) => answer::method_not_allowed("GET, HEAD"),
        _ => match &page.login {
            Some(login) => {
                return log_in(endpoint, page, login, peer, method, uri, headers).await;
            }
            None => return None,
        },
    };
    Some(answer)
}

/// Answers a request of the sign-in at the issuer; `None` for any other path.
async fn log_in(
    endpoint: &Endpoint,
    page: &SignInPage,
    login: &PageLogin,
    peer: IpAddr,
    method: &Method,
    uri: &Uri,
    headers: &Headers<'_>,
) -> Option<HttpResponse> {
    let (target, query) = (Target::of(uri), uri.query().unwrap_or_default());
    Some(match (uri.path(), method) {
        (login::LOGIN, &Method::GET) => {
            login::begin(endpoint, login, query, page.public.origin(), target, headers).await
        }
        (login::CALLBACK, &Method::GET) => login::finish(endpoint, login, peer, query, target, headers).await,
        (login::LOGIN | login::CALLBACK, _) => answer::method_not_allowed("GET"),
        (login::LOGOUT, &Method::POST) => login::end(endpoint, peer, target, headers),
        (login::LOGOUT, _) => answer::method_not_allowed("POST"),
        _ => return None,
    })
}

/// Creates the pending sign-in of this principal, and returns the link to the upstream's sign-in.
async fn begin(page: Arc<SignInPage>, upstream: String, caller: Principal) -> HttpResponse {
    let Ok(browser) = BrowserKey::random() else {
        return answer::text(StatusCode::SERVICE_UNAVAILABLE, "the system gives no random bytes");
    };
    let Some(site) = page.site_of(&upstream, &caller) else {
        return answer::busy(
            StatusCode::NOT_FOUND,
            format!("nobody signs in to an upstream '{}' here", visible_line(&upstream)),
        );
    };
    let redirect = redirect_address(page.public.origin());
    let begun = match site.begin_in(caller.name(), &redirect, Some(browser.digest())).await {
        Ok(begun) => begun,
        Err(error) => {
            let owner_hash = short_hash(caller.name().as_bytes());
            warn!(event = "auth_sign_in_failed", upstream, owner_hash, error = error.code());
            return answer::busy(
                StatusCode::BAD_GATEWAY,
                format!("cannot sign in to {upstream}: {}", visible_line(&error.to_string())),
            );
        }
    };
    let url = begun.url.expose();
    let Some(set_cookie) = state(url).and_then(|state| browser.set_cookie(&state)) else {
        return answer::text(StatusCode::BAD_GATEWAY, "the upstream's sign-in has no usable address");
    };
    let mut answer = answer::json(StatusCode::OK, ptc_mcp::json::json!({"url": url}).to_string());
    answer.headers_mut().insert(SET_COOKIE, set_cookie);
    answer
}

/// Handles the browser's return.
async fn finish(page: Arc<SignInPage>, query: String, state: String, browser: String) -> HttpResponse {
    let shown = match Callback::read("GET", &format!("{CALLBACK}?{query}"), CALLBACK) {
        Ok(callback) => page.complete(&callback, &browser).await,
        Err(_) => ClosingPage::Unknown,
    };
    let mut answer = answer::closing_page(shown);
    if shown != ClosingPage::Unknown
        && let Some(removal) = cookie::remove(&state)
    {
        answer.headers_mut().insert(SET_COOKIE, removal);
    }
    answer
}

impl SignInPage {
    /// Completes the sign-in of the upstream to which the answer belongs.
    async fn complete(&self, callback: &Callback, browser: &str) -> ClosingPage {
        for site in self.sites() {
            match site.complete_in(callback.clone(), Some(browser)).await {
                Ok(Some(_)) => return ClosingPage::SignedIn,
                Ok(None) => {}
                Err(_) => return ClosingPage::LogSaysWhy,
            }
        }
        ClosingPage::Unknown
    }
}

/// The upstream that the page's address names.
fn upstream(query: &str) -> String {
    parameter(query, "upstream").unwrap_or_default()
}

/// The `state` of a query, or of a URL with one.
fn state(text: &str) -> Option<String> {
    parameter(text.split_once('?').map_or(text, |(_, query)| query), "state")
}

fn parameter(query: &str, wanted: &str) -> Option<String> {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs.find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned())
}
