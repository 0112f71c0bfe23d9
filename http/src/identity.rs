//! Bodies without decoding, in a build without decoders: the client sends `accept-encoding: identity`, and refuses an answer in
//! another coding.

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use super::HttpError;

/// The decoder of a body. There is none.
pub(super) enum Decoder {}

/// The result of decoding.
#[expect(dead_code, reason = "there is no decoder that makes one")]
pub(super) enum DecodeStep {
    Decoded(Bytes),
    Nothing { taken: usize },
    Drained,
}

impl Decoder {
    /// Refuses a body that is not as it is.
    ///
    /// # Errors
    /// Any coding.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, HttpError> {
        match headers.get(CONTENT_ENCODING).map(|value| String::from_utf8_lossy(value.as_bytes())) {
            None => Ok(None),
            Some(coding) if matches!(coding.trim(), "" | "identity") => Ok(None),
            Some(coding) => {
                let text = format!("content-encoding {coding:.40} although identity was asked for");
                Err(HttpError::Malformed(text))
            }
        }
    }

    pub(super) fn feed(&mut self, _: &Bytes) {
        match *self {}
    }

    pub(super) fn most_input(&self, _: u64) -> u64 {
        match *self {}
    }

    pub(super) fn too_much_for_nothing(&self) -> HttpError {
        match *self {}
    }

    pub(super) fn piece(&mut self) -> Result<DecodeStep, HttpError> {
        match *self {}
    }

    pub(super) fn end(&mut self) -> Result<Option<Bytes>, HttpError> {
        match *self {}
    }
}
