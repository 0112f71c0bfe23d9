//! Replacing secrets in one text, in pieces.

use std::borrow::Cow;
use std::sync::Arc;

use super::index::{HEAD, SecretIndex, head};
use super::indexes::Indexes;
use crate::pace::PIECE;
use crate::secret::REDACTED;

/// Work that a text may take for each of its bytes, and in any case. Ordinary secrets take less than one for a byte; more is
/// taken by secrets that repeat themselves in texts that do so as well.
const WORK_PER_BYTE: usize = 16;
const LEAST_WORK: usize = 1 << 18;

/// The work that a text of so many bytes may take.
pub(super) fn most_work(bytes: usize) -> usize {
    LEAST_WORK.saturating_add(bytes.saturating_mul(WORK_PER_BYTE))
}

/// A text in which secrets are being replaced. Secrets that overlap are replaced as one stretch, so that neither leaves a piece
/// of itself behind. Once the work exceeds its limit, the rest is replaced as a whole.
pub(super) struct Scrubbing<'t> {
    text: &'t str,
    indexes: Indexes,
    /// The position of the next byte.
    at: usize,
    /// The last stretch that was found, which the next secret may overlap.
    stretch: Option<(usize, usize)>,
    /// How much of the text is in `clean`, or replaced there.
    copied: usize,
    clean: Option<String>,
    work: usize,
}

impl<'t> Scrubbing<'t> {
    pub(super) fn new(text: &'t str, indexes: Indexes) -> Self {
        Self { text, indexes, at: 0, stretch: None, copied: 0, clean: None, work: 0 }
    }

    /// Looks at the next piece. `false`: that was the last one.
    pub(super) fn step(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let end = (bytes.len() + 1).saturating_sub(HEAD);
        let piece_end = end.min(self.at.saturating_add(PIECE));
        let most_work = most_work(bytes.len());
        for at in self.at..piece_end {
            let rest = &bytes[at..];
            let Some(head) = head(rest) else { break };
            let work = &mut self.work;
            let find = |index: &Arc<SecretIndex>| {
                index.may_begin(head).then(|| index.longest_at(rest, head, work)).flatten()
            };
            if let Some(length) = self.indexes.iter().filter_map(find).max() {
                self.found(at, at + length);
            }
            if self.work > most_work {
                self.found(self.text.floor_char_boundary(at), bytes.len());
                self.at = end;
                return false;
            }
        }
        self.at = piece_end;
        piece_end < end
    }

    fn found(&mut self, start: usize, end: usize) {
        match &mut self.stretch {
            Some(stretch) if start < stretch.1 => stretch.1 = stretch.1.max(end),
            _ => {
                self.replace();
                self.stretch = Some((start, end));
            }
        }
    }

    fn replace(&mut self) {
        let Some((start, end)) = self.stretch.take() else { return };
        let clean = self.clean.get_or_insert_default();
        clean.push_str(&self.text[self.copied..start]);
        clean.push_str(REDACTED);
        self.copied = end;
    }

    #[cfg(test)]
    pub(super) fn work(&self) -> usize {
        self.work
    }

    /// The text without secrets, after the last step.
    pub(super) fn finish(mut self) -> Cow<'t, str> {
        self.replace();
        match self.clean {
            None => Cow::Borrowed(self.text),
            Some(mut clean) => {
                clean.push_str(&self.text[self.copied..]);
                Cow::Owned(clean)
            }
        }
    }
}
