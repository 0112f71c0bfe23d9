//! Setting `ptc` up: an upstreams file from what MCP clients have already, and `ptc` in a client's own file.
//!
//! | Command | What it changes |
//! |---|---|
//! | `ptc add`, `ptc remove` | one entry of the upstreams file |
//! | `ptc import` | the upstreams file, by the servers of clients |
//! | `ptc init` | a client's file, by one entry that starts `ptc` |
//!
//! Files keep their comments, their order and all that is not touched. What is overwritten is kept beside it first.

pub mod add;
pub mod import;
pub mod init;
pub mod remove;

mod client_entry;
mod clients;
mod found;
mod json_file;
mod merge;
mod stored;
mod upstreams_file;

#[cfg(test)]
mod tests;
