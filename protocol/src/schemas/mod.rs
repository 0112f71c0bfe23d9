//! Schemas of foreign tools, as clients are shown them: with what their readers see, without what they refuse, and never so that they
//! forbid what the original allows.

mod dialect;
mod loosen;
mod parts;
mod shown;

pub use dialect::SchemaDialect;
pub use parts::change_parts;
pub use shown::{shown, shown_value};
