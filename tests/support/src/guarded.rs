//! Child processes that end with this one, however it ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Runs a command until it ends or its own input does, which it is when whoever has the other end is gone: `kill -9` of
/// that one leaves nothing behind. Tells the command's process id first, and ends with the command's status.
const GUARD: &str = r#"folder=$1; shift; exec 3<&0
"$@" </dev/null >/dev/null 3<&- & child=$!
echo $child; exec >/dev/null 2>&1
{ while read -r _; do :; done <&3; kill -9 $child; } & watcher=$!
wait $child; status=$?
kill $watcher; [ -z "$folder" ] || rm -rf "$folder"
exit $status"#;

/// A child process, which is killed when this is dropped.
pub struct Guarded {
    guard: Child,
    input: Option<ChildStdin>,
    process: Pid,
}

impl Guarded {
    /// Runs a command; `folder` is deleted after it.
    ///
    /// # Panics
    /// If there is no shell.
    pub fn run(command: &Command, folder: Option<&Path>) -> Guarded {
        let mut guarded = Command::new("/bin/sh");
        guarded.arg("-c").arg(GUARD).arg("guard").arg(folder.unwrap_or(Path::new("")));
        guarded.arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => guarded.env(name, value),
                None => guarded.env_remove(name),
            };
        }
        let mut guard = guarded.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a shell");
        let input = guard.stdin.take();
        let mut line = String::new();
        let told = BufReader::new(guard.stdout.take().expect("piped")).read_line(&mut line);
        told.expect("the guard speaks");
        let process = Pid::from_raw(line.trim().parse().expect("a process id"));
        Guarded { guard, input, process }
    }

    /// Sends it a signal, if it is still there.
    pub fn signal(&self, signal: Signal) {
        let _ = kill(self.process, signal);
    }

    /// Its status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.guard.try_wait().expect("it ran")
    }

    /// Kills it, and returns when it has ended.
    pub fn kill(&mut self) {
        drop(self.input.take());
        let _ = self.guard.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.kill();
    }
}
