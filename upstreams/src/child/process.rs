//! Starting a child, and holding it until it and its family are gone.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use super::command::{in_folder, searched};
use super::{ChildEnv, guard, resolve_command};
use ptc_base::time;

/// The child to start.
#[derive(Clone, Debug)]
pub(crate) struct ChildSpec {
    /// The program: a path, or a name to look up in the `PATH` of `env`.
    pub command: String,
    /// Its arguments, without the program's name.
    pub args: Vec<String>,
    /// Its whole environment: nothing is inherited.
    pub env: ChildEnv,
    /// Its working directory; ours if `None`.
    pub directory: Option<PathBuf>,
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpawnError {
    /// There is no such program; where it was looked for, and where it lies.
    #[error("command not found: {0}{1}")]
    NotFound(String, String),
    /// There is such a file, which may not be run.
    #[error(
        "command is not executable: {0}\nMake it so with chmod +x, or name the program that runs it as command."
    )]
    NotExecutable(String),
    /// Its configured working directory is not a directory.
    #[error("cannot start {0}: its working directory {1} does not exist")]
    Directory(String, String),
    /// The operating system refused.
    #[error("cannot start {0}: {1}")]
    Refused(String, io::Error),
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exit(ExitStatus);

impl Exit {
    /// Whether it ended with status 0, which arms no recovery window.
    #[must_use]
    pub(crate) fn is_clean(self) -> bool {
        self.0.success()
    }
}

impl std::fmt::Display for Exit {
    /// `status 1` or `signal 9`, to be put after `exited with`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::os::unix::process::ExitStatusExt as _;
        match (self.0.code(), self.0.signal()) {
            (Some(code), _) => write!(f, "status {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (None, None) => f.write_str("an unknown status"),
        }
    }
}

/// A running child. Dropping it ends the child and its family at once.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    child: Child,
    group: ProcessGroup,
    /// Our ends of its standard streams, taken by their reader and writer. Under a guard, the end of
    /// standard error must be held (or read) as long as the child may live: closing it ends the
    /// child's whole family.
    pub pipes: Option<Pipes>,
}

/// Our ends of a child's standard streams.
#[derive(Debug)]
pub(crate) struct Pipes {
    /// Its standard input.
    pub stdin: pipe::Sender,
    /// Its standard output.
    pub stdout: pipe::Receiver,
    /// Its standard error.
    pub stderr: pipe::Receiver,
}

impl ChildProcess {
    /// Starts a child in a process group of its own. Must run inside a tokio runtime.
    ///
    /// # Errors
    /// The command is not found, or the operating system refuses to start it.
    pub(crate) fn spawn(spec: &ChildSpec) -> Result<Self, SpawnError> {
        let name = || spec.command.clone();
        let program =
            resolve_command(&spec.command, spec.directory.as_deref(), spec.env.path()).ok_or_else(|| {
                let path = in_folder(&spec.command, spec.directory.as_deref());
                let is_there = spec.command.contains('/') && path.is_file();
                match is_there {
                    true => SpawnError::NotExecutable(name()),
                    false => SpawnError::NotFound(name(), searched(&spec.command, &spec.env)),
                }
            })?;
        if let Some(directory) = spec.directory.as_deref().filter(|d| !d.is_dir()) {
            return Err(SpawnError::Directory(name(), directory.display().to_string()));
        }
        let wrapped = guard::wrap(&program, &spec.args);
        let guarded = wrapped.is_some();
        let mut command = match wrapped {
            Some((guard, args)) => {
                let mut command = Command::new(guard);
                command.arg0("ptc-guard").args(args);
                command
            }
            None => {
                let mut command = Command::new(&program);
                command.args(&spec.args);
                command
            }
        };
        command
            .env_clear()
            .envs(spec.env.vars())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(directory) = &spec.directory {
            command.current_dir(directory);
        }
        let refused = |error| SpawnError::Refused(name(), error);
        let mut child = command.spawn().map_err(refused)?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let group = ProcessGroup { leader, guarded };
        let missing = || io::Error::other("a standard stream is missing");
        let pipes = Pipes {
            stdin: child
                .stdin
                .take()
                .ok_or_else(missing)
                .and_then(|s| pipe::Sender::from_owned_fd(s.into_owned_fd()?))
                .map_err(refused)?,
            stdout: child
                .stdout
                .take()
                .ok_or_else(missing)
                .and_then(|s| pipe::Receiver::from_owned_fd(s.into_owned_fd()?))
                .map_err(refused)?,
            stderr: child
                .stderr
                .take()
                .ok_or_else(missing)
                .and_then(|s| pipe::Receiver::from_owned_fd(s.into_owned_fd()?))
                .map_err(refused)?,
        };
        Ok(Self { child, group, pipes: Some(pipes) })
    }

    /// Waits for the child's end.
    ///
    /// # Errors
    /// The operating system lost track of it.
    pub(crate) async fn wait(&mut self) -> io::Result<Exit> {
        let status = self.child.wait().await?;
        self.group.end();
        Ok(Exit(status))
    }

    /// Waits for an end that was asked for by closing standard input; after `grace` asks again by
    /// `SIGTERM`, after another `grace` ends the whole group.
    pub(crate) async fn wait_or_end(&mut self, grace: Duration) -> io::Result<Exit> {
        if let Ok(exit) = time::timeout(grace, self.wait()).await {
            return exit;
        }
        self.group.signal(Signal::SIGTERM);
        if let Ok(exit) = time::timeout(grace, self.wait()).await {
            return exit;
        }
        self.end_now().await
    }

    /// Ends the child and its family at once and waits for it.
    pub(crate) async fn end_now(&mut self) -> io::Result<Exit> {
        self.group.ask();
        if let Ok(exit) = time::timeout(GUARD_PATIENCE, self.wait()).await {
            return exit;
        }
        self.group.signal(Signal::SIGKILL);
        self.wait().await
    }
}

/// The time that a guard has to end a family before its group is killed directly.
const GUARD_PATIENCE: Duration = Duration::from_millis(1000);

/// A process group that is ended on drop.
#[derive(Debug)]
struct ProcessGroup {
    leader: Option<Pid>,
    guarded: bool,
}

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _ = killpg(leader, signal);
        }
    }

    /// Ends the family at once, by the guard, which also finds processes that left the group.
    fn ask(&self) {
        match self.leader {
            Some(guard_pid) if self.guarded => {
                let _ = kill(guard_pid, guard::END);
            }
            _ => self.signal(Signal::SIGKILL),
        }
    }

    /// Ends the rest of the group after its leader has ended. The leader's number must not be used again later: the system may
    /// have reused it.
    fn end(&mut self) {
        self.signal(Signal::SIGKILL);
        self.leader = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.ask();
    }
}
