//! One task, from its arguments to its answer (server.md 9.5).

use std::borrow::Cow;
use std::sync::Arc;

use ptc_agent::agent::{Agent, CompletionMode, ConfigError, SystemPrompt};
use ptc_agent::run::{Fail, RunOptions, Step, Turn};
use ptc_agent::telemetry::{Event, Scope};
use ptc_host::aggregator::{note_on_failures, notes_on_calls};
use ptc_host::credentials::Redactor;
use ptc_host::engine::{CallRecord, EvalId, EvalOutcome, Failure, FinalValue, ObservedCalls, pinned};
use ptc_host::time::{self, Instant};
use ptc_mcp::json::{Map, Value, json};
use ptc_vm::Reason;

use super::arguments::Task;
use super::journal::TaskJournal;
use super::ledger::Ledger;
use super::planner::{Planner, PlannerError};
use super::render::{RenderedAnswer, render};
use super::{TaskCatalog, TaskOptions};
use super::{prompt, reply};
use crate::shaping::{call_result, feedback};
use ptc_observers::trace::trace_id;
use ptc_protocol::principal::Principal;
use ptc_protocol::report::CallReport;
use ptc_protocol::report::Payload;
use ptc_protocol::report::ptc_metrics::PtcMetrics;
use ptc_protocol::report::{CallUsage, PlannerReport};
use ptc_protocol::tool::ToolReply;

const BUDGET: &str = "agentic task budget exceeded";
const EFFICIENCY: &str = "payload_reduction_ratio covers the answer versus the fetched results only. Planner usage \
    (server_side_llm) and the envelope around the answer are not included; total efficiency against a workflow without \
    PTC is not computed.";

/// Runs a task. Dropping the future cancels the model's request, the program and its calls.
pub(super) async fn run(
    options: &TaskOptions,
    task: Task,
    principal: Principal,
    eval_id: EvalId,
    request_id: String,
) -> ToolReply {
    let trace_id = trace_id(eval_id);
    let redactor = options.redactor.for_principal(Some(principal.name()));
    let journal = Arc::new(TaskJournal::new(
        request_id,
        trace_id.clone(),
        options.redactor.for_log(),
        options.traced,
        options.trace_prompts,
    ));
    let started = time::now();
    let model = match &options.model {
        Ok(model) => model.clone(),
        Err(message) => return reply::refused("agentic_config_error", message),
    };
    let planner = Arc::new(Planner::new(
        model,
        options.model_name.clone(),
        options.planner_timeout,
        redactor.clone(),
        journal.clone(),
    ));
    let known = options.catalog_of(&principal);
    let ledger = Ledger::new(Arc::new(known.catalog.clone()));
    let agent = match agent(options, &known, &task) {
        Ok(agent) => agent,
        Err(error) => return reply::refused("agentic_config_error", &error.to_string()),
    };
    journal.task_starts(&options.model_name);
    let run_options = RunOptions {
        principal: Some(principal.shared_name()),
        authority: principal.authority().cloned(),
        programs: options.programs.clone().map(|kept| kept.served_to(&principal)),
        ..run_options(options, &task, &planner, &ledger, &journal, trace_id.clone())
    };
    let ran = agent.run(run_options).await;
    let (step, failed) = match ran {
        Ok(step) => (step, None),
        Err(mut step) => {
            let fail = step.fail.take();
            (*step, fail)
        }
    };
    let done = FinishedTask {
        options,
        redactor,
        task: &task,
        planner: &planner,
        ledger: &ledger,
        journal: &journal,
        trace_id,
        step,
        started,
    };
    done.answer(failed)
}

fn agent(options: &TaskOptions, known: &TaskCatalog, task: &Task) -> Result<Agent, ConfigError> {
    let turns = options.planner.max_turns.saturating_add(options.planner.retry_turns);
    Agent::builder(prompt::user(task))
        .literal_prompt()
        .name("lisp_task")
        .system_prompt(SystemPrompt::Replace(prompt::system(options, known)))
        .completion_mode(CompletionMode::Explicit)
        .max_turns(options.planner.max_turns)
        .retry_turns(options.planner.retry_turns)
        .turn_budget(turns)
        .timeout(options.limits.timeout)
        .max_heap(options.limits.memory_bytes)
        .max_steps(options.limits.steps)
        .max_program_bytes(options.limits.program_bytes)
        .mission_timeout(options.task_timeout)
        .build()
}

