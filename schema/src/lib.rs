//! JSON Schema, and the shapes of values that were seen.
//!
//! | Module | Content |
//! |---|---|
//! | [`json_schema`] | what the schemas of tools' arguments say |
//! | [`parsed`] | schemas that are read once, and checks of values against them |
//! | [`output_schema`] | schemas for the values of programs |
//! | [`seen_shape`], [`answer_shape`] | what the answers of a tool looked like |

// Tests may read what clock they like.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod answer_shape;
pub mod json_schema;
pub mod output_schema;
pub mod parsed;
pub mod seen_shape;
