//! The resolved options as plain typed fields. Times are [`Duration`]s, sizes are bytes.

mod error;
mod otlp;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ptc_host::aggregator::{AggregatorLimits, SnapshotMode};
use ptc_host::catalog::{CatalogMode, Exposure};
use ptc_host::config::{ConfigLocation, ProcessEnv};
use ptc_host::credentials::Secret as Credential;
use ptc_host::engine;
use ptc_host::state::{Flushing, RedisOptions, Secret, StoreLimits};

pub use crate::public_url::PublicUrl;
pub use error::BootError;
pub use error::BootWarning;
pub use otlp::{Otlp, Sampler};

/// How much of a result clients see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Text only.
    Slim,
    /// A compact structured result and short text.
    Structured,
    /// Everything, mirrored in the text.
    Debug,
}

impl Profile {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Slim => "slim",
            Profile::Structured => "structured",
            Profile::Debug => "debug",
        }
    }
}

/// Least severe log lines to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// Events of calls and connections.
    Info,
    /// Events that need attention.
    Warn,
    /// Failures.
    Error,
}

impl LogLevel {
    /// The word of the option.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Warn => "warn",
            LogLevel::Error => "error",
        }
    }
}

/// How much of programs and data is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadPolicy {
    /// Sizes and hashes.
    None,
    /// Previews and shapes as well.
    Summary,
    /// Everything.
    Full,
}

/// What becomes of calls while the audit log cannot be written (`--audit-full`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditFull {
    /// They are refused.
    Stop,
    /// They run, and their lines are lost.
    Drop,
}

/// When lines of the audit log are on the disk, and not in the system's memory alone (`--audit-sync`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditSync {
    /// After each write.
    Always,
    /// A second after they were written.
    Interval,
    /// When the system likes.
    None,
}

/// Limits of every evaluation.
#[derive(Debug, Clone)]
pub struct EvaluationLimits {
    /// Longest stdio line, in bytes.
    pub max_frame_bytes: usize,
    /// Largest `context`.
    pub max_context_bytes: usize,
    /// Concurrent calls.
    pub max_concurrent_calls: usize,
    /// Concurrent calls of one principal.
    pub max_concurrent_calls_per_owner: usize,
    /// Resources of one program.
    pub program: engine::Limits,
    /// Memory of all parts together.
    pub max_total_memory_bytes: u64,
    /// Memory of compiled programs that are kept for later calls, and as much of regular expressions; `None` for the engine's
    /// default.
    pub program_cache_bytes: Option<u64>,
    /// Memory of the programs and sessions of one principal.
    pub max_total_memory_bytes_per_owner: u64,
    /// Longest result text.
    pub max_result_bytes: usize,
    /// True if that is the default, which is adapted to the length that the client passes on.
    pub fits_client: bool,
}

/// Upstreams and discovery.
#[derive(Debug, Clone)]
pub struct Aggregator {
    /// The upstreams file; its presence turns aggregator mode on.
    pub config: Option<ConfigLocation>,
    /// True if the operator declares the upstreams read-only.
    pub read_only: bool,
    /// The folder with the upstreams' lists from the last start, if there is one.
    pub list_cache: Option<PathBuf>,
    /// True if `doc` shows the shapes of answers that were seen.
    pub seen_shapes: bool,
    /// True if clients can use the upstreams' resources.
    pub expose_resources: bool,
    /// True if clients can use the upstreams' prompts.
    pub expose_prompts: bool,
    /// The upstreams' tools that clients have as tools, if any.
    pub expose_tools: Option<Exposure>,
    /// True if clients have no tool that runs programs.
    pub expose_only: bool,
    /// One program's limits on upstream calls.
    pub limits: AggregatorLimits,
    /// When upstreams are started, and whether the catalog follows their lists.
    pub snapshot_mode: SnapshotMode,
    /// Controls whether descriptions list tools.
    pub catalog_mode: CatalogMode,
    /// Bytes of the catalog in a description that its client does not truncate.
    pub catalog_bytes: usize,
    /// How long an approval is valid after its answer.
    pub approval_ttl: Duration,
    /// The model that answers sampling requests of upstreams, if there is one.
    pub sampling_model: Option<String>,
    /// Additional certificate authorities.
    pub ca_file: Option<PathBuf>,
}

