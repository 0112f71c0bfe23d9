//! `tools/call`

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ptc_host::digest::sha256;
use ptc_host::engine::EvalId;
use ptc_host::time;
use ptc_host::trace::{self, Trace, within_sync};
use ptc_mcp::Era;
use ptc_mcp::LogLevel;
use ptc_mcp::Revision;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Kind, Raw};
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::{Params, ParamsMember};
use tracing::{debug, info, warn};

use crate::answers;
use crate::call::{Call, CallWork, LoggedRequest};
use crate::call_notifications::Hearing;
use crate::client::KnownClient;
use crate::client_requests::{ClientLine, Outgoing};
use crate::concurrency_limiter::{CapacityError, Permit, PermitLoan};
use crate::connection::AdmissionError;
use crate::elicitation::Elicitation;
use crate::handler_outcome::HandlerOutcome;
use crate::observer::CallSpan;
use crate::principal::Principal;
use crate::request_span::{TOOLS_CALL, trace_of};
use crate::request_state::{RequestStates, StateBinding, StateRefusal, arguments_digest};
use crate::results;
use crate::service::{MessageContext, Service};
use crate::tasks;
use crate::tool::{
    CallContext, CallExtras, ClientReach, Preparation, RequestOrigin, Retry, Tool, ToolName, ToolReply,
    short_name,
};

/// Answers a call, or prepares it to run.
///
/// The order is fixed: parameters, draining, name, arguments, duplicate id, the conversation's own limit, the process's
/// limit. So a malformed call never takes a permit.
pub fn answer(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    params: &ParamsMember<'_>,
) -> HandlerOutcome {
    let Some(params) = params.object() else {
        return HandlerOutcome::error(id, &RpcError::invalid_params());
    };
    let unquoted = params.arguments.filter(|given| given.kind() == Kind::String).and_then(Raw::as_str);
    let params = &Params { arguments: meant(params.arguments, unquoted.as_deref()), ..*params };
    match trace_of(service, from, Some(TOOLS_CALL), Some(params)) {
        Some(trace) => within_sync(trace.clone(), || begin(service, from, id, params, Some(trace))),
        None => begin(service, from, id, params, None),
    }
}

/// Begins a call within its trace.
fn begin(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    params: &Params<'_>,
    trace: Option<Arc<Trace>>,
) -> HandlerOutcome {
    let name = params.name.and_then(Raw::as_str).unwrap_or(Cow::Borrowed(""));
    let (request_id, owner_hash) = (from.origin, from.caller.hash());
    info!(event = "tools_call_start", request_id, rpc_id = %id, owner_hash, tool = loggable(&name));
    let request =
        ToolCallRequest { service, from, id, params, name: &name, trace: trace.as_ref(), is_prompt: false };
    if service.is_draining() || from.connection.is_draining() {
        info!(event = "tools_call_rejected_shutting_down", request_id, rpc_id = %id, owner_hash);
        return request.reply(&ToolReply::shutting_down());
    }
    if let Some(why) = service.observers.as_ref().and_then(|observers| observers.stop()) {
        info!(event = "tools_call_rejected_unrecordable", request_id, rpc_id = %id, owner_hash);
        return request.reply(&ToolReply::unrecordable(&why));
    }
    match service.tools.find(&name, || from.owner(service).principal) {
        Some((name, tool)) => request.prepare(&name, &*tool),
        None => request.without_tool(),
    }
}

/// The arguments as their client means them. Some clients send `null` for none, and an object as its JSON text, which
/// is `unquoted` here (ruling 74).
fn meant<'a>(given: Option<Raw<'a>>, unquoted: Option<&'a str>) -> Option<Raw<'a>> {
    let given = given.filter(|given| given.kind() != Kind::Null)?;
    Some(unquoted.and_then(Raw::object_of).unwrap_or(given))
}

/// Answers a `prompts/get` of a prompt that an extension has.
pub(super) fn prompt(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: &str,
    params: &ParamsMember<'_>,
) -> Option<HandlerOutcome> {
    let params = params.object().filter(|_| method == "prompts/get")?;
    let name = params.name.and_then(Raw::as_str)?;
    let (known, prompt) = service.prompts.find(&name, || from.caller.clone())?;
    if let Some(why) = service.observers.as_ref().and_then(|observers| observers.stop()) {
        info!(event = "prompt_rejected_unrecordable", rpc_id = %id);
        return Some(HandlerOutcome::error(id, &RpcError::new(RpcError::REFUSED, why)));
    }
    let trace = trace::current();
    let trace = trace.as_ref();
    let request = ToolCallRequest { service, from, id, params, name: &name, trace, is_prompt: true };
    Some(request.prepare(&known, &*prompt))
}

