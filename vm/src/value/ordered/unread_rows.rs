//! Rows of a large reply that stay text until a program asks for one of their fields: a filter over one column of eight does
//! not build the other seven.
//!
//! The charge of such a row is its size after reading, from the beginning. So a program meets its memory limit where the reply
//! is read, and never in the middle of a walk, which could not refuse. A field that is read takes over its share. The text
//! itself is covered by the unread rows; a share of it is charged for each row that is read or dropped while the text is still
//! there.

use super::Shape;
use crate::meter;
use crate::value::{Str, Value};
use bytes::Bytes;
use std::cell::{Cell, OnceCell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;

/// Fields of one row of so many that are read one by one. Reading a further one reads them all, in one walk over the text. The
/// memory of fields read by themselves is charged when they are read, and is less than the row's initial charge.
const fn one_by_one(fields: usize) -> usize {
    let few = fields * 3 / 8;
    if few < 4 { few } else { 4 }
}

/// Bytes of a text that rows may share: the words of a column such as `"paid"`.
const LONGEST_SHARED: usize = 16;
/// Texts that are remembered for that; a power of two.
const SHARED: usize = 64;

/// The text of a reply.
pub(crate) struct ReplyText {
    bytes: Bytes,
    /// Rows that were made of it.
    made: Cell<usize>,
    /// Rows that need it no more.
    done: Cell<usize>,
    /// Bytes that say where the values of its rows are.
    places: Cell<usize>,
    /// Bytes of both for each row, once all rows are made.
    share: Cell<usize>,
}

impl ReplyText {
    /// The text of a reply that is about to be read, and which its caller holds and accounts for until then.
    pub(crate) fn new(bytes: Bytes) -> Rc<ReplyText> {
        let [made, done, places, share] = [const { Cell::new(0) }; 4];
        Rc::new(ReplyText { bytes, made, done, places, share })
    }

    /// All rows have been made: the text belongs to them now.
    pub(crate) fn share_among_rows(&self) {
        let share = (self.bytes.len() + self.places.get()) / self.made.get().max(1);
        self.share.set(share);
        meter::charge_memory(share * self.done.get());
    }

    /// The text as it came.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn row_is_done(&self) {
        self.done.set(self.done.get() + 1);
        meter::charge_memory(self.share.get());
    }
}

impl Drop for ReplyText {
    fn drop(&mut self) {
        meter::credit_memory(self.share.get() * self.done.get());
    }
}

/// How the value is read that begins at a place of the text of these rows.
pub(crate) type ReadField = fn(&Rows, at: usize) -> Value;

/// Shared by the rows of one layout in one reply.
pub(crate) struct Rows {
    /// Where they are.
    pub(crate) text: Rc<ReplyText>,
    /// Their keys.
    pub(crate) shape: Rc<Shape>,
    /// The names of their members in the order of the text.
    pub(crate) names: Vec<Str>,
    /// For each key of the shape, the number of its member.
    pub(crate) order: Vec<u8>,
    /// How their fields are read.
    read: ReadField,
    /// Where the values of each row begin, one row after the other, in the order of the text, counted from the beginning of the
    /// row.
    places: RefCell<Vec<u16>>,
    /// Short texts that were read last. Where one lies depends on it alone, so that a program costs the same on every run.
    shared: RefCell<Vec<Option<Str>>>,
}

impl Rows {
    /// The shared part of the rows of this text with these names. `order` has the number of its name for each key of `shape`.
    pub(crate) fn new(
        text: Rc<ReplyText>,
        shape: Rc<Shape>,
        names: Vec<Str>,
        order: Vec<u8>,
        read: ReadField,
    ) -> Rc<Rows> {
        let (places, shared) = (RefCell::default(), RefCell::default());
        Rc::new(Rows { text, shape, names, order, read, places, shared })
    }

    /// Notes where the values of one more row begin, and returns its number.
    fn add(&self, places: &[u16]) -> u32 {
        let mut all = self.places.borrow_mut();
        let number = all.len() / self.names.len();
        all.extend_from_slice(places);
        // A text has no more bytes than this can count, and a row is longer than one.
        number as u32
    }

    /// The value of a member of the row with this number whose first member begins at `at`.
    #[inline]
    fn value(&self, at: u32, number: u32, member: usize) -> Value {
        let place = self.places.borrow()[number as usize * self.names.len() + member];
        (self.read)(self, at as usize + usize::from(place))
    }

    /// A string of this text, which may be one that another row has.
    #[inline]
    pub(crate) fn string(&self, text: &str) -> Str {
        if text.len() > LONGEST_SHARED {
            return Str::new(text);
        }
        let mut shared = self.shared.borrow_mut();
        if shared.is_empty() {
            shared.resize(SHARED, None);
        }
        // FNV-1a
        let hash = text
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let slot = &mut shared[(hash ^ (hash >> 16)) as usize % SHARED];
        match slot {
            Some(known) if known.as_str() == text => known.clone(),
            slot => slot.insert(Str::new(text)).clone(),
        }
    }
}

/// The payloads of a map that may not have been read.
pub(in crate::value) trait UnreadPayloads<V> {
    /// The keys.
    fn shape(&self) -> &Rc<Shape>;

    /// The payload of the key at `index`, which exists.
    fn get(&self, index: usize) -> &V;

    /// All payloads in key order, for who looks at them without reading the row.
    fn fields(&self) -> Vec<super::RowField>;

    /// Reads all payloads, because they are going to be asked for.
    fn read_all(&self);

    /// Drops without native recursion, and releases the bytes that were charged for it.
    fn discard(&mut self);
}

/// Sets have no payloads to read.
impl UnreadPayloads<()> for Infallible {
    fn shape(&self) -> &Rc<Shape> {
        match *self {}
    }

