//! `ptc demo`: shows the product on embedded data, with nothing installed.
//!
//! Three upstream servers run as child processes and are reached over MCP, through the same transport as any
//! upstream. A pipe connects a real server to a real client, which evaluates the three example programs of the
//! aggregator's guide. The exit status is 0 only if every answer is correct.

mod client;
mod programs;
mod show;
mod upstream;

use ptc_host::aggregator::{Aggregator, AggregatorLimits, AggregatorOptions, SnapshotMode};
use ptc_host::catalog::{CatalogMode, describe};
use ptc_host::config::{LoadOptions, ProcessEnv, UpstreamsConfig};
use ptc_host::engine::{Engine, EngineOptions, Limits};
use ptc_mcp::json::{Value, json};

use super::report;
use super::state::own_executable;
use clap::Args;
use client::DemoClient;
use programs::{EXAMPLES, Example};
use ptc_protocol::Service;
use ptc_protocol::concurrency_limiter::CallLimits;
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::Registry;
use ptc_tools::descriptions::{SharedCard, UpstreamCard, catalog_room, sentence_of};
use ptc_tools::lisp_eval::{ArgumentCaps, EvalOptions, LispEval};
use ptc_tools::shaping::Shaper;
use ptc_transport::stdio::{StdioOptions, run_stdio};
use show::Screen;
use std::process::ExitCode;
use std::sync::Arc;
pub(crate) use upstream::DemoServer;
pub use upstream::serve;

/// Room for a line of the demo's conversation.
const PIPE_BYTES: usize = 1 << 16;

/// Arguments of the hidden sub-command that the demo's upstreams run as.
#[derive(Args, Debug)]
pub(crate) struct UpstreamArgs {
    /// Which server to be
    server: DemoServer,
}

/// Serves as one of the demo's upstreams.
pub(crate) fn run_upstream(args: &UpstreamArgs) -> ExitCode {
    serve(args.server)
}

/// Runs the sub-command.
pub fn run() -> ExitCode {
    let runtime = match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime,
        Err(error) => return report::fault(&format!("cannot start the event loop: {error}")),
    };
    match runtime.block_on(demo()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => report::fault(&error),
    }
}

async fn demo() -> Result<bool, String> {
    let aggregator = start_upstreams().await?;
    let service = Arc::new(server(&aggregator)?);
    // The pipe between client and server: each has one end.
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let (server_in, server_out) = tokio::io::split(theirs);
    let (client_in, client_out) = tokio::io::split(ours);
    let options = StdioOptions { max_frame_bytes: 8 << 20 };
    let serving = tokio::spawn(run_stdio(service, options, server_in, server_out, std::future::pending()));
    let right = converse(DemoClient::connect(client_in, client_out).await?).await;
    serving.abort();
    aggregator.shutdown().await;
    right
}

/// The demo's upstreams: this program itself, as three other processes.
async fn start_upstreams() -> Result<Arc<Aggregator>, String> {
    let own = own_executable()?;
    let own = own.to_str().ok_or("the path of the own executable is not UTF-8")?;
    let entry = |server: DemoServer, description: &str| {
        json!({"transport": "mcp_stdio", "command": own, "args": ["demo-upstream", server.name()],
            "description": description})
    };
    let config = json!({"upstreams": {
        "fs": entry(DemoServer::Fs, "A small file server"),
        "github": entry(DemoServer::Github, "A code host"),
        "store": entry(DemoServer::Store, "An item store"),
    }});
    // The check that no upstream is this program itself is omitted, since here each one is.
    let options = LoadOptions { env: &ProcessEnv::current(), base_dir: None, own_exe: None };
    let config = UpstreamsConfig::from_value(&config, &options).map_err(|error| error.to_string())?;
    Aggregator::start(config, AggregatorOptions::new(SnapshotMode::Frozen))
        .await
        .map_err(|error| error.to_string())
}

/// A server with `lisp_eval` over these upstreams, in the profile that shows the accounting.
fn server(aggregator: &Arc<Aggregator>) -> Result<Service, String> {
    let engine = Engine::start(EngineOptions::default()).map_err(|error| error.to_string())?;
    let (limits, max_calls) = (Limits::aggregator(), AggregatorLimits::default().max_calls);
    let servers = sentence_of(aggregator.unfiltered().upstreams().map(|(config, _)| config.name.as_str()));
    let room = catalog_room(Profile::Debug, &servers, max_calls, limits.timeout, false);
    let catalog = describe(&aggregator.unfiltered().advertised(), &[], CatalogMode::Auto, 0, room).short;
    let options = EvalOptions {
        limits,
        caps: ArgumentCaps { max_program_bytes: 65_536, max_context_bytes: 4 << 20 },
        shaper: Shaper::new(Profile::Debug, 128 << 10),
        max_attached_bytes: 5 << 20,
        fits_client: false,
        upstreams: Some(aggregator.clone()),
        programs: None,
        card: Some(SharedCard::new(UpstreamCard { servers, catalog, whole: None, max_calls })),
        read_only: true,
        redactor: aggregator.redactor().clone(),
        reports: false,
        tells_of_ask: false,
        asks: None,
        runs: None,
        recent: None,
    };
    Ok(Service::new(
        Registry::new(vec![Box::new(LispEval::new(Arc::new(engine), options))]),
        CallLimits::shared(16),
    ))
}

async fn converse<R, W>(mut client: DemoClient<R, W>) -> Result<bool, String>
where
    R: tokio::io::AsyncRead + Unpin,
    W: tokio::io::AsyncWrite + Unpin,
{
    let mut screen = Screen::new();
    let tools = client.request("tools/list", json!({})).await?;
    screen.introduction(&tools);
    let mut right = 0;
    for (number, example) in (1..).zip(&EXAMPLES) {
        let arguments = json!({"name": "lisp_eval", "arguments": {"program": example.program}});
        let result = client.request("tools/call", arguments).await?;
        right += usize::from(is_right(example, &result));
        screen.example(number, example, &result, is_right(example, &result));
    }
    screen.conclusion(right, EXAMPLES.len());
    Ok(right == EXAMPLES.len())
}

fn is_right(example: &Example, result: &Value) -> bool {
    result["isError"] == json!(false) && result["structuredContent"]["result"] == json!(example.answer)
}
