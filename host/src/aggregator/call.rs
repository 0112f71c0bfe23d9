//! `tool/call`: checks, cap, start, call (upstreams.md 8 to 11).

use super::approval::{Allowed, WantedCall, allowed, ask_at, needed, tell_unasked};
use super::attempt::{Attempt, CalledTool};
use super::audit::{AuditedDenial, DenialReason};
use super::caller::caller_of;
use super::cold_start::{UpstreamStartError, start};
use super::current_tools::{renew, renewed};
use super::input::Exchange;
use super::input_progress::InputProgress;
use super::program_fault::raise;
use super::rate::{MOST_TRIES, wait_before};
use super::runtime::Aggregator;
use super::sign_in::{RepeatableRequest, SignIns};
use super::usage::{begin_call, cap_exhausted, give_back, give_back_uncounted, take_call};
use super::view::View;
use crate::catalog::{MAX_TOOL_NAME, ToolEntry, check_large_call};
use ptc_base::memory::ReplyCharge;
use ptc_base::text::clip;
use ptc_base::time::{self, timeout_at};
use ptc_base::trace::OpenSpan;
use ptc_engine::questions::MAX_ASKED_BYTES;
use ptc_engine::{Desk, RunContext};
use ptc_upstreams::upstream::{Call, CallFault, CallLimits, Caller, ResendMembers};
use ptc_vm::machine::{Reply, UpstreamCall};
use std::rc::Rc;
use std::sync::Arc;

/// Times that one call is judged anew because its upstream lists other tools when it is to be sent.
pub(super) const MOST_JUDGEMENTS: u32 = 3;

/// Judges a call anew whose program has waited for people since it was judged, if other rules hold for its caller by now. `judged`:
/// the view by which it was. Returns that of now, or `None` if the rules are the same.
///
/// # Errors
/// Why it may not be made any more. That is on record.
pub(super) async fn judge_again<'a>(
    aggregator: &'a Aggregator,
    run: &'a RunContext,
    call: &UpstreamCall,
    judged: &View<'_>,
) -> Result<Option<View<'a>>, String> {
    let view = aggregator.view_of(run);
    if view.has_grant_of(judged) {
        return Ok(None);
    }
    let (Ok(server), Ok(tool)) = (&call.server, &call.tool) else { return Ok(Some(view)) };
    let catalog = view.present();
    let admitted = match view.refusal(&catalog, server, tool) {
        Some(text) => Err(text),
        None => match check_large_call(&catalog, call).await {
            Ok(checked) => {
                view.admit(checked.server, checked.tool_name, checked.tool, &checked.arguments).await
            }
            Err(text) => Err(text),
        },
    };
    if let Err(text) = admitted {
        let reason = view.denial(server, tool).unwrap_or(DenialReason::Argument);
        record_denial(aggregator, run, server, tool, Some(reason));
        return Err(text);
    }
    Ok(Some(view))
}

