//! Reading dates, instants and durations from text.
//!
//! The readers are our own because jiff's are laxer in some cases and stricter in others. jiff takes `20240101`, `…t10:30:00z`,
//! a second 60, an offset of 25 hours and `P1W`, which the language refuses. It refuses `-0044-03-15`, a fraction of ten digits
//! and `P-3D`, which the language takes. A test compares the values of texts that both take.

use super::when::{Moment, SECOND, When};
use crate::value::{Day, Zone};

/// Text that is read from the front.
struct Reader<'t>(&'t str);

impl Reader<'_> {
    fn accept(&mut self, c: char) -> bool {
        match self.0.strip_prefix(c) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Option<()> {
        self.accept(c).then_some(())
    }

    /// Exactly `count` ASCII digits, at most 9.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let text = self.0.get(..count).filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
        self.0 = &self.0[count..];
        text.parse().ok()
    }

    /// All ASCII digits that follow, at least one.
    fn run(&mut self) -> Option<&str> {
        let rest = self.0.trim_start_matches(|c: char| c.is_ascii_digit());
        let run = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        (!run.is_empty()).then_some(run)
    }

    /// `[-]YYYY-MM-DD`
    fn date(&mut self) -> Option<Day> {
        let negative = self.accept('-');
        let year = self.digits(4)?;
        self.expect('-')?;
        let month = self.digits(2)?;
        self.expect('-')?;
        let day = self.digits(2)?;
        Day::new(if negative { -year } else { year }, month, day)
    }

    /// `HH:MM:SS` with an optional fraction, and `HH:MM` where `brief` allows it: in seconds, and the fraction.
    fn clock(&mut self, brief: bool) -> Option<(i64, (i64, u8))> {
        let hour = self.digits(2)?;
        self.expect(':')?;
        let minute = self.digits(2)?;
        let (second, fraction) = match self.accept(':') {
            true => (self.digits(2)?, self.fraction()?),
            false if brief => (0, (0, 0)),
            false => return None,
        };
        let fits = hour < 24 && minute < 60 && second < 60;
        fits.then_some(((hour * 60 + minute) * 60 + second, fraction))
    }

    /// A fraction of a second after `.` or `,`: microseconds and digits given.
    fn fraction(&mut self) -> Option<(i64, u8)> {
        if !self.accept('.') && !self.accept(',') {
            return Some((0, 0));
        }
        let run = self.run()?;
        let kept = &run[..run.len().min(6)];
        let micros = kept.parse::<i64>().ok()? * 10i64.pow(6 - kept.len() as u32);
        Some((micros, kept.len() as u8))
    }

    /// `Z`, `+02:00`, `+0200` or `+02`, in seconds east of UTC; `Some(None)` where there is none.
    fn offset(&mut self) -> Option<Option<i64>> {
        if self.0.is_empty() || self.0.starts_with('[') {
            return Some(None);
        }
        if self.accept('Z') {
            return Some(Some(0));
        }
        let west = !self.accept('+');
        if west {
            self.expect('-')?;
        }
        let hours = self.digits(2)?;
        let minutes = if self.0.is_empty() || self.0.starts_with('[') {
            0
        } else {
            self.accept(':');
            self.digits(2)?
        };
        let seconds = (hours * 60 + minutes) * 60;
        (hours < 24 && minutes < 60).then_some(Some(if west { -seconds } else { seconds }))
    }

    /// The name of a zone in brackets, to the end of the text; `Some(None)` where there is none.
    fn zone(&mut self) -> Option<Option<Zone>> {
        if !self.accept('[') {
            return Some(None);
        }
        let name = self.0.strip_suffix(']')?;
        self.0 = "";
        Zone::named(name).map(Some)
    }
}

/// How a date and a time may be written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Form {
    /// With a space for the `T`, and one before the offset.
    pub(super) space: bool,
    /// Without seconds.
    pub(super) brief: bool,
}

/// A date and a time as written in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Of its own clock, since 1970-01-01T00:00.
    local: Moment,
    /// Seconds east of UTC.
    offset: Option<i64>,
    zone: Option<Zone>,
}

