//! `tool/pages`: all items of an upstream tool that answers page by page (functions.md 32).

use super::support::keys::key_name;
use super::support::{Builder, callee};
use super::tools::qualified;
use crate::error::{Error, Reason, Result};
use crate::machine::{Args, CallNow, Ctx, Flow, Input, NativeFrame, portable};
use crate::print;
use crate::value::{Map, Str, Value, equal};
use std::mem::take;

/// Where a page names what comes next, and the argument that asks for it.
const CURSORS: [(&str, &str); 14] = [
    ("next_cursor", "cursor"),
    ("nextCursor", "cursor"),
    ("cursor", "cursor"),
    ("end_cursor", "after"),
    ("endCursor", "after"),
    ("next_page_token", "page_token"),
    ("nextPageToken", "pageToken"),
    ("next_token", "next_token"),
    ("nextToken", "nextToken"),
    ("continuation_token", "continuation_token"),
    ("next_offset", "offset"),
    ("nextOffset", "offset"),
    ("next_page", "page"),
    ("nextPage", "page"),
];
/// Maps of a page in which the cursor may stand instead.
const ENVELOPES: [&str; 7] =
    ["pagination", "paging", "page_info", "pageInfo", "meta", "_meta", "response_metadata"];
/// What says that no page follows, whatever the cursor.
const MORE: [&str; 6] = ["has_more", "hasMore", "has_next_page", "hasNextPage", "has_next", "hasNext"];
/// The list of items, where a page has several lists.
const LISTS: [&str; 9] =
    ["items", "results", "data", "records", "entries", "rows", "values", "nodes", "hits"];

/// The keys of a request that are not those of `tool/call`.
const OPTIONS: [&str; 4] = ["items", "next", "cursor", "max-pages"];

/// What the frame waits for.
#[derive(Clone, Copy)]
enum Waiting {
    Page,
    Items,
    Next,
}

portable!(enum Waiting { 0: Page, 1: Items, 2: Next });

/// The pages that have been read so far.
pub(crate) struct Pages {
    /// What is called first: the map of `tool/call`, or the quoted name.
    request: Value,
    args: Map,
    /// How to find the items of a page, if not by its only list.
    items: Option<Value>,
    /// How to find what comes next, if not by the usual names.
    next: Option<Value>,
    /// The argument that takes the cursor.
    argument: Option<Value>,
    left: i64,
    /// `:max-pages`
    most: i64,
    out: Builder,
    page: Value,
    waiting: Waiting,
}

portable!(Pages { request, args, items, next, argument, left, most, out, page, waiting } if |pages: &Pages| pages.left >= 0);

#[cold]
fn fault(text: impl std::fmt::Display) -> Error {
    Error::verbatim(Reason::RuntimeError, format!("runtime_error: tool/pages: {text}"))
}

/// `(tool/pages request)`, `(tool/pages request options)`, and the same with `'server/tool args` as request
pub(super) fn pages(args: &[Value]) -> Result<Flow> {
    let (request, call_args, options) = match args {
        [Value::Map(map)] => (Value::Map(map.clone()), None, None),
        [Value::Map(map), options] => (Value::Map(map.clone()), None, Some(options)),
        [name] if is_name(name) => (name.clone(), None, None),
        [name, args] if is_name(name) => (name.clone(), Some(args), None),
        [name, args, options] if is_name(name) => (name.clone(), Some(args), Some(options)),
        args => {
            return Err(Error::new(
                Reason::InvalidToolArgs,
                format!(
                    "expected {}, with options {{:items key :next f :cursor \"argument\" :max-pages n}}",
                    super::call_form::of_positions("pages", args)
                ),
            ));
        }
    };
    let mut pages = Pages {
        request: request.clone(),
        args: Map::new(),
        items: None,
        next: None,
        argument: None,
        // The program's calls are bounded anyway, and that bound is told: no page is left out without a sign.
        left: i64::MAX,
        most: i64::MAX,
        out: Builder::new(),
        page: Value::Nil,
        waiting: Waiting::Page,
    };
    let mut given = call_args.cloned();
    if let Value::Map(map) = &request {
        let mut call = Map::new();
        for (key, value) in map.iter() {
            match key_name(key) {
                Some("args") => given = Some(value.clone()),
                Some(name) if OPTIONS.contains(&name) => pages.set(name, value)?,
                _ => call.insert(key.clone(), value.clone()),
            };
        }
        pages.request = Value::Map(call);
    }
    match given {
        None | Some(Value::Nil) => {}
        Some(Value::Map(map)) => pages.args = map,
        Some(other) => {
            return Err(fault(format_args!(":args expected a map, got {}", print::literal(&other))));
        }
    }
    match options {
        None | Some(Value::Nil) => {}
        Some(Value::Map(options)) => {
            for (key, value) in options.iter() {
                match key_name(key).filter(|name| OPTIONS.contains(name)) {
                    Some(name) => pages.set(name, value)?,
                    None => {
                        let shown = print::literal(key);
                        return Err(fault(format_args!(
                            "unknown option {shown}, expected :items, :next, :cursor or :max-pages"
                        )));
                    }
                }
            }
        }
        Some(next) => pages.set("next", next)?,
    }
    Ok(Flow::Push(Box::new(pages)))
}

