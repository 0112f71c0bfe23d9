//! How records lie in the file: one table a kind, under owner and id.

use bytes::Bytes;
use redb::{
    ReadTransaction, ReadableTable as _, StorageError, Table, TableDefinition, TableError, WriteTransaction,
};

use super::super::Kind;
use super::super::names::Name;
use super::super::rows::Head;
use super::super::tally::Tally;

/// The form of the tables.
pub(super) const FORM: u64 = 1;
/// The key of the form in [`ABOUT`].
pub(super) const FORM_NAME: &str = "form";
/// The key there of the journal's number whose entries the tables do not have yet.
const JOURNAL_NAME: &str = "journal";
/// The file's metadata.
pub(super) const ABOUT: TableDefinition<'_, &str, u64> = TableDefinition::new("about");

/// Records, by `principal:id`.
type Rows = TableDefinition<'static, &'static str, &'static [u8]>;

const SESSIONS: Rows = TableDefinition::new("sessions");
const RUNS: Rows = TableDefinition::new("runs");
const BLOBS: Rows = TableDefinition::new("blobs");
const SIGN_INS: Rows = TableDefinition::new("sign-ins");
const HTTP_SESSIONS: Rows = TableDefinition::new("http-sessions");
const PROGRAMS: Rows = TableDefinition::new("programs");
const DRAFTS: Rows = TableDefinition::new("drafts");
/// Spent ids: principal and id; when they are forgotten.
const SPENT: TableDefinition<'_, &[u8], u64> = TableDefinition::new("spent");
/// Messages: full name of the run and number; when the inbox is forgotten, and the message.
const INBOXES: TableDefinition<'_, (&str, u64), (u64, &[u8])> = TableDefinition::new("inboxes");
/// Bytes of the counted records of each principal.
const HELD: TableDefinition<'_, &str, u64> = TableDefinition::new("held");

/// Bytes in front of a content.
const HEAD: usize = 25;

/// A record.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) head: Head,
    pub(super) blob: Bytes,
}

/// The change of a record.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) name: Name,
    /// `None`: it is removed.
    pub(super) row: Option<Row>,
}

/// A change of a record.
#[derive(Clone, Debug)]
pub(super) struct Turnover {
    pub(super) kind: Kind,
    pub(super) principal: String,
    pub(super) before: Option<Head>,
    pub(super) after: Option<Head>,
}

fn table_of(kind: Kind) -> Rows {
    match kind {
        Kind::Session => SESSIONS,
        Kind::Run => RUNS,
        Kind::Blob => BLOBS,
        Kind::SignIn => SIGN_INS,
        Kind::HttpSession => HTTP_SESSIONS,
        Kind::Program => PROGRAMS,
        Kind::Draft => DRAFTS,
    }
}

fn kind_of(letter: char) -> Kind {
    Kind::lettered(letter).unwrap_or(Kind::Session)
}

/// The key of a record within its table.
pub(super) fn row_name(name: &Name) -> String {
    format!("{}:{}", name.principal, name.id)
}

/// The name of a record among those of all kinds.
pub(super) fn full_name(name: &Name) -> String {
    format!("{}:{}:{}", name.letter, name.principal, name.id)
}

/// Version, flags, end and expiry (0: never), in front of the content.
pub(super) fn encode(head: &Head, blob: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(HEAD + blob.len());
    row.extend_from_slice(&head.version.to_le_bytes());
    row.push(u8::from(head.is_buried));
    row.extend_from_slice(&head.end.unwrap_or(0).to_le_bytes());
    row.extend_from_slice(&head.expires.unwrap_or(0).to_le_bytes());
    row.extend_from_slice(blob);
    row
}

/// The head of a row of [`encode`]; `None` for anything else.
pub(super) fn decode_head(row: &[u8]) -> Option<Head> {
    let number = |at: usize| Some(u64::from_le_bytes(row.get(at..at + 8)?.try_into().ok()?));
    let time = |at: usize| Some(number(at)?).map(|time| Some(time).filter(|time| *time > 0));
    let bytes = row.len().checked_sub(HEAD)? as u64;
    Some(Head { version: number(0)?, is_buried: *row.get(8)? != 0, end: time(9)?, expires: time(17)?, bytes })
}

/// A row of [`encode`].
pub(super) fn decode(row: &[u8]) -> Option<Row> {
    let head = decode_head(row)?;
    Some(Row { head, blob: Bytes::copy_from_slice(&row[HEAD..]) })
}

