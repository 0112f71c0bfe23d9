use proptest::prelude::*;

use super::*;

/// Writes forms back, one spelling for each kind, so that tests can be read.
fn show(forms: &Forms<'_>, form: Form) -> String {
    let join = |items| forms[items].iter().map(|&f| show(forms, f)).collect::<Vec<_>>().join(" ");
    match form.kind {
        FormKind::Nil => "nil".into(),
        FormKind::Bool(b) => b.to_string(),
        FormKind::Int(n) => n.to_string(),
        FormKind::BigInt(n) => forms.big(n).to_string(),
        FormKind::Float(f) => format!("{f:?}"),
        FormKind::SpecialFloat(f) => format!("##{f}"),
        FormKind::Str(s) => format!("{:?}", forms.string(s)),
        FormKind::Regex(s) => format!("#{:?}", forms.string(s)),
        FormKind::Keyword(n) => format!(":{}", forms.names.text(n)),
        FormKind::JoinedKeyword { text, .. } => format!(":{}", forms.string(text)),
        FormKind::Symbol(n) => forms.names.text(n).into(),
        FormKind::Qualified { namespace, name } => {
            format!("{}|{}", forms.names.text(namespace), forms.names.text(name))
        }
        FormKind::QuotedSymbol(n) => format!("'{}", forms.names.text(n)),
        FormKind::Quoted(items) => format!("(quote {})", join(items)),
        FormKind::History(n) => format!("*{n}"),
        FormKind::List(items) => format!("({})", join(items)),
        FormKind::Vector(items) => format!("[{}]", join(items)),
        FormKind::Map(items) => format!("{{{}}}", join(items)),
        FormKind::Set(items) => format!("#{{{}}}", join(items)),
        FormKind::ShortFn(items) => format!("#({})", join(items)),
        FormKind::Threaded(_) => unreachable!("only analysis makes these"),
    }
}

fn forms(source: &str) -> String {
    match read(source) {
        Ok(forms) => forms[forms.program()].iter().map(|&f| show(&forms, f)).collect::<Vec<_>>().join(" "),
        Err(error) => format!("!{}", error.message()),
    }
}

#[test]
fn spellings_that_the_language_lacks_are_told_what_to_write() {
    for (source, hint) in [
        ("`x", ". There are no macros and no templates of code: write a function"),
        ("#inst \"2024\"", ". There are no tagged literals: write (Instant/parse \"2024-01-31T00:00:00Z\")"),
        ("#js {}", ". There are no tagged literals: leave #js out and write the value itself"),
        ("#?(:clj 1)", ". There are no reader conditionals: write the branch for :clj alone"),
        ("::a", ". There is no current namespace: write :a"),
        ("::user/a", ". There is no current namespace: write :user/a"),
        ("#::{:a 1}", ". There is no current namespace: write #:name{…}, or the map without #::"),
        ("#:a [1]", ". A map whose keys have a namespace is written #:name{…}"),
        ("{:a}", ""),
        ("(~)", ". There are no macros and no templates of code: write a function"),
        ("→", ""),
    ] {
        assert_eq!(
            read(source).err().map(|error| error.hint().to_owned()).as_deref(),
            Some(hint),
            "{source}"
        );
    }
}

