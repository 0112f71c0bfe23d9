//! Selects the model: by name, with its replies recorded, or replayed from a recording.

use super::args::AgentArgs;
use super::screen::Screen;
use crate::cli::upstreams;
use ptc_agent::llm::{
    Connect, Llm, LlmErrorKind, ModelRef, OnRetry, Recorder, Replayer, RetryPolicy, TimeLimits,
};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::{Redactor, Secret};
use std::sync::Arc;
use std::time::Duration;

/// The model and its name for people.
pub(super) struct Model {
    pub(super) llm: Arc<dyn Llm>,
    pub(super) name: String,
    /// The provider's keys, for the redactor.
    keys: Vec<Secret>,
    /// The recording that is replayed. It must be used up at the end.
    pub(super) replayed: Option<Arc<Replayer>>,
}

/// The model that the arguments name.
///
/// # Errors
/// One sentence for the operator.
pub(super) fn open(args: &AgentArgs, env: &ProcessEnv, screen: &Arc<Screen>) -> Result<Model, String> {
    if let Some(path) = &args.replay {
        let replayer = Arc::new(Replayer::open(path).map_err(|error| error.to_string())?);
        let name = format!("the recording {}", path.display());
        return Ok(Model { llm: replayer.clone(), name, keys: Vec::new(), replayed: Some(replayer) });
    }
    let model =
        ModelRef::parse(&args.model, args.base_url.as_deref(), env).map_err(|error| error.to_string())?;
    let mut limits = TimeLimits::default();
    if let Some(ms) = args.model_timeout_ms {
        limits.total = Duration::from_millis(ms);
        limits.first_byte = limits.first_byte.max(limits.total);
        limits.idle = limits.idle.max(limits.total);
    }
    let mut retry = RetryPolicy::attempts(args.attempts);
    // A person waits: paying twice for a lost answer costs less than the lack of an answer.
    retry.retryable.push(LlmErrorKind::Network);
    let watched = screen.clone();
    let on_retry: OnRetry = Arc::new(move |error, pause| {
        watched.note(&format!("{error}; asking again in {:.1} s", pause.as_secs_f64()));
    });
    let http = upstreams::http(args.limits.ca_file.as_deref(), env)?;
    let connect = Connect { http, limits, retry, on_retry: Some(on_retry), ..Connect::default() };
    let llm = model.connect(env, &connect).map_err(|error| error.to_string())?;
    Ok(Model { llm, name: model.to_string(), keys: model.provider.secrets(env), replayed: None })
}

impl Model {
    /// Registers the key with the redactor, and starts the recording if it is enabled. A recording never contains
    /// anything that the redactor knows.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(super) fn guard(&mut self, args: &AgentArgs, redactor: &Redactor) -> Result<(), String> {
        redactor.register(&self.keys).map_err(|no_room| no_room.to_string())?;
        if let Some(replayer) = &self.replayed {
            replayer.scrub_with(redactor.clone());
        }
        if let Some(path) = &args.record {
            let recorder = Recorder::create(path, self.llm.clone())
                .map_err(|error| format!("cannot record to {}: {error}", path.display()))?;
            self.llm = Arc::new(recorder.redactor(redactor.clone()));
        }
        Ok(())
    }
}
