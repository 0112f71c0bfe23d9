//! Programs that ask for much with little text: what a short program could make dear if nobody charged for it.

use super::Choices;

/// An expression made to hurt.
pub fn greedy(choices: &mut Choices<'_>) -> String {
    match choices.below(8) {
        0 => format!("(let [t {}] {})", shared(choices), walk(choices)),
        1 => format!(
            "(let [t {0} u {0}] [({1} t u) ({1} #{{t}} #{{u}})])",
            shared(choices),
            choices.one(&["=", "compare", "not="])
        ),
        2 => literals(choices),
        3 => made_patterns(choices),
        4 => integers(choices),
        5 => nested(choices),
        6 => texts(choices),
        _ => format!("(dotimes [i {}] (println {}))", amount(choices), text(choices)),
    }
}

fn amount(choices: &mut Choices<'_>) -> usize {
    *choices.one(&[10, 60, 1_000, 20_000, 1_000_000])
}

/// A value whose text is far longer than what holds it.
fn shared(choices: &mut Choices<'_>) -> String {
    let level = *choices.one(&[
        "[a a]",
        "{:a a :b a}",
        "{a a}",
        "#{a [a]}",
        "(list a a)",
        "(with-meta [a] {:m a})",
        "(sorted-map :a a :b a)",
        "(assoc {} a 1 [a] a)",
        "(conj [a] a (str \"x\"))",
        "(vec (repeat 32 a))",
        "{\"k\" a \"l\" [a a]}",
    ]);
    let levels = *choices.one(&[8, 20, 40, 60]);
    format!("(reduce (fn [a _] {level}) [1] (range {levels}))")
}

/// A walk over `t`.
fn walk(choices: &mut Choices<'_>) -> String {
    (*choices.one(&[
        "(count (str t))",
        "(count (pr-str t))",
        "(count (flatten t))",
        "(hash t)",
        "(json/generate-string t)",
        "(json/parse-string (json/generate-string t))",
        "(frequencies [t t [t]])",
        "(distinct [t t [t]])",
        "(group-by identity [t [t] t])",
        "(sort [[t 1] [t 0]])",
        "(set [t [t]])",
        "(get {t 1} t)",
        "(tree-seq coll? seq t)",
        "(count (tree-seq coll? seq t))",
        "(clojure.walk/postwalk identity t)",
        "(println t)",
        "(apply str [t t])",
        "(def kept t)",
        "(fail t)",
        "(zipmap [t [t]] [t t])",
        "(index-of [t [t]] [t])",
        "t",
    ]))
    .to_owned()
}

fn pattern(choices: &mut Choices<'_>) -> String {
    let atom = *choices.one(&[
        "\\w",
        "\\p{L}",
        "[\\w\\p{Greek}\\p{Han}]",
        "(?i:[a-zé])",
        ".",
        "(a|b|ab)",
        "(?:a?)",
        "(?=\\w)",
        "(?<=\\w)",
        "(a+)\\1",
    ]);
    let count = *choices.one(&["", "*", "+", "{3}", "{40}", "{1,90}", "{0,1000}"]);
    let again = *choices.one(&["", "", "{9}", "{1,90}", "*", "+$"]);
    format!("(?:{atom}{count}){again}")
}

/// Many patterns, used or not.
fn literals(choices: &mut Choices<'_>) -> String {
    let (pattern, many) = (pattern(choices), 1 + choices.below(200));
    let literals: String = (0..many).map(|n| format!("#\"{pattern}{n}\" ")).collect();
    let subject = text(choices);
    match choices.below(3) {
        0 => format!("(count [{literals}])"),
        1 => format!("(count (filter #(re-find % {subject}) [{literals}]))"),
        _ => format!("(map #(count (re-seq % {subject})) [{literals}])"),
    }
}

fn made_patterns(choices: &mut Choices<'_>) -> String {
    let pattern = pattern(choices).replace('\\', "\\\\");
    let (subject, many) = (text(choices), amount(choices));
    let call = *choices.one(&["re-find", "re-matches", "re-seq"]);
    format!("(count (map (fn [n] ({call} (re-pattern (str \"{pattern}\" n)) {subject})) (range {many})))")
}

fn text(choices: &mut Choices<'_>) -> String {
    let part = *choices.one(&["a", "ab ", "é", "👩‍👩‍👧", "1", "\\n", "{", "\\\"", "ΑΣ", "[1,"]);
    let many = amount(choices);
    format!("(apply str (repeat {many} \"{part}\"))")
}

fn integers(choices: &mut Choices<'_>) -> String {
    let many = amount(choices);
    let integer = match choices.below(3) {
        0 => format!("(reduce *' (repeat {many} 12345678901))"),
        1 => format!("(bit-shift-left 1 {many})"),
        _ => format!("(json/parse-string (apply str (repeat {many} \"9\")))"),
    };
    let use_it = *choices.one(&[
        "b",
        "(str b)",
        "(hash b)",
        "(*' b b)",
        "(quot b 7)",
        "(mod b 1000000007)",
        "(parse-long (str b))",
        "(== b (double b))",
        "(format \"%d\" b)",
        "(json/generate-string [b])",
    ]);
    format!("(let [b {integer}] {use_it})")
}

fn nested(choices: &mut Choices<'_>) -> String {
    let levels = *choices.one(&[10, 60, 200, 900]);
    let (open, close) = *choices.one(&[
        ("[", "]"),
        ("#{", "}"),
        ("{1 ", "}"),
        ("(fn [x] ", ")"),
        ("(let [x 1] ", ")"),
        ("(if 1 ", " 2)"),
        ("'(", ")"),
        ("(-> 1 ", ")"),
        ("(for [x [1]] ", ")"),
    ]);
    format!("{}1{}", open.repeat(levels), close.repeat(levels))
}

/// Texts that are taken apart and put together.
fn texts(choices: &mut Choices<'_>) -> String {
    let (text, pattern) = (text(choices), pattern(choices));
    match choices.below(10) {
        0 => format!("(str/replace {text} #\"{pattern}\" (fn [m] (str m m)))"),
        1 => format!("(str/replace {text} \"a\" {text})"),
        2 => format!("(str/split {text} #\"{pattern}\")"),
        3 => format!("(count (seq {text}))"),
        4 => format!("(str/reverse (str/upper-case {text}))"),
        5 => format!("(json/parse-string {text})"),
        6 => format!("(str/join {text} (range 1000))"),
        7 => format!("(format \"%999s\" {text})"),
        8 => format!("(sort (map str (seq {text})))"),
        _ => format!("(re-matches #\"{pattern}\" {text})"),
    }
}
