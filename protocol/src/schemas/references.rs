//! The references of a schema, as they are followed.

use ptc_mcp::json::Value;

/// Most bytes that references bring into a schema, each time that they are followed: a small one may name itself many times.
pub(super) const MOST_REFERRED: usize = 64 << 10;

/// The references of a schema, as they are followed.
pub(super) struct References<'w> {
    whole: &'w Value,
    /// Those that lead to where the reader is.
    way: Vec<&'w str>,
    /// How many bytes more they may bring.
    left: usize,
}

impl<'w> References<'w> {
    pub(super) fn of(whole: &'w Value) -> References<'w> {
        References { whole, way: Vec::new(), left: MOST_REFERRED }
    }

    /// What a reference leads to; `None` if that contains it, leads nowhere, or would be too much. It is left by
    /// [`leave`](Self::leave).
    pub(super) fn enter(&mut self, reference: &'w str) -> Option<&'w Value> {
        if self.left == 0 || self.way.contains(&reference) {
            return None;
        }
        let target = self.target(reference)?;
        self.left = self.left.saturating_sub(target.to_string().len());
        (self.left > 0).then(|| {
            self.way.push(reference);
            target
        })
    }

    /// The reader is back.
    pub(super) fn leave(&mut self) {
        self.way.pop();
    }

    /// What a reference leads to.
    pub(super) fn target(&self, reference: &str) -> Option<&'w Value> {
        self.whole.pointer(reference.strip_prefix('#')?)
    }
}
