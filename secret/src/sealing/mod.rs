//! The operator's secret, and sealing with it (state.md 7).

mod seal;
mod secret;
mod signature;

pub use seal::{NotOpened, Seals};
pub use secret::random;
pub use secret::{Secret, SecretError};
