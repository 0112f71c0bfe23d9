//! The parts of a frame, written and read field by field.

use super::part_reader::PartReader;
use super::part_writer::PartWriter;
use super::{RestoreError, SnapshotError};
use crate::error::Error;
use crate::machine::stack::Args;
use crate::meter;
use crate::value::{Blob, Closure, Combinator, Cursor, Map, MapIter, Regex, Str, Value, Vector, VectorIter};
use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;

/// Plain data that a snapshot can hold: values, numbers, names, and compounds of those.
///
/// The macro `portable!` gives it to a type by the list of its fields, in the order in which they are written.
pub trait Portable: Sized {
    /// Appends the description of its parts, for the fingerprint of a build.
    fn layout(out: &mut String);

    /// Writes it.
    ///
    /// # Errors
    /// If it cannot be written, or has become too large.
    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError>;

    /// Reads the output of [`write`](Portable::write), which is untrusted: the result is as sound as one that a program can
    /// make.
    ///
    /// # Errors
    /// If the bytes are not ours, or the memory limit.
    fn read(from: &mut PartReader<'_>) -> Result<Self, RestoreError>;
}

/// Appends the layout of a part, and says by its type which one that is. Gives nothing.
pub(crate) fn described<T: Portable>(out: &mut String) -> Option<T> {
    T::layout(out);
    None
}

/// Gives a type its [`Portable`]: a struct by the list of its fields, a tuple by names for its parts, an enum by its variants,
/// each with the byte that stands for it. The condition after `if` must hold so that nothing panics.
macro_rules! portable {
    ($name:ident { $($field:ident),* $(,)? } $(if $check:expr)?) => {
        impl $crate::machine::Portable for $name {
            fn layout(out: &mut String) {
                out.push_str(concat!(stringify!($name), "{"));
                $(
                    out.push_str(concat!(stringify!($field), ":"));
                    let $field = $crate::machine::described(out);
                )*
                let _ = move || Some($name { $($field: $field?),* });
                out.push('}');
            }

            fn write(&self, to: &mut $crate::machine::PartWriter<'_>) -> Result<(), $crate::machine::SnapshotError> {
                $($crate::machine::Portable::write(&self.$field, to)?;)*
                let _ = to;
                Ok(())
            }

            fn read(from: &mut $crate::machine::PartReader<'_>) -> Result<Self, $crate::machine::RestoreError> {
                let read = $name { $($field: $crate::machine::Portable::read(from)?),* };
                $(from.check(($check)(&read))?;)?
                let _ = from;
                Ok(read)
            }
        }
    };
    ($name:ident ( $($item:ident),* $(,)? ) $(if $check:expr)?) => {
        impl $crate::machine::Portable for $name {
            fn layout(out: &mut String) {
                out.push_str(concat!(stringify!($name), "("));
                $(
                    out.push_str(concat!(stringify!($item), ":"));
                    let $item = $crate::machine::described(out);
                )*
                let _ = move || Some($name($($item?),*));
                out.push(')');
            }

            fn write(&self, to: &mut $crate::machine::PartWriter<'_>) -> Result<(), $crate::machine::SnapshotError> {
                let $name($($item),*) = self;
                $($crate::machine::Portable::write($item, to)?;)*
                Ok(())
            }

            fn read(from: &mut $crate::machine::PartReader<'_>) -> Result<Self, $crate::machine::RestoreError> {
                let read = $name($({
                    let $item = $crate::machine::Portable::read(from)?;
                    $item
                }),*);
                $(from.check(($check)(&read))?;)?
                Ok(read)
            }
        }
    };
    (enum $name:ident {
        $($tag:literal: $variant:ident $(($($item:ident),*))? $({$($field:ident),*})?),* $(,)?
    } $(if $check:expr)?) => {
        impl $crate::machine::Portable for $name {
            fn layout(out: &mut String) {
                out.push_str(concat!(stringify!($name), "<"));
                $({
                    out.push_str(concat!(stringify!($tag), stringify!($variant), ":"));
                    $($(let $item = $crate::machine::described(out);)*)?
                    $($(
                        out.push_str(concat!(stringify!($field), ":"));
                        let $field = $crate::machine::described(out);
                    )*)?
                    let _ = move || Some($name::$variant $(($($item?),*))? $({$($field: $field?),*})?);
                })*
                out.push('>');
            }

            fn write(&self, to: &mut $crate::machine::PartWriter<'_>) -> Result<(), $crate::machine::SnapshotError> {
                match self {
                    $($name::$variant $(($($item),*))? $({$($field),*})? => {
                        to.byte($tag)?;
                        $($($crate::machine::Portable::write($item, to)?;)*)?
                        $($($crate::machine::Portable::write($field, to)?;)*)?
                    })*
                }
                Ok(())
            }

            fn read(from: &mut $crate::machine::PartReader<'_>) -> Result<Self, $crate::machine::RestoreError> {
                let read = match from.byte()? {
                    $($tag => $name::$variant
                        $(($({
                            let $item = $crate::machine::Portable::read(from)?;
                            $item
                        }),*))?
                        $({$($field: $crate::machine::Portable::read(from)?),*})?,)*
                    _ => return Err(from.damage()),
                };
                $(from.check(($check)(&read))?;)?
                Ok(read)
            }
        }
    };
}

pub(crate) use portable;

impl Portable for Value {
    fn layout(out: &mut String) {
        out.push_str("value,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        to.value(self)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Value, RestoreError> {
        from.value()
    }
}

/// A kind of value by itself.
macro_rules! kind_of_value {
    ($($variant:ident $kind:ty;)*) => {
        $(impl Portable for $kind {
            fn layout(out: &mut String) {
                out.push_str(concat!(stringify!($variant), ","));
            }

            fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
                to.value(&Value::$variant(self.clone()))
            }

            fn read(from: &mut PartReader<'_>) -> Result<Self, RestoreError> {
                match from.value()? {
                    Value::$variant(found) => Ok(found),
                    _ => Err(from.damage()),
                }
            }
        })*
    };
}

kind_of_value! {
    Blob Rc<Blob>;
    Str Str;
    Vector Vector;
    Map Map;
    Closure Rc<Closure>;
    Regex Rc<Regex>;
    Combinator Rc<Combinator>;
}

impl Portable for bool {
    fn layout(out: &mut String) {
        out.push_str("bool,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        to.byte(u8::from(*self))
    }

    fn read(from: &mut PartReader<'_>) -> Result<bool, RestoreError> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(from.damage()),
        }
    }
}

/// Numbers, in as few bytes as they need.
macro_rules! numbers {
    ($($kind:ty)*) => {
        $(impl Portable for $kind {
            fn layout(out: &mut String) {
                out.push_str(concat!(stringify!($kind), ","));
            }

            fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
                to.uint(*self as u64)
            }

            fn read(from: &mut PartReader<'_>) -> Result<$kind, RestoreError> {
                <$kind>::try_from(from.uint()?).map_err(|_| from.damage())
            }
        })*
    };
}

