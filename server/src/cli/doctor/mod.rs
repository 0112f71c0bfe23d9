//! `ptc doctor`: checks the whole setup of a person, and prints the command that solves each problem.
//!
//! It starts nothing, connects only to this machine, and writes nothing but the file of `--bundle`. `ptc check` tests whether
//! servers answer.

mod bundle;
mod redaction;

pub(super) use redaction::origin;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use nix::sys::resource::{Resource, getrlimit};
use ptc_host::config::{
    ConfigLocation, ConfigPart, ProcessEnv, SERVER_VARIABLE, Transport, UpstreamConfig, UpstreamsConfig,
    file_faults, locate, lock_file,
};
use ptc_host::time;
use ptc_host::visible::{visible, visible_line};
use ptc_mcp::json::{Value, json};

use super::setup::{self, ClientState};
use super::sign_in::auth;
use super::{health, output, report, upstreams};
use crate::options::cache_folder;
use crate::options::variables;

/// Longest wait for the store of sign-ins and for a server on this machine.
const PATIENCE: Duration = Duration::from_secs(3);
/// Descriptors that a process needs for itself and for each child and connection of a few upstreams.
const FEW_DESCRIPTORS: u64 = 256;

/// Arguments of `ptc doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Print JSON for programs instead of lines for people
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    bundle: bundle::BundleArgs,

    #[command(flatten)]
    desk: auth::DeskArgs,
}

/// The subject and the result of a check.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    about: String,
    message: String,
    /// The command to type, if it is a problem.
    next_step: Option<String>,
}

impl Finding {
    fn well(about: impl Into<String>, message: impl Into<String>) -> Self {
        Self { about: about.into(), message: message.into(), next_step: None }
    }

    fn problem(about: impl Into<String>, message: impl Into<String>, next_step: impl Into<String>) -> Self {
        let next_step = Some(next_step.into());
        Self { about: about.into(), message: message.into(), next_step }
    }

    fn is_problem(&self) -> bool {
        self.next_step.is_some()
    }

    fn json(&self) -> Value {
        json!({
            "about": self.about, "ok": !self.is_problem(), "message": self.message, "next_step": self.next_step
        })
    }
}

/// Runs the sub-command: exit status 1 if there is a problem, or a bundle was not written.
pub fn run(args: &DoctorArgs) -> ExitCode {
    let env = ProcessEnv::current();
    // What the server of these files would have as variables: what is found is about that one.
    let served = args.bundle.served(&env);
    let folder = std::env::current_dir().unwrap_or_default();
    let runtime = match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime,
        Err(error) => return report::fault(&format!("cannot start the event loop: {error}")),
    };
    let findings = runtime.block_on(look(args, &served, &folder));
    let problems = findings.iter().filter(|finding| finding.is_problem()).count();
    if let Some(path) = args.bundle.path() {
        let location = locate(args.desk.upstreams_config(), Some(SERVER_VARIABLE), &served);
        let findings = json!(findings.iter().map(Finding::json).collect::<Vec<_>>());
        let upstreams_file = location.as_ref().map(|location| location.path.as_path());
        let found = bundle::Found { findings, upstreams_file, state_dir: args.desk.state_dir() };
        return match args.bundle.write(path, &env, found) {
            Ok(told) => {
                output::write(format_args!("{}", visible(&told)));
                ExitCode::SUCCESS
            }
            Err(why) => report::fault(&why),
        };
    }
    let text = if args.json { as_json(&findings, problems) } else { as_lines(&findings, problems) };
    output::write(format_args!("{}", visible(&text)));
    if problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn look(args: &DoctorArgs, env: &ProcessEnv, folder: &Path) -> Vec<Finding> {
    let mut findings = environment(env);
    let location = locate(args.desk.upstreams_config(), Some(SERVER_VARIABLE), env);
    let config = file(location.as_ref(), env, &mut findings);
    if let Some(config) = &config {
        findings.extend(config.upstreams.iter().map(upstream));
        if config.upstreams.iter().any(|upstream| upstream.transport.oauth().is_some()) {
            findings.extend(sign_ins(&args.desk, env).await);
        }
    }
    findings.extend(clients(env, folder));
    findings.extend(port(env).await);
    findings.push(descriptors());
    findings.extend(folders(env));
    findings
}

