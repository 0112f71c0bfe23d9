//! The definition of one tool.

use super::ToolHandler;
#[cfg(feature = "typed")]
use super::typed::{TypedHandler, TypedTool};
use crate::signature::{IntoSignature, Schema, Signature, Type};
use ptc_base::json::{Value as Json, json};
#[cfg(feature = "typed")]
use schemars::JsonSchema;
#[cfg(feature = "typed")]
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;

/// Which sides may call a tool (agent.md 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expose {
    /// Only the provider's tool calling.
    Native,
    /// Only programs.
    PtcLisp,
    /// Both.
    Both,
}

impl Expose {
    /// Whether the provider's tool list has it.
    #[must_use]
    pub fn native(self) -> bool {
        self != Expose::PtcLisp
    }

    /// Whether programs may call it.
    #[must_use]
    pub fn programs(self) -> bool {
        self != Expose::Native
    }
}

/// Makes the preview of a result: an object, or the reason why there is none.
pub type PreviewFn = dyn Fn(&Json) -> Result<Json, String> + Send + Sync;

/// The preview of a cached result that the model sees (agent.md 8.10).
#[derive(Clone, Default)]
pub enum NativeResult {
    /// Its shape, no value of it.
    #[default]
    Metadata,
    /// Its first rows.
    Rows {
        /// How many; 20 is customary.
        limit: usize,
    },
    /// The result itself if it is small, else its shape, and of a text its length and its beginning.
    WholeUpTo {
        /// The largest JSON that is small, in bytes.
        bytes: usize,
    },
    /// The result of a function.
    Custom(Arc<PreviewFn>),
}

impl fmt::Debug for NativeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NativeResult::Metadata => f.write_str("Metadata"),
            NativeResult::Rows { limit } => write!(f, "Rows({limit})"),
            NativeResult::WholeUpTo { bytes } => write!(f, "WholeUpTo({bytes})"),
            NativeResult::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// A tool.
#[derive(Clone)]
pub struct ToolSpec {
    /// Its default name; the name under which an agent adds it takes precedence.
    pub name: Option<String>,
    /// Runs the tool.
    pub handler: Arc<dyn ToolHandler>,
    /// Its arguments and result. Arguments are bent to it and checked before the handler sees them.
    pub signature: Option<Signature>,
    /// JSON Schema of its arguments as models read it natively, for a tool without a signature, whose handler checks its
    /// arguments.
    pub parameters: Option<Json>,
    /// JSON Schema of its arguments that they are bent to and checked against, as a signature's are.
    pub arguments: Option<Schema>,
    /// The type of its result, if [`arguments`](ToolSpec::arguments) replace a signature.
    pub returns: Option<Type>,
    /// Its effect, for the model.
    pub description: Option<String>,
    /// The permitted callers; `None` is the default of the mode.
    pub expose: Option<Expose>,
    /// Whether a result answers all calls with the same arguments in one run.
    pub cache: bool,
    /// The preview of a cached result; needs explicit [`Expose::Both`] and `cache`.
    pub native_result: Option<NativeResult>,
    /// Largest result, in bytes of JSON, that is kept; a larger one is not cached.
    pub max_cached_bytes: Option<usize>,
    /// Why its signature is none, for [`build`](crate::agent::AgentBuilder::build) to tell.
    pub(crate) wrong: Option<String>,
    /// The tool of an upstream that it forwards to: server and tool, as `tool/call` names them.
    pub upstream: Option<(String, String)>,
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSpec")
            .field("name", &self.name)
            .field("signature", &self.shown_signature())
            .field("expose", &self.expose)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

impl ToolSpec {
    /// A tool of this handler and nothing else.
    pub fn new(handler: impl ToolHandler) -> ToolSpec {
        ToolSpec {
            name: None,
            handler: Arc::new(handler),
            signature: None,
            parameters: None,
            arguments: None,
            returns: None,
            description: None,
            expose: None,
            cache: false,
            native_result: None,
            max_cached_bytes: None,
            wrong: None,
            upstream: None,
        }
    }

