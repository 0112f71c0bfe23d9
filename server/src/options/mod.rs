//! Flags, environment variables and their interpretation.
//!
//! [`flags`] is the only table of options. [`command`] turns it into clap arguments. [`values`] reads one option with
//! the precedence command line > environment > settings file ([`settings_file`]) > default. [`ptc_protocol::settings`] holds the result: plain typed fields. No
//! other part of the server reads an argument or a `PTC_…` variable.

pub mod command;
pub mod flags;
pub mod values;
pub(crate) mod variables;

mod access_tokens;
pub(crate) mod draft_store;
pub(crate) mod exposed;
mod http;
mod keyring;
mod memory;
mod otlp;
mod resolve;
pub mod settings_file;
pub(crate) mod sign_in_store;
pub(crate) mod source;
pub(crate) mod state;
mod webhook;

#[cfg(test)]
mod tests;

pub use resolve::resolve;
pub(crate) use resolve::{WRITABLE, cache_folder, sources};
pub use source::SettingsSource;
