//! Spellings of Clojure's reader and forms that stand for what the language has.

use crate::support::check;

#[test]
fn the_dot_calls_a_method() {
    check(&[
        ("(. \"abc\" toUpperCase)", "\"ABC\""),
        ("(. \"abc\" (substring 1 2))", "\"b\""),
        ("(let [s \"abc\"] (. (. s (toUpperCase)) substring 1))", "\"BC\""),
        ("(-> \"a\" (. concat \"b\"))", "\"ab\""),
        ("(. Integer parseInt \"5\")", "5"),
        ("(. Math (abs -1))", "1"),
        ("(let [Math \"a\"] (. Math length))", "1"),
    ]);
}

#[test]
fn a_name_without_a_value_is_declared() {
    check(&[
        ("(def g) (defn f [] (g)) (defn g [] 1) (f)", "1"),
        ("(def x 1) (def x) x", "1"),
        ("(def x)", "#'x"),
        ("(def x) x", "!unbound_var undefined variable: x"),
    ]);
}

#[test]
fn forms_of_the_core_may_be_qualified() {
    check(&[
        ("(clojure.core/let [x 1] (clojure.core/when x (clojure.core/-> x inc)))", "2"),
        ("(-> 1 (clojure.core/as-> x (+ x x)) clojure.core/inc)", "3"),
        ("(clojure.core/loop [i 0] (if (< i 3) (recur (inc i)) i))", "3"),
        ("(clojure.core/defonce x 1) (clojure.core/defn f [] x) (f)", "1"),
        ("(require '[clojure.core :as c]) (c/for [x [1 2]] x)", "[1 2]"),
    ]);
}

#[test]
fn forms_need_no_more_than_in_clojure() {
    check(&[
        ("(doseq [])", "nil"),
        ("(doseq [x [1 2]])", "nil"),
        ("(condp = 1 :default)", ":default"),
        ("(loop [x 0] (cond-> x (< x 5) (-> inc recur)))", "5"),
        ("(loop [x 0] (cond-> x false recur))", "0"),
        (
            "(as-> {:a 1} {:keys [a] :as m} (assoc m :b a) (assoc m :c [a m]))",
            "{:a 1 :b 1 :c [1 {:a 1 :b 1}]}",
        ),
        ("(as-> [1 2] [a b] [b a] (- a b))", "1"),
        ("((def f inc) 1)", "2"),
        ("(let [z 1] ((defn z [] z)))", "1"),
        ("(pmap (fn [x] ((def f (fn [] x)))) [1 2])", "[1 2]"),
    ]);
}

#[test]
fn keys_of_map_patterns_are_computed() {
    check(&[
        ("(let [k :a {v k} {:a 1}] v)", "1"),
        ("(let [k \"a\" {[x y] (keyword k) z k :or {z 3}} {:a [1 2]}] [x y z])", "[1 2 [1 2]]"),
        ("(let [k 'b {v k :or {v (inc 6)}} {}] v)", "7"),
        ("((fn [k {v k}] v) 1 [:x :y])", ":y"),
        (
            "(let [{a 0 b 5 :or {b :none}} \"xyz\" {c 1} [7 8] {d 2.0} \"xyz\"] [a b c d])",
            "[\"x\" :none 8 \"z\"]",
        ),
        ("(for [[k m] [[:a {:a 1}] [:b {:b 2}]] :let [{v k} m]] v)", "[1 2]"),
        ("(loop [k :a {v k} {:a 1}] (if (= v 1) (recur :b {:b 2}) [k v]))", "[:b 2]"),
        ("(map (fn [k] (let [{v (keyword k)} {:a 1 :b 2}] v)) [\"a\" \"b\" \"c\"])", "[1 2 nil]"),
    ]);
}

#[test]
fn prints_are_captured_as_text() {
    check(&[
        ("(with-out-str)", "\"\""),
        (
            "(with-out-str (println \"a\" [1]) (print \"b\") (prn \"c\") (newline) (pr :d) (printf \"%d\" 1))",
            "\"a [1]\\nb\\\"c\\\"\\n\\n:d1\"",
        ),
        ("(count (with-out-str (dotimes [i 3000] (print \"x\"))))", "3000"),
        ("(count (with-out-str (print (apply str (repeat 5000 \"x\")))))", "5000"),
        ("(with-out-str (print 1) (print (with-out-str (print 2))) (print 3))", "\"123\""),
        ("(with-out-str (pmap println [1 2 3]))", "\"1\\n2\\n3\\n\""),
        ("(pmap (fn [x] (with-out-str (print x))) [1 2])", "[\"1\" \"2\"]"),
        ("(#(with-out-str (print %1 %2)) 1 2)", "\"1 2\""),
        ("(defn f [x & r] (with-out-str (doseq [y r] (print x y \"\")))) (f 1 2 3)", "\"1 2 1 3 \""),
        ("(first (map (fn [x] (with-out-str (print x))) (iterate inc 5)))", "\"5\""),
        ("(for [x (iterate inc 1) :while (< x 3)] (with-out-str (print x)))", "[\"1\" \"2\"]"),
        ("(let [with-out-str inc] (with-out-str 1))", "2"),
    ]);
}

#[test]
fn names_hold_letters_of_any_script() {
    check(&[
        ("(let [Δ 1 при-вет 2 é' 3] [(+ Δ при-вет é') 'ключ :ключ :a/é])", "[6 'ключ :ключ :a/é]"),
        ("(defn || [a b] (str a b)) (|| 1 2)", "\"12\""),
        ("(:é {\"é\" 1})", "1"),
        ("(keyword \"é\" \"b c\")", "(keyword \"é/b c\")"),
        ("(= (keyword \"ключ\") :ключ)", "true"),
    ]);
}

#[test]
fn names_that_cannot_be_written_show_the_call_that_makes_them() {
    check(&[
        (
            "{(keyword \"01/02/2012\") 'x (symbol \"a b\") \"\\n\"}",
            "{(keyword \"01/02/2012\") 'x (symbol \"a b\") \"\\n\"}",
        ),
        ("(= (keyword \"a b\") (keyword \"a b\"))", "true"),
        ("[(str (keyword \"a b\")) (pr-str [(keyword \"a b\") (symbol \"\")])]", "[\":a b\" \"[:a b ]\"]"),
        ("(get {(keyword \"a b\") 1} \"a b\")", "1"),
        ("((keyword \"a b\") {\"a b\" 2})", "2"),
        (
            "[(namespace (keyword \"\" \"hi\")) (name (keyword \"/\")) (name (keyword \"a/b/c\"))]",
            "[\"\" \"/\" \"b/c\"]",
        ),
        ("(sort ['b 'a/c 'a 'a/b (symbol \"B\" \"a\")])", "['a 'b 'B/a 'a/b 'a/c]"),
    ]);
}

#[test]
fn a_quote_in_quoted_data_is_a_list() {
    check(&[
        ("'[a 'b '(c)]", "['a ('quote 'b) ('quote ('c))]"),
        ("'{:k 'b}", "{:k ('quote 'b)}"),
        ("(= '('a) (list (list 'quote 'a)))", "true"),
        ("(case 'b 'a 1 'b 2)", "2"),
    ]);
}
