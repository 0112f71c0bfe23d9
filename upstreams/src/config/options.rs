//! The inputs for parsing a file and its entries.

use std::collections::BTreeSet;
use std::path::Path;

use super::approval::ApprovalPolicy;
use ptc_base::environment::ProcessEnv;
use ptc_secret::credentials::CredentialStore;

/// The inputs for reading a file.
#[derive(Clone, Copy, Debug)]
pub struct LoadOptions<'a> {
    /// The source of credentials, `${VAR}` and the environments of children.
    pub env: &'a ProcessEnv,
    /// The base folder of a relative `schema_file`; without one the path is used unchanged.
    pub base_dir: Option<&'a Path>,
    /// The running executable, which no upstream may start; `None` leaves that check out (for embedders).
    pub own_exe: Option<&'a Path>,
}

/// The inputs for parsing a file's entries.
pub(super) struct EntryContext<'a> {
    pub(super) options: &'a LoadOptions<'a>,
    pub(super) store: &'a CredentialStore,
    /// Environment variables that credentials are read from.
    pub(super) withheld: BTreeSet<String>,
    pub(super) raw_envelope: bool,
    /// The approvals of entries that say nothing of them.
    pub(super) approval: ApprovalPolicy,
}
