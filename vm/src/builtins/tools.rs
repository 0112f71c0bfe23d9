//! Calling tools: `(tool/NAME …)` of the host, `tool/call` and `tool/servers` of upstreams (language.md 5.5,
//! upstreams.md 8).
//!
//! The machine checks the parts it can see: the shape of the arguments, the keys of `tool/call`, that all is JSON. The host
//! checks names against its catalog.

use super::call_form;
use super::pages::{PAGE, qualified};
use super::support::keys::{key_name, shown_key};
use crate::error::{Error, Reason, Result};
use crate::json::{self, ArgumentSendError};
use crate::machine::{ArgumentsError, Ctx, Flow, HostRequest, ToolArguments, UpstreamCall};
use crate::print;
use crate::value::{Map, Str, Value};

/// Calls the tool that a tool reference names.
pub(super) fn call(ctx: &mut Ctx<'_>, name: &Str, args: &[Value]) -> Result<Flow> {
    let name = name.as_str();
    let registered = ctx.tools().iter().any(|tool| &**tool == name);
    if name == "servers" && !registered {
        return servers(ctx, args);
    }
    if ctx.has_upstreams() && !registered {
        match name {
            "call!" => return super::call_or_fail::call_or_fail(ctx, args.to_vec().as_mut_slice()),
            "pages" => return super::pages::pages(args),
            "call" if args.is_empty() => {
                if let Some(call) = ctx.take_prepared_call() {
                    return Ok(Flow::Host(HostRequest::Upstream(within(*call, ctx.max_request_bytes()))));
                }
            }
            _ => {}
        }
    }
    let by_pages = name == PAGE;
    let upstream = (name == "call" || by_pages) && ctx.has_upstreams();
    if upstream && let [name, rest @ ..] = args {
        if let Some((server, tool)) = qualified(name) {
            return by_name(
                CallOptions { most: ctx.max_request_bytes(), by_pages },
                server,
                tool,
                rest,
                args,
            );
        }
        if let Value::Symbol(_) = name {
            return Err(unqualified(args));
        }
    }
    let arguments = named_arguments(name, args)?;
    if upstream {
        return upstream_call(CallOptions { most: ctx.max_request_bytes(), by_pages }, &arguments);
    }
    if !registered {
        return Err(unknown_tool(ctx, name, &arguments));
    }
    let most = ctx.max_request_bytes();
    let arguments = json::write_tool_arguments(&arguments, most).map_err(|unsent| match unsent {
        ArgumentSendError::NotEncodable(why) => {
            Error::new(Reason::InvalidToolArgs, format!("tool/{name}: non-JSON-encodable {why}"))
        }
        ArgumentSendError::TooLong(bytes) => {
            let text =
                format!("tool/{name}: the arguments are at least {bytes} bytes of JSON, the limit is {most}");
            Error::new(Reason::InvalidToolArgs, text)
        }
        ArgumentSendError::Limit(error) => error,
    })?;
    Ok(Flow::Host(HostRequest::Tool { name: name.to_owned(), arguments: underscored(arguments) }))
}

/// A call that sends no more than it may.
fn within(call: UpstreamCall, most: usize) -> UpstreamCall {
    match call.bytes() {
        bytes if bytes > most => {
            UpstreamCall { arguments: Err(ArgumentsError::TooLong { bytes, most }), ..call }
        }
        _ => call,
    }
}

/// A host tool has no schema to look into: keyword keys lose all their hyphens.
fn underscored(arguments: ToolArguments) -> Vec<u8> {
    let ToolArguments { mut json, hyphenated } = arguments;
    for byte in hyphenated.into_iter().flatten() {
        if json[byte] == b'-' {
            json[byte] = b'_';
        }
    }
    json
}

