//! Drafts: programs that a model has proposed, until a person approves or discards them.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_host::digest::sha256_hex;
use ptc_host::engine::kept::ProgramFault;
use ptc_mcp::json::{Value as Json, from_slice, json};

use crate::link;
use crate::name::ProgramName;
use crate::program::{KeptProgram, MAX_FILE_BYTES, compile};

/// Most drafts of one principal.
pub const MAX_DRAFTS: usize = 64;
/// Most bytes of the drafts of one principal, as they lie in the store.
pub const MAX_DRAFT_BYTES: u64 = 8 << 20;
/// Largest record of a draft: its text, with escapes of JSON.
pub(crate) const MAX_RECORD_BYTES: u64 = 4 << 20;
/// The version of the record.
const VERSION: u64 = 1;
/// Characters of a description in lists.
const SHOWN_DESCRIPTION: usize = 200;

/// A program that a model has proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Its name.
    pub name: ProgramName,
    /// In whose conversation it was made.
    pub principal: Arc<str>,
    /// When, in RFC 3339.
    pub at: String,
    /// The whole text of the file that it would become.
    pub text: Arc<str>,
}

/// What a list shows of a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DraftSummary {
    /// Its name.
    pub name: ProgramName,
    /// In whose conversation it was made.
    pub principal: Arc<str>,
    /// When, in RFC 3339.
    pub at: String,
    /// SHA-256 of its text, in hex digits.
    pub digest: String,
    /// Bytes of its text.
    pub bytes: usize,
    /// The beginning of what it says of itself, or what is wrong with it.
    pub description: String,
}

impl Draft {
    /// SHA-256 of its text, in hex digits: that of the program that it would become.
    #[must_use]
    pub fn digest(&self) -> String {
        sha256_hex(self.text.as_bytes())
    }

    /// The program that it would become.
    ///
    /// # Errors
    /// What is wrong with it first.
    pub fn read(&self) -> Result<KeptProgram, ProgramFault> {
        KeptProgram::read(self.name.clone(), &self.text)
    }

    /// What a list shows of it.
    #[must_use]
    pub fn summary(&self) -> DraftSummary {
        let description = match self.read() {
            Ok(program) => program.head.description,
            Err(fault) => format!("it cannot be used: {fault}").into(),
        };
        DraftSummary {
            name: self.name.clone(),
            principal: self.principal.clone(),
            at: self.at.clone(),
            digest: self.digest(),
            bytes: self.text.len(),
            description: description.chars().take(SHOWN_DESCRIPTION).collect(),
        }
    }

    /// Its record.
    #[must_use]
    pub fn record(&self) -> String {
        json!({"version": VERSION, "name": self.name.as_str(), "principal": &*self.principal, "at": self.at, "text": &*self.text})
            .to_string()
    }

    /// The draft of a record that lies under `name`.
    ///
    /// # Errors
    /// It is none: a sentence without a subject.
    #[expect(clippy::disallowed_methods, reason = "entry point: Draft.of_record")]
    pub fn of_record(name: &ProgramName, record: &[u8]) -> Result<Draft, String> {
        let read: Json = from_slice(record).map_err(|_| "is no record of a draft".to_owned())?;
        if read["version"] != VERSION {
            return Err("was written by another version of ptc".to_owned());
        }
        let text = |key: &str| read[key].as_str().ok_or_else(|| format!("has no {key}"));
        if text("name")? != name.as_str() {
            return Err("was renamed".to_owned());
        }
        let source = text("text")?;
        if source.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("has a text of more than {MAX_FILE_BYTES} bytes"));
        }
        Ok(Draft {
            name: name.clone(),
            principal: text("principal")?.into(),
            at: text("at")?.to_owned(),
            text: source.into(),
        })
    }
}

/// The text of a program as it runs, with those among `served` that it calls. It compiles.
///
/// # Errors
/// It calls one that is not among them, they call each other in a circle, or it does not compile with them: a sentence.
pub fn linked_with(
    program: &KeptProgram,
    served: &BTreeMap<ProgramName, Arc<KeptProgram>>,
) -> Result<Arc<str>, String> {
    let called = link::called(program, &|by, name| {
        served.get(name).ok_or_else(|| format!("{} calls {name}, which is not served", by.name))
    })?;
    let text = link::linked(program, &called);
    if !program.calls.is_empty() {
        compile(&text).map_err(|fault| fault.to_string())?;
    }
    Ok(text)
}
