//! The port to the kept programs that the texts of callers may call.

use std::sync::Arc;

use ptc_host::catalog::CatalogText;
use ptc_host::engine::kept::ServedPrograms;
use ptc_protocol::principal::Principal;

/// The kept programs of a server.
pub trait CallablePrograms: Send + Sync {
    /// Those that the texts of a caller may call: those whose tools it sees.
    fn served_to(self: Arc<Self>, caller: &Principal) -> Arc<dyn ServedPrograms>;

    /// What a description says of them where there are no upstreams, in at most `room` characters where clients cut it; `None` if
    /// there are none.
    fn text_alone(&self, room: usize) -> Option<CatalogText>;
}
