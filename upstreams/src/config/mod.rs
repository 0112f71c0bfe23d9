//! The upstreams file: locating, reading, and fully validating it before anything starts.
//!
//! [`locate`] finds the file, and [`UpstreamsConfig::load`] reads it. The result is validated and resolved: names are unique,
//! URLs parse, `${VAR}` placeholders of child environments are filled in, and credentials are in the [credential
//! store](ptc_secret::credentials::CredentialStore) and fit their emitters. A [`ConfigError`] is a sentence for the operator; a
//! [`ConfigWarning`] reports a likely mistake.
//!
//! ```text
//! {"credentials": {NAME: binding}, "raw_envelope": bool, "approval": {…},
//!  "upstreams": {NAME: {"transport": "mcp_stdio" | "mcp_http" | "mcp_sse" | "openapi", …}}}
//! ```
//!
//! Comments and trailing commas are read over. A file in which an MCP client keeps its servers is read as well
//! ([`clients`]).

pub mod clients;

mod approval;
mod ca_file;
mod child_env;
mod duplicates;
mod fields;
mod file;
mod home;
mod jsonc;
mod locate;
mod mistakes;
mod name_filter;
mod oauth;
mod options;
mod own_executable;
mod pins;
mod roots;
mod routing;
mod sampling;
mod schema;
#[cfg(test)]
mod tests;
mod transports;
mod unknown_keys;
mod upstream;
mod urls;

pub use approval::ApprovalPolicy;
pub use approval::hint;
pub use child_env::named_variables;
pub use file::UpstreamsConfig;
pub use jsonc::without_comments;
pub use locate::{ConfigLocation, NamedBy, REPL_VARIABLE, SERVER_VARIABLE, default_file, locate};
pub use name_filter::NameFilter;
pub use oauth::{
    OAuthClient, OAuthConfig, OAuthGrant, OAuthIdentity, OAuthIdp, OAuthKey, OAuthProof, OAuthRedirect,
    OAuthRelax, OAuthSubject,
};
pub use options::LoadOptions;
pub use pins::{
    ChangedLine, ChangedTool, DiffLine, PinLock, PinPolicy, PinReport, PinnedTool, TEXT_BYTES,
    ToolDefinition, ToolFact, UpstreamPins, lock_file, write_tools,
};
pub use ptc_base::config_error::{ConfigError, ConfigPart, ConfigWarning};
pub use ptc_base::environment::ProcessEnv;
pub use ptc_base::name_pattern::NamePattern;
pub use roots::RootsConfig;
pub use routing::Routing;
pub use schema::{FileFault, file_faults};
pub use transports::{
    HttpConfig, OpenApiConfig, OperationOverride, Protocol, SchemaSource, StdioConfig, Transport,
};
pub use upstream::{Backoff, Offered, RawEnvelope, UpstreamConfig};
