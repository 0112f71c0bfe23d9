//! The checks of a `tool/call` before it is sent (upstreams.md 8.3, rows 2 to 9). Every failure is a programmer fault:
//! the first line is fixed (ruling 38), the following lines help to repair the program.

use super::unknown_arguments::{MAX_HINTED, note_on_unknown};
use std::borrow::Cow;
use std::fmt::Write as _;

use ptc_vm::machine::{ArgumentsError, UpstreamCall};

use super::arguments::{SpelledArguments, spell_arguments};
use super::doc::{call_example, named_tool};
use super::not_accepted::withheld;
use super::payload::may_wrap;
use super::rest_arguments::check_rest_arguments;
use super::{Catalog, ServerEntry, ToolEntry};
use ptc_base::pace::{AT_ONCE, apart};
use ptc_base::similar::most_similar;
use ptc_base::text::{argument_key, string_literal, with_dots};
use ptc_schema::json_schema::properties;

/// Bytes of a name of the program that a message shows. No name that is longer means anything.
const MAX_NAME: usize = 256;

/// Bytes of a tool's name beyond which no upstream needs to be asked whether it has it.
pub(crate) const MAX_TOOL_NAME: usize = 1024;

/// The beginning of a name that a program wrote, as messages quote it.
pub(crate) fn shown(name: &str) -> Cow<'_, str> {
    if name.len() <= MAX_NAME { Cow::Borrowed(name) } else { Cow::Owned(with_dots(name, MAX_NAME)) }
}

/// A call that passed the checks.
#[derive(Clone, Debug)]
pub struct CheckedCall<'c> {
    /// The server to call.
    pub server: &'c ServerEntry,
    /// The tool's name, as the upstream knows it.
    pub tool_name: &'c str,
    /// The tool, if the server's list is known. If not, the caller loads the list and checks the call again.
    pub tool: Option<&'c ToolEntry>,
    /// Whether an answer of nothing but `result` is a wrapper around the payload (ruling 50).
    pub may_wrap: bool,
    /// The arguments as one JSON object, keys spelled as the tool's schema has them if that is known.
    pub arguments: Cow<'c, [u8]>,
    /// A note for the reader of the answer about arguments that the tool does not describe.
    pub note: Option<String>,
}

/// As [`check_call`]; large arguments are checked on a thread of their own.
///
/// # Errors
/// As [`check_call`].
pub async fn check_large_call<'c>(
    catalog: &'c Catalog,
    call: &'c UpstreamCall,
) -> Result<CheckedCall<'c>, String> {
    let bytes = call.bytes();
    if bytes <= AT_ONCE {
        return check_call(catalog, call);
    }
    let (at, its) = (catalog.clone(), call.clone());
    // In a box, as most calls need none.
    let checked = Box::pin(apart(bytes, move || {
        let CheckedCall { arguments, note, .. } = check_call(&at, &its)?;
        Ok::<_, String>((arguments.into_owned(), note))
    }));
    let (arguments, note) = checked.await?;
    let ToolName { server, tool_name, tool } = named(catalog, call)?;
    let may_wrap = tool.is_none_or(|tool| may_wrap(tool.output_schema.as_ref()));
    Ok(CheckedCall { server, tool_name, tool, may_wrap, arguments: Cow::Owned(arguments), note })
}

/// The server and the tool that a call names.
struct ToolName<'c> {
    server: &'c ServerEntry,
    tool_name: &'c str,
    tool: Option<&'c ToolEntry>,
}

