//! Growing text whose size the program controls.

use crate::error::Result;
use crate::meter;

/// The capacity to grow to for `extra` bytes more, reserved at the [meter]; `None` when they fit already.
#[inline]
fn room(len: usize, capacity: usize, extra: usize) -> Result<Option<usize>> {
    if capacity - len >= extra {
        return Ok(None);
    }
    let wanted = len.saturating_add(extra).max(capacity.saturating_mul(2)).max(32);
    // The old buffer lives until its bytes have moved, but a reallocation mostly happens in place.
    meter::reserve(wanted)?;
    Ok(Some(wanted - len))
}

/// Makes room for `extra` bytes, refusing what would pass the program's memory limit.
#[inline]
pub(crate) fn grow_string(out: &mut String, extra: usize) -> Result<()> {
    if let Some(more) = room(out.len(), out.capacity(), extra)? {
        out.reserve_exact(more);
    }
    Ok(())
}

/// Makes room for `extra` bytes, refusing what would pass the program's memory limit.
#[inline]
pub(crate) fn grow_bytes(out: &mut Vec<u8>, extra: usize) -> Result<()> {
    if let Some(more) = room(out.len(), out.capacity(), extra)? {
        out.reserve_exact(more);
    }
    Ok(())
}
