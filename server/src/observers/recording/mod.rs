//! The policy for recording programs and data, with the redactor for their secrets.

pub mod payloads;

use ptc_host::credentials::Redactor;

use crate::settings::PayloadPolicy;

/// The policy for recording programs and data, with the redactor for their secrets.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The operator's choice.
    pub policy: PayloadPolicy,
    /// The redactor that knows the secrets.
    pub redactor: Redactor,
}
