//! `lisp_wait`: the result of a program that outlasts its client's wait.

use std::sync::Arc;

use futures_util::FutureExt;
use ptc_mcp::json::Raw;

use super::reply::{DEFAULT_WAIT, args_error, told};
use crate::lisp_eval::{EvalOptions, output_schema};
use crate::long::{run_id, wait_ms};
use ptc_protocol::tool::{Annotations, CallContext, Definition, Preparation, Tool};
use ptc_runs::Runs;

/// The tool.
pub(super) struct WaitTool {
    pub(super) runs: Arc<Runs>,
    pub(super) options: EvalOptions,
}

const INPUT: &str = r#"{"type":"object","required":["run_id"],"properties":{"run_id":{"type":"string"},"wait_ms":{"type":"integer","minimum":0,"maximum":50000,"default":20000}}}"#;

impl Tool for WaitTool {
    fn definition(&self) -> Definition {
        Definition {
            name: "lisp_wait".into(),
            title: Some("PTC-Lisp: wait for a program".into()),
            description: "Waits for a program that was answered with `running`, and gives its result. If it still runs after wait_ms the \
                          answer is `running` again, with what it has printed since: call again. Waiting changes nothing."
                .into(),
            input_schema: INPUT.into(),
            output_schema: output_schema(self.options.shaper.profile, self.options.card.is_some(), self.options.runs.as_ref()),
            annotations: Some(Annotations { read_only: true, destructive: false, idempotent: true, open_world: false }.to_json()),
            meta: None,
            long: None,
        }
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        let asked = run_id(arguments, &["run_id", "wait_ms"])
            .and_then(|id| Ok((id, wait_ms(arguments)?.unwrap_or(DEFAULT_WAIT))));
        let (id, wait) = match asked {
            Ok(asked) => asked,
            Err(message) => return Preparation::Done(args_error(&message)),
        };
        let (runs, shaper) = (self.runs.clone(), self.options.shaper_for(context));
        let (principal, options) = (context.owner.principal.clone(), self.options.clone());
        let work = async move { told(&options, &shaper, runs.wait(&principal, &id, wait).await, &[]) };
        Preparation::Free(work.boxed())
    }
}
