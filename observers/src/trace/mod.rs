//! One JSON Lines file per call (`--trace-dir`).
//!
//! One thread does all file work, in the order of the calls. No call waits for a disk. An unwritable folder or a full
//! disk costs records and one warning, never a call.

mod call_facts;
mod events;
mod folder;
mod index;
mod lines;
mod names;
mod options;
mod queue_size;
mod status;
mod writer;

#[cfg(test)]
mod tests;

use call_facts::{CallFinish, CallStart};
pub use options::{TraceOptions, trace_id};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ptc_host::time::{self, Clock};
use tokio::sync::oneshot;
use tracing::error;

pub use folder::TraceFile;

use crate::metrics::Exposition;
use ptc_protocol::report::CallReport;
use ptc_protocol::report::TaskEvent;
use queue_size::QueueSize;
use writer::TraceWriter;

/// How long a reader waits for the writer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A command for the writer.
enum TraceCommand {
    /// With the bytes that were charged for it, as the next one.
    Begin(u64, Box<CallStart>, usize),
    End(u64, Box<CallFinish>, usize),
    Find {
        id: String,
        owner_hash: String,
        max_bytes: usize,
        reply: oneshot::Sender<Option<TraceFile>>,
    },
    Flush(Sender<()>),
}

/// The handle to the writer.
pub struct Traces {
    commands: Sender<TraceCommand>,
    waiting: Arc<QueueSize>,
}

impl Traces {
    /// Starts the writer. If no thread can be started, nothing is traced, and that is logged.
    pub fn start(options: TraceOptions) -> Arc<Self> {
        let (commands, receiver) = channel();
        let waiting = Arc::new(QueueSize::new(options.memory.clone()));
        let (counts, clock) = (waiting.clone(), Clock::current());
        let spawned = std::thread::Builder::new().name("ptc-trace".into()).spawn(move || {
            let _entered = clock.enter();
            run(TraceWriter::new(options), &receiver, &counts);
        });
        if let Err(failure) = spawned {
            error!(event = "trace_dir_create_failed", reason = %failure);
        }
        Arc::new(Traces { commands, waiting })
    }

    /// Opens the trace of a call under this key; `false` if the writer is too far behind or there is no memory for
    /// it.
    fn begin(&self, key: u64, begun: Box<CallStart>) -> bool {
        let size = begun.size();
        if self.waiting.is_full() || !self.waiting.try_hold(size) {
            self.waiting.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.send(TraceCommand::Begin(key, begun, size))
    }

    /// Closes the trace of a call.
    fn end(&self, key: u64, mut ended: Box<CallFinish>) {
        let mut held = ended.report.as_ref().map_or(0, |report| size(report));
        if !self.waiting.try_hold(held) {
            (ended.report, held) = (None, 0);
        }
        self.send(TraceCommand::End(key, ended, held));
    }

    /// The trace of the latest call with this request id or eval id that belongs to `owner_hash`.
    pub async fn find(&self, id: &str, owner_hash: String, max_bytes: usize) -> Option<TraceFile> {
        if self.waiting.is_full() {
            return None;
        }
        let (reply, found) = oneshot::channel();
        self.send(TraceCommand::Find { id: id.to_owned(), owner_hash, max_bytes, reply });
        time::timeout(PATIENCE, found).await.ok()?.ok()?
    }

    /// Waits until everything so far is written, at most for `limit`.
    pub fn flush(&self, limit: Duration) {
        let (done, flushed) = channel();
        if self.send(TraceCommand::Flush(done)) {
            // A late flush does not matter here.
            let _ = flushed.recv_timeout(limit);
        }
    }

    /// Writes the metric families of traces.
    pub fn write_metrics(&self, to: &mut Exposition) {
        self.waiting.write_metrics(to);
    }

    fn send(&self, command: TraceCommand) -> bool {
        self.waiting.push();
        self.commands.send(command).is_ok()
    }
}

/// Serves commands until all senders are dropped.
fn run(mut writer: TraceWriter, commands: &Receiver<TraceCommand>, waiting: &QueueSize) {
    for command in commands {
        waiting.pop();
        match command {
            TraceCommand::Begin(key, begun, size) => {
                if !writer.begin(key, &begun) {
                    waiting.failed.fetch_add(1, Ordering::Relaxed);
                }
                drop(begun);
                waiting.release(size);
            }
            TraceCommand::End(key, ended, size) => {
                if let Some(written) = writer.end(key, &ended) {
                    let count = if written { &waiting.written } else { &waiting.failed };
                    count.fetch_add(1, Ordering::Relaxed);
                }
                drop(ended);
                waiting.release(size);
            }
            TraceCommand::Find { id, owner_hash, max_bytes, reply } => {
                // The caller may have stopped waiting.
                let _ = reply.send(writer.find(&id, &owner_hash, max_bytes));
            }
            TraceCommand::Flush(done) => {
                let _ = done.send(());
            }
        }
        let (bytes, evicted) = writer.kept();
        waiting.file_bytes.store(bytes, Ordering::Relaxed);
        waiting.evicted.store(evicted, Ordering::Relaxed);
    }
}

/// Bytes that a report occupies, roughly.
fn size(report: &CallReport) -> usize {
    let payload = &report.payload;
    let text = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
    text(&report.program)
        + text(&report.context)
        + payload.final_result_bytes() as usize
        + payload.prints.iter().map(String::len).sum::<usize>()
        + payload.upstream_calls.len() * 512
        + report.events.iter().map(TaskEvent::size).sum::<usize>()
}
