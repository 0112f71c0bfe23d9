//! Schemas of foreign tools, as clients are shown them: with what their readers see, without what they refuse, and never so that they
//! forbid what the original allows.

mod dialect;
mod gemini;
mod loosen;
mod parts;
mod pattern;
mod plain_top;
mod references;
mod shown;
mod well_formed;

pub use dialect::SchemaDialect;
pub use parts::change_parts;
pub use shown::{shown, shown_value};
pub use well_formed::{Use, mend};

#[cfg(test)]
mod tests;
