//! The lock: which programs are approved, and what was approved of them.
//!
//! It is JSON with a line for each program, and for each fact of the tools that they were approved with; it is made for a diff, and
//! stands beside the programs as `programs.lock`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use ptc_host::config::TEXT_BYTES;
use ptc_host::digest::{from_hex, hex};
use ptc_host::time;
use ptc_mcp::json::{Value as Json, from_str, json, repeated_key};
use ptc_vm::code::LANGUAGE_VERSION;

use crate::definition::{DefinitionTable, Definitions};
use crate::name::ProgramName;
use crate::program::KeptProgram;
use crate::signature::{LockSignature, SigningKey, VerifyingKey};

/// The name of the file.
pub const LOCK_FILE: &str = "programs.lock";
/// Largest lock, in bytes.
pub const MAX_LOCK_BYTES: u64 = 16 << 20;
/// Most bytes of a signature in a lock, with what stands around it.
const MAX_SIGNATURE_BYTES: u64 = 256;
/// The version of the format.
const VERSION: u64 = 1;
/// The highest revision: whole numbers of JSON are exact up to it.
pub const MAX_REVISION: u64 = 1 << 53;

/// The approvals of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramsLock {
    /// Grows by one with each change: of two locks, the one with the higher revision is newer.
    pub revision: u64,
    /// The approved programs.
    pub programs: BTreeMap<ProgramName, Arc<Approval>>,
}

/// A lock with its text, signed or not.
#[derive(Clone, Copy, Debug)]
pub struct WrittenLock<'a> {
    /// The lock.
    pub lock: &'a ProgramsLock,
    /// Its text, as it was written.
    pub text: &'a str,
}

/// What was approved of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// SHA-256 of its file, in hex digits.
    pub digest: Arc<str>,
    /// Those of the programs that it calls, directly or by another one.
    pub calls: BTreeMap<ProgramName, Arc<str>>,
    /// The version of the language's meaning.
    pub language: u16,
    /// The definitions of the tools that it may call.
    pub tools: Definitions,
    /// Who approved it, as far as that is known.
    pub by: String,
    /// When, in RFC 3339.
    pub at: String,
}

/// Why a lock cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockFault {
    /// It is cut, edited, or no lock.
    #[error("{0}; restore it from version control, or remove it and approve the programs again")]
    Unreadable(String),
    /// It is not signed, and signatures are required.
    #[error("it is not signed, and --programs-key requires a signature: approve with the private key")]
    Unsigned,
    /// Its signature is not one of the key.
    #[error(
        "its signature is not of the key that --programs-key names: it was edited, or signed with another key"
    )]
    Forged,
}

impl ProgramsLock {
    /// Reads the text of a lock. With a key it must be signed by that.
    ///
    /// # Errors
    /// It cannot be used.
    #[expect(clippy::disallowed_methods, reason = "entry point: ProgramsLock.parse")]
    pub fn parse(text: &str, key: Option<&VerifyingKey>) -> Result<ProgramsLock, LockFault> {
        let unreadable = |what: String| LockFault::Unreadable(what);
        let file: Json = from_str(text).map_err(|fault| unreadable(format!("it is no JSON: {fault}")))?;
        if let Some(twice) = repeated_key(text) {
            return Err(unreadable(format!("an object has the key {twice:?} twice")));
        }
        let number = |name: &str| file.get(name).and_then(Json::as_u64);
        match number("version") {
            Some(VERSION) => {}
            Some(other) => {
                return Err(unreadable(format!(
                    "it has version {other}, and this ptc reads version {VERSION}"
                )));
            }
            None => return Err(unreadable("it has no version".to_owned())),
        }
        let revision = number("revision").filter(|revision| *revision <= MAX_REVISION);
        let revision = revision.ok_or_else(|| {
            unreadable(format!("revision must be a whole number of at most {MAX_REVISION}"))
        })?;
        let programs = file.get("programs").and_then(Json::as_object);
        let programs = programs.ok_or_else(|| unreadable("programs must be an object".to_owned()))?;
        let definitions = DefinitionTable::of_json(file.get("definitions")).map_err(unreadable)?;
        let mut lock = ProgramsLock { revision, programs: BTreeMap::new() };
        for (name, approval) in programs {
            let told = |what: &str| unreadable(format!("programs.{name}: {what}"));
            let name = ProgramName::new(name).map_err(|fault| told(&fault.to_string()))?;
            lock.programs.insert(name, Approval::of_json(approval, &definitions).map_err(&told)?.into());
        }
        if let Some(key) = key {
            let signature = file.get("signature").and_then(Json::as_str).ok_or(LockFault::Unsigned)?;
            let signature = LockSignature::parse(signature).ok_or(LockFault::Forged)?;
            if !key.verifies(&lock.signed_text(), &signature) {
                return Err(LockFault::Forged);
            }
        }
        Ok(lock)
    }

