//! Calls that wait until a person has signed in (waiting.md 3.1, auth.md 12.1).

use super::configured_upstream::ConfiguredUpstream;
use ptc_vm::machine::{Feature, FeatureRequest, UpstreamCall};

use super::runtime::Aggregator;
use super::usage::{cap_exhausted, give_back, give_back_discovery, take_call, take_discovery};
use ptc_base::visible::visible_line;
use ptc_engine::questions::{Action, AskedPage, Level, Mode, Question, QuestionKind, Unanswered};
use ptc_engine::{Desk, RunContext, SavedCall};
use ptc_secret::digest::sha256_of_parts;
use ptc_upstreams::sign_in::{PROCESS, Site};
use ptc_upstreams::upstream::{CallFault, FaultReason, Visits};
use std::sync::Arc;

/// Most sign-ins that one call waits for: another missing permission may turn up behind each of them.
const MOST_SIGN_INS: u32 = 3;

/// A program's request to an upstream, which another process repeats after a resume.
#[derive(Clone, Copy)]
pub(super) enum RepeatableRequest<'a> {
    /// `tool/call`.
    Tool(&'a UpstreamCall),
    /// `resource/…` and `prompt/…`.
    Feature(&'a FeatureRequest),
}

impl RepeatableRequest<'_> {
    fn saved(self) -> SavedCall {
        match self {
            RepeatableRequest::Tool(call) => SavedCall::upstream(call, None),
            RepeatableRequest::Feature(request) => SavedCall::feature(request),
        }
    }

    /// Whether it takes of the discovery budget, not of the cap of calls.
    fn is_discovery(self) -> bool {
        match self {
            RepeatableRequest::Tool(_) => false,
            RepeatableRequest::Feature(request) => {
                !matches!(request.feature, Feature::ResourceRead | Feature::PromptGet)
            }
        }
    }
}

/// One call of a program, and the sign-ins that it has waited for.
pub(super) struct SignIns<'a> {
    aggregator: &'a Aggregator,
    run: &'a RunContext,
    desk: &'a Desk,
    member: &'a ConfiguredUpstream,
    wanted: RepeatableRequest<'a>,
    count: u32,
}

impl<'a> SignIns<'a> {
    pub(super) fn new(
        aggregator: &'a Aggregator,
        run: &'a RunContext,
        desk: &'a Desk,
        member: &'a ConfiguredUpstream,
        wanted: RepeatableRequest<'a>,
    ) -> Self {
        let sign_ins = Self { aggregator, run, desk, member, wanted, count: 0 };
        // The call may be made now without asking.
        desk.tell_sign_ins(|| Some(sign_ins.question(0)?.1));
        sign_ins
    }

    /// Waits until a person has signed in, after a call that was refused with `fault`. While it waits, the call has no number
    /// of the cap.
    ///
    /// # Errors
    /// The fault of the call, with its number: the call's own if a sign-in cannot be requested or did not happen.
    pub(super) async fn awaited(&mut self, fault: CallFault) -> Result<(), CallFault> {
        let Some(after) = fault.sign_in_after.filter(|_| self.count < MOST_SIGN_INS) else {
            return Err(fault);
        };
        let Some((site, question)) = self.question(after).filter(|_| self.desk.has_asker()) else {
            return Err(fault);
        };
        self.count += 1;
        self.give_back();
        let awaited = self.asked(site, question, after, &fault).await;
        let taken = self.take();
        match awaited {
            Ok(()) => taken,
            Err(Some(refusal)) => Err(CallFault { uncounted: fault.uncounted, sent: fault.sent, ..refusal }),
            Err(None) => Err(fault),
        }
    }

    fn give_back(&self) {
        match self.wanted.is_discovery() {
            true => give_back_discovery(self.run),
            false => give_back(self.run),
        }
    }

    fn take(&self) -> Result<(), CallFault> {
        let limits = &self.aggregator.limits;
        if self.wanted.is_discovery() {
            let text = "the discovery budget is used up";
            let is_left = take_discovery(self.run, limits.max_discoveries);
            return if is_left { Ok(()) } else { Err(CallFault::new(FaultReason::CapExhausted, text)) };
        }
        match take_call(self.run, limits.max_calls) {
            true => Ok(()),
            false => Err(cap_exhausted(self.run, limits.max_calls)),
        }
    }

