//! A program that waits for answers is written, and its eval ends.

use super::record;
use crate::context::RunContext;
use crate::outcome::{EvalOutcome, Failure, Suspended};
use crate::request::EvalRequest;
use crate::session::saved::digest;
use ptc_base::time;
use ptc_vm::graph::{Bounds, EncodeError, WireWriter};
use ptc_vm::machine::{CodeDigest, SnapshotSetup};
use ptc_vm::{Error, Machine, Program, Reason};
use std::cell::Cell;

/// Bytes of a snapshot at most.
const MOST_SNAPSHOT_BYTES: usize = 16 << 20;

/// Writes `machine`, whose calls all ask. Otherwise: why it cannot leave this process.
pub(crate) fn leave(
    machine: &Machine,
    request: &EvalRequest,
    context: &RunContext,
) -> Result<EvalOutcome, String> {
    let setup = SnapshotSetup {
        digest: &code_digest,
        // Whoever goes on with it has the same request.
        text_comes_with_request: true,
        bounds: Bounds { bytes: MOST_SNAPSHOT_BYTES, ..Bounds::default() },
        host: &[],
    };
    if context.board.waiting() != machine.waiting_calls().len() {
        return Err("a call waits for a slot of its upstream that another one holds".to_owned());
    }
    let snapshot = machine.snapshot(&setup).map_err(|pinned| pinned.to_string())?;
    let (records, watches) = record::logged(&context.log, &snapshot.watches);
    let used = time::now().saturating_duration_since(context.started());
    let taken = context.taken().map(Cell::get);
    let ops = context.catalog_ops.borrow();
    let host = record::write(&context.board, used, taken, &records, &watches, &ops)
        .ok_or("an upstream holds a connection open with its question")?;
    let mut to = WireWriter::new();
    to.bytes(&host);
    to.raw(&snapshot.bytes);
    let bytes = to.into_bytes();
    if bytes.len() > MOST_SNAPSHOT_BYTES {
        return Err("the program holds more bytes than a snapshot may".to_owned());
    }
    context.leaves();
    let suspended = Suspended { snapshot: bytes.into(), questions: context.board.open() };
    let failure = Failure::new(Reason::Cancelled, format!("{} waits for answers", request.id));
    let prints = machine.printed().iter().map(|print| print.as_str().to_owned()).collect();
    Ok(EvalOutcome {
        suspended: Some(Box::new(suspended)),
        prints,
        steps: machine.steps_used(),
        upstream_calls: records,
        catalog_ops: ops.clone(),
        ..EvalOutcome::not_run(failure, used)
    })
}

/// The digest of a program's code, as snapshots have it.
pub(super) fn code_digest(program: &Program) -> Result<CodeDigest, Error> {
    digest(program).map_err(|unwritten| match unwritten {
        EncodeError::Refused(error) => error,
        // Nothing bounds the size of what is digested.
        EncodeError::TooLarge(_) => Error::memory(u64::MAX),
    })
}
