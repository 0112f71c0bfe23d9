(ns divergences
  "Evaluates the programs of the tables `| Program | Clojure | Here | Why |` of a page, each in a namespace of its own, and
  compares what Clojure prints of their values with the column `Clojure`. `!Class` stands for what is thrown.

    divergences.clj PAGE              exits with 1 if a row is wrong
    divergences.clj --show PROGRAMS   prints the value of each line of a file"
  (:require [clojure.string :as str] clojure.set clojure.walk clojure.edn clojure.math))

(when-not (str/starts-with? (clojure-version) "1.11.")
  (println "this is Clojure" (clojure-version) "and not 1.11")
  (System/exit 1))

(def header "| Program | Clojure | Here | Why |")

(defn rows
  "The rows below each header: line, program, value."
  [page]
  (loop [[line & more] (str/split-lines page), n 1, inside false, found []]
    (if-not line
      found
      (let [inside (or (= line header) (and inside (str/starts-with? line "|")))
            [program value] (when (and inside (str/starts-with? line "| `"))
                              (map #(subs % 1 (dec (count %)))
                                   (take 2 (str/split (subs line 2) #" \| "))))]
        (recur more (inc n) inside (if program (conj found [n program value]) found))))))

(defn thrown
  "The class of what was thrown first."
  [e]
  (let [cause (.getCause ^Throwable e)]
    (if (and cause (instance? clojure.lang.Compiler$CompilerException e))
      (recur cause)
      (str "!" (.getSimpleName (class e))))))

(defn value-of
  "What Clojure prints of the program's value, in a new namespace `user` that knows the library by the names that ptc has for
  it."
  [program]
  (remove-ns 'user)
  (binding [*ns* (create-ns 'user), *out* (java.io.StringWriter.), *err* (java.io.StringWriter.),
            *warn-on-reflection* false, *unchecked-math* false]
    (try
      (refer-clojure)
      (require '[clojure.string :as str] '[clojure.set :as set] '[clojure.walk :as walk]
               '[clojure.edn :as edn] '[clojure.math :as math])
      (pr-str (load-string program))
      (catch Throwable e (thrown e)))))

(defn within-seconds
  [program]
  (deref (future (value-of program)) 10000 "!endless"))

(let [[option file] *command-line-args*]
  (if (= option "--show")
    (doseq [program (str/split-lines (slurp file))] (println (within-seconds program)))
    (let [rows (rows (slurp option))
          wrong (for [[line program expected] rows
                      :let [found (within-seconds program)]
                      :when (not= found expected)]
                  (str option ":" line ": " program " gives " found ", not " expected))]
      (run! println wrong)
      (println (count rows) "rows," (count wrong) "wrong")
      (System/exit (if (or (seq wrong) (< (count rows) 100)) 1 0)))))
(System/exit 0)
