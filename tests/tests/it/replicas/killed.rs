//! Two servers of which one after the other is killed (`kill -9`) and started again, behind a balancer (`ptc_tests::replicated`).

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use ptc_mcp::json::{Value, json};
use ptc_test_support::child_process::on_a_free_port;
use ptc_test_support::guarded::Guarded;
use ptc_test_support::redis_server;
use tempfile::TempDir;

use ptc_test_support::PATIENCE;
use ptc_test_support::process::Answer;

/// How often one is killed. Behind that there is peace: who waits for what a killed one has begun is told in the end that it has come to
/// nothing, which takes longer than they live before.
pub(crate) const KILLS: usize = 4;

/// Both of them, which end with this value.
pub(crate) struct Killed {
    _process: Guarded,
    pub(crate) address: String,
    folder: TempDir,
}

/// When servers are killed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kills {
    /// While no request is under way that must not come twice.
    InLulls,
    /// At any moment: whoever was talking to that one has no answer.
    Anytime,
}

impl Killed {
    /// With these flags, and the tool server of these tests as the upstream `fake` with its tool `note` and these keys in its entry.
    /// `None` where there is no `redis-server`.
    pub(crate) fn start(flags: &[&str], keys: Value, kills: Kills) -> Option<Killed> {
        if !redis_server::is_there() {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let mut entry = json!({"transport": "mcp_stdio", "command": env!("CARGO_BIN_EXE_fake-upstream"), "args": ["--notes"]});
        for (key, value) in keys.as_object().expect("keys") {
            entry[key.as_str()] = value.clone();
        }
        let upstreams = folder.path().join("upstreams.json");
        std::fs::write(&upstreams, json!({"upstreams": {"fake": entry}}).to_string()).expect("written");
        let start = |free: SocketAddr| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_replicated"));
            command.args(["start", "--http", "--http-disable-auth", "--http-port", &free.port().to_string()]);
            command.args(["--log-level", "error", "--upstreams-config"]).arg(&upstreams).args(flags);
            // A test goes on until there were enough kills, however many runs that takes.
            command.args(["--max-runs", "100000", "--max-runs-per-owner", "100000"]);
            command.env("HOME", folder.path()).env("PTC_TEST_KILL_LOG", log(folder.path()));
            if std::env::var_os("PTC_TEST_KILL_MS").is_none() {
                command.env("PTC_TEST_KILL_MS", "1000");
            }
            command.env("PTC_TEST_KILL_MOST", KILLS.to_string());
            if kills == Kills::Anytime {
                command.env("PTC_TEST_KILL_ANYTIME", "1");
            }
            Guarded::run(&command, None)
        };
        let is_ready = |_: &Guarded, free: SocketAddr| is_healthy(&free.to_string()).unwrap_or(false);
        let (process, address) = on_a_free_port(start, is_ready).expect("servers that start");
        Some(Killed { _process: process, address: address.to_string(), folder })
    }

    /// How often one of them was killed so far.
    pub(crate) fn kills(&self) -> usize {
        std::fs::read_to_string(log(self.folder.path())).unwrap_or_default().lines().count()
    }

    /// A path in a folder of theirs.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        // Whoever runs the tests may count kills too (`tests/replicated`).
        let Some(path) = std::env::var_os("PTC_TEST_KILL_LOG") else { return };
        let told = std::fs::read(log(self.folder.path())).unwrap_or_default();
        let all = std::fs::File::options().create(true).append(true).open(path);
        all.and_then(|mut all| all.write_all(&told)).expect("written");
    }
}

/// The file that gets a line for each kill.
fn log(folder: &Path) -> PathBuf {
    folder.join("kills")
}

fn is_healthy(address: &str) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    Ok(Answer::read(stream)?.status == 200)
}
