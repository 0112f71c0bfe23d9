//! The servers under test and what the system tells of them.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

/// A running server.
pub(crate) struct Server {
    child: Child,
    /// Where it listens.
    pub(crate) port: u16,
}

impl Server {
    /// `ptc start --http` with further flags.
    pub(crate) async fn ptc_http(ptc: &str, flags: &[&str]) -> Server {
        Self::ptc(Command::new(ptc), flags).await
    }

    /// The same on the first processor.
    pub(crate) async fn ptc_http_apart(ptc: &str, flags: &[&str]) -> Server {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", "0", ptc]);
        Self::ptc(command, flags).await
    }

    async fn ptc(mut command: Command, flags: &[&str]) -> Server {
        let port = free_port().await;
        command
            .args(["start", "--http", "--http-port", &port.to_string(), "--log-level", "warn"])
            .args(flags);
        Self::start(command, port).await
    }

    /// A server written with rmcp.
    pub(crate) async fn rmcp_http() -> Server {
        Self::own("rmcp-http").await
    }

    /// An upstream for programs to call.
    pub(crate) async fn upstream() -> Server {
        Self::own("upstream").await
    }

    async fn own(role: &str) -> Server {
        let port = free_port().await;
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        command.args([role, &port.to_string()]);
        Self::start(command, port).await
    }

    /// A bare server that always answers this.
    pub(crate) async fn bare_http(answer: &str) -> Server {
        let port = free_port().await;
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        command.args(["bare-http", &port.to_string()]).env("ANSWER", answer);
        Self::start(command, port).await
    }

    /// A Redis that keeps nothing on disk, if one is installed.
    pub(crate) async fn redis(folder: &Path) -> Option<Server> {
        Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().await.ok()?;
        let port = free_port().await;
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--save", "", "--bind", "127.0.0.1", "--dir"]).arg(folder);
        command.stdout(Stdio::null());
        Some(Self::start(command, port).await)
    }

    async fn start(mut command: Command, port: u16) -> Server {
        let child =
            command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().expect("it starts");
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
                return Server { child, port };
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no server came up on port {port}");
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }
}

/// CPU seconds that a process has used, to a hundredth.
pub(crate) fn cpu_seconds(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    // Behind the name, which may hold anything, user and system time are fields 12 and 13.
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks: f64 = fields[11..=12].iter().map(|field| field.parse::<f64>().expect("a number")).sum();
    ticks / 100.0
}

/// Most memory that a process ever had, in MiB.
pub(crate) fn peak_mib(process: u32) -> f64 {
    memory_mib(process, "VmHWM:")
}

/// Memory that a process has now, in MiB.
pub(crate) fn resident_mib(process: u32) -> f64 {
    memory_mib(process, "VmRSS:")
}

fn memory_mib(process: u32, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let kib = status.lines().find_map(|line| line.strip_prefix(field)).expect("a line of it");
    kib.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") / 1024.0
}

async fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.and_then(|free| free.local_addr()).expect("a port").port()
}
