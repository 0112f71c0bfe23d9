//! The keys of an upstream's entry that all transports share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ptc_mcp::LogLevel;
use ptc_mcp::json::Value;

use super::approval::ApprovalPolicy;
use super::fields::Fields;
use super::mistakes;
use super::name_filter::NameFilter;
use super::options::{EntryContext, LoadOptions};
use super::own_executable::refuse_own_executable;
use super::pins::{PinLock, PinPolicy, UpstreamPins};
use super::roots::RootsConfig;
use super::transports::{HttpConfig, OpenApiConfig, StdioConfig, Transport};
use super::unknown_keys;
use ptc_base::config_error::{ConfigError, ConfigWarning};
use ptc_secret::credentials::{CredentialStore, Secret};

const MAX_CONCURRENCY: usize = 64;
/// Connections to one upstream that asks, unless its entry says otherwise.
const MAX_CONNECTIONS: usize = 2;
const BACKOFF_INITIAL: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// The transports, and the key that each needs. `mcp_sse` is not among them: `mcp_http` finds such servers by itself.
const TRANSPORTS: &str = "mcp_stdio (with command), mcp_http (with url) or openapi (with base_url)";

/// Names that `dir` and `doc` look up locally first: an upstream of such a name is hidden from them.
const LOCAL_NAMESPACES: [&str; 23] = [
    "clojure.core",
    "core",
    "clojure.string",
    "str",
    "string",
    "clojure.set",
    "set",
    "clojure.walk",
    "walk",
    "regex",
    "json",
    "Math",
    "System",
    "Boolean",
    "Double",
    "Float",
    "Integer",
    "Long",
    "String",
    "LocalDate",
    "Instant",
    "Duration",
    "Date",
];

/// A configured upstream, checked and resolved. Holds names of credential bindings, never their values.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamConfig {
    /// Its name in programs: `{:server "name"}`.
    pub name: String,
    /// Shown in the catalog; may be empty.
    pub description: String,
    /// Key words for the catalog and for `apropos`.
    pub capabilities: Vec<String>,
    /// `false` forgives a failure to connect or list at start (ruling 22).
    pub required: bool,
    /// Which of its tools exist for programs.
    pub tools: NameFilter,
    /// Which of its resources and templates exist for programs and clients.
    pub resources: NameFilter,
    /// Which of its prompts exist for programs and clients.
    pub prompts: NameFilter,
    /// Which of its tools need a person's approval.
    pub approval: ApprovalPolicy,
    /// What becomes of tools that differ from the lock (`pin`).
    pub pin: PinPolicy,
    /// The definitions that its tools are held to; `None` if to none: there is no lock, or it does not hold for the upstream.
    pub pins: Option<Arc<UpstreamPins>>,
    /// Which calls hand their raw envelope to the program.
    pub raw_envelope: RawEnvelope,
    /// Calls in flight at once; further ones wait in a queue (`max_concurrency`, alias `pool_size`).
    pub max_concurrency: usize,
    /// The recovery window after a crash.
    pub backoff: Backoff,
    /// The least severity of the log messages that an MCP server shall send; its own default where that is `None`.
    pub log_level: Option<LogLevel>,
    /// The folders that an MCP server gets.
    pub roots: RootsConfig,
    /// Capabilities announced to an MCP server besides folders. No key of the file sets them: the code that starts the upstream
    /// does.
    pub offered: Offered,
    /// Whether it serves one program at a time (`serial`).
    pub serial: bool,
    /// Most connections at a time, where it asks people or a model (`max_connections`).
    pub max_connections: usize,
    /// Whether an MCP server may have the operator's model answer, where there is one (`sampling`).
    pub sampling: bool,
    /// How it is reached.
    pub transport: Transport,
    /// Why it cannot be reached by this process: a credential or a variable that its entry names is not set. Only of one
    /// that is not required (ruling 121).
    pub unset: Option<String>,
}

/// Capabilities announced to an MCP server, which it may use in its answers to calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// That people are asked its questions.
    pub questions: bool,
    /// That its tasks are waited for.
    pub tasks: bool,
    /// That the operator's model answers its requests.
    pub sampling: bool,
}

/// Recovery window after an abnormal end: doubles from `initial` up to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The first window.
    pub initial: Duration,
    /// The longest window.
    pub max: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: BACKOFF_INITIAL, max: BACKOFF_MAX }
    }
}

/// The raw-envelope policy of an upstream, with the file's default folded in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawEnvelope {
    default: bool,
    tools: BTreeMap<String, bool>,
}