/// Variables that are missing, misspelt or at odds.
fn environment(env: &ProcessEnv) -> Vec<Finding> {
    let mut findings = Vec::new();
    if ["HOME", "XDG_CONFIG_HOME"].into_iter().all(|name| env.first_set([name]).is_none()) {
        findings.push(Finding::problem(
            "environment",
            "neither HOME nor XDG_CONFIG_HOME is set, so there is no default place for files",
            "export HOME=/a/folder, or name files with --upstreams-config and --state-dir",
        ));
    }
    findings.extend(variables::unknown(env).into_iter().map(|unknown| Finding::well("environment", unknown)));
    findings
}

/// Reads the upstreams file.
fn file(
    location: Option<&ConfigLocation>,
    env: &ProcessEnv,
    findings: &mut Vec<Finding>,
) -> Option<UpstreamsConfig> {
    let about = "upstreams file";
    let Some(location) = location else {
        findings.push(Finding::problem(
            about,
            "no upstreams are configured",
            "ptc import, or ptc add NAME -- COMMAND",
        ));
        return None;
    };
    let path = location.path.display().to_string();
    let config = match upstreams::read(location, env) {
        Ok(Some(config)) => config,
        Ok(None) => {
            findings.push(Finding::problem(
                about,
                format!("{path} is gone"),
                "ptc import, or ptc add NAME -- COMMAND",
            ));
            return None;
        }
        Err(error) => {
            let text = setup::atomic_file::read(&location.path).ok().flatten().unwrap_or_default();
            let faults = file_faults(&text, Some(&error));
            let edit = |place: String| format!("edit {place}, then: ptc check");
            if error.part == ConfigPart::Lock {
                let lock = lock_file(&location.path).display().to_string();
                let step = format!("restore {lock}, or: rm {lock} && ptc pin");
                findings.push(Finding::problem("lock", error.to_string(), step));
                return None;
            }
            if error.part == ConfigPart::LockOfAnother {
                let step = format!("give {path} another name, then: ptc pin");
                findings.push(Finding::problem("lock", error.to_string(), step));
                return None;
            }
            match faults.as_slice() {
                [] => error.to_string().lines().for_each(|line| {
                    findings.push(Finding::problem(about, line, edit(path.clone())));
                }),
                faults => findings.extend(faults.iter().map(|fault| {
                    let place = format!("{path}:{}:{}", fault.line, fault.column);
                    Finding::problem(about, fault.message.clone(), edit(place))
                })),
            }
            return None;
        }
    };
    findings.push(Finding::well(about, format!("{path}: {} upstreams", config.upstreams.len())));
    for warning in &config.warnings {
        // A variable that is not set, or a credential without a value: calls will fail.
        let message = warning.message.clone();
        let before = message.split_once(" is not set").map(|(before, _)| before);
        findings.push(match before.and_then(|before| before.split(' ').next_back()) {
            Some(name) => {
                let step = format!("export {name}=…, or write it into a file and name that with --env-file");
                Finding::problem(about, message, step)
            }
            None => Finding::well(about, message),
        });
    }
    if setup::exposes_secret(&location.path) {
        let path = setup::quoted(&location.path);
        findings.push(Finding::problem(
            about,
            "it holds a secret, and others than its owner can read it",
            format!("chmod 600 {path}"),
        ));
    }
    Some(config)
}