/// Answers one `tool/call`. `relisted`: how often it has been judged by a list of tools that held no more when it was to be sent.
pub(super) async fn answer(
    aggregator: Arc<Aggregator>,
    run: Rc<RunContext>,
    call: UpstreamCall,
    desk: Desk,
    relisted: u32,
) -> Reply {
    let mut view = aggregator.view_of(&run);
    let catalog = view.present();
    if let (Ok(server), Ok(tool)) = (&call.server, &call.tool)
        && let Some(text) = view.refusal(&catalog, server, tool)
    {
        return refused(&aggregator, &run, &desk, &call, view.denial(server, tool), &text).await;
    }
    let anew;
    let checked = match (check_large_call(&catalog, &call).await, &call.server, &call.tool) {
        (Ok(checked), ..) => checked,
        // In a box, as most calls are right and none should carry the room for it.
        (Err(text), Ok(server), Ok(tool)) => {
            anew = match Box::pin(renewed(&aggregator, &view, &run, server, &catalog)).await {
                Ok(Some(catalog)) => catalog,
                Ok(None) => {
                    return refused(&aggregator, &run, &desk, &call, view.denial(server, tool), &text).await;
                }
                Err((fault, tried)) => {
                    return unknown_tool_list(&aggregator, &run, &call, server, tool, fault, tried).await;
                }
            };
            match check_large_call(&anew, &call).await {
                Ok(checked) => checked,
                Err(text) => {
                    return refused(&aggregator, &run, &desk, &call, view.denial(server, tool), &text).await;
                }
            }
        }
        (Err(text), ..) => return raise(&text),
    };
    let (server, tool) = (checked.server.name.as_str(), checked.tool_name);
    let mut began = time::now();
    let mut arguments = checked.arguments;
    let argument_note = checked.note.map(String::into_boxed_str);
    let mut entry = checked.server;
    let member = view.member_of(entry);
    let config = member.map(|member| &member.config);
    let mut attempt = Attempt::new(&aggregator, &run, server, tool, config, &arguments).await;
    attempt.argument_note = argument_note;
    // A call that goes on has been sent before, and has its number.
    let before = desk.progress();
    if before.is_none() && !take_call(&run, aggregator.limits.max_calls) {
        return attempt.failed(&arguments, None, cap_exhausted(&run, aggregator.limits.max_calls));
    }
    let Some(member) = member else {
        return raise(&format!("no upstream '{server}' configured"));
    };
    let mut sign_ins = SignIns::new(&aggregator, &run, &desk, member, RepeatableRequest::Tool(&call));
    let warm;
    let mut may_wrap = checked.may_wrap;
    let mut described = checked.tool;
    if checked.tool.is_none() {
        while let Err(UpstreamStartError { fault, tried }) = start(&aggregator, &run, server).await {
            // In a box, as most calls need no sign-in.
            if let Err(fault) = Box::pin(sign_ins.awaited(fault)).await {
                give_back_uncounted(&run, &fault);
                return attempt.failed(&arguments, tried.then_some(began), fault);
            }
            began = time::now();
        }
        // Checked again, now that its tools are known, and a person may have been waited for.
        view = aggregator.view_of(&run);
        warm = view.present();
        let checked = match check_large_call(&warm, &call).await {
            Ok(checked) => checked,
            Err(text) => {
                return refused(&aggregator, &run, &desk, &call, view.denial(server, tool), &text).await;
            }
        };
        (entry, arguments, may_wrap) = (checked.server, checked.arguments, checked.may_wrap);
        attempt.argument_note = checked.note.map(String::into_boxed_str);
        attempt.takes(&arguments).await;
        described = checked.tool;
    }
    // Here a call is admitted: nobody has been asked about it and nothing has been sent. One that goes on after its program has
    // waited is judged anew.
    if let Err(text) = view.admit(entry, tool, described, &arguments).await {
        give_back(&run);
        let reason = view.denial(server, tool).unwrap_or(DenialReason::Argument);
        return refused(&aggregator, &run, &desk, &call, Some(reason), &text).await;
    }
    let mut before = match before.map(|before| InputProgress::read(&before)) {
        Some(None) => {
            let text = "what was known of the call when its program waited cannot be read";
            return attempt.failed(&arguments, Some(began), CallFault::upstream_error(text));
        }
        before => before.flatten(),
    };
    let level = needed(&member.config, tool, described);
    if level.is_some() && arguments.len() > MAX_ASKED_BYTES {
        give_back(&run);
        return raise(&too_long_to_ask(server, tool, arguments.len()));
    }
    let mut given: Option<Allowed> = None;
    let mut refusals = 0;
    loop {
        let is_allowed = before.is_some() || given.as_ref().is_some_and(|given| given.is_fresh(&aggregator));
        if let (false, Some(level)) = (is_allowed, level) {
            // A call that waits has no number of the cap; it is counted when it is sent.
            give_back(&run);
            let principal = run.principal.as_deref();
            let wanted = WantedCall {
                config: &member.config,
                principal,
                name: tool,
                tool: described,
                arguments: &arguments,
                digest: attempt.digest_of(&arguments).await,
                level,
            };
            // In a box, as most calls need none.
            let ask = desk.has_asker().then_some(|_, question| ask_at(&desk, &call, question));
            match Box::pin(allowed(&aggregator, &wanted, ask)).await {
                Ok(allowed) => {
                    attempt.approved = Some(allowed.by.clone());
                    given = Some(allowed);
                    match Box::pin(judge_again(&aggregator, &run, &call, &view)).await {
                        Ok(now) => view = now.unwrap_or(view),
                        Err(text) => return raise(&text),
                    }
                }
                Err((fault, by)) => {
                    attempt.approved = by;
                    return attempt.failed(&arguments, None, fault);
                }
            }
            if !take_call(&run, aggregator.limits.max_calls) {
                return attempt.failed(&arguments, None, cap_exhausted(&run, aggregator.limits.max_calls));
            }
            began = time::now();
        }
        let limits = CallLimits { deadline: run.deadline(), ..aggregator.limits.per_call() };
        let charge = ReplyCharge::new(run.memory.clone());
        let span = OpenSpan::below(run.trace.as_ref());
        let context = span.as_ref().map(|span| span.trace().context.clone());
        let caller = caller_of(&view, &run, member);
        let caller = Caller { trace: context.as_ref().or(caller.trace), ..caller };
        let sent = Call {
            tool,
            arguments: &arguments,
            again: ResendMembers::default(),
            limits,
            arrivals: Some(&charge),
            caller,
            may_wrap,
            judged_by: entry.listed(),
        };
        let upstream = &member.handle;
        let exchange = Exchange {
            aggregator: &aggregator,
            run: &run,
            desk: &desk,
            upstream,
            request: &call,
            call: sent,
            view: &view,
        };
        if let Some(fault) = attempt.stopped() {
            give_back(&run);
            return attempt.failed_unrecorded(&arguments, fault);
        }
        // Counted last: what waits for people takes nothing of the caller's minute.
        let in_flight = match begin_call(&run, before.is_some() || relisted > 0) {
            Ok(in_flight) => in_flight,
            Err(fault) => {
                give_back_uncounted(&run, &fault);
                record_denial(&aggregator, &run, server, tool, Some(DenialReason::Quota));
                return attempt.failed(&arguments, None, fault);
            }
        };
        attempt.is_sent(began, span);
        let answer = exchange.answer(before.take()).await;
        drop(in_flight);
        let fault = match answer {
            Ok(reply) => {
                arrives(&run, charge);
                let called = CalledTool { entry: described, by_pages: call.by_pages };
                return attempt.succeeded(&arguments, began, reply, Some(called));
            }
            Err(fault) => fault,
        };
        if fault.relisted && relisted < MOST_JUDGEMENTS {
            attempt.is_not_sent(&fault);
            let renewing = renew(&aggregator, member, caller_of(&view, &run, member));
            // In a box, as most calls are judged once.
            return match Box::pin(timeout_at(run.deadline(), renewing)).await {
                Ok(Ok(())) => {
                    if desk.progress().is_none() {
                        give_back(&run);
                    }
                    if let Err(end) = desk.look_again(&call).await {
                        return end;
                    }
                    let (aggregator, run, call, desk) =
                        (aggregator.clone(), run.clone(), call.clone(), desk.clone());
                    Box::pin(self::answer(aggregator, run, call, desk, relisted + 1)).await
                }
                Ok(Err(fault)) => attempt.failed(&arguments, Some(began), fault.never_sent()),
                Err(_) => attempt.failed(&arguments, Some(began), fault),
            };
        }
        attempt.end_span(&fault);
        if let Some(account) = caller.account.or(caller.principal) {
            aggregator.note_unknown(server, account, Some(&fault));
        }
        if fault.answer.is_some() {
            arrives(&run, charge);
        }
        // What an approval was given for is sent once.
        let may_repeat = level.is_none() && described.is_some_and(ToolEntry::only_reads);
        if may_repeat
            && refusals < MOST_TRIES
            && let Some(wait) = wait_before(&fault, refusals)
            && run.calls.get() < aggregator.limits.max_calls
            && time::now() + wait < run.deadline()
        {
            refusals += 1;
            attempt.refused(&arguments, began, fault);
            time::sleep(wait).await;
            // Others of the program may have taken the last number meanwhile.
            if !take_call(&run, aggregator.limits.max_calls) {
                return attempt.failed(&arguments, None, cap_exhausted(&run, aggregator.limits.max_calls));
            }
            began = time::now();
            continue;
        }
        // In a box, as most calls need no sign-in.
        if let Err(fault) = Box::pin(sign_ins.awaited(fault)).await {
            give_back_uncounted(&run, &fault);
            return attempt.failed(&arguments, (!fault.uncounted).then_some(began), fault);
        }
        match Box::pin(judge_again(&aggregator, &run, &call, &view)).await {
            Ok(now) => view = now.unwrap_or(view),
            Err(text) => return raise(&text),
        }
        began = time::now();
    }
}

