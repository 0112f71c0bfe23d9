//! Dates, instants, durations and times of zones (language.md 2.8), and the calendar behind them.

use super::zone::{Zone, offset_text};
use crate::meter;
use jiff::tz::Offset;
use jiff::{Timestamp, civil};
use std::cmp::Ordering;

/// A point or span of time as a value. Made with [`Temporal::date`], [`Temporal::instant`], [`Temporal::duration`],
/// [`Temporal::local`] and [`Temporal::zoned`], which charge it; read by matching.
#[derive(Debug)]
pub enum Temporal {
    /// A calendar day, in days since 1970-01-01.
    Date(i64),
    /// A UTC instant.
    Instant {
        /// Microseconds since 1970-01-01T00:00:00Z.
        micros: i64,
        /// Fraction digits to print, 0 to 6: as many as the value was given with.
        digits: u8,
    },
    /// A span in milliseconds.
    Duration(i64),
    /// A date and a time of the day without a zone.
    Local {
        /// Microseconds since 1970-01-01T00:00.
        micros: i64,
        /// As those of an instant.
        digits: u8,
    },
    /// An instant as clocks of a zone show it.
    Zoned {
        /// Microseconds since 1970-01-01T00:00:00Z.
        micros: i64,
        /// As those of an instant.
        digits: u8,
        /// The zone.
        zone: Zone,
    },
}

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

impl Temporal {
    const BYTES: usize = 40;

    /// Days that a date may lie from 1970-01-01: about a million years.
    pub(crate) const MOST_DAYS: i64 = 365_000_000;

    /// A calendar day, in days since 1970-01-01.
    pub fn date(days: i64) -> Temporal {
        meter::charge_memory(Self::BYTES);
        Temporal::Date(days)
    }

    /// A UTC instant in microseconds since the epoch that prints `digits` fraction digits, at most 6.
    pub(crate) fn instant(micros: i64, digits: u8) -> Temporal {
        meter::charge_memory(Self::BYTES);
        Temporal::Instant { micros, digits: digits.min(6) }
    }

    /// A span in milliseconds.
    pub(crate) fn duration(millis: i64) -> Temporal {
        meter::charge_memory(Self::BYTES);
        Temporal::Duration(millis)
    }

    /// A date and a time without a zone, in microseconds since 1970-01-01T00:00.
    pub(crate) fn local(micros: i64, digits: u8) -> Temporal {
        meter::charge_memory(Self::BYTES);
        Temporal::Local { micros, digits: digits.min(6) }
    }

    /// An instant in microseconds since the epoch, as clocks of a zone show it.
    pub(crate) fn zoned(micros: i64, digits: u8, zone: Zone) -> Temporal {
        meter::charge_memory(Self::BYTES);
        Temporal::Zoned { micros, digits: digits.min(6), zone }
    }

    /// The text of `str`: `2024-01-02`, `2024-01-02T03:04:05.120Z`, `#duration[1500ms]`, `2024-01-02T03:04`,
    /// `2024-01-02T03:04+01:00[Europe/Berlin]`.
    pub(crate) fn iso(&self) -> String {
        match *self {
            Temporal::Date(days) => Day::from_epoch(days).iso(),
            Temporal::Instant { micros, digits } => instant_iso(micros, digits),
            Temporal::Duration(millis) => format!("#duration[{millis}ms]"),
            Temporal::Local { micros, digits } => local_iso(micros, 0, digits, true),
            Temporal::Zoned { micros, digits, zone } => {
                let offset = zone.offset_at(micros);
                let mut text = local_iso(micros, offset, digits, true);
                text.push_str(&offset_text(offset));
                if !zone.is_offset() {
                    text.push_str(&format!("[{}]", zone.name()));
                }
                text
            }
        }
    }

    /// Rank of the kind in the order of values: date < instant < duration < local < zoned (rulings 2 and 183).
    fn key(&self) -> (u8, i64) {
        match *self {
            Temporal::Date(days) => (0, days),
            Temporal::Instant { micros, .. } => (1, micros),
            Temporal::Duration(millis) => (2, millis),
            Temporal::Local { micros, .. } => (3, micros),
            Temporal::Zoned { micros, .. } => (4, micros),
        }
    }
}

impl Drop for Temporal {
    fn drop(&mut self) {
        meter::credit_memory(Self::BYTES);
    }
}

impl Clone for Temporal {
    fn clone(&self) -> Temporal {
        match *self {
            Temporal::Date(days) => Temporal::date(days),
            Temporal::Instant { micros, digits } => Temporal::instant(micros, digits),
            Temporal::Duration(millis) => Temporal::duration(millis),
            Temporal::Local { micros, digits } => Temporal::local(micros, digits),
            Temporal::Zoned { micros, digits, zone } => Temporal::zoned(micros, digits, zone),
        }
    }
}

