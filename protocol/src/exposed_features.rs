//! Resources, prompts and completions of upstreams, offered to our own clients (`--expose`; server.md 4.6).
//!
//! URIs become `ptc://UPSTREAM/URI` and names `UPSTREAM/NAME`, so that they can be resolved. One page of ours is one
//! page of one upstream, in the order of their names.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use ptc_host::aggregator::{
    Aggregator, AggregatorLimits, CurrentUpstreams, FeatureKind, Features, UpstreamChanges, View, count_call,
};
use ptc_host::mcp::is_role;
use ptc_host::policy::{CallInFlight, CurrentPolicy};
use ptc_host::upstream::{Arrivals, CallFault, Caller, UpstreamEvent};
use ptc_mcp::RpcError;
use ptc_mcp::json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tracing::warn;

use crate::principal::Principal;

use super::watches::{MAX_WATCHED, Subscription, Watch, Watches};

/// The error of an unknown resource (MCP).
const RESOURCE_NOT_FOUND: i64 = -32002;

/// The features of the upstreams that clients may use.
pub struct ExposedFeatures {
    upstreams: Arc<CurrentUpstreams>,
    limits: AggregatorLimits,
    /// Resources and their templates.
    pub(super) resources: bool,
    /// Prompts.
    pub(super) prompts: bool,
    watches: Arc<Watches>,
}

/// A parsed request of a client.
#[derive(Debug)]
pub(super) enum ExposedRequest {
    /// A page of a list.
    List(FeatureKind, Option<String>),
    /// The contents of the resource at this URI.
    Read(String),
    /// The messages of a prompt: its name, its arguments as a JSON object.
    Prompt(String, String),
    /// Subscribes the client of this number to the resource at this URI, or ends the subscription.
    Watch { uri: String, number: u64, wanted: bool },
    /// Completions of an argument.
    Complete {
        kind: FeatureKind,
        /// The prompt's name or the template.
        subject: String,
        argument: String,
        value: String,
        /// Known arguments, as a JSON object.
        context: String,
    },
}

impl ExposedRequest {
    /// The URI or the name that it is about, if it is about one.
    pub(super) fn subject(&self) -> Option<String> {
        match self {
            Self::List(..) => None,
            Self::Read(subject)
            | Self::Prompt(subject, _)
            | Self::Watch { uri: subject, .. }
            | Self::Complete { subject, .. } => Some(subject.clone()),
        }
    }
}

impl ExposedFeatures {
    /// The features of these upstreams, within the limits of programs' calls.
    pub fn new(
        upstreams: Arc<CurrentUpstreams>,
        limits: AggregatorLimits,
        resources: bool,
        prompts: bool,
    ) -> Self {
        ExposedFeatures { upstreams, limits, resources, prompts, watches: Arc::default() }
    }

    /// The members of `capabilities`, each with a comma before it. `told`: true if changes can be announced.
    pub(super) fn capabilities(&self, told: bool) -> String {
        let mut out = String::new();
        if self.resources {
            out.push_str(&format!(",\"resources\":{{\"subscribe\":{told},\"listChanged\":{told}}}"));
        }
        if self.prompts {
            out.push_str(&format!(",\"prompts\":{{\"listChanged\":{told}}}"));
        }
        out.push_str(",\"completions\":{}");
        out
    }

    /// Follows the events of the resources and prompts of those upstreams for which `wanted` holds, until this or the upstreams are
    /// dropped.
    pub fn follow(self: &Arc<Self>, wanted: impl Fn(&str) -> bool) {
        let upstreams = self.upstreams.current();
        for (config, handle) in upstreams.unfiltered().upstreams().filter(|(config, _)| wanted(&config.name))
        {
            tokio::spawn(follow(Arc::downgrade(self), config.name.clone(), handle.events()));
        }
    }

    /// Follows the upstreams that a reload has changed, and tells clients that lists and what they watch there may be others.
    pub async fn renew(self: &Arc<Self>, changes: &UpstreamChanges) {
        self.follow(|name| changes.opened().any(|opened| opened == name));
        self.watches.resources_changed();
        self.watches.prompts_changed();
        for name in &changes.changed {
            self.resubscribe(name).await;
        }
    }

