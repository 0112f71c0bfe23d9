//! The registered secrets, their owners, and the limits on their bytes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::forms::{Spelling, forms};
use super::index::{Entry, HEAD};
use super::indexes::ByReader;
use crate::secret::Secret;
use crate::time::Instant;

/// How long a secret that was replaced by another is still scrubbed.
pub(super) const AFTERLIFE: Duration = Duration::from_secs(3600);
/// Most bytes of the operator's secrets, and of those of sign-ins that all share.
pub(super) const MAX_COMMON_BYTES: usize = 256 << 10;
/// Most bytes of the secrets of one principal's sign-ins.
pub(super) const MAX_PRINCIPAL_BYTES: usize = 64 << 10;
/// Most bytes of the secrets of all principals. Those of the principal with the oldest last call go first; they come back with
/// its next call.
pub(super) const MAX_PRINCIPALS_BYTES: usize = 1 << 20;
/// Shorter secrets of sign-ins are isolated and not scrubbed: their issuer could pick a word that others need.
pub(super) const MIN_SIGN_IN_BYTES: usize = 16;
/// The least size that a secret counts as: the forms of a short one cost as much besides their text.
const LEAST_COUNTED: usize = 64;

/// There is no room for more secrets. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{whose} have more than {} KiB", .most_bytes >> 10)]
pub struct NoRoom {
    whose: &'static str,
    most_bytes: usize,
}

struct SecretEntry {
    /// By which the index knows its forms.
    number: u64,
    /// The sign-in that it belongs to; `None` if it is the operator's and stays.
    owner: Option<Box<str>>,
    principal: Option<Arc<str>>,
    /// It as it is comes first.
    forms: Vec<Spelling>,
    /// Until when it is scrubbed, once it has been replaced.
    until: Option<Instant>,
}

impl SecretEntry {
    fn is(&self, secret: &Secret) -> bool {
        self.forms.first().is_some_and(|form| secret.matches(form.as_bytes()))
    }

    fn counted(&self) -> usize {
        self.forms.first().map_or(0, |form| counted(form.len()))
    }
}

fn counted(len: usize) -> usize {
    len.max(LEAST_COUNTED)
}

/// All secrets, and how recently principals used theirs.
#[derive(Default)]
pub(super) struct Ledger {
    known: Vec<SecretEntry>,
    used: HashMap<Arc<str>, u64>,
    /// Numbers secrets and uses.
    count: u64,
}

