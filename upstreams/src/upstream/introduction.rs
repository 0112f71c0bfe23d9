//! How an upstream introduces itself.

use ptc_mcp::json::Value;

use ptc_base::text::clip;

/// Longest title that is kept, in bytes.
const MAX_TITLE: usize = 256;
/// Longest instructions that are kept, in bytes.
const MAX_INSTRUCTIONS: usize = 8192;

/// An upstream's description of itself in its greeting. Untrusted text: scrub it before showing it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Introduction {
    /// Its name for people; may be empty.
    pub title: Box<str>,
    /// How it wants to be used; may be empty.
    pub instructions: Box<str>,
    /// The features that it announces.
    pub offers: Offers,
}

/// The features that an upstream announces (MCP: the server's capabilities).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offers {
    /// Tools. Many servers have some and do not say so.
    pub tools: bool,
    /// Resources and templates of them.
    pub resources: bool,
    /// It announces changes of resources to subscribers.
    pub subscriptions: bool,
    /// Prompts.
    pub prompts: bool,
    /// Proposals for the arguments of prompts and templates.
    pub completions: bool,
}

impl Offers {
    /// Reads the member `capabilities` of a greeting.
    fn read(capabilities: &Value) -> Self {
        let has = |name: &str| capabilities[name].is_object();
        Self {
            tools: has("tools"),
            resources: has("resources"),
            subscriptions: capabilities["resources"]["subscribe"] == true,
            prompts: has("prompts"),
            completions: has("completions"),
        }
    }

    /// Whether it may well have no tools: it lists its capabilities, without them.
    pub(crate) fn leaves_out_tools(self) -> bool {
        !self.tools && (self.resources || self.prompts)
    }
}

impl Introduction {
    /// Reads the members `serverInfo`, `instructions` and `capabilities` of a greeting. Malformed parts count as absent.
    pub(crate) fn read(server_info: &Value, instructions: &Value, capabilities: &Value) -> Self {
        let text = |value: &Value, max| clip(value.as_str().unwrap_or_default(), max).into();
        Self {
            title: text(&server_info["title"], MAX_TITLE),
            instructions: text(instructions, MAX_INSTRUCTIONS),
            offers: Offers::read(capabilities),
        }
    }
}
