//! The library: one file per family, and the table of all of them.
//!
//! A family is a table of [`Builtin`]s. The [`Library`] is the single source for names, namespaces, arities,
//! documentation, examples and implementations: the compiler resolves names in it, the machine checks arities
//! with it, the discovery forms and `docs/guide/functions.md` are made from it, and a test runs every example.

mod access;
mod aggregate;
mod apply;
mod arithmetic;
mod ask;
mod bits;
mod call_form;
mod call_or_fail;
mod characters;
mod collection_predicates;
mod combinators;
mod combine;
mod comparison;
mod csv;
mod dates;
mod discovery;
mod edn;
mod encoding;
mod features;
mod fixed_width;
mod frames;
mod generate;
mod identity;
mod java_numbers;
mod java_strings;
mod journal;
mod json_functions;
mod logic;
mod maps;
mod math;
mod namespaces;
mod numeric_predicates;
mod ordering;
mod pages;
mod parallel;
mod parsing;
mod printing;
mod regex;
mod row;
mod series;
mod sets;
mod sleep;
mod strings;
mod subset;
mod support;
mod text_pages;
mod tools;
mod transducers;
mod transform;
mod trees;
mod types;
pub mod words;

pub use crate::machine::{Arities, Builtin, Native};
pub(crate) use crate::machine::{
    Example, Examples, FrameFn, Library, LibraryParts, PlainFn, Section, SeriesFn,
};

use crate::machine::FrameKind;
use std::sync::LazyLock;

/// All families, in the order that fixes the builtins' ids.
static FAMILIES: &[&[Builtin]] = &[
    access::BUILTINS,
    aggregate::BUILTINS,
    apply::BUILTINS,
    arithmetic::BUILTINS,
    ask::BUILTINS,
    bits::BUILTINS,
    characters::BUILTINS,
    collection_predicates::BUILTINS,
    combinators::BUILTINS,
    combine::BUILTINS,
    comparison::BUILTINS,
    csv::BUILTINS,
    dates::BUILTINS,
    dates::ZONES,
    discovery::BUILTINS,
    edn::BUILTINS,
    encoding::BUILTINS,
    features::BUILTINS,
    fixed_width::BUILTINS,
    generate::BUILTINS,
    identity::BUILTINS,
    java_numbers::BUILTINS,
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
    sleep::BUILTINS,
    strings::BUILTINS,
    subset::BUILTINS,
    transducers::BUILTINS,
    transform::BUILTINS,
    trees::BUILTINS,
    types::BUILTINS,
];

/// Functions that only other functions make values of.
static UNNAMED: &[&Builtin] =
    &[&combinators::COMPARING, &transducers::COMPLETING, &discovery::UPSTREAM_APROPOS, &discovery::ONE_DOC];

/// The library, built at first use.
pub fn library() -> &'static Library {
    static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
        Library::new(LibraryParts {
            families: FAMILIES,
            unnamed: UNNAMED,
            frames: frames::KINDS,
            call_combinator_now: combinators::direct::call_now,
            call_combinator: combinators::call,
            call_tool: tools::call,
            accepts_combinator: combinators::accepts,
            over_series: series::FUNCTIONS,
            walk_series: transducers::pipeline::walk,
            walk_kind: <transducers::pipeline::Pipeline as FrameKind>::NAME,
            result: support::endless::result,
        })
    });
    &LIBRARY
}
