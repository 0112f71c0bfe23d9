//! A request of a client, and an answer to it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ptc_mcp::json::{Value, json};
use url::form_urlencoded;

use crate::fake_http;

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Its method.
    pub method: String,
    /// Without its query.
    pub path: String,
    /// Query and form.
    pub form: BTreeMap<String, String>,
    headers: Vec<(String, String)>,
    /// The body, where it is JSON.
    pub json: Value,
    /// The status that it was answered with; 0 without an answer.
    pub status: u16,
}

/// Who a client says that it is, and by which method.
pub(super) struct Proof {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) method: &'static str,
}

impl Hit {
    pub(super) fn of(request: &fake_http::Hit) -> Self {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let mut form: BTreeMap<String, String> =
            form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        if request.body == Value::Null {
            form.extend(form_urlencoded::parse(request.text.as_bytes()).into_owned());
        }
        Self {
            method: request.method.clone(),
            path: path.to_owned(),
            form,
            headers: request.headers.clone(),
            json: request.body.clone(),
            status: 0,
        }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// A parameter of the query or the form.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.form.get(name).map(String::as_str)
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    pub(super) fn bearer(&self) -> Option<&str> {
        self.header("authorization")?.strip_prefix("Bearer ")
    }

    /// Who the client of a request says that it is.
    pub(super) fn proof(&self) -> Proof {
        if self.get("client_assertion").is_some() {
            let id = self.get("client_id").unwrap_or("by-assertion").to_owned();
            return Proof { id, secret: None, method: "private_key_jwt" };
        }
        let decoded = |text: &str| {
            form_urlencoded::parse(format!("x={text}").as_bytes()).next().unwrap().1.into_owned()
        };
        let basic = self.header("authorization").and_then(|value| value.strip_prefix("Basic "));
        let pair = basic.and_then(|text| String::from_utf8(BASE64.decode(text).ok()?).ok());
        if let Some((id, secret)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
            return Proof { id: decoded(id), secret: Some(decoded(secret)), method: "client_secret_basic" };
        }
        let secret = self.get("client_secret").map(str::to_owned);
        let method = if secret.is_some() { "client_secret_post" } else { "none" };
        Proof { id: self.text("client_id"), secret, method }
    }
}

/// Status, headers and body of an answer.
pub(super) type Answer = (u16, Vec<(String, String)>, Vec<u8>);

pub(super) fn json_answer(status: u16, body: &Value) -> Answer {
    (status, vec![("content-type".to_owned(), "application/json".to_owned())], body.to_string().into_bytes())
}

/// An OAuth error. Its description repeats all that the request had, as a careless server might.
pub(super) fn refuse(hit: &Hit, status: u16, code: &str) -> Answer {
    let said: Vec<&str> = hit.form.values().map(String::as_str).collect();
    let description = format!("refused: {}", said.join(" "));
    json_answer(status, &json!({"error": code, "error_description": description}))
}
