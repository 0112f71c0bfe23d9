//! Finding secrets in a text: the longest one that begins at a place.
//!
//! The forms are sorted, so that the longest form that is the beginning of a text is the form right before the text or one
//! of its own beginnings. A filter over the first eight bytes of all forms keeps nearly every place of a text from the search.
//! All of it takes a few words a form besides the forms themselves, and a form is added without looking at the others' bytes.

use std::collections::HashSet;

use zeroize::Zeroizing;

use super::forms::Spelling;

/// Bytes of the beginning of a form that the filter knows: the least length of a secret.
pub(super) const HEAD: usize = 8;
/// Bits of the filter for one form: one place in so many is searched for nothing.
const BITS_PER_FORM: usize = 32;
/// Bytes that are compared for one unit of work.
const BYTES_PER_UNIT: usize = 32;
/// No other form is the beginning of a form.
const NONE: u32 = u32::MAX;

/// A form in the index.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) form: Spelling,
    /// The secret that it belongs to.
    pub(super) secret: u64,
}

impl Entry {
    fn bytes(&self) -> &[u8] {
        self.form.as_bytes()
    }
}

/// All forms that are looked for in a text. It is never changed, but replaced.
#[derive(Default)]
pub(super) struct SecretIndex {
    entries: Vec<Entry>,
    /// The first bytes of each, in the same order.
    heads: Zeroizing<Vec<u64>>,
    /// The longest other form that each begins with, [`NONE`] if there is none.
    shorter: Vec<u32>,
    filter: Vec<u64>,
    longest: usize,
}

impl SecretIndex {
    /// This index without the forms of secrets that `stays` refuses, and with `new` ones.
    pub(super) fn changed(&self, stays: impl Fn(u64) -> bool, mut new: Vec<Entry>) -> Self {
        let sort = |entries: &mut Vec<Entry>| entries.sort_by(|a, b| a.bytes().cmp(b.bytes()));
        sort(&mut new);
        let mut entries: Vec<Entry> =
            self.entries.iter().filter(|entry| stays(entry.secret)).cloned().collect();
        entries.append(&mut new);
        // Two sorted runs: the sort of the library merges them.
        sort(&mut entries);
        let heads = entries.iter().map(|entry| head(entry.bytes()).unwrap_or_default()).collect();
        let bits = (entries.len() * BITS_PER_FORM).next_power_of_two().max(4096);
        let mut index = Self {
            longest: entries.iter().map(|entry| entry.form.len()).max().unwrap_or(0),
            shorter: beginnings(&entries),
            filter: vec![0; bits / 64],
            heads: Zeroizing::new(heads),
            entries,
        };
        for at in 0..index.heads.len() {
            let (word, bit) = index.bit_of(index.heads[at]);
            index.filter[word] |= bit;
        }
        index
    }

    /// Whether it has forms of one of these secrets.
    pub(super) fn has_any(&self, secrets: &HashSet<u64>) -> bool {
        self.entries.iter().any(|entry| secrets.contains(&entry.secret))
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of the longest form.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    fn bit_of(&self, head: u64) -> (usize, u64) {
        let bits = self.filter.len() * 64;
        // The upper bits of a product depend on all bits of the head.
        let hash = head.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits.trailing_zeros());
        let bit = usize::try_from(hash).unwrap_or(0);
        (bit / 64, 1 << (bit % 64))
    }

    /// Whether a form may begin with these eight bytes.
    #[inline]
    pub(super) fn may_begin(&self, head: u64) -> bool {
        let (word, bit) = self.bit_of(head);
        self.filter[word] & bit != 0
    }

    /// The length of the longest secret that `text` begins with; `head` is its first eight bytes. `work` counts the effort.
    pub(super) fn longest_at(&self, text: &[u8], head: u64, work: &mut usize) -> Option<usize> {
        let first = self.heads.partition_point(|other| *other < head);
        let count = self.heads[first..].partition_point(|other| *other == head);
        *work += 1;
        let before = self.entries[first..first + count].partition_point(|entry| {
            let common = common(entry.bytes(), text);
            *work += 1 + common / BYTES_PER_UNIT;
            match (entry.bytes().get(common), text.get(common)) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(of_form), Some(of_text)) => of_form < of_text,
            }
        });
        let mut at = first + before.checked_sub(1)?;
        let common = common(self.entries[at].bytes(), text);
        *work += 1 + common / BYTES_PER_UNIT;
        while self.entries[at].form.len() > common {
            *work += 1;
            at = usize::try_from(self.shorter[at]).ok().filter(|_| self.shorter[at] != NONE)?;
        }
        Some(self.entries[at].form.len())
    }

    /// Whether `text` is the beginning of a secret, and not a whole one.
    pub(super) fn begins_with(&self, text: &[u8], work: &mut usize) -> bool {
        let first = self.entries.partition_point(|entry| {
            *work += 1 + entry.bytes().len().min(text.len()) / BYTES_PER_UNIT;
            entry.bytes() <= text
        });
        self.entries.get(first).is_some_and(|entry| entry.bytes().starts_with(text))
    }
}

/// The first eight bytes, in the order of texts.
#[inline]
pub(super) fn head(text: &[u8]) -> Option<u64> {
    text.first_chunk::<HEAD>().map(|bytes| u64::from_be_bytes(*bytes))
}

/// How many bytes two texts have in common from their beginning on.
fn common(a: &[u8], b: &[u8]) -> usize {
    let longest = a.len().min(b.len());
    let (a, b) = (&a[..longest], &b[..longest]);
    // In strides first: they are compared at the speed of memory.
    let strides = a.chunks_exact(BYTES_PER_UNIT).zip(b.chunks_exact(BYTES_PER_UNIT));
    let equal = strides.take_while(|(a, b)| a == b).count() * BYTES_PER_UNIT;
    equal + a[equal..].iter().zip(&b[equal..]).take_while(|(a, b)| a == b).count()
}

/// For each of the sorted forms the longest other one that it begins with.
fn beginnings(entries: &[Entry]) -> Vec<u32> {
    let mut open: Vec<usize> = Vec::new();
    let found = entries.iter().enumerate().map(|(at, entry)| {
        while open.pop_if(|last| !entry.bytes().starts_with(entries[*last].bytes())).is_some() {}
        let shorter = open.last().and_then(|last| u32::try_from(*last).ok()).unwrap_or(NONE);
        open.push(at);
        shorter
    });
    found.collect()
}
