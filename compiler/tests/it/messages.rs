//! Every text with which a program is refused, and some with which it fails (language.md 1.4, 3, 4, 5).

use crate::support::{check, run};
use ptc_compiler::{CompileOptions, compile};
use ptc_vm::builtins::library;

#[test]
fn special_forms() {
    check(&[
        ("(quote a b)", "!invalid_arity Analysis error: (quote symbol) requires exactly 1 symbol, got 2"),
        ("(quote #(a))", "!invalid_form invalid_form: quote takes data, got #(a)"),
        (
            "(defonce x)",
            "!invalid_arity Analysis error: expected (defonce name value), got (defonce name) without value",
        ),
        ("(def)", "!invalid_arity Analysis error: expected (def name value) or (def name docstring value)"),
        (
            "(def x 1 2)",
            "!invalid_arity Analysis error: expected (def name value) or (def name docstring value)",
        ),
        (
            "(defonce x 1 2 3)",
            "!invalid_arity Analysis error: expected (defonce name value) or (defonce name docstring value)",
        ),
        (
            "(defonce x)",
            "!invalid_arity Analysis error: expected (defonce name value), got (defonce name) without value",
        ),
        ("(def \"a\" 1)", "!invalid_form invalid_form: def name must be a symbol, got: \"a\""),
        ("(def [a] 1)", "!invalid_form invalid_form: def name must be a symbol, got: [a]"),
        (
            "(def a/b 1)",
            "!invalid_form invalid_form: qualified definitions are not supported: cannot define a/b. Define unqualified names in the user namespace instead.",
        ),
        (
            "(def data/b 1)",
            "!invalid_form invalid_form: cannot define data/b: data/ is a protected namespace. Define unqualified names in the user namespace instead.",
        ),
        ("(defn f)", "!invalid_arity Analysis error: expected (defn name [params] body)"),
        ("(defn f \"doc\")", "!invalid_arity Analysis error: expected (defn name [params] body)"),
        ("(defn 5 [x] x)", "!invalid_form invalid_form: defn name must be a symbol, got: 5"),
        ("(defn f x)", "!invalid_form invalid_form: defn parameters must be a vector"),
        (
            "(defn f ([x] 1) ([y] 2))",
            "!invalid_form invalid_form: two bodies take the same number of arguments: [y]",
        ),
        (
            "(fn ([x & y] 1) ([x y z] 2))",
            "!invalid_form invalid_form: a body with & must be the only one, and none may take more arguments than it",
        ),
        (
            "(fn)",
            "!invalid_arity Analysis error: expected (fn [params] body ...) or (fn name [params] body ...)",
        ),
        (
            "(fn f)",
            "!invalid_arity Analysis error: expected (fn [params] body ...) or (fn name [params] body ...)",
        ),
        ("(fn \"doc\" [x] x)", "!invalid_form invalid_form: fn parameters must be a vector"),
        ("(if)", "!invalid_arity Analysis error: expected (if cond then else?)"),
        ("(if 1 2 3 4)", "!invalid_arity Analysis error: expected (if cond then else?)"),
        ("(if-not 1)", "!invalid_arity Analysis error: expected (if-not cond then else?)"),
        ("(when)", "!invalid_arity Analysis error: expected (when cond body ...)"),
        ("(when-not)", "!invalid_arity Analysis error: expected (when-not cond body ...)"),
        ("(if-let [x 1])", "!invalid_arity Analysis error: expected (if-let [name expr] then else)"),
        ("(if-let x 1 2)", "!invalid_arity Analysis error: expected (if-let [name expr] then else)"),
        ("(if-some)", "!invalid_arity Analysis error: expected (if-some [name expr] then else)"),
        ("(when-let)", "!invalid_arity Analysis error: expected (when-let [name expr] body ...)"),
        ("(when-some x)", "!invalid_arity Analysis error: expected (when-some [name expr] body ...)"),
        ("(when-first)", "!invalid_arity Analysis error: expected (when-first [name expr] body ...)"),
        (
            "(if-let [x 1 y 2] 1 2)",
            "!invalid_form invalid_form: if-let requires exactly one binding pair [name expr]",
        ),
        (
            "(when-first [] 1)",
            "!invalid_form invalid_form: when-first requires exactly one binding pair [name expr]",
        ),
        (
            "(when-let [5 1] 1)",
            "!invalid_form invalid_form: binding must be a simple symbol, not a destructuring pattern",
        ),
        ("(cond 1)", "!invalid_cond_form invalid_cond_form: cond requires even number of test/result forms"),
        ("(case)", "!invalid_form invalid_form: case requires at least an expression to test"),
        ("(case 1 () 2)", "!invalid_form invalid_form: case grouped match must contain at least one value"),
        (
            "(case 1 #\"x\" 2)",
            "!invalid_form invalid_form: case test values must be compile-time constants (keywords, symbols, strings, numbers, booleans, nil)",
        ),
        (
            "(case 1 (1 #(f 2)) 2)",
            "!invalid_form invalid_form: case test values must be compile-time constants (keywords, symbols, strings, numbers, booleans, nil)",
        ),
        (
            "(case 1 (1 'x) 2)",
            "!invalid_form invalid_form: case test values must be compile-time constants (keywords, symbols, strings, numbers, booleans, nil)",
        ),
        (
            "(condp = 1)",
            "!invalid_form invalid_form: condp requires a predicate, an expression, and at least one clause",
        ),
        ("(let)", "!invalid_arity Analysis error: expected (let [bindings] body ...)"),
        ("(loop)", "!invalid_arity Analysis error: expected (loop [bindings] body ...)"),
        ("(let {x 1} x)", "!invalid_form invalid_form: let bindings must be a vector"),
        ("(loop [x])", "!invalid_form invalid_form: let bindings require even number of forms"),
        ("(recur 1)", "!invalid_form invalid_form: recur must be in tail position"),
        ("(loop [x 1] (+ 1 (recur 2)))", "!invalid_form invalid_form: recur must be in tail position"),
        ("(loop [x 1] (recur 1) x)", "!invalid_form invalid_form: recur must be in tail position"),
        ("(loop [x 1] [(recur 1)])", "!invalid_form invalid_form: recur must be in tail position"),
        (
            "(loop [x 1] (for [y [1]] (recur 1)))",
            "!invalid_form invalid_form: recur must be in tail position",
        ),
        (
            "(loop [x 1] (cond-> x true (recur) true inc))",
            "!invalid_form invalid_form: recur must be in tail position",
        ),
        ("(loop [x 1] (return (recur 1)))", "!invalid_form invalid_form: recur must be in tail position"),
        ("(loop [x 1] (def y (recur 1)))", "!invalid_form invalid_form: recur must be in tail position"),
        ("(return)", "!invalid_arity Analysis error: expected (return value)"),
        ("(fail 1 2)", "!invalid_arity Analysis error: expected (fail error)"),
        ("(task \"id\")", "!invalid_arity Analysis error: expected (task \"id\" expr)"),
        ("(step-done 1)", "!invalid_arity Analysis error: expected (step-done id summary)"),
        ("(task-reset)", "!invalid_arity Analysis error: expected (task-reset id)"),
        ("(pmap inc)", "!invalid_arity Analysis error: expected (pmap f coll) or (pmap f c1 c2 ...)"),
        ("(apply)", "!invalid_arity Analysis error: expected (apply f coll) or (apply f x y coll)"),
        ("(juxt)", "!invalid_arity Analysis error: expected (juxt f ...) with at least one function"),
        ("(. \"x\")", "!invalid_form invalid_form: expected (. obj method argument ...)"),
        ("(. \"x\" foo 1)", "!invalid_form invalid_form: Unsupported method 'foo' in (. \"x\" foo 1)"),
        (
            "(letfn)",
            "!invalid_arity Analysis error: expected (letfn [(name [params] body ...) ...] body ...)",
        ),
        ("(letfn [f] 1)", "!invalid_form invalid_form: letfn expects (name [params] body ...), got: f"),
        ("(dotimes [i])", "!invalid_arity Analysis error: expected (dotimes [name count] body ...)"),
        ("(())", "!invalid_form invalid_form: Empty list is not a valid expression"),
        ("(-> 1 ())", "!invalid_form invalid_form: Empty list is not a valid expression"),
    ]);
}

