//! What the crates above the machine share.
//!
//! | Module | Content |
//! |---|---|
//! | [`time`], [`pace`] | the clock, which tests can set ahead; cooperative yielding |
//! | [`memory`] | the memory that all programs of a process share |
//! | [`sync`] | locks without poison |
//! | [`trace`] | the trace of a request, and the receiver of its spans |
//! | [`name_pattern`] | names with `*` |
//! | [`text`], [`visible`], [`similar`] | truncation and literals; hidden characters made visible; similar names for error messages |
//! | [`line_diff`] | what differs between two lists of lines |
//! | [`json`] | JSON values |
//! | [`codec`] | the encoding of records, of states that travel, and of messages |
//! | [`secret`], [`redactor`] | texts that only a transport may read; their redaction everywhere else |
//! | [`environment`], [`former_variables`] | environment variables, and their former names |
//! | [`config_error`] | faults of configuration |
//! | [`ordinary_file`] | bounded reading of configuration and key files |

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

#[cfg(feature = "codec")]
pub mod codec;
pub mod config_error;
pub mod environment;
pub mod former_variables;
pub mod json;
pub mod line_diff;
pub mod memory;
pub mod name_pattern;
pub mod ordinary_file;
pub mod pace;
pub mod redactor;
pub mod secret;
pub mod similar;
pub mod sync;
pub mod text;
pub mod time;
pub mod trace;
pub mod visible;