    /// # Errors
    /// The person's answer, or nothing if the call's own fault says it all.
    async fn asked(
        &self,
        site: &Site,
        question: Question,
        after: u64,
        fault: &CallFault,
    ) -> Result<(), Option<CallFault>> {
        let principal = self.run.principal.as_deref().unwrap_or(PROCESS);
        let is_done = async || {
            let is_done = site.signed_in_at(principal).await.is_some_and(|at| at != after);
            if is_done {
                site.note_sign_in();
            }
            is_done
        };
        // Somebody may have signed in while the call was refused.
        if is_done().await {
            return Ok(());
        }
        let answered = self.desk.ask(vec![question], Some(self.wanted.saved())).await.pop();
        match answered.and_then(Result::ok).map(|answer| answer.action) {
            Some(Action::Accept) if is_done().await => Ok(()),
            Some(Action::Accept) | None => Err(None),
            Some(refusal) => {
                Err(Unanswered::of(refusal).map(|why| CallFault::unanswered(why).with_hint(&fault.message)))
            }
        }
    }

    /// The question that requests the sign-in, if there is a page for it.
    fn question(&self, after: u64) -> Option<(&'a Site, Question)> {
        let site = self.member.site.as_deref()?;
        let principal = self.run.principal.as_deref();
        // Pages are for accounts of callers: no caller signs in for all.
        let page = site.page_of(self.aggregator.view_of(self.run).account_name(self.member, site))?;
        let upstream = site.name();
        let question = Question {
            kind: QuestionKind::SignIn,
            message: format!("Sign in to {}: a program calls it on your behalf.", visible_line(upstream)),
            mode: Mode::Url(page.into()),
            level: Level::Model,
            upstream: Some(upstream.into()),
            calls: Vec::new(),
            policy_revision: String::new(),
            binding: binding(principal, upstream, after),
        };
        Some((site, question))
    }
}

impl Aggregator {
    /// Whether `principal` has completed a page: it has another sign-in than the one that failed, or the upstream says that the
    /// page is done.
    pub async fn is_page_done(&self, principal: Option<&str>, asked: &AskedPage) -> bool {
        if !asked.is_sign_in {
            return self.visits(principal, asked).is_some_and(|visits| visits.is_done(&asked.binding));
        }
        let Some(site) = self.site(&asked.upstream) else { return false };
        site.signed_in_at(principal.unwrap_or(PROCESS)).await.is_some_and(|at| is_other(principal, asked, at))
    }

    /// Waits until it has.
    pub async fn until_page_done(&self, principal: Option<&str>, asked: &AskedPage) {
        if !asked.is_sign_in {
            match self.visits(principal, asked) {
                Some(visits) => visits.done(&asked.binding).await,
                None => std::future::pending().await,
            }
            return;
        }
        match self.site(&asked.upstream) {
            Some(site) => {
                site.until_signed_in(principal.unwrap_or(PROCESS), |at| is_other(principal, asked, at)).await
            }
            // Nobody ever will.
            None => std::future::pending().await,
        }
    }

    /// Whether the channel that accepts that question waits for its page: always for a sign-in, otherwise if this process may
    /// learn of its completion.
    pub fn awaits_page(&self, principal: Option<&str>, asked: &AskedPage) -> bool {
        asked.is_sign_in
            || self.visits(principal, asked).is_some_and(|visits| visits.is_awaited(&asked.binding))
    }

    fn visits(&self, principal: Option<&str>, asked: &AskedPage) -> Option<Arc<Visits>> {
        self.members.get(&*asked.upstream)?.handle.visits(principal)
    }

    fn site(&self, upstream: &str) -> Option<&Site> {
        self.members.get(upstream)?.site.as_deref()
    }
}

/// Whether the sign-in of that time is another one than the one that was of no use when it was asked for.
fn is_other(principal: Option<&str>, asked: &AskedPage, at: u64) -> bool {
    binding(principal, &asked.upstream, at) != asked.binding
}

/// The digest that binds a question to the principal, the upstream, and the time of the sign-in that failed.
fn binding(principal: Option<&str>, upstream: &str, after: u64) -> [u8; 32] {
    let (principal, after) = (principal.unwrap_or_default().as_bytes(), after.to_be_bytes());
    sha256_of_parts(&[b"ptc sign-in v1", principal, upstream.as_bytes(), &after])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_done_with_a_sign_in_of_the_same_principal_at_another_time() {
        let asked = |after| AskedPage {
            upstream: "u".into(),
            binding: binding(Some("ann"), "u", after),
            is_sign_in: true,
        };
        assert!(is_other(Some("ann"), &asked(0), 7));
        assert!(is_other(Some("ann"), &asked(7), 8));
        assert!(!is_other(Some("ann"), &asked(7), 7), "the one that was of no use");
        let bindings =
            [(Some("ann"), "u", 1), (Some("ben"), "u", 1), (Some("ann"), "v", 1), (None, "annu", 1)];
        for (at, (principal, upstream, after)) in bindings.into_iter().enumerate() {
            let others = bindings.into_iter().skip(at + 1);
            assert!(
                others
                    .into_iter()
                    .all(|other| binding(other.0, other.1, other.2) != binding(principal, upstream, after))
            );
        }
    }
}
