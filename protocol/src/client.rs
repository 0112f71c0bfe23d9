//! Facts about clients, from their names and from their declared capabilities.

use std::cmp::Reverse;

use ptc_mcp::Revision;
use ptc_mcp::json::Raw;
use ptc_mcp::message::params::ParamsMember;

use super::elicitation::Elicitation;
use super::schemas::SchemaDialect;

/// The facts about a client of the handshake era besides its revision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientFacts {
    /// The client, if it is a known one.
    pub known: Option<KnownClient>,
    /// The modes of questions that it shows to its user.
    pub elicitation: Elicitation,
}

impl ClientFacts {
    /// Reads the `params` of its `initialize`.
    pub fn of(params: &ParamsMember<'_>, revision: Revision) -> ClientFacts {
        let Some(params) = params.object() else { return ClientFacts::default() };
        ClientFacts {
            known: KnownClient::of(params.client_info),
            elicitation: Elicitation::declared(params.capabilities, revision),
        }
    }

    /// True if there is any fact.
    pub fn is_any(self) -> bool {
        self != ClientFacts::default()
    }
}

/// Where a client passes a long text to its model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LongText {
    /// Nowhere: it truncates descriptions, or its behaviour is unknown.
    #[default]
    Nowhere,
    /// In the description of a tool.
    Tool,
    /// In the description of a parameter; it truncates the description of the tool.
    Parameter,
}

impl LongText {
    /// All of them.
    pub const ALL: [LongText; 3] = [LongText::Nowhere, LongText::Tool, LongText::Parameter];
}

/// How the list of tools is written for a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ListStyle {
    /// Where it passes a long text to its model.
    pub long_text: LongText,
    /// What it takes of the schemas of foreign tools.
    pub schemas: SchemaDialect,
}

/// A client with known behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownClient {
    /// A part of the name in its `clientInfo`.
    name: &'static str,
    whole_result: usize,
    style: ListStyle,
}

const fn client(
    name: &'static str,
    whole_result: usize,
    long_text: LongText,
    schemas: SchemaDialect,
) -> KnownClient {
    KnownClient { name, whole_result, style: ListStyle { long_text, schemas } }
}

/// If a text is longer than a client passes on whole, the client drops its middle, including our note about
/// omissions. Measured with the clients' releases of autumn 2026; none documents its limits. A long text was tried
/// with Claude Code, Codex, Gemini CLI and opencode: all others count as truncating. The schemas are those that the interfaces of
/// the models take which they mostly use.
const CLIENTS: [KnownClient; 8] = [
    client("claude", 45_000, LongText::Nowhere, SchemaDialect::PlainNames),
    client("claude-code", 45_000, LongText::Parameter, SchemaDialect::PlainNames),
    client("opencode", 45_000, LongText::Tool, SchemaDialect::PlainNames),
    client("gemini", 36_000, LongText::Tool, SchemaDialect::Gemini),
    client("qwen", 20_000, LongText::Nowhere, SchemaDialect::PlainTop),
    client("copilot", 17_000, LongText::Nowhere, SchemaDialect::PlainNames),
    client("codex", 9_000, LongText::Tool, SchemaDialect::PlainTop),
    client("cline", 6_000, LongText::Nowhere, SchemaDialect::PlainNames),
];

impl KnownClient {
    /// The client of this `clientInfo`; `None` if it is unknown.
    pub(crate) fn of(info: Option<Raw<'_>>) -> Option<KnownClient> {
        let (_, name) = info?.members()?.find(|(key, _)| key == "name")?;
        let name = name.as_str()?.to_ascii_lowercase();
        // "qwen-cli" is a fork of Gemini's client, and may name both. If two names match, the longer one counts.
        let known = CLIENTS.iter().filter(|client| name.contains(client.name));
        known.min_by_key(|client| (client.whole_result, Reverse(client.name.len()))).copied()
    }

    /// The client of exactly this name.
    pub fn named(name: &str) -> Option<KnownClient> {
        CLIENTS.iter().find(|client| client.name == name).copied()
    }

    /// Its name, in lower case.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// How it is sent the list of tools.
    pub(crate) fn list_style(self) -> ListStyle {
        self.style
    }

    /// Longest text of a result that it passes to its model whole, in bytes.
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
        // It ends with the name of the server in the client's own configuration.
        assert_eq!(room(r#"{"name":"qwen-cli-mcp-client-gemini"}"#), Some(20_000));
        assert_eq!(room(r#"{"name":"mcp-client"}"#), None);
        assert_eq!(room(r#"{"name":5}"#), None);
        assert_eq!(room(r#"[]"#), None);
        assert_eq!(KnownClient::of(None), None);
        let place = |info: &str| {
            KnownClient::of(Some(Raw::parse(info).unwrap())).map(|client| client.list_style().long_text)
        };
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