#[test]
fn patterns() {
    check(&[
        ("(fn [a &] 1)", "!invalid_form invalid_form: & must be followed by a pattern"),
        (
            "(let [[a & b c] []] 1)",
            "!invalid_form invalid_form: & must be followed by exactly one pattern, got extra: c",
        ),
        (
            "(let [[a & b :as] []] 1)",
            "!invalid_form invalid_form: & must be followed by exactly one pattern, got extra: :as",
        ),
        ("(let [1 2] 3)", "!unsupported_pattern unsupported_pattern: 1"),
        ("(let [a/b 1] 3)", "!unsupported_pattern unsupported_pattern: a/b"),
        ("(fn [*1] 1)", "!unsupported_pattern unsupported_pattern: *1"),
        ("(let [[a :as] 1] 1)", "!unsupported_pattern unsupported_pattern: :as"),
        ("(let [{:keyz [a]} {}] a)", "!unsupported_pattern unsupported_pattern: :keyz"),
        ("(let [{:keys a} {}] 1)", "!invalid_form invalid_form: invalid :keys destructuring form"),
        ("(let [{:strs \"a\"} {}] 1)", "!invalid_form invalid_form: invalid :strs destructuring form"),
        (
            "(let [{:keys [5]} {}] b)",
            "!invalid_form invalid_form: expected keyword or symbol in destructuring key",
        ),
        ("(let [{:keys [a] :or {:a 1}} {}] a)", "!invalid_form invalid_form: default keys must be symbols"),
        (
            "(let [{:keys [a] :or [a 1]} {}] a)",
            "!invalid_form invalid_form: :or must be a map of symbols to defaults, got: [a 1]",
        ),
        (
            "(let [{:keys [a] :as 5} {}] a)",
            "!invalid_form invalid_form: :as must be followed by a symbol, got: 5",
        ),
        ("(let [{a b} {}] a)", "!unbound_var Undefined variable: b"),
        ("(let [[a] 5] a)", "!destructure_error destructure_error: expected list or nil, got 5"),
        ("(let [[a] #{1}] a)", "!destructure_error destructure_error: expected list or nil, got #{1}"),
        (
            "((fn [& {:keys [a]}] a) :a 1 2)",
            "!destructure_error destructure_error: keyword args must be even, got odd count: 3",
        ),
    ]);
}

