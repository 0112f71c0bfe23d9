//! The fuzz targets without a fuzzer: generators that make inputs of bytes, oracles that panic when a promise is broken, and the
//! inputs to begin with.
//!
//! | Module | What it is |
//! |---|---|
//! | [`targets`] | the table of targets: name, oracle, seeds |
//! | [`seeds`] | the inputs that fuzzing begins with |
//! | [`mutate`] | inputs made of others, the same on every run |
//! | [`generate`] | bytes → choices → data, programs, documents |
//! | [`check`] | one oracle a target |
//! | [`run`] | programs on the machine, with a host that answers as it is told |
//! | [`bounds`] | what the work on one input may take of memory and processor time |
//! | [`evaluator`] | a second implementation of the core language: slow and simple, what `differential` compares with |
//!
//! `fuzz/fuzz_targets` has the targets of libFuzzer, `tests/seeds.rs` runs the same inputs on the stable toolchain.

pub mod bounds;
pub mod check;
pub mod evaluator;
pub mod generate;
pub mod mutate;
pub mod run;
pub mod seeds;
pub mod targets;

pub use targets::begin;
