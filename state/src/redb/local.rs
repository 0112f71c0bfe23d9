//! State that only the process with the file needs: leases end with it, and no other process writes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::super::lease::{Taken, millis};
use super::super::names::{Name, split_id};
use super::super::replica::{Announcements, Replicas};
use super::super::rows::Head;
use super::super::tally::Tally;
use super::super::{Claim, Kind, Lease, Listed, News, Replica, Room, StateError, Versioned};
use super::tables::{Entry, Row, Turnover, full_name};

/// Heads of records that are remembered, and principals whose bytes are; all are forgotten when there are more.
const HEADS: usize = 65_536;

#[derive(Default)]
pub(super) struct Local {
    taken: HashMap<String, Taken>,
    /// Records as they are now, of which some are known.
    heads: HashMap<String, Head>,
    /// Records that the journal has and the tables do not have yet.
    ahead: HashMap<String, Entry>,
    /// Bytes of the counted records of each principal, where known.
    held: HashMap<String, u64>,
    /// When records expire that were used without being written; the writer puts that into the file.
    used: HashMap<String, u64>,
    /// Changes of the file so far.
    changes: u64,
    /// Record counts of the kinds that have been asked about.
    tallies: HashMap<Kind, Tally>,
    said: Announcements,
    replicas: Replicas,
    waking: HashMap<String, Arc<Notify>>,
}

impl Local {
    /// A number that grows with every change of the file.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// The head of a record that lies so in the file, as it is now.
    pub(super) fn current(&self, full: &str, head: Head) -> Head {
        match self.used.get(full) {
            Some(expires) if !head.is_buried => Head { expires: Some(*expires), ..head },
            _ => head,
        }
    }

    /// The head of a record as it is now, if that is known without the file.
    pub(super) fn known(&self, full: &str) -> Option<Head> {
        self.found(full).flatten()
    }

    /// The head of a record as it is now, or that there is none, if that is known without the file.
    pub(super) fn found(&self, full: &str) -> Option<Option<Head>> {
        let head = match self.heads.get(full) {
            Some(head) => Some(*head),
            None => self.ahead.get(full)?.row.as_ref().map(|row| row.head),
        };
        Some(head.map(|head| self.current(full, head)))
    }

    /// A record whose current state the tables do not have yet; the outer `None` if they have it, or it does not exist.
    pub(super) fn read_ahead(&self, full: &str, now: u64) -> Option<Result<Option<Versioned>, StateError>> {
        let entry = self.ahead.get(full)?;
        let row =
            entry.row.as_ref().map(|row| Row { head: self.current(full, row.head), blob: row.blob.clone() });
        Some(self.as_read(full, row, now))
    }

    /// How many records the tables do not have yet.
    pub(super) fn ahead_count(&self) -> usize {
        self.ahead.len()
    }

    /// The records that the tables do not have yet, as they are now.
    pub(super) fn ahead(&self) -> Vec<Entry> {
        let as_it_is = |(full, entry): (&String, &Entry)| {
            let mut entry = entry.clone();
            if let Some(row) = &mut entry.row {
                row.head = self.current(full, row.head);
            }
            entry
        };
        self.ahead.iter().map(as_it_is).collect()
    }

    /// Notes an entry appended to the journal.
    pub(super) fn go_ahead(&mut self, full: &str, entry: Entry, keeps_lease: bool) {
        self.changed(full, entry.row.as_ref().map(|row| row.head), keeps_lease);
        match self.ahead.get_mut(full) {
            Some(before) => *before = entry,
            None => drop(self.ahead.insert(full.to_owned(), entry)),
        }
    }

    /// Notes that the tables have all entries of the journal.
    pub(super) fn caught_up(&mut self) {
        self.ahead.clear();
    }

    /// Bytes of a principal's counted records, if that is known.
    pub(super) fn held(&self, principal: &str) -> Option<u64> {
        self.held.get(principal).copied()
    }

    /// Notes how many bytes a principal's counted records have.
    pub(super) fn hold(&mut self, principal: &str, bytes: u64) {
        if let Some(held) = self.held.get_mut(principal) {
            *held = bytes;
            return;
        }
        if self.held.len() >= HEADS {
            self.held.clear();
        }
        self.held.insert(principal.to_owned(), bytes);
    }

