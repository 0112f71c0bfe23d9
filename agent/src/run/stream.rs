//! A run as a stream of its events.

use super::{RunOptions, Step};
use crate::llm::{EventSink, LlmEvent, emit};
use crate::settings::Agent;
use crate::tool::Layer;
use futures_util::Stream;
use futures_util::future::BoxFuture;
use ptc_base::json::Value as Json;
use serde::Serialize;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An event of a run, in order. The last event is [`Done`](RunEvent::Done) or [`Failed`](RunEvent::Failed).
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunEvent {
    /// The model is asked.
    TurnStarted {
        /// From 1.
        turn: u32,
        /// Whether it is an extra turn to repair the one before.
        retry: bool,
    },
    /// The next piece of the model's text. A text may turn out to be no answer; [`Feedback`](RunEvent::Feedback) follows then.
    Text {
        /// The piece; never empty.
        delta: String,
    },
    /// The next piece of a reasoning model's thinking.
    Reasoning {
        /// The piece.
        delta: String,
    },
    /// A tool's handler is asked.
    ToolStarted {
        /// The tool.
        name: String,
        /// Its arguments.
        args: Json,
        /// Whether the model or a program called it.
        #[serde(serialize_with = "layer_word")]
        layer: Layer,
    },
    /// A tool's handler has answered, or did not in time.
    ToolEnded {
        /// The tool.
        name: String,
        /// Whether the model or a program called it.
        #[serde(serialize_with = "layer_word")]
        layer: Layer,
        /// Why it has no result.
        error: Option<String>,
        /// Bytes of the result as JSON.
        bytes: usize,
        /// How long it took.
        #[serde(serialize_with = "millis")]
        duration: Duration,
    },
    /// A program begins.
    ProgramStarted {
        /// Its text.
        source: String,
    },
    /// A program has ended.
    ProgramEnded {
        /// The readable form of its value, as far as the model reads it.
        result: Option<String>,
        /// The error.
        error: Option<String>,
        /// The output it printed.
        prints: Vec<String>,
    },
    /// The message that the model reads next: the result of a call or of a program, or the fault of its answer.
    Feedback {
        /// The call that it answers, if it answers one.
        tool_call_id: Option<String>,
        /// The message.
        content: String,
    },
    /// The run has its answer.
    Done {
        /// Its result.
        step: Box<Step>,
    },
    /// The run has failed.
    Failed {
        /// Its result, with its `fail` set.
        step: Box<Step>,
    },
}

fn layer_word<S: serde::Serializer>(layer: &Layer, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(layer.as_str())
}

fn millis<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(duration.as_millis().try_into().unwrap_or(u64::MAX))
}

/// Where the events of a run go.
#[derive(Clone)]
pub(crate) struct Watch(UnboundedSender<RunEvent>);

impl Watch {
    pub(crate) fn tell(&self, event: RunEvent) {
        // Nobody listens any more: the run goes on until it is dropped.
        let _ = self.0.send(event);
    }

    /// A sink of the model's pieces that passes them on to `next` as well.
    fn sink(self, next: Option<EventSink>) -> EventSink {
        Arc::new(move |event| {
            match event {
                LlmEvent::Text(delta) => self.tell(RunEvent::Text { delta: delta.to_owned() }),
                LlmEvent::Reasoning(delta) => self.tell(RunEvent::Reasoning { delta: delta.to_owned() }),
                LlmEvent::ToolCall { .. } | LlmEvent::Arguments { .. } => {}
            }
            if let Some(next) = &next {
                emit(next, event);
            }
        })
    }
}

/// A run that progresses while its events are read. Dropping it cancels the run.
#[must_use = "a run goes on only while its events are asked for"]
pub struct RunStream<'a> {
    run: Option<BoxFuture<'a, Result<Step, Box<Step>>>>,
    events: UnboundedReceiver<RunEvent>,
    last: Option<RunEvent>,
}

impl fmt::Debug for RunStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunStream").field("running", &self.run.is_some()).finish_non_exhaustive()
    }
}

impl Agent {
    /// Runs the agent and yields events as they happen. Must be called on a tokio runtime.
    ///
    /// ```
    /// # use ptc_agent::{Agent, Output, RunEvent, RunOptions, llm::{LlmResponse, ScriptedLlm}};
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let agent = Agent::builder("Say hello.").output(Output::Text).build()?;
    /// let model = std::sync::Arc::new(ScriptedLlm::new([LlmResponse::text("Hello!")]));
    /// let mut events = agent.stream(RunOptions::new(model));
    /// while let Some(event) = events.next().await {
    ///     match event {
    ///         RunEvent::Text { delta } => print!("{delta}"),
    ///         RunEvent::Done { step } => assert_eq!(step.value::<String>()?, "Hello!"),
    ///         RunEvent::Failed { step } => return Err(step.into()),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok::<_, Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn stream(&self, mut options: RunOptions) -> RunStream<'_> {
        let (sender, events) = unbounded_channel();
        let watch = Watch(sender);
        options.on_event = Some(watch.clone().sink(options.on_event.take()));
        let run = self.run_within(options, None, Some(watch));
        RunStream { run: Some(Box::pin(run)), events, last: None }
    }
}

impl RunStream<'_> {
    /// The next event; `None` after the last one.
    pub async fn next(&mut self) -> Option<RunEvent> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Drives the run to its end and discards its events.
    ///
    /// # Errors
    /// The step with its `fail` set.
    pub async fn finish(mut self) -> Result<Step, Box<Step>> {
        let mut ended = Err(Box::default());
        while let Some(event) = self.next().await {
            match event {
                RunEvent::Done { step } => ended = Ok(*step),
                RunEvent::Failed { step } => ended = Err(step),
                _ => {}
            }
        }
        ended
    }
}

impl Stream for RunStream<'_> {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        let stream = &mut *self;
        // What has happened comes before what happens next.
        if let Poll::Ready(Some(event)) = stream.events.poll_recv(context) {
            return Poll::Ready(Some(event));
        }
        if let Some(run) = &mut stream.run
            && let Poll::Ready(ended) = run.as_mut().poll(context)
        {
            stream.run = None;
            stream.last = Some(match ended {
                Ok(step) => RunEvent::Done { step: Box::new(step) },
                Err(step) => RunEvent::Failed { step },
            });
        }
        match stream.events.poll_recv(context) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            _ if stream.run.is_some() => Poll::Pending,
            _ => Poll::Ready(stream.last.take()),
        }
    }
}
