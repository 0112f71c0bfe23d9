//! The model of a run: a client, or a name that resolves to one (agent.md 4, 11).

use super::Llm;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Names of the host's own choice for models, such as `fast` or `careful`.
pub type LlmRegistry = BTreeMap<String, Arc<dyn Llm>>;

/// A model: a client, or a name in a [`LlmRegistry`]. An unregistered name is read as `ModelRef::parse` does, with keys and
/// addresses from the process's environment.
#[derive(Clone)]
pub enum LlmRef {
    /// This client.
    Client(Arc<dyn Llm>),
    /// The client of this name.
    Name(String),
}

impl LlmRef {
    /// The client.
    ///
    /// # Errors
    /// A sentence that says why the name does not resolve.
    pub fn resolve(&self, registry: &LlmRegistry) -> Result<Arc<dyn Llm>, String> {
        let name = match self {
            LlmRef::Client(client) => return Ok(client.clone()),
            LlmRef::Name(name) => name,
        };
        if let Some(client) = registry.get(name) {
            return Ok(client.clone());
        }
        let made = by_name(name);
        made.map_err(|error| {
            let names: Vec<&str> = registry.keys().map(String::as_str).collect();
            let names = if names.is_empty() {
                "which is empty".to_owned()
            } else {
                format!("of {}", names.join(", "))
            };
            format!("'{name}' is not in llm_registry ({names}), and as a model's name: {error}")
        })
    }
}

/// The client of a name that is in no registry.
#[cfg(feature = "http")]
fn by_name(name: &str) -> Result<Arc<dyn Llm>, super::ModelError> {
    let env = ptc_base::environment::ProcessEnv::current();
    super::ModelRef::parse(name, None, &env)?.connect(&env, &super::Connect::default())
}

/// Names of models need a client.
#[cfg(not(feature = "http"))]
fn by_name(_: &str) -> Result<Arc<dyn Llm>, &'static str> {
    Err("this program is built without clients of models: the features of ptc-agent bring them")
}

impl fmt::Debug for LlmRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LlmRef::Client(client) => f.debug_tuple("Client").field(&client.model()).finish(),
            LlmRef::Name(name) => f.debug_tuple("Name").field(name).finish(),
        }
    }
}

impl<L: Llm + 'static> From<Arc<L>> for LlmRef {
    fn from(client: Arc<L>) -> LlmRef {
        LlmRef::Client(client)
    }
}

impl From<Arc<dyn Llm>> for LlmRef {
    fn from(client: Arc<dyn Llm>) -> LlmRef {
        LlmRef::Client(client)
    }
}

impl From<&str> for LlmRef {
    fn from(name: &str) -> LlmRef {
        LlmRef::Name(name.to_owned())
    }
}

impl From<String> for LlmRef {
    fn from(name: String) -> LlmRef {
        LlmRef::Name(name)
    }
}
