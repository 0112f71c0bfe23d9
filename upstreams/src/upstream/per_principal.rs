//! An upstream that each principal has for itself: connection, session and tools belong to the principal that has signed in.

use ptc_base::sync::Mutex;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use tokio::sync::broadcast;

use super::{
    Call, CallFault, CallReply, FaultReason, Health, Introduction, Phase, Query, SaidMessage, ToolInfo,
    Upstream, UpstreamEvent, Visits,
};

/// Principals whose connections are kept. The one that called least recently goes.
const MAX_PRINCIPALS: usize = 256;

/// Makes the upstream of a principal.
type UpstreamFactory = Box<dyn Fn(Option<&str>) -> Result<Arc<dyn Upstream>, CallFault> + Send + Sync>;

/// A principal and its upstream.
type PrincipalUpstream = (Arc<str>, Arc<dyn Upstream>);

/// One upstream a principal, made when the principal first calls.
pub struct PerPrincipal {
    name: Arc<str>,
    kind: &'static str,
    make: UpstreamFactory,
    /// The principal whose tools are everybody's: the only one there is. `None` where there may be several.
    home: Option<PrincipalUpstream>,
    /// The others, the one that called last at the end.
    others: Mutex<Vec<PrincipalUpstream>>,
    /// Events without a principal: none are ever sent.
    silence: broadcast::Sender<UpstreamEvent>,
}

impl PerPrincipal {
    /// No upstream but that of `home` is made before it is called.
    pub fn new(
        name: &str,
        kind: &'static str,
        home: Option<&Arc<str>>,
        make: UpstreamFactory,
    ) -> Result<Self, CallFault> {
        let home = home.map(|home| make(Some(home)).map(|upstream| (home.clone(), upstream))).transpose()?;
        Ok(Self {
            name: name.into(),
            kind,
            make,
            home,
            others: Mutex::default(),
            silence: broadcast::Sender::new(1),
        })
    }

    fn others(&self) -> MutexGuard<'_, Vec<PrincipalUpstream>> {
        self.others.lock()
    }

    fn of(&self, principal: Option<&Arc<str>>) -> Result<Arc<dyn Upstream>, CallFault> {
        match (&self.home, principal) {
            (Some((_, upstream)), None) => return Ok(upstream.clone()),
            (Some((home, upstream)), Some(principal)) if home == principal => return Ok(upstream.clone()),
            _ => {}
        }
        let Some(principal) = principal else { return Err(self.nobody()) };
        let mut others = self.others();
        if let Some(at) = others.iter().position(|(known, _)| known == principal) {
            let found = others.remove(at);
            let upstream = found.1.clone();
            others.push(found);
            return Ok(upstream);
        }
        let upstream = (self.make)(Some(principal))?;
        if others.len() >= MAX_PRINCIPALS {
            others.remove(0);
        }
        others.push((principal.clone(), upstream.clone()));
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

    fn of_principal(&self, principal: Option<&Arc<str>>) -> Option<Result<Arc<dyn Upstream>, CallFault>> {
        let is_home = match (&self.home, principal) {
            (Some(_), None) => true,
            (Some((home, _)), Some(principal)) => home == principal,
            (None, _) => false,
        };
        (!is_home).then(|| self.of(principal))
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
            let upstream = self.of(call.caller.principal)?;
            upstream.call(call).await
        }
        .boxed()
    }

    fn query<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Bytes, CallFault>> {
        async move {
            let upstream = self.of(query.caller.principal)?;
            upstream.query(query).await
        }
        .boxed()
    }

    fn health(&self) -> Health {
        let home = self.home().map(|upstream| upstream.health()).ok();
        let others: Vec<Health> = self.others().iter().map(|(_, upstream)| upstream.health()).collect();
        let in_flight = others.iter().map(|health| health.in_flight).sum::<usize>();
        let waiting = others.iter().map(|health| health.waiting).sum::<usize>();
        let started = others.iter().find(|health| health.phase == Phase::Started);
        let one = home.or_else(|| started.or(others.first()).cloned());
        match one {
            Some(one) => {
                Health { in_flight: in_flight + one.in_flight, waiting: waiting + one.waiting, ..one }
            }
            None => Health {
                phase: Phase::Stopped,
                protocol_version: None,
                tools: 0,
                in_flight,
                waiting,
                starts: 0,
                last_fault: None,
            },
        }
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
