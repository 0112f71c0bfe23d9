//! The order of turns: principals first, then the programs of one principal, least served first.
//!
//! Each principal has a count of the time that its programs have had, and each program one of its own. A principal that is new,
//! or returns from waiting, starts at the count of those being served now, so turns cannot be saved up.
//!
//! A turn costs time in proportion to the logarithm of the principals that wait: who is next is read from indexes, which
//! [`Order::change`] keeps up to date.

use ahash::AHashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// Identifies an entry in the queue.
pub(super) type QueuePosition = (u64, u64);

/// A principal's used time, and a number that breaks ties.
type Rank = (u64, u64);

/// Entries that wait for a turn, by principal.
pub(super) struct Turns<P, T> {
    lines: AHashMap<P, PrincipalQueue<T>>,
    order: Order<P>,
    /// The used time of the principal that was served last.
    floor: u64,
    /// Numbers of places and lines, in order of arrival.
    next: u64,
    waiting: usize,
}

/// The principals, least served first.
struct Order<P> {
    /// Those that may have a turn.
    ready: BTreeMap<Rank, P>,
    /// Those that may have one while nothing new may begin.
    ready_to_go_on: BTreeMap<Rank, P>,
    /// Those that wait for nothing.
    idle: BTreeMap<Rank, P>,
    /// A principal whose programs hold as many stacks begins nothing new.
    most_stacks: usize,
}

/// Entries of one principal that wait for a turn, by used time, then by arrival.
struct PrincipalQueue<T> {
    number: u64,
    served: u64,
    floor: u64,
    /// Entries that need a stack to begin.
    fresh: BTreeMap<QueuePosition, T>,
    /// Paused entries, which hold a stack.
    paused: BTreeMap<QueuePosition, T>,
    /// Entries that continue without a stack.
    stackless: BTreeMap<QueuePosition, T>,
}

/// How a waiting entry relates to stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stacks {
    /// It needs one.
    Needs,
    /// It holds one.
    Holds,
    /// Neither.
    None,
}

/// Where a principal stands in the order.
#[derive(PartialEq)]
struct Ranks {
    ready: Option<Rank>,
    ready_to_go_on: Option<Rank>,
    idle: Option<Rank>,
}

impl<T> PrincipalQueue<T> {
    /// Whose turn it is, if those that hold no stack may begin.
    fn first(&self, may_begin: bool, most_stacks: usize) -> Option<(QueuePosition, Stacks)> {
        let may_begin = may_begin && self.paused.len() < most_stacks;
        let first = |stacks| self.waiting(stacks).keys().next().map(|place| (*place, stacks));
        let fresh = first(Stacks::Needs).filter(|_| may_begin);
        let others = first(Stacks::Holds).into_iter().chain(first(Stacks::None));
        // Places are unique: each has the number of an arrival.
        others.chain(fresh).min_by_key(|(place, _)| *place)
    }

    fn waiting(&self, stacks: Stacks) -> &BTreeMap<QueuePosition, T> {
        match stacks {
            Stacks::Needs => &self.fresh,
            Stacks::Holds => &self.paused,
            Stacks::None => &self.stackless,
        }
    }

    fn waiting_mut(&mut self, stacks: Stacks) -> &mut BTreeMap<QueuePosition, T> {
        match stacks {
            Stacks::Needs => &mut self.fresh,
            Stacks::Holds => &mut self.paused,
            Stacks::None => &mut self.stackless,
        }
    }

    fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.paused.is_empty() && self.stackless.is_empty()
    }

    fn ranks(&self, most_stacks: usize) -> Ranks {
        // Of principals that have had as much, the one whose first has waited longest.
        let rank = |may_begin| self.first(may_begin, most_stacks).map(|(place, _)| (self.served, place.1));
        let idle = self.is_empty().then_some((self.served, self.number));
        Ranks { ready: rank(true), ready_to_go_on: rank(false), idle }
    }
}

impl<P: Clone> Order<P> {
    /// Changes a principal's line, and where it stands.
    fn change<T, R>(
        &mut self,
        principal: &P,
        line: &mut PrincipalQueue<T>,
        change: impl FnOnce(&mut PrincipalQueue<T>) -> R,
    ) -> R {
        let before = line.ranks(self.most_stacks);
        let result = change(line);
        let after = line.ranks(self.most_stacks);
        for (index, before, after) in [
            (&mut self.ready, before.ready, after.ready),
            (&mut self.ready_to_go_on, before.ready_to_go_on, after.ready_to_go_on),
            (&mut self.idle, before.idle, after.idle),
        ] {
            if before == after {
                continue;
            }
            // Ranks are unique: each has the number of an arrival.
            let known = before.and_then(|rank| index.remove(&rank));
            if let Some(rank) = after {
                index.insert(rank, known.unwrap_or_else(|| principal.clone()));
            }
        }
        result
    }
}