#[test]
fn short_functions() {
    check(&[
        (
            "%",
            "!invalid_placeholder Analysis error: placeholder '%' can only be used inside #() anonymous function syntax",
        ),
        (
            "(let [%1 1] 1)",
            "!invalid_placeholder Analysis error: placeholder '%1' can only be used inside #() anonymous function syntax",
        ),
        (
            "#(%0)",
            "!invalid_placeholder Analysis error: placeholder '%0' does not exist. Use %, %1 to %20, %&",
        ),
        (
            "#(+ %x 1)",
            "!invalid_placeholder Analysis error: placeholder '%x' does not exist. Use %, %1 to %20, %&",
        ),
        ("#(+ %21 1)", "!invalid_form invalid_form: short function placeholder %21 exceeds max arity of 20"),
        (
            "#(+ %99999999999999999999999 1)",
            "!invalid_form invalid_form: short function placeholder %99999999999999999999999 exceeds max arity of 20",
        ),
        ("#(#(1))", "!invalid_form invalid_form: Nested #() anonymous functions are not allowed"),
        (
            "#(map (fn [x] #(1)) [1])",
            "!invalid_form invalid_form: Nested #() anonymous functions are not allowed",
        ),
    ]);
}

#[test]
fn threads_and_comprehensions() {
    check(&[
        ("(->)", "!invalid_thread_form invalid_thread_form: -> requires at least one expression"),
        ("(->>)", "!invalid_thread_form invalid_thread_form: ->> requires at least one expression"),
        ("(some->)", "!invalid_thread_form invalid_thread_form: some-> requires at least one expression"),
        ("(cond->)", "!invalid_thread_form invalid_thread_form: cond-> requires at least one expression"),
        (
            "(cond->> 1 true)",
            "!invalid_thread_form invalid_thread_form: cond->> requires even number of test/form pairs after expression",
        ),
        ("(as-> 1)", "!invalid_thread_form invalid_thread_form: as-> expected (as-> expr name form ...)"),
        (
            "(as-> 1 :x x)",
            "!invalid_thread_form invalid_thread_form: as-> expected (as-> expr name form ...)",
        ),
        ("(-> 1 (fn [x] x))", "!invalid_form invalid_form: fn parameters must be a vector"),
        ("(for [x [1]])", "!invalid_arity Analysis error: for requires at least one body expression"),
        ("(for [x [1]])", "!invalid_arity Analysis error: for requires at least one body expression"),
        ("(for)", "!invalid_arity Analysis error: expected (for [bindings] body ...)"),
        ("(doseq x 1)", "!invalid_arity Analysis error: expected (doseq [bindings] body ...)"),
        ("(for [] 1)", "!invalid_form invalid_form: for/doseq requires at least one binding pair"),
        (
            "(doseq [x [1] y] 1)",
            "!invalid_form invalid_form: for/doseq bindings require pairs, got trailing element",
        ),
        (
            "(for [:when true] 1)",
            "!invalid_form invalid_form: expected a binding symbol, got keyword :when. Keywords like :when/:let/:while must follow a binding pair",
        ),
        (
            "(for [x [1] :foo 1] 1)",
            "!invalid_form invalid_form: unknown modifier :foo in for/doseq. Known: :when, :let, :while",
        ),
        ("(for [x [1] :when] 1)", "!invalid_form invalid_form: modifier :when requires a value"),
        (
            "(for [x [1] :let 5] 1)",
            "!invalid_form invalid_form: :let modifier requires a vector of bindings, got: 5",
        ),
        (
            "(for [x [1] :let y] 1)",
            "!invalid_form invalid_form: :let modifier requires a vector of bindings, got: symbol 'y'",
        ),
        ("(for [x [1] :let [y]] 1)", "!invalid_form invalid_form: let bindings require even number of forms"),
        (
            "(for [x 5] x)",
            "!invalid_arity Analysis error: for binding 'x' expected a collection, got: 5 (number)",
        ),
        (
            "(doseq [[a b] :k] a)",
            "!invalid_arity Analysis error: doseq binding '[a b]' expected a collection, got: :k (keyword)",
        ),
        ("(let [n 5] (for [x n] x))", "!type_error type_error: seq: invalid argument types: number"),
    ]);
}

