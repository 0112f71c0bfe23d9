use super::*;
use proptest::prelude::*;

const ALL: usize = usize::MAX;

/// Gives `turns` turns of 10 each to programs that never end, and counts them by program.
fn serve(queue: &mut Turns<&'static str, &'static str>, turns: usize) -> AHashMap<&'static str, usize> {
    let mut had = AHashMap::new();
    for _ in 0..turns {
        let (principal, (served, _), program) = queue.pop(true).unwrap();
        *had.entry(program).or_default() += 1;
        queue.charge(&principal, 10);
        queue.push(&principal, served + 10, Stacks::Needs, program);
    }
    had
}

#[test]
fn principals_share_alike_however_many_programs_they_have() {
    let mut queue = Turns::new(ALL);
    for program in ["a1", "a2", "a3", "a4"] {
        queue.push(&"a", 0, Stacks::Needs, program);
    }
    queue.push(&"b", 0, Stacks::Needs, "b1");
    let had = serve(&mut queue, 80);
    assert_eq!(had["b1"], 40);
    assert_eq!([had["a1"], had["a2"], had["a3"], had["a4"]], [10; 4]);
}

#[test]
fn who_comes_new_is_next_and_saves_up_nothing() {
    let mut queue = Turns::new(ALL);
    (0..100).for_each(|_| {
        queue.push(&"a", 0, Stacks::Needs, "long");
    });
    serve(&mut queue, 1000);
    queue.push(&"b", 0, Stacks::Needs, "short");
    assert_eq!(queue.pop(true).unwrap().2, "short");
    queue.charge(&"b", 1);
    // One that waited for long has no more turns in a row than another.
    queue.push(&"b", 1, Stacks::Needs, "back");
    let had = serve(&mut queue, 20);
    assert!((9..=12).contains(&had["back"]), "{had:?}");
}

#[test]
fn a_principal_without_stacks_goes_on_with_what_it_has_begun() {
    let mut queue = Turns::new(1);
    queue.push(&"a", 5, Stacks::Holds, "paused");
    queue.push(&"a", 0, Stacks::Needs, "fresh");
    assert_eq!(queue.pop(true).unwrap().2, "paused");
    queue.push(&"a", 7, Stacks::Holds, "paused");
    assert_eq!(queue.pop(false).unwrap().2, "paused");
    assert!(queue.pop(false).is_none(), "nothing may begin");
    assert_eq!(queue.pop(true).unwrap().2, "fresh");
    assert_eq!(queue.len(), 0);
}

#[test]
fn turns_go_around_principals_and_the_order_is_always_the_same() {
    let mut queue = Turns::new(ALL);
    for principal in 0..1000 {
        queue.push(&principal, 0, Stacks::Needs, principal);
    }
    let turn = |queue: &mut Turns<u32, u32>, time| {
        let (principal, (served, _), program) = queue.pop(true).unwrap();
        queue.charge(&principal, time);
        queue.push(&principal, served + time, Stacks::Holds, program);
        principal
    };
    let around: Vec<u32> = (0..2000).map(|_| turn(&mut queue, 10)).collect();
    assert!(around.iter().copied().eq((0..1000).chain(0..1000)));
    // One that comes new is next, and then waits for a round like all others.
    queue.push(&5000, 0, Stacks::Needs, 5000);
    let around: Vec<u32> = (0..2003).map(|_| turn(&mut queue, 10)).collect();
    let places = around.iter().enumerate().filter(|(_, principal)| **principal == 5000);
    assert!(places.map(|(at, _)| at).eq([0, 1001, 2002]));
    // Who has had twice as much at once waits twice as long.
    let mut queue = Turns::new(ALL);
    ["a", "b", "c"].iter().for_each(|name| {
        queue.push(name, 0, Stacks::Needs, *name);
    });
    let order: String = (0..11)
        .map(|_| {
            let (principal, (served, _), _) = queue.pop(true).unwrap();
            let time = if principal == "a" { 20 } else { 10 };
            queue.charge(&principal, time);
            queue.push(&principal, served + time, Stacks::Needs, principal);
            principal
        })
        .collect();
    assert_eq!(order, "abcbcabcbca");
}

