//! A process whose clock a test sets ahead.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Result, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptc_host::time::Clock;

/// Names the socket on which a process is told of steps.
pub const VARIABLE: &str = "PTC_TEST_TIME";

/// In the process: has its clock follow the socket that [`VARIABLE`] names, if it is set. A line is a step in milliseconds, and is
/// answered by `ok` once the clock is set ahead.
///
/// # Errors
/// There is no such socket, no thread can be started, or the process has a clock already.
pub fn follow_steps() -> Result<()> {
    let Some(socket) = std::env::var_os(VARIABLE) else { return Ok(()) };
    let stream = UnixStream::connect(socket)?;
    let clock = Clock::stepped();
    if !clock.clone().set_for_process() {
        return Err(Error::new(ErrorKind::AlreadyExists, "the process has a clock"));
    }
    // The test that ends closes the socket, and with it ends the thread.
    std::thread::Builder::new().name("steps".to_owned()).spawn(move || follow(&clock, &stream))?;
    Ok(())
}

fn follow(clock: &Clock, stream: &UnixStream) -> Result<()> {
    for line in BufReader::new(stream).lines() {
        let step = line?.parse().map_err(|_| ErrorKind::InvalidData)?;
        clock.advance(Duration::from_millis(step));
        (&*stream).write_all(b"ok\n")?;
    }
    Ok(())
}

/// In the test: the other end of the socket.
#[derive(Debug)]
pub struct Steps {
    listener: UnixListener,
    socket: PathBuf,
    process: Option<BufReader<UnixStream>>,
}

impl Steps {
    /// A new socket in `folder`, which outlives the process.
    ///
    /// # Errors
    /// The system refused it.
    pub fn listen(folder: &Path) -> Result<Self> {
        let socket = folder.join("steps");
        Ok(Self { listener: UnixListener::bind(&socket)?, socket, process: None })
    }

    /// The value of [`VARIABLE`] for the process.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Sets the clock of the process ahead, which has started: waits until it is done, and for no more.
    ///
    /// # Errors
    /// The process has ended.
    pub fn advance(&mut self, by: Duration) -> Result<()> {
        let process = match &mut self.process {
            Some(process) => process,
            None => self.process.insert(BufReader::new(self.listener.accept()?.0)),
        };
        writeln!(process.get_mut(), "{}", by.as_millis())?;
        let mut answer = String::new();
        process.read_line(&mut answer)?;
        if answer == "ok\n" { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }
}
