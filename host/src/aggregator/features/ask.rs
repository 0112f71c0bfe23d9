//! Requests for an upstream's resources, prompts and completions, within its filters.

use super::super::configured_upstream::ConfiguredUpstream;
use crate::catalog::shown;
use bytes::Bytes;
use ptc_base::memory::{ReplyCharge, ReplyMemory};
use ptc_base::pace::apart;
use ptc_base::time::{self, Instant};
use ptc_base::trace::{self, OpenSpan, SpanWork};
use ptc_base::visible::{has_hidden, visible};
use ptc_engine::questions::ArgumentsDigest;
use ptc_engine::{EvalId, RunContext, whole_millis};
use ptc_mcp::json::{Object, Raw, Value, json, object_text};
use ptc_policy::Grant;
use ptc_policy::path::is_plain_uri;
use ptc_secret::credentials::Redactor;
use ptc_upstreams::config::NameFilter;
use ptc_upstreams::mcp::features::{ItemPages, read_completion};
use ptc_upstreams::upstream::{
    Arrivals, CallFault, CallLimits, Caller, FaultReason, Offers, Query, Upstream,
};
use std::borrow::Cow;
use std::sync::Arc;

use super::super::audit::{AuditedCall, AuditedDenial, CallAudit, DenialReason};
use super::super::runtime::Aggregator;
use super::super::view::View;

/// A kind of thing that servers list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeatureKind {
    /// Resources.
    Resource,
    /// Templates of resources.
    Template,
    /// Prompts.
    Prompt,
}

impl FeatureKind {
    /// The method that lists them.
    pub fn method(self) -> &'static str {
        match self {
            Self::Resource => "resources/list",
            Self::Template => "resources/templates/list",
            Self::Prompt => "prompts/list",
        }
    }

    /// The member of the answer that has them.
    pub fn member(self) -> &'static str {
        match self {
            Self::Resource => "resources",
            Self::Template => "resourceTemplates",
            Self::Prompt => "prompts",
        }
    }

    /// The member by which they are known.
    pub fn key(self) -> &'static str {
        match self {
            Self::Resource => "uri",
            Self::Template => "uriTemplate",
            Self::Prompt => "name",
        }
    }

    fn is_offered(self, offers: Offers) -> bool {
        match self {
            Self::Resource | Self::Template => offers.resources,
            Self::Prompt => offers.prompts,
        }
    }
}

/// An upstream's list, with its filters applied and secrets removed.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The objects as the upstream wrote them.
    pub items: Vec<Value>,
    /// Whether there are more than could be taken.
    pub is_cut: bool,
}

/// The resources, prompts and completions of one upstream.
pub struct Features<'a> {
    name: &'a str,
    handle: &'a dyn Upstream,
    resources: &'a NameFilter,
    prompts: &'a NameFilter,
    /// The rules that hold for the caller; `None` without a policy.
    grant: Option<Arc<Grant>>,
    redactor: Redactor,
    caller: Caller<'a>,
    /// Whose sign-in the caller uses, where a rule chooses.
    account: Option<&'a Arc<str>>,
    /// Most bytes of one request.
    max_request_bytes: usize,
    /// Receives the requests for the audit.
    audit: Option<Audit<'a>>,
}

/// The audit of requests, and the program that makes them, if one does.
#[derive(Clone, Copy)]
struct Audit<'a> {
    to: &'a dyn CallAudit,
    eval: Option<EvalId>,
    run_id: Option<&'a str>,
}

