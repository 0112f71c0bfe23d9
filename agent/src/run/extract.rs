//! Extracting the program from a text (agent.md 9).

/// Tags of fenced blocks that hold PTC-Lisp for certain.
const TAGS: [&str; 6] = ["clojure", "clj", "lisp", "ptc-lisp", "ptc_lisp", "cljs"];
/// Elements that models put around programs.
const ELEMENTS: [&str; 6] = ["program", "ptc_lisp", "ptc-lisp", "clojure", "lisp", "code"];

/// The program that a text holds, its typography straightened. Of a text that was `cut` only closed blocks count: the beginning
/// of a program may be a valid program, but not the intended one.
///
/// # Errors
/// The error is the feedback for the model if there is no program, or more than one.
pub(super) fn program(text: &str, cut: bool) -> Result<String, String> {
    let mut blocks = fences(text);
    if cut {
        blocks.retain(|block| block.closed);
    }
    let opens = |code: &&str| code.trim_start().starts_with('(');
    let tagged: Vec<&str> = blocks
        .iter()
        .filter(|block| is_tag(block.tag))
        .map(|block| block.code)
        .filter(|code| !code.trim().is_empty())
        .collect();
    let other: Vec<&str> = blocks.iter().map(|block| block.code).filter(opens).collect();
    let in_elements: Vec<&str> = elements(text).into_iter().filter(opens).collect();
    let bare = Some(text).filter(|_| !cut).filter(opens).map(str::trim);
    let found =
        [tagged, other, in_elements, bare.into_iter().collect()].into_iter().find(|some| !some.is_empty());
    match found.as_deref() {
        Some([one]) => Ok(straightened(one)),
        Some(several) => Err(format!(
            "Error: Found {} code blocks. Put exactly one program into one ```clojure block; several top-level forms may \
             stand in it.",
            several.len()
        )),
        None if cut => {
            Err("Error: Your answer was cut at its longest length before the program was complete. Write a \
                            shorter one, or go on in several turns."
                .into())
        }
        None => {
            Err("Error: No valid PTC-Lisp code found. Put exactly one program into one ```clojure block."
                .into())
        }
    }
}

/// Whether a text holds a fenced program.
pub(super) fn has_fence(text: &str) -> bool {
    fences(text).iter().any(|block| is_tag(block.tag) || block.code.trim_start().starts_with('('))
}

struct Block<'t> {
    tag: &'t str,
    code: &'t str,
    closed: bool,
}

/// The fenced blocks. An unclosed one extends to the end: the answer was cut off. A fence begins a line, or follows words on it
/// if its tag names the language of programs; it ends at the beginning of a line, or after code.
fn fences(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = match open {
            None => {
                open = opening(line).map(|(tag, code, ticks)| (tag, at + code, ticks));
                open.map_or(0, |(_, code, _)| code - at)
            }
            Some(_) => 0,
        };
        if let Some((tag, from, opened)) = open
            && let Some(end) = closing(&line[start..], opened)
        {
            blocks.push(Block { tag, code: &text[from..at + start + end], closed: true });
            open = None;
        }
        at += line.len();
    }
    if let Some((tag, start, _)) = open {
        blocks.push(Block { tag, code: &text[start.min(text.len())..], closed: false });
    }
    blocks
}

/// The tag of a fence that this line opens, where the code after it begins in the line, and how many ticks it has.
fn opening(line: &str) -> Option<(&str, usize, usize)> {
    let ticks_at = |from: usize| line[from..].len() - line[from..].trim_start_matches('`').len();
    let indent = line.len() - line.trim_start().len();
    if ticks_at(indent) >= 3 {
        let ticks = ticks_at(indent);
        let (tag, code) = tag_behind(line, indent + ticks);
        // Only a known tag is told from code; of any other the rest of the line is a remark.
        return Some((tag, if is_tag(tag) { code } else { line.len() }, ticks));
    }
    let found = line.find("```")?;
    let ticks = ticks_at(found);
    let (tag, code) = tag_behind(line, found + ticks);
    is_tag(tag).then_some((tag, code, ticks))
}

/// The word at `from`, and where code after it begins: the next line, if nothing else stands in this one.
fn tag_behind(line: &str, from: usize) -> (&str, usize) {
    let rest = &line[from..];
    let tag = rest.split_whitespace().next().unwrap_or_default();
    let behind = from + (rest.len() - rest.trim_start().len()) + tag.len();
    let code = if line[behind..].trim().is_empty() { line.len() } else { behind };
    (tag, code)
}

fn is_tag(word: &str) -> bool {
    TAGS.iter().any(|tag| word.eq_ignore_ascii_case(tag))
}

/// Where the code ends in a line that closes a fence of so many ticks: one that begins with them, or ends with them.
fn closing(line: &str, opened: usize) -> Option<usize> {
    let text = line.trim();
    if text.len() - text.trim_start_matches('`').len() >= opened {
        return Some(0);
    }
    let code = line.trim_end().trim_end_matches('`');
    (line.trim_end().len() - code.len() == opened).then_some(code.len())
}

/// The content between the tags of elements that hold programs.
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

/// Typographic quotes, dashes and spaces as the language writes them, and nothing invisible. Text inside straight quotes
/// belongs to the program and stays.
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
            ("So: ```clojure\n(f)\n``` and `x`", "(f)"),
            ("So: ```clojure (f)```", "(f)"),
            ("```clojure\n(f)```\nDone.", "(f)"),
            ("```clojure (f)\n(g)\n```", "(f)\n(g)"),
            ("````clojure\n(f \"a```\")\n````", "(f \"a```\")"),
        ] {
            assert_eq!(program(text, false).as_deref(), Ok(code), "{text}");
        }
    }

    #[test]
    fn none_and_several_are_told() {
        assert!(
            program("I cannot (really) do that.", false)
                .unwrap_err()
                .starts_with("Error: No valid PTC-Lisp code found")
        );
        assert!(
            program("```clojure\n```", false).unwrap_err().starts_with("Error: No valid PTC-Lisp code found")
        );
        let two = "```clojure\n(a)\n```\n```clojure\n(b)\n```";
        assert!(program(two, false).unwrap_err().starts_with("Error: Found 2 code blocks"));
        assert!(has_fence(two) && !has_fence("no ``` fence"));
    }

    #[test]
    fn half_of_a_cut_program_is_none() {
        for text in ["```clojure\n(def a 1)\n", "(def a 1)\n", "So: ```clojure (def a 1)"] {
            assert!(program(text, false).is_ok(), "{text}");
            assert!(
                program(text, true).unwrap_err().starts_with("Error: Your answer was cut at its longest")
            );
        }
        assert_eq!(program("```clojure\n(a)\n```\nThat is beca", true).as_deref(), Ok("(a)"));
    }

    #[test]
    fn typography_is_straightened_outside_of_strings() {
        let code = "(str\u{a0}\u{201c}a\u{201d} \"\u{201c}b\u{201d} \\\" \u{2013}\"\u{200b} (\u{2212} 2 1)) ; \u{201c}";
        assert_eq!(
            program(code, false).unwrap(),
            "(str \"a\" \"\u{201c}b\u{201d} \\\" \u{2013}\" (- 2 1)) ; \u{201c}"
        );
    }
}
