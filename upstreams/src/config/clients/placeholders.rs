//! Placeholders of clients for values that are known only when a server starts.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

use super::FileContext;
use ptc_base::config_error::ConfigError;
use ptc_base::environment::{ProcessEnv, is_variable_name};

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TemplatePiece<'t> {
    /// Stands for itself.
    Text(&'t str),
    /// `${NAME}`, `${env:NAME}`, `{env:NAME}` and `${NAME:-default}`.
    Variable { name: &'t str, default: Option<&'t str> },
    /// `$NAME`, with its sign.
    Bare(&'t str),
    /// `${userHome}`
    Home,
    /// `${pathSeparator}` and `${/}`
    Separator,
    /// Something else between `${` and `}`: `input:id`, `workspaceFolder`.
    Other(&'t str),
}

/// The pieces of `text`, in order. `bare_names` as in [`FileContext`].
pub(super) fn pieces(text: &str, bare_names: bool) -> Vec<TemplatePiece<'_>> {
    let is_loud =
        |name: &str| name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if text.strip_prefix('$').is_some_and(|name| is_variable_name(name) && is_loud(name)) {
        return vec![TemplatePiece::Bare(text)];
    }
    let braced = braced(text);
    if !bare_names {
        return braced;
    }
    braced
        .into_iter()
        .flat_map(|piece| if let TemplatePiece::Text(text) = piece { bare(text) } else { vec![piece] })
        .collect()
}

/// The `$NAME` of a text without placeholders in braces, and the text between them.
fn bare(text: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find('$').map(|at| from + at) {
        let name = &rest[at + 1..];
        let length = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        if !is_variable_name(&name[..length]) {
            from = at + 1;
            continue;
        }
        if at > 0 {
            pieces.push(TemplatePiece::Text(&rest[..at]));
        }
        let end = at + 1 + length;
        pieces.push(TemplatePiece::Bare(&rest[at..end]));
        (rest, from) = (&rest[end..], 0);
    }
    if !rest.is_empty() {
        pieces.push(TemplatePiece::Text(rest));
    }
    pieces
}

fn braced(text: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = rest[from..].find('{').map(|at| from + at) {
        let dollar = rest[..at].ends_with('$');
        let inside = rest[at + 1..].split_once('}').map(|(inside, _)| inside);
        let piece = inside.and_then(|inside| {
            if dollar { Some(of_dollar(inside)) } else { variable(inside.strip_prefix("env:")?) }
        });
        match (piece, inside) {
            (Some(piece), Some(inside)) => {
                let before = &rest[..at - usize::from(dollar)];
                if !before.is_empty() {
                    pieces.push(TemplatePiece::Text(before));
                }
                pieces.push(piece);
                rest = &rest[at + 1 + inside.len() + 1..];
                from = 0;
            }
            _ => from = at + 1,
        }
    }
    if !rest.is_empty() {
        pieces.push(TemplatePiece::Text(rest));
    }
    pieces
}

fn variable(name: &str) -> Option<TemplatePiece<'_>> {
    is_variable_name(name).then_some(TemplatePiece::Variable { name, default: None })
}

fn of_dollar(inside: &str) -> TemplatePiece<'_> {
    match inside {
        "userHome" => return TemplatePiece::Home,
        "pathSeparator" | "/" => return TemplatePiece::Separator,
        // Editors' own, which look like names of the environment.
        "workspaceFolder" | "workspaceFolderBasename" | "cwd" | "file" => {
            return TemplatePiece::Other(inside);
        }
        _ => {}
    }
    let named = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match named.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (named, None),
    };
    if is_variable_name(name) {
        TemplatePiece::Variable { name, default }
    } else {
        TemplatePiece::Other(inside)
    }
}

