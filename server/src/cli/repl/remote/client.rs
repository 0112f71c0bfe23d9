//! A client of a running server, stateless as in 2026-07-28.

use std::cell::Cell;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use ptc_host::http::{Client, Limits, Request, Target};
use ptc_host::time;
use ptc_mcp::json::{Value, json};
use ptc_mcp::message::lenient::parse;
use ptc_mcp::{Revision, RpcError, encode, headers as names, meta};
use url::Url;

/// The revision of the protocol.
const REVISION: Revision = Revision::LATEST;
/// Longest wait for one answer. Programs have limits of their own, so only a lost server takes this long.
const PATIENCE: Duration = Duration::from_secs(600);
/// Largest answer that is read.
const MAX_BYTES: usize = 16 << 20;

/// Sends requests to one server.
pub(super) struct RemoteCaller {
    client: Client,
    target: Target,
    url: Url,
    authorization: Option<HeaderValue>,
    last_id: Cell<u64>,
}

impl RemoteCaller {
    /// A caller, through `client`, of the server at `url`, which may leave out the path `/mcp`.
    ///
    /// # Errors
    /// The fault of the URL or the token, worded for the person who gave them.
    pub(super) fn new(url: &str, token: Option<&str>, client: Client) -> Result<Self, String> {
        let mut url = Url::parse(url).map_err(|error| format!("--connect {url}: {error}"))?;
        if url.path() == "/" {
            url.set_path("/mcp");
        }
        let target = Target::new(&url).map_err(|error| format!("--connect: {error}"))?;
        let authorization = match token {
            Some(token) => {
                let mut value = HeaderValue::try_from(format!("Bearer {token}"))
                    .map_err(|_| "--token has characters that no HTTP header may have".to_owned())?;
                value.set_sensitive(true);
                Some(value)
            }
            None => None,
        };
        Ok(Self { client, target, url, authorization, last_id: Cell::new(0) })
    }

    /// Calls a tool: the `result` object of its answer.
    ///
    /// # Errors
    /// One sentence: the server is not reachable, or refuses the request. A failed program is no error here.
    pub(super) async fn tool(&self, name: &str, arguments: Value) -> Result<Value, String> {
        self.request("tools/call", Some(name), json!({"name": name, "arguments": arguments})).await
    }

    /// Name and first line of the description of each tool.
    ///
    /// # Errors
    /// As for [`tool`](Self::tool).
    pub(super) async fn tools(&self) -> Result<Vec<(String, String)>, String> {
        let result = self.request("tools/list", None, json!({})).await?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = |tool: &Value| text(&tool["description"]).lines().next().unwrap_or_default().to_owned();
        let tools = result["tools"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(tools.iter().map(|tool| (text(&tool["name"]), line(tool))).collect())
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: RemoteCaller.request")]
    async fn request(&self, method: &str, name: Option<&str>, mut params: Value) -> Result<Value, String> {
        self.last_id.set(self.last_id.get() + 1);
        params["_meta"] = json!({
            (meta::PROTOCOL_VERSION): REVISION.name(),
            (meta::CLIENT_CAPABILITIES): {},
            (meta::CLIENT_INFO): {"name": "ptc repl", "version": ptc_protocol::identity::VERSION},
        });
        let body = encode::request(self.last_id.get(), method, params.to_string().as_bytes());
        let mut headers = HeaderMap::new();
        let fixed = HeaderValue::from_static;
        headers.insert(CONTENT_TYPE, fixed("application/json"));
        headers.insert(ACCEPT, fixed(names::JSON_OR_EVENTS));
        headers.insert(HeaderName::from_static(names::PROTOCOL_VERSION), fixed(REVISION.name()));
        for (header, value) in [(names::METHOD, Some(method)), (names::NAME, name)] {
            if let Some(value) = value {
                let value = HeaderValue::try_from(value).map_err(|error| error.to_string())?;
                headers.insert(HeaderName::from_static(header), value);
            }
        }
        headers.extend(self.authorization.clone().map(|value| (AUTHORIZATION, value)));
        let request =
            Request { method: Method::POST, target: self.target.clone(), headers, body: Bytes::from(body) };
        let limits = Limits {
            connect: Duration::from_secs(10),
            first_byte: None,
            total: PATIENCE,
            deadline: time::now() + PATIENCE,
            max_bytes: MAX_BYTES,
            allowance: 0,
        };
        let lost = |error: ptc_host::http::HttpError| format!("{}: {error}", self.url);
        let response = self.client.send(request, &limits).await.map_err(lost)?;
        let status = response.status;
        let body = response.body.collect().await.map_err(lost)?;
        let Ok(messages) = parse(&body, 1) else {
            // The refusals of the HTTP layer are plain text.
            return Err(refusal(status, String::from_utf8_lossy(&body).trim()));
        };
        let answer = messages.iter().next();
        match answer.and_then(|answer| answer.result) {
            Some(result) => serde_json::from_str(result).map_err(|error| refusal(status, &error.to_string())),
            None => {
                let error = answer.and_then(|answer| answer.error).map(RpcError::read);
                Err(refusal(status, &error.map(|error| error.message).unwrap_or_default()))
            }
        }
    }
}

fn refusal(status: http::StatusCode, text: &str) -> String {
    let hint = match status.as_u16() {
        401 => " (give the server's token with --token or PTC_HTTP_AUTH_TOKEN)",
        404 => " (is this the URL of a ptc server?)",
        _ => "",
    };
    let text: String = text.chars().take(200).collect();
    format!("the server refused with {status}: {text}{hint}")
}
