use super::catalog::{Listing, built_in, canonical, find, members};
use crate::builtins::library;
use crate::builtins::support::testing::display;
use crate::code::DefInfo;
use crate::machine::{Binding, Namespace};
use crate::special_forms::SpecialForm;
use crate::value::Value;
use std::rc::Rc;

fn s(text: &str) -> Value {
    Value::str(text)
}

fn symbol(text: &str) -> Value {
    Value::Symbol(text.into())
}

fn names(space: &str) -> Vec<String> {
    let namespace = Namespace::new(library());
    let space = canonical(space, true).expect("a namespace or class");
    members(space, &namespace).iter().map(|entry| entry.name.to_owned()).collect()
}

#[test]
fn every_function_and_form_is_described() {
    for entry in built_in(library()) {
        assert!(!entry.doc.is_empty(), "{} has no description", entry.reference);
        assert!(!entry.doc.contains('\n'), "{} has more than one line", entry.reference);
        let namespace = Namespace::new(library());
        assert!(find(entry.reference, &namespace).is_some(), "{} is not found", entry.reference);
    }
}

#[test]
fn every_special_form_is_described() {
    let namespace = Namespace::new(library());
    for form in SpecialForm::ALL.iter().filter(|form| **form != SpecialForm::Dot) {
        assert!(find(form.name(), &namespace).is_some(), "{}", form.name());
    }
}

#[test]
fn namespaces_list_their_members_under_every_name() {
    for space in ["str", "string", "clojure.string"] {
        let names = names(space);
        for name in ["blank?", "join", "capitalize", "reverse"] {
            assert!(names.iter().any(|known| known == name), "{space} {name}");
        }
        assert!(names.is_sorted());
    }
    assert!(names("core").iter().any(|name| name == "/"));
    assert!(names("json").iter().all(|name| name.starts_with("json/")));
    assert!(names("Date").contains(&"java.util.Date.".to_owned()));
    assert!(names("LocalDate").contains(&".plusDays".to_owned()));
    assert!(names("java.time.LocalDate").contains(&"parse".to_owned()));
    assert_eq!(names("user"), Vec::<String>::new());
    assert_eq!(canonical("Math", false), None);
    assert_eq!(canonical("nope", true), None);
}

#[test]
fn docs_are_lines_with_labels() {
    assert_eq!(
        display("doc", [s("str/trim")]),
        r#""str/trim\nDescription: Remove white space at both ends\nKind: ptc-builtin\nNamespace: clojure.string\nSignatures: (trim s)""#
    );
    assert_eq!(
        display("doc", [symbol("if")]),
        r#""if\nDescription: Conditional\nKind: ptc-builtin\nNamespace: clojure.core\nSignatures: (if test then), (if test then else)""#
    );
    let meta = display("meta", [Value::keyword("str/trim")]);
    for part in [":name \"trim\"", ":ref \"str/trim\"", ":source \"local\"", ":section \"Strings\""] {
        assert!(meta.contains(part), "{part} in {meta}");
    }
    assert!(display("meta", [s(".plusDays")]).contains(":kind \"java-interop\""));
}