impl Audit<'_> {
    fn called(
        &self,
        features: &Features<'_>,
        method: &'static str,
        params: ArgumentsDigest,
        fault: Option<FaultReason>,
        duration_ms: u64,
    ) {
        self.to.called(&AuditedCall {
            principal: features.caller.principal.map(|name| &**name),
            eval: self.eval,
            run_id: self.run_id,
            upstream: features.name,
            tool: method,
            arguments: params,
            fault,
            duration_ms,
            approved: None,
        });
    }

    /// Records that the policy hides what is asked for.
    fn denied(&self, features: &Features<'_>, method: &'static str, kind: FeatureKind) {
        self.to.denied(&AuditedDenial {
            principal: features.caller.principal.map(|name| &**name),
            eval: self.eval,
            run_id: self.run_id,
            upstream: features.name,
            tool: method,
            reason: match kind {
                FeatureKind::Resource | FeatureKind::Template => DenialReason::ResourceHidden,
                FeatureKind::Prompt => DenialReason::PromptHidden,
            },
        });
    }
}

impl Aggregator {
    /// An account for answers to this principal that no program requested, within the memory of all programs. Dropping it
    /// releases its charges.
    pub fn account(&self, principal: &Arc<str>) -> Box<dyn Arrivals> {
        let budget = self.memory.as_ref().map(|memory| memory.of(Some(principal)));
        Box::new(ReplyCharge::new(ReplyMemory::new(u64::MAX, budget)))
    }
}

impl<'a> View<'a> {
    /// The features of the upstream of this name besides tools; `None` if the caller sees none of that name.
    pub fn features(&self, upstream: &str) -> Option<Features<'a>> {
        let member = self.member(upstream)?;
        Some(self.features_of(member).audited(self.aggregator(), None))
    }

    /// Whether the policy lets the caller know of one: a resource by its URI, a template by its text, a prompt by its name.
    pub fn grants(&self, upstream: &str, kind: FeatureKind, name: &str) -> bool {
        self.grant().is_none_or(|grant| grants(grant, upstream, kind, name))
    }

    /// Those of an upstream, without an audit: the caller records the requests itself.
    pub(super) fn features_of(&self, member: &'a ConfiguredUpstream) -> Features<'a> {
        let aggregator = self.aggregator();
        Features {
            grant: self.grant().cloned(),
            name: &member.config.name,
            handle: &*member.handle,
            resources: &member.config.resources,
            prompts: &member.config.prompts,
            redactor: aggregator.redactor.clone(),
            caller: Caller::default(),
            account: self.account(member),
            max_request_bytes: aggregator.limits.max_request_bytes,
            audit: None,
        }
    }
}

impl<'a> Features<'a> {
    /// The same, whose requests are recorded, as those of the program of `run` if there is one.
    pub(super) fn audited(self, aggregator: &'a Aggregator, run: Option<&'a RunContext>) -> Self {
        let audit = aggregator.audit.as_deref().map(|to| Audit {
            to,
            eval: run.map(|run| run.eval),
            run_id: run.and_then(|run| run.run_id.as_deref()),
        });
        Self { audit, ..self }
    }

    /// The same on behalf of `caller`.
    pub fn on_behalf_of(self, caller: Caller<'a>) -> Self {
        let redactor = self.redactor.for_principal(caller.principal.map(AsRef::as_ref));
        Self { caller: Caller { account: self.account, ..caller }, redactor, ..self }
    }

    /// The instance that serves the caller alone, where callers do not share one connection.
    fn own(&self) -> Result<Option<Arc<dyn Upstream>>, CallFault> {
        self.handle.serving(self.caller).transpose()
    }

    /// The features that the upstream announced at its latest start.
    pub fn offers(&self) -> Offers {
        match self.own() {
            Ok(Some(own)) => own.introduction().offers,
            _ => self.handle.introduction().offers,
        }
    }

    fn filter(&self, kind: FeatureKind) -> &NameFilter {
        match kind {
            FeatureKind::Resource | FeatureKind::Template => self.resources,
            FeatureKind::Prompt => self.prompts,
        }
    }

    /// Whether the configuration shows one. A URI that a server may read as another one is shown where nothing is hidden, or by its
    /// very text (auth.md 14.2).
    fn admits(&self, kind: FeatureKind, name: &str) -> bool {
        let filter = self.filter(kind);
        let is = |text: &str| filter.allow.iter().flatten().any(|pattern| pattern.as_str() == text);
        let hides_nothing = || filter.deny.is_empty() && (filter.allow.is_none() || is("*"));
        let is_clear = || kind == FeatureKind::Prompt || hides_nothing() || is(name) || is_plain_uri(name);
        filter.admits(name) && is_clear()
    }

