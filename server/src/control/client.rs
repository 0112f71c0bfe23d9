//! The commands' side of the control socket.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptc_mcp::json::Value;

use super::message::{ControlRequest, Description, MAX_ANSWER, ReloadOutcome};
use super::{PREFIX, SUFFIX};

/// How long a server may take to say which one it is.
const DESCRIBE_WITHIN: Duration = Duration::from_secs(5);

/// The control sockets in a folder, of living processes and of others, in order of names.
pub(super) fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_socket = |name: &str| name.starts_with(PREFIX) && name.ends_with(SUFFIX);
    let names = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_socket));
    let mut paths: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

/// A server that answers.
pub(crate) struct RunningServer {
    stream: BufReader<UnixStream>,
    /// What it says of itself.
    pub(crate) description: Description,
}

/// The servers of a folder.
#[derive(Default)]
pub(crate) struct RunningServers {
    /// Those that say which they are.
    pub(crate) answering: Vec<RunningServer>,
    /// The sockets of those that take connections and do not, and why.
    pub(crate) silent: Vec<(PathBuf, io::Error)>,
}

/// The servers that run in a folder.
pub(crate) fn running(folder: &Path) -> RunningServers {
    let mut found = RunningServers::default();
    for path in sockets(folder) {
        match RunningServer::at(&path) {
            Ok(server) => found.answering.push(server),
            // Nobody listens there, or not for this user.
            Err(error) if is_absent(&error) => {}
            Err(error) => found.silent.push((path, error)),
        }
    }
    found
}

/// Whether the error of a socket says that no server listens at it.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound, PermissionDenied};
    matches!(error.kind(), ConnectionRefused | NotFound | PermissionDenied)
}

impl RunningServer {
    /// The server at a socket.
    ///
    /// # Errors
    /// Nobody listens, or gives an answer that is none of ours.
    pub(crate) fn at(socket: &Path) -> io::Result<RunningServer> {
        let mut stream = BufReader::new(UnixStream::connect(socket)?);
        stream.get_ref().set_write_timeout(Some(DESCRIBE_WITHIN))?;
        stream.get_ref().set_read_timeout(Some(DESCRIBE_WITHIN))?;
        let answer = ask(&mut stream, ControlRequest::Describe).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                let text = format!("it has not answered within {} s", DESCRIBE_WITHIN.as_secs());
                io::Error::new(io::ErrorKind::TimedOut, text)
            }
            _ => error,
        })?;
        let description = Description::read(&answer).ok_or_else(|| {
            io::Error::other(answer["error"].as_str().unwrap_or("the answer is no description").to_owned())
        })?;
        Ok(RunningServer { stream, description })
    }

    /// Has it read its files again, or only check them; an answer may take `within`.
    ///
    /// # Errors
    /// It gives no answer, or one that is none of ours.
    pub(crate) fn reload(&mut self, check: bool, within: Duration) -> io::Result<ReloadOutcome> {
        self.stream.get_ref().set_read_timeout(Some(within))?;
        let answer = ask(&mut self.stream, ControlRequest::Reload { check })?;
        ReloadOutcome::read(&answer).ok_or_else(|| io::Error::other(format!("the answer is {answer}")))
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: ask()")]
fn ask(stream: &mut BufReader<UnixStream>, request: ControlRequest) -> io::Result<Value> {
    // A server that is busy says so and ends the connection, whatever was asked.
    let written = stream.get_mut().write_all(request.line().as_bytes());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return Err(error);
    }
    let mut line = Vec::new();
    stream.by_ref().take(MAX_ANSWER).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::Error::other("it closed the connection"));
    }
    serde_json::from_slice(&line).map_err(io::Error::other)
}
