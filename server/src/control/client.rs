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

/// The servers that answer in a folder.
pub(crate) fn running(folder: &Path) -> Vec<RunningServer> {
    sockets(folder).iter().filter_map(|path| RunningServer::at(path).ok()).collect()
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
        let answer = ask(&mut stream, ControlRequest::Describe)?;
        let description =
            Description::read(&answer).ok_or_else(|| io::Error::other("the answer is no description"))?;
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
    stream.get_mut().write_all(request.line().as_bytes())?;
    let mut line = Vec::new();
    stream.by_ref().take(MAX_ANSWER).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(io::Error::other("it closed the connection"));
    }
    serde_json::from_slice(&line).map_err(io::Error::other)
}
