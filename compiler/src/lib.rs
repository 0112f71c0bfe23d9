//! The PTC-Lisp front end.
pub mod analyze;
pub mod ast;
pub mod error;
pub mod form;
pub mod liveness;
pub mod names;
pub mod reader;
pub mod source;
pub mod special;
pub mod token;