    /// Has the bytes of principals looked up again.
    pub(super) fn forget_held(&mut self) {
        self.held.clear();
    }

    /// A record that was read from the file after `changes` changes.
    pub(super) fn seen(
        &mut self,
        full: &str,
        row: Option<Row>,
        changes: u64,
        now: u64,
    ) -> Result<Option<Versioned>, StateError> {
        let Some(row) = row else { return Ok(None) };
        let head = self.current(full, row.head);
        if changes == self.changes {
            self.remember(full, head);
        }
        self.as_read(full, Some(Row { head, ..row }), now)
    }

    /// A record in the form for readers.
    fn as_read(&self, full: &str, row: Option<Row>, now: u64) -> Result<Option<Versioned>, StateError> {
        match row.filter(|row| row.head.is_there(now)) {
            Some(row) if row.head.is_buried => Err(StateError::Gone),
            Some(row) => Ok(Some(Versioned { blob: Some(row.blob), ..self.told(full, &row.head, now) })),
            None => Ok(None),
        }
    }

    /// A record's head in the form for readers.
    pub(super) fn told(&self, full: &str, head: &Head, now: u64) -> Versioned {
        self.current(full, *head).told(self.taken.get(full), now)
    }

    fn remember(&mut self, full: &str, head: Head) {
        if self.heads.len() >= HEADS {
            self.heads.clear();
        }
        self.heads.insert(full.to_owned(), head);
    }

    /// Notes the writer's change of a record.
    pub(super) fn changed(&mut self, full: &str, head: Option<Head>, keeps_lease: bool) {
        self.changes += 1;
        self.used.remove(full);
        match head {
            Some(head) => self.remember(full, head),
            None => drop(self.heads.remove(full)),
        }
        if !keeps_lease && let Some(taken) = self.taken.get_mut(full) {
            taken.end();
        }
    }

    /// Whether a principal has room for one more record of a kind; `None` if they have not been counted.
    pub(super) fn has_room(&self, kind: Kind, principal: &str, room: Room) -> Option<bool> {
        Some(self.tallies.get(&kind)?.has_room(principal, room))
    }

    /// Notes the writer's counts.
    pub(super) fn counted(&mut self, tallies: Vec<(Kind, Tally)>) {
        self.tallies.extend(tallies);
    }

    /// Updates the counts by changes of records.
    pub(super) fn count_on(&mut self, turnover: &[Turnover]) {
        for Turnover { kind, principal, before, after } in turnover {
            if let Some(tally) = self.tallies.get_mut(kind) {
                tally.change(principal, before.as_ref(), after.as_ref());
            }
        }
    }

    /// Drops the counts, since the outcome of a transaction is unknown.
    pub(super) fn forget_counts(&mut self) {
        self.tallies.clear();
        self.forget_held();
    }

    /// Leases a record: returns the fence, and its known head. The error is the present lease.
    pub(super) fn take(&mut self, full: &str, claim: &Claim, now: u64) -> Result<(u64, Option<Head>), Lease> {
        let taken = self.taken.entry(full.to_owned()).or_default();
        if let Some(lease) = taken.lease(now) {
            return Err(lease);
        }
        taken.give(&claim.holder, claim.lease, now);
        let known = self.known(full);
        Ok((self.fence(full), known.filter(|head| head.is_there(now))))
    }

    /// The fence of the last lease of a record; 0 if there was none.
    fn fence(&self, full: &str) -> u64 {
        self.taken.get(full).map_or(0, Taken::fence)
    }

    /// The last lease of a record.
    pub(super) fn taken(&self, full: &str) -> Option<&Taken> {
        self.taken.get(full)
    }

    /// Whether a record has ever been leased.
    pub(super) fn is_taken(&self, full: &str) -> bool {
        self.taken.contains_key(full)
    }

    /// The lease of a record.
    pub(super) fn lease(&self, full: &str, now: u64) -> Option<Lease> {
        self.taken.get(full)?.lease(now)
    }