    /// A tool whose handler takes a value of a Rust type, [`Deserialize`] and [`JsonSchema`], and returns any [`Serialize`] or
    /// any error that displays. Models read the type's schema, descriptions included; arguments are coerced to it and checked,
    /// so the handler runs only with arguments that it can read. The handler may take the [`ToolContext`] as well.
    ///
    /// ```
    /// use ptc_agent::schemars::{self, JsonSchema};
    /// use ptc_agent::tool::{ToolContext, ToolSpec};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Search {
    ///     /// Words to look for.
    ///     query: String,
    ///     limit: Option<u32>,
    /// }
    ///
    /// #[derive(Serialize)]
    /// struct Hit {
    ///     line: u32,
    /// }
    ///
    /// async fn search(search: Search, context: ToolContext) -> Result<Vec<Hit>, std::io::Error> {
    ///     let first = context.get::<u32>().copied().unwrap_or(1);
    ///     Ok((first..).take(search.limit.unwrap_or(3) as usize).map(|line| Hit { line }).collect())
    /// }
    ///
    /// let with_context = ToolSpec::typed("search", search);
    /// let closure = ToolSpec::typed("count", |search: Search| async move { Ok::<_, String>(search.query.len()) });
    /// # let _ = (with_context, closure);
    /// ```
    ///
    /// [`Deserialize`]: serde::Deserialize
    /// [`JsonSchema`]: schemars::JsonSchema
    /// [`Serialize`]: serde::Serialize
    /// [`ToolContext`]: super::ToolContext
    #[cfg(feature = "typed")]
    pub fn typed<Args, Form, H>(name: impl Into<String>, handler: H) -> ToolSpec
    where
        Args: DeserializeOwned + JsonSchema + Send + 'static,
        H: TypedHandler<Args, Form>,
        Form: 'static,
    {
        let mut tool = ToolSpec::new(TypedTool::new(handler));
        tool.name = Some(name.into());
        match Type::of::<Args>() {
            Ok(Type::Schema(schema)) => tool.arguments = Some(schema),
            Ok(_) => {}
            Err(error) => tool.wrong = Some(error.to_string()),
        }
        tool
    }

    /// Tells programs that the result is of this Rust type, for a [typed](ToolSpec::typed) tool.
    #[cfg(feature = "typed")]
    #[must_use]
    pub fn returning<Out: JsonSchema>(mut self) -> ToolSpec {
        match Type::of::<Out>() {
            Ok(returns) => self.returns = Some(returns),
            Err(error) => self.wrong = Some(error.to_string()),
        }
        self
    }

    /// Its types as models and errors show them, if it has any.
    pub(crate) fn shown_signature(&self) -> Option<String> {
        match (&self.signature, &self.arguments) {
            (Some(signature), _) => Some(signature.to_string()),
            (None, Some(arguments)) => {
                let returns = self.returns.as_ref().unwrap_or(&Type::Any);
                Some(format!("({}) -> {returns}", arguments.parameters()))
            }
            (None, None) => None,
        }
    }

    /// JSON Schema of its arguments, as models read it natively.
    pub(crate) fn parameters_schema(&self) -> Json {
        match (&self.signature, &self.arguments, &self.parameters) {
            (Some(signature), ..) => signature.parameters_schema(),
            (None, Some(arguments), _) => arguments.json().clone(),
            (None, None, Some(parameters)) => parameters.clone(),
            (None, None, None) => json!({"type": "object", "properties": {}}),
        }
    }

    /// Sets the signature, a [`Signature`] or its text. An invalid text is reported when the agent is built.
    #[must_use]
    pub fn signature(mut self, signature: impl IntoSignature) -> ToolSpec {
        match signature.into_signature() {
            Ok(signature) => self.signature = Some(signature),
            Err(error) => self.wrong = Some(error.to_string()),
        }
        self
    }

    /// Sets the JSON Schema of the arguments.
    #[must_use]
    pub fn parameters(mut self, schema: Json) -> ToolSpec {
        self.parameters = Some(schema);
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> ToolSpec {
        self.description = Some(text.into());
        self
    }

    /// Says who may call it.
    #[must_use]
    pub fn expose(mut self, expose: Expose) -> ToolSpec {
        self.expose = Some(expose);
        self
    }

    /// Says whether results are reused within a run.
    #[must_use]
    pub fn cache(mut self, cache: bool) -> ToolSpec {
        self.cache = cache;
        self
    }

    /// Sets the preview of a cached result that the model sees.
    #[must_use]
    pub fn native_result(mut self, preview: NativeResult) -> ToolSpec {
        self.native_result = Some(preview);
        self
    }

    /// Says that it is the tool of an upstream, which programs reach by `tool/call`.
    ///
    /// If it is [`Expose::Both`] and cached in combined mode, then a result of which the model has read a preview is kept until
    /// the model makes the same call again or the run ends, and a program's `(tool/call …)` with the same arguments gets it
    /// without a second call. A result that the model has read whole is not kept: a repeated call may have another result. By
    /// default the model reads results of up to 4 KiB whole ([`NativeResult::WholeUpTo`]).
    #[must_use]
    pub fn upstream(mut self, server: impl Into<String>, tool: impl Into<String>) -> ToolSpec {
        self.upstream = Some((server.into(), tool.into()));
        self
    }

    /// Bounds the size of its cached results.
    #[must_use]
    pub fn max_cached_bytes(mut self, bytes: usize) -> ToolSpec {
        self.max_cached_bytes = Some(bytes);
        self
    }
}
