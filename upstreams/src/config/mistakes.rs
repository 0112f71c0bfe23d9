//! Entries of child processes that would start something else than they mean.

use super::home::{is_path, refuse_home};
use std::path::Path;

use super::transports::StdioConfig;
use ptc_base::config_error::{ConfigError, ConfigWarning};
use ptc_base::environment::{ProcessEnv, is_variable_name};

/// Commands that replace variables in their arguments themselves.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "fish", "cmd"];

/// Refuses likely mistakes: `"npx -y foo"` as a command, and a folder that begins with `~`.
pub(super) fn refuse(upstream: &str, entry: &StdioConfig, env: &ProcessEnv) -> Result<(), ConfigError> {
    let folder = entry.cd.as_deref().and_then(Path::to_str);
    for (key, text) in [("command", Some(entry.command.as_str())), ("cd", folder)] {
        refuse_home(upstream, key, text.unwrap_or_default(), env)?;
    }
    if entry.command.contains(char::is_whitespace) && entry.program().is_none() {
        let mut words = entry.command.split_whitespace();
        let command = words.next().unwrap_or_default();
        let args: Vec<&str> = words.chain(entry.args.iter().map(String::as_str)).collect();
        return Err(ConfigError::upstream(
            upstream,
            format_args!(
                "command {:?} is no program: it holds arguments; write \"command\": {command:?}, \"args\": {args:?}",
                entry.command
            ),
        ));
    }
    Ok(())
}

/// Warns of arguments that look as if a shell were to read them.
pub(super) fn suspect(upstream: &str, entry: &StdioConfig) -> Option<ConfigWarning> {
    let command = Path::new(&entry.command).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if SHELLS.contains(&command) {
        return None;
    }
    let arg = entry.args.iter().find(|arg| {
        arg.strip_prefix('~').is_some_and(|rest| rest.is_empty() || is_path(rest)) || names_variable(arg)
    })?;
    Some(ConfigWarning::new(
        "upstream_argument_literal",
        Some(upstream),
        format_args!(
            "upstream {upstream} gets the argument {arg:?} as it is written: ~ and variables are replaced by shells only; write \
             what is meant, or hand it on in env"
        ),
    ))
}

/// Whether `${NAME}` is in the text.
fn names_variable(text: &str) -> bool {
    text.split("${")
        .skip(1)
        .any(|after| after.split_once('}').is_some_and(|(name, _)| is_variable_name(name)))
}
