//! The socket under a connection. It reports two facts that `hyper` does not: whether the peer has closed an idle connection,
//! and whether the peer ever read the bytes sent last.

use ptc_base::sync::Mutex;
use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use ptc_base::pace::{PIECE, Pace, poll_pause};
use ptc_base::time;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpStream, UnixStream};

/// How long the refusal of a request may lag behind the end of the connection: a round trip.
const REFUSAL_PATIENCE: Duration = Duration::from_millis(250);

/// A stream of the system: over TCP, or within this machine.
#[derive(Debug)]
enum Kernel {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// The same operation on either kind.
macro_rules! either {
    ($stream:expr, $inner:ident => $operation:expr) => {
        match $stream {
            Kernel::Tcp($inner) => $operation,
            Kernel::Unix($inner) => $operation,
        }
    };
}

impl Kernel {
    /// Another handle to it, watched by the reactor of the current runtime.
    fn copy(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(tcp) => {
                let copy = std::net::TcpStream::from(tcp.as_fd().try_clone_to_owned()?);
                Self::Tcp(TcpStream::from_std(copy)?)
            }
            Self::Unix(unix) => {
                let copy = std::os::unix::net::UnixStream::from(unix.as_fd().try_clone_to_owned()?);
                Self::Unix(UnixStream::from_std(copy)?)
            }
        })
    }

    async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        either!(self, stream => stream.ready(interest).await)
    }

    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_read_ready(cx))
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self, stream => stream.poll_write_ready(cx))
    }

    fn try_io<T>(&self, interest: Interest, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        either!(self, stream => stream.try_io(interest, operation))
    }

    fn try_read_buf(&self, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
        either!(self, stream => stream.try_read_buf(buf))
    }

    fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        either!(self, stream => stream.try_write(buf))
    }

    fn try_write_vectored(&self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        either!(self, stream => stream.try_write_vectored(bufs))
    }
}

impl AsFd for Kernel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        either!(self, stream => stream.as_fd())
    }
}

/// A stream that can be asked about while a connection uses it. Clones are the same stream.
#[derive(Debug, Clone)]
pub(super) struct Socket(Arc<SocketState>);

#[derive(Debug)]
struct SocketState {
    /// Replaced when another thread takes the connection over, while it is idle.
    stream: Mutex<Arc<Kernel>>,
    /// Whether the peer is a proxy. Its reset is no word of the server behind it, which may have read the request.
    proxy: bool,
    /// The peer has answered sent bytes with a reset.
    reset: AtomicBool,
    /// Something has arrived since the last [`Socket::forget_arrivals`], on the side of the application.
    arrived: AtomicBool,
}

/// The readable state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peek {
    /// Nothing.
    Quiet,
    /// At least one byte.
    Bytes,
    /// The peer has hung up.
    End,
}

impl Socket {
    pub(super) fn new(tcp: TcpStream) -> Self {
        Self::of(Kernel::Tcp(tcp), false)
    }

    /// A connection to a proxy, which forwards the bytes.
    pub(super) fn of_proxy(tcp: TcpStream) -> Self {
        Self::of(Kernel::Tcp(tcp), true)
    }

    pub(super) fn unix(stream: UnixStream) -> Self {
        Self::of(Kernel::Unix(stream), false)
    }

    fn of(stream: Kernel, proxy: bool) -> Self {
        let stream = Mutex::new(Arc::new(stream));
        Self(Arc::new(SocketState {
            stream,
            proxy,
            reset: AtomicBool::new(false),
            arrived: AtomicBool::new(false),
        }))
    }

