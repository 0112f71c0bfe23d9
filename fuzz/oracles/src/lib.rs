//! What the fuzz targets share: generators that make inputs of bytes, and oracles that panic when a promise is broken.
//!
//! | Module | What it is |
//! |---|---|
//! | [`generate`] | bytes → choices → data, programs, documents |
//! | [`check`] | one oracle a target |
//! | [`run`] | programs on the machine, with a host that answers as it is told |
//! | [`bounds`] | what the work on one input may take of memory and processor time |
//! | [`evaluator`] | a second implementation of the core language: slow and simple, what `differential` compares with |

pub mod bounds;
pub mod check;
pub mod evaluator;
pub mod generate;
pub mod run;
