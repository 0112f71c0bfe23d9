//! The lock: a JSON file beside the upstreams file, with a line for each fact of each tool.
//!
//! ```text
//! {
//! "lock": 1,
//! "file": "upstreams.json",
//! "upstreams": {
//!   "files": {
//!     "read": {
//!       "description": {"sha256": "…", "value": "Reads a file."},
//!       "input_schema": {"sha256": "…", "value": {"type":"object"}}
//!     }
//!   }
//! }
//! }
//! ```
//!
//! A fact whose text would make the file too large has its digest alone.

use super::super::duplicates::UniqueKeys;
use super::definition::{PinnedFact, PinnedTool, ToolFact};
use ptc_base::config_error::ConfigError;
use ptc_base::ordinary_file;
use ptc_base::visible::visible_line;
use ptc_mcp::json::{Map, Value};
use ptc_secret::digest::{from_hex, hex};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest lock, in bytes.
const MAX_LOCK_BYTES: usize = 16 << 20;
/// Longest text of a fact that the lock keeps, in bytes: the first with which the lock is not too large.
pub const TEXT_BYTES: [usize; 3] = [65_536, 4_096, 0];
/// The form of the file.
const FORM: u64 = 1;

/// The lock of an upstreams file: its name with `.lock` for what follows the last dot.
#[must_use]
pub fn lock_file(upstreams_file: &Path) -> PathBuf {
    upstreams_file.with_extension("lock")
}

/// The accepted tools of each upstream, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinLock {
    /// The name of the upstreams file that it is of; `None` if it was written before locks said it.
    pub file: Option<String>,
    /// Of each upstream that is pinned, its tools by name.
    pub upstreams: BTreeMap<String, BTreeMap<String, PinnedTool>>,
}

impl PinLock {
    /// Reads the lock of an upstreams file; `None` if there is none.
    ///
    /// # Errors
    /// It cannot be read, is no whole lock, or is that of another file beside this one. The text names the place and says what
    /// to do.
    pub fn of(upstreams_file: &Path) -> Result<Option<Self>, ConfigError> {
        let path = lock_file(upstreams_file);
        let Some(lock) = Self::read(&path)? else { return Ok(None) };
        match lock.other_file(upstreams_file) {
            None => Ok(Some(lock)),
            Some(other) => Err(ConfigError::lock_of_another(format_args!(
                "the lock {} is that of {}, and {} would have the same one: give one of the two files another name, then: ptc pin",
                path.display(),
                visible_line(other),
                upstreams_file.display()
            ))),
        }
    }

    /// The file beside this one whose lock this is. A file that was renamed keeps its lock: there is no other one then.
    fn other_file(&self, upstreams_file: &Path) -> Option<&str> {
        let name =
            self.file.as_deref().filter(|name| upstreams_file.file_name() != Some(OsStr::new(name)))?;
        let other = upstreams_file.with_file_name(name);
        let is_beside =
            other.file_name() == Some(OsStr::new(name)) && lock_file(&other) == lock_file(upstreams_file);
        let (this, other) = (fs::canonicalize(upstreams_file).ok(), fs::canonicalize(other).ok()?);
        (is_beside && this.as_ref() != Some(&other)).then_some(name)
    }

    /// Says whose lock it is.
    pub fn name_file(&mut self, upstreams_file: &Path) {
        self.file = upstreams_file.file_name().and_then(OsStr::to_str).map(str::to_owned);
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: PinLock.read")]
    fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        let text = match ordinary_file::read_text(path, MAX_LOCK_BYTES as u64) {
            Ok(text) => text,
            Err(fault) if fault.is_absent() => return Ok(None),
            Err(fault) => return Err(unreadable(path, None, &fault.to_string())),
        };
        Self::from_text(&text, path).map(Some)
    }

