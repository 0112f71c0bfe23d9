//! `ptc runs`: the programs that a running server keeps, and what they wait for.
//!
//! It asks the server's console, which needs `--console` there: a program runs in a server or waits for one to go on with it, and a store
//! on a disk is the server's alone. Who may see and stop what is the server's decision, by the token.

mod client;
mod shown;

use ptc_host::visible::visible;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ptc_host::config::ProcessEnv;
use ptc_mcp::json::{Value, json};
use url::Url;

use self::client::Client;
use super::{health, report};
use crate::cli::output::{errln, outln};

/// Arguments of `ptc runs`.
#[derive(Args, Debug)]
pub struct RunsArgs {
    #[command(subcommand)]
    work: Option<Work>,

    #[command(flatten)]
    server: ServerArgs,

    /// A line of JSON for each run
    #[arg(long, global = true)]
    json: bool,

    /// List those that have ended, too
    #[arg(long)]
    all: bool,
}

#[derive(Subcommand, Debug)]
enum Work {
    /// Show a run with all that it asks
    Show(RunArgs),
    /// Stop a run for good
    Cancel(RunArgs),
}

#[derive(Args, Debug)]
struct RunArgs {
    /// The run's id, as `ptc runs` lists it
    #[arg(value_name = "ID")]
    id: String,
}

/// Which server, and by whose right.
#[derive(Args, Debug)]
struct ServerArgs {
    /// Port on 127.0.0.1 that the server listens on [env: PTC_HTTP_PORT] [default: 7332]
    #[arg(long, value_name = "PORT", global = true)]
    port: Option<u16>,

    /// Ask the server at this URL instead
    #[arg(long, value_name = "URL", conflicts_with = "port", global = true)]
    url: Option<Url>,

    /// File of a token of the server, as it or one of its files has it: the first one there counts [env: PTC_HTTP_AUTH_TOKEN has a token]
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,

    #[arg(long, help = crate::options::flags::find("ca-file").described(), value_name = "FILE", global = true)]
    ca_file: Option<PathBuf>,
}

/// Runs the sub-command.
pub fn run(args: &RunsArgs) -> ExitCode {
    let runtime = match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime,
        Err(error) => return report::fault(&format!("cannot start the event loop: {error}")),
    };
    match runtime.block_on(work(args)) {
        Ok(code) => code,
        Err(error) => report::fault(&error),
    }
}

async fn work(args: &RunsArgs) -> Result<ExitCode, String> {
    let env = ProcessEnv::current();
    let server = &args.server;
    let url = match &server.url {
        Some(url) => url.clone(),
        None => {
            let port = health::port(server.port, &env)?;
            Url::parse(&format!("http://127.0.0.1:{port}/")).map_err(|error| error.to_string())?
        }
    };
    let client =
        Client::new(url, client::token(server.token_file.as_deref(), &env)?, server.ca_file.as_deref())?;
    if let Some(Work::Cancel(run)) = &args.work {
        return cancel(&client, &run.id, args.json).await;
    }
    let mut told = client.get("/console/api/runs").await?;
    while let Some(next) = told["next"].as_str() {
        let mut more = client.get_with("/console/api/runs", Some(&format!("after={next}"))).await?;
        let runs = more["runs"].as_array_mut().map(std::mem::take).unwrap_or_default();
        told["next"] = more["next"].clone();
        told["runs"].as_array_mut().into_iter().for_each(|all| all.extend(runs.iter().cloned()));
    }
    let runs = told["runs"].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(Work::Show(wanted)) = &args.work {
        let Some(run) = runs.iter().find(|run| run["run_id"].as_str() == Some(&wanted.id)) else {
            return Err(format!("run not found: {}", wanted.id));
        };
        let mut run = run.clone();
        for asked in run["questions"].as_array_mut().into_iter().flatten() {
            let id = asked["id"].as_str().unwrap_or_default();
            // The list has calls without their arguments.
            if asked["kind"] == "approval" {
                *asked = client.get(&format!("/console/api/runs/{}/questions/{id}", wanted.id)).await?;
            }
        }
        print(&run, &told, args.json, true);
        return Ok(ExitCode::SUCCESS);
    }
    let is_open = |run: &&Value| matches!(run["status"].as_str(), Some("running" | "waiting"));
    let listed: Vec<&Value> = runs.iter().filter(|run| args.all || is_open(run)).collect();
    for run in &listed {
        print(run, &told, args.json, false);
    }
    if listed.is_empty() && !args.json {
        errln!("no program runs or waits");
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a run, whole or in short.
fn print(run: &Value, told: &Value, as_json: bool, whole: bool) {
    if as_json {
        outln!("{run}");
        return;
    }
    let text = if whole { shown::whole(run, told) } else { shown::brief(run, told) };
    outln!("{}", visible(text.trim_end()));
}

async fn cancel(client: &Client, id: &str, as_json: bool) -> Result<ExitCode, String> {
    let is_id =
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if !is_id {
        return Err(format!("{id:?} is no id of a run: `ptc runs` lists them"));
    }
    let told = client.post(&format!("/console/api/runs/{id}/cancel"), &json!({})).await?;
    let status = told["status"].as_str().unwrap_or_default();
    if as_json {
        outln!("{told}");
    } else {
        outln!("{id} {}", visible(status));
    }
    // One that had ended before could not be stopped.
    Ok(if status == "cancelled" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