#[test]
fn names() {
    check(&[
        ("foo", "!unbound_var Undefined variable: foo"),
        ("(foo bar baz foo)", "!unbound_var Undefined variables: foo, bar, baz"),
        ("(conut [1])", "!unbound_var Undefined variable: conut. Did you mean: count"),
        ("(let [users [1]] usrs)", "!unbound_var Undefined variable: usrs. Did you mean: users"),
        (
            "[if]",
            "!unbound_var Undefined variable: if. Hint: 'if' is a special form, use (if ...) with parentheses",
        ),
        (
            "(map return [1])",
            "!unbound_var Undefined variable: return. Hint: 'return' is a special form, use (return ...) with parentheses",
        ),
        (
            "(group_by :a [])",
            "!unbound_var Undefined variable: group_by. Hint: Use hyphens not underscores (try: group-by)",
        ),
        ("(if true (def q 1)) q", "!unbound_var Undefined variable: q"),
        ("q (def q 1)", "!unbound_var Undefined variable: q"),
        (
            r#"(call-tool "fs" "read" {})"#,
            r#"!unbound_var Undefined variable: call-tool. Not available in PTC-Lisp — write (tool/call {:server "…" :tool "…" :args {…}})"#,
        ),
        ("(or (inc nope) 7)", "!unbound_var Undefined variable: nope"),
        ("(comment (nope) #(% %))", "nil"),
        ("(defn f [] (g)) (if true (defn g [] 1)) (f)", "!unbound_var Undefined variable: g"),
        ("(def x (inc x))", "!unbound_var undefined variable: x"),
        ("(declare x) x", "!unbound_var undefined variable: x"),
        ("(do (let [a 1] (def b a)) b)", "1"),
        ("(when true (def w 1) (def v 2) (+ w v))", "3"),
        (
            ".foo",
            "!unsupported_method Unsupported method '.foo'. Supported interop methods: .getTime, .toEpochDay, .plusDays, .minusDays, .toMillis, .toDays, .contains, .indexOf, .lastIndexOf, .toLowerCase, .length, .substring, .toUpperCase, .startsWith, .endsWith, .isBefore, .isAfter, NEGATIVE_INFINITY, NaN, POSITIVE_INFINITY, currentTimeMillis, Duration/between, Boolean/parseBoolean, java.util.Date., parse. Use (.method obj) syntax.",
        ),
    ]);
}

