//! What is known of clients by their names, and by what they say of themselves.

use std::cmp::Reverse;

use ptc_mcp::Revision;
use ptc_mcp::json::Raw;
use ptc_mcp::message::params::ParamsMember;

use super::elicitation::Elicitation;

/// What is to be known of a client of the handshake era besides its revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientFacts {
    /// Which one it is, if its habits are known.
    pub(crate) known: Option<KnownClient>,
    /// What it asks its user.
    pub(crate) elicitation: Elicitation,
}

impl ClientFacts {
    /// What the `params` of its `initialize` say.
    pub(crate) fn of(params: &ParamsMember<'_>, revision: Revision) -> ClientFacts {
        let Some(params) = params.object() else { return ClientFacts::default() };
        ClientFacts {
            known: KnownClient::of(params.client_info),
            elicitation: Elicitation::declared(params.capabilities, revision),
        }
    }

    /// Whether there is anything to be known.
    pub(crate) fn is_any(self) -> bool {
        self != ClientFacts::default()
    }
}

/// Where a client hands a long text on to its model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LongText {
    /// Nowhere: it cuts descriptions, or nobody knows.
    #[default]
    Nowhere,
    /// In the description of a tool.
    Tool,
    /// In the description of a parameter; that of the tool is cut.
    Parameter,
}

impl LongText {
    /// All of them.
    pub(crate) const ALL: [LongText; 3] = [LongText::Nowhere, LongText::Tool, LongText::Parameter];
}

/// A client whose habits are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownClient {
    /// A part of the name in its `clientInfo`.
    name: &'static str,
    whole_result: usize,
    long_text: LongText,
}

const fn client(name: &'static str, whole_result: usize, long_text: LongText) -> KnownClient {
    KnownClient { name, whole_result, long_text }
}

/// What is longer than a client hands on whole loses its middle, and the note that says so with it. Measured with the
/// clients' releases of autumn 2026; none documents its limits. A long text was tried with Claude Code, Codex, Gemini CLI and
/// opencode: with all others it counts as cut.
const CLIENTS: [KnownClient; 8] = [
    client("claude", 45_000, LongText::Nowhere),
    client("claude-code", 45_000, LongText::Parameter),
    client("opencode", 45_000, LongText::Tool),
    client("gemini", 36_000, LongText::Tool),
    client("qwen", 20_000, LongText::Nowhere),
    client("copilot", 17_000, LongText::Nowhere),
    client("codex", 9_000, LongText::Tool),
    client("cline", 6_000, LongText::Nowhere),
];

impl KnownClient {
    /// The client of this `clientInfo`; `None` for one that is not known.
    pub(crate) fn of(info: Option<Raw<'_>>) -> Option<KnownClient> {
        let (_, name) = info?.members()?.find(|(key, _)| key == "name")?;
        let name = name.as_str()?.to_ascii_lowercase();
        // "qwen-cli" was made of Gemini's code, and may say so. Of two names with one limit the longer one is meant.
        let known = CLIENTS.iter().filter(|client| name.contains(client.name));
        known.min_by_key(|client| (client.whole_result, Reverse(client.name.len()))).copied()
    }

    /// The client of exactly this name.
    pub(crate) fn named(name: &str) -> Option<KnownClient> {
        CLIENTS.iter().find(|client| client.name == name).copied()
    }

    /// Its name, of small letters.
    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    /// Where it hands a long text on to its model.
    pub(crate) fn long_text(self) -> LongText {
        self.long_text
    }

    /// Longest text of a result that it hands to its model whole, in bytes.
    pub(crate) fn whole_result(self) -> usize {
        self.whole_result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_known_by_a_part_of_their_name() {
        let room =
            |info: &str| KnownClient::of(Some(Raw::parse(info).unwrap())).map(KnownClient::whole_result);
        assert_eq!(room(r#"{"name":"codex-mcp-client","version":"0.169.0"}"#), Some(9_000));
        assert_eq!(room(r#"{"version":"1","name":"Cline"}"#), Some(6_000));
        assert_eq!(room(r#"{"name":"claude-code"}"#), Some(45_000));
        assert_eq!(room(r#"{"name":"opencode"}"#), Some(45_000));
        assert_eq!(room(r#"{"name":"gemini-cli-mcp-client"}"#), Some(36_000));
        // It ends with the name of the server in the client's own file.
        assert_eq!(room(r#"{"name":"qwen-cli-mcp-client-gemini"}"#), Some(20_000));
        assert_eq!(room(r#"{"name":"mcp-client"}"#), None);
        assert_eq!(room(r#"{"name":5}"#), None);
        assert_eq!(room(r#"[]"#), None);
        assert_eq!(KnownClient::of(None), None);
        let place = |info: &str| KnownClient::of(Some(Raw::parse(info).unwrap())).map(KnownClient::long_text);
        for (name, long_text) in [
            ("claude-code", Some(LongText::Parameter)),
            ("claude-ai", Some(LongText::Nowhere)),
            ("codex-mcp-client", Some(LongText::Tool)),
            ("gemini-cli-mcp-client", Some(LongText::Tool)),
            ("opencode", Some(LongText::Tool)),
            ("qwen-cli-mcp-client-gemini", Some(LongText::Nowhere)),
            ("github-copilot-developer", Some(LongText::Nowhere)),
            ("cursor-vscode", None),
        ] {
            assert_eq!(place(&format!(r#"{{"name":"{name}"}}"#)), long_text, "{name}");
        }
        for client in CLIENTS {
            assert_eq!(KnownClient::named(client.name()), Some(client));
        }
    }
}
