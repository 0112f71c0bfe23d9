//! Takes secrets out of what a bug report shows.
//!
//! Of an upstreams file, texts stay only under keys that cannot hold a secret; all others go, whatever they look like. What
//! went is then searched for in everything else.

use std::path::Path;

use ptc_host::credentials::{REDACTED, Redactor, Secret};
use ptc_mcp::json::{Map, Value};
use url::Url;

use crate::cli::setup::atomic_file;

/// Keys of entries, credentials and lists of tools whose texts, and lists of texts, stay.
const PLAIN: [&str; 26] = [
    "transport",
    "command",
    "cd",
    "cwd",
    "inherit_env",
    "protocol",
    "log_level",
    "source",
    "var",
    "path",
    "scheme_hint",
    "approve",
    "approve_tools",
    "approve_level",
    "allow_tools",
    "deny_tools",
    "allow_resources",
    "deny_resources",
    "allow_prompts",
    "deny_prompts",
    "allow",
    "deny",
    "list",
    "resources",
    "prompts",
    "binding",
];
/// Launchers whose first word that is no option names a package.
const LAUNCHERS: [&str; 4] = ["npx", "uvx", "bunx", "pnpx"];

/// The secrets that were taken out, to be searched for in all other texts.
#[derive(Default)]
pub(super) struct Removed(Vec<Secret>);

impl Removed {
    /// Notes a text that must not appear.
    pub(super) fn note(&mut self, text: &str) {
        self.0.push(Secret::new(text));
    }

    /// Notes the lines of a file, and what stands behind `name:` in one.
    pub(super) fn note_file(&mut self, path: &Path) {
        let Ok(Some(text)) = atomic_file::read(path) else { return };
        for line in text.lines().map(str::trim) {
            self.note(line);
            if let Some((_, token)) = line.split_once(':') {
                self.note(token.trim());
            }
        }
    }

    /// Replaces them in a whole value, and whatever URLs hold besides their origin.
    ///
    /// # Errors
    /// They are more than can be searched for.
    pub(super) fn scrub(&self, value: &mut Value) -> Result<(), String> {
        let redactor = Redactor::new();
        redactor.register(&self.0).map_err(|error| error.to_string())?;
        shorten_urls(value);
        redactor.scrub_json(value);
        Ok(())
    }

    /// An upstreams file without its secrets.
    pub(super) fn upstreams_file(&mut self, file: Map) -> Value {
        let mut file = Value::Object(file);
        self.object(&mut Vec::new(), &mut file);
        file
    }

    /// Takes the texts out of the values of an object at a place of the file.
    fn object(&mut self, place: &mut Vec<String>, value: &mut Value) {
        let Value::Object(map) = value else { return };
        let keys: Vec<&str> = place.iter().map(String::as_str).collect();
        // Elsewhere keys are names that the operator chose, such as those of headers and variables.
        let is_structure = matches!(
            keys[..],
            [] | ["approval"] | ["upstreams" | "credentials", _] | ["profiles", _, "upstreams", _]
        );
        let is_names =
            matches!(keys[..], ["upstreams" | "credentials" | "profiles"] | ["profiles", _, "upstreams"]);
        let launches = map.get("command").and_then(Value::as_str).is_some_and(is_launcher);
        for (key, value) in map {
            match value {
                Value::Array(words) if is_structure && key == "args" => self.arguments(words, launches),
                Value::Object(_) => {
                    place.push(key.clone());
                    self.object(place, value);
                    place.pop();
                }
                value => self.leaf(key, is_structure && !is_names, value),
            }
        }
    }