#[test]
fn namespaces() {
    const PREFIXES: &str = "Available namespaces: data/, tool/, program/, mcp/, budget/, json/, clojure.core/, core/, clojure.string/, str/, string/, clojure.set/, set/, clojure.walk/, walk/, regex/, Math/, System/, Boolean/, Double/, Float/, Integer/, Long/, LocalDate/, Instant/, Duration/, java.time.LocalDate/, java.time.Instant/, java.time.Duration/, java.util.Date..";
    const JSON: &str = " For JSON parsing use json/parse-string (not cheshire.core/...).";
    const TOOL: &str =
        " A tool of an upstream server is called by (tool/call {:server \"foo\" :tool \"bar\" :args {…}}).";
    for (source, prefix) in
        [("(foo/bar 1)", "foo"), ("(data/x 1)", "data"), ("mcp/x", "mcp"), ("user/x", "user")]
    {
        // The advice comes first.
        let (advice, json) = if prefix == "foo" { (TOOL, "") } else { ("", JSON) };
        let message = format!("unknown namespace {prefix}/.{advice} {PREFIXES}{json}");
        assert_eq!(run(source), format!("!invalid_form invalid_form: {message}"));
    }
    check(&[
        (
            "(walk/nope 1)",
            "!invalid_form invalid_form: nope is not available. Walk functions: postwalk, prewalk, walk",
        ),
        (
            "(json/foo 1)",
            "!invalid_form invalid_form: json/foo is not available. JSON functions: json/generate-string, json/parse-string",
        ),
        (
            "(Duration/foo)",
            "!invalid_form invalid_form: Duration/foo is not available. Interop functions: Duration/between",
        ),
        (
            "(java.time.Duration/foo)",
            "!invalid_form invalid_form: foo is not available. Interop functions: between",
        ),
        (
            "Double/FOO",
            "!invalid_form invalid_form: FOO is not available. Interop functions: parseDouble, POSITIVE_INFINITY, NEGATIVE_INFINITY, NaN",
        ),
        (
            "budget/foo",
            "!invalid_form invalid_form: Unknown budget function: budget/foo. Available: budget/remaining",
        ),
        ("(budget/remaining 1)", "!invalid_arity Analysis error: (budget/remaining) takes no arguments"),
        ("[budget/remaining (budget/remaining)]", "[{} {}]"),
        ("(mcp/foo)", "!invalid_form invalid_form: Unknown mcp function: mcp/foo. Available: tool/servers"),
        ("(tool/servers 1)", "!invalid_arity Analysis error: (tool/servers) takes no arguments"),
        ("(doc)", "!invalid_arity Analysis error: (doc ref…) takes 1 to 16 names, got 0"),
        ("(meta 1 2)", "!invalid_arity Analysis error: (meta tool-ref) requires exactly 1 argument, got 2"),
        ("(dir)", "!invalid_arity Analysis error: (dir server) or (dir server opts) — got 0 args"),
        (
            "(apropos 1 2 3)",
            "!invalid_arity Analysis error: (apropos query) or (apropos query opts) — got 3 args",
        ),
        (
            "(ns-publics)",
            "!invalid_arity Analysis error: (ns-publics namespace) requires exactly 1 argument, got 0",
        ),
    ]);
}

