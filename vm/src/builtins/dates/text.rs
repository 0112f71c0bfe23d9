//! Reading dates, instants and durations from text.
//!
//! The readers are our own because jiff's are laxer in some cases and stricter in others. jiff takes `20240101`, `…t10:30:00z`,
//! a second 60, an offset of 25 hours and `P1W`, which the language refuses. It refuses `-0044-03-15`, a fraction of ten digits
//! and `P-3D`, which the language takes. A test compares the values of texts that both take.

use super::date_or_moment::{DAY, DateOrMoment, Moment, SECOND};
use crate::value::{Day, Zone};

/// Text that is read from the front. A part that is not there leaves the text as it is.
pub(super) struct TextCursor<'t>(pub(super) &'t str);

impl<'t> TextCursor<'t> {
    pub(super) fn accept(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, prefix: &str) -> Option<()> {
        self.accept(prefix).then_some(())
    }

    /// As many characters as there are at the front.
    pub(super) fn run(&mut self, is_part: impl Fn(char) -> bool) -> &'t str {
        let rest = self.0.trim_start_matches(is_part);
        let run = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        run
    }

    /// `least` to `most` ASCII digits.
    fn some_digits(&mut self, least: usize, most: usize) -> Option<&'t str> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.0.split_at(count);
        self.0 = rest;
        Some(digits)
    }

    /// A number of `least` to `most` digits.
    pub(super) fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        self.some_digits(least, most)?.parse().ok()
    }

    /// A number of exactly `count` digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        self.number(count, count)
    }

    /// A fraction of a second of `least` to `most` digits: microseconds, and how many digits of them were given.
    pub(super) fn fraction(&mut self, least: usize, most: usize) -> Option<(i64, u8)> {
        let digits = self.some_digits(least, most)?;
        let kept = &digits[..digits.len().min(6)];
        Some((kept.parse::<i64>().ok()? * 10i64.pow(6 - kept.len() as u32), kept.len() as u8))
    }

    /// A fraction after `.` or `,`, if there is one.
    fn optional_fraction(&mut self) -> Option<(i64, u8)> {
        if self.accept(".") || self.accept(",") { self.fraction(1, usize::MAX) } else { Some((0, 0)) }
    }

    /// -1 after a minus sign, or else 1, perhaps after a plus sign.
    fn sign(&mut self) -> i64 {
        if self.accept("-") {
            return -1;
        }
        self.accept("+");
        1
    }

    /// `[-]YYYY-MM-DD`
    fn date(&mut self) -> Option<Day> {
        let sign = if self.accept("-") { -1 } else { 1 };
        let year = sign * self.digits(4)?;
        self.expect("-")?;
        let month = self.digits(2)?;
        self.expect("-")?;
        Day::new(year, month, self.digits(2)?)
    }

    /// `HH:MM`, and perhaps `:SS` with an optional fraction: in microseconds, and the digits of the fraction.
    fn clock(&mut self) -> Option<Clock> {
        let hour = self.digits(2)?;
        self.expect(":")?;
        let minute = self.digits(2)?;
        let is_brief = !self.accept(":");
        let (second, (micros, digits)) =
            if is_brief { (0, (0, 0)) } else { (self.digits(2)?, self.optional_fraction()?) };
        let of_day = Moment { micros: ((hour * 60 + minute) * 60 + second) * SECOND + micros, digits };
        (hour < 24 && minute < 60 && second < 60).then_some(Clock { of_day, is_brief })
    }

    /// `+02:00`, `+0200` or `+02`, in seconds east of UTC.
    pub(super) fn offset(&mut self) -> Option<i64> {
        if !self.0.starts_with(['+', '-']) {
            return None;
        }
        let sign = self.sign();
        let hours = self.digits(2)?;
        let minutes = if self.accept(":") { self.digits(2)? } else { self.digits(2).unwrap_or(0) };
        (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes) * 60)
    }
}

/// A time of the day as written in a text.
struct Clock {
    /// Since midnight.
    of_day: Moment,
    /// Without seconds.
    is_brief: bool,
}

/// A date and a time as written in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Of its own clock, since 1970-01-01T00:00.
    local: Moment,
    /// Seconds east of UTC.
    offset: Option<i64>,
    zone: Option<Zone>,
    /// Without seconds.
    is_brief: bool,
}

