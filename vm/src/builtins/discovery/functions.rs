//! The discovery forms.

use super::catalog::{self, ALL, USER, canonical, fault, members};
use super::programs;
use super::search::local_matches;
use crate::builtins::namespaces::EXTENSION;
use crate::builtins::row::frame;
use crate::builtins::words::query_words;
use crate::builtins::{Builtin, printing};
use crate::error::{Error, Reason, Result};
use crate::json::{self, ArgumentSendError};
use crate::machine::{Args, Ctx, Flow, HostRequest, Input, NativeFrame, portable};
use crate::meter;
use crate::print;
use crate::value::{Map, Value, Vector};

/// Steps that one described name costs.
const STEPS_PER_NAME: usize = 20;

/// Most bytes that a form sends to the host.
const MAX_BYTES: usize = 256 << 10;

/// The error of a form that only upstreams could answer, where there are none.
#[cold]
pub(crate) fn no_backend() -> Error {
    fault("REPL discovery forms are only available when a discovery backend is configured".into())
}

/// The text of a reference: a symbol, a string or a keyword.
fn reference(form: &str, value: &Value) -> Result<String> {
    let text = match value {
        Value::Str(text) | Value::Symbol(text) => text.as_str(),
        Value::Keyword(keyword) => keyword.name(),
        _ => "",
    };
    if text.trim().is_empty() {
        return Err(fault(format!(
            "{form} requires a quoted symbol or string ref, got {}",
            print::literal(value)
        )));
    }
    Ok(text.to_owned())
}

/// The options of a form: a map, or nothing.
fn options(value: Option<&Value>) -> Result<Map> {
    match value {
        None => Ok(Map::new()),
        Some(Value::Map(map)) => Ok(map.clone()),
        Some(other) => Err(fault(format!("discovery options must be a map, got {}", print::literal(other)))),
    }
}

fn option<'m>(options: &'m Map, key: &str) -> Option<&'m Value> {
    options.get_flexible(&Value::keyword(key))
}

/// Asks the host about an unknown name.
fn ask(ctx: &Ctx<'_>, form: &'static str, args: &[Value]) -> Result<Flow> {
    if !ctx.has_upstreams() {
        return Err(no_backend());
    }
    Ok(Flow::Host(request(ctx, form, args)?))
}

fn request(ctx: &Ctx<'_>, form: &'static str, args: &[Value]) -> Result<HostRequest> {
    let plain: Vec<Value> = args
        .iter()
        .map(|arg| match arg {
            Value::Symbol(symbol) => Value::Str(symbol.clone()),
            other => other.clone(),
        })
        .collect();
    let most = ctx.max_request_bytes().min(MAX_BYTES);
    let arguments = json::write_within(&Value::vector(plain), most).map_err(|unsent| match unsent {
        ArgumentSendError::NotEncodable(why) => {
            Error::verbatim(Reason::RuntimeError, format!("non-JSON-encodable {why}"))
        }
        ArgumentSendError::TooLong(bytes) => {
            fault(format!("{form} got at least {bytes} bytes, the limit is {most}"))
        }
        ArgumentSendError::Limit(limit) => limit,
    })?;
    let arguments = arguments.json;
    // The third argument, local matches of a search or the number of texts of `doc`, is shown by no message.
    let shown = args.iter().take(2).map(print::literal).collect();
    Ok(HostRequest::Discovery { form, arguments, shown })
}

/// Most names that one `doc` documents.
const MAX_DOCUMENTED: usize = 16;

/// `(doc ref …)`, `(doc ref … {:offset 0})`: the names, or a vector of them.
pub(super) fn doc(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let (names, options) = match &*args {
        [names @ .., options @ Value::Map(_)] if !names.is_empty() => (names, Some(options.clone())),
        names => (names, None),
    };
    let listed: Vec<Value> = match names {
        [Value::Vector(listed)] => listed.iter().take(MAX_DOCUMENTED + 1).collect(),
        names => names.to_vec(),
    };
    if listed.len() > MAX_DOCUMENTED {
        return Err(fault(format!("doc takes at most {MAX_DOCUMENTED} names")));
    }
    let texts = Value::Int(listed.len() as i64);
    match &listed[..] {
        [] => Err(fault(format!(
            "doc requires a quoted symbol or string ref, got {}",
            print::literal(&names[0])
        ))),
        [name] => documented(ctx, name, options.as_slice()),
        names => {
            names.iter().try_for_each(|name| reference("doc", name).map(drop))?;
            let names = names.iter().rev().cloned().collect();
            let shared = Args::from_iter([options.unwrap_or_else(|| Value::Map(Map::new())), texts]);
            Ok(Flow::Push(Box::new(Docs { names, shared, texts: Args::new() })))
        }
    }
}