    /// Whether the policy lets the caller know of one.
    fn grants(&self, kind: FeatureKind, name: &str) -> bool {
        self.grant.as_ref().is_none_or(|grant| grants(grant, self.name, kind, name))
    }

    /// Starts the upstream unless it runs.
    ///
    /// # Errors
    /// The fault of its start.
    pub async fn start(&self) -> Result<(), CallFault> {
        match self.own()? {
            Some(own) => own.ensure_started().await,
            None => self.handle.ensure_started().await,
        }
    }

    /// One page of a kind, from `cursor` on if given, and the cursor of the next one; empty if the upstream has none.
    ///
    /// # Errors
    /// The fault of the request.
    pub async fn page(
        &self,
        kind: FeatureKind,
        cursor: Option<&str>,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<(Vec<Value>, Option<String>), CallFault> {
        if !self.is_to_be_listed(kind, cursor).await? {
            return Ok((Vec::new(), None));
        }
        let mut pages = ItemPages::new(kind.method(), kind.member(), limits.max_bytes);
        let next = self.add_page(&mut pages, kind, cursor, limits, arrivals).await?;
        Ok((self.admitted(kind, pages.finish().0), next))
    }

    /// Whether the upstream has any of a kind, once it runs. A list that it is not asked for is recorded.
    async fn is_to_be_listed(&self, kind: FeatureKind, cursor: Option<&str>) -> Result<bool, CallFault> {
        let params = list_params(cursor);
        self.started(kind.method(), &params).await?;
        let is_offered = kind.is_offered(self.offers());
        if !is_offered {
            self.record_unsent(kind.method(), &params, FaultReason::UpstreamError).await;
        }
        Ok(is_offered)
    }

    async fn add_page(
        &self,
        pages: &mut ItemPages,
        kind: FeatureKind,
        cursor: Option<&str>,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Option<String>, CallFault> {
        let result = self.ask(kind.method(), &list_params(cursor), None, limits, arrivals).await?;
        pages.add_apart(result).await
    }

    /// Those that the filters admit, scrubbed.
    fn admitted(&self, kind: FeatureKind, mut items: Vec<Value>) -> Vec<Value> {
        items.retain(|item| {
            item[kind.key()]
                .as_str()
                .is_some_and(|name| !name.is_empty() && self.admits(kind, name) && self.grants(kind, name))
                && has_plain_names(item)
        });
        for item in &mut items {
            self.redactor.scrub_json(item);
            show_prose(item);
        }
        items
    }

    /// All of a kind, page by page; empty if the upstream has none.
    ///
    /// # Errors
    /// The fault of a request.
    pub async fn list(
        &self,
        kind: FeatureKind,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Listing, CallFault> {
        if !self.is_to_be_listed(kind, None).await? {
            return Ok(Listing::default());
        }
        let mut pages = ItemPages::new(kind.method(), kind.member(), limits.max_bytes);
        let mut cursor: Option<String> = None;
        loop {
            cursor = self.add_page(&mut pages, kind, cursor.as_deref(), limits, arrivals).await?;
            if cursor.is_none() {
                break;
            }
        }
        let (items, is_cut) = pages.finish();
        let items = self.admitted(kind, items);
        Ok(Listing { items, is_cut })
    }

    /// The `result` of `resources/read`.
    ///
    /// # Errors
    /// The fault of the request; [`FaultReason::UpstreamError`](ptc_upstreams::upstream::FaultReason::UpstreamError) where the upstream
    /// has no resources or the configuration hides this one.
    pub async fn read(
        &self,
        uri: &str,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Bytes, CallFault> {
        self.fetch(FeatureKind::Resource, uri, &read_params(uri), limits, arrivals).await
    }

    /// The `result` of `prompts/get`. Arguments that are no text are sent as their JSON.
    ///
    /// # Errors
    /// As [`Features::read`].
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &[u8],
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Bytes, CallFault> {
        let params = prompt_params(name, arguments).await;
        self.fetch(FeatureKind::Prompt, name, &params, limits, arrivals).await
    }

    /// The `result` of [`Features::get_prompt`] for a prompt, else of [`Features::read`], with these `params`.
    ///
    /// # Errors
    /// As [`Features::read`].
    pub(super) async fn fetch(
        &self,
        kind: FeatureKind,
        subject: &str,
        params: &str,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Bytes, CallFault> {
        let method = if kind == FeatureKind::Prompt { "prompts/get" } else { "resources/read" };
        self.started(method, params).await?;
        self.checked(kind, subject, method, params).await?;
        self.ask(method, params, Some(subject), limits, arrivals).await
    }

    /// Proposals for an argument of the prompt or template `subject`, and whether there are more; empty if the upstream has no
    /// completions.
    ///
    /// # Errors
    /// As [`Features::read`].
    pub async fn complete(
        &self,
        kind: FeatureKind,
        subject: &str,
        argument: &str,
        value: &str,
        context: &[u8],
        limits: CallLimits,
    ) -> Result<(Vec<Value>, bool), CallFault> {
        let method = "completion/complete";
        let reference = match kind {
            FeatureKind::Prompt => json!({"type": "ref/prompt", "name": subject}),
            FeatureKind::Resource | FeatureKind::Template => json!({"type": "ref/resource", "uri": subject}),
        };
        let mut params =
            json!({"ref": reference, "argument": {"name": argument, "value": value}}).to_string();
        let context = texts(context).await;
        if context != "{}" {
            params.truncate(params.len() - 1);
            params.push_str(&format!(",\"context\":{{\"arguments\":{context}}}}}"));
        }
        self.started(method, &params).await?;
        if !self.offers().completions {
            self.record_unsent(method, &params, FaultReason::UpstreamError).await;
            return Ok((Vec::new(), false));
        }
        self.checked(kind, subject, method, &params).await?;
        let result = self.ask(method, &params, None, limits, None).await?;
        let (mut values, more) = read_completion(&result)?;
        values.iter_mut().for_each(|value| self.redactor.scrub_json(value));
        Ok((values, more))
    }

    /// Subscribes to changes of a resource, or unsubscribes.
    ///
    /// # Errors
    /// The fault of the request; `upstream_error` if the upstream does not announce changes, or not by this request.
    pub async fn subscribe(&self, uri: &str, wanted: bool, limits: CallLimits) -> Result<(), CallFault> {
        let method = if wanted { "resources/subscribe" } else { "resources/unsubscribe" };
        let params = read_params(uri);
        self.checked(FeatureKind::Resource, uri, method, &params).await?;
        if !self.offers().subscriptions {
            self.record_unsent(method, &params, FaultReason::UpstreamError).await;
            let text = format!("upstream '{}' does not tell when a resource has changed", self.name);
            return Err(CallFault::upstream_error(text));
        }
        self.ask(method, &params, Some(uri), limits, None).await.map(drop)
    }

    /// Whether clients may know of a resource at this URI.
    pub fn admits_resource(&self, uri: &str) -> bool {
        self.admits(FeatureKind::Resource, uri) && self.grants(FeatureKind::Resource, uri)
    }

    /// Starts the upstream for a request, which is recorded if that fails.
    async fn started(&self, method: &'static str, params: &str) -> Result<(), CallFault> {
        let started = self.start().await;
        if let Err(fault) = &started {
            self.record_unsent(method, params, fault.reason).await;
        }
        started
    }

    /// [`Features::check`] for a request, which is recorded if it may not be sent.
    async fn checked(
        &self,
        kind: FeatureKind,
        subject: &str,
        method: &'static str,
        params: &str,
    ) -> Result<(), CallFault> {
        let checked = self.check(kind, subject);
        if let Err(fault) = &checked {
            if let Some(audit) = self.audit
                && kind.is_offered(self.offers())
                && !self.grants(kind, subject)
            {
                audit.denied(self, method, kind);
            }
            self.record_unsent(method, params, fault.reason).await;
        }
        checked
    }

    /// Records a request that was not sent to the upstream.
    pub(super) async fn record_unsent(&self, method: &'static str, params: &str, reason: FaultReason) {
        if let Some(audit) = self.audit {
            let params = ArgumentsDigest::of_sent(params.as_bytes()).await;
            audit.called(self, method, params, Some(reason), 0);
        }
    }

    /// Whether a client or a program may ask for it.
    fn check(&self, kind: FeatureKind, subject: &str) -> Result<(), CallFault> {
        let (what, key) = match kind {
            FeatureKind::Resource | FeatureKind::Template => ("resource", "resources"),
            FeatureKind::Prompt => ("prompt", "prompts"),
        };
        if !kind.is_offered(self.offers()) {
            return Err(CallFault::upstream_error(format!("upstream '{}' has no {key}", self.name)));
        }
        if !self.grants(kind, subject) {
            let text = format!("no {what} {:?} in upstream '{}'", shown(subject), self.name);
            return Err(CallFault::upstream_error(text).before_sending());
        }
        if !self.admits(kind, subject) {
            let text = format!(
                "the configuration hides {what} {:?} of upstream '{}' (allow_{key}, deny_{key})",
                shown(subject),
                self.name
            );
            return Err(CallFault::upstream_error(text));
        }
        Ok(())
    }

    async fn ask(
        &self,
        method: &'static str,
        params: &str,
        subject: Option<&str>,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Bytes, CallFault> {
        let (bytes, most) = (params.len(), self.max_request_bytes);
        if bytes > most {
            self.record_unsent(method, params, FaultReason::UpstreamError).await;
            let text = format!("the request has {bytes} bytes, the limit of a call is {most}");
            return Err(CallFault::upstream_error(text).before_sending());
        }
        if let Some(text) = self.audit.and_then(|audit| audit.to.stop()) {
            return Err(CallFault::unavailable(text).before_sending());
        }
        let params = params.as_bytes();
        // A program's request has the trace of its program.
        let trace = if self.caller.trace.is_some() { None } else { trace::current() };
        let span = OpenSpan::below(trace.as_ref());
        let context = span.as_ref().map(|span| &span.trace().context);
        let context = context.or(trace.as_ref().map(|trace| &trace.context)).or(self.caller.trace);
        let caller = Caller { trace: context, ..self.caller };
        let query = Query { method, params, subject, limits, arrivals, caller };
        let mut record = match self.audit {
            None => None,
            Some(audit) => {
                let params = ArgumentsDigest::of_sent(params).await;
                Some(RequestRecord {
                    features: self,
                    audit,
                    method,
                    params,
                    began: time::now(),
                    is_over: false,
                })
            }
        };
        let answer = self.handle.query(query).await;
        if let Some(record) = &mut record {
            record.ended(answer.as_ref().err().map(|fault| fault.reason));
        }
        if let Some(span) = span {
            let fault = answer.as_ref().err();
            span.end(SpanWork::Call {
                upstream: self.name,
                transport: self.handle.transport(),
                method,
                tool: None,
                fault: fault.map(|fault| fault.reason.as_str()),
                rpc_code: fault.and_then(|fault| fault.rpc_code),
                http_status: fault.and_then(|fault| fault.http_status),
            });
        }
        answer
    }
}

fn grants(grant: &Grant, upstream: &str, kind: FeatureKind, name: &str) -> bool {
    match kind {
        FeatureKind::Resource | FeatureKind::Template => grant.resource(upstream, name),
        FeatureKind::Prompt => grant.prompt(upstream, name),
    }
}

/// Whether all names of an item are visible to a reader: its own, and those of a prompt's arguments. Tools with other names are
/// left out, too.
fn has_plain_names(item: &Value) -> bool {
    let is_plain = |name: &Value| name.as_str().is_none_or(|name| !has_hidden(name));
    let arguments = item["arguments"].as_array().into_iter().flatten();
    ["uri", "uriTemplate", "name"].into_iter().all(|key| is_plain(&item[key]))
        && arguments.map(|argument| &argument["name"]).all(is_plain)
}

/// Makes hidden characters of titles and descriptions visible.
fn show_prose(item: &mut Value) {
    for key in ["title", "description"] {
        if let Some(Value::String(text)) = item.get_mut(key)
            && let Cow::Owned(shown) = visible(text)
        {
            *text = shown;
        }
    }
    for argument in item.get_mut("arguments").and_then(Value::as_array_mut).into_iter().flatten() {
        show_prose(argument);
    }
}

/// A request that is under way. However it ends, it is recorded.
struct RequestRecord<'a> {
    features: &'a Features<'a>,
    audit: Audit<'a>,
    method: &'static str,
    params: ArgumentsDigest,
    began: Instant,
    is_over: bool,
}

impl RequestRecord<'_> {
    fn ended(&mut self, fault: Option<FaultReason>) {
        self.is_over = true;
        let duration_ms = whole_millis(time::since(self.began));
        self.audit.called(self.features, self.method, self.params, fault, duration_ms);
    }
}

impl Drop for RequestRecord<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.ended(Some(FaultReason::Cancelled));
        }
    }
}

/// The `params` of a list's page.
fn list_params(cursor: Option<&str>) -> String {
    cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor})).to_string()
}

