//! Programs that may become runs: `wait_ms` of an evaluation (waiting.md 6.4).

mod arguments;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::engine::EvalRequest;
use ptc_mcp::json::Raw;

use super::shaping::{Shaper, running};
use crate::principal::Principal;
use crate::protocol::tool::{Prepared, ToolReply};
use crate::runs::{Attended, LongCall, NotKept, Runs};

pub(crate) use arguments::MAX_WAIT;
pub(super) use arguments::{run_id, wait_ms};

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