    pub(super) fn expiry_and_lease(
        &self,
        full: &str,
        found: &Versioned,
        now: u64,
    ) -> (Option<Duration>, Option<Lease>) {
        let used = self.used.get(full).map(|expires| Duration::from_millis(expires.saturating_sub(now)));
        (used.or(found.expires_in), self.lease(full, now))
    }

    /// Ends the lease of a record that was taken for nothing.
    pub(super) fn give_back(&mut self, full: &str, fence: u64) {
        if self.fence(full) == fence {
            self.taken.remove(full);
        }
    }

    /// Counts as a use of a record whose head is known.
    pub(super) fn use_again(&mut self, full: &str, rest: Option<Duration>, now: u64) {
        let Some(head) = self.heads.get(full).map(|head| self.current(full, *head)) else { return };
        let used = head.used(rest, now);
        if let Some(expires) = used.expires.filter(|_| used.expires != head.expires) {
            self.used.insert(full.to_owned(), expires);
        }
    }

    /// Takes the expiries that are to be written.
    pub(super) fn take_used(&mut self) -> Vec<(String, u64)> {
        self.used.iter().map(|(full, expires)| (full.clone(), *expires)).collect()
    }

    /// Notes that these expiries are in the file.
    pub(super) fn used_is_written(&mut self, written: &[(String, u64)]) {
        for (full, expires) in written {
            if let Some(head) = self.heads.get_mut(full) {
                head.expires = Some(*expires);
            }
            if self.used.get(full) == Some(expires) {
                self.used.remove(full);
            }
        }
        self.changes += 1;
    }

    pub(super) fn renew(
        &mut self,
        full: &str,
        fence: u64,
        lease: Duration,
        now: u64,
    ) -> Result<(), StateError> {
        self.taken.get_mut(full).ok_or(StateError::Gone)?.renew(fence, lease, now)
    }

    /// Drops leases that ended so long ago that nothing is written under them any more.
    pub(super) fn forget_leases(&mut self, now: u64) {
        self.taken.retain(|_, taken| !taken.is_long_over(now));
    }

    /// The wake-up for messages to `holder`.
    pub(super) fn waking(&mut self, holder: &str) -> Arc<Notify> {
        self.waking.entry(holder.to_owned()).or_default().clone()
    }

    /// Wakes the holder of a run, also one that has not begun to wait yet.
    pub(super) fn wake(&mut self, full: &str, now: u64) {
        if let Some(lease) = self.lease(full, now) {
            self.waking(&lease.holder).notify_one();
        }
    }

    /// A record as it is listed; `None` for one that is not there any more.
    pub(super) fn listed(&self, name: &Name, kind: Kind, row: &Row, now: u64) -> Option<Listed> {
        let full = full_name(name);
        let head = self.current(&full, row.head);
        if head.is_buried || !head.is_there(now) {
            return None;
        }
        let told = self.told(&full, &head, now);
        let (conversation, id) = split_id(&name.id)?;
        Some(Listed {
            owner: name.principal.as_str().into(),
            conversation: conversation.map(Into::into),
            kind,
            id: id.into(),
            version: head.version,
            bytes: head.bytes,
            expires_in: told.expires_in,
            lease: told.lease,
        })
    }

    pub(super) fn announce(&mut self, text: &str) {
        self.said.add(text);
    }

    pub(super) fn news(&self, point: u64) -> News {
        self.said.after(point)
    }

    pub(super) fn attend(&mut self, replica: &Replica, now: u64) {
        self.replicas.attend(replica, now);
    }

    pub(super) fn replicas(&mut self, now: u64) -> Vec<Replica> {
        self.replicas.listed(now)
    }
}

/// The kind and name behind the name of a record among those of all kinds.
pub(super) fn name_of(full: &str) -> Option<(Kind, Name)> {
    let mut parts = full.splitn(3, ':');
    let letter = parts.next()?.chars().next()?;
    let kind = Kind::lettered(letter)?;
    Some((kind, Name { letter, principal: parts.next()?.to_owned(), id: parts.next()?.to_owned() }))
}

/// Milliseconds after now.
pub(super) fn after(now: u64, time: Duration) -> u64 {
    now.saturating_add(millis(time))
}
