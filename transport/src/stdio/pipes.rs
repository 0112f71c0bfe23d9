//! The process's own standard streams, with the cheapest I/O that their kind allows.
//!
//! A pipe or socket is read and written without a helper thread. Everything else (a terminal, a file), and a stream
//! that shares its open file with standard error, uses tokio's blocking adapters: non-blocking mode on such a file
//! would affect its other users, too.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream as StdUnixStream;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

type BoxedReader = Box<dyn AsyncRead + Unpin + Send>;
type BoxedWriter = Box<dyn AsyncWrite + Unpin + Send>;

/// Standard input and output of the process. Needs a tokio runtime with I/O.
pub fn standard_streams() -> (Box<dyn AsyncRead + Unpin + Send>, Box<dyn AsyncWrite + Unpin + Send>) {
    let stderr = identity(io::stderr().as_fd().try_clone_to_owned());
    let reader = own(io::stdin().as_fd().try_clone_to_owned(), stderr)
        .and_then(|(fd, kind)| match kind {
            Stream::Pipe => {
                pipe::Receiver::from_file(File::from(fd)).ok().map(|pipe| Box::new(pipe) as BoxedReader)
            }
            Stream::Socket => socket(fd).map(|socket| Box::new(socket) as BoxedReader),
        })
        .unwrap_or_else(|| Box::new(tokio::io::stdin()));
    let writer = own(io::stdout().as_fd().try_clone_to_owned(), stderr)
        .and_then(|(fd, kind)| match kind {
            Stream::Pipe => {
                pipe::Sender::from_file(File::from(fd)).ok().map(|pipe| Box::new(pipe) as BoxedWriter)
            }
            Stream::Socket => socket(fd).map(|socket| Box::new(socket) as BoxedWriter),
        })
        .unwrap_or_else(|| Box::new(tokio::io::stdout()));
    (reader, writer)
}

enum Stream {
    Pipe,
    Socket,
}

/// The descriptor, if it is a pipe or socket that standard error does not share.
fn own(fd: io::Result<OwnedFd>, stderr: Option<(u64, u64)>) -> Option<(OwnedFd, Stream)> {
    let file = File::from(fd.ok()?);
    let metadata = file.metadata().ok()?;
    if Some((metadata.dev(), metadata.ino())) == stderr {
        return None;
    }
    let kind = if metadata.file_type().is_fifo() {
        Stream::Pipe
    } else if metadata.file_type().is_socket() {
        Stream::Socket
    } else {
        return None;
    };
    Some((OwnedFd::from(file), kind))
}

/// The identity of an open file.
fn identity(fd: io::Result<OwnedFd>) -> Option<(u64, u64)> {
    let metadata = File::from(fd.ok()?).metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn socket(fd: OwnedFd) -> Option<UnixStream> {
    let stream = StdUnixStream::from(fd);
    // Not a Unix socket, or not a connected one: leave it to the blocking adapter.
    stream.peer_addr().ok()?;
    stream.set_nonblocking(true).ok()?;
    UnixStream::from_std(stream).ok()
}
