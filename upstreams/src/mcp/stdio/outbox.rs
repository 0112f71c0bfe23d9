//! The output queue of a child, coalesced into few writes.

use std::collections::VecDeque;
use std::io;

use tokio::net::unix::pipe;

/// The largest write: the capacity of a pipe.
const BATCH: usize = 64 * 1024;
/// Replies to the child and cancellations that may wait for it to read. A child that floods us with requests and
/// reads no answer loses answers, not our memory.
const MAX_CONTROL: usize = 256 * 1024;

/// Lines in the order of their writing. Requests carry their id, so that one that is cancelled in time is never sent.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    queue: VecDeque<OutboxLine>,
    control_bytes: usize,
    /// The write under way and how much of it is done.
    batch: Vec<u8>,
    done: usize,
    /// Where in the batch the requests begin.
    marks: VecDeque<(usize, u64)>,
}

#[derive(Debug)]
struct OutboxLine {
    request: Option<u64>,
    bytes: Vec<u8>,
}

/// Why a flush stopped.
#[derive(Debug)]
pub(super) enum FlushStop {
    /// Everything is written.
    Empty,
    /// The pipe is full.
    Full,
    /// The pipe is broken.
    Broken,
}

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.batch.is_empty()
    }

    /// Adds a request, without its newline.
    pub(super) fn request(&mut self, id: u64, mut line: Vec<u8>) {
        line.push(b'\n');
        self.queue.push_back(OutboxLine { request: Some(id), bytes: line });
    }

    /// Adds a notification or reply, without its newline.
    pub(super) fn control(&mut self, mut line: Vec<u8>) {
        if self.control_bytes + line.len() > MAX_CONTROL {
            return;
        }
        line.push(b'\n');
        self.control_bytes += line.len();
        self.queue.push_back(OutboxLine { request: None, bytes: line });
    }

    /// Writes as much as the pipe takes. Requests that are no longer `wanted` are left out; `started` hears of each
    /// whose first byte is written.
    pub(super) fn flush(
        &mut self,
        pipe: &pipe::Sender,
        wanted: impl Fn(u64) -> bool,
        mut started: impl FnMut(u64),
    ) -> FlushStop {
        while self.fill(&wanted) {
            match pipe.try_write(&self.batch[self.done..]) {
                Ok(written) => {
                    self.done += written;
                    while let Some(&(at, id)) = self.marks.front()
                        && at < self.done
                    {
                        self.marks.pop_front();
                        started(id);
                    }
                    if self.done == self.batch.len() {
                        self.recycle();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return FlushStop::Full,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return FlushStop::Broken,
            }
        }
        FlushStop::Empty
    }

    /// Makes sure that there is something to write, if there is anything.
    fn fill(&mut self, wanted: &impl Fn(u64) -> bool) -> bool {
        if !self.batch.is_empty() {
            return true;
        }
        while self.batch.len() < BATCH {
            let Some(line) = self.queue.pop_front() else { break };
            match line.request {
                Some(id) if !wanted(id) => continue,
                Some(id) => self.marks.push_back((self.batch.len(), id)),
                None => self.control_bytes -= line.bytes.len(),
            }
            if self.batch.capacity() == 0 || (self.batch.is_empty() && line.bytes.len() > BATCH) {
                self.batch = line.bytes;
            } else {
                self.batch.extend_from_slice(&line.bytes);
            }
        }
        !self.batch.is_empty()
    }

    fn recycle(&mut self) {
        self.done = 0;
        self.marks.clear();
        if self.batch.capacity() > BATCH { self.batch = Vec::new() } else { self.batch.clear() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    async fn read_all(receiver: pipe::Receiver) -> String {
        use tokio::io::AsyncReadExt as _;
        let mut text = String::new();
        let mut receiver = receiver;
        receiver.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn lines_are_joined_and_unwanted_requests_left_out() {
        let (sender, receiver) = pipe::pipe().unwrap();
        sender.writable().await.unwrap();
        let mut outbox = Outbox::default();
        outbox.request(1, b"one".to_vec());
        outbox.control(b"note".to_vec());
        outbox.request(2, b"two".to_vec());
        outbox.request(3, b"three".to_vec());
        let started = RefCell::new(Vec::new());
        let flushed = outbox.flush(&sender, |id| id != 2, |id| started.borrow_mut().push(id));
        assert!(matches!(flushed, FlushStop::Empty) && outbox.is_empty());
        assert_eq!(*started.borrow(), [1, 3]);
        drop(sender);
        assert_eq!(read_all(receiver).await, "one\nnote\nthree\n");
    }

    #[tokio::test]
    async fn a_full_pipe_keeps_what_is_left_and_starts_no_timer() {
        let (sender, receiver) = pipe::pipe().unwrap();
        sender.writable().await.unwrap();
        let mut outbox = Outbox::default();
        outbox.request(1, vec![b'a'; 300_000]);
        outbox.request(2, b"two".to_vec());
        let mut started = Vec::new();
        assert!(matches!(outbox.flush(&sender, |_| true, |id| started.push(id)), FlushStop::Full));
        assert_eq!(started, [1]);
        let reading = tokio::spawn(read_all(receiver));
        loop {
            sender.writable().await.unwrap();
            match outbox.flush(&sender, |_| true, |id| started.push(id)) {
                FlushStop::Empty => break,
                FlushStop::Full => {}
                FlushStop::Broken => panic!("the pipe broke"),
            }
        }
        assert_eq!(started, [1, 2]);
        drop(sender);
        let text = reading.await.unwrap();
        assert!(text.len() == 300_005 && text.ends_with("a\ntwo\n"));
    }

    #[tokio::test]
    async fn answers_that_nobody_reads_are_bounded() {
        let mut outbox = Outbox::default();
        for _ in 0..100_000 {
            outbox.control(vec![b'x'; 100]);
        }
        assert!(outbox.control_bytes <= MAX_CONTROL + 1);
    }

    #[tokio::test]
    async fn a_broken_pipe_is_told() {
        let (sender, receiver) = pipe::pipe().unwrap();
        sender.writable().await.unwrap();
        drop(receiver);
        let mut outbox = Outbox::default();
        outbox.request(1, b"x".to_vec());
        assert!(matches!(outbox.flush(&sender, |_| true, |_| {}), FlushStop::Broken));
    }
}
