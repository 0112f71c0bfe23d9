//! The forms of programs: `resource/…` and `prompt/…`.

use super::super::attempt::Attempt;
use super::super::caller::caller_of;
use super::super::cold_start::{UpstreamStartError, start};
use super::super::configured_upstream::ConfiguredUpstream;
use super::super::program_fault::raise;
use super::super::runtime::Aggregator;
use super::super::sign_in::{RepeatableRequest, SignIns};
use super::super::usage::{begin_call, cap_exhausted, give_back_uncounted, take_call, take_discovery};
use super::ask::{FeatureKind, prompt_params, read_params};
use crate::catalog::unknown_server;
use ptc_base::memory::ReplyCharge;
use ptc_base::pace::apart;
use ptc_base::text::clip;
use ptc_base::time;
use ptc_base::trace::OpenSpan;
use ptc_engine::{CatalogOp, Desk, RunContext};
use ptc_mcp::json::{Map, Value, json};
use ptc_upstreams::mcp::features::{read_contents, read_prompt};
use ptc_upstreams::upstream::{CallFault, CallLimits, Caller, FaultReason};
use ptc_vm::machine::{Feature, FeatureRequest, Payload, Reply};
use std::rc::Rc;
use std::sync::Arc;

/// Names of members as programs see them; the others keep theirs.
const NAMES: [(&str, &str); 2] = [("mimeType", "mime_type"), ("uriTemplate", "uri_template")];

/// The words for a budget that is used up, and for an upstream that does not start.
const CAP_EXHAUSTED: &str = "catalog_cap_exhausted";
const UNAVAILABLE: &str = "upstream_unavailable";

/// Answers one form.
pub(in super::super) async fn answer(
    aggregator: Arc<Aggregator>,
    run: Rc<RunContext>,
    request: FeatureRequest,
    desk: Desk,
) -> Reply {
    let view = aggregator.view_of(&run);
    if view.member(&request.server).is_none() {
        return raise(&unknown_server(&view.catalog(), &request.server));
    }
    match request.feature {
        Feature::ResourceRead | Feature::PromptGet => content(&aggregator, &run, request, &desk).await,
        _ => listing(&aggregator, &run, request, &desk).await,
    }
}

/// The limits of one answer.
fn limits(aggregator: &Aggregator, run: &RunContext) -> CallLimits {
    CallLimits { deadline: run.deadline(), ..aggregator.limits.per_call() }
}

/// `resource/read` and `prompt/get`, which count and are recorded as calls of tools.
async fn content(
    aggregator: &Arc<Aggregator>,
    run: &Rc<RunContext>,
    request: FeatureRequest,
    desk: &Desk,
) -> Reply {
    let mut view = aggregator.view_of(run);
    let Some(member) = view.member(&request.server) else { return Reply::Value(Payload::None) };
    let is_prompt = request.feature == Feature::PromptGet;
    let (kind, method, params) = match is_prompt {
        true => {
            (FeatureKind::Prompt, "prompts/get", prompt_params(&request.subject, &request.arguments).await)
        }
        false => (FeatureKind::Resource, "resources/read", read_params(&request.subject)),
    };
    let recorded = params.as_bytes();
    let server = request.server.as_str();
    let mut attempt = Attempt::new(aggregator, run, server, method, Some(&member.config), recorded).await;
    attempt.method = method;
    let mut began = time::now();
    if !take_call(run, aggregator.limits.max_calls) {
        return attempt.failed(recorded, None, cap_exhausted(run, aggregator.limits.max_calls));
    }
    let mut sign_ins = SignIns::new(aggregator, run, desk, member, RepeatableRequest::Feature(&request));
    loop {
        let (fault, tried) = match start(aggregator, run, &request.server).await {
            Err(UpstreamStartError { fault, tried }) => (fault, tried),
            Ok(()) => {
                let in_flight = match begin_call(run, false) {
                    Ok(in_flight) => in_flight,
                    Err(fault) => {
                        give_back_uncounted(run, &fault);
                        return attempt.failed(recorded, None, fault);
                    }
                };
                let span = OpenSpan::below(run.trace.as_ref());
                let context = span.as_ref().map(|span| span.trace().context.clone());
                let caller = caller_of(&view, run, member);
                let caller = Caller { trace: context.as_ref().or(caller.trace), ..caller };
                let features = view.features_of(member).on_behalf_of(caller);
                attempt.is_sent(time::now(), span);
                let charge = ReplyCharge::new(run.memory.clone());
                let limits = limits(aggregator, run);
                let read = features.fetch(kind, &request.subject, &params, limits, Some(&charge)).await;
                drop(in_flight);
                let read_answer = if is_prompt { read_prompt } else { read_contents };
                let read = match read {
                    Ok(answer) => apart(answer.len(), move || read_answer(answer)).await,
                    Err(fault) => Err(fault),
                };
                match read {
                    Ok(reply) => {
                        run.arrived.borrow_mut().push(charge);
                        return attempt.succeeded(recorded, began, reply, None);
                    }
                    Err(fault) => {
                        attempt.end_span(&fault);
                        let tried = !fault.uncounted;
                        (fault, tried)
                    }
                }
            }
        };
        if let Err(fault) = Box::pin(sign_ins.awaited(fault)).await {
            give_back_uncounted(run, &fault);
            return attempt.failed(recorded, tried.then_some(began), fault);
        }
        // Another policy may hold by now.
        view = aggregator.view_of(run);
        if view.member(server).is_none() {
            return raise(&unknown_server(&view.catalog(), server));
        }
        began = time::now();
    }
}

