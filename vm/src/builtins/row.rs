//! How the families write their rows.
//!
//! ```text
//! fun("subs", CORE, "s start | s start end", simple::subs)
//!     .also_in(STRING)
//!     .doc("Substring by grapheme positions; what lies outside is empty")
//!     .example(r#"(subs "hello" 1 3)"#, r#""el""#),
//! ```
//!
//! The parameter lists stand one after the other, with `|` between them. They say how many arguments the function takes and how
//! the documentation spells its calls. The namespaces say which qualified spellings it has. All of it is evaluated by rustc; a
//! row that lacks something does not build.

use super::namespaces::LibraryNamespace;
use super::{Arities, Builtin, Example, Examples, FrameFn, Native, PlainFn, Section};
use crate::value::Value;

/// A function that needs no call back into the program.
pub(super) const fn fun(
    name: &'static str,
    namespace: LibraryNamespace,
    parameters: &'static str,
    native: PlainFn,
) -> Builtin {
    row(name, namespace, parameters, Native::Plain(native))
}

/// A function that may call functions of the program, fork, or wait.
pub(super) const fn frame(
    name: &'static str,
    namespace: LibraryNamespace,
    parameters: &'static str,
    native: FrameFn,
) -> Builtin {
    row(name, namespace, parameters, Native::Frame(native))
}

/// A name that stands for a value.
pub(super) const fn constant(
    name: &'static str,
    namespace: LibraryNamespace,
    value: fn() -> Value,
) -> Builtin {
    let row = row(name, namespace, "", Native::Constant(value));
    Builtin { arities: Arities::OneOf(&[]), ..row }
}

const fn row(
    name: &'static str,
    namespace: LibraryNamespace,
    parameters: &'static str,
    native: Native,
) -> Builtin {
    Builtin {
        name,
        namespace: namespace.name,
        qualifiers: [namespace.qualifiers, &[]],
        aliases: &[],
        arities: arities(parameters),
        parameters,
        calls: &[],
        doc: "",
        section: Section { name: "", title: "" },
        examples: Examples::NONE,
        native,
    }
}

impl Builtin {
    /// A second namespace whose qualifiers lead to the function.
    pub(super) const fn also_in(self, namespace: LibraryNamespace) -> Builtin {
        Builtin { qualifiers: [self.qualifiers[0], namespace.qualifiers], ..self }
    }

    /// Spellings that do not follow from the namespaces.
    pub(super) const fn aliases(self, aliases: &'static [&'static str]) -> Builtin {
        Builtin { aliases, ..self }
    }

    /// One line of documentation.
    pub(super) const fn doc(self, doc: &'static str) -> Builtin {
        Builtin { doc, ..self }
    }

    /// A program, and the `pr-str` of its value.
    pub(super) const fn example(self, program: &'static str, value: &'static str) -> Builtin {
        Builtin { examples: self.examples.with(Example { program, value }), ..self }
    }

    /// The calls as the documentation shows them, where they are not the name and its parameters.
    pub(super) const fn calls(self, calls: &'static [&'static str]) -> Builtin {
        Builtin { calls, ..self }
    }

    /// Accepts fewer arguments than the parameter lists show: the function refuses those itself, in its own words.
    pub(super) const fn at_least(self, count: u8) -> Builtin {
        Builtin { arities: Arities::AtLeast(count), ..self }
    }

    /// The argument counts, ascending, where they are not those of the parameter lists or have gaps.
    pub(super) const fn one_of(self, counts: &'static [u8]) -> Builtin {
        Builtin { arities: Arities::OneOf(counts), ..self }
    }
}

/// The section of the documentation that a family's rows stand in.
pub(super) const fn section(name: &'static str, title: &'static str) -> Section {
    Section { name, title }
}

impl Section {
    /// The rows of the section.
    ///
    /// # Panics
    /// While rustc evaluates it: if a row lacks its documentation, an example or its argument counts.
    pub(super) const fn of<const N: usize>(self, mut rows: [Builtin; N]) -> [Builtin; N] {
        let mut at = 0;
        while at < N {
            let row = &mut rows[at];
            row.section = self;
            assert!(
                !row.name.is_empty() && !row.doc.is_empty(),
                "every row has a name and a line of documentation"
            );
            assert!(!row.examples.as_slice().is_empty(), "every row has an example");
            let counted = !matches!(row.arities, Arities::OneOf([]));
            assert!(counted || matches!(row.native, Native::Constant(_)), "lists with gaps need `one_of`");
            at += 1;
        }
        rows
    }
}

/// The argument counts of the parameter lists; none if these leave a gap, which [`Builtin::one_of`] must name.
const fn arities(lists: &str) -> Arities {
    const COUNTS: &[u8] = &[0, 1, 2, 3, 4, 5, 6, 7];
    let lists = lists.as_bytes();
    // Bit n stands for a list of n parameters.
    let mut fixed = 0u16;
    // The fewest parameters before a `&`.
    let mut before_rest: Option<u32> = None;
    let (mut at, mut count, mut rest, mut in_word, mut in_map) = (0, 0, false, false, false);
    while at <= lists.len() {
        match if at < lists.len() { lists[at] } else { b'|' } {
            b'|' => {
                match before_rest {
                    _ if !rest => fixed |= 1 << count,
                    Some(least) if least <= count => {}
                    _ => before_rest = Some(count),
                }
                (count, rest, in_word) = (0, false, false);
            }
            b' ' => in_word = in_map,
            b'&' => rest = true,
            byte => {
                count += if in_word || rest { 0 } else { 1 };
                in_word = true;
                in_map = (in_map || byte == b'{') && byte != b'}';
            }
        }
        at += 1;
    }
    let fewest = fixed.trailing_zeros();
    match before_rest {
        Some(least) if least < fewest => Arities::AtLeast(least as u8),
        Some(_) => Arities::AtLeast(fewest as u8),
        None if fixed.count_ones() == u16::BITS - fixed.leading_zeros() - fewest => Arities::OneOf(
            COUNTS.split_at((u16::BITS - fixed.leading_zeros()) as usize).0.split_at(fewest as usize).1,
        ),
        None => Arities::OneOf(&[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_lists_say_how_many_arguments() {
        for (lists, counts) in [
            ("", Arities::OneOf(&[0])),
            ("s", Arities::OneOf(&[1])),
            ("m k | m k dflt", Arities::OneOf(&[2, 3])),
            ("c |", Arities::OneOf(&[0, 1])),
            ("query | query {:limit 8 :load false}", Arities::OneOf(&[1, 2])),
            ("& xs", Arities::AtLeast(0)),
            ("x & more", Arities::AtLeast(1)),
            ("| c & xs", Arities::AtLeast(0)),
            ("f c | f c & cs | f", Arities::AtLeast(1)),
            ("a b & xs | a & xs", Arities::AtLeast(1)),
            ("c test key | c test key test key", Arities::OneOf(&[])),
        ] {
            assert_eq!(arities(lists), counts, "{lists}");
        }
    }
}