impl Stamp {
    /// A date, and the time since midnight of a clock that is `offset` seconds ahead of UTC.
    pub(super) fn new(day: Day, of_day: Moment, offset: Option<i64>, zone: Option<Zone>) -> Stamp {
        let local = Moment { micros: day.to_epoch() * DAY + of_day.micros, ..of_day };
        Stamp { local, offset, zone, is_brief: false }
    }

    /// Whether the text says its offset or its zone.
    pub(super) fn is_placed(&self) -> bool {
        self.offset.is_some() || self.zone.is_some()
    }

    /// The point in time; a text that says nothing else is one of UTC.
    pub(super) fn moment(&self) -> Option<Moment> {
        let micros = match (self.offset, self.zone) {
            (None, Some(zone)) => zone.instant_of(self.local.micros, None),
            (offset, _) => self.local.micros.checked_sub(offset.unwrap_or(0) * SECOND),
        };
        Some(Moment { micros: micros?, digits: self.local.digits })
    }

    /// As `parse` gives it: an instant, or a time in a zone that has a name.
    pub(super) fn settled(&self) -> Option<DateOrMoment> {
        match self.zone {
            None => self.moment().map(DateOrMoment::Instant),
            Some(_) => self.when().map(DateOrMoment::settled),
        }
    }

    /// The time in its zone, which may be an offset; without either, a local one. The offset decides where the zone has another
    /// one.
    pub(super) fn when(&self) -> Option<DateOrMoment> {
        let zone = match (self.zone, self.offset) {
            (Some(zone), _) => zone,
            (None, Some(offset)) => Zone::offset(offset)?,
            (None, None) => return Some(DateOrMoment::Local(self.local)),
        };
        Some(DateOrMoment::Zoned(self.moment()?, zone))
    }
}

/// `YYYY-MM-DD`, with a minus sign for years before 0: days since 1970-01-01.
pub(super) fn date(text: &str) -> Option<i64> {
    let mut reader = TextCursor(text);
    let day = reader.date()?;
    reader.0.is_empty().then(|| day.to_epoch())
}

/// A date, `T`, a time, an optional fraction, offset and zone in brackets. Seconds may be left out. `space`: with a space for
/// the `T`, and one before the offset.
pub(super) fn stamp(text: &str, space: bool) -> Option<Stamp> {
    let mut reader = TextCursor(text);
    let day = reader.date()?;
    let is_separated = reader.accept("T") || (space && reader.accept(" "));
    if !is_separated {
        return None;
    }
    let Clock { of_day, is_brief } = reader.clock()?;
    if space && reader.accept(" ") && reader.0.is_empty() {
        return None;
    }
    let offset = match reader.0.as_bytes().first() {
        None | Some(b'[') => None,
        Some(_) if reader.accept("Z") => Some(0),
        Some(_) => Some(reader.offset()?),
    };
    let zone = match reader.accept("[") {
        true => Some(Zone::named(reader.0.strip_suffix(']')?)?),
        false if reader.0.is_empty() => None,
        false => return None,
    };
    Some(Stamp { is_brief, ..Stamp::new(day, of_day, offset, zone) })
}

/// As [`stamp`], but seconds may be left out only where the text says an offset or a zone.
pub(super) fn date_time(text: &str, space: bool) -> Option<Stamp> {
    stamp(text, space).filter(|stamp| stamp.is_placed() || !stamp.is_brief)
}

/// RFC 2822: `[Www, ]D Mon YYYY HH:MM:SS[ zone]`. The zone is not looked at.
pub(super) fn rfc_2822(text: &str) -> Option<Moment> {
    let mut reader = TextCursor(text);
    if let Some((weekday, rest)) = text.split_once(", ") {
        WEEKDAYS.iter().find(|name| name[..3] == *weekday)?;
        reader.0 = rest;
    }
    let day = reader.number(1, 2)?;
    reader.expect(" ")?;
    let month = MONTHS.iter().position(|name| reader.accept(&name[..3]))? as i64 + 1;
    reader.expect(" ")?;
    let day = Day::new(reader.digits(4)?, month, day)?;
    reader.expect(" ")?;
    let Clock { of_day, is_brief } = reader.clock()?;
    let fits = !is_brief && of_day.digits == 0 && (reader.0.is_empty() || reader.accept(" "));
    fits.then(|| Stamp::new(day, of_day, None, None).local)
}

