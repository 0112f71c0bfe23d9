//! `identical?`, `hash` and members of Java's classes: decision 180.

use crate::support::check;

#[test]
fn identity_is_that_of_allocations_and_scalars_are_one_by_value() {
    check(&[
        (
            "(defn same [x] (identical? x (identity x))) (every? same [nil 1 1.5 :a 'a \"\" \"foo\" [] '() {:a 1} #{1} same inc #\"a\" (/ 1e300 7)])",
            "true",
        ),
        (
            "[(identical? [] []) (identical? #{} #{}) (identical? {} {}) (identical? () (empty (seq [1]))) (identical? PersistentQueue/EMPTY PersistentQueue/EMPTY)]",
            "[true true true true true]",
        ),
        (
            "(def x {:foo 1}) (def y {:foo 1}) [(identical? x y) (identical? x x) (= x y)]",
            "[false true true]",
        ),
        (
            "(let [s #{1 2}] (map #(identical? s %) [(conj s 2) (disj s 3) (set s) (conj s 3)]))",
            "[true true true false]",
        ),
        (
            "(let [s (set (range 100))] (map #(identical? s %) [(conj s 2) (disj s 300) (conj s 300)]))",
            "[true true false]",
        ),
        (
            "(let [v [1 2]] [(identical? v (vec v)) (identical? v (conj v 3)) (identical? v (assoc v 0 1))])",
            "[true false false]",
        ),
        (
            "(let [f (fn [] 1)] [(identical? f (partial f)) (identical? f (fn [] 1)) (identical? (comp) identity)])",
            "[true false true]",
        ),
        (
            "[(identical? 1 1.0) (identical? ##Inf ##Inf) (identical? 0.0 -0.0) (identical? \"a\" :a)]",
            "[false true false false]",
        ),
        ("(identical? (range) (range))", "false"),
    ]);
}

#[test]
fn hashes_are_the_same_for_what_is_equal() {
    check(&[
        (
            "(= (hash [1 2 3]) (hash '(1 2 3)) (hash (map inc (range 3))) (hash-ordered-coll #{3 1 2}))",
            "true",
        ),
        (
            "[(hash {:a 1 :b 2}) (hash #{1 2}) (hash 'foo/bar) (hash 1.5) (hash nil)]",
            "[161871944 460223544 254379989 1073217536 0]",
        ),
        ("(= (hash (hash-map :foo 1 :bar 2 :quux 3)) -481814377)", "true"),
        (
            "(mix-collection-hash (reduce #(+ (* 31 %1) (hash %2)) 1 [1 2]) 2)",
            "!arithmetic_error arithmetic_error: integer overflow",
        ),
        (
            "(mix-collection-hash (unchecked-int (reduce #(unchecked-add (unchecked-multiply 31 %1) (hash %2)) 1 [1 2])) 2)",
            "156247261",
        ),
        ("[(.hashCode \"a\") (.hashCode [1 2]) (.hashCode {1 2})]", "[97 994 3]"),
        ("(hash inc)", "!type_error type_error: hash: a function has no hash; hash what it is made of"),
        (
            "(hash [1 (fn [] 1)])",
            "!type_error type_error: hash: a function has no hash; hash what it is made of",
        ),
        (
            "(hash (range))",
            "!runtime_error Runtime error: (range) never ends: take a finite part of it, for instance (take 10 (range))",
        ),
    ]);
}

#[test]
fn classes_have_their_members() {
    check(&[
        (
            "[Integer/SIZE (Integer/SIZE) Float/NaN Float/POSITIVE_INFINITY Double/MIN_EXPONENT]",
            "[32 32 ##NaN ##Inf -1022]",
        ),
        (
            "[(Double/compare 1 2.5) (Integer/compare 3 2) (Long/bitCount 7) (Integer/signum -9) (reduce Long/max [1 3 2])]",
            "[-1 1 3 -1 3]",
        ),
        (
            "(let [m {:a 1 \"b\" nil}] [(.containsKey m :b) (.getOrDefault m :b 5) (.getOrDefault m :c 5) (.keySet m) (.values m) (.containsValue m nil)])",
            "[true nil 5 #{:a \"b\"} [1 nil] true]",
        ),
        (
            "[(.containsKey [7] 0) (.containsKey [7] 1) (map #(.getKey %) {:a 1}) (.intValue 3.7)]",
            "[true false [:a] 3]",
        ),
        ("(.containsKey 1 2)", "!type_error type_error: .containsKey: expected map, got integer"),
    ]);
}

