//! `ptc reload`: has a running server read its files again.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use ptc_host::config::ProcessEnv;
use ptc_host::visible::visible;

use super::report;
use crate::cli::output::outln;
use crate::control::client::{RunningServer, RunningServers, is_absent, running};
use crate::control::is_too_long;
use crate::control::message::{Description, ReloadOutcome, ReloadReport};
use crate::options::flags::find;
use crate::options::sign_in_store::{KeyPlace, StorePlace};

/// Arguments of `ptc reload`.
#[derive(Args, Debug)]
pub struct ReloadArgs {
    /// Only check the files, and show what would change
    #[arg(long)]
    check: bool,

    /// The process of the server, if several are running
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,

    /// The control socket of the server
    #[arg(long, value_name = "PATH", conflicts_with_all = ["pid", "state_dir"])]
    socket: Option<PathBuf>,

    #[arg(long, help = find("state-dir").described(), value_name = "PATH")]
    state_dir: Option<PathBuf>,

    /// Longest wait: new upstreams are started before anything changes
    #[arg(long, value_name = "MS", default_value_t = 120_000)]
    timeout_ms: u64,
}

/// Runs the sub-command: exit status 0 if all files hold, or would.
pub fn run(args: &ReloadArgs) -> ExitCode {
    let mut server = match server(args) {
        Ok(server) => server,
        Err(why) => return report::fault(&why),
    };
    let Description { pid, version, serves } = server.description.clone();
    let which = format!("ptc {version}, process {pid}, on {serves}");
    let within = Duration::from_millis(args.timeout_ms.max(1));
    match server.reload(args.check, within) {
        Ok(ReloadOutcome::Accepted(accepted)) => {
            outln!("{}", visible(&told(args.check, &which, &accepted)));
            match accepted.faults.is_empty() {
                true => ExitCode::SUCCESS,
                false => report::fault(&accepted.faults.join("\n")),
            }
        }
        Ok(ReloadOutcome::Refused(reason)) => {
            report::fault(&format!("{which} refuses to reload, and nothing has changed:\n{reason}"))
        }
        Err(error) => report::fault(&no_answer(&which, &error, within)),
    }
}

fn told(check: bool, which: &str, report: &ReloadReport) -> String {
    let verb = match (check, report.changes.is_empty()) {
        (true, true) => "nothing would change",
        (true, false) => "would change",
        (false, true) => "nothing has changed",
        (false, false) => "reloaded",
    };
    let changes = report.changes.iter().map(|change| format!("\n  {change}"));
    let restart = report.needs_restart.iter().map(|what| format!("\n  needs a restart: {what}"));
    format!("{verb}: {which}{}", changes.chain(restart).collect::<String>())
}

fn no_answer(which: &str, error: &io::Error, within: Duration) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!(
                "{which} has not answered within {} ms; its log says what becomes of the reload",
                within.as_millis()
            )
        }
        _ => format!("{which} gives no answer: {error}"),
    }
}

/// The server that is meant.
fn server(args: &ReloadArgs) -> Result<RunningServer, String> {
    if let Some(socket) = &args.socket {
        return RunningServer::at(socket).map_err(|error| match is_absent(&error) {
            true => format!("no server listens at {}: {error}", socket.display()),
            false => unanswered(socket, &error),
        });
    }
    let place = StorePlace::of(&ProcessEnv::current(), args.state_dir.clone(), KeyPlace::default());
    let folder = place.folder().ok_or(
        "it is not known where the server keeps its state: name the folder with --state-dir, or set HOME",
    )?;
    let RunningServers { answering, silent } = running(&folder);
    if answering.is_empty()
        && let Some((socket, error)) = silent.first()
    {
        return Err(unanswered(socket, error));
    }
    if let Some(why) = is_too_long(&folder).filter(|_| answering.is_empty()) {
        return Err(format!("no server can listen for commands: {why}"));
    }
    choose(answering, args.pid, &folder, |server| &server.description)
}

/// What is told of a server that takes connections and does not say which it is.
fn unanswered(socket: &Path, error: &io::Error) -> String {
    format!("a server listens at {} and gives no answer: {error}", socket.display())
}

/// The one of several servers that is meant.
fn choose<S>(
    mut servers: Vec<S>,
    pid: Option<u32>,
    folder: &Path,
    described: impl Fn(&S) -> &Description,
) -> Result<S, String> {
    if let Some(pid) = pid {
        servers.retain(|server| described(server).pid == pid);
    }
    let several = servers.iter().map(|server| {
        let Description { pid, version, serves } = described(server);
        format!("\n  --pid {pid}: ptc {version} on {serves}")
    });
    let several: String = several.collect();
    match (servers.len(), servers.pop()) {
        (1, Some(server)) => Ok(server),
        (0, _) => {
            let which = pid.map_or_else(|| "a server".to_owned(), |pid| format!("process {pid}"));
            Err(format!(
                "{which} does not listen in {}; name the folder of its state with --state-dir",
                folder.display()
            ))
        }
        (count, _) => Err(format!("{count} servers are running; say which is meant:{several}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(pid: u32) -> Description {
        Description { pid, version: "1.0.0".into(), serves: "a pipe".into() }
    }

    #[test]
    fn one_server_is_chosen_and_of_several_the_named_one() {
        let choose = |pids: &[u32], pid| {
            let servers = pids.iter().map(|pid| server(*pid)).collect();
            choose(servers, pid, Path::new("/state"), |server| server).map(|server| server.pid)
        };
        assert_eq!(choose(&[7], None), Ok(7));
        assert_eq!(choose(&[7, 8], Some(8)), Ok(8));
        assert_eq!(
            choose(&[7, 8], None).unwrap_err(),
            "2 servers are running; say which is meant:\n  --pid 7: ptc 1.0.0 on a pipe\n  --pid 8: ptc 1.0.0 on a pipe"
        );
        let none = choose(&[7], Some(9)).unwrap_err();
        assert_eq!(
            none,
            "process 9 does not listen in /state; name the folder of its state with --state-dir"
        );
        assert!(choose(&[], None).unwrap_err().starts_with("a server does not listen in /state"));
    }

    #[test]
    fn what_changes_and_what_needs_a_restart_is_told() {
        let report = ReloadReport {
            changes: vec!["tokens: 1 added, 0 removed".into()],
            faults: Vec::new(),
            needs_restart: vec!["--http-port".into()],
        };
        assert_eq!(
            told(false, "ptc 1", &report),
            "reloaded: ptc 1\n  tokens: 1 added, 0 removed\n  needs a restart: --http-port"
        );
        assert_eq!(told(true, "ptc 1", &ReloadReport::default()), "nothing would change: ptc 1");
    }
}
