//! Secrets: where they come from, how they become request headers, and how they are kept out of everything else.
//!
//! A *binding* names a secret of the upstreams file (`credentials`); an *emitter* of an HTTP upstream's `auth` list
//! names a binding and says which header it becomes. Configuration, connection state, logs and records hold binding
//! names only. The text itself lives in the [`CredentialStore`] as [`Secret`]s, and [`HttpAuth::headers`] opens it at
//! the moment a request is written. The [`Redactor`] scrubs whatever an upstream may echo.

mod binding;
mod emitter;
mod headers;
mod redactor;
mod secret;

pub use binding::{Credential, CredentialStore, SchemeHint};
pub use emitter::{AuthEmitter, AuthError, AuthScheme, HttpAuth};
pub use redactor::{MIN_SECRET_BYTES, Redactor};
pub use secret::{REDACTED, Secret};
