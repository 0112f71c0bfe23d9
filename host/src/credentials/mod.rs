//! Secrets: their sources, their use in request headers, and their redaction everywhere else.
//!
//! A *binding* names a secret of the upstreams file (`credentials`). An *emitter* in an HTTP upstream's `auth` list maps a
//! binding to a header. Configuration, connection state, logs and records hold binding names only. The text itself is in the
//! [`CredentialStore`] as [`Secret`]s, and `HttpAuth::headers` reads it only when a request is written. The [`Redactor`]
//! scrubs secrets that an upstream may echo.

#[cfg(feature = "upstreams")]
mod binding;
#[cfg(feature = "upstreams")]
mod emitter;
#[cfg(feature = "upstreams")]
mod headers;
mod redactor;
mod secret;

#[cfg(feature = "upstreams")]
pub use binding::CredentialStore;
#[cfg(feature = "upstreams")]
pub(crate) use binding::{Credential, SchemeHint};
#[cfg(feature = "upstreams")]
pub(crate) use emitter::{HttpAuth, basic_authorization, proxy_authorization};
#[cfg(feature = "upstreams")]
pub(crate) use redactor::{EVERYONE, MIN_SECRET_BYTES};
pub use redactor::{NoRoom, PROCESS, Redactor};
pub use secret::{REDACTED, Secret};
