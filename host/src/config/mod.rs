//! The upstreams file: finding it, reading it, and checking every word of it before anything starts.
//!
//! [`locate`] says which file counts, [`UpstreamsConfig::load`] reads it. What comes out is checked and resolved:
//! names are unique, URLs parse, credentials have been read into the [credential store](crate::credentials::CredentialStore) and fit their emitters,
//! `${VAR}` placeholders of child environments are filled in. What is wrong is a [`ConfigError`], a sentence for the
//! operator; what is merely odd is a [`ConfigWarning`].
//!
//! ```text
//! {"credentials": {NAME: binding}, "raw_envelope": bool,
//!  "upstreams": {NAME: {"transport": "mcp_stdio" | "mcp_http" | "openapi", …}}}
//! ```

mod child_env;
mod duplicates;
mod fields;
mod file;
mod locate;
mod options;
mod own_executable;
#[cfg(test)]
mod tests;
mod tool_filter;
mod transports;
mod upstream;
mod urls;

pub use crate::config_error::{ConfigError, ConfigPart, ConfigWarning};
pub use crate::environment::ProcessEnv;
pub use file::UpstreamsConfig;
pub use locate::{ConfigLocation, NamedBy, REPL_VARIABLE, SERVER_VARIABLE, locate};
pub use options::LoadOptions;
pub use tool_filter::{ToolFilter, ToolPattern};
pub use transports::{
    HttpConfig, OpenApiConfig, OperationOverride, Protocol, SchemaSource, StdioConfig, Transport,
};
pub use upstream::{Backoff, RawEnvelope, UpstreamConfig};
