//! The process-wide limits on concurrent tool calls: their number, the number of one principal, and the memory that a
//! further call requires. There is no queue: a call gets a permit at once or is refused as busy, so no call waits
//! behind those of others, and none is held for a client that has left. A program that only sleeps lends its permit.
//! It has the permit back at once when it resumes, even beyond the limit, since it was admitted before.

use ptc_host::sync::Mutex;
use std::fmt;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use ptc_host::engine::{MemoryBudget, RunPermit};
use ptc_host::policy::{Limits, QuotaError, Quotas};
use ptc_host::time::{now, timeout};
use tokio::sync::watch;

use crate::principal::Principal;
use crate::usage::Count;

/// How often a program that waits for a permit asks again, although none was given back: memory may be free again.
const LOOK: Duration = Duration::from_millis(500);

/// Limits on running calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Of all principals together.
    pub all: usize,
    /// Of one principal.
    pub per_owner: usize,
}

impl CallLimits {
    /// `all` calls, for all principals alike.
    pub fn shared(all: usize) -> Self {
        CallLimits { all, per_owner: all }
    }
}

/// Counts running calls up to their limits.
#[derive(Debug)]
pub struct ConcurrencyLimiter {
    limits: CallLimits,
    running: Count,
    memory: Option<MemoryBudget>,
    /// Tells programs that wait for a permit, if there are any.
    freed: watch::Sender<()>,
}

/// Why a call is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityError {
    /// This many calls are running already.
    Calls(usize),
    /// This many calls of the caller's principal are running already.
    OwnerCalls(usize),
    /// This many calls of the caller's conversation are running already.
    SessionCalls(usize),
    /// Running calls hold nearly all of the allowed memory.
    Memory,
    /// Programs and sessions of the caller's principal hold nearly all of its memory limit, in bytes.
    OwnerMemory(u64),
    /// The same, by the policy.
    OwnerMemoryQuota(u64),
    /// A limit of the policy on the caller's programs.
    Quota(QuotaError),
}

impl CapacityError {
    /// The limit's name in metrics.
    pub(crate) fn limit(self) -> &'static str {
        match self {
            CapacityError::Calls(_) => "global_concurrency",
            CapacityError::OwnerCalls(_) => "per_owner_concurrency",
            CapacityError::SessionCalls(_) => "in_flight",
            CapacityError::Memory => "max_total_memory_bytes",
            CapacityError::OwnerMemory(_) => "max_total_memory_bytes_per_owner",
            CapacityError::OwnerMemoryQuota(_) => "memory_bytes",
            CapacityError::Quota(quota) => quota.limit(),
        }
    }

    /// Seconds after which the client may come again, if a limit of the policy is reached.
    pub(crate) fn quota_wait(self) -> Option<u64> {
        match self {
            CapacityError::Quota(quota) => Some(quota.seconds().unwrap_or(1)),
            CapacityError::OwnerMemoryQuota(_) => Some(1),
            _ => None,
        }
    }
}

impl fmt::Display for CapacityError {
    /// The limit that is reached, its value and its flag.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CapacityError::Calls(limit) => write!(out, "{limit} calls run (--max-concurrent-calls)"),
            CapacityError::OwnerCalls(limit) => {
                write!(out, "{limit} calls of this caller run (--max-concurrent-calls-per-owner)")
            }
            CapacityError::SessionCalls(limit) => {
                write!(out, "{limit} calls of this session run (--http-max-in-flight-per-session)")
            }
            CapacityError::Memory => {
                out.write_str("the memory budget is exhausted (--max-total-memory-bytes)")
            }
            CapacityError::OwnerMemory(limit) => write!(
                out,
                "programs and sessions of this caller hold {limit} bytes (--max-total-memory-bytes-per-owner)"
            ),
            CapacityError::OwnerMemoryQuota(limit) => {
                write!(
                    out,
                    "programs and sessions of this caller hold {limit} bytes (memory_bytes of the policy)"
                )
            }
            CapacityError::Quota(quota) => write!(out, "{quota} ({} of the policy)", quota.limit()),
        }
    }
}