/// Whether this names what is called: `tool/call` judges symbols.
fn is_name(value: &Value) -> bool {
    matches!(value, Value::Symbol(_)) || qualified(value).is_some()
}

/// The value of a key of a page, exactly as it is spelt.
fn field<'m>(page: &'m Map, name: &str) -> Option<&'m Value> {
    page.get(&Value::str(name))
}

impl Pages {
    fn set(&mut self, option: &str, value: &Value) -> Result<()> {
        let is_reader = value.is_callable() || matches!(value, Value::Str(_));
        match (option, value) {
            (_, Value::Nil) => {}
            ("items", value) if is_reader => self.items = Some(value.clone()),
            ("next", value) if is_reader => self.next = Some(value.clone()),
            ("cursor", Value::Keyword(_) | Value::Str(_)) => self.argument = Some(value.clone()),
            ("max-pages", Value::Int(pages @ 1..)) => (self.left, self.most) = (*pages, *pages),
            (option, value) => {
                let expected = match option {
                    "cursor" => "the name of an argument",
                    "max-pages" => "a positive integer",
                    _ => "a key, a path or a function",
                };
                return Err(fault(format_args!(
                    ":{option} expected {expected}, got {}",
                    print::literal(value)
                )));
            }
        }
        Ok(())
    }

    /// Asks for the next page.
    fn call(&mut self) -> Flow {
        self.left -= 1;
        self.waiting = Waiting::Page;
        let args = Value::Map(self.args.clone());
        let call = match &self.request {
            Value::Map(request) => {
                let mut request = request.clone();
                request.insert(Value::keyword("args"), args);
                callee::one(Value::Map(request))
            }
            name => callee::two(name.clone(), args),
        };
        Flow::Call(Value::Tool(Str::new("call")), call)
    }

    /// What `function` reads from the page, or the call that has to be waited for.
    fn read(&mut self, ctx: &mut Ctx<'_>, function: &Value, waiting: Waiting) -> Result<Result<Value, Flow>> {
        match callee::call(ctx, function, callee::one(self.page.clone()))? {
            CallNow::Done(value) => Ok(Ok(value)),
            CallNow::NeedsFrame(args) => {
                self.waiting = waiting;
                Ok(Err(Flow::Call(function.clone(), args)))
            }
        }
    }

    fn take_items(&mut self, ctx: &mut Ctx<'_>, items: Value) -> Result<()> {
        match items {
            Value::Nil => Ok(()),
            Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
                ctx.charge(items.len())?;
                items.iter().try_for_each(|item| self.out.push(item))
            }
            other => {
                let kind = other.kind_label();
                Err(fault(format_args!(":items gave a {kind}, expected the list of the page's items")))
            }
        }
    }

    /// The only list of the page, or the one with a usual name.
    fn usual_items(&self) -> Result<Value> {
        let page = match &self.page {
            Value::Vector(_) | Value::List(_) | Value::Queue(_) | Value::Nil => return Ok(self.page.clone()),
            Value::Map(page) if page.is_empty() => return Ok(Value::Nil),
            Value::Map(page) => page,
            other => {
                let kind = other.kind_label();
                return Err(fault(format_args!(
                    "the page is a {kind}, not a list or a map: read it with tool/call"
                )));
            }
        };
        let is_list = |value: &Value| matches!(value, Value::Vector(_) | Value::List(_) | Value::Queue(_));
        let mut lists = page.iter().filter(|(_, value)| is_list(value));
        if let (Some((_, list)), None) = (lists.next(), lists.next()) {
            return Ok(list.clone());
        }
        let named = LISTS.iter().filter_map(|name| field(page, name)).find(|value| is_list(value));
        if let Some(list) = named {
            return Ok(list.clone());
        }
        const SHOWN: usize = 12;
        let keys: Vec<String> = page.iter().take(SHOWN).map(|(key, _)| print::literal(key)).collect();
        Err(fault(format_args!(
            "which list of the page has the items is not plain; keys: {}. Say it by {{:items \"key\"}}",
            keys.join(", ")
        )))
    }

    /// What comes next by the usual names, and the argument that asks for it.
    fn usual_next(&self) -> (Value, &'static str) {
        let Value::Map(page) = &self.page else { return (Value::Nil, "cursor") };
        let inner = ENVELOPES.iter().filter_map(|name| match field(page, name) {
            Some(Value::Map(inner)) => Some(inner),
            _ => None,
        });
        for map in std::iter::once(page).chain(inner) {
            if MORE.iter().any(|name| matches!(field(map, name), Some(Value::False))) {
                return (Value::Nil, "cursor");
            }
            for (name, argument) in CURSORS {
                // Some servers repeat the cursor that they were asked for.
                let is_echo = |cursor: &&Value| {
                    let sent = self.args.get_flexible(&Value::str(argument));
                    name == argument && sent.is_some_and(|sent| equal(sent, cursor))
                };
                if let Some(cursor) = field(map, name).filter(|cursor| !is_echo(cursor)) {
                    return (cursor.clone(), argument);
                }
            }
        }
        (Value::Nil, "cursor")
    }

    /// `tool/pages of "tickets.search" stopped at :max-pages 2; there are further pages`
    fn ended_early(&self) -> String {
        const SHOWN: usize = 60;
        let part = |name| match &self.request {
            Value::Map(request) => request.get_flexible(&Value::keyword(name)).and_then(key_name),
            _ => None,
        };
        let name = match (&self.request, part("server"), part("tool")) {
            (Value::Symbol(name), ..) => name.as_str().replacen('/', ".", 1),
            (_, Some(server), Some(tool)) => format!("{server}.{tool}"),
            _ => String::from("a tool"),
        };
        let name: String = name.chars().take(SHOWN).collect();
        format!("tool/pages of {name:?} stopped at :max-pages {}; there are further pages", self.most)
    }

    /// Goes on with the next page, or gives all items.
    fn follow(&mut self, ctx: &mut Ctx<'_>, next: Value, argument: &str) -> Result<Flow> {
        let mut args = self.args.clone();
        match next {
            Value::Nil | Value::False => return Ok(Flow::Return(self.out.take())),
            Value::Str(text) if text.as_str().is_empty() => return Ok(Flow::Return(self.out.take())),
            Value::Map(more) => {
                for (key, value) in more.iter() {
                    put(&mut args, key, value.clone());
                }
            }
            cursor => {
                let argument = self.argument.clone().unwrap_or_else(|| Value::str(argument));
                put(&mut args, &argument, cursor);
            }
        }
        if equal(&Value::Map(args.clone()), &Value::Map(self.args.clone())) {
            return Err(fault(format_args!(
                "the page asks for itself again, with the arguments {}",
                print::literal(&Value::Map(args))
            )));
        }
        self.args = args;
        if self.left > 0 {
            return Ok(self.call());
        }
        ctx.note(Str::from(self.ended_early()));
        Ok(Flow::Return(self.out.take()))
    }
}

