//! Requests for what an upstream has besides tools, within its filters.

use crate::config::NameFilter;
use crate::credentials::Redactor;
use crate::mcp::features::{ItemPages, read_completion};
use crate::memory::{ReplyCharge, ReplyMemory};
use crate::upstream::{Arrivals, CallFault, CallLimits, Caller, Offers, Query, Upstream};
use bytes::Bytes;
use ptc_mcp::json::{Value, json};
use std::sync::Arc;

use super::super::runtime::{Aggregator, Member};

/// A kind of thing that servers list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Resources.
    Resource,
    /// Templates of resources.
    Template,
    /// Prompts.
    Prompt,
}

impl Kind {
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

/// What an upstream lists, its filters applied and secrets removed.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// The objects as the upstream wrote them.
    pub items: Vec<Value>,
    /// Whether there are more than could be taken.
    pub is_cut: bool,
}

/// What one upstream has besides tools.
pub struct Features<'a> {
    name: &'a str,
    handle: &'a dyn Upstream,
    resources: &'a NameFilter,
    prompts: &'a NameFilter,
    redactor: Redactor,
    caller: Caller<'a>,
}

impl Aggregator {
    /// An account for answers to this principal that no program asked for, within the memory of all programs. What was
    /// charged to it is given back when it is dropped.
    pub fn account(&self, principal: &Arc<str>) -> Box<dyn Arrivals> {
        let budget = self.memory.as_ref().map(|memory| memory.of(Some(principal)));
        Box::new(ReplyCharge::new(ReplyMemory::new(u64::MAX, budget)))
    }

    /// What the upstream of this name has besides tools; `None` if none of that name is configured.
    pub fn features(&self, upstream: &str) -> Option<Features<'_>> {
        let member = self.members.get(upstream)?;
        Some(Features::of(member, &self.redactor))
    }
}

impl<'a> Features<'a> {
    pub(super) fn of(member: &'a Member, redactor: &Redactor) -> Self {
        Self {
            name: &member.config.name,
            handle: &*member.handle,
            resources: &member.config.resources,
            prompts: &member.config.prompts,
            redactor: redactor.clone(),
            caller: Caller::default(),
        }
    }

    /// The same on behalf of `caller`.
    pub fn on_behalf_of(self, caller: Caller<'a>) -> Self {
        let redactor = self.redactor.for_principal(caller.principal.map(AsRef::as_ref));
        Self { caller, redactor, ..self }
    }

    /// What serves the caller alone, where callers do not share one connection.
    fn own(&self) -> Result<Option<Arc<dyn Upstream>>, CallFault> {
        self.handle.of_principal(self.caller.principal).transpose()
    }

    /// What the upstream said at its latest start that it has.
    pub fn offers(&self) -> Offers {
        match self.own() {
            Ok(Some(own)) => own.introduction().offers,
            _ => self.handle.introduction().offers,
        }
    }