/// The text of one name: the local one, or a question to the host with these further arguments.
fn documented(ctx: &mut Ctx<'_>, name: &Value, further: &[Value]) -> Result<Flow> {
    let text = reference("doc", name)?;
    ctx.charge(STEPS_PER_NAME)?;
    if let Some(text) = programs::doc(ctx, &text)? {
        return text_value(text);
    }
    match catalog::find(&text, ctx.namespace()) {
        Some(entry) => text_value(entry.text()),
        None => {
            let args: Vec<Value> = std::iter::once(name).chain(further).cloned().collect();
            ask(ctx, "doc", &args)
        }
    }
}

/// The texts of several names, one after the other.
pub(crate) struct Docs {
    /// Those that are left, the next one last.
    names: Args,
    /// Arguments for the host with each name: the options, and how many texts share the program's print budget.
    shared: Args,
    texts: Args,
}

portable!(Docs { names, shared, texts });

/// The text of one of several names, as a call whose result comes back to the frame.
pub(crate) static ONE_DOC: Builtin = frame("doc", EXTENSION, "ref options texts", |ctx, args| {
    let (name, further) = args.split_first().ok_or_else(no_backend)?;
    documented(ctx, name, further)
});

impl NativeFrame for Docs {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        if let Input::Value(text) = input {
            // A spent budget gives nil, here for one of them.
            if !matches!(text, Value::Nil) {
                self.texts.push(text);
            }
        }
        if let Some(name) = self.names.pop() {
            let args = std::iter::once(name).chain(self.shared.iter().cloned()).collect();
            return Ok(Flow::Call(ctx.library().unnamed(&ONE_DOC), args));
        }
        if self.texts.is_empty() {
            return Ok(Flow::Return(Value::Nil));
        }
        let mut all = String::new();
        for text in &self.texts {
            if !all.is_empty() {
                print::append(&mut all, "\n\n")?;
            }
            if let Value::Str(text) = text {
                meter::charge_steps(text.as_str().len() as u64 / 16)?;
                print::append(&mut all, text.as_str())?;
            }
        }
        Ok(Flow::Return(Value::Str(all.into())))
    }
}

fn text_value(text: String) -> Result<Flow> {
    meter::reserve(text.len())?;
    meter::charge_steps(text.len() as u64 / 16)?;
    Ok(Flow::Return(Value::Str(text.into())))
}

/// `(meta ref)`
pub(super) fn meta(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let name = reference("meta", &args[0])?;
    ctx.charge(STEPS_PER_NAME)?;
    if let Some(map) = programs::meta(ctx, &name)? {
        return Ok(Flow::Return(map));
    }
    match catalog::find(&name, ctx.namespace()) {
        Some(entry) => Ok(Flow::Return(entry.meta())),
        None => ask(ctx, "meta", args),
    }
}

/// `(dir ref)`, `(dir ref opts)`
pub(super) fn dir(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let name = reference("dir", &args[0])?;
    let options = options(args.get(1))?;
    let limit = match option(&options, "limit") {
        None => 50,
        Some(Value::Int(n @ 1..=200)) => *n as usize,
        Some(other) => {
            return Err(fault(format!(
                "dir :limit must be an integer 1..200, got {}",
                print::literal(other)
            )));
        }
    };
    let offset = match option(&options, "offset") {
        None => 0,
        Some(Value::Int(n)) if *n >= 0 => usize::try_from(*n).unwrap_or(usize::MAX),
        Some(other) => {
            let got = print::literal(other);
            return Err(fault(format!("dir :offset must be a non-negative integer, got {got}")));
        }
    };
    if let Some(catalog) = programs::namespace(ctx, &name) {
        return programs::lines(ctx, &*catalog, offset, limit).map(Flow::Return);
    }
    let Some(space) = canonical(&name, true) else { return ask(ctx, "dir", args) };
    charge_members(ctx, space)?;
    let members = members(space, ctx.namespace());
    let lines: Vec<Value> =
        members.iter().skip(offset).take(limit).map(|entry| Value::str(entry.line())).collect();
    Ok(Flow::Return(Value::vector(lines)))
}

fn charge_members(ctx: &mut Ctx<'_>, space: &str) -> Result<()> {
    let count = if space == USER { ctx.namespace().bindings().len() } else { ctx.library().all().len() };
    ctx.charge(count * STEPS_PER_NAME)?;
    // Names, lines and short texts.
    ctx.reserve(count * 256)
}

