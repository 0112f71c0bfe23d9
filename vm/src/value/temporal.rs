//! Dates, instants, durations and times of zones (language.md 2.8), and the calendar behind them.

use super::zone::{Zone, offset_text};
use crate::meter;
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
    let (second, fraction) = (of_day / MICROS_PER_SECOND, of_day % MICROS_PER_SECOND);
    let mut text = Day::from_epoch(days).iso();
    text.push_str(&format!("T{:02}:{:02}", second / 3600, second / 60 % 60));
    if brief && second % 60 == 0 && fraction == 0 {
        return text;
    }
    text.push_str(&format!(":{:02}", second % 60));
    if digits > 0 {
        let all = format!("{fraction:06}");
        text.push('.');
        text.push_str(&all[..usize::from(digits.min(6))]);
    }
    text
}

/// A day of the proleptic Gregorian calendar, year 0 being 1 BC.
///
/// The arithmetic is our own because that of jiff ends with the year 9999, while a date here may lie a million years from
/// 1970 and an instant 292 000. Within the years that jiff knows, a test holds one against the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// Astronomical year.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, from 1.
    pub day: u8,
}

impl Day {
    /// The day, if the calendar has it.
    pub(crate) fn new(year: i64, month: u8, day: u8) -> Option<Day> {
        let real = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
        real.then_some(Day { year, month, day })
    }

    /// The day that is `days` after 1970-01-01.
    pub(crate) fn from_epoch(days: i64) -> Day {
        // Years are counted from March, so that the leap day is the last of its year, in eras of 400 years.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = (of_year - (153 * from_march + 2) / 5 + 1) as u8;
        let month = (if from_march < 10 { from_march + 3 } else { from_march - 9 }) as u8;
        Day { year: year_of_era + era * 400 + i64::from(month <= 2), month, day }
    }

    /// Days since 1970-01-01.
    pub(crate) fn to_epoch(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let from_march = (i64::from(self.month) + 9) % 12;
        let of_year = (153 * from_march + 2) / 5 + i64::from(self.day) - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
    }

    /// The same day of the month `months` later; the last day of that month where it is shorter.
    pub(crate) fn plus_months(self, months: i64) -> Option<Day> {
        let total = self.year.checked_mul(12)?.checked_add(i64::from(self.month) - 1)?.checked_add(months)?;
        let (year, month) = (total.div_euclid(12), (total.rem_euclid(12) + 1) as u8);
        Some(Day { year, month, day: self.day.min(days_in_month(year, month)) })
    }

    /// Day of the year, from 1.
    pub(crate) fn of_year(self) -> i64 {
        self.to_epoch() - Day { year: self.year, month: 1, day: 1 }.to_epoch() + 1
    }

    /// `2024-01-02`; at least four digits of the year, with a minus sign before year 0.
    pub(crate) fn iso(self) -> String {
        let sign = if self.year < 0 { "-" } else { "" };
        format!("{sign}{:04}-{:02}-{:02}", self.year.abs(), self.month, self.day)
    }
}

/// Day of the week of a day since the epoch: 1 is Monday, 7 is Sunday.
pub(crate) fn day_of_week(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

fn days_in_month(year: i64, month: u8) -> u8 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(year: i64, month: u8, day: u8) -> Day {
        Day::new(year, month, day).expect("a real day")
    }

    #[test]
    fn days_and_epoch_days_are_each_others_inverse() {
        for (days, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (19_723, "2024-01-01"),
            (19_782, "2024-02-29"),
            (-735_525, "-0044-03-15"),
            (2_932_896, "9999-12-31"),
            (2_932_897, "10000-01-01"),
        ] {
            let day = Day::from_epoch(days);
            assert_eq!((day.iso().as_str(), day.to_epoch()), (text, days));
        }
        let mut before = Day::from_epoch(-800_000);
        for days in -799_999..800_000 {
            let day = Day::from_epoch(days);
            assert_eq!(day.to_epoch(), days);
            assert!((before.year, before.month, before.day) < (day.year, day.month, day.day));
            before = day;
        }
    }

    #[test]
    fn impossible_days_do_not_exist() {
        for (y, m, d) in
            [(2023, 2, 29), (1900, 2, 29), (2024, 13, 1), (2024, 0, 1), (2024, 4, 31), (2024, 1, 0)]
        {
            assert_eq!(Day::new(y, m, d), None, "{y}-{m}-{d}");
        }
        assert!(Day::new(2000, 2, 29).is_some());
    }

    #[test]
    fn months_are_added_up_to_the_last_day() {
        assert_eq!(day(2024, 1, 31).plus_months(1), Some(day(2024, 2, 29)));
        assert_eq!(day(2024, 1, 31).plus_months(-2), Some(day(2023, 11, 30)));
        assert_eq!(day(2024, 2, 29).plus_months(12), Some(day(2025, 2, 28)));
        assert_eq!(day(2024, 5, 31).plus_months(i64::MAX), None);
    }

    #[test]
    fn weeks_begin_on_monday() {
        assert_eq!(day_of_week(0), 4);
        assert_eq!(day_of_week(day(2024, 1, 1).to_epoch()), 1);
        assert_eq!(day_of_week(day(1969, 12, 28).to_epoch()), 7);
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

    #[test]
    fn the_calendar_is_that_of_jiff_within_its_years() {
        use jiff::{ToSpan, civil};
        let parts = |day: civil::Date| (i64::from(day.year()), day.month() as u8, day.day() as u8);
        let epoch = civil::date(1970, 1, 1);
        let (first, last) = (day(-9999, 1, 1).to_epoch(), day(9999, 12, 31).to_epoch());
        // A prime, so that all days of the month and of the week come up.
        for days in (first..=last).step_by(41).chain([last]) {
            let (ours, theirs) = (Day::from_epoch(days), epoch + days.days());
            assert_eq!((ours.year, ours.month, ours.day), parts(theirs), "{days}");
            assert_eq!(Day::new(ours.year, ours.month, ours.day).map(Day::to_epoch), Some(days));
            assert_eq!(day_of_week(days), i64::from(theirs.weekday().to_monday_one_offset()));
            assert_eq!(ours.of_year(), i64::from(theirs.day_of_year()));
            for months in [-1201, -13, -1, 1, 2, 11, 12, 25, 4800] {
                let moved = ours.plus_months(months).expect("far from overflow");
                match theirs.checked_add(months.months()) {
                    Ok(theirs) => assert_eq!((moved.year, moved.month, moved.day), parts(theirs)),
                    Err(_) => assert!(moved.year.abs() > 9999, "{moved:?}"),
                }
            }
        }
        for (year, month, day) in (-9999..=9999)
            .step_by(7)
            .flat_map(|year| (0..=13u8).flat_map(move |month| (0..=32u8).map(move |day| (year, month, day))))
        {
            let theirs = civil::Date::new(year, month as i8, day as i8);
            assert_eq!(Day::new(year.into(), month, day).is_some(), theirs.is_ok(), "{year}-{month}-{day}");
        }
    }
}
