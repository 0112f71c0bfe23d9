//! The tool port: the interface between methods and tools.
//!
//! A call has two steps. [`Tool::prepare`] checks the arguments at once, on the reader's thread; most failures end
//! there. The second step is a future that needs a permit of the limiter and is dropped on cancellation.

mod blocks;
mod context;
mod dialect;
mod listing;
mod name;
mod registry;
pub mod reply;
mod source;

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ptc_host::policy::Authority;

pub use context::{CallContext, ClientReach, RequestOrigin};
pub use context::{PageVisits, Retry};
pub use dialect::{CallExtras, QuestionDialect};
pub use listing::{Page, UnknownCursor};
pub use name::ToolName;
pub use registry::{FoundTool, Registry, ToolChanges};
pub use reply::ToolReply;
pub(crate) use reply::short_name;
pub use reply::{Instead, ReplyText, Task, TaskState, Unfinished};
pub use source::{SourceListing, SourcePlace, ToolSource};

use ptc_mcp::json::Raw;

use crate::concurrency_limiter::CapacityError;
use crate::principal::Owner;

/// The result of [`Tool::prepare`].
pub enum Preparation {
    /// Answered already: the arguments are wrong, or the tool needs no time.
    Done(ToolReply),
    /// To be run under a permit. Dropping it releases all reservations.
    Gated(BoxFuture<'static, ToolReply>),
    /// Not admitted: the tool takes a permit of its own and found none.
    Full(CapacityError),
    /// To be run without a permit: it waits for other threads, but computes next to nothing; or it has one of its own.
    Free(BoxFuture<'static, ToolReply>),
    /// To be prepared once people have acted; until then it takes no permit.
    After(BoxFuture<'static, Preparation>),
}

/// A kept program as records name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptProgramName {
    /// Its name.
    pub name: Arc<str>,
    /// The SHA-256 of its file, in hex digits.
    pub digest: Arc<str>,
}

/// The hints a client may show for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotations {
    /// Changes nothing outside the server.
    pub read_only: bool,
    /// May destroy something.
    pub destructive: bool,
    /// A repeated call has no further effect.
    pub idempotent: bool,
    /// Reaches systems outside the server.
    pub open_world: bool,
}

impl Annotations {
    /// As `tools/list` shows them.
    pub fn to_json(self) -> String {
        let Annotations { read_only, destructive, idempotent, open_world } = self;
        format!(
            "{{\"readOnlyHint\":{read_only},\"destructiveHint\":{destructive},\"idempotentHint\":{idempotent},\
             \"openWorldHint\":{open_world}}}"
        )
    }
}

/// A tool as `tools/list` shows it. Schemas are JSON text.
#[derive(Debug, Clone)]
pub struct Definition {
    /// The name to call it by.
    pub name: ToolName,
    /// The name for people, if it has one.
    pub title: Option<Cow<'static, str>>,
    /// A description for a model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: String,
    /// JSON Schema of its structured content, if it has any.
    pub output_schema: Option<String>,
    /// Hints, as a JSON object.
    pub annotations: Option<String>,
    /// `_meta`: further facts, as a JSON object.
    pub meta: Option<String>,
    /// Texts for clients that pass on long texts.
    pub long: Option<Box<LongTexts>>,
}

/// The texts of a [`Definition`] for clients that truncate less.
#[derive(Debug, Clone)]
pub struct LongTexts {
    /// The description for clients that truncate none.
    pub in_tool: String,
    /// The description for clients that truncate those of tools, but not those of parameters.
    pub beside_parameter: String,
    /// The input schema for the latter clients.
    pub with_parameter: String,
}

/// A tool.
pub trait Tool: Send + Sync {
    /// How it is listed.
    fn definition(&self) -> Definition;

    /// How it is listed for the caller of this authority. A tool whose texts tell of upstreams shows what the caller sees.
    fn definition_for(&self, authority: &Arc<Authority>) -> Definition {
        let _ = authority;
        self.definition()
    }

    /// Checks a call. `arguments` is what the client sent and need not be an object; `None` if it sent none.
    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation;

    /// Whether a call of it is a program in the eyes of the policy, which limits those; what it calls of upstreams is limited apart.
    fn is_program(&self) -> bool {
        true
    }

    /// The answer to a call that is not admitted.
    fn busy(&self, full: CapacityError) -> ToolReply {
        ToolReply::busy(full)
    }

    /// The kept program that it runs, for records.
    fn kept_program(&self) -> Option<KeptProgramName> {
        None
    }

    /// True if calls are recorded. Calls that inspect the records are not.
    fn is_observed(&self) -> bool {
        true
    }

    /// How its questions look to clients, if they differ from those of the product.
    fn dialect(&self) -> Option<&dyn QuestionDialect> {
        None
    }

    /// Called when an owner will not return, so that its state can be dropped.
    fn owner_gone(&self, _owner: &Owner) {}

    /// Called when the last token of an owner was revoked, so that its state can be dropped once its programs have finished.
    fn owner_revoked(&self, _owner: &Owner) {}
}