/// A call with usable parameters.
#[derive(Clone, Copy)]
struct ToolCallRequest<'a> {
    service: &'a Arc<Service>,
    from: MessageContext<'a>,
    id: &'a RequestId,
    params: &'a Params<'a>,
    /// The tool as the client names it.
    name: &'a str,
    trace: Option<&'a Arc<Trace>>,
    /// True if a prompt is got: the request has a span then, and the call none.
    is_prompt: bool,
}

/// A call as prepared by its tool, and its observers.
struct Ready {
    name: ToolName,
    eval_id: EvalId,
    running: BoxFuture<'static, ToolReply>,
    /// True if it needs a permit.
    gated: bool,
    hearing: Option<Hearing>,
    outgoing: Option<Outgoing>,
    patience: Duration,
    span: Option<CallSpan>,
    /// The caller, with what it may do now.
    principal: Principal,
    /// True if it goes on with a program.
    resumes: bool,
    permit: PermitLoan,
}

/// How long a call that resumes a program waits for the outcome of an earlier call that did so first
/// (waiting.md 5.4), in addition to the time for a page that a person is reading (waiting.md 4.2).
const RETRY_PATIENCE: Duration = Duration::from_secs(15);

impl ToolCallRequest<'_> {
    /// Answers the call with its tool's reply.
    fn reply(&self, reply: &ToolReply) -> HandlerOutcome {
        HandlerOutcome::answered(results::tool_call(self.service, self.from.era, self.id, reply))
    }

    /// The facts that the tool receives besides the arguments.
    fn context(&self) -> CallContext {
        CallContext {
            owner: self.from.owner(self.service),
            request_id: self.id.clone(),
            revision: self.from.revision(),
            origin: self
                .from
                .origin
                .filter(|_| self.service.observers.is_some())
                .map(|request_id| RequestOrigin { request_id: request_id.into() }),
            trace: self.trace.cloned(),
            eval_id: EvalId::new(),
            result_room: self.from.client(self.params.meta.client_info).map(KnownClient::whole_result),
            progress: None,
            audience: None,
            asked: ClientReach::default(),
            permit: PermitLoan::default(),
        }
    }

    /// How the client can be asked, and the receiver of the questions that the call sends.
    fn asked(&self, tool: &str) -> Result<(ClientReach, Option<Outgoing>), StateRefusal> {
        let none = (self.plain(), None);
        let Some(asking) = &self.service.asking else { return Ok(none) };
        if self.from.era == Era::Modern {
            let modes = Elicitation::declared(self.params.meta.capabilities, Revision::V2026_07_28);
            let retry = self.retry(tool, &asking.states)?.map(Arc::new);
            return Ok((ClientReach { modes, retry, ..self.plain() }, None));
        }
        let connection = self.from.connection;
        let modes = connection.elicitation();
        if !modes.is_any() || !connection.lasts() {
            return Ok(none);
        }
        let (line, outgoing) = ClientLine::open(connection);
        Ok((ClientReach { modes, line: Some(line), ..self.plain() }, Some(outgoing)))
    }

    /// How a client is described that cannot be asked.
    fn plain(&self) -> ClientReach {
        ClientReach {
            takes_tasks: self.from.era == Era::Modern
                && self.service.tasks.is_some()
                && tasks::declared(self.params.meta.capabilities),
            ..ClientReach::default()
        }
    }

    /// The state and the answers that the client returned. `inputResponses` without a state are ignored: the call is
    /// a new one.
    fn retry(&self, tool: &str, states: &RequestStates) -> Result<Option<Retry>, StateRefusal> {
        let Some(state) = self.params.request_state else { return Ok(None) };
        let sealed = state.as_str().ok_or(StateRefusal::Malformed)?;
        let arguments = arguments_digest(self.params.arguments.map(Raw::text));
        let principal = self.from.caller.name();
        let bound = StateBinding { principal, method: "tools/call", tool, arguments: &arguments };
        let state = states.open(&sealed, bound)?;
        let responses = self.params.input_responses;
        responses.map_or(Ok(()), check_responses)?;
        let responses = responses.map(|given| given.text().to_owned());
        let mut asked = Vec::with_capacity(sealed.len() + 64);
        for text in [Some(&*sealed), responses.as_deref()] {
            asked.extend_from_slice(&text.map_or(0, |text| text.len() as u64 + 1).to_be_bytes());
            asked.extend_from_slice(text.unwrap_or_default().as_bytes());
        }
        Ok(Some(Retry { state, digest: sha256(&asked), responses, visited: None }))
    }

    /// Answers a call of a tool that is unknown or not offered.
    fn without_tool(&self) -> HandlerOutcome {
        let (service, name) = (self.service, self.name);
        let context = self.context();
        if let Some((known, refusal)) = service.tools.refusal(name) {
            let mut reply = refusal.clone();
            if let Some(observers) = &service.observers {
                observers.announce(&context, &known.into(), None, self.params.arguments).answered(&mut reply);
            }
            return self.reply(&reply);
        }
        if let Some(observers) = &service.observers {
            let is_denied = service.tools.records_denial(name, &context.owner.principal);
            observers.unknown_tool(&context, name, is_denied);
        }
        match self.from.era {
            Era::Handshake => self.reply(&ToolReply::unknown_tool(name)),
            Era::Modern => HandlerOutcome::error(
                self.id,
                &RpcError::new(RpcError::INVALID_PARAMS, format!("Unknown tool: {}", short_name(name))),
            ),
        }
    }

    /// Lets the tool check the arguments. Many calls end here.
    fn prepare(&self, name: &ToolName, tool: &dyn Tool) -> HandlerOutcome {
        let Some(dialect) = tool.dialect() else { return self.prepared(name, tool, None) };
        let responses = self.params.input_responses.map(|given| dialect.responses(given.text()));
        let responses = responses.as_deref().and_then(|text| Raw::parse(text).ok());
        let params = Params { input_responses: responses.or(self.params.input_responses), ..*self.params };
        let extras = Some(CallExtras::of(&params).into());
        ToolCallRequest { params: &params, ..*self }.prepared(name, tool, extras)
    }

    fn prepared(&self, name: &ToolName, tool: &dyn Tool, extras: Option<Arc<CallExtras>>) -> HandlerOutcome {
        let level = match self.from.era {
            Era::Modern => {
                self.params.meta.log_level.and_then(Raw::as_str).and_then(|name| LogLevel::from_name(&name))
            }
            Era::Handshake => self.from.connection.log_level(),
        };
        let principal = self.from.caller.name();
        let upstreams = self.service.upstreams_say.as_ref().map(|redactor| (redactor, principal));
        let (hearing, telling) = Hearing::asked_for(self.params, level, upstreams);
        let (asked, outgoing) = match self.asked(name) {
            Ok(asked) => asked,
            Err(refusal) => {
                let (request_id, owner_hash) = (self.from.origin, self.from.caller.hash());
                let reason = refusal.reason();
                info!(event = "request_state_refused", request_id, rpc_id = %self.id, owner_hash, reason);
                return HandlerOutcome::error(self.id, &refusal.error());
            }
        };
        let patience = match (&asked.retry, &self.service.asking) {
            (Some(_), Some(asking)) => RETRY_PATIENCE + asking.page,
            (None, Some(asking)) if asked.line.is_some() => asking.open,
            _ => Duration::ZERO,
        };
        let resumes = asked.retry.is_some();
        let asked = ClientReach { extras, ..asked };
        let context =
            CallContext { progress: telling.calls, audience: telling.audience, asked, ..self.context() };
        let arguments = self.params.arguments;
        let observers = self.service.observers.as_ref().filter(|_| tool.is_observed());
        let span = observers.map(|observers| {
            let kept = tool.kept_program();
            match self.is_prompt && context.trace.is_some() {
                true => {
                    observers.announce(&CallContext { trace: None, ..context.clone() }, name, kept, arguments)
                }
                false => observers.announce(&context, name, kept, arguments),
            }
        });
        let (running, gated) = match tool.prepare(arguments, &context) {
            Preparation::Done(mut reply) => {
                if let Some(span) = span {
                    span.answered(&mut reply);
                }
                let (request_id, owner_hash) = (self.from.origin, self.from.caller.hash());
                let (tool, is_error) = (&**name, reply.is_error);
                info!(event = "tools_call_stop", request_id, rpc_id = %self.id, owner_hash, tool, is_error);
                return self.reply(&reply);
            }
            Preparation::Full(full) => return self.busy(tool, full, span),
            Preparation::Gated(running) => (running, true),
            Preparation::Free(running) => (running, false),
            Preparation::After(wait) => {
                let principal = context.owner.principal.clone();
                (self.after(name.clone(), wait, principal, resumes, context.permit.clone()), false)
            }
        };
        let ready = Ready {
            name: name.clone(),
            eval_id: context.eval_id,
            running,
            gated,
            hearing,
            outgoing,
            patience,
            span,
            principal: context.owner.principal,
            resumes,
            permit: context.permit,
        };
        self.admit(tool, ready)
    }

    /// Waits until a call can be prepared, then admits and runs it.
    fn after(
        &self,
        name: ToolName,
        wait: BoxFuture<'static, Preparation>,
        principal: Principal,
        resumes: bool,
        loan: PermitLoan,
    ) -> BoxFuture<'static, ToolReply> {
        let (service, caller) = (self.service.clone(), principal.clone());
        let is_program = match service.tools.find(&name, || principal.clone()) {
            Some((_, tool)) => tool.is_program(),
            None => true,
        };
        let busy = move |service: &Service, full| match service.tools.find(&name, || caller.clone()) {
            Some((_, tool)) => tool.busy(full),
            None => ToolReply::unknown_tool(&name),
        };
        async move {
            let mut prepared = wait.await;
            loop {
                prepared = match prepared {
                    Preparation::Done(reply) => return reply,
                    Preparation::Full(full) => return busy(&service, full),
                    Preparation::Free(running) => return running.await,
                    Preparation::Gated(running) => match permit(&service, &principal, resumes, is_program) {
                        Ok(mut permit) => {
                            loan.bind(&mut permit);
                            return running.await;
                        }
                        Err(full) => return busy(&service, full),
                    },
                    Preparation::After(wait) => wait.await,
                };
            }
        }
        .boxed()
    }

    /// Admits a call if the conversation and the process have capacity.
    fn admit(&self, tool: &dyn Tool, ready: Ready) -> HandlerOutcome {
        let Ready {
            name,
            eval_id,
            running,
            gated,
            hearing,
            outgoing,
            patience,
            mut span,
            principal,
            resumes,
            permit: loan,
        } = ready;
        let (ticket, cancelled) = match self.from.connection.enter(self.id) {
            Ok(entered) => entered,
            Err(AdmissionError::Full(limit)) => {
                // A pipe is one conversation with the whole process.
                let is_session = self.from.connection.http_session().is_some();
                let full =
                    if is_session { CapacityError::SessionCalls(limit) } else { CapacityError::Calls(limit) };
                return self.busy(tool, full, span);
            }
            Err(AdmissionError::Duplicate) => {
                let client = self.from.caller.hash();
                match self.service.refusals.line(client) {
                    Some(left_out) => warn!(event = "duplicate_request_id", rpc_id = %self.id, left_out),
                    None => debug!(event = "duplicate_request_id", rpc_id = %self.id),
                }
                if let Some(span) = span {
                    span.discard();
                }
                return HandlerOutcome::error(self.id, &RpcError::duplicate_id(self.id));
            }
        };
        let mut permit =
            match gated.then(|| permit(self.service, &principal, resumes, tool.is_program())).transpose() {
                Ok(permit) => permit,
                Err(full) => return self.busy(tool, full, span),
            };
        permit.iter_mut().for_each(|permit| loan.bind(permit));
        if let Some(span) = &mut span {
            span.runs();
        }
        HandlerOutcome::Call(Box::new(Call {
            service: self.service.clone(),
            id: self.id.clone(),
            era: self.from.era,
            work: CallWork::Tool { name, eval_id, running },
            started: time::now(),
            cancelled,
            hearing,
            outgoing,
            patience,
            ticket,
            permit,
            span,
            request_span: None,
            trace: self.trace.cloned(),
            logged: LoggedRequest::of(self.from),
        }))
    }

    /// Answers a call that is not admitted.
    fn busy(&self, tool: &dyn Tool, full: CapacityError, span: Option<CallSpan>) -> HandlerOutcome {
        let client = self.from.caller.hash();
        macro_rules! stop {
            ($level:ident) => {
                $level!(
                    event = "tools_call_stop",
                    request_id = self.from.origin,
                    rpc_id = %self.id,
                    owner_hash = client,
                    tool = self.name,
                    is_error = true,
                    reason = "busy"
                )
            };
        }
        match self.service.refusals.line(client) {
            Some(_) => stop!(info),
            None => stop!(debug),
        }
        let mut reply = tool.busy(full);
        if let Some(span) = span {
            span.answered(&mut reply);
        }
        let body = results::tool_call(self.service, self.from.era, self.id, &reply);
        HandlerOutcome::full(body, full)
    }
}

/// A permit for a program that begins, or that goes on, or for a call that is none.
fn permit(
    service: &Service,
    principal: &Principal,
    resumes: bool,
    is_program: bool,
) -> Result<Permit, CapacityError> {
    match (is_program, resumes) {
        (false, _) => service.limiter.try_enter(principal),
        (true, true) => service.limiter.try_resume(principal),
        (true, false) => service.limiter.try_begin(principal),
    }
}

/// Checks `inputResponses` as far as the protocol goes: an object of objects, each with a known action, without
/// duplicate members.
fn check_responses(responses: Raw<'_>) -> Result<(), StateRefusal> {
    responses.members().ok_or(StateRefusal::Responses(None))?;
    for (key, response) in answers(responses.text()) {
        let mut members = response.and_then(Raw::members).into_iter().flatten();
        let action = members.find(|(name, _)| name == "action").and_then(|(_, action)| action.as_str());
        if !matches!(action.as_deref(), Some("accept" | "decline" | "cancel")) {
            return Err(StateRefusal::Responses(Some(key.into_owned())));
        }
    }
    Ok(())
}

/// A tool's name for logs, with bounded length.
fn loggable(name: &str) -> String {
    name.chars().take(128).collect()
}