/// `text` as the `env` of an upstreams file holds it: with `${NAME}` for variables of the environment.
pub(super) fn in_env(upstream: &str, text: &str, file: &FileContext<'_>) -> Result<String, ConfigError> {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text, file.bare_names) {
        match piece {
            TemplatePiece::Variable { name, default } => {
                out.push_str("${");
                out.push_str(name);
                if let Some(default) = default {
                    out.push_str(":-");
                    out.push_str(default);
                }
                out.push('}');
            }
            TemplatePiece::Bare(name) => {
                out.push_str("${");
                out.push_str(&name[1..]);
                out.push('}');
            }
            plain => out.push_str(known(upstream, "env", &plain, file)?.as_ref()),
        }
    }
    Ok(out)
}

/// `text` without placeholders, for a place where no secret of the environment belongs: `place` names it. A variable with a
/// default is configuration, and is replaced as the client does it.
pub(super) fn in_plain(
    upstream: &str,
    place: &str,
    text: &str,
    file: &FileContext<'_>,
) -> Result<String, ConfigError> {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text, file.bare_names) {
        match piece {
            TemplatePiece::Variable { name: "HOME", .. } | TemplatePiece::Bare("$HOME") => {
                out.push_str(home(upstream, file.env)?);
            }
            TemplatePiece::Variable { name, default: Some(default) } if !names_secret(name) => {
                out.push_str(value_of(name, file.env).unwrap_or(default));
            }
            TemplatePiece::Variable { name: "CLAUDE_PROJECT_DIR", .. } if file.project.is_some() => {
                out.push_str(
                    known(upstream, place, &TemplatePiece::Other("workspaceFolder"), file)?.as_ref(),
                );
            }
            TemplatePiece::Variable { name, .. } => {
                return Err(unfilled(upstream, place, &format!("${{{name}}}")));
            }
            // The client leaves it as it is.
            TemplatePiece::Bare(name) if file.env.get(&name[1..]).is_none() => out.push_str(name),
            TemplatePiece::Bare(name) => return Err(unfilled(upstream, place, name)),
            plain => out.push_str(known(upstream, place, &plain, file)?.as_ref()),
        }
    }
    Ok(out)
}

/// The refusal of a variable where its value could be read by others.
fn unfilled(upstream: &str, place: &str, variable: &str) -> ConfigError {
    let advice = if place == "url" {
        "write the value, or send it as a header"
    } else {
        "write the value, or hand it on in env"
    };
    ConfigError::upstream(
        upstream,
        format_args!(
            "has {variable} in {place}, where secrets can be read by others and variables are not replaced; {advice}"
        ),
    )
}

/// `pieces` with each variable that has a default as a text: the default where it is not set, and its value, unless
/// `is_secret`, where it is.
pub(super) fn settled<'t>(
    pieces: Vec<TemplatePiece<'t>>,
    env: &'t ProcessEnv,
    is_secret: bool,
) -> Vec<TemplatePiece<'t>> {
    let settle = |piece: TemplatePiece<'t>| match piece {
        TemplatePiece::Variable { name, default: Some(default) } => match value_of(name, env) {
            // No secret is empty: the client was to fail for want of it.
            None if default.is_empty() && is_secret => TemplatePiece::Variable { name, default: None },
            None => TemplatePiece::Text(default),
            Some(value) if !is_secret => TemplatePiece::Text(value),
            Some(_) => TemplatePiece::Variable { name, default: None },
        },
        other => other,
    };
    pieces.into_iter().map(settle).collect()
}

fn value_of<'e>(name: &str, env: &'e ProcessEnv) -> Option<&'e str> {
    env.get(name).and_then(|value| value.to_str())
}

/// The text of a piece that is no variable.
fn known<'t>(
    upstream: &str,
    place: &str,
    piece: &TemplatePiece<'t>,
    file: &'t FileContext<'_>,
) -> Result<Cow<'t, str>, ConfigError> {
    let project =
        |part: fn(&Path) -> Option<&OsStr>| file.project.and_then(part).map(|part| part.to_string_lossy());
    let text = match *piece {
        TemplatePiece::Text(text) => return Ok(text.into()),
        TemplatePiece::Home => return home(upstream, file.env).map(Cow::from),
        TemplatePiece::Separator => return Ok(std::path::MAIN_SEPARATOR_STR.into()),
        TemplatePiece::Other("workspaceFolder" | "cwd") => project(|folder| Some(folder.as_os_str())),
        TemplatePiece::Other("workspaceFolderBasename") => project(Path::file_name),
        _ => None,
    };
    text.ok_or_else(|| match *piece {
        TemplatePiece::Other(inside) | TemplatePiece::Variable { name: inside, .. } => {
            other(upstream, place, inside)
        }
        _ => other(upstream, place, ""),
    })
}

