//! The right form for a wrong form of `tool/call`, with the names and arguments that the program wrote (upstreams.md 8.1).

use crate::print;
use crate::value::{Map, Value};

/// Keys that programs write for `:args`.
const ARGS: [&str; 8] = ["args", "arguments", "params", "parameters", "input", "inputs", "arg", "argument"];
/// Keys that programs write for `:tool`.
const TOOL: [&str; 6] = ["tool", "name", "tool_name", "tool-name", "method", "operation"];
/// Keys that programs write for `:server`.
const SERVER: [&str; 6] = ["server", "upstream", "server_name", "server-name", "mcp", "service"];
/// Keys of clients that no call has here.
const OTHERS: [&str; 7] = ["timeout", "timeout_ms", "timeout-ms", "timeoutMs", "retries", "retry", "options"];

/// Items of a vector that may be parts of a call.
const MOST_PARTS: usize = 8;

/// Whether a key names a setting of the operator.
pub(super) fn is_of_operator(key: &str) -> bool {
    OTHERS.contains(&key)
}

/// The key of `tool/call` that `key` stands for.
pub(super) fn part_of(key: &str) -> Option<&'static str> {
    let parts = [("args", &ARGS[..]), ("tool", &TOOL[..]), ("server", &SERVER[..])];
    parts.into_iter().find(|(_, names)| names.contains(&key)).map(|(part, _)| part)
}

/// `(tool/call {:server "s" :tool "t" :args {…}})` for arguments without names: strings, symbols or keywords, then a map or
/// pairs. Unknown parts appear as `…`.
pub(super) fn of_positions(form: &str, args: &[Value]) -> String {
    let mut args = args.to_vec();
    if let [Value::Vector(items)] = args.as_slice() {
        args = items.iter().take(MOST_PARTS).collect();
    }
    let mut parts = CallParts::default();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg {
            Value::Keyword(key) if part_of(key.name()).is_some() => {}
            // A keyword behind both names begins arguments in pairs.
            Value::Keyword(key) if parts.tool.is_some() => {
                if let Some(value) = rest.next() {
                    parts.more.insert(Value::keyword(key.name()), value.clone());
                }
            }
            Value::Str(_) | Value::Symbol(_) | Value::Keyword(_) => parts.name(text(arg)),
            Value::Map(map) if parts.args.is_none() => parts.args = Some(Value::Map(map.clone())),
            _ => {}
        }
    }
    parts.show(form)
}

/// The same for a map whose keys are not those of `tool/call`: other words for them, or arguments outside `:args`.
pub(super) fn of_map(form: &str, map: &Map) -> String {
    let mut parts = CallParts::default();
    for (key, value) in map.iter() {
        let Some(name) = text(key) else { continue };
        match part_of(name) {
            Some("args") => parts.args = Some(value.clone()),
            Some("tool") => parts.tool = text(value).map(str::to_owned),
            Some(_) => parts.server = text(value).map(str::to_owned),
            None if is_of_operator(name) => {}
            None => {
                parts.more.insert(Value::keyword(name), value.clone());
            }
        }
    }
    if parts.server.is_none() {
        let tool = parts.tool.take();
        parts.name(tool.as_deref());
    }
    parts.show(form)
}

/// The same for `(tool/NAME arguments)`, where the name may be `server/tool` or `server.tool`.
pub(super) fn of_tool(name: &str, arguments: &Map) -> String {
    let mut parts = CallParts { args: Some(Value::Map(arguments.clone())), ..CallParts::default() };
    parts.name(Some(name));
    if parts.tool.is_none() {
        parts.tool = parts.server.take();
    }
    parts.show("call")
}

/// The text of a name, however it is written.
fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Str(text) | Value::Symbol(text) => Some(text.as_str()),
        Value::Keyword(keyword) => Some(keyword.name()),
        _ => None,
    }
}

#[derive(Default)]
struct CallParts {
    server: Option<String>,
    tool: Option<String>,
    args: Option<Value>,
    /// Arguments that stand outside of `args`.
    more: Map,
}

impl CallParts {
    /// Takes the next name: `server/tool`, or the server and then the tool.
    fn name(&mut self, name: Option<&str>) {
        let Some(name) = name else { return };
        let both = name.split_once('/').or_else(|| name.split_once('.'));
        match both.filter(|(server, tool)| !server.is_empty() && !tool.is_empty()) {
            Some((server, tool)) if self.server.is_none() => {
                (self.server, self.tool) = (Some(server.to_owned()), Some(tool.to_owned()));
            }
            _ if self.server.is_none() => self.server = Some(name.to_owned()),
            _ if self.tool.is_none() => self.tool = Some(name.to_owned()),
            _ => {}
        }
    }

    fn show(self, form: &str) -> String {
        let quoted = |name: &Option<String>| {
            name.as_deref().map_or_else(|| "\"…\"".to_owned(), |name| print::literal(&Value::str(name)))
        };
        let args = match self.args {
            Some(Value::Map(map)) => {
                let mut all = map;
                for (key, value) in self.more.iter() {
                    all.insert(key.clone(), value.clone());
                }
                print::literal(&Value::Map(all))
            }
            None if !self.more.is_empty() => print::literal(&Value::Map(self.more)),
            _ => "{…}".to_owned(),
        };
        format!(
            "(tool/{form} {{:server {} :tool {} :args {args}}})",
            quoted(&self.server),
            quoted(&self.tool)
        )
    }
}
