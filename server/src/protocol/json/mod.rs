//! JSON without trees: a scanner for what comes in, a writer for what goes out.

mod scan;
mod write;

pub use scan::{Kind, MAX_DEPTH, Malformed, Members, Raw, Scanner};
pub use write::{Object, object_text, string_len, write_array, write_integer, write_string, write_strings};
