//! Programs that wait in the middle of every builtin and form, and the order in which their host answers.

/// Programs around a function `f` that gives back its argument. Each is run with an `f` that asks the host.
pub(crate) const PROGRAMS: &[&str] = &[
    // texts of prints and of data
    "(with-out-str (println (f 1) [(f 2)]) (pr (f \"a\")) (f 3))",
    "(with-out-str (print 1) (pmap (fn [x] (println (f x))) [3 1 2]) (print (with-out-str (prn (f 4)))))",
    "(do (println 1) [(with-out-str (println (f 2))) (println 3)])",
    "(read-string {:readers {'m f} :default (fn [t x] [(name t) (f x)])} \"[1 #m [#n 2] #_ #m 3 #m #m 4]\")",
    "(edn/read-string {:readers {'m (fn [x] (+ 1 (f x)))}} \"#m 3\")",
    // aggregates
    "(reduce (fn [a x] (+ a (f x))) [3 1 2])",
    "(reduce (fn [a x] (+ a (f x))) 10 [3 1 2])",
    "(reduce (fn [a x] (if (= 2 (f x)) (reduced a) (+ a x))) 0 [3 1 2 9])",
    "(reduce (fn [a [k v]] (+ a (f v))) 0 {:a 1 :b 2})",
    "(reductions (fn [a x] (+ a (f x))) [3 1 2])",
    "(sum-by (fn [x] (f x)) [3 1 2])",
    "(avg-by (fn [x] (f x)) [3 1 2])",
    "(min-by (fn [x] (f x)) [3 1 2])",
    "(max-by (fn [x] (f x)) [3 1 2])",
    "(min-key (fn [x] (f x)) 3 1 2)",
    "(max-key (fn [x] (f x)) 3 1 2)",
    "(group-by (fn [x] (f x)) [3 1 3])",
    // transformations
    "(map f [3 1 2])",
    "(map (fn [a b] [(f a) (f b)]) [1 2 3] [4 5 6])",
    "(mapv f [3 1 2])",
    "(mapcat (fn [x] [(f x) x]) [3 1 2])",
    "(map-indexed (fn [i x] [i (f x)]) [3 1 2])",
    "(keep (fn [x] (when (odd? (f x)) x)) [3 1 2])",
    "(keep-indexed (fn [i x] (when (odd? (f x)) i)) [3 1 2])",
    "(filter (fn [x] (odd? (f x))) [3 1 2])",
    "(filterv (fn [x] (odd? (f x))) [3 1 2])",
    "(remove (fn [x] (odd? (f x))) [3 1 2])",
    "(distinct-by (fn [x] (mod (f x) 2)) [3 1 2])",
    "(run! (fn [x] (println (f x))) [3 1 2])",
    "(run! (fn [x] (println (f x)) (when (> x 2) (reduced x))) (range))",
    "[(dorun 2 (repeatedly (fn [] (println (f 7))))) (take 2 (doall 1 (iterate (fn [x] (inc (f x))) 1)))]",
    "[(ffirst [(map f (range))]) (take 2 (nfirst [(map f (range))])) (sequence (map +) [1 2] (map f (range)))]",
    "(transduce (comp (map f) (fn [rf] (f 1) (fn ([] 5) ([r] (rf (f r))) ([r x] (rf r (f x)))))) (fn ([] (f 3)) ([r] (f r)) ([r x] (+ r x))) [1 2])",
    "(take-while (fn [x] (odd? (f x))) [3 1 2])",
    "(drop-while (fn [x] (odd? (f x))) [3 1 2])",
    "(split-with (fn [x] (odd? (f x))) [3 1 2])",
    "(partition-by (fn [x] (odd? (f x))) [3 1 2])",
    "(take 3 (iterate (fn [x] (inc (f x))) 1))",
    "(repeatedly 3 (fn [] (f 7)))",
    "(sort (fn [a b] (< (f a) (f b))) [3 1 2])",
    "(sort-by (fn [x] (f x)) [3 1 2])",
    "(sort-by (fn [x] (f x)) (fn [a b] (> (f a) (f b))) [3 1 2])",
    // maps
    "(update {:a 5} :a f)",
    "(update-in {:a {:b 5}} [:a :b] (fn [x y] (+ (f x) y)) 1)",
    "(update-vals {:a 1 :b 2} f)",
    "(update-keys {1 :a 2 :b} f)",
    "(merge-with (fn [a b] (+ (f a) (f b))) {:a 1} {:a 2} {:a 3})",
    "(reduce-kv (fn [a k v] (assoc a k (f v))) {} {:a 1 :b 2})",
    // quantifiers
    "(some (fn [x] (when (= 1 (f x)) x)) [3 1 2])",
    "(every? (fn [x] (pos? (f x))) [3 1 2])",
    "(not-any? (fn [x] (neg? (f x))) [3 1 2])",
    "(not-every? (fn [x] (odd? (f x))) [3 1 2])",
    // trees, text, sets
    "(json/parse-string \"{\\\"a\\\": {\\\"b\\\": 1}}\" (fn [k] (f k)))",
    "(json/parse-lines \"{\\\"a\\\": 1}\" (fn [k] (f k)))",
    "(json/parse-lenient \"{'a': 1}\" (fn [k] (f k)))",
    "(walk/walk (fn [x] (f x)) (fn [x] (count x)) [3 1 2])",
    "(walk/prewalk (fn [x] (if (number? x) (f x) x)) {:a [1 {:b 2}]})",
    "(walk/postwalk (fn [x] (if (number? x) (inc (f x)) x)) {:a [1 {:b 2}]})",
    "(tree-seq vector? (fn [x] (f 1) x) [1 [2 [3]]])",
    "(str/replace \"a1b2\" #\"[0-9]\" (fn [m] (str \"<\" (f m) \">\")))",
    "(str/replace-first \"a1b2\" #\"[0-9]\" (fn [m] (str \"<\" (f m) \">\")))",
    "(str/escape \"aba\" (fn [c] (if (= \"a\" (f c)) 1 nil)))",
    "(set/select (fn [x] (odd? (f x))) #{1 2 3})",
    // combinators
    "(apply (fn [a b] (+ (f a) (f b))) [1 2])",
    "(trampoline (fn [x] (fn [] (f x))) 4)",
    "((comp f inc f) 1)",
    "((partial (fn [a b] (+ (f a) (f b))) 1) 2)",
    "((juxt f (fn [x] (* 2 (f x)))) 4)",
    "((complement (fn [x] (odd? (f x)))) 3)",
    "((fnil f 9) nil)",
    "((every-pred (fn [x] (odd? (f x))) (fn [x] (pos? (f x)))) 3)",
    "((some-fn (fn [x] (even? (f x))) (fn [x] (pos? (f x)))) 3)",
    // transducers
    "(into [] (map f) [3 1 2])",
    "(into [] (comp (filter (fn [x] (odd? (f x)))) (map f) (take 1)) [3 1 2])",
    "(transduce (map f) + [3 1 2])",
    "(transduce (partition-by (fn [x] (odd? (f x)))) conj [] [3 1 2])",
    "(sequence (mapcat (fn [x] [(f x) x])) [3 1])",
    "(eduction (keep (fn [x] (f x))) [3 1])",
    "(transduce (halt-when (fn [x] (= 1 (f x)))) conj [] [3 1 2])",
    // parallel
    "(pmap f [3 1 2])",
    "(pcalls (fn [] (f 1)) (fn [] (+ (f 2) (f 3))))",
    "(map (fn [x] (pmap f [x (inc x)])) [1 2])",
    "(pmap (fn [x] (pmap (fn [y] (* (f x) (f y))) [1 2])) [3 4])",
    "(pmap (fn [x] (reduce (fn [a y] (+ a (f y))) 0 (range x))) [3 1 2])",
    // forms
    "(for [x [3 1] y [(f 7)] :when (odd? (f x)) :let [z (f y)] :while (pos? (f x))] [(f x) y z])",
    "(do (doseq [x [3 1]] (println (f x))) (f 1))",
    "(do (dotimes [i 3] (println (f i))) :done)",
    "(loop [i 0 acc []] (if (< (f i) 3) (recur (inc i) (conj acc (f i))) acc))",
    "(let [{:keys [a b] :or {b (f 8)}} {:a (f 1)} [c & d] [(f 2) (f 3) (f 4)]] [a b c d])",
    "(let [m #:user{:id (f 1) :_/n (f 2)} {:user/keys [id]} m] [(f id) (:user/id m) m])",
    "(loop [q (conj PersistentQueue/EMPTY 1) seen []] (if (seq q) (let [x (f (peek q))] \
     (recur (if (< x 5) (conj (pop q) (+ x x) (+ x x 1)) (pop q)) (conj seen x))) [seen q (conj q 1)]))",
    "(if-let [x (f 1)] [x (f 2)] (f 3))",
    "(when-let [x (f 1)] (f x))",
    "(cond (= 1 (f 2)) :a (= 2 (f 2)) (f 3) :else :b)",
    "(case (f 2) 1 :a 2 (f 5) :c)",
    "(condp = (f 2) (f 1) :a (f 2) :b :c)",
    "(and (f 1) (f 2) (f false) (f 3))",
    "(or (f false) (f nil) (f 3) (f 4))",
    "(-> (f 1) (+ (f 2)) f)",
    "(->> [3 1 2] (map f) (filter (fn [x] (odd? (f x)))) (reduce (fn [a x] (+ (f a) x))))",
    "(some-> (f 1) f inc)",
    "(cond-> (f 1) (f true) (+ (f 2)))",
    "(as-> (f 1) x (+ x (f 2)))",
    "(letfn [(g [n] (if (zero? (f n)) :end (g (dec n))))] (g 3))",
    "(do (def a (f 1)) (defn g [x] (+ a (f x))) (g (f 2)))",
    "[(f 1) {:a (f 2) :b #{(f 3)}} (str (f 4) (f \"x\"))]",
    "(return {:v (map f [1 2])})",
    "(do (map f [1 2]) (fail (f 3)))",
    "(map f (map f (map f [1 2 3])))",
];

/// An `f` that answers by itself.
pub(crate) const DIRECT: &str = "(def f (fn [x] x))";
/// An `f` that asks the host.
pub(crate) const ASKING: &str = "(def f (fn [x] (get (tool/echo {:x x}) \"x\")))";

/// Which of the calls that wait is answered next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    First,
    Last,
    /// Any one, by this seed.
    Any(u64),
}
