//! Size limits on the answers of the session tools.

use futures_util::FutureExt;
use ptc_mcp::json::{Object, Raw, string_len};

use crate::shaping::{Shaper, guard};
use ptc_protocol::principal::Owner;
use ptc_protocol::settings::Profile;
use ptc_protocol::tool::{CallContext, Definition, Preparation, Tool, ToolReply};

/// The byte limit of lists and half that of texts. It keeps the mirrored answer within the profile's bound.
pub(super) fn list_bytes(profile: Profile) -> usize {
    match profile {
        Profile::Slim => 3 << 10,
        Profile::Structured => 12 << 10,
        Profile::Debug => 64 << 10,
    }
}

/// The first entries, JSON texts or names, whose plain and mirrored forms fit `max_bytes` each, and whether others
/// are omitted. The first one is always included.
pub(super) fn fitting<T: AsRef<str>>(entries: &[T], max_bytes: usize) -> (&[T], bool) {
    let mut bytes = 0;
    let fit = entries
        .iter()
        .take_while(|entry| {
            bytes += string_len(entry.as_ref()) + 3;
            bytes <= max_bytes
        })
        .count()
        .max(1)
        .min(entries.len());
    (&entries[..fit], fit < entries.len())
}

/// Flags truncation.
pub(super) fn write_cut(object: &mut Object<'_>, cut: bool) {
    if cut {
        object.boolean("truncated", true);
        object.boolean("output_truncated", true);
    }
}

/// Runs the call, and keeps its result within the limit of the profile.
fn within(shaper: Shaper, prepared: Preparation) -> Preparation {
    match prepared {
        Preparation::Done(reply) => Preparation::Done(guard(&shaper, reply)),
        Preparation::Full(full) => Preparation::Full(full),
        Preparation::Free(work) => Preparation::Free(work.map(move |reply| guard(&shaper, reply)).boxed()),
        Preparation::Gated(work) => Preparation::Gated(work.map(move |reply| guard(&shaper, reply)).boxed()),
        Preparation::After(wait) => {
            Preparation::After(wait.map(move |prepared| within(shaper, prepared)).boxed())
        }
    }
}

/// A tool whose results always stay within the limit of the profile.
pub(super) struct Bounded<T> {
    pub(super) tool: T,
    pub(super) shaper: Shaper,
}

impl<T: Tool> Tool for Bounded<T> {
    fn definition(&self) -> Definition {
        self.tool.definition()
    }

    fn prepare(&self, arguments: Option<Raw<'_>>, context: &CallContext) -> Preparation {
        within(self.shaper, self.tool.prepare(arguments, context))
    }

    fn busy(&self, full: ptc_protocol::concurrency_limiter::CapacityError) -> ToolReply {
        self.tool.busy(full)
    }

    fn is_observed(&self) -> bool {
        self.tool.is_observed()
    }

    fn owner_gone(&self, owner: &Owner) {
        self.tool.owner_gone(owner);
    }

    fn owner_revoked(&self, owner: &Owner) {
        self.tool.owner_revoked(owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_beginning() {
        let names = ["a", "bb", "ccc"];
        assert_eq!(fitting(&names, 100), (&names[..], false));
        assert_eq!(fitting(&names, 13), (&names[..2], true));
        assert_eq!(fitting(&names, 1), (&names[..1], true));
        assert_eq!(fitting::<&str>(&[], 1), (&[][..], false));
    }
}