/// The arguments as a map: none, one map, or keywords with values.
fn named_arguments(name: &str, args: &[Value]) -> Result<Map> {
    match args {
        [] => Ok(Map::new()),
        [Value::Map(map)] => Ok(map.clone()),
        pairs
            if pairs.len() % 2 == 0
                && pairs.iter().step_by(2).all(|key| matches!(key, Value::Keyword(_))) =>
        {
            let mut map = Map::new();
            for pair in pairs.chunks_exact(2) {
                map.insert(pair[0].clone(), pair[1].clone());
            }
            Ok(map)
        }
        args => Err(positional(name, args)),
    }
}

/// The error of arguments without names, with a hint for a single one.
#[cold]
fn positional(name: &str, args: &[Value]) -> Error {
    let hint = match args {
        [number] if matches!(name, "call" | "call!") && !may_name(number) => {
            format!(" Got {} — wrap in {{:key value}}", print::literal(number))
        }
        args @ [first, ..] if matches!(name, "call" | "call!") => {
            let got = match (first, args.len()) {
                (Value::Str(_), 1) => format!(" Got string {}.", print::literal(first)),
                _ => String::new(),
            };
            format!("{got} Write {}", call_form::of_positions(name, args))
        }
        [text @ Value::Str(_)] => {
            format!(" Got string {} — try (tool/{name} {{:url \"...\"}})", print::literal(text))
        }
        [other] => format!(" Got {} — wrap in {{:key value}}", print::literal(other)),
        _ => String::new(),
    };
    Error::new(
        Reason::InvalidToolArgs,
        format!(
            "Tool calls require named arguments. Use (tool/{name} {{:key value}}), not positional args.{hint}"
        ),
    )
}

/// Whether a call may be read into this argument.
fn may_name(value: &Value) -> bool {
    matches!(value, Value::Str(_) | Value::Symbol(_) | Value::Keyword(_) | Value::Vector(_))
}

#[cold]
fn unknown_tool(ctx: &Ctx<'_>, name: &str, arguments: &Map) -> Error {
    let mut known: Vec<&str> = ctx.tools().iter().map(|tool| &**tool).collect();
    if ctx.has_upstreams() && !known.contains(&"call") {
        known.push("call");
    }
    known.sort_unstable();
    let text = match known.as_slice() {
        [] => format!("Unknown tool: {name}. No tools available."),
        known => format!("Unknown tool: {name}. Available tools: {}", known.join(", ")),
    };
    let error = Error::new(Reason::UnknownTool, text);
    match ctx.has_upstreams() {
        true => {
            let call = call_form::of_tool(name, arguments);
            error.with_hint(format!(". A tool of an upstream server is called by {call}"))
        }
        false => error,
    }
}

/// `(tool/servers)`
fn servers(ctx: &mut Ctx<'_>, args: &[Value]) -> Result<Flow> {
    if !args.is_empty() {
        return Err(Error::new(Reason::InvalidArity, "(tool/servers) takes no arguments"));
    }
    if !ctx.has_upstreams() {
        return Err(super::discovery::no_backend());
    }
    Ok(Flow::Host(HostRequest::Discovery {
        form: "tool/servers",
        arguments: b"[]".to_vec(),
        shown: Vec::new(),
    }))
}

/// A fault of the program that row N of upstreams.md 8.3 names.
#[cold]
fn fault(text: String) -> Error {
    Error::verbatim(Reason::RuntimeError, format!("runtime_error: {text}"))
}

#[cold]
fn unqualified(args: &[Value]) -> Error {
    let text = "tool/call symbol form requires a qualified symbol like 'server/tool";
    Error::new(Reason::InvalidToolArgs, text)
        .with_hint(format!(". Write {}", call_form::of_positions("call", args)))
}

/// How a call is made, besides its names and arguments.
#[derive(Clone, Copy)]
struct CallOptions {
    /// The most bytes of its arguments and names.
    most: usize,
    /// Whether `tool/pages` makes it.
    by_pages: bool,
}

/// `(tool/call 'server/tool)`, `(tool/call 'server/tool args)`
fn by_name(options: CallOptions, server: &str, tool: &str, rest: &[Value], args: &[Value]) -> Result<Flow> {
    let arguments = match rest {
        [] => None,
        [arguments] => Some(arguments),
        _ => return Err(positional("call", args)),
    };
    sent(options, Ok(server), Ok(tool), arguments)
}

