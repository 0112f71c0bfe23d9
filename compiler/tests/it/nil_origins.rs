//! Where a nil came from that a function has refused.

use std::rc::Rc;

use ptc_compiler::{CompileOptions, compile, nil_origin};
use ptc_vm::builtins::library;
use ptc_vm::machine::Setup;
use ptc_vm::{Machine, Step};

/// What is said of the nil that a program fails of.
fn origin(source: &str) -> String {
    let program = compile(source, library(), &CompileOptions::default()).expect("a program");
    let mut machine = Machine::new(Rc::new(program), Setup::new(library()));
    while let Step::Slice = machine.resume(100_000) {}
    let error = machine.finish(true).result.expect_err("a failure");
    nil_origin(source, library(), &error).expect("read before")
}

fn check(table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(source, want)| (source, want, origin(source)))
        .filter(|(_, want, got)| got != *want)
        .map(|(source, want, got)| format!("{source}\n  want {want}\n  got  {got}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn an_argument_is_named_as_it_is_written() {
    check(&[
        (
            r#"(* 2 (Integer/parseInt " large\""))"#,
            r#". The nil is the value of (Integer/parseInt " large\"") at 1:6"#,
        ),
        (r#"(+ (get {} "k") 1)"#, r#". The nil is the value of (get {} "k") at 1:4"#),
        ("(def m {:a 1})\n(- (:b m)\n   1)", ". The nil is the value of (:b m) at 2:4"),
        ("(inc (first []))", ". The nil is the value of (first []) at 1:6"),
        ("(dec (:n {}))", ". The nil is the value of (:n {}) at 1:6"),
        ("(+ 1 2 (:c {}) 3)", ". The nil is the value of (:c {}) at 1:8"),
        ("(mod (:n {}) 2)", ". The nil is the value of (:n {}) at 1:6"),
        ("(quot 7 (:n {}))", ". The nil is the value of (:n {}) at 1:9"),
        ("(/ (:n {}) 2)", ". The nil is the value of (:n {}) at 1:4"),
        ("(abs (:n {}))", ". The nil is the value of (:n {}) at 1:6"),
        ("(clojure.string/upper-case (:n {}))", ". The nil is the value of (:n {}) at 1:28"),
        ("(str/split (:n {}) #\",\")", ". The nil is the value of (:n {}) at 1:12"),
        ("(/ 1 0)", ""),
        ("(+ 1 2 \"a\")", ""),
        ("(dec \"a\")", ""),
        ("((:f {}) 1)", ". The nil is the value of (:f {}) at 1:2"),
        ("(* 2 (if true\n  nil 3))", ". The nil is the value of (if true nil 3) at 1:6"),
    ]);
}

#[test]
fn a_long_expression_is_cut_and_stands_on_one_line() {
    let got = origin("(* 2 (get-in {:a {:b 1}}\n  [:one :two :three :four :five :six]))");
    assert_eq!(got, ". The nil is the value of (get-in {:a {:b 1}} [:one :two :three :f… at 1:6");
}

#[test]
fn a_name_is_followed_to_what_it_is_bound_to() {
    check(&[
        ("(let [x (:a {})] (* x 2))", ". The nil is x, the value of (:a {}) at 1:9"),
        ("(let [x (:a {}) y x] (* y 2))", ". The nil is y, the value of (:a {}) at 1:9"),
        ("(let [x 1] (let [x (:a {})] (* x 2)))", ". The nil is x, the value of (:a {}) at 1:20"),
        ("(let [x (:a {})] (let [y 2 x 3] x) (* x 2))", ". The nil is x, the value of (:a {}) at 1:9"),
        (
            "(let [{:keys [a b]} {:a 1}] (* a b))",
            ". The nil is b, which is not in the value of {:a 1} at 1:21",
        ),
        ("(let [[a [b]] [1 []]] (* a b))", ". The nil is b, which is not in the value of [1 []] at 1:15"),
        ("(let [f (:a {})] (map (fn [x] (* x f)) [1 2]))", ". The nil is f, the value of (:a {}) at 1:9"),
        (
            "(let [f (:a {})] (map (fn [x] (map #(* x f %) [1])) [1 2]))",
            ". The nil is f, the value of (:a {}) at 1:9",
        ),
        ("(def rate (:a {})) (* 2 rate)", ". The nil is rate, the value of (:a {}) at 1:11"),
        (
            "(defn price [row] (* 2 (:price row))) (map price [{}])",
            ". The nil is the value of (:price row) at 1:24",
        ),
        ("(map (fn [x] (* x 2)) [nil])", ". The nil is x"),
        ("(defn f [a b] (let [c 1] (+ a b c))) (f 1 nil)", ". The nil is b"),
        ("(let [x (:a {})] (map (fn [y] (let [x 1] (* x y))) [nil]))", ". The nil is y"),
        ("(loop [i 0 x 1] (if (< i 3) (recur (inc i) nil) (* x 2)))", ". The nil is x"),
    ]);
}

#[test]
fn a_step_of_a_thread_names_the_one_before() {
    check(&[
        ("(-> {} :n inc)", ". The nil is the value of :n at 1:8"),
        ("(-> {:a {}} :a (get :n) (* 2))", ". The nil is the value of (get :n) at 1:16"),
        ("(let [m nil] (-> m (+ 1)))", ". The nil is m, which is bound to nil at 1:9"),
        ("(->> (:n {}) (* 2))", ". The nil is the value of (:n {}) at 1:6"),
    ]);
}

#[test]
fn nothing_is_said_where_it_is_not_known() {
    check(&[
        ("(reduce + [1 nil])", ""),
        ("(apply + [1 nil])", ""),
        ("(map + [1] [nil])", ""),
        ("(* 2 nil)", ""),
        ("(+ 1 \"a\")", ""),
        ("(let [+ -] (map inc [nil]))", ""),
    ]);
}

#[test]
fn a_function_of_an_earlier_program_has_its_place_in_another_text() {
    let first =
        compile("(defn f [x] (* 2 (:a x)))", library(), &CompileOptions::default()).expect("a program");
    let mut machine = Machine::new(Rc::new(first), Setup::new(library()));
    while let Step::Slice = machine.resume(100_000) {}
    let namespace = machine.finish(true).namespace;
    let source = "(f {})     (* 2 (:b {}))";
    let second = compile(source, library(), &CompileOptions::default()).expect("a program");
    let mut machine = Machine::new(Rc::new(second), Setup { namespace, ..Setup::new(library()) });
    while let Step::Slice = machine.resume(100_000) {}
    let error = machine.finish(true).result.expect_err("a failure");
    assert_eq!(error.position(), None, "it is not in this text");
    let definition = error.definition().expect("it is in the first one");
    assert_eq!(
        (&*definition.source, definition.position.to_string().as_str()),
        ("(defn f [x] (* 2 (:a x)))", "1:13")
    );
    assert_eq!(nil_origin(source, library(), &error).expect("read before"), "");
}
