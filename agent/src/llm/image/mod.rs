//! Images in a conversation: from users, from tools and from models.

mod blocks;

pub(crate) use blocks::{lift, lower, may_hold};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Uri;
use ptc_base::json::{Value as Json, json};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most bytes of one image: every provider accepts this size.
pub const MAX_IMAGE_BYTES: usize = 5 << 20;
/// Longest address of an image.
const MAX_URL: usize = 8 << 10;

/// An image: its bytes, or where it is.
///
/// ```
/// use ptc_agent::llm::Image;
///
/// let png = b"\x89PNG\r\n\x1a\n and what follows";
/// let image = Image::from_bytes(png.to_vec())?;
/// assert_eq!(image.media_type(), Some("image/png"));
/// assert!(Image::from_bytes(&b"%PDF-1.7"[..]).is_err());
/// assert!(Image::from_url("https://example.com/cat.jpg").is_ok());
/// # Ok::<_, ptc_agent::llm::ImageError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RecordedImage", into = "RecordedImage")]
pub struct Image(ImageSource);

#[derive(Clone, PartialEq, Eq)]
enum ImageSource {
    Bytes { kind: ImageFormat, bytes: Bytes },
    Url(String),
}

/// The formats that every provider reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ImageFormat {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl ImageFormat {
    /// By the first bytes.
    fn of(bytes: &[u8]) -> Option<ImageFormat> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(ImageFormat::Png),
            [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::Webp),
            _ => None,
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            ImageFormat::Png => "image/png",
            ImageFormat::Jpeg => "image/jpeg",
            ImageFormat::Gif => "image/gif",
            ImageFormat::Webp => "image/webp",
        }
    }
}

/// Why something is no image that models take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Neither PNG, JPEG, GIF nor WebP.
    #[error("the image is neither PNG, JPEG, GIF nor WebP, which are the formats that models read")]
    Unsupported,
    /// Too many bytes.
    #[error("the image is {bytes} bytes, more than the {MAX_IMAGE_BYTES} that models take: make it smaller")]
    TooLarge {
        /// How many.
        bytes: usize,
    },
    /// An address that is none, or none of `https`, `http` and `s3`.
    #[error("the image's address must be an https, http or s3 URL of at most {MAX_URL} bytes")]
    Url,
    /// Text that is no base64.
    #[error("the image's data is not base64")]
    Base64,
}

impl Image {
    /// An image of these bytes. Its format is read from them.
    ///
    /// # Errors
    /// Another format than PNG, JPEG, GIF and WebP, or more than [`MAX_IMAGE_BYTES`].
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Image, ImageError> {
        let bytes = bytes.into();
        if bytes.len() > MAX_IMAGE_BYTES {
            return Err(ImageError::TooLarge { bytes: bytes.len() });
        }
        let kind = ImageFormat::of(&bytes).ok_or(ImageError::Unsupported)?;
        Ok(Image(ImageSource::Bytes { kind, bytes }))
    }

    /// An image of bytes in base64.
    ///
    /// # Errors
    /// Those of [`Image::from_bytes`], and text that is no base64.
    pub fn from_base64(text: &str) -> Result<Image, ImageError> {
        // Before it is decoded: four characters are three bytes.
        if text.len() / 4 * 3 > MAX_IMAGE_BYTES + 3 {
            return Err(ImageError::TooLarge { bytes: text.len() / 4 * 3 });
        }
        let bytes = STANDARD.decode(text.trim()).map_err(|_| ImageError::Base64)?;
        Image::from_bytes(bytes)
    }

    /// An image that a model made, as base64: as large as its answer may be.
    fn unbounded(text: &str) -> Result<Image, ImageError> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| ImageError::Base64)?;
        let kind = ImageFormat::of(&bytes).ok_or(ImageError::Unsupported)?;
        Ok(Image(ImageSource::Bytes { kind, bytes: bytes.into() }))
    }

    /// An image that a model made, as base64, or none if it cannot be read: the rest of the answer counts.
    pub(crate) fn made(base64: &str) -> Option<Image> {
        Image::unbounded(base64).inspect_err(unreadable).ok()
    }

    /// An image that a model made, as a `data:` URL or at an address.
    pub(crate) fn made_at(url: &str) -> Option<Image> {
        let image = match url.strip_prefix("data:") {
            None => Image::from_url(url),
            Some(data) => match data.split_once(";base64,") {
                Some((_, base64)) => Image::unbounded(base64),
                None => Err(ImageError::Base64),
            },
        };
        image.inspect_err(unreadable).ok()
    }

    /// An image that the provider fetches itself. Not every provider does.
    ///
    /// # Errors
    /// An address that is no `https`, `http` or `s3` URL.
    pub fn from_url(url: &str) -> Result<Image, ImageError> {
        let fits = url.len() <= MAX_URL
            && url.parse::<Uri>().is_ok_and(|uri| {
                matches!(uri.scheme_str(), Some("https" | "http" | "s3")) && uri.host().is_some()
            });
        if fits { Ok(Image(ImageSource::Url(url.to_owned()))) } else { Err(ImageError::Url) }
    }

    /// Its media type, such as `image/png`; `None` for an address.
    #[must_use]
    pub fn media_type(&self) -> Option<&'static str> {
        match &self.0 {
            ImageSource::Bytes { kind, .. } => Some(kind.media_type()),
            ImageSource::Url(_) => None,
        }
    }

    /// Its bytes; `None` for an address.
    #[must_use]
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.0 {
            ImageSource::Bytes { bytes, .. } => Some(bytes),
            ImageSource::Url(_) => None,
        }
    }

    /// Its address, if it is given by one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        match &self.0 {
            ImageSource::Bytes { .. } => None,
            ImageSource::Url(url) => Some(url),
        }
    }

    /// The block that holds an image in a tool's result, in the form of MCP: a model that sees images is given the image, any
    /// other reads a line that describes it.
    #[must_use]
    pub fn to_block(&self) -> Json {
        match self.parts() {
            Ok((media_type, data)) => json!({"type": "image", "data": data, "mimeType": media_type}),
            Err(url) => json!({"type": "image", "url": url}),
        }
    }

    /// Media type and base64, or the address.
    pub(crate) fn parts(&self) -> Result<(&'static str, String), &str> {
        match &self.0 {
            ImageSource::Bytes { kind, bytes } => Ok((kind.media_type(), STANDARD.encode(bytes))),
            ImageSource::Url(url) => Err(url),
        }
    }

    /// Its address, or a `data:` URL of its bytes.
    pub(crate) fn data_url(&self) -> String {
        match self.parts() {
            Ok((media_type, data)) => format!("data:{media_type};base64,{data}"),
            Err(url) => url.to_owned(),
        }
    }
}

