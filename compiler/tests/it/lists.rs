//! Lists: what makes them, what they are equal to, and what works in front of them (decision 173).

use crate::support::{check, run};
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;
use ptc_vm::machine::Setup;
use ptc_vm::{Machine, Step, json};
use std::rc::Rc;

#[test]
fn what_makes_lists() {
    check(&[
        ("(list 1 2)", "(1 2)"),
        ("(list)", "()"),
        ("(apply list [1 [2] nil])", "(1 [2] nil)"),
        ("'(1 (2 [3 (4)]) {:a (5)})", "(1 (2 [3 (4)]) {:a (5)})"),
        ("(cons 0 [1 2])", "(0 1 2)"),
        ("(cons 0 nil)", "(0)"),
        ("(cons 0 \"ab\")", "(0 \"a\" \"b\")"),
        ("(list* 1 2 [3])", "(1 2 3)"),
        ("[(list* nil) (list* [1]) (list* 1 nil)]", "[nil (1) (1)]"),
        ("(reverse [1 2])", "(2 1)"),
        ("(reverse nil)", "()"),
        ("[(conj nil 1) (conj nil 1 2)]", "[(1) (2 1)]"),
        ("[(into () [1 2]) (into (list) [1 2]) (into nil [1 2]) (into nil [])]", "[(2 1) (2 1) (2 1) nil]"),
        ("(into () (map inc) [1 2])", "(3 2)"),
        ("(reduce conj () [1 2 3])", "(3 2 1)"),
        ("(transduce (map inc) conj () [1 2])", "(3 2)"),
        ("(update {} :a conj 1)", "{:a (1)}"),
    ]);
}

#[test]
fn lists_are_added_to_and_taken_from_in_front() {
    check(&[
        ("(conj '(1 2) 0 -1)", "(-1 0 1 2)"),
        ("(into '(1 2) [3 4])", "(4 3 1 2)"),
        ("[(peek '(1 2)) (peek ())]", "[1 nil]"),
        ("[(pop '(1 2)) (pop '(1)) (pop ())]", "[(2) () nil]"),
        ("[(rest '(1 2)) (rest '(1)) (rest ())]", "[(2) () ()]"),
        ("[(next '(1 2)) (next '(1)) (next ())]", "[(2) nil nil]"),
        (
            "[(nnext '(1 2 3)) (nthrest '(1 2 3) 2) (nthnext '(1 2 3) 3) (nfirst '((1 2)))]",
            "[(3) (3) nil (2)]",
        ),
        ("[(conj (rest '(1 2)) 9) (conj (rest [1 2]) 9)]", "[(9 2) [2 9]]"),
        ("(conj (cons 1 [2]) 0)", "(0 1 2)"),
        ("(let [[a & more] '(1 2 3)] (conj more a))", "(1 2 3)"),
        ("(let [a '(1 2) b (conj a 0) c (conj a 9)] [a b c])", "[(1 2) (0 1 2) (9 1 2)]"),
        (
            "(loop [stack () xs [1 2 3]] (if (seq xs) (recur (conj stack (first xs)) (rest xs)) (peek stack)))",
            "3",
        ),
        (
            "(defn rpn [s] (first (reduce (fn [[b a & more :as st] t] (case t \"+\" (conj more (+ a b)) \
             \"*\" (conj more (* a b)) (conj st (parse-long t)))) () (str/split s #\" \")))) (rpn \"2 3 4 + *\")",
            "14",
        ),
        (
            "(let [l (into () (range 100000))] [(count l) (first l) (peek (pop l)) (nth l 99999)])",
            "[100000 99999 99998 0]",
        ),
        ("(let [l (list 1)] (empty (conj l 2)))", "()"),
    ]);
}

#[test]
fn lists_are_equal_to_vectors_of_the_same_elements() {
    check(&[
        (
            "[(= '(1 2) [1 2]) (= [1 [2]] '(1 (2))) (= () []) (= () nil) (= '(1) #{1})]",
            "[true true true false false]",
        ),
        ("(get {[1 2] :found} '(1 2))", ":found"),
        ("(#{'(1)} [1])", "(1)"),
        ("(count (distinct ['(1) [1]]))", "1"),
        ("(frequencies (list '(1) [1]))", "{(1) 2}"),
        ("(sort ['(2) [1] () nil \"a\"])", "[nil () [1] (2) \"a\"]"),
        ("(compare '(1) [2])", "-1"),
        ("(case '(1 2) [1 2] :pair :other)", ":pair"),
        ("(case '(1 2) ((1 2) 3) :listed :other)", ":listed"),
        ("(case 2 (1 2) :low :other)", ":low"),
        ("(case [1 [2]] [1 (2)] :nested :other)", ":nested"),
        ("(case () (()) :empty :other)", ":empty"),
        ("(condp = [1] '(1) :one :other)", ":one"),
    ]);
}

#[test]
fn predicates_tell_lists_from_vectors() {
    check(&[
        (
            "(map list? ['(1) () (cons 1 []) (reverse [1]) [1] (map inc [1]) nil])",
            "[true true true true false false false]",
        ),
        (
            "(map (fn [p] (p '(1))) [vector? seq? sequential? coll? counted? seqable?])",
            "[false true true true true true]",
        ),
        (
            "(map (fn [p] (p '(1))) [map? associative? indexed? reversible? ifn? fn? string?])",
            "[false false false false false false false]",
        ),
        ("(type '(1))", ":list"),
    ]);
}

