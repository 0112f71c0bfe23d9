//! Ids of runs.

use std::cell::RefCell;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Random bytes of an id.
const BYTES: usize = 18;
/// Ids per request for entropy: most calls become no run, and asking the system costs more than the rest of an id.
const AT_A_TIME: usize = 64;

thread_local! {
    /// Random bytes that no id has used yet.
    static FRESH: RefCell<Vec<[u8; BYTES]>> = const { RefCell::new(Vec::new()) };
}

/// `run_` and 24 base64url characters of 18 random bytes (waiting.md 1); `None` if the system has no entropy.
pub(super) fn new() -> Option<Arc<str>> {
    let random = FRESH.with_borrow_mut(|fresh| {
        if fresh.is_empty() {
            let mut random = [[0; BYTES]; AT_A_TIME];
            getrandom::fill(random.as_flattened_mut()).ok()?;
            fresh.extend(random);
        }
        fresh.pop()
    })?;
    let mut id = String::with_capacity(28);
    id.push_str("run_");
    URL_SAFE_NO_PAD.encode_string(random, &mut id);
    Some(id.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_no_other_is_like_it() {
        let (one, other) = (new().unwrap(), new().unwrap());
        assert!(one.len() == 28 && one != other && ptc_host::state::is_id(&one), "{one}");
        let many: std::collections::BTreeSet<_> = (0..10 * AT_A_TIME).filter_map(|_| new()).collect();
        assert_eq!(many.len(), 10 * AT_A_TIME);
    }
}