/// Kept programs that are served as tools.
#[derive(Debug, Clone)]
pub struct Programs {
    /// The folder of the programs and their lock.
    pub dir: PathBuf,
    /// The key of the lock, if that must be signed.
    pub key: Option<PathBuf>,
    /// True if those are served too whose tools are not as they were approved with.
    pub serves_stale: bool,
    /// True if models may propose programs.
    pub drafts: bool,
}

/// The store of state that outlives a process and that several processes share.
#[derive(Debug, Clone)]
pub struct StateSettings {
    /// The folder, if one is named.
    pub dir: Option<PathBuf>,
    /// The server of the shared store, if there is one.
    pub url: Option<RedisOptions>,
    /// The operator's secret, if there is one: a file, or that of the folder.
    pub secret: Option<Secret>,
    /// That file, if one is named.
    pub secret_file: Option<PathBuf>,
    /// True if the key of sign-ins is in the system's keyring.
    pub key_in_keyring: bool,
    /// How far a commit to the folder has been written when it is acknowledged.
    pub flushing: Flushing,
    /// True if no start succeeds without the server, and `/ready` reports it.
    pub required: bool,
    /// Limits on the store.
    pub limits: StoreLimits,
}

/// Stateful sessions.
#[derive(Debug, Clone)]
pub struct Sessions {
    /// True if they are enabled.
    pub enabled: bool,
    /// Open sessions.
    pub max: usize,
    /// Open sessions of one principal.
    pub max_per_owner: usize,
    /// Longest lifetime.
    pub ttl: Duration,
    /// Longest idle time.
    pub idle: Duration,
    /// Size of all bindings.
    pub memory_bytes: u64,
    /// Size of one binding.
    pub binding_bytes: u64,
    /// Number of bindings.
    pub bindings: usize,
    /// Size of one history entry.
    pub history_entry_bytes: u64,
    /// Number of stored prints.
    pub print_entries: usize,
    /// Size of stored prints.
    pub print_bytes: u64,
    /// Size of source texts that the functions of a session need, if sessions are in a store.
    pub source_bytes: u64,
    /// Number of stored tool calls.
    pub tool_call_entries: usize,
    /// Size of stored tool calls.
    pub tool_call_bytes: u64,
    /// Number of stored upstream calls.
    pub upstream_call_entries: usize,
    /// Size of stored upstream calls.
    pub upstream_call_bytes: u64,
}

/// Who answers the questions of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionMode {
    /// Clients, and the readers of results that report a waiting program.
    Auto,
    /// Clients only.
    Client,
    /// No one: questions are off.
    Off,
}

/// Questions to people.
#[derive(Debug, Clone)]
pub struct Questions {
    /// Who answers; `None` means the default, [`QuestionMode::Auto`].
    pub mode: Option<QuestionMode>,
    /// How long a call waits while its client asks the user.
    pub open: Duration,
    /// How long an answer waits for its client's user to finish on a page.
    pub page: Duration,
    /// Most questions of one program.
    pub per_program: u32,
    /// How long a client may resume a program.
    pub state_ttl: Duration,
    /// Longest state that is sent to a client.
    pub max_state_bytes: usize,
    /// The webhook that is notified of approvals and answers them.
    pub webhook: Option<Webhook>,
}