#[test]
fn lists_have_no_indexes() {
    let refused = |name: &str| {
        format!("!type_error type_error: {name}: a list has no indexes; make a vector of it with vec")
    };
    for (program, name) in [
        ("(contains? '(1) 0)", "contains?"),
        ("(assoc '(1) 0 2)", "assoc"),
        ("(assoc-in {:a '(1)} [:a 0] 2)", "assoc-in"),
        ("(update '(1) 0 inc)", "update"),
        ("(update-in [(list 1)] [0 0] inc)", "update-in"),
        ("(find '(1) 0)", "find"),
        ("(select-keys '(1) [0])", "select-keys"),
        ("(subvec '(1 2) 1)", "subvec"),
    ] {
        assert_eq!(run(program), refused(name), "{program}");
    }
    check(&[
        ("[(get '(1 2) 0) (get '(1 2) 0 :none) (get-in {:a '(1)} [:a 0])]", "[nil :none nil]"),
        ("[(nth '(1 2) 1) (nth '(1 2) 5) (nth '(1 2) 5 :none)]", "[2 nil :none]"),
        ("('(1 2) 0)", "!not_callable not callable: (1 2)"),
        ("(get {:a {:b 1}} '(:a :b))", "nil"),
        ("(get-in {:a {:b 1}} '(:a :b))", "1"),
        ("(assoc-in {} '(:a :b) 1)", "{:a {:b 1}}"),
        ("(assoc (vec '(1 2)) 0 9)", "[9 2]"),
    ]);
}

#[test]
fn functions_of_sequences_take_lists() {
    check(&[
        ("(map inc '(1 2))", "[2 3]"),
        (
            "[(filter odd? '(1 2)) (remove odd? '(1 2)) (concat '(1) [2]) (sort '(2 1)) (vec '(1))]",
            "[[1] [2] [1 2] [1 2] [1]]",
        ),
        ("[(first '(1 2)) (second '(1 2)) (last '(1 2)) (butlast '(1 2)) (count '(1 2))]", "[1 2 2 [1] 2]"),
        (
            "[(seq ()) (seq '(1)) (empty? ()) (not-empty ()) (not-empty '(1)) (empty '(1))]",
            "[nil (1) true nil (1) ()]",
        ),
        (
            "[(take 1 '(1 2)) (drop 1 '(1 2)) (take-while odd? '(1 2)) (partition 2 '(1 2))]",
            "[[1] [2] [1] [[1 2]]]",
        ),
        ("[(apply + '(1 2)) (apply max 3 '(1))]", "[3 3]"),
        (
            "[(reduce + '(1 2)) (set '(1 1)) (zipmap '(:a) '(1)) (flatten '(1 (2 [3])))]",
            "[3 #{1} {:a 1} [1 2 3]]",
        ),
        ("(into {} (list [:a 1] [:b 2]))", "{:a 1 :b 2}"),
        ("[(keys (list [:a 1])) (vals (list [:a 1])) (select-keys {:a 1 :b 2} '(:a))]", "[[:a] [1] {:a 1}]"),
        ("(let [[a b] '(1 2) {[c] :l} {:l '(3)}] [a b c])", "[1 2 3]"),
        ("(let [[a & {:keys [b]}] (list 1 :b 2)] [a b])", "[1 2]"),
        ("(for [x '(1 2) y '(3)] [x y])", "[[1 3] [2 3]]"),
        (
            "[(str/join \",\" '(1 2)) (str '(1 \"a\")) (pr-str '(1 \"a\")) (str ())]",
            "[\"1,2\" \"(1 \\\"a\\\")\" \"(1 \\\"a\\\")\" \"()\"]",
        ),
        ("(walk/postwalk identity '(1 (2 [3] {:a (4)})))", "(1 (2 [3] {:a (4)}))"),
        ("(walk/postwalk (fn [x] (if (list? x) (count x) x)) '[(1 2) (3)])", "[2 1]"),
        ("(walk/keywordize-keys (list {\"a\" 1}))", "({:a 1})"),
        ("[(sum '(1 2)) (avg '(1 3)) (zip '(1) '(2)) (sequence '(1))]", "[3 2.0 [[1 2]] (1)]"),
        ("[(doall '(1)) (identity '(1)) (mapcat identity '((1) (2)))]", "[(1) (1) [1 2]]"),
        ("(map-indexed vector '(:a :b))", "[[0 :a] [1 :b]]"),
        ("[(set/union #{1} '(2)) (set/subset? '(1) #{1 2})]", "[#{1 2} true]"),
        ("(group-by odd? '(1 2 3))", "{false [2] true [1 3]}"),
        ("(if () 1 2)", "1"),
    ]);
}

#[test]
fn lists_become_json_arrays() {
    let program = compile("{:a '(1 (2)) :b ()}", library(), &CompileOptions::default()).expect("a program");
    let mut machine = Machine::new(Rc::new(program), Setup::new(library()));
    while let Step::Slice = machine.resume(100_000) {}
    let value = machine.finish(true).result.expect("a value");
    let mut text = Vec::new();
    json::write(&value, &mut text).expect("it has a JSON form");
    assert_eq!(String::from_utf8_lossy(&text), r#"{"a":[1,[2]],"b":[]}"#);
    assert_eq!(run("(json/generate-string (list 1 nil))"), r#""[1,null]""#);
}
