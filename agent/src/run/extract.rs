//! Extracting the program from a text (agent.md 9).

/// Tags of fenced blocks that hold PTC-Lisp for certain.
const TAGS: [&str; 6] = ["clojure", "clj", "lisp", "ptc-lisp", "ptc_lisp", "cljs"];
/// Elements that models put around programs.
const ELEMENTS: [&str; 6] = ["program", "ptc_lisp", "ptc-lisp", "clojure", "lisp", "code"];

/// The program that a text holds, its typography straightened.
///
/// # Errors
/// What the model reads if there is none, or more than one.
pub(super) fn program(text: &str) -> Result<String, String> {
    let blocks = fences(text);
    let opens = |code: &&str| code.trim_start().starts_with('(');
    let tagged: Vec<&str> = blocks
        .iter()
        .filter(|block| TAGS.iter().any(|tag| block.tag.eq_ignore_ascii_case(tag)))
        .map(|block| block.code)
        .filter(|code| !code.trim().is_empty())
        .collect();
    let other: Vec<&str> = blocks.iter().map(|block| block.code).filter(opens).collect();
    let in_elements: Vec<&str> = elements(text).into_iter().filter(opens).collect();
    let bare = Some(text).filter(opens).map(str::trim);
    let found =
        [tagged, other, in_elements, bare.into_iter().collect()].into_iter().find(|some| !some.is_empty());
    match found.as_deref() {
        Some([one]) => Ok(straightened(one)),
        Some(several) => Err(format!(
            "Error: Found {} code blocks. Put exactly one program into one ```clojure block; several top-level forms may \
             stand in it.",
            several.len()
        )),
        None => {
            Err("Error: No valid PTC-Lisp code found. Put exactly one program into one ```clojure block."
                .into())
        }
    }
}

/// Whether a text holds a fenced program.
pub(super) fn has_fence(text: &str) -> bool {
    fences(text).iter().any(|block| {
        TAGS.iter().any(|tag| block.tag.eq_ignore_ascii_case(tag)) || block.code.trim_start().starts_with('(')
    })
}

struct Block<'t> {
    tag: &'t str,
    code: &'t str,
}

/// The fenced blocks. One that is not closed goes on to the end: the answer was cut off.
fn fences(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match open {
            None if ticks >= 3 => {
                let tag = trimmed[ticks..].split_whitespace().next().unwrap_or_default();
                open = Some((tag, at + line.len(), ticks));
            }
            Some((tag, start, opened)) if ticks >= opened && trimmed.len() == ticks => {
                blocks.push(Block { tag, code: &text[start..at] });
                open = None;
            }
            _ => {}
        }
        at += line.len();
    }
    if let Some((tag, start, _)) = open {
        blocks.push(Block { tag, code: &text[start.min(text.len())..] });
    }
    blocks
}

/// What stands between the tags of elements that hold programs.
fn elements(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for name in ELEMENTS {
        let (opening, closing) = (format!("<{name}>"), format!("</{name}>"));
        let mut rest = text;
        while let Some((_, behind)) = rest.split_once(&opening) {
            let Some((inside, after)) = behind.split_once(&closing) else { break };
            found.push(inside);
            rest = after;
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// Typographic quotes, dashes and spaces as the language writes them, and nothing invisible. What stands inside straight
/// quotes is the program's own text and stays.
fn straightened(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut chars = code.trim().chars();
    // The quote that a string was opened with.
    let mut string: Option<char> = None;
    let mut comment = false;
    while let Some(c) = chars.next() {
        match (string, c) {
            (None, '\n') => {
                comment = false;
                out.push(c);
            }
            (None, c) if comment => out.push(c),
            (Some(_), '\\') => {
                out.push(c);
                out.extend(chars.next());
            }
            (Some('"'), '"') | (Some('\u{201c}'), '"' | '\u{201c}' | '\u{201d}') => {
                string = None;
                out.push('"');
            }
            (Some(_), c) => out.push(c),
            (None, '"') => {
                string = Some('"');
                out.push('"');
            }
            (None, '\u{201c}' | '\u{201d}' | '\u{201e}') => {
                string = Some('\u{201c}');
                out.push('"');
            }
            (None, ';') => {
                comment = true;
                out.push(c);
            }
            (None, '\u{2018}' | '\u{2019}') => out.push('\''),
            (None, '\u{2010}'..='\u{2015}' | '\u{2212}') => out.push('-'),
            (None, '\u{a0}' | '\u{202f}' | '\u{2007}') => out.push(' '),
            (None, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}') => {}
            (None, c) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_program_is_found_wherever_it_stands() {
        for (text, code) in [
            ("Sure:\n```clojure\n(+ 1 2)\n```\nDone.", "(+ 1 2)"),
            ("```lisp\n(a)\n```\n```json\n{}\n```\n```\n(b)\n```", "(a)"),
            ("```\nplain\n```\n```text\n (b)\n```", "(b)"),
            ("<program>\n(c)\n</program>", "(c)"),
            ("  (d)\n(e) ", "(d)\n(e)"),
            ("```clojure\n(cut off", "(cut off"),
            ("````clojure\n(str \"```\")\n````", "(str \"```\")"),
            ("```clojure\n[1 2]\n```", "[1 2]"),
        ] {
            assert_eq!(program(text).as_deref(), Ok(code), "{text}");
        }
    }

    #[test]
    fn none_and_several_are_told() {
        assert!(
            program("I cannot (really) do that.")
                .unwrap_err()
                .starts_with("Error: No valid PTC-Lisp code found")
        );
        assert!(program("```clojure\n```").unwrap_err().starts_with("Error: No valid PTC-Lisp code found"));
        let two = "```clojure\n(a)\n```\n```clojure\n(b)\n```";
        assert!(program(two).unwrap_err().starts_with("Error: Found 2 code blocks"));
        assert!(has_fence(two) && !has_fence("no ``` fence"));
    }

    #[test]
    fn typography_is_straightened_outside_of_strings() {
        let code = "(str\u{a0}\u{201c}a\u{201d} \"\u{201c}b\u{201d} \\\" \u{2013}\"\u{200b} (\u{2212} 2 1)) ; \u{201c}";
        assert_eq!(
            program(code).unwrap(),
            "(str \"a\" \"\u{201c}b\u{201d} \\\" \u{2013}\" (- 2 1)) ; \u{201c}"
        );
    }
}
