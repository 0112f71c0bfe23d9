//! Sign-in of people at an issuer of the server, and the session that stands for them on the console and the sign-in page
//! (auth.md 8). It stands for nobody at the path of MCP.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::header::{LOCATION, SET_COOKIE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use ptc_host::digest::short_hash;
use ptc_host::issuers::{Login, LoginError};
use ptc_host::sign_in::callback::Callback;
use ptc_host::state::{Seals, Secret};
use ptc_host::time;

use super::cookie;
use super::{parameter, state};
use crate::closing_page::ClosingPage;
use crate::http::admission::{Target, admit, check_source};
use crate::http::answer::{self, HttpResponse, is_read};
use crate::http::auth::KnownCaller;
use crate::http::endpoint::Endpoint;
use crate::http::headers::Headers;
use ptc_observers::audit::SignInWay;

/// The path that sends a browser to the issuer.
pub(super) const LOGIN: &str = "/oauth/login";
/// The path to which the issuer sends it back.
pub(super) const CALLBACK: &str = "/oauth/login/callback";
/// The path that ends a session.
pub(super) const LOGOUT: &str = "/oauth/logout";
/// Tells a page where people sign in: the host of the issuer.
const OFFER: HeaderName = HeaderName::from_static("ptc-login");
/// The cookie of a session.
const SESSION: &str = "__Host-ptc-session";
/// Prefix of the cookies of sign-ins that wait.
const PENDING: &str = "__Host-ptc-login-";
/// How long a sign-in may wait, in seconds (auth.md 4).
const PENDING_LIFE: u64 = 600;
/// Longest session.
const LONGEST_SESSION: Duration = Duration::from_secs(8 * 60 * 60);
/// Longest name of an upstream to whose page a sign-in returns, in bytes.
const MAX_UPSTREAM: usize = 256;
/// The purpose of the seal.
const PLACE: &[u8] = b"login";

/// Signs people in, for the pages of a listener.
#[derive(Debug)]
pub(in crate::http) struct PageLogin {
    login: Arc<Login>,
    /// Sign-ins that wait are sealed and go with their browsers: nobody fills the memory, and nobody pushes another's out.
    seals: Seals,
}

impl PageLogin {
    /// Pages that sign in by `login`; `None` if the system gives no random bytes.
    pub(in crate::http) fn new(login: Arc<Login>) -> Option<Self> {
        let secret = Secret::random().ok()?;
        Some(PageLogin { login, seals: Seals::new(&secret, "ptc login v1") })
    }
}

/// Tells the page of `answer` where people sign in, if they can.
pub(in crate::http) fn offer(endpoint: &Endpoint, mut answer: HttpResponse) -> HttpResponse {
    let login = endpoint.sign_in.as_ref().and_then(|page| page.login.as_ref());
    if let Some(host) = login.and_then(|login| HeaderValue::from_str(login.login.host()).ok()) {
        answer.headers_mut().insert(OFFER, host);
    }
    answer
}

/// The caller of a request of a page: by its token, or by the session of its browser. A request that changes something and has
/// only the session must come from one of our own pages.
pub(in crate::http) async fn admit_person<'e>(
    endpoint: &'e Endpoint,
    peer: IpAddr,
    target: Target<'_>,
    method: &Method,
    headers: &Headers<'_>,
) -> Result<KnownCaller<'e>, Box<HttpResponse>> {
    let has_token = headers.authorization.first().is_some();
    let session = cookie::value(headers.all, SESSION).filter(|_| !has_token);
    let Some(caller) = session.and_then(|session| endpoint.authenticator.of_session(&session)) else {
        return admit(endpoint, peer, target, headers).await;
    };
    check_source(endpoint, target.authority, headers)?;
    if !is_read(method) && !is_from_own_page(endpoint, headers) {
        return Err(Box::new(answer::text(StatusCode::FORBIDDEN, "forbidden")));
    }
    Ok(caller)
}

fn is_from_own_page(endpoint: &Endpoint, headers: &Headers<'_>) -> bool {
    headers.origin.single().ok().flatten().is_some_and(|origin| endpoint.origins.is_own(origin))
}

/// Sends the browser to the issuer.
pub(super) async fn begin(
    endpoint: &Endpoint,
    page: &PageLogin,
    query: &str,
    origin: &str,
    target: Target<'_>,
    headers: &Headers<'_>,
) -> HttpResponse {
    if let Err(refusal) = check_source(endpoint, target.authority, headers) {
        return *refusal;
    }
    let upstream = parameter(query, "upstream").unwrap_or_default();
    if upstream.len() > MAX_UPSTREAM {
        return answer::text(StatusCode::BAD_REQUEST, "the name of the upstream is too long");
    }
    let Ok(begun) = page.login.begin(&format!("{origin}{CALLBACK}")).await else {
        return answer::closing_page(ClosingPage::LogSaysWhy);
    };
    // An upstream's name may hold anything but is never taken for an address: the page is ours.
    let text = format!("{}\n{upstream}", *begun.pending);
    let sealed = page.seals.seal(text.as_bytes(), PLACE);
    let cookie = sealed.and_then(|sealed| {
        let value = BASE64_URL_SAFE_NO_PAD.encode(sealed);
        cookie::set(&pending_name(begun.state.expose()), &value, PENDING_LIFE)
    });
    let Some((cookie, url)) = cookie.zip(HeaderValue::from_str(begun.url.expose()).ok()) else {
        return answer::closing_page(ClosingPage::LogSaysWhy);
    };
    redirect(url, [Some(cookie), None])
}

