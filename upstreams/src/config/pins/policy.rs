//! The key `pin` of an upstream's entry.

use super::super::fields::Fields;
use ptc_base::config_error::ConfigError;

/// What becomes of tools that differ from the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinPolicy {
    /// The lock does not hold for the upstream.
    Off,
    /// They are told of, where there is a lock.
    #[default]
    Warn,
    /// They are withheld until a person accepts them. Without a lock that is all of them.
    Refuse,
}

impl PinPolicy {
    pub(in crate::config) fn parse(fields: &Fields<'_>) -> Result<Self, ConfigError> {
        match fields.string("pin")? {
            None => Ok(Self::default()),
            Some("off") => Ok(Self::Off),
            Some("warn") => Ok(Self::Warn),
            Some("refuse") => Ok(Self::Refuse),
            Some(other) => {
                Err(fields.error(format_args!("pin must be \"off\", \"warn\" or \"refuse\", got {other:?}")))
            }
        }
    }
}