/// The right to run one call, returned on drop.
#[derive(Debug)]
pub struct Permit {
    holding: Arc<Holding>,
    loan: PermitLoan,
}

impl Permit {
    /// The loan of this permit.
    pub fn loan(&self) -> &PermitLoan {
        &self.loan
    }

    /// Whether it is for a program, in the eyes of the policy.
    pub fn is_program(&self) -> bool {
        self.holding.is_program
    }
}

/// A permit, and whether it is counted now.
#[derive(Debug)]
struct Holding {
    limiter: Arc<ConcurrencyLimiter>,
    principal: Principal,
    is_program: bool,
    /// Where the policy counts the program.
    quotas: Option<Arc<Quotas>>,
    state: Mutex<PermitState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PermitState {
    /// It counts.
    Held,
    /// It does not count, as its program sleeps.
    Lent,
    /// It does not count any more: its call has ended.
    Returned,
}

impl Holding {
    fn state(&self) -> MutexGuard<'_, PermitState> {
        self.state.lock()
    }

    fn give_back(&self) {
        self.limiter.running.give_back(1);
        self.principal.usage().calls.give_back(1);
        if let Some(quotas) = &self.quotas {
            quotas.leave_program();
        }
        if self.limiter.freed.receiver_count() > 0 {
            self.limiter.freed.send_replace(());
        }
    }
}

/// A program's access to the permit of its call, which may be granted after the program has been prepared.
#[derive(Clone, Debug, Default)]
pub struct PermitLoan(Arc<Mutex<Option<Arc<Holding>>>>);

impl PermitLoan {
    fn permit(&self) -> MutexGuard<'_, Option<Arc<Holding>>> {
        self.0.lock()
    }

    /// Attaches this loan to a permit.
    pub fn bind(&self, permit: &mut Permit) {
        permit.loan = self.clone();
        *self.permit() = Some(permit.holding.clone());
    }

    /// The loan, for a program of the call.
    pub fn shared(&self) -> Arc<dyn RunPermit> {
        Arc::new(self.clone())
    }
}

impl RunPermit for PermitLoan {
    fn lend(&self) {
        if let Some(holding) = &*self.permit() {
            let mut state = holding.state();
            if *state == PermitState::Held {
                holding.give_back();
                *state = PermitState::Lent;
            }
        }
    }

    fn take_back(&self) {
        if let Some(holding) = &*self.permit() {
            let mut state = holding.state();
            if *state == PermitState::Lent {
                holding.limiter.running.take(1);
                holding.principal.usage().calls.take(1);
                if let Some(quotas) = &holding.quotas {
                    quotas.retake_program();
                }
                *state = PermitState::Held;
            }
        }
    }
}

impl ConcurrencyLimiter {
    /// A limiter of the number of concurrent calls.
    pub fn new(limits: CallLimits) -> Arc<Self> {
        Arc::new(ConcurrencyLimiter::of(limits, None))
    }

    /// The same limits, and no further calls while `memory` is exhausted.
    pub fn within(limits: CallLimits, memory: MemoryBudget) -> Arc<Self> {
        Arc::new(ConcurrencyLimiter::of(limits, Some(memory)))
    }

    fn of(limits: CallLimits, memory: Option<MemoryBudget>) -> ConcurrencyLimiter {
        ConcurrencyLimiter { limits, running: Count::default(), memory, freed: watch::Sender::new(()) }
    }

