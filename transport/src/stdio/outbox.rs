//! The queue of outgoing answers. Everything that accumulates during one write goes into the next.

use ptc_host::sync::Mutex;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::AsyncWrite;

/// Capacity kept between bursts, in bytes.
const KEEP: usize = 64 << 10;

/// Lines waiting to be written. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Outbox(Arc<Mutex<OutboxState>>);

#[derive(Debug, Default)]
struct OutboxState {
    bytes: Vec<u8>,
    written: usize,
    unflushed: bool,
    writer: Option<Waker>,
}

impl OutboxState {
    /// Drops the written bytes once they are most of the buffer: a slow reader that never lets the outbox run empty
    /// must not make it grow. Moves each byte less than once on average.
    fn forget_written(&mut self) {
        if self.written > KEEP && self.written > self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }
}

impl Outbox {
    /// Adds one message as a line.
    pub(super) fn push(&self, message: Vec<u8>) {
        let mut waiting = self.lock();
        waiting.forget_written();
        if waiting.bytes.is_empty() {
            waiting.bytes = message;
        } else {
            waiting.bytes.extend_from_slice(&message);
        }
        waiting.bytes.push(b'\n');
        if let Some(waker) = waiting.writer.take() {
            waker.wake();
        }
    }

    /// The number of waiting bytes.
    pub(super) fn len(&self) -> usize {
        let waiting = self.lock();
        waiting.bytes.len() - waiting.written
    }

    /// Writes everything that arrives: forever, or until at most `few` bytes wait. May be dropped at any time without
    /// losing or repeating a byte.
    pub(super) async fn drive<W: AsyncWrite + Unpin>(
        &self,
        writer: &mut W,
        few: Option<usize>,
    ) -> io::Result<()> {
        poll_fn(|context| {
            if let Poll::Ready(Err(failure)) = self.poll_write_all(writer, context) {
                return Poll::Ready(Err(failure));
            }
            if few.is_some_and(|few| self.len() <= few) {
                return Poll::Ready(Ok(()));
            }
            self.lock().writer = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Writes the waiting bytes, then completes.
    pub(super) async fn flush<W: AsyncWrite + Unpin>(&self, writer: &mut W) -> io::Result<()> {
        poll_fn(|context| self.poll_write_all(writer, context)).await
    }

    fn poll_write_all<W: AsyncWrite + Unpin>(
        &self,
        writer: &mut W,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let mut waiting = self.lock();
        while waiting.written < waiting.bytes.len() {
            let count =
                ready!(Pin::new(&mut *writer).poll_write(context, &waiting.bytes[waiting.written..]))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            waiting.written += count;
            waiting.unflushed = true;
        }
        waiting.bytes.clear();
        waiting.bytes.shrink_to(KEEP);
        waiting.written = 0;
        if waiting.unflushed {
            ready!(Pin::new(&mut *writer).poll_flush(context))?;
            waiting.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    fn lock(&self) -> MutexGuard<'_, OutboxState> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn a_slow_reader_that_never_lets_it_run_empty_does_not_make_it_grow() {
        let outbox = Outbox::default();
        let (mut near, mut far) = tokio::io::duplex(1 << 10);
        let mut read = vec![0; 1 << 10];
        outbox.push(vec![b'x'; 8 << 10]);
        for _ in 0..2000 {
            outbox.push(vec![b'x'; (1 << 10) - 1]);
            // One buffer is written for each message that is added.
            let writing = outbox.drive(&mut near, None);
            let reading = far.read_exact(&mut read);
            tokio::select! {
                biased;
                _ = writing => unreachable!("it drives for ever"),
                done = reading => { done.unwrap(); }
            }
        }
        assert!(outbox.len() > 0);
        assert!(outbox.lock().bytes.len() < 256 << 10, "{} bytes", outbox.lock().bytes.len());
    }

    #[tokio::test]
    async fn messages_become_lines_and_bursts_one_write() {
        let outbox = Outbox::default();
        let (mut far, mut near) = tokio::io::duplex(1 << 16);
        outbox.push(b"a".to_vec());
        outbox.push(b"bc".to_vec());
        assert_eq!(outbox.len(), 5);
        outbox.flush(&mut near).await.unwrap();
        let mut buffer = [0; 64];
        assert_eq!(far.read(&mut buffer).await.unwrap(), 5);
        assert_eq!(&buffer[..5], b"a\nbc\n");
        assert_eq!(outbox.len(), 0);
    }

    #[tokio::test]
    async fn an_interrupted_write_goes_on_where_it_stopped() {
        let outbox = Outbox::default();
        let (mut far, mut near) = tokio::io::duplex(4);
        outbox.push(b"0123456789".to_vec());
        let mut read = Vec::new();
        while read.len() < 11 {
            tokio::select! {
                biased;
                Err(failure) = outbox.drive(&mut near, None) => panic!("{failure}"),
                () = std::future::ready(()) => {}
            }
            read.push(far.read_u8().await.unwrap());
        }
        assert_eq!(read, b"0123456789\n");
    }
}
