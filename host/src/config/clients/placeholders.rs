//! What clients write for values that they know only when they start a server.

use crate::config_error::ConfigError;
use crate::environment::{ProcessEnv, is_variable_name};

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Stands for itself.
    Text(&'t str),
    /// `${NAME}`, `${env:NAME}`, `{env:NAME}`, and `${NAME:-default}`.
    Variable { name: &'t str, default: Option<&'t str> },
    /// `${userHome}`
    Home,
    /// `${pathSeparator}` and `${/}`
    Separator,
    /// Something else between `${` and `}`: `input:id`, `workspaceFolder`.
    Other(&'t str),
}

/// The pieces of `text`, in order.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
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
                    pieces.push(Piece::Text(before));
                }
                pieces.push(piece);
                rest = &rest[at + 1 + inside.len() + 1..];
                from = 0;
            }
            _ => from = at + 1,
        }
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

fn variable(name: &str) -> Option<Piece<'_>> {
    is_variable_name(name).then_some(Piece::Variable { name, default: None })
}

fn of_dollar(inside: &str) -> Piece<'_> {
    match inside {
        "userHome" => return Piece::Home,
        "pathSeparator" | "/" => return Piece::Separator,
        // Editors' own, which look like names of the environment.
        "workspaceFolder" | "workspaceFolderBasename" | "cwd" | "file" => return Piece::Other(inside),
        _ => {}
    }
    let named = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match named.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (named, None),
    };
    if is_variable_name(name) { Piece::Variable { name, default } } else { Piece::Other(inside) }
}

/// `text` as the `env` of an upstreams file holds it: with `${NAME}` for what the environment has.
pub(super) fn in_env(upstream: &str, text: &str, env: &ProcessEnv) -> Result<String, ConfigError> {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Variable { name, default: Some(default) } if env.get(name).is_none() => {
                out.push_str(default)
            }
            Piece::Variable { name, .. } => {
                out.push_str("${");
                out.push_str(name);
                out.push('}');
            }
            plain => out.push_str(known(upstream, "env", &plain, env)?.as_ref()),
        }
    }
    Ok(out)
}

/// `text` without placeholders, for a place where no value of the environment belongs: `place` names it.
pub(super) fn in_plain(
    upstream: &str,
    place: &str,
    text: &str,
    env: &ProcessEnv,
) -> Result<String, ConfigError> {
    let mut out = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Variable { name: "HOME", .. } => out.push_str(home(upstream, env)?),
            Piece::Variable { name, .. } => {
                return Err(ConfigError::upstream(
                    upstream,
                    format_args!(
                        "has ${{{name}}} in {place}, where secrets can be read by others and variables are not replaced; {}",
                        if place == "url" {
                            "write the value, or send it as a header"
                        } else {
                            "write the value, or hand it on in env"
                        }
                    ),
                ));
            }
            plain => out.push_str(known(upstream, place, &plain, env)?.as_ref()),
        }
    }
    Ok(out)
}

/// The text of a piece that is no variable.
fn known<'t>(
    upstream: &str,
    place: &str,
    piece: &Piece<'t>,
    env: &'t ProcessEnv,
) -> Result<&'t str, ConfigError> {
    match *piece {
        Piece::Text(text) => Ok(text),
        Piece::Home => home(upstream, env),
        Piece::Separator => Ok(std::path::MAIN_SEPARATOR_STR),
        Piece::Other(inside) => Err(other(upstream, place, inside)),
        Piece::Variable { name, .. } => Err(other(upstream, place, name)),
    }
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

fn home<'e>(upstream: &str, env: &'e ProcessEnv) -> Result<&'e str, ConfigError> {
    env.get("HOME").and_then(|home| home.to_str()).filter(|home| !home.is_empty()).ok_or_else(|| {
        ConfigError::upstream(upstream, "names the home folder, and HOME is not set; write the folder")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_s_spelling_of_a_variable_is_known() {
        let variable = |name| Piece::Variable { name, default: None };
        assert_eq!(pieces("${A}"), [variable("A")]);
        assert_eq!(pieces("x${env:A}y"), [Piece::Text("x"), variable("A"), Piece::Text("y")]);
        assert_eq!(pieces("{env:A}-{b}"), [variable("A"), Piece::Text("-{b}")]);
        assert_eq!(pieces("${A:-x y}"), [Piece::Variable { name: "A", default: Some("x y") }]);
        assert_eq!(pieces("${userHome}${/}a"), [Piece::Home, Piece::Separator, Piece::Text("a")]);
        assert_eq!(pieces("${input:key}"), [Piece::Other("input:key")]);
        assert_eq!(pieces("{\"a\": 1} $ ${"), [Piece::Text("{\"a\": 1} $ ${")]);
        assert_eq!(pieces(""), []);
    }
}
