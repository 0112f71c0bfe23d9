//! A server's unsolicited messages: its requests, the progress of calls, its log messages.

use super::inbound_reply::InboundReply;
use super::open_questions::{Link, OpenQuestions};
use crate::upstream::open_for::OpenFor;
use ptc_base::sync::Mutex;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use ptc_mcp::encode;
use ptc_mcp::json::Value;
use ptc_mcp::text::clip;
use ptc_mcp::{Era, LogLevel};

use super::protocol::{self, TASKS};
use super::roots::{ClientRoots, Roots};
use crate::config::{Offered, UpstreamConfig};
use crate::upstream::{Caller, QuestionSink, SaidMessage, UpstreamEvent, Visits};
use ptc_base::time::{self, Instant};
use ptc_base::visible::without_controls;
use ptc_engine::audience::{Audience, UpstreamMessage};

/// Messages of one upstream that are taken, and refusals of its questions that are logged, in any second; further ones are not.
const MESSAGES_PER_SECOND: u32 = 50;
/// Messages that operators can look back on.
const REMEMBERED: usize = 20;
/// Longest text of a message in the log and for operators, in characters.
const MAX_TEXT: usize = 500;
/// Longest message that is handed on whole, in bytes of JSON; of a longer one as many characters are.
const MAX_DATA: usize = 16 * 1024;
/// Longest URI of a resource that is said to have changed, in bytes.
const MAX_URI: usize = 4096;
/// Longest text of a progress report, in characters.
const MAX_PROGRESS: usize = 200;

/// Declares that people can be asked.
const ELICITATION: &str = r#""elicitation":{"form":{},"url":{}}"#;
/// Declares that a model can be asked. It has no tools, and no context besides the request.
const SAMPLING: &str = r#""sampling":{}"#;

/// The unsolicited messages of one upstream, and their receivers.
#[derive(Debug)]
pub(crate) struct Inbound {
    name: Arc<str>,
    pub(super) roots: Roots,
    /// The least severity that the operator wants to hear of.
    pub(super) log_level: Option<LogLevel>,
    offered: Offered,
    /// `_meta` of calls of the modern era without a progress token, by the declared capabilities: the bits of questions, tasks
    /// and sampling.
    call_meta: [Box<[u8]>; 8],
    of_session: Arc<OpenQuestions>,
    open_for: Arc<OpenFor>,
    visits: Arc<Visits>,
    state: Mutex<InboundState>,
}

#[derive(Debug, Default)]
struct InboundState {
    callers: Callers,
    next_token: u64,
    next_number: u64,
    /// Calls in flight with an audience.
    heard: Vec<HeardCall>,
    /// Other calls in flight.
    unheard: usize,
    /// Where the calls in flight are asked, the oldest first; empty where neither people nor models are offered.
    asking: Vec<InFlight>,
    remembered: VecDeque<(MessageAudience, SaidMessage)>,
    /// When the present second of messages began, and how many it had.
    second: Option<(Instant, u32)>,
}

#[derive(Debug)]
struct InFlight {
    number: u64,
    principal: Option<Arc<str>>,
    asking: Option<Arc<QuestionSink>>,
}

#[derive(Debug)]
struct HeardCall {
    token: u64,
    tool: Box<str>,
    audience: Arc<Audience>,
}

/// On whose behalf the upstream has been asked for anything so far.
#[derive(Debug, Default)]
enum Callers {
    #[default]
    Nobody,
    One(Option<Arc<str>>),
    /// The server's own messages may concern any of them.
    Several,
}

/// The permitted readers of a message.
#[derive(Debug)]
enum MessageAudience {
    /// No call was in flight when it arrived.
    Anybody,
    Principal(Option<Arc<str>>),
}

impl Inbound {
    pub(super) fn new(config: &UpstreamConfig, roots: &ClientRoots) -> Arc<Self> {
        let (log_level, offered) = (config.log_level, config.offered);
        let roots = Roots::of(&config.roots, roots);
        let meta = |capabilities: &str| {
            protocol::meta_of(Era::Modern, None, log_level, capabilities).unwrap_or_default().into()
        };
        let call_meta = std::array::from_fn(|bits| {
            let [questions, tasks, sampling] = [1, 2, 4].map(|bit| bits & bit != 0);
            meta(&capabilities_of_call(Offered { questions, tasks, sampling }))
        });
        let name = config.name.as_str().into();
        Arc::new(Self {
            name,
            roots,
            log_level,
            offered,
            call_meta,
            of_session: Arc::default(),
            open_for: Arc::default(),
            visits: Arc::default(),
            state: Mutex::default(),
        })
    }

