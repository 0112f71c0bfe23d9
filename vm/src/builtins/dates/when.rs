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
pub(super) enum When {
    /// Days since 1970-01-01.
    Day(i64),
    /// A date and a time without a zone.
    Local(Moment),
    /// An instant, which shows its time in UTC.
    Instant(Moment),
    /// An instant, which shows its time in a zone.
    Zoned(Moment, Zone),
}

impl When {
    /// The point in time of a value, unless it is a duration or no time at all.
    pub(super) fn of(value: &Value) -> Option<When> {
        let Value::Temporal(temporal) = value else { return None };
        match **temporal {
            Temporal::Date(days) => Some(When::Day(days)),
            Temporal::Instant { micros, digits } => Some(When::Instant(Moment { micros, digits })),
            Temporal::Local { micros, digits } => Some(When::Local(Moment { micros, digits })),
            Temporal::Zoned { micros, digits, zone } => Some(When::Zoned(Moment { micros, digits }, zone)),
            Temporal::Duration(_) => None,
        }
    }

    /// The value.
    pub(super) fn value(self) -> Value {
        Value::temporal(match self {
            When::Day(days) => Temporal::date(days),
            When::Local(Moment { micros, digits }) => Temporal::local(micros, digits),
            When::Instant(Moment { micros, digits }) => Temporal::instant(micros, digits),
            When::Zoned(Moment { micros, digits }, zone) => Temporal::zoned(micros, digits, zone),
        })
    }

    /// The day and the microseconds of the day that its clock shows.
    pub(super) fn parts(self) -> (i64, i64) {
        match self {
            When::Day(days) => (days, 0),
            When::Local(moment) | When::Instant(moment) => local_parts(moment.micros, 0),
            When::Zoned(moment, zone) => local_parts(moment.micros, zone.offset_at(moment.micros)),
        }
    }

    /// The local time of its clock, as a time without a zone; `None` if that is out of range.
    pub(super) fn local(self) -> Option<Moment> {
        let digits = match self {
            When::Day(_) => 0,
            When::Local(moment) | When::Instant(moment) | When::Zoned(moment, _) => moment.digits,
        };
        let (days, micros) = self.parts();
        Some(Moment { micros: days.checked_mul(DAY)?.checked_add(micros)?, digits })
    }

    /// The zone of its clock.
    pub(super) fn zone(self) -> Option<Zone> {
        match self {
            When::Day(_) | When::Local(_) => None,
            When::Instant(_) => Some(Zone::UTC),
            When::Zoned(_, zone) => Some(zone),
        }
    }

    /// The instant, where it is one.
    pub(super) fn instant(self) -> Option<Moment> {
        match self {
            When::Day(_) | When::Local(_) => None,
            When::Instant(moment) | When::Zoned(moment, _) => Some(moment),
        }
    }

    /// Seconds that its clock is ahead of UTC.
    pub(super) fn offset(self) -> Option<i32> {
        Some(self.zone()?.offset_at(self.instant()?.micros))
    }

    /// As `parse` gives it: an instant, but for dates and times of a zone that has a name.
    pub(super) fn settled(self) -> When {
        match self {
            When::Local(moment) => When::Instant(moment),
            When::Zoned(moment, zone) if zone.is_offset() => When::Instant(moment),
            other => other,
        }
    }
}
