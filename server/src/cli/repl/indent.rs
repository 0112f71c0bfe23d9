//! Indents a new line of an unfinished form like Clojure's editors.

use super::syntax::{SyntaxKind, lexemes, open_brackets};

/// Names of forms with a body, which is indented by two columns, besides those that begin with `def`, `with-` or `when`.
const WITH_BODY: [&str; 21] = [
    "binding", "bound-fn", "case", "catch", "cond->", "cond->>", "do", "doseq", "dotimes", "fn", "for",
    "if-let", "if-not", "if-some", "let", "letfn", "loop", "as->", "some->", "try", "while",
];

/// The indentation of the line after `before`, for a prompt that is `prompt` columns wide. It is 0 inside a string,
/// as spaces would change the string.
pub(super) fn indentation(before: &str, prompt: usize) -> usize {
    let lexemes = lexemes(before);
    if lexemes.last().is_some_and(|last| last.is_open(before)) {
        return 0;
    }
    let Some(&open) = open_brackets(&lexemes).last() else { return prompt };
    let column = |place: usize| {
        let line = before[..place].rfind('\n').map_or(0, |end| end + 1);
        // The first line comes after the prompt; the others are indented by its width.
        before[line..place].chars().count() + if line == 0 { prompt } else { 0 }
    };
    let bracket = &lexemes[open];
    let inside = column(bracket.start) + bracket.text.len();
    if !bracket.text.ends_with('(') {
        return inside;
    }
    let Some(head) = lexemes.get(open + 1) else { return inside };
    let name = head.text.rsplit('/').next().unwrap_or_default();
    let has_body =
        ["def", "with-", "when"].iter().any(|begin| name.starts_with(begin)) || WITH_BODY.contains(&name);
    if has_body {
        return column(bracket.start) + 2;
    }
    match lexemes.get(open + 2) {
        Some(argument)
            if head.kind == SyntaxKind::Name && !before[head.start..argument.start].contains('\n') =>
        {
            column(argument.start)
        }
        _ => inside,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_indented_as_clojure_is() {
        for (before, expected) in [
            ("(map inc", 12),
            ("(map", 8),
            ("(", 8),
            ("(let [x 1", 13),
            ("(let [x 1]", 9),
            ("(defn f [x]", 9),
            ("(when-let [x 1]", 9),
            ("{:a 1", 8),
            ("#{1", 9),
            ("(map #(f %", 16),
            ("(defn f [x]\n         (map inc", 14),
            ("(str \"a\"", 12),
            ("(str \"a", 0),
            ("(str \"", 0),
            ("(str \"a\\\"", 0),
            ("((f) 1", 8),
        ] {
            assert_eq!(indentation(before, 7), expected, "{before:?}");
        }
    }
}
