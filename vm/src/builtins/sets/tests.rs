use crate::builtins::support::testing::check;

#[test]
fn sets_are_made_of_anything_seqable() {
    check(&[
        ("(set [3 1 3])", "#{1 3}"),
        ("(set nil)", "#{}"),
        (r#"(set "aab")"#, r#"#{"a" "b"}"#),
        ("(set {:a 1})", "#{[:a 1]}"),
        ("(set #{1})", "#{1}"),
        ("(set 5)", "! type_error: set: invalid argument types: number"),
        ("(hash-set 2 1 2 1.0)", "#{1 1.0 2}"),
        ("(sorted-set 2 1)", "#{1 2}"),
        ("(disj #{1 2 3} 2 9)", "#{1 3}"),
        ("(disj nil 1)", "nil"),
        ("(disj [1])", "[1]"),
        (r#"(disj "a" "a")"#, "! type_error: disj: invalid argument types: string, string"),
        ("(disj)", "! arity error: disj requires at least 1 argument, got 0"),
    ]);
}

#[test]
fn set_algebra_follows_clojure_with_other_collections() {
    check(&[
        ("(union)", "#{}"),
        ("(union #{1} #{2} #{1 3})", "#{1 2 3}"),
        ("(union [1])", "[1]"),
        ("(union nil #{1})", "#{1}"),
        ("(union nil nil)", "nil"),
        ("(union #{1} [2])", "#{1 2}"),
        ("(union [1 2] #{2})", "[1 2 2]"),
        ("(union [1] #{2 3})", "#{1 2 3}"),
        ("(union {:a 1} {:b 2})", "{:a 1 :b 2}"),
        ("(union #{1} 5)", "! type_error: union: invalid argument types: set, number"),
        ("(intersection #{1 2 3} #{2 3} #{3})", "#{3}"),
        ("(intersection #{1} [1])", "#{}"),
        ("(intersection #{1} nil)", "nil"),
        ("(intersection #{:a} {:a 1})", "#{:a}"),
        ("(intersection [1] #{1 2})", "! type_error: intersection: invalid argument types: list, set"),
        ("(intersection)", "! arity error: intersection requires at least 1 argument, got 0"),
        ("(difference #{1 2 3} #{2})", "#{1 3}"),
        ("(difference #{1 2 3} #{2} [3])", "#{1}"),
        ("(difference #{1} nil)", "#{1}"),
        ("(difference nil #{1})", "nil"),
        ("(difference #{1} #{1 2})", "#{}"),
        ("(difference [1] #{1})", "! type_error: difference: invalid argument types: list, set"),
        ("(subset? #{1} #{1 2})", "true"),
        ("(subset? #{1 3} #{1 2})", "false"),
        ("(subset? #{1 2 3} #{1 2})", "false"),
        ("(subset? nil #{})", "true"),
        ("(superset? #{1 2} #{2})", "true"),
        ("(superset? #{1 2} 5)", "! type_error: superset?: invalid argument types: set, number"),
    ]);
}

#[test]
fn relations_are_sets_or_vectors_of_maps() {
    check(&[
        ("(rename-keys {:a 1 :b 2} {:a :b :b :a})", "{:a 2 :b 1}"),
        ("(rename-keys {:a 1 :b 2} {:a :x :z :y})", "{:b 2 :x 1}"),
        (r#"(rename-keys {"first_name" 1} {:first-name :name})"#, "{:name 1}"),
        ("(rename-keys nil {})", "nil"),
        ("(rename-keys {:a 1} [:a])", "! type_error: rename-keys: arg 2 expected map, got list"),
        ("(map-invert {:a 1 :b 2 :c 1})", "{1 :c 2 :b}"),
        ("(map-invert nil)", "{}"),
        ("(set/select odd? #{1 2 3})", "#{1 3}"),
        ("(set/select :on [{:on true} {:on nil}])", "#{{:on true}}"),
        ("(set/select 5 #{1})", "! type_error: set/select: arg 1 expected predicate, got number"),
        ("(set/project [{:a 1 :b 2} {:a 1 :b 3}] [:a])", "#{{:a 1}}"),
        ("(set/project nil [:a])", "#{}"),
        ("(set/rename #{{:a 1}} {:a :x})", "#{{:x 1}}"),
        ("(set/index [{:a 1 :b 2} {:a 1 :b 3}] [:a])", "{{:a 1} #{{:a 1 :b 2} {:a 1 :b 3}}}"),
        (
            "(set/join [{:id 1 :n :x} {:id 2 :n :y}] [{:id 1 :t 5} {:id 1 :t 6} {:id 3 :t 7}])",
            "#{{:id 1 :n :x :t 5} {:id 1 :n :x :t 6}}",
        ),
        ("(set/join [{:id 1} {:id 2}] [{:user 1 :t 5}] {:id :user})", "#{{:id 1 :t 5 :user 1}}"),
        ("(set/join [{:a 1}] [{:b 2}])", "#{{:a 1 :b 2}}"),
        ("(set/join [] [{:b 2}])", "#{}"),
        ("(set/join 5 [])", "! type_error: set/join: arg 1 expected set or list of maps, got number"),
    ]);
}