impl<P: Clone + Eq + Hash, T> Turns<P, T> {
    /// An empty queue. A principal whose programs hold `most_stacks` begins nothing new.
    pub(super) fn new(most_stacks: usize) -> Self {
        let (ready, ready_to_go_on, idle) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let order = Order { ready, ready_to_go_on, idle, most_stacks };
        Turns { lines: AHashMap::new(), order, floor: 0, next: 0, waiting: 0 }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// Whether a program of this principal waits.
    pub(super) fn has_program(&self, principal: &P) -> bool {
        let is_program = |line: &PrincipalQueue<T>| !line.fresh.is_empty() || !line.paused.is_empty();
        self.waiting > 0 && self.lines.get(principal).is_some_and(is_program)
    }

    /// Queues an entry that has used `served`.
    pub(super) fn push(&mut self, principal: &P, served: u64, stacks: Stacks, item: T) -> QueuePosition {
        self.next += 1;
        let (number, floor) = (self.next, self.floor);
        let line = self.lines.entry(principal.clone()).or_insert_with(|| PrincipalQueue {
            number,
            served: floor,
            floor: 0,
            fresh: BTreeMap::new(),
            paused: BTreeMap::new(),
            stackless: BTreeMap::new(),
        });
        self.waiting += 1;
        self.order.change(principal, line, |line| {
            if line.is_empty() {
                line.served = line.served.max(floor);
            }
            let place = (served.max(line.floor), number);
            line.waiting_mut(stacks).insert(place, item);
            place
        })
    }

    fn first(&self, may_begin: bool) -> Option<(&P, QueuePosition, Stacks)> {
        let ready = if may_begin { &self.order.ready } else { &self.order.ready_to_go_on };
        let principal = ready.values().next()?;
        let (place, stacks) = self.lines.get(principal)?.first(may_begin, self.order.most_stacks)?;
        Some((principal, place, stacks))
    }

    /// The entry whose turn it is, without taking it.
    pub(super) fn next(&self, may_begin: bool) -> Option<&T> {
        let (principal, place, stacks) = self.first(may_begin)?;
        self.lines.get(principal)?.waiting(stacks).get(&place)
    }

    /// Takes the entry whose turn it is. Nothing new begins unless `may_begin`.
    pub(super) fn pop(&mut self, may_begin: bool) -> Option<(P, QueuePosition, T)> {
        let (principal, place, stacks) = self.first(may_begin)?;
        let principal = principal.clone();
        let line = self.lines.get_mut(&principal)?;
        line.floor = line.floor.max(place.0);
        self.floor = self.floor.max(line.served);
        let item = self.remove(&principal, place, stacks)?;
        Some((principal, place, item))
    }

    /// Takes the entry at this place.
    pub(super) fn take(&mut self, principal: &P, place: QueuePosition) -> Option<T> {
        let kinds = [Stacks::Needs, Stacks::Holds, Stacks::None];
        kinds.into_iter().find_map(|stacks| self.remove(principal, place, stacks))
    }

    fn remove(&mut self, principal: &P, place: QueuePosition, stacks: Stacks) -> Option<T> {
        let line = self.lines.get_mut(principal)?;
        let item = self.order.change(principal, line, |line| line.waiting_mut(stacks).remove(&place))?;
        self.waiting -= 1;
        Some(item)
    }

    /// Notes that a program of this principal has had `time` more.
    pub(super) fn charge(&mut self, principal: &P, time: u64) {
        if let Some(line) = self.lines.get_mut(principal) {
            self.order.change(principal, line, |line| line.served = line.served.saturating_add(time));
        }
        // Who neither waits nor is ahead of the others needs no memory.
        while let Some(first) = self.order.idle.first_entry()
            && first.key().0 <= self.floor
        {
            self.lines.remove(&first.remove());
        }
    }

    /// Everything that waits.
    pub(super) fn drain(&mut self) -> Vec<T> {
        self.waiting = 0;
        for index in [&mut self.order.ready, &mut self.order.ready_to_go_on, &mut self.order.idle] {
            index.clear();
        }
        let lines = std::mem::take(&mut self.lines).into_values();
        let all = |line: PrincipalQueue<T>| [line.paused, line.fresh, line.stackless].into_iter().flatten();
        lines.flat_map(all).map(|(_, item)| item).collect()
    }
}

#[cfg(test)]
mod tests;
