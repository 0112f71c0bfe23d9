//! Shared by the examples: the model they talk to.

use ptc_agent::ProcessEnv;
use ptc_agent::llm::{Connect, Llm, LlmResponse, ModelRef, RetryPolicy, ScriptedLlm};
use std::error::Error;
use std::sync::Arc;

/// The model that `PTC_MODEL` names, such as `openai:gpt-4.1-mini` or `ollama:qwen3` (keys come from the usual variables);
/// without it one that reads its answers from a list, so that the example runs anywhere.
pub(crate) fn model(script: Vec<LlmResponse>) -> Result<Arc<dyn Llm>, Box<dyn Error>> {
    match std::env::var("PTC_MODEL") {
        Ok(name) => {
            let env = ProcessEnv::current();
            let connect = Connect { retry: RetryPolicy::attempts(3), ..Connect::default() };
            Ok(ModelRef::parse(&name, None, &env)?.connect(&env, &connect)?)
        }
        Err(_) => Ok(Arc::new(ScriptedLlm::new(script))),
    }
}