/// Checks that the program of an upstream exists.
fn upstream(upstream: &UpstreamConfig) -> Finding {
    let about = format!("upstream {}", upstream.name);
    let Transport::Stdio(entry) = &upstream.transport else {
        return Finding::well(about, upstream.transport.as_str());
    };
    if let Some(folder) = entry.cd.as_deref().filter(|folder| !folder.is_dir()) {
        let message = format!("its folder {} is not there", folder.display());
        return Finding::problem(
            about,
            message,
            format!("mkdir -p {}, or change \"cd\"", setup::quoted(folder)),
        );
    }
    match entry.program() {
        Some(program) => Finding::well(about, format!("starts {}", program.display())),
        None => {
            let package = match entry.command.as_str() {
                "npx" | "npm" | "node" => "install Node.js (https://nodejs.org)".to_owned(),
                "uvx" | "uv" => "install uv: curl -LsSf https://astral.sh/uv/install.sh | sh".to_owned(),
                "docker" => "install Docker, or start it".to_owned(),
                command => {
                    format!("install {}, or write its whole path as \"command\"", visible_line(command))
                }
            };
            let message = format!(
                "its command {} is not there, along the PATH of this shell",
                visible_line(&entry.command)
            );
            Finding::problem(about, message, package)
        }
    }
}

/// Checks the sign-ins to upstreams.
async fn sign_ins(desk: &auth::DeskArgs, env: &ProcessEnv) -> Vec<Finding> {
    let states = match time::timeout(PATIENCE, auth::statuses(desk, env)).await {
        Ok(Ok(states)) => states,
        Ok(Err(why)) => return vec![Finding::problem("sign-ins", why, "ptc auth")],
        Err(_) => return vec![Finding::problem("sign-ins", "their store does not answer", "ptc auth")],
    };
    let told = |state: &ptc_host::sign_in::SignInStatus| {
        let about = format!("sign-in {}", state.name);
        match auth::next_step(state) {
            Some(step) => Finding::problem(about, "nobody has signed in", step),
            None => Finding::well(about, "signed in"),
        }
    };
    states.iter().map(told).collect()
}

/// Checks that clients start this program, and that the program they start exists.
fn clients(env: &ProcessEnv, folder: &Path) -> Vec<Finding> {
    let states = setup::client_states(env, folder);
    let mut findings = Vec::new();
    let starts_somewhere = states.iter().any(|(_, _, state)| matches!(state, ClientState::Starts { .. }));
    for (name, label, state) in &states {
        let about = format!("client {label}");
        match state {
            ClientState::Broken(why) => {
                findings.push(Finding::problem(about, why.clone(), "mend that file; ptc does not"))
            }
            ClientState::Without if starts_somewhere => {
                findings.push(Finding::well(about, "does not start ptc"))
            }
            ClientState::Without => {
                findings.push(Finding::problem(
                    about,
                    "does not start ptc",
                    format!("ptc init --client {name}"),
                ));
            }
            ClientState::Starts { missing, doubles } => {
                findings.extend(missing.iter().map(|path| {
                    let message = format!("its entry of ptc names {path}, which is not there");
                    Finding::problem(about.clone(), message, format!("ptc init --client {name}"))
                }));
                if !doubles.is_empty() {
                    let message = format!(
                        "has {} besides, which ptc reaches: the model sees those tools twice",
                        doubles.join(", ")
                    );
                    findings.push(Finding::problem(
                        about.clone(),
                        message,
                        format!("ptc init --client {name} --move"),
                    ));
                }
                if missing.is_empty() && doubles.is_empty() {
                    findings.push(Finding::well(about, "starts ptc"));
                }
            }
        }
    }
    if states.is_empty() {
        findings.push(Finding::well("clients", "none has a file here"));
    }
    findings
}

/// Checks which process listens on the port of `ptc start --http`.
async fn port(env: &ProcessEnv) -> Option<Finding> {
    let about = "port";
    let port = match health::port(None, env) {
        Ok(port) => port,
        Err(why) => return Some(Finding::problem(about, why, "unset it, or export PTC_HTTP_PORT=7332")),
    };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let connected = time::timeout(PATIENCE, tokio::net::TcpStream::connect(address)).await;
    if !matches!(connected, Ok(Ok(_))) {
        return Some(Finding::well(about, format!("{port} is free for ptc start --http")));
    }
    Some(match time::timeout(PATIENCE, health::is_well(port, env)).await {
        Ok(true) => Finding::well(about, format!("{port}: a ptc server is well there")),
        _ => Finding::problem(
            about,
            format!(
                "{port}, where ptc start --http would listen, is taken by something that does not answer as ptc does"
            ),
            "ptc start --http --http-port 7333, or end that process",
        ),
    })
}