    /// Takes a text or the texts of a list out, unless the key is one of [`PLAIN`].
    fn leaf(&mut self, key: &str, is_structure: bool, value: &mut Value) {
        match value {
            Value::String(text) => {
                let shown = match origin(text) {
                    Some(origin) => origin,
                    None if is_reference(text) || is_structure && stays(key, text) => return,
                    None => REDACTED.to_owned(),
                };
                if *text != shown {
                    self.note(text);
                    *text = shown;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.leaf(key, is_structure, item)),
            // A place that is none of an object above: what lies in lists is none of ours.
            Value::Object(_) => self.object(&mut vec![String::new()], value),
            Value::Number(_) if !is_structure => *value = REDACTED.into(),
            Value::Number(_) | Value::Bool(_) | Value::Null => {}
        }
    }

    /// Of arguments stay the names of options, and the package of a launcher.
    fn arguments(&mut self, words: &mut [Value], launches: bool) {
        let mut package = launches;
        for word in words {
            let Value::String(text) = word else { continue };
            if package && !text.starts_with('-') {
                package = false;
                if is_package(text) {
                    continue;
                }
            }
            let shown = match text.split_once('=') {
                Some((option, _)) if is_option(option) => format!("{option}={REDACTED}"),
                None if is_option(text) => continue,
                _ => REDACTED.to_owned(),
            };
            self.note(text);
            if let Some((_, value)) = text.split_once(['=', ':']) {
                self.note(value.trim());
            }
            *text = shown;
        }
    }
}

/// `${NAME}`, which is no secret itself.
fn is_reference(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(is_variable)
}

fn is_variable(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Whether the text of a key of the structure stays. A name of a variable in small letters may be a secret that stands in its
/// place, and a command with blanks may hold anything.
fn stays(key: &str, text: &str) -> bool {
    match key {
        "var" | "inherit_env" => is_variable(text),
        "command" => !text.contains(|c: char| c.is_whitespace() || c == '='),
        key => PLAIN.contains(&key),
    }
}

fn is_launcher(command: &str) -> bool {
    Path::new(command)
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| LAUNCHERS.contains(&name))
}

/// `-y`, `--api-key`: never `-pPASSWORD`.
fn is_option(word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(name) => name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
        None => word.len() <= 2 && word.starts_with('-'),
    }
}

/// `@scope/name@1.2.3`, of short words: a random token is longer.
fn is_package(word: &str) -> bool {
    const LONGEST_WORD: usize = 19;
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"@/.-_".contains(&byte);
    word.bytes().all(is_plain) && word.split(['@', '/', '.', '-', '_']).all(|part| part.len() <= LONGEST_WORD)
}

/// A URL without anything that may be secret: `https://h.example/…` of one with user, path, query or fragment. `None` if the
/// text is no URL.
pub(in crate::cli) fn origin(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let Ok(url) = Url::parse(text) else {
        // What is no whole URL, for instance because it names variables, may have anything in it.
        return Some(format!("{scheme}://{REDACTED}"));
    };
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let host = url.host_str().unwrap_or_default();
    let more = if rest.trim_end_matches('/') == format!("{host}{port}") { "" } else { "/…" };
    Some(format!("{}://{host}{port}{more}", url.scheme()))
}

/// Leaves the origins of the URLs in all texts of a value.
fn shorten_urls(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("://") => {
            let words = text.split(' ').map(|word| shortened(word).unwrap_or_else(|| word.to_owned()));
            *text = words.collect::<Vec<_>>().join(" ");
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_urls),
        Value::Object(map) => map.values_mut().for_each(shorten_urls),
        _ => {}
    }
}

