//! The settings file of a server: options by their names, in TOML.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Path, PathBuf};

use ptc_host::config::ProcessEnv;
use ptc_host::ordinary_file;
use ptc_host::similar::most_similar;
use ptc_host::visible::visible_line;
use toml_edit::{Document, InlineTable, Item, Value};

use super::flags::{ALL, Flag, ValueKind, find};
use ptc_protocol::settings::BootError;

/// Largest file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Options that a settings file cannot have, as they name it or are read before it.
pub(crate) const OUTSIDE: [&str; 2] = ["config", "env-file"];

/// Options whose text is a secret: the file names a variable in its place.
pub(crate) const SECRET: [&str; 1] = ["http-auth-token"];

/// What a settings file says, by option. Without a file, nothing.
#[derive(Debug, Default)]
pub struct SettingsFile {
    path: PathBuf,
    settings: BTreeMap<&'static str, FileSetting>,
}

/// What it says of one option.
#[derive(Debug)]
struct FileSetting {
    /// The texts that the option would have on the command line: one, or those of a list.
    texts: Vec<OsString>,
    line: usize,
    /// The variable that it names, whose value this is.
    variable: Option<String>,
}

impl SettingsFile {
    /// Reads a file. Relative paths in it are those from its folder; `env` has the variables that it names.
    ///
    /// # Errors
    /// Why it cannot be read, or the first setting that is wrong: `FILE:LINE:COLUMN: …`.
    #[expect(clippy::disallowed_methods, reason = "entry point: SettingsFile.read")]
    pub fn read(path: &Path, env: &ProcessEnv) -> Result<SettingsFile, BootError> {
        let text = ordinary_file::read_text(path, MAX_FILE_BYTES);
        let text =
            text.map_err(|fault| BootError::new(format!("settings file {}: {fault}", path.display())))?;
        SettingsFile::parse(&text, path, env)
    }

    /// Reads the text of a file at `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, path: &Path, env: &ProcessEnv) -> Result<SettingsFile, BootError> {
        let reader = Reader { text, path, env };
        let document = Document::parse(text).map_err(|fault| {
            let message = fault.message().lines().collect::<Vec<_>>().join(": ");
            reader.error(fault.span(), format_args!("{}", visible_line(&message)))
        })?;
        let mut settings = BTreeMap::new();
        for (key, item) in document.as_table() {
            let at = document.as_table().key(key).and_then(|key| key.span()).or_else(|| item.span());
            let flag = reader.flag(key, at.clone())?;
            let (line, _) = reader.place(at);
            let variable = item.as_inline_table().and_then(|reference| reference.get("env")?.as_str());
            let variable = variable.map(|name| visible_line(name).into_owned());
            let setting = FileSetting { texts: reader.texts(flag, item)?, line, variable };
            settings.insert(flag.name, setting);
        }
        Ok(SettingsFile { path: path.to_owned(), settings })
    }

    /// The texts of an option, if the file has it.
    pub(super) fn texts(&self, name: &str) -> Option<&[OsString]> {
        self.settings.get(name).map(|setting| setting.texts.as_slice())
    }

    /// Whether an option's text stands in the file itself, and not in a variable that it names.
    pub(super) fn spells_out(&self, name: &str) -> bool {
        self.settings.get(name).is_some_and(|setting| setting.variable.is_none())
    }

    /// These variables, and one for each option that the file sets and they do not: for what reads variables and no settings file.
    pub(crate) fn as_variables(&self, env: &ProcessEnv) -> ProcessEnv {
        let own = self.settings.iter().filter(|(name, _)| find(name).in_environment(env).is_none());
        let own = own.map(|(name, setting)| {
            let [variable, _] = find(name).variables();
            (OsString::from(variable), setting.texts.join(OsStr::new(",")))
        });
        let given = env.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        given.chain(own).collect()
    }

    /// Where the file says what it says of an option: `ptc.toml:3`.
    pub(super) fn line(&self, name: &str) -> Option<String> {
        let setting = self.settings.get(name)?;
        Some(format!("{}:{}", self.path.display(), setting.line))
    }

    /// The same, for messages: `http-port in ptc.toml:3`, `http-port in ptc.toml:3 (variable PORT)`.
    pub(super) fn place(&self, name: &str) -> Option<String> {
        let variable = self.settings.get(name)?.variable.as_ref();
        let variable = variable.map_or_else(String::new, |variable| format!(" (variable {variable})"));
        Some(format!("{name} in {}{variable}", self.line(name)?))
    }
}

