//! How much of programs and data may be recorded, and who takes secrets out of it.

pub mod payloads;

use ptc_host::credentials::Redactor;

use crate::settings::PayloadPolicy;

/// How much of programs and data may be recorded, and who takes secrets out of it.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The operator's choice.
    pub policy: PayloadPolicy,
    /// Knows the secrets.
    pub redactor: Redactor,
}