impl Ledger {
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Adds secrets of the operator's. `None`: all of them were known.
    pub(super) fn register<'s>(
        &mut self,
        indexes: &ByReader,
        secrets: impl IntoIterator<Item = &'s Secret>,
    ) -> Result<Option<ByReader>, NoRoom> {
        let mut new: Vec<&Secret> = Vec::new();
        for secret in secrets.into_iter().filter(|secret| secret.len() >= HEAD) {
            let is_known = self.known.iter().any(|known| known.owner.is_none() && known.is(secret))
                || new.iter().any(|other| other.matches(secret.open().as_bytes()));
            if !is_known {
                new.push(secret);
            }
        }
        self.add(indexes, None, None, &new, HashSet::new())
    }

    /// The secrets of the sign-in `owner` are these. `None`: they were before.
    pub(super) fn replace(
        &mut self,
        indexes: &ByReader,
        owner: &str,
        principal: Option<&Arc<str>>,
        secrets: &[Secret],
        now: Instant,
    ) -> Result<Option<ByReader>, NoRoom> {
        let is_own = |known: &SecretEntry| known.owner.as_deref() == Some(owner);
        let new: Vec<&Secret> = secrets
            .iter()
            .filter(|secret| secret.len() >= MIN_SIGN_IN_BYTES)
            .filter(|secret| !self.known.iter().any(|known| is_own(known) && known.is(secret)))
            .collect();
        if let Some(principal) = principal {
            let use_number = self.next();
            self.used.insert(principal.clone(), use_number);
        }
        let over: HashSet<u64> = (self.known.iter())
            .filter(|known| known.until.is_some_and(|until| until <= now))
            .map(|known| known.number)
            .collect();
        let replaced: Vec<u64> = (self.known.iter())
            .filter(|known| is_own(known) && !secrets.iter().any(|secret| known.is(secret)))
            .map(|known| known.number)
            .collect();
        let changed = self.add(indexes, Some(owner), principal, &new, over)?;
        for known in &mut self.known {
            if replaced.contains(&known.number) {
                known.until = known.until.or(Some(now + AFTERLIFE));
            } else if is_own(known) {
                known.until = None;
            }
        }
        Ok(changed)
    }

    /// Notes that a principal uses its secrets; `false` if none are known.
    pub(super) fn note_use(&mut self, principal: &str) -> bool {
        let use_number = self.next();
        self.used.get_mut(principal).map(|used| *used = use_number).is_some()
    }

    /// Adds `new` ones and forgets those that are `over`, and others where there is no room.
    fn add(
        &mut self,
        indexes: &ByReader,
        owner: Option<&str>,
        principal: Option<&Arc<str>>,
        new: &[&Secret],
        mut over: HashSet<u64>,
    ) -> Result<Option<ByReader>, NoRoom> {
        let wanted: usize = new.iter().map(|secret| counted(secret.len())).sum();
        match principal {
            None => {
                let no_room = NoRoom {
                    whose: "the secrets of the configuration and of shared sign-ins",
                    most_bytes: MAX_COMMON_BYTES,
                };
                let is_common = |known: &SecretEntry| known.principal.is_none();
                self.make_room(is_common, wanted, no_room, &mut over)?;
            }
            Some(principal) => {
                let no_room =
                    NoRoom { whose: "the tokens of one caller's sign-ins", most_bytes: MAX_PRINCIPAL_BYTES };
                let is_own = |known: &SecretEntry| known.principal.as_ref() == Some(principal);
                self.make_room(is_own, wanted, no_room, &mut over)?;
                self.forget_idle(principal, wanted, &mut over);
            }
        }
        if new.is_empty() && over.is_empty() {
            return Ok(None);
        }
        self.known.retain(|known| !over.contains(&known.number));
        let mut entries = Vec::new();
        for secret in new {
            let (number, forms) = (self.next(), forms(secret.open()));
            let entry = |form: &Spelling| Entry { form: form.clone(), secret: number };
            entries.extend(forms.iter().map(entry));
            let (owner, principal) = (owner.map(Box::from), principal.cloned());
            self.known.push(SecretEntry { number, owner, principal, forms, until: None });
        }
        let known = &self.known;
        self.used
            .retain(|principal, _| known.iter().any(|known| known.principal.as_ref() == Some(principal)));
        Ok(Some(indexes.changed(&over, principal, entries)))
    }

    /// Makes room among those of which `counts` says that they share it: the one replaced longest ago goes first.
    fn make_room(
        &self,
        counts: impl Fn(&SecretEntry) -> bool,
        wanted: usize,
        no_room: NoRoom,
        over: &mut HashSet<u64>,
    ) -> Result<(), NoRoom> {
        if wanted == 0 {
            return Ok(());
        }
        let sharing = || self.known.iter().filter(|known| counts(known) && !over.contains(&known.number));
        let mut taken: usize = sharing().map(SecretEntry::counted).sum();
        let mut replaced: Vec<&SecretEntry> = sharing().filter(|known| known.until.is_some()).collect();
        replaced.sort_by_key(|known| (known.until, known.number));
        let mut gone = Vec::new();
        for known in replaced {
            if taken + wanted <= no_room.most_bytes {
                break;
            }
            taken -= known.counted();
            gone.push(known.number);
        }
        if taken + wanted > no_room.most_bytes {
            return Err(no_room);
        }
        over.extend(gone);
        Ok(())
    }

    /// Forgets the secrets of principals but for `principal`, the one that used its own longest ago first, until there is room.
    fn forget_idle(&self, principal: &Arc<str>, wanted: usize, over: &mut HashSet<u64>) {
        let mut taken: HashMap<&Arc<str>, usize> = HashMap::new();
        for known in self.known.iter().filter(|known| !over.contains(&known.number)) {
            if let Some(of) = &known.principal {
                *taken.entry(of).or_default() += known.counted();
            }
        }
        let mut all: usize = taken.values().sum();
        let mut others: Vec<_> = taken.into_iter().filter(|(other, _)| *other != principal).collect();
        others.sort_by_key(|(other, _)| self.used.get(*other));
        for (other, bytes) in others {
            if all + wanted <= MAX_PRINCIPALS_BYTES {
                return;
            }
            all -= bytes;
            let of_other = self.known.iter().filter(|known| known.principal.as_ref() == Some(other));
            over.extend(of_other.map(|known| known.number));
        }
    }

    #[cfg(test)]
    pub(super) fn end_afterlives(&mut self, now: Instant) {
        for known in &mut self.known {
            known.until = known.until.map(|_| now);
        }
    }
}
