//! JSON: a scanner that reads a few members without building a tree, a writer, and a tree that keeps the order of
//! members and the digits of numbers.

mod plain;
mod scan;
mod text;
mod unique_keys;
mod value;
mod write;

#[doc(inline)]
pub use crate::json_value as json;
pub use scan::{JsonError, Kind, MAX_DEPTH, Members, Raw, Scanner, string_len};
pub use text::compact_len;
pub(crate) use text::string_of;
pub use unique_keys::{repeated_key, repeated_key_at};
pub use value::{Index, MAX_NESTING, Map, Number, Value, from_slice, from_str, parse_within, to_value};
pub use write::{Object, object_text, write_array, write_integer, write_string, write_strings};
