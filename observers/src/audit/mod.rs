//! The audit log (`--audit-log`): which principal ran which program, its upstream calls, and who allowed them. One JSON
//! object a line.
//!
//! No line has arguments, results or texts of programs: each is identified by its SHA-256. Each line carries the digest of the one
//! before it ([`verify`]).

mod access;
mod asking;
mod chain;
mod file;
mod line;
mod recently;
pub mod verify;
mod writer;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ptc_host::aggregator::{AuditedCall, AuditedDenial, AuditedSampling, AuditedSignIn, CallAudit};
use ptc_host::engine::EvalId;
use ptc_host::questions::approval::Decision;
use ptc_host::questions::{Answer, AnsweredBy, PendingQuestion, Question, QuestionId, QuestionKind};
use ptc_mcp::json::{Object, object_text};

pub use self::access::{OperatorSubject, ReloadRecord, SignInWay};
use self::file::AuditFile;
use self::line::{line, line_at};
use self::recently::Recently;
use self::writer::AuditWriter;
use super::metrics::{Exposition, MetricKind};
use ptc_host::digest::sha256_hex;
use ptc_protocol::log_budget::LogBudget;
use ptc_protocol::observer::{CallEnd, CallObserver, CallOutcome, FeatureRequest, ObservedCall};
use ptc_protocol::settings::{AuditFull, AuditSync, BootError};
use ptc_runs::RunView;
use tracing::info;

/// Writes the audit log.
pub struct AuditLog {
    writer: AuditWriter,
    /// The callers that were recorded lately.
    callers: Recently,
    /// The uses of operators that were recorded lately.
    operators: Recently,
    /// Lines about refused credentials.
    refusals: LogBudget,
    /// Lines about tools that do not exist.
    unknown_tools: LogBudget,
}

/// How many servers that clients start write to audit logs beside each other.
const MAX_BESIDE: u32 = 64;

fn refused(path: &Path, error: &io::Error) -> BootError {
    BootError::new(format!("--audit-log {}: {error}", path.display()))
}

