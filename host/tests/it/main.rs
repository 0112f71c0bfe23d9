//! The crate from outside: programs that ask people or sleep, sign-ins, OpenAPI upstreams.

// Programs that leave their process while they wait for people need sessions as bytes.
#[cfg(feature = "saved-sessions")]
mod ask;
#[cfg(feature = "saved-sessions")]
mod kept_programs;
mod oauth;
mod openapi;
#[cfg(feature = "saved-sessions")]
mod questions;
mod sleeping;