/// A word of a text with a URL in it, which may stand in quotes or brackets.
fn shortened(word: &str) -> Option<String> {
    let at = word.find("://")?;
    let start = word.get(..at)?.rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |before| {
        before + word.get(before..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
    });
    let (before, url) = word.split_at_checked(start)?;
    let bare = url.trim_end_matches([')', ']', '"', '\'', '`', ',', ';', ':', '.']);
    let behind = url.get(bare.len()..)?;
    Some(format!("{before}{}{behind}", origin(bare)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_mcp::json::json;

    #[test]
    fn urls_keep_their_origin() {
        for (text, shown) in [
            ("https://h.example", Some("https://h.example")),
            ("https://h.example:8443/", Some("https://h.example:8443")),
            ("https://u:hunter2@h.example", Some("https://h.example/…")),
            ("https://h.example/T00/B00/hunter2", Some("https://h.example/…")),
            ("https://h.example?key=hunter2#hunter2", Some("https://h.example/…")),
            ("http://${HOST HUNTER}/x", Some("http://[REDACTED]")),
            ("no URL", None),
        ] {
            assert_eq!(origin(text).as_deref(), shown, "{text}");
        }
    }

    #[test]
    fn urls_within_texts_keep_their_origin() {
        let mut value = json!({"message": "cannot reach \"https://u:hunter2@h.example/x?k=1\": refused, see (http://a.b/c)."});
        Removed::default().scrub(&mut value).unwrap();
        assert_eq!(value["message"], "cannot reach \"https://h.example/…\": refused, see (http://a.b/…).");
    }

    #[test]
    fn of_arguments_options_and_packages_stay() {
        let entry = json!({"upstreams": {"x": {
            "command": "/usr/bin/npx",
            "args": ["-y", "@mcp/server-github@2025.4.8", "--api-key=hunter2", "--token", "hunter2", "-phunter2", "TOKEN=hunter2"],
        }}});
        let Value::Object(file) = entry else { unreachable!("an object") };
        let shown = Removed::default().upstreams_file(file);
        assert_eq!(
            shown["upstreams"]["x"]["args"],
            json!([
                "-y",
                "@mcp/server-github@2025.4.8",
                "--api-key=[REDACTED]",
                "--token",
                "[REDACTED]",
                "[REDACTED]",
                "[REDACTED]"
            ])
        );
        let other = json!({"upstreams": {"x": {"command": "server", "args": ["hunter2", "--name"]}}});
        let Value::Object(file) = other else { unreachable!("an object") };
        assert_eq!(
            Removed::default().upstreams_file(file)["upstreams"]["x"]["args"],
            json!(["[REDACTED]", "--name"])
        );
    }

    #[test]
    fn names_of_headers_and_variables_are_no_keys_of_ours() {
        let entry = json!({
            "transport": "mcp_http", "url": "https://h.example/hunter2", "max_concurrency": 4, "allow_tools": ["a*"],
            "env": {"path": "hunter2", "PIN": 4711}, "static_headers": {"transport": "hunter2"}, "description": "hunter2",
            "auth": {"client": {"source": "hunter2"}}, "roots": [{"path": "hunter2"}],
        });
        let file = json!({"upstreams": {"list": entry}, "credentials": {"k": {"var": "hunter2", "path": "/run/key"}}});
        let Value::Object(file) = file else { unreachable!("an object") };
        let shown = Removed::default().upstreams_file(file);
        assert!(!shown.to_string().contains("hunter2") && !shown.to_string().contains("4711"), "{shown}");
        let entry = &shown["upstreams"]["list"];
        assert_eq!((&entry["transport"], &entry["allow_tools"]), (&json!("mcp_http"), &json!(["a*"])));
        assert_eq!((&entry["url"], &entry["max_concurrency"]), (&json!("https://h.example/…"), &json!(4)));
        assert_eq!(shown["credentials"]["k"]["path"], "/run/key");
    }

    #[test]
    fn what_was_taken_out_of_the_file_is_found_elsewhere() {
        let mut removed = Removed::default();
        let entry = json!({"credentials": {"k": {"source": "literal", "value": "correct horse battery"}}});
        let Value::Object(file) = entry else { unreachable!("an object") };
        let shown = removed.upstreams_file(file);
        assert_eq!(shown["credentials"]["k"], json!({"source": "literal", "value": "[REDACTED]"}));
        let mut log = json!({"reason": "got correct horse battery"});
        removed.scrub(&mut log).unwrap();
        assert_eq!(log["reason"], "got [REDACTED]");
    }
}