numbers! { u32 u64 usize }

impl<T: Portable + Copy> Portable for Cell<T> {
    fn layout(out: &mut String) {
        T::layout(out);
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        self.get().write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Self, RestoreError> {
        T::read(from).map(Cell::new)
    }
}

impl Portable for i64 {
    fn layout(out: &mut String) {
        out.push_str("i64,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        to.int(*self)
    }

    fn read(from: &mut PartReader<'_>) -> Result<i64, RestoreError> {
        from.int()
    }
}

impl Portable for String {
    fn layout(out: &mut String) {
        out.push_str("text,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        to.text(self)
    }

    fn read(from: &mut PartReader<'_>) -> Result<String, RestoreError> {
        from.text().map(str::to_owned)
    }
}

impl Portable for Rc<str> {
    fn layout(out: &mut String) {
        out.push_str("text,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        to.text(self)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Rc<str>, RestoreError> {
        from.text().map(Rc::from)
    }
}

impl Portable for () {
    fn layout(_: &mut String) {}

    fn write(&self, _: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        Ok(())
    }

    fn read(_: &mut PartReader<'_>) -> Result<(), RestoreError> {
        Ok(())
    }
}

impl<A: Portable, B: Portable> Portable for (A, B) {
    fn layout(out: &mut String) {
        A::layout(out);
        B::layout(out);
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        self.0.write(to)?;
        self.1.write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<(A, B), RestoreError> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

impl<T: Portable> Portable for Box<T> {
    fn layout(out: &mut String) {
        T::layout(out);
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        (**self).write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Box<T>, RestoreError> {
        T::read(from).map(Box::new)
    }
}

impl<T: Portable> Portable for Option<T> {
    fn layout(out: &mut String) {
        out.push('?');
        T::layout(out);
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        match self {
            None => to.byte(0),
            Some(there) => {
                to.byte(1)?;
                there.write(to)
            }
        }
    }

    fn read(from: &mut PartReader<'_>) -> Result<Option<T>, RestoreError> {
        match from.byte()? {
            0 => Ok(None),
            1 => T::read(from).map(Some),
            _ => Err(from.damage()),
        }
    }
}

/// Writes a sequence with its length before it.
fn write_all<T: Portable>(items: &[T], to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
    to.uint(items.len() as u64)?;
    items.iter().try_for_each(|item| item.write(to))
}

/// Reads a sequence with its length before it, into exactly the room that it needs.
fn read_all<T: Portable>(from: &mut PartReader<'_>) -> Result<Vec<T>, RestoreError> {
    let count = from.count()?;
    from.hold::<T>(count)?;
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(T::read(from)?);
    }
    Ok(items)
}

impl<T: Portable> Portable for Vec<T> {
    fn layout(out: &mut String) {
        out.push('*');
        T::layout(out);
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        write_all(self, to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Vec<T>, RestoreError> {
        read_all(from)
    }
}

impl Portable for Args {
    fn layout(out: &mut String) {
        out.push_str("*value,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        write_all(self, to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Args, RestoreError> {
        read_all(from).map(Args::from_vec)
    }
}

/// The collection, and how many elements have been taken.
impl Portable for Cursor {
    fn layout(out: &mut String) {
        out.push_str("cursor,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        let (collection, taken) = match self {
            Cursor::Vector(iter) => {
                let (vector, taken) = iter.taken();
                (Value::Vector(vector.clone()), taken)
            }
            Cursor::Map(iter) => {
                let (map, taken) = iter.taken();
                (Value::Map(map), taken)
            }
            Cursor::Set(iter) => {
                let (set, taken) = iter.taken();
                (Value::Set(set), taken)
            }
        };
        to.value(&collection)?;
        taken.write(to)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Cursor, RestoreError> {
        let collection = from.value()?;
        let taken = usize::read(from)?;
        let mut cursor = match collection {
            Value::Vector(vector) => Cursor::Vector(vector.into_iter()),
            Value::Map(map) => Cursor::Map(map.into_iter()),
            Value::Set(set) => Cursor::Set(set.into_iter()),
            _ => return Err(from.damage()),
        };
        from.check(taken <= cursor.remaining())?;
        cursor.skip(taken);
        Ok(cursor)
    }
}

/// Iterators are cursors over their kind of collection.
macro_rules! iterators {
    ($($variant:ident $iterator:ty;)*) => {
        $(impl Portable for $iterator {
            fn layout(out: &mut String) {
                Cursor::layout(out);
            }

            fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
                Cursor::$variant(self.clone()).write(to)
            }

            fn read(from: &mut PartReader<'_>) -> Result<Self, RestoreError> {
                match Cursor::read(from)? {
                    Cursor::$variant(iterator) => Ok(iterator),
                    _ => Err(from.damage()),
                }
            }
        })*
    };
}

iterators! {
    Vector VectorIter;
    Map MapIter;
}

portable!(enum Ordering { 0: Less, 1: Equal, 2: Greater });

impl Portable for Error {
    fn layout(out: &mut String) {
        out.push_str("error,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        to.error(self)
    }

    fn read(from: &mut PartReader<'_>) -> Result<Error, RestoreError> {
        from.error()
    }
}

impl<T: Portable> Portable for Result<T, Error> {
    fn layout(out: &mut String) {
        T::layout(out);
        Error::layout(out);
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        match self {
            Ok(value) => {
                to.byte(0)?;
                value.write(to)
            }
            Err(error) => {
                to.byte(1)?;
                error.write(to)
            }
        }
    }

    fn read(from: &mut PartReader<'_>) -> Result<Result<T, Error>, RestoreError> {
        match from.byte()? {
            0 => T::read(from).map(Ok),
            1 => Error::read(from).map(Err),
            _ => Err(from.damage()),
        }
    }
}

impl Portable for meter::MemoryCharge {
    fn layout(out: &mut String) {
        out.push_str("held,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        to.uint(self.bytes() as u64)
    }

    fn read(from: &mut PartReader<'_>) -> Result<meter::MemoryCharge, RestoreError> {
        let bytes = usize::read(from)?;
        Ok(meter::MemoryCharge::new(bytes)?)
    }
}