    /// The capabilities of `initialize`, the text of a JSON object.
    pub(super) fn capabilities(&self) -> String {
        let Offered { questions, sampling, .. } = self.offered;
        object([self.roots.capability(), questions.then_some(ELICITATION), sampling.then_some(SAMPLING)])
    }

    /// Whether it may ask people or a model.
    pub(super) fn answers_questions(&self) -> bool {
        self.offered.questions || self.offered.sampling
    }

    /// Answers a request of the server. Methods that were not offered are unknown. `None`: it has been asked already and is not
    /// answered twice.
    pub(super) fn answer(
        self: &Arc<Self>,
        era: Era,
        method: &str,
        id: &str,
        params: Option<&str>,
        link: Link<'_>,
    ) -> Option<InboundReply> {
        Some(match method {
            "ping" => InboundReply::Ready(encode::empty_result(id)),
            "roots/list" if self.roots.are_offered() => self.roots.answer(id),
            "elicitation/create" if self.offered.questions && era == Era::Handshake => {
                return self.elicit(id, params.unwrap_or("{}"), link);
            }
            "sampling/createMessage" if self.offered.sampling && era == Era::Handshake => {
                return self.sample(id, params.unwrap_or("{}"), link);
            }
            _ => {
                tracing::debug!(upstream = &*self.name, method, "upstream_request_refused");
                InboundReply::Ready(encode::method_not_found(id))
            }
        })
    }

    /// The capabilities that the answer to a call may use.
    fn offered_to(&self, caller: Caller<'_>) -> Offered {
        Offered {
            questions: self.offered.questions && caller.asking.is_some_and(|asking| asking.takes_questions),
            tasks: self.offered.tasks && caller.follows_tasks,
            sampling: self.offered.sampling && caller.asking.is_some_and(|asking| asking.takes_samplings()),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The open questions on the one stream of all calls.
    pub(super) fn of_session(&self) -> &Arc<OpenQuestions> {
        &self.of_session
    }

    /// Whose questions are open there.
    pub(super) fn open_for(&self) -> &Arc<OpenFor> {
        &self.open_for
    }

    /// Knows of the pages that another connection has people sent to.
    pub(super) fn share_visits(&mut self, visits: Arc<Visits>) {
        self.visits = visits;
    }

    /// The pages that it has people sent to.
    pub(super) fn visits(&self) -> &Arc<Visits> {
        &self.visits
    }

    /// The run and principal of the only calls in flight, if these calls accept such requests; `none` is the error if they do
    /// not.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn only_run(
        &self,
        takes: impl Fn(&QuestionSink) -> bool,
        none: &'static str,
    ) -> Result<(usize, Option<Arc<str>>), &'static str> {
        let state = self.lock();
        let Some(InFlight { asking: first, principal, .. }) = state.asking.first() else {
            return Err("no call is in flight");
        };
        // All calls of a run take the same.
        let Some(first) = first.as_ref().filter(|first| takes(first)) else { return Err(none) };
        let mut calls = state.asking.iter().map(|call| call.asking.as_ref());
        let alone = calls.all(|call| call.is_some_and(|call| call.run == first.run));
        if alone {
            Ok((first.run, principal.clone()))
        } else {
            Err("calls of several programs are in flight")
        }
    }

    /// A call of this run that is in flight: one that is not asked anything yet, else the oldest.
    pub(super) fn call_of_run(&self, run: usize) -> Option<Arc<QuestionSink>> {
        let state = self.lock();
        let calls = state.asking.iter().filter_map(|call| call.asking.as_ref());
        let mut calls = calls.filter(|call| call.run == run && !call.is_over());
        let free = calls.clone().find(|call| !call.stopwatch.is_stopped());
        free.or_else(|| calls.next()).cloned()
    }

