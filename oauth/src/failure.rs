//! Why a sign-in failed: codes and texts of `auth.md` 16.

use crate::error_code::ErrorCode;
pub use crate::json::MAX_DESCRIPTION;
use crate::message::TransportError;

/// A sign-in error. `ptc login` prints its text after `cannot sign in to NAME: `; a record keeps [`code`](Self::code) as
/// `last_error.code`. Texts of servers in it (issuers, URLs, codes) are untrusted on a terminal: code that prints them escapes
/// control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// `resource_metadata` of the challenge is on another origin.
    #[error("the server names metadata at another host ({host})")]
    PrmOrigin {
        /// Its host, or the whole text where it has none.
        host: String,
    },
    /// `resource` of the metadata is that of another server.
    #[error("the server's metadata is for {resource:?}, not for {url:?}")]
    ResourceMismatch {
        /// As the document has it.
        resource: String,
        /// The upstream's.
        url: String,
    },
    /// No metadata anywhere.
    #[error("the server publishes no authorization metadata; set auth.issuer if you know its issuer")]
    NoMetadata,
    /// A document could not be read now.
    #[error("cannot read {url}: {reason}")]
    MetadataUnavailable {
        /// Its URL.
        url: String,
        /// `http 503`, or the kind of trouble.
        reason: String,
    },
    /// A document lacks a required member.
    #[error("the metadata at {url} cannot be used ({reason})")]
    BadMetadata {
        /// Its URL.
        url: String,
        /// The fault.
        reason: String,
    },
    /// `issuer` of the metadata is another one.
    #[error("metadata for issuer {asked:?} says it is {found:?}; auth.issuer names the one that you trust")]
    IssuerMismatch {
        /// The identifier used.
        asked: String,
        /// The issuer in the document.
        found: String,
    },
    /// `issuer` of the metadata is absent.
    #[error(
        "metadata for issuer {asked:?} does not say whose it is; auth.relax \"missing_issuer\" accepts it"
    )]
    NoIssuer {
        /// The identifier used.
        asked: String,
    },
    /// No S256.
    #[error("the authorization server does not offer PKCE with S256; auth.relax \"missing_pkce\" accepts it")]
    NoPkce,
    /// A private address, or a hop to one.
    #[error("{url} leads to an address that is not public (auth.allow_hosts exempts a host)")]
    AddressRefused {
        /// The URL that was to be fetched.
        url: String,
    },
    /// A redirect where none is followed.
    #[error("the {endpoint} endpoint redirects; not followed")]
    Redirected {
        /// `token`, `registration`, `device authorization`, `revocation`.
        endpoint: &'static str,
    },
    /// Neither CIMD nor DCR.
    #[error(
        "{issuer} does not register clients by itself; create an application there with the redirect URI {redirect_uri} and set auth.client to \
         {{\"id\": …, \"secret\": …}}"
    )]
    NoRegistration {
        /// The authorization server.
        issuer: String,
        /// The redirect URI to enter there.
        redirect_uri: String,
    },
    /// DCR was refused.
    #[error(
        "{issuer} refuses the registration: {code}; an application of your own may work, with auth.client"
    )]
    RegistrationRefused {
        /// The authorization server.
        issuer: String,
        /// Its code, or `http 403`.
        code: String,
    },
    /// A pre-registered client belongs to another issuer.
    #[error("auth.client belongs to {client:?}, but the server now uses {server:?}")]
    ClientIssuer {
        /// Whose the client is.
        client: String,
        /// The server asked now.
        server: String,
    },
    /// The loopback port is taken.
    #[error("port {port} is in use; set auth.redirect.port or use --paste")]
    PortInUse {
        /// The port.
        port: u16,
    },
    /// `iss` of the callback is wrong, or missing though advertised.
    #[error("the answer came from another authorization server; nothing was sent to it")]
    IssMismatch,
    /// The authorization server said no.
    #[error("{}", refusal(code, description.as_deref()))]
    Refused {
        /// Its code.
        code: ErrorCode,
        /// Its words for people, at most 200 characters. Untrusted: for terminals and pages alone, never for a model.
        description: Option<String>,
    },
    /// The browser did not return in time.
    #[error("nobody signed in within 5 minutes")]
    TimedOut,
    /// The token endpoint answers, but with nothing that can be used.
    #[error("the token endpoint's answer cannot be used ({reason})")]
    BadTokenAnswer {
        /// The fault.
        reason: &'static str,
    },
    /// An endpoint other than a document does not answer now.
    #[error("the {endpoint} endpoint does not answer: {reason}")]
    EndpointUnavailable {
        /// As in [`Failure::Redirected`].
        endpoint: &'static str,
        /// `http 503`, or the kind of trouble.
        reason: String,
    },
    /// The server does not offer a feature that the grant needs.
    #[error("the authorization server offers no {what}")]
    Unsupported {
        /// `device authorization`, `client authentication that auth.client can do`.
        what: &'static str,
    },
    /// The store cannot be read, or belongs to another user.
    #[error("{file} must belong to you and have mode 0600")]
    Store {
        /// Its path.
        file: String,
    },
}