impl Stamp {
    /// A date and a time of a clock that is `offset` seconds ahead of UTC, in microseconds since 1970-01-01T00:00.
    pub(super) fn new(local: Moment, offset: Option<i64>, zone: Option<Zone>) -> Stamp {
        Stamp { local, offset, zone }
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
    pub(super) fn settled(&self) -> Option<When> {
        match self.zone {
            None => self.moment().map(When::Instant),
            Some(_) => self.when().map(When::settled),
        }
    }

    /// The time in its zone, which may be an offset; without either, a local one. The offset decides where the zone has another
    /// one.
    pub(super) fn when(&self) -> Option<When> {
        let zone = match (self.zone, self.offset) {
            (Some(zone), _) => zone,
            (None, Some(offset)) => Zone::offset(offset)?,
            (None, None) => return Some(When::Local(self.local)),
        };
        Some(When::Zoned(self.moment()?, zone))
    }
}

/// `YYYY-MM-DD`, with a minus sign for years before 0: days since 1970-01-01.
pub(super) fn date(text: &str) -> Option<i64> {
    let mut reader = Reader(text);
    let day = reader.date()?;
    reader.0.is_empty().then(|| day.to_epoch())
}

/// A date, `T`, a time, an optional fraction, offset and zone in brackets.
pub(super) fn stamp(text: &str, form: Form) -> Option<Stamp> {
    let mut reader = Reader(text);
    let day = reader.date()?;
    let separated = reader.accept('T') || (form.space && reader.accept(' '));
    if !separated {
        return None;
    }
    let (second, (micros, digits)) = reader.clock(form.brief)?;
    if form.space && reader.accept(' ') && reader.0.is_empty() {
        return None;
    }
    let offset = reader.offset()?;
    let zone = reader.zone()?;
    let seconds = day.to_epoch() * 86_400 + second;
    let local = Moment { micros: seconds * SECOND + micros, digits };
    reader.0.is_empty().then_some(Stamp { local, offset, zone })
}

/// A date, `T`, a time, an optional fraction, offset and zone. Seconds may be left out where the text says an offset or a zone.
pub(super) fn date_time(text: &str, space: bool) -> Option<Stamp> {
    let with_seconds = stamp(text, Form { space, brief: false });
    with_seconds.or_else(|| stamp(text, Form { space, brief: true }).filter(Stamp::is_placed))
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// RFC 2822: `[Www, ]D Mon YYYY HH:MM:SS[ zone]`. The zone is not looked at.
pub(super) fn rfc_2822(text: &str) -> Option<Moment> {
    let text = match text.split_once(", ") {
        Some((weekday, rest)) => WEEKDAYS.contains(&weekday).then_some(rest)?,
        None => text,
    };
    let mut words = text.split(' ');
    let day = words.next().filter(|day| (1..=2).contains(&day.len()))?;
    let day = Reader(day).digits(day.len())?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let year = words.next().filter(|year| year.len() == 4)?;
    let day = Day::new(Reader(year).digits(4)?, month, day)?;
    let mut clock = Reader(words.next()?);
    let (second, (_, digits)) = clock.clock(false)?;
    (clock.0.is_empty() && digits == 0)
        .then_some(Moment { micros: (day.to_epoch() * 86_400 + second) * SECOND, digits: 0 })
}

/// An ISO 8601 duration of days, hours, minutes and seconds, such as `P1DT2H30M` or `PT1.5S`: milliseconds.
pub(super) fn duration(text: &str) -> Option<i64> {
    let mut reader = Reader(text);
    let negative = reader.accept('-');
    if !negative {
        reader.accept('+');
    }
    reader.expect('P')?;
    let mut millis = 0i64;
    let mut in_time = false;
    let mut parts = 0;
    let mut last = 0;
    while !reader.0.is_empty() {
        if !in_time && reader.accept('T') {
            in_time = true;
            parts = 0;
            last = 1;
            continue;
        }
        let minus = reader.accept('-');
        if !minus {
            reader.accept('+');
        }
        let whole: i64 = reader.run()?.parse().ok()?;
        let (micros, fraction) = reader.fraction()?;
        let unit = reader.0.chars().next()?;
        reader.0 = &reader.0[unit.len_utf8()..];
        let (rank, scale) = match (unit, in_time) {
            ('D', false) => (1, 86_400_000),
            ('H', true) => (2, 3_600_000),
            ('M', true) => (3, 60_000),
            ('S', true) => (4, 1_000),
            _ => return None,
        };
        if rank <= last || (fraction > 0 && unit != 'S') {
            return None;
        }
        last = rank;
        parts += 1;
        let part = whole.checked_mul(scale)?.checked_add(micros / 1000)?;
        millis = millis.checked_add(if minus { -part } else { part })?;
    }
    if negative { millis.checked_neg() } else { Some(millis) }.filter(|_| parts > 0)
}

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
