//! Drafts of kept programs (`--program-drafts`, programs.md 11): what is looked at in them, and what people do with them.

mod check;
mod desk;

pub use check::DraftCheck;
pub use desk::ServerDrafts;
