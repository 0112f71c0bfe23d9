//! `ptc eval`: evaluates programs from the command line, a file, standard input, or JSON Lines.
//!
//! With `--json`, standard output has the value alone, as one line of JSON; prints go to standard error.
//!
//! With `--jsonl`, each input line `{"id", "program", "context"?, "session"?}` produces one output line `{"id", "ok",
//! "result", "json", "prints", "error", "steps", "memory_peak_bytes"}`, in order. `result` is the value as `pr-str`
//! prints it, untruncated. `json` is the value as JSON, or `null` if it has no JSON form. Programs with the same
//! `session` text share definitions and `*1 *2 *3`.

use super::limits::{self, LimitArgs};
use super::output::{self, errln, outln};
use super::program::{check_recording_file, keep_recording};
use super::{input, questions, report};
use clap::Args;
use ptc_host::aggregator::{SnapshotMode, notes};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{Engine, EngineOptions, EvalOutcome, EvalRequest, Render};
use ptc_programs::recording::RunRecording;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Arguments of `ptc eval`.
#[derive(Args, Debug)]
pub struct EvalArgs {
    /// The program itself
    #[arg(short = 'e', long = "expr", value_name = "EXPR", conflicts_with_all = ["file", "jsonl"])]
    expr: Option<String>,

    /// Read requests as JSON Lines from standard input and answer each with one line
    #[arg(long, conflicts_with = "file")]
    jsonl: bool,

    /// Print the value as one line of JSON, and what the program prints to standard error
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,

    /// File with the program; `-` for standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// JSON object behind `data/…`
    #[arg(long, value_name = "JSON")]
    context: Option<String>,

    /// Write the run to this file as a test of a kept program. Secrets are taken out
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    record: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,
}

/// One line of input with `--jsonl`.
#[derive(serde::Deserialize)]
struct JsonlRequest<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    program: String,
    #[serde(borrow, default)]
    context: Option<&'a RawValue>,
    #[serde(default)]
    session: Option<String>,
}

/// One line of output with `--jsonl`.
#[derive(serde::Serialize)]
struct Response<'a> {
    id: Option<&'a RawValue>,
    ok: bool,
    result: Option<&'a str>,
    json: Option<&'a RawValue>,
    prints: &'a [String],
    error: Option<ErrorLine<'a>>,
    steps: u64,
    memory_peak_bytes: u64,
}

#[derive(serde::Serialize)]
struct ErrorLine<'a> {
    reason: &'a str,
    message: &'a str,
}

/// Runs the sub-command.
pub fn run(args: EvalArgs) -> ExitCode {
    let runtime = match crate::cli::event_loop::event_loop() {
        Ok(runtime) => runtime,
        Err(error) => return report::fault(&format!("cannot start the event loop: {error}")),
    };
    runtime.block_on(async {
        let engine = match Engine::start(EngineOptions { threads: 1, ..EngineOptions::default() }) {
            Ok(engine) => engine,
            Err(error) => return report::fault(&error.to_string()),
        };
        let (template, upstreams) = match args.limits.request(SnapshotMode::Live, !args.jsonl).await {
            Ok(opened) => opened,
            Err(error) => return report::fault(&error),
        };
        let redactor =
            upstreams.as_ref().map_or_else(Redactor::new, |upstreams| upstreams.redactor().clone());
        let exit = match args.jsonl {
            true => lines(&engine, &template, &redactor).await,
            false => single(&engine, template, args, &redactor).await,
        };
        if let Some(upstreams) = upstreams {
            upstreams.shutdown().await;
        }
        exit
    })
}

