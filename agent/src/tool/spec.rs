//! The definition of one tool.

use super::ToolHandler;
use crate::signature::Signature;
use ptc_host::json::Value as Json;
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

/// Makes the preview of a result: gives an object, or says why not.
pub type PreviewFn = dyn Fn(&Json) -> Result<Json, String> + Send + Sync;

/// What the model sees of a cached result (agent.md 8.10).
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
    /// The result of a function.
    Custom(Arc<PreviewFn>),
}

impl fmt::Debug for NativeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NativeResult::Metadata => f.write_str("Metadata"),
            NativeResult::Rows { limit } => write!(f, "Rows({limit})"),
            NativeResult::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// A tool.
#[derive(Clone)]
pub struct ToolSpec {
    /// What runs.
    pub handler: Arc<dyn ToolHandler>,
    /// Its arguments and result. Arguments are bent to it and checked before the handler sees them.
    pub signature: Option<Signature>,
    /// JSON Schema of its arguments as models are told it natively, for a tool without a signature, whose handler checks
    /// what it gets.
    pub parameters: Option<Json>,
    /// What it does, for the model.
    pub description: Option<String>,
    /// Who may call it; `None` is the default of the mode.
    pub expose: Option<Expose>,
    /// Whether a result may stand for all calls with the same arguments in one run.
    pub cache: bool,
    /// What the model sees of a cached result; needs explicit [`Expose::Both`] and `cache`.
    pub native_result: Option<NativeResult>,
    /// Largest result, in bytes of JSON, that is kept; a larger one is not cached.
    pub max_cached_bytes: Option<usize>,
}

impl fmt::Debug for ToolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolSpec")
            .field("signature", &self.signature.as_ref().map(ToString::to_string))
            .field("expose", &self.expose)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

impl ToolSpec {
    /// A tool of this handler and nothing else.
    pub fn new(handler: impl ToolHandler) -> ToolSpec {
        ToolSpec {
            handler: Arc::new(handler),
            signature: None,
            parameters: None,
            description: None,
            expose: None,
            cache: false,
            native_result: None,
            max_cached_bytes: None,
        }
    }

    /// Sets the signature.
    #[must_use]
    pub fn signature(mut self, signature: Signature) -> ToolSpec {
        self.signature = Some(signature);
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

    /// Says what the model sees of a cached result.
    #[must_use]
    pub fn native_result(mut self, preview: NativeResult) -> ToolSpec {
        self.native_result = Some(preview);
        self
    }

    /// Bounds what is cached of it.
    #[must_use]
    pub fn max_cached_bytes(mut self, bytes: usize) -> ToolSpec {
        self.max_cached_bytes = Some(bytes);
        self
    }
}