/// `audit.jsonl` itself, and `audit-2.jsonl` beside it.
fn numbered(path: &Path, number: u32) -> PathBuf {
    let (Some(stem), true) = (path.file_stem(), number > 1) else { return path.to_owned() };
    let mut name = stem.to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// A file that the log can go on in after a rotation.
#[derive(Debug)]
pub struct FreshAuditFile(AuditFile);

impl AuditLog {
    /// Whether a log could be opened at that path, as far as that is known without making or changing a file.
    ///
    /// # Errors
    /// It could not.
    pub fn check(path: &Path) -> Result<(), BootError> {
        AuditFile::check(path).map_err(|error| refused(path, &error))
    }

    /// Opens the file of that name to append to it. It goes on with the chain of the file, or of the newest rotated one beside it.
    ///
    /// # Errors
    /// It cannot be opened. With [`AuditFull::Stop`] also if it cannot be written.
    pub fn open(path: &Path, full: AuditFull, sync: AuditSync) -> Result<AuditLog, BootError> {
        AuditWriter::open(path, full, sync).map(AuditLog::of).map_err(|error| refused(path, &error))
    }

    /// The same for a server that a client starts: while another process writes to the file, it takes the first free one of the names
    /// `audit-2.jsonl`, `audit-3.jsonl` and so on beside `audit.jsonl`, each of which has a chain of its own.
    ///
    /// # Errors
    /// As above.
    pub fn open_beside_others(path: &Path, full: AuditFull, sync: AuditSync) -> Result<AuditLog, BootError> {
        for number in 1..=MAX_BESIDE {
            let path = numbered(path, number);
            let opened = AuditFile::open_at_once(&path).and_then(|file| AuditWriter::over(file, full, sync));
            match opened {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {}
                Err(error) => return Err(refused(&path, &error)),
                Ok(writer) => {
                    if number > 1 {
                        info!(event = "audit_log_beside", path = %path.display(), "other servers write to the one that was named");
                    }
                    return Ok(AuditLog::of(writer));
                }
            }
        }
        AuditLog::open(path, full, sync)
    }

    fn of(writer: AuditWriter) -> AuditLog {
        AuditLog {
            writer,
            callers: Recently::default(),
            operators: Recently::default(),
            refusals: LogBudget::default(),
            unknown_tools: LogBudget::default(),
        }
    }

    /// Opens the file of its name again, after a rotation has moved the one that is written to; `None` if that is in its place.
    /// Nothing changes until [`switch`](Self::switch). It may wait for a disk.
    ///
    /// # Errors
    /// The file cannot be opened, or is not empty.
    pub fn reopened(&self) -> Result<Option<FreshAuditFile>, BootError> {
        let file = self.writer.reopened();
        file.map(|file| file.map(FreshAuditFile))
            .map_err(|error| BootError::new(format!("--audit-log: {error}")))
    }

    /// Goes on in this file, whose first line names the one before and its last line.
    pub fn switch(&self, file: FreshAuditFile) {
        self.writer.switch(file.0);
    }

    /// Waits until all lines are written, at most for `limit`.
    pub(crate) fn flush(&self, limit: Duration) {
        self.writer.flush(limit);
    }

    /// Waits until all lines and the last one of this process are written, at most for `limit`.
    pub(crate) fn close(&self, limit: Duration) {
        self.writer.close(limit);
    }

    /// Writes the metric families of its lines.
    pub(crate) fn write_metrics(&self, to: &mut Exposition) {
        let state = self.writer.state();
        let mut lines = to.family("ptc_audit_lines", "Lines of the audit log.", MetricKind::Counter);
        lines.sample(&[("outcome", "written")], state.written.load(Ordering::Relaxed));
        lines.sample(&[("outcome", "lost")], state.lost.load(Ordering::Relaxed));
        to.family("ptc_audit_up", "1 unless the audit log cannot be written.", MetricKind::Gauge)
            .sample(&[], u8::from(state.fault().is_none()));
        let help = "Calls that were refused because the audit log could not be written.";
        to.family("ptc_audit_refused_calls", help, MetricKind::Counter)
            .sample(&[], state.refused.load(Ordering::Relaxed));
    }

    /// True if no call may be made now.
    pub(crate) fn refuses_calls(&self) -> bool {
        self.writer.full() == AuditFull::Stop && self.writer.state().fault().is_some()
    }

    /// Why no call may be made now; `None` if one may. It counts as a refused call.
    fn stop(&self) -> Option<String> {
        if self.writer.full() == AuditFull::Drop {
            return None;
        }
        let fault = self.writer.state().fault()?;
        self.writer.state().refused.fetch_add(1, Ordering::Relaxed);
        Some(format!(
            "nothing was called: this server has to record every call, and its audit log cannot be written ({fault}). It is a \
             fault of the server, not of the call: its operator has to make room or repair the file, then the same call works"
        ))
    }

    fn write(&self, line: Vec<u8>) {
        self.writer.write(line);
    }

    /// Records that a run has begun, waits, resumes or has ended.
    pub fn run(&self, run: &RunView) {
        self.write(line("run", |line| {
            line.string("principal", &run.principal);
            line.string("run_id", &run.run_id);
            line.string("tool", &run.tool);
            line.string("status", run.status.as_str());
            if let Some(has_failed) = run.has_failed {
                line.string("outcome", if has_failed { "error" } else { "ok" });
            }
            line.integer("upstream_calls", run.calls.into());
        }));
    }

    /// Records a question.
    fn asked(&self, subject: &Subject, open: &PendingQuestion) {
        self.write(line("question", |line| {
            subject.write(line);
            question(line, open.id, &open.question);
        }));
    }

    /// Records an answer.
    fn answered(&self, subject: &Subject, id: QuestionId, asked: &Question, answer: &Answer) {
        self.write(line("answer", |line| {
            subject.write(line);
            question(line, id, asked);
            line.string("action", answer.action.as_str());
            if asked.kind == QuestionKind::Approval
                && let Some(decision) = Decision::of_content(answer.content.as_deref())
            {
                line.string("decision", decision.as_str());
            }
            by(line, &answer.by);
        }));
    }
}

/// The program that asks, and its principal.
#[derive(Clone)]
pub struct Subject {
    /// Its principal, as the log names it.
    pub principal: Arc<str>,
    /// Its evaluation.
    pub eval: EvalId,
    /// The run that it is part of, or may become.
    pub run_id: Option<Arc<str>>,
}

impl Subject {
    fn write(&self, line: &mut Object<'_>) {
        line.string("principal", &self.principal);
        program(line, Some(self.eval), self.run_id.as_deref());
    }
}

/// The id of the eval, which is unique in its process, and of the run, which is unique in all processes.
fn program(line: &mut Object<'_>, eval: Option<EvalId>, run_id: Option<&str>) {
    if let Some(eval) = eval {
        line.string("run", &eval.to_string());
    }
    if let Some(run_id) = run_id {
        line.string("run_id", run_id);
    }
}

fn question(line: &mut Object<'_>, id: QuestionId, asked: &Question) {
    line.string("question", &id.to_string());
    line.string("question_kind", asked.kind.as_str());
    line.string("level", asked.level.as_str());
    if let Some(upstream) = &asked.upstream {
        line.string("upstream", upstream);
    }
    if let Some(call) = asked.calls.first() {
        line.string("tool", &call.tool);
        let digests: Vec<String> = asked.calls.iter().map(|call| call.digest.to_string()).collect();
        line.strings("arguments_digests", digests.iter().map(String::as_str));
    }
}

fn by(line: &mut Object<'_>, by: &AnsweredBy) {
    let text = object_text(|who| {
        who.string("channel", by.channel.as_str());
        if let Some(name) = &by.name {
            who.string("name", name);
        }
    });
    line.raw("by", &text);
}

impl CallObserver for AuditLog {
    fn reads_programs(&self) -> bool {
        true
    }

    fn stop(&self) -> Option<String> {
        AuditLog::stop(self)
    }

    fn requested(&self, request: &FeatureRequest<'_>) {
        self.write(line("client_request", |line| {
            line.string("principal", request.principal.name());
            line.string("channel", if request.is_http { "http" } else { "stdio" });
            line.string("method", request.method);
            if let Some(subject) = request.subject {
                line.string("subject_digest", &sha256_hex(subject.as_bytes()));
            }
            line.string("outcome", if request.error.is_some() { "error" } else { "ok" });
            if let Some(code) = request.error {
                line.raw("code", &code.to_string());
            }
            line.integer("duration_ms", request.duration_ms);
        }));
    }

    fn unknown_tool(&self, call: &ObservedCall, is_denied: bool) {
        if !is_denied {
            self.named_no_tool(call.owner.principal.name(), call.origin.is_some(), &call.tool);
        }
    }

    fn ended(&self, call: &ObservedCall, end: &CallEnd) {
        let outcome = match &end.outcome {
            CallOutcome::Answered(answered) if answered.is_error => {
                answered.reason.as_deref().unwrap_or("error")
            }
            CallOutcome::Answered(_) => "ok",
            CallOutcome::Crashed(_) => "internal_error",
            CallOutcome::Cancelled => "cancelled",
            CallOutcome::Discarded => return,
        };
        let runs_programs = call.program.is_some() || call.kept_program.is_some() || call.tool == "lisp_task";
        self.write(line_at(if runs_programs { "program" } else { "tool_call" }, end.at, |line| {
            line.string("principal", call.owner.principal.name());
            line.string("channel", if call.origin.is_some() { "http" } else { "stdio" });
            line.string("run", &call.eval_id.to_string());
            line.string("tool", &call.tool);
            if let Some(program) = &call.program {
                line.string("program_digest", &sha256_hex(program.as_bytes()));
            }
            if let Some(kept) = &call.kept_program {
                line.string("kept_program", &kept.name);
                line.string("program_digest", &kept.digest);
            }
            line.string("outcome", outcome);
            line.integer("duration_ms", end.duration_ms);
        }));
    }
}

impl CallAudit for AuditLog {
    fn called(&self, call: &AuditedCall<'_>) {
        self.write(line("upstream_call", |line| {
            line.string("principal", call.principal.unwrap_or("process"));
            program(line, call.eval, call.run_id);
            line.string("upstream", call.upstream);
            line.string("tool", call.tool);
            line.string("arguments_digest", &call.arguments.to_string());
            line.string("outcome", call.fault.map_or("ok", |reason| reason.as_str()));
            line.integer("duration_ms", call.duration_ms);
            if let Some(approved) = call.approved {
                by(line, approved);
            }
        }));
    }

    fn stop(&self) -> Option<String> {
        AuditLog::stop(self)
    }

    fn denied(&self, denial: &AuditedDenial<'_>) {
        self.write(line("denied", |line| {
            line.string("principal", denial.principal.unwrap_or("process"));
            program(line, denial.eval, denial.run_id);
            line.string("upstream", denial.upstream);
            line.string("tool", denial.tool);
            line.string("reason", denial.reason.as_str());
        }));
    }

    fn signed_in(&self, sign_in: &AuditedSignIn<'_>) {
        self.write(line("upstream_sign_in", |line| {
            line.string("principal", sign_in.principal);
            line.string("upstream", sign_in.upstream);
            line.string("outcome", sign_in.fault.unwrap_or("ok"));
        }));
    }

    fn sampled(&self, sampling: &AuditedSampling<'_>) {
        self.write(line("sampling", |line| {
            line.string("principal", sampling.principal.unwrap_or("process"));
            program(line, Some(sampling.eval), sampling.run_id);
            line.string("upstream", sampling.upstream);
            line.string("tool", sampling.tool);
            line.string("request_digest", &sampling.request.to_string());
            if let Some(model) = sampling.model {
                line.string("model", model);
            }
            if let Some((input, output)) = sampling.tokens {
                line.integer("input_tokens", input);
                line.integer("output_tokens", output);
            }
            line.string("outcome", sampling.outcome);
            line.integer("duration_ms", sampling.duration_ms);
        }));
    }
}
