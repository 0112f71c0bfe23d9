//! Execution of one program, and the record of it (agent.md 8.6, 8.7).

use super::advice;
use super::shared::RunScope;
use super::state::AgentLimits;
use super::tools::ProgramTools;
use super::upstreams::SharedCalls;
use super::{AgentRun, RunEvent};
use crate::llm::ToolCall;
use crate::settings::{Config, Mode};
use crate::telemetry::Event;
use crate::tool::{LISP_EVAL, Layer};
use ptc_base::json::{Value as Json, json};
use ptc_base::text::with_dots;
use ptc_base::trace;
use ptc_compiler::CompileOptions;
use ptc_engine::{
    AppTools, CallRecord, CatalogOp, Changed, EvalOutcome, EvalRequest, Failure, FinalValue, HostCalls,
    Limits, Render, SessionRules,
};
use ptc_vm::meter::Allowance;
use std::sync::Arc;

/// Most bytes of an error's message or a `(fail v)`'s value.
pub(super) const MAX_MESSAGE: usize = 16 << 10;
/// Characters of a print that the language keeps (language.md 6.2).
const LANGUAGE_PRINT: usize = 2000;

/// The result of a program.
pub(super) struct ProgramOutcome {
    pub(super) result: Result<FinalValue, Failure>,
    /// Whether `(return v)` ended it.
    pub(super) returned: bool,
    pub(super) prints: Vec<String>,
    /// Whether some prints were left out.
    pub(super) prints_cut: bool,
    pub(super) changed: Vec<Changed>,
    pub(super) stored: Vec<String>,
    /// The measured size of its definitions and the limit, if it failed for that.
    pub(super) over_memory: Option<(u64, u64)>,
    pub(super) upstream_calls: Vec<CallRecord>,
    pub(super) catalog_ops: Vec<CatalogOp>,
    pub(super) steps: u64,
    pub(super) memory_peak: u64,
}

impl AgentRun {
    /// Runs a program and records the outcome. `tools` says whether it may call any, `json` whether its value is wanted as
    /// JSON.
    pub(super) async fn evaluate(&mut self, source: &str, tools: bool, json: bool) -> ProgramOutcome {
        self.watch(|| RunEvent::ProgramStarted { source: source.to_owned() });
        let ran = evaluate_in_span(&self.shared, source, tools, json).await;
        self.note_program(source, &ran);
        let turn = &self.turn;
        self.watch(|| RunEvent::ProgramEnded {
            result: turn.result.clone(),
            error: turn.error.clone(),
            prints: turn.prints.clone(),
        });
        let shared = self.shared.clone();
        if shared.config.tells_progress() {
            let done = shared.kept.journal().await.summaries;
            self.progress = shared.config.progress_text(&done, self.turn.number);
        }
        ran
    }

    /// Records a program's outcome in the turn and in the run.
    fn note_program(&mut self, source: &str, ran: &ProgramOutcome) {
        let turn = &mut self.turn;
        turn.program = Some(source.to_owned());
        turn.result = ran.result.as_ref().ok().map(|answer| answer.text.clone());
        turn.error = ran.result.as_ref().err().map(ProgramOutcome::message);
        turn.reason = ran.result.as_ref().err().map(|failure| failure.reason.as_str());
        turn.prints.clone_from(&ran.prints);
        turn.memory = ran.changed.iter().map(|it| (it.name.clone(), it.preview.clone())).collect();
        turn.upstream_calls.clone_from(&ran.upstream_calls);
        turn.catalog_ops.clone_from(&ran.catalog_ops);
        turn.steps = ran.steps;
        self.step.prints.extend(ran.prints.iter().cloned());
        self.step.usage.memory_bytes = self.step.usage.memory_bytes.max(ran.memory_peak);
    }
}

/// Runs a program and reports its start and end to telemetry.
async fn evaluate_in_span(run: &Arc<RunScope>, source: &str, tools: bool, json: bool) -> ProgramOutcome {
    let (tool_name, exposure_layer) = (LISP_EVAL, Layer::Native.as_str());
    let span = run.emitter.begin(&Event::ToolStart { tool_name, exposure_layer, args: source });
    let ran = evaluate(run, source, tools, json).await;
    let duration = span.elapsed();
    match &ran.result {
        Ok(answer) => {
            let result = crate::telemetry::summary(&answer.text);
            run.emitter.end(&span, &Event::ToolStop { tool_name, exposure_layer, result, duration });
        }
        Err(failure) => {
            let message = failure.message.as_str();
            run.emitter.end(&span, &Event::ToolException { tool_name, exposure_layer, message, duration });
        }
    }
    ran
}

