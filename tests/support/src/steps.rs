//! Server processes whose clock a test sets ahead: the test's end of the socket on which they are told of steps.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tempfile::TempDir;

use crate::wait_until;

/// Names the socket on which a process is told of steps.
pub const VARIABLE: &str = "PTC_TEST_TIME";

/// The clock of one process or of several, which all make the same steps. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct Steps(Arc<Mutex<Followers>>);

#[derive(Debug)]
struct Followers {
    listener: UnixListener,
    processes: Vec<BufReader<UnixStream>>,
    folder: TempDir,
}

impl Steps {
    /// A clock that no process follows yet.
    ///
    /// # Panics
    /// The system refuses the socket.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it opens a socket")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(socket_in(&folder)).expect("a socket");
        listener.set_nonblocking(true).expect("a socket");
        Self(Arc::new(Mutex::new(Followers { listener, processes: Vec::new(), folder })))
    }

    /// The value of [`VARIABLE`] for the processes.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        socket_in(&self.followers().folder)
    }

    /// Sets the clocks of all processes ahead that have started: waits until it is done, and for no more.
    ///
    /// # Panics
    /// No process follows.
    pub fn advance(&self, by: Duration) {
        wait_until("a process follows the steps", || self.try_advance(by));
    }

    /// The same of processes that may have ended; whether any follows.
    fn try_advance(&self, by: Duration) -> bool {
        let mut followers = self.followers();
        followers.welcome();
        // A process that has ended, such as one whose port was taken, follows no more.
        followers.processes.retain_mut(|process| step(process, by).is_ok());
        !followers.processes.is_empty()
    }

    /// Does `work` while the clocks are set ahead by `step` again and again: a wait that begins somewhere in it ends after one step, and
    /// nobody has to see that it has begun. Limits that the work is not about are much longer than `step`.
    ///
    /// # Panics
    /// The work panics.
    pub fn advance_while<T: Send>(&self, step: Duration, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let working = scope.spawn(work);
            wait_until("the work ends", || {
                self.advance(step);
                working.is_finished()
            });
            working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn followers(&self) -> MutexGuard<'_, Followers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Followers {
    /// Takes in the processes that have come since.
    fn welcome(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false).expect("a socket");
                    self.processes.push(BufReader::new(stream));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn socket_in(folder: &TempDir) -> PathBuf {
    folder.path().join("steps")
}

/// Has one process make the step.
fn step(process: &mut BufReader<UnixStream>, by: Duration) -> std::io::Result<()> {
    writeln!(process.get_mut(), "{}", by.as_millis())?;
    let mut answer = String::new();
    process.read_line(&mut answer)?;
    if answer == "ok\n" { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
}
