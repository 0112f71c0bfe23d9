//! Whether a text has one of the formats that forms may want.

use super::StringFormat;

impl StringFormat {
    /// Whether `text` has this format. Addresses are checked for their parts, not for the rules of mail servers.
    pub(super) fn matches(self, text: &str) -> bool {
        match self {
            StringFormat::Email => is_email(text),
            StringFormat::Uri => is_uri(text),
            StringFormat::Date => is_date(text),
            StringFormat::DateTime => is_date_time(text),
        }
    }

    /// The wanted format, in words.
    pub(super) fn wanted(self) -> &'static str {
        match self {
            StringFormat::Email => "an email address",
            StringFormat::Uri => "a URI with its scheme",
            StringFormat::Date => "a date such as 2026-07-28",
            StringFormat::DateTime => "a time such as 2026-07-28T12:00:00Z",
        }
    }
}

fn is_email(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(local, domain)| {
        let is_plain = |part: &str| {
            !part.is_empty() && !part.chars().any(|c| c.is_whitespace() || c.is_control() || c == '@')
        };
        is_plain(local) && is_plain(domain) && !domain.starts_with('.') && !domain.ends_with('.')
    })
}

/// RFC 3986 3: a scheme, a colon, and characters that a URI may have.
fn is_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
            && !rest.is_empty()
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&b))
    })
}

fn is_date(text: &str) -> bool {
    let parts = text.as_bytes();
    if parts.len() != 10 || parts[4] != b'-' || parts[7] != b'-' {
        return false;
    }
    match (digits(&parts[..4]), digits(&parts[5..7]), digits(&parts[8..])) {
        (Some(year), Some(month), Some(day)) => (1..=days_in_month(year, month)).contains(&day),
        _ => false,
    }
}

/// RFC 3339 5.6. A leap second may be in any minute, since the list of them is open.
fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_at_checked(10) else { return false };
    let time = time.as_bytes();
    if !is_date(date)
        || time.len() < 10
        || !matches!(time[0], b'T' | b't')
        || time[3] != b':'
        || time[6] != b':'
    {
        return false;
    }
    let within = |part: &[u8], most: u32| digits(part).is_some_and(|number| number <= most);
    if !within(&time[1..3], 23) || !within(&time[4..6], 59) || !within(&time[7..9], 60) {
        return false;
    }
    let mut zone = &time[9..];
    if let Some(fraction) = zone.strip_prefix(b".") {
        let len = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if len == 0 {
            return false;
        }
        zone = &fraction[len..];
    }
    match zone {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', offset @ ..] => {
            offset.len() == 5 && offset[2] == b':' && within(&offset[..2], 23) && within(&offset[3..], 59)
        }
        _ => false,
    }
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |number: u32, b| b.is_ascii_digit().then(|| number * 10 + u32::from(b - b'0')))
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::StringFormat::{self, Date, DateTime, Email, Uri};

    #[test]
    fn formats_are_told_apart() {
        let cases: [(StringFormat, &[&str], &[&str]); 4] = [
            (
                Email,
                &["a@b.c", "a+b@localhost", "é@ü.de"],
                &["", "a", "@b", "a@", "a b@c.d", "a@b@c", "a@.b", "a@b."],
            ),
            (
                Uri,
                &["https://example.com/a?b=c#d", "mailto:a@b.c", "urn:x", "a+b-c.d:e"],
                &["", "example.com", "https:", "1a:b", ":b", "https://a b", "https://ü", "a_b:c"],
            ),
            (
                Date,
                &["2026-07-28", "2024-02-29", "2000-02-29"],
                &[
                    "",
                    "2026-7-28",
                    "2025-02-29",
                    "1900-02-29",
                    "2026-13-01",
                    "2026-04-31",
                    "2026-00-10",
                    "2026-01-00",
                ],
            ),
            (
                DateTime,
                &["2026-07-28T12:00:00Z", "2026-07-28t23:59:60.123z", "2026-07-28T12:00:00+05:30"],
                &[
                    "2026-07-28",
                    "2026-07-28T12:00Z",
                    "2026-07-28T12:00:00",
                    "2026-07-28 12:00:00Z",
                    "2026-07-28T24:00:00Z",
                    "2026-07-28T12:00:00.Z",
                    "2026-07-28T12:00:00+0530",
                    "2026-07-28T12:00:00Zé",
                    "2026-07-é8T12:00:00Z",
                ],
            ),
        ];
        for (format, good, bad) in cases {
            good.iter().for_each(|text| assert!(format.matches(text), "{format:?} {text}"));
            bad.iter().for_each(|text| assert!(!format.matches(text), "{format:?} {text}"));
        }
    }
}
