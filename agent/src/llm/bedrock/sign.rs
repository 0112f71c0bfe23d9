//! Signature Version 4 of AWS, for requests with a body and without a query.

use super::super::endpoint::Address;
use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use ptc_base::secret::Secret;
use ring::{digest, hmac};
use std::fmt::Write as _;

const DATE: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");
const CONTENT_TYPE: &str = "application/json";

/// Whose requests, and where they go.
pub(super) struct Signer<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) access_key_id: &'a str,
    pub(super) secret_key: &'a Secret,
    pub(super) session_token: Option<&'a Secret>,
}

impl Signer<'_> {
    /// The headers that sign a POST of `body` as JSON to `url` at `now`. They cover host, content type and date, and the
    /// token of temporary keys. `None` if a key cannot be in a header.
    pub(super) fn headers(&self, url: &Address, body: &[u8], now: Timestamp) -> Option<HeaderMap> {
        let moment = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let day = &moment[..8];
        let mut own = HeaderMap::new();
        own.insert(DATE, HeaderValue::try_from(&moment).ok()?);
        let host = url.authority();
        // In the order of their names.
        let mut signed =
            vec![("content-type", CONTENT_TYPE.to_owned()), ("host", host), ("x-amz-date", moment.clone())];
        if let Some(token) = self.session_token {
            let value = token.header_value("")?;
            signed.push(("x-amz-security-token", value.to_str().ok()?.to_owned()));
            own.insert(TOKEN, value);
        }
        let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let mut canonical = format!("POST\n{}\n\n", canonical_path(url.path()));
        for (name, value) in &signed {
            let _ = writeln!(canonical, "{name}:{}", value.trim());
        }
        let _ = write!(canonical, "\n{names}\n{}", hex(sha256(body).as_ref()));
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let text =
            format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", hex(sha256(canonical.as_bytes()).as_ref()));
        // The first key is the secret behind `AWS4`: as a header would carry it, which is as far as a secret opens.
        let mut key = hmac::Key::new(hmac::HMAC_SHA256, self.secret_key.header_value("AWS4")?.as_bytes());
        for part in [day, self.region, self.service, "aws4_request"] {
            key = hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref());
        }
        let signature = hex(hmac::sign(&key, text.as_bytes()).as_ref());
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.access_key_id
        );
        own.insert(http::header::AUTHORIZATION, HeaderValue::try_from(authorization).ok()?);
        Some(own)
    }
}

/// The path with each segment encoded once more, as every service but S3 wants it.
fn canonical_path(path: &str) -> String {
    path.split('/').map(|segment| encoded(segment.as_bytes())).collect::<Vec<_>>().join("/")
}

/// A segment of a path: everything but letters, digits and `-_.~` as `%XX`.
pub(super) fn encoded(segment: &[u8]) -> String {
    segment.iter().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

fn sha256(bytes: &[u8]) -> digest::Digest {
    digest::digest(&digest::SHA256, bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
