//! `lisp_session_forget`: removes definitions, results and notes from a session.

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_host::engine::{SessionPlace, SessionState, measure_history};
use ptc_mcp::json::Raw;
use ptc_vm::Value;
use tracing::debug;

use super::arguments::Arguments;
use super::bounds::{fitting, list_bytes, write_cut};
use super::directory::{MODE, Refusal};
use super::record::{EMPTY_BYTES, Record, ok};
use super::{Directory, args_error, schemas};
use ptc_protocol::principal::Owner;
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

const TARGETS: [&str; 5] = ["memory", "history", "prints", "tool_calls", "upstream_calls"];

/// The tool.
pub(super) struct Forget {
    pub(super) directory: Arc<Directory>,
    pub(super) profile: Profile,
}

impl Tool for Forget {
    fn definition(&self) -> Definition {
        Definition {
            name: "lisp_session_forget",
            title: "PTC-Lisp session: forget",
            description: "Removes definitions by name (bindings) or everything of a kind (clear) from a session.".into(),
            input_schema: r#"{"type":"object","required":["session_id"],"properties":{"session_id":{"type":"string"},"bindings":{"type":"array","items":{"type":"string"},"description":"Names; unknown ones are ignored."},"clear":{"type":"array","items":{"enum":["memory","history","prints","tool_calls","upstream_calls"]}}}}"#.into(),
            output_schema: Some(schemas::output(&["status", "session_id"])),
            annotations: schemas::hints(false, true, false),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        self.start(arguments, context).unwrap_or_else(|message| Preparation::Done(args_error(&message)))
    }
}

/// The request to remove parts of a session.
struct Order {
    bindings: Vec<String>,
    clear: Vec<String>,
}

impl Order {
    fn clears(&self, target: &str) -> bool {
        self.clear.iter().any(|cleared| cleared == target)
    }

    /// Updates the record of the session to the remaining state.
    fn note(&self, left: &Left, record: &mut Record) {
        record.memory_bytes = left.memory_bytes;
        record.binding_count = left.stored.len();
        for (target, log) in [
            ("prints", &mut record.journal.prints),
            ("tool_calls", &mut record.journal.tool_calls),
            ("upstream_calls", &mut record.journal.upstream_calls),
        ] {
            if self.clears(target) {
                log.clear();
            }
        }
    }
}

/// The state after the removal.
#[derive(Default)]
struct Left {
    removed: Vec<String>,
    stored: Vec<String>,
    memory_bytes: u64,
    history_count: usize,
    history_bytes: u64,
}

impl Forget {
    fn start(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Result<Preparation, String> {
        let arguments = Arguments::read(arguments)?;
        arguments.heed_unknown(&["session_id", "bindings", "clear"])?;
        let id = arguments.session_id()?;
        let bindings = arguments.optional_strings("bindings", "bindings must be an array of strings")?;
        let clear = arguments.optional_strings("clear", "invalid clear target")?;
        if clear.iter().any(|target| !TARGETS.contains(&target.as_str())) {
            return Err("invalid clear target".into());
        }
        let owner = context.owner.clone();
        if self.directory.stored.is_some() {
            let order = Order { bindings, clear };
            let (directory, max_bytes) = (self.directory.clone(), list_bytes(self.profile));
            return Ok(Preparation::Free(forget_stored(directory, id, owner, order, max_bytes).boxed()));
        }
        let found = self.directory.touch(&id, &owner, |id, record| match record.running {
            Some(_) => Err(Refusal::Busy),
            None => Ok(id.clone()),
        });
        let id = match found.and_then(|idle| idle) {
            Ok(id) => id,
            Err(refusal) => return Ok(Preparation::Done(refusal.reply(&id))),
        };
        debug!(
            event = "ptc_lisp.session.forget",
            session_id = &*id,
            owner_hash = owner.principal.hash(),
            mode = MODE
        );
        Ok(Preparation::Free(
            forget(self.directory.clone(), id, owner, Order { bindings, clear }, list_bytes(self.profile))
                .boxed(),
        ))
    }
}

async fn forget(
    directory: Arc<Directory>,
    id: Arc<str>,
    owner: Owner,
    order: Order,
    max_bytes: usize,
) -> ToolReply {
    let (key, within) = (id.clone(), directory.clone());
    // Values and their record change together, on the worker, between two programs.
    let done = directory.engine.with_sessions(&id, move |store| {
        let left = match store.get(&key) {
            None => Some(nothing()),
            Some(place) => remove(&mut place.borrow_mut(), &order),
        };
        let left = left.ok_or(Refusal::Busy)?;
        within.with(&key, &owner, |id, record| {
            order.note(&left, record);
            told(&within, id, record, &order, &left, max_bytes)
        })
    });
    match done.await {
        Some(Ok(structured)) => ToolReply::mirrored(false, structured),
        Some(Err(refusal)) => refusal.reply(&id),
        None => Refusal::Closed.reply(&id),
    }
}

async fn forget_stored(
    directory: Arc<Directory>,
    id: String,
    owner: Owner,
    order: Order,
    max_bytes: usize,
) -> ToolReply {
    let order = Arc::new(order);
    let within = order.clone();
    let changed = directory.change_stored(&id, &owner, move |state, record| {
        let left = remove_from(state, &within);
        within.note(&left, record);
        left
    });
    match changed.await {
        Ok((left, record)) => {
            let structured = told(&directory, &id, &record, &order, &left, max_bytes);
            ToolReply::mirrored(false, structured)
        }
        Err(not_used) => not_used.reply(&id),
    }
}

/// The answer after `order` was executed.
fn told(
    directory: &Directory,
    id: &str,
    record: &Record,
    order: &Order,
    left: &Left,
    max_bytes: usize,
) -> String {
    let (removed, stored) =
        (directory.names(&record.owner, &left.removed), directory.names(&record.owner, &left.stored));
    let (removed, removed_cut) = fitting(&removed, max_bytes / 2);
    let (stored, stored_cut) = fitting(&stored, max_bytes / 2);
    let cleared = TARGETS.iter().copied().filter(|target| order.clears(target));
    ok(|object| {
        object.string("session_id", id);
        object.strings("removed_bindings", removed.iter().map(String::as_str));
        object.strings("cleared", cleared);
        object.strings("stored_keys", stored.iter().map(String::as_str));
        write_cut(object, removed_cut || stored_cut);
        object.raw("usage", &record.usage(left.history_count, left.history_bytes));
    })
}

/// The state of a session that never ran a program.
fn nothing() -> Left {
    let history_bytes = measure_history(&Default::default(), u64::MAX);
    Left { memory_bytes: EMPTY_BYTES, history_bytes, ..Left::default() }
}

/// Removes the requested parts; `None` while a program runs.
fn remove(place: &mut SessionPlace, order: &Order) -> Option<Left> {
    Some(remove_from(place.state_mut()?, order))
}

/// Removes the requested parts.
fn remove_from(state: &mut SessionState, order: &Order) -> Left {
    let mut removed: Vec<String> = Vec::new();
    for name in &order.bindings {
        if state.forget(name) {
            removed.push(name.clone());
        }
    }
    if order.clears("memory") {
        state.forget_all();
    }
    if order.clears("history") {
        state.forget_history();
    }
    let stored = state.sizes().iter().map(|(name, _)| name.to_string()).collect();
    Left {
        removed,
        stored,
        memory_bytes: state.memory_bytes(),
        history_count: state.history.iter().filter(|value| !Value::is_nil(value)).count(),
        history_bytes: measure_history(&state.history, u64::from(u32::MAX)),
    }
}
