//! The headers of a client's entry as an upstream's: secrets become credentials, the rest static headers.

use super::placeholders::{TemplatePiece, names_secret, other, pieces, settled};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ptc_mcp::json::{Map, Value, json};

use super::{ClientServers, FileContext};
use ptc_base::config_error::{ConfigError, ConfigWarning};

/// The translation of the headers of one entry.
#[derive(Default)]
pub(super) struct Headers {
    auth: Vec<Value>,
    fixed: Map,
}

impl Headers {
    /// Adds the header `name` of upstream `upstream`. Its secret, if it holds one, becomes a binding in `all`.
    pub(super) fn add(
        &mut self,
        upstream: &str,
        name: &str,
        value: &str,
        file: &FileContext<'_>,
        all: &mut ClientServers,
    ) -> Result<(), ConfigError> {
        let is_authorization = name.eq_ignore_ascii_case("authorization");
        let is_secret = is_authorization || names_secret(name);
        let (scheme, secret) = match value.trim().split_once(' ') {
            Some((scheme, secret)) if is_authorization && scheme.eq_ignore_ascii_case("bearer") => {
                ("bearer", secret.trim())
            }
            Some((scheme, secret)) if is_authorization && scheme.eq_ignore_ascii_case("basic") => {
                ("basic", secret.trim())
            }
            _ if is_authorization => {
                return Err(ConfigError::upstream(
                    upstream,
                    format_args!(
                        "has a header {name} that is neither \"Bearer …\" nor \"Basic …\", which are those that can be sent"
                    ),
                ));
            }
            _ => ("custom_header", value),
        };
        let pieces = settled(pieces(secret, file.bare_names), file.env, is_secret);
        let text = |piece: &TemplatePiece<'_>| {
            if let TemplatePiece::Text(text) = *piece { Some(text.to_owned()) } else { None }
        };
        let text: Option<String> = pieces.iter().map(text).collect();
        let binding = match (text, &pieces[..]) {
            (None, [TemplatePiece::Variable { name: variable, .. }]) if scheme != "basic" => {
                json!({"source": "env", "var": variable})
            }
            (None, [TemplatePiece::Bare(variable)]) if scheme != "basic" => {
                json!({"source": "env", "var": variable[1..]})
            }
            (Some(text), _) if is_secret => {
                let value = if scheme == "basic" { decoded(upstream, name, &text)? } else { text };
                all.warnings.push(ConfigWarning::new(
                    "upstream_header_literal",
                    Some(upstream),
                    format_args!(
                        "upstream {upstream} has a secret as text in its header {name}; in a client's file write ${{NAME}} there, \
                         in an upstreams file a credential with \"source\": \"env\""
                    ),
                ));
                json!({"source": "literal", "value": value})
            }
            (Some(text), _) => {
                self.fixed.insert(name.to_owned(), text.into());
                return Ok(());
            }
            (None, _) => return Err(mixed(upstream, name, &pieces)),
        };
        self.emit(upstream, scheme, name, binding, all);
        Ok(())
    }

    /// Adds a header whose value is that of the environment variable `variable`; `Authorization` as a bearer token.
    pub(super) fn add_variable(
        &mut self,
        upstream: &str,
        name: &str,
        variable: &str,
        all: &mut ClientServers,
    ) {
        let scheme = if name.eq_ignore_ascii_case("authorization") { "bearer" } else { "custom_header" };
        self.emit(upstream, scheme, name, json!({"source": "env", "var": variable}), all);
    }

    fn emit(&mut self, upstream: &str, scheme: &str, name: &str, binding: Value, all: &mut ClientServers) {
        let credential = credential_name(upstream, name, &all.credentials);
        all.credentials.insert(credential.clone(), binding);
        self.auth.push(match scheme {
            "custom_header" => json!({"scheme": scheme, "binding": credential, "header": name}),
            _ => json!({"scheme": scheme, "binding": credential}),
        });
    }

    /// Writes the headers into an entry.
    pub(super) fn finish(self, entry: &mut Map) {
        if !self.auth.is_empty() {
            entry.insert("auth".to_owned(), Value::Array(self.auth));
        }
        if !self.fixed.is_empty() {
            entry.insert("static_headers".to_owned(), Value::Object(self.fixed));
        }
    }
}

/// `user:pass` of a Basic header.
fn decoded(upstream: &str, name: &str, secret: &str) -> Result<String, ConfigError> {
    let text = BASE64.decode(secret).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| {
        ConfigError::upstream(
            upstream,
            format_args!("has a header {name} whose Basic value is no text in base64"),
        )
    })
}

/// The refusal of a value that is made of several pieces, or holds one that only a client can fill in.
fn mixed(upstream: &str, name: &str, pieces: &[TemplatePiece<'_>]) -> ConfigError {
    let place = format!("the header {name}");
    match pieces
        .iter()
        .find_map(|piece| if let TemplatePiece::Other(inside) = piece { Some(inside) } else { None })
    {
        Some(inside) => other(upstream, &place, inside),
        None => ConfigError::upstream(
            upstream,
            format_args!("has text and variables together in {place}; put the whole value into one variable"),
        ),
    }
}

/// A name for the secret in the header `name` of `upstream` that no other credential has.
fn credential_name(upstream: &str, name: &str, taken: &Map) -> String {
    let plain: String = format!("{upstream}-{name}")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let base =
        if plain.starts_with(|c: char| c.is_ascii_alphabetic()) { plain } else { format!("c-{plain}") };
    let mut candidate = base.clone();
    let mut number = 2;
    while taken.contains_key(&candidate) {
        candidate = format!("{base}-{number}");
        number += 1;
    }
    candidate
}