    /// A permit for a call of `principal` that was admitted before, as soon as there is one; `is_program`: as one that goes on with a
    /// program. Looks at each permit that is given back, and now and then, since memory that becomes free says nothing.
    pub async fn enter(self: &Arc<Self>, principal: &Principal, is_program: bool) -> Permit {
        let mut freed = self.freed.subscribe();
        loop {
            let entered = match is_program {
                true => self.try_resume(principal),
                false => self.try_enter(principal),
            };
            if let Ok(permit) = entered {
                return permit;
            }
            let _ = timeout(LOOK, freed.changed()).await;
        }
    }

    /// The limits on running calls.
    pub fn limits(&self) -> CallLimits {
        self.limits
    }

    /// The number of running calls.
    pub fn running(&self) -> usize {
        self.running.get()
    }

    /// The number of running calls of `principal`.
    pub fn running_of(&self, principal: &Principal) -> usize {
        principal.usage().calls.get()
    }

    /// A permit for a call of `principal` that runs no program, unless the principal is at its limit, all permits are taken or
    /// memory is short.
    ///
    /// # Errors
    /// The resource that is exhausted.
    pub fn try_enter(self: &Arc<Self>, principal: &Principal) -> Result<Permit, CapacityError> {
        self.admit(principal, None)
    }

    /// The same for a call that begins a program, which the policy counts.
    ///
    /// # Errors
    /// The resource that is exhausted, or the limit of the policy that is reached.
    pub fn try_begin(self: &Arc<Self>, principal: &Principal) -> Result<Permit, CapacityError> {
        self.admit(principal, Some(|quotas, limits| quotas.begin_program(limits, now())))
    }

    /// The same for a call that goes on with a program, which was counted when it began.
    ///
    /// # Errors
    /// As [`try_begin`](Self::try_begin), but for the programs of a minute.
    pub fn try_resume(self: &Arc<Self>, principal: &Principal) -> Result<Permit, CapacityError> {
        self.admit(principal, Some(|quotas, limits| quotas.resume_program(limits)))
    }

    fn admit(
        self: &Arc<Self>,
        principal: &Principal,
        count: Option<CountProgram>,
    ) -> Result<Permit, CapacityError> {
        let quotas = principal.authority().and_then(|authority| authority.quotas());
        if let Some(memory) = &self.memory {
            if !memory.has_room() {
                return Err(CapacityError::Memory);
            }
            let name = Some(principal.known_name());
            let own = match principal.authority() {
                Some(authority) => memory.of_quota(name, authority.grant.limits().memory_bytes),
                None => memory.of(name),
            };
            if !own.has_room() {
                let limit = own.limit();
                return Err(if own.is_by_policy() {
                    CapacityError::OwnerMemoryQuota(limit)
                } else {
                    CapacityError::OwnerMemory(limit)
                });
            }
        }
        let CallLimits { all, per_owner } = self.limits;
        if !self.running.try_take(1, all) {
            return Err(CapacityError::Calls(all));
        }
        if !principal.usage().calls.try_take(1, per_owner) {
            self.running.give_back(1);
            return Err(CapacityError::OwnerCalls(per_owner));
        }
        // Last, as a program that is refused for another reason takes nothing of its minute.
        let counted = count.zip(quotas);
        if let Some((count, (quotas, limits))) = counted
            && let Err(quota) = count(quotas, limits)
        {
            self.running.give_back(1);
            principal.usage().calls.give_back(1);
            return Err(CapacityError::Quota(quota));
        }
        let quotas = counted.map(|(_, (quotas, _))| quotas.clone());
        let (limiter, principal, is_program) = (self.clone(), principal.clone(), count.is_some());
        let state = Mutex::new(PermitState::Held);
        let holding = Arc::new(Holding { limiter, principal, is_program, quotas, state });
        Ok(Permit { holding, loan: PermitLoan::default() })
    }
}

