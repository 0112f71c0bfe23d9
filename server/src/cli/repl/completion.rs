//! Completions for the Tab key: names of the language and of the session, servers, their tools, and the arguments of
//! these.

use super::syntax::{Lexeme, SyntaxKind, lexemes, open_brackets};
use ptc_host::catalog::{Catalog, ServerEntry, ToolEntry};
use ptc_host::sync::Mutex;
use ptc_host::visible::has_hidden;
use ptc_vm::SpecialForm;
use ptc_vm::builtins::library;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Functions whose first argument names a tool.
const TOOL_CALLS: [&str; 3] = ["tool/call", "tool/call!", "tool/pages"];
/// Keys of that argument if it is a map.
const CALL_KEYS: [&str; 3] = [":server", ":tool", ":args"];

/// The names that a program at the prompt may use besides the language. They change from form to form.
#[derive(Clone, Debug, Default)]
pub(super) struct Vocabulary(Arc<Mutex<CompletionSources>>);

#[derive(Debug, Default)]
struct CompletionSources {
    /// Definitions of the session and keys of the context, such as `data/orders`.
    defined: Vec<String>,
    /// Servers, tools and arguments.
    catalog: Catalog,
    /// Receives the names of servers whose tools are needed and not listed yet.
    lister: Option<mpsc::UnboundedSender<String>>,
}

impl Vocabulary {
    /// Sets the names of this session.
    pub(super) fn define(&self, names: Vec<String>) {
        self.0.lock().defined = names;
    }

    /// Sets the catalog.
    pub(super) fn learn(&self, catalog: Catalog) {
        self.0.lock().catalog = catalog;
    }

    /// Sets the receiver of servers whose tools are to be listed when completions need them.
    pub(super) fn list_with(&self, lister: mpsc::UnboundedSender<String>) {
        self.0.lock().lister = Some(lister);
    }
}

impl CompletionSources {
    /// Tools of `server`, or of all servers. Lists that are missing are requested for the next time.
    fn tools(&self, server: Option<&str>) -> Vec<&ToolEntry> {
        let wanted = self.catalog.servers().filter(|one| server.is_none_or(|name| one.name == name));
        let mut found = Vec::new();
        for server in wanted {
            if !server.loaded
                && let Some(lister) = &self.lister
            {
                // The receiver may be dropped when the REPL ends.
                let _ = lister.send(server.name.clone());
            }
            found.extend(server.tools_by_name().filter(|tool| !has_hidden(&tool.name)));
        }
        found
    }

    /// `server/` names, and `server/tool` names of the servers that `begun` names.
    fn references(&self, begun: &str) -> Vec<String> {
        let of_server = |server: &ServerEntry| {
            let name = &server.name;
            match begun.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('/')) {
                true => self.tools(Some(name)).iter().map(|tool| format!("{name}/{}", tool.name)).collect(),
                false => vec![format!("{name}/")],
            }
        };
        self.catalog.servers().flat_map(of_server).collect()
    }

    /// The keywords of a tool's arguments.
    fn arguments(&self, server: &str, tool: &str) -> Vec<String> {
        let tools = self.tools(Some(server));
        let properties =
            tools.iter().find(|entry| entry.name == tool).map(|tool| &tool.input_schema["properties"]);
        let keys = properties.and_then(|properties| properties.as_object()).into_iter().flatten();
        keys.filter(|(key, _)| !has_hidden(key)).map(|(key, _)| format!(":{key}")).collect()
    }
}

/// Names of the language.
pub(super) fn language() -> BTreeSet<&'static str> {
    let builtins = library()
        .all()
        .iter()
        .flat_map(|builtin| std::iter::once(builtin.name).chain(library().aliases(builtin).iter().copied()));
    let others = ["tool/call", "*1", "*2", "*3", "nil", "true", "false"];
    builtins.chain(SpecialForm::ALL.iter().map(|form| form.name())).chain(others).collect()
}

/// The completions after `before`, the text before the cursor, and the byte where the replaced text begins.
pub(super) fn complete(
    before: &str,
    language: &BTreeSet<&'static str>,
    vocabulary: &Vocabulary,
) -> (usize, Vec<String>) {
    let names = vocabulary.0.lock();
    let lexemes = lexemes(before);
    let quoted = lexemes.last().filter(|last| last.is_open(before));
    let start = match quoted {
        Some(text) => text.start + text.text.find('"').map_or(0, |quote| quote + 1),
        None => before.rfind(ends_name).map_or(0, |at| at + 1),
    };
    let begun = &before[start..];
    let earlier: Vec<_> =
        lexemes.iter().copied().filter(|lexeme| lexeme.start < start && !lexeme.is_open(before)).collect();
    let found: Vec<String> = if quoted.is_some() {
        in_string(&earlier, begun, &names)
    } else if begun.starts_with(':') {
        keys(&earlier, &names)
    } else if before[..start].ends_with('\'') {
        names.references(begun)
    } else if begun.is_empty() {
        Vec::new()
    } else {
        language.iter().map(|name| (*name).to_owned()).chain(names.defined.iter().cloned()).collect()
    };
    let fitting: BTreeSet<String> = found.into_iter().filter(|name| name.starts_with(begun)).collect();
    (start, fitting.into_iter().collect())
}

