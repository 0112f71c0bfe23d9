//! The guard: a small process between the host and a child.
//!
//! No child may outlive the host, even if the host dies of an uncatchable signal, and neither may the child's
//! descendants, its *family*. The host therefore starts a child through a guard, which is the host's own binary with
//! a hidden first argument. The guard
//!
//! * leads a process group, which the child joins;
//! * adopts orphaned descendants of the child (Linux), so that a daemonised process does not escape;
//! * waits for the child, ends its remaining descendants, and exits with the child's status;
//! * holds one end of the child's standard error and ends all descendants at once when the host's end closes, which
//!   happens however the host dies.
//!
//! The guard ignores signals to the group, except `SIGUSR2`, which asks it to end all descendants now, and `SIGKILL`,
//! which ends it with the group.
//!
//! A binary that embeds this crate calls [`init`] first in `main`. Without that call, each child has its own process
//! group and is ended when its handle is dropped, but nothing ends it when the host itself is killed.

use std::ffi::{CString, OsStr, OsString};
use std::io::Write as _;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal, kill, killpg, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp, getpid};

/// The first argument that makes our binary a guard.
const ARGUMENT: &str = "__ptc-child-guard";

/// Sent to a guard only: asks it to end the family and itself.
pub(super) const END: Signal = Signal::SIGUSR2;

static GUARD: OnceLock<PathBuf> = OnceLock::new();

/// Makes guards available. Call it first thing in `main`: if this process was started as a guard,
/// it does a guard's work and never returns.
pub fn init() {
    let mut args = std::env::args_os().skip(1);
    if args.next().is_some_and(|first| first == ARGUMENT) {
        run(args.collect());
    }
    if let Some(path) = own_binary() {
        let _ = GUARD.set(path);
    }
}

/// Whether [`init`] was called: children are ended even when this process is killed.
#[must_use]
pub fn available() -> bool {
    GUARD.get().is_some()
}

/// The command line that starts `program` with `args` under a guard; `None` without [`init`].
pub(super) fn wrap(program: &Path, args: &[String]) -> Option<(PathBuf, Vec<OsString>)> {
    let guard = GUARD.get()?;
    let mut line = Vec::with_capacity(args.len() + 2);
    line.push(ARGUMENT.into());
    line.push(program.into());
    line.extend(args.iter().map(OsString::from));
    Some((guard.clone(), line))
}

/// On Linux the name that stays right when the file of the binary is replaced or removed.
fn own_binary() -> Option<PathBuf> {
    let proc = PathBuf::from("/proc/self/exe");
    if proc.exists() { Some(proc) } else { std::env::current_exe().ok() }
}

/// The exit status of a guard's own failure, as shells use for commands that cannot be run.
const CANNOT_RUN: i32 = 126;

fn run(mut command: Vec<OsString>) -> ! {
    // A signal to the group is for the child.
    let _ = SigSet::all().thread_block();
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
    if command.is_empty() {
        std::process::exit(CANNOT_RUN);
    }
    let program = command.remove(0);
    let child = match spawn(&program, command) {
        Ok(child) => child,
        Err(error) => {
            let program = program.to_string_lossy();
            let _ = writeln!(std::io::stderr(), "cannot run {program}: {error}");
            std::process::exit(CANNOT_RUN);
        }
    };
    // Held ends would hide that the child closed its own.
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdin(&null);
        let _ = nix::unistd::dup2_stdout(&null);
    }
    let status = watch(child);
    end_family();
    exit_as(status)
}

/// Starts the child with no signal blocked. `Command` would hand down those that this thread blocks.
fn spawn(program: &OsString, args: Vec<OsString>) -> std::io::Result<Pid> {
    let text = |text: OsString| CString::new(text.into_vec());
    let argv = std::iter::once(program.clone()).chain(args).map(text).collect::<Result<Vec<_>, _>>()?;
    let variable = |(name, value): (OsString, OsString)| text([name, value].join(OsStr::new("=")));
    let env = std::env::vars_os().map(variable).collect::<Result<Vec<_>, _>>()?;
    let mut attributes = PosixSpawnAttr::init()?;
    let flags = PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF;
    attributes.set_flags(flags)?;
    attributes.set_sigmask(&SigSet::empty())?;
    // Ignored in every program of Rust, and in no other.
    attributes.set_sigdefault(&SigSet::from(Signal::SIGPIPE))?;
    Ok(posix_spawnp(&argv[0], &PosixSpawnFileActions::init()?, &attributes, &argv, &env)?)
}

