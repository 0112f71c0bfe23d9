//! Announcements between the processes that share a store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lease::millis;

/// A process that uses the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    /// Its name, which no other has.
    pub name: String,
    /// Its build.
    pub build: String,
    /// When it was heard of last, before now.
    #[serde(skip)]
    pub seen: Duration,
}

/// The announcements after a point in time, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// The point up to which this is complete. 0 is the beginning.
    pub until: u64,
    /// The announcements.
    pub said: Vec<Arc<str>>,
    /// Whether announcements after the point that was asked for are forgotten already.
    pub missed: bool,
}

/// Announcements that a store remembers.
pub(super) const REMEMBERED: usize = 4096;
/// How long a replica is listed after it was heard of.
pub(super) const REPLICA_LIFE: Duration = Duration::from_secs(30);

/// The announcements of a store within one process.
#[derive(Debug, Default)]
pub(super) struct Announcements {
    said: VecDeque<Arc<str>>,
    /// The number of the latest one.
    latest: u64,
}

impl Announcements {
    pub(super) fn add(&mut self, text: &str) {
        self.said.push_back(text.into());
        self.latest += 1;
        if self.said.len() > REMEMBERED {
            self.said.pop_front();
        }
    }

    pub(super) fn after(&self, point: u64) -> News {
        let unheard = usize::try_from(self.latest.saturating_sub(point)).unwrap_or(usize::MAX);
        let known = unheard.min(self.said.len());
        News {
            until: self.latest,
            said: self.said.iter().skip(self.said.len() - known).cloned().collect(),
            missed: unheard > known,
        }
    }
}

/// The replicas that use a store within one process.
#[derive(Debug, Default)]
pub(super) struct Replicas(BTreeMap<String, (Replica, u64)>);

impl Replicas {
    pub(super) fn attend(&mut self, replica: &Replica, now: u64) {
        self.forget(now);
        self.0.insert(replica.name.clone(), (replica.clone(), now));
    }

    pub(super) fn listed(&mut self, now: u64) -> Vec<Replica> {
        self.forget(now);
        let seen = |(replica, seen): &(Replica, u64)| Replica {
            seen: Duration::from_millis(now.saturating_sub(*seen)),
            ..replica.clone()
        };
        self.0.values().map(seen).collect()
    }

    fn forget(&mut self, now: u64) {
        self.0.retain(|_, (_, seen)| now < *seen + millis(REPLICA_LIFE));
    }
}
