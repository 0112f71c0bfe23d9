//! Sets up a conversation: the model, the engine, the upstreams, the tools.

use super::args::AgentArgs;
use super::conversation_file::ConversationFile;
use super::images;
use super::model::{self, Model};
use super::native;
use super::screen::{Screen, TerminalAsker};
use super::watch::{CallDisplay, WatchedLlm, programs};
use crate::cli::questions;
use crate::cli::tools::load_all;
use crate::cli::upstreams::UNCONFIGURED;
use ptc_agent::agent::{Agent, MemoryStrategy, Mode, SystemPrompt};
use ptc_agent::llm::{Image, Message};
use ptc_agent::run::{RunOptions, Step};
use ptc_agent::tool::{JsonMap, ToolSpec};
use ptc_host::aggregator::{Aggregator, SnapshotMode};
use ptc_host::catalog::{CatalogMode, describe};
use ptc_host::config::ProcessEnv;
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Asker, Engine, EngineOptions, HostCalls, Limits, ObservedCalls};
use ptc_host::upstream::CallLimits;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Characters of the catalog in the system prompt.
const CATALOG_CHARS: usize = 22_528;

/// The time limit of a native tool whose approval a person considers.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of definitions that programs may leave for later ones.
const MAX_DEFINITIONS: u64 = 16 << 20;

/// Everything that exists for the whole process.
pub(super) struct Host {
    pub(super) model: Model,
    pub(super) screen: Arc<Screen>,
    /// The upstreams, for the list of tools.
    pub(super) upstreams: Option<Arc<Aggregator>>,
    engine: Engine,
    calls: Option<Arc<dyn HostCalls>>,
    /// The asker at the terminal.
    asker: Option<Arc<dyn Asker>>,
    tools: Vec<(String, ToolSpec)>,
    context: JsonMap,
    /// Images that are shown with the first question of a conversation.
    pub(super) images: Vec<Image>,
    /// The folder for images that the model makes.
    image_dir: Option<PathBuf>,
    system: SystemPrompt,
    limits: Limits,
    settings: Settings,
    redactor: Redactor,
    /// The messages of the continued conversation.
    pub(super) before: Vec<Message>,
    kept: Option<ConversationFile>,
}

struct Settings {
    mode: Mode,
    max_turns: u32,
    max_tokens: Option<u32>,
    temperature: Option<f32>,
    mission_timeout: Option<Duration>,
    tool_timeout: Duration,
    signature: Option<String>,
}