    /// Refuses to change this lock, whose text is `text`, where it would lose its signature, or has the last revision there is.
    ///
    /// # Errors
    /// A sentence that says what to do.
    #[expect(clippy::disallowed_methods, reason = "entry point: ProgramsLock.check_change")]
    pub fn check_change(&self, text: &str, key: Option<&SigningKey>) -> Result<(), String> {
        if key.is_none() && from_str::<Json>(text).is_ok_and(|file| file.get("signature").is_some()) {
            return Err("the lock is signed: name the private key with --programs-key".to_owned());
        }
        if self.revision >= MAX_REVISION - 1 {
            let revision = self.revision;
            return Err(format!(
                "the revision {revision} of the lock is the last one there is; restore it from version control"
            ));
        }
        Ok(())
    }

    /// Its text, signed if there is a key.
    #[must_use]
    pub fn text(&self, key: Option<&SigningKey>) -> String {
        let mut text = self.signed_text();
        if let Some(key) = key {
            let signature = key.sign(&text);
            // Before the last brace.
            text.truncate(text.len() - "\n}\n".len());
            let _ = write!(text, ",\n  \"signature\": {}\n}}\n", json!(signature.to_string()));
        }
        text
    }

    /// The text without a signature, which is what is signed: with as much of the definitions as a lock may have.
    fn signed_text(&self) -> String {
        let definitions = DefinitionTable::of(self.programs.values().map(|approval| &approval.tools));
        let mut texts = TEXT_BYTES.into_iter().map(|most| self.text_with(&definitions, most));
        let text = texts.find(|text| text.len() as u64 + MAX_SIGNATURE_BYTES <= MAX_LOCK_BYTES);
        text.unwrap_or_else(|| self.text_with(&DefinitionTable::default(), 0))
    }

    fn text_with(&self, definitions: &DefinitionTable, most: usize) -> String {
        let mut text =
            format!("{{\n  \"version\": {VERSION},\n  \"revision\": {},\n  \"programs\": {{", self.revision);
        for (at, (name, approval)) in self.programs.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let _ = write!(text, "{comma}\n    \"{name}\": {}", approval.to_json());
        }
        text.push_str(if self.programs.is_empty() { "}" } else { "\n  }" });
        if !definitions.is_empty() {
            text.push_str(",\n  \"definitions\": ");
            definitions.write(&mut text, most);
        }
        text.push_str("\n}\n");
        text
    }

    /// The digests of the files that are needed to serve what it approves: those of its programs, and of programs that they call
    /// and nobody has approved.
    #[must_use]
    pub fn files(&self) -> BTreeMap<&ProgramName, &str> {
        let called = self.programs.values().flat_map(|approval| &approval.calls);
        let mut files: BTreeMap<&ProgramName, &str> =
            called.map(|(name, digest)| (name, &**digest)).collect();
        files.extend(self.programs.iter().map(|(name, approval)| (name, &*approval.digest)));
        files
    }

    /// The lock that approves a program, and is the next one.
    pub fn approve(&mut self, name: ProgramName, approval: Approval) {
        self.programs.insert(name, approval.into());
        self.revision += 1;
    }

    /// The lock without a program; whether it had it.
    pub fn withdraw(&mut self, name: &ProgramName) -> bool {
        let had = self.programs.remove(name).is_some();
        self.revision += u64::from(had);
        had
    }
}