/// The number of the journal whose commits the tables do not have; `None` if there is none.
pub(super) fn journal_number(reading: &ReadTransaction) -> Result<Option<u64>, redb::Error> {
    match reading.open_table(ABOUT) {
        Ok(about) => Ok(about.get(JOURNAL_NAME)?.map(|number| number.value())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A record of the file.
pub(super) fn read(reading: &ReadTransaction, name: &Name) -> Result<Option<Row>, redb::Error> {
    let table = match reading.open_table(table_of(kind_of(name.letter))) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(table.get(row_name(name).as_str())?.and_then(|row| decode(row.value())))
}

/// The records of a kind without their contents: of all, or of one principal with ids of this prefix and no conversation.
pub(super) fn list(
    reading: &ReadTransaction,
    kind: Kind,
    within: Option<(String, String)>,
) -> Result<Vec<(Name, Row)>, redb::Error> {
    let table = match reading.open_table(table_of(kind)) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let (from, is_whole) = match &within {
        Some((principal, prefix)) => (format!("{principal}:{prefix}"), prefix.is_empty()),
        None => (String::new(), false),
    };
    let mut found = Vec::new();
    for row in table.range(from.as_str()..)? {
        let (key, row) = row?;
        let Some(rest) = key.value().strip_prefix(from.as_str()) else { break };
        // Ids without a conversation have no dot.
        if is_whole && rest.contains('.') {
            continue;
        }
        let Some((principal, id)) = key.value().split_once(':') else { continue };
        let name = Name { principal: principal.to_owned(), letter: kind.letter(), id: id.to_owned() };
        if let Some(head) = decode_head(row.value()) {
            found.push((name, Row { head, blob: Bytes::new() }));
        }
    }
    Ok(found)
}

type RowTable<'t> = Table<'t, &'static str, &'static [u8]>;
type SpentTable<'t> = Table<'t, &'static [u8], u64>;
type InboxTable<'t> = Table<'t, (&'static str, u64), (u64, &'static [u8])>;
type HeldTable<'t> = Table<'t, &'static str, u64>;

/// The tables of a transaction that writes. Each is opened when it is needed: most transactions need one of them.
pub(super) struct Tables<'t> {
    writing: &'t WriteTransaction,
    rows: [Option<RowTable<'t>>; Kind::ALL.len()],
    spent: Option<SpentTable<'t>>,
    inboxes: Option<InboxTable<'t>>,
    held: Option<HeldTable<'t>>,
    /// Changes of records in this transaction.
    pub(super) turnover: Vec<Turnover>,
    /// Bytes of the counted records of principals whose sums have changed, the latest last.
    pub(super) sums: Vec<(String, u64)>,
}

/// The table in `slot`, opened if it is not.
fn opened<T>(
    slot: &mut Option<T>,
    open: impl FnOnce() -> Result<T, TableError>,
) -> Result<&mut T, StorageError> {
    let table = match slot.take() {
        Some(table) => table,
        None => open().map_err(|error| match error {
            TableError::Storage(error) => error,
            other => StorageError::Corrupted(other.to_string()),
        })?,
    };
    Ok(slot.insert(table))
}

impl<'t> Tables<'t> {
    pub(super) fn of(writing: &'t WriteTransaction) -> Self {
        Self {
            writing,
            rows: [const { None }; Kind::ALL.len()],
            spent: None,
            inboxes: None,
            held: None,
            turnover: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Has the file say which form its tables have, if it does not yet.
    pub(super) fn say_form(&self) -> Result<(), redb::Error> {
        let mut about = self.writing.open_table(ABOUT)?;
        if about.get(FORM_NAME)?.is_none() {
            about.insert(FORM_NAME, FORM)?;
        }
        Ok(())
    }

    /// Has the file say which number the journal has from now on.
    pub(super) fn number_journal(&self, number: Option<u64>) -> Result<(), redb::Error> {
        let mut about = self.writing.open_table(ABOUT)?;
        match number {
            Some(number) => drop(about.insert(JOURNAL_NAME, number)?),
            None => drop(about.remove(JOURNAL_NAME)?),
        }
        Ok(())
    }

    /// Applies the entries of the journal.
    pub(super) fn catch_up(&mut self, ahead: &[Entry]) -> Result<(), StorageError> {
        for Entry { kind, name, row } in ahead {
            self.set(*kind, name, row.as_ref().map(|row| (&row.head, &row.blob[..])))?;
        }
        // They were counted when they were appended.
        self.turnover.clear();
        self.sums.clear();
        Ok(())
    }

    fn table(&mut self, kind: Kind) -> Result<&mut RowTable<'t>, StorageError> {
        let at = Kind::ALL.iter().position(|other| *other == kind).unwrap_or(0);
        let writing = self.writing;
        opened(&mut self.rows[at], || writing.open_table(table_of(kind)))
    }

    /// Spent ids.
    pub(super) fn spent(&mut self) -> Result<&mut SpentTable<'t>, StorageError> {
        let writing = self.writing;
        opened(&mut self.spent, || writing.open_table(SPENT))
    }

    /// Messages.
    pub(super) fn inboxes(&mut self) -> Result<&mut InboxTable<'t>, StorageError> {
        let writing = self.writing;
        opened(&mut self.inboxes, || writing.open_table(INBOXES))
    }

    fn held_table(&mut self) -> Result<&mut HeldTable<'t>, StorageError> {
        let writing = self.writing;
        opened(&mut self.held, || writing.open_table(HELD))
    }

    /// The head of a record.
    pub(super) fn head(&mut self, kind: Kind, name: &Name) -> Result<Option<Head>, StorageError> {
        Ok(self.table(kind)?.get(row_name(name).as_str())?.and_then(|row| decode_head(row.value())))
    }

    /// Replaces a record, and counts the change.
    pub(super) fn set(
        &mut self,
        kind: Kind,
        name: &Name,
        row: Option<(&Head, &[u8])>,
    ) -> Result<(), StorageError> {
        let key = row_name(name);
        let before = match row {
            Some((head, blob)) => {
                let old = self.table(kind)?.insert(key.as_str(), encode(head, blob).as_slice())?;
                old.and_then(|row| decode_head(row.value()))
            }
            None => self.table(kind)?.remove(key.as_str())?.and_then(|row| decode_head(row.value())),
        };
        let after = row.map(|(head, _)| *head);
        self.turnover.push(Turnover { kind, principal: name.principal.clone(), before, after });
        let (before, after) = (before.map_or(0, |head| head.bytes), after.map_or(0, |head| head.bytes));
        if kind.is_counted() && before != after {
            let held = (self.held(&name.principal)? + after).saturating_sub(before);
            self.sums.push((name.principal.clone(), held));
            match held {
                0 => drop(self.held_table()?.remove(name.principal.as_str())?),
                _ => drop(self.held_table()?.insert(name.principal.as_str(), held)?),
            }
        }
        Ok(())
    }

    /// Has a record that stays as it is expire at another time.
    pub(super) fn set_expiry(&mut self, kind: Kind, name: &Name, expires: u64) -> Result<(), StorageError> {
        let key = row_name(name);
        let changed = self.table(kind)?.get(key.as_str())?.and_then(|row| {
            let row = decode(row.value())?;
            let head = Head { expires: Some(expires), ..row.head };
            (!row.head.is_buried).then(|| encode(&head, &row.blob))
        });
        if let Some(row) = changed {
            self.table(kind)?.insert(key.as_str(), row.as_slice())?;
        }
        Ok(())
    }

    /// How many records of a kind there are now.
    pub(super) fn tally(&mut self, kind: Kind) -> Result<Tally, StorageError> {
        let mut tally = Tally::default();
        for row in self.table(kind)?.iter()? {
            let (key, row) = row?;
            if let (Some((principal, _)), Some(head)) =
                (key.value().split_once(':'), decode_head(row.value()))
            {
                tally.change(principal, None, Some(&head));
            }
        }
        // It has these already.
        self.turnover.retain(|turnover| turnover.kind != kind);
        Ok(tally)
    }

    /// Bytes of a principal's counted records.
    pub(super) fn held(&mut self, principal: &str) -> Result<u64, StorageError> {
        Ok(self.held_table()?.get(principal)?.map_or(0, |held| held.value()))
    }

    /// Expired records of a kind: among at most `looks` from `from` on, at most `most`. `expires` says when one does. The
    /// second value is where to continue; `None` at the end.
    pub(super) fn expired(
        &mut self,
        kind: Kind,
        from: &str,
        looks: usize,
        most: usize,
        is_over: impl Fn(&Name, &Head) -> bool,
    ) -> Result<(Vec<Name>, Option<String>), StorageError> {
        let mut found = Vec::new();
        for (looked, row) in self.table(kind)?.range(from..)?.enumerate() {
            let (key, row) = row?;
            if looked >= looks || found.len() >= most {
                return Ok((found, Some(key.value().to_owned())));
            }
            let Some((principal, id)) = key.value().split_once(':') else { continue };
            let name = Name { principal: principal.to_owned(), letter: kind.letter(), id: id.to_owned() };
            if decode_head(row.value()).is_none_or(|head| is_over(&name, &head)) {
                found.push(name);
            }
        }
        Ok((found, None))
    }

    /// The records of a principal that have expired.
    pub(super) fn expired_of(
        &mut self,
        kind: Kind,
        principal: &str,
        is_over: impl Fn(&Name, &Head) -> bool,
    ) -> Result<Vec<Name>, StorageError> {
        let from = format!("{principal}:");
        let mut found = Vec::new();
        for row in self.table(kind)?.range(from.as_str()..)? {
            let (key, row) = row?;
            let Some(id) = key.value().strip_prefix(from.as_str()) else { break };
            let name = Name { principal: principal.to_owned(), letter: kind.letter(), id: id.to_owned() };
            if decode_head(row.value()).is_none_or(|head| is_over(&name, &head)) {
                found.push(name);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_and_anything_shorter_is_none() {
        for (end, expires) in [(None, None), (Some(7), None), (Some(u64::MAX), Some(1))] {
            let head = Head { version: 1 << 40, is_buried: end.is_none(), end, expires, bytes: 3 };
            let row = encode(&head, b"abc");
            assert_eq!(decode_head(&row), Some(head));
            assert_eq!(decode(&row).unwrap().blob, "abc");
            for at in 0..HEAD {
                assert_eq!(decode_head(&row[..at]), None, "{at}");
            }
        }
    }
}
