//! The order of turns: principals first, then the programs of one principal, least served first.
//!
//! Each principal has a count of the time that its programs have had, and each program one of its own. Who comes new, or comes back
//! from waiting, starts where those are that are served now: nobody saves up turns.

use ahash::AHashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// Identifies what waits in the queue.
pub(super) type Place = (u64, u64);

/// What waits for a turn, by principal.
pub(super) struct Turns<P, T> {
    lines: AHashMap<P, Line<T>>,
    /// What the principal that was served last had had.
    floor: u64,
    /// Numbers of places, in order of arrival.
    next: u64,
    waiting: usize,
}

/// What waits for a turn of one principal.
struct Line<T> {
    served: u64,
    floor: u64,
    /// By what the program has had, then by arrival.
    fresh: BTreeMap<Place, T>,
    /// The same of those in the middle of something, which hold a stack.
    paused: BTreeMap<Place, T>,
}

impl<T> Line<T> {
    /// Whose turn it is, if those that hold no stack may begin.
    fn first(&self, may_begin: bool) -> Option<(Place, bool)> {
        let paused = self.paused.keys().next().map(|place| (*place, true));
        let fresh = self.fresh.keys().next().filter(|_| may_begin).map(|place| (*place, false));
        paused.into_iter().chain(fresh).min()
    }

    fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.paused.is_empty()
    }
}

impl<P: Clone + Eq + Hash, T> Turns<P, T> {
    /// Nobody waits.
    pub(super) fn new() -> Self {
        Turns { lines: AHashMap::new(), floor: 0, next: 0, waiting: 0 }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// Whether this principal has anything waiting.
    pub(super) fn has(&self, principal: &P) -> bool {
        self.waiting > 0 && self.lines.get(principal).is_some_and(|line| !line.is_empty())
    }

    /// Queues what has had `served` and `holds_stack` or not.
    pub(super) fn push(&mut self, principal: &P, served: u64, holds_stack: bool, item: T) -> Place {
        self.next += 1;
        let floor = self.floor;
        let line = self.lines.entry(principal.clone()).or_insert_with(|| Line {
            served: floor,
            floor: 0,
            fresh: BTreeMap::new(),
            paused: BTreeMap::new(),
        });
        if line.is_empty() {
            line.served = line.served.max(floor);
        }
        let place = (served.max(line.floor), self.next);
        let waiting = if holds_stack { &mut line.paused } else { &mut line.fresh };
        waiting.insert(place, item);
        self.waiting += 1;
        place
    }

    /// Takes what has its turn now. A principal whose programs hold `most_stacks` begins nothing new, and nobody does unless
    /// `may_begin`.
    pub(super) fn pop(&mut self, most_stacks: usize, may_begin: bool) -> Option<(P, Place, T)> {
        let next = |line: &Line<T>| line.first(may_begin && line.paused.len() < most_stacks);
        let (principal, (place, holds_stack)) = self
            .lines
            .iter()
            .filter_map(|(principal, line)| next(line).map(|first| (principal, line.served, first)))
            .min_by_key(|(_, served, (place, _))| (*served, place.1))
            .map(|(principal, _, first)| (principal.clone(), first))?;
        let item = self.remove(&principal, place, holds_stack)?;
        let line = self.lines.get_mut(&principal)?;
        line.floor = line.floor.max(place.0);
        self.floor = self.floor.max(line.served);
        Some((principal, place, item))
    }

    /// Takes what waits at this place.
    pub(super) fn take(&mut self, principal: &P, place: Place) -> Option<T> {
        self.remove(principal, place, false).or_else(|| self.remove(principal, place, true))
    }

    fn remove(&mut self, principal: &P, place: Place, holds_stack: bool) -> Option<T> {
        let line = self.lines.get_mut(principal)?;
        let waiting = if holds_stack { &mut line.paused } else { &mut line.fresh };
        let item = waiting.remove(&place)?;
        self.waiting -= 1;
        Some(item)
    }

    /// Notes that a program of this principal has had `time` more.
    pub(super) fn charge(&mut self, principal: &P, time: u64) {
        if let Some(line) = self.lines.get_mut(principal) {
            line.served = line.served.saturating_add(time);
        }
        // Who neither waits nor is ahead of the others needs no memory.
        let floor = self.floor;
        self.lines.retain(|_, line| !line.is_empty() || line.served > floor);
    }

    /// Everything that waits.
    pub(super) fn drain(&mut self) -> Vec<T> {
        self.waiting = 0;
        let lines = std::mem::take(&mut self.lines).into_values();
        lines.flat_map(|line| line.paused.into_values().chain(line.fresh.into_values())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: usize = usize::MAX;

    /// Gives `turns` turns of 10 each to programs that never end, and counts them by program.
    fn serve(queue: &mut Turns<&'static str, &'static str>, turns: usize) -> AHashMap<&'static str, usize> {
        let mut had = AHashMap::new();
        for _ in 0..turns {
            let (principal, (served, _), program) = queue.pop(ALL, true).unwrap();
            *had.entry(program).or_default() += 1;
            queue.charge(&principal, 10);
            queue.push(&principal, served + 10, false, program);
        }
        had
    }

    #[test]
    fn principals_share_alike_however_many_programs_they_have() {
        let mut queue = Turns::new();
        for program in ["a1", "a2", "a3", "a4"] {
            queue.push(&"a", 0, false, program);
        }
        queue.push(&"b", 0, false, "b1");
        let had = serve(&mut queue, 80);
        assert_eq!(had["b1"], 40);
        assert_eq!([had["a1"], had["a2"], had["a3"], had["a4"]], [10; 4]);
    }

    #[test]
    fn who_comes_new_is_next_and_saves_up_nothing() {
        let mut queue = Turns::new();
        (0..100).for_each(|_| {
            queue.push(&"a", 0, false, "long");
        });
        serve(&mut queue, 1000);
        queue.push(&"b", 0, false, "short");
        assert_eq!(queue.pop(ALL, true).unwrap().2, "short");
        queue.charge(&"b", 1);
        // One that waited for long has no more turns in a row than another.
        queue.push(&"b", 1, false, "back");
        let had = serve(&mut queue, 20);
        assert!((9..=12).contains(&had["back"]), "{had:?}");
    }

    #[test]
    fn a_principal_without_stacks_goes_on_with_what_it_has_begun() {
        let mut queue = Turns::new();
        queue.push(&"a", 5, true, "paused");
        queue.push(&"a", 0, false, "fresh");
        assert_eq!(queue.pop(1, true).unwrap().2, "paused");
        queue.push(&"a", 7, true, "paused");
        assert_eq!(queue.pop(2, false).unwrap().2, "paused");
        assert!(queue.pop(2, false).is_none(), "nothing may begin");
        assert_eq!(queue.pop(2, true).unwrap().2, "fresh");
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn a_place_can_be_given_up() {
        let mut queue = Turns::new();
        let place = queue.push(&"a", 0, true, "gone");
        queue.push(&"a", 0, false, "stays");
        assert_eq!(queue.take(&"a", place), Some("gone"));
        assert_eq!(queue.take(&"a", place), None);
        assert!(queue.has(&"a") && !queue.has(&"b"));
        assert_eq!(queue.drain(), ["stays"]);
        assert!(!queue.has(&"a"));
    }
}
