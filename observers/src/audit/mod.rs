//! The audit log (`--audit-log`): which principal ran which program, its upstream calls, and who allowed them. One JSON
//! object a line.
//!
//! No line has arguments, results or texts of programs: each is identified by its SHA-256.

mod asking;
mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::Timestamp;
use ptc_host::aggregator::{AuditedCall, AuditedSampling, CallAudit};
use ptc_host::engine::EvalId;
use ptc_host::questions::approval::Decision;
use ptc_host::questions::{Answer, AnsweredBy, PendingQuestion, Question, QuestionId, QuestionKind};
use ptc_mcp::json::{Object, object_text};

use self::writer::AuditWriter;
use super::metrics::{Exposition, MetricKind};
use ptc_host::digest::sha256_hex;
use ptc_protocol::observer::{CallEnd, CallObserver, CallOutcome, ObservedCall};
use ptc_protocol::settings::BootError;
use ptc_protocol::timestamp::{self, instant};
use ptc_runs::RunView;

/// Writes the audit log.
pub struct AuditLog {
    writer: AuditWriter,
}

impl AuditLog {
    /// Opens the file of that name to append to it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<AuditLog, BootError> {
        let open = AuditWriter::open(path);
        let writer =
            open.map_err(|error| BootError::new(format!("--audit-log {}: {error}", path.display())))?;
        Ok(AuditLog { writer })
    }

    /// Waits until all lines are written, at most for `limit`.
    pub(crate) fn flush(&self, limit: Duration) {
        self.writer.flush(limit);
    }

    /// Writes the metric families of its lines.
    pub(crate) fn write_metrics(&self, to: &mut Exposition) {
        let counts = self.writer.counts();
        let mut lines = to.family("ptc_audit_lines", "Lines of the audit log.", MetricKind::Counter);
        lines.sample(&[("outcome", "written")], counts.written.load(Ordering::Relaxed));
        lines.sample(&[("outcome", "lost")], counts.lost.load(Ordering::Relaxed));
    }

    /// Records that a run has begun, waits, resumes or has ended.
    pub fn run(&self, run: &RunView) {
        self.line("run", timestamp::now(), |line| {
            line.string("principal", &run.principal);
            line.string("run_id", &run.run_id);
            line.string("tool", &run.tool);
            line.string("status", run.status.as_str());
            if let Some(has_failed) = run.has_failed {
                line.string("outcome", if has_failed { "error" } else { "ok" });
            }
            line.integer("upstream_calls", run.calls.into());
        });
    }

    /// Records a question.
    fn asked(&self, subject: &Subject, open: &PendingQuestion) {
        self.line("question", timestamp::now(), |line| {
            subject.write(line);
            question(line, open.id, &open.question);
        });
    }

    /// Records an answer.
    fn answered(&self, subject: &Subject, id: QuestionId, asked: &Question, answer: &Answer) {
        self.line("answer", timestamp::now(), |line| {
            subject.write(line);
            question(line, id, asked);
            line.string("action", answer.action.as_str());
            if asked.kind == QuestionKind::Approval
                && let Some(decision) = Decision::of_content(answer.content.as_deref())
            {
                line.string("decision", decision.as_str());
            }
            by(line, &answer.by);
        });
    }

    fn line(&self, kind: &str, at: Timestamp, write: impl FnOnce(&mut Object<'_>)) {
        let mut text = object_text(|line| {
            line.string("at", &instant(at));
            line.string("kind", kind);
            write(line);
        });
        text.push('\n');
        self.writer.write(text.into_bytes());
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
        let runs_programs = call.program.is_some() || call.tool == "lisp_task";
        self.line(if runs_programs { "program" } else { "tool_call" }, end.at, |line| {
            line.string("principal", call.owner.principal.name());
            line.string("channel", if call.origin.is_some() { "http" } else { "stdio" });
            line.string("run", &call.eval_id.to_string());
            line.string("tool", &call.tool);
            if let Some(program) = &call.program {
                line.string("program_digest", &sha256_hex(program.as_bytes()));
            }
            line.string("outcome", outcome);
            line.integer("duration_ms", end.duration_ms);
        });
    }
}

impl CallAudit for AuditLog {
    fn called(&self, call: &AuditedCall<'_>) {
        self.line("upstream_call", timestamp::now(), |line| {
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
        });
    }

    fn sampled(&self, sampling: &AuditedSampling<'_>) {
        self.line("sampling", timestamp::now(), |line| {
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
        });
    }
}