    fn stream(&self) -> MutexGuard<'_, Arc<Kernel>> {
        self.0.stream.lock()
    }

    /// Has the reactor of the current runtime watch it from now on, instead of the one that did.
    pub(super) fn move_here(&self) -> io::Result<()> {
        let mut stream = self.stream();
        *stream = Arc::new(stream.copy()?);
        Ok(())
    }

    /// The readable state according to this machine's kernel. It asks the kernel, not the reactor, which may not have polled
    /// yet.
    pub(super) fn peek(&self) -> Peek {
        match SockRef::from(&**self.stream()).peek(&mut [MaybeUninit::uninit()]) {
            Ok(0) => Peek::End,
            Ok(_) => Peek::Bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Peek::Quiet,
            Err(_) => Peek::End,
        }
    }

    /// Whether the peer is a proxy.
    pub(super) fn is_proxy(&self) -> bool {
        self.0.proxy
    }

    /// To be called before a request goes out.
    pub(super) fn forget_arrivals(&self) {
        self.0.arrived.store(false, Ordering::Relaxed);
    }

    /// Whether the server certainly has not read the last request, now that the connection has ended.
    ///
    /// A kernel answers data that arrives for a closed socket, or that was unread when it was closed, with a reset. A server
    /// that has read the request and then dies or hangs up ends the connection in order, so the end alone proves nothing: only
    /// the reset does, and it may arrive a round trip after the end.
    pub(super) async fn was_refused(&self) -> bool {
        if self.0.proxy || self.0.arrived.load(Ordering::Relaxed) {
            return false;
        }
        if self.0.reset.load(Ordering::Relaxed) {
            return true;
        }
        let stream = self.stream().clone();
        let error = async {
            let _ = stream.ready(Interest::ERROR).await;
        };
        time::timeout(REFUSAL_PATIENCE, error).await.is_ok()
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        if let Err(error) = &result
            && matches!(error.kind(), ConnectionReset | ConnectionAborted | BrokenPipe)
        {
            self.0.reset.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = self.stream();
        loop {
            ready!(stream.poll_read_ready(cx))?;
            let mut result = Err(io::ErrorKind::WouldBlock.into());
            let _ = stream.try_io(Interest::READABLE, || {
                let room = buf.remaining();
                result = stream.try_read_buf(buf);
                match result {
                    // All that had come fitted: to the reactor there is nothing more to read until it hears of it, which
                    // saves asking the kernel again after each answer.
                    Ok(read) if 0 < read && read < room => Err(io::ErrorKind::WouldBlock.into()),
                    _ => Ok(()),
                }
            });
            match result {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(self.note(result).map(drop)),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let stream = self.stream();
        loop {
            ready!(stream.poll_write_ready(cx))?;
            match stream.try_write(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(self.note(result)),
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let stream = self.stream();
        loop {
            ready!(stream.poll_write_ready(cx))?;
            match stream.try_write_vectored(bufs) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(self.note(result)),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&**self.stream()).shutdown(Shutdown::Write))
    }
}

/// The application's decrypted side of a socket: notes arrivals, and yields regularly. A peer that sends frames faster than
/// they are read would otherwise keep its connection's task running.
#[derive(Debug)]
pub(super) struct MonitoredSocket<S> {
    stream: S,
    socket: Socket,
    pace: Pace,
    /// How much the last read brought, as long as its reader works on it.
    read: Option<usize>,
}

impl<S> MonitoredSocket<S> {
    pub(super) fn new(stream: S, socket: Socket) -> Self {
        Self { stream, socket, pace: Pace::default(), read: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MonitoredSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(read) = self.read.take()
            && self.pace.is_due(read)
        {
            return poll_pause(cx);
        }
        let before = buf.filled().len();
        let stream = Pin::new(&mut self.stream);
        // A reader whose buffer has grown does not take more than a piece at once either.
        let polled = if buf.remaining() > PIECE {
            let mut piece = ReadBuf::new(buf.initialize_unfilled_to(PIECE));
            let polled = stream.poll_read(cx, &mut piece);
            let read = piece.filled().len();
            buf.advance(read);
            polled
        } else {
            stream.poll_read(cx, buf)
        };
        let Poll::Ready(result) = polled else {
            self.pace.restart();
            return Poll::Pending;
        };
        let read = buf.filled().len() - before;
        if read > 0 {
            self.socket.0.arrived.store(true, Ordering::Relaxed);
            self.read = Some(read);
        }
        Poll::Ready(result)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MonitoredSocket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_base::pace::work::take_work;
    use std::io::{Read as _, Write as _};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    async fn pair() -> (Socket, std::net::TcpStream) {
        pair_of(Socket::new).await
    }

    async fn pair_of(socket: impl FnOnce(TcpStream) -> Socket) -> (Socket, std::net::TcpStream) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (socket(ours), listener.accept().unwrap().0)
    }

    #[tokio::test]
    async fn reading_what_comes_faster_than_it_is_read_gives_way() {
        let (ours, mut theirs) = pair().await;
        let sending = std::thread::spawn(move || theirs.write_all(&vec![7; 4 << 20]));
        let mut watched = MonitoredSocket::new(ours.clone(), ours);
        let (mut buffer, mut received) = (vec![0; 4 * PIECE], 0);
        take_work();
        while let read @ 1.. = watched.read(&mut buffer).await.unwrap() {
            received += read;
        }
        sending.join().unwrap().unwrap();
        assert_eq!(received, 4 << 20);
        let work = take_work();
        assert!(work.most < 2 * PIECE && work.all >= received - PIECE, "{work:?}");
    }

    #[tokio::test]
    async fn the_kernel_knows_at_once_that_the_peer_hung_up() {
        let (ours, mut theirs) = pair().await;
        assert_eq!(ours.peek(), Peek::Quiet);
        theirs.write_all(b"early").unwrap();
        assert_eq!(ours.peek(), Peek::Bytes);
        let (ours, theirs) = pair().await;
        drop(theirs);
        assert_eq!(ours.peek(), Peek::End);
    }

    #[tokio::test]
    async fn a_request_to_a_closed_socket_is_refused_and_one_that_was_read_is_not() {
        let (mut ours, theirs) = pair().await;
        drop(theirs);
        ours.write_all(b"request").await.unwrap();
        let _ = ours.read(&mut [0; 8]).await;
        assert!(ours.was_refused().await, "nobody was there to read it");

        let (mut ours, theirs) = pair_of(Socket::of_proxy).await;
        drop(theirs);
        ours.write_all(b"request").await.unwrap();
        let _ = ours.read(&mut [0; 8]).await;
        assert!(!ours.was_refused().await, "the server behind a proxy may have read it");

        let (mut ours, mut theirs) = pair().await;
        ours.write_all(b"request").await.unwrap();
        theirs.read_exact(&mut [0; 7]).unwrap();
        drop(theirs);
        assert_eq!(ours.read(&mut [0; 8]).await.unwrap(), 0);
        assert!(!ours.was_refused().await, "it was read, and may have been acted upon");
    }

    #[test]
    fn a_thread_that_takes_it_over_hears_of_what_arrives() {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let first = runtime();
        let (mut ours, mut theirs) = first.block_on(pair());
        let second = runtime();
        second.block_on(async { ours.move_here().unwrap() });
        // Nobody runs the reactor that watched it before.
        drop(first);
        theirs.write_all(b"news").unwrap();
        second.block_on(async {
            ours.read_exact(&mut [0; 4]).await.unwrap();
            ours.write_all(b"answer").await.unwrap();
        });
        theirs.read_exact(&mut [0; 6]).unwrap();
    }

    #[tokio::test]
    async fn an_answer_that_has_begun_is_proof_of_the_contrary() {
        let (ours, mut theirs) = pair().await;
        let mut watched = MonitoredSocket::new(ours.clone(), ours.clone());
        watched.write_all(b"request").await.unwrap();
        theirs.read_exact(&mut [0; 1]).unwrap();
        theirs.write_all(b"HTTP").unwrap();
        watched.read_exact(&mut [0; 4]).await.unwrap();
        drop(theirs);
        let _ = watched.read(&mut [0; 1]).await;
        assert!(!ours.was_refused().await);
        ours.forget_arrivals();
        assert!(ours.was_refused().await, "six bytes were left unread");
    }
}
