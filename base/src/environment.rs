//! The process environment as a value, and the optional `--env-file` on top of it (ruling 32).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::config_error::ConfigError;
use crate::ordinary_file;

/// Largest `--env-file` that is read, in bytes.
const MAX_ENV_FILE_BYTES: u64 = 1024 * 1024;

/// Environment variables, taken once at start. Everything that reads a variable reads it here, so that an env file can
/// add to it (changing the real environment of a threaded process is not safe) and tests need not touch their own.
#[derive(Clone, Default)]
pub struct ProcessEnv {
    vars: BTreeMap<OsString, OsString>,
}

/// Shows names only: values may be secrets.
impl std::fmt::Debug for ProcessEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.vars.keys()).finish()
    }
}

impl ProcessEnv {
    /// The environment of this process.
    pub fn current() -> Self {
        Self { vars: std::env::vars_os().collect() }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// The value of a variable if it is non-empty UTF-8 text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(OsStr::to_str).filter(|text| !text.is_empty())
    }

    /// The first of these variables that is set and not empty, with its name.
    pub fn first_set<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<(&'n str, &OsStr)> {
        let mut set = names.into_iter().filter_map(|name| Some((name, self.get(name)?)));
        set.find(|(_, value)| !value.is_empty())
    }

    /// All variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Adds the variables of an env file. A variable that is set already keeps its value, even if that is empty.
    ///
    /// # Errors
    /// If the file cannot be read, a line is malformed, or it names a variable that an env file must not set.
    #[expect(clippy::disallowed_methods, reason = "entry point: ProcessEnv.add_file")]
    pub fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let shown = path.display();
        let fail = |detail: std::fmt::Arguments<'_>| {
            ConfigError::env_file(format_args!("env file {shown}: {detail}"))
        };
        let text = ordinary_file::read_text(path, MAX_ENV_FILE_BYTES);
        let text = text.map_err(|fault| fail(format_args!("{fault}")))?;
        for (name, value) in parse_env_file(&text).map_err(|detail| fail(format_args!("{detail}")))? {
            self.vars.entry(name.into()).or_insert_with(|| value.into());
        }
        Ok(())
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for ProcessEnv {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(vars: I) -> Self {
        Self { vars: vars.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

/// Parses `NAME=value` lines. Blank lines and `#` lines are skipped, `export ` may stand in front, and a value may be
/// quoted: `'…'` is literal, `"…"` decodes `\n \r \t \" \\ \$`. An unquoted value ends at ` #`. Nothing is expanded.
/// Error texts give the line number and never the value.
fn parse_env_file(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut vars = Vec::new();
    for (number, line) in (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").map_or(line, str::trim_start);
        let Some((name, value)) = line.split_once('=') else {
            return Err(format!("line {number} is not NAME=value"));
        };
        let name = name.trim_end();
        if !is_variable_name(name) {
            return Err(format!("line {number} does not start with a variable name"));
        }
        if is_protected(name) {
            return Err(format!(
                "line {number} sets {name}, which an env file must not set; put it into the environment itself"
            ));
        }
        let value = parse_value(value.trim_start()).map_err(|detail| format!("line {number}: {detail}"))?;
        if value.contains('\0') {
            return Err(format!("line {number} contains NUL"));
        }
        vars.push((name.to_owned(), value));
    }
    Ok(vars)
}

fn parse_value(text: &str) -> Result<String, &'static str> {
    let rest_is_comment = |rest: &str| rest.trim_start().is_empty() || rest.trim_start().starts_with('#');
    if let Some(body) = text.strip_prefix('\'') {
        let (value, rest) = body.split_once('\'').ok_or("the quoted value has no end")?;
        return if rest_is_comment(rest) {
            Ok(value.to_owned())
        } else {
            Err("text after the closing quote")
        };
    }
    let Some(body) = text.strip_prefix('"') else {
        let end =
            text.match_indices('#').map(|(i, _)| i).find(|i| text[..*i].ends_with([' ', '\t']) || *i == 0);
        return Ok(text[..end.unwrap_or(text.len())].trim_end().to_owned());
    };
    let mut value = String::with_capacity(body.len());
    let mut chars = body.chars();
    loop {
        match chars.next().ok_or("the quoted value has no end")? {
            '"' => break,
            '\\' => match chars.next().ok_or("the quoted value has no end")? {
                'n' => value.push('\n'),
                'r' => value.push('\r'),
                't' => value.push('\t'),
                c @ ('"' | '\\' | '$') => value.push(c),
                other => value.extend(['\\', other]),
            },
            c => value.push(c),
        }
    }
    if rest_is_comment(chars.as_str()) { Ok(value) } else { Err("text after the closing quote") }
}

/// `[A-Za-z_][A-Za-z0-9_]*`
pub fn is_variable_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Variables that steer which code runs, which server is trusted, or this product itself.
fn is_protected(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    upper == "PATH"
        || ["LD_", "PTC_", "SSL_CERT_"].iter().any(|prefix| upper.starts_with(prefix))
        || is_proxy_name(&upper)
}

/// `HTTP_PROXY` and its kin; `upper` is in upper case.
pub fn is_proxy_name(upper: &str) -> bool {
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY"].contains(&upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<(String, String)> {
        parse_env_file(text).unwrap()
    }

    #[test]
    fn reads_the_usual_syntax() {
        let vars = parse(
            "\u{feff}# comment\n\nA=1\r\nexport B = two words  # note\nC='#${A} lit'\nD=\"x\\ny \\\"q\\\" \\$A\" # c\nE=\nF=a#b\nG=#gone\n",
        );
        let expected = [
            ("A", "1"),
            ("B", "two words"),
            ("C", "#${A} lit"),
            ("D", "x\ny \"q\" $A"),
            ("E", ""),
            ("F", "a#b"),
            ("G", ""),
        ];
        assert_eq!(vars, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }

    #[test]
    fn errors_name_the_line_and_not_the_value() {
        assert_eq!(parse_env_file("A=1\nsekrit").unwrap_err(), "line 2 is not NAME=value");
        assert_eq!(parse_env_file("9A=sekrit").unwrap_err(), "line 1 does not start with a variable name");
        assert_eq!(parse_env_file("A=\"sekrit").unwrap_err(), "line 1: the quoted value has no end");
        assert_eq!(parse_env_file("A='sekrit' x").unwrap_err(), "line 1: text after the closing quote");
    }

    #[test]
    fn refuses_variables_that_steer_the_process() {
        for name in [
            "PATH",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "PTC_HTTP",
            "PTC_RUNNER_MCP_HTTP",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "http_proxy",
            "HTTPS_PROXY",
            "no_proxy",
            "ALL_PROXY",
        ] {
            let text = parse_env_file(&format!("{name}=v")).unwrap_err();
            assert!(text.starts_with(&format!("line 1 sets {name}, which")), "{text}");
        }
    }

    #[test]
    fn a_file_adds_and_never_overrides() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "SET=file\nEMPTY=file\nNEW=file\n").unwrap();
        let mut env = ProcessEnv::from_iter([("SET", "real"), ("EMPTY", "")]);
        env.add_file(file.path()).unwrap();
        assert_eq!(env.text("SET"), Some("real"));
        assert_eq!(env.get("EMPTY"), Some(OsStr::new("")));
        assert_eq!(env.text("NEW"), Some("file"));
        let error = env.add_file(Path::new("/nonexistent/.env")).unwrap_err();
        assert_eq!(error.to_string(), "env file /nonexistent/.env: no such file or directory");
    }

    #[test]
    fn debug_shows_names_only() {
        assert_eq!(format!("{:?}", ProcessEnv::from_iter([("A", "sekrit")])), r#"{"A"}"#);
    }
}