/// The operator's webhook for approvals.
#[derive(Clone)]
pub struct Webhook {
    /// The URL of messages: https, or http on this machine.
    pub url: url::Url,
    /// The key that signs messages and their answers.
    pub secret: Secret,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The path may contain a secret.
        f.debug_struct("Webhook").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Questions {
    /// True if questions are on.
    pub fn are_on(&self) -> bool {
        self.mode != Some(QuestionMode::Off)
    }
}

/// Programs that outlive the request that began them.
#[derive(Debug, Clone)]
pub struct Runs {
    /// True if a program may run for longer than its client waits.
    pub long: bool,
    /// True if a program is stored that waits for people whom its client does not ask.
    pub keeps: bool,
    /// How long such a program waits for its answers.
    pub waiting_ttl: Duration,
    /// How long an answer waits for its client's user to finish on a page.
    pub page_wait: Duration,
    /// The default wait of a client; `None` means until its program ends.
    pub answer_within: Option<Duration>,
    /// Longest time of such a program.
    pub timeout: Duration,
    /// How long its end is reported.
    pub ttl: Duration,
    /// Most runs at a time.
    pub max: usize,
    /// Most runs of one principal.
    pub max_per_owner: usize,
    /// Most bytes of one principal's runs in the store.
    pub max_bytes_per_owner: u64,
}

/// Traces and `lisp_debug`.
#[derive(Debug, Clone)]
pub struct Diagnostics {
    /// File of the audit log.
    pub audit_log: Option<PathBuf>,
    /// What becomes of calls while it cannot be written.
    pub audit_full: AuditFull,
    /// When its lines are on the disk.
    pub audit_sync: AuditSync,
    /// The export to an OpenTelemetry collector, if one is named.
    pub otlp: Option<Otlp>,
    /// Folder of trace files.
    pub trace_dir: Option<PathBuf>,
    /// The policy for programs and data in records.
    pub payloads: PayloadPolicy,
    /// Most trace files.
    pub trace_max_files: usize,
    /// Most bytes of trace files.
    pub trace_max_bytes: u64,
    /// True if `lisp_debug` is enabled.
    pub debug_tool: bool,
    /// Calls in the ring.
    pub ring_size: usize,
    /// Largest answer.
    pub max_response_bytes: usize,
}

/// The planner behind `lisp_task`.
#[derive(Debug, Clone)]
pub struct Planner {
    /// True if it is enabled.
    pub enabled: bool,
    /// Model alias or `provider:model`.
    pub model: String,
    /// Time of a task.
    pub task_timeout: Duration,
    /// Time of one call of the model.
    pub planner_timeout: Duration,
    /// Longest reply.
    pub max_output_tokens: u64,
    /// Longest answer.
    pub max_result_bytes: usize,
    /// True if answers show programs.
    pub include_program: bool,
    /// True if traces may hold prompts.
    pub trace_prompts: bool,
    /// Programs of a task, if given: the planner's JSON file comes next, then 1.
    pub max_turns: Option<u64>,
    /// Further programs after a failure, if given; then the file, then 0.
    pub retry_turns: Option<u64>,
    /// The sources of the two, if they are given: `cli` or `env`.
    pub turns_from: [&'static str; 2],
    /// True if upstreams that may write are allowed.
    pub allow_writes: bool,
    /// JSON file with prompt parts.
    pub subagent_config: Option<PathBuf>,
    /// Text file with the capability summary.
    pub capability_summary: Option<PathBuf>,
    /// Longest generated summary.
    pub capability_summary_max_bytes: usize,
}

/// A bearer token and its principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedToken {
    /// Name of the principal.
    pub name: String,
    /// The token.
    pub token: Credential,
    /// True if its holder sees all runs on the console and may answer for all principals.
    pub is_operator: bool,
}

/// The failed-auth limiter.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit {
    /// Within which failures are counted.
    pub window: Duration,
    /// Failures that block.
    pub max_failures: u32,
    /// Length of a block.
    pub block: Duration,
}

/// The access tokens of callers (auth.md 13). The public URL of the listener is their audience.
#[derive(Debug, Clone)]
pub struct InboundOAuth {
    /// The issuers, byte for byte as their tokens have them; at least one.
    pub issuers: Vec<String>,
    /// Audiences beside the public URL.
    pub audiences: Vec<String>,
    /// The scopes that every token must have.
    pub required_scopes: Vec<String>,
    /// True if the `typ` of a JWT may be `JWT` or absent.
    pub any_type: bool,
    /// Id and secret of the client that asks the first issuer about opaque tokens, if those are accepted.
    pub introspection_client: Option<(String, Credential)>,
    /// Id and secret of the client as which people sign in at the first issuer, for the console and the sign-in page.
    pub login_client: Option<(String, Option<Credential>)>,
}

