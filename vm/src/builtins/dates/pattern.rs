//! Patterns of dates and times: reading and writing text by `dd.MM.yyyy HH:mm` and the like.
//!
//! The letters are those of Java's `DateTimeFormatter`, with English names. A formatter is its pattern: a string. jiff's strptime
//! does not do: it takes a number with fewer digits than its letters, any space for a space and 1969 for `69`, and does not
//! say which character does not fit.

use super::date_or_moment::{DateOrMoment, Moment, SECOND};
use super::text::{MONTHS, Stamp, TextCursor, WEEKDAYS};
use crate::value::{Day, Zone};

/// Bytes of a pattern.
const LONGEST: usize = 200;

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    /// Text that stands for itself.
    Text(String),
    /// A letter and how often it stands there.
    Field(char, usize),
}

/// A pattern that has been read.
#[derive(Debug)]
pub(super) struct DatePattern(Vec<Item>);

/// The part that a pattern needs and a time lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MissingPart {
    Time,
    Offset,
}

impl DatePattern {
    /// Reads a pattern. The error describes the fault.
    pub(super) fn new(pattern: &str) -> Result<DatePattern, String> {
        if pattern.len() > LONGEST {
            return Err(format!("a pattern has at most {LONGEST} bytes"));
        }
        let mut items = Vec::new();
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            if first == '\'' {
                let (text, after) = quoted(&rest[1..])?;
                items.push(Item::Text(text));
                rest = after;
            } else if first.is_ascii_alphabetic() {
                let after = rest.trim_start_matches(first);
                let count = rest.len() - after.len();
                check_field(first, count)?;
                items.push(Item::Field(first, count));
                rest = after;
            } else if matches!(first, '[' | ']' | '{' | '}' | '#') {
                return Err(format!("{first} is not supported: put it into single quotes if it is text"));
            } else {
                items.push(Item::Text(first.to_string()));
                rest = &rest[first.len_utf8()..];
            }
        }
        let pattern = DatePattern(items);
        if pattern.has('h') != pattern.has('a') {
            return Err("hh needs a for AM or PM: write hh:mm a, or HH:mm".to_owned());
        }
        Ok(pattern)
    }

    fn has(&self, letter: char) -> bool {
        self.0.iter().any(|item| matches!(item, Item::Field(field, _) if *field == letter))
    }

    /// Whether it says a time of the day.
    fn has_time(&self) -> bool {
        "HhmsSaXxZVz".chars().any(|letter| self.has(letter))
    }

    /// Writes a date or a point in time, unless the pattern needs a part that it lacks.
    pub(super) fn write(&self, when: DateOrMoment) -> Result<String, MissingPart> {
        if matches!(when, DateOrMoment::Day(_)) && self.has_time() {
            return Err(MissingPart::Time);
        }
        let (days, micros) = when.parts();
        let date = Day::from_epoch(days);
        let seconds = micros / SECOND;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let mut out = String::new();
        for item in &self.0 {
            let (letter, count) = match item {
                Item::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Item::Field(letter, count) => (*letter, *count),
            };
            let number = match letter {
                'y' | 'u' if count == 2 => date.year().rem_euclid(100),
                'y' | 'u' => {
                    if date.year() < 0 {
                        out.push('-');
                    }
                    date.year().abs()
                }
                'M' | 'L' if count >= 3 => {
                    let name = MONTHS[(date.month() - 1) as usize];
                    out.push_str(if count == 3 { &name[..3] } else { name });
                    continue;
                }
                'M' | 'L' => date.month(),
                'd' => date.of_month(),
                'E' => {
                    let name = WEEKDAYS[(date.of_week() - 1) as usize];
                    out.push_str(if count == 4 { name } else { &name[..3] });
                    continue;
                }
                'H' => hour,
                'h' => (hour + 11) % 12 + 1,
                'm' => minute,
                's' => second,
                'S' => {
                    let digits = format!("{:06}000", micros % SECOND);
                    out.push_str(&digits[..count]);
                    continue;
                }
                'a' => {
                    out.push_str(if hour < 12 { "AM" } else { "PM" });
                    continue;
                }
                'V' => {
                    out.push_str(&when.zone().ok_or(MissingPart::Offset)?.name());
                    continue;
                }
                'z' => {
                    let (zone, instant) = when.zone().zip(when.instant()).ok_or(MissingPart::Offset)?;
                    out.push_str(&zone.abbreviation_at(instant.micros));
                    continue;
                }
                _ => {
                    push_offset(letter, count, when.offset().ok_or(MissingPart::Offset)?, &mut out);
                    continue;
                }
            };
            out.push_str(&format!("{number:0count$}"));
        }
        Ok(out)
    }

    /// Reads a text. The error is the number of the first character that does not fit, from 1, or the missing part.
    pub(super) fn read(&self, text: &str) -> Result<DateOrMoment, PatternMismatch> {
        let mut fields = Fields::default();
        let mut reader = TextCursor(text);
        let at = |rest: &str| PatternMismatch::At(text[..text.len() - rest.len()].chars().count() + 1);
        for (index, item) in self.0.iter().enumerate() {
            let rest = reader.0;
            let next_is_digits = matches!(self.0.get(index + 1), Some(Item::Field(letter, count))
                if "yuMLdHhmsS".contains(*letter) && !(matches!(letter, 'M' | 'L') && *count >= 3));
            let fits = match item {
                Item::Text(literal) => reader.accept(literal),
                Item::Field(letter, count) => {
                    fields.read(*letter, *count, next_is_digits, &mut reader).is_some()
                }
            };
            if !fits {
                return Err(at(rest));
            }
        }
        if !reader.0.is_empty() {
            return Err(at(reader.0));
        }
        fields.when(self.has_time())
    }
}