fn run_options(
    options: &TaskOptions,
    task: &Task,
    planner: &Arc<Planner>,
    ledger: &Ledger,
    journal: &Arc<TaskJournal>,
    trace_id: String,
) -> RunOptions {
    let (turns, guarded, journal) = (ledger.clone(), ledger.clone(), journal.clone());
    let observer = move |scope: &Scope, event: &Event<'_>| {
        if matches!(event, Event::TurnStart { .. }) {
            turns.begin_turn(scope.turn);
        }
        journal.agent(scope, event);
    };
    let guard = move |_: &Step| match guarded.has_side_effects() {
        true => {
            let text = "Continuation blocked after write or unknown upstream side effects";
            Err(Fail::new("partial_side_effects", text))
        }
        false => Ok(()),
    };
    let summary =
        |turn: &Turn| turn.error.as_ref().and_then(|_| feedback::upstream_summary(&turn.upstream_calls));
    RunOptions {
        context: task.context.clone(),
        upstreams: Some(Arc::new(ObservedCalls::new(pinned(&options.upstreams), Arc::new(ledger.clone())))),
        observer: Some(Arc::new(observer)),
        budget: Some(Arc::new(guard)),
        feedback: Some(Arc::new(summary)),
        max_tokens: Some(options.max_output_tokens),
        trace_id: Some(trace_id),
        ..RunOptions::new(planner.clone()).with_engine(options.engine.clone())
    }
}

/// A finished task.
struct FinishedTask<'a> {
    options: &'a TaskOptions,
    redactor: Redactor,
    task: &'a Task,
    planner: &'a Planner,
    ledger: &'a Ledger,
    journal: &'a TaskJournal,
    trace_id: String,
    step: Step,
    started: Instant,
}

