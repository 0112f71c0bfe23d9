//! JSON read without trees: a scanner for messages, of which a few members are wanted and the rest only has to be right.

mod scan;

pub use scan::{Kind, MAX_DEPTH, Malformed, Members, Raw, Scanner, string_len};