impl RawEnvelope {
    /// Whether results of this tool carry `:raw`: the tool's own setting, else the upstream's, else the file's.
    pub fn for_tool(&self, tool: &str) -> bool {
        self.tools.get(tool).copied().unwrap_or(self.default)
    }
}

impl UpstreamConfig {
    /// An upstream with defaults everywhere but for name and transport, as tests and embedders need it.
    pub fn new(name: impl Into<String>, transport: Transport) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            capabilities: Vec::new(),
            required: true,
            tools: NameFilter::default(),
            resources: NameFilter::default(),
            prompts: NameFilter::default(),
            approval: ApprovalPolicy::default(),
            pin: PinPolicy::default(),
            pins: None,
            raw_envelope: RawEnvelope::default(),
            max_concurrency: MAX_CONCURRENCY,
            backoff: Backoff::default(),
            log_level: None,
            roots: RootsConfig::NotOffered,
            offered: Offered::default(),
            serial: false,
            max_connections: MAX_CONNECTIONS,
            sampling: false,
            transport,
            unset: None,
        }
    }

    /// Whether an entry with these credentials is the same as another one: keys, secrets, and what the files hold that it names. A
    /// document of an `openapi` entry is not looked at.
    pub fn is_same(
        &self,
        credentials: &CredentialStore,
        (other, of_other): (&UpstreamConfig, &CredentialStore),
    ) -> bool {
        if self != other {
            return false;
        }
        let is_same = |binding: &str| credentials.get(binding) == of_other.get(binding);
        match self.transport.oauth() {
            // Which of them it takes is not looked into.
            Some(_) => credentials == of_other,
            None => {
                let mut emitters = self.transport.auth().into_iter().flat_map(|auth| &auth.emitters);
                emitters.all(|emitter| is_same(&emitter.binding))
            }
        }
    }

    /// Whether a connection that was opened by another entry serves this one: they differ at most in what is read of the entry alone,
    /// which are description, filters, approvals, pins, envelopes and whether it is required.
    pub fn connects_as(
        &self,
        credentials: &CredentialStore,
        other: (&UpstreamConfig, &CredentialStore),
    ) -> bool {
        let of_other = other.0.clone();
        let as_other = UpstreamConfig {
            description: of_other.description,
            capabilities: of_other.capabilities,
            required: of_other.required,
            tools: of_other.tools,
            resources: of_other.resources,
            prompts: of_other.prompts,
            approval: of_other.approval,
            pin: of_other.pin,
            pins: of_other.pins,
            raw_envelope: of_other.raw_envelope,
            ..self.clone()
        };
        as_other.is_same(credentials, other)
    }

    /// Holds its tools to a lock as `pin` says; `None` if there is no lock.
    pub fn hold_to(&mut self, lock: Option<&PinLock>) {
        let refuses = self.pin == PinPolicy::Refuse;
        let accepted = lock.and_then(|lock| lock.upstreams.get(&self.name).cloned());
        let holds = self.pin != PinPolicy::Off && (refuses || lock.is_some());
        self.pins = holds.then(|| Arc::new(UpstreamPins { refuses, accepted }));
    }

    pub(super) fn parse(
        name: &str,
        value: &Value,
        context: &EntryContext<'_>,
        resolved: &mut Vec<Secret>,
        warnings: &mut Vec<ConfigWarning>,
    ) -> Result<Self, ConfigError> {
        if name.is_empty() || name.contains(char::is_control) {
            return Err(ConfigError::upstream_verbatim(
                name,
                format_args!(
                    "upstreams has the name {name:?}; a name is text without control characters, not empty"
                ),
            ));
        }
        let Value::Object(map) = value else { return Err(ConfigError::upstream(name, "must be an object")) };
        let fields = &Fields::new(name, map);
        let transport = transport(fields, context, resolved, warnings)?;
        let backoff = Backoff {
            initial: fields.millis("backoff_initial_ms")?.unwrap_or(BACKOFF_INITIAL),
            max: fields.millis("backoff_max_ms")?.unwrap_or(BACKOFF_MAX),
        };
        let upstream = Self {
            description: fields.string("description")?.unwrap_or_default().to_owned(),
            capabilities: fields.strings("capabilities")?.unwrap_or_default(),
            required: fields.bool("required")?.unwrap_or(true),
            tools: NameFilter::parse(fields, ["allow_tools", "deny_tools"])?,
            resources: NameFilter::parse(fields, ["allow_resources", "deny_resources"])?,
            prompts: NameFilter::parse(fields, ["allow_prompts", "deny_prompts"])?,
            approval: ApprovalPolicy::parse(fields, &context.approval)?,
            pin: PinPolicy::parse(fields)?,
            raw_envelope: raw_envelope(fields, context.raw_envelope)?,
            max_concurrency: fields
                .either(["max_concurrency", "pool_size"], Fields::positive)?
                .unwrap_or(MAX_CONCURRENCY),
            backoff: Backoff { max: backoff.max.max(backoff.initial), ..backoff },
            ..Self::new(name, transport)
        };
        let mut upstream = match upstream.transport {
            Transport::Stdio(_) | Transport::Http(_) => {
                let (log_level, roots) = (log_level(fields)?, RootsConfig::parse(fields)?);
                let [serial, sampling] =
                    [fields.bool("serial")?, fields.bool("sampling")?].map(|key| key.unwrap_or(false));
                let max_connections = fields.positive("max_connections")?.unwrap_or(MAX_CONNECTIONS);
                Self { log_level, roots, serial, sampling, max_connections, ..upstream }
            }
            Transport::OpenApi(_) => upstream,
        };
        fields.get("disabled");
        if let Some(why) = upstream.transport.auth().and_then(|auth| auth.unset(context.store)) {
            fields.lacks(why.to_owned())?;
        }
        // Until a lock is read, nothing is accepted.
        upstream.hold_to(None);
        upstream.unset = fields.unset();
        warnings.extend(unknown_keys::judge(fields, upstream.transport.as_str())?);
        if let Some(why) = &upstream.unset {
            warnings.push(ConfigWarning::new(
                "upstream_not_loaded",
                Some(name),
                format_args!("upstream {name} is not required and is left out: {why}"),
            ));
        }
        if LOCAL_NAMESPACES.contains(&name) {
            warnings.push(ConfigWarning::new(
                "upstream_name_shadowed",
                Some(name),
                format_args!("upstream {name} has the name of a local namespace or class, which dir and doc show instead"),
            ));
        }
        Ok(upstream)
    }
}