/// The `params` of `resources/read`.
pub(super) fn read_params(uri: &str) -> String {
    json!({"uri": uri}).to_string()
}

/// The `params` of `prompts/get`.
pub(super) async fn prompt_params(name: &str, arguments: &[u8]) -> String {
    let arguments = texts(arguments).await;
    object_text(|params| {
        params.string("name", name);
        params.raw("arguments", &arguments);
    })
}

/// An object whose values are texts, as prompts take their arguments. Large ones are written on a thread of their own.
async fn texts(arguments: &[u8]) -> String {
    let arguments = arguments.to_vec();
    apart(arguments.len(), move || {
        let members = std::str::from_utf8(&arguments).ok().and_then(|text| Raw::parse(text).ok()?.members());
        object_text(|texts: &mut Object<'_>| {
            for (name, value) in members.into_iter().flatten() {
                match value.as_str() {
                    Some(_) => texts.raw(&name, value.text()),
                    None => texts.string(&name, value.text()),
                }
            }
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_with_hidden_names_are_none_and_hidden_prose_is_shown() {
        for odd in [
            json!({"uri": "x://a\u{202e}", "name": "a"}),
            json!({"uri": "x://a", "name": "a\u{1b}[2J"}),
            json!({"uriTemplate": "x://{a}\n", "name": "a"}),
            json!({"name": "p", "arguments": [{"name": "a"}, {"name": "b\u{200b}"}]}),
        ] {
            assert!(!has_plain_names(&odd), "{odd}");
        }
        let mut item = json!({"name": "é", "title": "a\u{202e}b", "description": "c\u{1b}\nd",
            "arguments": [{"name": "x", "description": "\u{200b}"}]});
        assert!(has_plain_names(&item));
        show_prose(&mut item);
        assert_eq!(item["title"], "a\\u202eb");
        assert_eq!(item["description"], "c\\u001b\nd");
        assert_eq!(item["arguments"][0]["description"], "\\u200b");
    }

    #[tokio::test]
    async fn arguments_of_prompts_are_texts() {
        let sent = texts(br#"{"a":"x\n","n":1.50,"b":true,"m":{"k":[1]},"z":null}"#).await;
        assert_eq!(sent, r#"{"a":"x\n","n":"1.50","b":"true","m":"{\"k\":[1]}","z":"null"}"#);
        for none in [&b""[..], b"{}", b"[1]", b"\xff", b"{"] {
            assert_eq!(texts(none).await, "{}");
        }
    }
}
