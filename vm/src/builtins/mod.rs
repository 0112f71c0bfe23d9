//! The library: one file per family, and the registry that describes every function.
//!
//! A family is a table of [`Builtin`]s. The registry is the single source for names, namespaces, arities,
//! documentation, examples and implementations: the compiler resolves names in it, the machine checks arities
//! with it, the discovery forms and `docs/functions.md` are made from it, and a test runs every example.

pub mod arithmetic;
pub mod combinators;
pub mod regex;
mod registry;
pub mod tools;

pub use registry::{Arities, Builtin, BuiltinId, Example, FrameFn, Native, PlainFn, Registry, registry};

/// All families, in the order that fixes the builtins' ids.
static FAMILIES: &[&[Builtin]] = &[];
