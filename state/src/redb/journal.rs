//! The journal beside a file that is flushed for the process only (state.md 2.2): commits that its tables do not have yet.
//!
//! A commit is appended by the thread that makes it: one write to the operating system, without waiting for another thread. The
//! next transaction of the writer brings everything into the tables, with a new number for later entries; entries of the old
//! number are then void, and the journal is written from its beginning again.
//!
//! | Bytes of a commit | |
//! |---|---|
//! | 8 | the number |
//! | 4 | length of its records |
//! | 4 | CRC-32 of number, length and records |
//! | … | its records: letter of the kind, principal, id, whether there is a row, and that as in the tables; as `ptc_vm::graph::WireWriter` writes texts and bytes |
//!
//! The first three have their lowest byte first.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};

use ptc_vm::graph::{DecodeError, WireReader, WireWriter};

use super::super::Kind;
use super::super::names::Name;
use super::tables::{Entry, decode, encode};

/// Bytes in front of the records of a commit.
const FRONT: usize = 16;

/// A journal that is appended to.
pub(super) struct Journal {
    file: File,
    /// The number that the tables know.
    number: u64,
    /// The number that the next transaction gives it. None is given twice, since the outcome of a failed transaction is
    /// unknown.
    next: u64,
    /// Bytes appended under the number.
    length: u64,
    /// Not after a failure, until a transaction has given it a new number.
    is_usable: bool,
}

impl Journal {
    /// An empty journal in `file`, whose tables know `number`.
    pub(super) fn new(mut file: File, number: u64) -> io::Result<Self> {
        file.rewind()?;
        let next = number.wrapping_add(1);
        Ok(Self { file, number, next, length: 0, is_usable: true })
    }

    /// Whether it can be appended to.
    pub(super) fn is_usable(&self) -> bool {
        self.is_usable
    }

    /// Bytes appended since the tables have had everything.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Appends a commit. After a failure nothing more is appended before the next transaction: that commit is there or not.
    pub(super) fn append(&mut self, entries: &[Entry]) -> io::Result<()> {
        let mut commit = WireWriter::new();
        commit.raw(&[0; FRONT]);
        entries.iter().for_each(|entry| write_entry(&mut commit, entry));
        let mut commit = commit.into_bytes();
        let length = u32::try_from(commit.len() - FRONT).map_err(|_| io::ErrorKind::FileTooLarge)?;
        commit[..8].copy_from_slice(&self.number.to_le_bytes());
        commit[8..12].copy_from_slice(&length.to_le_bytes());
        let sum = checksum(&commit);
        commit[12..FRONT].copy_from_slice(&sum.to_le_bytes());
        // One that failed in part would hide all that come after it.
        self.is_usable = false;
        self.file.write_all(&commit)?;
        self.is_usable = true;
        self.length += commit.len() as u64;
        Ok(())
    }

    /// The number that a transaction gives it which brings everything into the tables.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Notes that this transaction is in the file.
    pub(super) fn settled(&mut self) {
        self.number = self.next;
        self.next = self.next.wrapping_add(1);
        self.length = 0;
        self.is_usable = self.file.rewind().is_ok();
    }

    /// Notes that its state is unknown.
    pub(super) fn unsettled(&mut self) {
        self.next = self.next.wrapping_add(1);
        self.is_usable = false;
    }
}

#[cfg(test)]
impl Journal {
    /// Appends to another file from now on. Returns the previous one.
    pub(super) fn replace_file(&mut self, file: File) -> File {
        std::mem::replace(&mut self.file, file)
    }
}

/// Twice the length at which appends wait for the writer: bytes beyond it are not ours.
const MAX_BYTES: u64 = 64 << 20;

/// The commits that were appended to `file` under `number`, in their order, up to the first that is not whole: that one was not
/// answered.
#[expect(clippy::disallowed_methods, reason = "entry point: read_back()")]
pub(super) fn read_back(file: &mut File, number: u64) -> io::Result<Vec<Entry>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let mut rest = &bytes[..];
    let mut entries = Vec::new();
    while let Some(commit) = take_commit(&mut rest, number) {
        entries.extend(commit);
    }
    Ok(entries)
}

fn checksum(commit: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&commit[..12]);
    hasher.update(&commit[FRONT..]);
    hasher.finalize()
}