#[test]
fn duplicates() {
    check(&[
        ("{:a 1 :a 2}", "!duplicate_key duplicate_key: duplicate key :a in map literal"),
        ("#{1 2 1}", "!duplicate_key duplicate_key: duplicate element 1 in set literal"),
        ("{#{1 2} 1 #{2 1} 2}", "!duplicate_key duplicate_key: duplicate key #{2 1} in map literal"),
        ("{(f) 1 (f) 2}", "!duplicate_key duplicate_key: duplicate key (f) in map literal"),
        ("#{0.0 -0.0}", "!duplicate_key duplicate_key: duplicate element -0.0 in set literal"),
        ("[#{1 1.0} (count #{#\"a\" #\"b\"}) (let [a 1 b 1] {a :x b :y})]", "[#{1 1.0} 2 {1 :y}]"),
        ("'{a 1 a 2}", "!duplicate_key duplicate_key: duplicate key a in map literal"),
    ]);
    let many: String = (0..3000).map(|n| format!("{n} ")).collect();
    assert_eq!(run(&format!("(count #{{{many}}})")), "3000");
    let twice = format!("#{{{many} 1500}}");
    assert_eq!(run(&twice), "!duplicate_key duplicate_key: duplicate element 1500 in set literal");
}

#[test]
fn calls() {
    check(&[
        ("(\"a\" 1)", "!not_callable not callable: \"a\""),
        ("([1 2] :a)", "!type_error type_error: a vector is called with an index, got keyword"),
        (
            "([1 2] {:a 1})",
            "!type_error type_error: a vector is called with an index, got map; (get-in m path) reads a path",
        ),
        ("([1 2] 2)", "!runtime_error Runtime error: index 2 out of bounds for list of length 2"),
        ("([1 2] 0 1)", "!arity_error arity error: vector expects 1 argument, got 2"),
        ("(1 (/ 1 0))", "!arithmetic_error arithmetic_error: division by zero"),
        (
            "((fn [x] x))",
            "!arity_mismatch arity_mismatch: expected 1 argument(s), got 0. The function is #fn[x] at line 1",
        ),
        (
            "((fn [x & y] x))",
            "!arity_mismatch arity_mismatch: expected at least 1 argument(s), got 0. The function is #fn[x & y] at line 1",
        ),
        (
            "\n(defn f ([a] 1) ([a b] 2)) (f 1 2 3)",
            "!arity_mismatch arity_mismatch: expected 1 or 2 argument(s), got 3. The function is f, #fn([a] [a b]) at line 2",
        ),
        (
            "(json/parse-string)",
            "!arity_error arity error: json/parse-string expects 1, 2, 3 argument(s), got 0",
        ),
        ("(+ 1 nil)", "!type_error type_error: +: invalid argument types: number, nil"),
        ("(loop [i 0] (recur))", "!arity_mismatch arity_mismatch: expected 1 argument(s), got 0"),
        ("((fn [a & b] (recur 1)) 1)", "!arity_mismatch arity_mismatch: expected 2 argument(s), got 1"),
        ("(if false (loop [i 0] (recur 1 2)) :fine)", ":fine"),
        ("(:a)", "!invalid_keyword_call invalid_keyword_call: (:a) takes 1 or 2 arguments, got 0"),
        ("(def v 1) ((def w inc) 1)", "2"),
        ("(return 1 2)", "!invalid_arity Analysis error: expected (return value)"),
        ("(fail {:code 1})", "!fail {:code 1}"),
    ]);
}

