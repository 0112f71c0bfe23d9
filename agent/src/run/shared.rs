//! What a run, its programs and its tools share.

use super::program::shown;
use crate::agent::Config;
use crate::cache::ToolCache;
use crate::tool::JsonMap;
use ptc_host::engine::{Engine, SessionKey};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// The name of the native tool that runs programs.
pub(crate) const LISP_EVAL: &str = "lisp_eval";

/// A run's things that outlive single turns.
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    pub(super) engine: Engine,
    pub(super) cache: ToolCache,
    pub(super) runtime: Handle,
    /// The engine's session that holds definitions and history; closed with the run.
    pub(super) session: SessionKey,
    pub(super) agent_id: String,
    pub(super) turn: AtomicU32,
    pub(super) started: Instant,
}

impl Shared {
    /// Must be called on a tokio runtime: tools run on it.
    pub(super) fn new(config: Arc<Config>, engine: Engine) -> Shared {
        static RUNS: AtomicU64 = AtomicU64::new(1);
        let number = RUNS.fetch_add(1, Ordering::Relaxed);
        Shared {
            cache: ToolCache::new(config.tool_cache_limit),
            config,
            engine,
            runtime: Handle::current(),
            session: format!("agent-run-{number}").into(),
            agent_id: format!("{:08x}", number & 0xffff_ffff),
            turn: AtomicU32::new(0),
            started: Instant::now(),
        }
    }

    /// Time until the mission's deadline.
    pub(super) fn left(&self) -> Duration {
        // A year stands for none: timers cannot wait for ever.
        let mission = self.config.mission_timeout.unwrap_or(Duration::from_secs(365 * 86_400));
        mission.saturating_sub(self.started.elapsed())
    }

    fn before(&self) -> SessionKey {
        format!("{}#before", self.session).into()
    }

    /// Remembers `*1 *2 *3`, which a program that ends with `(return v)` shall not change.
    pub(super) async fn save_history(&self) {
        let (key, before) = (self.session.clone(), self.before());
        let save = move |sessions: &ptc_host::engine::SessionStore| {
            let place = sessions.open(&key);
            let history = place.borrow().state().map(|state| state.history.clone()).unwrap_or_default();
            if let Some(saved) = sessions.open(&before).borrow_mut().state_mut() {
                saved.history = history;
            }
        };
        let _ = self.engine.with_sessions(&self.session, save).await;
    }

    /// Puts back what [`save_history`](Shared::save_history) remembered.
    pub(super) async fn restore_history(&self) {
        let (key, before) = (self.session.clone(), self.before());
        let restore = move |sessions: &ptc_host::engine::SessionStore| {
            let saved = sessions.open(&before);
            let history = saved.borrow().state().map(|state| state.history.clone()).unwrap_or_default();
            if let Some(state) = sessions.open(&key).borrow_mut().state_mut() {
                state.history = history;
            }
        };
        let _ = self.engine.with_sessions(&self.session, restore).await;
    }

    /// Previews of the names in `changed`, and all names.
    pub(super) async fn memory(&self, changed: Vec<String>) -> (JsonMap, Vec<String>) {
        let key = self.session.clone();
        let look = move |sessions: &ptc_host::engine::SessionStore| {
            let (mut previews, mut names) = (JsonMap::new(), Vec::new());
            let place = sessions.open(&key);
            if let Some(state) = place.borrow().state() {
                for (name, binding) in state.namespace.bindings() {
                    if changed.iter().any(|changed| **changed == **name) {
                        previews.insert(name.to_string(), shown(&binding.value));
                    }
                    names.push(name.to_string());
                }
            }
            (previews, names)
        };
        self.engine.with_sessions(&self.session, look).await.unwrap_or_default()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let (key, before) = (self.session.clone(), self.before());
        // The command is on its way with the call; nobody waits for its end.
        drop(self.engine.with_sessions(&self.session, move |sessions| {
            sessions.close(&key);
            sessions.close(&before);
        }));
    }
}

/// An error of the protocol between model and loop.
pub(super) fn fault(reason: &str, message: &str) -> Json {
    json!({"status": "error", "reason": reason, "message": message})
}