/// Checks a call against the catalog, in the documented order.
///
/// # Errors
/// The message with which the program ends, hints included.
pub fn check_call<'c>(catalog: &'c Catalog, call: &'c UpstreamCall) -> Result<CheckedCall<'c>, String> {
    let ToolName { server, tool_name, tool } = named(catalog, call)?;
    let name = &server.name;
    let not_encodable =
        |reason: &str| format!("tool '{name}.{tool_name}' rejected args: not JSON-encodable ({reason})");
    let arguments = match &call.arguments {
        Ok(arguments) => arguments,
        Err(ArgumentsError::NotEncodable(reason) | ArgumentsError::NotAMap(reason)) => {
            return Err(not_encodable(reason));
        }
        Err(ArgumentsError::TooLong { bytes, most }) => {
            return Err(format!(
                "tool '{name}.{tool_name}' rejected args: the call would send at least {bytes} bytes, the limit of a call is {most} (--max-upstream-request-bytes)\nSend less at a time."
            ));
        }
    };
    let (arguments, note) = match tool {
        None => (Cow::Borrowed(&arguments.json[..]), None),
        Some(tool) => {
            let spelled = spell_arguments(arguments, &tool.input_schema)
                .map_err(|key| not_encodable(&format!("two keys become {:?}", shown(&key))))?;
            if !spelled.missing.is_empty() {
                return Err(missing_arguments(server, tool, &spelled));
            }
            if server.is_rest() {
                check_rest_arguments(server, tool, &spelled)?;
            }
            let note = note_on_unknown(server, tool, &spelled.unexpected).filter(|_| !server.is_rest());
            (spelled.json, note)
        }
    };
    let may_wrap = tool.is_none_or(|tool| may_wrap(tool.output_schema.as_ref()));
    Ok(CheckedCall { server, tool_name, tool, may_wrap, arguments, note })
}

/// `no upstream 'x' configured`, and which ones are.
pub(crate) fn unknown_server(catalog: &Catalog, name: &str) -> String {
    let mut text = format!("no upstream '{}' configured", shown(name));
    if let Some(similar) = most_similar(name, catalog.servers().map(|server| server.name.as_str())) {
        let _ = write!(text, "\nDid you mean {}?", string_literal(similar));
    }
    push_servers(catalog, &mut text);
    text
}

/// `tool 's.t' is listed but not allowed for this caller`.
pub(crate) fn only_listed(server: &str, tool: &str) -> String {
    format!("tool '{server}.{}' is listed but not allowed for this caller; ask the operator", shown(tool))
}

/// `no tool 't' in upstream 's'`, and which ones there are.
pub(crate) fn unknown_tool(server: &ServerEntry, tool: &str) -> String {
    let mut text = format!("no tool '{}' in upstream '{}'", shown(tool), server.name);
    // Programs may write the server's name in front of the tool's once more.
    let bare = tool.strip_prefix(server.name.as_str()).and_then(|rest| rest.strip_prefix(['/', '.']));
    let similar = bare.and_then(|bare| server.tool(bare)).map(|known| known.name.as_str());
    let names = || server.tools_by_name().map(|known| known.name.as_str());
    let similar = similar.or_else(|| most_similar(bare.unwrap_or(tool), names()));
    if let Some(similar) = similar {
        let _ = write!(text, "\nDid you mean {}?", string_literal(similar));
    }
    push_tools(server, &mut text);
    text
}

/// The server and the tool of a call.
///
/// # Errors
/// As [`check_call`].
fn named<'c>(catalog: &'c Catalog, call: &'c UpstreamCall) -> Result<ToolName<'c>, String> {
    let name = match &call.server {
        Ok(name) => name,
        Err(shown) => {
            let mut text = format!("tool/call requires :server (string), got {shown}");
            // The server may stand in front of the tool.
            if let Some((server, tool)) = call.tool.as_deref().ok().and_then(|t| named_tool(catalog, t)) {
                let _ = write!(text, "\nWrite {}", call_example(server, tool));
            }
            push_servers(catalog, &mut text);
            return Err(text);
        }
    };
    let tool_name = match &call.tool {
        Ok(tool) => tool,
        Err(got) => {
            let mut text =
                format!("tool/call on upstream '{}' requires :tool (string), got {got}", shown(name));
            if let Some(server) = catalog.server(name) {
                push_tools(server, &mut text);
            }
            return Err(text);
        }
    };
    if let Err(ArgumentsError::NotAMap(got)) = &call.arguments {
        let (name, tool_name) = (shown(name), shown(tool_name));
        let mut text = format!("tool '{name}.{tool_name}' rejected args: :args must be a map, got {got}");
        let server = catalog.server(&name);
        if let Some((server, tool)) = server.and_then(|server| Some((server, server.tool(&tool_name)?))) {
            let _ = write!(text, "\nWrite {}", call_example(server, tool));
        }
        return Err(text);
    }
    let server = catalog.server(name).ok_or_else(|| unknown_server(catalog, name))?;
    let tool = server.tool(tool_name);
    if tool.is_none()
        && let Some(text) = withheld(server, tool_name)
    {
        return Err(text);
    }
    if tool.is_none() && (server.loaded || tool_name.len() > MAX_TOOL_NAME) {
        return Err(unknown_tool(server, tool_name));
    }
    if server.refuses(tool_name) {
        return Err(only_listed(&server.name, tool_name));
    }
    Ok(ToolName { server, tool_name, tool })
}

