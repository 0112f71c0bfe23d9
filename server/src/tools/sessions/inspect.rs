//! `lisp_session_inspect`: shows the contents of a session as of the last commit.

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_host::text::clip;
use ptc_mcp::json::{Object, Raw, write_array};
use tracing::debug;

use super::arguments::Arguments;
use super::bounds::{fitting, list_bytes, write_cut};
use super::directory::{MODE, Refusal};
use super::record::{Record, ok};
use super::start::limits;
use super::text::{self, Values};
use super::{Directory, args_error, schemas};
use crate::principal::Owner;
use crate::protocol::tool::{CallContext, Definition, Prepared, Tool, ToolReply};
use crate::settings::Profile;

/// The tool.
pub(super) struct Inspect {
    pub(super) directory: Arc<Directory>,
    pub(super) profile: Profile,
}

/// The part of a session that a caller asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    Overview,
    Memory,
    Prints,
    ToolCalls,
    History,
    Limits,
}

impl View {
    const ALL: [(View, &'static str); 6] = [
        (View::Overview, "overview"),
        (View::Memory, "memory"),
        (View::Prints, "prints"),
        (View::ToolCalls, "tool_calls"),
        (View::History, "history"),
        (View::Limits, "limits"),
    ];

    /// The view of that name; the overview for an unknown name.
    fn named(name: &str) -> View {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(View::Overview, |(view, _)| *view)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(view, _)| *view == self).map_or("overview", |(_, name)| name)
    }
}

impl Tool for Inspect {
    fn definition(&self) -> Definition {
        Definition {
            name: "lisp_session_inspect",
            title: "PTC-Lisp session: inspect",
            description: "Shows what a session holds: definitions, recent results, prints, calls, limits and usage.".into(),
            input_schema: r#"{"type":"object","required":["session_id"],"properties":{"session_id":{"type":"string"},"view":{"type":"string","enum":["overview","memory","prints","tool_calls","history","limits"],"description":"Default: overview."}}}"#.into(),
            output_schema: Some(schemas::output(&["status", "session_id", "session"])),
            annotations: schemas::hints(true, false, true),
            meta: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Prepared {
        self.start(arguments, context).unwrap_or_else(|message| Prepared::Done(args_error(&message)))
    }
}

impl Inspect {
    fn start(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Result<Prepared, String> {
        let arguments = Arguments::read(arguments)?;
        let id = arguments.session_id()?;
        let view = View::named(&arguments.optional_string("view")?.unwrap_or_default());
        let owner = context.owner.clone();
        let id = match self.directory.touch(&id, &owner, |id, _| id.clone()) {
            Ok(id) => id,
            Err(refusal) => return Ok(Prepared::Done(refusal.reply(&id))),
        };
        debug!(
            event = "ptc_lisp.session.inspect",
            session_id = &*id,
            owner_hash = owner.principal.hash(),
            mode = MODE
        );
        Ok(Prepared::Free(look(self.directory.clone(), id, owner, view, self.profile).boxed()))
    }
}

async fn look(
    directory: Arc<Directory>,
    id: Arc<str>,
    owner: Owner,
    view: View,
    profile: Profile,
) -> ToolReply {
    let key = id.clone();
    let values = directory.engine.with_sessions(&id, move |store| match store.get(&key) {
        None => Values::none(),
        Some(place) => place.borrow().view(Values::of).unwrap_or_else(Values::none),
    });
    let Some(values) = values.await else { return Refusal::Closed.reply(&id) };
    let told = directory.with(&id, &owner, |id, record| {
        ok(|object| {
            object.string("session_id", id);
            object.string("view", view.name());
            object.raw("session", &record.summary(id, &directory.redactor));
            write_view(object, view, record, &values, &directory, profile);
        })
    });
    match told {
        Ok(structured) => ToolReply::mirrored(false, structured),
        Err(refusal) => refusal.reply(&id),
    }
}

fn write_view(
    object: &mut Object<'_>,
    view: View,
    record: &Record,
    values: &Values,
    directory: &Directory,
    profile: Profile,
) {
    let budget = list_bytes(profile);
    let journal = &record.journal;
    let (prints, prints_cut) = text::newest(&journal.prints, budget);
    let (tool_calls, tools_cut) = text::newest(&journal.tool_calls, budget / 2);
    let (upstream_calls, upstream_cut) = text::newest(&journal.upstream_calls, budget / 2);
    let memory = || directory.redactor.scrub_string(values.memory(journal.prints.len() == 0));
    let history = || directory.redactor.scrub_string(values.history_text());
    let usage = record.usage(values.history.len(), values.history_bytes);
    let stored = directory.names(&values.stored);
    let (stored_shown, stored_cut) = fitting(&stored, budget);
    let mut cut = false;
    let mut shown = |object: &mut Object<'_>, text: String| {
        let kept = clip(&text, 2 * budget);
        cut |= kept.len() < text.len();
        object.string("text", kept);
    };
    match view {
        View::Overview => {
            let output = if prints.is_empty() { String::new() } else { text::output(&prints) };
            let sections = [memory(), output, text::calls(&tool_calls), history()];
            let sections: Vec<_> = sections.into_iter().filter(|section| !section.is_empty()).collect();
            shown(object, sections.join("\n\n"));
            object.raw("usage", &usage);
        }
        View::Memory => {
            let memory = memory();
            shown(object, if memory.is_empty() { ";; No stored bindings".to_owned() } else { memory });
            object.strings("stored_keys", stored_shown.iter().map(String::as_str));
            object.raw("usage", &usage);
        }
        View::Prints => {
            object.strings("prints", prints.iter().copied());
            shown(object, text::output(&prints));
            if prints_cut {
                object.boolean("prints_truncated", true);
            }
        }
        View::ToolCalls => {
            for (name, calls) in [("tool_calls", &tool_calls), ("upstream_calls", &upstream_calls)] {
                write_array(object.key(name), calls, |out, call| out.extend_from_slice(call.as_bytes()));
            }
            shown(object, text::calls(&tool_calls));
        }
        View::History => {
            write_array(object.key("history"), values.history.iter().enumerate(), |out, (at, entry)| {
                let mut object = Object::new(out);
                object.string("name", &format!("*{}", at + 1));
                object.string("preview", &directory.redactor.scrub(&entry.preview));
                object.boolean("truncated", entry.cut);
                object.end();
            });
            shown(object, history());
        }
        View::Limits => {
            object.raw("limits", &limits(&directory.settings));
            object.raw("usage", &usage);
            write_array(object.key("top_bindings"), &values.top, |out, (name, bytes)| {
                let mut object = Object::new(out);
                object.string("name", &directory.redactor.scrub(clip(name, budget / 16)));
                object.integer("bytes", *bytes);
                object.end();
            });
        }
    }
    let listed_cut = match view {
        View::Overview | View::Prints => prints_cut || view == View::Overview && tools_cut,
        View::ToolCalls => tools_cut || upstream_cut,
        View::Memory => stored_cut,
        View::History | View::Limits => false,
    };
    write_cut(object, cut || listed_cut);
}
