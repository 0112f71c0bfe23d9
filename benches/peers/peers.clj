;; The workloads on Clojure, on the JVM. Prints lines as the Rust program beside it does; `peers.py` runs it where there is a
;; `clojure`. Every program is the one that ptc runs, but for JSON, which Clojure has no reader for.
;;
;; Programs are compiled to JVM code before the clock starts (tiny and long ones: inside), and run for half a second each
;; before they are measured, since the JVM compiles once more while a program runs.
(require '[clojure.string :as str])

(def rounds (Long/parseLong (or (System/getenv "PEERS_ROUNDS") "15")))
(def round-ns 4000000)
(def engine (str "Clojure " (clojure-version)))

(def workloads
  [["fib(25) by recursion" "75025"
    '(fn [] (letfn [(fib [n] (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))] (fib 25)))]
   ["a loop that sums a million" "499999500000"
    '(fn [] (loop [i 0 sum 0] (if (< i 1000000) (recur (inc i) (+ sum i)) sum)))]
   ["reduce with a closure over a million" "499999500000"
    '(fn [] (reduce (fn [acc x] (+ acc x)) 0 (range 1000000)))]
   ["filter, group, sum, sort 10 000 records" "3 535569"
    '(fn []
       (let [rows (mapv (fn [i] {:id i :region (mod i 7) :total (mod (* i 31) 1000)}) (range 10000))
             [k v] (->> rows (filter (fn [r] (> (:total r) 500))) (group-by :region)
                        (map (fn [[k v]] [k (reduce + (map :total v))])) (sort-by second >) first)]
         (str k " " v)))]
   ["word count over 20 000 strings" "997"
    '(fn [] (let [words (mapv (fn [i] (str "word" (mod (* i 7919) 997))) (range 20000))] (count (frequencies words))))]
   ["sort of 50 000" "25009"
    '(fn [] (let [xs (mapv (fn [i] (mod (* i 7919) 50021)) (range 50000))] (nth (sort xs) 25000)))]
   ["a report of 5 000 lines" "94263"
    '(fn [] (count (str/join "\n" (map (fn [i] (str "line " i ": " (* i i))) (range 5000)))))]
   ["regex extraction over 2 000 lines" "1999000"
    '(fn []
       (let [lines (mapv (fn [i] (str "2026-01-" (mod i 28) " ERROR code=" i)) (range 2000))]
         (reduce + (map (fn [l] (Long/parseLong (second (re-find #"code=(\d+)" l)))) lines))))]])

(def long-text
  (str "(defn f0 [x] (if (> x 0) x 0))\n"
       (apply str (map (fn [n] (str "(defn f" n " [x] (let [y (+ (f" (dec n) " x) " n ")] (if (> y 0) y (- y))))\n")) (range 1 59)))
       "(f58 1)"))
(def texts [["compile and run a tiny program" "3" "(+ 1 2)"] ["compile and run 60 lines" "1712" long-text]])

(defn elapsed [run repeats]
  (let [start (System/nanoTime)]
    (dotimes [_ repeats] (run))
    (quot (- (System/nanoTime) start) repeats)))

(defn measure [[workload answer] run]
  (assert (= answer (str (run))) workload)
  (let [warm (+ (System/nanoTime) 500000000)]
    (while (< (System/nanoTime) warm) (run)))
  (let [repeats (min 10000 (max 1 (quot round-ns (max 1 (elapsed run 1)))))
        times (sort (repeatedly rounds #(elapsed run repeats)))]
    (println (str/join "\t" [workload engine (nth times (quot rounds 2)) (first times)]))
    (flush)))

(doseq [[_ _ program :as workload] workloads] (measure workload (eval program)))
(doseq [[_ _ text :as workload] texts] (measure workload #(load-string text)))
(shutdown-agents)
