use super::*;
use crate::meter::Account;
use crate::value::{Combinator, CombinatorKind, Map, Set, Temporal, Vector, Zone};
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
        Value::Nil,
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
        Value::Temporal(Rc::new(Temporal::Local { micros: -7, digits: 0 })),
        Value::Temporal(Rc::new(Temporal::Zoned { micros: -9, digits: 0, zone: Zone::UTC })),
        Value::Temporal(Rc::new(Temporal::Zoned {
            micros: -9,
            digits: 0,
            zone: Zone::named("Europe/Berlin").expect("a zone"),
        })),
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
        vector(&[Value::Nil]),
        vector(&[Value::Int(1)]),
        vector(&[float(1.0)]),
        vector(&[Value::Int(2)]),
        vector(&[vector(&[])]),
        vector(&[Value::Int(1), Value::Int(2)]),
        vector(&[Value::Int(1), Value::Int(2), Value::Int(3)]),
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
    let values = ascending();
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
        (Value::list([Value::Int(1), keyword("a")]), vector(&[float(1.0), keyword("a")]), true),
        (Value::list([]), vector(&[]), true),
        (Value::list([]), Value::Nil, false),
        (vector(&[]), set(&[]), false),
        (vector(&[]), map(&[]), false),
        (Value::Nil, Value::False, false),
    ] {
        assert_eq!(equal(&a, &b), expected);
        assert_eq!(equal(&b, &a), expected);
    }
}

#[test]
fn a_list_is_the_key_that_the_vector_of_its_elements_is() {
    for items in [vec![], vec![Value::Int(1)], (0..100).map(|n| Value::list([Value::Int(n)])).collect()] {
        let (list, vector) = (Value::list(items.clone()), Value::vector(items));
        assert!(identical(&list, &vector));
        assert_eq!(key_compare(&list, &vector), Equal);
        assert_eq!(hash(&list), hash(&vector));
    }
    let (list, longer) = (Value::list([Value::Int(1)]), vector(&[Value::Int(1), Value::Nil]));
    assert_eq!((compare(&list, &longer), compare(&longer, &list)), (Less, Greater));
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
    let wraps: [fn(Value) -> Value; 6] = [
        |value| Value::vector(vec![value]),
        |value| Value::list(vec![value]),
        |value| Value::vector(vec![value, Value::Nil]),
        |value| Value::Set([value].into_iter().collect::<Set>()),
        |value| Value::Map(Map::from_entries(vec![(value, Value::Nil)])),
        |value| Value::Vector(Vector::repeat(value, 20)),
    ];
    // Sixteen bytes for each would be more than the stack has.
    const DEPTH: usize = 20_000;
    let check = move || {
        let mut account = Account::new(u64::MAX >> 1);
        let _installed = account.install();
        meter::set_work_limit(300_000);
        for wrap in wraps {
            let (a, b) = (nested(DEPTH, Value::Int(1), wrap), nested(DEPTH, Value::Int(2), wrap));
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

/// Sixty levels, each made by `wrap` of two values of the level below.
fn by_sharing(leaf: Value, wrap: impl Fn(Value, Value) -> Value) -> Value {
    (0..60).fold(leaf, |value, _| wrap(value.clone(), value))
}

#[test]
fn a_shared_tree_costs_its_nodes_and_not_its_paths() {
    let wraps: [fn(Value, Value) -> Value; 7] = [
        |a, b| vector(&[a, b]),
        |a, b| map(&[(keyword("a"), a), (keyword("b"), b)]),
        |a, b| map(&[(a, b)]),
        |a, b| set(&[vector(&[a, Value::Int(1)]), vector(&[Value::Int(1), b])]),
        |a, b| Value::Combinator(Combinator::new(CombinatorKind::Juxt, vec![a, b])),
        // Two vectors that share the part of their trees in which the one reference to the level below lies.
        |a, _| {
            let mut first: Vector = (0..200).map(Value::Int).collect();
            first.set(0, a);
            let (mut second, mut third) = (first.clone(), first);
            second.set(100, Value::Nil);
            third.set(150, Value::Nil);
            vector(&[Value::Vector(second), Value::Vector(third)])
        },
        |a, _| Value::Vector(Vector::repeat(a, 200)),
    ];
    let mut account = Account::new(u64::MAX >> 1);
    let _installed = account.install();
    for (kind, wrap) in wraps.into_iter().enumerate() {
        let tree = |leaf: Value| by_sharing(leaf, wrap);
        meter::set_work_limit(500_000);
        let (a, b, c) = (tree(Value::Int(1)), tree(Value::Int(1)), tree(float(1.0)));
        meter::take_work();
        assert!(equal(&a, &b) && identical(&a, &b), "kind {kind}");
        assert_eq!((compare(&a, &b), key_compare(&a, &b)), (Equal, Equal), "kind {kind}");
        assert!(!identical(&a, &c), "kind {kind}");
        // Combinators are told apart without what is in them.
        assert_eq!(hash(&a), hash(&b), "kind {kind}");
        assert!(!meter::exhausted(), "kind {kind} took {}", meter::pending_work());
    }
    // An integer inside keys and sets differs from an equal float, elsewhere it does not.
    let tree = |leaf: Value| by_sharing(leaf, wraps[0]);
    assert!(equal(&tree(Value::Int(1)), &tree(float(1.0))));
    assert_eq!(compare(&tree(Value::Int(1)), &tree(Value::Int(2))), Less);
}

#[test]
fn what_a_walk_remembers_is_charged_and_given_back() {
    let mut account = Account::new(u64::MAX >> 1);
    let (live, peak) = {
        let _installed = account.install();
        let tree = || by_sharing(Value::Int(1), |a, b| vector(&[a, vector(&[b])]));
        let (a, b) = (tree(), tree());
        let wide = || Value::vector((0..100_000).map(|i| vector(&[Value::Int(i)])).collect::<Vec<_>>());
        let (c, d) = (wide(), wide());
        let before = meter::live_and_peak();
        assert!(equal(&a, &b) && equal(&c, &d) && hash(&c) == hash(&d));
        let after = meter::live_and_peak();
        assert_eq!(before.0, after.0);
        (before.1, after.1)
    };
    assert!(peak > live, "it counts while the walk goes on");
    assert!(peak - live < 4 << 20, "and has a bound: {}", peak - live);
}

#[test]
fn a_walk_is_cut_short_when_the_steps_are_used_up() {
    let mut account = Account::new(u64::MAX >> 1);
    let _installed = account.install();
    let wide = || Value::vector((0..100_000).map(|i| vector(&[Value::Int(i)])).collect::<Vec<_>>());
    let (a, b) = (wide(), wide());
    meter::set_work_limit(10_000);
    compare(&a, &b);
    assert!(meter::exhausted());
    assert!(meter::take_work() < 10_100);
    hash(&a);
    assert!(meter::exhausted());
    assert!(meter::take_work() < 10_100);
    // The very same value needs no look inside.
    assert!(equal(&a, &a.clone()));
    assert!(!meter::exhausted());
}

#[test]
fn a_long_text_is_compared_in_pieces() {
    let mut account = Account::new(u64::MAX >> 1);
    let _installed = account.install();
    let text = |last: &str| Value::str("x".repeat(3 << 20) + last);
    let (a, b, c) = (text("a"), text("a"), text("b"));
    assert!(equal(&a, &b) && !equal(&a, &c));
    assert_eq!((compare(&a, &c), compare(&c, &a), compare(&a, &b)), (Less, Greater, Equal));
    assert_eq!(compare(&a, &text("aa")), Less);
    meter::take_work();
    meter::set_work_limit(50_000);
    equal(&a, &b);
    assert!(meter::take_work() < 100_000, "a comparison that may not go on ends after a piece");
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
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|items| Value::Set(items.into_iter().collect())),
            prop::collection::vec((inner.clone(), inner), 0..4)
                .prop_map(|es| Value::Map(Map::from_entries(es))),
        ]
    })
}

