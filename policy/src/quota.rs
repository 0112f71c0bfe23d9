//! What a caller has used of its limits (auth.md 14.4).
//!
//! What is limited by the minute is a token bucket of the limit's size that refills evenly, kept as the moment at which it will be
//! full again: a call moves that moment by its share of a minute, and is refused if it would lie more than a minute ahead. So a
//! bucket is one word, whatever the limit is, and a limit that a reload changes holds from then on.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ptc_base::sync::Mutex;
use ptc_base::time::Instant;

use super::limits::Limits;

const MINUTE: Duration = Duration::from_mins(1);

/// Callers above which those that are at rest are given up.
const MOST_AT_REST: usize = 1024;

/// A bucket of tokens: when it will be full. `None`: it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket(Option<Instant>);

impl Bucket {
    /// Until it is full.
    fn lack(self, now: Instant) -> Duration {
        self.0.map_or(Duration::ZERO, |full| full.saturating_duration_since(now))
    }

    /// Takes `count` of `limit` tokens a minute, also more than there are.
    fn spend(&mut self, count: u64, limit: u64, now: Instant) {
        let lack = self.lack(now).saturating_add(share(count, limit));
        self.0 = now.checked_add(lack).or(self.0);
    }

    /// How long until `count` of `limit` tokens a minute are there; `None` if they are.
    fn wait(self, count: u64, limit: u64, now: Instant) -> Option<Duration> {
        let lack = self.lack(now).saturating_add(share(count, limit));
        Some(lack.saturating_sub(MINUTE)).filter(|wait| !wait.is_zero())
    }
}

/// The time in which `count` of `limit` tokens a minute refill.
fn share(count: u64, limit: u64) -> Duration {
    let nanoseconds = MINUTE.as_nanos().saturating_mul(count.into()) / u128::from(limit.max(1));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// What one caller has used of its limits, in this process.
#[derive(Debug, Default)]
pub struct Quotas {
    buckets: Mutex<Buckets>,
    programs: AtomicU64,
    calls: AtomicU64,
}

#[derive(Debug, Default)]
struct Buckets {
    calls: Bucket,
    programs: Bucket,
    steps: Bucket,
}

/// A limit of the policy that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaError {
    /// So many upstream calls a minute; the next one is free after this time.
    CallRate(u64, Duration),
    /// So many upstream calls at a time.
    Calls(u64),
    /// So many programs a minute; the next one may begin after this time.
    ProgramRate(u64, Duration),
    /// So many steps a minute of all programs; the next one may begin after this time.
    StepRate(u64, Duration),
    /// So many programs at a time.
    Programs(u64),
}

impl QuotaError {
    /// The name of the limit in the file.
    pub fn limit(self) -> &'static str {
        match self {
            QuotaError::CallRate(..) => "calls_per_minute",
            QuotaError::Calls(_) => "in_flight_calls",
            QuotaError::ProgramRate(..) => "programs_per_minute",
            QuotaError::StepRate(..) => "steps_per_minute",
            QuotaError::Programs(_) => "concurrent_programs",
        }
    }

    /// Whole seconds until there is room, at least one; `None` if that depends on what runs.
    pub fn seconds(self) -> Option<u64> {
        match self {
            QuotaError::CallRate(_, wait)
            | QuotaError::ProgramRate(_, wait)
            | QuotaError::StepRate(_, wait) => {
                Some(wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).map(|seconds| seconds.max(1))
            }
            QuotaError::Calls(_) | QuotaError::Programs(_) => None,
        }
    }
}

impl fmt::Display for QuotaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.seconds().unwrap_or(1);
        let many = |most: u64, what: &str| format!("{most} {what}{}", if most == 1 { "" } else { "s" });
        match *self {
            QuotaError::CallRate(most, _) => {
                let calls = many(most, "upstream call");
                write!(out, "this caller may make {calls} a minute; the next is free in {seconds} s")
            }
            QuotaError::Calls(most) => {
                write!(out, "this caller may have {} at a time", many(most, "upstream call"))
            }
            QuotaError::ProgramRate(most, _) => {
                let programs = many(most, "program");
                write!(out, "this caller may begin {programs} a minute; the next is free in {seconds} s")
            }
            QuotaError::StepRate(most, _) => {
                let steps = many(most, "step");
                write!(
                    out,
                    "programs of this caller may take {steps} a minute; the next may begin in {seconds} s"
                )
            }
            QuotaError::Programs(most) => {
                write!(out, "this caller may run {} at a time", many(most, "program"))
            }
        }
    }
}

impl Quotas {
    /// Counts a program that begins.
    ///
    /// # Errors
    /// The limit that is reached. Then nothing is counted.
    pub fn begin_program(&self, limits: &Limits, now: Instant) -> Result<(), QuotaError> {
        self.resume_program(limits)?;
        self.buckets.lock().begin_program(limits, now).inspect_err(|_| self.leave_program())
    }

