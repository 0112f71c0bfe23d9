//! The policy for recording programs and data, with the redactor for their secrets.

pub mod payloads;

use ptc_host::credentials::Redactor;

use ptc_protocol::settings::PayloadPolicy;

/// The policy for recording programs and data, with the redactor for their secrets.
#[derive(Debug, Clone)]
pub struct Recording {
    /// The operator's choice.
    pub policy: PayloadPolicy,
    /// The redactor that knows the secrets.
    pub redactor: Redactor,
}

impl Recording {
    /// The same policy, with the redactor for data that `principal` may see.
    pub(crate) fn for_principal(&self, principal: &str) -> Self {
        Self { redactor: self.redactor.for_principal(Some(principal)), ..self.clone() }
    }

    /// The same policy, with the redactor for files of the operator.
    pub fn for_log(&self) -> Self {
        Self { redactor: self.redactor.for_log(), ..self.clone() }
    }
}