    /// Takes a notification. `own`: the caller of the call that owns the stream. Yields the announced change.
    pub(super) fn notified(
        &self,
        method: &str,
        params: Option<&str>,
        own: Option<Caller<'_>>,
    ) -> Option<UpstreamEvent> {
        let params = params.unwrap_or_default();
        match method {
            "notifications/progress" => self.progressed(params),
            "notifications/message" => self.said(params, own),
            "notifications/elicitation/complete" => self.visits.complete(params),
            "notifications/tools/list_changed" => return Some(UpstreamEvent::ToolsChanged),
            "notifications/resources/list_changed" => return Some(UpstreamEvent::ResourcesChanged),
            "notifications/prompts/list_changed" => return Some(UpstreamEvent::PromptsChanged),
            "notifications/resources/updated" => return updated(params),
            _ => {}
        }
        None
    }

    /// Notes a request on behalf of `caller`, until the result is dropped.
    pub(super) fn enter(&self, caller: Caller<'_>, tool: &str) -> InFlightRequest<'_> {
        let mut state = self.lock();
        let number = self.answers_questions().then(|| {
            state.next_number += 1;
            let number = state.next_number;
            let (principal, asking) = (caller.principal.cloned(), caller.asking.cloned());
            state.asking.push(InFlight { number, principal, asking });
            number
        });
        match &state.callers {
            Callers::Nobody => state.callers = Callers::One(caller.principal.cloned()),
            Callers::One(first) if first.as_deref() != caller.principal.map(|name| &**name) => {
                state.callers = Callers::Several;
            }
            Callers::One(_) | Callers::Several => {}
        }
        let Some(audience) = caller.audience else {
            state.unheard += 1;
            return InFlightRequest { inbound: self, token: None, number };
        };
        state.next_token += 1;
        let token = state.next_token;
        state.heard.push(HeardCall { token, tool: tool.into(), audience: audience.clone() });
        InFlightRequest { inbound: self, token: Some(token), number }
    }

    /// The latest messages that this principal may see, the oldest first.
    pub(super) fn messages(&self, principal: Option<&str>) -> Vec<SaidMessage> {
        let state = self.lock();
        let may_see = |whose: &MessageAudience| match whose {
            MessageAudience::Anybody => true,
            MessageAudience::Principal(name) => name.as_deref() == principal,
        };
        state.remembered.iter().filter(|(whose, _)| may_see(whose)).map(|(_, said)| said.clone()).collect()
    }

    #[expect(clippy::disallowed_methods, reason = "entry point: Inbound.progressed")]
    fn progressed(&self, params: &str) {
        if self.lock().heard.is_empty() {
            return;
        }
        let Ok(params) = serde_json::from_str::<Value>(params) else { return };
        let token = params["progressToken"].as_u64();
        let heard = {
            let state = self.lock();
            let heard = state.heard.iter().find(|call| Some(call.token) == token);
            heard.map(|call| (call.audience.clone(), call.tool.clone()))
        };
        let Some((audience, tool)) = heard else { return };
        if let Some(text) = progress_text(&params) {
            audience.tell_progress(format!("{}.{tool} {text}", self.name));
        }
    }

    fn said(&self, params: &str, own: Option<Caller<'_>>) {
        if !self.take_place() {
            return;
        }
        let Some(message) = read_message(&self.name, params) else { return };
        let text = shown(&message);
        log(&message, &text);
        let mut state = self.lock();
        let (whose, audience) = match (own, &state.callers) {
            (Some(caller), _) => {
                (MessageAudience::Principal(caller.principal.cloned()), caller.audience.cloned())
            }
            (None, Callers::Nobody) => (MessageAudience::Anybody, None),
            (None, Callers::One(principal)) => {
                (MessageAudience::Principal(principal.clone()), state.only_audience())
            }
            (None, Callers::Several) => return,
        };
        if state.remembered.len() >= REMEMBERED {
            state.remembered.pop_front();
        }
        state
            .remembered
            .push_back((whose, SaidMessage { at: time::time_of_day(), level: message.level, text }));
        drop(state);
        if let Some(audience) = audience {
            audience.tell(&message);
        }
    }

    /// Whether one more message may be taken in this second.
    pub(super) fn take_place(&self) -> bool {
        let mut state = self.lock();
        let now = time::now();
        let (began, taken) = match state.second {
            Some((began, taken)) if now.duration_since(began) < Duration::from_secs(1) => (began, taken),
            _ => (now, 0),
        };
        state.second = Some((began, taken.saturating_add(1)));
        taken < MESSAGES_PER_SECOND
    }

    fn lock(&self) -> MutexGuard<'_, InboundState> {
        self.state.lock()
    }
}

