//! Requests to the console of a server.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Secret;
use ptc_host::http::{Client as HttpClient, HttpError, Limits, Request, Target};
use ptc_host::ordinary_file;
use ptc_host::time;
use ptc_mcp::json::Value;
use url::{Host, Url};

use crate::cli::health;
use crate::options::flags::find;

/// Longest wait for one answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Largest answer that is read.
const MAX_BYTES: usize = 64 << 20;
/// Largest file of tokens.
const MAX_FILE: u64 = 1 << 20;

/// The token: the first one of the file, else that of the variable with which the server may have been started.
///
/// # Errors
/// The file has no token.
#[expect(clippy::disallowed_methods, reason = "entry point: token()")]
pub(super) fn token(file: Option<&Path>, env: &ProcessEnv) -> Result<Option<Secret>, String> {
    let Some(path) = file else {
        let set = find("http-auth-token").in_environment(env);
        let text = set.map(|(_, text)| text.to_string_lossy().trim().to_owned());
        return Ok(text.filter(|text| !text.is_empty()).map(Secret::new));
    };
    let fault = |why: &dyn std::fmt::Display| format!("--token-file {}: {why}", path.display());
    let text = ordinary_file::read_text(path, MAX_FILE).map_err(|error| fault(&error))?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let line = lines.next().ok_or_else(|| fault(&"the file holds no token"))?;
    Ok(Some(Secret::new(line.split_once(':').map_or(line, |(_, token)| token).trim())))
}

/// A client of one server.
pub(super) struct RunsClient {
    http: HttpClient,
    server: Url,
    authorization: Option<HeaderValue>,
}

impl RunsClient {
    /// A client, through `http`, of the server at `url`, whose path is ignored.
    ///
    /// # Errors
    /// The fault of the URL or the token.
    pub(super) fn new(url: Url, token: Option<Secret>, http: HttpClient) -> Result<RunsClient, String> {
        let is_here = match url.host() {
            Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        };
        if token.is_some() && url.scheme() != "https" && !is_here {
            return Err(format!("{url}: a token is only sent over https, or on this machine"));
        }
        let unusable = || "the token has characters that no HTTP header may have".to_owned();
        let authorization =
            token.map(|token| token.header_value("Bearer ").ok_or_else(unusable)).transpose()?;
        Ok(RunsClient { http, server: url, authorization })
    }

    /// Gets the document at `path`.
    ///
    /// # Errors
    /// One sentence: the server is not reachable, or refuses.
    pub(super) async fn get(&self, path: &str) -> Result<Value, String> {
        self.get_with(path, None).await
    }

    /// Gets the document at `path` with this query.
    ///
    /// # Errors
    /// As [`RunsClient::get`].
    pub(super) async fn get_with(&self, path: &str, query: Option<&str>) -> Result<Value, String> {
        self.request(Method::GET, path, query, Bytes::new()).await
    }

    /// Sends `body` to `path`.
    ///
    /// # Errors
    /// As [`RunsClient::get`].
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        self.request(Method::POST, path, None, body.to_string().into()).await
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: RunsClient.request")]
    async fn request(
        &self,
        method: Method,
        path: &str,
        query: Option<&str>,
        body: Bytes,
    ) -> Result<Value, String> {
        let mut url = self.server.clone();
        url.set_path(path);
        url.set_query(query);
        let lost = |error: HttpError| health::fault(&url, &error);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.extend(self.authorization.clone().map(|value| (AUTHORIZATION, value)));
        let request = Request { method, target: Target::new(&url).map_err(lost)?, headers, body };
        let limits = Limits {
            connect: PATIENCE,
            first_byte: None,
            total: PATIENCE,
            deadline: time::now() + PATIENCE,
            max_bytes: MAX_BYTES,
            allowance: 0,
        };
        let response = self.http.send(request, &limits).await.map_err(lost)?;
        let status = response.status;
        let body = response.body.collect().await.map_err(lost)?;
        let told: Option<Value> =
            std::str::from_utf8(&body).ok().and_then(|text| ptc_mcp::json::from_str(text).ok());
        match told {
            Some(told) if status.is_success() => Ok(told),
            told => {
                let why = told.as_ref().and_then(|told| told["error"].as_str());
                Err(refusal(status, why))
            }
        }
    }
}

fn refusal(status: StatusCode, why: Option<&str>) -> String {
    match (status, why) {
        (_, Some(why)) => why.chars().take(400).collect(),
        (StatusCode::UNAUTHORIZED, _) => {
            "the server wants a token: name its file with --token-file, or set PTC_HTTP_AUTH_TOKEN".to_owned()
        }
        (StatusCode::NOT_FOUND, _) => "there is no console: start the server with --console".to_owned(),
        _ => format!("the server answered {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_only_where_nobody_listens() {
        let client = |url: &str, token: Option<&str>| {
            RunsClient::new(Url::parse(url).unwrap(), token.map(Secret::new), HttpClient::new()).err()
        };
        for url in ["https://ptc.example/", "http://127.0.0.1:7332/", "http://[::1]/", "http://localhost/"] {
            assert_eq!(client(url, Some("t")), None, "{url}");
        }
        let refused = client("http://ptc.example/", Some("t")).unwrap();
        assert_eq!(refused, "http://ptc.example/: a token is only sent over https, or on this machine");
        assert_eq!(client("http://ptc.example/", None), None);
        assert!(
            client("https://ptc.example/", Some("a\nb")).unwrap().starts_with("the token has characters")
        );
    }

    #[test]
    fn the_first_token_of_a_file_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let env = ProcessEnv::from_iter([("PTC_HTTP_AUTH_TOKEN", "of the variable")]);
        for (text, first) in [("# ours\n\n ada: one \nbob:two\n", "one"), ("three\n", "three")] {
            std::fs::write(&path, text).unwrap();
            assert!(token(Some(&path), &env).unwrap().unwrap().matches(first.as_bytes()), "{text}");
        }
        std::fs::write(&path, "# none\n").unwrap();
        assert!(token(Some(&path), &env).unwrap_err().ends_with("the file holds no token"));
        assert!(token(None, &env).unwrap().unwrap().matches(b"of the variable"));
        assert!(token(None, &ProcessEnv::default()).unwrap().is_none());
    }
}