#[test]
fn forms_of_every_kind() {
    for (source, want) in [
        ("", ""),
        ("; only a comment", ""),
        ("nil true false nil-1 true1", "nil true false nil-1 true1"),
        ("007 -0 1e3 -1.50 +5 0x1F 36rZZ 12N", "7 0 1000.0 -1.5 5 31 1295 12"),
        ("1/2 4/2 12M 1.5M", "0.5 2 12 1.5"),
        ("-9223372036854775808 9223372036854775808", "-9223372036854775808 9223372036854775808"),
        ("1e-400 -0.0 00.5", "0.0 -0.0 0.5"),
        ("##Inf ##-Inf ##NaN", "##inf ##-inf ##NaN"),
        (r#""a\n\"" \a \newline \u0041 \( "#, r#""a\n\"" "a" "\n" "A" "(""#),
        (r#"#"\d+" #"a\"b""#, r##"#"\\d+" #"a\"b""##),
        (":a :1 :->>", ":a :1 :->>"),
        (":user/id :my.app/id :a.b :1/2 :*/->", ":user/id :my.app/id :a.b :1/2 :*/->"),
        ("#:user{:id 1, :a/b :c, :_/d 2, x 3, \"e\" {:f 4}}", "{:user/id 1 :a/b :c :d 2 x 3 \"e\" {:f 4}}"),
        ("#:my.app {} '#:a{:b #:c{:d 1}}", "{} (quote {:a/b {:c/d 1}})"),
        ("017 -017 +017 017N 00 -0 0777 08.5 08M 09/3", "15 -15 15 15 0 0 511 8.5 8 3"),
        ("a a/b a/b/c / /x x/ core//", "a a|b a|b/c / /x x/ core|/"),
        ("*1 *2 *3 *4 *x*", "*1 *2 *3 *4 *x*"),
        ("'a 'a/b '- '-1 ':a '(1 [2])", "'a 'a/b '- '-1 (quote :a) (quote (1 [2]))"),
        ("#'x #'a/b", "x a|b"),
        ("(a [1 {:k #{2}}] #(f %))", "(a [1 {:k #{2}}] #(f %))"),
        ("(1 #_2 3) #_(a) #_ #_ 1 2 3 {:a #_:b 1}", "(1 3) 3 {:a 1}"),
        ("(+ 1 2)))]}", "(+ 1 2)"),
        (")", ""),
        ("1[2]3;x", "1 [2] 3"),
    ] {
        assert_eq!(forms(source), want, "{source}");
    }
}

/// The table of `language.md` 1.4, as far as the reader answers for it.
#[test]
fn messages() {
    for (source, want) in [
        ("(f @x)", "deref syntax (@var) is not supported. Atoms and refs are not available"),
        ("a@b )", "deref syntax (@var) is not supported. Atoms and refs are not available"),
        (
            "@(future (f))",
            "deref syntax @(…) is not supported. A call gives its value by itself: leave @ and future out, and write (pmap f coll) or (pcalls f g) for several at once",
        ),
        ("@[1]", "syntax error: could not parse expression at line 1, column 1"),
        ("(+ 1 2", "unbalanced parentheses: 1 unclosed '('"),
        ("#(+ 1 %", "unbalanced parentheses: 1 unclosed '('"),
        ("[1 2", "unbalanced brackets: 1 unclosed '['"),
        ("[[[1]", "unbalanced brackets: 2 unclosed '['"),
        ("{:a 1", "unbalanced braces: 1 unclosed '{'"),
        ("#{1 #(", "unbalanced parentheses: 1 unclosed '('"),
        ("#:a{:b 1", "unbalanced braces: 1 unclosed '{'"),
        ("#:a{:b 1 :c}", "Map literal requires even number of forms, got 3"),
        ("[1 2)", "unbalanced parentheses: 1 extra ')'"),
        ("(1 2]]", "unbalanced parentheses: 1 unclosed '('"),
        ("[1 2 3))", "unbalanced parentheses: 2 extra ')'"),
        ("{]", "unbalanced brackets: 1 extra ']'"),
        ("(+ 1 \"(\"", "unbalanced parentheses: 1 unclosed '('"),
        ("; (\n(", "unbalanced parentheses: 1 unclosed '('"),
        ("(str \\(", "unbalanced parentheses: 1 unclosed '('"),
        ("(str \"a", "unbalanced parentheses: 1 unclosed '('"),
        ("[\"a]", "unclosed string at line 1, column 5"),
        ("{\"a}", "unclosed string at line 1, column 5"),
        ("\"abc\\", "unclosed string at line 1, column 5"),
        ("\"a\\\r\nb\"", "unclosed string at line 1, column 3"),
        ("\"a\nb", "unclosed string at line 2, column 2"),
        ("#\"abc", "unclosed string at line 1, column 6"),
        ("#\"\\", "unclosed string at line 1, column 3"),
        (")( ", "unclosed list at line 1, column 4"),
        ("][", "unclosed vector at line 1, column 3"),
        ("}{", "unclosed map at line 1, column 3"),
        ("}#{", "unclosed set at line 1, column 4"),
        (")#(", "unclosed short function at line 1, column 4"),
        ("\\", "invalid character literal at line 1, column 2"),
        (": a", "syntax error: could not parse keyword at line 1, column 1"),
        ("[:]", "syntax error: could not parse keyword at line 1, column 2"),
        ("::", "syntax error: could not parse keyword at line 1, column 1"),
        ("{:→ 1}", "syntax error: could not parse keyword at line 1, column 2"),
        ("#'", "syntax error: could not parse var at line 1, column 3"),
        ("#'1", "syntax error: could not parse var at line 1, column 3"),
        ("'", "syntax error: could not parse quoted symbol at line 1, column 2"),
        ("'→", "syntax error: could not parse quoted symbol at line 1, column 2"),
        ("#'→", "syntax error: could not parse var at line 1, column 3"),
        ("a\u{200b}", "syntax error: could not parse expression at line 1, column 2"),
        ("(')", "syntax error: could not parse quoted symbol at line 1, column 3"),
        ("''a", "syntax error: could not parse quoted symbol at line 1, column 2"),
        ("(#_)", "syntax error: could not parse expression at line 1, column 4"),
        ("`x", "syntax error: could not parse expression at line 1, column 1"),
        ("a~b", "syntax error: could not parse expression at line 1, column 2"),
        ("(+\u{a0}1 2)", "syntax error: could not parse expression at line 1, column 3"),
        ("##Infx", "syntax error: could not parse expression at line 1, column 1"),
        (":a#", "syntax error: could not parse expression at line 1, column 3"),
        ("#foo", "syntax error: could not parse expression at line 1, column 1"),
        ("(^)", "syntax error: could not parse expression at line 1, column 3"),
        ("#?(:clj 1)", "syntax error: could not parse expression at line 1, column 1"),
        ("(] [)", "syntax error: could not parse expression at line 1, column 2"),
        ("{:a}", "Map literal requires even number of forms, got 1"),
        ("{:a 1 :b}", "Map literal requires even number of forms, got 3"),
        ("1e400", "invalid float: 1e400"),
    ] {
        assert_eq!(forms(source), format!("!{want}"), "{source:?}");
    }
    let digits = "9".repeat(101);
    assert_eq!(forms(&digits), "!integer literal exceeds 100 digit limit");
    assert_eq!(forms(&format!("{digits}.5")), "!integer literal exceeds 100 digit limit");
    assert_eq!(forms(&digits[1..]), digits[1..], "100 digits are fine");
}

#[test]
fn nesting_has_a_limit_and_costs_no_stack() {
    let nested =
        |open: &str, inner: &str, close: &str, n| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
    assert!(read(&nested("[", "1", "]", 64)).is_ok());
    assert!(read(&nested("[", "", "]", 65)).is_ok(), "the innermost vector is at depth 64");
    for text in
        [nested("[", "1", "]", 65), nested("(", "", ")", 100_000), nested("'(", "", ")", 100), "'".repeat(99)]
    {
        let error = read(&text).expect_err("too deep");
        assert_eq!(error.message(), "nesting depth exceeds limit of 64");
    }
    assert_eq!(forms(&"(".repeat(100_000)), "!unbalanced parentheses: 100000 unclosed '('");
    assert_eq!(
        forms(&"#_".repeat(100_000)),
        "!syntax error: could not parse expression at line 1, column 200001"
    );
}

#[test]
fn errors_say_where() {
    let error = read("(a\n (b]").expect_err("unbalanced").locate("(a\n (b]");
    assert_eq!((error.position().line, error.position().column), (1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused_and_spans_fall_on_characters(
        text in r##"([()\[\]{}#'"\\:;@_%\-+*/0-9a-zé😀 \n\r]|#\(|#\{|#_|##|\\u00|nil|1e9){0,60}"##
    ) {
        match read(&text) {
            Ok(forms) => {
                let mut todo = vec![forms.program()];
                while let Some(items) = todo.pop() {
                    for form in &forms[items] {
                        let (start, end) = (form.span.start as usize, form.span.end as usize);
                        prop_assert!(start < end && text.get(start..end).is_some(), "{form:?}");
                        match form.kind {
                            FormKind::List(i) | FormKind::Vector(i) | FormKind::Map(i) | FormKind::Set(i)
                            | FormKind::ShortFn(i) | FormKind::Quoted(i) => todo.push(i),
                            _ => {}
                        }
                    }
                }
            }
            Err(error) => {
                let span = error.span();
                prop_assert!(text.get(span.start as usize..span.end as usize).is_some(), "{error:?}");
            }
        }
    }

    #[test]
    fn arbitrary_unicode_never_panics(text in any::<String>()) {
        let _ = read(&text).map_err(|error| error.locate(&text));
    }
}

#[test]
fn a_text_is_unfinished_when_more_could_make_it_readable() {
    for text in ["(a", "[1 {:k", "\"a\\\"", "#\"", "#_", "'", "(f \\) ; )\n"] {
        assert!(is_unfinished(text), "{text:?}");
    }
    // Readable, wrong before its end, or wrong within what is open.
    for text in ["", "a", "(a)", "(]", "{:a}", "(@a", "((: a", "'''a", "(a (b]"] {
        assert!(!is_unfinished(text), "{text:?}");
    }
}