fn missing_arguments(server: &ServerEntry, tool: &ToolEntry, spelled: &SpelledArguments<'_>) -> String {
    let mut text = format!(
        "tool '{}.{}' rejected args: missing required args {}\n",
        server.name,
        tool.name,
        spelled.missing.join(", ")
    );
    let keys = |names: &[String]| {
        names.iter().take(MAX_HINTED).map(|name| argument_key(&shown(name))).collect::<Vec<_>>().join(", ")
    };
    let plural = |names: &[String]| if names.len() == 1 { "" } else { "s" };
    if !spelled.unexpected.is_empty() {
        let expected: Vec<String> =
            properties(&tool.input_schema).into_iter().flat_map(|p| p.keys()).cloned().collect();
        let received = &spelled.unexpected;
        let _ = write!(
            text,
            "received unexpected key{} {}; expected {}. ",
            plural(received),
            keys(received),
            keys(&expected)
        );
    }
    let _ = write!(
        text,
        "Missing required arg{} {}.\nLook at (doc {}).",
        plural(&spelled.missing),
        keys(&spelled.missing),
        string_literal(&format!("{}/{}", server.name, tool.name))
    );
    text
}

fn push_servers(catalog: &Catalog, text: &mut String) {
    push_names("Configured upstreams", catalog.servers().map(|server| server.name.as_str()), text);
}

fn push_tools(server: &ServerEntry, text: &mut String) {
    if !server.loaded {
        return;
    }
    push_names("Known tools", server.tools_by_name().map(|tool| tool.name.as_str()), text);
    let _ = write!(text, "\nLook at (dir {} {{:limit 20}}).", string_literal(&server.name));
}

