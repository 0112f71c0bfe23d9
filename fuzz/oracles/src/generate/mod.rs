//! Generators. Each takes [`Choices`] and makes something typed of them, so that most of what a fuzzer's mutations give
//! gets past the first check of what is tested.

pub mod choices;
pub mod core;
pub mod data;
pub mod documents;
pub mod greedy;
pub mod library;
pub mod programs;

pub use choices::Choices;