/// The refusal of a placeholder that only a client can fill in.
pub(super) fn other(upstream: &str, place: &str, inside: &str) -> ConfigError {
    let advice = match inside.split_once(':') {
        Some(("input", _)) => {
            "a question that its editor asks; put the answer into an environment variable and write ${NAME}"
        }
        _ => "which only the client that the file belongs to can fill in; write the value",
    };
    ConfigError::upstream(upstream, format_args!("has ${{{inside}}} in {place}, {advice}"))
}

/// `text` with the home folder for a `~` at its beginning.
pub(super) fn from_home(upstream: &str, text: String, env: &ProcessEnv) -> Result<String, ConfigError> {
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Ok(home(upstream, env)?.to_owned() + rest),
        _ => Ok(text),
    }
}

fn home<'e>(upstream: &str, env: &'e ProcessEnv) -> Result<&'e str, ConfigError> {
    env.get("HOME").and_then(|home| home.to_str()).filter(|home| !home.is_empty()).ok_or_else(|| {
        ConfigError::upstream(upstream, "names the home folder, and HOME is not set; write the folder")
    })
}

/// Whether a header or a variable of this name holds a secret.
pub(super) fn names_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    SECRET.iter().any(|part| lower.contains(part))
}

/// Parts of names whose headers hold secrets.
pub(super) const SECRET: [&str; 8] =
    ["auth", "cookie", "credential", "key", "pass", "secret", "session", "token"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_s_spelling_of_a_variable_is_known() {
        let pieces = |text| super::pieces(text, false);
        let variable = |name| TemplatePiece::Variable { name, default: None };
        assert_eq!(pieces("${A}"), [variable("A")]);
        assert_eq!(pieces("x${env:A}y"), [TemplatePiece::Text("x"), variable("A"), TemplatePiece::Text("y")]);
        assert_eq!(pieces("{env:A}-{b}"), [variable("A"), TemplatePiece::Text("-{b}")]);
        assert_eq!(pieces("${A:-x y}"), [TemplatePiece::Variable { name: "A", default: Some("x y") }]);
        assert_eq!(
            pieces("${userHome}${/}a"),
            [TemplatePiece::Home, TemplatePiece::Separator, TemplatePiece::Text("a")]
        );
        assert_eq!(pieces("${input:key}"), [TemplatePiece::Other("input:key")]);
        assert_eq!(pieces("{\"a\": 1} $ ${"), [TemplatePiece::Text("{\"a\": 1} $ ${")]);
        assert_eq!(pieces(""), []);
        assert_eq!(pieces("$KEY"), [TemplatePiece::Bare("$KEY")]);
        for text in ["pa$KEY", "$key", "$", "$1", "$KEY "] {
            assert_eq!(pieces(text), [TemplatePiece::Text(text)]);
        }
    }

    #[test]
    fn gemini_has_variables_without_braces_anywhere() {
        let pieces = |text| super::pieces(text, true);
        assert_eq!(
            pieces("Bearer $a_B1-$C"),
            [
                TemplatePiece::Text("Bearer "),
                TemplatePiece::Bare("$a_B1"),
                TemplatePiece::Text("-"),
                TemplatePiece::Bare("$C")
            ]
        );
        assert_eq!(
            pieces("${A}$B"),
            [TemplatePiece::Variable { name: "A", default: None }, TemplatePiece::Bare("$B")]
        );
        assert_eq!(pieces("5$ $1 $$"), [TemplatePiece::Text("5$ $1 $$")]);
    }
}