impl InboundState {
    /// The audience of all calls in flight, if they are of one program.
    fn only_audience(&self) -> Option<Arc<Audience>> {
        let (first, rest) = self.heard.split_first()?;
        let alone = self.unheard == 0 && rest.iter().all(|call| Arc::ptr_eq(&call.audience, &first.audience));
        alone.then(|| first.audience.clone())
    }
}

/// A request in flight.
pub(super) struct InFlightRequest<'a> {
    inbound: &'a Inbound,
    /// The progress token for the server, if there is an audience.
    token: Option<u64>,
    /// Its number among the calls that may be asked something, where any may.
    number: Option<u64>,
}

impl<'a> InFlightRequest<'a> {
    /// `_meta` of the request, if it has any.
    pub(super) fn meta(&self, caller: Caller<'_>, era: Era) -> Option<Cow<'a, [u8]>> {
        let meta = self.untraced_meta(caller, era);
        match caller.trace {
            Some(trace) => Some(Cow::Owned(protocol::traced_meta(meta.as_deref(), trace))),
            None => meta,
        }
    }

    fn untraced_meta(&self, caller: Caller<'_>, era: Era) -> Option<Cow<'a, [u8]>> {
        let inbound = self.inbound;
        if let Some(audience) = caller.audience {
            let token = self.token.filter(|_| audience.wants_progress());
            let level = audience.log_level().into_iter().chain(inbound.log_level).min();
            let capabilities = capabilities_of_call(inbound.offered_to(caller));
            return protocol::meta_of(era, token, level, &capabilities).map(Cow::Owned);
        }
        let Offered { questions, tasks, sampling } = inbound.offered_to(caller);
        let bits = usize::from(questions) + 2 * usize::from(tasks) + 4 * usize::from(sampling);
        let meta = inbound.call_meta.get(bits)?;
        (era == Era::Modern).then_some(Cow::Borrowed(meta))
    }
}

/// The capabilities of a call, the text of a JSON object.
fn capabilities_of_call(offered: Offered) -> String {
    let Offered { questions, tasks, sampling } = offered;
    object([questions.then_some(ELICITATION), sampling.then_some(SAMPLING), tasks.then_some(TASKS)])
}

/// A JSON object of these members.
fn object<const N: usize>(members: [Option<&str>; N]) -> String {
    let members: Vec<&str> = members.into_iter().flatten().collect();
    format!("{{{}}}", members.join(","))
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        let mut state = self.inbound.lock();
        if let Some(number) = self.number {
            state.asking.retain(|call| call.number != number);
        }
        match self.token {
            Some(token) => state.heard.retain(|call| call.token != token),
            None => state.unheard -= 1,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: updated()")]
fn updated(params: &str) -> Option<UpstreamEvent> {
    let params: Value = serde_json::from_str(params).ok()?;
    let uri = params["uri"].as_str().filter(|uri| uri.len() <= MAX_URI)?;
    Some(UpstreamEvent::ResourceUpdated { uri: uri.into() })
}

/// How far a call is: `40 %: reading`, or without a total `40: reading`.
fn progress_text(params: &Value) -> Option<String> {
    let done = params["progress"].as_f64().filter(|done| done.is_finite())?;
    let total = params["total"].as_f64().filter(|total| total.is_finite() && *total > 0.0);
    let far = match total {
        Some(total) => format!("{} %", (done / total * 100.0).clamp(0.0, 100.0).floor()),
        None => done.to_string(),
    };
    let message = params["message"].as_str().unwrap_or_default();
    let message: String = without_controls(message, &[]).collect();
    let message = clip(message.trim(), MAX_PROGRESS);
    Some(if message.is_empty() { far } else { format!("{far}: {message}") })
}

#[expect(clippy::disallowed_methods, reason = "entry point: read_message()")]
fn read_message(upstream: &Arc<str>, params: &str) -> Option<UpstreamMessage> {
    let mut params: Value = serde_json::from_str(params).ok()?;
    let level = params["level"].as_str().and_then(LogLevel::from_name).unwrap_or(LogLevel::Info);
    let logger = params["logger"].as_str().map(|logger| clip(logger, MAX_PROGRESS));
    let data = params.as_object_mut()?.remove("data").unwrap_or(Value::Null);
    let data = match data {
        Value::String(text) if text.len() > MAX_DATA => Value::from(clip(&text, MAX_DATA)),
        Value::Object(_) | Value::Array(_) => {
            let text = data.to_string();
            if text.len() > MAX_DATA { Value::from(clip(&text, MAX_DATA)) } else { data }
        }
        other => other,
    };
    Some(UpstreamMessage { upstream: upstream.clone(), level, logger, data })
}

/// The message on one line.
fn shown(message: &UpstreamMessage) -> String {
    let data = match &message.data {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text = match &message.logger {
        Some(logger) => format!("{logger}: {data}"),
        None => data,
    };
    let text: String = without_controls(&text, &[]).collect();
    clip(text.trim(), MAX_TEXT)
}

fn log(message: &UpstreamMessage, text: &str) {
    let upstream = &*message.upstream;
    match message.level {
        LogLevel::Debug => tracing::debug!(event = "upstream_message", upstream, text),
        LogLevel::Info | LogLevel::Notice => tracing::info!(event = "upstream_message", upstream, text),
        LogLevel::Warning => tracing::warn!(event = "upstream_message", upstream, text),
        level => tracing::error!(event = "upstream_message", upstream, %level, text),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use ptc_mcp::json::json;
    use tokio::sync::mpsc;

    use super::*;
    use crate::config::{RootsConfig, StdioConfig, Transport};
    use ptc_secret::credentials::Redactor;

    const MESSAGE: &str = r#"{"level":"warning","data":"\u001b[1m tail"}"#;

    fn listening() -> (Arc<Audience>, mpsc::Receiver<UpstreamMessage>) {
        let (sender, receiver) = mpsc::channel(100);
        (Arc::new(Audience::new(Redactor::new()).with_messages(LogLevel::Debug, sender)), receiver)
    }

    fn config() -> UpstreamConfig {
        UpstreamConfig::new("s", Transport::Stdio(StdioConfig::for_command("s")))
    }

    fn inbound() -> Arc<Inbound> {
        Inbound::new(&config(), &ClientRoots::default())
    }

    pub(in super::super) fn inbound_that_asks() -> Arc<Inbound> {
        let offered = Offered { questions: true, ..Offered::default() };
        Inbound::new(&UpstreamConfig { offered, ..config() }, &ClientRoots::default())
    }

    #[test]
    fn what_nothing_links_to_a_call_is_told_to_the_only_program_only() {
        let (inbound, me) = (inbound(), Arc::from("me"));
        let (mine, mut heard) = listening();
        let caller = Caller { principal: Some(&me), audience: Some(&mine), ..Caller::default() };
        let say = |own| inbound.notified("notifications/message", Some(MESSAGE), own);
        say(None);
        let (first, second) = (inbound.enter(caller, "a"), inbound.enter(caller, "b"));
        say(None);
        assert!(heard.try_recv().is_ok() && heard.try_recv().is_err(), "two calls of one program");
        let deaf = inbound.enter(Caller { principal: Some(&me), ..Caller::default() }, "c");
        say(None);
        assert!(heard.try_recv().is_err(), "it may be about the other program");
        drop(deaf);
        let (others, mut others_heard) = listening();
        let other =
            inbound.enter(Caller { principal: Some(&me), audience: Some(&others), ..Caller::default() }, "d");
        say(None);
        assert!(heard.try_recv().is_err() && others_heard.try_recv().is_err());
        say(Some(caller));
        assert!(heard.try_recv().is_ok() && others_heard.try_recv().is_err(), "on the call's own stream");
        drop((first, second, other));
        say(None);
        assert!(heard.try_recv().is_err(), "after the calls");
        // The first came before any call: everybody may know.
        assert_eq!((inbound.messages(Some("me")).len(), inbound.messages(Some("you")).len()), (6, 1));
        assert_eq!(inbound.messages(None)[0].text, "[1m tail");
        let you = Arc::from("you");
        let _call = inbound.enter(Caller { principal: Some(&you), ..Caller::default() }, "e");
        say(None);
        assert_eq!((inbound.messages(Some("me")).len(), inbound.messages(Some("you")).len()), (6, 1));
    }

    #[test]
    fn a_server_that_talks_much_is_not_listened_to() {
        let inbound = inbound();
        let long = json!({"level": "info", "data": "é".repeat(100_000)}).to_string();
        for _ in 0..200 {
            inbound.notified("notifications/message", Some(&long), None);
        }
        let messages = inbound.messages(None);
        assert_eq!(messages.len(), REMEMBERED);
        assert!(messages.iter().all(|said| said.text.chars().count() <= MAX_TEXT + 1));
        for odd in ["", "7", "[]", "{}", r#"{"level":7,"data":{"a":[]},"logger":{}}"#] {
            inbound.notified("notifications/message", Some(odd), None);
            inbound.notified("notifications/progress", Some(odd), None);
        }
        let changed = inbound.notified("notifications/tools/list_changed", None, None);
        assert_eq!(changed, Some(UpstreamEvent::ToolsChanged));
        assert_eq!(inbound.notified("notifications/resources/updated", Some("{}"), None), None);
    }

    #[test]
    fn progress_is_a_part_of_the_whole_where_that_is_known() {
        let text = |params| progress_text(&params);
        assert_eq!(text(json!({"progress": 2, "total": 3})).unwrap(), "66 %");
        assert_eq!(text(json!({"progress": 7, "total": 3, "message": "a\nb "})).unwrap(), "100 %: a b");
        assert_eq!(text(json!({"progress": 2.5, "total": 0})).unwrap(), "2.5");
        assert_eq!(text(json!({"progress": -1, "total": 4})).unwrap(), "0 %");
        assert_eq!(text(json!({"progress": "2"})), None);
        assert!(text(json!({"progress": 1, "message": "x".repeat(10_000)})).unwrap().len() < 250);
    }

    #[test]
    fn requests_that_were_not_offered_are_unknown() {
        let answer = |inbound: &Arc<Inbound>, method: &str| match inbound.answer(
            Era::Handshake,
            method,
            "\"7\"",
            None,
            Link::Session,
        ) {
            Some(InboundReply::Ready(answer)) => String::from_utf8(answer).unwrap(),
            Some(InboundReply::Waiting(_)) | None => panic!("it is known"),
        };
        assert_eq!(answer(&inbound(), "ping"), r#"{"jsonrpc":"2.0","id":"7","result":{}}"#);
        for method in ["roots/list", "sampling/createMessage", "elicitation/create"] {
            assert!(answer(&inbound(), method).contains("-32601"), "{method}");
        }
        let asks = inbound_that_asks();
        let modern = asks.answer(Era::Modern, "elicitation/create", "1", None, Link::Session);
        assert!(
            matches!(modern, Some(InboundReply::Ready(answer)) if String::from_utf8_lossy(&answer).contains("-32601"))
        );
        let roots = RootsConfig::Listed(r#"[{"uri":"file:///a"}]"#.into());
        let listed = Inbound::new(&UpstreamConfig { roots, ..config() }, &ClientRoots::default());
        assert!(answer(&listed, "roots/list").ends_with(r#""result":{"roots":[{"uri":"file:///a"}]}}"#));
    }

    #[test]
    fn what_is_offered_is_declared_and_nothing_else() {
        assert_eq!(inbound().capabilities(), "{}");
        let asks = inbound_that_asks();
        assert_eq!(asks.capabilities(), r#"{"elicitation":{"form":{},"url":{}}}"#);
        let declared = |offered: Offered, asking: bool| {
            let inbound = Inbound::new(&UpstreamConfig { offered, ..config() }, &ClientRoots::default());
            let asked = Arc::new(QuestionSink::new(1).0);
            let asking = asking.then_some(&asked);
            let caller = Caller { asking, follows_tasks: true, ..Caller::default() };
            let meta = inbound.enter(caller, "t").meta(caller, Era::Modern).unwrap().into_owned();
            let meta: Value = serde_json::from_slice(&meta).unwrap();
            meta["io.modelcontextprotocol/clientCapabilities"].clone()
        };
        let both = Offered { questions: true, tasks: true, sampling: false };
        assert_eq!(
            declared(both, true),
            json!({"elicitation": {"form": {}, "url": {}}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
        );
        let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        assert_eq!(declared(both, false), tasks, "a call during which nobody can be asked");
        assert_eq!(declared(Offered::default(), true), json!({}));
        let caller = Caller::default();
        assert_eq!(asks.enter(caller, "t").meta(caller, Era::Handshake), None);
    }
}
