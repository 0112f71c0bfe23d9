//! How an upstream introduces itself.

use ptc_mcp::json::Value;

use crate::text::clip;

/// Longest title that is kept, in bytes.
const MAX_TITLE: usize = 256;
/// Longest instructions that are kept, in bytes.
const MAX_INSTRUCTIONS: usize = 8192;

/// What an upstream says of itself when it is greeted. Untrusted text: scrub it before anybody sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Its name for people; may be empty.
    pub title: Box<str>,
    /// How it wants to be used; may be empty.
    pub instructions: Box<str>,
}

impl Introduction {
    /// Reads the members `serverInfo` and `instructions` of a greeting. Whatever is no text counts as absent.
    pub(crate) fn read(server_info: &Value, instructions: &Value) -> Self {
        let text = |value: &Value, max| clip(value.as_str().unwrap_or_default(), max).into();
        Self {
            title: text(&server_info["title"], MAX_TITLE),
            instructions: text(instructions, MAX_INSTRUCTIONS),
        }
    }
}
