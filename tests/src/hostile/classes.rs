//! For each builtin of the registry, calls with an input made to hurt.

/// What calls of a class do with their input.
#[derive(Clone, Copy, PartialEq)]
pub enum Work {
    /// It grows with the input: one of the two limits stops it.
    Grows,
    /// It is the same for every input, large ones too; the call may also refuse its input.
    Constant,
}

/// Calls with the same input.
pub struct Class {
    /// The granted context's `data/x`, so many times as large as the tests need it.
    pub granted: fn(usize) -> String,
    /// Makes the input `x`.
    pub input: &'static str,
    /// How the call's value is used, with `CALL` in its place.
    pub around: &'static str,
    /// What they do with it.
    pub work: Work,
    /// Calls whose heads are the builtins that are tried, one a line.
    pub calls: &'static str,
}

impl Class {
    /// Whether walking the input ends by a limit only: it has more parts than anybody can visit.
    pub fn is_endless(&self) -> bool {
        matches!(self.input, TREE | TWINS | MAP_TREE)
    }
}

const NOTHING: fn(usize) -> String = |_| "0".to_owned();
const DROPPED: &str = "(do CALL nil)";

/// 100 000 characters of every class, some of more than one byte.
fn text(times: usize) -> String {
    format!("\"{}\"", "aé1 ,B-é7\\n".repeat(10_000 * times))
}

/// `a` and `b` as if by chance, and a word boundary that is hard to tell here and there.
fn letters(times: usize) -> String {
    let letters = |n: usize| match (n as u32).wrapping_mul(2_654_435_761) {
        hash if n % 5_000 == 4_999 && hash.is_multiple_of(2) => "é ",
        hash if hash >> 31 == 0 => "a",
        _ => "b",
    };
    format!("\"{}\"", (0..30_000 * times).map(letters).collect::<String>())
}

fn numbers(times: usize) -> String {
    let numbers: Vec<String> =
        (0..20_000 * times as u32).map(|n| (n.wrapping_mul(7_919) % 20_011).to_string()).collect();
    format!("[{}]", numbers.join(","))
}

fn dictionary(times: usize) -> String {
    let entries: Vec<String> = (0..5_000 * times).map(|n| format!("\"k{n}\":{n}")).collect();
    format!("{{{}}}", entries.join(","))
}

fn rows(times: usize) -> String {
    let rows: Vec<String> = (0..3_000 * times).map(|n| format!("{{\"a\":{n},\"b\":{}}}", n % 7)).collect();
    format!("[{}]", rows.join(","))
}

/// JSON text with a JSON array inside.
fn json_text(times: usize) -> String {
    format!("\"[{}0]\"", "1,".repeat(60_000 * times))
}

fn json_lines(times: usize) -> String {
    format!("\"{}\"", "[1]\\n".repeat(30_000 * times))
}

/// 2^40 leaves in forty vectors.
const TREE: &str = "(reduce (fn [a _] [a a]) [1] (range 40))";
/// Two of them that are equal and share nothing.
const TWINS: &str = "(mapv (fn [_] (reduce (fn [a _] [a a]) [1] (range 40))) [1 2])";
/// Two long vectors that are equal and share nothing.
const WIDE_TWINS: &str = "(mapv (fn [_] (mapv vector (range 20000))) [1 2])";
/// A tree made of maps.
const MAP_TREE: &str = r#"(reduce (fn [a _] {"a" a "b" a}) {"c" 1} (range 40))"#;
/// Just below the largest integer there is.
const BIG: &str = "(bit-shift-left 1 1000000)";
const DATE: &str = r#"(LocalDate/parse "2024-01-31")"#;
const INSTANT: &str = r#"(Instant/parse "2024-01-31T00:00:00Z")"#;
const ZONED: &str = r#"(ZonedDateTime/parse "2026-10-25T02:30+01:00[Europe/Berlin]")"#;
const LOCAL: &str = r#"(LocalDateTime/of 2026 3 29 2 30)"#;

