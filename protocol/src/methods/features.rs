//! Resources, prompts and completions of the upstreams, if `--expose` offers them.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::aggregator::FeatureKind;
use ptc_host::time;
use ptc_mcp::Era;
use ptc_mcp::RpcError;
use ptc_mcp::json::{Kind, Raw};
use ptc_mcp::message::id::RequestId;
use ptc_mcp::message::params::{Params, ParamsMember};
use tracing::debug;

use crate::call::{Call, CallWork, LoggedRequest};
use crate::connection::{AdmissionError, Connection};
use crate::exposed_features::{ExposedFeatures, ExposedRequest};
use crate::handler_outcome::HandlerOutcome;
use crate::observer::FeatureRequest;
use crate::reply::{self, Answers};
use crate::results;
use crate::service::{MessageContext, Service};

/// Answers a request for a feature; `None` if the method is another one, or is not offered. A list that is not
/// offered is empty: some clients request it without reading the capabilities, and treat an error as fatal
/// (decision 165). The official suite requires prompts of the modern era to be declared if they are listed.
pub(super) fn answer(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: &str,
    params: &ParamsMember<'_>,
) -> Option<HandlerOutcome> {
    offered(service, from, id, method, params).or_else(|| empty_list(service, from.era, id, method, params))
}

/// An empty list.
fn empty_list(
    service: &Arc<Service>,
    era: Era,
    id: &RequestId,
    method: &str,
    params: &ParamsMember<'_>,
) -> Option<HandlerOutcome> {
    let key: &[u8] = match method {
        "resources/list" => b"{\"resources\":[]",
        "resources/templates/list" => b"{\"resourceTemplates\":[]",
        "prompts/list" if era == Era::Handshake => b"{\"prompts\":[]",
        _ => return None,
    };
    let cursor = params.object().and_then(|params| params.cursor);
    if cursor.is_some_and(|cursor| cursor.kind() != Kind::Null) {
        return Some(HandlerOutcome::error(id, &invalid("unknown cursor")));
    }
    Some(HandlerOutcome::answered(reply::result(id, |out| {
        out.extend_from_slice(key);
        if era == Era::Modern {
            out.extend_from_slice(b",\"resultType\":\"complete\"");
            results::write_cache_hints(service, out);
            results::write_server_meta(service, out, None);
        }
        out.push(b'}');
    })))
}

/// Answers a request for a feature that is offered.
fn offered(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: &str,
    params: &ParamsMember<'_>,
) -> Option<HandlerOutcome> {
    let exposed = service.exposed.as_ref()?;
    // In the modern era a client opens a channel for that.
    let is_told = from.era == Era::Handshake && from.connection.watcher().is_some();
    let (method, is_offered) = match method {
        "resources/list" => ("resources/list", exposed.resources),
        "resources/templates/list" => ("resources/templates/list", exposed.resources),
        "resources/read" => ("resources/read", exposed.resources),
        "resources/subscribe" => ("resources/subscribe", exposed.resources && is_told),
        "resources/unsubscribe" => ("resources/unsubscribe", exposed.resources && is_told),
        "prompts/list" => ("prompts/list", exposed.prompts),
        "prompts/get" => ("prompts/get", exposed.prompts),
        "completion/complete" => ("completion/complete", true),
        _ => return None,
    };
    if !is_offered {
        return None;
    }
    debug!(event = "feature_request", rpc_id = %id, method);
    let none = Params::default();
    let params = match params {
        ParamsMember::Absent => &none,
        ParamsMember::Object(params) => params,
        ParamsMember::Invalid => return Some(HandlerOutcome::error(id, &RpcError::invalid_params())),
    };
    Some(match read(exposed, from.connection, method, params) {
        Ok(ask) => run(service, from, id, method, exposed.clone(), ask),
        Err(error) => HandlerOutcome::error(id, &error),
    })
}

fn invalid(what: &str) -> RpcError {
    RpcError::new(RpcError::INVALID_PARAMS, format!("Invalid params: {what}"))
}

/// A required text.
fn text(value: Option<Raw<'_>>, name: &str) -> Result<String, RpcError> {
    let text = value.and_then(Raw::as_str).filter(|text| !text.is_empty());
    text.map(String::from).ok_or_else(|| invalid(&format!("{name} must be a non-empty string")))
}

/// The text of an object, `{}` if it is missing.
fn object(value: Option<Raw<'_>>, name: &str) -> Result<String, RpcError> {
    match value {
        None => Ok("{}".to_owned()),
        Some(raw) if raw.kind() == Kind::Null => Ok("{}".to_owned()),
        Some(raw) if raw.kind() == Kind::Object => Ok(raw.text().to_owned()),
        Some(_) => Err(invalid(&format!("{name} must be an object"))),
    }
}

/// A member of an object.
fn member<'a>(object: Option<Raw<'a>>, name: &str) -> Option<Raw<'a>> {
    object?.members()?.find(|(key, _)| key == name).map(|(_, value)| value)
}

