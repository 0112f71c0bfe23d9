//! A session's values as text, rendered on the worker that holds them.

use ptc_host::engine::{SessionView, measure_history};
use ptc_host::visible::visible_line;
use ptc_mcp::json::Raw;
use ptc_vm::Value;
use ptc_vm::print::{Budget, Preview, preview, render_capped};
use ptc_vm::value::Temporal;

use super::journal::Log;
use crate::shaping::feedback::envelope;

const SAMPLE: Preview = Preview { items: 3, characters: Some(80), counts: true };
const HISTORY: Preview = Preview { items: 10, characters: Some(120), counts: true };
/// Column width of a name.
const NAME_COLUMNS: usize = 30;
/// Maximum size to which the history is measured.
const HISTORY_CAP: u64 = 64 << 20;
/// Bindings shown by size.
const TOP: usize = 10;

/// A result in the history.
#[derive(Clone)]
pub(super) struct Remembered {
    pub(super) preview: String,
    pub(super) cut: bool,
}

/// The facts about a session's values that can leave the worker.
#[derive(Clone, Default)]
pub(super) struct Values {
    /// Names of all definitions, sorted.
    pub(super) stored: Vec<String>,
    /// A line for each function.
    functions: Vec<String>,
    /// Name, type and sample of everything else.
    others: Vec<(String, String, String)>,
    /// The last results, latest first; absent ones are left out.
    pub(super) history: Vec<Remembered>,
    pub(super) history_bytes: u64,
    /// The largest definitions, largest first.
    pub(super) top: Vec<(String, u64)>,
}

impl Values {
    /// The facts of a session that never ran a program.
    pub(super) fn none() -> Self {
        Values { history_bytes: measure_history(&Default::default(), HISTORY_CAP), ..Values::default() }
    }

    /// The facts of a session.
    pub(super) fn of(view: &SessionView<'_>) -> Self {
        let mut values =
            Values { history_bytes: measure_history(view.history, HISTORY_CAP), ..Values::default() };
        for (name, binding) in &view.bindings {
            values.stored.push((*name).to_owned());
            match &binding.value {
                Value::Closure(_) => {
                    let shown = preview(&binding.value, SAMPLE);
                    let given = binding.info.as_ref().and_then(|info| info.parameters.first());
                    let parameters = given.map_or(shown.trim_start_matches("#fn"), |text| text);
                    let head = format!("({name} {parameters})");
                    let doc = binding.info.as_ref().and_then(|info| info.doc.as_deref());
                    values.functions.push(match doc {
                        Some(doc) => format!("{head:<NAME_COLUMNS$}; {doc:?}"),
                        None => head,
                    });
                }
                Value::Nil => {}
                Value::Vector(items) | Value::List(items) | Value::Queue(items) if items.is_empty() => {}
                Value::Map(map) if map.is_empty() => {}
                value => {
                    values.others.push(((*name).to_owned(), type_word(value), preview(value, SAMPLE)));
                }
            }
        }
        let last = view.history.iter().rposition(|value| !value.is_nil()).map_or(0, |at| at + 1);
        values.history = view.history[..last].iter().map(remembered).collect();
        let mut top: Vec<_> = view.sizes.iter().map(|(name, bytes)| (name.to_string(), *bytes)).collect();
        top.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        top.truncate(TOP);
        values.top = top;
        values
    }

    /// Functions and other definitions; empty if there is nothing to show. Samples are shown if there are no prints.
    pub(super) fn memory(&self, samples: bool) -> String {
        let mut text = String::new();
        if !self.functions.is_empty() {
            text = String::from(";; === user/ (your prelude) ===");
            for function in &self.functions {
                text.push('\n');
                text.push_str(&visible_line(function));
            }
        }
        if !self.others.is_empty() {
            let lines: Vec<_> = self
                .others
                .iter()
                .map(|(name, word, sample)| {
                    let sample = if samples { format!(", sample: {sample}") } else { String::new() };
                    visible_line(&format!("{name:<NAME_COLUMNS$}; = {word}{sample}")).into_owned()
                })
                .collect();
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&envelope("memory", &lines.join("\n")));
        }
        text
    }

    /// The last three results.
    pub(super) fn history_text(&self) -> String {
        let mut text = String::from(";; History:");
        for at in 0..3 {
            let shown = self.history.get(at).map_or("nil", |entry| &entry.preview);
            text.push_str(&format!("\n;   *{} {}", at + 1, visible_line(shown)));
        }
        text
    }
}

/// Printed texts.
pub(super) fn output(prints: &[&str]) -> String {
    match prints {
        [] => ";; Output:".to_owned(),
        prints => format!(";; Output:\n{}", envelope("println", &prints.join("\n"))),
    }
}

/// Calls, one a line.
pub(super) fn calls(calls: &[&str]) -> String {
    if calls.is_empty() {
        return ";; No tool calls made".to_owned();
    }
    let mut text = String::from(";; Tool calls made:");
    for call in calls {
        let member = |key: &str| {
            let members = Raw::parse(call).ok().and_then(Raw::members);
            members.into_iter().flatten().find(|(name, _)| name == key).map(|(_, value)| value)
        };
        let name = member("name").and_then(Raw::as_str).unwrap_or_default();
        let args = member("args").map_or("{}", Raw::text);
        text.push_str(&format!("\n;   {}({args})", visible_line(&name)));
    }
    text
}

/// The newest entries that take at most `max_bytes` together, oldest of them first, and whether others are left out.
pub(super) fn newest(log: &Log, max_bytes: usize) -> (Vec<&str>, bool) {
    let all: Vec<&str> = log.entries().collect();
    let mut bytes = 0;
    let kept = all
        .iter()
        .rev()
        .take_while(|entry| {
            bytes += entry.len() + 3;
            bytes <= max_bytes
        })
        .count();
    (all[all.len() - kept..].to_vec(), kept < all.len())
}

fn remembered(value: &Value) -> Remembered {
    let shown = preview(value, HISTORY);
    let whole = render_capped(value, shown.len(), Budget::default());
    Remembered { cut: whole.truncated.is_some() || whole.text != shown, preview: shown }
}

fn type_word(value: &Value) -> String {
    let word = match value {
        Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
            return format!("list[{}]", items.len());
        }
        Value::Map(map) => return format!("map[{}]", map.len()),
        Value::Set(set) => return format!("set[{}]", set.len()),
        Value::Nil => "nil",
        Value::True | Value::False => "boolean",
        Value::Int(_) | Value::BigInt(_) => "integer",
        Value::Float(_) => "float",
        Value::Keyword(_) => "keyword",
        Value::Str(_) => "string",
        Value::Builtin(_) | Value::Closure(_) | Value::Combinator(_) => "fn",
        Value::Temporal(temporal) => match **temporal {
            Temporal::Date(_) => "date",
            Temporal::Instant { .. } | Temporal::Local { .. } | Temporal::Zoned { .. } => "datetime",
            Temporal::Duration(_) => "duration",
        },
        _ => "unknown",
    };
    word.to_owned()
}
