//! Checks the chain of audit files: that no line was changed, inserted or taken out, and that no file is missing.
//!
//! Files are read once, from their beginnings to their ends, in bounded memory. What cannot be known from the files themselves: whether
//! lines are missing behind the last line of the last file, unless that is the line with which a process ends, and whether whoever can
//! write all files has made a new chain. The digest of a line that was kept elsewhere answers both ([`Verifier::expect`]).

mod lines;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use self::lines::{Lines, NextLine};
pub use self::report::{FileEnd, FileReport, Finding, FindingKind, Note, NoteKind, Report};
pub use super::chain::LineDigest;
use super::chain::{CLOSED, ChainedLine, OPENED, OpenCause, Unchained};

/// Findings and notes that are kept; the rest are counted.
const MAX_KEPT: usize = 1000;

/// A file to check.
pub struct AuditSource<R> {
    /// Its name, for the report.
    pub name: String,
    /// Its bytes.
    pub reader: R,
}

/// Checks files.
#[derive(Debug, Default)]
pub struct Verifier {
    /// True if older files may be missing.
    is_partial: bool,
    /// Lines that must be there.
    expected: Vec<LineDigest>,
    report: Report,
    /// Where each chain ends so far.
    ends: BTreeMap<String, KnownEnd>,
}

/// The end of a chain so far.
#[derive(Debug, Clone)]
struct KnownEnd {
    seq: u64,
    digest: LineDigest,
    /// The name of the event, if it is a line about the log.
    event: Option<String>,
    /// The file in which it is, by its place in the report.
    file: usize,
}

/// A file whose first line has been read.
struct Begun<R> {
    name: String,
    lines: Lines<R>,
    first: NextLine,
    /// The chain that the first line names, and its number there.
    place: Option<(String, u64)>,
    /// The digest that it names.
    prev: Option<LineDigest>,
}

/// How far a file has been checked.
struct Position {
    /// The place of its report.
    file: usize,
    /// The chain that it belongs to, once a line has named it.
    chain: Option<String>,
    /// The number and the digest of the last line of the chain.
    last: Option<(u64, LineDigest)>,
    /// The name of the last event, if the last line was one about the log.
    last_event: Option<String>,
    /// A line that is no whole one: its number in the file, and its bytes.
    torn: Option<(u64, u64)>,
    /// Lines before the first one that has a number.
    unchained: u64,
}

impl Verifier {
    /// A check that finds all that can be found. `is_partial`: files before the first one given are not missed.
    pub fn new(is_partial: bool) -> Self {
        Verifier { is_partial, ..Verifier::default() }
    }

    /// A line with this digest must be there: one that was noted elsewhere.
    pub fn expect(&mut self, digest: LineDigest) {
        self.expected.push(digest);
    }

    /// Checks these files, in the order of their chains, whatever the order given is.
    ///
    /// # Errors
    /// The name of a file that cannot be read, and why.
    pub fn verify<R: BufRead>(
        mut self,
        sources: impl IntoIterator<Item = AuditSource<R>>,
    ) -> Result<Report, (String, io::Error)> {
        let mut begun = Vec::new();
        for source in sources {
            let AuditSource { name, reader } = source;
            let mut lines = Lines::new(reader);
            let first = lines.next().map_err(|error| (name.clone(), error))?;
            let read = match &first {
                NextLine::Line(line) => ChainedLine::read(line).ok(),
                _ => None,
            };
            let prev = read.as_ref().and_then(|line| line.prev);
            let place = read.and_then(|line| Some((line.event?.chain?, line.seq)));
            begun.push(Begun { name, lines, first, place, prev });
        }
        begun.sort_by(|one, other| one.place.cmp(&other.place));
        for file in begun {
            self.check(file)?;
        }
        for digest in std::mem::take(&mut self.expected) {
            self.find(None, 0, FindingKind::ExpectedLineMissing { digest });
        }
        Ok(self.report)
    }

