//! `lisp_session_list`: the caller's sessions.

use std::sync::Arc;

use futures_util::FutureExt as _;
use ptc_mcp::json::{Raw, write_array};

use super::arguments::{Arguments, args_error};
use super::bounds::{fitting, list_bytes, write_cut};
use super::record::ok;
use super::{Directory, schemas};
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

/// The tool.
pub(super) struct List {
    pub(super) directory: Arc<Directory>,
    pub(super) profile: Profile,
}

impl Tool for List {
    fn definition(&self) -> Definition {
        Definition {
            name: "lisp_session_list".into(),
            title: Some("PTC-Lisp session: list".into()),
            description: "Lists your open sessions, the latest used first, without their values.".into(),
            input_schema: r#"{"type":"object","properties":{},"additionalProperties":false}"#.into(),
            output_schema: Some(schemas::output(&["status", "count", "sessions"])),
            annotations: Some(schemas::hints(true, false, true).to_json()),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        match Arguments::read(arguments).map(|arguments| arguments.unexpected(&[]).is_some()) {
            Ok(false) => {}
            Ok(true) => return Preparation::Done(args_error("lisp_session_list takes no arguments")),
            Err(message) => return Preparation::Done(args_error(&message)),
        }
        let profile = self.profile;
        let (directory, owner) = (self.directory.clone(), context.owner.clone());
        let work = async move {
            match directory.list(&owner).await {
                Ok(sessions) => listed(&sessions, profile),
                Err(refusal) => refusal.reply(""),
            }
        };
        Preparation::Free(work.boxed())
    }
}

/// The answer of a list.
fn listed(sessions: &[String], profile: Profile) -> ToolReply {
    let (shown, cut) = fitting(sessions, list_bytes(profile));
    ToolReply::mirrored(
        false,
        ok(|object| {
            object.integer("count", sessions.len() as u64);
            write_array(object.key("sessions"), shown, |out, summary| {
                out.extend_from_slice(summary.as_bytes());
            });
            write_cut(object, cut);
        }),
    )
}
