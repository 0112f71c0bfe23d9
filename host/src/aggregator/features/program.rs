//! The forms of programs: `resource/…` and `prompt/…`.

use super::super::attempt::Attempt;
use super::super::caller::caller_of;
use super::super::cold_start::{NotStarted, start};
use super::super::program_fault::raise;
use super::super::runtime::Aggregator;
use super::super::usage::{cap_exhausted, take_call, take_discovery};
use super::ask::{Features, Kind};
use crate::catalog::unknown_server;
use crate::engine::{CatalogOp, RunContext};
use crate::mcp::features::{read_contents, read_prompt};
use crate::memory::ReplyCharge;
use crate::upstream::{CallFault, CallLimits};
use ptc_mcp::json::{Map, Value, json};
use ptc_vm::machine::{Feature, FeatureRequest, Payload, Reply};
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::Instant;

/// Names of members as programs see them; the others keep theirs.
const NAMES: [(&str, &str); 2] = [("mimeType", "mime_type"), ("uriTemplate", "uri_template")];

/// Answers one form.
pub(in super::super) async fn answer(
    aggregator: Arc<Aggregator>,
    run: Rc<RunContext>,
    request: FeatureRequest,
) -> Reply {
    if !aggregator.members.contains_key(&request.server) {
        return raise(&unknown_server(&aggregator.catalog(), &request.server));
    }
    match request.feature {
        Feature::ResourceRead | Feature::PromptGet => content(&aggregator, &run, request).await,
        _ => listing(&aggregator, &run, request).await,
    }
}

/// What may be taken of one answer.
fn limits(aggregator: &Aggregator, run: &RunContext) -> CallLimits {
    CallLimits { deadline: run.deadline(), ..aggregator.limits.per_call() }
}

/// `resource/read` and `prompt/get`, which count and are recorded as calls of tools.
async fn content(aggregator: &Arc<Aggregator>, run: &Rc<RunContext>, request: FeatureRequest) -> Reply {
    let Some(member) = aggregator.members.get(&request.server) else { return Reply::Value(Payload::None) };
    let is_prompt = request.feature == Feature::PromptGet;
    let (method, recorded) = match is_prompt {
        true => {
            let arguments: Value = serde_json::from_slice(&request.arguments).unwrap_or_default();
            ("prompts/get", json!({"name": request.subject, "arguments": arguments}))
        }
        false => ("resources/read", json!({"uri": request.subject})),
    };
    let recorded = recorded.to_string();
    let recorded = recorded.as_bytes();
    let attempt = Attempt {
        aggregator,
        run,
        server: &request.server,
        tool: method,
        config: Some(&member.config),
        argument_note: None,
        approved: None,
    };
    let began = Instant::now();
    if !take_call(run, aggregator.limits.max_calls) {
        return attempt.failed(recorded, None, cap_exhausted(run, aggregator.limits.max_calls));
    }
    if let Err(NotStarted { fault, tried }) = start(aggregator, run, &request.server).await {
        return attempt.failed(recorded, tried.then_some(began), fault);
    }
    let features = Features::of(member, &aggregator.redactor).on_behalf_of(caller_of(run));
    let charge = ReplyCharge::new(run.memory.clone());
    let limits = limits(aggregator, run);
    let answer = match is_prompt {
        true => features.get_prompt(&request.subject, &request.arguments, limits, Some(&charge)).await,
        false => features.read(&request.subject, limits, Some(&charge)).await,
    };
    let read = answer.and_then(|result| if is_prompt { read_prompt(result) } else { read_contents(result) });
    match read {
        Ok(reply) => {
            run.arrived.borrow_mut().push(charge);
            attempt.succeeded(recorded, began, reply, false)
        }
        Err(fault) => attempt.failed(recorded, Some(began), fault),
    }
}