/// Evaluates one program for a person.
async fn single(engine: &Engine, mut request: EvalRequest, args: EvalArgs, redactor: &Redactor) -> ExitCode {
    let source = match &args.expr {
        Some(expr) => Ok(expr.clone()),
        None => input::program(args.file.as_deref().filter(|path| path.as_os_str() != "-")),
    };
    let source = match source {
        Ok(source) => source,
        Err(error) => {
            let file = args.file.as_deref().map(|file| file.to_string_lossy()).unwrap_or_default();
            let is_program = file.trim_start().starts_with('(');
            let advice = if is_program { "; a program itself stands behind -e" } else { "" };
            return report::fault(&(error + advice));
        }
    };
    request.program = Arc::from(source.as_str());
    request.context = args.context.as_deref().map(Arc::from);
    request.asker = questions::at_terminal(redactor);
    request.render.json = args.json || args.record.is_some();
    if let Err(fault) = args.record.as_deref().map_or(Ok(()), check_recording_file) {
        return report::fault(&fault);
    }
    let has_upstreams = request.upstreams.is_some();
    let recording = args.record.as_ref().map(|_| RunRecording::begin(&mut request));
    let mut outcome = engine.eval(request).await;
    if let Err(failure) = &mut outcome.result {
        limits::explain(failure, has_upstreams);
    }
    let outcome = finished(outcome, redactor);
    let terminal = io::stdout().is_terminal();
    for print in &outcome.prints {
        if args.json {
            errln!("{}", report::shown(print, io::stderr().is_terminal()));
        } else {
            outln!("{}", report::shown(print, terminal));
        }
    }
    for note in notes(&outcome) {
        errln!("note: {}", report::shown(&redactor.scrub(&note), io::stderr().is_terminal()));
    }
    if let (Some(recording), Some(file)) = (recording, &args.record) {
        let input = args.context.as_deref().unwrap_or("{}");
        if let Err(fault) = keep_recording(&recording, file, input, &outcome, redactor) {
            return report::fault(&fault);
        }
    }
    match &outcome.result {
        Ok(answer) => {
            match &answer.json {
                _ if !args.json => outln!("{}", report::shown(&answer.text, terminal)),
                Some(Ok(json)) => outln!("{}", report::shown(json, terminal)),
                Some(Err(why)) => return report::fault(&format!("the value has no JSON form: {why}")),
                None => outln!("{}", report::shown(&answer.text, terminal)),
            }
            for content in outcome.attachments.contents() {
                errln!("attached: {} {}, {} bytes", content.kind, content.mime_type, content.len());
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            report::failure(&source, failure, io::stderr().is_terminal());
            ExitCode::FAILURE
        }
    }
}

/// Longest line of JSON Lines, in bytes: a program with its context.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Evaluates JSON Lines.
#[expect(clippy::disallowed_methods, reason = "entry point: lines()")]
async fn lines(engine: &Engine, template: &EvalRequest, redactor: &Redactor) -> ExitCode {
    let mut input = io::stdin().lock();
    let mut answers = io::BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut input).take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) if line.len() as u64 > MAX_LINE_BYTES => {
                return report::fault(&format!(
                    "a line of standard input is longer than {MAX_LINE_BYTES} bytes"
                ));
            }
            Ok(_) if line.trim_ascii().is_empty() => continue,
            Ok(_) => {}
            Err(error) => return report::fault(&format!("cannot read standard input: {error}")),
        }
        let written = match serde_json::from_slice::<JsonlRequest<'_>>(&line) {
            Ok(request) => {
                let mut eval = template.clone();
                eval.program = request.program.into();
                eval.context =
                    request.context.map(RawValue::get).filter(|text| *text != "null").map(Arc::from);
                eval.session = request.session.map(Arc::from);
                eval.render = Render { max_text_bytes: None, json: true };
                eval.id = ptc_host::engine::EvalId::new();
                let (bytes, cap) = (eval.program.len(), eval.limits.program_bytes);
                if bytes > cap {
                    // With the message of the MCP server, which has the same limit.
                    let message = format!("argument `program` exceeds max_program_bytes ({bytes} > {cap})");
                    refuse(&mut answers, request.id, &message)
                } else {
                    // Programs read the answers, so the language's own messages stay as they are.
                    let outcome = finished(engine.eval(eval).await, redactor);
                    respond(&mut answers, request.id, &outcome)
                }
            }
            Err(error) => {
                let message = format!("the line is not a request object with a `program` text: {error}");
                refuse(&mut answers, None, &message)
            }
        };
        // The reader has closed the output.
        if !output::keep(written) {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Removes secrets that upstreams have echoed from an outcome.
#[expect(clippy::disallowed_methods, reason = "entry point: finished()")]
fn finished(mut outcome: EvalOutcome, redactor: &Redactor) -> EvalOutcome {
    let scrub = |text: &mut String| *text = redactor.scrub_string(std::mem::take(text));
    outcome.prints.iter_mut().for_each(scrub);
    match &mut outcome.result {
        Ok(answer) => {
            scrub(&mut answer.text);
            if let Some(Ok(json)) = &mut answer.json
                && let Cow::Owned(_) = redactor.scrub(json)
                && let Ok(mut value) = serde_json::from_str(json)
            {
                redactor.scrub_json(&mut value);
                *json = value.to_string();
            }
        }
        Err(failure) => {
            scrub(&mut failure.message);
            failure.hint.iter_mut().for_each(scrub);
        }
    }
    outcome
}

/// Answers a line that did not become a program.
fn refuse(output: &mut impl Write, id: Option<&RawValue>, message: &str) -> io::Result<()> {
    let response = Response {
        id,
        ok: false,
        result: None,
        json: None,
        prints: &[],
        error: Some(ErrorLine { reason: "args_error", message }),
        steps: 0,
        memory_peak_bytes: 0,
    };
    write_line(output, &response)
}

#[expect(clippy::disallowed_methods, reason = "entry point: respond()")]
fn respond(output: &mut impl Write, id: Option<&RawValue>, outcome: &EvalOutcome) -> io::Result<()> {
    let (answer, failure) = match &outcome.result {
        Ok(answer) => (Some(answer), None),
        Err(failure) => (None, Some(failure)),
    };
    let json = answer.and_then(|answer| answer.json.as_ref()).and_then(|json| json.as_ref().ok());
    let response = Response {
        id,
        ok: answer.is_some(),
        result: answer.map(|answer| answer.text.as_str()),
        json: json.and_then(|json| serde_json::from_str::<&RawValue>(json).ok()),
        prints: &outcome.prints,
        error: failure
            .map(|failure| ErrorLine { reason: failure.reason.as_str(), message: &failure.message }),
        steps: outcome.steps,
        memory_peak_bytes: outcome.memory_peak_bytes,
    };
    write_line(output, &response)
}

fn write_line(output: &mut impl Write, response: &Response<'_>) -> io::Result<()> {
    serde_json::to_writer(&mut *output, response).map_err(io::Error::other)?;
    output.write_all(b"\n")?;
    output.flush()
}