    fn get(&self, _: usize) -> &() {
        match *self {}
    }

    fn fields(&self) -> Vec<super::RowField> {
        match *self {}
    }

    fn read_all(&self) {
        match *self {}
    }

    fn discard(&mut self) {
        match *self {}
    }
}

/// One row: scalars under the keys of a shape.
pub(in crate::value) struct UnreadRow {
    /// As long as there is a field that was not read.
    rows: Cell<Option<Rc<Rows>>>,
    shape: Rc<Shape>,
    fields: OnceCell<Box<UnreadField>>,
    /// Where its first member begins.
    at: u32,
    /// Its number among the rows of its layout.
    number: u32,
    /// Bytes that are charged for fields that were not read.
    owed: Cell<u32>,
}

/// The fields read of a row. A value stays where it is, for others refer to it.
enum UnreadField {
    One { index: usize, value: Value, next: OnceCell<Box<UnreadField>> },
    All(Vec<Value>),
}

impl UnreadField {
    fn charged(self) -> Box<UnreadField> {
        meter::charge_memory(size_of::<UnreadField>());
        Box::new(self)
    }
}

impl Drop for UnreadField {
    fn drop(&mut self) {
        meter::credit_memory(size_of::<UnreadField>());
    }
}

impl UnreadRow {
    /// The row whose first member begins at `at`, and its values at `places` after that. `owed` are the bytes that its strings
    /// will take, at least.
    pub(super) fn new(rows: Rc<Rows>, at: u32, places: &[u16], owed: u32) -> UnreadRow {
        rows.text.made.set(rows.text.made.get() + 1);
        rows.text.places.set(rows.text.places.get() + size_of_val(places));
        let number = rows.add(places);
        meter::charge_memory(rows.shape.len() * size_of::<Value>() + owed as usize);
        let shape = rows.shape.clone();
        UnreadRow {
            rows: Cell::new(Some(rows)),
            shape,
            fields: OnceCell::new(),
            at,
            number,
            owed: Cell::new(owed),
        }
    }

    /// Where the field at `index` is, or the place for it and how many were read before it.
    #[inline]
    fn find(&self, index: usize) -> Result<&Value, (&OnceCell<Box<UnreadField>>, usize)> {
        let (mut place, mut before) = (&self.fields, 0);
        loop {
            match place.get().map(|field| &**field) {
                None => return Err((place, before)),
                Some(UnreadField::All(values)) => return Ok(values.get(index).unwrap_or(ABSENT)),
                Some(UnreadField::One { index: other, value, .. }) if *other == index => return Ok(value),
                Some(UnreadField::One { next, .. }) => (place, before) = (next, before + 1),
            }
        }
    }

    fn read_one(&self, index: usize) -> Option<UnreadField> {
        let rows = self.rows.take()?;
        let member = usize::from(rows.order[index]);
        let value = rows.value(self.at, self.number, member);
        self.rows.set(Some(rows));
        self.hand_over(&value);
        Some(UnreadField::One { index, value, next: OnceCell::new() })
    }

    fn read_rest(&self) -> Option<UnreadField> {
        let rows = self.rows.take()?;
        let value = |member: &u8| rows.value(self.at, self.number, usize::from(*member));
        let values: Vec<Value> = rows.order.iter().map(value).collect();
        rows.text.row_is_done();
        values.iter().for_each(|value| self.hand_over(value));
        Some(UnreadField::All(values))
    }

    /// A field that was read charges itself from now on.
    fn hand_over(&self, value: &Value) {
        let own = match value {
            Value::Str(text) => text.charged_bytes(),
            _ => 0,
        };
        let paid = self.owed.get().min(u32::try_from(own).unwrap_or(u32::MAX));
        self.owed.set(self.owed.get() - paid);
        meter::credit_memory(paid as usize);
    }
}

/// The value of a field that its text does not have: there is none, since the text was checked.
const ABSENT: &Value = &Value::Nil;

impl UnreadPayloads<Value> for UnreadRow {
    #[inline]
    fn shape(&self) -> &Rc<Shape> {
        &self.shape
    }

    #[inline]
    fn get(&self, index: usize) -> &Value {
        let (place, before) = match self.find(index) {
            Ok(value) => return value,
            Err(missing) => missing,
        };
        let field =
            if before < one_by_one(self.shape.len()) { self.read_one(index) } else { self.read_rest() };
        match field.map(|field| &**place.get_or_init(|| field.charged())) {
            Some(UnreadField::One { value, .. }) => value,
            Some(UnreadField::All(values)) => &values[index],
            None => ABSENT,
        }
    }

    fn fields(&self) -> Vec<super::RowField> {
        let mut members = Vec::new();
        if let Some(rows) = self.rows.take() {
            // What is made for a look stays nowhere, so that looking charges the program nothing.
            let shared = rows.shared.take();
            let value = |member: &u8| rows.value(self.at, self.number, usize::from(*member));
            members = rows.order.iter().map(value).collect();
            rows.shared.replace(shared);
            self.rows.set(Some(rows));
        }
        let field = |index| match self.find(index) {
            Ok(value) => super::RowField::Read(value.clone()),
            Err(_) => super::RowField::Text(members.get_mut(index).map(std::mem::take).unwrap_or_default()),
        };
        (0..self.shape.len()).map(field).collect()
    }

    fn read_all(&self) {
        // No index is that of a field, so what is found is the end of the list.
        if let Err((place, _)) = self.find(usize::MAX)
            && let Some(rest) = self.read_rest()
        {
            let _ = place.set(rest.charged());
        }
    }

    fn discard(&mut self) {
        meter::credit_memory(self.shape.len() * size_of::<Value>() + self.owed.get() as usize);
        if let Some(rows) = self.rows.take() {
            rows.text.row_is_done();
        }
    }
}