impl Approval {
    fn of_json(approval: &Json, definitions: &DefinitionTable) -> Result<Approval, &'static str> {
        let text = |name: &str| approval.get(name).and_then(Json::as_str).map(str::to_owned);
        let digest =
            text("digest").filter(|digest| is_digest(digest)).ok_or("digest must have 64 hex digits")?;
        let pairs = |name: &str| match approval.get(name) {
            None => Some(Vec::new()),
            Some(pairs) => {
                let pair = |(key, value): (&String, &Json)| Some((key.clone(), value.as_str()?.to_owned()));
                pairs.as_object()?.iter().map(pair).collect::<Option<Vec<_>>>()
            }
        };
        let calls = pairs("calls").ok_or("calls must be an object of digests")?;
        let calls =
            calls.into_iter().map(|(name, digest)| Some((ProgramName::new(&name).ok()?, digest.into())));
        let tools = pairs("tools").and_then(|tools| {
            let tools = tools.into_iter().map(|(reference, digest)| {
                let definition = definitions.find(&reference, from_hex(&digest)?);
                Some((reference, definition))
            });
            tools.collect::<Option<Definitions>>()
        });
        Ok(Approval {
            digest: digest.into(),
            calls: calls.collect::<Option<_>>().ok_or("calls must have names of programs")?,
            language: approval
                .get("language")
                .and_then(Json::as_u64)
                .and_then(|version| u16::try_from(version).ok())
                .ok_or("language must be a whole number")?,
            tools: tools.ok_or("tools must be an object of digests")?,
            by: text("by").unwrap_or_default(),
            at: text("at").unwrap_or_default(),
        })
    }

    fn to_json(&self) -> Json {
        let calls: ptc_mcp::json::Map =
            self.calls.iter().map(|(name, digest)| (name.to_string(), json!(&**digest))).collect();
        let tools: ptc_mcp::json::Map =
            self.tools.iter().map(|(tool, of)| (tool.clone(), json!(hex(&of.digest)))).collect();
        json!({
            "digest": &*self.digest, "calls": calls, "language": self.language, "tools": tools, "by": self.by, "at": self.at,
        })
    }

    /// The time of an approval that is made now: [`at`](Self::at), in whole seconds.
    ///
    /// # Errors
    /// The clock has no such time: a sentence.
    pub fn now() -> Result<String, String> {
        let at = jiff::Timestamp::try_from(time::time_of_day()).map_err(|error| error.to_string())?;
        Ok(jiff::Timestamp::from_second(at.as_second()).unwrap_or(at).to_string())
    }

    /// `2026-01-31T12:00:00Z by ann`
    #[must_use]
    pub fn when_and_by(&self) -> String {
        let by = if self.by.is_empty() { String::new() } else { format!(" by {}", self.by) };
        format!("{}{by}", self.at)
    }

    /// What of a program is not as it was approved; `None` if it all is. `digest_of` gives the digests of the others.
    #[must_use]
    pub fn misfit(
        &self,
        program: &KeptProgram,
        digest_of: impl Fn(&ProgramName) -> Option<Arc<str>>,
    ) -> Option<ApprovalMisfit> {
        if self.digest != program.digest {
            return Some(ApprovalMisfit::Text);
        }
        if self.language != LANGUAGE_VERSION {
            return Some(ApprovalMisfit::Language(self.language));
        }
        let called = program.calls.iter().find(|called| !self.calls.contains_key(*called));
        let changed = self.calls.iter().find(|(name, digest)| digest_of(name).as_ref() != Some(digest));
        called.or(changed.map(|(name, _)| name)).map(|name| ApprovalMisfit::Called(name.clone()))
    }
}

/// What of a program differs from what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalMisfit {
    /// Its own text.
    Text,
    /// It was approved under another version of the language.
    Language(u16),
    /// A program that it calls has changed or is gone.
    Called(ProgramName),
}