    /// Reads the text of the lock at `path`.
    ///
    /// # Errors
    /// It is no whole lock. The text names the line and says what to do.
    pub fn from_text(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::parse(text).map_err(|fault| unreadable(path, fault.line, &fault.text))
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: PinLock.parse")]
    fn parse(text: &str) -> Result<Self, LockFault> {
        if text.trim().is_empty() {
            return Err(LockFault { line: None, text: "the file is empty".to_owned() });
        }
        let syntax = |error: serde_json::Error| {
            let line = Some(error.line()).filter(|line| *line > 0);
            let text = error.to_string();
            // The line stands in front.
            let text = text.split(" at line ").next().unwrap_or(&text).to_owned();
            LockFault { line, text }
        };
        serde_json::from_str::<UniqueKeys>(text).map_err(syntax)?;
        let value: Value = serde_json::from_str(text).map_err(syntax)?;
        let form = value.get("lock");
        if form.and_then(Value::as_u64) != Some(FORM) {
            let found = form.map_or_else(|| "none".to_owned(), Value::to_string);
            return Err(LockFault::new(format!("it has the form {found}, and this version reads {FORM}")));
        }
        let file = match value.get("file") {
            None => None,
            Some(Value::String(file)) => Some(file.clone()),
            Some(_) => return Err(LockFault::new("file must be a text".to_owned())),
        };
        let upstreams = object(value.get("upstreams"), "upstreams")?;
        let mut lock = Self { file, ..Self::default() };
        for (upstream, tools) in upstreams {
            let mut pinned = BTreeMap::new();
            for (name, facts) in object(Some(tools), upstream)? {
                let place = format!("{upstream}/{name}");
                pinned.insert(name.clone(), read_tool(name, object(Some(facts), &place)?, &place, text)?);
            }
            lock.upstreams.insert(upstream.clone(), pinned);
        }
        Ok(lock)
    }

    /// The text of the lock. Upstreams, tools and facts are sorted, and hidden characters are escaped.
    ///
    /// # Errors
    /// It would be larger than a lock may be: one sentence.
    pub fn text(&self) -> Result<String, String> {
        let texts = TEXT_BYTES.into_iter().map(|most| self.text_with(most));
        texts.into_iter().find(|text| text.len() <= MAX_LOCK_BYTES).ok_or_else(|| {
            format!(
                "the lock would be larger than {MAX_LOCK_BYTES} bytes; leave tools out with allow_tools or deny_tools"
            )
        })
    }

    fn text_with(&self, most: usize) -> String {
        let mut out = format!("{{\n\"lock\": {FORM},\n");
        if let Some(file) = &self.file {
            // Writing to a string does not fail.
            let _ = writeln!(out, "\"file\": {},", visible_line(&Value::from(file.as_str()).to_string()));
        }
        out.push_str("\"upstreams\": ");
        write_tools(&mut out, 1, &self.upstreams, most);
        out.push_str("\n}\n");
        out
    }
}

/// Writes tools, each by two keys, as an object with a line for each fact. Its members are indented by `depth` levels. `most`: bytes of
/// the longest text of a fact that is written.
pub fn write_tools<T: Borrow<PinnedTool>>(
    out: &mut String,
    depth: usize,
    tools: &BTreeMap<String, BTreeMap<String, T>>,
    most: usize,
) {
    write_members(out, depth, tools.iter(), |out, tools| {
        write_members(out, depth + 1, tools.iter(), |out, tool| {
            let facts = tool.borrow().facts().map(|(fact, pinned)| (fact.as_str(), pinned));
            write_members(out, depth + 2, facts, |out, pinned| {
                let _ = write!(out, "{{\"sha256\": \"{}\"", hex(&pinned.digest));
                if let Some(json) = pinned.json.as_ref().filter(|json| json.len() <= most) {
                    let _ = write!(out, ", \"value\": {}", visible_line(json));
                }
                out.push('}');
            });
        });
    });
}

impl PinnedTool {
    /// Reads the facts of a tool, as [`write_tools`] writes them. `place` names it in a fault.
    ///
    /// # Errors
    /// They are no facts, or not what their digests say: the part of a sentence.
    pub fn of_facts(name: &str, facts: &Value, place: &str) -> Result<Self, String> {
        let facts = object(Some(facts), place).and_then(|facts| read_tool(name, facts, place, ""));
        facts.map_err(|fault| fault.text)
    }
}

/// Writes an object with a line for each member.
fn write_members<K: AsRef<str>, V>(
    out: &mut String,
    depth: usize,
    members: impl ExactSizeIterator<Item = (K, V)>,
    write_value: impl Fn(&mut String, V),
) {
    if members.len() == 0 {
        return out.push_str("{}");
    }
    let mut separator = '{';
    for (key, value) in members {
        out.push(separator);
        separator = ',';
        let key = Value::from(key.as_ref()).to_string();
        // Writing to a string does not fail.
        let _ = write!(out, "\n{}{}: ", "  ".repeat(depth), visible_line(&key));
        write_value(out, value);
    }
    let _ = write!(out, "\n{}}}", "  ".repeat(depth - 1));
}

/// Why a text is no lock.
struct LockFault {
    line: Option<usize>,
    text: String,
}

impl LockFault {
    fn new(text: String) -> Self {
        Self { line: None, text }
    }
}

/// The refusal of a lock: where, what, and what to do.
fn unreadable(path: &Path, line: Option<usize>, fault: &str) -> ConfigError {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    ConfigError::lock(format_args!(
        "the lock {}{line} cannot be used: {}. Restore it, or remove it and accept all tools anew: ptc pin",
        path.display(),
        visible_line(fault)
    ))
}

fn object<'v>(value: Option<&'v Value>, place: &str) -> Result<&'v Map, LockFault> {
    match value {
        Some(Value::Object(map)) => Ok(map),
        _ => Err(LockFault::new(format!("{place} must be an object"))),
    }
}

