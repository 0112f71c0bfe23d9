//! The thread that writes log lines.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Unwritten bytes above which further lines are dropped and counted.
const CAPACITY: usize = 1 << 20;

/// Where lines go. Clones share one writer.
#[derive(Clone)]
pub(super) struct Sink(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Signals lines to the writer.
    filled: Condvar,
    /// Signals an empty buffer to those who flush.
    emptied: Condvar,
}

struct State {
    buffer: Vec<u8>,
    dropped: u64,
    writing: bool,
    /// Taken by the thread when it starts, which is when there is something to write.
    idle_writer: Option<Box<dyn Write + Send>>,
}

impl Sink {
    pub(super) fn new(writer: impl Write + Send + 'static) -> Self {
        let state =
            State { buffer: Vec::new(), dropped: 0, writing: false, idle_writer: Some(Box::new(writer)) };
        Sink(Arc::new(Shared { state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new() }))
    }

    /// Takes one line, newline included. Never waits for the writer.
    pub(super) fn write(&self, line: Vec<u8>) {
        let mut state = self.0.lock();
        if state.buffer.len() + line.len() > CAPACITY {
            state.dropped += 1;
            return;
        }
        state.buffer.extend_from_slice(&line);
        if let Some(writer) = state.idle_writer.take() {
            let shared = self.0.clone();
            let spawned =
                std::thread::Builder::new().name("ptc-log".into()).spawn(move || shared.run(writer));
            if spawned.is_err() {
                // Without a thread there is no log; the server goes on.
                state.buffer.clear();
            }
        }
        self.0.filled.notify_one();
    }

    /// Waits until everything taken so far is written, but no longer than `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut state = self.0.lock();
        while state.idle_writer.is_none() && (!state.buffer.is_empty() || state.writing) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.0.emptied.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, mut writer: Box<dyn Write + Send>) {
        let mut lines = Vec::new();
        loop {
            let mut state = self.lock();
            state.writing = false;
            while state.buffer.is_empty() {
                self.emptied.notify_all();
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            std::mem::swap(&mut lines, &mut state.buffer);
            let dropped = std::mem::take(&mut state.dropped);
            state.writing = true;
            drop(state);
            if dropped > 0 {
                let line = format!(
                    "{{\"level\":\"warn\",\"event\":\"log_lines_dropped\",\"fields\":{{\"count\":{dropped}}}}}\n"
                );
                lines.extend_from_slice(line.as_bytes());
            }
            // A closed standard error is no reason to stop serving.
            let _ = writer.write_all(&lines).and_then(|()| writer.flush());
            lines.clear();
            lines.shrink_to(64 << 10);
        }
    }
}