    /// Subscribes anew to what clients watch of an upstream, which knows nothing of it.
    async fn resubscribe(&self, name: &str) {
        let upstreams = self.upstreams.current();
        let Some(features) = upstreams.unfiltered().features(name) else { return };
        let prefix = uri_of(name, "");
        for uri in self.watches.watched(&prefix) {
            let inner = &uri[prefix.len()..];
            if let Err(fault) = features.subscribe(inner, true, self.limits.per_call()).await {
                warn!(event = "resubscribe_failed", upstream = name, reason = %fault.reason);
            }
            self.watches.updated(&uri);
        }
    }

    /// Subscribes a client to those of the wanted notifications that this server offers, until the result is dropped.
    pub(crate) fn watch(&self, lists: Subscription) -> Watch {
        let offered = Subscription {
            uris: BTreeSet::new(),
            resources: lists.resources && self.resources,
            prompts: lists.prompts && self.prompts,
            tools: false,
        };
        self.watches.open(offered)
    }

    /// Subscribes the client of this number to a resource, and us to that of the upstream.
    ///
    /// # Errors
    /// The error for the client.
    pub(super) async fn subscribe(
        &self,
        principal: &Principal,
        number: u64,
        uri: &str,
    ) -> Result<(), RpcError> {
        let upstreams = self.upstreams.current();
        let view = view(&upstreams, principal);
        let (name, inner) = readable(&view, uri).ok_or_else(|| not_found(uri))?;
        let features = self.started(&view, name, principal).await?;
        let limits = self.limits.per_call();
        features
            .subscribe(inner, true, limits)
            .await
            .map_err(|fault| failed(&upstreams, name, principal, &fault))?;
        if self.watches.add(number, uri) {
            return Ok(());
        }
        self.release(vec![uri.to_owned()]).await;
        let text = format!("Invalid params: a client can watch {MAX_WATCHED} resources");
        Err(RpcError::new(RpcError::INVALID_PARAMS, text))
    }

    /// Whether a caller may read a resource by the policy that holds now, of which a channel that is open knows nothing.
    pub(super) fn still_shows(
        &self,
        policy: Option<&Arc<CurrentPolicy>>,
        caller: &Principal,
        uri: &str,
    ) -> bool {
        let renewed = policy.zip(caller.authority()).map(|(policy, known)| policy.renewed(known));
        let upstreams = self.upstreams.current();
        readable(&upstreams.view(renewed.as_ref()), uri).is_some()
    }

    /// Ends that subscription.
    pub(super) async fn unsubscribe(&self, number: u64, uri: &str) {
        self.watches.remove(number, uri);
        self.release(vec![uri.to_owned()]).await;
    }

    /// Ends the upstream subscriptions of those resources that no client watches.
    pub(crate) async fn release(&self, uris: Vec<String>) {
        for uri in uris.iter().filter(|uri| !self.watches.is_watched(uri)) {
            // Subscriptions are those of all clients together.
            let upstreams = self.upstreams.current();
            let view = upstreams.unfiltered();
            let Some((name, inner)) = resolve_uri(&view, uri) else { continue };
            let Some(features) = view.features(name) else { continue };
            // An upstream that is not running sends no notifications anyway.
            let _ = features.subscribe(inner, false, self.limits.per_call()).await;
        }
    }

    /// Handles an event of an upstream.
    async fn heard(&self, name: &str, event: UpstreamEvent) {
        // Clients are told of what they could subscribe to.
        let upstreams = self.upstreams.current();
        let Some(features) = upstreams.unfiltered().features(name) else { return };
        match event {
            UpstreamEvent::ResourcesChanged => self.watches.resources_changed(),
            UpstreamEvent::PromptsChanged => self.watches.prompts_changed(),
            UpstreamEvent::ResourceUpdated { uri } if features.admits_resource(&uri) => {
                self.watches.updated(&uri_of(name, &uri));
            }
            // A restarted upstream has lost its subscriptions, and its resources may have changed in the meantime.
            UpstreamEvent::Started if has_restarted(&upstreams, name) => self.resubscribe(name).await,
            UpstreamEvent::Started
            | UpstreamEvent::ResourceUpdated { .. }
            | UpstreamEvent::ToolsChanged
            | UpstreamEvent::Ended { .. } => {}
        }
    }

