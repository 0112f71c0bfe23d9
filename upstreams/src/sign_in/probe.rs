//! The request without a token that an upstream answers with its challenge (auth.md 2.1).

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use ptc_oauth::challenge::Bearer;

use super::site::Site;
use ptc_base::time;
use ptc_http::{Limits, Request, Target};

const TIMEOUT: Duration = Duration::from_secs(30);
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"ptc","version":"1"}}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;

/// The challenge that counts, of the headers of an answer.
pub(crate) fn challenge(headers: &HeaderMap) -> Option<Bearer> {
    Bearer::find(headers.get_all(WWW_AUTHENTICATE).iter().map(HeaderValue::as_bytes))
}

impl Site {
    /// The upstream's challenge to a request without a token. Without an answer, discovery continues without it.
    pub(super) async fn probe(&self) -> Option<Bearer> {
        if self.is_openapi {
            return self.ask(Method::GET, "").await;
        }
        // Some servers let anybody open a session, and ask who it is at the first request.
        match self.ask(Method::POST, INITIALIZE).await {
            Some(challenge) => Some(challenge),
            None => self.ask(Method::POST, LIST).await,
        }
    }

    /// The challenge that answers one request.
    async fn ask(&self, method: Method, body: &'static str) -> Option<Bearer> {
        let mut headers = HeaderMap::new();
        headers.extend(self.static_headers.iter().cloned());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        let body = Bytes::from_static(body.as_bytes());
        let target = Target::new(&self.address).ok()?.via(self.routing.route(&self.address));
        let limits = Limits {
            connect: TIMEOUT,
            first_byte: None,
            total: TIMEOUT,
            deadline: time::now() + TIMEOUT,
            max_bytes: 64 * 1024,
            allowance: 0,
        };
        let response = self.http.send(Request { method, target, headers, body }, &limits).await.ok()?;
        let found =
            (response.status == StatusCode::UNAUTHORIZED).then(|| challenge(&response.headers)).flatten();
        response.body.abandon();
        found
    }
}
