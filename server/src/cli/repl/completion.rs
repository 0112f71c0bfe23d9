//! Completions for the Tab key: names of the language and of the session, servers, their tools, and the arguments of
//! these.

use super::syntax::{Kind, Lexeme, lexemes, open_brackets};
use ptc_host::catalog::Catalog;
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
pub(super) struct Vocabulary(Arc<Mutex<Names>>);

#[derive(Debug, Default)]
struct Names {
    /// Definitions of the session and keys of the context, such as `data/orders`.
    defined: Vec<String>,
    servers: Vec<Server>,
    /// Receives the names of servers whose tools are needed and not listed yet.
    lister: Option<mpsc::UnboundedSender<String>>,
}

#[derive(Clone, Debug)]
struct Server {
    name: String,
    /// True if its tools are known.
    is_listed: bool,
    /// Its tools, each with the keywords of its arguments.
    tools: Vec<(String, Vec<String>)>,
}

impl Vocabulary {
    /// Sets the names of this session.
    pub(super) fn define(&self, names: Vec<String>) {
        self.lock().defined = names;
    }

    /// Sets the servers, tools and arguments of this catalog.
    pub(super) fn learn(&self, catalog: &Catalog) {
        let servers = catalog.servers().map(|server| Server {
            name: server.name.clone(),
            is_listed: server.loaded,
            tools: server
                .tools_by_name()
                .filter(|tool| !has_hidden(&tool.name))
                .map(|tool| {
                    let arguments = tool.input_schema["properties"].as_object();
                    let keys = arguments.into_iter().flatten().map(|(key, _)| format!(":{key}"));
                    (tool.name.clone(), keys.filter(|key| !has_hidden(key)).collect())
                })
                .collect(),
        });
        self.lock().servers = servers.collect();
    }

    /// Sets the receiver of servers whose tools are to be listed when completions need them.
    pub(super) fn list_with(&self, lister: mpsc::UnboundedSender<String>) {
        self.lock().lister = Some(lister);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Names> {
        self.0.lock()
    }
}

impl Names {
    /// Tools of `server`, or of all servers. Lists that are missing are requested for the next time.
    fn tools(&self, server: Option<&str>) -> Vec<(&Server, &(String, Vec<String>))> {
        let wanted = self.servers.iter().filter(|one| server.is_none_or(|name| one.name == name));
        let mut found = Vec::new();
        for server in wanted {
            if !server.is_listed
                && let Some(lister) = &self.lister
            {
                // The receiver may be dropped when the REPL ends.
                let _ = lister.send(server.name.clone());
            }
            found.extend(server.tools.iter().map(|tool| (server, tool)));
        }
        found
    }

    /// `server/tool` names; only tools of those servers that can match `begun`.
    fn references(&self, begun: &str) -> Vec<String> {
        let named = self.servers.iter().find(|server| {
            begun.strip_prefix(server.name.as_str()).is_some_and(|rest| rest.starts_with('/'))
        });
        match named {
            Some(server) => self
                .tools(Some(&server.name))
                .into_iter()
                .map(|(server, (tool, _))| format!("{}/{tool}", server.name))
                .collect(),
            None => self.servers.iter().map(|server| format!("{}/", server.name)).collect(),
        }
    }

    fn arguments(&self, server: &str, tool: &str) -> Vec<String> {
        let tools = self.tools(Some(server));
        let found = tools.into_iter().find(|(_, (name, _))| name == tool);
        found.map(|(_, (_, arguments))| arguments.clone()).unwrap_or_default()
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
    let names = vocabulary.lock();
    let lexemes = lexemes(before);
    let quoted = lexemes.last().filter(|last| last.kind == Kind::Text && is_open(last, before));
    let start = match quoted {
        Some(text) => text.start + text.text.find('"').map_or(0, |quote| quote + 1),
        None => {
            before.rfind(ends_name).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))
        }
    };
    let begun = &before[start..];
    let earlier: Vec<_> =
        lexemes.iter().copied().filter(|lexeme| lexeme.start < start && !is_open(lexeme, before)).collect();
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

/// True if a string is not closed yet.
fn is_open(lexeme: &Lexeme<'_>, text: &str) -> bool {
    lexeme.kind == Kind::Text
        && lexeme.start + lexeme.text.len() == text.len()
        && ptc_compiler::reader::is_unfinished(lexeme.text)
}

/// Completions inside a string.
fn in_string(earlier: &[Lexeme<'_>], begun: &str, names: &Names) -> Vec<String> {
    match earlier.last().map(|key| key.text) {
        Some(":server") => names.servers.iter().map(|server| server.name.clone()).collect(),
        Some(":tool") => {
            let open = open_brackets(earlier).last().copied().unwrap_or(0);
            let server = text_behind(&earlier[open..], ":server");
            names.tools(server).into_iter().map(|(_, (tool, _))| tool.clone()).collect()
        }
        _ => names.references(begun),
    }
}

/// Completions of a keyword.
fn keys(earlier: &[Lexeme<'_>], names: &Names) -> Vec<String> {
    let open = open_brackets(earlier);
    let Some(&map) = open.last().filter(|&&map| earlier[map].text == "{") else { return Vec::new() };
    let call = open.iter().rev().nth(1).copied();
    let is_call = |list: usize| {
        earlier[list].text == "(" && earlier.get(list + 1).is_some_and(|head| TOOL_CALLS.contains(&head.text))
    };
    let Some(outer) = call else { return Vec::new() };
    if is_call(outer) {
        return match earlier.get(outer + 2) {
            // `(tool/call {` has the map first, `(tool/call 'server/tool {` a name before it.
            Some(first) if outer + 2 < map => {
                let reference = first.text.trim_matches(['\'', '"']);
                match reference.split_once('/') {
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
    let text = lexemes.get(at + 1).filter(|value| value.kind == Kind::Text)?;
    Some(text.text.trim_matches('"'))
}

/// Characters that no symbol contains.
fn ends_name(c: char) -> bool {
    c.is_ascii_whitespace() || "()[]{}\"'`,;#@^~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> (Vocabulary, mpsc::UnboundedReceiver<String>) {
        let vocabulary = Vocabulary::default();
        vocabulary.define(vec!["total".to_owned(), "data/orders".to_owned()]);
        let server = |name: &str, is_listed, tools: &[(&str, &[&str])]| Server {
            name: name.to_owned(),
            is_listed,
            tools: tools
                .iter()
                .map(|(tool, keys)| ((*tool).to_owned(), keys.iter().map(|key| (*key).to_owned()).collect()))
                .collect(),
        };
        let files: [(&str, &[&str]); 2] = [("read", &[":head", ":path"]), ("list", &[":path"])];
        vocabulary.lock().servers = vec![server("files", true, &files), server("git", false, &[])];
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
