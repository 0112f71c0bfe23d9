//! Paths that are not expanded.

use ptc_base::config_error::ConfigError;
use ptc_base::environment::ProcessEnv;

/// Refuses a path that begins with `~`.
pub(super) fn refuse_home(
    upstream: &str,
    key: &str,
    text: &str,
    env: &ProcessEnv,
) -> Result<(), ConfigError> {
    let Some(rest) = text.strip_prefix('~').filter(|rest| is_path(rest)) else { return Ok(()) };
    let home = env.get("HOME").and_then(|home| home.to_str()).unwrap_or("/home/you");
    Err(ConfigError::upstream(
        upstream,
        format_args!("{key} begins with ~, which only a shell replaces; write {:?}", format!("{home}{rest}")),
    ))
}

pub(super) fn is_path(rest: &str) -> bool {
    rest.starts_with(['/', '\\'])
}
