//! `tool/pages`: all items of an upstream tool that answers page by page (functions.md 32). [`paging`](crate::paging)
//! interprets pages.

use super::support::keys::key_name;
use super::support::{Builder, callee};
use super::text_pages;
use crate::error::{Error, Reason, Result};
use crate::machine::{CallNow, Ctx, Flow, Input, NativeFrame, PAGING, portable};
use crate::paging::{NextPage, Page, PageArguments, Parameters, is_list, next, pairs};
use crate::print;
use crate::value::{Map, Str, Value, equal};
use std::mem::take;

/// The keys of a request that are not those of `tool/call`.
const OPTIONS: [&str; 4] = ["items", "next", "cursor", "max-pages"];

/// The event that the frame waits for.
#[derive(Clone, Copy)]
enum AwaitedEvent {
    Page,
    Items,
    Next,
}

portable!(enum AwaitedEvent { 0: Page, 1: Items, 2: Next });

/// Why the page that is waited for was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PageReason {
    /// It is the first one.
    First,
    /// A cursor or an address asks for it, or the program.
    Cursor,
    /// The page before says that there is more, and the next number or place asks for it.
    Place,
    /// Nothing says that there is one.
    Guess,
    /// As [`PageReason::Place`], where the number of the first page is not known: this may be the first page once more.
    Probe,
    /// As [`PageReason::Guess`], likewise.
    GuessedProbe,
}

portable!(enum PageReason { 0: First, 1: Cursor, 2: Place, 3: Guess, 4: Probe, 5: GuessedProbe });

/// The pages that have been read so far.
pub(crate) struct Pages {
    /// The first argument of the call: the map of `tool/call`, or the quoted name.
    request: Value,
    args: Map,
    /// How to find the items of a page, if not by its only list.
    items: Option<Value>,
    /// How to find the next page, if not by the usual names.
    next: Option<Value>,
    /// The argument that takes the cursor.
    argument: Option<Value>,
    left: i64,
    /// `:max-pages`
    most: i64,
    out: Builder,
    page: Value,
    waiting: AwaitedEvent,
    because: PageReason,
    /// The tool's parameters, as the host gives them with each page.
    parameters: Value,
    /// The path to the items of the first page; empty where unknown.
    path: Vec<String>,
    /// The arguments of all pages so far.
    asked: Map,
    /// The items of the page before.
    before: Value,
    /// Items of the pages so far.
    count: i64,
    /// Whether the first page is that of all items.
    from_start: bool,
    /// The total that pages announce, and the key that does.
    total: Option<(String, i64)>,
}

portable!(Pages {
    request, args, items, next, argument, left, most, out, page, waiting, because, parameters, path, asked, before, count,
    from_start, total
} if |pages: &Pages| pages.left >= 0 && pages.count >= 0);

/// Keys of a page that an error lists.
const MOST_KEYS: usize = 12;
/// Bytes of the tool's name that a sentence shows.
const MOST_NAME: usize = 60;

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
        waiting: AwaitedEvent::Page,
        because: PageReason::First,
        parameters: Value::Nil,
        path: Vec::new(),
        asked: Map::new(),
        before: Value::Nil,
        count: 0,
        from_start: true,
        total: None,
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

