//! A builtin's view of the machine that runs it.

use super::builtin::Native;
use super::call;
use super::env::Env;
use super::fiber_state::FiberState;
use super::host_call::UpstreamCall;
use super::library::Library;
use super::namespace::Namespace;
use super::output::Capture;
use super::program_catalog::ProgramCatalog;
use super::stack::Args;
use crate::error::Result;
use crate::meter;
use crate::value::{Blob, Keyword, Map, Str, Value};
use std::rc::Rc;
use std::sync::Arc;

/// The outcome of a direct call.
pub enum CallNow {
    /// The result.
    Done(Value),
    /// The callee runs in a frame: the arguments back.
    NeedsFrame(Args),
}

/// The machine as a builtin sees it: its output, its time, the namespace, and direct calls.
pub struct Ctx<'a> {
    pub(super) env: &'a mut Env,
    pub(super) own: &'a mut FiberState,
    /// Work after which a long-running frame should answer [`Flow::Yield`](super::Flow::Yield).
    pub(super) slice: u64,
}

impl Ctx<'_> {
    /// Adds one entry to the print log, or a piece to the capture.
    pub fn print(&mut self, entry: Str) {
        self.own.output.print(entry);
    }

    /// Whether printed text becomes a text of the program (`with-out-str`).
    pub(crate) fn captures_prints(&self) -> bool {
        self.own.output.is_captured()
    }

    /// Captures printed text from here on.
    pub(crate) fn begin_capture(&mut self) -> Capture {
        self.own.output.begin_capture()
    }

    /// The pieces that were printed since `capture` began.
    pub(crate) fn end_capture(&mut self, capture: Capture) -> Vec<Str> {
        self.own.output.end_capture(capture)
    }

    /// Adds a sentence for the reader of the program's value: something was left out of it.
    pub(crate) fn note(&mut self, note: Str) {
        self.own.output.note(note);
    }

    /// Adds binary content to the program's reply.
    ///
    /// # Errors
    /// The reply may carry no more.
    pub(crate) fn attach(&mut self, blob: Rc<Blob>) -> Result<()> {
        self.own.output.attach(blob);
        self.own.output.check_attached(self.env.max_attached_bytes)
    }

    /// The earlier result of the memoized function, if this fiber has called it with these arguments: `call` is the vector of
    /// both.
    pub(crate) fn remembered(&self, call: &Value) -> Option<&Value> {
        meter::uncharged(1);
        self.own.remembered.as_ref()?.get(call)
    }

    /// Remembers the result of the memoized function.
    ///
    /// # Errors
    /// There is no room.
    pub(crate) fn remember(&mut self, call: Value, value: Value) -> Result<()> {
        meter::reserve(Map::ENTRY_BYTES)?;
        self.own.remembered.get_or_insert_default().insert(call, value);
        Ok(())
    }

    /// When the program started, in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) fn started_at(&self) -> i64 {
        self.env.started_at
    }

    /// Takes the call that the host has prepared.
    pub(crate) fn take_prepared_call(&mut self) -> Option<Box<UpstreamCall>> {
        self.env.prepared_call.take()
    }

    /// The library that the program runs with.
    #[inline]
    pub fn library(&self) -> &'static Library {
        self.env.namespace.library()
    }

    /// The user namespace, for the discovery forms.
    pub fn namespace(&self) -> &Namespace {
        &self.env.namespace
    }

    /// Whether the host answers discovery over upstreams.
    pub(crate) fn has_upstreams(&self) -> bool {
        self.env.upstreams
    }

    /// The kept programs that discovery shows, if there are any.
    pub(crate) fn program_catalog(&self) -> Option<Arc<dyn ProgramCatalog>> {
        let catalog = self.env.program_catalog.as_ref()?();
        (catalog.count() > 0).then_some(catalog)
    }

    /// Most bytes that one call sends to the host.
    pub(crate) fn max_request_bytes(&self) -> usize {
        self.env.max_request_bytes
    }

    /// The registered tools of `(tool/NAME …)`.
    pub fn tools(&self) -> &[Rc<str>] {
        &self.env.tools
    }

    /// Removes a task from the journal (`task-reset`).
    pub(crate) fn forget_task(&mut self, id: &str) {
        if let Some(journal) = &mut self.env.journal {
            journal.remove(&Value::str(id));
        }
    }

    /// Records a summary (`step-done`).
    pub(crate) fn summarise(&mut self, id: Str, text: Value) {
        self.env.summaries.push((id, text));
    }

    /// Charges steps of work; see [`meter::charge_steps`].
    #[inline]
    pub fn charge(&mut self, steps: usize) -> Result<()> {
        meter::charge_steps(steps as u64)
    }

    /// Refuses an allocation that would pass the memory limit; see [`meter::reserve`].
    #[inline]
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        meter::reserve(bytes)
    }

    /// Whether a frame has done enough for one slice and should answer [`Flow::Yield`](super::Flow::Yield).
    #[inline]
    pub(crate) fn should_yield(&self) -> bool {
        meter::pending_work() >= self.slice
    }

    /// Calls `callee` if that needs no frame: a plain builtin, a keyword, a map, a set, a vector. Returns the arguments back
    /// otherwise, for [`Flow::Call`](super::Flow::Call). Costs one step, as any call.
    #[inline]
    pub fn call_now(&mut self, callee: &Value, args: Args) -> Result<CallNow> {
        meter::charge_steps(1)?;
        call_now(self, callee, args)
    }

    /// The value that a read of `key` finds in `map` (language.md 2.6).
    pub fn lookup(&mut self, map: &Value, key: &Value) -> Option<Value> {
        call::lookup(map, key)
    }

    /// A fresh keyword.
    pub fn keyword(&self, name: &str) -> Keyword {
        Keyword::new(name)
    }
}

/// See [`Ctx::call_now`].
#[inline]
pub(super) fn call_now(ctx: &mut Ctx<'_>, callee: &Value, mut args: Args) -> Result<CallNow> {
    match callee {
        Value::Builtin(handle) => {
            let library = ctx.library();
            let builtin = library.of(handle);
            let Native::Plain(run) = builtin.native else { return Ok(CallNow::NeedsFrame(args)) };
            library.check_arity(builtin, args.len())?;
            match run(ctx, &mut args) {
                Ok(value) => Ok(CallNow::Done(value)),
                Err(_) if library.series_function(builtin, &args).is_some() => Ok(CallNow::NeedsFrame(args)),
                Err(error) => Err(library.refused(error, &args)),
            }
        }
        Value::Keyword(_) | Value::Symbol(_) => call::call_key(callee, &args).map(CallNow::Done),
        Value::Map(map) => call::call_map(map, &args).map(CallNow::Done),
        Value::Set(set) => call::call_set(set, &args).map(CallNow::Done),
        Value::Vector(vector) => call::call_vector(vector, &args).map(CallNow::Done),
        Value::Combinator(combinator) => (ctx.library().parts.call_combinator_now)(ctx, combinator, args),
        _ => Ok(CallNow::NeedsFrame(args)),
    }
}
