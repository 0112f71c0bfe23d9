//! Support for the whole-product tests.

pub mod conformance;