/// Whether this names a tool: `tool/call` judges symbols.
fn is_name(value: &Value) -> bool {
    matches!(value, Value::Symbol(_)) || qualified(value).is_some()
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
        self.waiting = AwaitedEvent::Page;
        let args = Value::Map(self.args.clone());
        let call = match &self.request {
            Value::Map(request) => {
                let mut request = request.clone();
                request.insert(Value::keyword("args"), args);
                callee::one(Value::Map(request))
            }
            name => callee::two(name.clone(), args),
        };
        Flow::Call(Value::Tool(Str::new(PAGE)), call)
    }

    /// The value that `function` reads from the page, or the call that has to be waited for.
    fn read(
        &mut self,
        ctx: &mut Ctx<'_>,
        function: &Value,
        waiting: AwaitedEvent,
    ) -> Result<Result<Value, Flow>> {
        match callee::call(ctx, function, callee::one(self.page.clone()))? {
            CallNow::Done(value) => Ok(Ok(value)),
            CallNow::NeedsFrame(args) => {
                self.waiting = waiting;
                Ok(Err(Flow::Call(function.clone(), args)))
            }
        }
    }

    /// Takes the items of a page. `false`: they are those of the first page once more, whose number was not known.
    fn take_items(&mut self, ctx: &mut Ctx<'_>, items: Value) -> Result<bool> {
        let list = match &items {
            Value::Nil => {
                self.before = Value::Nil;
                return Ok(true);
            }
            Value::Vector(list) | Value::List(list) | Value::Queue(list) => list,
            other => {
                let kind = other.kind_label();
                return Err(fault(format_args!(
                    ":items gave a {kind}, expected the list of the page's items"
                )));
            }
        };
        ctx.charge(list.len())?;
        let is_same = !list.is_empty() && is_list(&self.before) && equal(&items, &self.before);
        // Cursors differ, so that a few plain values may come twice.
        let may_repeat = self.because == PageReason::Cursor && !matches!(list.first(), Some(Value::Map(_)));
        match self.because {
            PageReason::Probe | PageReason::GuessedProbe if is_same => return Ok(false),
            _ if is_same && !may_repeat => {
                return Err(fault(format_args!(
                    "the same page came twice, the second time for the arguments {}; {HELP}",
                    print::literal(&Value::Map(self.args.clone()))
                )));
            }
            _ => {}
        }
        list.iter().try_for_each(|item| self.out.push(item))?;
        self.before = items;
        Ok(true)
    }

    /// The items of the page, where its keys say which ones they are.
    fn usual_items(&mut self) -> Result<Value> {
        self.read_text()?;
        let value = self.page.clone();
        if !matches!(value, Value::Nil | Value::Map(_)) && !is_list(&value) {
            let kind = value.kind_label();
            return Err(fault(format_args!(
                "the page is a {kind}, not a list or a map: read it with tool/call"
            )));
        }
        if matches!(value, Value::Nil) {
            return Ok(Value::Nil);
        }
        let page = Page::read(&value, &self.tool(), Some(&self.path));
        match page.items() {
            Some(items) => {
                if self.path.is_empty() {
                    self.path = page.path();
                }
                Ok(items)
            }
            // A last page may leave out what is empty.
            None if !self.path.is_empty() => Ok(Value::Nil),
            None => Err(fault(format_args!(
                "which list of the page has the items is not plain; keys: {}. Say it by {{:items \"key\"}}",
                shown_keys(&page)
            ))),
        }
    }

    /// A page that is a text becomes the table that it writes.
    fn read_text(&mut self) -> Result<()> {
        if let Some(page) = text_pages::page_of(&self.page)? {
            self.page = page;
        }
        Ok(())
    }

    /// Follows the page's own continuation, by the usual names.
    fn follow_page(&mut self, ctx: &mut Ctx<'_>) -> Result<Flow> {
        self.read_text()?;
        let value = take(&mut self.page);
        let parameters = Parameters::of_value(&self.parameters);
        let sent = PageArguments::of_map(&self.args, &parameters);
        if self.because == PageReason::First {
            self.from_start = !sent.chooses_a_place();
        }
        let page = Page::read(&value, &self.tool(), Some(&self.path));
        // What `:items` gives may be more or less than the page has.
        let count =
            page.count().or_else(|| count_of(&self.before)).and_then(|count| i64::try_from(count).ok());
        let (count, before) = (count.unwrap_or(0), self.from_start.then_some(self.count));
        self.count = self.count.saturating_add(count);
        if let Some(total) = page.total() {
            self.total = Some(total);
        }
        match next(&page, count, &parameters, &sent, before) {
            NextPage::End => self.finish(ctx),
            NextPage::Page { arguments, is_probe, by_cursor, .. } => {
                let because = match (by_cursor, is_probe) {
                    (true, _) => PageReason::Cursor,
                    (false, true) => PageReason::Probe,
                    (false, false) => PageReason::Place,
                };
                self.go_on(ctx, arguments, because)
            }
            NextPage::Perhaps { arguments, is_probe, .. } => {
                let because = if is_probe { PageReason::GuessedProbe } else { PageReason::Guess };
                self.go_on(ctx, arguments, because)
            }
            NextPage::Full { size } => {
                let text = format!(
                    "tool/pages of {:?}: the page is full ({size} items), and nothing says whether there are more",
                    self.name()
                );
                ctx.note(Str::from(text));
                self.finish(ctx)
            }
            NextPage::Stuck { sign } => Err(fault(format_args!(
                "the reply says that there is more ({sign}), and no argument of {:?} is known to get it; keys of the reply: {}; \
                 arguments: {}. {HELP}",
                self.name(),
                shown_keys(&page),
                parameters.shown(MOST_KEYS),
            ))),
        }
    }

    /// Follows the result of `:next`.
    fn follow_read(&mut self, ctx: &mut Ctx<'_>, next: Value) -> Result<Flow> {
        self.page = Value::Nil;
        let arguments = match next {
            Value::Nil | Value::False => return self.finish(ctx),
            Value::Str(text) if text.as_str().is_empty() => return self.finish(ctx),
            Value::Map(more) => {
                return self.ask(ctx, more.iter().map(|(k, v)| (k.clone(), v.clone())).collect());
            }
            cursor => match &self.argument {
                Some(argument) => return self.ask(ctx, vec![(argument.clone(), cursor)]),
                None => {
                    let parameters = Parameters::of_value(&self.parameters);
                    let sent = PageArguments::of_map(&self.args, &parameters);
                    let key = match &self.next {
                        Some(Value::Vector(path)) => path.last(),
                        other => other.clone(),
                    };
                    let key = key.as_ref().and_then(key_name).unwrap_or("next_cursor");
                    pairs(key, &cursor, &parameters, &sent).ok_or_else(|| {
                        fault(format_args!(
                            ":next gave {}, and which argument of {:?} takes it is not plain; arguments: {}. Say it by \
                             {{:cursor \"argument\"}}",
                            print::literal(&cursor),
                            self.name(),
                            parameters.shown(MOST_KEYS),
                        ))
                    })?
                }
            },
        };
        self.go_on(ctx, arguments, PageReason::Cursor)
    }

    fn go_on(
        &mut self,
        ctx: &mut Ctx<'_>,
        arguments: Vec<(String, Value)>,
        because: PageReason,
    ) -> Result<Flow> {
        self.because = because;
        self.ask(ctx, arguments.into_iter().map(|(name, value)| (Value::str(name), value)).collect())
    }

    /// Asks for the page of these arguments, unless that was done before.
    fn ask(&mut self, ctx: &mut Ctx<'_>, arguments: Vec<(Value, Value)>) -> Result<Flow> {
        if self.because == PageReason::First {
            self.because = PageReason::Cursor;
        }
        self.asked.insert(Value::Map(self.args.clone()), Value::True);
        for (key, value) in arguments {
            put(&mut self.args, &key, value);
        }
        let args = Value::Map(self.args.clone());
        ctx.charge(self.asked.len())?;
        if self.asked.get(&args).is_some() {
            return Err(fault(format_args!(
                "the page asks for itself again, with the arguments {}",
                print::literal(&args)
            )));
        }
        if self.left > 0 {
            return Ok(self.call());
        }
        let is_guess = matches!(self.because, PageReason::Guess | PageReason::GuessedProbe);
        ctx.note(self.ended_early(if is_guess { "may be" } else { "are" }));
        Ok(Flow::Return(self.out.take()))
    }

    fn ended_early(&self, are: &str) -> Str {
        let text = format!(
            "tool/pages of {:?} stopped at :max-pages {}; there {are} further pages",
            self.name(),
            self.most
        );
        Str::from(text)
    }

    /// Gives all items, and says so where pages speak of more.
    fn finish(&mut self, ctx: &mut Ctx<'_>) -> Result<Flow> {
        let of_pages = self.items.is_none() && self.from_start;
        if let Some((key, total)) = self.total.as_ref().filter(|(_, total)| of_pages && *total > self.count) {
            let text = format!(
                "tool/pages of {:?} got {} items to the end, and the replies say {key:?} {total}",
                self.name(),
                self.count
            );
            ctx.note(Str::from(text));
        }
        Ok(Flow::Return(self.out.take()))
    }

    /// Page one was the first page: page two is the next one.
    fn past_first(&mut self, ctx: &mut Ctx<'_>) -> Result<Flow> {
        let parameters = Parameters::of_value(&self.parameters);
        let sent = PageArguments::of_map(&self.args, &parameters);
        self.page = Value::Nil;
        let because = if self.because == PageReason::Probe { PageReason::Place } else { PageReason::Guess };
        match sent.next_page() {
            Some(pair) => self.go_on(ctx, vec![pair], because),
            None => self.finish(ctx),
        }
    }

    /// A page that was asked for although nothing said that it is there, and is not.
    fn guessed_wrong(&mut self, ctx: &mut Ctx<'_>, result: &Map) -> Option<Flow> {
        let is_guess = matches!(self.because, PageReason::Guess | PageReason::GuessedProbe);
        let reason = result.get_flexible(&Value::keyword("reason")).and_then(key_name)?;
        if !is_guess || !matches!(reason, "tool_error" | "upstream_error") {
            return None;
        }
        let text = format!(
            "tool/pages of {:?}: nothing says whether there are more than {} items, and the next page failed",
            self.name(),
            self.count
        );
        ctx.note(Str::from(text));
        Some(Flow::Return(self.out.take()))
    }

    /// The name of the tool without its server.
    fn tool(&self) -> String {
        let name = self.full_name();
        name.split_once('.').map_or(name.clone(), |(_, tool)| tool.to_owned())
    }

    /// The name of the tool, as sentences show it.
    fn name(&self) -> String {
        self.full_name().chars().take(MOST_NAME).collect()
    }

    fn full_name(&self) -> String {
        let part = |name| match &self.request {
            Value::Map(request) => request.get_flexible(&Value::keyword(name)).and_then(key_name),
            _ => None,
        };
        match (&self.request, part("server"), part("tool")) {
            (Value::Symbol(name) | Value::Str(name), ..) => name.as_str().replacen('/', ".", 1),
            (_, Some(server), Some(tool)) => format!("{server}.{tool}"),
            _ => String::from("a tool"),
        }
    }
}