/// Lists and completions, which take of the discovery budget; a world fault is `nil`.
async fn listing(
    aggregator: &Arc<Aggregator>,
    run: &Rc<RunContext>,
    request: FeatureRequest,
    desk: &Desk,
) -> Reply {
    let asked = time::now();
    let found = match take_discovery(run, aggregator.limits.max_discoveries) {
        true => signed_in(aggregator, run, &request, desk).await,
        false => Err(CAP_EXHAUSTED),
    };
    let (payload, note, reason) = match found {
        Ok((value, note)) => (Payload::Json(value.to_string().into()), note, None),
        Err(reason) => (Payload::None, None, Some(reason)),
    };
    let mut args = json!({"server": request.server});
    if !request.subject.is_empty() {
        args["ref"] = clip(&request.subject, CatalogOp::MAX_NAME_BYTES).into();
    }
    run.catalog_ops.borrow_mut().push(CatalogOp {
        operation: request.feature.form(),
        args,
        reason,
        note,
        duration: time::since(asked),
    });
    Reply::Value(payload)
}

/// The result, after a sign-in if one is needed; or the word of the world fault.
async fn signed_in(
    aggregator: &Arc<Aggregator>,
    run: &Rc<RunContext>,
    request: &FeatureRequest,
    desk: &Desk,
) -> Result<AnnotatedList, &'static str> {
    let view = aggregator.view_of(run);
    let Some(member) = view.member(&request.server) else { return Err(UNAVAILABLE) };
    let mut sign_ins = SignIns::new(aggregator, run, desk, member, RepeatableRequest::Feature(request));
    loop {
        let (fault, word) = match found(aggregator, run, member, request).await {
            Err(LookupError::Faulty { fault, word }) => (fault, word),
            Err(LookupError::TooLarge) => return Err("catalog_result_too_large"),
            Ok(found) => return Ok(found),
        };
        if let Err(fault) = Box::pin(sign_ins.awaited(fault)).await {
            return Err(match fault.reason {
                FaultReason::Declined | FaultReason::Cancelled | FaultReason::Unanswerable => {
                    fault.reason.as_str()
                }
                FaultReason::CapExhausted => CAP_EXHAUSTED,
                _ => word,
            });
        }
    }
}

/// The method that a program asks for.
pub(in super::super) fn asked_method(feature: Feature) -> &'static str {
    match feature {
        Feature::ResourceRead => "resources/read",
        Feature::PromptGet => "prompts/get",
        other => method(other),
    }
}

/// The method of a list or completion.
fn method(feature: Feature) -> &'static str {
    match feature {
        Feature::ResourceTemplates => FeatureKind::Template.method(),
        Feature::PromptList => FeatureKind::Prompt.method(),
        Feature::ResourceComplete | Feature::PromptComplete => "completion/complete",
        _ => FeatureKind::Resource.method(),
    }
}

/// A list, and a note if it is not all of it.
type AnnotatedList = (Value, Option<String>);

/// Why there is none.
enum LookupError {
    /// For a world fault, whose word this is.
    Faulty { fault: CallFault, word: &'static str },
    /// Not even its first item fits into the answer.
    TooLarge,
}

async fn found(
    aggregator: &Arc<Aggregator>,
    run: &Rc<RunContext>,
    member: &ConfiguredUpstream,
    request: &FeatureRequest,
) -> Result<AnnotatedList, LookupError> {
    let view = aggregator.view_of(run);
    let features =
        view.features_of(member).on_behalf_of(caller_of(&view, run, member)).audited(aggregator, Some(run));
    if let Err(UpstreamStartError { fault, .. }) = start(aggregator, run, &request.server).await {
        features.record_unsent(method(request.feature), "{}", fault.reason).await;
        return Err(LookupError::Faulty { fault, word: UNAVAILABLE });
    }
    let charge = ReplyCharge::new(run.memory.clone());
    let limits = limits(aggregator, run);
    let faulty = |fault: CallFault| LookupError::Faulty { word: fault.reason.as_str(), fault };
    let (mut items, is_cut, offered, plural) = match (request.feature, &request.argument) {
        (Feature::ResourceComplete | Feature::PromptComplete, Some((argument, value))) => {
            let kind = match request.feature {
                Feature::PromptComplete => FeatureKind::Prompt,
                _ => FeatureKind::Template,
            };
            let (argument, value) = (argument.as_str(), value.as_str());
            let context = &request.arguments;
            let asked = features.complete(kind, &request.subject, argument, value, context, limits).await;
            let (values, more) = asked.map_err(faulty)?;
            (values, more, features.offers().completions, "completions")
        }
        (feature, _) => {
            let (kind, plural) = match feature {
                Feature::ResourceTemplates => (FeatureKind::Template, "templates"),
                Feature::PromptList => (FeatureKind::Prompt, "prompts"),
                _ => (FeatureKind::Resource, "resources"),
            };
            let listing = features.list(kind, limits, Some(&charge)).await.map_err(faulty)?;
            let offers = features.offers();
            let offered = if kind == FeatureKind::Prompt { offers.prompts } else { offers.resources };
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
        return Err(LookupError::TooLarge);
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