    /// After lost events anything may have changed.
    fn lost(&self, name: &str) {
        self.watches.resources_changed();
        self.watches.prompts_changed();
        for uri in self.watches.watched(&uri_of(name, "")) {
            self.watches.updated(&uri);
        }
    }

    /// The result of a request of this principal, a JSON object.
    ///
    /// # Errors
    /// The error for the client.
    pub(super) async fn answer(&self, principal: &Principal, ask: ExposedRequest) -> Result<Value, RpcError> {
        let upstreams = self.upstreams.current();
        let view = view(&upstreams, principal);
        let account = upstreams.account(principal.known_name());
        let mut result = match ask {
            ExposedRequest::List(kind, cursor) => {
                self.page(&view, kind, cursor, principal, &*account).await?
            }
            ExposedRequest::Read(uri) => {
                let (name, inner) = readable(&view, &uri).ok_or_else(|| not_found(&uri))?;
                let features = self.started(&view, name, principal).await?;
                let _counted = counted(principal)?;
                let limits = self.limits.per_call();
                let read = features.read(inner, limits, Some(&*account)).await;
                let mut result = object(&read.map_err(|fault| failed(&upstreams, name, principal, &fault))?);
                for content in result["contents"].as_array_mut().into_iter().flatten() {
                    prefix_member(content, "uri", |inner| uri_of(name, inner));
                }
                result
            }
            ExposedRequest::Watch { uri, number, wanted: true } => {
                self.subscribe(principal, number, &uri).await?;
                json!({})
            }
            ExposedRequest::Watch { uri, number, wanted: false } => {
                self.unsubscribe(number, &uri).await;
                json!({})
            }
            ExposedRequest::Prompt(prompt, arguments) => {
                let resolved = usable(&view, FeatureKind::Prompt, resolve_name(&view, &prompt));
                let (name, inner) = resolved.ok_or_else(|| unknown_prompt(&prompt))?;
                let features = self.started(&view, name, principal).await?;
                let _counted = counted(principal)?;
                let limits = self.limits.per_call();
                let got = features.get_prompt(inner, arguments.as_bytes(), limits, Some(&*account)).await;
                let mut result = object(&got.map_err(|fault| failed(&upstreams, name, principal, &fault))?);
                if let Some(messages) = result["messages"].as_array_mut() {
                    messages.retain(|message| message["role"].as_str().is_some_and(is_role));
                }
                for message in result["messages"].as_array_mut().into_iter().flatten() {
                    prefix_block(&mut message["content"], name);
                }
                result
            }
            ExposedRequest::Complete { kind, subject, argument, value, context } => {
                let resolved = match kind {
                    FeatureKind::Prompt => resolve_name(&view, &subject),
                    FeatureKind::Resource | FeatureKind::Template => resolve_uri(&view, &subject),
                };
                let (name, inner) = usable(&view, kind, resolved).ok_or_else(|| {
                    let text = format!("Invalid params: nothing is known as {}", short(&subject));
                    RpcError::new(RpcError::INVALID_PARAMS, text)
                })?;
                let features = self.started(&view, name, principal).await?;
                let (argument, value, context) = (argument.as_str(), value.as_str(), context.as_bytes());
                let limits = self.limits.per_call();
                let found = features.complete(kind, inner, argument, value, context, limits).await;
                let (values, more) = found.map_err(|fault| failed(&upstreams, name, principal, &fault))?;
                json!({"completion": {"values": values, "hasMore": more}})
            }
        };
        upstreams.redactor().for_principal(Some(principal.name())).scrub_json(&mut result);
        // Clients see our own members of these names, or none.
        if let Some(members) = result.as_object_mut() {
            members
                .retain(|name, _| !["_meta", "resultType", "ttlMs", "cacheScope"].contains(&name.as_str()));
        }
        Ok(result)
    }

