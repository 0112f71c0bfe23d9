//! The secrets of each reader: those that concern everybody, and its own.
//!
//! Each principal's secrets have an index of their own, so that they are never compared with others' texts: no principal can
//! cost others work or learn from the comparison.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use super::index::{Entry, SecretIndex};

/// The reader of a text, who must not see the secrets of others.
#[derive(Clone, Debug, Default)]
pub(super) enum TextReader {
    /// Any reader: secrets that concern all.
    #[default]
    Anyone,
    /// One principal: its own secrets as well.
    Principal(Arc<str>),
    /// The operator, in the log: all secrets.
    Log,
}

/// The indexes that apply to one text.
pub(super) type Indexes = SmallVec<[Arc<SecretIndex>; 2]>;

/// All secrets, by reader. Changes make another one.
#[derive(Clone, Default)]
pub(super) struct ByReader {
    common: Arc<SecretIndex>,
    own: HashMap<Arc<str>, Arc<SecretIndex>>,
    all: Arc<SecretIndex>,
}

impl ByReader {
    /// The same without the secrets that are `over`, and with those of `principal` that are new; `None` is everybody.
    pub(super) fn changed(&self, over: &HashSet<u64>, principal: Option<&Arc<str>>, new: Vec<Entry>) -> Self {
        let stays = |number: u64| !over.contains(&number);
        let all = Arc::new(self.all.changed(stays, new.clone()));
        let (mut common, mut own) = (self.common.clone(), self.own.clone());
        for index in own.values_mut().chain([&mut common]).filter(|index| index.has_any(over)) {
            *index = Arc::new(index.changed(stays, Vec::new()));
        }
        if !new.is_empty() {
            let index = principal.map_or(&mut common, |principal| own.entry(principal.clone()).or_default());
            *index = Arc::new(index.changed(stays, new));
        }
        own.retain(|_, index| !index.is_empty());
        Self { common, own, all }
    }

    /// The secrets that `reader` must not see.
    pub(super) fn of(&self, reader: &TextReader) -> Indexes {
        let (first, own) = match reader {
            TextReader::Log => (&self.all, None),
            TextReader::Anyone => (&self.common, None),
            TextReader::Principal(principal) => (&self.common, self.own.get(principal)),
        };
        [first].into_iter().chain(own).filter(|index| !index.is_empty()).cloned().collect()
    }

    /// How many forms there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }
}
