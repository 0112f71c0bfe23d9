//! The callers with static tokens, which change while the server runs (auth.md 13.6).

use std::sync::{Arc, Weak};

use super::endpoint::Endpoint;
use ptc_protocol::principal::Owner;
use ptc_protocol::settings::NamedToken;

/// A handle to the static tokens of a listener; it does not keep the listener.
#[derive(Clone)]
pub struct Callers(Weak<Endpoint>);

/// What an exchange of tokens changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallerChanges {
    /// How many tokens are good that were not.
    pub added: usize,
    /// How many tokens are not good any more.
    pub removed: usize,
    /// How many callers have no token any more.
    pub revoked: usize,
}

impl Callers {
    pub(super) fn new(endpoint: &Arc<Endpoint>) -> Self {
        Callers(Arc::downgrade(endpoint))
    }

    /// Accepts these tokens from the next request on, in place of those before; `None` if the listener is gone. Channels of tokens that
    /// are not among them end. The sessions of callers without a token are closed; their programs that run finish.
    pub fn replace(&self, tokens: Vec<NamedToken>) -> Option<CallerChanges> {
        let endpoint = self.0.upgrade()?;
        let changes = endpoint.authenticator.replace_tokens(tokens);
        for principal in &changes.revoked {
            let sessions = endpoint.sessions.revoke(principal);
            let owners = sessions.iter().map(|session| session.owner());
            for owner in owners.chain([Owner::of(principal.clone())]) {
                endpoint.service.tools.owner_revoked(&owner);
            }
        }
        Some(CallerChanges { added: changes.added, removed: changes.removed, revoked: changes.revoked.len() })
    }
}
