//! Images on the command line: those shown to the model, and those that it makes.

use super::screen::Screen;
use ptc_agent::llm::{Image, MAX_IMAGE_BYTES};
use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::path::Path;

/// Names that are tried for one image.
const MAX_NAMES: u32 = 10_000;

/// The images of `--image`, each a file or an address.
///
/// # Errors
/// One sentence for the operator.
pub(super) fn read(given: &[String]) -> Result<Vec<Image>, String> {
    given.iter().map(|one| read_one(one).map_err(|why| format!("--image {one}: {why}"))).collect()
}

#[expect(clippy::disallowed_methods, reason = "entry point: read_one()")]
fn read_one(given: &str) -> Result<Image, String> {
    if given.contains("://") {
        return Image::from_url(given).map_err(|error| error.to_string());
    }
    let file = std::fs::File::open(given).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    // One byte more shows that there are too many.
    let most = u64::try_from(MAX_IMAGE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    Image::from_bytes(bytes).map_err(|error| error.to_string())
}

/// Writes the images of the model into `folder`. Without one, reports that they are lost.
pub(super) fn keep(images: &[Image], folder: Option<&Path>, screen: &Screen) {
    for image in images {
        let Some(folder) = folder else {
            screen.note(&format!("the model made an image ({image}), which --image-dir would have kept"));
            continue;
        };
        match write(image, folder) {
            Ok(name) => screen.note(&format!("the model made an image ({image}): {name}")),
            Err(why) => screen.note(&format!("an image of the model ({image}) cannot be kept: {why}")),
        }
    }
}

/// Writes an image under the first free number.
fn write(image: &Image, folder: &Path) -> Result<String, String> {
    let (Some(bytes), Some(kind)) = (image.bytes(), image.media_type()) else {
        return Ok(image.url().unwrap_or_default().to_owned());
    };
    let ending = kind.strip_prefix("image/").unwrap_or(kind);
    for number in 1..=MAX_NAMES {
        let path = folder.join(format!("image-{number}.{ending}"));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes).map_err(|error| error.to_string())?;
                return Ok(path.display().to_string());
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Err(format!("{} has {MAX_NAMES} of them", folder.display()))
}