/// How to make a value whose parts are shared: each node from nodes before it.
#[derive(Clone, Debug)]
enum Node {
    Leaf(Value),
    Vector(Vec<usize>),
    Long(Vec<usize>),
    Set(Vec<usize>),
    Map(Vec<usize>),
    Partial(Vec<usize>),
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    // What a node refers to lies just before it, so that paths are many and nodes few.
    let parts = || prop::collection::vec(1_usize..5, 1..4);
    let node = prop_oneof![
        1 => any_value().prop_map(Node::Leaf),
        4 => parts().prop_map(Node::Vector),
        1 => parts().prop_map(Node::Long),
        1 => parts().prop_map(Node::Set),
        2 => parts().prop_map(Node::Map),
        1 => parts().prop_map(Node::Partial),
    ];
    prop::collection::vec(node, 1..14)
}

/// The last node, its parts shared.
fn shared(nodes: &[Node]) -> Value {
    let mut made: Vec<Value> = vec![Value::Int(0)];
    for node in nodes {
        let back = |by: &usize| made[made.len().saturating_sub(*by)].clone();
        let all = |parts: &[usize]| parts.iter().map(back).collect::<Vec<_>>();
        let value = match node {
            Node::Leaf(value) => value.clone(),
            Node::Vector(parts) => Value::vector(all(parts)),
            Node::Long(parts) => {
                let fill = (0..70).map(Value::Int);
                Value::Vector(all(parts).into_iter().chain(fill).collect())
            }
            Node::Set(parts) => Value::Set(all(parts).into_iter().collect()),
            Node::Map(parts) => {
                let values = all(parts);
                let keys = values.iter().rev().cloned();
                Value::Map(Map::from_entries(keys.zip(values.iter().cloned()).collect()))
            }
            Node::Partial(parts) => Value::Combinator(Combinator::new(CombinatorKind::Partial, all(parts))),
        };
        made.push(value);
    }
    made.pop().unwrap_or_default()
}