    /// One page of a list. An upstream that fails is skipped.
    #[expect(clippy::disallowed_methods, reason = "entry point: ExposedFeatures.page")]
    async fn page(
        &self,
        view: &View<'_>,
        kind: FeatureKind,
        cursor: Option<String>,
        principal: &Principal,
        account: &dyn Arrivals,
    ) -> Result<Value, RpcError> {
        let names: Vec<&str> = view.upstreams().map(|(config, _)| config.name.as_str()).collect();
        let unknown = || RpcError::new(RpcError::INVALID_PARAMS, "Invalid params: unknown cursor");
        let (mut at, mut inner) = match cursor {
            None => (0, None),
            Some(cursor) => {
                let (name, inner): (String, Option<String>) =
                    serde_json::from_str(&cursor).map_err(|_| unknown())?;
                (names.iter().position(|known| *known == name).ok_or_else(unknown)?, inner)
            }
        };
        while let Some(name) = names.get(at) {
            let (items, next) =
                match self.page_of(view, name, kind, inner.take().as_deref(), principal, account).await {
                    Ok(page) => page,
                    Err(fault) => {
                        let reason = view.aggregator().redactor().for_log().scrub_string(fault.to_string());
                        warn!(event = "exposed_list_failed", upstream = name, method = kind.method(), reason);
                        (Vec::new(), None)
                    }
                };
            let next = match next {
                Some(cursor) => Some((*name, Some(cursor))),
                None => names.get(at + 1).map(|following| (*following, None)),
            };
            // Empty pages are skipped.
            if !items.is_empty() || next.is_none() {
                let mut page = json!({kind.member(): items});
                if let Some(next) = next {
                    page["nextCursor"] = json!(next).to_string().into();
                }
                return Ok(page);
            }
            match next {
                Some((_, Some(cursor))) => inner = Some(cursor),
                _ => at += 1,
            }
        }
        Ok(json!({kind.member(): []}))
    }

    /// A page of one upstream, with names that can be resolved to it, and its next cursor.
    async fn page_of(
        &self,
        view: &View<'_>,
        name: &str,
        kind: FeatureKind,
        cursor: Option<&str>,
        principal: &Principal,
        account: &dyn Arrivals,
    ) -> Result<(Vec<Value>, Option<String>), CallFault> {
        let Some(features) = view.features(name) else { return Ok(Default::default()) };
        let features = features.on_behalf_of(caller(principal));
        features.start().await?;
        let (mut items, next) = features.page(kind, cursor, self.limits.per_call(), Some(account)).await?;
        for item in &mut items {
            prefix_member(item, "name", |inner| format!("{name}/{inner}"));
            if kind != FeatureKind::Prompt {
                prefix_member(item, kind.key(), |inner| uri_of(name, inner));
            }
        }
        Ok((items, next))
    }

    /// The upstream of this name, running.
    async fn started<'a>(
        &self,
        view: &View<'a>,
        name: &str,
        principal: &'a Principal,
    ) -> Result<Features<'a>, RpcError> {
        let unknown = || RpcError::new(RpcError::REFUSED, format!("upstream '{name}' is gone"));
        let features = view.features(name).ok_or_else(unknown)?.on_behalf_of(caller(principal));
        features.start().await.map_err(|fault| failed(view.aggregator(), name, principal, &fault))?;
        Ok(features)
    }
}

fn failed(upstreams: &Aggregator, name: &str, principal: &Principal, fault: &CallFault) -> RpcError {
    let redactor = upstreams.redactor().for_principal(Some(principal.name()));
    let text = redactor.scrub_string(fault.message.clone());
    RpcError::new(RpcError::REFUSED, format!("upstream '{name}': {text}"))
}

/// What this caller sees of the upstreams.
fn view<'a>(upstreams: &'a Aggregator, principal: &'a Principal) -> View<'a> {
    upstreams.view(principal.authority()).of(principal.known_name())
}

fn has_restarted(upstreams: &Aggregator, name: &str) -> bool {
    let mut upstreams = upstreams.unfiltered().upstreams();
    upstreams.any(|(config, handle)| config.name == name && handle.health().starts > 1)
}

/// The upstream and its own URI.
fn resolve_uri<'v, 'u>(view: &View<'v>, uri: &'u str) -> Option<(&'v str, &'u str)> {
    view.upstreams()
        .find_map(|(config, _)| Some((config.name.as_str(), uri.strip_prefix(&uri_of(&config.name, ""))?)))
        .filter(|(_, inner)| !inner.is_empty())
}

/// The same for a resource that the caller may read.
fn readable<'v, 'u>(view: &View<'v>, uri: &'u str) -> Option<(&'v str, &'u str)> {
    usable(view, FeatureKind::Resource, resolve_uri(view, uri))
}

