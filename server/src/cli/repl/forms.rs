//! Splits typed text into its forms, or finds it incomplete.

use ptc_compiler::reader;

/// The state of a typed text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedText<'t> {
    /// It ends within a form or a string, so more lines belong to it.
    Unfinished,
    /// The top-level forms, each as written; none for blank lines and comments.
    Forms(Vec<&'t str>),
    /// No continuation makes it readable. It is evaluated unchanged, so that the error is reported.
    Wrong,
}

/// Reads `text` as far as the prompt needs it.
pub(super) fn read(text: &str) -> TypedText<'_> {
    match reader::read(text) {
        Ok(forms) => {
            TypedText::Forms(forms[forms.program()].iter().map(|form| form.span.text(text)).collect())
        }
        Err(_) if reader::is_unfinished(text) => TypedText::Unfinished,
        Err(_) => TypedText::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_on_until_all_that_it_opened_is_closed() {
        for text in [
            "(",
            "(+ 1",
            "[1 2",
            "{:a",
            "#{1",
            "#(+ %",
            "(str \"a)",
            "\"",
            "#\"a",
            "'",
            "#_",
            "(a ; )",
            "(str \\)",
            "(\n\n",
        ] {
            assert_eq!(read(text), TypedText::Unfinished, "{text:?}");
        }
    }

    #[test]
    fn forms_are_taken_one_at_a_time() {
        let forms = |text| match read(text) {
            TypedText::Forms(forms) => forms,
            other => panic!("{text:?} is {other:?}"),
        };
        assert_eq!(forms("(def x 1) x\n  [x\n x] ; done"), ["(def x 1)", "x", "[x\n x]"]);
        assert_eq!(
            forms("\"a b\" 'c #(f %) #{1} \\) #_gone :k"),
            ["\"a b\"", "'c", "#(f %)", "#{1}", "\\)", ":k"]
        );
        assert!(forms("").is_empty());
        assert!(forms(" ,\n; only a comment").is_empty());
        assert_eq!(forms("(str \";\" \")\")"), ["(str \";\" \")\")"]);
    }

    #[test]
    fn what_nothing_can_mend_is_not_waited_for() {
        for text in ["(]", "(+ 1 }", "[(])", "(@x", "{:a}", "(foo {:a 1 :b})"] {
            assert_eq!(read(text), TypedText::Wrong, "{text:?}");
        }
    }
}
