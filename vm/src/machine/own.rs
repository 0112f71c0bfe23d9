//! What a builtin reaches of the fiber that it runs in.

use super::output::Output;
use crate::value::Map;

/// The own things of one fiber.
#[derive(Default)]
pub(super) struct Own {
    /// What it gives out.
    pub(super) output: Output,
    /// What the memoized functions that it has called came to, by function and arguments. A branch begins with what its parent
    /// knows, and what it adds ends with it, so that nothing depends on the order of replies. Most programs have none.
    pub(super) remembered: Option<Map>,
}
