//! The certificate, the log level, and what needs a restart.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ptc_test_support::child_process::on_a_free_port;
use ptc_test_support::wait_until;
use tempfile::TempDir;

use super::{PROGRAM, fault, reload, told};

const SETTINGS: &str = "http-tls-cert = \"cert.pem\"\nhttp-tls-key = \"key.pem\"\nca-file = \"ca.pem\"\n";

/// A server over HTTPS with a settings file.
struct Secure {
    server: Child,
    port: u16,
    home: TempDir,
}

/// Writes a certificate of its own for this machine, and its key.
fn certify(home: &Path) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    fs::write(home.join("cert.pem"), certified.cert.pem()).expect("written");
    fs::write(home.join("key.pem"), certified.signing_key.serialize_pem()).expect("written");
}

/// Whether the server at this port shows a certificate.
fn shows(home: &Path, port: u16, certificate: &str) -> bool {
    let url = format!("https://localhost:{port}/health");
    let path = home.join(certificate);
    let mut command = Command::new(PROGRAM);
    command.args(["health", "--url", &url, "--ca-file", path.to_str().expect("UTF-8")]);
    command.env_clear().env("HOME", home).output().expect("it runs").status.success()
}

impl Secure {
    fn start() -> Secure {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path();
        certify(path);
        fs::copy(path.join("cert.pem"), path.join("ca.pem")).expect("copied");
        fs::write(path.join("ptc.toml"), SETTINGS).expect("written");
        fs::write(path.join("env"), "").expect("written");
        let start = |free: std::net::SocketAddr| {
            let log = fs::File::options().create(true).append(true).open(path.join("log")).expect("a log");
            let mut command = Command::new(PROGRAM);
            command.args(["start", "--http", "--http-disable-auth", "--config"]).arg(path.join("ptc.toml"));
            command.arg("--env-file").arg(path.join("env"));
            command.args(["--http-port", &free.port().to_string()]);
            command.env_clear().env("HOME", path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            command.spawn().expect("it starts")
        };
        let is_ready = |_: &Child, free: std::net::SocketAddr| {
            shows(path, free.port(), "cert.pem") && reload(path, &["--check"]).status.success()
        };
        let (server, address) = on_a_free_port(start, is_ready).expect("it serves");
        Secure { server, port: address.port(), home }
    }

    fn set(&self, more: &str) {
        fs::write(self.home.path().join("ptc.toml"), format!("{SETTINGS}{more}")).expect("written");
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        // After a clean end there is nothing to kill.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_renewed_certificate_is_shown_to_connections_that_come_later() {
    let world = Secure::start();
    let home = world.home.path();
    fs::rename(home.join("cert.pem"), home.join("former.pem")).expect("renamed");
    certify(home);
    let key = fs::read(home.join("key.pem")).expect("a key");
    fs::write(home.join("key.pem"), "no key").expect("written");
    assert!(fault(&reload(home, &[])).contains("http-tls-key in "));
    fs::write(home.join("key.pem"), key).expect("written");
    assert!(told(&reload(home, &["--check"])).contains("certificate"));
    assert!(shows(home, world.port, "former.pem") && !shows(home, world.port, "cert.pem"));
    assert!(told(&reload(home, &[])).contains("https://127.0.0.1"));
    assert!(!shows(home, world.port, "former.pem") && shows(home, world.port, "cert.pem"));
    assert!(told(&reload(home, &[])).starts_with("nothing has changed"));
}

#[test]
fn settings_change_as_far_as_they_can_and_the_rest_is_told() {
    let world = Secure::start();
    let home = world.home.path();
    world.set("log-level = \"debug\"\nhttp-max-connections = 7\nstate-dir = \"elsewhere\"\n");
    fs::write(home.join("env"), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:9\n").expect("written");
    let authority = fs::read_to_string(home.join("ca.pem")).expect("a certificate");
    fs::write(home.join("ca.pem"), authority.repeat(2)).expect("written");
    let text = told(&reload(home, &[]));
    for told in [
        "log level: debug instead of info",
        "needs a restart: --http-max-connections",
        "needs a restart: --state-dir",
        "needs a restart: the OpenTelemetry export",
        "needs a restart: the file of --ca-file",
    ] {
        assert!(text.contains(told), "{text}");
    }
    assert!(!text.contains("needs a restart: --log-level"), "{text}");
    assert!(told(&reload(home, &["--check"])).starts_with("nothing would change"));
    let has_details = || fs::read_to_string(home.join("log")).expect("a log").contains("\"level\":\"debug\"");
    wait_until("details are logged", has_details);
    world.set("log-level = \"loud\"\n");
    assert!(fault(&reload(home, &[])).contains("loud"));
    world.set("");
    assert!(told(&reload(home, &[])).contains("log level: info instead of debug"));
}
