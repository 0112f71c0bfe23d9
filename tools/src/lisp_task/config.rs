//! The operator's file with turns and prompt texts (server.md 9.2).

use std::path::Path;

use ptc_mcp::json::{Map, Value, json};

use ptc_host::digest::sha256_hex;
use ptc_host::ordinary_file;
use ptc_protocol::settings::BootError;
use ptc_protocol::settings::Planner;

/// Largest file of the operator that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Longest prefix or suffix, in bytes.
const MAX_TEXT: usize = 4096;
const ALLOWED: &str =
    "Allowed keys: max_turns, retry_turns, system_prompt. Allowed system_prompt keys: prefix, suffix.";
const RESERVED: [&str; 6] =
    ["tools", "signature", "output", "ptc_transport", "completion_mode", "trace_context"];

/// Turns and the operator's texts, from flags, file and defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannerConfig {
    /// Most programs of a task.
    pub max_turns: u32,
    /// Additional programs after a failure.
    pub retry_turns: u32,
    /// Text before the sections on the language.
    pub prefix: Option<String>,
    /// Text before the closing section.
    pub suffix: Option<String>,
}

impl PlannerConfig {
    /// Reads the file that the settings name, if any. Flags and environment take precedence. Logs the effective values
    /// and the size of `summary`, the upstream summary for callers.
    ///
    /// # Errors
    /// The fault of the file.
    pub fn load(settings: &Planner, summary: &str) -> Result<PlannerConfig, BootError> {
        let file = match &settings.subagent_config {
            None => Map::new(),
            Some(path) => {
                read(path).map_err(|text| BootError::new(format!("agentic_subagent_config: {text}")))?
            }
        };
        let from_file = |key: &str| file.get(key).and_then(Value::as_u64);
        let bounded = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let turns = settings.max_turns.or_else(|| from_file("max_turns")).unwrap_or(1);
        let retries = settings.retry_turns.or_else(|| from_file("retry_turns")).unwrap_or(0);
        let text = |key: &str| {
            let text = file.get("system_prompt")?.get(key)?.as_str()?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let config = PlannerConfig {
            max_turns: bounded(turns),
            retry_turns: bounded(retries),
            prefix: text("prefix"),
            suffix: text("suffix"),
        };
        let (applied, defaulted) = config.sources(settings, &file);
        let summary = json!({"bytes": summary.len(), "hash": &sha256_hex(summary.as_bytes())[..16]});
        tracing::info!(
            event = "agentic_config",
            subagent_config = %settings.subagent_config.as_deref().unwrap_or(Path::new("")).display(),
            applied = %applied,
            defaulted = %defaulted,
            capability_summary = %summary,
        );
        Ok(config)
    }

    /// The values that are set, with their sources, and those left at their defaults. Texts are never logged.
    fn sources(&self, settings: &Planner, file: &Map) -> (Value, Value) {
        let [max_turns, retry_turns] = settings.turns_from;
        let source = |given: Option<&'static str>, key: &str| match (given, file.contains_key(key)) {
            (Some(given), _) => Some(given),
            (None, true) => Some("config_file"),
            (None, false) => None,
        };
        let (mut applied, mut defaulted) = (Map::new(), Map::new());
        for (key, value, source) in [
            ("max_turns", self.max_turns, source(settings.max_turns.map(|_| max_turns), "max_turns")),
            (
                "retry_turns",
                self.retry_turns,
                source(settings.retry_turns.map(|_| retry_turns), "retry_turns"),
            ),
        ] {
            match source {
                Some(source) => applied.insert(key.into(), json!({"value": value, "source": source})),
                None => defaulted.insert(key.into(), value.into()),
            };
        }
        applied.insert("allow_writes".into(), settings.allow_writes.into());
        let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        applied.insert("system_prompt_prefix_bytes".into(), bytes(&self.prefix).into());
        applied.insert("system_prompt_suffix_bytes".into(), bytes(&self.suffix).into());
        (applied.into(), defaulted.into())
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
fn read(path: &Path) -> Result<Map, String> {
    let shown = path.display();
    let text = ordinary_file::read_text(path, MAX_FILE_BYTES);
    let text = text.map_err(|fault| format!("cannot read {shown}: {fault}"))?;
    let value: Value =
        ptc_mcp::json::from_str(&text).map_err(|error| format!("malformed JSON in {shown}: {error}"))?;
    let Value::Object(file) = value else { return Err(format!("{shown} must contain a JSON object")) };
    let reserved = |key: &&String| RESERVED.contains(&key.as_str()) || key.starts_with('_');
    let join = |keys: Vec<&String>| keys.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    let found: Vec<&String> = file.keys().filter(reserved).collect();
    if !found.is_empty() {
        return Err(format!(
            "{shown} contains reserved key(s): {}. {ALLOWED} Reserved keys are MCP-controlled and cannot be set here.",
            join(found)
        ));
    }
    let known = ["max_turns", "retry_turns", "system_prompt"];
    let unknown: Vec<&String> = file.keys().filter(|key| !known.contains(&key.as_str())).collect();
    if !unknown.is_empty() {
        return Err(format!("{shown} contains unknown key(s): {}. {ALLOWED}", join(unknown)));
    }
    if file.get("max_turns").is_some_and(|turns| turns.as_u64().is_none_or(|turns| turns == 0)) {
        return Err(format!("{shown} key max_turns must be a positive integer"));
    }
    if file.get("retry_turns").is_some_and(|turns| turns.as_u64().is_none()) {
        return Err(format!("{shown} key retry_turns must be a non-negative integer"));
    }
    match file.get("system_prompt") {
        None | Some(Value::Null) => {}
        Some(Value::Object(prompt)) => {
            let unknown: Vec<&String> =
                prompt.keys().filter(|key| !["prefix", "suffix"].contains(&key.as_str())).collect();
            if !unknown.is_empty() {
                return Err(format!(
                    "{shown} contains unknown system_prompt key(s): {}. {ALLOWED}",
                    join(unknown)
                ));
            }
            for (key, value) in prompt {
                match value {
                    Value::Null => {}
                    Value::String(text) if text.len() > MAX_TEXT => {
                        return Err(format!(
                            "{shown} system_prompt.{key} is {} bytes, exceeding {MAX_TEXT}",
                            text.len()
                        ));
                    }
                    Value::String(_) => {}
                    _ => return Err(format!("{shown} system_prompt.{key} must be a string or null")),
                }
            }
        }
        Some(_) => return Err(format!("{shown} key system_prompt must be an object or null")),
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn loaded(text: &str) -> Result<Map, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.json");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        read(&path).map_err(|error| error.replace(&shown, "P"))
    }

    #[test]
    fn each_setting_says_where_it_comes_from() {
        let settings = Planner {
            enabled: true,
            model: "haiku".to_owned(),
            task_timeout: Duration::from_secs(60),
            planner_timeout: Duration::from_secs(30),
            max_output_tokens: 2000,
            max_result_bytes: 65_536,
            include_program: false,
            trace_prompts: false,
            max_turns: Some(3),
            retry_turns: Some(2),
            turns_from: ["cli", "env"],
            allow_writes: false,
            subagent_config: None,
            capability_summary: None,
            capability_summary_max_bytes: 8192,
        };
        let config = PlannerConfig::load(&settings, "").unwrap();
        assert_eq!((config.max_turns, config.retry_turns), (3, 2));
        let (applied, defaulted) = config.sources(&settings, &Map::new());
        assert_eq!(applied["max_turns"], json!({"value": 3, "source": "cli"}));
        assert_eq!(applied["retry_turns"], json!({"value": 2, "source": "env"}));
        assert_eq!((&applied["allow_writes"], &defaulted), (&json!(false), &json!({})));
        let settings = Planner { max_turns: None, retry_turns: None, ..settings };
        let file = json!({"max_turns": 4}).as_object().unwrap().clone();
        let (applied, defaulted) =
            PlannerConfig { max_turns: 4, retry_turns: 0, ..config }.sources(&settings, &file);
        assert_eq!(applied["max_turns"], json!({"value": 4, "source": "config_file"}));
        assert_eq!(defaulted, json!({"retry_turns": 0}));
    }

    #[test]
    fn mistakes_have_their_texts() {
        for (text, message) in [
            ("[]", "P must contain a JSON object"),
            (
                r#"{"tools": 1}"#,
                "P contains reserved key(s): tools. Allowed keys: max_turns, retry_turns, system_prompt. Allowed \
                 system_prompt keys: prefix, suffix. Reserved keys are MCP-controlled and cannot be set here.",
            ),
            (
                r#"{"cache": 1}"#,
                "P contains unknown key(s): cache. Allowed keys: max_turns, retry_turns, system_prompt. Allowed \
                 system_prompt keys: prefix, suffix.",
            ),
            (r#"{"max_turns": 0}"#, "P key max_turns must be a positive integer"),
            (r#"{"retry_turns": -1}"#, "P key retry_turns must be a non-negative integer"),
            (r#"{"system_prompt": 1}"#, "P key system_prompt must be an object or null"),
            (r#"{"system_prompt": {"prefix": 1}}"#, "P system_prompt.prefix must be a string or null"),
        ] {
            assert_eq!(loaded(text), Err(message.into()));
        }
        assert!(loaded("{").unwrap_err().starts_with("malformed JSON in P: "));
        assert!(read(Path::new("/no/such")).unwrap_err().starts_with("cannot read /no/such: "));
        let long = json!({"system_prompt": {"prefix": "x".repeat(4097)}}).to_string();
        assert_eq!(loaded(&long), Err("P system_prompt.prefix is 4097 bytes, exceeding 4096".into()));
        assert!(loaded(r#"{"max_turns": 3, "retry_turns": 0, "system_prompt": {"suffix": null}}"#).is_ok());
    }
}