/// The advice for pages that do not say enough.
const HELP: &str = "Say how by {:next \"key\"}, {:next (fn [page] {:argument value})} or, if this is all, {:next (fn [page] nil)}";

/// How many items a list has.
fn count_of(list: &Value) -> Option<usize> {
    match list {
        Value::Vector(list) | Value::List(list) | Value::Queue(list) => Some(list.len()),
        _ => None,
    }
}

/// The first keys of a page.
fn shown_keys(page: &Page<'_>) -> String {
    let keys: Vec<String> =
        page.keys(MOST_KEYS).into_iter().map(|key| print::literal(&Value::str(key))).collect();
    if keys.is_empty() { "none".to_owned() } else { keys.join(", ") }
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
        let items = match self.waiting {
            AwaitedEvent::Page => {
                let Value::Map(result) = &value else { return Ok(Flow::Return(value)) };
                if !matches!(result.get_flexible(&Value::keyword("ok")), Some(Value::True)) {
                    let wrong = self.guessed_wrong(ctx, result);
                    return Ok(wrong.unwrap_or(Flow::Return(value)));
                }
                self.page = result.get_flexible(&Value::keyword("value")).cloned().unwrap_or_default();
                if let Some(parameters) = result.get(&Value::keyword(PAGING)) {
                    self.parameters = parameters.clone();
                }
                match self.items.clone() {
                    None => self.usual_items()?,
                    Some(reader) => match self.read(ctx, &reader, AwaitedEvent::Items)? {
                        Ok(items) => items,
                        Err(flow) => return Ok(flow),
                    },
                }
            }
            AwaitedEvent::Items => value,
            AwaitedEvent::Next => return self.follow_read(ctx, value),
        };
        if !self.take_items(ctx, items)? {
            return self.past_first(ctx);
        }
        match self.next.clone() {
            None => self.follow_page(ctx),
            Some(reader) => match self.read(ctx, &reader, AwaitedEvent::Next)? {
                Ok(next) => self.follow_read(ctx, next),
                Err(flow) => Ok(flow),
            },
        }
    }
}

/// The tool reference by which `tool/pages` asks for a page: no program can write it.
pub(super) const PAGE: &str = "call of a page";

/// Server and tool of a symbol or a text such as `server/tool`.
pub(super) fn qualified(name: &Value) -> Option<(&str, &str)> {
    let (Value::Symbol(name) | Value::Str(name)) = name else { return None };
    name.as_str().split_once('/').filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
}
