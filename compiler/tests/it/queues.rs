//! Queues: added to behind, taken from in front; lists in everything else.

use crate::support::{check, run};

#[test]
fn queues_are_added_to_behind_and_taken_from_in_front() {
    check(&[
        ("PersistentQueue/EMPTY", "()"),
        ("clojure.lang.PersistentQueue/EMPTY", "()"),
        ("(import clojure.lang.PersistentQueue) (conj PersistentQueue/EMPTY 1)", "(1)"),
        ("(import '(clojure.lang PersistentQueue)) (conj PersistentQueue/EMPTY 1)", "(1)"),
        ("(conj PersistentQueue/EMPTY 1 2 3)", "(1 2 3)"),
        ("(into PersistentQueue/EMPTY [1 2 3])", "(1 2 3)"),
        ("(into (conj PersistentQueue/EMPTY 0) (map inc) #{1 2})", "(0 2 3)"),
        ("(reduce conj PersistentQueue/EMPTY (range 4))", "(0 1 2 3)"),
        (
            "(let [q (into PersistentQueue/EMPTY [1 2])] [(peek q) (pop q) (pop (pop q)) (pop (pop (pop q)))])",
            "[1 (2) () ()]",
        ),
        (
            "[(peek PersistentQueue/EMPTY) (first PersistentQueue/EMPTY) (seq PersistentQueue/EMPTY)]",
            "[nil nil nil]",
        ),
        (
            "(let [q (conj PersistentQueue/EMPTY 1)] [(conj (pop q) 2 3) q (empty q) (conj (empty q) 4 5)])",
            "[(2 3) (1) () (4 5)]",
        ),
        ("(let [a (conj PersistentQueue/EMPTY 1) b (conj a 2) c (conj a 3)] [a b c])", "[(1) (1 2) (1 3)]"),
        (
            "(loop [q (into PersistentQueue/EMPTY (range 1000)) n 0] \
             (if (empty? q) n (recur (let [x (peek q)] (if (< x 1000) (conj (pop q) (+ x 1000)) (pop q))) (inc n))))",
            "2000",
        ),
    ]);
}

#[test]
fn what_is_taken_of_a_queue_is_a_list() {
    check(&[
        ("(conj (seq (conj PersistentQueue/EMPTY 1 2)) 0)", "(0 1 2)"),
        ("(conj (rest (conj PersistentQueue/EMPTY 1 2)) 0)", "(0 2)"),
        ("(conj (next (conj PersistentQueue/EMPTY 1 2)) 0)", "(0 2)"),
        ("(conj (nthrest (conj PersistentQueue/EMPTY 1 2 3) 2) 0)", "(0 3)"),
        ("(let [[a & more] (conj PersistentQueue/EMPTY 1 2)] [a (conj more 0)])", "[1 (0 2)]"),
        ("(cons 0 (conj PersistentQueue/EMPTY 1))", "(0 1)"),
        (
            "[(map inc (conj PersistentQueue/EMPTY 1)) (vec (conj PersistentQueue/EMPTY 1)) (reduce + (conj PersistentQueue/EMPTY 1 2))]",
            "[[2] [1] 3]",
        ),
    ]);
}

#[test]
fn queues_are_equal_to_lists_and_vectors_of_the_same_elements() {
    check(&[
        (
            "(let [q (conj PersistentQueue/EMPTY 1 2)] [(= q [1 2]) (= '(1 2) q) (= q [2 1]) ({[1 2] :v} q) (count #{q '(1 2)})])",
            "[true true false :v 1]",
        ),
        (
            "(let [q (conj PersistentQueue/EMPTY 1)] (map (fn [p] (p q)) [list? sequential? coll? counted? seqable? vector? map? ifn?]))",
            "[true true true true true false false false]",
        ),
        (
            "(let [q (conj PersistentQueue/EMPTY 1 2)] [(count q) (empty? q) (some #{2} q) (nth q 1) (last q) (type q)])",
            "[2 false 2 2 2 :list]",
        ),
        (
            "(let [q (conj PersistentQueue/EMPTY 1 \"a\")] [(str q) (pr-str q) (json/generate-string q) (get q 0)])",
            r#"["(1 \"a\")" "(1 \"a\")" "[1,\"a\"]" nil]"#,
        ),
    ]);
    for (program, name) in [
        ("(contains? PersistentQueue/EMPTY 0)", "contains?"),
        ("(assoc PersistentQueue/EMPTY 0 2)", "assoc"),
        ("(subvec PersistentQueue/EMPTY 1)", "subvec"),
    ] {
        let text =
            format!("!type_error type_error: {name}: a list has no indexes; make a vector of it with vec");
        assert_eq!(run(program), text, "{program}");
    }
}

#[test]
fn searches_go_broad() {
    check(&[
        (
            "(def graph {:a [:b :c] :b [:d] :c [:d :e] :d [:f] :e [:f] :f []}) \
             (loop [q (conj PersistentQueue/EMPTY :a) seen #{:a} order []] \
               (if (seq q) \
                 (let [node (peek q) more (remove seen (graph node))] \
                   (recur (into (pop q) more) (into seen more) (conj order node))) \
                 order))",
            "[:a :b :c :d :e :f]",
        ),
        (
            "(defn path [graph from to] \
               (loop [q (conj clojure.lang.PersistentQueue/EMPTY [from]) seen #{from}] \
                 (when-let [p (peek q)] \
                   (if (= (last p) to) p \
                     (let [more (remove seen (graph (last p)))] \
                       (recur (reduce conj (pop q) (map (fn [n] (conj p n)) more)) (into seen more))))))) \
             (path {1 [2 3] 2 [4] 3 [5] 4 [5] 5 []} 1 5)",
            "[1 3 5]",
        ),
    ]);
}
