//! Reading the `auth` object, with the error texts of auth.md 10.1.

use std::fmt::Display;
use std::net::IpAddr;
use std::path::Path;

use ptc_mcp::json::{Map, Value};
use ptc_mcp::text::clip;
use url::{Host, Url};

use super::{
    OAuthClient, OAuthConfig, OAuthGrant, OAuthIdentity, OAuthIdp, OAuthKey, OAuthProof, OAuthRedirect,
    OAuthRelax, OAuthSubject,
};
use crate::config::fields::Fields;
use ptc_base::config_error::ConfigError;
use ptc_base::ordinary_file;
use ptc_base::similar::most_similar;
use ptc_secret::credentials::{CredentialStore, Secret};

/// Longest value that an error shows, in bytes.
const SHOWN: usize = 80;
/// Largest key file.
const MAX_KEY_BYTES: u64 = 64 * 1024;

const KEYS: [&str; 12] = [
    "type",
    "client",
    "scopes",
    "resource",
    "redirect",
    "grant",
    "identity",
    "legacy_discovery",
    "issuer",
    "idp",
    "relax",
    "allow_hosts",
];

impl OAuthConfig {
    /// Reads `auth` where it is an object; `None` where it is not one, and the list of emitters is the one to be read.
    pub(in crate::config) fn parse(
        fields: &Fields<'_>,
        store: &CredentialStore,
        base_dir: Option<&Path>,
    ) -> Result<Option<Self>, ConfigError> {
        let Some(Value::Object(map)) = fields.get("auth") else { return Ok(None) };
        let entry = EntryObject { fields, map, place: "auth", base_dir };
        match map.get("type") {
            Some(Value::String(kind)) if kind == "oauth" => {}
            other => {
                let got = other.map_or_else(|| "nothing".to_owned(), shown);
                return Err(fields.error(format_args!("auth.type must be \"oauth\", got {got}")));
            }
        }
        entry.only(&KEYS)?;
        let grant = entry.word("grant", &GRANTS)?.unwrap_or(OAuthGrant::AuthorizationCode);
        let client = entry.client()?;
        let idp = entry.idp(grant)?;
        let identity = entry.identity(grant)?;
        check_client(&entry, grant, &client)?;
        let config = Self {
            client,
            scopes: entry.scopes()?,
            resource: entry.optional_text("resource")?,
            redirect: entry.redirect()?,
            grant,
            identity,
            legacy_discovery: entry.word("legacy_discovery", &LEGACY)?.unwrap_or(true),
            issuer: entry.issuer()?,
            idp,
            relax: entry.relax()?,
            allow_hosts: entry.allow_hosts()?,
        };
        for binding in config.bindings() {
            if let Some(why) = store.unset(binding) {
                fields.lacks(why.to_owned())?;
            } else if store.get(binding).is_none() {
                return Err(fields.error(format_args!("references unknown credential binding {binding}")));
            }
        }
        Ok(Some(config))
    }
}

/// Refuses OAuth over plain HTTP beyond this machine, regardless of the insecure opt-ins. A URL that cannot be read is left to
/// the code that reads it.
pub(in crate::config) fn check_plain_url(fields: &Fields<'_>, key: &'static str) -> Result<(), ConfigError> {
    let url = fields.get(key).and_then(Value::as_str).and_then(|text| Url::parse(text).ok());
    match url {
        Some(url) if url.scheme() == "http" && !is_loopback(&url) => {
            Err(fields.error("uses http:// with OAuth; only loopback hosts may"))
        }
        _ => Ok(()),
    }
}

/// Whether the host of `url` is this machine.
fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

const GRANTS: [(&str, OAuthGrant); 4] = [
    ("authorization_code", OAuthGrant::AuthorizationCode),
    ("device_code", OAuthGrant::DeviceCode),
    ("client_credentials", OAuthGrant::ClientCredentials),
    ("id_jag", OAuthGrant::IdJag),
];
const IDENTITIES: [(&str, OAuthIdentity); 2] =
    [("per_principal", OAuthIdentity::PerPrincipal), ("shared", OAuthIdentity::Shared)];
