//! Runs whose answer is a value of a Rust type.

use super::{Fail, FailReason, RunOptions, Step};
use crate::settings::Agent;
use crate::signature::{Signature, Type};
use ptc_base::json::Value as Json;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::ops::Deref;
use std::sync::Arc;

/// The answer of [`Agent::run_as`], and its step.
#[derive(Debug, Clone)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// The step of the run: usage, turns, conversation.
    pub step: Step,
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl Agent {
    /// Runs the agent for an answer of type `T`: the model reads the type's JSON Schema, descriptions included. An answer that
    /// does not fit it, or that cannot be deserialized to `T`, is refused with the reason while turns remain. The parameters of
    /// the agent's signature stay; its result type is ignored.
    ///
    /// ```
    /// # use ptc_agent::{Agent, Output, RunOptions, llm::{LlmResponse, ScriptedLlm}};
    /// use ptc_agent::schemars::{self, JsonSchema};
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Person {
    ///     name: String,
    ///     age: Option<u8>,
    /// }
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let agent = Agent::builder("Who is meant? {{text}}").output(Output::Text).build()?;
    /// # let model = std::sync::Arc::new(ScriptedLlm::new([LlmResponse::text(r#"{"name": "Ada", "age": 36}"#)]));
    /// let person = agent.run_as::<Person>(RunOptions::new(model).context("text", "Ada, 36, wrote notes.")).await?;
    /// assert_eq!((person.name.as_str(), person.age), ("Ada", Some(36)));
    /// # Ok::<_, Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The step with its `fail` set. A schema of the type's own that could not be checked fails before the first turn, as
    /// `validation_error`.
    pub async fn run_as<T>(&self, options: RunOptions) -> Result<Answer<T>, Box<Step>>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let failed = |fail: Fail| Box::new(Step { fail: Some(fail), ..Step::default() });
        let returns = Type::of::<T>().map_err(|error| {
            failed(Fail::new(FailReason::ValidationError, format!("invalid signature: {error}")))
        })?;
        let mut config = (*self.0).clone();
        let params = config.signature.take().map(|signature| signature.params).unwrap_or_default();
        config.describe(&returns.json_schema());
        config.signature = Some(Signature { params, returns });
        config.validators.push(Arc::new(|value: &Json| match read::<T>(value) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }));
        let step = Agent(Arc::new(config)).run(options).await?;
        match read(step.value.as_ref().unwrap_or(&Json::Null)) {
            Ok(value) => Ok(Answer { value, step }),
            Err(error) => {
                let fail = Fail::new(FailReason::ValidationError, error.to_string());
                Err(Box::new(Step { fail: Some(fail), ..step }))
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: read()")]
fn read<T: DeserializeOwned>(value: &Json) -> Result<T, serde_json::Error> {
    serde_json::from_str(&value.to_string())
}
