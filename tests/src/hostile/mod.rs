//! Calls of every builtin that are made to hurt, and how long they hold their thread.

mod classes;
mod gaps;

pub use classes::{CLASSES, Class, Work};
pub use gaps::{BETWEEN_PLACES, Gap, Held, Inputs};

use ptc_vm::builtins::library;

/// The calls of a class: its lists at the outermost level.
pub fn calls(class: &Class) -> Vec<&'static str> {
    let mut found = Vec::new();
    let (mut depth, mut start, mut quoted, mut escaped) = (0, 0, false, false);
    for (at, c) in class.calls.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            ')' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    found.push(&class.calls[start..=at]);
                }
            }
            _ => {}
        }
    }
    assert_eq!((depth, quoted), (0, false), "unbalanced calls");
    found
}

/// The builtin that a call tries: its head.
pub fn head(call: &str) -> &'static str {
    let name = call[1..].split([' ', ')']).next().unwrap_or_default();
    library().find(name).unwrap_or_else(|| panic!("{name} is no builtin")).name
}