    /// Counts a program that goes on after it has waited: it has begun before.
    ///
    /// # Errors
    /// So many run already.
    pub fn resume_program(&self, limits: &Limits) -> Result<(), QuotaError> {
        let most = limits.concurrent_programs;
        match take(&self.programs, most) {
            true => Ok(()),
            false => Err(QuotaError::Programs(most.unwrap_or(u64::MAX))),
        }
    }

    /// Counts a program that has lent its place and has it back, beyond any limit.
    pub fn retake_program(&self) {
        self.programs.fetch_add(1, Ordering::AcqRel);
    }

    /// A program that was counted has ended, or waits.
    pub fn leave_program(&self) {
        self.programs.fetch_sub(1, Ordering::AcqRel);
    }

    /// Counts steps that a program has taken.
    pub fn spend_steps(&self, steps: u64, limits: &Limits, now: Instant) {
        if let Some(most) = limits.steps_per_minute.filter(|_| steps > 0) {
            self.buckets.lock().steps.spend(steps, most, now);
        }
    }

    /// Counts an upstream call until what this gives is dropped.
    ///
    /// # Errors
    /// The limit that is reached. Then nothing is counted.
    pub fn begin_call(self: &Arc<Self>, limits: &Limits, now: Instant) -> Result<CallInFlight, QuotaError> {
        let most = limits.in_flight_calls;
        if !take(&self.calls, most) {
            return Err(QuotaError::Calls(most.unwrap_or(u64::MAX)));
        }
        let call = CallInFlight(self.clone());
        if let Some(most) = limits.calls_per_minute {
            let mut buckets = self.buckets.lock();
            if let Some(wait) = buckets.calls.wait(1, most, now) {
                return Err(QuotaError::CallRate(most, wait));
            }
            buckets.calls.spend(1, most, now);
        }
        Ok(call)
    }

    /// Counts a call that goes on after its program has waited. It has been admitted before, and is so beyond any limit.
    pub fn resume_call(self: &Arc<Self>) -> CallInFlight {
        self.calls.fetch_add(1, Ordering::AcqRel);
        CallInFlight(self.clone())
    }

    /// Whether it says no more than one that was never used.
    fn is_at_rest(&self, now: Instant) -> bool {
        let Buckets { calls, programs, steps } = *self.buckets.lock();
        let is_full = [calls, programs, steps].iter().all(|bucket| bucket.lack(now).is_zero());
        is_full && [&self.programs, &self.calls].iter().all(|count| count.load(Ordering::Acquire) == 0)
    }
}

impl Buckets {
    fn begin_program(&mut self, limits: &Limits, now: Instant) -> Result<(), QuotaError> {
        // A step must be left. What the program takes is counted when it has taken it.
        if let Some(most) = limits.steps_per_minute
            && let Some(wait) = self.steps.wait(1, most, now)
        {
            return Err(QuotaError::StepRate(most, wait));
        }
        if let Some(most) = limits.programs_per_minute {
            if let Some(wait) = self.programs.wait(1, most, now) {
                return Err(QuotaError::ProgramRate(most, wait));
            }
            self.programs.spend(1, most, now);
        }
        Ok(())
    }
}

/// Takes one of `most`; `false` if there is none.
fn take(count: &AtomicU64, most: Option<u64>) -> bool {
    let most = most.unwrap_or(u64::MAX);
    count
        .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |taken| {
            (taken < most).then(|| taken.saturating_add(1))
        })
        .is_ok()
}

/// An upstream call that is being made.
#[derive(Debug)]
pub struct CallInFlight(Arc<Quotas>);

impl Drop for CallInFlight {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The quotas of all callers that have limits, by their names.
#[derive(Debug, Default)]
pub(super) struct KnownQuotas {
    by_principal: HashMap<Arc<str>, Arc<Quotas>>,
    /// How many there may be before those at rest are given up.
    most: usize,
}

impl KnownQuotas {
    /// Those of a caller.
    pub(super) fn of(&mut self, principal: &Arc<str>, now: Instant) -> Arc<Quotas> {
        if let Some(known) = self.by_principal.get(principal) {
            return known.clone();
        }
        if self.by_principal.len() >= self.most.max(MOST_AT_REST) {
            self.by_principal.retain(|_, quotas| Arc::strong_count(quotas) > 1 || !quotas.is_at_rest(now));
            self.most = 2 * self.by_principal.len();
        }
        let quotas = Arc::<Quotas>::default();
        self.by_principal.insert(principal.clone(), quotas.clone());
        quotas
    }
}

#[cfg(test)]
mod tests {
    use ptc_base::time;

    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_bucket_refills_evenly() {
        let (quotas, start) = (Arc::<Quotas>::default(), time::now());
        let limits = Limits { calls_per_minute: Some(6), ..Limits::default() };
        let call = |after: u64| quotas.begin_call(&limits, start + seconds(after)).map(drop);
        for _ in 0..6 {
            assert_eq!(call(0), Ok(()));
        }
        let refused = call(0).unwrap_err();
        assert_eq!(refused, QuotaError::CallRate(6, seconds(10)));
        assert_eq!(
            refused.to_string(),
            "this caller may make 6 upstream calls a minute; the next is free in 10 s"
        );
        assert_eq!(call(9).unwrap_err().seconds(), Some(1));
        assert_eq!(call(10), Ok(()));
        assert_eq!(call(10).unwrap_err().seconds(), Some(10), "what was refused took nothing");
        assert_eq!((0..20).filter(|_| call(3600).is_ok()).count(), 6, "it is never more than full");
    }

