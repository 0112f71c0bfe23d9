//! The policy that holds now, and the authorities of callers under it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ptc_base::sync::{Mutex, RwLock};
use ptc_base::time;

use super::authority::Authority;
use super::caller::Caller;
use super::policy::Policy;
use super::quota::KnownQuotas;

/// The policy of a server. It may be replaced while the server runs: whatever begins after that has an authority under the new
/// one.
#[derive(Debug)]
pub struct CurrentPolicy {
    policy: RwLock<Arc<Policy>>,
    /// How often it has been replaced.
    generation: AtomicU64,
    /// What callers have used of their limits, whichever policy set these.
    quotas: Mutex<KnownQuotas>,
}

impl CurrentPolicy {
    /// This policy.
    pub fn new(policy: Policy) -> CurrentPolicy {
        let (policy, generation) = (RwLock::new(Arc::new(policy)), AtomicU64::new(0));
        CurrentPolicy { policy, generation, quotas: Mutex::default() }
    }

    /// The policy that holds now.
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.read().clone()
    }

    /// Lets another policy hold.
    pub fn replace(&self, policy: Policy) {
        let mut current = self.policy.write();
        *current = Arc::new(policy);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// What a caller may do now.
    pub fn authority(&self, caller: Caller) -> Arc<Authority> {
        // The lock is held meanwhile: policy and generation belong together.
        let policy = self.policy.read();
        let generation = self.generation.load(Ordering::Acquire);
        let authority = policy.authority(caller);
        let has_limits = !authority.grant.limits().is_empty();
        let quotas = has_limits.then(|| self.quotas.lock().of(&authority.caller.principal, time::now()));
        Arc::new(Authority { generation, quotas, ..authority })
    }

    /// What a caller may do of which nothing but the name is known.
    pub fn of_name(&self, principal: impl Into<Arc<str>>) -> Arc<Authority> {
        self.authority(Caller::forgotten(principal))
    }

    /// What the caller of an authority may do now: the same one, as long as no other policy holds.
    pub fn renewed(&self, known: &Arc<Authority>) -> Arc<Authority> {
        if self.is_current(known) { known.clone() } else { self.authority(known.caller.clone().recalled()) }
    }

    /// Whether an authority is under the policy that holds now.
    pub fn is_current(&self, known: &Authority) -> bool {
        known.generation == self.generation.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::Access;

    fn policy(tools: &str) -> Policy {
        let file =
            r#"{"rules": [{"match": {"principal": "ann"}, "upstreams": {"u": {"allow": ["TOOLS"]}}}]}"#;
        Policy::parse(&file.replace("TOOLS", tools)).unwrap()
    }

    #[test]
    fn a_caller_has_one_account_whoever_asks_and_whatever_policy_holds() {
        let limited = |calls: u64| {
            let rule = format!(r#"{{"match": {{}}, "limits": {{"calls_per_minute": {calls}}}}}"#);
            Policy::parse(&format!(r#"{{"rules": [{rule}]}}"#)).unwrap()
        };
        let current = CurrentPolicy::new(limited(1));
        let call = |name: &str| {
            let authority = current.of_name(name);
            let (quotas, limits) = authority.quotas().unwrap();
            quotas.begin_call(limits, time::now()).map(drop)
        };
        assert_eq!(call("ann"), Ok(()));
        assert!(call("ann").is_err() && call("ben").is_ok());
        current.replace(limited(2));
        assert!(call("ann").is_err(), "its bucket is as it was");
        assert!(CurrentPolicy::new(policy("a")).of_name("ann").quotas().is_none(), "no limits, no account");
    }

    #[test]
    fn an_authority_is_renewed_once_another_policy_holds() {
        let current = CurrentPolicy::new(policy("a"));
        let ann = current.of_name("ann");
        assert!(Arc::ptr_eq(&ann, &current.renewed(&ann)));
        assert_eq!(ann.grant.tool("u", "b"), Access::Hidden);
        current.replace(policy("b"));
        let renewed = current.renewed(&ann);
        assert_eq!(
            (ann.grant.tool("u", "b"), renewed.grant.tool("u", "b")),
            (Access::Hidden, Access::Allowed)
        );
        assert!(Arc::ptr_eq(&renewed, &current.renewed(&renewed)));
        assert!(Arc::ptr_eq(&renewed.grant, &current.of_name("ann").grant), "grants are shared");
    }
}