/// Handles the browser's return.
pub(super) async fn finish(
    endpoint: &Endpoint,
    page: &PageLogin,
    peer: IpAddr,
    query: &str,
    target: Target<'_>,
    headers: &Headers<'_>,
) -> HttpResponse {
    if let Err(refusal) = check_source(endpoint, target.authority, headers) {
        return *refusal;
    }
    let name = pending_name(&state(query).unwrap_or_default());
    // Without its cookie it began in another browser.
    let opened = cookie::value(headers.all, &name)
        .and_then(|value| BASE64_URL_SAFE_NO_PAD.decode(value).ok())
        .and_then(|sealed| page.seals.open(&sealed, PLACE).ok())
        .and_then(|text| String::from_utf8(text).ok());
    let Some((pending, upstream)) = opened.as_deref().and_then(|text| text.split_once('\n')) else {
        return answer::closing_page(ClosingPage::Unknown);
    };
    let Ok(callback) = Callback::read("GET", &format!("{CALLBACK}?{query}"), CALLBACK) else {
        return answer::closing_page(ClosingPage::Unknown);
    };
    let removal = cookie::removal(&name);
    let failed = |shown| {
        let mut answer = answer::closing_page(shown);
        if let Some(removal) = &removal {
            answer.headers_mut().insert(SET_COOKIE, removal.clone());
        }
        answer
    };
    let person = match page.login.complete(pending, callback).await {
        Ok(person) => person,
        Err(LoginError::Unknown) => return failed(ClosingPage::Unknown),
        Err(LoginError::Failed) => {
            if let Some(audit) = &endpoint.telemetry.audit {
                audit.sign_in_refused("failed", Some(SignInWay::Page), peer);
            }
            return failed(ClosingPage::LogSaysWhy);
        }
    };
    let life = person.life.min(LONGEST_SESSION);
    let mut value = [0; 32];
    if getrandom::fill(&mut value).is_err() {
        return failed(ClosingPage::LogSaysWhy);
    }
    let value = BASE64_URL_SAFE_NO_PAD.encode(value);
    let place = match upstream {
        "" => "/console?signed-in".to_owned(),
        name => {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair("upstream", name);
            format!("/oauth/start?{}&signed-in", query.finish())
        }
    };
    let cookie = cookie::set(SESSION, &value, life.as_secs());
    let Some((cookie, place)) = cookie.zip(HeaderValue::from_str(&place).ok()) else {
        return failed(ClosingPage::LogSaysWhy);
    };
    if !endpoint.authenticator.open_session(&value, person, time::now() + life) {
        return failed(ClosingPage::LogSaysWhy);
    }
    if let Some(audit) = &endpoint.telemetry.audit
        && let Some(caller) = endpoint.authenticator.of_session(&value)
    {
        audit.signed_in(caller.principal.name(), SignInWay::Page, peer);
    }
    redirect(place, [Some(cookie), removal])
}

/// Ends the session of this browser.
pub(super) fn end(
    endpoint: &Endpoint,
    peer: IpAddr,
    target: Target<'_>,
    headers: &Headers<'_>,
) -> HttpResponse {
    if let Err(refusal) = check_source(endpoint, target.authority, headers) {
        return *refusal;
    }
    if !is_from_own_page(endpoint, headers) {
        return answer::text(StatusCode::FORBIDDEN, "forbidden");
    }
    if let Some(value) = cookie::value(headers.all, SESSION) {
        if let Some(audit) = &endpoint.telemetry.audit
            && let Some(caller) = endpoint.authenticator.of_session(&value)
        {
            audit.signed_out(caller.principal.name(), peer);
        }
        endpoint.authenticator.close_session(&value);
    }
    let mut answer = answer::empty(StatusCode::OK);
    if let Some(removal) = cookie::removal(SESSION) {
        answer.headers_mut().insert(SET_COOKIE, removal);
    }
    answer
}

fn pending_name(state: &str) -> String {
    PENDING.to_owned() + &short_hash(state.as_bytes())
}

fn redirect(to: HeaderValue, cookies: [Option<HeaderValue>; 2]) -> HttpResponse {
    let mut answer = answer::empty(StatusCode::SEE_OTHER);
    ClosingPage::set_headers(answer.headers_mut());
    answer.headers_mut().insert(LOCATION, to);
    for cookie in cookies.into_iter().flatten() {
        answer.headers_mut().append(SET_COOKIE, cookie);
    }
    answer
}
