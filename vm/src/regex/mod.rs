//! Regular expressions: the values of `#"…"`.
//!
//! Patterns are of the Perl-compatible dialect (functions.md 22). They are read once into a syntax tree, and almost all of them
//! are then matched by automata in time linear in the text (ruling 7), short searches of the simplest ones by an engine that
//! goes over the text once, long ones in steps between which others may have the thread. Lookaround, backreferences, atomic
//! groups and the like go to an engine of our own that backtracks, counts every step as a step of the program and stops at a
//! cap. Where the automata cannot tell (`$` before a final line feed), the second engine decides as well.
//!
//! The engines know texts and a [`Meter`], and nothing of values or machines.

mod backtracking;
mod bounds;
mod classes;
mod cursor;
mod emit;
mod engine;
mod limits;
mod linear;
mod long;
mod looker;
mod meter;
mod parser;
mod price;
mod program;
mod scratch;
mod sequence;
mod syntax;
mod threads;

pub(crate) use engine::Engine;
pub(crate) use engine::{compiled_bytes, give_way};
pub(crate) use linear::Plan;
pub(crate) use meter::{CompiledForm, Meter, SearchStop};
pub(crate) use sequence::Groups;

#[cfg(test)]
mod tests;