/// Completions inside a string.
fn in_string(earlier: &[Lexeme<'_>], begun: &str, names: &CompletionSources) -> Vec<String> {
    match earlier.last().map(|key| key.text) {
        Some(":server") => names.catalog.servers().map(|server| server.name.clone()).collect(),
        Some(":tool") => {
            let open = open_brackets(earlier).last().copied().unwrap_or(0);
            let server = text_behind(&earlier[open..], ":server");
            names.tools(server).into_iter().map(|tool| tool.name.clone()).collect()
        }
        _ => names.references(begun),
    }
}

/// Completions of a keyword.
fn keys(earlier: &[Lexeme<'_>], names: &CompletionSources) -> Vec<String> {
    let open = open_brackets(earlier);
    let [.., outer, map] = open[..] else { return Vec::new() };
    if earlier[map].text != "{" {
        return Vec::new();
    }
    let is_call = |list: usize| {
        earlier[list].text == "(" && earlier.get(list + 1).is_some_and(|head| TOOL_CALLS.contains(&head.text))
    };
    if is_call(outer) {
        return match earlier.get(outer + 2) {
            // `(tool/call {` has the map first, `(tool/call 'server/tool {` a name before it.
            Some(first) if outer + 2 < map => {
                let reference = first.text.trim_matches(['\'', '"']);
                match names.catalog.split_reference(reference) {
                    Some((server, tool)) => names.arguments(server, tool),
                    None => Vec::new(),
                }
            }
            _ => CALL_KEYS.map(str::to_owned).to_vec(),
        };
    }
    let is_args = map > 0 && earlier[map - 1].text == ":args";
    match (text_behind(&earlier[outer..], ":server"), text_behind(&earlier[outer..], ":tool")) {
        (Some(server), Some(tool)) if is_args => names.arguments(server, tool),
        _ => Vec::new(),
    }
}

/// The text of the string after the keyword `key`.
fn text_behind<'t>(lexemes: &[Lexeme<'t>], key: &str) -> Option<&'t str> {
    let at = lexemes.iter().position(|lexeme| lexeme.text == key)?;
    let text = lexemes.get(at + 1).filter(|value| value.kind == SyntaxKind::Text)?;
    Some(text.text.trim_matches('"'))
}

/// Characters that no symbol contains. All are ASCII, so what follows starts at the next byte.
fn ends_name(c: char) -> bool {
    c.is_ascii_whitespace() || "()[]{}\"'`,;#@^~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
    use ptc_host::credentials::Redactor;
    use ptc_mcp::json::{Value, json};

    fn vocabulary() -> (Vocabulary, mpsc::UnboundedReceiver<String>) {
        let vocabulary = Vocabulary::default();
        vocabulary.define(vec!["total".to_owned(), "data/orders".to_owned()]);
        let file = json!({"upstreams": {
            "files": {"transport": "mcp_stdio", "command": "files"},
            "git": {"transport": "mcp_stdio", "command": "git"},
        }});
        let options = LoadOptions { env: &ProcessEnv::default(), base_dir: None, own_exe: None };
        let config = UpstreamsConfig::from_value(&file, &options).expect("an upstreams file");
        let tool = |name: &str, arguments: Value| json!({"name": name, "inputSchema": {"type": "object", "properties": arguments}});
        let text = json!({"type": "string"});
        let files =
            vec![tool("read", json!({"head": text, "path": text})), tool("list", json!({"path": text}))];
        let entries = config.upstreams.iter().map(|upstream| {
            let is_listed = upstream.name == "files";
            let tools = if is_listed { files.clone() } else { Vec::new() };
            let mut entry = ServerEntry::loaded(upstream, tools, &Redactor::new());
            entry.loaded = is_listed;
            entry
        });
        vocabulary.learn(Catalog::new(entries));
        let (lister, listed) = mpsc::unbounded_channel();
        vocabulary.list_with(lister);
        (vocabulary, listed)
    }

    #[test]
    fn names_of_language_and_session_are_completed() {
        let (vocabulary, _listed) = vocabulary();
        let language = language();
        let found = |before: &str| complete(before, &language, &vocabulary);
        assert_eq!(found("(map (fn [x] (group-"), (14, vec!["group-by".to_owned()]));
        assert_eq!(found("(count tota"), (7, vec!["total".to_owned()]));
        assert_eq!(found("data/").1, ["data/orders"]);
        assert!(found("(when-l").1.contains(&"when-let".to_owned()), "special forms");
        assert!(found("é(tool").1.contains(&"tool/call".to_owned()));
        assert!(found("(").1.is_empty(), "nothing is proposed before anything is typed");
        assert_eq!(found("(str/up").1, ["str/upcase", "str/upper-case"]);
        vocabulary.define(vec!["total".to_owned(), "totals".to_owned()]);
        assert_eq!(found("tota").1, ["total", "totals"]);
    }

    #[test]
    fn servers_tools_and_arguments_are_completed() {
        let (vocabulary, mut listed) = vocabulary();
        let language = language();
        let found = |before: &str| complete(before, &language, &vocabulary).1.join(" ");
        assert_eq!(found("(tool/call {:"), ":args :server :tool");
        assert_eq!(found("(tool/call {:server \""), "files git");
        assert_eq!(found("(tool/call {:server \"files\" :tool \"re"), "read");
        assert_eq!(found("(tool/call! {:server \"files\" :tool \"read\" :args {:"), ":head :path");
        assert_eq!(found("(tool/call 'fi"), "files/");
        assert_eq!(found("(tool/call 'files/"), "files/list files/read");
        assert_eq!(found("(tool/call 'files/read {:p"), ":path");
        assert_eq!(found("(doc \"files/r"), "files/read");
        assert_eq!(found("(f {:"), "", "the keys of other maps are not known");
        assert!(listed.try_recv().is_err(), "nothing had to be listed");
        assert_eq!(found("(tool/call {:server \"git\" :tool \""), "");
        assert_eq!(listed.try_recv().as_deref(), Ok("git"));
    }
}
