use super::*;
use crate::meter::Account;
use crate::value::{Combinator, CombinatorKind, Map, Set, Temporal, Vector};
use num_bigint::BigInt;
use proptest::prelude::*;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::rc::Rc;

fn big(text: &str) -> Value {
    Value::integer(text.parse::<BigInt>().expect("digits"))
}

fn float(x: f64) -> Value {
    Value::float(x)
}

fn vector(items: &[Value]) -> Value {
    Value::vector(items.to_vec())
}

fn map(entries: &[(Value, Value)]) -> Value {
    Value::Map(Map::from_entries(entries.to_vec()))
}

fn set(items: &[Value]) -> Value {
    Value::Set(items.iter().cloned().collect())
}

fn keyword(name: &str) -> Value {
    Value::keyword(name)
}

/// One or more of every kind, in ascending order of map keys.
fn ascending() -> Vec<Value> {
    vec![
        float(f64::NEG_INFINITY),
        big("-9223372036854775809"),
        Value::Int(i64::MIN),
        float(-9_223_372_036_854_775_808.0),
        Value::Int(-1),
        Value::Int(0),
        float(0.0),
        float(0.5),
        Value::Int(1),
        float(1.0),
        float(1.5),
        Value::Int(9_007_199_254_740_992),
        float(9_007_199_254_740_992.0),
        Value::Int(9_007_199_254_740_993),
        Value::Int(i64::MAX),
        float(9_223_372_036_854_775_808.0),
        big("9223372036854775809"),
        big("1000000000000000000000000"),
        float(1e300),
        float(f64::INFINITY),
        float(f64::NAN),
        Value::False,
        Value::Nil,
        Value::True,
        keyword("Z"),
        keyword("a"),
        keyword("a-b"),
        keyword("é"),
        Value::Var("a".into()),
        Value::Combinator(Combinator::new(CombinatorKind::Comp, vec![])),
        Value::Combinator(Combinator::new(CombinatorKind::Partial, vec![Value::Int(1)])),
        Value::Combinator(Combinator::new(CombinatorKind::Partial, vec![Value::Int(1), Value::Nil])),
        Value::Combinator(Combinator::new(CombinatorKind::Partial, vec![Value::Int(2)])),
        Value::Symbol("a".into()),
        Value::Tool("a".into()),
        Value::Temporal(Rc::new(Temporal::Date(9))),
        Value::Temporal(Rc::new(Temporal::Instant { micros: -5, digits: 0 })),
        Value::Temporal(Rc::new(Temporal::Instant { micros: 5, digits: 3 })),
        Value::Temporal(Rc::new(Temporal::Duration(1))),
        set(&[]),
        set(&[Value::Int(9)]),
        set(&[float(9.0)]),
        set(&[Value::Int(1), Value::Int(2)]),
        map(&[]),
        map(&[(Value::Int(1), Value::Int(9))]),
        map(&[(float(1.0), Value::Int(1))]),
        map(&[(keyword("a"), Value::Int(1))]),
        map(&[(keyword("a"), Value::Int(2))]),
        map(&[(keyword("a"), Value::Int(9)), (keyword("b"), Value::Int(9))]),
        map(&[(keyword("a"), Value::Int(1)), (keyword("c"), Value::Int(1))]),
        vector(&[]),
        vector(&[Value::Int(1)]),
        vector(&[Value::Int(1), Value::Int(2)]),
        vector(&[float(1.0)]),
        vector(&[Value::Int(2)]),
        vector(&[vector(&[])]),
        Value::str(""),
        Value::str("B"),
        Value::str("a"),
        Value::str("ab"),
        Value::str("é"),
    ]
}

#[test]
fn keys_of_all_kinds_are_totally_ordered() {
    let values = ascending();
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate() {
            assert_eq!(key_compare(a, b), i.cmp(&j), "values {i} and {j}");
            assert_eq!(identical(a, b), i == j, "values {i} and {j}");
            if i == j {
                assert_eq!(hash(a), hash(b));
            }
        }
    }
}

