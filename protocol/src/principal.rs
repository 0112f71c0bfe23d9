//! The caller on whose behalf a call runs.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};

use crate::usage::PrincipalUsage;
use ptc_host::digest::short_hash;
use ptc_host::policy::Authority;
use ptc_host::sync::Mutex;

/// The name of all callers of a listener without tokens.
pub const ANONYMOUS: &str = "anonymous";

/// An authenticated caller: the name of its static token, `ISSUER|SUBJECT` of its access token, or the process itself on a pipe and
/// on an open loopback listener.
/// Cheap to clone. Equal principals have the same name; clones share an account.
#[derive(Debug, Clone)]
pub struct Principal {
    account: Arc<Account>,
    /// What the policy permits it; `None` without a policy, and for one of which a name is all that is known.
    authority: Option<Arc<Authority>>,
}

#[derive(Debug)]
struct Account {
    name: Arc<str>,
    /// Computed once, because every request's log line and trace identifies its caller by it.
    hash: Box<str>,
    usage: PrincipalUsage,
}

/// Principals by name, so that all who have one name share an account as long as any of them is in use.
#[derive(Debug, Default)]
pub struct Principals(Mutex<KnownPrincipals>);

#[derive(Debug, Default)]
struct KnownPrincipals {
    accounts: HashMap<Arc<str>, Weak<Account>>,
    /// The number of accounts at which those out of use are forgotten.
    sweep_at: usize,
}

impl Principals {
    /// The caller of that name.
    pub fn named(&self, name: &str) -> Principal {
        let mut known = self.0.lock();
        if let Some(account) = known.accounts.get(name).and_then(Weak::upgrade) {
            return Principal { account, authority: None };
        }
        let principal = Principal::named(name);
        known.add(&principal);
        principal
    }

    /// Notes a caller that was made elsewhere, unless one of its name is in use.
    pub fn know(&self, principal: &Principal) {
        let mut known = self.0.lock();
        let is_known = known.accounts.get(principal.name()).is_some_and(|account| account.strong_count() > 0);
        if !is_known {
            known.add(principal);
        }
    }
}

impl KnownPrincipals {
    fn add(&mut self, principal: &Principal) {
        if self.accounts.len() >= self.sweep_at {
            self.accounts.retain(|_, account| account.strong_count() > 0);
            self.sweep_at = 64.max(2 * self.accounts.len());
        }
        self.accounts.insert(principal.shared_name(), Arc::downgrade(&principal.account));
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.account, &other.account) || self.account.name == other.account.name
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.account.name.hash(state);
    }
}

impl Principal {
    /// The caller of that name.
    pub fn named(name: &str) -> Self {
        let hash = short_hash(name.as_bytes()).into();
        let account = Account { name: name.into(), hash, usage: PrincipalUsage::default() };
        Principal { account: Arc::new(account), authority: None }
    }

    /// The same caller, with this authority.
    #[must_use]
    pub fn with_authority(self, authority: Option<Arc<Authority>>) -> Self {
        Principal { authority, ..self }
    }

    /// What the policy permits it, if there is one.
    pub fn authority(&self) -> Option<&Arc<Authority>> {
        self.authority.as_ref()
    }

    /// A number that it shares with its clones and, while any of them exists, with no other.
    pub fn number(&self) -> usize {
        Arc::as_ptr(&self.account).addr()
    }

    /// The resources that it uses now, under this value and its clones.
    pub fn usage(&self) -> &PrincipalUsage {
        &self.account.usage
    }

    /// The one caller of a stdio server.
    pub fn process() -> Self {
        Self::named("process")
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.account.name
    }

    /// The name, in the form in which the engine schedules turns.
    pub fn shared_name(&self) -> Arc<str> {
        self.account.name.clone()
    }

    /// The same, by reference.
    pub fn known_name(&self) -> &Arc<str> {
        &self.account.name
    }

    /// The caller's identifier in logs and traces.
    pub fn hash(&self) -> &str {
        &self.account.hash
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The owner of server-side state: a principal and, within it, one HTTP session of the handshake era. The state of one
/// owner is invisible to all others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The caller.
    pub principal: Principal,
    /// Its HTTP session; `None` on stdio and in the modern era.
    pub http_session: Option<Arc<str>>,
}

impl Owner {
    /// The owner without HTTP session.
    pub fn of(principal: Principal) -> Self {
        Owner { principal, http_session: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principals_of_one_name_share_an_account_until_nobody_uses_it() {
        let principals = Principals::default();
        let first = principals.named("a");
        assert_eq!(first.number(), principals.named("a").number());
        assert_ne!(first.number(), principals.named("b").number());
        for n in 0..1000 {
            principals.named(&n.to_string());
        }
        assert!(principals.0.lock().accounts.len() <= 64);
        assert_eq!(first.number(), principals.named("a").number());
    }
}
