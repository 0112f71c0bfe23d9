//! The JSON tree for schemas, arguments and results, re-exported for crates that do not know the protocol.

pub use ptc_mcp::json::{Map, Number, Value, from_slice, from_str, json, to_value};