fn unreadable(why: &ImageError) {
    tracing::warn!(target: "ptc_runner.llm", %why, "an image that the model made is left out");
}

/// A description in a few words: no bytes and no address, which may be long or secret.
impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ImageSource::Bytes { kind, bytes } => write!(f, "{}, {} bytes", kind.media_type(), bytes.len()),
            ImageSource::Url(_) => f.write_str("at an address"),
        }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({self})")
    }
}

/// An image as recordings hold it.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RecordedImage {
    Bytes { media_type: String, data: String },
    Url { url: String },
}

impl From<Image> for RecordedImage {
    fn from(image: Image) -> RecordedImage {
        match image.parts() {
            Ok((media_type, data)) => RecordedImage::Bytes { media_type: media_type.to_owned(), data },
            Err(url) => RecordedImage::Url { url: url.to_owned() },
        }
    }
}

impl TryFrom<RecordedImage> for Image {
    type Error = ImageError;

    fn try_from(written: RecordedImage) -> Result<Image, ImageError> {
        match written {
            RecordedImage::Bytes { data, .. } => Image::unbounded(&data),
            RecordedImage::Url { url } => Image::from_url(&url),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The first bytes of a PNG; no reader looks further.
    pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n....";

    #[test]
    fn formats_are_read_from_the_bytes() {
        for (bytes, media_type) in [
            (PNG, Some("image/png")),
            (b"\xff\xd8\xff\xe0..", Some("image/jpeg")),
            (b"GIF89a..", Some("image/gif")),
            (b"RIFF....WEBPVP8 ", Some("image/webp")),
            (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
            (b"BM......", None),
            (b"", None),
        ] {
            let image = Image::from_bytes(bytes);
            assert_eq!(image.as_ref().ok().and_then(Image::media_type), media_type, "{bytes:?}");
            assert_eq!(image.err(), media_type.is_none().then_some(ImageError::Unsupported));
        }
    }

    #[test]
    fn images_are_bounded() {
        let mut large = PNG.to_vec();
        large.resize(MAX_IMAGE_BYTES, 0);
        assert!(Image::from_bytes(large.clone()).is_ok());
        assert!(Image::from_base64(&STANDARD.encode(&large)).is_ok());
        large.push(0);
        let too_large = ImageError::TooLarge { bytes: MAX_IMAGE_BYTES + 1 };
        assert_eq!(Image::from_bytes(large.clone()).unwrap_err(), too_large);
        assert_eq!(Image::from_base64(&STANDARD.encode(&large)).unwrap_err(), too_large);
        assert!(Image::from_base64(&"A".repeat(MAX_IMAGE_BYTES * 2)).is_err());
    }

    #[test]
    fn addresses_are_checked() {
        for url in ["https://h/x.png?a=b", "http://h/x", "s3://bucket/key"] {
            assert_eq!(Image::from_url(url).unwrap().url(), Some(url));
        }
        for url in ["", "h/x.png", "file:///etc/passwd", "javascript:x", "data:image/png;base64,AA=="] {
            assert_eq!(Image::from_url(url), Err(ImageError::Url), "{url}");
        }
        let data = Image::from_bytes(PNG).unwrap().data_url();
        assert_eq!(Image::made_at(&data), Image::from_bytes(PNG).ok());
        assert_eq!(Image::made_at("data:image/png,x"), None);
    }

    #[test]
    fn recordings_hold_them_and_debug_output_does_not() {
        for image in [Image::from_bytes(PNG).unwrap(), Image::from_url("https://h/secret").unwrap()] {
            let text = serde_json::to_string(&image).unwrap();
            assert_eq!(serde_json::from_str::<Image>(&text).unwrap(), image);
            assert!(!format!("{image:?} {image}").contains("secret"), "{image:?}");
        }
        assert_eq!(format!("{:?}", Image::from_bytes(PNG).unwrap()), "Image(image/png, 12 bytes)");
        assert!(serde_json::from_str::<Image>(r#"{"media_type":"image/png","data":"QQ=="}"#).is_err());
    }
}
