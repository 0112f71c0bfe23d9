use super::*;
use crate::meter::Account;
use crate::value::{Map, Set};
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        other => panic!("{other:?} is not an integer"),
    }
}

/// What a map of integers holds, read in several ways that must agree.
fn entries(map: &Map) -> Vec<(i64, i64)> {
    let found: Vec<(i64, i64)> = map.iter().map(|(k, v)| (int(k), int(v))).collect();
    assert_eq!(found.len(), map.len());
    assert!(map.clone().into_iter().map(|(k, v)| (int(&k), int(&v))).eq(found.iter().copied()));
    assert!(map.iter().rev().map(|(k, v)| (int(k), int(v))).eq(found.iter().rev().copied()));
    assert!(map.clone().into_iter().rev().map(|(k, v)| (int(&k), int(&v))).eq(found.iter().rev().copied()));
    for (i, (key, value)) in found.iter().enumerate() {
        assert_eq!(map.get(&Value::Int(*key)).map(int), Some(*value));
        assert_eq!(map.entry_at(i).map(|(k, _)| int(k)), Some(*key));
    }
    assert!(map.entry_at(found.len()).is_none());
    found
}

#[derive(Clone, Debug)]
enum Step {
    Insert(i64, i64),
    Run(i64, i64, i64),
    Remove(i64),
    RemoveRun(i64, i64),
    Change(i64, i64),
    Build(Vec<(i64, i64)>),
    Keep,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || prop_oneof![0i64..50, 0i64..5000];
    let step = prop_oneof![
        6 => (key(), any::<i64>()).prop_map(|(k, v)| Step::Insert(k, v)),
        2 => (key(), 0i64..400, 1i64..9).prop_map(|(k, n, step)| Step::Run(k, n, step)),
        4 => key().prop_map(Step::Remove),
        2 => (key(), 0i64..3000).prop_map(|(k, n)| Step::RemoveRun(k, n)),
        2 => (key(), any::<i64>()).prop_map(|(k, v)| Step::Change(k, v)),
        1 => prop::collection::vec((key(), any::<i64>()), 0..300).prop_map(Step::Build),
        3 => Just(Step::Keep),
    ];
    prop::collection::vec(step, 0..40)
}

proptest! {
    #[test]
    fn a_map_behaves_as_the_model_and_old_versions_stay(steps in steps()) {
        let mut account = Account::new(u64::MAX >> 1);
        let installed = account.install();
        {
            let (mut map, mut model) = (Map::new(), BTreeMap::new());
            let mut kept: Vec<(Map, BTreeMap<i64, i64>)> = Vec::new();
            for step in &steps {
                match step {
                    Step::Insert(k, v) => {
                        map.insert(Value::Int(*k), Value::Int(*v));
                        model.insert(*k, *v);
                    }
                    Step::Run(k, n, step) => {
                        for i in 0..*n {
                            map.insert(Value::Int(k + i * step), Value::Int(i));
                            model.insert(k + i * step, i);
                        }
                    }
                    Step::Remove(k) => {
                        let found = map.remove(&Value::Int(*k)).as_ref().map(int);
                        prop_assert_eq!(found, model.remove(k));
                    }
                    Step::RemoveRun(k, n) => {
                        for k in *k..k + n {
                            let found = map.remove(&Value::Int(k)).as_ref().map(int);
                            prop_assert_eq!(found, model.remove(&k));
                        }
                    }
                    Step::Change(k, v) => {
                        let place = map.get_mut(&Value::Int(*k));
                        prop_assert_eq!(place.is_some(), model.contains_key(k));
                        if let Some(place) = place {
                            *place = Value::Int(*v);
                            model.insert(*k, *v);
                        }
                    }
                    Step::Build(entries) => {
                        let values = entries.iter().map(|(k, v)| (Value::Int(*k), Value::Int(*v)));
                        map = Map::from_entries(values.collect());
                        model = entries.iter().copied().collect();
                    }
                    Step::Keep => kept.push((map.clone(), model.clone())),
                }
                prop_assert_eq!(map.len(), model.len());
            }
            kept.push((map, model));
            for (map, model) in kept {
                prop_assert!(entries(&map).into_iter().eq(model));
            }
        }
        drop(installed);
        prop_assert_eq!(account.live, 0);
    }

    #[test]
    fn a_set_behaves_as_the_model(steps in prop::collection::vec((any::<bool>(), 0i64..300), 0..600)) {
        let (mut set, mut model) = (Set::new(), std::collections::BTreeSet::new());
        for (add, n) in steps {
            if add {
                set.insert(Value::Int(n));
                model.insert(n);
            } else {
                prop_assert_eq!(set.remove(&Value::Int(n)), model.remove(&n));
            }
        }
        prop_assert!(set.iter().map(int).eq(model.iter().copied()));
        prop_assert!(set.clone().into_iter().map(|n| int(&n)).eq(model.iter().copied()));
        let collected: Set = model.iter().rev().map(|n| Value::Int(*n)).collect();
        prop_assert!(collected.iter().map(int).eq(model));
    }

    /// Flexible reads against the rule as language.md 2.6 states it, with and without a guess, small and large.
    #[test]
    fn flexible_reads_follow_the_rule(
        keys in prop::collection::vec(("[ab_-]{1,3}", any::<bool>()), 0..12),
        reads in prop::collection::vec(("[ab_-]{1,3}", any::<bool>()), 1..12),
        large in any::<bool>(),
        guess in 0u32..14,
    ) {
        let make = |(name, keyword): &(String, bool)| if *keyword { Value::keyword(name) } else { Value::str(name) };
        let mut map: Map = keys.iter().enumerate().map(|(i, key)| (make(key), Value::Int(i as i64))).collect();
        if large {
            map = map.into_iter().chain((0..100).map(|i| (Value::Int(i), Value::Nil))).collect();
        }
        for read in &reads {
            let (name, keyword) = read;
            let spelled = name.replace('-', "_");
            let mut tries = vec![(name, *keyword), (name, !*keyword)];
            if name.contains('-') {
                tries.extend([(&spelled, *keyword), (&spelled, !*keyword)]);
            }
            let expected = tries.iter().find_map(|(name, kind)| map.get(&make(&((*name).clone(), *kind))));
            let guess = Cell::new(guess);
            for found in [map.get_flexible(&make(read)), map.get_guessed(&make(read), &guess), map.get_guessed(&make(read), &guess)] {
                prop_assert_eq!(found.map(int), expected.map(int));
            }
        }
    }
}

