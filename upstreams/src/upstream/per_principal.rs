//! An upstream that principals may have for themselves: connection, session and tools belong to the account that has signed in.

use ptc_base::sync::Mutex;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use tokio::sync::broadcast;

use crate::config::OAuthIdentity;

use super::{
    Call, CallFault, CallReply, Caller, FaultReason, Health, Introduction, Phase, Query, SaidMessage,
    ToolInfo, Upstream, UpstreamEvent, Visits,
};

/// Accounts whose connections are kept. The one that called least recently goes.
const MAX_ACCOUNTS: usize = 256;

/// Makes the upstream of an account.
type UpstreamFactory = Box<dyn Fn(&str) -> Result<Arc<dyn Upstream>, CallFault> + Send + Sync>;

/// An account, which is a principal or `*` for that of all, and its upstream.
type AccountUpstream = (Arc<str>, Arc<dyn Upstream>);

/// One upstream an account, made when somebody first calls with it.
pub struct PerPrincipal {
    name: Arc<str>,
    kind: &'static str,
    make: UpstreamFactory,
    /// The account whose tools are everybody's: that of the only principal there is, or that of all. `None` where there may be
    /// several.
    home: Option<AccountUpstream>,
    /// Whose account a caller has for whom no rule chooses.
    identity: OAuthIdentity,
    /// The others, the one that called last at the end.
    others: Mutex<Vec<AccountUpstream>>,
    /// Events without a principal: none are ever sent.
    silence: broadcast::Sender<UpstreamEvent>,
}

impl PerPrincipal {
    /// No upstream but that of `home` is made before it is called.
    pub fn new(
        name: &str,
        kind: &'static str,
        home: Option<&Arc<str>>,
        identity: OAuthIdentity,
        make: UpstreamFactory,
    ) -> Result<Self, CallFault> {
        let home = home.map(|home| make(home).map(|upstream| (home.clone(), upstream))).transpose()?;
        Ok(Self {
            name: name.into(),
            kind,
            make,
            home,
            identity,
            others: Mutex::default(),
            silence: broadcast::Sender::new(1),
        })
    }

    fn others(&self) -> MutexGuard<'_, Vec<AccountUpstream>> {
        self.others.lock()
    }

    /// With whose account a caller calls; `None`: with that of `home`, or with none.
    fn account<'c>(&self, caller: Caller<'c>) -> Option<&'c Arc<str>> {
        caller.account.or(match self.identity {
            OAuthIdentity::PerPrincipal => caller.principal,
            OAuthIdentity::Shared => None,
        })
    }

    fn is_home(&self, account: Option<&Arc<str>>) -> bool {
        self.home.as_ref().is_some_and(|(home, _)| account.is_none_or(|account| account == home))
    }

    fn of(&self, caller: Caller<'_>) -> Result<Arc<dyn Upstream>, CallFault> {
        let account = self.account(caller);
        if self.is_home(account) {
            return self.home().cloned();
        }
        let Some(account) = account else { return Err(self.nobody()) };
        let mut others = self.others();
        if let Some(at) = others.iter().position(|(known, _)| known == account) {
            let found = others.remove(at);
            let upstream = found.1.clone();
            others.push(found);
            return Ok(upstream);
        }
        let upstream = (self.make)(account)?;
        if others.len() >= MAX_ACCOUNTS {
            others.remove(0);
        }
        others.push((account.clone(), upstream.clone()));
        Ok(upstream)
    }

    fn home(&self) -> Result<&Arc<dyn Upstream>, CallFault> {
        self.home.as_ref().map(|(_, upstream)| upstream).ok_or_else(|| self.nobody())
    }

    /// The upstream of `principal`, if it has been called.
    fn known(&self, principal: Option<&str>) -> Option<Arc<dyn Upstream>> {
        let others = self.others();
        let own = others.iter().find(|(known, _)| Some(&**known) == principal).map(|(_, upstream)| upstream);
        own.or(self.home().ok()).cloned()
    }

    /// The fault of a request that needs the sign-in of a principal.
    fn nobody(&self) -> CallFault {
        let text = format!("upstream '{}' is signed in to by each principal for itself", self.name);
        CallFault::new(FaultReason::AuthRequired, text).before_sending()
    }
}

