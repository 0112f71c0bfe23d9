//! Reports the progress of a sign-in: sentences for a person, or one JSON object a line for a program (auth.md 11).

use ptc_host::visible::{visible, visible_line};
use std::time::Duration;

use ptc_host::sign_in::SignedIn;
use ptc_host::time;
use ptc_mcp::json::{Value, json};
use ptc_oauth::grants::DeviceAuthorization;
use ptc_oauth::timestamp::Timestamp;

use super::span::{from, span};
use crate::cli::output::{errln, outln};

/// The reader of the reports, and the upstream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Announcer<'a> {
    /// The upstream's name.
    pub(super) upstream: &'a str,
    /// JSON instead of sentences.
    pub(super) json: bool,
}

impl Announcer<'_> {
    /// Shows the link to open, here or anywhere.
    pub(super) fn open(self, url: &str, paste: bool) {
        if self.json {
            return tell(&json!({"event": "open", "url": url}));
        }
        let (name, url) = (self.upstream, visible_line(url));
        if paste {
            outln!("Sign in to {name} with this link, in a browser on any machine:\n  {url}");
        } else {
            outln!("Sign in to {name} in your browser. If none opens, use this link:\n  {url}");
        }
    }

    /// Explains what to do with the address at which the browser ends. For people only.
    pub(super) fn ask_for_address(self, redirect: &str) {
        if !self.json {
            outln!(
                "The browser then goes to an address that begins with {redirect} and may say that it cannot open it.\n\
                 Paste that whole address here:"
            );
        }
    }

    /// Shows the code to enter elsewhere.
    pub(super) fn device(self, device: &DeviceAuthorization) {
        let valid = device.expires_at.since(Timestamp::from(time::time_of_day()));
        let (uri, complete) = (&device.verification_uri, device.verification_uri_complete.as_ref());
        let code = &device.user_code;
        if self.json {
            let mut event = json!({
                "event": "device", "verification_uri": uri.as_str(), "user_code": code, "expires_in": valid.as_secs(),
            });
            if let Some(complete) = complete {
                event["verification_uri_complete"] = complete.as_str().into();
            }
            return tell(&event);
        }
        let [uri, code] = [complete.unwrap_or(uri).as_str(), code.as_str()].map(|text| visible_line(text));
        outln!("Open {uri} and enter the code  {code}  (valid {}).", span(valid));
    }

    /// A remark for the person that is no event.
    pub(super) fn remark(self, text: &str) {
        errln!("{}", visible(text));
    }

    /// Reports that the sign-in worked. `now` is in Unix seconds.
    pub(super) fn signed_in(self, end: &SignedIn, now: u64) {
        if self.json {
            return tell(&json!({
                "event": "signed_in", "issuer": end.issuer, "scopes": end.scopes, "expires_at": end.expires_at,
            }));
        }
        outln!("{}", visible_line(&self.signed_in_text(end, now)));
    }

    fn signed_in_text(self, end: &SignedIn, now: u64) -> String {
        let mut text = format!("Signed in to {}.", self.upstream);
        if !end.scopes.is_empty() {
            text += &format!(" Scopes: {}.", end.scopes.join(" "));
        }
        let lasts = end.expires_at.map(|then| span(Duration::from_secs(then.saturating_sub(now))));
        text += &match (lasts, end.refreshable) {
            (Some(lasts), true) => format!(" The access token lasts {lasts} and is renewed by itself."),
            (Some(lasts), false) => {
                format!(" The access token lasts {lasts}, and the server gave nothing to renew it with.")
            }
            (None, _) => String::new(),
        };
        text
    }

    /// Reports that the sign-in failed: `code` for programs, `message` for people.
    pub(super) fn failed(self, code: &str, message: &str) {
        if self.json {
            tell(&json!({"event": "failed", "code": code, "message": message}));
        }
        errln!("ptc: cannot sign in to {}: {}", self.upstream, visible_line(message));
    }
}

/// Writes an event at once: its reader opens a browser next.
fn tell(event: &Value) {
    // The same value: escaped characters occur only in strings.
    outln!("{}", visible_line(&event.to_string()));
}

/// The expiry of a token, for a table.
pub(super) fn ends(now: u64, expires_at: Option<u64>) -> String {
    expires_at.map_or_else(|| "-".to_owned(), |then| from(now, then))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_told_as_the_specification_prints_it() {
        let announcer = Announcer { upstream: "linear", json: false };
        let scopes = ["read", "write"].map(str::to_owned).to_vec();
        let issuer = "https://mcp.linear.app".to_owned();
        let end = SignedIn { issuer, scopes, expires_at: Some(4600), refreshable: true };
        assert_eq!(
            announcer.signed_in_text(&end, 1000),
            "Signed in to linear. Scopes: read write. The access token lasts 1 h and is renewed by itself."
        );
        let alone = SignedIn { refreshable: false, scopes: vec![], ..end };
        assert_eq!(
            announcer.signed_in_text(&alone, 1000),
            "Signed in to linear. The access token lasts 1 h, and the server gave nothing to renew it with."
        );
        let endless = SignedIn { expires_at: None, ..alone };
        assert_eq!(announcer.signed_in_text(&endless, 1000), "Signed in to linear.");
        assert_eq!((ends(1000, Some(4120)), ends(1000, None)), ("in 52 min".to_owned(), "-".to_owned()));
    }
}