#[test]
fn the_order_of_programs_differs_only_where_an_integer_meets_an_equal_float() {
    let mut values = ascending();
    // Ties with `[1]`, and so comes before `[1 2]` instead of after it.
    let odd = vector(&[float(1.0)]);
    values.retain(|value| !identical(value, &odd));
    assert_eq!(compare(&odd, &vector(&[Value::Int(1), Value::Int(2)])), Less);
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate() {
            let found = compare(a, b);
            assert_eq!(found, compare(b, a).reverse(), "values {i} and {j}");
            if found != Equal {
                assert_eq!(found, i.cmp(&j), "values {i} and {j}");
            }
        }
    }
    assert_eq!(compare(&Value::Int(1), &float(1.0)), Equal);
    assert_eq!(compare(&vector(&[Value::Int(1)]), &vector(&[float(1.0)])), Equal);
    assert_eq!(compare(&big("10000000000000000000000"), &float(1e22)), Equal);
    // Keys and elements are one only if identical.
    assert_eq!(compare(&set(&[Value::Int(1)]), &set(&[float(1.0)])), Less);
    let (a, b) = (map(&[(Value::Int(1), Value::Nil)]), map(&[(float(1.0), Value::Nil)]));
    assert_eq!(compare(&a, &b), Less);
    // Keys decide before values.
    let a = map(&[(keyword("a"), Value::Int(9)), (keyword("b"), Value::Int(1))]);
    let b = map(&[(keyword("a"), Value::Int(1)), (keyword("c"), Value::Int(1))]);
    assert_eq!(compare(&a, &b), Less);
}

#[test]
fn equality_follows_the_table_of_the_language() {
    let nan = float(f64::NAN);
    for (a, b, expected) in [
        (Value::Int(1), float(1.0), true),
        (Value::Int(9_007_199_254_740_993), float(9_007_199_254_740_992.0), false),
        (float(0.0), float(-0.0), true),
        (nan.clone(), nan.clone(), false),
        (nan.clone(), Value::Int(1), false),
        (Value::vector([nan.clone()]), Value::vector([nan]), true),
        (keyword("a"), Value::str("a"), false),
        (vector(&[Value::Int(1)]), vector(&[float(1.0)]), true),
        (vector(&[Value::Int(1)]), vector(&[Value::Int(1), Value::Nil]), false),
        (map(&[(keyword("a"), Value::Int(1))]), map(&[(keyword("a"), float(1.0))]), true),
        (map(&[(Value::Int(1), Value::Nil)]), map(&[(float(1.0), Value::Nil)]), false),
        (set(&[Value::Int(1)]), set(&[float(1.0)]), false),
        (set(&[float(0.0)]), set(&[float(-0.0)]), true),
        (vector(&[]), set(&[]), false),
        (vector(&[]), map(&[]), false),
        (Value::Nil, Value::False, false),
    ] {
        assert_eq!(equal(&a, &b), expected);
        assert_eq!(equal(&b, &a), expected);
    }
}

#[test]
fn zeros_and_nans_are_one_key() {
    assert!(identical(&float(0.0), &float(-0.0)));
    assert_eq!(hash(&float(0.0)), hash(&float(-0.0)));
    assert!(identical(&float(f64::NAN), &float(-f64::NAN)));
    assert_eq!(hash(&float(f64::NAN)), hash(&float(-f64::NAN)));
    assert!(!identical(&Value::Int(1), &float(1.0)));
}

#[test]
fn a_name_compares_as_the_key_it_stands_for() {
    for key in ascending() {
        for name in ["", "a", "a-b", "b", "é"] {
            assert_eq!(compare_to_name(&key, name, true), key_compare(&key, &keyword(name)));
            assert_eq!(compare_to_name(&key, name, false), key_compare(&key, &Value::str(name)));
            let spelled = name.replace('-', "_");
            assert_eq!(compare_to_underscored(&key, name, true), key_compare(&key, &keyword(&spelled)));
            assert_eq!(compare_to_underscored(&key, name, false), key_compare(&key, &Value::str(&spelled)));
        }
    }
}

/// `depth` collections around `inner`.
fn nested(depth: usize, inner: Value, wrap: impl Fn(Value) -> Value) -> Value {
    (0..depth).fold(inner, |value, _| wrap(value))
}