async fn evaluate(run: &Arc<RunScope>, program: &str, tools: bool, json: bool) -> ProgramOutcome {
    let tools = Arc::new(ProgramTools::new(run.clone(), tools));
    let request = request(run, program, tools.clone(), json);
    let limits = request.limits;
    let mut ran = match without_tools(program, &tools, &limits) {
        Some(refusal) => ProgramOutcome::refused(refusal),
        None => match run.kept.engine() {
            Ok(engine) => {
                let outcome = engine.eval(request).await;
                tools.close();
                ProgramOutcome::of(run, outcome).await
            }
            Err(error) => ProgramOutcome::refused(Failure::new(ptc_vm::Reason::Cancelled, error.to_string())),
        },
    };
    if let Err(failure) = &mut ran.result {
        advice::add(&run.config, failure, || tools_named(program, &limits));
    }
    ran.remember_failure(run);
    ran
}

/// The refusal of a program that names a tool where it may call none.
fn without_tools(program: &str, tools: &ProgramTools, limits: &Limits) -> Option<Failure> {
    if !tools.names().is_empty() {
        return None;
    }
    let name = tools_named(program, limits).into_iter().next()?;
    let text = format!("Unknown tool: {name}. No tools available.");
    Some(Failure::new(ptc_vm::Reason::UnknownTool, text))
}

/// The request to the engine: the run's context, limits and session.
fn request(run: &Arc<RunScope>, program: &str, tools: Arc<ProgramTools>, json: bool) -> EvalRequest {
    let config = &run.config;
    let mut context = run.context.clone();
    if let Some(failure) = run.kept.failure() {
        context.insert("fail".into(), failure);
    }
    let timeout = config.timeout.min(run.left());
    let limits = Limits {
        timeout,
        memory_bytes: run.max_heap,
        steps: config.max_steps.unwrap_or_else(|| Limits::steps_for(timeout)),
        program_bytes: config.max_program_bytes,
    };
    let rules = AgentLimits {
        memory_limit: config.memory_limit,
        history_max_bytes: config.format.history(config.mode),
        journaling: config.journaling,
    };
    let (shown_items, max_result) = config.format.result(config.mode);
    let upstreams = upstreams(run);
    EvalRequest {
        context: Some(Json::Object(context).to_string().into()),
        session: Some(run.kept.session.clone()),
        session_rules: Some(Arc::new(rules) as Arc<dyn SessionRules>),
        limits,
        render: Render { max_text_bytes: Some(max_result), json },
        shown_items,
        upstreams,
        programs: run.programs.clone(),
        asker: run.asker.clone(),
        tools: Some(tools),
        principal: run.principal.clone(),
        authority: run.authority.clone(),
        trace: trace::current(),
        ..EvalRequest::new(program)
    }
}

/// Answers the program's upstream calls.
fn upstreams(run: &Arc<RunScope>) -> Option<Arc<dyn HostCalls>> {
    let inner = run.upstreams.clone()?;
    let shares = run.config.tools.values().any(|tool| tool.upstream.is_some());
    Some(if shares { Arc::new(SharedCalls { run: run.clone(), inner }) } else { inner })
}

/// The prints that the model reads, and whether some are cut or left out.
fn kept_prints(config: &Config, prints: Vec<String>) -> (Vec<String>, bool) {
    let (all, mut cut) = (prints.len(), false);
    let mut room = config.format.prints_max_bytes;
    let kept: Vec<String> = prints
        .into_iter()
        .map(|print| short_print(print, config.format.max_print_length, &mut cut))
        .take_while(|print| {
            let fits = print.len() <= room;
            room = room.saturating_sub(print.len());
            fits
        })
        .collect();
    let cut = cut || kept.len() < all;
    (kept, cut)
}

/// In combined mode a model reads the shapes of a program's definitions, not the values.
async fn show_shapes_only(run: &RunScope, changed: &mut [Changed]) {
    if run.config.mode != Mode::Combined || changed.is_empty() {
        return;
    }
    let names = changed.iter().map(|it| it.name.clone()).collect();
    for (it, shape) in changed.iter_mut().zip(run.kept.shapes(names).await) {
        it.preview = shape;
        it.cut = false;
    }
}

