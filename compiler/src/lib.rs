//! The PTC-Lisp front end.
pub mod error;
pub mod form;
pub mod names;
pub mod reader;
pub mod source;
pub mod token;