#[test]
fn definitions_of_the_program_are_members_of_user() {
    let mut namespace = Namespace::new(library());
    let slot = namespace.slot(&Rc::from("twice"));
    let info = DefInfo {
        doc: Some("Doubles".into()),
        parameters: vec!["[x]".into(), "[x & more]".into()],
        source: "(defn twice …)".into(),
    };
    let value = library().function(0);
    namespace.set(slot, Some(Binding { value, info: Some(Rc::new(info)) }));
    let entry = |reference| find(reference, &namespace).map(|entry: Listing<'_>| entry.text());
    let text =
        "Description: Doubles\nKind: user-function\nNamespace: user\nSignatures: (twice x), (twice x & more)";
    assert_eq!(entry("twice").as_deref(), Some(&*format!("twice\n{text}")));
    assert_eq!(entry("user/twice").as_deref(), Some(&*format!("user/twice\n{text}")));
    assert_eq!(members("user", &namespace)[0].line(), "twice - Doubles");
}

#[test]
fn faults_are_worded_as_specified() {
    for (name, args, want) in [
        ("doc", vec![Value::Int(5)], "doc requires a quoted symbol or string ref, got 5"),
        ("dir", vec![s("  ")], "dir requires a quoted symbol or string ref, got \"  \""),
        ("meta", vec![Value::Nil], "meta requires a quoted symbol or string ref, got nil"),
        ("apropos", vec![Value::Nil], "apropos requires query (non-empty string), got nil"),
        ("apropos", vec![s("x"), Value::Int(1)], "discovery options must be a map, got 1"),
        ("ns-publics", vec![symbol("Math")], "no local discovery ref \"Math\" for ns-publics"),
        (
            "doc",
            vec![symbol("nope")],
            "REPL discovery forms are only available when a discovery backend is configured",
        ),
    ] {
        assert_eq!(display(name, args), format!("! runtime_error: {want}"));
    }
    let with = |key: &str, value: Value| {
        let mut options = crate::value::Map::new();
        options.insert(Value::keyword(key), value);
        Value::Map(options)
    };
    for (name, key, value, want) in [
        ("apropos", "limit", Value::Int(51), "apropos :limit must be an integer 1..50, got 51"),
        ("apropos", "load", Value::Int(1), "apropos :load must be a boolean, got 1"),
        ("dir", "limit", Value::Int(0), "dir :limit must be an integer 1..200, got 0"),
        ("dir", "offset", Value::Int(-1), "dir :offset must be a non-negative integer, got -1"),
        ("describe", "depth", Value::Int(6), "describe :depth must be an integer 1..5, got 6"),
    ] {
        assert_eq!(display(name, [s("str"), with(key, value)]), format!("! runtime_error: {want}"));
    }
}

#[test]
fn the_name_itself_is_the_best_match() {
    for name in ["group-by", "frequencies", "json/parse-string", ".plusDays", "for", "tool/call"] {
        let found = display("apropos", [s(name)]);
        assert!(found.starts_with(&format!("[\"local: {name} - ")), "{name}: {found}");
    }
    assert_eq!(display("apropos", [s("zzzz")]), "[]");
}

#[test]
fn large_data_has_a_small_description() {
    let row = |n: i64| {
        let mut row = crate::value::Map::new();
        row.insert(s("id"), Value::Int(n));
        row.insert(s("tag"), s(if n % 2 == 0 { "even" } else { "odd" }));
        row.insert(s("text"), s(&"x".repeat(500)));
        Value::Map(row)
    };
    let rows = Value::vector((0..2000).map(row).collect::<Vec<Value>>());
    let shown = display("describe", [rows]);
    assert!(shown.len() < 1_500, "{shown}");
    assert!(
        shown.contains(r#""tag" {:count 1000 :distinct 2 :examples ["even" "odd"] :type :string}"#),
        "{shown}"
    );
    assert!(shown.contains(r#":distinct "more than 50""#), "{shown}");
    assert!(shown.contains(":size 2000"), "{shown}");
}

#[test]
fn a_search_for_many_words_gives_way() {
    use crate::meter::{PauseAnswer, Pauses, pausing};
    use std::cell::Cell;
    thread_local! {
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }
    fn asked() -> bool {
        ASKED.set(ASKED.get() + 1);
        false
    }
    let many = s(&"zq ".repeat(33));
    assert_eq!(display("apropos", [many]), "! runtime_error: apropos takes at most 32 words, got 33");
    let query = s(&"zq ".repeat(32));
    pausing(Pauses { is_due: asked, pause: || PauseAnswer::GoOn }, || {
        assert_eq!(display("apropos", [query]), "[]");
    });
    assert!(ASKED.get() > 10, "{}", ASKED.get());
}
