//! Hints that this process has changed a record, for those that watch it.

use ptc_base::sync::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use super::{Commit, Key};

/// The records that are watched. Clones are handles of one set.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Arc<Mutex<HashMap<Key, Watched>>>);

/// A watched record.
#[derive(Debug, Default)]
struct Watched {
    notify: Arc<Notify>,
    watchers: usize,
}

/// One watcher of a record, until it is dropped.
struct Watcher {
    changes: Changes,
    key: Key,
}

impl Changes {
    /// Completes when the record is changed from now on.
    pub(super) fn of(&self, key: &Key) -> BoxFuture<'static, ()> {
        let changed = {
            let mut all = self.0.lock();
            let watched = all.entry(key.clone()).or_default();
            watched.watchers += 1;
            watched.notify.clone().notified_owned()
        };
        let watcher = Watcher { changes: self.clone(), key: key.clone() };
        async move {
            changed.await;
            drop(watcher);
        }
        .boxed()
    }

    /// Tells the watchers of all records of this commit.
    pub(super) fn tell(&self, commit: &Commit) {
        let all = self.0.lock();
        if !all.is_empty() {
            let watched = commit.writes().iter().filter_map(|write| all.get(&write.key));
            watched.for_each(|watched| watched.notify.notify_waiters());
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Entry::Occupied(mut watched) = self.changes.0.lock().entry(self.key.clone()) {
            watched.get_mut().watchers -= 1;
            if watched.get().watchers == 0 {
                watched.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Owner, Write};
    use super::*;

    #[tokio::test]
    async fn watchers_of_a_changed_record_are_told_and_forgotten() {
        let changes = Changes::default();
        let key = |id: &str| Key::new(&Owner::principal("a"), Kind::Run, id).unwrap();
        let [one, same, other] = [changes.of(&key("x")), changes.of(&key("x")), changes.of(&key("y"))];
        // Also those that do not wait yet.
        changes.tell(&Commit::one(Write::put(key("x"), 0, &b""[..])));
        one.await;
        same.await;
        assert!(other.now_or_never().is_none());
        assert!(changes.0.lock().is_empty());
    }
}
