//! The latest calls, for `lisp_debug` and the console.

pub mod record;
mod ring;

pub use record::Record;
pub use ring::Ring;
