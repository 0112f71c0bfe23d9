//! The second line of defence: replaces known secrets in text that leaves the process.
//!
//! Secrets of the operator, and of sign-ins that all share, are replaced in everything. Those of one principal's sign-ins are
//! replaced in that principal's texts, and in the log: otherwise the issuer of a token could blank others' texts.

mod forms;
mod index;
mod indexes;
mod ledger;
mod scrubbing;

use crate::sync::{Mutex, RwLock};
use std::borrow::Cow;
use std::sync::Arc;

use ptc_mcp::json::Value;
use ptc_vm::meter::uncharged;

use crate::secret::Secret;
use crate::text::clip;
use crate::time;

use indexes::{ByReader, Indexes, TextReader};
use ledger::Ledger;
pub use ledger::NoRoom;
use scrubbing::Scrubbing;

/// Secrets shorter than this many bytes are never replaced: they would mangle ordinary text, which would reveal them
/// (ruling 34).
pub const MIN_SECRET_BYTES: usize = index::HEAD;

/// The principal of a pipe, of the command line, and of unnamed callers.
pub const PROCESS: &str = "process";

/// Whose a sign-in is that all principals share.
pub const EVERYONE: &str = "*";

/// Work of the program's for a piece of a text, by which its pauses are counted.
const UNITS_PER_PIECE: usize = 2_000;

/// Replaces every known secret by [`REDACTED`](crate::secret::REDACTED) in strings, and in the keys and strings of JSON values. A cheap
/// handle: clones share one set of secrets. Before anything is registered it changes nothing.
///
/// A handle is for a reader: [`new`](Self::new) makes one for texts that any reader may see;
/// [`for_principal`](Self::for_principal) and [`for_log`](Self::for_log) derive others from it.
///
/// It works on strings that users or upstreams control, before they are serialised; the structural isolation of
/// [`Secret`] is what keeps secrets out of everything else.
#[derive(Clone, Default)]
pub struct Redactor {
    shared: Arc<RedactorState>,
    reader: TextReader,
}

#[derive(Default)]
struct RedactorState {
    /// The indexes in use. They are replaced as a whole, and built outside of the lock.
    indexes: RwLock<Arc<ByReader>>,
    /// The source of the indexes. Locked while secrets are added.
    ledger: Mutex<Ledger>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} patterns)", self.known().len())
    }
}

impl Redactor {
    /// A redactor that knows no secret yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same secrets, for the texts of `principal`.
    #[must_use]
    pub fn for_principal(&self, principal: Option<&str>) -> Self {
        let own = principal.filter(|principal| !is_shared(principal));
        let reader = own.map_or(TextReader::Anyone, |principal| TextReader::Principal(principal.into()));
        Self { shared: self.shared.clone(), reader }
    }

    /// The same secrets, for the operator's log, which must not contain any.
    #[must_use]
    pub fn for_log(&self) -> Self {
        Self { shared: self.shared.clone(), reader: TextReader::Log }
    }

