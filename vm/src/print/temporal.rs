//! Dates, instants and durations as text (language.md 2.8, 6).

use crate::value::Temporal;
use std::fmt::Write as _;

const DAY: i64 = 86_400_000_000;

/// Year, month and day of a day counted from 1970-01-01, proleptic Gregorian.
fn civil(days: i64) -> (i64, u32, u32) {
    // Eras of 400 years, counted from 0000-03-01, so that the leap day ends a year.
    let shifted = i128::from(days) + 719_468;
    let era = shifted.div_euclid(146_097);
    let day = shifted.rem_euclid(146_097);
    let year_of_era = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day_of_month = (day_of_year - (153 * month_index + 2) / 5 + 1) as u32;
    let month = (if month_index < 10 { month_index + 3 } else { month_index - 9 }) as u32;
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    (year as i64, month, day_of_month)
}

fn write_date(days: i64, out: &mut String) {
    let (year, month, day) = civil(days);
    let sign = if year < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{:04}-{month:02}-{day:02}", year.unsigned_abs());
}

/// Appends the ISO-8601 text of a date or an instant, or `#duration[5ms]`.
pub fn write_iso(temporal: &Temporal, out: &mut String) {
    match *temporal {
        Temporal::Date(days) => write_date(days, out),
        Temporal::Instant { micros, digits } => {
            write_date(micros.div_euclid(DAY), out);
            let time = micros.rem_euclid(DAY);
            let (seconds, fraction) = (time / 1_000_000, time % 1_000_000);
            let _ = write!(out, "T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
            let digits = u32::from(digits.min(6));
            if digits > 0 {
                let _ =
                    write!(out, ".{:0width$}", fraction / 10_i64.pow(6 - digits), width = digits as usize);
            }
            out.push('Z');
        }
        Temporal::Duration(millis) => {
            let _ = write!(out, "#duration[{millis}ms]");
        }
    }
}