/// Why a text does not fit a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PatternMismatch {
    /// The character of that number, from 1.
    At(usize),
    /// All of it fits, but it is no date.
    Meaning(&'static str),
}

/// Text up to the closing quote, and the rest after it. Two quotes are one.
fn quoted(rest: &str) -> Result<(String, &str), String> {
    if let Some(after) = rest.strip_prefix('\'') {
        return Ok(("'".to_owned(), after));
    }
    let mut text = String::new();
    let mut rest = rest;
    loop {
        let Some((piece, after)) = rest.split_once('\'') else {
            return Err("a single quote is not closed".to_owned());
        };
        text.push_str(piece);
        match after.strip_prefix('\'') {
            Some(after) => {
                text.push('\'');
                rest = after;
            }
            None => return Ok((text, after)),
        }
    }
}

/// Appends an offset in seconds as one of the letters `X x Z` writes it.
fn push_offset(letter: char, count: usize, seconds: i32, out: &mut String) {
    if letter == 'X' && seconds == 0 {
        out.push('Z');
        return;
    }
    let minutes = seconds.abs() / 60;
    out.push(if seconds < 0 { '-' } else { '+' });
    out.push_str(&format!("{:02}", minutes / 60));
    if letter != 'Z' && count == 1 && minutes % 60 == 0 {
        return;
    }
    if letter != 'Z' && count == 3 {
        out.push(':');
    }
    out.push_str(&format!("{:02}", minutes % 60));
}

fn check_field(letter: char, count: usize) -> Result<(), String> {
    let most = match letter {
        'y' | 'u' | 'M' | 'L' | 'E' => 4,
        'd' | 'H' | 'h' | 'm' | 's' => 2,
        'S' => 9,
        'a' => 1,
        'X' | 'x' | 'Z' | 'z' => 3,
        'V' => 2,
        _ => 0,
    };
    let is_gap = matches!((letter, count), ('y' | 'u', 3) | ('V', 1));
    if (1..=most).contains(&count) && !is_gap {
        return Ok(());
    }
    let field = letter.to_string().repeat(count.min(8));
    Err(match letter {
        'Y' => format!("{field} is the year of a week: write yyyy"),
        'D' => format!("{field} is the day of the year: write dd for the day of the month"),
        'V' | 'z' | 'v' | 'O' => {
            format!(
                "{field} is not supported: write VV for a time zone, z for its short name, XXX for an offset such as +02:00"
            )
        }
        'k' | 'K' => format!("{field} is not supported: write HH, or hh with a"),
        'n' | 'N' | 'A' => format!("{field} is not supported: write SSS for the fraction of a second"),
        _ if most > 0 => format!("{field} has too many letters, or too few"),
        _ => format!(
            "{field} means nothing: put text into single quotes, and use yyyy MM dd HH mm ss SSS MMM MMMM EEE EEEE a XXX VV"
        ),
    })
}