    fn check<R: BufRead>(&mut self, file: Begun<R>) -> Result<(), (String, io::Error)> {
        let Begun { name, mut lines, first, place, prev } = file;
        let mut at = Position {
            file: self.report.files.len(),
            chain: None,
            last: None,
            last_event: None,
            torn: None,
            unchained: 0,
        };
        self.report.files.push(FileReport::new(name.clone()));
        if let Some((chain, _)) = &place {
            // A file that has lost its first line does not say which chain it belongs to.
            let known =
                self.ends.get(chain).or_else(|| self.ends.get("").filter(|end| prev == Some(end.digest)));
            at.last = known.map(|end| (end.seq, end.digest));
            at.last_event = known.and_then(|end| end.event.clone());
            at.chain = Some(chain.clone());
        }
        let mut next = first;
        let mut number = 0;
        let mut ends_whole = true;
        loop {
            number += 1;
            match &next {
                NextLine::End => break,
                NextLine::Line(line) => self.line(&mut at, number, line),
                NextLine::Part(part) => {
                    // What a process has not finished, or a copy of a file to which one still writes.
                    ends_whole = false;
                    self.not_chained(&mut at, number, part.len() as u64, Unchained::NoObject);
                }
                NextLine::TooLong(bytes) => {
                    self.not_chained(&mut at, number, *bytes, Unchained::NoObject);
                }
            }
            next = lines.next().map_err(|error| (name.clone(), error))?;
        }
        self.ends_file(at, number - 1, ends_whole);
        Ok(())
    }

    fn line(&mut self, at: &mut Position, number: u64, bytes: &[u8]) {
        let line = match ChainedLine::read(bytes) {
            Ok(line) => line,
            Err(why) => return self.not_chained(at, number, bytes.len() as u64, why),
        };
        let digest = LineDigest::of(bytes);
        self.expected.retain(|expected| *expected != digest);
        let opened = line.event.as_ref().filter(|event| event.name == OPENED);
        let torn_bytes = line.event.as_ref().map_or(0, |event| event.torn_bytes);
        self.settle_torn(at, torn_bytes);
        let is_first = at.is_first_here(&self.report);
        match opened.and_then(|event| event.chain.as_ref()) {
            Some(chain) if at.chain.as_ref().is_some_and(|known| known != chain) => {
                self.find(Some(at.file), number, FindingKind::OtherChain);
                at.last = None;
                at.chain = Some(chain.clone());
            }
            Some(chain) => at.chain = Some(chain.clone()),
            None => {}
        }
        if is_first && opened.is_none() {
            self.find(Some(at.file), number, FindingKind::BeginningCut { seq: line.seq });
        } else if let Some((seq, last)) = at.last {
            let is_next = line.prev == Some(last);
            match line.seq.checked_sub(seq) {
                Some(1) if is_next => {}
                // The line before is what it was when this one was written, or the other way round.
                Some(1) if is_first => self.find(Some(at.file), number, FindingKind::FileChanged { seq }),
                Some(1) => self.find(Some(at.file), number, FindingKind::Changed),
                Some(more) if more > 1 && is_first => {
                    self.find(
                        Some(at.file),
                        number,
                        FindingKind::FileMissing { from: seq + 1, to: line.seq - 1 },
                    );
                }
                Some(more) if more > 1 => {
                    self.find(
                        Some(at.file),
                        number,
                        FindingKind::Missing { from: seq + 1, to: line.seq - 1 },
                    );
                }
                _ if is_first => {
                    self.find(Some(at.file), number, FindingKind::FileRepeated { seq: line.seq })
                }
                _ => self.find(Some(at.file), number, FindingKind::Inserted { seq: line.seq, after: seq }),
            }
        } else if line.seq > 1 && !self.is_partial {
            let after = line.event.as_ref().and_then(|event| event.after.clone());
            self.find(Some(at.file), number, FindingKind::OlderMissing { to: line.seq - 1, after });
        } else if line.seq > 1 {
            self.note(at.file, number, NoteKind::BeginsLater { seq: line.seq });
        }
        if at.unchained > 0 && is_first {
            self.note(at.file, number, NoteKind::Unchained { lines: at.unchained });
        }
        if let Some(event) = &line.event {
            let goes_on = at.last.is_some_and(|(seq, _)| line.seq == seq + 1);
            // Lines of older versions do not say why the file was opened, which at its beginning may be for a rotation.
            let starts = event.cause.as_deref().map_or(!is_first, |cause| cause == OpenCause::Start.as_str());
            if event.name == OPENED && starts && goes_on && at.last_event.as_deref() != Some(CLOSED) {
                self.note(at.file, number, NoteKind::NotClosed);
            }
            if event.lost > 0 {
                self.note(at.file, number, NoteKind::Lost { lines: event.lost });
            }
        }
        let report = &mut self.report.files[at.file];
        report.first_seq.get_or_insert(line.seq);
        (report.last_seq, report.last_digest) = (Some(line.seq), Some(digest));
        report.chain = at.chain.clone();
        at.last = Some((line.seq, digest));
        at.last_event = line.event.map(|event| event.name);
    }