    /// Adds secrets of the operator, each with its forms in common encodings, because an upstream may echo any of them and each
    /// would hide the secret from a search. Secrets under eight bytes are left out.
    ///
    /// # Errors
    /// They are more than is scrubbed.
    pub fn register<'a>(&self, secrets: impl IntoIterator<Item = &'a Secret>) -> Result<(), NoRoom> {
        self.change(|ledger, known| ledger.register(known, secrets))
    }

    /// Sets the secrets of the sign-in `owner`; those that it had before are scrubbed for another hour, as answers with them
    /// may still be on their way. `principal` owns the sign-in. Secrets under 16 bytes are left out.
    ///
    /// # Errors
    /// They exceed the limit. Known secrets are scrubbed as before.
    pub fn replace(&self, owner: &str, principal: &str, secrets: &[Secret]) -> Result<(), NoRoom> {
        let principal: Option<Arc<str>> = (!is_shared(principal)).then(|| principal.into());
        self.change(|ledger, known| ledger.replace(known, owner, principal.as_ref(), secrets, time::now()))
    }

    /// Notes that `principal` uses its secrets; `false` if they are not known, or not any more.
    pub fn note_use(&self, principal: &str) -> bool {
        is_shared(principal) || self.shared.ledger.lock().note_use(principal)
    }

    fn change(
        &self,
        with: impl FnOnce(&mut Ledger, &ByReader) -> Result<Option<ByReader>, NoRoom>,
    ) -> Result<(), NoRoom> {
        let mut ledger = self.shared.ledger.lock();
        let before = self.known();
        if let Some(changed) = with(&mut ledger, &before)? {
            *self.shared.indexes.write() = Arc::new(changed);
        }
        Ok(())
    }

    fn known(&self) -> Arc<ByReader> {
        self.shared.indexes.read().clone()
    }

    /// The indexes that apply to texts for this handle's reader.
    fn indexes(&self) -> Indexes {
        self.shared.indexes.read().of(&self.reader)
    }

    /// `text` with every secret replaced; borrowed when there is none, which is the common and fast case. A program that waits
    /// for it yields between pieces of 64 KiB.
    ///
    /// Secrets that overlap in the text are replaced as one stretch, so that neither leaves a piece of itself behind. If
    /// finding the secrets takes too long, the rest of the text is replaced as a whole.
    pub fn scrub<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(mut scrubbing) = self.scrubbing(text) else { return Cow::Borrowed(text) };
        while scrubbing.step() {
            uncharged(UNITS_PER_PIECE);
        }
        scrubbing.finish()
    }

    /// As [`scrub`](Self::scrub), for texts that may be long: yields to other tasks of this thread between pieces.
    pub async fn scrub_in_pieces<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(mut scrubbing) = self.scrubbing(text) else { return Cow::Borrowed(text) };
        while scrubbing.step() {
            tokio::task::yield_now().await;
        }
        scrubbing.finish()
    }

    fn scrubbing<'t>(&self, text: &'t str) -> Option<Scrubbing<'t>> {
        if text.len() < MIN_SECRET_BYTES {
            return None;
        }
        let indexes = self.indexes();
        (!indexes.is_empty()).then(|| Scrubbing::new(text, indexes))
    }

    /// How many bytes at the end of `text` may be the beginning of a secret: a streamed text holds them back until more has
    /// arrived.
    pub fn unfinished(&self, text: &str) -> usize {
        let indexes = self.indexes();
        let longest = indexes.iter().map(|index| index.longest()).max().unwrap_or(0);
        let longest = text.len().min(longest.saturating_sub(1));
        let most_work = scrubbing::most_work(longest);
        let mut work = 0;
        let is_beginning = |size: &usize| {
            let end = &text.as_bytes()[text.len() - size..];
            let head = index::head(end);
            indexes.iter().any(|index| {
                let may_begin = head.is_none_or(|head| index.may_begin(head));
                // What takes too much work is held back.
                may_begin && (work > most_work || index.begins_with(end, &mut work))
            })
        };
        (1..=longest).rev().find(is_beginning).unwrap_or(0)
    }

    /// As [`scrub`](Self::scrub), for text that is owned already: no copy when nothing is found.
    pub fn scrub_string(&self, text: String) -> String {
        match self.scrub(&text) {
            Cow::Owned(clean) => clean,
            Cow::Borrowed(_) => text,
        }
    }

    /// As [`scrub_string`](Self::scrub_string), for texts that are shown in part: at most some `most` bytes of it, followed by
    /// three dots if something was cut. The rest is not scanned.
    pub fn scrub_beginning(&self, text: String, most: usize) -> String {
        if text.len() <= most {
            return self.scrub_string(text);
        }
        // A secret that begins before the cut is found whole.
        let longest = self.indexes().iter().map(|index| index.longest()).max().unwrap_or(0);
        let clean = self.scrub(clip(&text, most.saturating_add(longest)));
        format!("{}...", clip(&clean, most))
    }

    /// Whether a secret is in `text`.
    pub fn finds_in(&self, text: &str) -> bool {
        matches!(self.scrub(text), Cow::Owned(_))
    }

    /// Scrubs every string and every object key inside a JSON value, at any depth. Two keys that become equal by scrubbing keep
    /// the last value. Numbers are scanned too: a credential of digits may be echoed as one.
    pub fn scrub_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = self.scrub(text) {
                    *text = clean;
                }
            }
            Value::Number(number) => {
                if let Cow::Owned(clean) = self.scrub(&number.to_string()) {
                    *value = Value::String(clean);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub_json(item)),
            Value::Object(map) => {
                if map.keys().any(|key| self.finds_in(key)) {
                    *map = std::mem::take(map).into_iter().map(|(k, v)| (self.scrub_string(k), v)).collect();
                }
                map.values_mut().for_each(|item| self.scrub_json(item));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Where in a JSON value the first secret is, as a JSON Pointer with the secret itself left out: `/to/0/address`.
    pub fn place_in(&self, value: &Value) -> Option<String> {
        let step = |key: &str| format!("/{}", self.scrub(key).replace('~', "~0").replace('/', "~1"));
        match value {
            Value::String(text) => self.finds_in(text).then(String::new),
            Value::Number(number) => self.finds_in(&number.to_string()).then(String::new),
            Value::Array(items) => (items.iter().enumerate())
                .find_map(|(at, item)| Some(format!("/{at}{}", self.place_in(item)?))),
            Value::Object(map) => map.iter().find_map(|(key, item)| {
                let inside = if self.finds_in(key) { String::new() } else { self.place_in(item)? };
                Some(step(key) + &inside)
            }),
            Value::Null | Value::Bool(_) => None,
        }
    }
}

/// Whether the secrets of `principal` concern everybody: the process acts for all.
fn is_shared(principal: &str) -> bool {
    matches!(principal, PROCESS | EVERYONE)
}

#[cfg(test)]
mod tests;