#[test]
fn characters_are_looked_up_in_maps_that_are_called() {
    check(&[
        (
            r"(map char-name-string [\backspace \tab \newline \formfeed \return \space \a])",
            r#"["backspace" "tab" "newline" "formfeed" "return" "space" nil]"#,
        ),
        (
            r"[(char-escape-string \tab) (char-escape-string \c) (count char-escape-string)]",
            r#"["\\t" nil 7]"#,
        ),
        (r#"(str/escape "a\tb\"" char-escape-string)"#, r#""a\\tb\\\"""#),
        (r#"(str/escape "abc" #(case % "a" 1 "b" false nil))"#, r#""1bc""#),
        (r#"(str/escape "ab" 1)"#, "!type_error type_error: escape: invalid argument types: string, number"),
        ("(Double/NaN 1)", "!not_callable not callable: ##NaN"),
    ]);
}

#[test]
fn values_of_clojure_where_ours_were_the_first_implementation_s() {
    check(&[
        (
            "[(str/replace :foo \"f\" \"b\") (str/replace [:foo] #\"o+\" \"a\") (str/replace-first 'foo \"o\" \"\") (str/blank? false)]",
            "[\":boo\" \"[:fa]\" \"fo\" true]",
        ),
        (
            "(str/replace nil \"f\" \"b\")",
            "!type_error type_error: replace: invalid argument types: nil, string, string",
        ),
        ("[(quot 1 ##Inf) (quot -3.5 ##-Inf) (quot ##Inf 2) (rem 1 ##Inf)]", "[0.0 0.0 ##NaN ##NaN]"),
        (
            "(map #(Math/round %) [##NaN ##Inf ##-Inf 1e19 2.5 -2.5 7])",
            "[0 9223372036854775807 -9223372036854775808 9223372036854775807 3 -2 7]",
        ),
        ("[(compare nil ##NaN) (compare ##NaN nil) (compare ##NaN ##NaN)]", "[-1 1 0]"),
        (
            "[(set/union #{} nil nil) (set/union #{1} nil #{2 3} #{4}) (set/union nil nil) (set/union #{1})]",
            "[nil #{1 2 3 4} nil #{1}]",
        ),
        (
            "(let [s (sorted-set 1 2 3 4 5)] [(subseq s < 4 > 2) (subseq s <= 4 >= 2) (subseq s > 2 > 6) (rsubseq s <= 4 >= 2) (subseq s > 1 <= 4) (rsubseq s > 1 < 4)])",
            "[[5] [4 5] [] [2 1] [2 3 4] [3 2]]",
        ),
        (
            "(let [s #{1 2}] [(subseq s > 2) (subseq s < 1) (rsubseq s < 1) (rsubseq s > 2) (subseq s >= 9 < 10)])",
            "[nil [] nil [] nil]",
        ),
        (
            "[(seq-to-map-for-destructuring [:a 1 :b 2 {:a 99 :c 3}]) (seq-to-map-for-destructuring [:a 1]) (seq-to-map-for-destructuring nil)]",
            "[{:a 99 :b 2 :c 3} {:a 1} {}]",
        ),
        (
            "[(munge \"a-b?\") (munge 'a/b) (munge :a) (namespace-munge \"a-b\") (unchecked-add-int 1 1.9) (unchecked-float 1)]",
            "[\"a_b_QMARK_\" 'a_SLASH_b \"_COLON_a\" \"a_b\" 2 1.0]",
        ),
    ]);
}
