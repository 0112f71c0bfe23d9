//! Encodes the record of a session, without its values.

use jiff::Timestamp;
use ptc_vm::graph::{DecodeError, WireReader, WireWriter};

use super::super::journal::{Journal, Log};
use super::super::record::Record;
use ptc_protocol::principal::Owner;

/// Version of this part.
const FORMAT: u8 = 1;

/// The record as bytes.
pub(in super::super) fn bytes_of(record: &Record) -> Vec<u8> {
    let mut writer = WireWriter::new();
    writer.byte(FORMAT);
    writer.byte(u8::from(record.title.is_some()));
    if let Some(title) = &record.title {
        writer.text(title);
    }
    for time in [record.created, record.updated, record.expires] {
        writer.signed(time.as_microsecond());
    }
    writer.unsigned(record.turn);
    writer.unsigned(record.memory_bytes);
    writer.count(record.binding_count);
    for log in [&record.journal.prints, &record.journal.tool_calls, &record.journal.upstream_calls] {
        writer.count(log.len());
        log.entries().for_each(|entry| writer.text(entry));
    }
    writer.into_bytes()
}

/// The record of these bytes; `None` if they are not one.
pub(super) fn record_of(bytes: &[u8], owner: &Owner) -> Option<Record> {
    read(bytes, owner).ok()
}

fn read(bytes: &[u8], owner: &Owner) -> Result<Record, DecodeError> {
    let mut reader = WireReader::new(bytes);
    if reader.byte()? != FORMAT {
        return Err(DecodeError::Invalid("format"));
    }
    let title = match reader.byte()? {
        0 => None,
        _ => Some(reader.text()?.to_owned()),
    };
    let mut time = || {
        let micros = reader.signed()?;
        Timestamp::from_microsecond(micros).map_err(|_| DecodeError::Invalid("time"))
    };
    let (created, updated, expires) = (time()?, time()?, time()?);
    let mut record = Record::new(owner.clone(), title, created, expires);
    record.updated = updated;
    record.turn = reader.unsigned()?;
    record.memory_bytes = reader.unsigned()?;
    record.binding_count = reader.index(usize::MAX, "number of bindings")?;
    let mut log = || -> Result<Log, DecodeError> {
        let mut entries = Vec::new();
        for _ in 0..reader.count()? {
            entries.push(reader.text()?.into());
        }
        Ok(Log::of(entries))
    };
    record.journal = Journal { prints: log()?, tool_calls: log()?, upstream_calls: log()? };
    reader.finish("end")?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_protocol::principal::Principal;

    #[test]
    fn a_record_comes_back_and_strange_bytes_are_none() {
        let owner = Owner::of(Principal::named("me"));
        let at = |second| Timestamp::from_second(second).expect("a time");
        let mut record = Record::new(owner.clone(), Some("a title".into()), at(1), at(1000));
        (record.turn, record.memory_bytes, record.binding_count, record.updated) = (7, 99, 3, at(500));
        record.journal.prints = Log::of(vec!["one".into(), "two".into()]);
        let bytes = bytes_of(&record);
        let back = record_of(&bytes, &owner).expect("a record");
        assert_eq!(bytes_of(&back), bytes);
        assert_eq!((back.title.as_deref(), back.updated, back.turn), (Some("a title"), at(500), 7));
        assert_eq!(back.journal.prints.entries().collect::<Vec<_>>(), ["one", "two"]);
        for cut in 0..bytes.len() {
            assert!(record_of(&bytes[..cut], &owner).is_none(), "{cut}");
        }
        assert!(record_of(&[&bytes[..], &[0]].concat(), &owner).is_none());
    }
}