/// An ISO 8601 duration of days, hours, minutes and seconds, such as `P1DT2H30M` or `PT1.5S`: milliseconds.
pub(super) fn duration(text: &str) -> Option<i64> {
    let mut reader = TextCursor(text);
    let sign = reader.sign();
    reader.expect("P")?;
    let (days, time) = match reader.0.split_once('T') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None if reader.0.is_empty() => return None,
        None => (reader.0, ""),
    };
    let of_time = [("H", 3_600_000), ("M", 60_000), ("S", 1_000)];
    let mut millis = 0i64;
    for (part, units) in [(days, &[("D", 86_400_000)][..]), (time, &of_time)] {
        reader.0 = part;
        let mut units = units.iter();
        while !reader.0.is_empty() {
            let sign = reader.sign();
            let whole = reader.number(1, usize::MAX)?;
            let (micros, digits) = reader.optional_fraction()?;
            // The units that follow are smaller.
            let (unit, scale) = units.find(|(unit, _)| reader.accept(unit))?;
            if digits > 0 && *unit != "S" {
                return None;
            }
            let value = whole.checked_mul(*scale)?.checked_add(micros / 1_000)?;
            millis = millis.checked_add(sign * value)?;
        }
    }
    millis.checked_mul(sign)
}

/// Names of the months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Names of the days of the week, from Monday.
pub(super) const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_strict() {
        assert_eq!(date("2024-01-01"), Some(19_723));
        assert_eq!(date("-0044-03-15"), Some(-735_525));
        for text in
            ["", "24-01-05", "2024-1-5", "2024-13-01", "2023-02-29", "2024-01-01 ", "20240101", "+2024-01-01"]
        {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn times_need_seconds_and_may_have_a_fraction_and_an_offset() {
        for (text, micros, digits) in [
            ("1970-01-01T00:00:01Z", 1_000_000, 0),
            ("1970-01-01T00:00:01", 1_000_000, 0),
            ("1970-01-01T00:00:01.5Z", 1_500_000, 1),
            ("1970-01-01T00:00:00,1234567Z", 123_456, 6),
            ("1970-01-01T02:00:00+02:00", 0, 0),
            ("1970-01-01T02:00:00+0200", 0, 0),
            ("1970-01-01T02:00:00+02", 0, 0),
            ("1969-12-31T18:30:00-05:30", 0, 0),
            ("1969-12-31T18:30-05:30", 0, 0),
            ("1970-01-01T01:00+01:00[Europe/Berlin]", 0, 0),
            ("1970-01-01T01:00:00[Europe/Berlin]", 0, 0),
        ] {
            assert_eq!(moment(text), Some(Moment { micros, digits }), "{text}");
        }
        for text in [
            "T",
            "2024-01-15T10:30",
            "2024-01-15T24:00:00Z",
            "2024-01-15T23:59:60Z",
            "2024-01-15t10:30:00Z",
            "2024-01-15 10:30:00Z",
            "2024-01-15T10:30:00.Z",
            "2024-01-15T10:30:00+2:00",
            "2024-01-15T10:30:00Zx",
            "2024-01-15T10:30:00 Z",
            "2024-01-15T10:30:00Z[Europe/Berln]",
            "2024-01-15T10:30:00Z[Europe/Berlin",
            "2024-01-15T10:30:00Z[]",
        ] {
            assert_eq!(date_time(text, false), None, "{text}");
        }
        for text in ["2024-01-15 10:30:00", "2024-01-15 10:30:00 +0200", "2024-01-15 10:30+02"] {
            assert!(date_time(text, true).is_some(), "{text}");
        }
        for text in ["2024-01-15 10:30", "2024-01-15 10:30:00 ", "2024-01-15  10:30:00"] {
            assert_eq!(date_time(text, true), None, "{text}");
        }
    }

    fn moment(text: &str) -> Option<Moment> {
        date_time(text, false)?.moment()
    }

    #[test]
    fn mail_dates_ignore_their_zone() {
        let want = moment("2026-01-08T14:30:00Z");
        for text in ["Thu, 8 Jan 2026 14:30:00 +0000", "8 Jan 2026 14:30:00 +0500", "08 Jan 2026 14:30:00"] {
            assert_eq!(rfc_2822(text), want, "{text}");
        }
        for text in [
            "15 Foo 2024 10:30:00",
            "Nope, 8 Jan 2026 14:30:00",
            "8 Jan 26 14:30:00",
            "32 Jan 2026 14:30:00",
            "8 Jan 2026",
        ] {
            assert_eq!(rfc_2822(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_days_and_times() {
        for (text, millis) in [
            ("PT1H30M", 5_400_000),
            ("P1DT2H", 93_600_000),
            ("PT0.5S", 500),
            ("-PT1M", -60_000),
            ("PT-1H+30M", -1_800_000),
            ("P2D", 172_800_000),
        ] {
            assert_eq!(duration(text), Some(millis), "{text}");
        }
        let least = "PT-1M-9223372036854715.808S";
        assert_eq!((duration(least), duration(&format!("-{least}"))), (Some(i64::MIN), None));
        for text in
            ["", "P", "PT", "1H", "PT1", "PT1M1H", "P1M", "PT1.5H", "P1DT", "PT99999999999999999999S", "P1é"]
        {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    fn jiff_date(text: &str) -> Option<i64> {
        let epoch = jiff::civil::date(1970, 1, 1);
        text.parse::<jiff::civil::Date>().ok().map(|day| i64::from((day - epoch).get_days()))
    }

    /// Without an offset a time is one of UTC.
    fn jiff_micros(text: &str) -> Option<i64> {
        let local =
            || text.parse::<jiff::civil::DateTime>().and_then(|time| time.to_zoned(jiff::tz::TimeZone::UTC));
        let time = text.parse().or_else(|_| local().map(|zoned| zoned.timestamp())).ok()?;
        i64::try_from(jiff::Timestamp::as_nanosecond(time).div_euclid(1000)).ok()
    }

    fn jiff_millis(text: &str) -> Option<i64> {
        let span = text.parse::<jiff::Span>().ok()?;
        let unit = (jiff::Unit::Millisecond, jiff::SpanRelativeTo::days_are_24_hours());
        span.total(unit).ok().map(|millis| millis as i64)
    }

    fn micros(text: &str) -> Option<i64> {
        moment(text).map(|moment| moment.micros)
    }

    #[test]
    fn what_jiff_reads_too_has_the_same_value() {
        use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
        let day = "[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]";
        let time = "T[0-2][0-9](:[0-5][0-9]){2}([.,][0-9]{1,9})?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?";
        let span = "[+-]?P([0-9]{1,3}D)?(T[0-9]{1,2}H([0-9]{1,2}M)?([0-9]{1,2}([.,][0-9]{1,3})?S)?)?";
        let texts = proptest::string::string_regex(&format!("{day}({time})?|{span}")).expect("a pattern");
        let read_by_both = std::cell::Cell::new(0);
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        TestRunner::new_with_rng(Config::with_cases(10_000), rng)
            .run(&texts, |text| {
                let values = match text.contains('P') {
                    true => (duration(&text), jiff_millis(&text)),
                    false if text.contains('T') => (micros(&text), jiff_micros(&text)),
                    false => (date(&text), jiff_date(&text)),
                };
                if let (Some(ours), Some(theirs)) = values {
                    assert_eq!(ours, theirs, "{text}");
                    read_by_both.set(read_by_both.get() + 1);
                }
                Ok(())
            })
            .expect("equal values");
        assert!(read_by_both.get() > 5_000, "{} texts are read by both", read_by_both.get());
    }

    #[test]
    fn jiff_reads_other_texts_than_the_language() {
        for text in ["20240101", "2024-01-05T10:30"] {
            assert_eq!(date(text), None);
            assert!(jiff_date(text).is_some(), "{text}");
        }
        for text in [
            "2024-01-05t10:30:00z",
            "2024-01-05 10:30:00Z",
            "2024-01-05T10:30:60Z",
            "2024-01-05T10:30:00+25:00",
        ] {
            assert_eq!(micros(text), None);
            assert!(jiff_micros(text).is_some(), "{text}");
        }
        assert_eq!((duration("P1W"), jiff_millis("P1W").is_some()), (None, true));
        assert_eq!((date("-0044-03-15").is_some(), jiff_date("-0044-03-15")), (true, None));
        let long = "2024-01-05T10:30:00.1234567891Z";
        assert_eq!((micros(long).is_some(), jiff_micros(long)), (true, None));
        assert_eq!((duration("P-3D").is_some(), jiff_millis("P-3D")), (true, None));
    }
}
