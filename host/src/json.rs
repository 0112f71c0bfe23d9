//! The JSON tree that schemas, arguments and results are kept in, for crates that do not know the protocol.

pub use ptc_mcp::json::{Map, Number, Value, from_slice, from_str, json, to_value};
