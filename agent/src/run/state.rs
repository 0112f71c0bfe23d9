//! State that outlives a program: definitions, history, shared results, the last failure.

use crate::cache::ToolCache;
use ptc_base::json::Value as Json;
use ptc_base::sync::Mutex;
use ptc_engine::{
    CallRecord, Engine, EngineError, SessionKey, SessionLimits, SessionReport, SessionRules, SessionStore,
    measure,
};
use ptc_vm::value::{Map, Set};
use ptc_vm::{Value, print};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// State shared by the programs of a run, or of several turns of a chat. Values stay in the engine's session.
pub(crate) struct ProgramState {
    /// Where its values live; empty until there is a program, unless the host chose one.
    engine: OnceLock<Engine>,
    pub(crate) session: SessionKey,
    pub(crate) cache: ToolCache,
    failure: Mutex<Option<Json>>,
}

impl ProgramState {
    pub(crate) fn new(engine: Option<Engine>) -> ProgramState {
        static RUNS: AtomicU64 = AtomicU64::new(1);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        ProgramState {
            engine: engine.map_or_else(OnceLock::new, OnceLock::from),
            session: format!("agent-run-{number}").into(),
            cache: ToolCache::default(),
            failure: Mutex::default(),
        }
    }

    /// The engine, from now on also for programs that follow: the host's, else the process's own.
    pub(crate) fn engine(&self) -> Result<&Engine, EngineError> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let shared = Engine::shared()?;
        Ok(self.engine.get_or_init(|| shared))
    }

    /// The engine, if one was chosen or started.
    pub(crate) fn chosen_engine(&self) -> Option<Engine> {
        self.engine.get().cloned()
    }

    /// The value of `data/fail` for the next program.
    pub(crate) fn failure(&self) -> Option<Json> {
        self.failure.lock().clone()
    }

    pub(crate) fn set_failure(&self, failure: Json) {
        *self.failure.lock() = Some(failure);
    }

    /// Looks at the session on its worker; `None` if the engine is gone.
    async fn look<R: Send + 'static>(
        &self,
        look: impl FnOnce(&ptc_engine::SessionState) -> R + Send + 'static,
    ) -> Option<R> {
        let key = self.session.clone();
        let look = move |sessions: &SessionStore| sessions.open(&key).borrow().state().map(look);
        self.engine.get()?.with_sessions(&self.session, look).await.flatten()
    }

    /// Names of all definitions with a preview of each value, sorted.
    pub(crate) async fn definitions(&self) -> Vec<(String, String)> {
        let look = |state: &ptc_engine::SessionState| {
            let bindings = state.namespace.bindings();
            bindings
                .iter()
                .map(|(name, binding)| (name.to_string(), print::readable_lossy(&binding.value)))
                .collect()
        };
        self.look(look).await.unwrap_or_default()
    }

    /// The shapes of these definitions: kind and size, no text and no items.
    pub(crate) async fn shapes(&self, names: Vec<String>) -> Vec<String> {
        let look = move |state: &ptc_engine::SessionState| {
            let shape_of = |name: &String| state.namespace.get(name).map(|binding| shape(&binding.value));
            names.iter().map(|name| shape_of(name).unwrap_or_default()).collect()
        };
        self.look(look).await.unwrap_or_default()
    }

    /// The journal's ids with a preview of each value, and the summaries of steps that are done.
    pub(crate) async fn journal(&self) -> Journal {
        let look = |state: &ptc_engine::SessionState| Journal {
            tasks: state
                .journal
                .iter()
                .map(|(id, value)| {
                    let id = if let Value::Str(id) = id {
                        id.as_str().to_owned()
                    } else {
                        print::readable_lossy(id)
                    };
                    (id, print::readable_lossy(value))
                })
                .collect(),
            summaries: state
                .summaries
                .iter()
                .map(|(id, value)| {
                    let text = if let Value::Str(text) = value {
                        text.as_str().to_owned()
                    } else {
                        print::readable_lossy(value)
                    };
                    (id.as_str().to_owned(), text)
                })
                .collect(),
        };
        self.look(look).await.unwrap_or_default()
    }
}

impl Drop for ProgramState {
    fn drop(&mut self) {
        let Some(engine) = self.engine.get() else { return };
        let key = self.session.clone();
        // The command is on its way with the call; nobody waits for its end.
        drop(engine.with_sessions(&self.session, move |sessions| sessions.close(&key)));
    }
}

/// The results that `task` stored and the notes of `step-done`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Journal {
    /// Id and readable value of each task.
    pub tasks: Vec<(String, String)>,
    /// Id and summary of each step, in order.
    pub summaries: Vec<(String, String)>,
}

/// Definitions, `*1 *2 *3`, shared results, journal and last failure, carried from one run or chat turn to the next. Cheap to
/// clone; all clones share one state, which is freed with the last of them. One run at a time.
#[derive(Clone)]
pub struct ChatState(pub(crate) Arc<ProgramState>);

impl fmt::Debug for ChatState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatState").field("retained_bytes", &self.retained_bytes()).finish_non_exhaustive()
    }
}

impl Default for ChatState {
    /// An empty state whose values live in the process's [default engine](Engine::shared).
    fn default() -> ChatState {
        ChatState(Arc::new(ProgramState::new(None)))
    }
}