/// Sets an argument, under the key that the program has used for it.
fn put(args: &mut Map, key: &Value, value: Value) {
    let name = |key: &Value| key_name(key).map(|name| name.replace('-', "_"));
    let wanted = name(key);
    let known =
        args.iter().map(|(known, _)| known.clone()).find(|known| wanted.is_some() && name(known) == wanted);
    args.insert(known.unwrap_or_else(|| key.clone()), value);
}

impl NativeFrame for Pages {
    fn resume(&mut self, ctx: &mut Ctx<'_>, input: Input) -> Result<Flow> {
        let Input::Value(value) = input else { return Ok(self.call()) };
        let mut items = None;
        let mut next = None;
        match self.waiting {
            Waiting::Page => {
                let Value::Map(result) = &value else { return Ok(Flow::Return(value)) };
                if !matches!(result.get_flexible(&Value::keyword("ok")), Some(Value::True)) {
                    return Ok(Flow::Return(value));
                }
                self.page = result.get_flexible(&Value::keyword("value")).cloned().unwrap_or_default();
            }
            Waiting::Items => items = Some(value),
            Waiting::Next => next = Some(value),
        }
        if next.is_none() {
            let found = match (items, self.items.clone()) {
                (Some(items), _) => items,
                (None, None) => self.usual_items()?,
                (None, Some(reader)) => match self.read(ctx, &reader, Waiting::Items)? {
                    Ok(items) => items,
                    Err(flow) => return Ok(flow),
                },
            };
            self.take_items(ctx, found)?;
        }
        let (next, argument) = match (next, self.next.clone()) {
            (Some(next), _) => (next, "cursor"),
            (None, None) => self.usual_next(),
            (None, Some(reader)) => match self.read(ctx, &reader, Waiting::Next)? {
                Ok(next) => (next, "cursor"),
                Err(flow) => return Ok(flow),
            },
        };
        self.page = Value::Nil;
        self.follow(ctx, next, argument)
    }
}

/// The value of an upstream call that succeeded, or the end of the program with its message.
pub(crate) struct Unwrap;

portable!(Unwrap {});

impl super::support::Continuation for Unwrap {
    fn finish(self, _: &mut Ctx<'_>, result: Value) -> Result<Flow> {
        let Value::Map(map) = &result else { return Ok(Flow::Return(result)) };
        let part = |name| map.get_flexible(&Value::keyword(name)).cloned();
        if matches!(part("ok"), Some(Value::True)) {
            return Ok(Flow::Return(part("value").unwrap_or_default()));
        }
        let message = part("message").or_else(|| part("reason")).unwrap_or_default();
        let shown = print::readable(&message)?;
        Err(Error::fail(message, shown))
    }
}

/// `(tool/call! …)`: as `tool/call`
pub(super) fn call_or_fail(ctx: &mut Ctx<'_>, args: &mut [Value]) -> Result<Flow> {
    let args: Args = args.iter_mut().map(take).collect();
    super::support::call_then(ctx, Value::Tool(Str::new("call")), args, Unwrap)
}
