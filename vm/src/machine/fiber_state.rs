//! The part of a fiber that its builtins can reach.

use super::output::Output;
use crate::value::Map;

/// The own things of one fiber.
#[derive(Default)]
pub(super) struct FiberState {
    /// Its output.
    pub(super) output: Output,
    /// Results of the memoized functions that it has called, by function and arguments. A branch begins with those of its
    /// parent, and its own additions end with it, so that nothing depends on the order of replies. Most programs have none.
    pub(super) remembered: Option<Map>,
}