/// How the upstream is reached.
fn transport(
    fields: &Fields<'_>,
    context: &EntryContext<'_>,
    resolved: &mut Vec<Secret>,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<Transport, ConfigError> {
    let LoadOptions { env, base_dir, own_exe } = *context.options;
    match fields.get("transport") {
        None => Err(fields.error(format_args!("requires explicit transport; use {TRANSPORTS}"))),
        Some(Value::String(word)) => match word.as_str() {
            "mcp_stdio" => {
                let entry = StdioConfig::parse(fields, env, &context.withheld, resolved)?;
                mistakes::refuse(fields.upstream, &entry, env)?;
                warnings.extend(mistakes::suspect(fields.upstream, &entry));
                if let Some(own) = own_exe {
                    refuse_own_executable(fields.upstream, &entry, own)?;
                }
                Ok(Transport::Stdio(entry))
            }
            "mcp_http" | "mcp_sse" => {
                let old = word == "mcp_sse";
                Ok(Transport::Http(HttpConfig::parse(fields, env, context.store, base_dir, old, resolved)?))
            }
            "openapi" => {
                let store = context.store;
                Ok(Transport::OpenApi(OpenApiConfig::parse(
                    fields, env, store, base_dir, resolved, warnings,
                )?))
            }
            "stdio" | "http" => {
                Err(fields.error(format_args!("uses old transport {word:?}; use mcp_stdio or mcp_http")))
            }
            _ => Err(fields.error(format_args!("has unsupported transport {word:?}; use {TRANSPORTS}"))),
        },
        Some(other) => Err(fields.error(format_args!("has unsupported transport {other}; use {TRANSPORTS}"))),
    }
}

fn log_level(fields: &Fields<'_>) -> Result<Option<LogLevel>, ConfigError> {
    let Some(word) = fields.string("log_level")? else { return Ok(None) };
    match LogLevel::from_name(word) {
        Some(level) => Ok(Some(level)),
        None => {
            Err(fields.error(format_args!("log_level must be one of {}, got {word:?}", LogLevel::names())))
        }
    }
}

fn raw_envelope(fields: &Fields<'_>, inherited: bool) -> Result<RawEnvelope, ConfigError> {
    let default = fields.bool("raw_envelope")?.unwrap_or(inherited);
    let mut tools = BTreeMap::new();
    for (tool, value) in fields.object("tools")?.into_iter().flatten() {
        match value.get("raw_envelope") {
            None if value.is_object() => {}
            Some(Value::Bool(flag)) => {
                tools.insert(tool.clone(), *flag);
            }
            _ => {
                return Err(fields
                    .error(format_args!("tools {tool:?} must be an object {{\"raw_envelope\": boolean}}")));
            }
        }
    }
    Ok(RawEnvelope { default, tools })
}
