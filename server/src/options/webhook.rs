//! The webhook for approvals: its URL, and the file of its secret (waiting.md 4.5).

use ptc_host::state::Secret;
use url::Url;

use super::values::Values;
use ptc_protocol::settings::{BootError, Http, Webhook};

/// Interprets the options of the webhook; `None` if no webhook is configured.
pub(super) fn resolve(values: &Values<'_>, http: Option<&Http>) -> Result<Option<Webhook>, BootError> {
    let (text, file) =
        match (values.text("approval-webhook-url"), values.path("approval-webhook-secret-file")) {
            (None, None) => return Ok(None),
            (Some(text), Some(file)) => (text, file),
            _ => {
                return Err(BootError::new(
                    "--approval-webhook-url and --approval-webhook-secret-file must be given together",
                ));
            }
        };
    // The URL may contain a token: it is not shown.
    let url = Url::parse(&text).ok().filter(may_be_told).ok_or_else(|| {
        BootError::new(format!(
            "{} must be an https URL without user name, password and fragment (http only for loopback hosts)",
            values.shown("approval-webhook-url")
        ))
    })?;
    let secret = Secret::read(&file)
        .map_err(|error| BootError::new(format!("--approval-webhook-secret-file: {error}")))?;
    match http {
        None => Err(BootError::new("--approval-webhook-url needs --http: the webhook answers over HTTP")),
        Some(http) if http.origin().is_none() => Err(BootError::new(
            "--approval-webhook-url needs --public-url, unless the listener is on a loopback address: the webhook is told where it \
             answers",
        )),
        Some(_) => Ok(Some(Webhook { url, secret })),
    }
}

fn may_be_told(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_plain = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    is_plain && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_is_secure_or_on_this_machine() {
        let told = |text: &str| Url::parse(text).is_ok_and(|url| may_be_told(&url));
        for text in [
            "https://hooks.example/ptc?key=1",
            "https://10.0.0.7:8443/",
            "http://127.0.0.1:9000/x",
            "http://[::1]/",
            "http://LOCALHOST:1/",
        ] {
            assert!(told(text), "{text}");
        }
        for text in [
            "http://hooks.example/",
            "http://10.0.0.7/",
            "http://localhost.evil.example/",
            "ftp://localhost/",
            "https://ada@hooks.example/",
            "https://hooks.example/#a",
            "unix:/run/hook",
            "hooks.example",
        ] {
            assert!(!told(text), "{text}");
        }
    }
}
