//! `--expose`: what of the upstreams clients reach by themselves (server.md 1.5).

use ptc_host::catalog::{Exposure, NamePattern};

use super::values::Values;

/// What clients reach by themselves.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Exposed {
    pub(super) resources: bool,
    pub(super) prompts: bool,
    pub(super) tools: Option<Exposure>,
}

/// The beginning of a pattern of tools.
const TOOLS: &str = "tools=";

impl Exposed {
    /// Reads the option. An entry is `resources`, `prompts`, `tools` or `tools=GLOB`; after a `tools=GLOB`, an entry with `/` or
    /// `__`, which none of the words has, is another GLOB. Any other text is recorded as a fault.
    pub(super) fn read(values: &mut Values<'_>) -> Exposed {
        let mut exposed = Exposed::default();
        // `None`: all tools.
        let mut patterns: Option<Vec<NamePattern>> = Some(Vec::new());
        let mut has_patterns = false;
        for text in values.list("expose") {
            match text.as_str() {
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
                        None => values.refuse_choice(
                            "expose",
                            entry,
                            &["resources", "prompts", "tools", "tools=GLOB"],
                        ),
                    }
                }
            }
        }
        exposed.tools = match patterns {
            None => Some(Exposure::all()),
            Some(patterns) if patterns.is_empty() => None,
            Some(patterns) => Some(Exposure::of(patterns)),
        };
        exposed
    }
}

fn is_glob(entry: &str) -> bool {
    entry.contains('/') || entry.contains("__")
}