/// Equal kind and time; the number of fraction digits and the zone do not count.
impl PartialEq for Temporal {
    fn eq(&self, other: &Temporal) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Temporal {}

/// Chronological within a kind.
impl Ord for Temporal {
    fn cmp(&self, other: &Temporal) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Temporal {
    fn partial_cmp(&self, other: &Temporal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::hash::Hash for Temporal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

fn instant_iso(micros: i64, digits: u8) -> String {
    let mut text = local_iso(micros, 0, digits, false);
    text.push('Z');
    text
}

/// Days since 1970-01-01 and microseconds of the day that clocks show which are so many seconds ahead of UTC.
pub(crate) fn local_parts(micros: i64, offset: i32) -> (i64, i64) {
    let day = SECONDS_PER_DAY * MICROS_PER_SECOND;
    let of_day = micros.rem_euclid(day) + i64::from(offset) * MICROS_PER_SECOND;
    (micros.div_euclid(day) + of_day.div_euclid(day), of_day.rem_euclid(day))
}

/// `2024-01-02T03:04:05.120`. `brief`: without seconds where they are zero, as Java prints times.
pub(crate) fn local_iso(micros: i64, offset: i32, digits: u8, brief: bool) -> String {
    let (days, of_day) = local_parts(micros, offset);
    let since_midnight = Timestamp::from_microsecond(of_day).expect("it is less than a day");
    let (day, time) = (Day::from_epoch(days).iso(), Offset::UTC.to_datetime(since_midnight).time());
    if brief && of_day % (60 * MICROS_PER_SECOND) == 0 {
        format!("{day}T{:02}:{:02}", time.hour(), time.minute())
    } else {
        format!("{day}T{time:.*}", usize::from(digits))
    }
}

/// A day of the proleptic Gregorian calendar, year 0 being 1 BC.
///
/// The calendar is that of jiff, which ends with the year 9999, while a date here may lie a million years from 1970 and an
/// instant 292 000. So years are counted in eras of 400, after which leap years and days of the week repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Day {
    era: i64,
    /// In the years 1970 to 2369.
    of_era: civil::Date,
}

const YEARS_PER_ERA: i64 = 400;
const DAYS_PER_ERA: i64 = 146_097;

impl Day {
    /// The day, if the calendar has it.
    pub(crate) fn new(year: i64, month: i64, day: i64) -> Option<Day> {
        let era = (year - 1970).div_euclid(YEARS_PER_ERA);
        let (year, month, day) = (year - era * YEARS_PER_ERA, i8::try_from(month), i8::try_from(day));
        Some(Day { era, of_era: civil::Date::new(year as i16, month.ok()?, day.ok()?).ok()? })
    }

    /// The day that is `days` after 1970-01-01.
    pub(crate) fn from_epoch(days: i64) -> Day {
        let second = days.rem_euclid(DAYS_PER_ERA) * SECONDS_PER_DAY;
        let midnight = Timestamp::from_second(second).expect("an era is 400 years");
        Day { era: days.div_euclid(DAYS_PER_ERA), of_era: Offset::UTC.to_datetime(midnight).date() }
    }

    /// Days since 1970-01-01.
    pub(crate) fn to_epoch(self) -> i64 {
        let midnight = Offset::UTC.to_timestamp(self.of_era.at(0, 0, 0, 0)).expect("an era is 400 years");
        self.era * DAYS_PER_ERA + midnight.as_second() / SECONDS_PER_DAY
    }

    /// The same day of the month `months` later; the last day of that month where it is shorter.
    pub(crate) fn plus_months(self, months: i64) -> Option<Day> {
        let months = self.year() * 12 + self.month() - 1 + months;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        let last = Day::new(year, month, 1)?.of_era.days_in_month();
        Day::new(year, month, self.of_month().min(last.into()))
    }

    pub(crate) fn year(self) -> i64 {
        self.era * YEARS_PER_ERA + i64::from(self.of_era.year())
    }

    /// Month, 1 to 12.
    pub(crate) fn month(self) -> i64 {
        self.of_era.month().into()
    }

    /// Day of the month, from 1.
    pub(crate) fn of_month(self) -> i64 {
        self.of_era.day().into()
    }

    /// Day of the year, from 1.
    pub(crate) fn of_year(self) -> i64 {
        self.of_era.day_of_year().into()
    }

    /// Day of the week: 1 is Monday, 7 is Sunday.
    pub(crate) fn of_week(self) -> i64 {
        self.of_era.weekday().to_monday_one_offset().into()
    }

    /// `2024-01-02`; at least four digits of the year, with a minus sign before year 0.
    pub(crate) fn iso(self) -> String {
        let sign = if self.year() < 0 { "-" } else { "" };
        format!("{sign}{:04}-{:02}-{:02}", self.year().abs(), self.month(), self.of_month())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(year: i64, month: i64, day: i64) -> Day {
        Day::new(year, month, day).expect("a real day")
    }

    #[test]
    fn days_and_epoch_days_are_each_others_inverse() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_723, "2024-01-01"),
            (19_782, "2024-02-29"),
            (-719_528, "0000-01-01"),
            (-719_529, "-0001-12-31"),
            (-735_525, "-0044-03-15"),
            (-4_371_587, "-9999-01-01"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "10000-01-01"),
            (364_522_972, "1000000-01-01"),
            (-365_962_028, "-1000000-01-01"),
        ] {
            let day = Day::from_epoch(days);
            assert_eq!((day.iso().as_str(), day.to_epoch()), (text, days));
        }
    }

