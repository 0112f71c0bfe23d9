//! A caller with what it may do.

use std::sync::Arc;

use super::caller::Caller;
use super::grant::Grant;

/// A caller, and what it may do by the policy that held when it was admitted. A program keeps that of its beginning.
#[derive(Debug)]
pub struct Authority {
    /// Who calls.
    pub caller: Caller,
    /// What the caller may do; callers that the same rules match share it.
    pub grant: Arc<Grant>,
    /// Under which of the policies of a server: [`CurrentPolicy`](super::current::CurrentPolicy) counts them.
    pub(super) generation: u64,
}