    fn filter(&self, kind: Kind) -> &NameFilter {
        match kind {
            Kind::Resource | Kind::Template => self.resources,
            Kind::Prompt => self.prompts,
        }
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

    /// One page of a kind, from `cursor` on if given, and the cursor of the next one; nothing where the upstream has none.
    ///
    /// # Errors
    /// The fault of the request.
    pub async fn page(
        &self,
        kind: Kind,
        cursor: Option<&str>,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<(Vec<Value>, Option<String>), CallFault> {
        self.start().await?;
        if !kind.is_offered(self.offers()) {
            return Ok((Vec::new(), None));
        }
        let mut pages = ItemPages::new(kind.method(), kind.member(), limits.max_bytes);
        let next = self.add_page(&mut pages, kind, cursor, limits, arrivals).await?;
        Ok((self.admitted(kind, pages.finish().0), next))
    }

    async fn add_page(
        &self,
        pages: &mut ItemPages,
        kind: Kind,
        cursor: Option<&str>,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Option<String>, CallFault> {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let result = self.ask(kind.method(), &params, None, limits, arrivals).await?;
        pages.add_apart(result).await
    }

    /// Those that the filters admit, scrubbed.
    fn admitted(&self, kind: Kind, mut items: Vec<Value>) -> Vec<Value> {
        items.retain(|item| {
            item[kind.key()].as_str().is_some_and(|name| !name.is_empty() && self.filter(kind).admits(name))
        });
        items.iter_mut().for_each(|item| self.redactor.scrub_json(item));
        items
    }

    /// All of a kind, page by page; nothing where the upstream has none.
    ///
    /// # Errors
    /// The fault of a request.
    pub async fn list(
        &self,
        kind: Kind,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Listing, CallFault> {
        self.start().await?;
        if !kind.is_offered(self.offers()) {
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
    /// The fault of the request; [`FaultReason::UpstreamError`](crate::upstream::FaultReason::UpstreamError) where the upstream
    /// has no resources or the configuration hides this one.
    pub async fn read(
        &self,
        uri: &str,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Bytes, CallFault> {
        self.start().await?;
        self.check(Kind::Resource, uri)?;
        self.ask("resources/read", &json!({"uri": uri}), Some(uri), limits, arrivals).await
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
        self.start().await?;
        self.check(Kind::Prompt, name)?;
        let params = json!({"name": name, "arguments": texts(arguments)});
        self.ask("prompts/get", &params, Some(name), limits, arrivals).await
    }

    /// Proposals for an argument of the prompt or template `subject`, and whether there are more; none where the
    /// upstream has no completions.
    ///
    /// # Errors
    /// As [`Features::read`].
    pub async fn complete(
        &self,
        kind: Kind,
        subject: &str,
        (argument, value): (&str, &str),
        context: &[u8],
        limits: CallLimits,
    ) -> Result<(Vec<Value>, bool), CallFault> {
        self.start().await?;
        if !self.offers().completions {
            return Ok((Vec::new(), false));
        }
        self.check(kind, subject)?;
        let reference = match kind {
            Kind::Prompt => json!({"type": "ref/prompt", "name": subject}),
            Kind::Resource | Kind::Template => json!({"type": "ref/resource", "uri": subject}),
        };
        let mut params = json!({"ref": reference, "argument": {"name": argument, "value": value}});
        let context = texts(context);
        if context.as_object().is_some_and(|context| !context.is_empty()) {
            params["context"] = json!({"arguments": context});
        }
        let result = self.ask("completion/complete", &params, None, limits, None).await?;
        let (mut values, more) = read_completion(&result)?;
        values.iter_mut().for_each(|value| self.redactor.scrub_json(value));
        Ok((values, more))
    }

    /// Has the upstream tell, or tell no more, that a resource has changed.
    ///
    /// # Errors
    /// The fault of the request; `upstream_error` where the upstream tells of no changes, or in another way than by request.
    pub async fn subscribe(&self, uri: &str, wanted: bool, limits: CallLimits) -> Result<(), CallFault> {
        self.check(Kind::Resource, uri)?;
        if !self.offers().subscriptions {
            let text = format!("upstream '{}' does not tell when a resource has changed", self.name);
            return Err(CallFault::upstream_error(text));
        }
        let method = if wanted { "resources/subscribe" } else { "resources/unsubscribe" };
        self.ask(method, &json!({"uri": uri}), Some(uri), limits, None).await.map(drop)
    }

    /// Whether clients may know of a resource at this URI.
    pub fn admits_resource(&self, uri: &str) -> bool {
        self.resources.admits(uri)
    }

    /// Whether a client or a program may ask for it.
    fn check(&self, kind: Kind, subject: &str) -> Result<(), CallFault> {
        let (what, key) = match kind {
            Kind::Resource | Kind::Template => ("resource", "resources"),
            Kind::Prompt => ("prompt", "prompts"),
        };
        if !kind.is_offered(self.offers()) {
            return Err(CallFault::upstream_error(format!("upstream '{}' has no {key}", self.name)));
        }
        if !self.filter(kind).admits(subject) {
            let text = format!(
                "the configuration hides {what} {subject:?} of upstream '{}' (allow_{key}, deny_{key})",
                self.name
            );
            return Err(CallFault::upstream_error(text));
        }
        Ok(())
    }

    async fn ask(
        &self,
        method: &'static str,
        params: &Value,
        subject: Option<&str>,
        limits: CallLimits,
        arrivals: Option<&dyn Arrivals>,
    ) -> Result<Bytes, CallFault> {
        let params = params.to_string();
        let params = params.as_bytes();
        let query = Query { method, params, subject, limits, arrivals, caller: self.caller };
        self.handle.query(query).await
    }
}

/// An object whose values are texts, as prompts take their arguments.
#[expect(clippy::disallowed_methods, reason = "entry point: texts()")]
fn texts(arguments: &[u8]) -> Value {
    let mut arguments: Value = serde_json::from_slice(arguments).unwrap_or_else(|_| json!({}));
    for value in arguments.as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
        if !value.is_string() {
            *value = value.to_string().into();
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_prompts_are_texts() {
        let sent = texts(br#"{"a":"x","n":1.50,"b":true,"m":{"k":[1]},"z":null}"#);
        assert_eq!(sent, json!({"a": "x", "n": "1.50", "b": "true", "m": "{\"k\":[1]}", "z": "null"}));
    }
}
