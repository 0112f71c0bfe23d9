//! Points in time as the functions of the family see them.

use crate::value::{Temporal, Value, Zone, local_parts};

/// Microseconds of a second.
pub(super) const SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub(super) const DAY: i64 = 86_400 * SECOND;

/// Microseconds since 1970-01-01T00:00, of UTC or of a clock without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// The microseconds.
    pub(super) micros: i64,
    /// Fraction digits that were given, at most 6.
    pub(super) digits: u8,
}

impl Moment {
    /// The start of a day; `None` outside the range of instants.
    pub(super) fn midnight(days: i64) -> Option<Moment> {
        Some(Moment { micros: days.checked_mul(DAY)?, digits: 0 })
    }
}

/// A date, or a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateOrMoment {
    /// Days since 1970-01-01.
    Day(i64),
    /// A date and a time without a zone.
    Local(Moment),
    /// An instant, which shows its time in UTC.
    Instant(Moment),
    /// An instant, which shows its time in a zone.
    Zoned(Moment, Zone),
}

impl DateOrMoment {
    /// The point in time of a value, unless it is a duration or no time at all.
    pub(super) fn of(value: &Value) -> Option<DateOrMoment> {
        let Value::Temporal(temporal) = value else { return None };
        match **temporal {
            Temporal::Date(days) => Some(DateOrMoment::Day(days)),
            Temporal::Instant { micros, digits } => Some(DateOrMoment::Instant(Moment { micros, digits })),
            Temporal::Local { micros, digits } => Some(DateOrMoment::Local(Moment { micros, digits })),
            Temporal::Zoned { micros, digits, zone } => {
                Some(DateOrMoment::Zoned(Moment { micros, digits }, zone))
            }
            Temporal::Duration(_) => None,
        }
    }

    /// The value.
    pub(super) fn value(self) -> Value {
        Value::temporal(match self {
            DateOrMoment::Day(days) => Temporal::date(days),
            DateOrMoment::Local(Moment { micros, digits }) => Temporal::local(micros, digits),
            DateOrMoment::Instant(Moment { micros, digits }) => Temporal::instant(micros, digits),
            DateOrMoment::Zoned(Moment { micros, digits }, zone) => Temporal::zoned(micros, digits, zone),
        })
    }

    /// The day and the microseconds of the day that its clock shows.
    pub(super) fn parts(self) -> (i64, i64) {
        match self {
            DateOrMoment::Day(days) => (days, 0),
            DateOrMoment::Local(moment) | DateOrMoment::Instant(moment) => local_parts(moment.micros, 0),
            DateOrMoment::Zoned(moment, zone) => local_parts(moment.micros, zone.offset_at(moment.micros)),
        }
    }

    /// The local time of its clock, as a time without a zone; `None` if that is out of range.
    pub(super) fn local(self) -> Option<Moment> {
        let digits = match self {
            DateOrMoment::Day(_) => 0,
            DateOrMoment::Local(moment) | DateOrMoment::Instant(moment) | DateOrMoment::Zoned(moment, _) => {
                moment.digits
            }
        };
        let (days, micros) = self.parts();
        Some(Moment { micros: days.checked_mul(DAY)?.checked_add(micros)?, digits })
    }

    /// The zone of its clock.
    pub(super) fn zone(self) -> Option<Zone> {
        match self {
            DateOrMoment::Day(_) | DateOrMoment::Local(_) => None,
            DateOrMoment::Instant(_) => Some(Zone::UTC),
            DateOrMoment::Zoned(_, zone) => Some(zone),
        }
    }

    /// The instant, where it is one.
    pub(super) fn instant(self) -> Option<Moment> {
        match self {
            DateOrMoment::Day(_) | DateOrMoment::Local(_) => None,
            DateOrMoment::Instant(moment) | DateOrMoment::Zoned(moment, _) => Some(moment),
        }
    }

    /// Seconds that its clock is ahead of UTC.
    pub(super) fn offset(self) -> Option<i32> {
        Some(self.zone()?.offset_at(self.instant()?.micros))
    }

    /// As `parse` gives it: an instant, but for dates and times of a zone that has a name.
    pub(super) fn settled(self) -> DateOrMoment {
        match self {
            DateOrMoment::Local(moment) => DateOrMoment::Instant(moment),
            DateOrMoment::Zoned(moment, zone) if zone.is_offset() => DateOrMoment::Instant(moment),
            other => other,
        }
    }
}
