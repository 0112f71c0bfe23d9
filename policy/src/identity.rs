//! Whose sign-in a call uses.

/// Whose sign-in at an upstream a call uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The caller's own.
    PerPrincipal,
    /// That of all callers.
    Shared,
}

impl Identity {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Identity::PerPrincipal => "per_principal",
            Identity::Shared => "shared",
        }
    }
}
