//! Aggregator options.

use super::audit::CallAudit;
use super::list_cache::ListCache;
use super::sampler::Sampler;
use crate::catalog::Exposure;
use ptc_base::memory::MemoryBudget;
use ptc_base::time::Clock;
use ptc_http::Client;
use ptc_policy::CurrentPolicy;
use ptc_secret::credentials::Redactor;
use ptc_upstreams::sign_in::PROCESS;
use ptc_upstreams::sign_in::store::{AuthStore, MemoryStore};
use ptc_upstreams::upstream::CallLimits;
use ptc_vm::machine::MAX_REQUEST_BYTES;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// How long an approval is good for unless the operator says something else (`--approval-ttl-ms`).
const APPROVAL_TTL: Duration = Duration::from_millis(600_000);

/// When upstreams are started and listed (upstreams.md 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotMode {
    /// All at the start; the advertised catalog stays as it was then.
    Frozen,
    /// Each at its first use; the catalog follows the upstreams' announcements.
    Live,
    /// As live, but all are started at the start, which waits for none; a failed start is retried.
    Background,
}

/// The limits on one program's requests to upstreams.
#[derive(Clone, Copy, Debug)]
pub struct AggregatorLimits {
    /// Longest wait for one answer, from the first byte written.
    pub call_timeout: Duration,
    /// Largest answer in bytes, before it is decoded.
    pub max_response_bytes: usize,
    /// Most bytes that one call sends: arguments, and the names beside them.
    pub max_request_bytes: usize,
    /// Most bytes of binary content in one answer, which do not count in `max_response_bytes`.
    pub max_binary_bytes: u64,
    /// `tool/call`s of one program.
    pub max_calls: u32,
    /// Discovery operations of one program.
    pub max_discoveries: u32,
    /// Largest result of one discovery operation, in bytes of JSON.
    pub max_discovery_bytes: usize,
    /// Requests of upstreams that a model answers during one program.
    pub max_samplings: u32,
    /// Longest of these answers, in tokens.
    pub max_sampling_tokens: u32,
}

impl AggregatorLimits {
    /// The limits of one call without any other bound: the time of a call is all the time it has.
    pub fn per_call(&self) -> CallLimits {
        let binary_bytes = usize::try_from(self.max_binary_bytes.div_ceil(3) * 4).unwrap_or(usize::MAX);
        CallLimits { binary_bytes, ..CallLimits::within(self.call_timeout, self.max_response_bytes) }
    }
}

impl Default for AggregatorLimits {
    /// The defaults of upstreams.md 16.
    fn default() -> AggregatorLimits {
        AggregatorLimits {
            call_timeout: Duration::from_millis(5000),
            max_response_bytes: 2_097_152,
            max_request_bytes: MAX_REQUEST_BYTES,
            max_binary_bytes: 5_242_880,
            max_calls: 250,
            max_discoveries: 25,
            max_discovery_bytes: 262_144,
            max_samplings: 8,
            max_sampling_tokens: 4096,
        }
    }
}

/// How an aggregator works.
#[derive(Clone)]
pub struct AggregatorOptions {
    /// When upstreams are started and listed.
    pub mode: SnapshotMode,
    /// The limits of one program.
    pub limits: AggregatorLimits,
    /// Receives the configuration's secrets, and scrubs the text of the catalog and the records.
    pub redactor: Redactor,
    /// Connections of the HTTP transports; knows which certificates to trust.
    pub http: Client,
    /// Whether call records carry an overview of the value, which costs a second pass over each answer.
    pub overviews: bool,
    /// The tools that our own clients have as tools, if any.
    pub exposure: Option<Exposure>,
    /// Whether `doc` shows the shape of the first answer of a tool that describes none, to the principal that got it.
    pub seen_shapes: bool,
    /// Where the lists of the last start are, for descriptions that are wanted before all has started (frozen mode).
    pub list_cache: Option<ListCache>,
    /// Runs the tasks of the transports.
    pub owner: Handle,
    /// The store of sign-ins to upstreams.
    pub auth_store: Arc<dyn AuthStore>,
    /// The time by which tokens end.
    pub clock: Clock,
    /// The only principal, whose tools every caller may see; `None` if there may be several.
    pub principal: Option<Arc<str>>,
    /// The only principal that programs run for, whose shapes of answers the catalog may show; `None` if there are several.
    pub shown_to: Option<Arc<str>>,
    /// The origin of the page on which callers sign in, if there is one.
    pub sign_in_page: Option<Arc<str>>,
    /// Whether the bearers of access tokens can sign in there at their issuer.
    pub sign_in_page_has_login: bool,
    /// Whether upstreams may have people asked. The capability is announced to them.
    pub questions: bool,
    /// Whether upstreams may answer calls with tasks, which are waited for. The capability is announced to them.
    pub tasks: bool,
    /// The model that answers upstreams with `sampling` in their entry. The capability is announced to them.
    pub sampler: Option<Arc<dyn Sampler>>,
    /// Receives each call.
    pub audit: Option<Arc<dyn CallAudit>>,
    /// How long an approval is valid, from its answer.
    pub approval_ttl: Duration,
    /// Memory of the whole process, including replies still on their way from children.
    pub memory: Option<MemoryBudget>,
    /// What callers may do; `None`: everybody may do everything.
    pub policy: Option<Arc<CurrentPolicy>>,
}

impl AggregatorOptions {
    /// The defaults of upstreams.md on the current runtime, with system certificates and without overviews.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn new(mode: SnapshotMode) -> AggregatorOptions {
        AggregatorOptions {
            mode,
            limits: AggregatorLimits::default(),
            redactor: Redactor::new(),
            http: Client::new(),
            overviews: false,
            exposure: None,
            seen_shapes: true,
            shown_to: None,
            list_cache: None,
            owner: Handle::current(),
            auth_store: Arc::new(MemoryStore::default()),
            clock: Clock::current(),
            principal: Some(PROCESS.into()),
            sign_in_page: None,
            sign_in_page_has_login: false,
            questions: false,
            tasks: false,
            sampler: None,
            audit: None,
            approval_ttl: APPROVAL_TTL,
            memory: None,
            policy: None,
        }
    }
}
