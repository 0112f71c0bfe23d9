//! A caller with what it may do.

use std::sync::Arc;

use super::caller::Caller;
use super::grant::Grant;
use super::limits::Limits;
use super::quota::Quotas;

/// A caller, and what it may do by the policy that held when it was admitted. A program keeps that of its beginning.
#[derive(Debug)]
pub struct Authority {
    /// Who calls.
    pub caller: Caller,
    /// What the caller may do; callers that the same rules match share it.
    pub grant: Arc<Grant>,
    /// What it has used of its limits, shared by all authorities of its name; `None` if it has no limits.
    pub quotas: Option<Arc<Quotas>>,
    /// Under which of the policies of a server: [`CurrentPolicy`](super::current::CurrentPolicy) counts them.
    pub(super) generation: u64,
}

impl Authority {
    /// The limits of the caller, with what it has used of them, if it has limits.
    pub fn quotas(&self) -> Option<(&Arc<Quotas>, &Limits)> {
        Some((self.quotas.as_ref()?, self.grant.limits()))
    }
}
