//! Programs that run for longer than their clients wait: `wait_ms` of an evaluation, `lisp_wait`, `lisp_cancel`
//! (waiting.md 6.4).

mod arguments;
mod cancel;
#[cfg(test)]
mod tests;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::engine::EvalRequest;
use ptc_mcp::json::Raw;

use self::arguments::wait_ms;
use super::lisp_eval::EvalOptions;
use super::shaping::{Shaper, running};
use crate::principal::Principal;
use crate::protocol::tool::{Prepared, Tool, ToolReply};
use crate::runs::{Attended, LongCall, NotKept, NotSeen, Runs};

pub(crate) use arguments::MAX_WAIT;

/// The tools, where programs may become runs.
pub(crate) fn tools(options: &EvalOptions) -> Vec<Box<dyn Tool>> {
    let Some(runs) = &options.runs else { return Vec::new() };
    vec![
        Box::new(wait::Wait { runs: runs.clone(), options: options.clone() }),
        Box::new(cancel::Cancel { runs: runs.clone(), options: options.clone() }),
    ]
}

/// A program that may become a run.
pub(super) struct Long {
    runs: Arc<Runs>,
    call: LongCall,
}

/// Has the program of `request` run as long as a run may, if the arguments or the operator set a time for the answer.
///
/// # Errors
/// The message: `wait_ms` is none.
pub(super) fn begin(
    runs: Option<&Arc<Runs>>,
    arguments: Option<Raw<'_>>,
    request: &mut EvalRequest,
) -> Result<Option<Long>, String> {
    let Some(runs) = runs else { return Ok(None) };
    let wait = wait_ms(arguments)?.or(runs.settings().answer_within);
    Ok(wait.map(|wait| Long { runs: runs.clone(), call: runs.lengthen(wait, request) }))
}

/// The program as it is to be run.
pub(super) fn prepared(
    long: Option<Long>,
    tool: &'static str,
    principal: &Principal,
    shaper: Shaper,
    work: BoxFuture<'static, ToolReply>,
) -> Prepared {
    let Some(Long { runs, call }) = long else { return Prepared::Gated(work) };
    if !runs.has_room(principal) {
        return Prepared::Done(too_many());
    }
    let permit = match runs.enter(principal) {
        Ok(permit) => permit,
        Err(full) => return Prepared::Full(full),
    };
    let attended = runs.attend(call, principal.clone(), tool, work, permit);
    let answer = attended.map(move |attended| match attended {
        Attended::Ended(reply) => reply,
        Attended::Running(progress) => running(&shaper, &progress),
        Attended::NotKept(NotKept::TooMany) => too_many(),
        Attended::NotKept(NotKept::Unavailable) => {
            let message = "the state store is unavailable: this program could not be kept, and was ended";
            ToolReply::failure("state_unavailable", message, message)
        }
    });
    Prepared::Free(answer.boxed())
}

/// There are as many runs as there may be (waiting.md 8).
fn too_many() -> ToolReply {
    let feedback = "As many programs run or wait as may (--max-runs, --max-runs-per-owner, --max-run-bytes-per-owner). \
                    Wait for one with lisp_wait, or stop one with lisp_cancel, and retry.";
    ToolReply::failure("busy", "too many runs are kept", feedback)
}

/// The failure of a tool whose arguments are wrong.
fn args_error(message: &str) -> ToolReply {
    ToolReply::failure("args_error", message, message)
}

/// The answer where a run is not seen.
fn not_seen(why: NotSeen) -> ToolReply {
    match why {
        NotSeen::NotFound => ToolReply::failure(
            "run_not_found",
            "run not found",
            "No run of that run_id is yours; results are kept for a while only (--run-ttl-ms). Run the program again.",
        ),
        NotSeen::Unavailable => ToolReply::failure(
            "state_unavailable",
            "the state store is unavailable",
            "The run is not lost. Retry in a second.",
        ),
    }
}

/// As long as a client waits that does not say.
const DEFAULT_WAIT: Duration = Duration::from_secs(20);