    /// Days in a month by the rule of the calendar, in arithmetic that is not jiff's.
    fn length(year: i64, month: i64) -> i64 {
        match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Walks through the calendar, in five places, for more than an era: before and after the years of jiff, over the years 0 and 1970.
    #[test]
    fn days_follow_each_other_as_in_the_gregorian_calendar() {
        for (first, years) in [(-300_400, 410), (-10_001, 5), (-401, 810), (1_969, 40), (9_990, 410)] {
            let mut days = day(first, 1, 1).to_epoch();
            let mut of_week = Day::from_epoch(days).of_week();
            for year in first..first + years {
                let mut of_year = 1;
                for month in 1..=12 {
                    let last = length(year, month);
                    for of_month in 1..=last {
                        let day = Day::from_epoch(days);
                        assert_eq!((day.year(), day.month(), day.of_month()), (year, month, of_month));
                        assert_eq!((day.of_year(), day.of_week(), day.to_epoch()), (of_year, of_week, days));
                        assert_eq!(Day::new(year, month, of_month), Some(day));
                        (days, of_year, of_week) = (days + 1, of_year + 1, of_week % 7 + 1);
                    }
                    assert_eq!(Day::new(year, month, last + 1), None, "{year}-{month}");
                }
            }
        }
    }

    #[test]
    fn impossible_days_do_not_exist() {
        for (y, m, d) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2024, 13, 1),
            (2024, 0, 1),
            (2024, 4, 31),
            (2024, 1, 0),
            (2024, 1 + 256, 1),
            (2024, 1, i64::MIN),
        ] {
            assert_eq!(Day::new(y, m, d), None, "{y}-{m}-{d}");
        }
        assert!(Day::new(2000, 2, 29).is_some());
    }

    #[test]
    fn months_are_added_up_to_the_last_day() {
        assert_eq!(day(2024, 1, 31).plus_months(1), Some(day(2024, 2, 29)));
        assert_eq!(day(2024, 1, 31).plus_months(-2), Some(day(2023, 11, 30)));
        assert_eq!(day(2024, 2, 29).plus_months(12), Some(day(2025, 2, 28)));
        for year in [-12_345, -1, 0, 399, 1999, 9_999] {
            for (month, of_month) in (1..=12).flat_map(|month| [(month, 1), (month, length(year, month))]) {
                for months in [-120_001, -4_801, -13, -1, 0, 1, 2, 11, 12, 25, 4_800, 99_999_999] {
                    let (to, at) =
                        (year + (month - 1 + months).div_euclid(12), (month - 1 + months).rem_euclid(12) + 1);
                    let moved = day(year, month, of_month).plus_months(months);
                    assert_eq!(
                        moved,
                        Some(day(to, at, of_month.min(length(to, at)))),
                        "{year}-{month} {months}"
                    );
                }
            }
        }
    }

    #[test]
    fn weeks_begin_on_monday() {
        assert_eq!(Day::from_epoch(0).of_week(), 4);
        assert_eq!(day(2024, 1, 1).of_week(), 1);
        assert_eq!(day(1969, 12, 28).of_week(), 7);
        assert_eq!(day(2024, 12, 31).of_year(), 366);
    }

    #[test]
    fn instants_print_as_many_digits_as_they_were_given() {
        assert_eq!(Temporal::instant(1_700_000_000_123_456, 6).iso(), "2023-11-14T22:13:20.123456Z");
        assert_eq!(Temporal::instant(1_700_000_000_120_000, 3).iso(), "2023-11-14T22:13:20.120Z");
        assert_eq!(Temporal::instant(-1, 0).iso(), "1969-12-31T23:59:59Z");
        assert_eq!(Temporal::duration(-5).iso(), "#duration[-5ms]");
    }

    #[test]
    fn order_is_by_kind_then_by_time_and_digits_do_not_count() {
        assert!(Temporal::date(9) < Temporal::instant(0, 0));
        assert!(Temporal::instant(9, 0) < Temporal::duration(0));
        assert!(Temporal::date(1) < Temporal::date(2));
        assert_eq!(Temporal::instant(5, 0), Temporal::instant(5, 3));
    }
}