/// Counts a program at the policy.
type CountProgram = fn(&Quotas, &Limits) -> Result<(), QuotaError>;

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.holding.state();
        if *state == PermitState::Held {
            self.holding.give_back();
        }
        *state = PermitState::Returned;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn permits_come_back_when_dropped() {
        let limiter = ConcurrencyLimiter::new(CallLimits::shared(2));
        let me = Principal::named("me");
        let first = limiter.try_enter(&me);
        let second = limiter.try_enter(&me);
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(limiter.try_enter(&me).unwrap_err(), CapacityError::Calls(2));
        drop(first);
        assert_eq!((limiter.running(), me.usage().calls.get()), (1, 1));
        assert!(limiter.try_enter(&me).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_waits_for_a_permit_gets_the_first_that_is_free() {
        let limiter = ConcurrencyLimiter::new(CallLimits { all: 2, per_owner: 1 });
        let (me, other) = (Principal::named("me"), Principal::named("other"));
        let (mine, others) = (limiter.try_enter(&me).unwrap(), limiter.try_enter(&other).unwrap());
        let mut entering = std::pin::pin!(limiter.enter(&me, true));
        assert!(entering.as_mut().now_or_never().is_none());
        drop(others);
        assert!(entering.as_mut().now_or_never().is_none(), "the limit of its principal is reached");
        drop(mine);
        assert!(entering.as_mut().now_or_never().is_some());
    }

    #[test]
    fn a_lent_permit_is_free_for_others_until_it_is_taken_back() {
        let limiter = ConcurrencyLimiter::new(CallLimits::shared(1));
        let (me, other) = (Principal::named("me"), Principal::named("other"));
        let loan = PermitLoan::default();
        loan.lend();
        let mut permit = limiter.try_enter(&me).unwrap();
        loan.bind(&mut permit);
        loan.lend();
        loan.lend();
        assert_eq!((limiter.running(), me.usage().calls.get()), (0, 0));
        let second = limiter.try_enter(&other).unwrap();
        loan.take_back();
        loan.take_back();
        assert_eq!((limiter.running(), me.usage().calls.get()), (2, 1), "it goes on beyond the limit");
        drop(second);
        assert_eq!(limiter.try_enter(&other).unwrap_err(), CapacityError::Calls(1));
        drop(permit);
        assert_eq!((limiter.running(), me.usage().calls.get()), (0, 0));
    }

    #[test]
    fn a_call_that_ends_while_it_sleeps_gives_its_permit_back_once() {
        let limiter = ConcurrencyLimiter::new(CallLimits::shared(1));
        let loan = PermitLoan::default();
        let mut permit = limiter.try_enter(&Principal::named("me")).unwrap();
        loan.bind(&mut permit);
        loan.lend();
        drop(permit);
        assert_eq!(limiter.running(), 0);
        loan.take_back();
        loan.lend();
        assert_eq!(limiter.running(), 0, "what has ended takes nothing");
    }

    #[test]
    fn nobody_takes_more_than_their_share() {
        let limiter = ConcurrencyLimiter::new(CallLimits { all: 8, per_owner: 2 });
        let (greedy, other) = (Principal::named("greedy"), Principal::named("other"));
        let _held = [0, 1].map(|_| limiter.try_enter(&greedy).unwrap());
        for _ in 0..100 {
            assert_eq!(limiter.try_enter(&greedy.clone()).unwrap_err(), CapacityError::OwnerCalls(2));
        }
        assert_eq!(limiter.running(), 2, "what was refused holds nothing");
        assert!(limiter.try_enter(&other).is_ok());
    }

    #[test]
    fn a_principal_without_memory_of_its_own_keeps_out_nobody_else() {
        let memory = MemoryBudget::shared(1 << 20, 1 << 18);
        let limiter = ConcurrencyLimiter::within(CallLimits::shared(9), memory.clone());
        let (greedy, other) = (Principal::named("greedy"), Principal::named("other"));
        assert!(memory.of(Some(greedy.known_name())).try_take(1 << 18));
        assert_eq!(limiter.try_enter(&greedy).unwrap_err(), CapacityError::OwnerMemory(1 << 18));
        assert!(limiter.try_enter(&other).is_ok());
    }

    /// A caller to whom the policy gives these limits.
    fn limited(limits: &str) -> Principal {
        let policy = format!(r#"{{"rules": [{{"match": {{}}, "limits": {{{limits}}}}}]}}"#);
        let policy = ptc_host::policy::CurrentPolicy::new(ptc_host::policy::Policy::parse(&policy).unwrap());
        Principal::named("me").with_authority(Some(policy.of_name("me")))
    }

    #[tokio::test(start_paused = true)]
    async fn the_policy_limits_programs_and_no_other_calls() {
        let limiter = ConcurrencyLimiter::new(CallLimits::shared(9));
        let me = limited(r#""concurrent_programs": 1, "programs_per_minute": 2"#);
        let first = limiter.try_begin(&me).unwrap();
        let refused = limiter.try_begin(&me).unwrap_err();
        assert_eq!(refused, CapacityError::Quota(QuotaError::Programs(1)));
        assert_eq!((refused.limit(), refused.quota_wait()), ("concurrent_programs", Some(1)));
        assert_eq!(limiter.running(), 1, "what was refused holds nothing");
        assert!(limiter.try_enter(&me).is_ok(), "it is no program");
        first.loan().bind(&mut limiter.try_enter(&me).unwrap());
        drop(first);
        drop(limiter.try_begin(&me).unwrap());
        drop(limiter.try_resume(&me).unwrap());
        let refused = limiter.try_begin(&me).unwrap_err();
        let CapacityError::Quota(QuotaError::ProgramRate(2, _)) = refused else { panic!("{refused}") };
        assert!(refused.quota_wait().unwrap() > 20, "{refused}");
        let running =
            limiter.enter(&me, true).now_or_never().expect("a program that goes on has been counted");
        assert!(limiter.enter(&me, true).now_or_never().is_none(), "it has the place");
        let call = limiter.enter(&me, false).now_or_never().expect("a call takes none of programs");
        assert!(running.is_program() && !call.is_program());
        assert!(limiter.try_begin(&Principal::named("other")).is_ok());
    }

    #[test]
    fn a_program_that_sleeps_lends_its_place_of_the_policy_too() {
        let limiter = ConcurrencyLimiter::new(CallLimits::shared(9));
        let me = limited(r#""concurrent_programs": 1"#);
        let loan = PermitLoan::default();
        let mut permit = limiter.try_begin(&me).unwrap();
        loan.bind(&mut permit);
        loan.lend();
        let second = limiter.try_begin(&me).unwrap();
        loan.take_back();
        drop(second);
        assert!(limiter.try_begin(&me).is_err(), "it has its place back");
        drop(permit);
        assert!(limiter.try_begin(&me).is_ok());
    }

    #[test]
    fn the_policy_limits_memory() {
        let memory = MemoryBudget::new(1 << 20);
        let limiter = ConcurrencyLimiter::within(CallLimits::shared(9), memory.clone());
        let me = limited(r#""memory_bytes": 262144"#);
        let part = memory.of_quota(Some(me.known_name()), Some(1 << 18));
        assert!(limiter.try_begin(&me).is_ok() && part.try_take(1 << 18));
        assert_eq!(limiter.try_begin(&me).unwrap_err(), CapacityError::OwnerMemoryQuota(1 << 18));
        assert!(limiter.try_begin(&Principal::named("other")).is_ok());
    }

    #[test]
    fn nobody_is_let_in_while_memory_is_short() {
        let memory = MemoryBudget::new(1 << 20);
        let limiter = ConcurrencyLimiter::within(CallLimits::shared(9), memory.clone());
        let me = Principal::named("me");
        assert!(memory.try_take(1 << 20));
        assert_eq!(limiter.try_enter(&me).unwrap_err(), CapacityError::Memory);
        memory.give_back(1 << 20);
        assert!(limiter.try_enter(&me).is_ok());
    }
}