const LEGACY: [(&str, bool); 2] = [("login_only", true), ("never", false)];

fn grant_word(grant: OAuthGrant) -> &'static str {
    GRANTS.iter().find(|(_, known)| *known == grant).map_or("", |(word, _)| word)
}

/// Grants without a person need a client that can prove itself.
fn check_client(entry: &EntryObject<'_>, grant: OAuthGrant, client: &OAuthClient) -> Result<(), ConfigError> {
    let proves = matches!(client, OAuthClient::Registered { proof, .. } if *proof != OAuthProof::None);
    if grant.has_person() || proves {
        return Ok(());
    }
    let word = grant_word(grant);
    Err(entry
        .fields
        .error(format_args!("auth.grant {word:?} needs auth.client with an id and a secret or key_file")))
}

/// An object of the entry, and the keys that lead to it.
struct EntryObject<'a> {
    fields: &'a Fields<'a>,
    map: &'a Map,
    place: &'a str,
    base_dir: Option<&'a Path>,
}

impl<'a> EntryObject<'a> {
    fn inside<'b>(&'b self, map: &'b Map, place: &'b str) -> EntryObject<'b> {
        EntryObject { fields: self.fields, map, place, base_dir: self.base_dir }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key)
    }

    /// `upstream N auth.K must be …, got <v>`
    fn wrong(&self, key: &str, accepted: impl Display) -> ConfigError {
        let got = self.get(key).map_or_else(|| "nothing".to_owned(), shown);
        self.fields.error(format_args!("{}.{key} must be {accepted}, got {got}", self.place))
    }

    /// As [`wrong`](Self::wrong), for values that may be a secret in the wrong place.
    fn wrong_unseen(&self, key: &str, accepted: impl Display) -> ConfigError {
        let got = match self.get(key) {
            None => "nothing",
            Some(Value::Null) => "null",
            Some(Value::Bool(_)) => "a boolean",
            Some(Value::Number(_)) => "a number",
            Some(Value::String(_)) => "an empty string",
            Some(Value::Array(_)) => "a list",
            Some(Value::Object(_)) => "an object",
        };
        self.fields.error(format_args!("{}.{key} must be {accepted}, got {got}", self.place))
    }

    fn only(&self, known: &[&str]) -> Result<(), ConfigError> {
        let unknown = self.map.keys().find(|key| !known.contains(&key.as_str()) && !key.starts_with('$'));
        let Some(key) = unknown else { return Ok(()) };
        let near = most_similar(key, known.iter().copied());
        let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(self.fields.error(format_args!("{} has unknown key {key:?}{hint}", self.place)))
    }

    fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let found = value.as_str().and_then(|text| words.iter().find(|(word, _)| *word == text));
        match found {
            Some((_, value)) => Ok(Some(*value)),
            None => Err(self.wrong(key, choices(words.iter().map(|(word, _)| *word)))),
        }
    }

    /// A text that may be absent or null.
    fn optional_text(&self, key: &str) -> Result<Option<String>, ConfigError> {
        match self.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if !text.contains(char::is_control) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(key, "null or a string")),
        }
    }

    fn text(&self, key: &str) -> Result<&'a str, ConfigError> {
        match self.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text),
            _ => Err(self.wrong_unseen(key, "a non-empty string")),
        }
    }

    fn text_if_there(&self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        if self.get(key).is_some() { self.text(key).map(Some) } else { Ok(None) }
    }

    fn client(&self) -> Result<OAuthClient, ConfigError> {
        let map = match self.get("client") {
            None => return Ok(OAuthClient::Auto),
            Some(Value::String(word)) if word == "auto" => return Ok(OAuthClient::Auto),
            Some(Value::Object(map)) if map.contains_key("id") != map.contains_key("metadata_url") => map,
            Some(_) => return Err(self.wrong("client", "\"auto\", {\"id\": …} or {\"metadata_url\": …}")),
        };
        let client = self.inside(map, "auth.client");
        if map.contains_key("metadata_url") {
            client.only(&["metadata_url"])?;
            let text = client.text("metadata_url")?;
            let fits = Url::parse(text).is_ok_and(|url| {
                url.scheme() == "https"
                    && url.path() != "/"
                    && url.fragment().is_none()
                    && url.username().is_empty()
            });
            if !fits {
                return Err(client.wrong("metadata_url", "an https URL with a path"));
            }
            return Ok(OAuthClient::MetadataUrl(text.to_owned()));
        }
        client.only(&["id", "secret", "key_file"])?;
        let id = client.text("id")?.to_owned();
        let proof = match (client.text_if_there("secret")?, client.text_if_there("key_file")?) {
            (Some(_), Some(_)) => {
                return Err(self.fields.error("auth.client must not have both secret and key_file"));
            }
            (Some(binding), None) => OAuthProof::Secret(binding.to_owned()),
            (None, Some(path)) => OAuthProof::Key(client.key(path)?),
            (None, None) => OAuthProof::None,
        };
        Ok(OAuthClient::Registered { id, proof })
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: EntryObject.key")]
    fn key(&self, path: &str) -> Result<OAuthKey, ConfigError> {
        let path = self.base_dir.map_or_else(|| path.into(), |dir| dir.join(path));
        let pem = ordinary_file::read_text(&path, MAX_KEY_BYTES).map_err(|fault| {
            self.fields.error(format_args!("auth.client.key_file: {fault} ({})", path.display()))
        })?;
        let pem = Secret::new(pem.as_str());
        if !pem.open().contains("-----BEGIN PRIVATE KEY-----") {
            return Err(self.fields.error(format_args!(
                "auth.client.key_file must be a private key in PEM of PKCS#8 ({})",
                path.display()
            )));
        }
        Ok(OAuthKey { path, pem })
    }

    fn scopes(&self) -> Result<Option<Vec<String>>, ConfigError> {
        let items = match self.get("scopes") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong("scopes", "null or a list of scopes")),
        };
        let scope = |item: &Value| {
            let text = item.as_str().filter(|text| !text.is_empty() && text.bytes().all(is_scope_byte));
            text.map(str::to_owned)
                .ok_or_else(|| self.wrong("scopes", "null or a list of scopes, each without spaces"))
        };
        items.iter().map(scope).collect::<Result<_, _>>().map(Some)
    }

    fn redirect(&self) -> Result<OAuthRedirect, ConfigError> {
        let default = OAuthRedirect::default();
        let map = match self.get("redirect") {
            None => return Ok(default),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(self.wrong("redirect", "an object with host, port and path")),
        };
        let redirect = self.inside(map, "auth.redirect");
        redirect.only(&["host", "port", "path"])?;
        let host = match redirect.get("host") {
            None => default.host,
            Some(Value::String(host)) if is_loopback_name(host) => host.clone(),
            Some(_) => return Err(redirect.wrong("host", "localhost or a loopback address")),
        };
        let port = match redirect.get("port") {
            None => None,
            Some(value) => match value.as_u64().and_then(|port| u16::try_from(port).ok()) {
                Some(port) => Some(port),
                None => return Err(redirect.wrong("port", "an integer from 0 to 65535")),
            },
        };
        let path = match redirect.get("path") {
            None => default.path,
            Some(Value::String(path)) if is_path(path) => path.clone(),
            Some(_) => return Err(redirect.wrong("path", "a path that begins with /")),
        };
        Ok(OAuthRedirect { host, port: port.unwrap_or(default.port), path, port_is_set: port.is_some() })
    }

    fn identity(&self, grant: OAuthGrant) -> Result<OAuthIdentity, ConfigError> {
        let named = self.word("identity", &IDENTITIES)?;
        match (grant.has_person(), named) {
            (true, named) => Ok(named.unwrap_or(OAuthIdentity::PerPrincipal)),
            (false, None | Some(OAuthIdentity::Shared)) => Ok(OAuthIdentity::Shared),
            (false, Some(OAuthIdentity::PerPrincipal)) => {
                let word = grant_word(grant);
                Err(self.fields.error(format_args!(
                    "auth.grant {word:?} acts for no person; identity must be \"shared\""
                )))
            }
        }
    }

    fn issuer(&self) -> Result<Option<String>, ConfigError> {
        let text = self.optional_text("issuer")?;
        let fits = |text: &String| {
            Url::parse(text)
                .is_ok_and(|url| is_secure(&url) && url.query().is_none() && url.fragment().is_none())
        };
        if text.as_ref().is_some_and(|text| !fits(text)) {
            return Err(self.wrong("issuer", "null or an https URL without query"));
        }
        Ok(text)
    }

    fn idp(&self, grant: OAuthGrant) -> Result<Option<OAuthIdp>, ConfigError> {
        let map = match (self.get("idp"), grant) {
            (None, OAuthGrant::IdJag) => {
                return Err(self.fields.error(
                    "auth.grant \"id_jag\" needs auth.idp with token_endpoint, client, subject_token and subject_token_type",
                ));
            }
            (None, _) => return Ok(None),
            (Some(Value::Object(map)), _) => map,
            (Some(_), _) => return Err(self.wrong_unseen("idp", "an object")),
        };
        let idp = self.inside(map, "auth.idp");
        idp.only(&["token_endpoint", "client", "subject_token", "subject_token_file", "subject_token_type"])?;
        let endpoint = idp.text("token_endpoint")?;
        let token_endpoint = Url::parse(endpoint).ok().filter(is_secure);
        let token_endpoint = token_endpoint.ok_or_else(|| idp.wrong("token_endpoint", "an https URL"))?;
        let Some(Value::Object(client)) = idp.get("client") else {
            return Err(idp.wrong_unseen("client", "an object with id and secret"));
        };
        let client = idp.inside(client, "auth.idp.client");
        client.only(&["id", "secret"])?;
        let subject_token =
            match (idp.text_if_there("subject_token")?, idp.text_if_there("subject_token_file")?) {
                (Some(binding), None) => OAuthSubject::Binding(binding.to_owned()),
                (None, Some(path)) => {
                    OAuthSubject::File(self.base_dir.map_or_else(|| path.into(), |dir| dir.join(path)))
                }
                _ => {
                    return Err(self
                        .fields
                        .error("auth.idp must have exactly one of subject_token and subject_token_file"));
                }
            };
        Ok(Some(OAuthIdp {
            token_endpoint,
            client_id: client.text("id")?.to_owned(),
            client_secret: client.text_if_there("secret")?.map(str::to_owned),
            subject_token,
            subject_token_type: idp.text("subject_token_type")?.to_owned(),
        }))
    }

    fn relax(&self) -> Result<OAuthRelax, ConfigError> {
        let mut relax = OAuthRelax::default();
        let accepted = "a list of \"missing_issuer\" and \"missing_pkce\"";
        let items = match self.get("relax") {
            None => return Ok(relax),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong("relax", accepted)),
        };
        for item in items {
            match item.as_str() {
                Some("missing_issuer") => relax.missing_issuer = true,
                Some("missing_pkce") => relax.missing_pkce = true,
                _ => return Err(self.wrong("relax", accepted)),
            }
        }
        Ok(relax)
    }

    fn allow_hosts(&self) -> Result<Vec<String>, ConfigError> {
        let accepted = "a list of host names, without scheme and port";
        let items = match self.get("allow_hosts") {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(_) => return Err(self.wrong("allow_hosts", accepted)),
        };
        let host = |item: &Value| {
            let text = item.as_str().filter(|text| text.parse::<IpAddr>().is_ok() || is_domain(text));
            text.map(str::to_ascii_lowercase).ok_or_else(|| self.wrong("allow_hosts", accepted))
        };
        items.iter().map(host).collect()
    }
}

fn shown(value: &Value) -> String {
    clip(&value.to_string(), SHOWN)
}

/// `"a", "b" or "c"`
fn choices<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let quoted: Vec<String> = words.map(|word| format!("{word:?}")).collect();
    match quoted.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        other => other.concat(),
    }
}

/// RFC 6749, appendix A.4.
fn is_scope_byte(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)
}

fn is_loopback_name(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_path(path: &str) -> bool {
    path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#\"<>\\".contains(&byte))
}

fn is_domain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
}

/// https, or http on this machine.
fn is_secure(url: &Url) -> bool {
    url.host().is_some() && (url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url)))
}