/// What has been resolved, if the policy lets the caller know of it.
fn usable<'v, 'n>(
    view: &View<'v>,
    kind: FeatureKind,
    resolved: Option<(&'v str, &'n str)>,
) -> Option<(&'v str, &'n str)> {
    resolved.filter(|(upstream, inner)| view.grants(upstream, kind, inner))
}

/// The upstream and its own name of a prompt.
fn resolve_name<'v, 'n>(view: &View<'v>, name: &'n str) -> Option<(&'v str, &'n str)> {
    let own = |upstream: &str| name.strip_prefix(upstream)?.strip_prefix('/');
    // A name may be a prefix of another one.
    let fitting = view.upstreams().filter_map(|(config, _)| {
        own(&config.name).filter(|inner| !inner.is_empty()).map(|inner| (config.name.as_str(), inner))
    });
    fitting.max_by_key(|(upstream, _)| upstream.len())
}

/// The URI that clients see for a resource of an upstream.
fn uri_of(upstream: &str, uri: &str) -> String {
    let mut out = String::from("ptc://");
    for byte in upstream.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out.push('/');
    out.push_str(uri);
    out
}

fn caller(principal: &Principal) -> Caller<'_> {
    Caller { principal: Some(principal.known_name()), ..Caller::default() }
}

/// Counts a read among the upstream calls that the policy lets the caller make, while it is under way.
fn counted(principal: &Principal) -> Result<Option<CallInFlight>, RpcError> {
    count_call(principal.authority()).map_err(|fault| RpcError::new(RpcError::REFUSED, fault.message))
}

fn prefix_member(object: &mut Value, key: &str, prefixed: impl FnOnce(&str) -> String) {
    if let Some(Value::String(text)) = object.get_mut(key) {
        *text = prefixed(text);
    }
}

/// Prefixes the URIs of embedded resources and links in a block, or in each block of an array.
fn prefix_block(block: &mut Value, upstream: &str) {
    if let Value::Array(blocks) = block {
        return blocks.iter_mut().for_each(|block| prefix_block(block, upstream));
    }
    let is_link = block["type"] == "resource_link";
    let place = if is_link { Some(block) } else { block.get_mut("resource") };
    if let Some(place) = place {
        prefix_member(place, "uri", |inner| uri_of(upstream, inner));
    }
}

fn not_found(uri: &str) -> RpcError {
    let data = json!({"uri": uri}).to_string();
    RpcError { data: Some(data.into()), ..RpcError::new(RESOURCE_NOT_FOUND, "Resource not found") }
}

async fn follow(
    exposed: Weak<ExposedFeatures>,
    name: String,
    mut events: broadcast::Receiver<UpstreamEvent>,
) {
    loop {
        let event = events.recv().await;
        let Some(exposed) = exposed.upgrade() else { return };
        match event {
            Ok(event) => exposed.heard(&name, event).await,
            Err(RecvError::Lagged(_)) => exposed.lost(&name),
            Err(RecvError::Closed) => return,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "entry point: object()")]
fn object(result: &[u8]) -> Value {
    serde_json::from_slice(result).unwrap_or_else(|_| json!({}))
}

fn unknown_prompt(name: &str) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, format!("Unknown prompt: {}", short(name)))
}

fn short(name: &str) -> Cow<'_, str> {
    super::tool::short_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_lead_back_whatever_the_upstream_is_called() {
        assert_eq!(uri_of("docs", "file:///a b"), "ptc://docs/file:///a b");
        assert_eq!(uri_of("my docs/é", "x:"), "ptc://my%20docs%2F%C3%A9/x:");
    }

    #[test]
    fn blocks_of_messages_name_their_upstream() {
        let mut blocks = json!([
            {"type": "text", "text": "x", "uri": "stays"},
            {"type": "resource", "resource": {"uri": "a:"}},
            {"type": "resource_link", "uri": "b:"}
        ]);
        prefix_block(&mut blocks, "u");
        assert_eq!(blocks[0]["uri"], "stays");
        assert_eq!(blocks[1]["resource"]["uri"], "ptc://u/a:");
        assert_eq!(blocks[2]["uri"], "ptc://u/b:");
    }
}