/// The server's refusal in its own words, and the key that helps where it does not want `resource` (Entra: AADSTS9010010).
fn refusal(code: &ErrorCode, description: Option<&str>) -> String {
    let words = description.map(|description| format!(" ({description})")).unwrap_or_default();
    let names_resource = description.is_some_and(|words| words.to_ascii_lowercase().contains("resource"));
    let help = match names_resource || words.contains("AADSTS9010010") || code.as_str() == "invalid_target" {
        true => "; \"resource\": \"\" in auth leaves the parameter resource out",
        false => "",
    };
    format!("the authorization server answered: {code}{words}{help}")
}

impl Failure {
    /// A refusal without words.
    #[must_use]
    pub fn refused(code: &str) -> Self {
        Self::Refused { code: ErrorCode::new(code), description: None }
    }

    /// Whether the server does not know our client, or not any more.
    #[must_use]
    pub fn is_about_client(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code.is_about_client())
    }

    /// The code of `auth.md` 16: `last_error.code` and `code` of `ptc login --json`.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::PrmOrigin { .. } => "prm_origin",
            Self::ResourceMismatch { .. } => "resource_mismatch",
            Self::NoMetadata => "no_metadata",
            Self::MetadataUnavailable { .. } => "metadata_unavailable",
            Self::BadMetadata { .. } => "bad_metadata",
            Self::IssuerMismatch { .. } | Self::NoIssuer { .. } => "issuer_mismatch",
            Self::NoPkce => "no_pkce",
            Self::AddressRefused { .. } => "address_refused",
            Self::Redirected { .. } => "redirected",
            Self::NoRegistration { .. } => "no_registration",
            Self::RegistrationRefused { .. } => "registration_refused",
            Self::ClientIssuer { .. } => "client_issuer",
            Self::PortInUse { .. } => "port_in_use",
            Self::IssMismatch => "iss_mismatch",
            Self::Refused { code, .. } => code.as_str(),
            Self::TimedOut => "timed_out",
            Self::BadTokenAnswer { .. } => "bad_token_answer",
            Self::EndpointUnavailable { .. } => "endpoint_unavailable",
            Self::Unsupported { .. } => "unsupported",
            Self::Store { .. } => "store",
        }
    }

    /// Whether it may resolve by itself: the failure justifies a retry, and says nothing about the server.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::MetadataUnavailable { .. } | Self::EndpointUnavailable { .. } | Self::TimedOut)
    }

    /// The failure to read the document at `url`.
    pub(crate) fn of_metadata(url: &str, trouble: &TransportError) -> Self {
        match trouble {
            TransportError::AddressRefused { url } => Self::AddressRefused { url: url.clone() },
            other => Self::MetadataUnavailable { url: url.to_owned(), reason: other.to_string() },
        }
    }

    /// The failure of a request to an endpoint.
    pub(crate) fn of_endpoint(endpoint: &'static str, trouble: &TransportError) -> Self {
        match trouble {
            TransportError::AddressRefused { url } => Self::AddressRefused { url: url.clone() },
            other => Self::EndpointUnavailable { endpoint, reason: other.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_servers_words_and_names_the_key_that_helps() {
        let text = |code: &str, words: &str| {
            Failure::Refused { code: ErrorCode::new(code), description: Some(words.to_owned()) }.to_string()
        };
        assert_eq!(
            text("access_denied", "the user said no"),
            "the authorization server answered: access_denied (the user said no)"
        );
        let help = r#"; "resource": "" in auth leaves the parameter resource out"#;
        for (code, words) in [
            ("invalid_request", "unknown parameter resource"),
            ("invalid_target", "no"),
            ("invalid_request", "AADSTS9010010: The Resource parameter does not match the scopes"),
        ] {
            assert_eq!(
                text(code, words),
                format!("the authorization server answered: {code} ({words}){help}")
            );
        }
    }

    #[test]
    fn codes_and_texts_are_those_of_the_specification() {
        let s = str::to_owned;
        let rows: [(Failure, &str, &str); 20] = [
            (
                Failure::PrmOrigin { host: s("evil.example") },
                "prm_origin",
                "the server names metadata at another host (evil.example)",
            ),
            (
                Failure::ResourceMismatch { resource: s("https://r/"), url: s("https://h/mcp") },
                "resource_mismatch",
                r#"the server's metadata is for "https://r/", not for "https://h/mcp""#,
            ),
            (
                Failure::NoMetadata,
                "no_metadata",
                "the server publishes no authorization metadata; set auth.issuer if you know its issuer",
            ),
            (
                Failure::MetadataUnavailable { url: s("https://h/x"), reason: s("http 503") },
                "metadata_unavailable",
                "cannot read https://h/x: http 503",
            ),
            (
                Failure::BadMetadata { url: s("https://h/x"), reason: s("no token_endpoint") },
                "bad_metadata",
                "the metadata at https://h/x cannot be used (no token_endpoint)",
            ),
            (
                Failure::IssuerMismatch { asked: s("https://a"), found: s("https://b") },
                "issuer_mismatch",
                r#"metadata for issuer "https://a" says it is "https://b"; auth.issuer names the one that you trust"#,
            ),
            (
                Failure::NoIssuer { asked: s("https://a") },
                "issuer_mismatch",
                r#"metadata for issuer "https://a" does not say whose it is; auth.relax "missing_issuer" accepts it"#,
            ),
            (
                Failure::NoPkce,
                "no_pkce",
                r#"the authorization server does not offer PKCE with S256; auth.relax "missing_pkce" accepts it"#,
            ),
            (
                Failure::AddressRefused { url: s("http://10.0.0.1/") },
                "address_refused",
                "http://10.0.0.1/ leads to an address that is not public (auth.allow_hosts exempts a host)",
            ),
            (
                Failure::Redirected { endpoint: "token" },
                "redirected",
                "the token endpoint redirects; not followed",
            ),
            (
                Failure::NoRegistration {
                    issuer: s("https://a"),
                    redirect_uri: s("http://127.0.0.1:33418/callback"),
                },
                "no_registration",
                "https://a does not register clients by itself; create an application there with the redirect URI \
                 http://127.0.0.1:33418/callback and set auth.client to {\"id\": …, \"secret\": …}",
            ),
            (
                Failure::RegistrationRefused { issuer: s("https://a"), code: s("access_denied") },
                "registration_refused",
                "https://a refuses the registration: access_denied; an application of your own may work, with auth.client",
            ),
            (
                Failure::ClientIssuer { client: s("https://a"), server: s("https://b") },
                "client_issuer",
                r#"auth.client belongs to "https://a", but the server now uses "https://b""#,
            ),
            (
                Failure::PortInUse { port: 33418 },
                "port_in_use",
                "port 33418 is in use; set auth.redirect.port or use --paste",
            ),
            (
                Failure::IssMismatch,
                "iss_mismatch",
                "the answer came from another authorization server; nothing was sent to it",
            ),
            (
                Failure::refused("access_denied"),
                "access_denied",
                "the authorization server answered: access_denied",
            ),
            (Failure::TimedOut, "timed_out", "nobody signed in within 5 minutes"),
            (
                Failure::BadTokenAnswer { reason: "no access_token" },
                "bad_token_answer",
                "the token endpoint's answer cannot be used (no access_token)",
            ),
            (
                Failure::EndpointUnavailable { endpoint: "token", reason: s("http 503") },
                "endpoint_unavailable",
                "the token endpoint does not answer: http 503",
            ),
            (
                Failure::Store { file: s("/s/token-1.json") },
                "store",
                "/s/token-1.json must belong to you and have mode 0600",
            ),
        ];
        for (failure, code, text) in rows {
            assert_eq!((failure.code(), failure.to_string().as_str()), (code, text));
        }
    }

    #[test]
    fn refused_addresses_are_told_as_such_wherever_they_come_up() {
        let trouble = TransportError::AddressRefused { url: "http://10.0.0.1/".to_owned() };
        let refused = Failure::AddressRefused { url: "http://10.0.0.1/".to_owned() };
        assert_eq!(Failure::of_metadata("https://h/x", &trouble), refused);
        assert_eq!(Failure::of_endpoint("token", &trouble), refused);
    }
}
