//! The operator's secret, and sealing with it (state.md 7).

mod keys;
mod seal;
mod secret;
mod signature;

pub use keys::SealingKeys;
pub use seal::{NotOpened, Seals};
pub use secret::random;
pub use secret::{Secret, SecretError};