impl Upstream for PerPrincipal {
    fn name(&self) -> &str {
        &self.name
    }

    fn transport(&self) -> &'static str {
        self.kind
    }

    fn serving(&self, caller: Caller<'_>) -> Option<Result<Arc<dyn Upstream>, CallFault>> {
        (!self.is_home(self.account(caller))).then(|| self.of(caller))
    }

    fn ensure_started(&self) -> BoxFuture<'_, Result<(), CallFault>> {
        async { self.home()?.ensure_started().await }.boxed()
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        async { self.home()?.list_tools().await }.boxed()
    }

    fn introduction(&self) -> Introduction {
        self.home().map(|upstream| upstream.introduction()).unwrap_or_default()
    }

    fn refresh_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        async { self.home()?.refresh_tools().await }.boxed()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>> {
        async move {
            let upstream = self.of(call.caller)?;
            upstream.call(call).await
        }
        .boxed()
    }

    fn query<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Bytes, CallFault>> {
        async move {
            let upstream = self.of(query.caller)?;
            upstream.query(query).await
        }
        .boxed()
    }

    fn health(&self) -> Health {
        let mut others: Vec<Health> = self.others().iter().map(|(_, upstream)| upstream.health()).collect();
        let shown = match self.home() {
            Ok(home) => home.health(),
            Err(_) if others.is_empty() => Health {
                phase: Phase::Stopped,
                protocol_version: None,
                tools: 0,
                in_flight: 0,
                waiting: 0,
                starts: 0,
                last_fault: None,
            },
            Err(_) => {
                let started = others.iter().position(|health| health.phase == Phase::Started);
                others.swap_remove(started.unwrap_or(0))
            }
        };
        shown.with_calls_of(&others)
    }

    fn messages(&self, principal: Option<&str>) -> Vec<SaidMessage> {
        self.known(principal).map(|upstream| upstream.messages(principal)).unwrap_or_default()
    }

    fn visits(&self, principal: Option<&str>) -> Option<Arc<Visits>> {
        self.known(principal)?.visits(principal)
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.home().map_or_else(|_| self.silence.subscribe(), |upstream| upstream.events())
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            let others = std::mem::take(&mut *self.others());
            join_all(others.iter().map(|(_, upstream)| upstream.shutdown())).await;
            if let Ok(home) = self.home() {
                home.shutdown().await;
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::numbered::Numbered;

    /// An upstream of which callers have connections that have 1, 2, 3 … calls in flight, in the order in which they are made.
    fn upstream(home: Option<&str>) -> PerPrincipal {
        let made = Mutex::new(0);
        let make = move |_: &str| {
            let mut made = made.lock();
            *made += 1;
            Ok(Arc::new(Numbered::new(*made, Arc::default())) as Arc<dyn Upstream>)
        };
        let home: Option<Arc<str>> = home.map(Arc::from);
        PerPrincipal::new("notes", "mcp_http", home.as_ref(), OAuthIdentity::PerPrincipal, Box::new(make))
            .expect("it is made")
    }

    #[test]
    fn the_calls_of_all_connections_are_counted_once() {
        for (home, sums) in
            [(None, [(0, 0), (1, 1), (3, 2), (3, 2)]), (Some("ops"), [(1, 1), (3, 2), (6, 3), (6, 3)])]
        {
            let upstream = upstream(home);
            let mut seen = Vec::new();
            for caller in [None, Some("ann"), Some("bob"), Some("ann")] {
                if let Some(caller) = caller {
                    let principal: Arc<str> = caller.into();
                    let caller = Caller { principal: Some(&principal), ..Caller::default() };
                    assert!(upstream.serving(caller).is_some_and(|own| own.is_ok()));
                }
                let health = upstream.health();
                seen.push((health.in_flight, health.waiting));
            }
            assert_eq!(seen, sums, "{home:?}");
        }
    }
}
