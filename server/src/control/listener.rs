//! The server's side of the control socket.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use nix::unistd::geteuid;
use ptc_host::time;
use ptc_mcp::json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tracing::{debug, warn};

use super::client::sockets;
use super::message::{ControlRequest, Description, MAX_REQUEST, ReloadOutcome};
use super::{SUFFIX, is_too_long, socket_name};

/// Commands that are connected at a time; further ones are told so and have to come again.
const MAX_COMMANDS: usize = 32;
/// How long a command may take to write its line, and to read its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// What a command is told for which there is no place.
const BUSY: &str = "the server is busy with other commands; try again";
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Does what commands ask for.
pub(crate) trait Controlled: Send + Sync + 'static {
    /// Which server this is.
    fn describe(&self) -> Description;

    /// Reads the files again, or only checks them.
    fn reload(self: Arc<Self>, check: bool) -> BoxFuture<'static, ReloadOutcome>;
}

/// The socket of this process.
pub(crate) struct ControlSocket {
    file: SocketFile,
    listener: UnixListener,
}

/// The file of a socket, which goes when it is dropped.
struct SocketFile(PathBuf);

/// Serves commands until it is dropped.
pub(crate) struct Control {
    serving: JoinHandle<()>,
    /// Not in the task: that one may be dropped later, or never.
    _file: SocketFile,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl ControlSocket {
    /// Listens in `folder`, which is made if there is none, and removes the sockets of processes that are gone.
    ///
    /// # Errors
    /// The system's error: the folder cannot be written to, or the path is longer than a socket may have (107 bytes on Linux).
    pub(crate) fn open(folder: &Path) -> io::Result<ControlSocket> {
        if let Some(why) = is_too_long(folder) {
            return Err(io::Error::new(io::ErrorKind::InvalidFilename, why));
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        for path in sockets(folder) {
            // Refused is what a socket says that nobody listens at.
            let is_stale = std::os::unix::net::UnixStream::connect(&path)
                .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            if is_stale {
                let _ = fs::remove_file(&path);
            }
        }
        let number = getrandom::u32().map_err(|error| io::Error::other(error.to_string()))?;
        let name = socket_name(std::process::id(), number);
        // Under its name it listens already, and is nobody else's: another process may look for stale ones at any time.
        let (draft, path) = (folder.join(format!(".{}", name.trim_end_matches(SUFFIX))), folder.join(&name));
        let listener = UnixListener::bind(&draft)?;
        let placed = fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))
            .and_then(|()| fs::rename(&draft, &path));
        if let Err(error) = placed {
            let _ = fs::remove_file(&draft);
            return Err(error);
        }
        Ok(ControlSocket { file: SocketFile(path), listener })
    }

    /// Where it listens.
    pub(crate) fn path(&self) -> &Path {
        &self.file.0
    }

    /// Serves commands on the current runtime until the result is dropped.
    pub(crate) fn serve(self, controlled: Arc<dyn Controlled>) -> Control {
        Control { serving: tokio::spawn(serve(self.listener, controlled)), _file: self.file }
    }
}

async fn serve(listener: UnixListener, controlled: Arc<dyn Controlled>) {
    let places = Arc::new(Semaphore::new(MAX_COMMANDS));
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let Ok(place) = places.clone().try_acquire_owned() else {
                    // What the socket has no room for, it need not have: the command takes the end of the connection the same way.
                    let _ = stream.try_write(format!("{}\n", fault(BUSY)).as_bytes());
                    continue;
                };
                let controlled = controlled.clone();
                tokio::spawn(async move {
                    let _place = place;
                    if let Err(error) = converse(stream, controlled).await {
                        debug!(event = "control_failed", reason = %error);
                    }
                });
            }
            Err(error) => {
                debug!(event = "control_failed", reason = %error);
                time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Answers the lines of one command.
#[expect(clippy::disallowed_methods, reason = "entry point: converse()")]
async fn converse(mut stream: UnixStream, controlled: Arc<dyn Controlled>) -> io::Result<()> {
    let peer = stream.peer_cred()?;
    if peer.uid() != geteuid().as_raw() {
        warn!(event = "control_refused", uid = peer.uid(), "only the user of this process may control it");
        return Ok(());
    }
    let (read, mut write) = stream.split();
    let mut lines = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut lines).take(MAX_REQUEST);
        let read = time::timeout(PATIENCE, limited.read_until(b'\n', &mut line)).await;
        if read.map_err(io::Error::other)?? == 0 {
            return Ok(());
        }
        let whole = line.ends_with(b"\n");
        let answer = if whole { answer(&line, &controlled).await } else { fault("the request is too long") };
        time::timeout(PATIENCE, write.write_all(format!("{answer}\n").as_bytes()))
            .await
            .map_err(io::Error::other)??;
        if !whole {
            return Ok(());
        }
    }
}

async fn answer(line: &[u8], controlled: &Arc<dyn Controlled>) -> Value {
    match ControlRequest::parse(line) {
        Ok(ControlRequest::Describe) => controlled.describe().to_json(),
        Ok(ControlRequest::Reload { check }) => {
            // In a task of its own: a command that leaves does not stop a reload half way.
            let reload = tokio::spawn(controlled.clone().reload(check));
            reload.await.map_or_else(|error| fault(&error.to_string()), |outcome| outcome.to_json())
        }
        Err(why) => fault(&why),
    }
}

fn fault(why: &str) -> Value {
    json!({"error": why})
}
