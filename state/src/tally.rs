//! Counts of records of a kind, kept up to date with each change: never too low, since expired records count until they are
//! removed.

use std::collections::HashMap;
use std::sync::Arc;

use super::rows::Head;
use super::store::Room;

/// The records of one kind. Those that are buried are none.
#[derive(Debug, Default)]
pub(super) struct Tally {
    all: usize,
    principals: HashMap<Arc<str>, Own>,
}

/// Those of one principal, over all of its conversations.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    records: usize,
    bytes: u64,
}

impl Tally {
    /// Counts a change of a record of `principal`.
    pub(super) fn change(&mut self, principal: &str, before: Option<&Head>, after: Option<&Head>) {
        let counted = |head: Option<&Head>| head.filter(|head| !head.is_buried).map(|head| head.bytes);
        let (before, after) = (counted(before), counted(after));
        if before.is_none() && after.is_none() {
            return;
        }
        self.all = (self.all + usize::from(after.is_some())).saturating_sub(usize::from(before.is_some()));
        let own = self.principals.get(principal).copied().unwrap_or_default();
        let records = own.records + usize::from(after.is_some());
        let own = Own {
            records: records.saturating_sub(usize::from(before.is_some())),
            bytes: (own.bytes + after.unwrap_or(0)).saturating_sub(before.unwrap_or(0)),
        };
        match (own.records, self.principals.get_mut(principal)) {
            (0, _) => drop(self.principals.remove(principal)),
            (_, Some(known)) => *known = own,
            (_, None) => drop(self.principals.insert(principal.into(), own)),
        }
    }

    /// Whether there is room for one more of `principal`. If not, some of the counted records may have expired.
    pub(super) fn has_room(&self, principal: &str, room: Room) -> bool {
        let own = self.principals.get(principal).copied().unwrap_or_default();
        room.has(own.records, own.bytes) && self.all < room.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(bytes: u64) -> Head {
        Head { version: 1, is_buried: false, end: None, expires: None, bytes }
    }

    #[test]
    fn what_comes_changes_and_goes_is_counted_by_principal_and_in_all() {
        let buried = Head { is_buried: true, bytes: 0, ..head(0) };
        let mut tally = Tally::default();
        let changes = [
            ("alice", None, Some(head(10))),
            ("alice", None, Some(head(5))),
            ("bob", None, Some(head(1))),
            ("bob", None, Some(buried)),
            ("alice", Some(head(5)), Some(head(7))),
        ];
        for (principal, before, after) in &changes {
            tally.change(principal, before.as_ref(), after.as_ref());
        }
        let has_room = |tally: &Tally, principal: &str, records, bytes, all| {
            tally.has_room(principal, Room { records, bytes, all })
        };
        assert!(has_room(&tally, "alice", 3, 18, 4));
        assert!(!has_room(&tally, "alice", 2, 18, 4) && !has_room(&tally, "alice", 3, 17, 4));
        assert!(!has_room(&tally, "alice", 3, 18, 3) && !has_room(&tally, "carol", 1, 1, 3));
        assert!(has_room(&tally, "bob", 2, 2, 4) && has_room(&tally, "carol", 1, 1, 4));
        tally.change("alice", Some(&head(10)), Some(&buried));
        tally.change("alice", Some(&head(7)), None);
        assert!(has_room(&tally, "alice", 1, 1, 2) && !has_room(&tally, "alice", 1, 1, 1));
        assert_eq!(tally.principals.len(), 1);
    }
}
