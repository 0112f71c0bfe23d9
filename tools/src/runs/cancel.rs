//! `lisp_cancel`: ends a run.

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_mcp::json::Raw;

use super::reply::{args_error, told};
use crate::lisp_eval::{EvalOptions, output_schema};
use crate::long::run_id;
use crate::schemas::cancelled_branch;
use crate::shaping::cancelled;
use ptc_protocol::tool::{Annotations, CallContext, Definition, Preparation, Tool};
use ptc_runs::Runs;

/// The tool.
pub(super) struct CancelTool {
    pub(super) runs: Arc<Runs>,
    pub(super) options: EvalOptions,
}

impl Tool for CancelTool {
    fn definition(&self) -> Definition {
        let (profile, runs) = (self.options.shaper.profile, self.options.runs.as_ref());
        let schema = output_schema(profile, self.options.card.is_some(), runs);
        // A cancelled run has a branch of its own besides those of a run that had ended before.
        let end = |schema: String| schema.strip_suffix("]}").map(str::to_owned);
        Definition {
            name: "lisp_cancel".into(),
            title: Some("PTC-Lisp: cancel a program".into()),
            description: "Stops a program that was answered with `running`, and its upstream calls. What it has done is done. If it had \
                          ended before, the answer is its result."
                .into(),
            input_schema: r#"{"type":"object","required":["run_id"],"properties":{"run_id":{"type":"string"}}}"#.into(),
            output_schema: schema.and_then(end).map(|begin| format!("{begin},{}]}}", cancelled_branch())),
            annotations: Some(Annotations { read_only: false, destructive: true, idempotent: true, open_world: false }.to_json()),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let id = match run_id(arguments, &["run_id"]) {
            Ok(id) => id,
            Err(message) => return Preparation::Done(args_error(&message)),
        };
        let (runs, shaper) = (self.runs.clone(), self.options.shaper_for(context));
        let (principal, options) = (context.owner.principal.clone(), self.options.clone());
        let work = async move {
            match runs.cancel(&principal, &id).await {
                Ok(seen) if seen.is_cancelled() => cancelled(&shaper, &id),
                seen => told(&options, &shaper, seen, &[]),
            }
        };
        Preparation::Free(work.boxed())
    }
}