    #[test]
    fn seconds_are_rounded_up() {
        for (wait, told) in [(1, 1), (1_000_000_000, 1), (1_000_000_001, 2)] {
            let error = QuotaError::ProgramRate(1, Duration::from_nanos(wait));
            assert_eq!(error.seconds(), Some(told));
        }
        assert_eq!(QuotaError::Programs(4).seconds(), None);
    }

    #[test]
    fn steps_may_be_owed_and_delay_the_next_program() {
        let (quotas, start) = (Quotas::default(), time::now());
        let limits = Limits { steps_per_minute: Some(1000), ..Limits::default() };
        assert_eq!(quotas.begin_program(&limits, start), Ok(()));
        quotas.spend_steps(2500, &limits, start);
        let QuotaError::StepRate(1000, wait) = quotas.begin_program(&limits, start).unwrap_err() else {
            panic!("another limit");
        };
        // 1 500 are owed, and one must be left.
        assert_eq!(wait, Duration::from_millis(90_060));
        assert_eq!(quotas.begin_program(&limits, start + wait), Ok(()));
        assert_eq!(quotas.programs.load(Ordering::Relaxed), 2, "what was refused does not run");
        quotas.spend_steps(u64::MAX, &limits, start);
        assert!(quotas.begin_program(&limits, start + seconds(3600)).is_err(), "no overflow");
    }

    #[test]
    fn what_runs_is_counted_until_it_ends() {
        let (quotas, now) = (Arc::<Quotas>::default(), time::now());
        let limits = Limits { concurrent_programs: Some(1), in_flight_calls: Some(1), ..Limits::default() };
        assert_eq!(quotas.begin_program(&limits, now), Ok(()));
        assert_eq!(quotas.begin_program(&limits, now), Err(QuotaError::Programs(1)));
        quotas.leave_program();
        assert_eq!(quotas.resume_program(&limits), Ok(()));
        quotas.retake_program();
        assert_eq!(quotas.resume_program(&limits), Err(QuotaError::Programs(1)));
        let call = quotas.begin_call(&limits, now).unwrap();
        assert_eq!(quotas.begin_call(&limits, now).unwrap_err(), QuotaError::Calls(1));
        let resumed = quotas.resume_call();
        drop(call);
        assert_eq!(quotas.begin_call(&limits, now).unwrap_err(), QuotaError::Calls(1));
        drop(resumed);
        assert!(quotas.begin_call(&limits, now).is_ok());
    }

    #[test]
    fn a_program_that_is_refused_for_one_limit_takes_nothing_of_the_others() {
        let (quotas, now) = (Quotas::default(), time::now());
        let limits =
            Limits { programs_per_minute: Some(2), concurrent_programs: Some(1), ..Limits::default() };
        assert_eq!(quotas.begin_program(&limits, now), Ok(()));
        for _ in 0..9 {
            assert_eq!(quotas.begin_program(&limits, now), Err(QuotaError::Programs(1)));
        }
        quotas.leave_program();
        assert_eq!(quotas.begin_program(&limits, now), Ok(()));
        quotas.leave_program();
        let refused = quotas.begin_program(&limits, now).unwrap_err();
        assert_eq!((refused, refused.seconds()), (QuotaError::ProgramRate(2, seconds(30)), Some(30)));
    }

    #[test]
    fn a_limit_that_changes_holds_at_once() {
        let (quotas, now) = (Arc::<Quotas>::default(), time::now());
        let limits = |most| Limits { calls_per_minute: Some(most), ..Limits::default() };
        for _ in 0..2 {
            assert!(quotas.begin_call(&limits(2), now).is_ok());
        }
        assert!(quotas.begin_call(&limits(100), now).is_err(), "the bucket is empty");
        assert!(quotas.begin_call(&limits(100), now + seconds(1)).is_ok());
    }

    #[test]
    fn callers_at_rest_are_given_up_and_others_are_not() {
        let (mut known, now) = (KnownQuotas::default(), time::now());
        let limits = Limits { calls_per_minute: Some(1), ..Limits::default() };
        let spent = known.of(&"spent".into(), now);
        assert!(spent.begin_call(&limits, now).is_ok());
        let held = known.of(&"held".into(), now);
        for number in 0..5 * MOST_AT_REST {
            known.of(&number.to_string().into(), now);
        }
        assert!(known.by_principal.len() <= MOST_AT_REST);
        assert!(Arc::ptr_eq(&held, &known.of(&"held".into(), now)));
        drop(spent);
        assert!(known.of(&"spent".into(), now).begin_call(&limits, now).is_err(), "it is not at rest");
    }
}