impl FinishedTask<'_> {
    fn answer(mut self, failed: Option<Fail>) -> ToolReply {
        let overdue = time::since(self.started) > self.options.task_timeout;
        let failure = match failed {
            Some(fail) => Some(self.failure(fail)),
            // An answer that comes too late is discarded; the calls made are reported all the same.
            None if overdue => Some(("budget_exceeded".into(), BUDGET.to_owned())),
            None => None,
        };
        let failure = failure.map(|(reason, message)| match self.ledger.has_side_effects() {
            true => (Cow::Borrowed("partial_side_effects"), message),
            false => (reason, message),
        });
        match failure {
            None => self.success(),
            Some((reason, message)) => self.error(reason, message),
        }
    }

    /// The reason and the message of a run that failed.
    fn failure(&self, fail: Fail) -> (Cow<'static, str>, String) {
        let message = self.redactor.scrub_string(fail.message);
        let timed_out = self.step.turns.last().is_some_and(|turn| turn.reason == Some("timeout"));
        match fail.reason.as_str() {
            "fail" => ("agent_failed".into(), message),
            "partial_side_effects" => ("partial_side_effects".into(), message),
            "mission_timeout" => ("budget_exceeded".into(), BUDGET.to_owned()),
            "llm_error" => match self.planner.fault() {
                Some(PlannerError::Timeout(text)) => ("planner_timeout".into(), text),
                Some(PlannerError::Other(text)) => ("planner_error".into(), text),
                None => ("planner_error".into(), message),
            },
            _ if timed_out => {
                let why = self.step.turns.last().and_then(|turn| turn.error.clone()).unwrap_or(message);
                ("budget_exceeded".into(), why)
            }
            other => (format!("ptc_{other}").into(), message),
        }
    }

    fn success(&mut self) -> ToolReply {
        let mut value = self.step.value.take().unwrap_or_default();
        self.redactor.scrub_json(&mut value);
        let rendered = render(value, &self.task.wishes, self.options.max_result_bytes);
        let mut body = Map::new();
        body.insert("status".into(), "ok".into());
        body.insert("answer".into(), rendered.answer.clone().into());
        body.insert("structured_result".into(), rendered.structured.clone());
        let result = Ok(FinalValue { text: rendered.answer.clone(), ..FinalValue::default() });
        self.finish(body, Some(&rendered), result, None)
    }

    fn error(&mut self, reason: Cow<'static, str>, message: String) -> ToolReply {
        let summary = feedback::upstream_summary(&self.ledger.records());
        let feedback = match summary {
            Some(summary) => format!("{message}\n\n{summary}"),
            None => message.clone(),
        };
        let mut body = Map::new();
        body.insert("status".into(), "error".into());
        body.insert("reason".into(), reason.clone().into());
        body.insert("message".into(), message.clone().into());
        body.insert("feedback".into(), feedback.into());
        let result = Err(Failure::new(Reason::RuntimeError, message));
        self.finish(body, None, result, Some(reason))
    }

    /// The members common to successes and errors, after those already written.
    #[expect(clippy::disallowed_methods, reason = "entry point: FinishedTask.finish")]
    fn finish(
        &mut self,
        mut body: Map,
        rendered: Option<&RenderedAnswer>,
        result: Result<FinalValue, Failure>,
        reason: Option<Cow<'static, str>>,
    ) -> ToolReply {
        let options = self.options;
        let records = self.ledger.records();
        let truncated = rendered.is_some_and(|rendered| rendered.truncated);
        let result_bytes = rendered.map_or(0, RenderedAnswer::bytes);
        let program = self.step.turns.iter().rev().find_map(|turn| turn.program.clone());
        body.insert("warnings".into(), self.warnings(truncated));
        body.insert("planner".into(), self.planner.meta());
        body.insert(
            "execution".into(),
            json!({
                "result_bytes": result_bytes, "truncated": truncated, "max_result_bytes": options.max_result_bytes,
                "duration_ms": u64::try_from(time::since(self.started).as_millis()).unwrap_or(u64::MAX),
                "turn_count": self.step.usage.turns,
            }),
        );
        body.insert("upstream_calls".into(), self.ledger.calls().into());
        let results: Vec<Value> = records
            .iter()
            .filter_map(call_result)
            .filter_map(|text| serde_json::from_str(&text).ok())
            .collect();
        if !results.is_empty() {
            body.insert("upstream_results".into(), results.into());
        }
        // Only a turn that was accepted knows what its program read.
        let taken: Vec<CallRecord> =
            self.step.turns.iter().flat_map(|turn| turn.upstream_calls.iter().cloned()).collect();
        let failures = note_on_failures(&taken).filter(|_| reason.is_none());
        let notes: Vec<Value> = notes_on_calls(&records)
            .into_iter()
            .chain(failures)
            .map(|note| self.redactor.scrub_string(note).into())
            .collect();
        if !notes.is_empty() {
            body.insert("notes".into(), notes.into());
        }
        if let Some(program) = program.as_ref().filter(|_| options.include_program) {
            body.insert("program".into(), self.redactor.scrub_string(program.clone()).into());
        }
        self.journal.task_stops(reason.as_deref(), time::since(self.started));
        // Without a trace an id would lead nowhere.
        let trace_id = options.traced.then_some(self.trace_id.as_str());
        body.insert("trace_id".into(), trace_id.into());
        body.insert("ptc_metrics".into(), self.metrics(&records, result_bytes));
        let is_error = reason.is_some();
        let report = options.reports.then(|| self.report(result, records, program, reason));
        reply::reply(is_error, body, options).reporting(report)
    }

    fn warnings(&self, truncated: bool) -> Value {
        let unsupported =
            self.task.unsupported.iter().map(|key| json!({"code": "unsupported_constraint", "detail": key}));
        let cut =
            truncated.then(|| json!({"code": "max_result_bytes", "detail": self.options.max_result_bytes}));
        unsupported.chain(cut).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: FinishedTask.metrics")]
    fn metrics(&self, records: &[CallRecord], result_bytes: u64) -> Value {
        let metrics = PtcMetrics::of(records, result_bytes, 0).json();
        let mut metrics: Value = serde_json::from_str(&metrics).unwrap_or_default();
        metrics["server_side_llm"] = self.planner.metrics();
        metrics["efficiency_note"] = EFFICIENCY.into();
        metrics
    }

    /// The report for observers.
    fn report(
        &self,
        result: Result<FinalValue, Failure>,
        upstream_calls: Vec<CallRecord>,
        program: Option<String>,
        reason: Option<Cow<'static, str>>,
    ) -> CallReport {
        let steps = self.step.turns.iter().map(|turn| turn.steps).sum();
        let memory_peak_bytes = self.step.usage.memory_bytes;
        let duration = time::since(self.started);
        let outcome = EvalOutcome {
            result,
            prints: self.step.prints.clone(),
            attachments: Default::default(),
            steps,
            memory_peak_bytes,
            upstream_calls,
            catalog_ops: Vec::new(),
            changed: Vec::new(),
            returned: true,
            session: None,
            session_fault: None,
            suspended: None,
            resume_fault: None,
            missed_keys: Vec::new(),
            notes: Vec::new(),
            duration,
        };
        let program: Option<Arc<str>> = program.map(Into::into);
        let mut payload = Payload::of(outcome, program.as_deref().unwrap_or_default());
        payload.scrub(&self.redactor);
        let programs = self.step.turns.iter().filter(|turn| turn.program.is_some()).count();
        CallReport {
            reason,
            context: Some(Value::Object(self.task.context.clone()).to_string().into()),
            output_schema: false,
            payload,
            usage: Some(CallUsage { steps, memory_peak_bytes, duration }),
            planner: Some(PlannerReport {
                turns: programs as u64,
                program_bytes: program.as_ref().map_or(0, |program| program.len() as u64),
                ..self.planner.report()
            }),
            program,
            events: self.journal.take(),
        }
    }
}
