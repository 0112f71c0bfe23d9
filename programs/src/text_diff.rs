//! What differs between two texts, by lines.

use std::collections::HashMap;
use std::fmt::Write as _;

use ptc_host::line_diff::{LineStep, line_steps};

/// Lines around a change that are shown, too.
const AROUND: usize = 2;
/// The most pairs of lines that are compared, which takes a few milliseconds; larger parts are shown as replaced whole.
const MAX_PAIRS: usize = 1 << 20;

/// The lines of `after` that `before` has not (`+`), and the other way (`-`), each change with its place (`@@ -LINE +LINE @@`) and
/// the lines around it. At most `most` lines are shown, and how many there are beyond; empty if the lines are the same.
#[must_use]
pub fn text_diff(before: &str, after: &str, most: usize) -> String {
    let (old, new) = (lines(before), lines(after));
    let mut numbers = HashMap::new();
    let steps = line_steps(&numbered(&old, &mut numbers), &numbered(&new, &mut numbers), MAX_PAIRS);
    let is_near = |at: usize| {
        let near = steps.get(at.saturating_sub(AROUND)..(at + AROUND + 1).min(steps.len()));
        near.is_some_and(|near| near.iter().any(|step| *step != LineStep::Same))
    };
    let (mut text, mut shown, mut left_out) = (String::new(), 0, 0);
    let (mut at_old, mut at_new, mut was_near) = (0, 0, false);
    for (at, step) in steps.iter().enumerate() {
        let is_near = is_near(at);
        if is_near && !was_near && shown < most {
            let _ = writeln!(text, "@@ -{} +{} @@", at_old + 1, at_new + 1);
        }
        was_near = is_near;
        let (mark, line) = match step {
            LineStep::Same => (' ', old.get(at_old)),
            LineStep::Removed => ('-', old.get(at_old)),
            LineStep::Added => ('+', new.get(at_new)),
        };
        at_old += usize::from(*step != LineStep::Added);
        at_new += usize::from(*step != LineStep::Removed);
        match line.filter(|_| is_near) {
            Some(line) if shown < most => {
                shown += 1;
                let _ = writeln!(text, "{mark}{line}");
            }
            Some(_) => left_out += 1,
            None => {}
        }
    }
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} more lines)");
    }
    text
}

/// The lines of a text, each with its carriage return: another end of lines is another line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line)).collect()
}

/// Lines by numbers, the same for the same ones: each is compared often, and long ones may differ at their ends alone.
fn numbered<'t>(lines: &[&'t str], numbers: &mut HashMap<&'t str, usize>) -> Vec<usize> {
    let number = |line: &&'t str| {
        let next = numbers.len();
        *numbers.entry(line).or_insert(next)
    };
    lines.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_those_around_them() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni";
        assert_eq!(text_diff(before, before, 10), "");
        assert_eq!(
            text_diff(before, "a\nb\nc\nD\ne\nf\ng\nh\ni\nj", 100),
            "@@ -2 +2 @@\n b\n c\n-d\n+D\n e\n f\n@@ -8 +8 @@\n h\n i\n+j\n"
        );
        assert_eq!(text_diff("x\ny", "", 100), "@@ -1 +1 @@\n-x\n-y\n");
        assert_eq!(text_diff("", "x\ny\nz", 1), "@@ -1 +1 @@\n+x\n(2 more lines)\n");
        assert_eq!(text_diff("x\ny", "x\n\ny\r", 100), "@@ -1 +1 @@\n x\n-y\n+\n+y\r\n");
    }

    #[test]
    fn each_text_is_made_of_the_steps_to_it() {
        let texts = ["", "a", "a\nb\na\nb", "b\na\nc\na\nb\nb", "c\nc\na", "a\na\na\nb\nc"];
        for before in texts {
            for after in texts {
                let shown = text_diff(before, after, 100);
                let lines = |marks: &[char]| {
                    let lines =
                        shown.lines().filter(|line| line.starts_with(marks) && !line.starts_with("@@"));
                    lines.map(|line| &line[1..]).collect::<Vec<_>>()
                };
                if before != after {
                    let of = |text: &str| text.lines().count() as i64;
                    let (new, gone) = (lines(&['+']).len() as i64, lines(&['-']).len() as i64);
                    assert_eq!(new - gone, of(after) - of(before), "{before:?} {after:?}");
                }
            }
        }
    }

    #[test]
    fn large_texts_are_replaced_whole() {
        let of = |mark: &str| (0..3000).map(|at| format!("{mark}{at}\n")).collect::<String>();
        assert!(text_diff(&of("a"), &of("b"), 3).ends_with("-a0\n-a1\n-a2\n(5997 more lines)\n"));
    }
}
