use super::*;
use crate::meter::Account;
use proptest::prelude::*;
use std::collections::VecDeque;

/// What a vector of integers holds, read in several ways that must agree.
fn ints(vector: &Vector) -> Vec<i64> {
    let int = |value: Value| match value {
        Value::Int(n) => n,
        other => panic!("{other:?} is not an integer"),
    };
    let items: Vec<i64> = vector.iter().map(int).collect();
    assert_eq!(items.len(), vector.len());
    assert!((0..vector.len()).map(|i| int(vector.get(i).expect("an element"))).eq(items.iter().copied()));
    assert!(vector.iter().rev().map(int).eq(items.iter().rev().copied()));
    assert!(vector.get(vector.len()).is_none());
    let mut seen = Vec::new();
    let all = vector.all(|value| {
        seen.push(int(value.clone()));
        seen.len() < 100
    });
    assert_eq!(all, items.len() < 100, "it ends with the element that says no");
    assert_eq!(seen, items[..items.len().min(100)]);
    items
}

#[test]
fn nodes_are_as_small_as_values() {
    assert!(size_of::<node::TrieNode>() <= 16);
    assert!(size_of::<Vector>() <= 8);
}

#[derive(Clone, Debug)]
enum Step {
    Push(i64),
    PushFront(i64),
    Pop,
    PopFront,
    Set(usize, i64),
    Slice(usize, usize),
    Narrow(usize, usize),
    Append(usize),
    AppendVec(usize),
    Prepend(usize),
    Range(i64, usize),
    Repeat(i64, usize),
    Collect(usize),
    Keep,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = prop_oneof![0usize..80, 0usize..3000];
    let step = prop_oneof![
        6 => any::<i64>().prop_map(Step::Push),
        6 => any::<i64>().prop_map(Step::PushFront),
        2 => Just(Step::Pop),
        2 => Just(Step::PopFront),
        4 => (any::<usize>(), any::<i64>()).prop_map(|(i, n)| Step::Set(i, n)),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Slice(a, b)),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Step::Narrow(a, b)),
        2 => size.clone().prop_map(Step::Append),
        4 => prop_oneof![Just(Vector::BLOCK), 0usize..80].prop_map(Step::AppendVec),
        2 => size.clone().prop_map(Step::Prepend),
        1 => (-5i64..5, size.clone()).prop_map(|(step, n)| Step::Range(step, n)),
        1 => (any::<i64>(), size.clone()).prop_map(|(x, n)| Step::Repeat(x, n)),
        1 => size.prop_map(Step::Collect),
        3 => Just(Step::Keep),
    ];
    prop::collection::vec(step, 0..60)
}

fn apply(step: &Step, vector: &mut Vector, model: &mut VecDeque<i64>) {
    let len = model.len();
    // The middle half is cut out rather than all or nothing.
    let cut = |a: usize, b: usize| (a % (len / 2 + 1), len - b % (len / 2 + 1));
    match *step {
        Step::Push(n) => {
            vector.push(Value::Int(n));
            model.push_back(n);
        }
        Step::PushFront(n) => {
            vector.push_front(Value::Int(n));
            model.push_front(n);
        }
        Step::Pop => assert_eq!(vector.pop().is_some(), model.pop_back().is_some()),
        Step::PopFront => assert_eq!(vector.pop_front().is_some(), model.pop_front().is_some()),
        Step::Set(i, n) => {
            if len > 0 {
                vector.set(i % len, Value::Int(n));
                model[i % len] = n;
            }
        }
        Step::Slice(a, b) => {
            let (a, b) = cut(a, b);
            *vector = vector.slice(a, b);
            *model = model.range(a..b.max(a)).copied().collect();
        }
        Step::Narrow(a, b) => {
            let (a, b) = cut(a, b);
            vector.narrow(a, b);
            *model = model.range(a..b.max(a)).copied().collect();
        }
        Step::Append(n) => {
            vector.append(&(0..n as i64).map(Value::Int).collect());
            model.extend(0..n as i64);
        }
        Step::AppendVec(n) => {
            vector.append_vec((0..n as i64).map(Value::Int).collect(), n % 2);
            model.extend(0..n as i64);
        }
        Step::Prepend(n) => {
            let mut front: Vector = (0..n as i64).map(Value::Int).collect();
            front.append(vector);
            *vector = front;
            *model = (0..n as i64).chain(model.iter().copied()).collect();
        }
        Step::Range(step, n) => {
            *vector = Vector::range(7, step, n);
            *model = (0..n as i64).map(|i| 7 + i * step).collect();
        }
        Step::Repeat(x, n) => {
            *vector = Vector::repeat(Value::Int(x), n);
            *model = std::iter::repeat_n(x, n).collect();
        }
        Step::Collect(n) => {
            *vector = Vector::from_vec((0..n as i64).map(Value::Int).collect());
            *model = (0..n as i64).collect();
        }
        Step::Keep => {}
    }
}