/// Ends a program whose call may not be made. If its program waited until people said whether it may, that is on record, too.
async fn refused(
    aggregator: &Aggregator,
    run: &RunContext,
    desk: &Desk,
    call: &UpstreamCall,
    reason: Option<DenialReason>,
    text: &str,
) -> Reply {
    if let (Ok(server), Ok(tool)) = (&call.server, &call.tool) {
        record_denial(aggregator, run, server, tool, reason);
        if desk.has_unasked_approval() {
            Box::pin(tell_unasked(aggregator, desk, server, tool, call)).await;
        }
    }
    raise(text)
}

/// Keeps a reply charged until it is a value of the machine, or as long as it is held whole.
fn arrives(run: &RunContext, charge: ReplyCharge) {
    match &run.reply_slot {
        Some(slot) => slot.charge(charge),
        None => run.arrived.borrow_mut().push(charge),
    }
}

/// Tells the operator's record that the policy denies a call, if it does.
pub(super) fn record_denial(
    aggregator: &Aggregator,
    run: &RunContext,
    upstream: &str,
    tool: &str,
    reason: Option<DenialReason>,
) {
    let (Some(audit), Some(reason)) = (&aggregator.audit, reason) else { return };
    audit.denied(&AuditedDenial {
        principal: run.principal.as_deref(),
        eval: Some(run.eval),
        run_id: run.run_id.as_deref(),
        upstream,
        tool: clip(tool, MAX_TOOL_NAME),
        reason,
    });
}

/// The fault of a call that needs an approval but is longer than a question may be.
fn too_long_to_ask(server: &str, tool: &str, bytes: usize) -> String {
    format!(
        "tool '{server}.{tool}' rejected args: {bytes} bytes of JSON, and a call that needs approval may have {MAX_ASKED_BYTES}\nSend less at a time."
    )
}

/// The answer to a call of a tool whose existence is unknown.
async fn unknown_tool_list(
    aggregator: &Arc<Aggregator>,
    run: &RunContext,
    call: &UpstreamCall,
    server: &str,
    tool: &str,
    fault: CallFault,
    tried: bool,
) -> Reply {
    let config = aggregator.view_of(run).member(server).map(|member| &member.config);
    let tool = clip(tool, MAX_TOOL_NAME);
    let arguments = call.arguments.as_ref().map_or(&b"{}"[..], |arguments| &arguments.json);
    let attempt = Attempt::new(aggregator, run, server, tool, config, arguments).await;
    if !take_call(run, aggregator.limits.max_calls) {
        return attempt.failed(arguments, None, cap_exhausted(run, aggregator.limits.max_calls));
    }
    give_back_uncounted(run, &fault);
    attempt.failed(arguments, tried.then(time::now), fault)
}