fn descriptors() -> Finding {
    let about = "open files";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((_, most)) if most < FEW_DESCRIPTORS => Finding::problem(
            about,
            format!("at most {most}; upstreams and connections take some each"),
            "ulimit -n 4096, or LimitNOFILE= in a unit",
        ),
        Ok((_, most)) => Finding::well(about, format!("at most {most}")),
        Err(error) => Finding::well(about, format!("the limit is not known: {error}")),
    }
}

/// Checks the folders of state that exist: only their owner has access, and they are writable.
fn folders(env: &ProcessEnv) -> Vec<Finding> {
    let state = crate::options::sign_in_store::StorePlace::of(env, None, Default::default());
    let places = [("folder of sign-ins", state.folder(), true), ("cache", cache_folder(env), false)];
    places.into_iter().filter_map(|(about, path, is_private)| folder(about, &path?, is_private)).collect()
}

fn folder(about: &str, path: &Path, is_private: bool) -> Option<Finding> {
    let shown = path.display();
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            return Some(Finding::problem(
                about,
                format!("{shown}: {error}"),
                format!("ls -ld {}", setup::quoted(path)),
            ));
        }
    };
    if !found.is_dir() {
        let step = format!("mv {0} {0}.old", setup::quoted(path));
        return Some(Finding::problem(about, format!("{shown} is no folder"), step));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let step = |command: &str| format!("{command} {}", setup::quoted(path));
        if found.uid() != nix::unistd::geteuid().as_raw() {
            return Some(Finding::problem(
                about,
                format!("{shown} belongs to somebody else"),
                step("sudo chown \"$USER\""),
            ));
        }
        if is_private && found.permissions().mode() & 0o077 != 0 {
            return Some(Finding::problem(about, format!("others may look into {shown}"), step("chmod 700")));
        }
        if found.permissions().mode() & 0o700 != 0o700 {
            return Some(Finding::problem(about, format!("its owner cannot use {shown}"), step("chmod 700")));
        }
    }
    Some(Finding::well(about, shown.to_string()))
}

fn as_json(findings: &[Finding], problems: usize) -> String {
    let findings: Vec<Value> = findings.iter().map(Finding::json).collect();
    json!({"ok": problems == 0, "findings": findings}).to_string() + "\n"
}

