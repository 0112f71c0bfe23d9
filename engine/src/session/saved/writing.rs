//! A session to bytes.

use super::packing::pack;
use super::{BOUNDS, MOST_BYTES, digest, fingerprint};
use bytes::Bytes;
use ptc_base::memory::MemoryReservation;
use ptc_vm::graph::{EncodeError, Encoder, GraphRef, WireWriter};
use ptc_vm::machine::Namespace;
use ptc_vm::meter::{Allowance, Reservation};
use ptc_vm::value::{Map, Str};
use ptc_vm::{Error, Value};
use std::rc::Rc;

/// The parts of a session that are written.
pub(crate) struct Values<'a> {
    pub(crate) namespace: &'a Namespace,
    /// The last three results, latest first.
    pub(crate) history: [&'a Value; 3],
    pub(crate) turn: u64,
    pub(crate) journal: &'a Map,
    pub(crate) summaries: &'a [(Str, Value)],
    /// Bytes of each binding, by name; a size for each of them.
    pub(crate) sizes: &'a [(Rc<str>, u64)],
    pub(crate) history_sizes: [u64; 3],
    pub(crate) journal_bytes: u64,
}

/// Why a session could not be written.
enum Undrafted {
    /// Its values are too many, or the text of the program of one of its functions is not available.
    TooLarge,
    /// There is no memory left for it.
    Refused(Error),
}

impl From<EncodeError> for Undrafted {
    fn from(unwritten: EncodeError) -> Undrafted {
        match unwritten {
            EncodeError::TooLarge(_) => Undrafted::TooLarge,
            EncodeError::Refused(error) => Undrafted::Refused(error),
        }
    }
}

/// The values of a session as bytes.
pub(crate) struct Draft {
    values: Vec<u8>,
    /// Bytes of the texts that its functions need.
    pub(crate) source_bytes: u64,
}

impl Draft {
    /// Writes the values, charged to the account that is installed.
    fn of(values: &Values<'_>) -> Result<Draft, Undrafted> {
        let mut encoder = Encoder::new(BOUNDS);
        let bindings = values.namespace.bindings();
        let mut places: Vec<GraphRef> = Vec::with_capacity(bindings.len());
        for (_, binding) in &bindings {
            places.push(encoder.value(&binding.value)?);
        }
        let mut roots = WireWriter::new();
        for value in values.history {
            roots.place(encoder.value(value)?);
        }
        values.history_sizes.iter().for_each(|bytes| roots.unsigned(*bytes));
        roots.unsigned(values.turn);
        roots.byte(u8::from(!values.journal.is_empty()));
        if !values.journal.is_empty() {
            roots.place(encoder.value(&Value::Map(values.journal.clone()))?);
        }
        roots.unsigned(values.journal_bytes);
        roots.count(values.summaries.len());
        for (id, text) in values.summaries {
            roots.text(id.as_str());
            roots.place(encoder.value(text)?);
        }
        roots.count(bindings.len());
        for ((name, binding), place) in bindings.into_iter().zip(places) {
            roots.text(name);
            roots.place(place);
            // Functions are written before, so that documentation is found in their programs.
            let info = binding.info.as_ref().map(|info| encoder.info(info)).transpose()?;
            roots.byte(u8::from(info.is_some()));
            if let Some(info) = info {
                roots.place(info);
            }
            let known = values.sizes.binary_search_by(|(known, _)| known.cmp(name));
            roots.unsigned(known.map_or(0, |at| values.sizes[at].1));
        }
        let encoded = encoder.finish();
        let mut writer = WireWriter::new();
        writer.count(encoded.programs.len());
        let mut source_bytes = 0;
        for program in &encoded.programs {
            let text = program.text.as_ref().ok_or(Undrafted::TooLarge)?;
            source_bytes += text.len() as u64;
            writer.text(text);
            writer.raw(&digest(program)?);
        }
        encoded.write(&mut writer);
        writer.raw(&roots.into_bytes());
        Ok(Draft { values: writer.into_bytes(), source_bytes })
    }

    /// The saved session.
    pub(crate) fn finish(self, about: &[u8]) -> Bytes {
        let mut payload = WireWriter::new();
        payload.raw(&fingerprint());
        payload.bytes(about);
        payload.raw(&self.values);
        pack(&payload.into_bytes()).into()
    }
}

/// A session with these definitions and results, and nothing else, as bytes. Charged to the account that is installed.
///
/// # Errors
/// The values are too many, or there is no room for them, or the text of the program of a function is not available.
pub fn write_session(namespace: &Namespace, history: [&Value; 3], about: &[u8]) -> ptc_vm::Result<Bytes> {
    let values = Values {
        namespace,
        history,
        turn: 0,
        journal: &Map::default(),
        summaries: &[],
        sizes: &[],
        history_sizes: [0; 3],
        journal_bytes: 0,
    };
    Ok(written(&values)?.finish(about))
}

fn written(values: &Values<'_>) -> ptc_vm::Result<Draft> {
    Draft::of(values).map_err(|undrafted| match undrafted {
        Undrafted::Refused(error) => error,
        Undrafted::TooLarge => Error::memory(MOST_BYTES as u64),
    })
}

/// The values of a session as bytes, on an account of its own that reserves from the memory that the session's is of.
pub(crate) fn drafted(values: &Values<'_>, held: Option<&MemoryReservation>) -> ptc_vm::Result<Draft> {
    let reservation = held.map(|held| Rc::new(MemoryReservation::new(held.budget().clone())));
    let allowance = Allowance {
        memory_bytes: 4 * MOST_BYTES as u64,
        steps: u64::MAX >> 1,
        reservation: reservation.map(|reservation| reservation as Rc<dyn Reservation>),
        deadline: None,
    };
    let (draft, _) = allowance.spend(|| written(values))?;
    Ok(draft)
}
