//! What is known of clients by their names.

use ptc_mcp::json::Raw;

/// Longest text of a result that a client hands to its model whole, in bytes, by a part of the name in its `clientInfo`. What
/// is longer loses its middle, and the note that says so with it. Measured with the clients' releases of autumn 2026; none
/// documents its limit.
const WHOLE_RESULTS: [(&str, usize); 7] = [
    ("claude", 45_000),
    ("opencode", 45_000),
    ("gemini", 36_000),
    ("qwen", 20_000),
    ("copilot", 17_000),
    ("codex", 9_000),
    ("cline", 6_000),
];

/// The room for the text of a result that the client of this `clientInfo` has; `None` for one that is not known.
pub(in crate::protocol) fn result_room(info: Option<Raw<'_>>) -> Option<usize> {
    let (_, name) = info?.members()?.find(|(key, _)| key == "name")?;
    let name = name.as_str()?.to_ascii_lowercase();
    // "qwen-cli" was made of Gemini's code, and may say so.
    let known = WHOLE_RESULTS.iter().filter(|(part, _)| name.contains(part));
    known.map(|(_, room)| *room).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_known_by_a_part_of_their_name() {
        let room = |info: &str| result_room(Some(Raw::parse(info).unwrap()));
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
        assert_eq!(result_room(None), None);
    }
}