#[test]
fn a_map_is_one_word() {
    assert!(size_of::<Option<Map>>() <= 8);
    assert!(size_of::<Option<Set>>() <= 8);
}

#[test]
fn of_equal_keys_the_first_stays_with_the_last_value() {
    let entries = |n: i64| {
        vec![
            (Value::float(0.0), Value::Int(1)),
            (Value::Int(n), Value::Nil),
            (Value::float(-0.0), Value::Int(2)),
        ]
    };
    let map = Map::from_entries(entries(-1));
    assert_eq!(map.len(), 2);
    let (key, value) = map.entry(&Value::float(0.0)).expect("there");
    assert!(matches!(key, Value::Float(x) if x.get().is_sign_positive()));
    assert_eq!(int(value), 2);
}

#[test]
fn writes_find_the_entry_that_reads_find() {
    let mut map = Map::from_entries(vec![
        (Value::str("first_name"), Value::Int(1)),
        (Value::keyword("b"), Value::Int(2)),
    ]);
    map.insert_flexible(Value::keyword("first-name"), Value::Int(3));
    map.insert_flexible(Value::str("b"), Value::Int(4));
    map.insert_flexible(Value::keyword("c"), Value::Int(5));
    assert_eq!(map.len(), 3);
    assert_eq!(map.get(&Value::str("first_name")).map(int), Some(3));
    assert_eq!(map.get(&Value::keyword("b")).map(int), Some(4));
    assert_eq!(map.remove_flexible(&Value::str("c")).as_ref().map(int), Some(5));
    assert_eq!(map.remove_flexible(&Value::keyword("first-name")).as_ref().map(int), Some(3));
    assert_eq!(map.len(), 1);
}

#[test]
fn rows_with_the_same_keys_share_them() {
    let keys: Vec<Value> = ["id", "name", "total", "state"].into_iter().map(Value::str).collect();
    let shape = Shape::of(keys).expect("different keys");
    let mut account = Account::new(u64::MAX >> 1);
    let installed = account.install();
    let rows: Vec<Map> = (0..1000).map(|i| Map::with_shape(shape.clone(), vec![Value::Int(i); 4])).collect();
    drop(installed);
    assert!(account.live <= 1000 * 140, "{} bytes", account.live);
    // Changing a value keeps sharing the keys; a new key does not change the other rows.
    let mut changed = rows[0].clone();
    changed.insert(Value::str("total"), Value::Nil);
    assert!(changed.same_keys(&rows[1]));
    changed.insert(Value::str("new"), Value::Nil);
    assert_eq!((changed.len(), rows[0].len(), rows[1].len()), (5, 4, 4));
    let _installed = account.install();
    drop(rows);
}

