//! The operator's secret, and sealing with it (state.md 7).

mod seal;
mod secret;
mod signature;
mod store;

pub use seal::{NotOpened, Seals};
#[cfg(feature = "state")]
pub(super) use secret::random;
pub use secret::{Secret, SecretError};
pub use store::SealedState;