/// The text of a file, for errors.
struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    env: &'a ProcessEnv,
}

impl Reader<'_> {
    /// Line and column, from 1, of the beginning of a span.
    fn place(&self, span: Option<Range<usize>>) -> (usize, usize) {
        let before = self.text.get(..span.map_or(0, |span| span.start)).unwrap_or(self.text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }

    fn error(&self, span: Option<Range<usize>>, detail: std::fmt::Arguments<'_>) -> BootError {
        let (line, column) = self.place(span);
        BootError::new(format!("{}:{line}:{column}: {detail}", self.path.display()))
    }

    /// The option of a key.
    fn flag(&self, key: &str, at: Option<Range<usize>>) -> Result<&'static Flag, BootError> {
        let flags = || ALL.iter().flat_map(|group| group.flags).filter(|flag| !OUTSIDE.contains(&flag.name));
        if let Some(flag) = flags().find(|flag| flag.name == key) {
            return Ok(flag);
        }
        if OUTSIDE.contains(&key) {
            return Err(self.error(
                at,
                format_args!("{key} cannot stand in a settings file, which is read after it; give --{key} or its variable"),
            ));
        }
        let near = most_similar(key, flags().map(|flag| flag.name));
        let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
        Err(self.error(at, format_args!("\"{}\" is no option of ptc start{near}", visible_line(key))))
    }

    /// The texts of an option's value.
    fn texts(&self, flag: &Flag, item: &Item) -> Result<Vec<OsString>, BootError> {
        let Some(value) = item.as_value() else {
            return Err(self.wrong(flag, item.span(), "a table"));
        };
        match (flag.kind, value) {
            (_, Value::InlineTable(reference)) => Ok(vec![self.variable(flag, reference)?]),
            _ if SECRET.contains(&flag.name) => Err(self.error(
                value.span(),
                format_args!("{0} is a secret; write {0}-file, or {0} = {{ env = \"VARIABLE\" }}", flag.name),
            )),
            (ValueKind::Switch, Value::Boolean(flag)) => Ok(vec![flag.value().to_string().into()]),
            (ValueKind::Positive | ValueKind::HttpPositive | ValueKind::Clamped, Value::Integer(number)) => {
                Ok(vec![number.value().to_string().into()])
            }
            (ValueKind::Text, Value::String(text)) => Ok(vec![text.value().into()]),
            (ValueKind::Path, Value::String(text)) => Ok(vec![self.in_folder(text.value())]),
            (ValueKind::List, Value::Array(items)) => {
                let text = |item: &Value| match item.as_str() {
                    Some(text) => Ok(text.into()),
                    None => Err(self.wrong(flag, item.span(), item.type_name())),
                };
                items.iter().map(text).collect()
            }
            _ => Err(self.wrong(flag, value.span(), value.type_name())),
        }
    }

    /// The value of the variable that `{ env = "NAME" }` names.
    fn variable(&self, flag: &Flag, reference: &InlineTable) -> Result<OsString, BootError> {
        let name = reference.get("env").and_then(Value::as_str).filter(|_| reference.len() == 1);
        let Some(name) = name else {
            return Err(self.wrong(flag, reference.span(), "another table"));
        };
        let value = self.env.first_set([name]).map(|(_, value)| value.to_owned());
        let shown = visible_line(name);
        let unset = || {
            self.error(
                reference.span(),
                format_args!("{} needs the variable {shown}, which is not set", flag.name),
            )
        };
        value.ok_or_else(unset)
    }

    fn wrong(&self, flag: &Flag, span: Option<Range<usize>>, found: &str) -> BootError {
        let wanted = match flag.kind {
            ValueKind::Switch => "true or false",
            ValueKind::Positive | ValueKind::HttpPositive | ValueKind::Clamped => "an integer",
            ValueKind::Text | ValueKind::Path => "a string",
            ValueKind::List => "a list of strings",
        };
        self.error(
            span,
            format_args!("{} must be {wanted} or {{ env = \"VARIABLE\" }}, got {found}", flag.name),
        )
    }

    /// A path of the file.
    fn in_folder(&self, path: &str) -> OsString {
        match self.path.parent() {
            // What is empty means that the option is not given.
            Some(folder) if !path.is_empty() => folder.join(path).into_os_string(),
            _ => path.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SettingsFile, String> {
        let env = ProcessEnv::from_iter([("TOKEN", "from the variable")]);
        SettingsFile::parse(text, Path::new("/etc/ptc/ptc.toml"), &env).map_err(|fault| fault.to_string())
    }

    #[test]
    fn options_stand_under_their_names() {
        let file = "# The team's server\nhttp = true\nhttp-port = 8_080\nupstreams-config = \"upstreams.json\"\n\
            http-allowed-origin = [\"https://a.example\", \"https://b.example\"]\nhttp-auth-token = { env = \"TOKEN\" }\n\
            state-dir = \"/var/lib/ptc\"\n";
        let file = parse(file).unwrap();
        let text = |name: &str| file.texts(name).map(|texts| texts[0].to_str().unwrap());
        assert_eq!((text("http"), text("http-port")), (Some("true"), Some("8080")));
        assert_eq!(text("upstreams-config"), Some("/etc/ptc/upstreams.json"));
        assert_eq!(text("state-dir"), Some("/var/lib/ptc"));
        assert_eq!(text("http-auth-token"), Some("from the variable"));
        assert_eq!(file.texts("http-allowed-origin").unwrap().len(), 2);
        assert_eq!(text("http-host"), None);
        assert!(file.spells_out("http-port") && !file.spells_out("http-auth-token"));
        assert_eq!(file.place("http-port").unwrap(), "http-port in /etc/ptc/ptc.toml:3");
        let by_variable = "http-auth-token in /etc/ptc/ptc.toml:6 (variable TOKEN)";
        assert_eq!(file.place("http-auth-token").unwrap(), by_variable);
        let env = file.as_variables(&ProcessEnv::from_iter([("PTC_HTTP_PORT", "7"), ("HOME", "/h")]));
        assert_eq!((env.text("PTC_HTTP_PORT"), env.text("HOME")), (Some("7"), Some("/h")));
        assert_eq!(env.text("PTC_UPSTREAMS"), Some("/etc/ptc/upstreams.json"));
        assert_eq!(env.text("PTC_HTTP_ALLOWED_ORIGIN"), Some("https://a.example,https://b.example"));
    }

    #[test]
    fn faults_are_told_with_their_place() {
        for (text, fault) in [
            ("http-prot = 1", "1:1: \"http-prot\" is no option of ptc start; did you mean http-port?"),
            ("\n[http]\nport = 1", "2:1: http must be true or false or { env = \"VARIABLE\" }, got a table"),
            ("http-port = \"1\"", "1:13: http-port must be an integer or { env = \"VARIABLE\" }, got string"),
            ("http = 1", "1:8: http must be true or false or { env = \"VARIABLE\" }, got integer"),
            ("expose = [1]", "1:11: expose must be a list of strings or { env = \"VARIABLE\" }, got integer"),
            (
                "http-auth-token = \"x\"",
                "1:19: http-auth-token is a secret; write http-auth-token-file, or http-auth-token = { env = \"VARIABLE\" }",
            ),
            ("public-url = { env = \"NONE\" }", "1:14: public-url needs the variable NONE, which is not set"),
            (
                "public-url = { file = \"x\" }",
                "1:14: public-url must be a string or { env = \"VARIABLE\" }, got another table",
            ),
            (
                "config = \"x\"",
                "1:1: config cannot stand in a settings file, which is read after it; give --config or its variable",
            ),
            ("http = true\nhttp = false", "2:1: duplicate key"),
        ] {
            assert_eq!(parse(text).err(), Some(format!("/etc/ptc/ptc.toml:{fault}")), "{text}");
        }
        assert!(parse("http =").unwrap_err().starts_with("/etc/ptc/ptc.toml:1:"));
    }
}
