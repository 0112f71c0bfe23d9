//! Names of Clojure, Java and other languages that have no counterpart, or have another name here, and the replacement.

/// The advice for a name that is not in the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// The language has no counterpart; the text says how to write it.
    Absent(&'static str),
    /// The function of another name that does the same.
    Named(&'static str),
    /// An expression that does the same.
    Write(&'static str),
}

/// The advice for a name.
pub(super) fn advice(name: &str) -> Option<Advice> {
    let has = |names: &str| names.split_ascii_whitespace().any(|known| known == name);
    if let Some((_, text)) = ABSENT.iter().find(|(names, _)| has(names)) {
        return Some(Advice::Absent(text));
    }
    if let Some((_, existing)) = NAMED.iter().find(|(names, _)| has(names)) {
        return Some(Advice::Named(existing));
    }
    WRITE.iter().find(|(names, _)| has(names)).map(|(_, text)| Advice::Write(text))
}

/// Names, and their replacements.
const ABSENT: &[(&str, &str)] = &[
    (
        "try catch finally",
        "errors cannot be caught: a failed tool call is data, so test (:ok result); test other data first, or end with \
         (fail value)",
    ),
    (
        "throw ex-info ex-data ex-message ex-cause raise error abort Exception. RuntimeException. \
         IllegalArgumentException. System/exit exit",
        "end the program with (fail value), or with (return value) if it is no failure",
    ),
    ("assert", "write (when-not test (fail \"what is wrong\"))"),
    (
        "print-table clojure.pprint/print-table tap> debug inspect dbg puts echo console.log log/info log",
        "use println",
    ),
    (
        "slurp spit file-seq line-seq read-line read reader writer with-open io/file io/reader",
        "no file I/O: call a tool of a server that has files, (tool/call {:server \"…\" :tool \"…\" :args {…}})",
    ),
    (
        "require ns use",
        "(require '[clojure.string :as str]) stands at top level only; every function is there without it, as str/join",
    ),
    (
        "refer refer-clojure in-ns load load-file",
        "no namespace loading: every function is there, as clojure.string/join or str/join",
    ),
    (
        "import",
        "(import …) stands at top level only; classes are there under their names, as LocalDate/parse",
    ),
    (
        "new gen-class proxy memfn bean definterface extend bases supers",
        "no Java interop beyond the usual methods: write (.method value)",
    ),
    (
        "atom swap! reset! deref ref ref-set alter commute ensure dosync sync io! agent send send-off await volatile! vreset! \
         vswap! swap-vals! reset-vals! compare-and-set! add-watch remove-watch set! alter-var-root set-validator! setq",
        "values are immutable: use loop, reduce or def",
    ),
    ("while until do-while", "use loop with recur"),
    ("break continue", "use loop with recur, or reduce with reduced"),
    ("lazy-seq lazy-cat", "sequences are eager: use loop or range"),
    ("iteration seque", "use loop with recur; for the pages of a tool, tool/pages"),
    (
        "future future-call future-cancel future-done? future? promise deliver delay delay? force pvalues locking async await* \
         go chan thread",
        "use pmap or pcalls",
    ),
    ("defmacro macroexpand macroexpand-1 macroexpand-all definline", "use defn"),
    (
        "eval load-string load-reader compile resolve ns-resolve requiring-resolve find-var intern",
        "programs cannot run text; for data in a text use json/parse-string or parse-long",
    ),
    (
        "rand rand-int rand-nth random-sample shuffle random random-uuid uuid gensym Math/random UUID/randomUUID",
        "programs are deterministic: there is no randomness; take (first coll) or a value of the data",
    ),
    (
        "defprotocol defrecord deftype defstruct reify extend-type extend-protocol satisfies? struct",
        "use maps and functions",
    ),
    (
        "defmulti defmethod multi get-method prefer-method methods derive isa? make-hierarchy",
        "use case or cond in a function",
    ),
    ("with-meta vary-meta alter-meta! reset-meta!", "values carry no metadata: put it into a map"),
    ("binding bound-fn with-redefs with-local-vars with-bindings with-precision", "use let"),
    ("with-in-str", "build the text with str, pr-str or format"),
    ("bench", "leave it out: programs measure no time"),
    ("sleep Thread/sleep TimeUnit/sleep", "use (sleep-ms n), which waits at most 10 seconds at a time"),
    ("System/getenv System/getProperty", "programs see no environment: leave it out"),
    ("instance? class cast", "use string?, number?, map?, vector? …, or (type x)"),
    (
        "bigdec BigDecimal. BigDecimal rationalize numerator denominator",
        "numbers are integers of any size and floats: use (round x digits) to round",
    ),
    ("StringBuilder. StringBuilder", "use str and clojure.string/join"),
    ("ArrayList. java.util.ArrayList. LinkedList.", "use a vector with conj or into"),
    ("HashMap. java.util.HashMap. LinkedHashMap. TreeMap.", "use a map with assoc or into"),
    ("HashSet. java.util.HashSet.", "use a set with conj or into"),
    ("re-matcher re-groups", "use re-find, re-matches or re-seq, which give [match group1 …]"),
    (
        "SimpleDateFormat. java.text.SimpleDateFormat.",
        "use (LocalDate/parse text \"dd/MM/yyyy\") and (.format date \"dd/MM/yyyy\")",
    ),
    (
        "ZoneId/systemDefault TimeZone/getDefault java.util.TimeZone/getDefault",
        "programs see no time zone of the machine: name one, as in (in-zone (Instant/now) \"Europe/Berlin\")",
    ),
    (
        ".withZone",
        "put the time into the zone: (.format (in-zone instant \"Europe/Berlin\") \"yyyy-MM-dd HH:mm\")",
    ),
    ("md5 sha256 sha1", "there are no digests"),
    (
        "transient persistent! TransientVector",
        "leave it out: values never change, and conj, assoc and into are as fast",
    ),
    (
        "priority-map clojure.data.priority-map/priority-map pm/priority-map",
        "use a sorted set of [priority value], or (first (sort-by val m))",
    ),
    ("cl-format clojure.pprint/cl-format pprint/cl-format", "use format, as in (format \"%05d\" n)"),
    ("sh shell exec system", "no processes: call a tool"),
];

/// Names that are often guessed, and the ones that exist.
const NAMED: &[(&str, &str)] = &[
    ("mean average", "avg"),
    ("sum-of", "sum-by"),
    ("map-vals mapvals map-values transform-vals", "update-vals"),
    ("map-keys mapkeys", "update-keys"),
    ("count-by count-if", "frequencies"),
    ("length size len strlen alength", "count"),
    ("foldl fold foldr inject areduce", "reduce"),
    ("append push conj! add", "conj"),
    ("to-string to-str tostring ->string ->str int->str number->string number->str num->str", "str"),
    ("substring substr slice", "subs"),
    ("lowercase lower downcase-string to-lower to-lowercase", "lower-case"),
    ("uppercase upper to-upper to-uppercase", "upper-case"),
    ("flat-map flatmap concat-map", "mapcat"),
    ("head car", "first"),
    ("tail cdr", "rest"),
    ("diff", "clojure.data/diff"),
    ("lambda fn* func function λ", "fn"),
    ("defun define def-fn", "defn"),
    ("else otherwise default", ":else"),
    ("elif elsif else-if", "cond"),
    ("begin progn", "do"),
    ("let* letrec", "let"),
    ("unless", "when-not"),
    ("null None nil! undefined NULL null! None?", "nil"),
    ("True", "true"),
    ("False", "false"),
    ("null? none? is-nil?", "nil?"),
    ("any any-match exists?", "some"),
    ("all all? every all-match", "every?"),
    ("none none-match", "not-any?"),
    ("each for-each foreach", "doseq"),
    ("enumerate each-with-index map-with-index", "map-indexed"),
    ("where select-where grep", "filter"),
    ("reject", "remove"),
    ("pluck collect", "map"),
    ("has-key? haskey contains-key? contains", "contains?"),
    ("in? member? member includes elem?", "some"),
    ("strip", "trim"),
    ("ltrim lstrip", "triml"),
    ("rtrim rstrip", "trimr"),
    ("string-join join-str", "join"),
    ("string-split split-str split-string", "split"),
    ("replace-all regex-replace re-replace gsub re-sub string-replace", "replace"),
    ("re-match re-test re-match? matches?", "re-find"),
    (
        "parse-number to-number str->number string->number ->float to-float to-double ->double parse-float parse-num str->double",
        "parse-double",
    ),
    ("to-int ->int ->long str->int str->long string->int to-long to-integer", "parse-long"),
    (
        "json-parse parse-json from-json json->clj json-decode decode-json read-json json/parse json/read",
        "json/parse-string",
    ),
    (
        "json-encode to-json clj->json encode-json generate-json write-json json-stringify",
        "json/generate-string",
    ),
    ("parse-csv read-csv csv->maps csv-parse csv/parse csv/read csv/parse-csv", "csv/parse-string"),
    (
        "write-csv generate-csv csv/write-csv csv/write csv/generate clojure.data.csv/write-csv",
        "csv/generate-string",
    ),
    ("weekday-name day-of-week-name dayname", "day-name"),
    ("monthname", "month-name"),
    ("today", "LocalDate/now"),
    ("now", "Instant/now"),
    ("parse-date str->date date", "LocalDate/parse"),
    ("days-between date-diff", "ChronoUnit/DAYS"),
    ("day-of-week weekday", ".getDayOfWeek"),
    ("year", ".getYear"),
    ("month", ".getMonthValue"),
    ("add-days plus-days", ".plusDays"),
    ("round-to round2 round-half-up", "round"),
    ("ceiling", "ceil"),
    ("eq? eq equal? equals eql equals?", "="),
    ("hash-code", "hash"),
    ("aget elt", "nth"),
    ("aset assoc!", "assoc"),
    ("dissoc!", "dissoc"),
    ("disj!", "disj"),
    ("pop!", "pop"),
    ("doall! identity!", "identity"),
    ("base64-encode b64-encode b64encode btoa encode-base64 base64/encode-string", "base64/encode"),
    ("base64-decode b64-decode b64decode atob decode-base64 base64/decode-string", "base64/decode"),
    (
        "url-encode urlencode encode-url encodeURIComponent encode-uri-component codec/url-encode ring.util.codec/url-encode",
        "URLEncoder/encode",
    ),
    (
        "url-decode urldecode decode-url decodeURIComponent decode-uri-component codec/url-decode ring.util.codec/url-decode",
        "URLDecoder/decode",
    ),
    (
        "int-array long-array double-array float-array byte-array char-array object-array boolean-array into-array to-array \
      make-array vector-of iterator-seq enumeration-seq",
        "vec",
    ),
    ("exp log10 sin cos tan pow10 sinh", "Math/exp"),
    ("pi PI", "Math/PI"),
    ("println! write-line", "println"),
    ("printf!", "printf"),
    ("sort-desc", "sort"),
    ("chars", "seq"),
];

/// Names of small helpers, and equivalent expressions.
const WRITE: &[(&str, &str)] = &[
    (
        "call-tool call_tool callTool tool-call tool_call toolCall mcp-call mcp_call call-mcp call-mcp-tool invoke-tool \
         invoke_tool invokeTool run-tool run_tool use-tool use_tool use-mcp-tool use_mcp_tool execute-tool execute_tool \
         call-server call_server",
        "(tool/call {:server \"…\" :tool \"…\" :args {…}})",
    ),
    (
        "list-tools list_tools listTools tools-list show-tools",
        "(doc \"server\") for a server's tools, or (tool/servers)",
    ),
    (".put .putAll", "(assoc m key value)"),
    (".add .addAll .push .append", "(conj coll x)"),
    (".remove", "(dissoc m key) or (remove pred coll)"),
    (
        ".stream .map .filter .collect .forEach .reduce .toList .iterator",
        "(map f coll), (filter pred coll) or (reduce f init coll)",
    ),
    (".until Period/between Period/ofDays", "(.between ChronoUnit/DAYS from to)"),
    ("Arrays/asList List/of", "[a b c]"),
    ("Map/of", "{key value}"),
    ("Set/of", "#{a b c}"),
    ("index-by key-by group-one", "(into {} (map (juxt key-fn identity)) coll)"),
    ("deep-merge merge-deep deep-merge-with", "(merge-with merge a b)"),
    ("dissoc-in", "(update-in m path dissoc key)"),
    ("find-first first-where detect", "(first (filter pred coll))"),
    ("unzip transpose", "(apply map vector rows)"),
    ("median", "(let [s (vec (sort xs))] (nth s (quot (count s) 2)))"),
    ("mode", "(key (apply max-key val (frequencies xs)))"),
    ("clamp", "(max low (min high x))"),
    ("between?", "(<= low x high)"),
    ("filter-vals", "(into {} (filter (comp pred val)) m)"),
    ("filter-keys", "(into {} (filter (comp pred key)) m)"),
    ("filter-kv", "(into {} (filter (fn [[k v]] …)) m)"),
    ("remove-vals", "(into {} (remove (comp pred val)) m)"),
    ("remove-keys", "(into {} (remove (comp pred key)) m)"),
    ("map-kv", "(into {} (map (fn [[k v]] [k v])) m)"),
    ("format-date date-format", "(.format date \"dd/MM/yyyy\")"),
    ("percent percentage", "(* 100 (/ part whole))"),
    ("title-case capitalize-words", "(str/join \" \" (map str/capitalize (str/split s #\" \")))"),
    ("if-let* when-let* cond-let", "nested if-let or when-let"),
    ("variance stddev std", "(let [m (avg xs)] (Math/sqrt (avg (map (fn [x] (* (- x m) (- x m))) xs))))"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtins::library;
    use crate::special_forms::SpecialForm;

    #[test]
    fn advice_is_for_names_that_do_not_exist_and_names_ones_that_do() {
        let exists = |name: &str| library().find(name).is_some() || SpecialForm::named(name).is_some();
        let advised = ABSENT.iter().chain(NAMED).chain(WRITE);
        let needless: Vec<_> = advised
            .flat_map(|(names, _)| names.split_ascii_whitespace())
            .filter(|name| exists(name))
            .collect();
        assert!(needless.is_empty(), "exist: {needless:?}");
        let literal = |name: &str| matches!(name, "nil" | "true" | "false") || name.starts_with(':');
        let missing: Vec<_> =
            NAMED.iter().map(|(_, name)| *name).filter(|name| !literal(name) && !exists(name)).collect();
        assert!(missing.is_empty(), "do not exist: {missing:?}");
    }

    #[test]
    fn no_name_has_two_pieces_of_advice() {
        let mut seen = std::collections::HashSet::new();
        for (names, _) in ABSENT.iter().chain(NAMED).chain(WRITE) {
            for name in names.split_ascii_whitespace() {
                assert!(seen.insert(name), "{name} is listed twice");
            }
        }
    }
}
