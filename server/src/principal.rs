//! The caller on whose behalf a call runs.

use std::fmt;
use std::sync::Arc;

use crate::digest::short_hash;

/// An authenticated caller: the name of its token, or the process itself on a pipe and on an open loopback listener.
/// Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal(Arc<Names>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Names {
    name: Box<str>,
    /// Computed once, because every request's log line and trace identifies its caller by it.
    hash: Box<str>,
}

impl Principal {
    /// The caller of that name.
    pub fn named(name: &str) -> Self {
        Principal(Arc::new(Names { name: name.into(), hash: short_hash(name.as_bytes()).into() }))
    }

    /// The one caller of a stdio server.
    pub fn process() -> Self {
        Self::named("process")
    }

    /// The name.
    pub fn name(&self) -> &str {
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