/// Lists and completions, which take of the discovery budget; a world fault is `nil`.
async fn listing(aggregator: &Arc<Aggregator>, run: &Rc<RunContext>, request: FeatureRequest) -> Reply {
    let asked = Instant::now();
    let found = found(aggregator, run, &request).await;
    let (payload, note, reason) = match found {
        Ok((value, note)) => (Payload::Json(value.to_string().into()), note, None),
        Err(reason) => (Payload::None, None, Some(reason)),
    };
    let mut args = json!({"server": request.server});
    if !request.subject.is_empty() {
        args["ref"] = request.subject.as_str().into();
    }
    run.catalog_ops.borrow_mut().push(CatalogOp {
        operation: request.feature.form(),
        args,
        reason,
        note,
        duration: asked.elapsed(),
    });
    Reply::Value(payload)
}

/// The list, and a note if it is not all of it; or the word of the world fault.
async fn found(
    aggregator: &Arc<Aggregator>,
    run: &Rc<RunContext>,
    request: &FeatureRequest,
) -> Result<(Value, Option<String>), &'static str> {
    if !take_discovery(run, aggregator.limits.max_discoveries) {
        return Err("catalog_cap_exhausted");
    }
    let Some(member) = aggregator.members.get(&request.server) else { return Err("upstream_unavailable") };
    start(aggregator, run, &request.server).await.map_err(|_| "upstream_unavailable")?;
    let features = Features::of(member, &aggregator.redactor).on_behalf_of(caller_of(run));
    let charge = ReplyCharge::new(run.memory.clone());
    let limits = limits(aggregator, run);
    let word = |fault: CallFault| fault.reason.as_str();
    let (mut items, is_cut, offered, plural) = match (request.feature, &request.argument) {
        (Feature::ResourceComplete | Feature::PromptComplete, Some((argument, value))) => {
            let kind = match request.feature {
                Feature::PromptComplete => Kind::Prompt,
                _ => Kind::Template,
            };
            let (argument, value) = (argument.as_str(), value.as_str());
            let context = &request.arguments;
            let asked = features.complete(kind, &request.subject, (argument, value), context, limits).await;
            let (values, more) = asked.map_err(word)?;
            (values, more, features.offers().completions, "completions")
        }
        (feature, _) => {
            let (kind, plural) = match feature {
                Feature::ResourceTemplates => (Kind::Template, "templates"),
                Feature::PromptList => (Kind::Prompt, "prompts"),
                _ => (Kind::Resource, "resources"),
            };
            let listing = features.list(kind, limits, Some(&charge)).await.map_err(word)?;
            let offers = features.offers();
            let offered = if kind == Kind::Prompt { offers.prompts } else { offers.resources };
            (listing.items.into_iter().map(renamed).collect(), listing.is_cut, offered, plural)
        }
    };
    let form = request.feature.form();
    let server = &request.server;
    if !offered {
        return Ok((Value::Array(items), Some(format!("{form} {server:?}: the server has no {plural}"))));
    }
    let all = items.len();
    let kept = fitting(&items, aggregator.limits.max_discovery_bytes);
    if kept == 0 && all > 0 {
        return Err("catalog_result_too_large");
    }
    items.truncate(kept);
    let note = match (kept < all, is_cut) {
        (true, _) => Some(format!("{form} {server:?}: {kept} of {all} {plural} shown, the answer is full")),
        (false, true) => Some(format!("{form} {server:?}: the first {kept} {plural} shown, there are more")),
        (false, false) => None,
    };
    Ok((Value::Array(items), note))
}

/// How many of the items fit into an answer of so many bytes.
fn fitting(items: &[Value], max_bytes: usize) -> usize {
    let mut used = 2;
    let fits = |item: &&Value| {
        used += item.to_string().len() + 1;
        used <= max_bytes
    };
    items.iter().take_while(fits).count()
}

/// An item with the names that programs see.
fn renamed(item: Value) -> Value {
    let Value::Object(members) = item else { return item };
    let name =
        |key: String| NAMES.iter().find(|(theirs, _)| *theirs == key).map_or(key, |(_, ours)| (*ours).into());
    // Icons and metadata are for clients that show them.
    let members = members.into_iter().filter(|(key, _)| key != "icons" && key != "_meta");
    Value::Object(members.map(|(key, value)| (name(key), value)).collect::<Map>())
}