impl ChatState {
    /// An empty state whose values live in this engine.
    #[must_use]
    pub fn new(engine: &Engine) -> ChatState {
        ChatState(Arc::new(ProgramState::new(Some(engine.clone()))))
    }

    /// Names of all definitions with a preview of each value, sorted.
    pub async fn definitions(&self) -> Vec<(String, String)> {
        self.0.definitions().await
    }

    /// The results that `task` stored and the notes of `step-done`.
    pub async fn journal(&self) -> Journal {
        self.0.journal().await
    }

    /// Bytes of JSON of all shared results.
    #[must_use]
    pub fn retained_bytes(&self) -> usize {
        self.0.cache.retained_bytes()
    }
}

/// Limits of an agent's session (agent.md 8.7).
pub(super) struct AgentLimits {
    pub(super) memory_limit: Option<u64>,
    pub(super) history_max_bytes: u64,
    pub(super) journaling: bool,
}

impl SessionRules for AgentLimits {
    fn limits(&self) -> SessionLimits {
        SessionLimits {
            bindings: usize::MAX,
            memory_bytes: self.memory_limit.unwrap_or(u64::MAX),
            binding_bytes: u64::MAX,
            history_entry_bytes: self.history_max_bytes,
        }
    }

    fn commit(&self, _: &SessionReport, _: &[String], _: &[CallRecord]) -> bool {
        true
    }

    fn remembers_returned(&self) -> bool {
        false
    }

    fn keeps_after_fail(&self) -> bool {
        true
    }

    fn shortened(&self, value: &Value, max_bytes: u64) -> Option<Value> {
        Some(shortened(value, max_bytes))
    }

    fn keeps_journal(&self) -> bool {
        self.journaling
    }
}

/// The kind and size of a value. A definition of a shared result must not show the model what its preview withheld.
fn shape(value: &Value) -> String {
    let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    match value {
        Value::Nil | Value::True | Value::False | Value::Int(_) | Value::Float(_) | Value::Keyword(_) => {
            print::readable_lossy(value)
        }
        Value::Str(text) => format!("string of {}", counted(text.len(), "character")),
        Value::Vector(items) | Value::List(items) | Value::Queue(items) => {
            let kind = items.first().map_or("item", |first| first.kind_label());
            // The first items say what the rest most likely are.
            let same = items.iter().take(100).all(|item| item.kind_label() == kind);
            format!("list of {}", counted(items.len(), if same { kind } else { "item" }))
        }
        Value::Map(map) => format!("map of {}", counted(map.len(), "entry").replace("entrys", "entries")),
        Value::Set(set) => format!("set of {}", counted(set.len(), "item")),
        other => other.kind_label().to_owned(),
    }
}

/// The beginning of a value that measures at most about `max` bytes: of text with three dots, of collections the first
/// entries that fit.
fn shortened(value: &Value, max: u64) -> Value {
    let mut room = max.saturating_sub(16);
    let mut fits = |item: &Value| {
        let bytes = measure(item, room);
        let fits = bytes <= room;
        room = if fits { room - bytes } else { 0 };
        fits
    };
    match value {
        Value::Str(text) => {
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            Value::str(format!("{}...", ptc_base::text::clip(text.as_str(), room)))
        }
        Value::Vector(items) => Value::vector(items.iter().take_while(fits).collect::<Vec<_>>()),
        Value::List(items) | Value::Queue(items) => {
            Value::list(items.iter().take_while(fits).collect::<Vec<_>>())
        }
        Value::Map(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), value.clone()));
            Value::Map(Map::from_entries(entries.take_while(|(k, v)| fits(k) && fits(v)).collect()))
        }
        Value::Set(items) => {
            let mut kept = Set::new();
            items.iter().take_while(|item| fits(item)).for_each(|item| kept.insert(item.clone()));
            Value::Set(kept)
        }
        other if fits(other) => other.clone(),
        _ => Value::Nil,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_show_no_text_and_no_items() {
        let row = Value::Map(Map::from_entries(vec![(Value::str("id"), Value::Int(7))]));
        for (value, text) in [
            (Value::vector(vec![row.clone(), row.clone()]), "list of 2 maps"),
            (Value::vector(vec![row.clone(), Value::Nil]), "list of 2 items"),
            (Value::list(vec![row.clone()]), "list of 1 map"),
            (row, "map of 1 entry"),
            (Value::str("secret"), "string of 6 characters"),
            (Value::Int(1842), "1842"),
        ] {
            assert_eq!(shape(&value), text);
        }
    }

    #[test]
    fn long_results_keep_their_beginning() {
        let items = |n: i64| Value::vector((0..n).map(Value::Int).collect::<Vec<_>>());
        for (value, max, display) in [
            (Value::str("é".repeat(100)), 21, "\"éé...\"".to_owned()),
            (items(100), 25, "[0 1 2]".to_owned()),
            (Value::Map(Map::from_entries(vec![(Value::keyword("a"), items(90))])), 40, "{}".to_owned()),
        ] {
            let short = shortened(&value, max);
            assert_eq!(print::readable_lossy(&short), display);
            assert!(measure(&short, 1 << 20) <= max + 8, "{display}");
        }
    }
}
