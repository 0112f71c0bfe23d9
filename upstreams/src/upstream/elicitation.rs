//! An upstream's question to a person: a form to be filled in, or a page to be visited (waiting.md 3.2).

use std::fmt;

use serde_json::value::RawValue;
use url::{Host, Url};

/// Longest address of a page, in bytes.
const MAX_URL: usize = 8192;
/// Longest name of a page whose end is heard of, in bytes.
const MAX_PAGE_ID: usize = 1024;

/// A request of an upstream to ask a person. Untrusted text: no part of it may be shown unescaped.
#[derive(Debug, Clone)]
pub struct Elicitation {
    /// The `params` of `elicitation/create`, as written.
    params: Box<RawValue>,
    /// The text for the person.
    pub message: String,
    /// The form or the page.
    pub mode: ElicitationMode,
}

/// The form or the page.
#[derive(Debug, Clone)]
pub enum ElicitationMode {
    /// A form: its schema as written, unchecked.
    Form(Box<RawValue>),
    /// A visit to this page: `https`, on loopback also `http`.
    Url(Box<str>),
}

impl PartialEq for Elicitation {
    fn eq(&self, other: &Self) -> bool {
        self.params.get() == other.params.get()
    }
}

impl Eq for Elicitation {}

/// Why an upstream's question is not permitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAskable(pub(crate) String);

impl fmt::Display for NotAskable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Elicitation {
    /// Reads the `params` of `elicitation/create`. The schema of a form is left unread.
    ///
    /// # Errors
    /// They say nothing that can be asked.
    #[expect(clippy::disallowed_methods, reason = "entry point: Elicitation.read")]
    pub fn read(params: &str) -> Result<Self, NotAskable> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ElicitationParams<'a> {
            #[serde(default)]
            mode: Option<String>,
            message: String,
            #[serde(borrow, default)]
            requested_schema: Option<&'a RawValue>,
            #[serde(default)]
            url: Option<String>,
        }
        let not = |why: String| NotAskable(why);
        let raw = RawValue::from_string(params.to_owned());
        let raw = raw.map_err(|_| not("its params are no JSON".to_owned()))?;
        let read: ElicitationParams<'_> = serde_json::from_str(params)
            .map_err(|error| not(format!("its params are malformed: {error}")))?;
        let mode = match (read.mode.as_deref(), read.requested_schema, read.url) {
            (None | Some("form"), Some(schema), _) => ElicitationMode::Form(schema.to_owned()),
            (None | Some("form"), None, _) => return Err(not("its form has no requestedSchema".to_owned())),
            (Some("url"), _, Some(url)) => ElicitationMode::Url(page(&url)?),
            (Some("url"), _, None) => return Err(not("its page has no url".to_owned())),
            (Some(other), ..) => {
                return Err(not(format!("its mode {} is unknown", ptc_mcp::text::clip(other, 40))));
            }
        };
        Ok(Self { params: raw, message: read.message, mode })
    }

    /// The `params` that it was read from, as written.
    pub fn params(&self) -> &str {
        self.params.get()
    }

    /// The server's name for the page when it announces its completion; `None` if it does not, or it is no page.
    #[expect(clippy::disallowed_methods, reason = "entry point: Elicitation.page_id")]
    pub fn page_id(&self) -> Option<Box<str>> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct PageParams {
            elicitation_id: Box<str>,
        }
        let ElicitationMode::Url(_) = self.mode else { return None };
        let PageParams { elicitation_id: id } = serde_json::from_str(self.params()).ok()?;
        (!id.is_empty() && id.len() <= MAX_PAGE_ID).then_some(id)
    }
}

/// The address of a page that a person may be sent to.
fn page(url: &str) -> Result<Box<str>, NotAskable> {
    let not = |why: &str| NotAskable(format!("its url {why}"));
    if url.len() > MAX_URL {
        return Err(not("is too long"));
    }
    let parsed = Url::parse(url).map_err(|_| not("is no URL"))?;
    let is_loopback = match parsed.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match parsed.scheme() {
        "https" => {}
        "http" if is_loopback => {}
        _ => return Err(not("is not https")),
    }
    // What stands before an @ is easily taken for the host.
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(not("has a user name"));
    }
    Ok(String::from(parsed).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(params: &str) -> String {
        Elicitation::read(params).expect_err(params).0
    }

    #[test]
    fn forms_and_pages_are_told_apart() {
        let form = r#"{"message":"Which?", "requestedSchema":{"type":"object","properties":{}}}"#;
        let read = Elicitation::read(form).unwrap();
        assert_eq!((read.message.as_str(), read.params()), ("Which?", form));
        assert!(matches!(&read.mode, ElicitationMode::Form(schema) if schema.get().starts_with("{\"type\"")));
        let page = r#"{"mode":"url","message":"Pay","url":"https://pay.example/a?b=c","elicitationId":"7"}"#;
        let read = Elicitation::read(page).unwrap();
        assert!(matches!(&read.mode, ElicitationMode::Url(url) if &**url == "https://pay.example/a?b=c"));
        assert_eq!(read.page_id().as_deref(), Some("7"));
        for nameless in
            [form, &page.replace("\"7\"", "7"), &page.replace('7', ""), &page.replace('7', &"7".repeat(1025))]
        {
            assert_eq!(Elicitation::read(nameless).unwrap().page_id(), None, "{nameless:.200}");
        }
    }

    #[test]
    fn what_cannot_be_asked_says_why() {
        assert_eq!(why(r#"{"message":"m"}"#), "its form has no requestedSchema");
        assert_eq!(why(r#"{"mode":"url","message":"m"}"#), "its page has no url");
        assert_eq!(why(r#"{"mode":"voice","message":"m"}"#), "its mode voice is unknown");
        for malformed in ["{}", "[]", "7", r#"{"message":7,"requestedSchema":{}}"#] {
            assert!(why(malformed).starts_with("its params are malformed: "), "{malformed}");
        }
        assert_eq!(why(""), "its params are no JSON");
    }

    #[test]
    fn nobody_is_sent_to_a_page_that_is_not_https() {
        let of = |url: &str| {
            let params = ptc_mcp::json::json!({"mode": "url", "message": "m", "url": url}).to_string();
            Elicitation::read(&params)
        };
        for url in ["https://a.example", "http://localhost:7/x", "http://127.1/", "http://[::1]:80/"] {
            assert!(of(url).is_ok(), "{url}");
        }
        for url in [
            "javascript:alert(1)",
            "JavaScript:alert(1)//https://a.example",
            "data:text/html,x",
            "file:///etc/passwd",
            "http://a.example",
            "http://localhost.a.example/",
            "http://10.0.0.1/",
            "ptc://x",
        ] {
            assert_eq!(of(url).unwrap_err().0, "its url is not https", "{url}");
        }
        assert_eq!(of("https://good.example@evil.example/").unwrap_err().0, "its url has a user name");
        assert_eq!(of("/relative").unwrap_err().0, "its url is no URL");
        let long = format!("https://a.example/{}", "x".repeat(MAX_URL));
        assert_eq!(of(&long).unwrap_err().0, "its url is too long");
    }
}