/// Waits for the child or the owner to end. The owner's end ends the family and does not return.
fn watch(child: Pid) -> ExitStatus {
    let (ended, end) = mpsc::channel();
    let Ok((signal, wake)) = std::io::pipe() else { std::process::exit(CANNOT_RUN) };
    std::thread::spawn(move || {
        let _ = ended.send(reap_until(child));
        drop(wake);
    });
    std::thread::spawn(|| {
        let mut asked = SigSet::empty();
        asked.add(END);
        if asked.wait().is_ok() {
            end_all();
        }
    });
    let stderr = std::io::stderr();
    loop {
        let mut fds =
            [PollFd::new(stderr.as_fd(), PollFlags::empty()), PollFd::new(signal.as_fd(), PollFlags::POLLIN)];
        let polled = poll(&mut fds, PollTimeout::NONE);
        if let Ok(status) = end.try_recv() {
            return status;
        }
        let broken = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        if polled.is_ok() && fds[0].revents().is_some_and(|r| r.intersects(broken)) {
            end_all();
        }
    }
}

/// Ends the family and, with its group, this process.
fn end_all() -> ! {
    end_family();
    let _ = killpg(getpgrp(), Signal::SIGKILL);
    std::process::exit(CANNOT_RUN);
}

/// Collects every child that ends, adopted ones too, until `child` has.
fn reap_until(child: Pid) -> ExitStatus {
    loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == child => {
                return ExitStatus::from_raw(code << 8);
            }
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                return ExitStatus::from_raw(signal as i32);
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return ExitStatus::from_raw(CANNOT_RUN << 8),
        }
    }
}

/// Ends all descendants of this process, in any group or session. A round kills the processes that it finds; orphans of one
/// round are our own children in the next.
#[expect(
    clippy::disallowed_methods,
    reason = "a guard is a process of its own, for children that end by the system's clock"
)]
fn end_family() {
    for _ in 0..200 {
        let family = descendants();
        if family.is_empty() {
            return;
        }
        for pid in family {
            let _ = kill(pid, Signal::SIGKILL);
        }
        while let Ok(status) = waitpid(None, Some(nix::sys::wait::WaitPidFlag::WNOHANG)) {
            if status == WaitStatus::StillAlive {
                break;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Every living process below this one. Empty where there is no `/proc`: there the process group is
/// all that a guard can reach.
#[expect(clippy::disallowed_methods, reason = "entry point: descendants()")]
fn descendants() -> Vec<Pid> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<i32>().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // pid (name, which may hold anything) state parent …
        let mut fields = stat.rsplit(')').next().unwrap_or("").split_ascii_whitespace();
        let (Some(state), Some(parent)) = (fields.next(), fields.next()) else { continue };
        if let Ok(parent) = parent.parse::<i32>()
            && state != "Z"
        {
            parents.push((pid, parent));
        }
    }
    let mut family = vec![getpid().as_raw()];
    let mut next = 0;
    while next < family.len() {
        let parent = family[next];
        family.extend(parents.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    family.split_off(1).into_iter().map(Pid::from_raw).collect()
}

/// Ends this process the way the child ended, so that its owner sees the child's own status.
fn exit_as(status: ExitStatus) -> ! {
    if let Some(number) = status.signal()
        && let Ok(signal) = Signal::try_from(number)
    {
        // The child has left its core file if it was to; a second one would be ours.
        let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
        let mut set = SigSet::empty();
        set.add(signal);
        let _ = set.thread_unblock();
        let _ = raise(signal);
        std::process::exit(128 + number);
    }
    std::process::exit(status.code().unwrap_or(CANNOT_RUN));
}
