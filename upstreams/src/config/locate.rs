//! Locating the upstreams file.

use std::path::{Path, PathBuf};

use ptc_base::environment::ProcessEnv;

/// The environment variable that names the file for the MCP server, and its former name. An empty value counts as not set.
pub const SERVER_VARIABLE: [&str; 2] = ["PTC_UPSTREAMS", "PTC_RUNNER_MCP_UPSTREAMS"];
/// The environment variable that names the file for the REPL and one-shot evaluation, and its former name.
pub const REPL_VARIABLE: [&str; 2] = ["PTC_UPSTREAMS", "PTC_RUNNER_UPSTREAMS"];

const DEFAULT_FILE: &str = "ptc/upstreams.json";
/// Where the file lay before (ruling 70); still read.
const FORMER_FILE: &str = "ptc_runner_mcp/upstreams.json";

/// The upstreams file of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLocation {
    /// The file.
    pub path: PathBuf,
    /// The origin of the name.
    pub named_by: NamedBy,
}

/// The origin of the upstreams file's name. A file that was named must exist; the default one need not (ruling 21).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedBy {
    /// `--upstreams-config`
    Flag,
    /// This environment variable.
    Variable(&'static str),
    /// The default place.
    Default,
}

impl std::fmt::Display for NamedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag => f.write_str("named by --upstreams-config"),
            Self::Variable(name) => write!(f, "named by {name}"),
            Self::Default => f.write_str("the default file"),
        }
    }
}

/// First hit of: the flag, `variable` ([`SERVER_VARIABLE`] or [`REPL_VARIABLE`]) if given, the default places
/// `$XDG_CONFIG_HOME` and `$HOME/.config`. `None` means that no upstreams are configured.
pub fn locate(
    flag: Option<&Path>,
    variable: Option<[&'static str; 2]>,
    env: &ProcessEnv,
) -> Option<ConfigLocation> {
    if let Some(path) = flag {
        return Some(ConfigLocation { path: path.to_owned(), named_by: NamedBy::Flag });
    }
    if let Some((name, path)) = variable.and_then(|names| env.first_set(names)) {
        return Some(ConfigLocation { path: path.into(), named_by: NamedBy::Variable(name) });
    }
    let candidates = [DEFAULT_FILE, FORMER_FILE].into_iter().flat_map(|file| {
        config_folders(env).into_iter().map(move |folder| folder.join(file)).collect::<Vec<_>>()
    });
    // A file that is there but cannot be looked at is an error of the operator's, to be reported by the reader.
    let path = candidates.into_iter().find(|path| path.try_exists().unwrap_or(true))?;
    Some(ConfigLocation { path, named_by: NamedBy::Default })
}

/// Where the default file would lie if there were one: below `$XDG_CONFIG_HOME`, else below `$HOME/.config`. `None` if
/// neither is set.
pub fn default_file(env: &ProcessEnv) -> Option<PathBuf> {
    config_folders(env).into_iter().next().map(|folder| folder.join(DEFAULT_FILE))
}

/// The folders for configuration of all programs, the first one first.
fn config_folders(env: &ProcessEnv) -> Vec<PathBuf> {
    let under = |name: &str, folder: &str| {
        let base = env.get(name).filter(|value| !value.is_empty())?;
        Some(Path::new(base).join(folder))
    };
    [under("XDG_CONFIG_HOME", ""), under("HOME", ".config")].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_then_variable_then_default() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".config/ptc_runner_mcp/upstreams.json");
        let home_text = home.path().to_str().unwrap();
        let base = [("HOME", home_text)];
        assert_eq!(locate(None, Some(SERVER_VARIABLE), &ProcessEnv::from_iter(base)), None);

        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "{}").unwrap();
        let env = ProcessEnv::from_iter([("HOME", home_text), (SERVER_VARIABLE[0], "")]);
        let found = locate(None, Some(SERVER_VARIABLE), &env).unwrap();
        assert_eq!(
            found,
            ConfigLocation { path: file, named_by: NamedBy::Default },
            "an empty variable is not set"
        );
        let newer = home.path().join(".config/ptc/upstreams.json");
        assert_eq!(default_file(&env), Some(newer.clone()));
        std::fs::create_dir_all(newer.parent().unwrap()).unwrap();
        std::fs::write(&newer, "{}").unwrap();
        assert_eq!(locate(None, None, &env).unwrap().path, newer, "the new place comes first");

        let env = ProcessEnv::from_iter([
            ("HOME", home_text),
            (SERVER_VARIABLE[1], "/var"),
            (REPL_VARIABLE[1], "/repl"),
        ]);
        let by_variable = locate(None, Some(SERVER_VARIABLE), &env).unwrap();
        assert_eq!(by_variable.path, Path::new("/var"));
        assert_eq!(by_variable.named_by.to_string(), "named by PTC_RUNNER_MCP_UPSTREAMS");
        assert_eq!(locate(None, Some(REPL_VARIABLE), &env).unwrap().path, Path::new("/repl"));
        let env = ProcessEnv::from_iter([("PTC_UPSTREAMS", "/new")]);
        for variable in [SERVER_VARIABLE, REPL_VARIABLE] {
            let by_variable = locate(None, Some(variable), &env).unwrap();
            assert_eq!(by_variable.named_by.to_string(), "named by PTC_UPSTREAMS");
        }
        let by_flag = locate(Some(Path::new("/flag")), Some(SERVER_VARIABLE), &env).unwrap();
        assert_eq!(by_flag, ConfigLocation { path: "/flag".into(), named_by: NamedBy::Flag });
    }

    #[test]
    fn xdg_config_home_comes_first_if_the_file_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let xdg = dir.path().join("xdg");
        let in_home = dir.path().join(".config").join(DEFAULT_FILE);
        let in_xdg = xdg.join(DEFAULT_FILE);
        std::fs::create_dir_all(in_home.parent().unwrap()).unwrap();
        std::fs::write(&in_home, "{}").unwrap();
        let env = ProcessEnv::from_iter([("HOME", dir.path()), ("XDG_CONFIG_HOME", &xdg)]);
        assert_eq!(locate(None, None, &env).unwrap().path, in_home);
        std::fs::create_dir_all(in_xdg.parent().unwrap()).unwrap();
        std::fs::write(&in_xdg, "{}").unwrap();
        assert_eq!(locate(None, None, &env).unwrap().path, in_xdg);
    }
}