/// The advice for a key that `tool/call` does not have.
#[cold]
fn meant(key: Option<&str>, map: &Map) -> String {
    let key = key.unwrap_or_default();
    if call_form::is_of_operator(key) {
        return ". Leave it out: the time of calls is the operator's to set".to_owned();
    }
    let right = call_form::of_map("call", map);
    match call_form::part_of(key) {
        Some(part) => format!(". Write :{part}, as in {right}"),
        None => format!(". Write {right}, the tool's arguments inside :args"),
    }
}

/// The operator's option for the most bytes of a call.
pub(super) const MOST_FLAG: &str = "--max-upstream-request-bytes";

/// The keys of `tool/call`.
const PARTS: [&str; 3] = ["server", "tool", "args"];

/// `(tool/call {:server … :tool … :args …})`
fn upstream_call(options: CallOptions, map: &Map) -> Result<Flow> {
    let mut parts: [Option<&Value>; 3] = [None; 3];
    let mut twice = [false; 3];
    for (key, value) in map.iter() {
        let name = key_name(key);
        let Some(part) = name.and_then(|name| PARTS.iter().position(|part| *part == name)) else {
            let shown = shown_key(key);
            return Err(fault(format!("tool/call got unknown key {shown}")).with_hint(meant(name, map)));
        };
        twice[part] |= parts[part].replace(value).is_some();
    }
    if let Some(part) = twice.iter().position(|twice| *twice) {
        return Err(fault(format!("tool/call got duplicate key :{}", PARTS[part])));
    }
    let [server, tool, arguments] = parts;
    sent(options, name(server), name(tool), arguments)
}

/// The call as the host gets it.
fn sent(
    CallOptions { most, by_pages }: CallOptions,
    server: Result<&str, String>,
    tool: Result<&str, String>,
    arguments: Option<&Value>,
) -> Result<Flow> {
    let named: usize = [&server, &tool].into_iter().flatten().map(|name| name.len()).sum();
    if named > most {
        let text =
            format!("tool/call got names of {named} bytes, the limit of a call is {most} ({MOST_FLAG})");
        return Err(fault(text));
    }
    let arguments = tool_arguments(most - named, arguments)?.map_err(|bad| match bad {
        ArgumentsError::TooLong { bytes, .. } => ArgumentsError::TooLong { bytes: bytes + named, most },
        other => other,
    });
    let (server, tool) = (server.map(str::to_owned), tool.map(str::to_owned));
    Ok(Flow::Host(HostRequest::Upstream(UpstreamCall { server, tool, arguments, by_pages })))
}

/// The name in a non-empty string or a keyword, or the literal of any other value.
fn name(value: Option<&Value>) -> Result<&str, String> {
    match value {
        Some(Value::Str(name)) if !name.as_str().is_empty() => Ok(name.as_str()),
        Some(Value::Keyword(name)) => Ok(name.name()),
        other => Err(print::literal(other.unwrap_or(&Value::Nil))),
    }
}

/// `:args` as JSON; `nil` counts as no arguments. A value that cannot be sent is reported to the host, which names the tool.
fn tool_arguments(most: usize, value: Option<&Value>) -> Result<Result<ToolArguments, ArgumentsError>> {
    let written = match value {
        None | Some(Value::Nil) => json::write_tool_arguments(&Map::new(), most),
        Some(Value::Map(map)) => json::write_tool_arguments(map, most),
        Some(other) => return Ok(Err(ArgumentsError::NotAMap(print::literal(other)))),
    };
    match written {
        Ok(arguments) => Ok(Ok(arguments)),
        Err(ArgumentSendError::NotEncodable(why)) => Ok(Err(ArgumentsError::NotEncodable(why))),
        Err(ArgumentSendError::TooLong(bytes)) => Ok(Err(ArgumentsError::TooLong { bytes, most })),
        Err(ArgumentSendError::Limit(limit)) => Err(limit),
    }
}
