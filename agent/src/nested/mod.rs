//! Composite tools (agent.md 15): nested agents, and questions to the run's model.

use crate::run::{RunOptions, RunScope};
use crate::settings::{Agent, Output};
use crate::signature::{Field, Signature, Type};
use crate::tool::{JsonMap, ToolContext, ToolError, ToolHandler, ToolSpec};
use futures_util::future::BoxFuture;
use ptc_base::json::Value as Json;

impl Agent {
    /// The agent as a tool of another one: its context is the tool's arguments, its answer the result.
    ///
    /// It runs with its own model, else the caller's, and with the caller's engine, takes its turns from the caller's budget,
    /// ends at the caller's deadline, and counts as one level of [`max_depth`](crate::agent::AgentBuilder::max_depth). It
    /// starts without definitions and shared results.
    #[must_use]
    pub fn as_tool(&self) -> ToolSpec {
        let mut tool = ToolSpec::new(AgentTool(Some(self.clone())));
        tool.signature.clone_from(&self.0.signature);
        tool.description.clone_from(&self.0.description);
        tool
    }
}

/// A tool that is the agent that has it.
pub(crate) fn self_tool() -> ToolSpec {
    ToolSpec::new(AgentTool(None)).description("This agent itself, with another context.")
}

/// Runs an agent; `None` stands for the caller.
struct AgentTool(Option<Agent>);

impl ToolHandler for AgentTool {
    fn call(&self, arguments: JsonMap, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
        let agent = self.0.clone();
        // Boxed: an agent that calls itself would otherwise be a future within itself.
        Box::pin(async move {
            let run = context.run.and_then(|run| run.downcast::<RunScope>().ok());
            let run = run.ok_or_else(|| ToolError("an agent runs only within a run".into()))?;
            let agent = agent.unwrap_or_else(|| Agent(run.config.clone()));
            let options = RunOptions {
                context: arguments,
                upstreams: run.upstreams.clone(),
                programs: run.programs.clone(),
                asker: run.asker.clone(),
                principal: run.principal.clone(),
                authority: run.authority.clone(),
                observer: run.emitter.observer(),
                collect_messages: false,
                llm_registry: run.registry.clone(),
                llm_retry: agent.0.llm_retry.clone().or_else(|| run.retry.clone()),
                engine: run.kept.chosen_engine(),
                extensions: (*run.extensions).clone(),
                ..RunOptions::new(agent.0.llm.clone().unwrap_or_else(|| run.llm.clone().into()))
            };
            let ran = agent.run_within(options, Some(run.inheritance()), None).await;
            let (mut step, answer) = match ran {
                Ok(step) => {
                    let value = step.value.clone().unwrap_or_default();
                    (step, Ok(value))
                }
                Err(step) => {
                    let fail = step.fail.as_ref().map(ToString::to_string).unwrap_or_default();
                    (*step, Err(ToolError(fail)))
                }
            };
            // What its programs left is nobody's any more.
            step.state = None;
            run.note_child(step);
            answer
        })
    }
}

/// `llm-query`: one question to the run's model, without tools.
pub(crate) fn llm_query() -> ToolSpec {
    let field = |name: &str, ty| Field { name: name.into(), ty };
    ToolSpec::new(LlmQuery)
        .signature(Signature {
            params: vec![
                field("prompt", Type::String),
                field("signature", Type::Optional(Box::new(Type::String))),
            ],
            returns: Type::Any,
        })
        .description("Asks a language model one question; `signature` is the type of the answer, such as {score :int}.")
}

struct LlmQuery;

impl ToolHandler for LlmQuery {
    fn call(&self, arguments: JsonMap, context: ToolContext) -> BoxFuture<'static, Result<Json, ToolError>> {
        let text = |key: &str| arguments.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let mut builder =
            Agent::builder(text("prompt")).literal_prompt().output(Output::Text).name("llm-query");
        if !text("signature").is_empty() {
            builder = builder.signature(text("signature"));
        }
        let built = builder.build().map_err(|error| ToolError(error.to_string()));
        let made = built.map(|agent| AgentTool(Some(agent)).call(JsonMap::new(), context));
        Box::pin(async move { made?.await })
    }
}
