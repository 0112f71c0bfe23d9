//! Flags, environment variables and what they mean.
//!
//! [`flags`] is the one table of all options. [`command`] makes clap arguments of it, [`values`] reads one option under
//! the precedence command line > environment > default, and [`settings`] holds what comes out: plain typed fields.
//! Nothing else in the server looks at an argument or at a `PTC_RUNNER_MCP_…` variable.

pub mod command;
pub mod flags;
pub mod values;

mod http;
mod memory;
mod resolve;

#[cfg(test)]
mod tests;
