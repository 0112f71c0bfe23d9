//! Where traces go, and their ids.

use std::path::PathBuf;
use std::sync::OnceLock;

use ptc_host::engine::{EvalId, MemoryBudget};

use crate::recording::Recording;

/// The options of traces.
#[derive(Debug, Clone)]
pub struct TraceOptions {
    /// The folder; it is created if it is missing.
    pub folder: PathBuf,
    /// Most files in the folder.
    pub max_files: usize,
    /// Most bytes of all files.
    pub max_bytes: u64,
    /// The memory budget that the queue is charged to.
    pub memory: Option<MemoryBudget>,
    /// The policy for their content.
    pub recording: Recording,
    /// True if programs can call upstreams.
    pub aggregator: bool,
}

/// The id of the trace of an evaluation: 32 hex digits, of which the first half is the process's.
pub fn trace_id(eval_id: EvalId) -> String {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    let process = PROCESS.get_or_init(|| {
        let mut bytes = [0; 8];
        // Without entropy several processes have the same ids, and the traces are still valid.
        let _ = getrandom::fill(&mut bytes);
        u64::from_le_bytes(bytes)
    });
    format!("{process:016x}{:016x}", eval_id.number())
}
