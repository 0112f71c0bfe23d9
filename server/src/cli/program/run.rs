//! `ptc program run`

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ptc_host::aggregator::{SnapshotMode, notes};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions};
use ptc_programs::recording::RunRecording;

use super::files::one;
use super::{LimitArgs, PlaceArgs, check_recording_file, keep_recording};
use crate::cli::output::{errln, outln};
use crate::cli::{json, questions, report};

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// The program
    #[arg(value_name = "NAME")]
    name: String,

    /// Its arguments, a JSON object
    #[arg(value_name = "ARGS", default_value = "{}", value_parser = json::object)]
    arguments: Arc<str>,

    /// Write the run to this file as a test, to be put into :tests. Secrets are taken out
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,
}

pub(super) async fn run(place: &PlaceArgs, args: RunArgs, as_json: bool) -> Result<ExitCode, String> {
    args.record.as_deref().map_or(Ok(()), check_recording_file)?;
    let folder = place.folder()?;
    let program = one(&folder, &args.name)?;
    let linked = folder.linked(&program)?;
    let engine = Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() })
        .map_err(|error| error.to_string())?;
    let (mut template, upstreams) = args.limits.request(SnapshotMode::Live, true).await?;
    let redactor = upstreams.as_ref().map_or_else(Redactor::new, |upstreams| upstreams.redactor().clone());
    template.asker = questions::at_terminal(&redactor);
    let mut request = program.request(linked, args.arguments.clone(), template);
    let recording = args.record.as_ref().map(|_| RunRecording::begin(&mut request));
    let outcome = engine.eval(request).await;
    if let Some(upstreams) = upstreams {
        upstreams.shutdown().await;
    }
    let terminal = std::io::stdout().is_terminal();
    for print in &outcome.prints {
        errln!("{}", report::shown(&redactor.scrub(print), std::io::stderr().is_terminal()));
    }
    for note in notes(&outcome) {
        errln!("note: {}", report::shown(&redactor.scrub(&note), std::io::stderr().is_terminal()));
    }
    let value = match &outcome.result {
        Ok(value) => match &value.json {
            Some(Ok(json)) => Ok(json.clone()),
            Some(Err(why)) => Err(format!("the value has no JSON form: {why}")),
            None => Ok(value.text.clone()),
        },
        Err(failure) => Err(failure.full_message()),
    };
    if let (Some(recording), Some(file)) = (recording, &args.record) {
        keep_recording(&recording, file, &args.arguments, &outcome, &redactor)?;
    }
    match value {
        Ok(value) => {
            outln!("{}", report::shown(&redactor.scrub(&value), terminal && !as_json));
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => match &outcome.result {
            Err(failure) if !as_json => {
                report::failure(&program.text, failure, std::io::stderr().is_terminal());
                Ok(ExitCode::FAILURE)
            }
            _ => Err(redactor.scrub(&error).into_owned()),
        },
    }
}
