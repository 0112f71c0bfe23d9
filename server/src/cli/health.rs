//! `ptc health`: checks whether a running server is healthy, for containers and service managers that have no other
//! program for this.

use crate::cli::output::outln;
use ptc_host::visible::visible;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use http::{HeaderMap, Method};
use ptc_host::config::ProcessEnv;
use ptc_host::http::{Client, Limits, Request, Target};
use ptc_host::time;
use url::Url;

use super::report;
use crate::options::flags::find;

/// Where `ptc start --http` listens unless it is told otherwise.
const DEFAULT_PORT: u16 = 7332;
/// Longest answer that is shown.
const MAX_BYTES: usize = 4096;

/// Arguments of `ptc health`.
#[derive(Args, Debug)]
pub struct HealthArgs {
    /// Port on 127.0.0.1 that the server listens on [env: PTC_HTTP_PORT] [default: 7332]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Ask this URL instead, for instance that of a TLS listener
    #[arg(long, value_name = "URL", conflicts_with = "port")]
    url: Option<Url>,

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
        Ok(runtime) => match runtime.block_on(ask(args)) {
            Ok(text) => {
                outln!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => report::fault(&error),
        },
        Err(error) => report::fault(&format!("cannot start the event loop: {error}")),
    }
}

/// The flag, else what `ptc start` would be told by the variable, else its default.
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

async fn ask(args: &HealthArgs) -> Result<String, String> {
    let path = if args.ready { "/ready" } else { "/health" };
    let url = match &args.url {
        Some(url) => {
            let mut url = url.clone();
            if url.path() == "/" {
                url.set_path(path);
            }
            url
        }
        None => {
            let port = port(args.port, &ProcessEnv::current())?;
            Url::parse(&format!("http://127.0.0.1:{port}{path}")).map_err(|error| error.to_string())?
        }
    };
    let fault = |error: ptc_host::http::HttpError| format!("{url}: {error}");
    let request = Request {
        method: Method::GET,
        target: Target::new(&url).map_err(fault)?,
        headers: HeaderMap::new(),
        body: bytes::Bytes::new(),
    };
    let total = Duration::from_millis(args.timeout_ms);
    let limits = Limits {
        connect: total,
        first_byte: None,
        total,
        deadline: time::now() + total,
        max_bytes: MAX_BYTES,
        allowance: 0,
    };
    let response = Client::new().send(request, &limits).await.map_err(fault)?;
    let status = response.status;
    let body = response.body.beginning(MAX_BYTES).await;
    let body = visible(String::from_utf8_lossy(&body).trim()).into_owned();
    if status.is_success() { Ok(body) } else { Err(format!("{url}: {status} {body}")) }
}
