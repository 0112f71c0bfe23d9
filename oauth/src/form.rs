//! `application/x-www-form-urlencoded`, written.

use url::form_urlencoded;
use zeroize::Zeroizing;

use crate::secret::Secret;

/// Parameters in the order in which they are sent.
#[derive(Default)]
pub(crate) struct FormBody(Zeroizing<String>);

impl FormBody {
    /// A form with its first parameter.
    pub(crate) fn of(name: &str, value: &str) -> Self {
        Self::default().with(name, value)
    }

    /// Adds a parameter.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        let text = std::mem::take(&mut *self.0);
        // Room for the worst case, so that no half-written copy of a secret is left behind by growth.
        let mut room = Zeroizing::new(String::with_capacity(text.len() + 3 * (name.len() + value.len()) + 2));
        room.push_str(&Zeroizing::new(text));
        if !room.is_empty() {
            room.push('&');
        }
        room.extend(form_urlencoded::byte_serialize(name.as_bytes()));
        room.push('=');
        room.extend(form_urlencoded::byte_serialize(value.as_bytes()));
        Self(room)
    }

    /// Adds a parameter if there is one.
    pub(crate) fn with_some(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The whole body.
    pub(crate) fn into_secret(mut self) -> Secret {
        Secret::new(std::mem::take(&mut *self.0))
    }
}

/// One value, encoded.
pub(crate) fn encoded(value: &str) -> Zeroizing<String> {
    Zeroizing::new(form_urlencoded::byte_serialize(value.as_bytes()).collect())
}