impl Host {
    /// Opens everything that the arguments require.
    ///
    /// # Errors
    /// One sentence for the operator.
    #[expect(clippy::disallowed_methods, reason = "entry point: Host.open")]
    pub(super) async fn open(args: &AgentArgs, env: &ProcessEnv, screen: Screen) -> Result<Host, String> {
        let screen = Arc::new(screen);
        let shown = images::read(&args.image)?;
        // Checked before anything is started: most mistakes are in the model's name and key.
        let model = model::open(args, env, &screen)?;
        let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() })
            .map_err(|error| error.to_string())?;
        let location = args.limits.location(env);
        let (template, upstreams) = args.limits.request_with(location, SnapshotMode::Live, env).await?;
        let mut host = Host {
            model,
            engine,
            tools: Vec::new(),
            calls: None,
            asker: None,
            context: args
                .context
                .as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
            images: shown,
            image_dir: args.image_dir.clone(),
            system: SystemPrompt::Wrap {
                prefix: args.system.clone().unwrap_or_default(),
                suffix: String::new(),
            },
            limits: template.limits,
            settings: Settings {
                mode: args.mode.into(),
                max_turns: args.max_turns,
                max_tokens: args.max_tokens,
                temperature: args.temperature,
                mission_timeout: args.mission_timeout(),
                tool_timeout: Duration::from_secs(60),
                signature: args.signature.clone(),
            },
            upstreams,
            screen,
            redactor: Redactor::new(),
            before: Vec::new(),
            // A replayed conversation is not stored again.
            kept: ConversationFile::place(args.mode).filter(|_| !args.forget && args.replay.is_none()),
        };
        // One redactor for all output and recordings: it knows the upstreams' secrets and the model's key.
        let redactor = host.upstreams.as_ref().map_or_else(Redactor::new, |all| all.redactor().clone());
        host.screen.scrub_with(redactor.clone());
        host.redactor = redactor.clone();
        let opened = async {
            host.model.guard(args, &redactor)?;
            if !args.cache_tool.is_empty() && host.settings.mode != Mode::Combined {
                return Err(
                    "--cache-tool needs --mode combined: without programs, kept results have no use".into()
                );
            }
            if args.go_on {
                host.take_up()?;
            }
            match host.upstreams.clone() {
                None if args.native.is_empty() => {}
                _ if !args.native.is_empty() && matches!(host.settings.mode, Mode::Lisp | Mode::LispTool) => {
                    return Err("--native needs --mode combined or --mode text: a model that answers in programs has no other tools".into());
                }
                None => return Err(format!("--native needs upstreams, and {UNCONFIGURED}")),
                Some(upstreams) => host.take_upstreams(&upstreams, args).await?,
            }
            // A mistake in the type is reported before the model is asked.
            host.agent("x").map(drop)
        };
        let opened: Result<(), String> = opened.await;
        if let Err(why) = opened {
            host.close().await;
            return Err(why);
        }
        Ok(host)
    }

    /// Continues the stored conversation.
    fn take_up(&mut self) -> Result<(), String> {
        let kept = self.kept.as_ref();
        let kept =
            kept.ok_or("--continue needs a home, and no --replay: there is no kept conversation without")?;
        self.before = kept.load()?;
        let programs = |message: &Message| matches!(message, Message::Assistant { .. });
        if self.settings.mode != Mode::Text && self.before.iter().any(programs) {
            let SystemPrompt::Wrap { prefix, .. } = &mut self.system else { return Ok(()) };
            let told = "The conversation was interrupted: what earlier programs defined is gone.";
            *prefix = format!("{prefix}\n\n{told}").trim().to_owned();
        }
        self.screen.note(&format!("going on after {} messages", self.before.len()));
        Ok(())
    }

    /// Stores the conversation for a later `--continue`.
    pub(super) fn keep(&self, messages: &[Message]) {
        let Some(kept) = &self.kept else { return };
        if let Err(why) = kept.save(messages, &self.redactor) {
            self.screen.note(&why);
        }
    }

    /// Removes the stored conversation.
    pub(super) fn forget(&self) {
        if let Some(Err(why)) = self.kept.as_ref().map(ConversationFile::forget) {
            self.screen.note(&why);
        }
    }

    /// Lists the upstreams; those that fail are reported and omitted.
    async fn take_upstreams(&mut self, upstreams: &Arc<Aggregator>, args: &AgentArgs) -> Result<(), String> {
        for (server, why) in load_all(upstreams).await {
            self.screen.note(&format!("{server} is left out: {why}"));
        }
        let limits = args.limits.aggregator_limits();
        let CallLimits { timeout, max_bytes, binary_bytes, .. } = limits.per_call();
        let choice = native::Choice {
            native: &args.native,
            cached: &args.cache_tool,
            programs: self.settings.mode == Mode::Combined,
        };
        let limits = native::NativeCallLimits { timeout, max_bytes, binary_bytes };
        self.asker = questions::at_terminal(upstreams.redactor())
            .map(|person| Arc::new(TerminalAsker { person, screen: self.screen.clone() }) as Arc<dyn Asker>);
        self.tools = native::tools(upstreams, &choice, limits, &self.screen, self.asker.as_ref())?;
        // The handler's own limit comes first, and its message says more. A person has no time limit.
        self.settings.tool_timeout = match self.asker {
            Some(_) => A_DAY,
            None => timeout.saturating_mul(3),
        };
        let display = Arc::new(CallDisplay { screen: self.screen.clone() });
        self.calls = Some(Arc::new(ObservedCalls::new(upstreams.clone(), display)));
        if self.settings.mode == Mode::Text {
            self.calls = None;
            return Ok(());
        }
        let catalog =
            describe(&upstreams.unfiltered().catalog(), &[], CatalogMode::Auto, 0, CATALOG_CHARS).short;
        if let SystemPrompt::Wrap { suffix, .. } = &mut self.system {
            *suffix = catalog;
        }
        Ok(())
    }

    /// The agent for one question.
    ///
    /// # Errors
    /// The fault of its options.
    pub(super) fn agent(&self, question: &str) -> Result<Agent, String> {
        let settings = &self.settings;
        let mut builder = Agent::builder(question)
            .literal_prompt()
            .output(settings.mode.output())
            .transport(settings.mode.transport())
            .name("ptc-agent")
            .system_prompt(self.system.clone())
            .max_turns(settings.max_turns)
            .turn_budget(settings.max_turns)
            .timeout(self.limits.timeout)
            .max_heap(self.limits.memory_bytes)
            .max_steps(self.limits.steps)
            // The definitions of a program that exceed the limit are rolled back with an error; the conversation
            // continues.
            .memory_limit(Some(MAX_DEFINITIONS))
            .memory_strategy(MemoryStrategy::Rollback)
            .tool_timeout(settings.tool_timeout);
        for (name, tool) in &self.tools {
            builder = builder.tool(name.clone(), tool.clone());
        }
        if let Some(time) = settings.mission_timeout {
            builder = builder.mission_timeout(time);
        }
        if let Some(signature) = &settings.signature {
            builder = builder.signature(signature.clone());
        }
        builder.build().map_err(|error| error.to_string())
    }

    /// The options of one run.
    pub(super) fn options(&self) -> RunOptions {
        let llm = WatchedLlm { inner: self.model.llm.clone(), screen: self.screen.clone() };
        RunOptions {
            max_tokens: self.settings.max_tokens,
            temperature: self.settings.temperature,
            // The system prompt and the conversation are sent again with every turn.
            cache: true,
            observer: Some(programs(self.screen.clone())),
            context: self.context.clone(),
            upstreams: self.calls.clone(),
            asker: self.asker.clone(),
            ..RunOptions::new(Arc::new(llm)).with_engine(self.engine.clone())
        }
    }

    /// Writes the images of an answer.
    pub(super) fn keep_images(&self, step: &Step) {
        images::keep(&step.images, self.image_dir.as_deref(), &self.screen);
    }

    /// Stops the upstreams.
    pub(super) async fn close(&self) {
        if let Some(upstreams) = &self.upstreams {
            upstreams.shutdown().await;
        }
    }
}