#[test]
fn limits_of_the_text() {
    let options = CompileOptions { max_source_bytes: 10, max_names: 2 };
    let error = compile("(+ 1 2 3 4 5)", library(), &options).expect_err("too long");
    assert_eq!(
        (error.reason().as_str(), error.message()),
        ("program_too_large", "program size 13 bytes exceeds limit of 10")
    );
    let error = compile("[:a :b :c]", library(), &options).expect_err("too many names");
    assert_eq!(error.reason().as_str(), "symbol_limit_exceeded");
    assert_eq!(error.message(), "program contains 3 unique symbols/keywords, exceeds limit of 2");
    assert!(compile("[:a 'x 'y]", library(), &options).is_ok(), "quoted symbols do not count");
    assert!(compile("(or :a :b)", library(), &options).is_ok(), "the usual forms do not count");
}

#[test]
fn errors_say_where() {
    let at = |source: &str| {
        let error = compile(source, library(), &CompileOptions::default()).expect_err("refused");
        let position = error.position();
        (position.line, position.column, position.end_line, position.end_column)
    };
    assert_eq!(at("(do\n  (if))"), (2, 3, 2, 7));
    assert_eq!(at("(let [a \"é\"\n  2 3] a)"), (2, 3, 2, 4));
    assert_eq!(at("(+ 1 \"é\n"), (1, 1, 1, 2), "the list that is not closed");
}

#[test]
fn the_journal() {
    check(&[("(step-done nil \"x\")", "!type_error type_error: (step-done) id must be a string, got nil")]);
}

/// What an error of a name says besides its message.
#[track_caller]
fn hint_of(source: &str) -> String {
    let got = crate::support::run(source);
    let (_, hint) =
        got.rsplit_once("(not cheshire.core/...).").or_else(|| got.split_once(". ")).unwrap_or((&got, ""));
    hint.trim_start_matches(". ").to_owned()
}

#[test]
fn what_the_language_lacks_has_one_hint() {
    for (source, hint) in [
        ("(try (foo) (catch Exception e nil))", "'try': Not available in PTC-Lisp — errors cannot be caught"),
        (
            "(throw (ex-info \"no\" {}))",
            "'throw': Not available in PTC-Lisp — end the program with (fail value)",
        ),
        ("(defmacro m [x] x)", "'defmacro': Not available in PTC-Lisp — use defn"),
        ("(def a (atom 0)) (swap! a inc)", "'atom': Not available in PTC-Lisp — values are immutable"),
        ("(rand-nth [1 2])", "Not available in PTC-Lisp — programs are deterministic"),
        ("(shuffle [1 2])", "Not available in PTC-Lisp — programs are deterministic"),
        ("(slurp \"a.txt\")", "Not available in PTC-Lisp — no file I/O: call a tool"),
        ("(spit \"a.txt\" 1)", "Not available in PTC-Lisp — no file I/O: call a tool"),
        ("(future 1)", "Not available in PTC-Lisp — use pmap or pcalls"),
        ("@(promise)", ""),
        ("(eval '(+ 1 2))", "Not available in PTC-Lisp — programs cannot run text"),
        ("(load-file \"x.clj\")", "Not available in PTC-Lisp — no namespace loading"),
        ("(while true (println 1))", "Not available in PTC-Lisp — use loop with recur"),
        ("(instance? String 1)", "'instance?': Not available in PTC-Lisp — use string?"),
        ("(defrecord P [x])", "'defrecord': Not available in PTC-Lisp — use maps and functions"),
        ("(deep-merge {} {})", "Not available in PTC-Lisp — write (merge-with merge a b)"),
        ("(len [1])", "Did you mean: count"),
        ("[None]", "Did you mean: nil"),
        ("(str/lower \"A\")", "Did you mean: lower-case"),
        ("(str/length \"A\")", "Did you mean: count"),
        ("(s/join \",\" [1])", "Did you mean: clojure.string/join"),
        (
            "(Thread/sleep 10)",
            "Not available in PTC-Lisp — use (sleep-ms n), which waits at most 10 seconds at a time",
        ),
        (
            "(ZoneId/systemDefault)",
            "Not available in PTC-Lisp — programs see no time zone of the machine: name one",
        ),
        ("(Math/random)", "Not available in PTC-Lisp — programs are deterministic"),
        (
            "(tickets/search {:q \"a\"})",
            "A tool of an upstream server is called by (tool/call {:server \"tickets\" :tool \"search\" :args {:q \"a\"}}).",
        ),
        ("(.substr \"abc\" 1)", ""),
    ] {
        let got = hint_of(source);
        assert!(got.contains(hint), "{source}\n  want {hint}\n  got  {}", crate::support::run(source));
    }
}

