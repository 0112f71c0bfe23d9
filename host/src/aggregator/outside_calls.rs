//! Calls that no program makes: `ptc call`, and tools that an agent's model calls natively.

use std::sync::Arc;

use super::approval::{WantedCall, allowed, ask_outside, needed};
use super::attempt::TOOLS_CALL;
use super::audit::{AuditedCall, AuditedDenial, DenialReason};
use super::call::MOST_JUDGEMENTS;
use super::current_tools::renew;
use super::runtime::Aggregator;
use super::usage::count_call;
use ptc_base::time;
use ptc_base::trace::{self, OpenSpan, SpanWork};
use ptc_engine::questions::{ArgumentsDigest, MAX_ASKED_BYTES};
use ptc_engine::{Asker, whole_millis};
use ptc_upstreams::sign_in::PROCESS;
use ptc_upstreams::upstream::{Call, CallFault, CallReply, Caller};

impl Aggregator {
    /// Calls a tool of `server` under the same policy as programs: where it needs an approval, `asker` has it given. The time
    /// of the call's limits begins when it is sent.
    ///
    /// # Errors
    /// As [`Upstream::call`](ptc_upstreams::upstream::Upstream::call). A call that was not allowed is not sent.
    pub async fn call_outside(
        &self,
        server: &str,
        call: Call<'_>,
        asker: Option<&Arc<dyn Asker>>,
    ) -> Result<CallReply, CallFault> {
        let mut judged = 0;
        loop {
            let fault = match self.try_outside(server, call, asker).await {
                Err(fault) if fault.relisted && judged < MOST_JUDGEMENTS => fault,
                replied => return replied,
            };
            judged += 1;
            let view = self.view_of_name(call.caller.principal);
            let Some(member) = view.member(server) else { return Err(fault) };
            let caller = Caller { account: view.account(member), ..call.caller };
            time::timeout_at(call.limits.deadline, renew(self, member, caller))
                .await
                .map_err(|_| fault)??;
        }
    }

    async fn try_outside(
        &self,
        server: &str,
        call: Call<'_>,
        asker: Option<&Arc<dyn Asker>>,
    ) -> Result<CallReply, CallFault> {
        let principal = call.caller.principal.map(|name| &**name);
        let view = self.view_of_name(call.caller.principal);
        let Some(member) = view.member(server) else {
            view.records_denial(server, call.tool);
            return Err(CallFault::upstream_error(format!("no upstream '{server}' configured")));
        };
        let (bytes, most) =
            (server.len() + call.tool.len() + call.arguments.len(), self.limits.max_request_bytes);
        if bytes > most {
            let text = format!("the call would send {bytes} bytes, the limit of a call is {most}");
            return Err(CallFault::upstream_error(text).before_sending());
        }
        let catalog = view.present();
        let entry = catalog.server(server);
        let tool = entry.and_then(|entry| entry.tool(call.tool));
        if let Some(entry) = entry
            && let Err(text) = view.admit(entry, call.tool, tool, call.arguments).await
        {
            if let Some(audit) = &self.audit {
                let reason = view.denial(server, call.tool).unwrap_or(DenialReason::Argument);
                let (upstream, tool) = (server, call.tool);
                audit.denied(&AuditedDenial { principal, eval: None, run_id: None, upstream, tool, reason });
            }
            return Err(CallFault::upstream_error(text).before_sending());
        }
        if let Some(text) = self.audit.as_ref().and_then(|audit| audit.stop()) {
            return Err(CallFault::unavailable(text).before_sending());
        }
        let digest = ArgumentsDigest::of_sent(call.arguments).await;
        let mut approved = None;
        let asked = time::now();
        let replied = match needed(&member.config, call.tool, tool) {
            None => Ok(()),
            Some(_) if call.arguments.len() > MAX_ASKED_BYTES => {
                let text = format!(
                    "the arguments are {} bytes, and a call that needs approval may have {MAX_ASKED_BYTES}",
                    call.arguments.len()
                );
                Err(CallFault::upstream_error(text).before_sending())
            }
            Some(level) => {
                let (name, arguments) = (call.tool, call.arguments);
                let wanted =
                    WantedCall { config: &member.config, principal, name, tool, arguments, digest, level };
                let ask = asker.map(|asker| |number, question| ask_outside(asker.clone(), number, question));
                match allowed(self, &wanted, ask).await {
                    Ok(allowed) => {
                        approved = Some(allowed.by);
                        Ok(())
                    }
                    Err((fault, by)) => {
                        approved = by;
                        Err(fault)
                    }
                }
            }
        };
        let began = time::now();
        let authority = self.policy.as_ref().map(|policy| policy.of_name(principal.unwrap_or(PROCESS)));
        let counted = replied.and_then(|()| count_call(authority.as_ref()));
        let replied = match counted {
            Ok(_in_flight) => {
                let mut limits = call.limits;
                limits.deadline += began.saturating_duration_since(asked);
                let trace = trace::current();
                let span = OpenSpan::below(trace.as_ref());
                let context = match &span {
                    Some(span) => Some(&span.trace().context),
                    None => trace.as_ref().map(|trace| &trace.context),
                };
                let caller = Caller { account: view.account(member), trace: context, ..call.caller };
                let judged_by = entry.and_then(|entry| entry.listed());
                let replied = member.handle.call(Call { limits, caller, judged_by, ..call }).await;
                if let Some(span) = span {
                    let fault = replied.as_ref().err();
                    span.end(SpanWork::Call {
                        upstream: server,
                        transport: member.config.transport.as_str(),
                        method: TOOLS_CALL,
                        tool: Some(call.tool),
                        fault: fault.map(|fault| fault.reason.as_str()),
                        rpc_code: fault.and_then(|fault| fault.rpc_code),
                        http_status: fault.and_then(|fault| fault.http_status),
                    });
                }
                replied
            }
            Err(fault) => Err(fault),
        };
        if let Some(audit) = &self.audit {
            audit.called(&AuditedCall {
                principal,
                eval: None,
                run_id: None,
                upstream: server,
                tool: call.tool,
                arguments: digest,
                fault: replied.as_ref().err().map(|fault| fault.reason),
                duration_ms: whole_millis(time::since(began)),
                approved: approved.as_ref(),
            });
        }
        replied
    }
}
