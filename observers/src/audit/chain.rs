//! The chain of lines: each has its number and the digest of the line before it, also across files and restarts.
//!
//! `seq` counts the lines of a chain from 1. `prev` is the SHA-256 of the line before, from its first byte to its last one, without
//! the line feed, in hexadecimal; the first line of a chain has none. A chain is not signed: whoever can write all files of it can
//! make another one. So its end is worth keeping elsewhere, and the log of the process names it.

use ptc_host::digest::{hex, sha256};
use ptc_mcp::json::{Kind, Raw};

/// Longest line that is part of a chain, in bytes. Longer ones are none of ours.
pub(super) const MAX_LINE: usize = 4 << 20;

/// The digest of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineDigest([u8; 32]);

impl LineDigest {
    /// The digest of a line without its line feed.
    pub(super) fn of(line: &[u8]) -> Self {
        LineDigest(sha256(line))
    }

    /// 64 hexadecimal digits, in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() || text.bytes().any(|digit| digit.is_ascii_uppercase()) {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digit = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
        }
        Some(LineDigest(bytes))
    }

    /// The same as text.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }
}

/// The last line of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainEnd {
    /// Which chain: 32 random hexadecimal digits.
    pub(super) chain: String,
    /// The number of the line; 0 if there is none yet.
    pub(super) seq: u64,
    /// Its digest; `None` if there is none yet.
    pub(super) digest: Option<LineDigest>,
}

impl ChainEnd {
    /// A chain without lines.
    pub(super) fn new(chain: String) -> Self {
        ChainEnd { chain, seq: 0, digest: None }
    }

    /// Makes this object the next line of the chain, and appends it to `out` with its line feed.
    pub(super) fn append(&mut self, object: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(object.strip_suffix(b"}").unwrap_or(object));
        self.seq += 1;
        out.extend_from_slice(format!(r#","seq":{}"#, self.seq).as_bytes());
        if let Some(digest) = self.digest {
            out.extend_from_slice(format!(r#","prev":"{}""#, digest.hex()).as_bytes());
        }
        out.push(b'}');
        self.digest = Some(LineDigest::of(&out[begin..]));
        out.push(b'\n');
    }
}

/// What a line says of its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChainedLine {
    /// Its number.
    pub(super) seq: u64,
    /// The digest of the line before; `None` for the first one of a chain.
    pub(super) prev: Option<LineDigest>,
    /// What it says, if it is about the log itself.
    pub(super) event: Option<LogEvent>,
}

/// A line about the log itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LogEvent {
    /// `opened`, `resumed` or `closed`, or one that a newer version writes.
    pub(super) name: String,
    /// Which chain it belongs to.
    pub(super) chain: Option<String>,
    /// Why it was opened: the name of an [`OpenCause`], or one that a newer version writes. Older ones have none.
    pub(super) cause: Option<String>,
    /// The file that begins here.
    pub(super) file: Option<String>,
    /// The file whose last line is the one before.
    pub(super) after: Option<String>,
    /// Lines that could not be written, just before.
    pub(super) lost: u64,
    /// Bytes before this line that are part of a line and not a whole one.
    pub(super) torn_bytes: u64,
}

/// The event with which a process begins to write to a file, also to one that was there before.
pub(super) const OPENED: &str = "opened";
/// Why a process begins to write to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenCause {
    /// It has started.
    Start,
    /// A reload: the file before was moved away.
    Rotation,
    /// The file was cut, to be begun anew.
    Truncation,
    /// The file before was removed, with its lines.
    Removal,
}

impl OpenCause {
    /// Its name in the lines.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Rotation => "rotation",
            Self::Truncation => "truncation",
            Self::Removal => "removal",
        }
    }
}

/// The event behind lines that could not be written.
pub(super) const RESUMED: &str = "resumed";
/// The event with which a process ends.
pub(super) const CLOSED: &str = "closed";

/// How a line is no line of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unchained {
    /// It is no JSON object on one line: a part of a line, or something else.
    NoObject,
    /// It is an object without a number: of a version before chains, or of somebody else.
    NoNumber,
    /// What it says of its chain is not written as here.
    Malformed,
}

