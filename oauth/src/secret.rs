//! Secret text that never prints.

use std::fmt;
use std::sync::Arc;

use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// The printed form of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Secret text: tokens, codes, verifiers, client secrets, assertions, and any text that holds one (`auth.md` 15). `Debug` and
/// `Display` print [`REDACTED`], equality takes a time that does not depend on the content, and the bytes are overwritten when
/// the last clone is dropped. There is no `Serialize`: a record that is stored names [`stored`] for its field.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Takes ownership of secret text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(text.into())))
    }

    /// The text itself, for who sends or stores it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// `#[serde(with = "secret::stored")]` for a secret of a stored record.
pub mod stored {
    use super::Secret;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the text itself.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose())
    }

    /// Reads the text.
    ///
    /// # Errors
    /// Anything but a string.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::new)
    }
}

/// [`stored`] for a secret that may be absent.
pub mod stored_option {
    use super::Secret;
    use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

    /// Writes the text itself, or null.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(secret: &Option<Secret>, to: S) -> Result<S::Ok, S::Error> {
        secret.as_ref().map(Secret::expose).serialize(to)
    }

    /// Reads the text, or null.
    ///
    /// # Errors
    /// Anything but a string or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_prints() {
        let secret = Secret::new("hunter2-hunter2");
        let shown = format!("{secret} {secret:?} {:?}", Some(&secret));
        assert_eq!(shown, "[REDACTED] [REDACTED] Some([REDACTED])");
    }

    #[test]
    fn equality_is_exact() {
        let secret = Secret::new("token-token");
        assert_eq!(secret, Secret::new("token-token"));
        for other in ["token-tokem", "token", ""] {
            assert_ne!(secret, Secret::new(other), "{other}");
        }
    }
}