/// The fields read so far.
#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    weekday: Option<i64>,
    hour: i64,
    /// Whether it is after noon, by a clock of twelve hours.
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    /// Microseconds, and how many digits of them were given.
    fraction: (i64, u8),
    /// Seconds east of UTC.
    offset: Option<i64>,
    zone: Option<Zone>,
}

impl Fields {
    /// Reads a field, if it is there. `exact`: digits follow, so a number has as many as its letters.
    fn read(&mut self, letter: char, count: usize, exact: bool, reader: &mut TextCursor<'_>) -> Option<()> {
        match letter {
            'y' | 'u' => {
                let sign = if count != 2 && reader.accept("-") { -1 } else { 1 };
                let year = reader.number(count, if exact || count != 1 { count } else { 4 })?;
                self.year = Some(if count == 2 { 2000 + year } else { sign * year });
            }
            'M' | 'L' if count >= 3 => self.month = Some(name(reader, &MONTHS, count == 3)?),
            'E' => self.weekday = Some(name(reader, &WEEKDAYS, count < 4)?),
            'a' => self.afternoon = Some(name(reader, &["AM", "PM"], false)? == 2),
            'S' => self.fraction = reader.fraction(count, count)?,
            'X' if reader.accept("Z") => self.offset = Some(0),
            'X' | 'x' | 'Z' => self.offset = Some(reader.offset().filter(|offset| offset.abs() < 19 * 3600)?),
            'V' | 'z' => {
                let name = reader.run(|c| c.is_ascii_alphanumeric() || "/_+-:".contains(c));
                self.zone = Some(Zone::named(name)?);
            }
            _ => {
                let (place, range) = match letter {
                    'M' | 'L' => (self.month.insert(0), 1..=12),
                    'd' => (self.day.insert(0), 1..=31),
                    'H' => (&mut self.hour, 0..=23),
                    'h' => (&mut self.hour, 1..=12),
                    'm' => (&mut self.minute, 0..=59),
                    _ => (&mut self.second, 0..=59),
                };
                *place = reader.number(count, if exact { count } else { 2 })?;
                return range.contains(place).then_some(());
            }
        }
        Some(())
    }

    fn when(&self, has_time: bool) -> Result<DateOrMoment, PatternMismatch> {
        let (Some(year), Some(month), Some(day)) = (self.year, self.month, self.day) else {
            return Err(PatternMismatch::Meaning("the pattern must have a year, a month and a day"));
        };
        let date = Day::new(year, month, day).ok_or(PatternMismatch::Meaning("there is no such date"))?;
        if self.weekday.is_some_and(|weekday| weekday != date.of_week()) {
            return Err(PatternMismatch::Meaning("the date is another day of the week"));
        }
        if !has_time {
            return Ok(DateOrMoment::Day(date.to_epoch()));
        }
        let hour = match self.afternoon {
            Some(afternoon) => self.hour % 12 + if afternoon { 12 } else { 0 },
            None => self.hour,
        };
        let (fraction, digits) = self.fraction;
        let micros = ((hour * 60 + self.minute) * 60 + self.second) * SECOND + fraction;
        let when = Stamp::new(date, Moment { micros, digits }, self.offset, self.zone).when();
        when.ok_or(PatternMismatch::Meaning("an offset is at most 18 hours"))
    }
}