#[test]
fn nesting_takes_no_native_stack() {
    let wraps: [fn(Value) -> Value; 5] = [
        |value| Value::vector(vec![value]),
        |value| Value::vector(vec![value, Value::Nil]),
        |value| Value::Set([value].into_iter().collect::<Set>()),
        |value| Value::Map(Map::from_entries(vec![(value, Value::Nil)])),
        |value| Value::Vector(Vector::repeat(value, 20)),
    ];
    let check = move || {
        let mut account = Account::new(u64::MAX >> 1);
        let _installed = account.install();
        meter::set_work_limit(1_500_000);
        for wrap in wraps {
            let (a, b) = (nested(100_000, Value::Int(1), wrap), nested(100_000, Value::Int(2), wrap));
            assert_eq!(key_compare(&a, &b), Less);
            assert_eq!(compare(&b, &a), Greater);
            assert!(!equal(&a, &b));
            // Ends early or late, but ends.
            hash(&a);
            meter::take_work();
        }
    };
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(check)
        .expect("a thread")
        .join()
        .expect("no overflow");
}

#[test]
fn a_tree_by_sharing_is_cut_short_when_the_steps_are_used_up() {
    let mut account = Account::new(u64::MAX >> 1);
    let _installed = account.install();
    let tree = |leaf| nested(60, Value::Int(leaf), |value| Value::vector(vec![value.clone(), value]));
    let (a, b) = (tree(1), tree(1));
    meter::set_work_limit(10_000);
    compare(&a, &b);
    assert!(meter::exhausted());
    assert!(meter::take_work() < 10_100);
    hash(&a);
    assert!(meter::exhausted());
    assert!(meter::take_work() < 10_100);
    // The very same tree needs no look inside.
    assert!(equal(&a, &a.clone()));
    assert!(!meter::exhausted());
}

#[test]
fn long_texts_cost_their_length() {
    let mut account = Account::new(u64::MAX >> 1);
    let _installed = account.install();
    let (a, b) = (Value::str("x".repeat(16_000)), Value::str("x".repeat(16_000)));
    assert!(equal(&a, &b));
    assert_eq!(meter::take_work(), 1000);
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::bool),
        (-2i64..3).prop_map(Value::Int),
        prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(1.5), Just(f64::NAN), Just(f64::INFINITY)]
            .prop_map(Value::float),
        "[ab-]{0,2}".prop_map(Value::str),
        "[ab-]{1,2}".prop_map(Value::keyword),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::vector),
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| Value::Set(items.into_iter().collect())),
            prop::collection::vec((inner.clone(), inner), 0..4)
                .prop_map(|es| Value::Map(Map::from_entries(es))),
        ]
    })
}

proptest! {
    #[test]
    fn key_order_is_total_and_agrees_with_identity_and_hash(a in any_value(), b in any_value(), c in any_value()) {
        prop_assert_eq!(key_compare(&a, &b), key_compare(&b, &a).reverse());
        prop_assert_eq!(key_compare(&a, &a), Equal);
        if key_compare(&a, &b).is_le() && key_compare(&b, &c).is_le() {
            prop_assert!(key_compare(&a, &c).is_le());
        }
        prop_assert_eq!(identical(&a, &b), key_compare(&a, &b) == Equal);
        if identical(&a, &b) {
            prop_assert_eq!(hash(&a), hash(&b));
        }
        let direct_nan = matches!(&a, Value::Float(x) if x.is_nan());
        prop_assert_eq!(equal(&a, &b), compare(&a, &b) == Equal && !direct_nan);
    }

    #[test]
    fn the_sort_is_stable_and_sorts(keys in prop::collection::vec(0i64..20, 0..200)) {
        let mut expected: Vec<(Value, usize)> =
            keys.iter().enumerate().map(|(i, key)| (Value::Int(*key), i)).collect();
        let mut found = expected.clone();
        expected.sort_by(|a, b| key_compare(&a.0, &b.0));
        sort_by_key(&mut found, |item| &item.0);
        let places = |items: &[(Value, usize)]| items.iter().map(|item| item.1).collect::<Vec<_>>();
        prop_assert_eq!(places(&found), places(&expected));
    }

    #[test]
    fn the_sort_survives_an_order_that_contradicts_itself(seed in any::<u64>(), len in 0usize..300) {
        let mut state = seed | 1;
        let mut items: Vec<usize> = (0..len).collect();
        sort_by(&mut items, |_, _| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.cmp(&(u64::MAX / 2))
        });
        items.sort_unstable();
        prop_assert!(items.into_iter().eq(0..len));
    }
}