/// The same value with nothing shared, in which no walk meets anything again; `None` if it is large.
fn apart(value: &Value, left: &mut usize) -> Option<Value> {
    *left = left.checked_sub(1)?;
    let mut all = |items: &mut dyn Iterator<Item = Value>| {
        items.map(|item| apart(&item, left)).collect::<Option<Vec<_>>>()
    };
    Some(match value {
        Value::Vector(items) => Value::vector(all(&mut items.iter())?),
        Value::Set(items) => Value::Set(all(&mut items.clone().into_iter())?.into_iter().collect()),
        Value::Map(entries) => {
            let keys = all(&mut entries.iter().map(|(key, _)| key.clone()))?;
            let values = all(&mut entries.iter().map(|(_, value)| value.clone()))?;
            Value::Map(Map::from_entries(keys.into_iter().zip(values).collect()))
        }
        Value::Combinator(combinator) => {
            let parts = all(&mut combinator.parts.iter().cloned())?;
            Value::Combinator(Combinator::new(combinator.kind, parts))
        }
        other => other.clone(),
    })
}

proptest! {
    #[test]
    fn sharing_changes_no_answer(
        nodes in nodes(),
        changed in any::<prop::sample::Index>(),
        by in prop_oneof![Just(None), any_value().prop_map(Some)],
    ) {
        let mut others = nodes.clone();
        if let Some(by) = by {
            let at = changed.index(others.len());
            others[at] = Node::Leaf(by);
        }
        let (a, b) = (shared(&nodes), shared(&others));
        if let (Some(plain_a), Some(plain_b)) = (apart(&a, &mut 20_000), apart(&b, &mut 20_000)) {
            prop_assert_eq!(compare(&a, &b), compare(&plain_a, &plain_b));
            prop_assert_eq!(key_compare(&a, &b), key_compare(&plain_a, &plain_b));
            prop_assert_eq!(equal(&a, &b), equal(&plain_a, &plain_b));
            prop_assert_eq!(identical(&a, &b), identical(&plain_a, &plain_b));
            prop_assert_eq!(hash(&a), hash(&plain_a));
            prop_assert_eq!(key_compare(&a, &plain_a), Equal);
        }
    }

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

/// Asks how often `work` could have been interrupted.
fn places_to_give_way<R>(work: impl FnOnce() -> R) -> (R, u32) {
    use crate::meter::{PauseAnswer, Pauses, pausing};
    use std::cell::Cell;
    thread_local! {
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }
    fn asked() -> bool {
        ASKED.set(ASKED.get() + 1);
        false
    }
    ASKED.set(0);
    let done = pausing(Pauses { is_due: asked, pause: || PauseAnswer::GoOn }, work);
    (done, ASKED.get())
}

#[test]
fn long_sorts_give_way() {
    let keys = (0..50_000_i64).map(|i| i.wrapping_mul(7_919) % 20_011);
    let mut found: Vec<(Value, usize)> = keys.enumerate().map(|(i, key)| (Value::Int(key), i)).collect();
    let mut expected = found.clone();
    expected.sort_by(|a, b| key_compare(&a.0, &b.0));
    let ((), asked) = places_to_give_way(|| sort_by_key(&mut found, |item| &item.0));
    let places = |items: &[(Value, usize)]| items.iter().map(|item| item.1).collect::<Vec<_>>();
    assert_eq!(places(&found), places(&expected));
    assert!(asked >= 75, "{asked}");
}

#[test]
fn large_sets_are_built_in_pieces() {
    // In order but for one element, at and beside the ends of the pieces that are looked at.
    for odd in [0, 1, 1022, 1023, 1024, 1025, 2047, 2048, 4998, 4999] {
        let items = (0..5_000).map(|i| Value::Int(if i == odd { 5_000 - i } else { i }));
        let mut wanted: Vec<i64> = (0..5_000).map(|i| if i == odd { 5_000 - i } else { i }).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let set: Set = items.collect();
        let found: Vec<i64> =
            set.into_iter().map(|item| if let Value::Int(i) = item { i } else { -1 }).collect();
        assert_eq!(found, wanted, "{odd}");
    }
    let (set, asked) = places_to_give_way(|| (0..100_000).map(Value::Int).collect::<Set>());
    assert_eq!(set.len(), 100_000);
    assert!(asked >= 50, "{asked}");
}
