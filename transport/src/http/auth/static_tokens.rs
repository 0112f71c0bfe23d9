//! The tokens of the operator's files, which change when those are read again (auth.md 13.6).

use std::collections::BTreeSet;
use std::sync::Arc;

use ptc_host::policy::CurrentPolicy;
use ptc_host::sync::RwLock;
use tokio::sync::watch;

use super::HttpCaller;
use ptc_protocol::principal::{Principal, Principals};
use ptc_protocol::settings::NamedToken;

/// The static tokens that are good now, with their callers.
#[derive(Debug)]
pub(super) struct StaticTokens {
    good: RwLock<Vec<(NamedToken, Arc<HttpCaller>)>>,
    /// Notified after every change.
    changed: watch::Sender<()>,
}

/// What a reload changed in the static tokens.
#[derive(Debug, Default)]
pub(in crate::http) struct TokenChanges {
    /// How many tokens are good that were not.
    pub(in crate::http) added: usize,
    /// How many tokens are not good any more.
    pub(in crate::http) removed: usize,
    /// The callers who have no token any more.
    pub(in crate::http) revoked: Vec<Principal>,
}

impl StaticTokens {
    pub(super) fn new(
        tokens: Vec<NamedToken>,
        principals: &Principals,
        policy: Option<&CurrentPolicy>,
    ) -> Self {
        let with_caller = |token: NamedToken| {
            let caller = HttpCaller::named(&token.name, token.is_operator, principals, policy);
            (token, Arc::new(caller))
        };
        StaticTokens {
            good: RwLock::new(tokens.into_iter().map(with_caller).collect()),
            changed: watch::Sender::default(),
        }
    }

    /// Whether there are tokens of several callers.
    pub(super) fn is_shared(&self) -> bool {
        let good = self.good.read();
        good.windows(2).any(|pair| pair[0].1.principal != pair[1].1.principal)
    }

    /// The caller of a token, if it is good.
    pub(super) fn find(&self, token: &[u8]) -> Option<Arc<HttpCaller>> {
        let good = self.good.read();
        // All tokens are compared, so that the time does not reveal which one a guess came close to.
        let mut found = None;
        for (known, caller) in &*good {
            if known.token.matches(token) {
                found = Some(caller);
            }
        }
        found.cloned()
    }

    /// Exchanges the tokens. One that stays keeps its caller, and all of one name share an account.
    pub(super) fn replace(
        &self,
        tokens: Vec<NamedToken>,
        principals: &Principals,
        policy: Option<&CurrentPolicy>,
    ) -> TokenChanges {
        let mut good = self.good.write();
        let mut added = 0;
        let fresh: Vec<_> = tokens
            .into_iter()
            .map(|token| {
                let kept = good.iter().find(|(known, _)| is_same(known, &token));
                let caller = kept.map(|(_, caller)| caller.clone()).unwrap_or_else(|| {
                    added += 1;
                    Arc::new(HttpCaller::named(&token.name, token.is_operator, principals, policy))
                });
                (token, caller)
            })
            .collect();
        let stays = |token: &NamedToken| fresh.iter().any(|(known, _)| is_same(known, token));
        let removed = good.iter().filter(|(token, _)| !stays(token)).count();
        let names: BTreeSet<&str> = fresh.iter().map(|(token, _)| &*token.name).collect();
        let mut seen = BTreeSet::new();
        let gone =
            good.iter().filter(|(token, _)| !names.contains(&*token.name) && seen.insert(&*token.name));
        let revoked = gone.map(|(_, caller)| caller.principal.clone()).collect();
        *good = fresh;
        drop(good);
        self.changed.send_replace(());
        TokenChanges { added, removed, revoked }
    }

    /// Completes with `true` when a token that is good now is not good any more for its caller; with `false` at once if it is not
    /// good now.
    pub(super) async fn until_revoked(&self, token: &[u8]) -> bool {
        let mut changed = self.changed.subscribe();
        let Some(caller) = self.find(token) else { return false };
        loop {
            // The sender lives as long as this.
            if changed.changed().await.is_err() {
                return true;
            }
            if self.find(token).is_none_or(|now| now.principal != caller.principal) {
                return true;
            }
        }
    }
}

/// True if two are one token of one caller.
fn is_same(one: &NamedToken, other: &NamedToken) -> bool {
    (&one.name, one.is_operator) == (&other.name, other.is_operator)
        && one.token.matches(other.token.open().as_bytes())
}