/// Problems come first: a person runs the command for them.
fn as_lines(findings: &[Finding], problems: usize) -> String {
    let width = findings.iter().map(|finding| finding.about.chars().count()).max().unwrap_or(0);
    let line = |finding: &Finding| {
        let sign = if finding.is_problem() { "!" } else { "+" };
        let step =
            finding.next_step.as_ref().map(|step| format!("\n  {:width$}  → {}", "", visible_line(step)));
        format!(
            "{sign} {:width$}  {}{}\n",
            visible_line(&finding.about),
            visible_line(&finding.message),
            step.unwrap_or_default()
        )
    };
    let of = |is_problem| findings.iter().filter(move |finding| finding.is_problem() == is_problem).map(line);
    let end = match problems {
        0 => "Nothing is wrong here. Whether the upstreams answer: ptc check\n".to_owned(),
        1 => "1 problem; the command after → fixes it\n".to_owned(),
        more => format!("{more} problems; the command after each → fixes it\n"),
    };
    of(true).chain(of(false)).chain([end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> (tempfile::TempDir, ConfigLocation) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("upstreams.json");
        fs::write(&path, text).unwrap();
        (folder, ConfigLocation { path, named_by: ptc_host::config::NamedBy::Flag })
    }

    fn problems(findings: &[Finding]) -> Vec<String> {
        let problems = findings.iter().filter(|finding| finding.is_problem());
        problems
            .map(|finding| {
                format!("{}: {} → {}", finding.about, finding.message, finding.next_step.as_deref().unwrap())
            })
            .collect()
    }

    #[test]
    fn each_fault_of_the_file_is_a_problem_with_its_place() {
        let env = ProcessEnv::from_iter([("PATH", "/usr/bin:/bin")]);
        let mut findings = Vec::new();
        assert!(file(None, &env, &mut findings).is_none());
        assert_eq!(
            problems(&findings),
            ["upstreams file: no upstreams are configured → ptc import, or ptc add NAME -- COMMAND"]
        );
        let (_kept, location) = config(
            "{\"upstreams\": {\"a\": {\"comand\": \"x\"},\n\"b\": {\"transport\": \"mcp_stdio\", \"command\": 5}}}",
        );
        let mut findings = Vec::new();
        assert!(file(Some(&location), &env, &mut findings).is_none());
        let told = problems(&findings);
        assert!(told.len() >= 2 && told.iter().any(|line| line.contains("upstreams.json:2:")), "{told:?}");
    }

    #[test]
    fn commands_and_folders_that_are_not_there_are_problems() {
        let env = ProcessEnv::from_iter([("PATH", "/usr/bin:/bin")]);
        let (_kept, location) = config(
            r#"{"upstreams": {
                "gone": {"transport": "mcp_stdio", "command": "no-such-program"},
                "lost": {"transport": "mcp_stdio", "command": "sh", "cd": "/no/such folder"},
                "unset": {"transport": "mcp_stdio", "command": "sh", "env": {"K": "${NOT_SET}"}, "required": false},
                "well": {"transport": "mcp_stdio", "command": "sh"}
            }}"#,
        );
        let mut findings = Vec::new();
        let read = file(Some(&location), &env, &mut findings).unwrap();
        findings.extend(read.upstreams.iter().map(upstream));
        let told = problems(&findings);
        assert!(
            told.iter().any(|line| line.contains("gone: its command no-such-program is not there")),
            "{told:?}"
        );
        assert!(told.iter().any(|line| line.contains("mkdir -p '/no/such folder'")), "{told:?}");
        assert!(told.iter().any(|line| line.contains("NOT_SET")), "{told:?}");
        assert!(!told.iter().any(|line| line.contains("well")), "{told:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_look_into_is_a_problem() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let set = |mode| fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
        set(0o755);
        let found = folder("state", dir.path(), true).unwrap();
        assert_eq!(found.next_step.unwrap(), format!("chmod 700 {}", dir.path().display()));
        set(0o700);
        assert!(!folder("state", dir.path(), true).unwrap().is_problem());
        assert_eq!(folder("state", &dir.path().join("none"), true), None);
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(folder("state", &dir.path().join("file"), true).unwrap().message.ends_with("is no folder"));
    }

    #[test]
    fn problems_come_first_with_what_to_type() {
        let findings = [Finding::well("a", "well"), Finding::problem("long name", "bad", "do it")];
        assert_eq!(
            as_lines(&findings, 1),
            "! long name  bad\n             → do it\n+ a          well\n1 problem; the command after → fixes it\n"
        );
        let json: Value = ptc_mcp::json::from_str(as_json(&findings, 1).trim()).unwrap();
        assert_eq!(
            json["findings"][1],
            json!({"about": "long name", "ok": false, "message": "bad", "next_step": "do it"})
        );
        assert_eq!(json["ok"], false);
    }

    #[tokio::test]
    async fn a_port_that_another_program_has_is_a_problem() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port_text = listener.local_addr().unwrap().port().to_string();
        let env = ProcessEnv::from_iter([("PTC_HTTP_PORT", port_text.as_str())]);
        let answer = async {
            loop {
                // Connections are closed at once.
                drop(listener.accept().await);
            }
        };
        let found = tokio::select! {
            found = port(&env) => found.unwrap(),
            () = answer => unreachable!("it never ends"),
        };
        assert!(found.is_problem() && found.message.contains("is taken by something"), "{found:?}");
        drop(listener);
        assert!(!port(&env).await.unwrap().is_problem());
    }
}