proptest! {
    #[test]
    fn a_vector_behaves_as_a_deque_and_old_versions_stay(steps in steps()) {
        let mut account = Account::new(u64::MAX >> 1);
        let installed = account.install();
        {
            let (mut vector, mut model) = (Vector::new(), VecDeque::new());
            let mut kept: Vec<(Vector, VecDeque<i64>)> = Vec::new();
            for step in &steps {
                if matches!(step, Step::Keep) {
                    kept.push((vector.clone(), model.clone()));
                }
                apply(step, &mut vector, &mut model);
                prop_assert_eq!(vector.len(), model.len());
            }
            kept.push((vector, model));
            for (vector, model) in kept {
                prop_assert_eq!(ints(&vector), Vec::from(model));
            }
        }
        drop(installed);
        prop_assert_eq!(account.live, 0);
    }
}

#[test]
fn ranges_and_repetitions_take_no_memory_for_each_element() {
    let mut account = Account::new(1000);
    let _installed = account.install();
    let million = Vector::range(0, 1, 1_000_000);
    let same = Vector::repeat(Value::str("x"), 1_000_000);
    assert!(crate::meter::check_memory().is_ok());
    assert_eq!(
        million.iter().fold(0, |sum, n| if let Value::Int(n) = n { sum + n } else { sum }),
        499_999_500_000
    );
    assert_eq!(same.iter().count(), 1_000_000);
    assert!(crate::meter::check_memory().is_ok());
}

#[test]
fn writing_into_an_enormous_range_unfolds_only_the_way_there() {
    let mut account = Account::new(100_000);
    let _installed = account.install();
    let mut vector = Vector::range(0, 1, LENGTH_MAX);
    vector.push(Value::Int(-1));
    vector.push_front(Value::Int(-2));
    vector.set(1 << 30, Value::Nil);
    assert_eq!(vector.len(), LENGTH_MAX + 2);
    assert!(matches!(vector.last(), Some(Value::Int(-1))));
    assert!(matches!(vector.first(), Some(Value::Int(-2))));
    assert!(matches!(vector.get(1 << 30), Some(Value::Nil)));
    assert!(matches!(vector.get(1 << 40), Some(Value::Int(n)) if n == (1 << 40) - 1));
    let rest = vector.slice(2, LENGTH_MAX);
    assert!(matches!(rest.first(), Some(Value::Int(1))));
    assert!(crate::meter::check_memory().is_ok());
}

#[test]
fn ranges_may_touch_the_ends_of_64_bits() {
    let v = Vector::range(i64::MAX - 99, 1, 100);
    assert!(matches!(v.last(), Some(Value::Int(i64::MAX))));
    let v = Vector::range(i64::MIN, i64::MAX, 3);
    assert!(matches!(v.last(), Some(Value::Int(n)) if n == i64::MAX - 1));
}

#[test]
fn a_slice_lets_go_of_what_it_does_not_show() {
    let mut account = Account::new(u64::MAX >> 1);
    let installed = account.install();
    let mut slice = Vector::from_vec((0..100_000).map(Value::Int).collect());
    slice = slice.slice(50_000, 50_100);
    drop(installed);
    assert!(account.live < 10_000, "{} bytes", account.live);
    let _installed = account.install();
    drop(slice);
}

#[test]
fn a_queue_stays_small() {
    let mut account = Account::new(u64::MAX >> 1);
    let _installed = account.install();
    let mut queue: Vector = (0..100).map(Value::Int).collect();
    for i in 0..200_000 {
        queue.push(Value::Int(i));
        queue.pop_front();
    }
    assert_eq!(queue.len(), 100);
    for i in 0..200_000 {
        queue.push_front(Value::Int(i));
        queue.pop();
    }
    assert_eq!(queue.len(), 100);
    assert!(crate::meter::memory_left() > (i64::MAX as usize) - 20_000);
}

#[test]
fn unshared_vectors_change_in_place() {
    let mut account = Account::new(u64::MAX >> 1);
    let installed = account.install();
    let mut vector = Vector::new();
    for i in 0..100_000 {
        vector.push(Value::Int(i));
    }
    drop(installed);
    // 16 bytes an element, 4 % nodes, and little besides.
    assert!(account.live < 1_800_000, "{} bytes", account.live);
    assert!(account.peak < account.live + 2000, "a version was copied");
    let _installed = account.install();
    drop(vector);
}

#[test]
fn nested_vectors_are_dropped_without_native_recursion() {
    let check = || {
        let mut account = Account::new(u64::MAX >> 1);
        let installed = account.install();
        let (mut same, mut long) = (Value::Nil, Value::Nil);
        for n in 0..20_000 {
            same = Value::Vector(Vector::repeat(same, 17));
            let mut items: Vec<Value> = (0..70).map(Value::Int).collect();
            items[n % 70] = long;
            items[(n + 1) % 70] = Value::str("beside");
            long = Value::Vector(items.into_iter().collect());
        }
        drop((same, long));
        drop(installed);
        assert_eq!(account.live, 0);
    };
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(check)
        .expect("a thread")
        .join()
        .expect("no overflow");
}