impl ChainedLine {
    /// Reads a line without its line feed.
    ///
    /// # Errors
    /// It is none of a chain.
    pub(super) fn read(line: &[u8]) -> Result<ChainedLine, Unchained> {
        let text = std::str::from_utf8(line).map_err(|_| Unchained::NoObject)?;
        let members = Raw::parse(text).ok().and_then(Raw::members).ok_or(Unchained::NoObject)?;
        let (mut seq, mut prev, mut kind) = (None, None, None);
        let mut log = LogEvent::default();
        let (mut name, mut seen) = (None, Vec::<String>::new());
        for (key, value) in members {
            let text = || value.as_str().map(String::from);
            let number = || (value.kind() == Kind::Integer).then(|| value.text().parse().ok()).flatten();
            match &*key {
                "seq" => seq = Some(number().ok_or(Unchained::Malformed)?),
                "prev" => {
                    let digest = value.as_str().and_then(|text| LineDigest::parse(&text));
                    prev = Some(digest.ok_or(Unchained::Malformed)?);
                }
                "kind" => kind = text(),
                "event" => name = text(),
                "chain" => log.chain = text(),
                "cause" => log.cause = text(),
                "file" => log.file = text(),
                "after" => log.after = text(),
                "lost" => log.lost = number().unwrap_or_default(),
                "torn_bytes" => log.torn_bytes = number().unwrap_or_default(),
                _ => continue,
            }
            // Said twice it would mean one thing here and another elsewhere.
            if seen.iter().any(|known| *known == *key) {
                return Err(Unchained::Malformed);
            }
            seen.push(key.into_owned());
        }
        let Some(seq) = seq else {
            return Err(if prev.is_some() { Unchained::Malformed } else { Unchained::NoNumber });
        };
        if seq == 0 || (seq == 1) != prev.is_none() {
            return Err(Unchained::Malformed);
        }
        let event = name.filter(|_| kind.as_deref() == Some(super::line::LOG));
        Ok(ChainedLine { seq, prev, event: event.map(|name| LogEvent { name, ..log }) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_numbers_and_the_digests_of_those_before() {
        let (mut end, mut out) = (ChainEnd::new("c".to_owned()), Vec::new());
        end.append(br#"{"a":1}"#, &mut out);
        end.append(br#"{"a":2}"#, &mut out);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let first = LineDigest::of(lines[0].as_bytes());
        assert_eq!(lines[0], r#"{"a":1,"seq":1}"#);
        assert_eq!(lines[1], format!(r#"{{"a":2,"seq":2,"prev":"{}"}}"#, first.hex()));
        let read = ChainedLine::read(lines[1].as_bytes()).unwrap();
        assert_eq!((read.seq, read.prev, read.event), (2, Some(first), None));
        assert_eq!((end.seq, end.digest), (2, Some(LineDigest::of(lines[1].as_bytes()))));
        assert_eq!(LineDigest::parse(&first.hex()), Some(first));
    }

    #[test]
    fn other_lines_are_told_apart() {
        let digest = "0".repeat(64);
        for (line, why) in [
            ("", Unchained::NoObject),
            (r#"{"seq":1"#, Unchained::NoObject),
            ("[1]", Unchained::NoObject),
            (r#"{"at":"x","kind":"run"}"#, Unchained::NoNumber),
            (r#"{"seq":0}"#, Unchained::Malformed),
            (r#"{"seq":2}"#, Unchained::Malformed),
            (r#"{"seq":-2}"#, Unchained::Malformed),
            (r#"{"seq":1,"seq":1}"#, Unchained::Malformed),
            (r#"{"seq":2,"prev":"00"}"#, Unchained::Malformed),
            (&format!(r#"{{"seq":2,"prev":"{}"}}"#, "A".repeat(64)), Unchained::Malformed),
            (&format!(r#"{{"seq":1,"prev":"{digest}"}}"#), Unchained::Malformed),
            (&format!(r#"{{"prev":"{digest}"}}"#), Unchained::Malformed),
        ] {
            assert_eq!(ChainedLine::read(line.as_bytes()), Err(why), "{line}");
        }
    }
}
