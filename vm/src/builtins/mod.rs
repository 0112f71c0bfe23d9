//! The library: one file per family, and the table of all of them.
//!
//! A family is a table of [`Builtin`]s. The [`Library`] is the single source for names, namespaces, arities,
//! documentation, examples and implementations: the compiler resolves names in it, the machine checks arities
//! with it, the discovery forms and `docs/guide/functions.md` are made from it, and a test runs every example.

pub mod access;
pub mod aggregate;
pub mod apply;
pub mod arithmetic;
pub mod bits;
pub mod collection_predicates;
pub mod combinators;
pub mod combine;
pub mod comparison;
pub mod dates;
pub mod discovery;
mod display_names;
mod frames;
pub mod generate;
pub mod java_strings;
pub mod journal;
pub mod json_functions;
pub mod logic;
pub mod maps;
pub mod math;
mod namespaces;
pub mod numeric_predicates;
pub mod ordering;
pub mod parallel;
pub mod parsing;
pub mod printing;
pub mod regex;
mod row;
pub mod sets;
pub mod strings;
pub mod subset;
pub mod support;
pub mod tools;
pub mod transducers;
pub mod transform;
pub mod trees;
pub mod types;

pub use crate::machine::{
    Arities, Builtin, Example, Examples, FrameFn, Library, LibraryParts, Native, PlainFn, Section,
};
pub use crate::value::BuiltinId;

use std::sync::LazyLock;

/// All families, in the order that fixes the builtins' ids.
static FAMILIES: &[&[Builtin]] = &[
    access::BUILTINS,
    aggregate::BUILTINS,
    apply::BUILTINS,
    arithmetic::BUILTINS,
    bits::BUILTINS,
    collection_predicates::BUILTINS,
    combinators::BUILTINS,
    combine::BUILTINS,
    comparison::BUILTINS,
    dates::BUILTINS,
    discovery::BUILTINS,
    generate::BUILTINS,
    java_strings::BUILTINS,
    journal::BUILTINS,
    json_functions::BUILTINS,
    logic::BUILTINS,
    maps::BUILTINS,
    math::BUILTINS,
    numeric_predicates::BUILTINS,
    ordering::BUILTINS,
    parallel::BUILTINS,
    parsing::BUILTINS,
    printing::BUILTINS,
    regex::BUILTINS,
    sets::BUILTINS,
    strings::BUILTINS,
    subset::BUILTINS,
    transducers::BUILTINS,
    transform::BUILTINS,
    trees::BUILTINS,
    types::BUILTINS,
];

/// Functions that only other functions make values of.
static UNNAMED: &[&Builtin] =
    &[&combinators::COMPARING, &transducers::COMPLETING, &discovery::UPSTREAM_APROPOS];

/// The library, built at first use.
pub fn library() -> &'static Library {
    static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
        Library::new(LibraryParts {
            families: FAMILIES,
            unnamed: UNNAMED,
            display_name: display_names::display_name,
            call_combinator_now: combinators::direct::call_now,
            call_combinator: combinators::call,
            call_tool: tools::call,
            result: support::endless::result,
        })
    });
    &LIBRARY
}
