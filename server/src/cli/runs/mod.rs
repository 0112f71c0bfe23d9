//! `ptc runs`: the suspended and running programs of a server, and their questions.
//!
//! It uses the server's console, which must be enabled there with `--console`: a program runs in a server or is
//! resumed by one, and a store on a disk belongs to one server. The server decides by the token which runs may be
//! seen and cancelled.

mod answers;
mod args;
mod client;
mod listing;
mod run_text;

use args::{AnswerArgs, FormArgs};
use listing::found;
use ptc_host::visible::visible;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ptc_host::config::ProcessEnv;
use ptc_host::questions::approval::Decision;
use ptc_mcp::json::{Value, json};
use url::Url;

use self::client::RunsClient;
use super::{health, report, upstreams};
use crate::cli::output::{errln, outln};

/// Arguments of `ptc runs`.
#[derive(Args, Debug)]
pub struct RunsArgs {
    #[command(subcommand)]
    work: Option<RunsCommand>,

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
enum RunsCommand {
    /// Show a run with all that it asks
    Show(ShowArgs),
    /// Allow the calls that a run asks about
    Allow(AnswerArgs),
    /// Refuse the calls, or decline the question
    Refuse(AnswerArgs),
    /// Answer what a run asks
    Answer(FormArgs),
    /// Stop a run for good
    Cancel(RunArgs),
}

#[derive(Args, Debug)]
struct ShowArgs {
    #[command(flatten)]
    run: RunArgs,

    /// Show long arguments of calls whole
    #[arg(long)]
    whole: bool,
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
    let http = upstreams::http(server.ca_file.as_deref(), &env)?;
    let client = RunsClient::new(url, client::token(server.token_file.as_deref(), &env)?, http)?;
    if let Some(RunsCommand::Cancel(run)) = &args.work {
        return cancel(&client, &run.id, args.json).await;
    }
    let told = listed(&client).await?;
    match &args.work {
        Some(RunsCommand::Allow(to)) => {
            return answers::decide(&client, &told, to, Decision::Allow, args.json).await;
        }
        Some(RunsCommand::Refuse(to)) => {
            return answers::decide(&client, &told, to, Decision::Refuse, args.json).await;
        }
        Some(RunsCommand::Answer(form)) => return answers::fill_in(&client, &told, form, args.json).await,
        _ => {}
    }
    let runs = told["runs"].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(RunsCommand::Show(wanted)) = &args.work {
        let id = &wanted.run.id;
        let mut run = found(&told, id)?.clone();
        for asked in run["questions"].as_array_mut().into_iter().flatten() {
            let question = asked["id"].as_str().unwrap_or_default();
            // The list has calls without arguments.
            if asked["kind"] == "approval" {
                *asked = client.get(&format!("/console/api/runs/{id}/questions/{question}")).await?;
            }
        }
        let fold = if wanted.whole { usize::MAX } else { run_text::FOLDED };
        print(&run, &told, args.json, Some(fold));
        return Ok(ExitCode::SUCCESS);
    }
    let is_open = |run: &&Value| matches!(run["status"].as_str(), Some("running" | "waiting"));
    let listed: Vec<&Value> = runs.iter().filter(|run| args.all || is_open(run)).collect();
    for run in &listed {
        print(run, &told, args.json, None);
    }
    if listed.is_empty() && !args.json {
        errln!("no program runs or waits");
    }
    Ok(ExitCode::SUCCESS)
}

/// All runs that the caller may see.
async fn listed(client: &RunsClient) -> Result<Value, String> {
    let mut told = client.get("/console/api/runs").await?;
    while let Some(next) = told["next"].as_str() {
        let mut more = client.get_with("/console/api/runs", Some(&format!("after={next}"))).await?;
        let runs = more["runs"].as_array_mut().map(std::mem::take).unwrap_or_default();
        told["next"] = more["next"].clone();
        told["runs"].as_array_mut().into_iter().for_each(|all| all.extend(runs.iter().cloned()));
    }
    Ok(told)
}

/// Prints a run: in short, or whole, with at most so many lines of long arguments.
fn print(run: &Value, told: &Value, as_json: bool, whole: Option<usize>) {
    if as_json {
        outln!("{run}");
        return;
    }
    let text = match whole {
        Some(fold) => run_text::whole(run, told, fold),
        None => run_text::brief(run, told),
    };
    outln!("{}", visible(text.trim_end()));
}

async fn cancel(client: &RunsClient, id: &str, as_json: bool) -> Result<ExitCode, String> {
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
    // A run that had ended before cannot be cancelled.
    Ok(if status == "cancelled" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
