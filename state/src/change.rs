//! Writes to the store.

use std::time::Duration;

use bytes::Bytes;

use super::{Key, Owner};

/// Changes of records of one principal, which are applied atomically.
#[derive(Clone, Debug)]
pub struct Commit {
    owner: Owner,
    writes: Vec<Write>,
}

/// One record of a [`Commit`].
#[derive(Clone, Debug)]
pub struct Write {
    /// Which.
    pub key: Key,
    /// The fence of the lease under which it is written. `None` needs no lease, and checks the version alone.
    pub fence: Option<u64>,
    /// Whether the lease is kept; otherwise it ends.
    pub keeps_lease: bool,
    /// The change.
    pub change: Change,
}

/// A change of a record.
#[derive(Clone, Debug)]
pub enum Change {
    /// It has another content.
    Put {
        /// The version that it must have; 0 if it must not exist. It has one more afterwards.
        version: u64,
        /// The content.
        blob: Bytes,
        /// Time that it may rest; `None` for as long as until its end.
        rest: Option<Duration>,
        /// Its end, however much it is used.
        end: End,
    },
    /// It is deleted, and requests for it within `life` report that, even if it never existed.
    Bury {
        /// The version that it must have, if that matters.
        version: Option<u64>,
        /// How long that is remembered.
        life: Duration,
    },
    /// It is as if it had never been.
    Remove {
        /// The version that it must have, if that matters.
        version: Option<u64>,
    },
}

/// The end of a record, however much it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As it was; a new record has none.
    Keep,
    /// After so long from now.
    After(Duration),
    /// None.
    Never,
}

impl Commit {
    /// A commit of nothing yet to records of `owner`'s principal.
    pub fn of(owner: &Owner) -> Self {
        Self { owner: owner.clone(), writes: Vec::new() }
    }

    /// The commit of one write.
    pub fn one(write: Write) -> Self {
        Self { owner: write.key.owner().clone(), writes: vec![write] }
    }

    /// The same with a further write.
    ///
    /// # Panics
    /// If the record belongs to another principal, or is written already: that is a mistake of the caller's.
    #[must_use]
    pub fn and(mut self, write: Write) -> Self {
        assert!(write.key.owner().name() == self.owner.name(), "a commit is of one principal");
        assert!(self.writes.iter().all(|other| other.key != write.key), "a commit writes a record once");
        self.writes.push(write);
        self
    }

    /// Whose records they are. Only the principal matters.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The writes.
    #[must_use]
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }
}

impl Write {
    /// Puts `blob` in the place of the content of version `version`; 0: the record is new.
    pub fn put(key: Key, version: u64, blob: impl Into<Bytes>) -> Self {
        let change = Change::Put { version, blob: blob.into(), rest: None, end: End::Keep };
        Self { key, fence: None, keeps_lease: false, change }
    }

    /// Deletes the record and remembers that for `life`.
    pub fn bury(key: Key, life: Duration) -> Self {
        Self { key, fence: None, keeps_lease: false, change: Change::Bury { version: None, life } }
    }

    /// Deletes the record without a trace.
    pub fn remove(key: Key) -> Self {
        Self { key, fence: None, keeps_lease: false, change: Change::Remove { version: None } }
    }

    /// The same under the lease of this fence, which ends with it.
    #[must_use]
    pub fn under(mut self, fence: u64) -> Self {
        self.fence = Some(fence);
        self
    }

    /// The same, keeping the lease.
    #[must_use]
    pub fn keeping_lease(mut self) -> Self {
        self.keeps_lease = true;
        self
    }

    /// The same for content that may rest for so long.
    #[must_use]
    pub fn resting(mut self, time: Duration) -> Self {
        if let Change::Put { rest, .. } = &mut self.change {
            *rest = Some(time);
        }
        self
    }

    /// The same for content that ends so.
    #[must_use]
    pub fn ending(mut self, at: End) -> Self {
        if let Change::Put { end, .. } = &mut self.change {
            *end = at;
        }
        self
    }

    /// The same for content that is deleted or buried only at this version.
    #[must_use]
    pub fn at_version(mut self, expected: u64) -> Self {
        match &mut self.change {
            Change::Put { version, .. } => *version = expected,
            Change::Bury { version, .. } | Change::Remove { version } => *version = Some(expected),
        }
        self
    }
}