fn push_names<'n>(title: &str, names: impl ExactSizeIterator<Item = &'n str>, text: &mut String) {
    let total = names.len();
    let shown: Vec<&str> = names.take(MAX_HINTED).collect();
    let _ =
        write!(text, "\n{title}: {}", if shown.is_empty() { "none".to_owned() } else { shown.join(", ") });
    if total > shown.len() {
        let _ = write!(text, " and {} more", total - shown.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::fixtures;
    use ptc_vm::machine::ToolArguments;

    fn call(server: &str, tool: &str, json: &str) -> UpstreamCall {
        UpstreamCall {
            server: Ok(server.to_owned()),
            tool: Ok(tool.to_owned()),
            arguments: Ok(ToolArguments { json: json.as_bytes().to_vec(), hyphenated: Vec::new() }),
            by_pages: false,
        }
    }

    fn error(call: &UpstreamCall) -> (String, String) {
        let text = check_call(&fixtures::catalog(), call).unwrap_err();
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        (first.to_owned(), rest.to_owned())
    }

    #[test]
    fn a_good_call_passes() {
        let catalog = fixtures::catalog();
        let call = call("fs", "read_text_file", r#"{"path":"/x"}"#);
        let checked = check_call(&catalog, &call).unwrap();
        assert_eq!((checked.server.name.as_str(), checked.tool_name), ("fs", "read_text_file"));
        assert!(checked.tool.is_some());
        assert_eq!(&*checked.arguments, br#"{"path":"/x"}"#);
    }

    #[test]
    fn texts_and_their_order() {
        let mut bad = UpstreamCall {
            server: Err("nil".to_owned()),
            tool: Err("42".to_owned()),
            arguments: Err(ArgumentsError::NotAMap("5".to_owned())),
            by_pages: false,
        };
        assert_eq!(
            error(&bad),
            (
                "tool/call requires :server (string), got nil".to_owned(),
                "Configured upstreams: cold, fs, github".to_owned()
            )
        );
        bad.server = Ok("githib".to_owned());
        assert_eq!(error(&bad).0, "tool/call on upstream 'githib' requires :tool (string), got 42");
        bad.tool = Ok("get_prs".to_owned());
        assert_eq!(error(&bad).0, "tool 'githib.get_prs' rejected args: :args must be a map, got 5");
        bad.arguments = Err(ArgumentsError::NotEncodable("a function".to_owned()));
        assert_eq!(
            error(&bad),
            (
                "no upstream 'githib' configured".to_owned(),
                "Did you mean \"github\"?\nConfigured upstreams: cold, fs, github".to_owned()
            )
        );
        bad.server = Ok("github".to_owned());
        assert_eq!(
            error(&bad),
            (
                "no tool 'get_prs' in upstream 'github'".to_owned(),
                "Did you mean \"get_pr\"?\nKnown tools: get_pr, search_repos\nLook at (dir \"github\" {:limit 20}).".to_owned()
            )
        );
        bad.tool = Ok("get_pr".to_owned());
        assert_eq!(error(&bad).0, "tool 'github.get_pr' rejected args: not JSON-encodable (a function)");
        bad.arguments = Ok(ToolArguments { json: br#"{"q":1}"#.to_vec(), hyphenated: Vec::new() });
        assert_eq!(
            error(&bad),
            (
                "tool 'github.get_pr' rejected args: missing required args owner, number".to_owned(),
                "received unexpected key :q; expected :owner, :number, :diff_context. \
                 Missing required args :owner, :number.\nLook at (doc \"github/get_pr\")."
                    .to_owned()
            )
        );
    }

    #[test]
    fn a_cold_server_proves_nothing() {
        let catalog = fixtures::catalog();
        let call = call("cold", "whatever", r#"{"a":null}"#);
        let checked = check_call(&catalog, &call).unwrap();
        assert!(checked.tool.is_none());
        assert_eq!(&*checked.arguments, br#"{"a":null}"#);
    }

    #[test]
    fn misplaced_names_show_the_right_call() {
        let named = |server: Result<&str, &str>, tool: Result<&str, &str>| {
            error(&UpstreamCall {
                server: server.map(str::to_owned).map_err(str::to_owned),
                tool: tool.map(str::to_owned).map_err(str::to_owned),
                arguments: Err(ArgumentsError::NotAMap("[1]".to_owned())),
                by_pages: false,
            })
        };
        let example = "Write (tool/call {:server \"fs\" :tool \"read_text_file\" :args {:path ...}})";
        assert!(named(Err("nil"), Ok("fs/read_text_file")).1.starts_with(example));
        assert!(named(Err("nil"), Ok("fs.read_text_file")).1.starts_with(example));
        assert_eq!(named(Ok("fs"), Ok("read_text_file")).1, example);
        for written in
            ["Read-Text-File", "readTextFile", "READ_TEXT_FILE", "fs/read_text_file", "fs.readTextFile"]
        {
            let (first, hints) = error(&call("fs", written, "{}"));
            assert_eq!(first, format!("no tool '{written}' in upstream 'fs'"), "names are exact (ruling 58)");
            assert!(hints.starts_with("Did you mean \"read_text_file\"?\n"), "{written}: {hints}");
        }
    }

    #[test]
    fn hints_are_short() {
        let tools = (0..20).map(|i| ptc_mcp::json::json!({"name": format!("tool{i:02}")})).collect();
        let server = fixtures::server("s", tools);
        let text = unknown_tool(&server, "zzz");
        assert_eq!(
            text.lines().nth(1).unwrap(),
            "Known tools: tool00, tool01, tool02, tool03, tool04, tool05, tool06, tool07 and 12 more"
        );
        assert!(!unknown_tool(&server, &"tool0".repeat(100_000)).contains("Did you mean"));
    }
}
