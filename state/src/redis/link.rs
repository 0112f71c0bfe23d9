//! Connections to the server, their limits of time, and the runtimes that they live on.
//!
//! Each event loop has its own connection, so that a request and its answer never change threads. Wake-ups of holders, and
//! requests outside any event loop, use one on a thread of the store.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use redis::aio::{ConnectionLike, ConnectionManager, ConnectionManagerConfig};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo, SingleNodeRoutingInfo};
use redis::{
    Client, Cmd, ErrorKind, Pipeline, RedisError, RedisFuture, ScriptInvocation, ServerErrorKind, Value,
};
use tokio::runtime::{Handle, Id};
use tokio::sync::{Mutex, oneshot};

use super::super::StateError;
use super::address::{RedisAddressError, RedisOptions, is_encrypted};
use super::scripts;
use ptc_base::time::{Clock, timeout};

/// How long connecting may take.
const CONNECT: Duration = Duration::from_millis(1000);
/// How long a command may take.
const COMMAND: Duration = Duration::from_millis(500);
/// Event loops whose connections are remembered; all are forgotten when there are more, and made again where they are used.
const LOOPS: usize = 64;
/// Keys that one step of a scan looks at.
const SCANNED: usize = 1000;

/// The connections, each of which is made at the first command, and again whenever it is lost.
pub(super) struct Link {
    /// For messages of channels, and for callers without an event loop.
    runtime: Handle,
    /// Its end is that of the thread.
    _alive: oneshot::Sender<()>,
    target: Arc<Target>,
    /// By event loop. A connection ends with the loop that it lives on.
    connections: ptc_base::sync::Mutex<HashMap<Id, Slot>>,
}

/// Where the connection of one event loop is.
type Slot = Arc<Mutex<Option<Connection>>>;

enum Target {
    Single(Box<Client>),
    Cluster(Box<Cluster>),
}

struct Cluster {
    client: ClusterClient,
    /// Some node, for commands that any node can serve.
    any: Client,
}

#[derive(Clone)]
enum Connection {
    Single(ConnectionManager),
    Cluster(ClusterConnection),
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        match self {
            Connection::Single(connection) => connection.req_packed_command(cmd),
            Connection::Cluster(connection) => connection.req_packed_command(cmd),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        match self {
            Connection::Single(connection) => connection.req_packed_commands(pipeline, offset, count),
            Connection::Cluster(connection) => connection.req_packed_commands(pipeline, offset, count),
        }
    }

    fn get_db(&self) -> i64 {
        match self {
            Connection::Single(connection) => connection.get_db(),
            Connection::Cluster(connection) => connection.get_db(),
        }
    }
}

impl Target {
    fn new(options: &RedisOptions) -> Result<Self, RedisAddressError> {
        let other = |error: RedisError| RedisAddressError::Other(error.to_string());
        let nodes = options.nodes()?;
        let first = nodes.first().cloned().ok_or(RedisAddressError::Url)?;
        let single =
            |info: redis::ConnectionInfo| match options.certificates().filter(|_| is_encrypted(&info)) {
                Some(certificates) => Client::build_with_tls(info, certificates).map_err(other),
                None => Client::open(info).map_err(other),
            };
        if !options.cluster {
            return Ok(Target::Single(Box::new(single(first)?)));
        }
        let mut builder = ClusterClientBuilder::new(nodes)
            .connection_timeout(CONNECT)
            .response_timeout(COMMAND)
            // Redirections of a cluster are followed; what may have been done is not done again.
            .retries(3);
        if let Some(certificates) = options.certificates() {
            builder = builder.certs(certificates);
        }
        let client = builder.build().map_err(other)?;
        Ok(Target::Cluster(Box::new(Cluster { client, any: single(first)? })))
    }

    async fn connect(&self) -> Result<Connection, RedisError> {
        match self {
            Target::Single(client) => {
                let config = ConnectionManagerConfig::new()
                    .set_connection_timeout(Some(CONNECT))
                    .set_response_timeout(Some(COMMAND))
                    .set_number_of_retries(1)
                    .set_min_delay(Duration::from_millis(20))
                    .set_max_delay(Duration::from_millis(100));
                ConnectionManager::new_with_config((**client).clone(), config).await.map(Connection::Single)
            }
            Target::Cluster(cluster) => cluster.client.get_async_connection().await.map(Connection::Cluster),
        }
    }
}

