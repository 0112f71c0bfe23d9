//! A process whose clock a test sets ahead by `ptc_test_support::steps`.

use std::io::{BufRead as _, BufReader, Error, ErrorKind, Result, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use ptc_host::time::Clock;
use ptc_test_support::steps::VARIABLE;

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
