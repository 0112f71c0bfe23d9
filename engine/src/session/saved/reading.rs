//! Bytes to a session.

use super::packing::unpack;
use super::{BOUNDS, DIGEST, digest, fingerprint};
use crate::outcome::SessionFault;
use ptc_vm::builtins::library;
use ptc_vm::graph::{DecodeError, EncodeError, Graph, WireReader, decode};
use ptc_vm::machine::{Binding, Namespace, Restoring};
use ptc_vm::value::{Map, Str};
use ptc_vm::{Error, Program, Value};
use std::rc::Rc;

/// Compiles the text of a program again; `None` if it does not compile.
pub type Compile<'c> = dyn FnMut(&str) -> Result<Option<Rc<Program>>, Error> + 'c;

/// Why a saved session is not at hand.
#[derive(Debug)]
pub enum Trouble {
    /// It cannot be read.
    Fault(SessionFault),
    /// There is no memory or time left for it.
    Refused(Error),
}

impl From<SessionFault> for Trouble {
    fn from(fault: SessionFault) -> Trouble {
        Trouble::Fault(fault)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Refused(error)
    }
}

impl From<DecodeError> for Trouble {
    fn from(unread: DecodeError) -> Trouble {
        match unread {
            DecodeError::Invalid(part) => Trouble::Fault(SessionFault::Corrupt(part)),
            DecodeError::Refused(error) => Trouble::Refused(error),
        }
    }
}

/// The values of a session that was read.
pub struct Restored {
    /// Definitions.
    pub namespace: Namespace,
    /// The last three results, latest first.
    pub history: [Value; 3],
    /// Bytes of each of them.
    pub history_sizes: [u64; 3],
    /// Programs that succeeded.
    pub turn: u64,
    /// Values of `task`.
    pub journal: Map,
    /// Bytes of the journal and the summaries.
    pub journal_bytes: u64,
    /// The notes of `step-done`.
    pub summaries: Vec<(Str, Value)>,
    /// Bytes of each binding, by name.
    pub sizes: Vec<(Rc<str>, u64)>,
}

/// Reads a saved session. All that is made is charged to the account that is installed.
///
/// # Errors
/// It is of another build and its programs do not compile to the same code, it is no saved session, or the account is at its
/// limits.
pub fn read_session(blob: &[u8], compile: &mut Compile<'_>) -> Result<Restored, Trouble> {
    let payload = unpack(blob)?;
    let mut reader = WireReader::new(&payload);
    let own = fingerprint();
    let is_own = reader.raw(own.len())? == own;
    reader.bytes()?;
    let restored = read_values(&mut reader, compile).and_then(|restored| {
        reader.finish("end")?;
        Ok(restored)
    });
    match restored {
        // What means nothing here may have meant something to the build that wrote it.
        Err(Trouble::Fault(SessionFault::Corrupt(_))) if !is_own => {
            Err(Trouble::Fault(SessionFault::OtherBuild))
        }
        restored => restored,
    }
}

fn read_values(reader: &mut WireReader<'_>, compile: &mut Compile<'_>) -> Result<Restored, Trouble> {
    let mut programs = Vec::new();
    for _ in 0..reader.count()? {
        let text = reader.text()?;
        let known = reader.raw(DIGEST)?;
        let program = compile(text)?.ok_or(SessionFault::OtherBuild)?;
        let own = digest(&program).map_err(|unwritten| match unwritten {
            EncodeError::TooLarge(part) => Trouble::Fault(SessionFault::Corrupt(part)),
            EncodeError::Refused(error) => Trouble::Refused(error),
        })?;
        if own != known {
            return Err(SessionFault::OtherBuild.into());
        }
        programs.push(program);
    }
    let mut namespace = Namespace::new(library());
    let origins = Restoring::new(programs, &mut namespace);
    let graph: Graph = decode(reader, BOUNDS, &origins)?;
    let value = |reader: &mut WireReader<'_>| graph.value(reader.place()?);
    let history = [value(reader)?, value(reader)?, value(reader)?];
    let history_sizes = [reader.unsigned()?, reader.unsigned()?, reader.unsigned()?];
    let turn = reader.unsigned()?;
    let journal = match reader.byte()? {
        0 => Map::default(),
        _ => match value(reader)? {
            Value::Map(journal) => journal,
            _ => return Err(SessionFault::Corrupt("journal").into()),
        },
    };
    let journal_bytes = reader.unsigned()?;
    let mut summaries = Vec::new();
    for _ in 0..reader.count()? {
        let id = Str::new(reader.text()?);
        summaries.push((id, value(reader)?));
    }
    let mut sizes: Vec<(Rc<str>, u64)> = Vec::new();
    for _ in 0..reader.count()? {
        let name: Rc<str> = reader.text()?.into();
        if sizes.last().is_some_and(|(before, _)| *before >= name) {
            return Err(SessionFault::Corrupt("names").into());
        }
        let value = value(reader)?;
        let info = match reader.byte()? {
            0 => None,
            _ => Some(graph.info(reader.place()?)?),
        };
        let slot = namespace.slot(&name);
        namespace.set(slot, Some(Binding { value, info }));
        sizes.push((name, reader.unsigned()?));
    }
    let sum = history_sizes.iter().chain(sizes.iter().map(|(_, bytes)| bytes)).chain([&journal_bytes]);
    if sum.copied().try_fold(0_u64, u64::checked_add).is_none_or(|sum| sum > i64::MAX as u64) {
        return Err(SessionFault::Corrupt("sizes").into());
    }
    Ok(Restored { namespace, history, history_sizes, turn, journal, journal_bytes, summaries, sizes })
}
