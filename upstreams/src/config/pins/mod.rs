//! Pinned definitions: the tools of each upstream as a person accepted them, in a lock beside the upstreams file
//! (upstreams.md 22).
//!
//! [`PinLock`] is that file. [`UpstreamPins`] is the part of it that an entry is held to, and [`UpstreamPins::compare`] says
//! how a list of tools differs from it.

mod definition;
mod diff;
mod lock;
mod policy;
mod report;

pub use definition::{PinnedTool, ToolDefinition, ToolFact};
pub use diff::{ChangedLine, DiffLine};
pub use lock::{PinLock, TEXT_BYTES, lock_file, write_tools};
pub use policy::PinPolicy;
pub use report::{ChangedTool, PinReport, UpstreamPins};