/// `(ns-publics ns)`
pub(super) fn ns_publics(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = reference("ns-publics", &args[0])?;
    let Some(space) = canonical(&name, false) else { return Err(unknown_namespace(&name, "ns-publics")) };
    charge_members(ctx, space)?;
    let mut map = Map::new();
    for entry in members(space, ctx.namespace()) {
        meter::reserve(1024)?;
        map.insert(Value::str(entry.name), entry.public());
    }
    Ok(Value::Map(map))
}

#[cold]
fn unknown_namespace(name: &str, form: &str) -> Error {
    fault(format!("no local discovery ref {} for {form}", print::literal(&Value::str(name))))
}

/// `(all-ns)`
pub(super) fn all_ns(_ctx: &mut Ctx<'_>, _args: &mut [Value]) -> Result<Value> {
    Ok(Value::vector(ALL.map(Value::str)))
}

/// `(ns-name ns)`
pub(super) fn ns_name(_ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = reference("ns-name", &args[0])?;
    match canonical(&name, false) {
        Some(canonical) => Ok(Value::str(canonical)),
        None => Err(unknown_namespace(&name, "ns-name")),
    }
}

/// `(source ref)`: prints, and returns `nil`.
pub(super) fn source(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Value> {
    let name = reference("source", &args[0])?;
    let own = name.strip_prefix("user/").unwrap_or(&name);
    let known =
        ctx.namespace().get(own).and_then(|binding| binding.info.as_ref()).map(|info| info.source.clone());
    let text = match known {
        Some(source) => source.to_string(),
        None => format!("no source available for {name}"),
    };
    printing::log(ctx, text, printing::TextEnd::Line)
}

/// `(apropos query)`, `(apropos query opts)`
pub(super) fn apropos(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let query = match &args[0] {
        Value::Str(query) if !query.as_str().trim().is_empty() => query.clone(),
        other => {
            let got = print::literal(other);
            return Err(fault(format!("apropos requires query (non-empty string), got {got}")));
        }
    };
    ctx.charge(query.as_str().len() / 8)?;
    let words = query_words(query.as_str()).map_err(fault)?;
    let options = options(args.get(1))?;
    let limit = match option(&options, "limit") {
        None => 8,
        Some(Value::Int(n @ 1..=50)) => *n as usize,
        Some(other) => {
            return Err(fault(format!(
                "apropos :limit must be an integer 1..50, got {}",
                print::literal(other)
            )));
        }
    };
    if let Some(other) = option(&options, "load").filter(|load| !matches!(load, Value::True | Value::False)) {
        return Err(fault(format!("apropos :load must be a boolean, got {}", print::literal(other))));
    }
    let programs: Args = programs::matches(ctx, &words, limit)?.into_iter().map(Value::str).collect();
    let left = limit - programs.len();
    let local = local_matches(ctx, &words, left)?;
    let local: Vector = local.into_iter().map(Value::str).collect();
    if !ctx.has_upstreams() || left == 0 {
        return Ok(Flow::Return(Value::vector(programs.into_iter().chain(local).collect::<Vec<Value>>())));
    }
    let options = if programs.is_empty() { options } else { programs::with_limit(&options, left) };
    // A search that loads lists tools only (ruling 39).
    let loads = matches!(option(&options, "load"), Some(Value::True));
    let local = if loads { Vector::new() } else { local };
    let args = Args::from_iter([args[0].clone(), Value::Map(options), Value::Vector(local)]);
    Ok(Flow::Push(Box::new(Apropos { args, programs })))
}

/// A search that waits for the host, which puts the upstreams' matches before the local ones and cuts the whole.
pub(crate) struct Apropos {
    args: Args,
    /// The lines of kept programs, which stand before all others.
    programs: Args,
}

portable!(Apropos { args, programs });

/// The search of the host, as a call whose result comes back to the frame.
pub(crate) static UPSTREAM_APROPOS: Builtin =
    frame("apropos", EXTENSION, "query options local", |ctx, args| {
        Ok(Flow::Host(request(ctx, "apropos", args)?))
    });

impl NativeFrame for Apropos {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let Input::Value(reply) = input else {
            return Ok(Flow::Call(ctx.library().unnamed(&UPSTREAM_APROPOS), std::mem::take(&mut self.args)));
        };
        // A spent budget gives nil (ruling 39), in place of what upstreams have.
        match reply {
            reply if self.programs.is_empty() => Ok(Flow::Return(reply)),
            Value::Vector(others) => {
                let all = std::mem::take(&mut self.programs).into_iter().chain(others);
                Ok(Flow::Return(Value::vector(all.collect::<Vec<Value>>())))
            }
            _ => Ok(Flow::Return(Value::vector(std::mem::take(&mut self.programs).into_vec()))),
        }
    }
}
