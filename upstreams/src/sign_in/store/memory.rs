//! A store in memory.

use ptc_base::sync::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::{AuthStore, Guard, Protection, RecordKey, RecordKind, RecordSummary, RecordText, StoreError};
use ptc_base::time;

/// How long a lock is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// Keys from which on those without a record are looked for.
const MANY: usize = 1024;

/// A store that is gone with its last handle. Clones share their records.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<HashMap<RecordKey, Slot>>>);

#[derive(Default)]
struct Slot {
    text: Option<RecordText>,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl MemoryStore {
    fn slots(&self) -> MutexGuard<'_, HashMap<RecordKey, Slot>> {
        self.0.lock()
    }
}

impl AuthStore for MemoryStore {
    fn read<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Option<RecordText>, StoreError>> {
        async { Ok(self.slots().get(key).and_then(|slot| slot.text.clone())) }.boxed()
    }

    fn lock<'a>(&'a self, key: &'a RecordKey) -> BoxFuture<'a, Result<Guard, StoreError>> {
        async {
            let lock = {
                let mut slots = self.slots();
                // Whoever comes with ever new keys leaves nothing behind.
                if slots.len() >= MANY && slots.len().is_power_of_two() {
                    slots.retain(|_, slot| slot.text.is_some() || Arc::strong_count(&slot.lock) > 1);
                }
                slots.entry(key.clone()).or_default().lock.clone()
            };
            let held = time::timeout(PATIENCE, lock.lock_owned()).await.map_err(|_| StoreError::Busy)?;
            Ok(Guard::new(key.clone(), held))
        }
        .boxed()
    }

    fn write<'a>(&'a self, guard: &'a Guard, text: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        async {
            self.slots().entry(guard.key().clone()).or_default().text =
                Some(RecordText::new(text.to_owned()));
            Ok(())
        }
        .boxed()
    }

    fn delete<'a>(&'a self, guard: &'a Guard) -> BoxFuture<'a, Result<(), StoreError>> {
        async {
            if let Some(slot) = self.slots().get_mut(guard.key()) {
                slot.text = None;
            }
            Ok(())
        }
        .boxed()
    }

    fn list(&self, kind: RecordKind) -> BoxFuture<'_, Result<Vec<RecordSummary>, StoreError>> {
        let slots = self.slots();
        let of_kind = slots.iter().filter(|(key, _)| key.kind() == kind && kind != RecordKind::Pending);
        let listed = of_kind.filter_map(|(key, slot)| {
            slot.text.clone().map(|text| RecordSummary { key: key.clone(), text: Ok(text) })
        });
        std::future::ready(Ok(listed.collect())).boxed()
    }

    fn protection(&self) -> Protection {
        Protection::Memory
    }
}
