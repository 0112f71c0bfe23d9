//! Values, bytecode and the metered stack machine of PTC-Lisp.
//!
//! This crate does no I/O and has no clock of its own. A [`Machine`] is created from a [`Program`] and a
//! [`Namespace`](machine::Namespace); [`Machine::resume`] runs it until it is done, has used up its slice of
//! fuel, or waits for calls that its host must answer with [`Machine::complete`]. Between two calls a machine
//! is plain data: nothing of a program ever lives on the Rust stack.
//!
//! | Module | Purpose |
//! |---|---|
//! | [`value`] | the values of the language: persistent, reference counted, one machine word and a tag |
//! | [`special_forms`] | the names, shapes and documentation of the compiler's own forms |
//! | [`code`] | instructions, functions, programs: the compiler's output |
//! | [`machine`] | the stack machine, its fibers, frames, namespace and host calls |
//! | [`builtins`] | the library, one file per family, and the table of all of them |
//! | [`meter`] | steps and memory of the running machine |
//! | `number` | arithmetic |
//! | [`paging`] | answers that come page by page |
//! | [`mod@print`], [`json`] | values as text |
//! | `regex` | the engines of regular expressions |
//! | [`graph`] | values as bytes and back |
//! | [`error`] | the error of a failed program |

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod builtins;
pub mod code;
pub mod error;
pub mod graph;
pub mod json;
pub mod machine;
pub mod meter;
mod number;
pub mod paging;
pub mod print;
mod regex;
pub mod special_forms;
pub mod value;

pub use code::Program;
pub use error::{Error, Reason, Result};
pub use machine::{Machine, Step};
pub use special_forms::SpecialForm;
pub use value::Value;
