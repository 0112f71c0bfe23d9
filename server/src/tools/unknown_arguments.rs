//! Arguments that a tool does not know (ruling 74).

use ptc_host::similar::most_similar;
use ptc_host::text::clip;

/// Longest name of an unknown argument that is shown, in bytes.
const MAX_SHOWN_KEY: usize = 60;

/// Clients add arguments of their own, which are ignored and logged; one that is close to a known one is a typing error.
///
/// # Errors
/// The message that names both.
pub(in crate::tools) fn heed_unknown(
    keys: impl Iterator<Item = impl AsRef<str>>,
    known: &[&str],
) -> Result<(), String> {
    for key in keys {
        let key = key.as_ref();
        if known.contains(&key) {
            continue;
        }
        let shown = clip(key, MAX_SHOWN_KEY);
        // Nobody is to be led to what is there for older clients only.
        if let Some(similar) = most_similar(key, known.iter().copied().filter(|known| *known != "signature"))
        {
            return Err(format!("argument `{shown}` is not known; did you mean `{similar}`?"));
        }
        tracing::debug!(event = "unknown_argument", argument = ?shown, "an unknown argument is ignored");
    }
    Ok(())
}