impl Link {
    pub(super) fn new(options: &RedisOptions) -> Result<Self, RedisAddressError> {
        let target = Arc::new(Target::new(options)?);
        let other = |error: std::io::Error| RedisAddressError::Other(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(other)?;
        let handle = runtime.handle().clone();
        let (alive, ended) = oneshot::channel();
        let clock = Clock::current();
        let run = move || {
            let _entered = clock.enter();
            // Nothing is ever sent: it ends with the link.
            let _ = runtime.block_on(ended);
        };
        std::thread::Builder::new().name("state".to_owned()).spawn(run).map_err(other)?;
        Ok(Self { runtime: handle, _alive: alive, target, connections: ptc_base::sync::Mutex::default() })
    }

    /// Makes connections for the messages of channels.
    pub(super) fn listener_again(
        &self,
    ) -> impl Fn() -> BoxFuture<'static, Result<redis::aio::PubSub, RedisError>> + Send + 'static {
        let target = self.target.clone();
        move || {
            let target = target.clone();
            async move {
                let client = match &*target {
                    Target::Single(client) => client,
                    Target::Cluster(cluster) => &cluster.any,
                };
                match timeout(CONNECT, client.get_async_pubsub()).await {
                    Ok(connected) => connected,
                    Err(_) => Err((ErrorKind::Io, "connecting took too long").into()),
                }
            }
            .boxed()
        }
    }

    /// Has `work` run for as long as the link is there.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }

    /// Runs a script.
    pub(super) async fn run(&self, invocation: ScriptInvocation<'static>) -> Result<Value, StateError> {
        // A server that does not know the script by its digest has not run it.
        self.with(move |mut connection| async move { invocation.invoke_async(&mut connection).await }).await
    }

    /// Sends a command.
    pub(super) async fn command(&self, command: Cmd) -> Result<Value, StateError> {
        self.with(move |mut connection| async move { command.query_async(&mut connection).await }).await
    }

    /// The event loop that asks, and its connection.
    fn own(&self) -> (Handle, Slot) {
        let runtime = Handle::try_current().unwrap_or_else(|_| self.runtime.clone());
        let mut connections = self.connections.lock();
        if connections.len() >= LOOPS && !connections.contains_key(&runtime.id()) {
            connections.clear();
        }
        let slot = connections.entry(runtime.id()).or_default().clone();
        (runtime, slot)
    }

    /// Uses the caller's connection, within the time of a command. Work that has begun is completed even if the caller gives
    /// up.
    async fn with<F>(&self, work: impl FnOnce(Connection) -> F + Send + 'static) -> Result<Value, StateError>
    where
        F: Future<Output = Result<Value, RedisError>> + Send + 'static,
    {
        let ((runtime, slot), target) = (self.own(), self.target.clone());
        let used = async move {
            let connection = connection(&target, &slot).await?;
            match timeout(COMMAND, work(connection)).await {
                Ok(Err(error)) => {
                    if is_of_the_wrong_server(&error) {
                        // The name may lead to another server by now.
                        slot.lock().await.take();
                    }
                    Err(unavailable(&error))
                }
                Ok(Ok(answer)) => Ok(answer),
                Err(_) => {
                    Err(StateError::Unavailable(format!("no answer within {} ms", COMMAND.as_millis())))
                }
            }
        };
        runtime.spawn(used).await.unwrap_or_else(|error| Err(StateError::Unavailable(error.to_string())))
    }

    /// The keys that a pattern matches, of all nodes.
    pub(super) async fn scan(&self, pattern: String) -> Result<Vec<String>, StateError> {
        let mut keys = Vec::new();
        for node in self.nodes().await? {
            let mut cursor = "0".to_owned();
            loop {
                let mut scan = redis::cmd("SCAN");
                scan.arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCANNED);
                let node = node.clone();
                let answer = self
                    .with(move |mut connection| async move {
                        match (&mut connection, node) {
                            (Connection::Cluster(cluster), Some(node)) => {
                                cluster.route_command(scan, RoutingInfo::SingleNode(node)).await
                            }
                            _ => scan.query_async(&mut connection).await,
                        }
                    })
                    .await?;
                let mut parts = scripts::Parts::of(answer)?;
                cursor = parts.text()?;
                for key in parts.array()? {
                    keys.push(scripts::text(key)?);
                }
                if cursor == "0" {
                    break;
                }
            }
        }
        Ok(keys)
    }

    /// The nodes that have keys of their own; none named where there is one server.
    async fn nodes(&self) -> Result<Vec<Option<SingleNodeRoutingInfo>>, StateError> {
        if matches!(*self.target, Target::Single(_)) {
            return Ok(vec![None]);
        }
        let answers = self
            .with(|connection| async move {
                match connection {
                    Connection::Cluster(mut cluster) => {
                        let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                        cluster.route_command(redis::cmd("PING"), all).await
                    }
                    Connection::Single(_) => Ok(Value::Map(Vec::new())),
                }
            })
            .await?;
        let Value::Map(answers) = answers else { return Err(scripts::unknown("no nodes")) };
        let node = |(address, _): (Value, Value)| {
            let address = scripts::text(address)?;
            let (host, port) = address.rsplit_once(':').ok_or_else(|| scripts::unknown("no address"))?;
            let port = port.parse().map_err(|_| scripts::unknown("no port"))?;
            Ok(Some(SingleNodeRoutingInfo::ByAddress { host: host.to_owned(), port }))
        };
        answers.into_iter().map(node).collect()
    }
}

/// The connection, which is made if there is none.
async fn connection(target: &Target, slot: &Mutex<Option<Connection>>) -> Result<Connection, StateError> {
    let mut slot = slot.lock().await;
    if let Some(connection) = &*slot {
        return Ok(connection.clone());
    }
    let connected = match timeout(CONNECT, target.connect()).await {
        Ok(connected) => connected.map_err(|error| unavailable(&error))?,
        Err(_) => {
            return Err(StateError::Unavailable(format!("no connection within {} ms", CONNECT.as_millis())));
        }
    };
    Ok(slot.insert(connected).clone())
}

/// Whether the server that is connected to is one that does not take writes any more.
fn is_of_the_wrong_server(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(ServerErrorKind::ReadOnly | ServerErrorKind::MasterDown))
}

fn unavailable(error: &RedisError) -> StateError {
    StateError::Unavailable(error.to_string())
}