/// The tool of these facts. `text` is that of the lock.
fn read_tool(name: &str, facts: &Map, place: &str, text: &str) -> Result<PinnedTool, LockFault> {
    let mut pinned = BTreeMap::new();
    for (key, value) in facts {
        let fact = ToolFact::from_key(key).ok_or_else(|| {
            LockFault::new(format!("{place} has {key:?}, which this version does not know"))
        })?;
        let written = value.get("sha256").and_then(Value::as_str).unwrap_or_default();
        let digest = from_hex(written)
            .ok_or_else(|| LockFault::new(format!("{key} of {place} has no sha256 of 64 hex digits")))?;
        let json = match value.get("value") {
            None => None,
            Some(value) => {
                let of_value = PinnedFact::of(value);
                if of_value.digest != digest {
                    let line = text.lines().position(|line| line.contains(written)).map(|at| at + 1);
                    let text = format!("{key} of {place} is not what its sha256 says");
                    return Err(LockFault { line, text });
                }
                of_value.json
            }
        };
        pinned.insert(fact, PinnedFact { digest, json });
    }
    Ok(PinnedTool::new(name, pinned))
}

#[cfg(test)]
mod tests {
    use super::super::definition::tests::tool;
    use super::*;
    use ptc_mcp::json::json;

    fn lock() -> PinLock {
        let schema =
            json!({"type": "object", "properties": {"b": {}, "a": {"description": "hid\u{200b}den"}}});
        let tools = [tool("write", "Writes.\nTwo lines.", &schema), tool("read", "", &schema)];
        let tools = tools.map(|tool| (tool.name().to_owned(), tool)).into_iter().collect();
        let upstreams = [("files".to_owned(), tools), ("empty".to_owned(), BTreeMap::new())].into();
        PinLock { file: Some("upstreams.json".to_owned()), upstreams }
    }

    fn fault(text: &str) -> String {
        let fault = PinLock::parse(text).unwrap_err();
        format!("{}: {}", fault.line.unwrap_or(0), fault.text)
    }