/// One large integer many times: small in memory, and dear to look at.
const ONE_BIG: &str = "(vec (repeat 500 (bit-shift-left 1 1000000)))";
/// Two equal ones that share nothing, in turn.
const TWO_BIGS: &str = "(vec (take 500 (cycle (mapv (fn [n] (bit-shift-left n 1000000)) [1 1]))))";
/// The same of long texts.
const TWO_TEXTS: &str =
    "(vec (take 500 (cycle (mapv (fn [_] (apply str (repeat 5000 \"abcdefghij\"))) [1 1]))))";

/// A family without end, which is one grapheme.
fn family(times: usize) -> String {
    format!("\"{}\"", "\u{1F468}\u{200D}".repeat(15_000 * times))
}

/// All calls, by their input.
pub const CLASSES: &[Class] = &[
    Class {
        granted: text,
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: r#"
            (upper-case x) (lower-case x) (upcase x) (downcase x) (capitalize x) (str/reverse x) (escape x {"a" "b"}) (escape x identity)
            (hash x) (.hashCode x) (hash-combine 1 x) (munge x) (namespace-munge x) (identical? x (str x ""))
            (replace x "a" "bb") (replace-first x "zzz" "b") (split x ",") (split-lines x) (index-of x "zzz")
            (last-index-of x "zzz") (includes? x "zzz") (join x) (str x x) (subs x 50000) (format "%s%s" x x)
            (keyword x) (keyword x x) (symbol x x) (char? x)
            (with-out-str (print x)) (with-out-str (println x) (prn x))
            (.charAt x 99999) (.concat x x) (.contains x "zzz") (.indexOf x "zzz") (.lastIndexOf x "zzz") (.length x)
            (.replace x "a" "bb") (.split x ",") (.substring x 50000) (.toLowerCase x) (.toUpperCase x)
            (.matches x "(aé)*") (.equalsIgnoreCase x (str x)) (.equals x (str x "!"))
            (String/join "," x)
            (re-find #"zz+" x) (re-matches #"(.|\n)*" x) (re-seq #"." x) (re-split #"," x)
            (extract #"z(z)" x) (extract-int #"(z)" x)
            (pr-str x) (print x x) (println x) (prn x) (pr x) (pprint x) (print-str x x) (println-str x x) (prn-str x) (printf "%s%s" x x)
            (json/generate-string x) (apropos x) (count x) (nth x 99999) (parse-long x) (parse-int x)
            (Integer/parseInt x) (Long/parseLong x) (char x) (csv/parse-string x) (csv/read-csv x)
            (LocalDateTime/parse x) (OffsetDateTime/parse x) (ZonedDateTime/parse x) (in-zone x "Z") (URLEncoder/encode x) (URLDecoder/decode x) (base64/encode x) (re-quote-replacement x)
            (.encodeToString (Base64/getEncoder) x) (.encode (Base64/getEncoder) x) (.getBytes x) (String. (.getBytes x))
            (.replaceAll x "a" "bb") (.replaceFirst x "zzz" "b") (.toCharArray x) (apply str x)
            (get x 99999) (split x #"") (read-string (str "\"" (replace x "\n" "") "\""))
            (csv/generate-string [[x]]) (csv/parse-string (str "\"" x)) (json/generate-string {x [x]}) (trim (str x x))
            (includes? x (subs x 1 50000)) (last-index-of x x)
        "#,
    },
    // Patterns that make a state of an automaton at almost each character, or are beyond automata at some.
    Class {
        granted: letters,
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: r#"
            (re-find #"(?:a?){300}a*c" x) (re-find #"(?:[ab]*a[ab]{12})c" x) (re-find #"\w{10}N" x)
            (re-find #"(?s)(.*)\b(c|.)" x) (re-find #"\b[ab]+\bz" x) (re-find #"(?m)[^b]+c|a$" x)
            (re-matches #"(?s)(?:.*)(?:a?){300}." x) (re-matches #"([ab]|.)*z" x)
            (re-seq #"(?:[ab]*a[ab]{12})c|ab" x) (re-split #"\b\w{3}\b" x) (replace x #"(a|b[^c]*c)+" "")
        "#,
    },
    Class {
        granted: family,
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: r#"(last x) (re-find #"\X$" x) (re-seq #"\X" x) (reverse x)"#,
    },
    Class {
        granted: NOTHING,
        input: ONE_BIG,
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (distinct x) (frequencies x) (group-by identity x) (map-invert (zipmap (range 500) x))
        ",
    },
    Class {
        granted: NOTHING,
        input: TWO_BIGS,
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (set x) (dedupe x) (frequencies x) (sort x) (apply = x) (apply max x) (compare x (vec (reverse x)))
            (max-by identity x) (partition-by identity x) (apply <= x)
        ",
    },
    Class {
        granted: NOTHING,
        input: TWO_TEXTS,
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (set x) (dedupe x) (frequencies x) (sort x) (apply = x) (compare x (vec (reverse x)))
            (group-by identity x) (partition-by identity x) (zipmap x x) (apply distinct? x) (apply dissoc {:b 1} x)
            (apply merge (map (fn [e] {e 1}) x))
        ",
    },
    Class {
        granted: text,
        input: "data/x",
        around: DROPPED,
        work: Work::Constant,
        calls: r#"
            (Character/isDigit x) (Character/isLetter x) (Character/isLetterOrDigit x) (Character/isUpperCase x)
            (Character/isLowerCase x) (Character/isWhitespace x) (Character/toUpperCase x) (Character/toLowerCase x)
            (String. x) (symbol x) (re-pattern x) (parse-boolean x) (parse-uuid x) (Boolean/parseBoolean x) (name x) (namespace x) (starts-with? x "ab") (.startsWith x "ab") (ends-with? x "ab")
            (.endsWith x "ab") (.isEmpty x) (string? x) (uuid? x) (java.util.Date. x)
        "#,
    },
    Class {
        granted: |times| format!("\"{}\"", " ".repeat(200_000 * times)),
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: "(blank? x) (trim x) (triml x) (trimr x) (.trim x) (.isBlank x)",
    },
    Class {
        granted: |times| format!("\"{}\"", "\\n".repeat(200_000 * times)),
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: "(trim-newline x)",
    },
    Class {
        granted: |times| format!("\"{}\"", "1".repeat(200_000 * times)),
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (parse-double x) (Double/parseDouble x) (Float/parseFloat x) (Integer/valueOf x) (Integer. x) (Long. x)
            (Double/valueOf x) (Double. x) (bigint x) (biginteger x) (base64/decode x) (.decode (Base64/getDecoder) x)
        ",
    },
    Class {
        granted: json_text,
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: "(json/parse-string x) (json/parse-lenient x) (read-string x) (read-string {:default vector} x)",
    },
    Class {
        granted: json_lines,
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: "(json/parse-lines x)",
    },
    Class {
        granted: numbers,
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (apply + x) (map inc x) (mapv inc x) (map-indexed + x) (mapcat list x) (filter even? x) (filterv even? x)
            (remove even? x) (keep identity x) (keep-indexed + x) (distinct x) (distinct-by identity x) (dedupe x)
            (flatten x) (run! inc x) (reduce + x) (reductions + x) (sum x) (avg x) (sum-by inc x) (avg-by inc x)
            (frequencies x) (group-by even? x) (max-by inc x) (min-by inc x) (max-key inc (apply max-key inc x))
            (min-key inc (apply min-key inc x)) (sort x) (sort-by inc x) (reverse x) (rseq x) (combinations x 2)
            (concat x x) (interleave x x) (interpose 0 x) (into #{} x) (zip x x) (zipmap x x)
            (set x) (every? int? x) (not-any? nil? x) (not-every? int? x) (some nil? x) (distinct? (apply distinct? x))
            (drop-while int? x) (take-while int? x) (take-nth 2 x) (partition 2 x) (partition 0 1 x) (partition-all 2 x)
            (partition-by even? x) (partitionv 2 x) (partitionv-all 2 x) (split-with int? x)
            (pmap inc x) (pcalls (fn [] (reduce + x))) (transduce (map inc) + x) (eduction (map inc) x)
            (sequence (map inc) x) (sequence (map +) x x) (into [] (replace {1 2}) x) (replace {1 2} x) (describe x) (tree-seq vector? identity x)
            (walk inc identity x) (postwalk identity x) (prewalk identity x) (postwalk-replace {1 2} x)
            (prewalk-replace {1 2} x) (json/generate-string x) (str x) (.contains x -1) (.indexOf x -1) (.lastIndexOf x -1) (mapcat list x)
            (combinatorics/combinations x 2) (combinatorics/subsets x) (combinatorics/permutations x)
            (combinatorics/cartesian-product x x) (combinatorics/selections x 2)
            (list* 1 2 (apply list x)) (vector (apply vector x)) (list (apply list x)) (hash-set (apply hash-set x))
            (hash-map (apply hash-map x)) (array-map (apply array-map x)) (sorted-map (apply sorted-map x))
            (sorted-map-by (apply sorted-map-by compare x)) (sorted-set-by (apply sorted-set-by < x))
            (sorted-set (apply sorted-set x)) (max (apply max x)) (min (apply min x)) (* (apply * x)) (*' (apply *' x))
            (+ (apply + x)) (+' (apply +' x)) (- (apply - x)) (-' (apply -' x)) (/ (apply / x))
            (< (apply <= (sort x))) (bit-and (apply bit-and x)) (bit-or (apply bit-or x)) (bit-xor (apply bit-xor x))
            (bit-and-not (apply bit-and-not x)) (comp (apply comp x)) (juxt (apply juxt x)) (partial (apply partial x))
            (every-pred (apply every-pred x)) (some-fn (apply some-fn x)) (dir (mapv str x)) (update-vals x inc)
            (apply str x) (apply assoc {} x) (apply dissoc {} x) (apply disj #{1} x) (apply conj #{} x) (apply (partial + 1) x)
            (apply update {:a 1} :a + x) (apply (fn [& xs] (count xs)) x) (apply = (mapv (constantly 1) x)) (apply < (sort x))
            (seq-to-map-for-destructuring x) (hash x) (hash-ordered-coll x) (hash-unordered-coll x) (.hashCode x)
            (Integer/sum (apply Integer/sum x)) (Long/max (apply Long/max x)) (Long/min (apply Long/min x))
        ",
    },
    Class {
        granted: numbers,
        input: "data/x",
        around: DROPPED,
        work: Work::Constant,
        calls: "
            (contains? x 5) (.size x) (.get x 5) (.isEmpty x) (empty x) (empty? x) (first x) (ffirst x) (second x) (last x) (not-empty x) (peek x) (seq x) (vec x) (realized? x)
            (fnext x) (nfirst x) (doall x) (dorun x) (bounded-count 3 x) (counted? x) (reduced x) (reduced? x)
            (unreduced x) (ensure-reduced x) (identical? x x) (identical? x [1]) (.containsKey x 5)
        ",
    },
    Class {
        granted: dictionary,
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (entries x) (keys x) (vals x) (merge {1 2} x) (merge-with + {1 2} x) (reduce-kv (fn [a k v] v) nil x)
            (select-keys x (range 100000)) (update-keys x str) (update-vals x inc) (map-invert x) (rename-keys x x)
            (stringify-keys x) (keywordize-keys x) (hash x) (.keySet x) (.entrySet x) (.values x) (.containsValue x -1)
        ",
    },
    Class {
        granted: dictionary,
        input: "data/x",
        around: DROPPED,
        work: Work::Constant,
        calls: "(.containsKey x 5) (.getOrDefault x 5 6) (.getKey [x 1]) (.getValue [1 x])",
    },
    Class {
        granted: rows,
        input: "data/x",
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (set/index x [:a]) (set/join x x) (set/project x [:a]) (set/rename x {:a :c}) (set/select :a x)
            (csv/generate-string x)
        ",
    },
    Class {
        granted: numbers,
        input: "(set data/x)",
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (union #{-1} x) (difference x x) (intersection x x) (subset? x (conj x -1)) (superset? (conj x -1) x)
            (subseq x > -1) (rsubseq x > -1) (clojure.data/diff x (conj x -1))
        ",
    },
    Class {
        granted: NOTHING,
        input: WIDE_TWINS,
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (= (first x) (last x)) (== (first x) (last x)) (not= (first x) (last x)) (compare (first x) (last x))
            (<= (first x) (last x)) (>= (first x) (last x)) (> (first x) (last x)) (hash-set (first x) (last x))
            (assoc {(first x) 1} (last x) 1) (assoc-in {(first x) 1} [(last x)] 1)
            (update {(first x) 1} (last x) identity) (update-in {(first x) 1} [(last x)] identity)
            (find {(first x) 1} (last x)) (dissoc {(first x) 1} (last x)) (disj #{(first x)} (last x))
            (contains? #{(first x)} (last x)) (comparator (apply (comparator <) x)) (frequencies x)
            (.equals (first x) (last x)) (clojure.data/diff (first x) (conj (last x) 1))
        ",
    },
    Class {
        granted: NOTHING,
        input: TWINS,
        around: DROPPED,
        work: Work::Grows,
        calls: "
            (flatten x) (tree-seq vector? seq x) (pr-str x) (str x) (.toString x) (postwalk identity x)
            (prewalk identity x) (json/generate-string x) (step-done \"a\" (str x))
        ",
    },
    Class {
        granted: NOTHING,
        input: MAP_TREE,
        around: DROPPED,
        work: Work::Grows,
        calls: "(stringify-keys x) (keywordize-keys x)",
    },
    Class {
        granted: NOTHING,
        input: TREE,
        around: DROPPED,
        work: Work::Constant,
        calls: "
            (boolean x) (identity x) (time x) (not x) (any? x) (associative? x) (boolean? x) (bytes? x) (coll? x)
            (decimal? x) (double? x) (false? x) (float? x) (fn? x) (ident? x) (ifn? x) (indexed? x) (int? x) (integer? x)
            (keyword? x) (list? x) (map-entry? x) (map? x) (nil? x) (number? x) (ratio? x) (rational? x) (regex? x)
            (reversible? x) (seq? x) (seqable? x) (uri? x) (sequential? x) (set? x) (simple-keyword? x) (some? x) (sorted? x)
            (symbol? x) (simple-symbol? x) (qualified-symbol? x) (simple-ident? x) (qualified-ident? x)
            (qualified-keyword? x) (true? x) (type x) (vector? x) (inst? x) (NaN? x) (even? x) (infinite? x)
            (nat-int? x) (neg-int? x) (neg? x) (odd? x) (pos-int? x) (pos? x) (zero? x) (constantly x) (complement x)
            (fnil first x) (memoize first) (cons x [x]) (conj x x) (rest x) (next x) (nnext x) (butlast x) (pop x)
            (subvec x 1) (nthnext x 1) (nthrest x 1) (take 1 x) (drop 1 x) (drop-last x) (take-last 1 x) (split-at 1 x)
            (splitv-at 1 x) (key x) (val x) (get x 0) (get-in x [0 0]) (completing conj) (halt-when nil?) (cat conj)
            (trampoline identity x) (newline) (flush) (all-ns) (ns-name 'str) (describe x)
            (task-reset \"a\")
            (.between ChronoUnit/DAYS 1 2)
        ",
    },
    Class {
        granted: NOTHING,
        input: BIG,
        around: "(dotimes [_ 20] CALL)",
        work: Work::Grows,
        calls: "
            (* x x) (*' x x) (+ x x) (+' x x) (- x 1) (-' x 1) (inc x) (inc' x) (dec x) (dec' x) (quot x 7) (rem x 7919)
            (mod x 7919) (bit-and x (dec x)) (bit-or x 1) (bit-xor x 1) (bit-not x) (bit-set x 1) (bit-clear x 1) (bit-flip x 1)
            (bit-shift-left x 1) (bit-shift-right x 1) (bit-and-not x 1) (abs (- x)) (str x)
            (unchecked-add x x) (unchecked-subtract x 1) (unchecked-multiply x 7919) (unchecked-negate x) (unchecked-inc x) (unchecked-dec x)
            (Math/floorDiv x 7) (Math/floorMod x 7919) (parse-long (str x)) (parse-double (str x)) (Math/addExact x x)
            (Math/subtractExact x 1) (Math/multiplyExact x x) (Math/negateExact x) (Math/incrementExact x) (Math/decrementExact x)
            (hash x) (.hashCode x) (hash-combine 1 x)
        ",
    },
    Class {
        granted: NOTHING,
        input: BIG,
        around: DROPPED,
        work: Work::Constant,
        calls: "
            (unchecked-byte x) (unchecked-short x) (unchecked-int x) (unchecked-long x)
            (unchecked-add-int x x) (unchecked-subtract-int x x) (unchecked-multiply-int x x) (unchecked-divide-int x x)
            (unchecked-remainder-int x x) (unchecked-negate-int x) (unchecked-inc-int x) (unchecked-dec-int x)
            (unsigned-bit-shift-right x 1) (unchecked-double x) (unchecked-float x) (.intValue x) (.longValue x) (.doubleValue x) (.floatValue x)
            (mix-collection-hash x 1) (identical? x x) (compare x ##NaN)
            (Long/compare x x) (Integer/compare x x) (Double/compare x x) (Long/bitCount x) (Integer/bitCount x)
            (Long/numberOfLeadingZeros x) (Integer/numberOfLeadingZeros x) (Long/numberOfTrailingZeros x)
            (Integer/numberOfTrailingZeros x) (Long/highestOneBit x) (Integer/highestOneBit x) (Long/lowestOneBit x)
            (Integer/lowestOneBit x) (Long/reverse x) (Integer/reverse x) (Long/signum x) (Long/rotateLeft x 1)
            (Integer/rotateLeft x 1) (Long/rotateRight x 1) (Integer/rotateRight x 1)
            (bit-test x 5) (pow x 2) (bigint x) (byte x) (ceil x) (double x) (float x) (floor x) (int x) (long x) (num x) (round x)
            (short x) (sqrt x) (trunc x) (Math/floor x) (Math/ceil x) (Math/round x) (Math/acos x) (Math/asin x) (Math/atan x) (Math/atan2 x x) (Math/cbrt x)
            (Math/cos x) (Math/cosh x) (Math/exp x) (Math/hypot x x) (Math/log x) (Math/log10 x) (Math/signum x)
            (Math/sin x) (Math/sinh x) (Math/tan x) (Math/tanh x) (Math/toDegrees x) (Math/toRadians x)
            (Duration/ofDays x) (Duration/ofHours x) (Duration/ofMillis x) (Duration/ofMinutes x) (Duration/ofSeconds x)
            (Integer/toString x 2) (Integer/toBinaryString x) (Integer/toOctalString x) (Integer/toHexString x)
            (Long/toBinaryString x) (Long/toOctalString x) (Long/toHexString x) (biginteger x) (Math/rint x) (Math/log1p x)
            (Math/expm1 x) (Math/copySign x x) (Math/ulp x) (Math/nextUp x) (Math/nextDown x) (Math/nextAfter x 1) (Math/getExponent x)
            (Math/scalb x 5000) (Math/IEEEremainder x 3)
            (Character/digit x 10) (Character/getNumericValue x)
            (Instant/ofEpochMilli x) (Instant/ofEpochSecond x) (LocalDate/of x 1 1) (LocalDate/ofEpochDay x)
        ",
    },
    Class {
        granted: NOTHING,
        input: DATE,
        around: DROPPED,
        work: Work::Constant,
        calls: "
            (.plusDays x 1000000000000) (.minusDays x 1000000000000) (.plusWeeks x 1000000000000) (.minusWeeks x 1000000000000)
            (.plusMonths x 1000000000000) (.minusMonths x 1000000000000) (.plusYears x 1000000000000)
            (.minusYears x 1000000000000) (.getDayOfMonth x) (.getDayOfWeek x) (.getDayOfYear x) (.getMonthValue x)
            (.getYear x) (.toEpochDay x) (.atStartOfDay x) (.atStartOfDay x \"America/Sao_Paulo\") (.atTime x 10 30) (day-name x) (month-name x) (.toLocalDate x) (.isAfter x x) (.isBefore x x) (.isEqual x x) (.compareTo x x)
        ",
    },
    Class {
        granted: NOTHING,
        input: INSTANT,
        around: DROPPED,
        work: Work::Constant,
        calls: "
            (.plusMillis x 1000000000000) (.minusMillis x 1000000000000) (.plusSeconds x 1000000000000)
            (.minusSeconds x 1000000000000) (.getTime x) (.getEpochSecond x) (Duration/between x x)
            (.toDays (Duration/between x x)) (.toHours (Duration/between x x)) (.toMillis (Duration/between x x))
            (.toMinutes (Duration/between x x)) (.toSeconds (Duration/between x x)) (Instant/now) (LocalDate/now)
            (System/nanoTime) (currentTimeMillis) (java.util.Date.) (.getHour x) (.getMinute x) (.getSecond x)
            (.getNano x) (.atZone x \"Europe/Berlin\") (in-zone x \"Asia/Tokyo\") (.toInstant x) (.toLocalDateTime x)
            (.plusHours x 1000000000000) (.minusHours x 1000000000000) (.plusMinutes x 1000000000000)
            (.minusMinutes x 1000000000000) (.truncatedTo x ChronoUnit/HOURS) (ZonedDateTime/ofInstant x \"+02:00\")
            (LocalDateTime/ofInstant x \"America/New_York\") (LocalDateTime/now) (ZonedDateTime/now \"UTC\") (sleep-ms 0)
        ",
    },
    Class {
        granted: NOTHING,
        input: ZONED,
        around: DROPPED,
        work: Work::Constant,
        calls: "
            (.getZone x) (.getOffset x) (.toInstant x) (.toLocalDateTime x) (.toLocalDate x) (.withZoneSameInstant x \"Asia/Tokyo\")
            (.withZoneSameLocal x \"Asia/Tokyo\") (.withEarlierOffsetAtOverlap x) (.withLaterOffsetAtOverlap x)
            (.plusDays x 1000000000000) (.plusMonths x 1000000) (.plusHours x 1000000000000) (.getYear x) (.getHour x)
            (.truncatedTo x ChronoUnit/DAYS) (.between ChronoUnit/MONTHS x x) (.between ChronoUnit/HOURS x x)
            (Duration/between x x) (.compareTo x x) (.isBefore x x) (.format x \"yyyy-MM-dd HH:mm VV z XXX\") (day-name x)
        ",
    },
    Class {
        granted: NOTHING,
        input: LOCAL,
        around: DROPPED,
        work: Work::Constant,
        calls: "
            (.atZone x \"Europe/Berlin\") (ZonedDateTime/of x \"Europe/Berlin\") (.toInstant x \"+02:00\") (.plusDays x 1000000000000)
            (.plusHours x 1000000000000) (.truncatedTo x ChronoUnit/MINUTES) (.between ChronoUnit/DAYS x x) (.getMinute x)
            (ZonedDateTime/of 2026 3 29 2 30 0 0 \"Europe/Berlin\") (LocalDateTime/of 2026 3 29 2 30) (ZoneOffset/ofHours 2)
            (ZoneOffset/ofHoursMinutes 2 30)
        ",
    },
    Class {
        granted: text,
        input: "data/x",
        around: DROPPED,
        work: Work::Constant,
        calls: "(parse x) (Duration/parse x) (DateTimeFormatter/ofPattern x) (.format (LocalDate/of 2024 1 31) x) (ZoneId/of x)
            (ZoneOffset/of x) (.getTotalSeconds x) (in-zone x x)",
    },
    Class {
        granted: NOTHING,
        input: "1000000000",
        around: "(reduce (fn [_ y] y) nil (take x CALL))",
        work: Work::Grows,
        calls: "(range x) (repeat x 0) (replicate x 0) (iterate inc 0) (cycle [1 2]) (repeatedly (fn [] 1))",
    },
    Class {
        granted: NOTHING,
        input: "(fn [y] y)",
        around: DROPPED,
        work: Work::Constant,
        calls: "(doc map) (meta map) (source map) (resource/list x) (resource/templates x) (resource/read x) (resource/complete x)
            (prompt/list x) (prompt/get x) (prompt/complete x) (attach x) (ask x)",
    },
    Class {
        granted: NOTHING,
        input: "1",
        around: "(dotimes [_ 100000] CALL)",
        work: Work::Grows,
        calls: "(ns-publics 'str) (dir 'str)",
    },
];
