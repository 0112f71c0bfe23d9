//! The model and its account: the time limit of each call, its prompts and its replies (server.md 9.3).

use ptc_host::sync::Mutex;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ptc_agent::llm::{Llm, LlmError, LlmErrorKind, LlmRequest, LlmResponse, Message};
use ptc_host::credentials::Redactor;
use ptc_host::time;
use ptc_mcp::json::{Value, json};

use super::journal::TaskJournal;
use ptc_protocol::report::PlannerReport;

/// Why the planner returned no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlannerError {
    /// One of its calls took too long, by the limit of a call or by one of the client's own, which the text names.
    Timeout(String),
    /// Anything else.
    Other(String),
}

/// The planner's account so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    /// The last call.
    last: Option<PlannerCall>,
    report: PlannerReport,
    /// Calls whose tokens were reported.
    reported: u64,
    pub(super) fault: Option<PlannerError>,
}

#[derive(Debug, Clone)]
struct PlannerCall {
    duration_ms: u64,
    prompt_bytes: u64,
    output_bytes: u64,
    tokens: Option<(u64, u64)>,
}

/// A model whose calls are bounded and counted.
pub(super) struct Planner {
    inner: Arc<dyn Llm>,
    name: String,
    timeout: Duration,
    redactor: Redactor,
    journal: Arc<TaskJournal>,
    account: Mutex<Account>,
}

impl Planner {
    pub(super) fn new(
        inner: Arc<dyn Llm>,
        name: String,
        timeout: Duration,
        redactor: Redactor,
        journal: Arc<TaskJournal>,
    ) -> Planner {
        Planner { inner, name, timeout, redactor, journal, account: Mutex::default() }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock()
    }

    pub(super) fn fault(&self) -> Option<PlannerError> {
        self.account().fault.clone()
    }

    /// The account for observers. The loop adds turns and programs.
    pub(super) fn report(&self) -> PlannerReport {
        let account = self.account();
        PlannerReport { provider_reported: account.reported(), ..account.report }
    }

    /// `planner` of an answer: the last call, and how many there were.
    pub(super) fn meta(&self) -> Value {
        let account = self.account();
        let Some(call) = &account.last else { return json!({"model": self.name, "calls": 0}) };
        json!({
            "model": self.name, "duration_ms": call.duration_ms, "prompt_bytes": call.prompt_bytes,
            "output_bytes": call.output_bytes, "completion_bytes": call.output_bytes,
            "tokens": call.tokens.map(|(input, output)| json!({"input": input, "output": output})),
            "calls": account.report.calls,
        })
    }

    /// `server_side_llm` of the metrics.
    pub(super) fn metrics(&self) -> Value {
        let account = self.account();
        let report = &account.report;
        let tokens = |number: u64| if account.reported() { json!(number) } else { Value::Null };
        json!({
            "planner_calls": report.calls, "provider_reported": account.reported(),
            "prompt_tokens": tokens(report.prompt_tokens), "completion_tokens": tokens(report.completion_tokens),
            "total_tokens": tokens(report.prompt_tokens + report.completion_tokens),
            "prompt_bytes": report.prompt_bytes, "completion_bytes": report.completion_bytes,
            "estimated_prompt_tokens": report.prompt_bytes.div_ceil(4),
            "estimated_completion_tokens": report.completion_bytes.div_ceil(4),
            "estimate_method": "utf8_bytes_div_4",
        })
    }

    async fn ask(&self, mut request: LlmRequest) -> Result<LlmResponse, LlmError> {
        request.messages.iter_mut().for_each(|message| self.scrub(message));
        request.system = self.redactor.scrub_string(std::mem::take(&mut request.system));
        let prompt_bytes = request.system.len()
            + request.messages.iter().map(|message| spoken(message).1.len()).sum::<usize>();
        let bytes = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        let started = time::now();
        {
            // A call that the task's deadline cuts short counts too.
            let mut account = self.account();
            account.report.ok = false;
            account.report.calls += 1;
            account.report.prompt_bytes += bytes(prompt_bytes);
            account.last = Some(PlannerCall {
                duration_ms: 0,
                prompt_bytes: bytes(prompt_bytes),
                output_bytes: 0,
                tokens: None,
            });
        }
        let system = std::iter::once(("system", request.system.as_str()));
        let messages: Vec<_> = system.chain(request.messages.iter().map(spoken)).collect();
        self.journal.planner_starts(&self.name, &messages);
        // The task's own deadline is kept by the loop around this.
        let asked = time::timeout(self.timeout, self.inner.complete(request)).await;
        let answered = match asked {
            Err(_) => Err(LlmError::new(LlmErrorKind::Timeout, self.too_slow())),
            Ok(Ok(response)) if response.content.as_ref().is_none_or(|text| text.trim().is_empty()) => {
                Err(LlmError::new(LlmErrorKind::Malformed, "the planner returned no text"))
            }
            Ok(answered) => answered,
        };
        let mut account = self.account();
        let output =
            answered.as_ref().ok().and_then(|response| response.content.as_deref()).unwrap_or_default();
        let usage = answered.as_ref().ok().and_then(|response| response.usage);
        let call = PlannerCall {
            duration_ms: u64::try_from(time::since(started).as_millis()).unwrap_or(u64::MAX),
            prompt_bytes: bytes(prompt_bytes),
            output_bytes: bytes(output.len()),
            tokens: usage
                .filter(|usage| usage.input + usage.output > 0)
                .map(|usage| (usage.input, usage.output)),
        };
        let report = &mut account.report;
        report.ok = answered.is_ok();
        report.duration_ms += call.duration_ms;
        report.completion_bytes += call.output_bytes;
        if let Some((input, output)) = call.tokens {
            report.prompt_tokens += input;
            report.completion_tokens += output;
        }
        account.reported += u64::from(call.tokens.is_some());
        account.fault = answered.as_ref().err().map(|error| {
            let text = self.redactor.scrub_string(error.to_string());
            match error.kind {
                LlmErrorKind::Timeout => PlannerError::Timeout(text),
                _ => PlannerError::Other(text),
            }
        });
        account.last = Some(call);
        drop(account);
        let told = answered.as_ref().map(|response| response.content.as_deref().unwrap_or_default());
        self.journal.planner_stops(
            &self.name,
            told.map_err(|error| error.kind.as_str()),
            time::since(started),
        );
        answered
    }

    fn too_slow(&self) -> String {
        format!("planner exceeded {}ms timeout", self.timeout.as_millis())
    }

    fn scrub(&self, message: &mut Message) {
        match message {
            Message::System { content }
            | Message::User { content, .. }
            | Message::Assistant { content, .. }
            | Message::Tool { content, .. } => {
                *content = self.redactor.scrub_string(std::mem::take(content));
            }
        }
    }
}

impl Account {
    /// True if there was a call, and every call reported its tokens.
    fn reported(&self) -> bool {
        self.reported == self.report.calls && self.report.calls > 0
    }
}

/// The role and the text of a message.
fn spoken(message: &Message) -> (&'static str, &str) {
    match message {
        Message::System { content } => ("system", content),
        Message::User { content, .. } => ("user", content),
        Message::Assistant { content, .. } => ("assistant", content),
        Message::Tool { content, .. } => ("tool", content),
    }
}

impl Llm for Planner {
    fn complete(&self, request: LlmRequest) -> BoxFuture<'_, Result<LlmResponse, LlmError>> {
        Box::pin(self.ask(request))
    }

    fn model(&self) -> Option<&str> {
        Some(&self.name)
    }
}