impl std::fmt::Display for ApprovalMisfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ApprovalMisfit::Text => f.write_str("its text has changed since it was approved"),
            ApprovalMisfit::Language(version) => {
                write!(
                    f,
                    "it was approved for version {version} of the language, and this ptc has {LANGUAGE_VERSION}"
                )
            }
            ApprovalMisfit::Called(name) => {
                write!(f, "{name}, which it calls, has changed or is gone since it was approved")
            }
        }
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Definition;
    use ptc_host::config::{PinnedTool, ToolDefinition};

    fn definition(name: &str, description: &str) -> Definition {
        Definition::of(PinnedTool::of(&ToolDefinition {
            name,
            title: None,
            description,
            input_schema: &json!({"type": "object"}),
            output_schema: None,
            annotations: None,
            operation: None,
        }))
    }

    fn lock() -> ProgramsLock {
        let approval = Approval {
            digest: "a".repeat(64).into(),
            calls: [(ProgramName::new("other").unwrap(), "b".repeat(64).into())].into(),
            language: LANGUAGE_VERSION,
            tools: ["billing/list", "crm/list", "crm/log"]
                .map(|tool| (tool.to_owned(), definition(tool.split_once('/').unwrap().1, "Lists.\nAll.")))
                .into(),
            by: "ann".into(),
            at: "2026-01-31T12:00:00Z".into(),
        };
        let mut lock = ProgramsLock::default();
        lock.approve(ProgramName::new("report").unwrap(), approval.clone());
        lock.approve(ProgramName::new("audit").unwrap(), approval);
        lock
    }

    #[test]
    fn a_lock_is_read_as_it_was_written_with_a_line_for_each_program() {
        let lock = lock();
        let text = lock.text(None);
        assert_eq!(ProgramsLock::parse(&text, None).unwrap(), lock);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[5].starts_with("    \"report\": {\"digest\":") && lines[6] == "  },", "{text}");
        assert_eq!(lines[7..9], ["  \"definitions\": {", "    \"list\": {"]);
        assert_eq!(lines.len(), 22, "tools that are the same stand there once: {text}");
        assert!(lines[10].starts_with("        \"description\": {\"sha256\": \""), "{text}");
        assert!(text.lines().nth(4).unwrap().starts_with("    \"audit\": {\"digest\":"), "{text}");
        let empty = ProgramsLock::default();
        assert_eq!(ProgramsLock::parse(&empty.text(None), None).unwrap(), empty);
    }

    #[test]
    fn a_lock_that_was_cut_or_edited_is_refused() {
        let text = lock().text(None);
        for (text, fault) in [
            (text[..text.len() / 2].to_owned(), "it is no JSON: "),
            (
                text.replace("\"version\": 1", "\"version\": 2"),
                "it has version 2, and this ptc reads version 1",
            ),
            (text.replace("\"revision\": 2", "\"revision\": -2"), "revision must be a whole number"),
            (
                text.replace("\"revision\": 2", "\"revision\": 9007199254740993"),
                "revision must be a whole number of at most 9007199254740992",
            ),
            (text.replace(&"a".repeat(64), "abc"), "programs.audit: digest must have 64 hex digits"),
            (text.replace("\"report\"", "\"audit\""), "an object has the key \"audit\" twice"),
            ("{}".to_owned(), "it has no version"),
            (text.replace("All.", "None."), "description of definitions.list is not what its sha256 says"),
            (
                text.replacen("\"log\"", "\"lag\"", 1),
                "definitions.lag: a definition is not what its digest says",
            ),
            (text.replace("{\"sha256\"", "[],{\"sha256\""), "it is no JSON: "),
        ] {
            let told = ProgramsLock::parse(&text, None).unwrap_err().to_string();
            assert!(
                told.starts_with(fault) && told.ends_with("remove it and approve the programs again"),
                "{told}"
            );
        }
    }

    #[test]
    fn a_lock_has_as_much_of_the_definitions_as_it_may() {
        let mut lock = lock();
        let mut approval = (*lock.programs[&ProgramName::new("report").unwrap()]).clone();
        let long = "x".repeat(60_000);
        approval.tools = (0..400).map(|n| (format!("a/t{n}"), definition(&format!("t{n}"), &long))).collect();
        lock.approve(ProgramName::new("report").unwrap(), approval);
        let key = SigningKey::generate().unwrap();
        let text = lock.text(Some(&key));
        assert!(text.len() < 1 << 20 && !text.contains("xxx") && text.contains("Lists."), "{}", text.len());
        assert_eq!(ProgramsLock::parse(&text, Some(&key.verifying())).unwrap(), lock);
    }

    #[test]
    fn a_lock_without_definitions_is_read_as_one_of_digests() {
        let mut old = lock();
        for approval in old.programs.values_mut() {
            Arc::make_mut(approval).tools.values_mut().for_each(|definition| definition.tool = None);
        }
        let key = SigningKey::generate().unwrap();
        let text = old.text(Some(&key));
        assert!(!text.contains("definitions"), "{text}");
        assert_eq!(ProgramsLock::parse(&text, Some(&key.verifying())).unwrap(), old);
    }

    #[test]
    fn a_signed_lock_is_of_its_key_alone() {
        let (key, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        let text = lock().text(Some(&key));
        assert_eq!(ProgramsLock::parse(&text, Some(&key.verifying())).unwrap(), lock());
        assert_eq!(ProgramsLock::parse(&text, None).unwrap(), lock(), "who requires none reads it too");
        assert_eq!(ProgramsLock::parse(&text, Some(&other.verifying())), Err(LockFault::Forged));
        let edited = text.replace("\"ann\"", "\"bob\"");
        assert_eq!(ProgramsLock::parse(&edited, Some(&key.verifying())), Err(LockFault::Forged));
        assert_eq!(ProgramsLock::parse(&lock().text(None), Some(&key.verifying())), Err(LockFault::Unsigned));
    }

    #[test]
    fn a_change_leaves_no_lock_that_nobody_can_use() {
        let key = SigningKey::generate().unwrap();
        let (signed, unsigned) = (lock().text(Some(&key)), lock().text(None));
        for (text, key, is_allowed) in [
            (&signed, Some(&key), true),
            (&unsigned, Some(&key), true),
            (&unsigned, None, true),
            (&signed, None, false),
        ] {
            assert_eq!(lock().check_change(text, key).is_ok(), is_allowed, "{text}");
        }
        let last = ProgramsLock { revision: MAX_REVISION - 1, ..lock() };
        assert!(last.check_change(&unsigned, None).unwrap_err().contains("9007199254740991"));
    }
}
