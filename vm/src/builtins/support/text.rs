//! A text under construction in a frame.

use crate::error::Result;
use crate::machine::{PartReader, PartWriter, Portable, RestoreError, SnapshotError};
use crate::meter;
use crate::print;
use crate::value::{Str, Value};

/// Bytes beyond which a text is copied in pieces.
const LONG: usize = 64 << 10;

/// The value of `text`, for which there is room. Others may have the thread while a long one is copied.
pub(crate) fn copied(text: &str) -> Value {
    if text.len() <= LONG {
        return Value::str(text);
    }
    let mut copy = String::with_capacity(text.len());
    print::push_in_pieces(&mut copy, text);
    Value::Str(Str::from_string(copy))
}

/// Collects text. Room is [reserved](meter::reserve) before it is taken and charged while the builder lives, so that
/// a frame that waits with a half-built text is accounted for.
#[derive(Default)]
pub(crate) struct TextBuilder {
    text: String,
    charged: usize,
}

impl TextBuilder {
    /// An empty builder.
    pub(crate) fn new() -> TextBuilder {
        TextBuilder::default()
    }

    /// Appends a text; charges a step for 16 bytes.
    #[inline]
    pub(crate) fn push_str(&mut self, piece: &str) -> Result<()> {
        // Nearly all pieces are shorter than what costs a step.
        if piece.len() >= 16 {
            meter::charge_steps(piece.len() as u64 / 16)?;
        }
        if piece.len() > self.text.capacity() - self.text.len() {
            self.make_room(piece.len())?;
        }
        print::push_in_pieces(&mut self.text, piece);
        Ok(())
    }

    #[cold]
    fn make_room(&mut self, more: usize) -> Result<()> {
        let room = (self.text.len() + more).max(2 * self.text.capacity()).max(64);
        meter::reserve(room - self.charged.min(room))?;
        print::enlarge(&mut self.text, room);
        self.charge_growth();
        Ok(())
    }

    /// Appends the plain form of a value, as `str` returns it.
    pub(crate) fn push_plain(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Str(text) => self.push_str(text.as_str()),
            value => {
                print::write_plain(value, &mut self.text)?;
                self.charge_growth();
                Ok(())
            }
        }
    }

    /// Charges the growth of the text.
    fn charge_growth(&mut self) {
        let capacity = self.text.capacity();
        if capacity > self.charged {
            meter::charge_memory(capacity - self.charged);
            self.charged = capacity;
        }
    }

    /// Whether nothing has been appended.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes the text out as a value and leaves the builder empty.
    pub(crate) fn take(&mut self) -> Value {
        meter::credit_memory(std::mem::take(&mut self.charged));
        Value::Str(Str::from_string(std::mem::take(&mut self.text)))
    }
}

impl Portable for TextBuilder {
    fn layout(out: &mut String) {
        out.push_str("text,");
    }

    fn write(&self, to: &mut PartWriter<'_>) -> Result<(), SnapshotError> {
        to.text(&self.text)
    }

    fn read(from: &mut PartReader<'_>) -> Result<TextBuilder, RestoreError> {
        let text = from.text()?;
        meter::reserve(text.len())?;
        let mut builder = TextBuilder { text: text.to_owned(), charged: 0 };
        builder.charge_growth();
        Ok(builder)
    }
}

impl Drop for TextBuilder {
    fn drop(&mut self) {
        meter::credit_memory(self.charged);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Account;

    #[test]
    fn text_is_charged_while_it_grows_and_given_back() {
        let mut account = Account::new(100_000);
        {
            let _installed = account.install();
            let mut builder = TextBuilder::new();
            for n in 0..1000 {
                builder.push_plain(&Value::Int(n)).unwrap();
                builder.push_str(", ").unwrap();
            }
            assert!(!builder.is_empty());
            assert!(matches!(builder.take(), Value::Str(text) if text.as_str().starts_with("0, 1, 2, ")));
            builder.push_str("left behind").unwrap();
        }
        assert_eq!(account.live, 0);
        assert!(account.peak >= 4_890);
    }

    #[test]
    fn growth_stops_at_the_memory_limit() {
        let mut account = Account::new(10_000);
        let _installed = account.install();
        let mut builder = TextBuilder::new();
        assert!((0..10_000).any(|_| builder.push_str("0123456789").is_err()));
        assert!(builder.take().kind_label() == "string");
    }
}
