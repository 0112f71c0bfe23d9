//! `ptc health`: checks whether a running server is healthy, for containers and service managers that have no other
//! program for this.

use crate::cli::output::outln;
use ptc_host::visible::visible;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use http::{HeaderMap, Method};
use ptc_host::config::ProcessEnv;
use ptc_host::http::{Client, HttpError, Limits, Request, Response, Target};
use ptc_host::time;
use url::Url;

use super::{report, upstreams};
use crate::options::flags::find;

/// The default port of `ptc start --http`.
const DEFAULT_PORT: u16 = 7332;
/// Longest answer that is shown.
const MAX_BYTES: usize = 4096;

/// Arguments of `ptc health`.
#[derive(Args, Debug)]
pub struct HealthArgs {
    /// Port on this machine that the server listens on [env: PTC_HTTP_PORT] [default: 7332]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Ask this URL instead, for instance that of a TLS listener
    #[arg(long, value_name = "URL", conflicts_with = "port")]
    url: Option<Url>,

    #[arg(long, help = find("ca-file").described(), value_name = "FILE")]
    ca_file: Option<PathBuf>,

    /// Ask whether it takes new work, rather than whether it lives
    #[arg(long)]
    ready: bool,

    /// Longest wait
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    timeout_ms: u64,
}

/// Runs the sub-command: exit status 0 for any 2xx answer.
pub fn run(args: &HealthArgs) -> ExitCode {
    match crate::cli::event_loop::event_loop() {
        Ok(runtime) => match runtime.block_on(ask(args, &ProcessEnv::current())) {
            Ok(text) => {
                outln!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => report::fault(&error),
        },
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

/// The port of the flag, else of the variable of `ptc start`, else its default.
pub(super) fn port(given: Option<u16>, env: &ProcessEnv) -> Result<u16, String> {
    let set = || find("http-port").in_environment(env);
    match (given, set()) {
        (Some(port), _) => Ok(port),
        (None, None) => Ok(DEFAULT_PORT),
        (None, Some((name, text))) => {
            text.to_str().and_then(|text| text.trim().parse().ok()).ok_or_else(|| {
                format!("{name} must be a port number from 1 to 65535, got: {:?}", text.to_string_lossy())
            })
        }
    }
}

async fn ask(args: &HealthArgs, env: &ProcessEnv) -> Result<String, String> {
    let path = if args.ready { "/ready" } else { "/health" };
    if let Some(given) = &args.url {
        let mut url = given.clone();
        if url.path() == "/" {
            url.set_path(path);
        }
        let client = upstreams::http(args.ca_file.as_deref(), env)?;
        return told(
            &url,
            exchange(&client, &url, args.timeout_ms).await.map_err(|error| fault(&url, &error))?,
        )
        .await;
    }
    // The server on this machine, as these variables would start it: with TLS if it has a certificate.
    let port = port(args.port, env)?;
    let own = find("http-tls-cert").in_environment(env);
    let (scheme, client) = match (&args.ca_file, own) {
        (None, Some((name, path))) => {
            let client =
                Client::of_own_certificate(Path::new(path)).map_err(|error| format!("{name}: {error}"))?;
            ("https", client)
        }
        (Some(path), _) => ("https", upstreams::http(Some(path), env)?),
        (None, None) => ("http", Client::new()),
    };
    // Certificate authorities sign names rather than addresses.
    let host = if args.ca_file.is_some() { "localhost" } else { "127.0.0.1" };
    let url = Url::parse(&format!("{scheme}://{host}:{port}{path}")).map_err(|error| error.to_string())?;
    told(&url, exchange(&client, &url, args.timeout_ms).await.map_err(|error| fault(&url, &error))?).await
}

/// True if a server of ours is healthy at this port of this machine.
pub(super) async fn is_well(port: u16, env: &ProcessEnv) -> bool {
    let args = HealthArgs { port: Some(port), url: None, ca_file: None, ready: false, timeout_ms: 2000 };
    ask(&args, env).await.is_ok()
}

async fn exchange(client: &Client, url: &Url, timeout_ms: u64) -> Result<Response, HttpError> {
    let request = Request {
        method: Method::GET,
        target: Target::new(url)?,
        headers: HeaderMap::new(),
        body: bytes::Bytes::new(),
    };
    let total = Duration::from_millis(timeout_ms);
    let limits = Limits {
        connect: total,
        first_byte: None,
        total,
        deadline: time::now() + total,
        max_bytes: MAX_BYTES,
        allowance: 0,
    };
    client.send(request, &limits).await
}

async fn told(url: &Url, response: Response) -> Result<String, String> {
    let status = response.status;
    let body = response.body.beginning(MAX_BYTES).await;
    let body = visible(String::from_utf8_lossy(&body).trim()).into_owned();
    if status.is_success() { Ok(body) } else { Err(format!("{url}: {status} {body}")) }
}

/// The error, and advice.
pub(super) fn fault(url: &Url, error: &HttpError) -> String {
    let text = error.to_string();
    let advice = if text.contains("refused") {
        "; is ptc start --http running there?"
    } else if url.scheme() == "http" && text.contains("malformed HTTP response") {
        "; if it speaks TLS: --url https://HOST:PORT, with --ca-file for a certificate of your own"
    } else {
        ""
    };
    format!("{url}: {text}{advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_there_or_speaks_tls_is_told() {
        let url = |text: &str| Url::parse(text).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let asked =
            |url: &Url| runtime.block_on(exchange(&Client::new(), url, 2000)).map(|_| ()).unwrap_err();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let nobody = url(&format!("http://{}/health", free.local_addr().unwrap()));
        drop(free);
        let text = fault(&nobody, &asked(&nobody));
        assert!(text.ends_with("; is ptc start --http running there?"), "{text}");
        let tls = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = url(&format!("http://{}/health", tls.local_addr().unwrap()));
        let alert = std::thread::spawn(move || {
            use std::io::{Read as _, Write as _};
            let (mut stream, _) = tls.accept().unwrap();
            let _ = stream.read(&mut [0; 512]);
            // TLS: alert, protocol version.
            stream.write_all(&[0x15, 3, 1, 0, 2, 2, 70]).unwrap();
        });
        let text = fault(&at, &asked(&at));
        alert.join().unwrap();
        assert!(text.contains("if it speaks TLS: --url https://"), "{text}");
    }
}
