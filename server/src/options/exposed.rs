//! `--expose`: what of the upstreams clients reach by themselves (server.md 1.5).

use ptc_host::catalog::{Exposure, NamePattern};

use super::values::{Values, not_a_choice};

/// What clients reach by themselves.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Exposed {
    pub(super) resources: bool,
    pub(super) prompts: bool,
    pub(crate) tools: Option<Exposure>,
}

/// The words that an entry can be.
const WORDS: [&str; 4] = ["resources", "prompts", "tools", "tools=GLOB"];
/// The beginning of a pattern of tools.
const TOOLS: &str = "tools=";

impl Exposed {
    /// Reads the option; a text that is no entry is recorded as a fault.
    pub(super) fn read(values: &mut Values<'_>) -> Exposed {
        let entries = values.list("expose");
        Exposed::of(entries.iter().map(String::as_str)).unwrap_or_else(|wrong| {
            wrong.iter().for_each(|entry| values.refuse_choice("expose", entry, &WORDS));
            Exposed::default()
        })
    }

    /// What a command says that was given entries which are none.
    pub(crate) fn refusal(shown: &str, wrong: &[String]) -> String {
        let refused: Vec<String> =
            wrong.iter().map(|entry| not_a_choice(shown, entry, WORDS.into_iter())).collect();
        refused.join("\n")
    }

    /// What these entries name. An entry is `resources`, `prompts`, `tools` or `tools=GLOB`; after a `tools=GLOB`, an entry with `/` or
    /// `__`, which none of the words has, is another GLOB.
    ///
    /// # Errors
    /// The entries that are none of these.
    pub(crate) fn of<'e>(entries: impl Iterator<Item = &'e str>) -> Result<Exposed, Vec<String>> {
        let mut wrong = Vec::new();
        let mut exposed = Exposed::default();
        // `None`: all tools.
        let mut patterns: Option<Vec<NamePattern>> = Some(Vec::new());
        let mut has_patterns = false;
        for entry in entries {
            match entry {
                "resources" => exposed.resources = true,
                "prompts" => exposed.prompts = true,
                "tools" => patterns = None,
                entry => {
                    let glob = match entry.strip_prefix(TOOLS) {
                        Some(glob) => Some(glob.trim()),
                        None => Some(entry).filter(|entry| has_patterns && is_glob(entry)),
                    };
                    match glob.and_then(NamePattern::new) {
                        Some(pattern) => {
                            has_patterns = true;
                            patterns.iter_mut().for_each(|patterns| patterns.push(pattern.clone()));
                        }
                        None => wrong.push(entry.to_owned()),
                    }
                }
            }
        }
        exposed.tools = match patterns {
            None => Some(Exposure::all()),
            Some(patterns) if patterns.is_empty() => None,
            Some(patterns) => Some(Exposure::of(patterns)),
        };
        if wrong.is_empty() { Ok(exposed) } else { Err(wrong) }
    }
}

fn is_glob(entry: &str) -> bool {
    entry.contains('/') || entry.contains("__")
}
