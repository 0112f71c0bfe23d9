//! What programs give: the examples of the language specification, and the forms of Clojure beyond the reference.

use crate::support::{check, run};
use ptc_compiler::CompileOptions;
use ptc_vm::builtins::library;
use ptc_vm::machine::Setup;
use ptc_vm::{Machine, Step, Value};
use std::rc::Rc;

#[test]
fn reading() {
    check(&[
        ("", "nil"),
        ("; only a comment", "nil"),
        ("[1 , 2]", "[1 2]"),
        (r#""a\qb""#, r#""a\\qb""#),
        (r#""A\u00e9""#, "\"Aé\""),
        ("\\newline", r#""\n""#),
        ("[\\a \\( \\space \\u0041]", r#"["a" "(" " " "A"]"#),
        ("[007 -0 1e3 -1.50 0x1F +5]", "[7 0 1000.0 -1.5 31 5]"),
        ("[1/2 -1/2 4/2 -4/2 9/5 0/7 1M -1.5M 1e3M]", "[0.5 -0.5 2 -2 1.8 0 1 -1.5 1000.0]"),
        (
            "[(+ 1/2 0.5) (integer? 4/2) (case 2 4/2 :two) (= 1M 1) (integer? 1M)]",
            "[1.0 true :two true true]",
        ),
        ("10000000000000000000000/10", "1000000000000000000000"),
        ("1/0", "!parse_error division by zero in the ratio 1/0"),
        ("[:a:b]", "[:a :b]"),
        ("(def x 5) [#'x]", "[5]"),
        ("#_1 2", "2"),
        ("'(1 2 [a :b])", "(1 2 ['a :b])"),
        ("(quote (1 2))", "(1 2)"),
        ("'{a 1}", "{'a 1}"),
        ("()", "()"),
        ("(if () 1 2)", "1"),
        ("#{:a \"a\" 1 1.0}", "#{1 1.0 :a \"a\"}"),
        ("(+ 1 2)))]}", "3"),
        ("['a/b '-> :->]", "['a/b '-> :->]"),
    ]);
}

#[test]
fn what_takes_a_finite_part_takes_it_of_endless_sequences() {
    check(&[
        ("(nth (iterate #(* 2 %) 1) 10)", "1024"),
        (
            "[(first (range)) (second (iterate inc 5)) (nth (cycle [1 2 3]) 100) (nth (range) -1 :none)]",
            "[0 6 2 :none]",
        ),
        ("(take 3 (filter odd? (map inc (range))))", "[1 3 5]"),
        ("(first (drop-while #(< % 1000) (iterate #(* 3 %) 1)))", "2187"),
        ("(take 3 (rest (rest (range))))", "[2 3 4]"),
        ("(take 4 (cons :a (concat [:b] (repeat :c))))", "[:a :b :c :c]"),
        ("(take 3 (map-indexed vector (cycle [:x :y])))", "[[0 :x] [1 :y] [2 :x]]"),
        ("(take 2 (partition 2 (range)))", "[[0 1] [2 3]]"),
        ("(take 5 (mapcat #(repeat % %) (range)))", "[1 2 2 3 3]"),
        ("(take 3 (distinct (map #(quot % 2) (range))))", "[0 1 2]"),
        ("(take-while #(< % 5) (map #(* % %) (range)))", "[0 1 4]"),
        (
            "[(some #(when (> % 10) %) (range)) (every? #(< % 10) (range)) (not-any? #(= % 3) (range))]",
            "[11 false false]",
        ),
        ("(reduce (fn [a x] (if (> a 100) (reduced a) (+ a x))) (range))", "105"),
        ("(reduce (fn [a x] (if (> x 3) (reduced a) (conj a x))) [] (range))", "[0 1 2 3]"),
        ("(into [] (comp (filter even?) (take 3)) (range))", "[0 2 4]"),
        ("(take 2 (sequence (map inc) (range)))", "[1 2]"),
        ("(transduce (take 4) + (range))", "6"),
        ("(let [[a b & more] (iterate inc 5)] [a b (first more)])", "[5 6 7]"),
        ("(map vector (iterate inc 10) [:a :b])", "[[10 :a] [11 :b]]"),
        ("(zipmap [:a :b] (map inc (range)))", "{:a 1 :b 2}"),
        ("(interleave [:a :b] (iterate inc 0))", "[:a 0 :b 1]"),
        ("[(empty? (range)) (boolean (seq (range)))]", "[false true]"),
        ("(loop [s (map inc (range)) n 0] (if (= n 100) (first s) (recur (rest s) (inc n))))", "101"),
        (
            "(def primes (filter (fn [n] (not-any? #(zero? (mod n %)) (range 2 n))) (iterate inc 2))) (take 5 primes)",
            "[2 3 5 7 11]",
        ),
        (
            "(defn fibs [] (map first (iterate (fn [[a b]] [b (+ a b)]) [0 1]))) (nth (fibs) 50)",
            "12586269025",
        ),
        ("(first (filter #(> % 10) (map #(* % %) (range 100000))))", "16"),
        ("(take 0 (map #(/ 1 %) (range)))", "[]"),
        ("(first (concat [1] (map inc (range)) [2]))", "1"),
    ]);
    for refused in [
        "(count (range))",
        "(sort (map inc (range)))",
        "(map inc (range))",
        "(vec (filter odd? (range)))",
        "(str/join (cons 1 (range)))",
    ] {
        let got = run(refused);
        assert!(got.contains("(range)") || got.contains("endless"), "{refused}: {got}");
    }
}

#[test]
fn memoized_functions_remember() {
    check(&[
        (
            "(def fib (memoize (fn [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))) (fib 80)",
            "23416728348467685",
        ),
        (
            "(let [g (memoize vector)] [(g 1) (g 1.0) (g :a) (g \"a\") (g) (g nil) (g 1)])",
            "[[1] [1.0] [:a] [\"a\"] [] [nil] [1]]",
        ),
        ("[(= (memoize inc) (memoize inc)) (= (memoize inc) (memoize dec))]", "[true false]"),
        (
            "(def slow (memoize (fn [x] (reduce + (range 20000)) x))) (map slow (repeat 100 7)) (last (map slow (repeat 1000 7)))",
            "7",
        ),
    ]);
}

#[test]
fn numbers_that_are_read_as_others_are_noted_once_a_kind() {
    let notes = |source: &str| {
        let program =
            ptc_compiler::compile(source, library(), &CompileOptions::default()).expect("a program");
        let mut machine = Machine::new(Rc::new(program), Setup::new(library()));
        while let Step::Slice = machine.resume(100_000) {}
        machine.finish(true).notes.iter().map(|note| note.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        notes("[1/3 2/3 1.5M 2M]"),
        [
            "1/3 is read as the float 0.3333333333333333: the language has no ratios",
            "1.5M is read as 1.5: the language has no decimals"
        ]
    );
    assert_eq!(notes("[4/2 (/ 1 3) 0.5 1N]"), [""; 0]);
}

#[test]
fn a_bare_special_form_is_a_step() {
    check(&[
        ("(loop [i 0] (if (< i 5) (-> i inc recur) i))", "5"),
        ("(loop [i 0] (if (< i 5) (->> i inc recur) i))", "5"),
        ("(loop [i 0] (if (< i 5) (some-> i inc recur) i))", "5"),
        ("(loop [i 0 acc []] (if (< i 3) (-> i inc (recur (conj acc i))) acc))", "[0 1 2]"),
        ("((fn [n] (if (pos? n) (-> n dec recur) :end)) 1000)", ":end"),
        ("[(-> 5 return) 1]", "5"),
        ("(some->> [1 2] (map inc) fail)", "!fail [2 3]"),
        ("(-> nil or)", "nil"),
        ("(cond-> 1 true do)", "1"),
        ("(doto 5 do)", "5"),
        ("(-> inc (apply [1]))", "2"),
        ("((-> inc juxt) 1)", "[2]"),
        ("(->> 5 inc (def six)) six", "6"),
        ("(-> name quote)", "'name"),
        ("(-> 5 (if :yes :no) (case :yes 1 2))", "1"),
        ("(let [when inc] (-> 5 when))", "6"),
        ("(-> 1 inc recur inc)", "!invalid_form invalid_form: recur must be in tail position"),
        ("(-> 5 let)", "!invalid_form invalid_form: let bindings must be a vector"),
        ("(-> 5 def)", "!invalid_form invalid_form: def name must be a symbol, got: 5"),
    ]);
}

#[test]
fn remainders_by_where_the_operands_lie() {
    check(&[
        ("(let [a -7 b 3] [(mod a b) (mod a 3) (mod (- a) b) (mod (+ a 1) 4) (mod 7 -3)])", "[2 2 1 2 -2]"),
        ("(let [a -7 b 2.0] [(mod a b) (mod a 2.0) (mod 1N 5) (mod a -3) (mod a -1)])", "[1.0 1.0 1 -1 0]"),
        ("(mod -9223372036854775808 -1)", "0"),
        ("(let [a 7] (mod a 0))", "!arithmetic_error arithmetic_error: division by zero"),
        (
            "(let [a 7] [(mod a nil)])",
            "!arithmetic_error arithmetic_error: bad argument in arithmetic expression",
        ),
        (
            "(defn mod [a b] [b a]) (let [a 1 b 2] [(mod a b) (mod a 5) (mod (+ a 1) b) (mod 3 4)])",
            "[[2 1] [5 1] [2 2] [4 3]]",
        ),
    ]);
}

#[test]
fn maps_of_constant_keys() {
    check(&[
        (
            "(let [x 1] [{:b (inc x) \"a\" x 3 nil :c {:d x}} (assoc {:k x} :j x) (keys {1 x :a x \"a\" x}) {x 1}])",
            "[{3 nil :b 2 :c {:d 1} \"a\" 1} {:j 1 :k 1} [1 :a \"a\"] {1 1}]",
        ),
        // In the order of the text, whatever the order of the keys.
        ("(def n 0) {:b (do (def n (+ n 1)) n) :a (do (def n (* n 10)) n)}", "{:a 10 :b 1}"),
        ("(map (fn [x] {:v x :n (when (odd? x) {:v (* 2 x)})}) [1 2])", "[{:n {:v 2} :v 1} {:n nil :v 2}]"),
        (
            "(let [m {:a (inc 0)}] [(= m {:a 1}) (m :a) (dissoc m :a) (update m :a inc) m])",
            "[true 1 {} {:a 2} {:a 1}]",
        ),
    ]);
}

#[test]
fn keywords_read_each_element() {
    check(&[
        (
            "(map :a [{:a 1} {\"a\" 2} #{:a} nil 5 {:b 1} {:x 0 :a 7} {:a 1 \"a\" 2}])",
            "[1 2 :a nil nil nil 7 1]",
        ),
        ("(filter :a [{:a 1 :b 2} {:a false} {:b 1} {\"a\" 0}])", "[{:a 1 :b 2} {\"a\" 0}]"),
        ("(map :a-b [{:a_b 1} {\"a_b\" 2} {\"a-b\" 3 :a_b 4}])", "[1 2 3]"),
        (
            "(group-by :k [{:k 1 :v 1} {:k nil} {:k 1 :v 2} {}])",
            "{nil [{:k nil} {}] 1 [{:k 1 :v 1} {:k 1 :v 2}]}",
        ),
        ("(map :a {:a 1})", "[nil]"),
    ]);
}

#[test]
fn conditionals() {
    check(&[
        ("[(if 1 2) (if nil 2) (if-not nil 1 2) (when 0 1 2) (when-not 1 2)]", "[2 nil 1 2 nil]"),
        ("[(and) (or) (and 1 nil 2) (or nil false 3) (and 1 2)]", "[true nil nil 3 2]"),
        ("[(cond) (cond false 1) (cond nil 1 :else 2) (cond false 1 nil 2 3 4)]", "[nil nil 2 4]"),
        ("(case 2.0 1 :a (2 3) :b :c)", ":b"),
        ("[(case :z :a 1) (case [1 2] [1 2] :v :d) (case nil nil 1) (case 5 5)]", "[nil :v 1 5]"),
        ("(condp > 4 10 :big 1 :small :none)", ":big"),
        ("[(condp = 5 1 :a 2 :b) (condp = 2 1 :a 2 :b)]", "[nil :b]"),
        ("(condp some [1 2 3] #{0 6} :>> inc #{2} :>> (fn [x] (* 10 x)))", "20"),
        ("(if-let [x nil] 1 [x])", "[nil]"),
        ("[(if-let [x 1] x) (if-let [x nil] x)]", "[1 nil]"),
        ("(let [x 5] (if-let [x nil] x x))", "5"),
        ("(def x 5) (if-let [x nil] x x)", "5"),
        ("[(if-some [x false] [x] 0) (when-some [x nil] 1) (when-let [x 1] 2 x)]", "[[false] nil 1]"),
        (
            "[(when-first [x [7 8]] x) (when-first [x []] x) (when-first [[k v] {:a 1}] [v k])]",
            "[7 nil [1 :a]]",
        ),
        ("(when-let [{:keys [a]} {:a 2}] a)", "2"),
        ("(if-let [[a b] [1 2]] (+ a b) :none)", "3"),
        ("[(or nope 7) (or nope)]", "[7 nil]"),
        ("(def seen (conj (or seen #{}) 1)) (def seen (conj (or seen #{}) 2)) seen", "#{1 2}"),
        ("(let [a 1] (or a nope))", "1"),
    ]);
}

#[test]
fn binding_and_loops() {
    check(&[
        ("(let [x 1 y (inc x) x 10] [x y])", "[10 2]"),
        ("(let [[a [b] & r] [1 [2 3] 4 5]] [a b r])", "[1 2 [4 5]]"),
        ("(let [[a & r] nil] [a r])", "[nil nil]"),
        ("(let [[a :as v] [1 2]] [a v])", "[1 [1 2]]"),
        ("(let [[a & r :as v] [1 2]] [a r v])", "[1 [2] [1 2]]"),
        ("(let [{:keys [k] :or {k 9}} {:k nil}] k)", "nil"),
        ("(let [{:keys [k] :or {k (inc 8)}} {}] k)", "9"),
        ("(let [{:keys [a b] :or {b [a]}} {:a 1}] b)", "[1]"),
        ("(let [{[a {:keys [b]}] :p :as m} {:p [1 {:b 2}]}] [a b (count m)])", "[1 2 1]"),
        ("(let [{total :sum [x] \"pts\"} {:sum 3 \"pts\" [8]}] [total x])", "[3 8]"),
        ("(let [{:strs [a] :syms [s] in true} {\"a\" 1 's 2 true 3}] [a s in])", "[1 2 3]"),
        ("(let [{:as m} {:a 1} {} {:b 2}] m)", "{:a 1}"),
        ("((fn [a & {:keys [b]}] [a b]) 1 :b 2)", "[1 2]"),
        ("(let [[a & {:keys [k]}] [1 :k 2]] [a k])", "[1 2]"),
        ("(loop [n 5 acc 1] (if (= n 0) acc (recur (dec n) (* acc n))))", "120"),
        ("(loop [[x & more] [1 2 3] n 0] (if x (recur more (+ n x)) n))", "6"),
        (
            "(loop [{:keys [a]} {:a 3} b a c [a b]] (if (> a 0) (recur {:a (dec a)} a c) [a b c]))",
            "[0 1 [3 3]]",
        ),
        ("(loop [i 0] (cond (= i 3) i :else (recur (inc i))))", "3"),
        ("(loop [i 0] (when (< i 3) (recur (inc i))))", "nil"),
        ("(loop [i 0 acc []] (let [j (* i i)] (if (< i 4) (recur (inc i) (conj acc j)) acc)))", "[0 1 4 9]"),
        ("((fn [s & xs] (if (empty? xs) s (recur (+ s (first xs)) (rest xs)))) 0 1 2 3)", "6"),
        ("(defn gcd [a b] (if (= b 0) a (recur b (mod a b)))) (gcd 84 30)", "6"),
        ("(loop [x 5 y 1] (if (= y 3) [x y] (recur x (inc y))))", "[5 3]"),
        ("(loop [x [1] y []] (if (= (count y) 2) [x y] (recur x (conj x 9))))", "[[1] [1 9]]"),
        ("(for [x [1 2 3] :when (odd? x) y [:a :b]] [x y])", "[[1 :a] [1 :b] [3 :a] [3 :b]]"),
        ("(for [x (range 9) :while (< x 3) :let [s (* x x)]] s)", "[0 1 4]"),
        ("(for [x (range 4) y (range 4) :while (< y x)] [x y])", "[[1 0] [2 0] [2 1] [3 0] [3 1] [3 2]]"),
        ("(for [x [1 2] :let [a x b a] :when (> b 1) y [a b] :let [[c] [y]]] [a b c])", "[[2 2 2] [2 2 2]]"),
        ("(for [[k v] {:b 2 :a 1}] [v k])", "[[1 :a] [2 :b]]"),
        ("(for [x [1 2] x [10 20]] x)", "[10 20 10 20]"),
        ("(for [x nil] x)", "[]"),
        ("(doseq [x [1]] x)", "nil"),
        ("(def n 0) (doseq [x [1 2]] (def n (+ n x))) n", "3"),
        ("(def n 0) (dotimes [i 4] (def n (+ n i))) n", "6"),
        ("(count (for [x (range 2000)] x))", "2000"),
        ("(let [for (fn [x] (* x 2))] (for 4))", "8"),
    ]);
}

#[test]
fn functions() {
    check(&[
        ("((fn [] 1 2 3))", "3"),
        ("((fn [x x] x) 1 2)", "2"),
        ("((fn f [n] (if (= n 0) :done (f (dec n)))) 5)", ":done"),
        ("((fn x [x] x) 1)", "1"),
        ("(fn [a [b] & more])", "#fn[a _ & more]"),
        ("[#(+ %1 %3) #(vector % %&) (fn [])]", "[#fn[p1 p2 p3] #fn[p1 & rest] #fn[]]"),
        ("(fn ([x] x) ([x & ys] ys))", "#fn([x] [x & ys])"),
        ("(#(42))", "42"),
        ("(#([% %&]) 1 2 3)", "[1 [2 3]]"),
        ("[(#(:a)) (#(%&) 1) (#() ) (#([% 1]) 5)]", "[:a [1] () [5 1]]"),
        ("[(#(%) (fn [] 1)) (#(%2) 1 +) (#((fn [] 2))) (#((constantly %)) 3) (#(+))]", "[1 0 2 3 0]"),
        ("((#(fn [y] (+ % y)) 1) 2)", "3"),
        ("(defn f ([] 0) ([x] [x]) ([x & r] [x r])) [(f) (f 1) (f 1 2 3)]", "[0 [1] [1 [2 3]]]"),
        (
            "(defn sum ([xs] (sum xs 0)) ([xs n] (if (empty? xs) n (recur (rest xs) (+ n (first xs)))))) (sum [1 2 3])",
            "6",
        ),
        (
            "(letfn [(ev? [n] (if (= n 0) true (od? (dec n)))) (od? [n] (if (= n 0) false (ev? (dec n))))] (ev? 9))",
            "false",
        ),
        ("(let [k 3] (letfn [(f [x] (+ x k)) (g [x] (map (fn [y] (f y)) x))] (g [1 2])))", "[4 5]"),
        ("(letfn [(f [n] (fn [] (if (= n 0) :z ((f (dec n))))))] ((f 3)))", ":z"),
        ("(defn a [] (b)) (defn b [] 1) (a)", "1"),
        ("(declare b) (defn a [] (b)) (defn b [] 2) (a)", "2"),
        ("(let [x 1] (((fn [] (fn [] (fn [] x))))))", "#fn[]"),
        ("(let [x 1] ((((fn [] (fn [] (fn [] x)))))))", "1"),
        ("(let [x 1 f (fn f [n] (if (= n 0) x ((fn [] (f (dec n))))))] (f 3))", "1"),
        ("(def g 1) (defn f [] g) (def g 2) (f)", "2"),
        ("(let [x 1] (def f (fn [] x)) (def x 2) [(f) x])", "[1 1]"),
        ("(def h (fn [] (inc 1))) (def inc dec) (h)", "0"),
        ("(def inc dec) [(inc 1) (clojure.core/inc 1)]", "[0 2]"),
        ("(def + -) [(+ 5 1) (+ 5 3)]", "[4 2]"),
        ("(let [inc dec] (inc 1))", "0"),
        ("(let [join 5] (str/join \",\" [1 2]))", "\"1,2\""),
        ("(def when 5) (when true 1)", "1"),
        ("(let [when (fn [x] x)] (when 3))", "3"),
        ("(let [if 5] (if 1 2 3))", "2"),
        ("(defn dotimes [x] (* 2 x)) (dotimes 4)", "8"),
        ("(let [source 3] (+ source 1))", "4"),
        ("(do (return 3) (/ 1 0))", "3"),
        ("[1 (return 2) (/ 1 0)]", "2"),
        ("(-> (return 1) (+ 1) (* 2))", "1"),
        ("(map (fn [x] (if (= x 2) (return x) x)) [1 2 3])", "2"),
        ("[(apply + 1 [2 3]) ((juxt inc dec) 1) (apply juxt [inc dec])]", "[6 [2 0] #fn[...]]"),
        ("(def x 1)", "#'x"),
        ("(defonce x 1) (defonce x 2) x", "1"),
        ("(defn f \"doc\" [x] x) (f 1)", "1"),
        ("(declare x)", "#'x"),
        ("[(task \"a\" (+ 1 2)) (step-done \"a\" \"t\") (task-reset \"a\")]", "[3 \"t\" nil]"),
    ]);
}

#[test]
fn threading() {
    check(&[
        ("(-> 5 (if :a :b))", ":a"),
        ("(-> {:a 1} :a)", "1"),
        ("(->> [1 2] (map inc) (reduce +))", "5"),
        ("(->> [1 2] (for [x [0]]))", "[[1 2]]"),
        ("(->> 3 (let [x 4] (+ x)))", "3"),
        ("(-> [a 1] (let a))", "1"),
        ("(as-> 1 x (+ x 1) (* x x))", "4"),
        ("(as-> [1] x (conj x x) (conj x (fn [] x)) (count x))", "3"),
        ("(cond-> 1 true inc false (* 9) :x (+ 1))", "3"),
        ("(cond-> [] true (conj 1) nil (conj 2) 1 (conj 3))", "[1 3]"),
        ("(cond->> [1 2] true (map inc) false (filter odd?))", "[2 3]"),
        ("[(some-> {:a nil} :a inc) (some-> {:a 1} :a inc) (some->> nil (map inc))]", "[nil 2 nil]"),
        ("(-> 5 #(+ % 1))", "6"),
        ("(-> 5 ((fn [x] (* x x))))", "25"),
        ("(-> 10 (- 1) (- 2) (/ 7))", "1"),
        ("(-> {} (assoc :a 1) (cond-> true (assoc :b 2)) (assoc :c 3))", "{:a 1 :b 2 :c 3}"),
        ("(-> x (or 5) inc)", "6"),
        ("(let [x 1] (-> x (+ x) (+ x)))", "3"),
        ("(let [v [1]] (->> (conj v 2) (into v) (conj v)))", "[1 [1 1 2]]"),
        ("(doto 1 (+ 2))", "1"),
        (
            "(def log []) (->> (do (def log (conj log :x)) 1) (max (do (def log (conj log :y)) 0))) log",
            "[:y :x]",
        ),
        (
            "(def log []) (-> (do (def log (conj log :x)) 1) (max (do (def log (conj log :y)) 0))) log",
            "[:x :y]",
        ),
        ("(let [deep (fn [m] (-> m :a :b (:c 9)))] [(deep {:a {:b {:c 1}}}) (deep {})])", "[1 9]"),
    ]);
}

#[test]
fn evaluation_goes_from_left_to_right() {
    let trace = |form: &str| run(&format!("(def log []) (defn t [x] (def log (conj log x)) x) {form} log"));
    assert_eq!(trace("[(t 1) {(t 2) (t 3) (t 4) (t 5)} #{(t 6)}]"), "[1 2 3 4 5 6]");
    assert_eq!(trace("((do (t 1) vector) (t 2) (t 3))"), "[1 2 3]");
    assert_eq!(trace("(-> (t 1) ((do (t 0) vector) (t 2)) (vector (t 3)))"), "[0 1 2 3]");
    assert_eq!(trace("(let [a (t 1) {:keys [b] :or {b (t 2)}} {}] (t 3))"), "[1 2 3]");
    assert_eq!(trace("(condp (do (t 1) =) (t 3) (t 2) 0 (t 3) (t 4) (t 5))"), "[1 3 2 3 4]");
    assert_eq!(trace("(for [x [(t 1)] y [(t 2)]] (t 3))"), "[1 2 3]");
}

/// What a place of a program remembers from its last run, where a key was, must not show in steps: comparing long names
/// is charged.
#[test]
fn a_program_that_runs_again_takes_the_same_steps() {
    let key = "k".repeat(80);
    let text = format!("(def m {{\"{key}a\" 1 \"{key}b\" 2}}) [(:{key}b m) (map :{key}b [m m])]");
    let program =
        Rc::new(ptc_compiler::compile(&text, library(), &CompileOptions::default()).expect("it compiles"));
    let steps = || {
        let mut machine = Machine::new(program.clone(), Setup::new(library()));
        assert!(matches!(machine.resume(u64::MAX), Step::Done));
        let outcome = machine.finish(true);
        assert!(matches!(outcome.result, Ok(Value::Vector(_))));
        outcome.steps
    };
    let first = steps();
    assert_eq!([steps(), steps()], [first, first]);
}

#[test]
fn shared_values_are_not_changed_in_place() {
    check(&[
        ("(let [a [1] b (conj a 2)] [a b])", "[[1] [1 2]]"),
        ("(let [a [1] b a c (conj a 2)] [b c])", "[[1] [1 2]]"),
        ("(let [a [1]] (if (empty? a) a (conj a (count a))))", "[1 1]"),
        ("(let [a [1] f (fn [] (conj a 2))] [(f) (f) a])", "[[1 2] [1 2] [1]]"),
        (
            "(let [a [1]] (loop [i 0 acc []] (if (< i 2) (recur (inc i) (conj acc (conj a i))) acc)))",
            "[[1 0] [1 1]]",
        ),
        ("(let [a [1]] (for [x [5 6]] (conj a x)))", "[[1 5] [1 6]]"),
        (
            "(let [m {:a 1}] (for [x [1 2] :let [n (assoc m :x x)] y [3 4]] (assoc n :y y)))",
            "[{:a 1 :x 1 :y 3} {:a 1 :x 1 :y 4} {:a 1 :x 2 :y 3} {:a 1 :x 2 :y 4}]",
        ),
        ("(loop [acc [] i 0] (if (< i 3) (recur (conj acc i) (inc i)) acc))", "[0 1 2]"),
        (
            "(loop [acc [] prev nil i 0] (if (< i 3) (recur (conj acc i) acc (inc i)) [acc prev]))",
            "[[0 1 2] [0 1]]",
        ),
        ("(def v [1]) (def w (conj v 2)) [v w]", "[[1] [1 2]]"),
        ("(defn f [] (conj [1 2] 3)) [(f) (f)]", "[[1 2 3] [1 2 3]]"),
        ("(letfn [(f [x] (conj x (g x))) (g [x] (count x))] (let [a [1]] [(f a) a]))", "[[1 1] [1]]"),
    ]);
}

#[test]
fn json_keys_become_what_the_program_says() {
    check(&[
        (
            r#"(json/parse-string "{\"a\": [{\"b c\": 1, \"d\": {\"e\": 2}}]}" true)"#,
            r#"{:a [{:d {:e 2} "b c" 1}]}"#,
        ),
        (r#"(json/parse-string "{\"a\": 1}" keyword)"#, "{:a 1}"),
        (r#"(json/parse-string "{\"a\": 1}" :key-fn keyword)"#, "{:a 1}"),
        (
            r#"(json/read-str "{\"a\": {\"b\": 1}}" :key-fn (fn [k] (keyword (str "x-" k))))"#,
            "{:x-a {:x-b 1}}",
        ),
        (r#"(json/parse-string "{\"a\": [\"a\"]}" str/upper-case)"#, r#"{"A" ["a"]}"#),
        (r#"(json/parse-string "{\"a\": 1}" {:key-fn keyword})"#, "{:a 1}"),
        (r#"(json/parse-string "{\"a\": 1}" false)"#, r#"{"a" 1}"#),
        (r#"(map #(json/parse-string % true) ["{\"a\":1}" "[2]" "x"])"#, "[{:a 1} [2] nil]"),
        (r#"(map :a (json/parse-lines "{\"a\":1}\n{\"a\":2}" true))"#, "[1 2]"),
        (r#"(json/parse-lenient "{'a': None}" true)"#, "{:a nil}"),
        (
            r#"(json/parse-string "{}" 5)"#,
            "!type_error type_error: json/parse-string: arg 2 expected true or a function for the keys, got 5",
        ),
        (
            r#"(json/parse-string "{}" :bigdec true)"#,
            "!type_error type_error: json/parse-string: unknown option :bigdec, expected :key-fn",
        ),
    ]);
}

#[test]
fn numbers_are_rounded_to_digits() {
    check(&[
        (
            "[(round 2.345 2) (round -2.345 2) (round 1.005 2) (round 2.5) (round 3 2)]",
            "[2.35 -2.35 1.01 3 3]",
        ),
        (
            "[(round 9.999 2) (round 0.004 2) (round 1234.5 -2) (round 1250 -2) (round -1250 -2)]",
            "[10.0 0.0 1200.0 1300 -1300]",
        ),
        (
            "[(round 1e300 2) (round 1e-300 2) (round ##Inf 2) (round 0.1 20) (round 99.5 0) (round 5 -30)]",
            "[1.0e300 0.0 ##Inf 0.1 100.0 0]",
        ),
        ("(round 1.5 nil)", "!type_error type_error: round: invalid argument types: number, nil"),
        ("[(Math/round 2.5) (Math/round -2.5) (Math/floor 2.5) (Math/ceil 2.1)]", "[3 -2 2.0 3.0]"),
        ("[(clojure.math/sqrt 9) (clojure.math/floor 2.5) clojure.math/PI]", "[3.0 2.0 3.141592653589793]"),
    ]);
}

#[test]
fn namespaces_are_loaded_by_name_only() {
    check(&[
        ("(require '[clojure.set :as s]) (s/union #{1} #{2})", "#{1 2}"),
        (
            "(require '[clojure.set :as s] '[clojure.string :as t]) [(t/join (s/union #{1} #{2})) (map t/trim [\" a\"])]",
            "[\"12\" [\"a\"]]",
        ),
        ("(require 'clojure.walk)", "nil"),
        ("(require '(clojure [set :as s] string) :reload) (s/difference #{1 2} #{2})", "#{1}"),
        (
            "(require '[clojure.string :as s :refer [reverse]]) [(reverse \"abc\") (map reverse [\"ab\"]) (s/upper-case \"x\")]",
            "[\"cba\" [\"ba\"] \"X\"]",
        ),
        ("(use 'clojure.string) (reverse \"abc\")", "\"cba\""),
        ("(require '[clojure.string :refer :all]) (let [reverse 5] reverse)", "5"),
        ("(require '[clojure.string :refer :all]) (defn reverse [x] [x]) (reverse 1)", "[1]"),
        ("(require '[clojure.string :as json]) (json/upper-case \"a\")", "\"A\""),
        ("(require '[cheshire.core :refer [parse-string]]) (parse-string \"[1]\")", "[1]"),
        ("(require '[clojure.data.json]) (clojure.data.json/read-str \"[1]\")", "[1]"),
        ("(require '[clojure.math :as m]) (m/sqrt 4)", "2.0"),
        (
            "(ns a.b \"text\" {:k 1} (:refer-clojure :exclude [map]) (:require [clojure.string :as s]) (:import (java.time LocalDate) java.util.Date)) (s/trim \" x \")",
            "\"x\"",
        ),
        ("(import 'java.time.LocalDate '(java.time Instant Duration)) 1", "1"),
        ("(defn require [x] x) (require 5)", "5"),
        ("(defn ns [x] x) (ns 5)", "5"),
    ]);
}

#[test]
fn what_programs_of_clojure_have_and_mean_nothing_more() {
    check(&[
        ("(as-> [1 2] $ (map inc $) (conj $ 9))", "[2 3 9]"),
        ("(let [$x 1 a$b 2] (+ $x a$b))", "3"),
        ("(def ^:private y 2) y", "2"),
        ("(defn ^String f [^long x ^{:a 1} z] (+ x z)) (f 1 2)", "3"),
        ("(fn [^String s] s)", "#fn[s]"),
        ("[^:a ^:b 1 '^:c x]", "[1 'x]"),
        ("(keys (filter (fn [[k v]] (odd? v)) {:a 1 :b 2 :c 3}))", "[:a :c]"),
        ("(vals (sort-by val > {:a 1 :b 2}))", "[2 1]"),
        ("(vals [])", "nil"),
        ("(keys [1])", "!type_error type_error: keys: arg 1 expected map, got list"),
        ("(vals [[1 2] [3]])", "!type_error type_error: vals: arg 1 expected map, got list"),
        ("(pprint {:a 1})", "nil"),
        ("(require '[clojure.pprint :as pp]) (pp/pprint [1])", "nil"),
        ("(require '[clojure.pprint :refer [pprint]]) (pprint [1])", "nil"),
        ("(require '[clojure.data.csv :as csv]) (csv/read-csv \"a,b\")", r#"[["a" "b"]]"#),
        ("(require '[csv :as c]) (c/parse-string \"a\\n1\")", r#"[{"a" "1"}]"#),
        (
            "(csv/foo 1)",
            "!invalid_form invalid_form: csv/foo is not available. CSV functions: csv/generate-string, csv/parse-string, csv/read-csv",
        ),
    ]);
}

/// Ruling 174: what real Clojure gives.
#[test]
fn texts_and_collections_are_those_of_clojure() {
    check(&[
        ("(clojure.string/split \"line1\\nline2\\n\" #\"\\n\")", "[\"line1\" \"line2\"]"),
        ("(count (clojure.string/split \"#..#\" #\"\"))", "4"),
        ("(get-in {:rows [\"xyz\"]} [:rows 0 2])", "\"z\""),
        ("[(get :k :a) (get #{1} 3 :none) (get 42 :a :none) (contains? \"abc\" 1) (contains? [5] 5)]", "[nil :none :none true false]"),
        ("(if (re-seq #\"z\" \"abc\") :found :none)", ":none"),
        ("(when-let [ms (re-seq #\"\\d+\" \"abc\")] (count ms))", "nil"),
        ("[(keys {}) (vals {}) (take-last 0 [1]) (merge nil nil) (merge-with + nil nil) (vec nil)]", "[nil nil nil nil nil []]"),
        (
            "(defn deep-merge [a & ms] (if (map? a) (apply merge-with deep-merge a ms) (apply merge-with deep-merge ms)))
             (deep-merge {:a {:b true}} {:a {:b nil}})",
            "{:a {:b nil}}",
        ),
        ("[(apply + nil) (apply str (next [1])) (apply vector \"ab\") (apply max 3 (next [5])) (apply concat nil)]", "[0 \"\" [\"a\" \"b\"] 3 []]"),
        ("(loop [[x & more] [1 2 3] n 0] (if more (recur more (+ n x)) (+ n x)))", "6"),
        ("[((fn [& xs] (when xs (count xs)))) ((fn [a & {:as opts}] opts) 1) (let [[a & r] [1]] (if r :more :end))]", "[nil nil :end]"),
        ("((fn [a & {:keys [b] :or {b 2}}] [a b]) 1)", "[1 2]"),
        ("[(#(vector % %&) 1) (#(vector % %&) 1 2)]", "[[1 nil] [1 [2]]]"),
        ("(map (fn [[a & r]] [a (apply str r)]) [\"abc\"])", "[[\"a\" \"bc\"]]"),
        ("(let [[a b :as s] \"xy\"] [a b s])", "[\"x\" \"y\" \"xy\"]"),
        ("(let [s \"xyz\" [a & r] s] [a r s])", "[\"x\" [\"y\" \"z\"] \"xyz\"]"),
        ("[(let [[a & r] #{1 2}] [a r]) (let [[[k v] & r] {:a 1}] [k v r])]", "[[1 [2]] [:a 1 nil]]"),
        ("[([7 8] 1) (map [:a :b :c] [0 2]) (sort-by [3 1 2] [0 1 2]) (reduce #(%1 %2) [[1 2] [3 4]] [1 0])]", "[8 [:a :c] [1 2 0] 3]"),
        ("(sort-by [:a :n] [{:a {:n 2}} {:a {:n 1}}])", "[{:a {:n 1}} {:a {:n 2}}]"),
        ("[(str 'a) (str \"x-\" 'y) (pr-str '[a b/c]) (format \"%s\" 'a) (clojure.string/join \" \" '[a b])]", "[\"a\" \"x-y\" \"[a b/c]\" \"a\" \"a b\"]"),
        ("[(= 'nil nil) 'true 'false '(nil true)]", "[true true false (nil true)]"),
        ("[(print-str [\"a\" \"b\"]) (print-str \"x\" [\"1\" nil] {:k \"v\"})]", "[\"[a b]\" \"x [1 nil] {:k v}\"]"),
    ]);
}

/// Ruling 178.
#[test]
fn values_are_told_apart_as_in_clojure() {
    check(&[
        ("[('a {'a 1}) ('a {} 2) ('a nil) ('a #{'a}) (map 'a [{'a 1}])]", "[1 2 nil 'a [1]]"),
        ("[(ifn? 'a) (apply 'a [{'a 1}])]", "[true 1]"),
        ("('a)", "!invalid_keyword_call invalid_keyword_call: ('a) takes 1 or 2 arguments, got 0"),
        (r#"[(str #"a\d") (pr-str #"a") (str "<" #"b" ">")]"#, r##"["a\\d" "#\"a\"" "<b>"]"##),
        (r#"(= (parse-uuid "B683-0-1-2-3") (parse-uuid "0000b683-0000-0001-0002-000000000003"))"#, "true"),
        (
            r#"(map parse-uuid ["1-2-3-4" "1-2-3-4-5-6" "1-2-3--5" "1-2-3-4-g" "123456789-2-3-4-5"])"#,
            "[nil nil nil nil nil]",
        ),
        (
            r#"[(.compareTo "c" "a") (.compareTo "ab" "abcd") (.compareTo "é" "e") (.compareTo "a" "a") (.compareTo "a😀" "a😁") (.compareTo "" "👍")]"#,
            "[2 -2 132 0 -1 -2]",
        ),
        (
            r#"[(re-seq #"\\" "a\\b") (str/split "a\\b" #"\\") (re-find #"\\d" "a1")]"#,
            r#"[["\\"] ["a" "b"] "1"]"#,
        ),
        ("(map (fn [p] (p (range))) [seq? sequential? coll? seqable?])", "[true true true true]"),
        (
            "(map (fn [p] (p (range))) [vector? list? counted? associative? map? ifn?])",
            "[false false false false false false]",
        ),
    ]);
}

/// Ruling 174: names that programs know from Clojure and its usual libraries.
#[test]
fn names_of_clojure_and_java() {
    check(&[
        ("(defn- f [x] (inc x)) (f 1)", "2"),
        ("(defn f {:private true} [x] (inc x)) (f 1)", "2"),
        ("(defn f \"doc\" {:added 1} ([x] x) ([x y] y) {:arglists 1}) [(f 1) (f 1 2)]", "[1 2]"),
        ("(defn f [x] {:pre [(pos? x)] :post [(pos? %)]} (inc x)) (f 1)", "2"),
        ("(defn f [x] {:pre 1}) (f 1)", "{:pre 1}"),
        ("(map read-string [\"1\" \"2\"])", "[1 2]"),
        (
            "(require '[clojure.edn :as e]) [(e/read-string \"{:a [1 2.5 \\\"x\\\"]}\") (edn/read-string \"#{1}\")]",
            "[{:a [1 2.5 \"x\"]} #{1}]",
        ),
        (
            "(require '[clojure.math.combinatorics :as c]) [(c/permutations [1 2]) (count (c/subsets (range 4)))]",
            "[[[1 2] [2 1]] 16]",
        ),
        ("(clojure.math.combinatorics/cartesian-product [1 2] [3])", "[[1 3] [2 3]]"),
        (
            "(require '[clojure.math :as m]) [(m/to-degrees 0) (m/rint 2.5) (clojure.math/floor-mod -7 3)]",
            "[0.0 2.0 2]",
        ),
        ("(require (quote [clojure.string :as st])) (st/upper-case \"a\")", "\"A\""),
        (
            "[(Integer/toBinaryString 5) (Integer/toString 10 2) (Long/toString 255 16) (Long/valueOf 5) (Integer. \"5\")]",
            "[\"101\" \"1010\" \"ff\" 5 5]",
        ),
        (
            "[(Integer/toHexString -1) (Long/toHexString -1) (Integer/toOctalString 8)]",
            "[\"ffffffff\" \"ffffffffffffffff\" \"10\"]",
        ),
        (
            "[(.indexOf [1 2 3] 2) (.contains [1 2] 3) (.size {:a 1}) (.get [5 6] 1) (.isEmpty []) (.compareTo 1 2)]",
            "[1 false 1 6 true -1]",
        ),
        (
            "[(.replaceAll \"aab\" \"a\" \"x\") (.toCharArray \"ab\") (String. \"a\")]",
            "[\"xxb\" [\"a\" \"b\"] \"a\"]",
        ),
        (
            "[(replicate 2 :x) (biginteger 5) (bigint \"12345678901234567890\")]",
            "[[:x :x] 5 12345678901234567890]",
        ),
        ("(map combinatorics/selections [[0 1] [2]] [2 3])", "[[[0 0] [0 1] [1 0] [1 1]] [[2 2 2]]]"),
    ]);
}