    /// A line that is none of the chain.
    fn not_chained(&mut self, at: &mut Position, number: u64, bytes: u64, why: Unchained) {
        self.settle_torn(at, 0);
        let has_chain = self.report.files[at.file].first_seq.is_some();
        match why {
            // Before the first line of a chain it is the line of an older version.
            Unchained::NoNumber if !has_chain => at.unchained += 1,
            // Whether a process has left it so, the next line tells.
            Unchained::NoObject => at.torn = Some((number, bytes)),
            Unchained::NoNumber | Unchained::Malformed => {
                self.find(Some(at.file), number, FindingKind::Foreign);
            }
        }
    }

    /// Judges the part of a line before this one, of which a line about the log says how long it is.
    fn settle_torn(&mut self, at: &mut Position, said: u64) {
        match at.torn.take() {
            Some((number, bytes)) if bytes == said => {
                self.note(at.file, number, NoteKind::Torn { bytes });
            }
            Some((number, _)) => self.find(Some(at.file), number, FindingKind::Foreign),
            None => {}
        }
    }

    fn ends_file(&mut self, mut at: Position, lines: u64, ends_whole: bool) {
        match at.torn.take() {
            // The process was killed, or still writes.
            Some((number, bytes)) if !ends_whole => self.note(at.file, number, NoteKind::Torn { bytes }),
            Some((number, _)) => self.find(Some(at.file), number, FindingKind::Foreign),
            None => {}
        }
        let report = &mut self.report.files[at.file];
        report.lines = lines;
        if report.first_seq.is_none() {
            let kind = if lines == 0 { FindingKind::Empty } else { FindingKind::NoChain };
            self.find(Some(at.file), 0, kind);
            return;
        }
        report.end = if at.last_event.as_deref() == Some(CLOSED) { FileEnd::Closed } else { FileEnd::Open };
        if let Some((seq, digest)) = at.last {
            let chain = at.chain.unwrap_or_default();
            let before =
                self.ends.insert(chain, KnownEnd { seq, digest, event: at.last_event, file: at.file });
            if let Some(before) = before {
                // Its end is what this file begins with; what is wrong there has been found.
                self.report.files[before.file].end = FileEnd::Continued;
            }
        }
    }

    fn find(&mut self, file: Option<usize>, line: u64, kind: FindingKind) {
        self.report.findings_count += 1;
        if self.report.findings.len() < MAX_KEPT {
            let file = file.map(|file| self.report.files[file].name.clone());
            self.report.findings.push(Finding { file, line, kind });
        }
    }

    fn note(&mut self, file: usize, line: u64, kind: NoteKind) {
        if self.report.notes.len() < MAX_KEPT {
            let file = self.report.files[file].name.clone();
            self.report.notes.push(Note { file, line, kind });
        }
    }
}

impl Position {
    /// True if no line of the file has had a number yet.
    fn is_first_here(&self, report: &Report) -> bool {
        report.files[self.file].first_seq.is_none()
    }
}
