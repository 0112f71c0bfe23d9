//! `lisp_session_inspect`: shows the contents of a session as of the last commit.

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_host::credentials::Redactor;
use ptc_host::text::clip;
use ptc_mcp::json::{Object, Raw, write_array};

use super::arguments::{Arguments, args_error};
use super::bounds::{fitting, list_bytes, write_cut};
use super::record::{Record, ok};
use super::start::limits;
use super::text::{self, Values};
use super::{Directory, schemas};
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

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
            name: "lisp_session_inspect".into(),
            title: Some("PTC-Lisp session: inspect".into()),
            description: "Shows what a session holds: definitions, recent results, prints, calls, limits and usage.".into(),
            input_schema: r#"{"type":"object","required":["session_id"],"properties":{"session_id":{"type":"string"},"view":{"type":"string","enum":["overview","memory","prints","tool_calls","history","limits"],"description":"Default: overview."}}}"#.into(),
            output_schema: Some(schemas::output(&["status", "session_id", "session"])),
            annotations: Some(schemas::hints(true, false, true).to_json()),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        self.start(arguments, context).unwrap_or_else(|message| Preparation::Done(args_error(&message)))
    }
}

impl Inspect {
    fn start(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Result<Preparation, String> {
        let arguments = Arguments::read(arguments)?;
        arguments.heed_unknown(&["session_id", "view"])?;
        let id = arguments.session_id()?;
        let view = View::named(&arguments.optional_string("view")?.unwrap_or_default());
        let (directory, owner, profile) = (self.directory.clone(), context.owner.clone(), self.profile);
        let work = async move {
            match directory.look(&id, &owner).await {
                Err(refusal) => refusal.reply(&id),
                Ok((record, values, running)) => {
                    let summary = record.summary(&id, &directory.env.redactor, running);
                    told(&directory, &id, &summary, &record, &values, view, profile)
                }
            }
        };
        Ok(Preparation::Free(work.boxed()))
    }
}

/// The answer to a look at the session of this id and summary.
fn told(
    directory: &Directory,
    id: &str,
    summary: &str,
    record: &Record,
    values: &Values,
    view: View,
    profile: Profile,
) -> ToolReply {
    ToolReply::mirrored(
        false,
        ok(|object| {
            object.string("session_id", id);
            object.string("view", view.name());
            object.raw("session", summary);
            Source { record, values, directory, budget: list_bytes(profile) }.write(object, view);
        }),
    )
}

/// The data that a view is written from.
struct Source<'a> {
    record: &'a Record,
    values: &'a Values,
    directory: &'a Directory,
    /// Bytes allowed for lists.
    budget: usize,
}

impl Source<'_> {
    /// Writes the members of a view, and the flags if any of them is truncated.
    fn write(&self, object: &mut Object<'_>, view: View) {
        let cut = match view {
            View::Overview => self.write_overview(object),
            View::Memory => self.write_memory(object),
            View::Prints => self.write_prints(object),
            View::ToolCalls => self.write_calls(object),
            View::History => self.write_history(object),
            View::Limits => {
                self.write_limits(object);
                false
            }
        };
        write_cut(object, cut);
    }

    fn write_overview(&self, object: &mut Object<'_>) -> bool {
        let (prints, prints_cut) = self.prints();
        let (calls, calls_cut) = self.tool_calls();
        let output = if prints.is_empty() { String::new() } else { text::output(&prints) };
        let sections = [self.memory(), output, text::calls(&calls), self.history()];
        let sections: Vec<_> = sections.into_iter().filter(|section| !section.is_empty()).collect();
        let text_cut = self.write_text(object, &sections.join("\n\n"));
        object.raw("usage", &self.usage());
        text_cut || prints_cut || calls_cut
    }

    fn write_memory(&self, object: &mut Object<'_>) -> bool {
        let memory = self.memory();
        let text_cut =
            self.write_text(object, if memory.is_empty() { ";; No stored bindings" } else { &memory });
        let stored = self.directory.env.names(&self.record.owner, &self.values.stored);
        let (shown, stored_cut) = fitting(&stored, self.budget);
        object.strings("stored_keys", shown.iter().map(String::as_str));
        object.raw("usage", &self.usage());
        text_cut || stored_cut
    }

    fn write_prints(&self, object: &mut Object<'_>) -> bool {
        let (prints, prints_cut) = self.prints();
        object.strings("prints", prints.iter().copied());
        let text_cut = self.write_text(object, &text::output(&prints));
        if prints_cut {
            object.boolean("prints_truncated", true);
        }
        text_cut || prints_cut
    }

    fn write_calls(&self, object: &mut Object<'_>) -> bool {
        let (tool_calls, tools_cut) = self.tool_calls();
        let (upstream_calls, upstream_cut) =
            text::newest(&self.record.journal.upstream_calls, self.budget / 2);
        for (name, calls) in [("tool_calls", &tool_calls), ("upstream_calls", &upstream_calls)] {
            write_array(object.key(name), calls, |out, call| out.extend_from_slice(call.as_bytes()));
        }
        let text_cut = self.write_text(object, &text::calls(&tool_calls));
        text_cut || tools_cut || upstream_cut
    }

    fn write_history(&self, object: &mut Object<'_>) -> bool {
        write_array(object.key("history"), self.values.history.iter().enumerate(), |out, (at, entry)| {
            let mut object = Object::new(out);
            object.string("name", &format!("*{}", at + 1));
            object.string("preview", &self.redactor().scrub(&entry.preview));
            object.boolean("truncated", entry.cut);
            object.end();
        });
        self.write_text(object, &self.history())
    }

    fn write_limits(&self, object: &mut Object<'_>) {
        object.raw("limits", &limits(&self.directory.env.settings));
        object.raw("usage", &self.usage());
        write_array(object.key("top_bindings"), &self.values.top, |out, (name, bytes)| {
            let mut object = Object::new(out);
            object.string("name", &self.redactor().scrub(clip(name, self.budget / 16)));
            object.integer("bytes", *bytes);
            object.end();
        });
    }

    /// Writes `text`, truncated to twice the budget; returns whether it was too long.
    fn write_text(&self, object: &mut Object<'_>, text: &str) -> bool {
        let kept = clip(text, 2 * self.budget);
        object.string("text", kept);
        kept.len() < text.len()
    }

    /// The newest prints, and whether older ones are left out.
    fn prints(&self) -> (Vec<&str>, bool) {
        text::newest(&self.record.journal.prints, self.budget)
    }

    /// The newest tool calls, and whether older ones are left out.
    fn tool_calls(&self) -> (Vec<&str>, bool) {
        text::newest(&self.record.journal.tool_calls, self.budget / 2)
    }

    fn redactor(&self) -> Redactor {
        self.directory.env.redactor_of(&self.record.owner)
    }

    fn memory(&self) -> String {
        let samples = self.record.journal.prints.len() == 0;
        self.redactor().scrub_string(self.values.memory(samples))
    }

    fn history(&self) -> String {
        self.redactor().scrub_string(self.values.history_text())
    }

    fn usage(&self) -> String {
        self.record.usage(self.values.history.len(), self.values.history_bytes)
    }
}