fn read(
    exposed: &ExposedFeatures,
    connection: &Connection,
    method: &str,
    params: &Params<'_>,
) -> Result<ExposedRequest, RpcError> {
    let list = |kind| {
        let cursor = params.cursor.filter(|cursor| cursor.kind() != Kind::Null);
        let cursor =
            cursor.map(|cursor| cursor.as_str().map(String::from).ok_or_else(|| invalid("unknown cursor")));
        Ok(ExposedRequest::List(kind, cursor.transpose()?))
    };
    match method {
        "resources/list" => list(FeatureKind::Resource),
        "resources/templates/list" => list(FeatureKind::Template),
        "prompts/list" => list(FeatureKind::Prompt),
        "resources/read" => Ok(ExposedRequest::Read(text(params.uri, "uri")?)),
        "resources/subscribe" | "resources/unsubscribe" => Ok(ExposedRequest::Watch {
            uri: text(params.uri, "uri")?,
            number: connection.watcher().unwrap_or_default(),
            wanted: method == "resources/subscribe",
        }),
        "prompts/get" => {
            Ok(ExposedRequest::Prompt(text(params.name, "name")?, object(params.arguments, "arguments")?))
        }
        _ => {
            let reference = member(params.reference, "type").and_then(Raw::as_str);
            let (kind, key) = match reference.as_deref() {
                Some("ref/prompt") if exposed.prompts => (FeatureKind::Prompt, "name"),
                Some("ref/resource") if exposed.resources => (FeatureKind::Template, "uri"),
                _ => return Err(invalid("ref must be a prompt or a resource that is offered")),
            };
            let value = member(params.argument, "value").and_then(Raw::as_str);
            Ok(ExposedRequest::Complete {
                kind,
                subject: text(member(params.reference, key), &format!("ref.{key}"))?,
                argument: text(member(params.argument, "name"), "argument.name")?,
                value: value.ok_or_else(|| invalid("argument.value must be a string"))?.into_owned(),
                context: object(member(params.context, "arguments"), "context.arguments")?,
            })
        }
    }
}

/// The request as work that has its permit, like the call of a tool.
fn run(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    method: &'static str,
    exposed: Arc<ExposedFeatures>,
    ask: ExposedRequest,
) -> HandlerOutcome {
    let (era, owner) = (from.era, from.owner(service));
    let (caller, is_http) = (owner.principal, owner.http_session.is_some() || from.origin.is_some());
    let (own_service, own_id) = (service.clone(), id.clone());
    let running = Box::pin(async move {
        let observed =
            own_service.observers.as_deref().map(|observers| (observers, ask.subject(), time::now()));
        let answered = exposed.answer(&caller, ask).await;
        if let Some((observers, subject, began)) = &observed {
            observers.requested(&FeatureRequest {
                principal: &caller,
                is_http,
                method,
                subject: subject.as_deref(),
                error: answered.as_ref().err().map(|error| error.code),
                duration_ms: time::since(*began).as_millis() as u64,
            });
        }
        match answered {
            Ok(result) => results::feature(&own_service, era, &own_id, method, &result),
            Err(error) => reply::error(Answers::Request(&own_id), &error),
        }
    });
    admit(service, from, id, true, CallWork::Feature { method, running })
}

/// Admits work that is no tool call, if the conversation has capacity, and the process if `is_gated`.
pub(super) fn admit(
    service: &Arc<Service>,
    from: MessageContext<'_>,
    id: &RequestId,
    is_gated: bool,
    work: CallWork,
) -> HandlerOutcome {
    if service.is_draining() || from.connection.is_draining() {
        return HandlerOutcome::error(id, &RpcError::new(RpcError::REFUSED, "the server is shutting down"));
    }
    let busy = |limit: &'static str, text: String| {
        let error = RpcError::new(RpcError::REFUSED, format!("server busy: {text}"));
        HandlerOutcome::busy(reply::error(Answers::Request(id), &error), limit, text)
    };
    let (ticket, cancelled) = match from.connection.enter(id) {
        Ok(entered) => entered,
        Err(AdmissionError::Full(limit)) => {
            let full = crate::concurrency_limiter::CapacityError::SessionCalls(limit);
            return busy(full.limit(), full.to_string());
        }
        Err(AdmissionError::Duplicate) => return HandlerOutcome::error(id, &RpcError::duplicate_id(id)),
    };
    let permit = match is_gated.then(|| service.limiter.try_enter(from.caller)).transpose() {
        Ok(permit) => permit,
        Err(full) => return busy(full.limit(), full.to_string()),
    };
    HandlerOutcome::Call(Box::new(Call {
        service: service.clone(),
        id: id.clone(),
        era: from.era,
        work,
        started: time::now(),
        cancelled,
        hearing: None,
        outgoing: None,
        patience: Duration::ZERO,
        ticket,
        permit,
        span: None,
        request_span: None,
        trace: None,
        logged: LoggedRequest::of(from),
    }))
}
