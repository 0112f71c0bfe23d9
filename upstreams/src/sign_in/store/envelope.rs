//! The content of a record file: the key of the record, and its text, plain or sealed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{RecordKey, RecordKind, RecordText, SealingKeys, StoreError};

/// The version of this form.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Envelope<'a> {
    v: u32,
    kind: String,
    /// The parts of the key; left out where they are secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    key: Vec<String>,
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    record: Option<&'a RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
}

/// The bytes of the file. `None` if the text is no JSON, or cannot be sealed.
#[expect(clippy::disallowed_methods, reason = "entry point: encode()")]
pub(super) fn encode(
    key: &RecordKey,
    text: &str,
    keys: Option<&SealingKeys>,
) -> Option<zeroize::Zeroizing<Vec<u8>>> {
    let plain: &RawValue = serde_json::from_str(text).ok()?;
    let sealed = match keys {
        Some(keys) => Some(BASE64.encode(keys.seal(text, &key.associated_data())?)),
        None => None,
    };
    let secret = key.kind() == RecordKind::Pending;
    let envelope = Envelope {
        v: VERSION,
        kind: key.kind().as_str().to_owned(),
        key: if secret { Vec::new() } else { key.parts().to_vec() },
        record: sealed.is_none().then_some(plain),
        sealed,
    };
    serde_json::to_vec(&envelope).ok().map(zeroize::Zeroizing::new)
}

/// The text of the record in a file of this key.
#[expect(clippy::disallowed_methods, reason = "entry point: decode()")]
pub(super) fn decode(
    bytes: &[u8],
    key: &RecordKey,
    keys: Option<&SealingKeys>,
    path: impl FnOnce() -> String,
) -> Result<RecordText, StoreError> {
    let envelope = serde_json::from_slice::<Envelope<'_>>(bytes).ok().filter(|envelope| {
        let named = envelope.key.is_empty() || envelope.key == key.parts();
        envelope.v == VERSION && envelope.kind == key.kind().as_str() && named
    });
    match envelope {
        Some(Envelope { sealed: Some(sealed), .. }) => {
            let sealed = BASE64.decode(sealed).map_err(|_| StoreError::SealedWithAnotherKey)?;
            keys.and_then(|keys| keys.open(&sealed, &key.associated_data()))
                .ok_or(StoreError::SealedWithAnotherKey)
        }
        // What lies open although there is a key was written before there was one; the next write seals it.
        Some(Envelope { record: Some(record), .. }) => Ok(RecordText::new(record.get().to_owned())),
        _ => Err(StoreError::Malformed { path: path() }),
    }
}

/// The key that a file says is its record's.
#[expect(clippy::disallowed_methods, reason = "entry point: key_of()")]
pub(super) fn key_of(bytes: &[u8], kind: RecordKind) -> Option<RecordKey> {
    let envelope = serde_json::from_slice::<Envelope<'_>>(bytes).ok()?;
    (envelope.kind == kind.as_str() && !envelope.key.is_empty())
        .then_some(RecordKey { kind, parts: envelope.key })
}
