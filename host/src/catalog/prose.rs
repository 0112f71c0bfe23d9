//! Bounds of numbers that only prose names: `page size, max 100`, `Results per page (1-50)`.

use ptc_base::text::clip;

/// Bytes of a description that are looked at.
const LOOKED_AT: usize = 2048;
/// Words before the largest value.
const BEFORE: [&str; 15] = [
    "max",
    "max.",
    "maximum",
    "maximum of",
    "maximum is",
    "maximum value",
    "maximum value of",
    "at most",
    "up to",
    "no more than",
    "not exceed",
    "limit of",
    "limited to",
    "capped at",
    "≤",
];
/// Words between the least and the largest value of a range.
const BETWEEN: [&str; 6] = ["-", "–", "..", "to", "and", "through"];

/// The largest value that the description of a number names, if it names one.
pub(super) fn maximum_in(description: &str) -> Option<u64> {
    let text = clip(description, LOOKED_AT).to_lowercase();
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let mut at = 0;
    while at < text.len() {
        let start = at + text[at..].find(|c: char| c.is_ascii_digit())?;
        let digits =
            text[start..].find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len() - start);
        let mut end = start + digits;
        let mut number = text[start..end].replace('_', "");
        // `1,000` is one number, `10, 20` are two.
        while text[end..].starts_with(',') && (1..=3).all(|step| is_digit(end + step)) && !is_digit(end + 4) {
            number.push_str(&text[end + 1..end + 4]);
            end += 4;
        }
        // Of a fraction, a date, a name.
        let is_part = text[end..].starts_with(['.', '-', '/', '–']) && is_digit(end + 1)
            || text[..start].ends_with('.') && !text[..start].ends_with("..")
            || text[..start].ends_with(|c: char| c.is_alphabetic() || c == '_' || c == '$');
        let before = text[..start].trim_end_matches([' ', ':', '=', '(', '*', '`', '"', '\'']);
        if !is_part && (names_largest(before) || ends_range(before)) {
            return number.parse().ok();
        }
        at = end;
    }
    None
}

/// Whether words before a number say that it is the largest.
fn names_largest(before: &str) -> bool {
    BEFORE.iter().any(|words| {
        before
            .strip_suffix(words)
            .is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Whether a number follows that is the end of a range, `1-` or `between 1 and`.
fn ends_range(before: &str) -> bool {
    BETWEEN.iter().any(|word| {
        before.strip_suffix(word).is_some_and(|rest| {
            let first = rest.trim_end();
            let number = first.trim_end_matches(|c: char| c.is_ascii_digit());
            // No part of a date or of a version.
            let is_number = number.len() < first.len() && !number.ends_with(['-', '.', '/', '–']);
            is_number && (*word != "and" || number.trim_end().ends_with("between"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_value_is_found_where_prose_names_one() {
        for (prose, expected) in [
            ("Page size, max 100", Some(100)),
            ("Page size (max. 100; default 30)", Some(100)),
            ("Page size (default: 30, max: 100)", Some(100)),
            ("Number of results per page (1-50).", Some(50)),
            ("Between 1 and 200", Some(200)),
            ("Limit, up to 1,000 rows", Some(1000)),
            ("At most 1_000 rows", Some(1000)),
            ("Maximum of 25 items.", Some(25)),
            ("must be ≤ 500", Some(500)),
            ("values 1 to 10 are valid", Some(10)),
            ("value in 0..255", Some(255)),
            ("Default 20", None),
            ("Returns 10 and 20", None),
            ("since 2026-01-31", None),
            ("version 1.2", None),
            ("the climax 7", None),
            ("up to 1.5", None),
            ("", None),
        ] {
            assert_eq!(maximum_in(prose), expected, "{prose}");
        }
        assert_eq!(maximum_in(&"max 99999999999999999999999999".repeat(1000)), None);
    }
}