fn take_commit(rest: &mut &[u8], number: u64) -> Option<Vec<Entry>> {
    let length = u32::from_le_bytes(rest.get(8..12)?.try_into().ok()?);
    let (commit, behind) = rest.split_at_checked(FRONT.checked_add(usize::try_from(length).ok()?)?)?;
    if commit[..8] != number.to_le_bytes() || commit[12..FRONT] != checksum(commit).to_le_bytes() {
        return None;
    }
    *rest = behind;
    let mut records = WireReader::new(&commit[FRONT..]);
    let mut entries = Vec::new();
    while records.left() > 0 {
        entries.push(read_entry(&mut records).ok()?);
    }
    Some(entries)
}

fn write_entry(to: &mut WireWriter, Entry { kind, name, row }: &Entry) {
    to.unsigned(u64::from(u32::from(kind.letter())));
    to.text(&name.principal);
    to.text(&name.id);
    to.option(row.as_ref(), |row, to| to.bytes(&encode(&row.head, &row.blob)));
}

fn read_entry(from: &mut WireReader<'_>) -> Result<Entry, DecodeError> {
    let letter = char::from_u32(from.unsigned_32()?).ok_or(DecodeError::Invalid("kind"))?;
    let kind = Kind::lettered(letter).ok_or(DecodeError::Invalid("kind"))?;
    let name = Name { letter, principal: from.text()?.to_owned(), id: from.text()?.to_owned() };
    let row = match from.flag()? {
        true => Some(decode(from.bytes()?).ok_or(DecodeError::Invalid("row"))?),
        false => None,
    };
    Ok(Entry { kind, name, row })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::super::rows::Head;
    use super::super::tables::Row;
    use super::*;

    fn entry(id: &str, row: Option<(u64, &'static [u8])>) -> Entry {
        let name = Name { principal: "a".repeat(32), letter: 's', id: id.to_owned() };
        let row = row.map(|(version, blob)| {
            let bytes = blob.len() as u64;
            let head = Head { version, is_buried: false, end: None, expires: Some(7), bytes };
            Row { head, blob: Bytes::from_static(blob) }
        });
        Entry { kind: Kind::Session, name, row }
    }

    /// The entries read back, as versions under ids; 0: removed.
    fn found(bytes: &[u8], number: u64) -> Vec<(String, u64)> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let entries = read_back(&mut file, number).unwrap();
        entries
            .into_iter()
            .map(|entry| (entry.name.id, entry.row.map_or(0, |row| row.head.version)))
            .collect()
    }

    fn written(commits: &[&[Entry]]) -> Vec<u8> {
        let file = tempfile::tempfile().unwrap();
        let mut journal = Journal::new(file.try_clone().unwrap(), 5).unwrap();
        commits.iter().for_each(|commit| journal.append(commit).unwrap());
        let mut bytes = Vec::new();
        let mut file = file;
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, journal.length());
        bytes
    }

    #[test]
    fn of_what_was_cut_or_changed_the_commits_before_it_come_back_whole() {
        let first = [entry("one", Some((1, b"abc"))), entry("two", Some((4, b"")))];
        let second = [entry("one", None)];
        let bytes = written(&[&first, &second]);
        let all = [("one".to_owned(), 1), ("two".to_owned(), 4), ("one".to_owned(), 0)];
        assert_eq!(found(&bytes, 5), all);
        assert_eq!(found(&bytes, 6), []);
        let whole = written(&[&first]).len();
        for at in 0..bytes.len() {
            let expected = if at < whole { &all[..0] } else { &all[..2] };
            assert_eq!(found(&bytes[..at], 5), expected, "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert_eq!(found(&changed, 5), expected, "changed at {at}");
        }
    }

    #[test]
    fn what_was_settled_counts_no_more_although_it_is_still_there() {
        let mut file = tempfile::tempfile().unwrap();
        let mut journal = Journal::new(file.try_clone().unwrap(), 5).unwrap();
        journal.append(&[entry("one", Some((1, b"a long content")))]).unwrap();
        journal.append(&[entry("one", Some((2, b"a long content")))]).unwrap();
        assert_eq!(journal.next(), 6);
        journal.settled();
        journal.append(&[entry("two", Some((1, b"short")))]).unwrap();
        let ids = |file: &mut File, number| {
            let entries = read_back(file, number).unwrap();
            entries.into_iter().map(|entry| entry.name.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&mut file, 6), ["two"]);
        // A transaction of which nobody knows whether it is in the file takes its number with it.
        journal.unsettled();
        assert!(!journal.is_usable());
        assert_eq!(journal.next(), 8);
    }
}
