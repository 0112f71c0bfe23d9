//! The page that a browser shows at the end of a sign-in: static, without a script, and without data of the request
//! (auth.md 4).

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, StatusCode};

/// The end of a sign-in, as shown in the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosingPage {
    /// The person is signed in.
    SignedIn,
    /// The sign-in failed, and the command at a terminal says why.
    TerminalSaysWhy,
    /// The sign-in failed, and the server's log says why.
    LogSaysWhy,
    /// The address belongs to no pending sign-in.
    Unknown,
}

impl ClosingPage {
    /// The status of the answer.
    pub fn status(self) -> StatusCode {
        match self {
            ClosingPage::Unknown => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        }
    }

    /// The document.
    pub fn html(self) -> &'static str {
        macro_rules! page {
            ($text:literal) => {
                concat!(
                    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>ptc</title><p>",
                    $text,
                    "</p></html>\n"
                )
            };
        }
        match self {
            ClosingPage::SignedIn => page!("Signed in. You can close this window."),
            ClosingPage::TerminalSaysWhy => page!("The sign-in failed. The terminal says why."),
            ClosingPage::LogSaysWhy => page!("The sign-in failed. The server's log says why."),
            ClosingPage::Unknown => page!("No sign-in waits for this address."),
        }
    }

    /// Sets the headers that forbid scripts, caching and referrers.
    pub fn set_headers(headers: &mut HeaderMap) {
        for (name, value) in [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (
                CONTENT_SECURITY_POLICY,
                "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            ),
            (CACHE_CONTROL, "no-store"),
            (REFERRER_POLICY, "no-referrer"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}