    #[test]
    fn a_lock_reads_as_it_was_written() {
        let text = lock().text().unwrap();
        assert_eq!(PinLock::parse(&text).ok(), Some(lock()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..4], ["{", "\"lock\": 1,", "\"file\": \"upstreams.json\",", "\"upstreams\": {"]);
        assert_eq!(lines[4..7], ["  \"empty\": {},", "  \"files\": {", "    \"read\": {"]);
        assert!(lines[7].starts_with("      \"input_schema\": {\"sha256\": \""), "{}", lines[7]);
        assert!(
            text.contains("hid\\u200bden") && text.contains(r#""value": "Writes.\nTwo lines.""#),
            "{text}"
        );
        assert!(text.ends_with("    }\n  }\n}\n}\n"), "{text}");
        // A line of its own for each fact: a change of one is one line.
        let mut changed = lock();
        let files = changed.upstreams.get_mut("files").unwrap();
        files.insert("read".to_owned(), tool("read", "", &json!({"type": "object"})));
        let changed = changed.text().unwrap();
        assert_eq!(text.lines().zip(changed.lines()).filter(|(a, b)| a != b).count(), 1);
    }

    #[test]
    fn a_lock_that_was_cut_or_changed_is_refused_with_its_line() {
        let text = lock().text().unwrap();
        for cut in (1..text.trim_end().len()).filter(|at| text.is_char_boundary(*at)) {
            assert!(PinLock::parse(&text[..cut]).is_err(), "{}", &text[..cut]);
        }
        assert_eq!(fault(&text[..text.len() / 2]).split(':').nth(1).unwrap(), " EOF while parsing a string");
        assert_eq!(fault(""), "0: the file is empty");
        assert_eq!(fault("{\n\n<<<<<<< ours"), "3: key must be a string");
        assert_eq!(fault("{}"), "0: it has the form none, and this version reads 1");
        assert_eq!(fault(r#"{"lock": 2}"#), "0: it has the form 2, and this version reads 1");
        assert_eq!(fault(r#"{"lock": 1}"#), "0: upstreams must be an object");
        assert_eq!(fault(r#"{"lock": 1, "file": 1, "upstreams": {}}"#), "0: file must be a text");
        assert_eq!(fault(r#"{"lock": 1, "upstreams": {"a": 1}}"#), "0: a must be an object");
        assert_eq!(fault(r#"{"lock": 1, "upstreams": {"a": {"b": []}}}"#), "0: a/b must be an object");
        let edited = text.replace("Writes.", "Writes, and sends.");
        assert_eq!(fault(&edited), "11: description of files/write is not what its sha256 says");
        let unknown = text.replace("\"description\": {\"sha", "\"prose\": {\"sha");
        assert_eq!(fault(&unknown), "0: files/write has \"prose\", which this version does not know");
        assert!(
            fault(&text.replace("\"sha256\": \"", "\"sha256\": \"0"))
                .contains("has no sha256 of 64 hex digits")
        );
        let twice = text.replacen("\"write\"", "\"read\"", 1);
        assert!(fault(&twice).contains("the key \"read\" stands twice in one object"), "{}", fault(&twice));
    }

    #[test]
    fn long_texts_are_left_out_and_keep_their_digest() {
        let long = "x".repeat(70_000);
        let tools = (0..300).map(|n| tool(&format!("t{n}"), &long[..60_000 + n], &json!({})));
        let tools: BTreeMap<_, _> = tools.map(|tool| (tool.name().to_owned(), tool)).collect();
        let lock = PinLock { upstreams: [("s".to_owned(), tools)].into(), ..PinLock::default() };
        let text = lock.text().unwrap();
        assert!(text.len() < 1 << 20, "{}", text.len());
        assert_eq!(PinLock::parse(&text).ok(), Some(lock));
        let one = tool("t", &long, &json!({}));
        let lock = PinLock {
            upstreams: [("s".to_owned(), [("t".to_owned(), one)].into())].into(),
            ..PinLock::default()
        };
        assert!(lock.text().unwrap().len() < 1000);
    }

    #[test]
    fn the_lock_lies_beside_its_file() {
        for (file, lock) in [
            ("/etc/ptc/upstreams.json", "/etc/ptc/upstreams.lock"),
            ("upstreams.jsonc", "upstreams.lock"),
            ("a/servers", "a/servers.lock"),
        ] {
            assert_eq!(lock_file(Path::new(file)), Path::new(lock));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("u.lock");
        assert_eq!(PinLock::read(&path).unwrap(), None);
        std::fs::write(&path, "{\n\"lock\": 1").unwrap();
        let fault = PinLock::read(&path).unwrap_err().to_string();
        let place = format!("the lock {}:2 cannot be used: EOF while parsing an object. ", path.display());
        assert_eq!(fault, place + "Restore it, or remove it and accept all tools anew: ptc pin");
        std::fs::create_dir(folder.path().join("d.lock")).unwrap();
        let fault = PinLock::read(&folder.path().join("d.lock")).unwrap_err().to_string();
        assert!(fault.contains("it is no ordinary file"), "{fault}");
    }

    #[test]
    fn a_lock_is_of_the_file_that_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let [json, jsonc] = ["a.json", "a.jsonc"].map(|name| folder.path().join(name));
        let write = |lock: &PinLock| fs::write(lock_file(&json), lock.text().unwrap()).unwrap();
        let mut lock = PinLock::default();
        lock.name_file(&json);
        write(&lock);
        // The file may have been renamed together with its lock.
        fs::write(&jsonc, "").unwrap();
        assert_eq!(PinLock::of(&jsonc).unwrap(), Some(lock.clone()));
        fs::write(&json, "").unwrap();
        assert_eq!(PinLock::of(&json).unwrap(), Some(lock));
        let told = PinLock::of(&jsonc).unwrap_err();
        assert_eq!(
            told.to_string(),
            format!(
                "the lock {} is that of a.json, and {} would have the same one: give one of the two files another name, then: ptc pin",
                lock_file(&json).display(),
                jsonc.display()
            )
        );
        // What names no file, or one whose lock is another one, is the lock of whoever finds it.
        for file in [None, Some("b.json"), Some("../a.json"), Some("")] {
            let lock = PinLock { file: file.map(str::to_owned), ..PinLock::default() };
            write(&lock);
            fs::write(folder.path().join("b.json"), "").unwrap();
            assert_eq!(PinLock::of(&jsonc).unwrap(), Some(lock), "{file:?}");
        }
        // Another name of the same file is no other file.
        fs::remove_file(&jsonc).unwrap();
        std::os::unix::fs::symlink(&json, &jsonc).unwrap();
        let mut lock = PinLock::default();
        lock.name_file(&json);
        write(&lock);
        assert_eq!(PinLock::of(&jsonc).unwrap(), Some(lock));
    }
}