/// One of the names, or its first three letters: its number, from 1.
fn name(reader: &mut TextCursor<'_>, names: &[&str], short: bool) -> Option<i64> {
    let index = names.iter().position(|name| {
        let begin = reader.0.get(..if short { 3 } else { name.len() });
        begin.is_some_and(|begin| name[..begin.len()].eq_ignore_ascii_case(begin) && reader.accept(begin))
    })?;
    Some(index as i64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, text: &str) -> Result<DateOrMoment, PatternMismatch> {
        DatePattern::new(pattern).expect("a pattern").read(text).map(DateOrMoment::settled)
    }

    fn days(year: i64, month: i64, day: i64) -> i64 {
        Day::new(year, month, day).expect("a real day").to_epoch()
    }

    fn moment(
        date: (i64, i64, i64),
        seconds: i64,
        micros: i64,
        digits: u8,
    ) -> Result<DateOrMoment, PatternMismatch> {
        let micros = (days(date.0, date.1, date.2) * 86_400 + seconds) * SECOND + micros;
        Ok(DateOrMoment::Instant(Moment { micros, digits }))
    }

    #[test]
    fn dates_are_read_by_their_pattern() {
        let leap = Ok(DateOrMoment::Day(days(2024, 2, 29)));
        for (pattern, text) in [
            ("yyyy-MM-dd", "2024-02-29"),
            ("dd/MM/yyyy", "29/02/2024"),
            ("d.M.yyyy", "29.2.2024"),
            ("M/d/yy", "2/29/24"),
            ("yyyyMMdd", "20240229"),
            ("uuuuMMdd", "20240229"),
            ("yyMMdd", "240229"),
            ("d MMM yyyy", "29 Feb 2024"),
            ("MMMM d, yyyy", "February 29, 2024"),
            ("MMMM d, yyyy", "FEBRUARY 29, 2024"),
            ("EEE, d MMM yyyy", "Thu, 29 Feb 2024"),
            ("EEEE dd-MMM-yy", "Thursday 29-feb-24"),
            ("'on' yyyy 'o''clock' MM''dd", "on 2024 o'clock 02'29"),
        ] {
            assert_eq!(read(pattern, text), leap, "{text} by {pattern}");
        }
    }

    #[test]
    fn times_are_read_by_their_pattern() {
        let date = (2024, 2, 29);
        for (pattern, text, want) in [
            ("yyyy-MM-dd HH:mm", "2024-02-29 13:05", moment(date, 47_100, 0, 0)),
            ("yyyy-MM-dd HH:mm:ss.SSS", "2024-02-29 13:05:09.250", moment(date, 47_109, 250_000, 3)),
            ("yyyyMMddHHmmss", "20240229130509", moment(date, 47_109, 0, 0)),
            ("yyyyMMddHHmmssSSS", "20240229130509250", moment(date, 47_109, 250_000, 3)),
            ("M/d/yyyy h:mm a", "2/29/2024 1:05 PM", moment(date, 47_100, 0, 0)),
            ("M/d/yyyy hh:mma", "2/29/2024 12:00am", moment(date, 0, 0, 0)),
            ("M/d/yyyy hh:mma", "2/29/2024 12:00PM", moment(date, 43_200, 0, 0)),
            ("yyyy-MM-dd'T'HH:mm:ssXXX", "2024-02-29T13:05:09+02:00", moment(date, 39_909, 0, 0)),
            ("yyyy-MM-dd'T'HH:mm:ssX", "2024-02-29T13:05:09Z", moment(date, 47_109, 0, 0)),
            ("yyyy-MM-dd HH:mm:ss Z", "2024-02-29 13:05:09 -0530", moment(date, 66_909, 0, 0)),
            ("dd/MMM/yyyy:HH:mm:ss Z", "29/Feb/2024:13:05:09 +0000", moment(date, 47_109, 0, 0)),
            (
                "yyyy-MM-dd HH:mm:ss.SSSSSSSSS",
                "2024-02-29 13:05:09.123456789",
                moment(date, 47_109, 123_456, 6),
            ),
        ] {
            assert_eq!(read(pattern, text), want, "{text} by {pattern}");
        }
    }

    #[test]
    fn what_does_not_fit_says_where() {
        for (pattern, text, want) in [
            ("dd/MM/yyyy", "2024-02-29", PatternMismatch::At(3)),
            ("dd/MM/yyyy", "29/13/2024", PatternMismatch::At(4)),
            ("dd/MM/yyyy", "29/02/2024 ", PatternMismatch::At(11)),
            ("dd/MM/yyyy", "", PatternMismatch::At(1)),
            ("dd/MM/yyyy", "30/02/2024", PatternMismatch::Meaning("there is no such date")),
            (
                "EEE dd/MM/yyyy",
                "Mon 29/02/2024",
                PatternMismatch::Meaning("the date is another day of the week"),
            ),
            (
                "yyyy-MM",
                "2024-02",
                PatternMismatch::Meaning("the pattern must have a year, a month and a day"),
            ),
            ("HH:mm", "24:00", PatternMismatch::At(1)),
            ("yyyy-MM-dd HH:mmX", "2024-02-29 10:00+99", PatternMismatch::At(17)),
            ("d MMM yyyy", "1 Fév 2024", PatternMismatch::At(3)),
        ] {
            assert_eq!(read(pattern, text), Err(want), "{text} by {pattern}");
        }
    }

    #[test]
    fn dates_and_times_are_written_by_their_pattern() {
        let day = DateOrMoment::Day(days(2024, 2, 5));
        let time = Moment { micros: (days(2024, 2, 5) * 86_400 + 47_109) * SECOND + 120_000, digits: 2 };
        let berlin = DateOrMoment::Zoned(time, Zone::named("Europe/Berlin").expect("a zone"));
        let time = DateOrMoment::Instant(time);
        for (pattern, when, want) in [
            ("dd.MM.yyyy", day, "05.02.2024"),
            ("d.M.yy", day, "5.2.24"),
            ("EEE d MMM yyyy", day, "Mon 5 Feb 2024"),
            ("EEEE, MMMM d, y", day, "Monday, February 5, 2024"),
            ("yyyy-'W'MM", day, "2024-W02"),
            ("yyyy-MM-dd HH:mm:ss.SSS", time, "2024-02-05 13:05:09.120"),
            ("yyyy-MM-dd'T'HH:mm:ssXXX", time, "2024-02-05T13:05:09Z"),
            ("h:mm a Z x xxx S", time, "1:05 PM +0000 +00 +00:00 1"),
            ("HH:mm VV z X", time, "13:05 Z Z Z"),
            ("HH:mm VV z X XX XXX x Z", berlin, "14:05 Europe/Berlin CET +01 +0100 +01:00 +01 +0100"),
            ("yyyy", DateOrMoment::Day(days(-44, 3, 15)), "-0044"),
        ] {
            let written = DatePattern::new(pattern).expect("a pattern").write(when);
            assert_eq!(written.as_deref(), Ok(want), "{pattern}");
        }
        let local = DateOrMoment::Local(Moment { micros: 0, digits: 0 });
        for (pattern, when, lack) in [
            ("HH:mm", day, MissingPart::Time),
            ("HH XXX", local, MissingPart::Offset),
            ("HH VV", local, MissingPart::Offset),
            ("HH z", local, MissingPart::Offset),
        ] {
            assert_eq!(DatePattern::new(pattern).expect("a pattern").write(when), Err(lack), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_mean_nothing_or_something_else_are_refused() {
        for (pattern, want) in [
            ("YYYY-MM-dd", "YYYY is the year of a week: write yyyy"),
            ("yyyy-MM-DD", "DD is the day of the year: write dd for the day of the month"),
            (
                "yyyy-MM-dd OOOO",
                "OOOO is not supported: write VV for a time zone, z for its short name, XXX for an offset such as +02:00",
            ),
            ("hh:mm", "hh needs a for AM or PM: write hh:mm a, or HH:mm"),
            ("yyyy-MM-dd[ HH:mm]", "[ is not supported: put it into single quotes if it is text"),
            ("yyyy 'x", "a single quote is not closed"),
            ("ddd", "ddd has too many letters, or too few"),
            ("kk:mm", "kk is not supported: write HH, or hh with a"),
        ] {
            assert_eq!(DatePattern::new(pattern).unwrap_err(), want, "{pattern}");
        }
        assert!(DatePattern::new(&"'x'".repeat(67)).is_err());
        assert!(DatePattern::new(&"'x'".repeat(66)).is_ok());
    }

    #[test]
    fn what_is_written_is_read_again() {
        for pattern in
            ["yyyy-MM-dd HH:mm:ss", "d MMM yyyy h:mm:ss a", "EEEE dd/MM/yyyy'T'HHmmss X", "yyyyMMddHHmmss"]
        {
            let pattern = DatePattern::new(pattern).expect("a pattern");
            for n in 0..500 {
                let micros = (n * 7_919_777_i64) * SECOND;
                let when = DateOrMoment::Instant(Moment { micros, digits: 0 });
                let text = pattern.write(when).expect("a time");
                assert_eq!(pattern.read(&text).map(DateOrMoment::settled), Ok(when), "{text}");
            }
        }
        let when = DateOrMoment::Zoned(
            Moment { micros: 1_774_746_000 * SECOND, digits: 0 },
            Zone::named("Asia/Tokyo").expect("a zone"),
        );
        let pattern = DatePattern::new("yyyy-MM-dd HH:mm:ss VV").expect("a pattern");
        assert_eq!(pattern.read(&pattern.write(when).expect("a time")), Ok(when));
    }
}
