//! What the tests of every crate ask of a child process: its lines, and the memory that it took.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long anything may take before a test gives up, on however busy a machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// The lines of a child's output, read on a thread of their own so that the child never waits for the test.
pub(crate) fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line.expect("UTF-8")).is_err() {
                return;
            }
        }
    });
    lines
}

/// Most memory that a process ever had, in bytes.
pub(crate) fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a running process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// Whether a process listens on this port: somebody else may who was faster. Where the system tells of no sockets it is believed to.
pub(crate) fn listens(process: u32, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let Ok(sockets) = std::fs::read_to_string("/proc/net/tcp") else { return true };
    let end = format!(":{port:04X}");
    let listening = sockets.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_wanted = fields.len() > 9 && fields[1].ends_with(&end) && fields[3] == LISTENING;
        is_wanted.then(|| format!("socket:[{}]", fields[9]))
    });
    let listening: Vec<String> = listening.collect();
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    let mut open = open.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
    open.any(|target| listening.iter().any(|socket| target.as_os_str() == socket.as_str()))
}
