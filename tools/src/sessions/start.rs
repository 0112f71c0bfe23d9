//! `lisp_session_start`: opens a session.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use jiff::Timestamp;
use ptc_host::text::clip;
use ptc_mcp::json::{Kind, Object, Raw, object_text};

use super::arguments::{Arguments, args_error};
use super::record::ok;
use super::{Directory, schemas};
use ptc_protocol::principal::Owner;
use ptc_protocol::settings::Sessions;
use ptc_protocol::timestamp::instant;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

/// Longest title that is stored, in bytes.
pub(super) const MAX_TITLE_BYTES: usize = 1024;

/// The tool.
pub(super) struct Start(pub(super) Arc<Directory>);

impl Tool for Start {
    fn definition(&self) -> Definition {
        Definition {
            name: "lisp_session_start".into(),
            title: Some("PTC-Lisp session: start".into()),
            description: "Opens a session for lisp_session_eval. Its definitions and last three results stay until it \
                is closed, rests too long or reaches expires_at. Answers session_id and limits."
                .into(),
            input_schema: r#"{"type":"object","properties":{"title":{"type":"string","description":"A name to tell sessions apart."},"ttl_ms":{"type":"integer","minimum":1,"description":"Longest life; can only shorten the server's own limit."}},"additionalProperties":false}"#.into(),
            output_schema: Some(schemas::output(&["status", "session_id"])),
            annotations: Some(schemas::hints(false, false, false).to_json()),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        self.start(arguments, context).unwrap_or_else(|message| Preparation::Done(args_error(&message)))
    }

    fn owner_gone(&self, owner: &Owner) {
        self.0.end_all(owner);
    }

    fn owner_revoked(&self, owner: &Owner) {
        self.0.revoke(owner);
    }
}

impl Start {
    fn start(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Result<Preparation, String> {
        let arguments = Arguments::read(arguments)?;
        arguments.heed_unknown(&["title", "ttl_ms"])?;
        if let Some(key) = arguments.unexpected(&["title", "ttl_ms"]) {
            return Err(format!("unexpected lisp_session_start argument: {key}"));
        }
        let title = arguments.optional_string("title")?.filter(|title| !title.is_empty());
        // A title only distinguishes sessions; stored titles must not add up.
        let title = title.map(|title| clip(&title, MAX_TITLE_BYTES).to_owned());
        // An invalid lifetime is ignored.
        let ttl = arguments
            .get("ttl_ms")
            .filter(|value| value.kind() == Kind::Integer)
            .and_then(|value| value.text().parse().ok())
            .filter(|ms| *ms >= 1)
            .map(Duration::from_millis);
        let (directory, owner) = (self.0.clone(), context.owner.clone());
        let work = async move {
            match directory.open(&owner, title, ttl).await {
                Err(refusal) => refusal.reply(""),
                Ok((id, expires)) => started(&id, expires, &directory.env.settings),
            }
        };
        Ok(Preparation::Free(work.boxed()))
    }
}

/// The answer about a session that was opened.
fn started(id: &str, expires: Timestamp, settings: &Sessions) -> ToolReply {
    ToolReply::mirrored(
        false,
        ok(|object| {
            object.string("session_id", id);
            object.string("expires_at", &instant(expires));
            object.raw("limits", &limits(settings));
        }),
    )
}

/// The `limits` object.
pub(super) fn limits(settings: &Sessions) -> String {
    object_text(|object: &mut Object<'_>| {
        object.integer("max_memory_bytes", settings.memory_bytes);
        object.integer("max_binding_bytes", settings.binding_bytes);
        object.integer("max_bindings", settings.bindings as u64);
        object.integer("max_history_entry_bytes", settings.history_entry_bytes);
        object.integer("max_print_entries", settings.print_entries as u64);
        object.integer("max_print_bytes", settings.print_bytes);
        object.integer("max_tool_call_entries", settings.tool_call_entries as u64);
        object.integer("max_tool_call_bytes", settings.tool_call_bytes);
        object.integer("max_upstream_call_entries", settings.upstream_call_entries as u64);
        object.integer("max_upstream_call_bytes", settings.upstream_call_bytes);
        object.integer("max_idle_ms", settings.idle.as_millis() as u64);
    })
}