#[test]
fn shapes_refuse_what_is_no_list_of_keys() {
    assert!(Shape::of(vec![Value::Int(1), Value::Int(1)]).is_none());
    assert!(Shape::of((0..33).map(Value::Int).collect()).is_none());
    assert_eq!(Shape::of(vec![Value::Int(2), Value::Int(1)]).map(|shape| int(&shape.keys()[0])), Some(1));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "ascend")]
fn a_shape_relies_on_the_order_of_its_keys() {
    Shape::new(vec![Value::str("b"), Value::str("a")]);
}

#[test]
fn a_shape_of_keys_whose_order_is_cut_short_does_not_panic() {
    let mut account = Account::new(u64::MAX >> 1);
    let _installed = account.install();
    crate::meter::set_work_limit(0);
    let keys = (0..32).map(|i| Value::vector([Value::Int(i * 7 % 32)])).collect();
    let shape = Shape::of(keys);
    assert!(shape.is_none_or(|shape| shape.len() == 32));
    crate::meter::take_work();
}

#[test]
fn unshared_maps_change_in_place() {
    let mut account = Account::new(u64::MAX >> 1);
    let installed = account.install();
    let mut map = Map::new();
    for i in 0..100_000 {
        map.insert(Value::Int(i), Value::Int(i));
    }
    drop(installed);
    assert!(account.live < 100_000 * 40, "{} bytes", account.live);
    assert!(account.peak < account.live + 5000, "a version was copied");
    let _installed = account.install();
    drop(map);
}

#[test]
fn a_large_map_becomes_small_again() {
    let mut map: Map = (0..1000).map(|i| (Value::Int(i), Value::Int(i))).collect();
    assert!(map.shape().is_none());
    for i in 0..990 {
        map.remove(&Value::Int(i));
    }
    assert!(map.shape().is_some());
    assert_eq!(entries(&map), (990..1000).map(|i| (i, i)).collect::<Vec<_>>());
}

#[test]
fn rows_that_change_alike_share_their_keys_afterwards() {
    let keys = ["id", "name"].into_iter().map(Value::str).collect();
    let shape = Shape::of(keys).expect("different keys");
    let rows: Vec<Map> = (0..3).map(|i| Map::with_shape(shape.clone(), vec![Value::Int(i); 2])).collect();
    let with = |row: &Map, key: &str| {
        let mut row = row.clone();
        row.insert(Value::keyword(key), Value::Nil);
        row
    };
    let (a, b) = (with(&rows[0], "k"), with(&rows[1], "k"));
    assert!(a.same_keys(&b));
    // Another key at the same place is another shape.
    let c = with(&rows[2], "l");
    assert!(!c.same_keys(&a));
    assert!(c.get(&Value::keyword("l")).is_some() && c.get(&Value::keyword("k")).is_none());
    let without = |row: &Map, key: &str| {
        let mut row = row.clone();
        row.remove(&Value::str(key));
        row
    };
    let (d, e) = (without(&a, "id"), without(&b, "id"));
    assert!(d.same_keys(&e));
    assert_eq!((d.len(), a.len(), rows[0].len()), (2, 3, 2));
    let f = without(&a, "name");
    assert!(f.get(&Value::str("id")).is_some() && f.get(&Value::str("name")).is_none());
}

#[test]
fn literals_of_one_place_share_their_keys() {
    let mut layouts = Layouts::default();
    let (b, a) = (Value::keyword("b"), Value::keyword("a"));
    let mut literal = |x, y| layouts.map(&mut [b.clone(), Value::Int(x), a.clone(), Value::Int(y)]);
    let (one, two) = (literal(1, 2), literal(3, 4));
    assert!(one.same_keys(&two));
    assert_eq!(two.get(&b).map(int), Some(3));
    assert_eq!(two.get(&a).map(int), Some(4));
    // A key that comes twice has one place, and its last value.
    for _ in 0..2 {
        let twice = layouts.map(&mut [b.clone(), Value::Int(1), b.clone(), Value::Int(2)]);
        assert_eq!((twice.len(), twice.get(&b).map(int)), (1, Some(2)));
    }
    assert!(layouts.map(&mut []).is_empty());
    let many: Vec<Value> = (0..200).map(Value::Int).collect();
    assert_eq!(layouts.map(&mut many.clone()).len(), 100);
}