/// The HTTP listener.
#[derive(Debug, Clone)]
pub struct Http {
    /// Address to bind.
    pub host: IpAddr,
    /// Port to bind.
    pub port: u16,
    /// Path of the MCP endpoint.
    pub path: String,
    /// Tokens; empty if no authentication is required.
    pub tokens: Vec<NamedToken>,
    /// How access tokens are accepted, if they are.
    pub oauth: Option<InboundOAuth>,
    /// True if authentication was switched off on purpose.
    pub auth_disabled: bool,
    /// Origins of web pages that may connect, as given.
    pub allowed_origins: Vec<String>,
    /// PEM files of certificate chain and private key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Longest wait for bytes of a request.
    pub request_timeout: Duration,
    /// Longest idle time of a connection.
    pub idle_timeout: Duration,
    /// Time for running calls at shutdown.
    pub shutdown_grace: Duration,
    /// Largest body.
    pub max_body_bytes: usize,
    /// Bytes of request bodies and of unread answers.
    pub max_buffered_bytes: usize,
    /// The same for one principal.
    pub max_buffered_bytes_per_owner: usize,
    /// Open connections.
    pub max_connections: usize,
    /// Open connections of one principal.
    pub max_connections_per_owner: usize,
    /// Longest lifetime of a session.
    pub session_ttl: Duration,
    /// Longest idle time of a session.
    pub session_idle: Duration,
    /// Open sessions.
    pub max_sessions: usize,
    /// Open sessions of one principal.
    pub max_sessions_per_owner: usize,
    /// Open notification channels.
    pub max_listeners: usize,
    /// Open notification channels of one principal.
    pub max_listeners_per_owner: usize,
    /// Calls of one session.
    pub max_in_flight: usize,
    /// The limiter, unless it is off.
    pub rate_limit: Option<RateLimit>,
    /// True if metrics are served.
    pub metrics: bool,
    /// Path of the metrics.
    pub metrics_path: String,
    /// True if they show what each caller holds.
    pub metrics_owners: bool,
    /// Name of this instance.
    pub instance: String,
    /// True if the operators' page is served.
    pub console: bool,
    /// The public URL of the MCP endpoint for clients and browsers, if the operator has set one. The sign-in page
    /// needs it.
    pub public_url: Option<PublicUrl>,
}

impl Http {
    /// Principals that may call: those of the static tokens, or the one of a listener without authentication. Access tokens are
    /// those of any number, which counts as two more.
    pub fn principals(&self) -> usize {
        let mut names: Vec<&str> = self.tokens.iter().map(|token| &*token.name).collect();
        names.sort_unstable();
        names.dedup();
        let of_issuers = if self.oauth.is_some() { 2 } else { 0 };
        if self.auth_disabled { 1 } else { (names.len() + of_issuers).max(1) }
    }

    /// The origin of the listener for browsers and other clients: scheme, host and port. `None` if the operator has
    /// not set one and the listener is not bound to this machine alone.
    pub fn origin(&self) -> Option<String> {
        if let Some(url) = &self.public_url {
            return Some(url.origin().to_owned());
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.is_loopback().then(|| format!("{scheme}://{}", SocketAddr::new(self.host, self.port)))
    }

    /// True if the listener can be reached from this machine only.
    pub fn is_loopback(&self) -> bool {
        self.host.is_loopback()
    }
}

/// The listener for probes.
#[derive(Debug, Clone)]
pub struct Health {
    /// Address to bind.
    pub address: SocketAddr,
    /// Name of this instance.
    pub instance: String,
}

/// All settings of a server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Limits of evaluations.
    pub limits: EvaluationLimits,
    /// The response profile.
    pub profile: Profile,
    /// The log level.
    pub log_level: LogLevel,
    /// Upstreams.
    pub aggregator: Aggregator,
    /// Kept programs, if any are served.
    pub programs: Option<Programs>,
    /// The file of rules for callers, if there is one.
    pub policy_file: Option<PathBuf>,
    /// The profile that the client of a pipe sees.
    pub upstream_profile: Option<Arc<str>>,
    /// Questions to people.
    pub questions: Questions,
    /// State that outlives the process.
    pub state: StateSettings,
    /// Sessions.
    pub sessions: Sessions,
    /// Programs that outlive their requests.
    pub runs: Runs,
    /// Traces and `lisp_debug`.
    pub diagnostics: Diagnostics,
    /// The planner.
    pub planner: Planner,
    /// The listener; `None` means stdio.
    pub http: Option<Http>,
    /// The listener for probes, if there is one.
    pub health: Option<Health>,
    /// The environment, with the env file on top.
    pub env: ProcessEnv,
    /// Warnings about the options.
    pub warnings: Vec<BootWarning>,
}
