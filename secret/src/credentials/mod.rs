//! Secrets: their sources, their use in request headers, and their redaction everywhere else.
//!
//! A *binding* names a secret of the upstreams file (`credentials`). An *emitter* in an HTTP upstream's `auth` list maps a
//! binding to a header. Configuration, connection state, logs and records hold binding names only. The text itself is in the
//! [`CredentialStore`] as [`Secret`]s, and `HttpAuth::headers` reads it only when a request is written. The [`Redactor`]
//! scrubs secrets that an upstream may echo.

mod binding;
mod emitter;
mod headers;

pub use binding::CredentialStore;
pub(crate) use binding::{Credential, SchemeHint};
pub use emitter::{HttpAuth, basic_authorization, proxy_authorization};
pub use ptc_base::redactor::{EVERYONE, MIN_SECRET_BYTES, NoRoom, PROCESS, Redactor};
pub use ptc_base::secret::{REDACTED, Secret};