#[test]
fn a_place_can_be_given_up() {
    let mut queue = Turns::new(ALL);
    let place = queue.push(&"a", 0, Stacks::Holds, "gone");
    queue.push(&"a", 0, Stacks::Needs, "stays");
    assert_eq!(queue.take(&"a", place), Some("gone"));
    assert_eq!(queue.take(&"a", place), None);
    assert!(queue.has_program(&"a") && !queue.has_program(&"b"));
    assert_eq!(queue.drain(), ["stays"]);
    assert!(!queue.has_program(&"a"));
}

/// The rule as it is said, in the plainest form: all lines are looked at for each turn.
#[derive(Default)]
struct Plain {
    lines: Vec<PlainLine>,
    floor: u64,
    next: u64,
}

#[derive(Default)]
struct PlainLine {
    principal: u8,
    served: u64,
    floor: u64,
    waiting: Vec<(QueuePosition, Stacks)>,
}

impl Plain {
    fn push(&mut self, principal: u8, served: u64, stacks: Stacks) -> QueuePosition {
        self.next += 1;
        let at = self.lines.iter().position(|line| line.principal == principal);
        let at = at.unwrap_or_else(|| {
            self.lines.push(PlainLine { principal, served: self.floor, ..PlainLine::default() });
            self.lines.len() - 1
        });
        let line = &mut self.lines[at];
        if line.waiting.is_empty() {
            line.served = line.served.max(self.floor);
        }
        let place = (served.max(line.floor), self.next);
        line.waiting.push((place, stacks));
        place
    }

    fn pop(&mut self, most_stacks: usize, may_begin: bool) -> Option<(u8, QueuePosition)> {
        let first = |line: &PlainLine| {
            let paused = line.waiting.iter().filter(|(_, stacks)| *stacks == Stacks::Holds).count();
            let may_begin = may_begin && paused < most_stacks;
            let waiting = line.waiting.iter().filter(|(_, stacks)| *stacks != Stacks::Needs || may_begin);
            waiting.map(|(place, _)| *place).min()
        };
        let ready = self.lines.iter_mut().filter_map(|line| first(line).map(|place| (line, place)));
        let (line, place) = ready.min_by_key(|(line, place)| (line.served, place.1))?;
        line.waiting.retain(|(other, _)| *other != place);
        line.floor = line.floor.max(place.0);
        self.floor = self.floor.max(line.served);
        Some((line.principal, place))
    }

    fn take(&mut self, principal: u8, place: QueuePosition) {
        let lines = self.lines.iter_mut().filter(|line| line.principal == principal);
        lines.for_each(|line| line.waiting.retain(|(other, _)| *other != place));
    }

    fn charge(&mut self, principal: u8, time: u64) {
        let lines = self.lines.iter_mut().filter(|line| line.principal == principal);
        lines.for_each(|line| line.served += time);
        self.lines.retain(|line| !line.waiting.is_empty() || line.served > self.floor);
    }
}

proptest! {
    #[test]
    fn the_indexes_say_what_the_rule_says(
        events in proptest::collection::vec((0u8..5, 0u8..12, 0u64..40, any::<bool>(), 0usize..3), 0..200),
        most_stacks in 1usize..4,
    ) {
        let (mut queue, mut plain) = (Turns::new(most_stacks), Plain::default());
        let mut places: Vec<(u8, QueuePosition)> = Vec::new();
        for (event, principal, time, flag, kind) in events {
            match event {
                0 | 1 => {
                    let stacks = [Stacks::Needs, Stacks::Holds, Stacks::None][kind];
                    let place = queue.push(&principal, time, stacks, ());
                    prop_assert_eq!(place, plain.push(principal, time, stacks));
                    places.push((principal, place));
                }
                2 | 3 => {
                    let is_next = queue.next(flag).is_some();
                    let popped = queue.pop(flag).map(|(principal, place, ())| (principal, place));
                    prop_assert_eq!(is_next, popped.is_some());
                    prop_assert_eq!(popped, plain.pop(most_stacks, flag));
                    if let Some((principal, place)) = popped {
                        places.retain(|(_, other)| *other != place);
                        queue.charge(&principal, time);
                        plain.charge(principal, time);
                    }
                }
                _ => {
                    if let Some((principal, place)) = places.pop() {
                        prop_assert!(queue.take(&principal, place).is_some());
                        plain.take(principal, place);
                    }
                }
            }
            prop_assert_eq!(queue.len(), places.len());
            prop_assert_eq!(queue.lines.len(), plain.lines.len());
            let indexed = queue.order.idle.len() + queue.lines.values().filter(|line| !line.is_empty()).count();
            prop_assert_eq!(indexed, queue.lines.len());
        }
    }
}
