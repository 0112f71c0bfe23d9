//! Faults of an upstreams file with their places: the sentences of its reader and of its JSON schema.
//!
//! The reader ends at the first fault of an entry and knows no places. The schema (`docs/schema/upstreams.schema.json`,
//! which editors use as well) sees everything at once, but nothing beyond the form. [`file_faults`] puts both together.

mod path;
mod validate;

use std::fmt;

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use ptc_mcp::json::Value;

use self::path::Path;
use self::validate::{FileMisfit, FileSchema};
use super::clients;
use super::file::decode;
use ptc_base::config_error::{ConfigError, ConfigPart};

const SCHEMA: &str = include_str!("../../../../docs/schema/upstreams.schema.json");

/// The fault at one place of an upstreams file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFault {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// A sentence that names the place by its keys or its upstream, and never shows a secret.
    pub message: String,
}

/// `12:5 upstreams.files.args must be a list, got a string`
impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}", self.line, self.column, self.message)
    }
}

/// All faults of the upstreams file of this text, in the order of its lines. `refusal` is the reader's error, if it refuses the
/// file. Empty if there are no places: the text is no JSON, the file of an MCP client, or the fault is that of the lock.
#[expect(clippy::disallowed_methods, reason = "entry point: file_faults()")]
pub fn file_faults(text: &str, refusal: Option<&ConfigError>) -> Vec<FileFault> {
    if refusal.is_some_and(|refusal| matches!(refusal.part, ConfigPart::Lock | ConfigPart::LockOfAnother)) {
        return Vec::new();
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Ok(file) = decode(text.as_bytes(), "") else { return Vec::new() };
    let is_clients = file
        .as_object()
        .is_some_and(|top| !top.contains_key("upstreams") && clients::servers_of(top).is_some());
    if is_clients {
        return Vec::new();
    }
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let Some(tree) = parsed.ok().and_then(|parsed| parsed.value) else { return Vec::new() };
    let Ok(schema) = serde_json::from_str::<Value>(SCHEMA) else { return Vec::new() };

    let said: Vec<(Path, &ConfigError)> =
        refusal.into_iter().flat_map(ConfigError::each).map(|fault| (place(fault, &file), fault)).collect();
    let at = |path: &Path, to_key: bool, message: String| {
        let (line, column) = position(text, path.offset(&tree, to_key));
        FileFault { line, column, message }
    };
    let Ok(schema) = FileSchema::read(&schema) else { return Vec::new() };
    let misfits = schema.misfits(&file);
    let mut faults = Vec::new();
    for (path, fault) in &said {
        // What the key may have been typed as is known to the schema only.
        let hints = misfits.iter().filter(|misfit| misfit.is_key && tells(fault, misfit));
        let hint = hints.map(FileMisfit::hint).find(|hint| !hint.is_empty());
        let message = fault.own_message();
        let hint = hint.filter(|_| !message.contains("did you mean")).unwrap_or_default();
        faults.push(at(path, true, format!("{message}{hint}")));
    }
    for misfit in misfits.iter().filter(|misfit| !said.iter().any(|(_, fault)| tells(fault, misfit))) {
        let FileMisfit { path, is_key, detail, .. } = misfit;
        let shown = if *path == Path::default() { "the file".to_owned() } else { path.to_string() };
        faults.push(at(path, *is_key, format!("{shown} {detail}{}", misfit.hint())));
    }
    faults.sort_by_key(|fault| (fault.line, fault.column));
    faults
}

/// The subject of the reader's sentence, as precisely as possible: a key that it names, else the whole entry.
fn place(fault: &ConfigError, file: &Value) -> Path {
    let root = Path::default();
    let whole = match &fault.part {
        ConfigPart::File | ConfigPart::EnvFile | ConfigPart::Lock | ConfigPart::LockOfAnother => root,
        ConfigPart::Credentials => root.key("credentials"),
        ConfigPart::Upstream(name) => root.key("upstreams").key(name),
    };
    let content = match &fault.part {
        ConfigPart::File | ConfigPart::EnvFile | ConfigPart::Lock | ConfigPart::LockOfAnother => Some(file),
        ConfigPart::Credentials => file.get("credentials"),
        ConfigPart::Upstream(name) => file.get("upstreams").and_then(|upstreams| upstreams.get(name)),
    };
    let detail = detail(fault);
    let keys = content.and_then(Value::as_object).into_iter().flat_map(|map| map.keys());
    let named = keys.filter_map(|key| Some((first_word(detail, key)?, key))).min();
    named.map_or(whole.clone(), |(_, key)| whole.key(key))
}

/// Whether the reader's sentence covers the misfit.
fn tells(fault: &ConfigError, misfit: &FileMisfit) -> bool {
    let same_part = match &fault.part {
        ConfigPart::Upstream(name) => {
            misfit.path.key_at(0) == Some("upstreams") && misfit.path.key_at(1) == Some(name)
        }
        ConfigPart::Credentials => misfit.path.key_at(0) == Some("credentials"),
        ConfigPart::File | ConfigPart::EnvFile | ConfigPart::Lock | ConfigPart::LockOfAnother => {
            misfit.path.key_at(1).is_none()
        }
    };
    let named = |key| first_word(detail(fault), key).is_some();
    let entry = match &fault.part {
        ConfigPart::Credentials => misfit.path.key_at(1),
        _ => None,
    };
    let keys = [misfit.path.key_at(2), misfit.path.last_key(), entry];
    // A misfit of the whole entry has no key below it.
    same_part && (misfit.path.key_at(2).is_none() || keys.into_iter().flatten().any(named))
}

/// The reader's sentence without the name of the upstream, which may be that of a key.
fn detail(fault: &ConfigError) -> &str {
    let message = fault.own_message();
    match &fault.part {
        ConfigPart::Upstream(name) => message
            .strip_prefix("upstream ")
            .and_then(|rest| rest.strip_prefix(name.as_str()))
            .unwrap_or(message),
        _ => message,
    }
}

/// Where `text` has `word` as a word.
fn first_word(text: &str, word: &str) -> Option<usize> {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(word).map(|(at, _)| at).find(|at| {
        !text[..*at].ends_with(inside) && !text[at + word.len()..].starts_with(inside) && !word.is_empty()
    })
}

/// Line and column of a place in `text`, both from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

#[cfg(test)]
mod tests;
