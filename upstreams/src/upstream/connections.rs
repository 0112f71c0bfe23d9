//! Several connections to one upstream, so that one principal's question does not block another's calls (waiting.md 3.2).
//!
//! On a stream that all calls share nothing links a question to a call. So while a question of one principal is open there,
//! requests of others go to another connection. [`OpenFor`](super::open_for::OpenFor) reports a connection's questions.

use ptc_base::sync::Mutex;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all, select_all};
use tokio::sync::broadcast;
use tokio::sync::futures::OwnedNotified;

use super::{
    Call, CallFault, CallReply, Health, Introduction, Query, SaidMessage, ToolInfo, Upstream, UpstreamEvent,
    Visits,
};
use ptc_base::time::{Instant, timeout_at};

/// Makes one more connection, which knows of the pages that the first one has people sent to.
type ConnectionFactory =
    Box<dyn Fn(Option<Arc<Visits>>) -> Result<Arc<dyn Upstream>, CallFault> + Send + Sync>;

/// An upstream with up to so many connections. All but the first are made when they are needed, and stay.
pub struct Connections {
    first: Arc<dyn Upstream>,
    make: ConnectionFactory,
    most: usize,
    more: Mutex<Vec<Arc<dyn Upstream>>>,
}

impl Connections {
    /// One connection, and up to `most` in all.
    pub fn new(most: usize, make: ConnectionFactory) -> Result<Self, CallFault> {
        Ok(Self { first: make(None)?, make, most, more: Mutex::default() })
    }

    fn more(&self) -> MutexGuard<'_, Vec<Arc<dyn Upstream>>> {
        self.more.lock()
    }

    fn all(&self) -> Vec<Arc<dyn Upstream>> {
        std::iter::once(self.first.clone()).chain(self.more().iter().cloned()).collect()
    }

    /// One more connection; `None` if there are as many as there may be.
    fn another(&self) -> Result<Option<Arc<dyn Upstream>>, CallFault> {
        let mut more = self.more();
        if 1 + more.len() >= self.most {
            return Ok(None);
        }
        let made = (self.make)(self.first.visits(None))?;
        more.push(made.clone());
        Ok(Some(made))
    }

    /// The first connection on which no question of another principal is open: one of those that are there, or one more, or one
    /// of them once it is so.
    ///
    /// # Errors
    /// `timeout`, if that is not before `deadline`.
    async fn free(
        &self,
        principal: Option<&Arc<str>>,
        deadline: Instant,
    ) -> Result<Arc<dyn Upstream>, CallFault> {
        loop {
            let all = self.all();
            // What changes from here on is not missed.
            let mut changes: Vec<Pin<Box<OwnedNotified>>> = Vec::with_capacity(all.len());
            for open in all.iter().filter_map(|connection| connection.open_for()) {
                let mut change = Box::pin(open.closed.clone().notified_owned());
                change.as_mut().enable();
                changes.push(change);
            }
            let is_free = |connection: &&Arc<dyn Upstream>| {
                connection.open_for().is_none_or(|open| !open.is_of_others(principal))
            };
            if let Some(free) = all.iter().find(is_free) {
                return Ok(free.clone());
            }
            if let Some(another) = self.another()? {
                return Ok(another);
            }
            timeout_at(deadline, select_all(changes)).await.map_err(|_| {
                let text = format!("{} call timed out before it could be sent", self.first.transport());
                CallFault::timeout(text).never_sent()
                    .with_hint("The upstream waits for answers of other callers on all of its connections (max_connections).")
            })?;
        }
    }
}

impl Upstream for Connections {
    fn name(&self) -> &str {
        self.first.name()
    }

