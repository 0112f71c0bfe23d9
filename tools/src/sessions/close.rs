//! `lisp_session_close`: ends a session and the program that runs on it.

use std::sync::Arc;

use futures_util::FutureExt as _;
use ptc_mcp::json::Raw;

use super::arguments::{Arguments, args_error};
use super::record::ok;
use super::{Directory, schemas};
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

/// The tool.
pub(super) struct Close(pub(super) Arc<Directory>);

impl Tool for Close {
    fn definition(&self) -> Definition {
        Definition {
            name: "lisp_session_close".into(),
            title: Some("PTC-Lisp session: close".into()),
            description: "Closes a session: its values are gone, and an evaluation that runs on it is ended.".into(),
            input_schema: r#"{"type":"object","required":["session_id"],"properties":{"session_id":{"type":"string"},"reason":{"type":"string","description":"Echoed in the answer."}}}"#.into(),
            output_schema: Some(schemas::output(&["status", "session_id", "closed"])),
            annotations: Some(schemas::hints(false, true, false).to_json()),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        self.close(arguments, context).unwrap_or_else(|message| Preparation::Done(args_error(&message)))
    }
}

impl Close {
    fn close(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Result<Preparation, String> {
        let arguments = Arguments::read(arguments)?;
        arguments.heed_unknown(&["session_id", "reason"])?;
        let id = arguments.session_id()?;
        let reason = arguments.optional_string("reason")?.unwrap_or_else(|| "closed".to_owned());
        let reason = self.0.env.redactor_of(&context.owner).scrub_string(reason);
        let (directory, owner) = (self.0.clone(), context.owner.clone());
        let work = async move {
            match directory.end(&id, &owner).await {
                Err(refusal) => refusal.reply(&id),
                Ok(()) => closed(&id, &reason),
            }
        };
        Ok(Preparation::Free(work.boxed()))
    }
}

/// The answer about a session that was closed.
fn closed(id: &str, reason: &str) -> ToolReply {
    ToolReply::mirrored(
        false,
        ok(|object| {
            object.string("session_id", id);
            object.boolean("closed", true);
            object.string("reason", reason);
        }),
    )
}
