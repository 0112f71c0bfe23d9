//! Arguments that a tool does not know (ruling 74).

use ptc_host::similar::most_similar;
use ptc_host::text::clip;

/// Longest name of an unknown argument that is shown, in bytes.
const MAX_SHOWN_KEY: usize = 60;
/// Most unknown arguments that are compared with the known ones: an honest client has few of them, and a body can
/// hold a hundred thousand.
pub(crate) const MOST_COMPARED: usize = 32;

/// Ignores and logs arguments that clients add; one that is similar to a known one is reported as a typing error. Of
/// very many, the rest is ignored without a check.
///
/// # Errors
/// The message that names both.
pub(crate) fn heed_unknown(
    keys: impl Iterator<Item = impl AsRef<str>>,
    known: &[&str],
) -> Result<(), String> {
    for key in keys.filter(|key| !known.contains(&key.as_ref())).take(MOST_COMPARED) {
        let key = key.as_ref();
        let shown = clip(key, MAX_SHOWN_KEY);
        // No client is to be led to an argument that exists only for older ones.
        if let Some(similar) = most_similar(key, known.iter().copied().filter(|known| *known != "signature"))
        {
            return Err(format!("argument `{shown}` is not known; did you mean `{similar}`?"));
        }
        tracing::debug!(event = "unknown_argument", argument = ?shown, "an unknown argument is ignored");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_argument_is_told_and_a_hundred_thousand_are_not_compared() {
        let known = ["program", "context"];
        let others = |count: usize| (0..count).map(|n| format!("x-{n}"));
        let mistyped = || std::iter::once("progam".to_owned());
        assert_eq!(heed_unknown(others(5), &known), Ok(()));
        assert_eq!(
            heed_unknown(others(5).chain(mistyped()), &known),
            Err("argument `progam` is not known; did you mean `program`?".to_owned())
        );
        // Arguments after so many unknown ones are not checked.
        assert_eq!(heed_unknown(others(100_000).chain(mistyped()), &known), Ok(()));
        let all_known = std::iter::repeat_n("program".to_owned(), 100_000);
        assert!(heed_unknown(all_known.chain(mistyped()), &known).is_err());
    }
}
