//! `lisp_session_forget`: removes definitions, results and notes from a session.

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_host::engine::{SessionState, measure_history};
use ptc_mcp::json::Raw;
use ptc_vm::Value;

use super::arguments::{Arguments, args_error};
use super::bounds::{fitting, list_bytes, write_cut};
use super::record::{Record, ok};
use super::{Directory, schemas};
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
            name: "lisp_session_forget".into(),
            title: Some("PTC-Lisp session: forget".into()),
            description: "Removes definitions by name (bindings) or everything of a kind (clear) from a session.".into(),
            input_schema: r#"{"type":"object","required":["session_id"],"properties":{"session_id":{"type":"string"},"bindings":{"type":"array","items":{"type":"string"},"description":"Names; unknown ones are ignored."},"clear":{"type":"array","items":{"enum":["memory","history","prints","tool_calls","upstream_calls"]}}}}"#.into(),
            output_schema: Some(schemas::output(&["status", "session_id"])),
            annotations: Some(schemas::hints(false, true, false).to_json()),
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
        let (directory, owner) = (self.directory.clone(), context.owner.clone());
        let (order, max_bytes) = (Order { bindings, clear }, list_bytes(self.profile));
        Ok(Preparation::Free(forget(directory, id, owner, order, max_bytes).boxed()))
    }
}

async fn forget(
    directory: Arc<Directory>,
    id: String,
    owner: Owner,
    order: Order,
    max_bytes: usize,
) -> ToolReply {
    let order = Arc::new(order);
    let within = order.clone();
    let changed = directory.change(&id, &owner, move |state, record| {
        let left = remove(state, &within);
        within.note(&left, record);
        left
    });
    match changed.await {
        Ok((left, record)) => {
            let structured = told(&directory, &id, &record, &order, &left, max_bytes);
            ToolReply::mirrored(false, structured)
        }
        Err(refusal) => refusal.reply(&id),
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
        (directory.env.names(&record.owner, &left.removed), directory.env.names(&record.owner, &left.stored));
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

/// Removes the requested parts.
fn remove(state: &mut SessionState, order: &Order) -> Left {
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
