//! The timestamp of a log line.

use std::cell::Cell;
use std::time::UNIX_EPOCH;

use jiff::Timestamp;
use ptc_host::time;

/// A second as text: `2026-03-04T05:06:07.`
type Second = [u8; 20];

/// Appends the time as `2026-03-04T05:06:07.123456Z`. Each second is formatted once: formatting costs more than the
/// rest of a line.
pub(super) fn write_now(out: &mut Vec<u8>) {
    // Before 1970 is as wrong as 1970.
    let since = time::time_of_day().duration_since(UNIX_EPOCH).unwrap_or_default();
    write(out, since.as_secs(), since.subsec_micros());
}

fn write(out: &mut Vec<u8>, second: u64, micros: u32) {
    thread_local! {
        static LAST: Cell<Option<(u64, Second)>> = const { Cell::new(None) };
    }
    let text = match LAST.get() {
        Some((last, text)) if last == second => text,
        _ => {
            let text = date(second);
            LAST.set(Some((second, text)));
            text
        }
    };
    out.extend_from_slice(&text);
    let digits: [u8; 6] = std::array::from_fn(|at| b'0' + (micros / 10_u32.pow(5 - at as u32) % 10) as u8);
    out.extend_from_slice(&digits);
    out.push(b'Z');
}

fn date(second: u64) -> Second {
    let at = i64::try_from(second).ok().and_then(|second| Timestamp::from_second(second).ok());
    let text = at.unwrap_or(Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%S.").to_string();
    // A clock of the year 10 000 is as wrong as one of 1970.
    text.as_bytes().try_into().unwrap_or(*b"1970-01-01T00:00:00.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_change_with_the_clock() {
        let text = |second, micros| {
            let mut out = Vec::new();
            write(&mut out, second, micros);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(1_772_600_767, 123_456), "2026-03-04T05:06:07.123456Z");
        assert_eq!(text(1_772_600_767, 7), "2026-03-04T05:06:07.000007Z");
        assert_eq!(text(1_772_600_768, 999_999), "2026-03-04T05:06:08.999999Z");
        assert_eq!(text(0, 0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(text(u64::MAX, 0), "1970-01-01T00:00:00.000000Z");
    }
}