/// A print of at most `max` characters; the language itself cuts at 2000.
fn short_print(mut print: String, max: usize, cut: &mut bool) -> String {
    if max >= LANGUAGE_PRINT {
        return print;
    }
    if let Some((end, _)) = print.char_indices().nth(max) {
        let all = print.chars().count();
        print.truncate(end);
        print.push_str(&format!("... ({max}/{all} chars)"));
        *cut = true;
    }
    print
}

/// The tools that a program names, wherever it does, in its order. Looked for under the program's own limits: one that passes
/// them is refused when it is run.
fn tools_named(program: &str, limits: &Limits) -> Vec<String> {
    let allowance = Allowance {
        memory_bytes: limits.memory_bytes,
        steps: limits.steps,
        reservation: None,
        deadline: None,
    };
    let options = CompileOptions { max_source_bytes: limits.program_bytes, ..CompileOptions::default() };
    let compile = || Ok(ptc_compiler::compile(program, ptc_vm::builtins::library(), &options)?);
    let Ok((compiled, _)) = allowance.spend(compile) else { return Vec::new() };
    compiled.tools.iter().map(|tool| tool.name.to_string()).collect()
}

impl ProgramOutcome {
    /// Converts the engine's outcome for the agent.
    async fn of(run: &RunScope, outcome: EvalOutcome) -> ProgramOutcome {
        let report = outcome.session.unwrap_or_default();
        let over_memory = report.exceeded.as_ref().map(|exceeded| (exceeded.actual, exceeded.max));
        // Nothing that passed the limit is kept.
        let (mut changed, stored) =
            if over_memory.is_some() { (Vec::new(), Vec::new()) } else { (report.changed, report.stored) };
        let (prints, prints_cut) = kept_prints(&run.config, outcome.prints);
        show_shapes_only(run, &mut changed).await;
        ProgramOutcome {
            result: outcome.result,
            returned: outcome.returned,
            prints_cut,
            prints,
            changed,
            stored,
            over_memory,
            upstream_calls: outcome.upstream_calls,
            catalog_ops: outcome.catalog_ops,
            steps: outcome.steps,
            memory_peak: outcome.memory_peak_bytes,
        }
    }

    /// A program that did not run.
    fn refused(failure: Failure) -> ProgramOutcome {
        ProgramOutcome {
            result: Err(failure),
            returned: false,
            prints: Vec::new(),
            prints_cut: false,
            changed: Vec::new(),
            stored: Vec::new(),
            over_memory: None,
            upstream_calls: Vec::new(),
            catalog_ops: Vec::new(),
            steps: 0,
            memory_peak: 0,
        }
    }

    /// Sets `data/fail`: errors do, `(fail v)` and the memory limit do not.
    fn remember_failure(&self, run: &RunScope) {
        if let Err(failure) = &self.result
            && failure.payload.is_none()
            && self.over_memory.is_none()
        {
            let message = with_dots(&failure.full_message(), MAX_MESSAGE);
            run.kept
                .set_failure(json!({"reason": failure.reason.as_str(), "message": message, "details": {}}));
        }
    }
}

/// The program of a call of `lisp_eval`.
pub(super) fn program(call: &ToolCall) -> Result<&str, String> {
    if let Some(wrong) = &call.args_error {
        return Err(format!("Invalid tool arguments: {}", wrong.detail));
    }
    match call.args.get("program") {
        None | Some(Json::Null) => Err("lisp_eval requires a non-empty `program` string argument.".into()),
        Some(Json::String(text)) if text.trim().is_empty() => {
            Err("lisp_eval `program` must be a non-empty string.".into())
        }
        Some(Json::String(text)) => Ok(text),
        Some(other) => {
            Err(format!("lisp_eval `program` must be a string, got {}.", with_dots(&other.to_string(), 200)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_looked_for_within_limits() {
        let limits = Limits::plain();
        assert_eq!(tools_named("(+ 1 (tool/get {})) (tool/put {})", &limits), ["get", "put"]);
        assert!(tools_named("(+ 1 2)", &limits).is_empty());
        let small = Limits { steps: 100, ..limits };
        assert!(tools_named(&format!("[{}] (tool/get {{}})", "[1 2 3] ".repeat(2000)), &small).is_empty());
    }
}
