//! Programs of extensions that go on after they have waited.

use std::sync::Arc;

use ptc_host::engine::EvalId;
use ptc_mcp::Revision;
use ptc_mcp::json::Raw;
use ptc_mcp::message::id::RequestId;

use super::tool::ExtensionTool;
use crate::principal::{Owner, Principal};
use crate::protocol::tool::CallContext;
use crate::runs::{KeptCall, Prepared, Prepares, RunSeed};
use crate::tools::asking::Asks;

/// Prepares programs of extensions, and leaves those of other tools to others.
pub(super) struct WithExtensions {
    pub(super) tools: Vec<ExtensionTool>,
    pub(super) others: Arc<dyn Prepares>,
}

impl Prepares for WithExtensions {
    fn prepare_again(
        &self,
        tool: &str,
        call: &KeptCall,
        principal: &Principal,
        seed: &RunSeed,
    ) -> Option<Prepared> {
        let Some(extension) = self.tools.iter().find(|extension| extension.name == tool) else {
            return self.others.prepare_again(tool, call, principal, seed);
        };
        let context = CallContext {
            owner: Owner::of(principal.clone()),
            request_id: RequestId::from_raw(Raw::parse("0").ok()?)?,
            revision: Revision::from_name(&call.revision)?,
            origin: None,
            eval_id: EvalId::from_number(call.eval),
            result_room: call.result_room,
            progress: None,
            audience: None,
            asked: Asks::of_run(call),
        };
        let (request, _) = extension.request(call.arguments.as_deref(), &context);
        let asks = extension.parts.options.asks.as_ref();
        Some(Prepared {
            asker: asks.and_then(|asks| asks.asker_of_run(extension.name, &context, seed, call.round + 1)),
            shaped: Box::new(extension.shaped(request.program.clone())),
            request,
        })
    }
}
