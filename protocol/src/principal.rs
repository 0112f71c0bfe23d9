//! The caller on whose behalf a call runs.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::usage::PrincipalUsage;
use ptc_host::digest::short_hash;

/// The name of all callers of a listener without tokens.
pub const ANONYMOUS: &str = "anonymous";

/// An authenticated caller: the name of its token, or the process itself on a pipe and on an open loopback listener.
/// Cheap to clone. Equal principals have the same name; clones share an account.
#[derive(Debug, Clone)]
pub struct Principal(Arc<Account>);

#[derive(Debug)]
struct Account {
    name: Arc<str>,
    /// Computed once, because every request's log line and trace identifies its caller by it.
    hash: Box<str>,
    usage: PrincipalUsage,
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.name == other.0.name
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

impl Principal {
    /// The caller of that name.
    pub fn named(name: &str) -> Self {
        let hash = short_hash(name.as_bytes()).into();
        Principal(Arc::new(Account { name: name.into(), hash, usage: PrincipalUsage::default() }))
    }

    /// A number that it shares with its clones and, while any of them exists, with no other.
    pub fn number(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// The resources that it uses now, under this value and its clones.
    pub fn usage(&self) -> &PrincipalUsage {
        &self.0.usage
    }

    /// The one caller of a stdio server.
    pub fn process() -> Self {
        Self::named("process")
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The name, in the form in which the engine schedules turns.
    pub fn shared_name(&self) -> Arc<str> {
        self.0.name.clone()
    }

    /// The same, by reference.
    pub fn known_name(&self) -> &Arc<str> {
        &self.0.name
    }

    /// The caller's identifier in logs and traces.
    pub fn hash(&self) -> &str {
        &self.0.hash
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