    fn transport(&self) -> &'static str {
        self.first.transport()
    }

    fn ensure_started(&self) -> BoxFuture<'_, Result<(), CallFault>> {
        self.first.ensure_started()
    }

    fn list_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        self.first.list_tools()
    }

    fn introduction(&self) -> Introduction {
        self.first.introduction()
    }

    fn refresh_tools(&self) -> BoxFuture<'_, Result<Arc<[ToolInfo]>, CallFault>> {
        self.first.refresh_tools()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<CallReply, CallFault>> {
        async move {
            let connection = self.free(call.caller.principal, call.limits.deadline).await?;
            connection.call(call).await
        }
        .boxed()
    }

    fn query<'a>(&'a self, query: Query<'a>) -> BoxFuture<'a, Result<Bytes, CallFault>> {
        async move {
            // What it tells of changes is heard on the first connection.
            let is_of_first = matches!(query.method, "resources/subscribe" | "resources/unsubscribe");
            let connection = match is_of_first {
                true => self.first.clone(),
                false => self.free(query.caller.principal, query.limits.deadline).await?,
            };
            connection.query(query).await
        }
        .boxed()
    }

    fn health(&self) -> Health {
        let more: Vec<Health> = self.more().iter().map(|connection| connection.health()).collect();
        self.first.health().with_calls_of(&more)
    }

    fn messages(&self, principal: Option<&str>) -> Vec<SaidMessage> {
        let mut all: Vec<SaidMessage> =
            self.all().iter().flat_map(|connection| connection.messages(principal)).collect();
        all.sort_by_key(|said| said.at);
        all
    }

    fn visits(&self, principal: Option<&str>) -> Option<Arc<Visits>> {
        self.first.visits(principal)
    }

    fn events(&self) -> broadcast::Receiver<UpstreamEvent> {
        self.first.events()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            let all = self.all();
            join_all(all.iter().map(|connection| connection.shutdown())).await;
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::upstream::numbered::Numbered;
    use crate::upstream::open_for::OpenFor;
    use crate::upstream::{CallLimits, Caller};
    use ptc_base::time;

    /// Up to two connections, and whose questions are open on each.
    fn two() -> (Connections, Arc<Mutex<Vec<Arc<OpenFor>>>>) {
        let made: Arc<Mutex<Vec<Arc<OpenFor>>>> = Arc::default();
        let all = made.clone();
        let make = move |_| {
            let mut all = all.lock();
            let open_for = Arc::<OpenFor>::default();
            all.push(open_for.clone());
            Ok(Arc::new(Numbered::new(all.len(), open_for)) as Arc<dyn Upstream>)
        };
        (Connections::new(2, Box::new(make)).unwrap(), made)
    }

    async fn asked(
        connections: &Connections,
        principal: &str,
        method: &'static str,
    ) -> Result<Bytes, CallFault> {
        let principal: Arc<str> = principal.into();
        let caller = Caller { principal: Some(&principal), ..Caller::default() };
        let limits = CallLimits::within(Duration::from_secs(5), 1000);
        connections
            .query(Query { method, params: b"{}", subject: None, limits, arrivals: None, caller })
            .await
    }

    #[tokio::test(start_paused = true)]
    async fn an_open_question_leads_others_to_another_connection() {
        let (connections, made) = two();
        let first = made.lock()[0].clone();
        assert_eq!(asked(&connections, "bob", "m").await.unwrap(), "1");
        let of_alice = first.begin(Some("alice".into()));
        assert_eq!(asked(&connections, "alice", "m").await.unwrap(), "1", "it is her own question");
        assert_eq!(made.lock().len(), 1, "nobody has needed another one");
        assert_eq!(asked(&connections, "bob", "m").await.unwrap(), "2");
        assert_eq!(asked(&connections, "carol", "m").await.unwrap(), "2");
        assert_eq!(asked(&connections, "bob", "resources/subscribe").await.unwrap(), "1");
        assert_eq!((connections.health().in_flight, connections.health().waiting), (3, 2));
        drop(of_alice);
        assert_eq!(asked(&connections, "bob", "m").await.unwrap(), "1");
        assert_eq!(made.lock().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_questions_of_others_everywhere_waits_within_its_time() {
        let (connections, made) = two();
        let of_alice = made.lock()[0].begin(Some("alice".into()));
        assert_eq!(asked(&connections, "bob", "m").await.unwrap(), "2");
        let of_bob = made.lock()[1].begin(Some("bob".into()));
        let began = time::now();
        let late = asked(&connections, "carol", "m").await.unwrap_err();
        assert_eq!(time::since(began), Duration::from_secs(5));
        assert!(
            late.to_string().starts_with("timeout: mcp_stdio call timed out before it could be sent\n"),
            "{late}"
        );
        let mut carol = Box::pin(asked(&connections, "carol", "m"));
        assert!((&mut carol).now_or_never().is_none());
        drop(of_bob);
        assert_eq!(carol.await.unwrap(), "2");
        assert_eq!(asked(&connections, "bob", "m").await.unwrap(), "2");
        drop(of_alice);
    }
}
