//! JSON without trees: a scanner for what comes in, which `ptc-host` has too, and a writer for what goes out.

mod write;

pub use ptc_host::json::{Kind, MAX_DEPTH, Malformed, Members, Raw, Scanner, string_len};
pub use write::{Object, object_text, write_array, write_integer, write_string, write_strings};