#[test]
fn sums_over_cells_of_tables_say_how_to_read_them() {
    for (source, hint) in [
        (
            "(sum-by :n [{:n 1} {:n \"120.00\"}])",
            "Got the string \"120.00\", not a number: (parse-double s) reads one",
        ),
        (
            "(sum [\"a\\u0007bcdefghijklmnopqrstuvwxyz\"])",
            "Got the string \"a\\u{7}bcdefghijklmnopqrs…\", not a number",
        ),
        ("(avg-by :n [{:n :a}])", "Got keyword, not a number"),
    ] {
        let got = hint_of(source);
        assert!(got.starts_with(hint), "{source}\n  want {hint}\n  got  {}", crate::support::run(source));
    }
}

#[test]
fn what_cannot_be_loaded() {
    let known = "Known: clojure.core, clojure.string, clojure.set, clojure.walk, clojure.data, clojure.math, clojure.math.combinatorics, clojure.edn, clojure.pprint, clojure.data.json, cheshire.core, clojure.data.csv, json, csv. Nothing else can be loaded";
    let unknown = format!("!invalid_form invalid_form: there is no namespace foo.bar. {known}");
    let options = "!invalid_form invalid_form: [clojure.set …] takes :as alias, :refer [names] and :refer :all, each with its value: write [clojure.set :as alias]";
    check(&[
        ("(require '[foo.bar :as b])", unknown.as_str()),
        ("(require '(foo [bar]))", &unknown),
        ("(ns a (:require [clojure.set :as s] foo.bar))", &unknown),
        ("(use 'foo.bar)", &unknown),
        ("(require '[clojure.set :as])", options),
        ("(require '[clojure.set :rename {a b}])", options),
        ("(require '[clojure.set :as \"s\"])", options),
        (
            "(require 5)",
            "!invalid_form invalid_form: 5 names no namespace: write (require '[clojure.string :as str])",
        ),
        ("(require '[clojure.set :refer [foo]])", "!invalid_form invalid_form: clojure.set has no foo here"),
        (
            "(require '[clojure.set :as data])",
            "!invalid_form invalid_form: data/ is reserved: choose another alias",
        ),
        ("(ns)", "!invalid_form invalid_form: expected (ns name (:require [namespace :as alias]))"),
        ("(import 5)", "!invalid_form invalid_form: 5 names no class: write (import java.time.LocalDate)"),
        (
            "(import java.util.UUID)",
            "!invalid_form invalid_form: there is no class java.util.UUID here. Known are LocalDate, LocalDateTime, Instant, Duration and the like of java.time, java.util.Date, and the static methods of Math, Integer, Long, Double, Boolean and String",
        ),
        (
            "(when true (require '[clojure.set :as s]))",
            "!unbound_var Undefined variable: require. Not available in PTC-Lisp — (require '[clojure.string :as str]) stands at top level only; every function is there without it, as str/join",
        ),
    ]);
}
