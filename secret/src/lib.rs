//! Secrets in use: the headers that they become, and sealing under the operator's secret, with the digests and files that it needs.
//!
//! | Module | Content |
//! |---|---|
//! | [`credentials`] | the secrets of the upstreams file and the headers that they become; their redaction |
//! | [`sealing`] | encryption and signatures under the operator's secret |
//! | [`digest`], [`canonical_json`] | SHA-256; the canonical form of JSON for digests |
//! | [`private_file`], [`private_folder`] | files that are nobody else's, and records in folders of them |
//! | [`folder_hold`] | the turn of a process to change files of a folder |

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod canonical_json;
pub mod credentials;
pub mod digest;
pub mod folder_hold;
pub mod private_file;
pub mod private_folder;
pub mod sealing;
