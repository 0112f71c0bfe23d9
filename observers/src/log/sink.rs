//! The thread that writes log lines.

#![expect(clippy::disallowed_methods, reason = "lines that really come close together are written together")]

use ptc_host::sync::Mutex;
use std::io::Write;
use std::sync::{Arc, Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Unwritten bytes above which further lines are dropped and counted.
const CAPACITY: usize = 1 << 20;
/// Minimum time between writes: lines that arrive close together share one. Waking a thread and writing cost as much
/// as twenty lines. A single line is written at once.
const PAUSE: Duration = Duration::from_millis(2);
/// Unwritten bytes that end the pause early.
const AMPLE: usize = CAPACITY / 4;

/// The destination of lines. Clones share one writer.
#[derive(Clone)]
pub(super) struct Sink(Arc<SinkState>);

struct SinkState {
    state: Mutex<Backlog>,
    /// Signals lines to the writer.
    filled: Condvar,
    /// Signals an empty buffer to threads that flush.
    emptied: Condvar,
}

struct Backlog {
    buffer: Vec<u8>,
    dropped: u64,
    writer: WriterState,
    /// Number of threads waiting for everything to be written.
    flushing: usize,
    /// Taken by the thread when it starts, which is when there is something to write.
    idle_writer: Option<Box<dyn Write + Send>>,
}

/// The state of the writing thread.
#[derive(PartialEq, Eq)]
enum WriterState {
    /// Waits for a line.
    Waiting,
    /// Lets lines accumulate.
    Pausing,
    /// Writes.
    Writing,
}

impl Sink {
    pub(super) fn new(writer: impl Write + Send + 'static) -> Self {
        let state = Backlog {
            buffer: Vec::new(),
            dropped: 0,
            writer: WriterState::Waiting,
            flushing: 0,
            idle_writer: Some(Box::new(writer)),
        };
        Sink(Arc::new(SinkState {
            state: Mutex::new(state),
            filled: Condvar::new(),
            emptied: Condvar::new(),
        }))
    }

    /// Takes one line, newline included. Never waits for the writer.
    pub(super) fn write(&self, line: &[u8]) {
        let mut state = self.0.lock();
        if state.buffer.len() + line.len() > CAPACITY {
            state.dropped += 1;
            return;
        }
        state.buffer.extend_from_slice(line);
        if let Some(writer) = state.idle_writer.take() {
            let shared = self.0.clone();
            let spawned =
                std::thread::Builder::new().name("ptc-log".into()).spawn(move || shared.run(writer));
            if spawned.is_err() {
                // Without a thread there is no log; the server continues.
                state.buffer.clear();
            }
        }
        let wanted = match state.writer {
            WriterState::Waiting => true,
            WriterState::Pausing => state.buffer.len() >= AMPLE,
            WriterState::Writing => false,
        };
        drop(state);
        if wanted {
            self.0.filled.notify_one();
        }
    }

    /// Waits until everything taken so far is written, at most for `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut state = self.0.lock();
        state.flushing += 1;
        self.0.filled.notify_one();
        while state.idle_writer.is_none()
            && (!state.buffer.is_empty() || state.writer == WriterState::Writing)
        {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.0.emptied.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.flushing -= 1;
    }
}

impl SinkState {
    fn lock(&self) -> MutexGuard<'_, Backlog> {
        self.state.lock()
    }

    fn run(&self, mut writer: Box<dyn Write + Send>) {
        let mut lines = Vec::new();
        let mut last: Option<Instant> = None;
        loop {
            let mut state = self.lock();
            state.writer = WriterState::Waiting;
            while state.buffer.is_empty() {
                self.emptied.notify_all();
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            state.writer = WriterState::Pausing;
            while let Some(left) = last.and_then(|last| PAUSE.checked_sub(last.elapsed()))
                && !left.is_zero()
                && state.flushing == 0
                && state.buffer.len() < AMPLE
            {
                state = self.filled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
            std::mem::swap(&mut lines, &mut state.buffer);
            let dropped = std::mem::take(&mut state.dropped);
            state.writer = WriterState::Writing;
            drop(state);
            if dropped > 0 {
                let line = format!(
                    "{{\"level\":\"warn\",\"event\":\"log_lines_dropped\",\"fields\":{{\"count\":{dropped}}}}}\n"
                );
                lines.extend_from_slice(line.as_bytes());
            }
            // A closed standard error is no reason to stop serving.
            let _ = writer.write_all(&lines).and_then(|()| writer.flush());
            last = Some(Instant::now());
            lines.clear();
            lines.shrink_to(AMPLE);
        }
    }
}
