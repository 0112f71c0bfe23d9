//! Ids of runs.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// `run_` and 24 base64url characters of 18 random bytes (waiting.md 1); `None` if the system has no entropy.
pub(super) fn new() -> Option<Arc<str>> {
    let mut random = [0; 18];
    getrandom::fill(&mut random).ok()?;
    Some(format!("run_{}", URL_SAFE_NO_PAD.encode(random)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_and_no_other_is_like_it() {
        let (one, other) = (new().unwrap(), new().unwrap());
        assert!(one.len() == 28 && one != other && ptc_host::state::is_id(&one), "{one}");
    }
}
