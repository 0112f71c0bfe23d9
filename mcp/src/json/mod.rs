//! JSON without trees: a scanner for what comes in, of which a few members are wanted and the rest only has to be right,
//! and a writer for what goes out.

mod scan;
mod write;

pub use scan::{Kind, MAX_DEPTH, Malformed, Members, Raw, Scanner, string_len};
pub use write::{Object, object_text, write_array, write_integer, write_string, write_strings};
